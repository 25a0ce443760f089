//! The next call that looks as described, or the one before.

use rayon::prelude::*;
use serde::Serialize;
use sintonia_recording::table::Shape;

use super::{View, ask};
use crate::answer::{Answer, Question, Refusal};
use crate::index::{Drawer, Thread};
use crate::store::Error;

/// What is looked for.
struct Wanted<'a> {
    operation: Option<&'a str>,
    site: Option<u32>,
    longer: i64,
    back: bool,
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
            drawer.calls(thread, block, from, to, |_, row| {
                let place = usize::from(row.shape);
                let fits = describes.get(place) == Some(&true)
                    && (from..to).contains(&row.enter)
                    && row.leave.saturating_sub(row.enter) >= self.longer;
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
