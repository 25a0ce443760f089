//! Looks for waits, messages, the critical path and roles: reads the history of the run, which takes memory for every call.

use rayon::prelude::*;
use sintonia_insight::path::Path;
use sintonia_insight::wait::{self, PATTERNS};
use sintonia_program::company::Alone;
use sintonia_program::graph::ProgramGraph;
use sintonia_program::history::{At, History, Line};
use sintonia_recording::Recording;
use sintonia_recording::raw::{known_bytes, part};
use sintonia_recording::table::Shape;

use super::things::{Message, Stretch, Wait};
use super::{Role, Tell};
use crate::store::Error;

/// What was found.
pub struct Findings {
    /// For each thread what it waited and received, in order.
    pub lines: Vec<OfLine>,
    /// Which kinds of waits there were, by number.
    pub kinds: Vec<String>,
    /// The critical path, from its beginning.
    pub path: Vec<Stretch>,
    /// Ranks with the same behaviour.
    pub roles: Vec<Role>,
}

/// What was found of one thread.
pub struct OfLine {
    /// The rank.
    pub rank: u32,
    /// Its thread.
    pub thread: u16,
    /// Its waits in the order of its calls.
    pub waits: Vec<Wait>,
    /// What it received, in the order in which it came.
    pub messages: Vec<Message>,
}

/// Looks for all of it.
pub fn look(recording: &Recording, tell: Tell) -> Result<Findings, Error> {
    let steps = 2.0 * recording.header.rank_count().max(1) as f64;
    let read = std::sync::atomic::AtomicU32::new(0);
    let step = |doing: &str| tell(doing, f64::from(read.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1) / steps * 0.9);
    let history = History::read(recording, &Alone, &|| step("putting sends and receives together"))?;
    let waits = wait::find(&history);
    let mut path: Vec<Stretch> = Path::of(&history, &waits, &Alone)
        .stretches
        .into_iter()
        .map(|stretch| Stretch { rank: stretch.rank, from: stretch.from, to: stretch.to })
        .collect();
    path.sort_unstable_by_key(|stretch| (stretch.from, stretch.to));
    let lines = history.lines.par_iter().zip(&waits).map(|(line, waits)| OfLine {
        rank: line.rank,
        thread: line.calls.thread,
        waits: waits_of(line, waits),
        messages: messages_of(&history, line),
    });
    let mut lines: Vec<OfLine> = lines.collect();
    drop(history);
    let kinds = number_kinds(&mut lines);
    let graph = ProgramGraph::with(recording, &Alone, &|| step("looking for roles"))?;
    let roles = graph.roles.into_iter().map(|role| Role { name: role.name, ranks: role.ranks }).collect();
    Ok(Findings { lines, kinds, path, roles })
}

/// Waits with their moments. Those for somebody follow each other from the beginning of the call; those for the others to come out of an
/// operation are at its end.
fn waits_of(line: &Line, waits: &[wait::Wait]) -> Vec<Wait> {
    let mut placed = Vec::with_capacity(waits.len());
    for same_call in waits.chunk_by(|a, b| a.row == b.row) {
        let row = same_call[0].row as usize;
        let (mut next, leave) = (line.calls.enter[row], line.calls.leave[row]);
        for wait in same_call {
            let from = if wait.cause == At::NOWHERE { leave - wait.ns } else { next };
            next += if wait.cause == At::NOWHERE { 0 } else { wait.ns };
            let kind = PATTERNS.iter().position(|pattern| pattern == wait.pattern).unwrap_or(0);
            placed.push(Wait { row: row as u64, from, ns: wait.ns, kind: kind as u64 });
        }
    }
    placed
}

/// Numbers the kinds of waits that occur, instead of all that are known.
fn number_kinds(lines: &mut [OfLine]) -> Vec<String> {
    let mut occurs = vec![false; PATTERNS.len()];
    lines.iter().flat_map(|line| &line.waits).for_each(|wait| occurs[wait.kind as usize] = true);
    let kinds: Vec<usize> = (0..PATTERNS.len()).filter(|kind| occurs[*kind]).collect();
    let number = |kind: u64| kinds.partition_point(|other| *other < kind as usize) as u64;
    lines.iter_mut().flat_map(|line| &mut line.waits).for_each(|wait| wait.kind = number(wait.kind));
    kinds.into_iter().map(|kind| PATTERNS[kind].kind.to_owned()).collect()
}

fn messages_of(history: &History, line: &Line) -> Vec<Message> {
    let messages = line.received.iter().filter(|received| received.taken).filter_map(|received| {
        let sender = received.sender.known()?;
        let sending = history.line(sender).and_then(|place| shape(&history.lines[place], sender.row));
        let (bytes, tag) = letter(sending, shape(line, received.row), sender.rank);
        let left = line.calls.leave[received.row as usize];
        Some(Message { from: sender.rank, sent: received.send_enter, to: line.rank, received: left, bytes, tag })
    });
    messages.collect()
}

fn shape(line: &Line, row: u32) -> Option<&Shape> {
    let number = *line.calls.shape.get(row as usize)?;
    line.calls.shapes.get(number as usize)
}

/// Bytes and tag of a message: as the sending call tells them, or where that only starts what another call described, the receiving one.
fn letter(sending: Option<&Shape>, receiving: Option<&Shape>, sender: u32) -> (u64, i64) {
    let tag = |tag: i32| i64::from(tag).max(-1);
    if let Some(shape) = sending.filter(|shape| shape.parts & part::SENT != 0) {
        return (shape.bytes_sent(), tag(shape.tag));
    }
    let Some(shape) = receiving else { return (0, -1) };
    let listed = shape.requests.iter().find(|listed| listed.receive && u32::try_from(listed.peer) == Ok(sender));
    listed.map_or((shape.bytes_received(), tag(shape.tag)), |listed| (known_bytes(listed.received), tag(listed.tag)))
}
