//! One-sided communication that waits for a rank that computes before it opens or closes its epoch, or while it holds a lock.

use super::computation_waits::ComputationWait;
use super::phrases::{choose_verb, format_ranks};
use super::rule_context::{CombinedWaits, RuleContext};
use super::what_if::CallOverride;
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::findings::significant_ranks;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "late_rma_partner",
    name: "one-sided communication that waits for computation",
    help: "A call of one-sided communication waits for another rank, which computes before it exposes its window (MPI_Win_post), before it ends \
           its accesses (MPI_Win_complete), or while it holds a lock that the call needs.",
    basis: "the run replayed without these waits",
    find,
    describe,
};

/// What the late rank does too late.
struct EpochWait {
    /// Identifiers of wait patterns.
    kinds: &'static [&'static str],
    /// What the call waits for the late ranks to do.
    awaited: &'static str,
    try_this: &'static str,
    /// How the replay leaves the wait out: the order of locks is not replayed, so a wait for one is in the call's own time.
    call_override: CallOverride,
}

const EPOCH_WAITS: [EpochWait; 3] = [
    EpochWait {
        kinds: &["late_post"],
        awaited: "to expose the window (MPI_Win_post), which comes only after computing",
        try_this: "Call MPI_Win_post before the computation that does not change the window, or do other work before MPI_Win_start.",
        call_override: CallOverride::NoWait,
    },
    EpochWait {
        kinds: &["late_complete", "early_wait"],
        awaited: "to end the accesses (MPI_Win_complete), which comes only after computing",
        try_this: "Call MPI_Win_complete right after the last access, before other computation; or do other work before MPI_Win_wait.",
        call_override: CallOverride::NoWait,
    },
    EpochWait {
        kinds: &["lock_competition"],
        awaited: "to release the lock of the window, which is held while computing",
        try_this: "Compute before the lock is taken and hold it for the access only; use MPI_LOCK_SHARED for reads, MPI_Accumulate without \
                   an exclusive lock for sums, or several windows so that ranks need different locks.",
        call_override: CallOverride::ZeroCost,
    },
];

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    EPOCH_WAITS.iter().flat_map(|epoch| find_waits(context, epoch)).collect()
}

fn find_waits(context: &RuleContext, epoch: &EpochWait) -> Vec<AdviceCandidate> {
    let waits = ComputationWait::find_all(context, epoch.kinds).into_iter().filter(|wait| wait.exceeds(context, NOISE_SHARE));
    waits.map(|wait| wait.candidate(epoch.call_override)).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let site = candidate.noticed_at;
    let waits_of = |epoch: &EpochWait| context.waits(epoch.kinds).remove(&site).unwrap_or_default();
    let (epoch, waiting) = EPOCH_WAITS
        .iter()
        .map(|epoch| (epoch, waits_of(epoch)))
        .max_by_key(|(_, waiting)| waiting.ns())
        .unwrap_or((&EPOCH_WAITS[0], CombinedWaits::default()));
    let who = significant_ranks(&waiting.ranks);
    let name = context.inputs.calls.get(&site).map_or("a call", |calls| calls.operation.name());
    AdviceText {
        what: format!(
            "{} {} in {name} at {} for {} {} {}.",
            format_ranks(&who),
            choose_verb(who.len(), "waits", "wait"),
            context.source_location(site),
            format_ranks(&candidate.ranks),
            epoch.awaited,
            context.describe_segment(candidate.segment)
        ),
        evidence: context.describe_waiting(&waiting, "there"),
        try_this: epoch.try_this.into(),
    }
}
