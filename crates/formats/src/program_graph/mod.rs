//! The program graph as a drawing: what stands where is decided here, what it means is said by whoever fills it in.
//!
//! A lane is what ranks with one role did, from top to bottom. All lanes have the same order, so that what belongs together stands side by
//! side. [`svg`] lays it out for people, [`dot`] leaves that to GraphViz, and [`overview`] draws the phases only.

pub mod dot;
mod layout;
pub mod overview;
mod rows;
pub mod svg;
mod tracks;

/// A program graph to be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// What it shows.
    pub title: String,
    /// What a reader should know, one line each.
    pub notes: Vec<String>,
    /// The operations, in program order.
    pub nodes: Vec<Node>,
    /// What each role did.
    pub lanes: Vec<Lane>,
    /// The messages between lanes, or within one.
    pub messages: Vec<Message>,
    /// Nodes that are one operation of a group, two or more each.
    pub together: Vec<Vec<usize>>,
    /// The share of a role's time from which on computation has a box.
    pub worth_a_box: f64,
}

/// An operation at a place of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it does.
    pub symbol: Symbol,
    /// How much of it.
    pub stage: Stage,
    /// What it is called.
    pub name: String,
    /// Where it stands in the source.
    pub place: String,
    /// The same in short, for ways that lead there.
    pub short: String,
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbol {
    /// Sends.
    Send,
    /// Receives.
    Receive,
    /// Sends and receives.
    Exchange,
    /// Is done by a whole group.
    Group,
    /// Anything else.
    Other,
}

/// How much of an operation a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// All of it.
    Whole,
    /// It begins, and is completed by another call.
    Begin,
    /// It is completed, and began with another call.
    End,
}

/// What ranks with one role did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// What the role is called.
    pub name: String,
    /// Which ranks have it.
    pub note: String,
    /// The nodes they came by, in program order.
    pub steps: Vec<Step>,
    /// The ways from one node to another.
    pub paths: Vec<Path>,
    /// The loops, each after the one around it.
    pub loops: Vec<Loop>,
}

/// A node in a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The node, by number.
    pub node: usize,
    /// How often and how long, in short.
    pub note: String,
    /// The same at length.
    pub details: String,
}

/// A way from one node of a lane to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The node it leads from.
    pub from: usize,
    /// The node it leads to.
    pub to: usize,
    /// The computation on the way, if it is worth showing.
    pub work: Option<Work>,
    /// How often and how long.
    pub details: String,
}

/// Computation on the way from one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The share of the lane's time, from 0 to 1.
    pub share: f64,
    /// The same in words.
    pub note: String,
    /// How often, and how long each time.
    pub each: String,
}

/// A loop in a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// Its nodes.
    pub nodes: Vec<usize>,
    /// How often it goes round.
    pub note: String,
}

/// Messages from a node of one lane to a node of another, or of the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Lane and node that send.
    pub from: (usize, usize),
    /// Lane and node that receive.
    pub to: (usize, usize),
    /// How much, in short.
    pub note: String,
    /// How much compared to all messages, from 0 to 1.
    pub share: f64,
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    /// A node that does something.
    pub fn node(symbol: Symbol, name: &str) -> Node {
        Node { symbol, stage: Stage::Whole, name: name.into(), place: "a.c:1".into(), short: "line 1".into() }
    }

    /// A lane that comes by these nodes, with paths from each to the next and those given.
    pub fn lane(nodes: &[usize], jumps: &[(usize, usize)]) -> Lane {
        let step = |node: &usize| Step { node: *node, note: String::new(), details: String::new() };
        let path = |(from, to)| Path { from, to, work: None, details: String::new() };
        let next = nodes.windows(2).map(|two| (two[0], two[1]));
        Lane {
            name: "ranks".into(),
            steps: nodes.iter().map(step).collect(),
            paths: next.chain(jumps.iter().copied()).map(path).collect(),
            ..Lane::default()
        }
    }

    /// A master that sends (1) and receives (4) in turn with workers (2, 3), between a beginning (0) and an end (5) of both.
    pub fn master_and_workers() -> Drawing {
        let nodes = [
            (Symbol::Group, "MPI_Init"),
            (Symbol::Send, "MPI_Send"),
            (Symbol::Receive, "MPI_Recv"),
            (Symbol::Send, "MPI_Send"),
            (Symbol::Receive, "MPI_Recv"),
            (Symbol::Group, "MPI_Finalize"),
        ];
        let message = |from, to| Message { from, to, note: "3 x 8 B".into(), share: 0.5 };
        let mut master = lane(&[0, 1, 4, 5], &[(4, 1)]);
        master.loops.push(Loop { nodes: vec![1, 4], note: "x 3 <&> so".into() });
        master.paths[3].work = Some(Work { share: 0.5, note: "50 %".into(), each: "3 x 1 s".into() });
        Drawing {
            title: "mpirun \"./a.out\"".into(),
            nodes: nodes.map(|(symbol, name)| node(symbol, name)).to_vec(),
            lanes: vec![master, lane(&[0, 2, 3, 5], &[])],
            messages: vec![message((0, 1), (1, 2)), message((1, 3), (0, 4))],
            ..Drawing::default()
        }
    }
}
