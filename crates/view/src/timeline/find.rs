//! The next call that looks as described or waited as described, or the one before.

use rayon::prelude::*;
use serde::Serialize;
use sintonia_recording::table::Shape;

use super::{View, ask};
use crate::analysis::{Analysis, Wait};
use crate::answer::{Answer, Question, Refusal};
use crate::index::{Block, Drawer, Thread};
use crate::store::Error;

/// What is looked for.
struct Wanted<'a> {
    operation: Option<&'a str>,
    site: Option<u32>,
    wait: Option<Waiting<'a>>,
    /// Of the call, or of its wait if that is asked for.
    longer: i64,
    back: bool,
}

/// Waits of one kind, or of any.
struct Waiting<'a> {
    analysis: &'a Analysis,
    kind: Option<u64>,
}

/// A call that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Found {
    rank: u32,
    thread: u16,
    enter: i64,
    leave: i64,
    operation: &'static str,
    site: u32,
}

/// Answers the question.
pub fn answer(view: View, question: &Question) -> Result<Answer, Refusal> {
    let wanted = Wanted {
        operation: question.get("operation"),
        site: question.number("site")?,
        wait: view.analysis.zip(question.get("wait")).map(|(analysis, kind)| Waiting::asked(analysis, kind)).transpose()?,
        longer: question.number("longer")?.unwrap_or(i64::MIN),
        back: question.get("back").is_some_and(|back| back != "0"),
    };
    let (begin, end) = view.index.span();
    // The last call can be entered when it is left, at the very end.
    let (begin, end) = (begin, end.saturating_add(1));
    let from: i64 = question.number("from")?.unwrap_or(if wanted.back { end } else { begin }).clamp(begin, end);
    let ranks = ask::ranks(view, question)?;
    let threads: Vec<&Thread> = ranks.iter().flat_map(|rank| view.index.threads_of(*rank)).collect();
    let limit = if wanted.back { begin } else { end };
    let (mut near, mut width) = (from, ((end - begin) / 1000).max(1));
    // What is looked for is mostly near; each step looks further than all before it together.
    while near != limit {
        let far = if wanted.back { near.saturating_sub(width).max(limit) } else { near.saturating_add(width).min(limit) };
        let between = (near.min(far), near.max(far));
        let found = threads.par_iter().map_init(|| view.drawer(), |drawer, thread| wanted.first(drawer, thread, between));
        let found = found.collect::<Result<Vec<Option<Found>>, Error>>()?.into_iter().flatten();
        let key = |found: &Found| (found.enter, found.rank, found.thread);
        let found = if wanted.back { found.max_by_key(key) } else { found.min_by_key(key) };
        if found.is_some() {
            return Ok(Answer::json(&found));
        }
        (near, width) = (far, width.saturating_mul(2));
    }
    Ok(Answer::json(&None::<Found>))
}

/// Whether a name begins so, in large or small letters.
fn begins(name: &str, beginning: &str) -> bool {
    name.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

impl Wanted<'_> {
    fn describes(&self, shape: &Shape) -> bool {
        self.operation.is_none_or(|beginning| begins(shape.operation.name(), beginning)) && self.site.is_none_or(|site| site == shape.site)
    }

    /// The first call of a thread that is entered between two moments; the last one if it is looked for backwards.
    fn first(&self, drawer: &mut Drawer, thread: &Thread, (from, to): (i64, i64)) -> Result<Option<Found>, Error> {
        let mut best: Option<Found> = None;
        for block in thread.blocks_between(from, to) {
            let shapes = drawer.shapes(thread.rank, block)?;
            let describes: Vec<bool> = shapes.iter().map(|shape| self.describes(shape)).collect();
            if !describes.contains(&true) {
                continue;
            }
            let waiting = self.wait.as_ref().map(|wait| wait.calls(thread, block, self.longer)).transpose()?;
            if waiting.as_ref().is_some_and(Vec::is_empty) {
                continue;
            }
            drawer.calls(thread, block, from, to, |number, row| {
                let place = usize::from(row.shape);
                let is_long = match &waiting {
                    Some(waiting) => waiting.binary_search(&number).is_ok(),
                    None => row.leave.saturating_sub(row.enter) >= self.longer,
                };
                let fits = is_long && describes.get(place) == Some(&true) && (from..to).contains(&row.enter);
                if fits && (self.back || best.is_none()) {
                    let (shape, Thread { rank, thread, .. }) = (&shapes[place], thread);
                    let (rank, thread, operation) = (*rank, *thread, shape.operation.name());
                    best = Some(Found { rank, thread, enter: row.enter, leave: row.leave, operation, site: shape.site });
                }
            })?;
        }
        Ok(best)
    }
}

impl<'a> Waiting<'a> {
    fn asked(analysis: &'a Analysis, kind: &str) -> Result<Waiting<'a>, Refusal> {
        if kind == "any" {
            return Ok(Waiting { analysis, kind: None });
        }
        let number = analysis.kinds().iter().position(|known| known == kind).map(|number| number as u64);
        let refusal = || Refusal::Query {
            parameter: "wait".to_owned(),
            reason: format!("`{kind}` does not occur; it should be one of {}", [&["any".to_owned()], analysis.kinds()].concat().join(", ")),
        };
        number.map(|kind| Waiting { analysis, kind: Some(kind) }).ok_or_else(refusal)
    }

    /// The calls of a block that waited so for some nanoseconds, by number in the thread.
    fn calls(&self, thread: &Thread, block: &Block, longer: i64) -> Result<Vec<u64>, Error> {
        let last = (block.first_row + u64::from(block.place.calls)).saturating_sub(1);
        let waits = self.analysis.waits(thread.rank, thread.thread, block.first_row, last)?;
        let fits = |wait: &Wait| wait.ns >= longer && self.kind.is_none_or(|kind| kind == wait.kind);
        Ok(waits.iter().filter(|wait| fits(wait)).map(|wait| wait.row).collect())
    }
}
