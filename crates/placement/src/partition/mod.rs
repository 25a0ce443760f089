//! A graph divided into parts of exactly so many ranks each, so that little is exchanged between parts.
//!
//! Parts are found by cutting in two, again and again (`bisect`), and then made better two by two (`k_way`). Whether a cut is better than
//! another is decided first by the number of slots, which is always kept, then by compute above a limit, then by what is exchanged across.
//! The limit of a part is its share of all compute and a tolerance: 5 % of the share, or one average rank if that is more. Where all ranks
//! compute alike there is no limit. Everything is determined by the input, whatever the number of threads.

pub(crate) mod bisect;
mod coarsen;
mod heap;
mod k_way;
pub(crate) mod net;
#[cfg(test)]
mod tests;
mod two_way;

use crate::graph::Graph;
use bisect::{Tries, bisect};
use net::Net;
use sintonia_fit::Random;
use std::ops::Range;
use two_way::Sides;

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Once.
    Quick,
    /// As often as is done in a moment.
    Usual,
    /// Many times.
    Thorough,
}

/// What a part should have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Exactly so many ranks.
    pub slots: u32,
    /// At most this share of all compute, and a little more.
    pub share: f64,
}

/// The part of each rank; there are as many ranks as slots.
///
/// # Panics
/// Where there are not.
pub fn partition(graph: &Graph, parts: &[Part], effort: Effort) -> Vec<u32> {
    let slots: u64 = parts.iter().map(|part| u64::from(part.slots)).sum();
    assert_eq!(graph.ranks() as u64, slots, "as many ranks as slots");
    let net = Net::of(graph);
    divide(&net, parts, Tries::new(effort, &net), 0)
}

/// The part of each vertex of a net of single ranks.
pub(crate) fn divide(net: &Net, parts: &[Part], tries: Tries, seed: u64) -> Vec<u32> {
    let limits = limits(net, parts);
    let mut starts = vec![0u64];
    starts.extend(parts.iter().scan(0, |end, part| {
        *end += u64::from(part.slots);
        Some(*end)
    }));
    let mut part = Cuts { starts: &starts, limits: &limits, tries, seed }.cut(net, 0..parts.len());
    if parts.len() > 2 {
        k_way::refine(net, &mut part, &limits, tries.pair_rounds);
    }
    part
}

/// How much each part may compute.
fn limits(net: &Net, parts: &[Part]) -> Vec<f64> {
    let alike = net.compute.windows(2).all(|pair| pair[0] == pair[1]);
    if alike {
        return vec![f64::INFINITY; parts.len()];
    }
    let total: f64 = net.compute.iter().sum();
    let ranks = net.compute.iter().filter(|compute| **compute > 0.0).count();
    let average = total / ranks.max(1) as f64;
    let shares: f64 = parts.iter().map(|part| part.share).sum();
    let scale = if shares > 0.0 { (1.0 / shares).max(1.0) } else { 1.0 };
    parts.iter().map(|part| part.share * scale * total).map(|share| share + average.max(0.05 * share)).collect()
}

/// Cutting in two, again and again.
struct Cuts<'a> {
    /// The first slot of each part, and the number of slots.
    starts: &'a [u64],
    limits: &'a [f64],
    tries: Tries,
    seed: u64,
}

impl Cuts<'_> {
    /// Divides the vertices of a net among the parts of a range.
    fn cut(&self, net: &Net, parts: Range<usize>) -> Vec<u32> {
        if parts.len() <= 1 {
            return vec![parts.start as u32; net.len()];
        }
        let middle = self.middle(&parts);
        let [left, right] = [parts.start..middle, middle..parts.end];
        let slots = [&left, &right].map(|group| self.starts[group.end] - self.starts[group.start]);
        let limit = [&left, &right].map(|group| self.limits[group.clone()].iter().sum());
        let mut random = Random::new(self.seed ^ (parts.start as u64) << 32 ^ parts.end as u64);
        let side = bisect(net, Sides { slots, limit }, self.tries, &mut random);
        let halves = net.split(&side, 2);
        let (first, second) = rayon::join(|| self.cut(&halves[0], left), || self.cut(&halves[1], right));
        let (mut first, mut second) = (first.into_iter(), second.into_iter());
        side.into_iter().filter_map(|side| if side { second.next() } else { first.next() }).collect()
    }

    /// Where the parts of a range are cut in two, with about as many slots on both sides.
    fn middle(&self, parts: &Range<usize>) -> usize {
        let uneven = |middle: &usize| (2 * self.starts[*middle]).abs_diff(self.starts[parts.start] + self.starts[parts.end]);
        (parts.start + 1..parts.end).min_by_key(uneven).unwrap_or(parts.end)
    }
}
