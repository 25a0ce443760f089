//! The program graph as a drawing.
//!
//! A lane shows what the ranks of one role did, from top to bottom. All lanes share one order, so that matching nodes are side by side.
//! [`svg`] lays it out, [`dot`] leaves that to GraphViz, and [`overview`] draws only the phases.

pub mod dot;
mod layout;
pub mod overview;
mod row_assignment;
pub mod svg;
mod tracks;

/// A program graph to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphDrawing {
    /// The title.
    pub title: String,
    /// Notes below the title, one line each.
    pub notes: Vec<String>,
    /// The operations in program order.
    pub nodes: Vec<OperationNode>,
    /// One lane per role.
    pub lanes: Vec<RoleLane>,
    /// Messages between lanes, or within one.
    pub messages: Vec<LaneMessage>,
    /// Nodes that are the same collective, two or more each.
    pub collectives: Vec<Vec<usize>>,
    /// Share of a role's time from which on computation gets a box.
    pub min_box_share: f64,
}

/// An MPI operation at a call site, or several that are folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationNode {
    /// Its symbol.
    pub symbol: NodeSymbol,
    /// Whether it is complete.
    pub stage: NodeStage,
    /// Its name.
    pub name: String,
    /// Its source line; of a folded scope, what it contains.
    pub source: String,
    /// A short form of the source line.
    pub short: String,
    /// If it is a folded scope, the number of that scope.
    pub scope: Option<usize>,
}

/// The symbol of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeSymbol {
    /// Send.
    Send,
    /// Receive.
    Receive,
    /// Send and receive.
    Exchange,
    /// Collective.
    Collective,
    /// Any other call.
    Other,
    /// Several operations in a folded function, loop or phase.
    Folded,
}

/// Which part of an operation a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStage {
    /// All of it.
    Whole,
    /// Its start; another call completes it.
    Begin,
    /// Its completion; another call started it.
    End,
}

/// The behaviour of one role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleLane {
    /// The role's name.
    pub name: String,
    /// Its ranks.
    pub note: String,
    /// The executed nodes in program order.
    pub steps: Vec<LaneNode>,
    /// The paths from node to node.
    pub paths: Vec<LanePath>,
    /// The scopes that are shown with their nodes, each after the one around it.
    pub scopes: Vec<LaneScope>,
}

/// A node in a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneNode {
    /// Index of the node.
    pub node: usize,
    /// Count and time in short.
    pub note: String,
    /// A remark, shown before the source line.
    pub more: String,
    /// Count and time in detail.
    pub details: String,
}

/// A path between two nodes of a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct LanePath {
    /// Its first node.
    pub from: usize,
    /// Its last node.
    pub to: usize,
    /// The computation on the path, if it is significant.
    pub computation: Option<PathComputation>,
    /// Count and time.
    pub details: String,
}

/// Computation on a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathComputation {
    /// Share of the lane's time, from 0 to 1.
    pub share: f64,
    /// The function that took most of it; empty if that is not known.
    pub function: String,
    /// Its share and time as text.
    pub note: String,
    /// Count, and time per iteration.
    pub per_iteration: String,
}

impl PathComputation {
    /// The function with the figures.
    fn function_and_note(&self, function: &str) -> String {
        if function.is_empty() { self.note.clone() } else { format!("{function} · {}", self.note) }
    }
}

/// A phase, function or loop in a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneScope {
    /// Its nodes.
    pub nodes: Vec<usize>,
    /// Its function and lines; empty if they are those of its only node.
    pub name: String,
    /// Iteration count; empty if it is not a loop.
    pub iterations: String,
    /// The number of the scope, if it can be folded.
    pub scope: Option<usize>,
}

/// Messages between two nodes, of two lanes or one.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneMessage {
    /// Lane and node of the sender.
    pub from: (usize, usize),
    /// Lane and node of the receiver.
    pub to: (usize, usize),
    /// Amount in short.
    pub note: String,
    /// Share of all messages, from 0 to 1.
    pub share: f64,
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    pub(crate) fn node(symbol: NodeSymbol, name: &str) -> OperationNode {
        OperationNode { symbol, stage: NodeStage::Whole, name: name.into(), source: "a.c:1".into(), short: "line 1".into(), scope: None }
    }

    /// A lane with these nodes, paths from each to the next and those given.
    pub(crate) fn lane(nodes: &[usize], jumps: &[(usize, usize)]) -> RoleLane {
        let step = |node: &usize| LaneNode { node: *node, note: String::new(), more: String::new(), details: String::new() };
        let path = |(from, to)| LanePath { from, to, computation: None, details: String::new() };
        let next = nodes.windows(2).map(|two| (two[0], two[1]));
        RoleLane {
            name: "ranks".into(),
            steps: nodes.iter().map(step).collect(),
            paths: next.chain(jumps.iter().copied()).map(path).collect(),
            ..RoleLane::default()
        }
    }

    /// A master that sends (1) and receives (4) in turn with workers (2, 3), between a common start (0) and end (5).
    pub(crate) fn master_and_workers() -> GraphDrawing {
        let nodes = [
            (NodeSymbol::Collective, "MPI_Init"),
            (NodeSymbol::Send, "MPI_Send"),
            (NodeSymbol::Receive, "MPI_Recv"),
            (NodeSymbol::Send, "MPI_Send"),
            (NodeSymbol::Receive, "MPI_Recv"),
            (NodeSymbol::Collective, "MPI_Finalize"),
        ];
        let message = |from, to| LaneMessage { from, to, note: "3 x 8 B".into(), share: 0.5 };
        let mut master = lane(&[0, 1, 4, 5], &[(4, 1)]);
        master.scopes.push(LaneScope { nodes: vec![1, 4], iterations: "x 3 <&> so".into(), ..LaneScope::default() });
        master.paths[3].computation =
            Some(PathComputation { share: 0.5, function: String::new(), note: "50 %".into(), per_iteration: "3 x 1 s".into() });
        GraphDrawing {
            title: "mpirun \"./a.out\"".into(),
            nodes: nodes.map(|(symbol, name)| node(symbol, name)).to_vec(),
            lanes: vec![master, lane(&[0, 2, 3, 5], &[])],
            messages: vec![message((0, 1), (1, 2)), message((1, 3), (0, 4))],
            ..GraphDrawing::default()
        }
    }
}
