//! The calls of a window, one by one.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::Serialize;
use sintonia_recording::table::Shape;

use super::{View, ask};
use crate::analysis::Wait;
use crate::answer::{Answer, Question, Refusal};
use crate::index::{Kind, STRETCH, Thread};
use crate::store::Error;

/// The most calls of an answer, where no other number is asked for.
const USUAL: usize = 20_000;
const MOST: usize = 200_000;

/// Calls in columns of the same length.
#[derive(Default, Serialize)]
struct Columns<'a> {
    many: Option<u64>,
    rank: Vec<u32>,
    thread: Vec<u16>,
    enter: Vec<i64>,
    leave: Vec<i64>,
    operation: Vec<usize>,
    site: Vec<u32>,
    peer: Vec<i32>,
    tag: Vec<i32>,
    sent: Vec<u64>,
    received: Vec<u64>,
    communicator: Vec<i64>,
    wait: Vec<i64>,
    cause: Vec<i64>,
    kind: Vec<u8>,
    names: Vec<&'a str>,
}

/// One call.
struct Listed {
    thread: u16,
    /// Its number in the thread.
    number: u64,
    enter: i64,
    leave: i64,
    shape: usize,
    /// Nanoseconds of waiting.
    waited: i64,
    /// The longest wait.
    longest: Option<Wait>,
}

/// The calls of one rank, and what they are.
#[derive(Default)]
struct OfRank {
    rank: u32,
    calls: Vec<Listed>,
    shapes: Vec<Shape>,
}

/// Answers the question.
pub fn answer(view: View, question: &Question) -> Result<Answer, Refusal> {
    let (from, to) = ask::moments(view, question)?;
    let most = ask::count(question, "most", USUAL, MOST)?;
    let ranks = ask::ranks(view, question)?;
    let threads: Vec<&Thread> = ranks.iter().flat_map(|rank| view.index.threads_of(*rank)).collect();
    let counts = threads.par_iter().map_init(|| view.drawer(), |drawer, thread| drawer.count(thread, from, to));
    let about: u64 = counts.collect::<Result<Vec<u64>, Error>>()?.into_iter().sum();
    // The first and the last stretch of each thread count as a whole, and one that only touches the window.
    if about > (most + 3 * STRETCH * threads.len()) as u64 {
        return Ok(Answer::json(&Columns { many: Some(about), ..Columns::default() }));
    }
    let found = ranks.par_iter().map(|rank| of_rank(view, *rank, from, to));
    let found: Vec<OfRank> = found.collect::<Result<_, Error>>()?;
    let count: usize = found.iter().map(|rank| rank.calls.len()).sum();
    if count > most {
        return Ok(Answer::json(&Columns { many: Some(count as u64), ..Columns::default() }));
    }
    let mut columns = Columns::default();
    let mut names = HashMap::new();
    found.iter().for_each(|rank| columns.add(view, rank, from, &mut names));
    Ok(Answer::json(&columns))
}

/// The calls of a rank in the order in which they were entered, whichever thread made them.
fn of_rank(view: View, rank: u32, from: i64, to: i64) -> Result<OfRank, Error> {
    let mut drawer = view.drawer();
    let mut found = OfRank { rank, ..OfRank::default() };
    for thread in view.index.threads_of(rank) {
        let begin = found.calls.len();
        for block in thread.blocks_between(from, to) {
            let (first, before) = (found.shapes.len(), found.calls.len());
            drawer.calls(thread, block, from, to, |number, row| {
                let (shape, thread) = (first + usize::from(row.shape), thread.thread);
                found.calls.push(Listed { thread, number, enter: row.enter, leave: row.leave, shape, waited: 0, longest: None });
            })?;
            if found.calls.len() > before {
                found.shapes.extend(drawer.shapes(rank, block)?);
            }
        }
        add_waits(view, thread, &mut found.calls[begin..])?;
    }
    found.calls.sort_by_key(|call| call.enter);
    Ok(found)
}

/// Adds to calls of a thread, which follow each other, what they waited.
fn add_waits(view: View, thread: &Thread, calls: &mut [Listed]) -> Result<(), Error> {
    let (Some(analysis), Some(first)) = (view.analysis, calls.first().map(|call| call.number)) else { return Ok(()) };
    for wait in analysis.waits(thread.rank, thread.thread, first, first + calls.len() as u64 - 1)? {
        if let Some(call) = calls.get_mut((wait.row - first) as usize) {
            call.waited += wait.ns;
            call.longest = call.longest.filter(|longest| longest.ns >= wait.ns).or(Some(wait));
        }
    }
    Ok(())
}

impl<'a> Columns<'a> {
    fn add(&mut self, view: View<'a>, found: &OfRank, from: i64, names: &mut HashMap<&'a str, usize>) {
        for call in &found.calls {
            let Some(shape) = found.shapes.get(call.shape) else { continue };
            let operation = self.name(shape.operation.name(), names);
            self.rank.push(found.rank);
            self.thread.push(call.thread);
            self.enter.push(call.enter.saturating_sub(from));
            self.leave.push(call.leave.saturating_sub(from));
            self.operation.push(operation);
            self.site.push(shape.site);
            self.peer.push(shape.peer.max(-1));
            self.tag.push(shape.tag.max(-1));
            self.sent.push(shape.bytes_sent());
            self.received.push(shape.bytes_received());
            self.communicator.push(shape.communicator().map_or(-1, i64::from));
            self.wait.push(call.waited);
            let cause = view.analysis.zip(call.longest).map(|(analysis, wait)| self.name(analysis.kind(&wait), names) as i64);
            self.cause.push(cause.unwrap_or(-1));
            self.kind.push(Kind::of(shape.operation.role()) as u8);
        }
    }

    fn name(&mut self, name: &'a str, names: &mut HashMap<&'a str, usize>) -> usize {
        *names.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}
