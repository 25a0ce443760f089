//! Threads of a parallel region compute unequally long: another schedule, or smaller pieces.
//!
//! The saving needs no replay: in each execution of the region the longest thread is as short as the mean of all.

use sintonia_text::quantity::{format_percent, format_plural, format_seconds};

use super::{Advice, Saving};
use crate::openmp::{OpenMpReport, RegionTotals};

/// Identifier.
pub const KIND: &str = "thread_imbalance";
/// Name.
pub const NAME: &str = "unequal threads in a parallel region";
/// Explanation, in a few sentences.
pub const HELP: &str = "The threads of an OpenMP region compute unequally long, and those that are done wait for the others. In a loop whose \
    iterations differ, `schedule(dynamic)` or `schedule(guided)` gives the next iterations to the thread that is free; in sections and \
    tasks, smaller ones do. Where always the same thread is late, look at what it alone does.";
/// How the saving is estimated.
pub const BASIS: &str =
    "in each execution of the region every thread computes as long as their mean; upper bound, on the rank that would save most";

/// Regions whose threads are better balanced get no advice.
const GOOD_BALANCE: f64 = 0.9;
/// Advice for at most this many regions.
const MAX_REGIONS: usize = 3;

/// Advice for the regions that lose most.
pub(super) fn advice(report: &OpenMpReport, min_saving_s: f64) -> Vec<Advice> {
    let saving = |region: &RegionTotals| region.imbalance.iter().map(|rank| rank.seconds).fold(0.0, f64::max);
    let unbalanced = report.regions.iter().filter(|region| region.level == 0 && region.load_balance < GOOD_BALANCE);
    let mut found: Vec<(f64, &RegionTotals)> =
        unbalanced.map(|region| (saving(region), region)).filter(|(s, _)| *s >= min_saving_s).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(MAX_REGIONS).map(|(saves_s, region)| new(region, saves_s)).collect()
}

fn new(region: &RegionTotals, saves_s: f64) -> Advice {
    let longest = region.imbalance.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)).copied().unwrap_or_default();
    let same = region.imbalance.iter().all(|rank| rank.longest_thread == longest.longest_thread);
    let who =
        if same { format!("thread {} computes longest", longest.longest_thread) } else { "which thread computes longest differs".into() };
    let waits = format_seconds(region.end_s + region.barrier_s);
    Advice {
        kind: KIND,
        what: format!("The {} of the region at {} compute unequally long.", format_plural(region.threads as u64, "thread"), region.source),
        source: region.source.clone(),
        evidence: format!(
            "Load balance {} over {}; {waits} at barriers and at its end; {who}.",
            format_percent(region.load_balance),
            format_plural(region.executions, "execution")
        ),
        try_this:
            "Give its loop `schedule(dynamic)` or `schedule(guided)`, with chunks of some microseconds; split long sections or tasks. \
            If all iterations take equally long, check that each thread has a core of its own (`OMP_PLACES=cores`)."
                .into(),
        saving: Some(Saving::exactly_seconds(saves_s)),
        together_s: None,
        basis: BASIS.into(),
    }
}
