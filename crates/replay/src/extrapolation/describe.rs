//! Human-readable description of a pattern.

use std::collections::BTreeMap;
use std::fmt::Write;

use sintonia_mpi::FunctionRole;

use super::call_rule::{CallRule, MissingPeer, PeerTarget, SelectionPolicy};
use super::filters::{IterationFilter, RankFilter};
use super::group_rule::GroupRule;
use super::pattern::{IterationCount, ProgramPattern};
use super::process_grid::{GridRule, ProcessGrid};
use super::recording_family::BodyElement as Piece;

impl ProgramPattern {
    /// The grid, the communicators, and each call with its rule, one line each.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{}", self.describe_grid());
        for (group, operations) in self.collectives() {
            let _ = writeln!(text, "on {group}: {}", operations.join(", "));
        }
        self.describe_body(&mut text, &self.program.body, 0);
        text
    }

    fn describe_grid(&self) -> String {
        let grids: Vec<String> = self
            .recorded_rank_counts
            .iter()
            .filter_map(|ranks| self.program.grid.grid(*ranks))
            .map(|grid: ProcessGrid| grid.to_string())
            .collect();
        let wraps =
            self.program.calls.iter().filter_map(|step| if let PeerTarget::Constant(peer) = &step.peer { peer.wraps() } else { None });
        let wraps: Vec<bool> = wraps.collect();
        let ends = match (wraps.contains(&true), wraps.contains(&false)) {
            (true, true) => ", open and periodic",
            (true, false) => ", periodic",
            (false, true) => ", open",
            (false, false) => "",
        };
        match &self.program.grid {
            GridRule::Row => format!("1-D grid ({}){ends}", grids.join(", ")),
            GridRule::Fixed { side, .. } => format!("2-D grid ({}), row-major, one side always {side}{ends}", grids.join(", ")),
            grid => {
                format!("{}-D grid ({}), row-major, balanced sides{ends}", grid.dimensions(), grids.join(", "))
            }
        }
    }

    /// Collectives by group.
    fn collectives(&self) -> Vec<(String, Vec<String>)> {
        let mut on: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for step in &self.program.calls {
            if let (FunctionRole::Collective(_), Some(class)) = (step.template.function.role(), step.communicator) {
                let names = on.entry(class).or_default();
                let name = step.template.function.name().trim_start_matches("MPI_").to_lowercase();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        on.into_iter().map(|(class, names)| (self.program.communicator_groups[class].to_string(), names)).collect()
    }

    fn describe_body(&self, text: &mut String, body: &[Piece], depth: usize) {
        let indent = "  ".repeat(depth + 1);
        for element in body {
            match element {
                Piece::Loop(number) => {
                    let _ = writeln!(text, "{indent}{}:", describe_count(&self.program.counts[*number]));
                    self.describe_body(text, &self.program.loops[*number].body, depth + 1);
                }
                Piece::Call(node) => {
                    let step = &self.program.calls[*node];
                    let _ = writeln!(text, "{indent}{} {}", self.program.site_name(step), self.describe_step(step));
                }
            }
        }
    }

    fn describe_step(&self, step: &CallRule) -> String {
        let mut text = step.template.function.name().to_string();
        if step.peer.is_rule() {
            let to = match step.template.function.role() {
                FunctionRole::Collective(_) => "root",
                FunctionRole::Receive | FunctionRole::Probe => "from",
                _ => "to",
            };
            let or_null = if step.missing_peer == MissingPeer::ProcNull { " or MPI_PROC_NULL" } else { "" };
            let _ = write!(text, " {to} {}{or_null}", step.peer);
        }
        if step.any_order {
            text.push_str(", in any order");
        }
        if step.source.is_rule() {
            let _ = write!(text, ", from {}", step.source);
        }
        if matches!(step.template.function.role(), FunctionRole::Send | FunctionRole::SendReceive | FunctionRole::Collective(_)) {
            let _ = write!(text, ", {} bytes", step.sent);
        }
        if let Some(group) =
            step.communicator.map(|class| &self.program.communicator_groups[class]).filter(|group| **group != GroupRule::World)
        {
            let _ = write!(text, ", on {group}");
        }
        if step.rank_filter != RankFilter::Everyone {
            let _ = write!(text, ", by {}", step.rank_filter);
        }
        if let Some((_, filter)) = step.iteration_filter.as_ref().filter(|(_, filter)| *filter != IterationFilter::Always) {
            let _ = write!(text, ", {filter}");
        }
        if step.requests.as_ref().is_some_and(|selection| selection.policy == SelectionPolicy::Any) {
            text.push_str(", assumed to be the oldest");
        }
        text
    }
}

fn describe_count(count: &IterationCount) -> String {
    match count {
        IterationCount::Value(amount) => format!("{amount} times"),
        IterationCount::PerPeer { list, times: 1, filter: RankFilter::Everyone } => format!("for {list}"),
        IterationCount::PerPeer { list, times: 1, filter } => format!("for {list}, by {filter}"),
        IterationCount::PerPeer { list, times, .. } => format!("{times} times for {list}"),
        IterationCount::PerRequest(_) => "for each request".into(),
    }
}
