//! The main thread of ranks computes outside parallel regions, while the other threads are idle.
//!
//! The saving needs no replay: it is Amdahl's, with the same threads for the serial part.

use sintonia_text::quantity::{format_percent_range, format_plural, format_seconds};
use sintonia_text::rank_list::format_ranks;

use super::phrases::choose_verb;
use super::{Advice, Saving};
use crate::SourceLocation;
use crate::openmp::{OpenMpReport, RankThreads};

/// Identifier.
pub const KIND: &str = "serial_part";
/// Name.
pub const NAME: &str = "computation outside parallel regions";
/// Explanation, in a few sentences.
pub const HELP: &str = "A rank has several OpenMP threads, and its main thread computes for a large part of the time outside parallel regions. \
    The other threads are idle then, and more threads shorten the rest only (Amdahl's law). Make the longest serial loops parallel \
    as well, or use fewer threads and more ranks.";
/// How the saving is estimated.
pub const BASIS: &str = "the serial part of each rank is divided evenly among its threads; upper bound, on the rank that would save most";

/// Below this share of the computation, serial parts get no advice.
const MIN_SERIAL_SHARE: f64 = 0.1;

/// At most one piece of advice.
pub(super) fn advice(report: &OpenMpReport, min_saving_s: f64) -> Vec<Advice> {
    let saving = |rank: &RankThreads| rank.serial_s * (1.0 - 1.0 / rank.threads.max(1) as f64);
    let is_serial = |rank: &&RankThreads| rank.serial_share >= MIN_SERIAL_SHARE && saving(rank) >= min_saving_s;
    let ranks: Vec<&RankThreads> = report.per_rank.iter().filter(is_serial).collect();
    let Some(most) = ranks.iter().max_by(|a, b| saving(a).total_cmp(&saving(b))) else { return Vec::new() };
    let idle = most.threads.saturating_sub(1);
    let numbers: Vec<u32> = ranks.iter().map(|rank| rank.rank).collect();
    vec![Advice {
        kind: KIND,
        what: format!(
            "{} computes outside parallel regions for {} of its computation, while {} {} idle{}.",
            if ranks.len() == 1 { format!("Rank {}", most.rank) } else { format!("Each of {}", format_ranks(&numbers)) },
            share_range(&ranks),
            format_plural(idle as u64, "thread"),
            choose_verb(idle, "is", "are"),
            most.serial_between.as_ref().map_or_else(String::new, |[from, to]| format!("; most of it between {from} and {to}"))
        ),
        source: most.serial_between.as_ref().map_or_else(SourceLocation::default, |[_, to]| to.clone()),
        evidence: format!(
            "{} in parallel regions, {} outside them on rank {}.",
            format_seconds(most.region_s),
            format_seconds(most.serial_s),
            most.rank
        ),
        try_this:
            "Make the longest serial loops parallel too (`report --all` and `view` show the segments and functions that take longest); or use \
            fewer threads and more ranks."
                .into(),
        saving: Some(Saving::exactly_seconds(saving(most))),
        together_s: None,
        basis: BASIS.into(),
    }]
}

fn share_range(ranks: &[&RankThreads]) -> String {
    let least = ranks.iter().map(|rank| rank.serial_share).fold(f64::INFINITY, f64::min);
    let most = ranks.iter().map(|rank| rank.serial_share).fold(0.0, f64::max);
    format_percent_range(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threads_that_are_idle_are_counted() {
        let sentence = |threads| {
            let rank = RankThreads { threads, serial_s: 4.0, serial_share: 0.5, ..RankThreads::default() };
            let report = OpenMpReport {
                max_threads: threads,
                efficiency: None,
                additive: None,
                waits: vec![],
                regions: vec![],
                per_rank: vec![rank],
            };
            advice(&report, 1.0).remove(0).what
        };
        assert_eq!(sentence(2), "Rank 0 computes outside parallel regions for 50 % of its computation, while 1 thread is idle.");
        assert_eq!(sentence(12), "Rank 0 computes outside parallel regions for 50 % of its computation, while 11 threads are idle.");
    }
}
