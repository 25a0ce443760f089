//! Sends that wait for their receives, for the rules about them.

use super::inputs::SiteCalls;
use super::rule_context::{CombinedWaits, RuleContext};
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, NOISE_SHARE};
use crate::findings::significant_ranks;

/// Larger messages are above the eager limit of most libraries, unless it was raised.
const MAX_BUFFERED_BYTES: u64 = 64 * 1024;

/// The waiting for receives in the blocking sends at a site.
pub(super) struct SendWaits<'a> {
    calls: Option<&'a SiteCalls>,
    waiting: CombinedWaits,
}

impl<'a> SendWaits<'a> {
    /// The waits at a site.
    pub(super) fn at(context: &RuleContext<'a>, site: u32) -> SendWaits<'a> {
        let waiting = context.waits(&["late_receiver"]).remove(&site).unwrap_or_default();
        SendWaits { calls: context.inputs.calls.get(&site), waiting }
    }

    /// The name of the sending function.
    pub(super) fn function_name(&self) -> &'static str {
        self.calls.map_or("MPI_Send", |calls| calls.operation.name())
    }

    /// Number of messages.
    pub(super) fn calls(&self) -> u64 {
        self.calls.map_or(0, |calls| calls.sum(|totals| totals.calls))
    }

    /// Whether these are calls of this function.
    pub(super) fn are_calls_of(&self, function: &str) -> bool {
        self.calls.is_some_and(|calls| calls.operation.name() == function)
    }

    /// Mean size of a message.
    pub(super) fn mean_bytes(&self) -> u64 {
        self.calls.map_or(0, |calls| calls.sum(|totals| totals.bytes)) / self.calls().max(1)
    }

    /// Whether a library could buffer the messages.
    pub(super) fn is_small(&self) -> bool {
        self.mean_bytes() <= MAX_BUFFERED_BYTES
    }

    /// The ranks that receive late.
    pub(super) fn receivers(&self) -> Vec<u32> {
        significant_ranks(&self.waiting.causes)
    }

    /// How long is waited for the receives.
    pub(super) fn describe_waiting(&self, context: &RuleContext) -> String {
        context.describe_waiting(&self.waiting, "for their receives")
    }
}

/// A candidate for each site with such sends: they no longer wait for their receives.
pub(super) fn candidates_of(context: &RuleContext, applies: impl Fn(&SendWaits) -> bool) -> Vec<AdviceCandidate> {
    let candidate = |(site, waiting): (u32, CombinedWaits)| {
        let (ranks, most) = (significant_ranks(&waiting.ranks), waiting.max_ns());
        let waits = SendWaits { calls: context.inputs.calls.get(&site), waiting };
        let change = WhatIfChange::Calls(vec![site], CallOverride::NoWait);
        (most > context.run_ns() / NOISE_SHARE && applies(&waits)).then(|| AdviceCandidate::at_call(site, ranks, change, most))
    };
    context.waits(&["late_receiver"]).into_iter().filter_map(candidate).collect()
}
