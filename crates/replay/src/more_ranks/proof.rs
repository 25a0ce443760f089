//! The proof of a pattern: with as many ranks as were recorded, it says exactly what was recorded.

use sintonia_recording::raw::RequestRef;
use sintonia_recording::table::Shape;

use super::error::Unrecognised;
use super::family::Family;
use super::line::Line;
use super::pattern::Pattern;
use super::reading::asks_anyone;
use crate::platform::End;
use crate::schedule::{Next, Stretch, Stretches};

/// Holds a pattern against all recordings it comes from, call by call.
pub fn prove(family: &Family, pattern: &Pattern) -> Result<(), Unrecognised> {
    for run in &family.runs {
        let told = pattern.recorded(run.ranks, End::Middle).ok_or(Unrecognised::NoRecording)?;
        for rank in 0..run.ranks {
            let mut calls = Calls { line: Line::new(&told, rank), stretch: Stretch::default(), next: 0 };
            let refuted = |node: usize, wanted: Option<&Shape>, got: Option<&Shape>| Unrecognised::Call {
                site: family.site(node),
                operation: family.nodes[node].operation.name(),
                what: "every call",
                examples: format!("of {} ranks, rank {rank} did {}, not {}", run.ranks, shown(wanted), shown(got)),
                tried: "rules for each call that hold one by one, but not together",
            };
            run.each_call(rank, |call| {
                let Some(node) = family.node(run, call.shape) else { return Ok(()) };
                let got = calls.next();
                let anyone = pattern.program.steps[node].any_order;
                let same = got.is_some_and(|got| got.site == family.nodes[node].site && is_same(got, call.shape, anyone));
                if same { Ok(()) } else { Err(refuted(node, Some(call.shape), got)) }
            })?;
            if let Some(more) = calls.next() {
                return Err(refuted(family.nodes.len() - 1, None, Some(more)));
            }
        }
    }
    Ok(())
}

/// The calls of a line one by one.
struct Calls<'a> {
    line: Line<'a>,
    stretch: Stretch,
    next: usize,
}

impl Calls<'_> {
    fn next(&mut self) -> Option<&Shape> {
        if self.next == self.stretch.rows.len() {
            self.next = 0;
            if !matches!(self.line.next(&mut self.stretch), Ok(Next::Rows | Next::Actions)) {
                self.stretch.rows.clear();
            }
        }
        let row = self.stretch.rows.get(self.next)?;
        self.next += 1;
        Some(&self.stretch.actions[row.action as usize].shape)
    }
}

/// Whether two calls do the same. Sizes may be about right, and messages from anyone come in any order.
fn is_same(told: &Shape, recorded: &Shape, anyone: bool) -> bool {
    // A receive from anyone that has a request is told with the message that it got.
    let anyone = anyone || (asks_anyone(recorded) && recorded.makes_request());
    let any_request = recorded.operation.role() == sintonia_mpi::Role::CompleteAny;
    told.operation == recorded.operation
        && (anyone || (told.peer, told.tag) == (recorded.peer, recorded.tag))
        && (anyone || (told.source, told.recv_tag) == (recorded.source, recorded.recv_tag))
        && told.makes_request() == recorded.makes_request()
        && (any_request || requests(told) == requests(recorded))
}

fn requests(shape: &Shape) -> Vec<u64> {
    let ago = |request: RequestRef| if let RequestRef::Ago(ago) = request { ago } else { u64::MAX };
    let mut requests: Vec<u64> = shape.requests.iter().map(|listed| ago(listed.request)).collect();
    requests.sort_unstable();
    requests
}

fn shown(shape: Option<&Shape>) -> String {
    shape.map_or_else(|| "nothing".into(), |shape| format!("{} with {}", shape.operation.name(), shape.peer))
}
