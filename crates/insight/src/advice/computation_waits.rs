//! Calls that wait for a rank that computes, for the rules that differ in what is waited for.

use super::AdviceCandidate;
use super::rule_context::{CombinedWaits, RuleContext};
use super::what_if::{CallOverride, WhatIfChange};
use crate::findings::significant_ranks;
use crate::segment::Segment;

/// At least one part in this many of a wait must come from computation; the rest is due to the network.
const MIN_COMPUTE_SHARE: i64 = 4;

/// The waits at a site, and what the rank that is waited for most computes meanwhile.
pub(super) struct ComputationWait {
    /// The site of the calls that wait.
    pub site: u32,
    pub waiting: CombinedWaits,
    /// The segment of that rank that delays others most.
    pub segment: Segment,
    /// Delay costs of that segment, in nanoseconds.
    delay_ns: i64,
    /// For how long that rank is waited for here, in nanoseconds.
    caused_ns: i64,
    /// The ranks that are waited for here, and delay others most by the same segment.
    late: Vec<u32>,
}

impl ComputationWait {
    /// The waits of some patterns, by site.
    pub(super) fn find_all(context: &RuleContext, kinds: &[&str]) -> Vec<ComputationWait> {
        let main_delays = context.main_delays();
        let wait = |(site, waiting): (u32, CombinedWaits)| {
            let late = waiting.main_cause()?;
            let (segment, delay_ns) = *main_delays.get(&late)?;
            let has_segment = |rank: &u32| main_delays.get(rank).is_some_and(|(main, _)| *main == segment);
            let late_ranks = significant_ranks(&waiting.causes).into_iter().filter(has_segment).collect();
            Some(ComputationWait { site, caused_ns: waiting.causes[&late], waiting, segment, delay_ns, late: late_ranks })
        };
        context.waits(kinds).into_iter().filter_map(wait).collect()
    }

    /// Whether a rank waits for more than one part in this many of the run.
    pub(super) fn exceeds(&self, context: &RuleContext, share: i64) -> bool {
        self.waiting.max_ns() > context.run_ns() / share
    }

    /// Whether a good part of it comes from computation.
    pub(super) fn is_due_to_computation(&self) -> bool {
        self.delay_ns > self.caused_ns / MIN_COMPUTE_SHARE
    }

    /// The candidate about the computation of the late ranks; the calls that wait are executed differently.
    pub(super) fn candidate(&self, call_override: CallOverride) -> AdviceCandidate {
        let change = WhatIfChange::Calls(vec![self.site], call_override);
        AdviceCandidate::in_segment(self.segment, self.late.clone(), change, self.waiting.max_ns()).noticed_at(self.site)
    }
}
