//! A pattern in plain words.

use std::collections::BTreeMap;
use std::fmt::Write;

use sintonia_mpi::Role;

use super::family::Part as Piece;
use super::grid::{Grid, GridRule};
use super::part::Part;
use super::pattern::{Count, Pattern};
use super::step::{Choice, Nobody, Step, Target};
use super::who::{When, Who};

impl Pattern {
    /// What was recognised: the grid, the communicators, and each call with its rule, one line each.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{}", self.describe_grid());
        for (part, operations) in self.collectives() {
            let _ = writeln!(text, "on {part}: {}", operations.join(", "));
        }
        self.describe_body(&mut text, &self.program.body, 0);
        text
    }

    fn describe_grid(&self) -> String {
        let grids: Vec<String> =
            self.recorded.iter().filter_map(|ranks| self.program.grid.grid(*ranks)).map(|grid: Grid| grid.to_string()).collect();
        let wraps = self.program.steps.iter().filter_map(|step| if let Target::Same(peer) = &step.peer { peer.wraps() } else { None });
        let wraps: Vec<bool> = wraps.collect();
        let ends = match (wraps.contains(&true), wraps.contains(&false)) {
            (true, true) => ", open and around the ends",
            (true, false) => ", around the ends",
            (false, true) => ", open",
            (false, false) => "",
        };
        match &self.program.grid {
            GridRule::Row => format!("ranks in a row ({}){ends}", grids.join(", ")),
            GridRule::Fixed { side, .. } => format!("2-D grid ({}), row-major, one side always {side}{ends}", grids.join(", ")),
            grid => {
                format!("{}-D grid ({}), row-major, sides as near to each other as possible{ends}", grid.dimensions(), grids.join(", "))
            }
        }
    }

    /// The collective operations, by who takes part.
    fn collectives(&self) -> Vec<(String, Vec<String>)> {
        let mut on: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for step in &self.program.steps {
            if let (Role::Collective(_), Some(kind)) = (step.shape.operation.role(), step.communicator) {
                let names = on.entry(kind).or_default();
                let name = step.shape.operation.name().trim_start_matches("MPI_").to_lowercase();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        on.into_iter().map(|(kind, names)| (self.program.kinds[kind].to_string(), names)).collect()
    }

    fn describe_body(&self, text: &mut String, body: &[Piece], depth: usize) {
        let indent = "  ".repeat(depth + 1);
        for piece in body {
            match piece {
                Piece::Loop(number) => {
                    let _ = writeln!(text, "{indent}{}:", rounds(&self.program.counts[*number]));
                    self.describe_body(text, &self.program.loops[*number].body, depth + 1);
                }
                Piece::Call(node) => {
                    let step = &self.program.steps[*node];
                    let _ = writeln!(text, "{indent}{} {}", self.program.site(step), self.describe_step(step));
                }
            }
        }
    }

    fn describe_step(&self, step: &Step) -> String {
        let mut text = step.shape.operation.name().to_string();
        if step.peer.is_rule() {
            let to = match step.shape.operation.role() {
                Role::Collective(_) => "root",
                Role::Receive | Role::Probe => "from",
                _ => "to",
            };
            let nobody = if step.nobody == Nobody::Null { " or nobody" } else { "" };
            let _ = write!(text, " {to} {}{nobody}", step.peer);
        }
        if step.any_order {
            text.push_str(", in whichever order they come");
        }
        if step.source.is_rule() {
            let _ = write!(text, ", from {}", step.source);
        }
        if matches!(step.shape.operation.role(), Role::Send | Role::SendReceive | Role::Collective(_)) {
            let _ = write!(text, ", {} bytes", step.sent);
        }
        if let Some(part) = step.communicator.map(|kind| &self.program.kinds[kind]).filter(|part| **part != Part::World) {
            let _ = write!(text, ", on {part}");
        }
        if step.who != Who::Everyone {
            let _ = write!(text, ", by {}", step.who);
        }
        if let Some((_, when)) = step.when.as_ref().filter(|(_, when)| *when != When::Always) {
            let _ = write!(text, ", {when}");
        }
        if step.handles.as_ref().is_some_and(|handles| handles.choice == Choice::Any) {
            text.push_str(", taken to be the oldest");
        }
        text
    }
}

fn rounds(count: &Count) -> String {
    match count {
        Count::Amount(amount) => format!("{amount} times"),
        Count::List { list, times: 1, who: Who::Everyone } => format!("for {list}"),
        Count::List { list, times: 1, who } => format!("for {list}, by {who}"),
        Count::List { list, times, .. } => format!("{times} times for {list}"),
        Count::Requests(_) => "for each request".into(),
    }
}
