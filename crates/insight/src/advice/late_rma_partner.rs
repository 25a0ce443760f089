//! One-sided communication that waits for a rank that computes before it opens or closes its epoch, or for a lock that another rank holds.

use std::collections::BTreeSet;

use sintonia_mpi::FunctionRole;

use super::computation_waits::ComputationWait;
use super::inputs::SiteCalls;
use super::phrases::{choose_verb, format_ranks};
use super::rule_context::RuleContext;
use super::what_if::{CallOverride, WhatIfChange};
use super::{AdviceCandidate, AdviceRule, AdviceText, NOISE_SHARE};
use crate::findings::significant_ranks;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "late_rma_partner",
    name: "one-sided communication that waits for another rank",
    help: "A call of one-sided communication waits for another rank, which computes before it exposes its window (MPI_Win_post), before it ends \
           its accesses (MPI_Win_complete), or while it holds a lock that the call needs; or several ranks compete for the lock.",
    basis: "the run replayed without these waits",
    find,
    describe,
};

/// What the call waits for.
struct EpochWait {
    /// Identifiers of wait patterns.
    kinds: &'static [&'static str],
    /// What the call waits for the late ranks to do.
    awaited: &'static str,
    try_this: &'static str,
    /// How the replay leaves the wait out: the order of locks is not replayed, so a wait for one is in the call's own time.
    call_override: CallOverride,
}

/// Waits for ranks that compute.
const COMPUTATION_WAITS: [EpochWait; 3] = [
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
        kinds: LOCK,
        awaited: "to release the lock of the window, which is held while computing",
        try_this: "Compute before the lock is taken and hold it for the access only; use MPI_LOCK_SHARED for reads, MPI_Accumulate without \
                   an exclusive lock for sums, or several windows so that ranks need different locks.",
        call_override: CallOverride::ZeroCost,
    },
];

const LOCK: &[&str] = &["lock_competition"];

/// Waits for ranks that hold a lock for their accesses only.
const CONTENTION: EpochWait = EpochWait {
    kinds: LOCK,
    awaited: "to release the lock of the window, for which they compete",
    try_this: "Take the lock less often, for several accesses at once; use MPI_LOCK_SHARED for reads, MPI_Accumulate or MPI_Fetch_and_op \
               without an exclusive lock for sums and counters, or several windows so that ranks need different locks.",
    call_override: CallOverride::ZeroCost,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let computation = COMPUTATION_WAITS.iter().enumerate();
    let mut candidates: Vec<AdviceCandidate> = computation.flat_map(|(case, epoch)| find_waits(context, case, epoch)).collect();
    let explained: BTreeSet<u32> = candidates.iter().map(|candidate| candidate.noticed_at).collect();
    candidates.extend(find_contention(context).filter(|candidate| !explained.contains(&candidate.noticed_at)));
    candidates
}

fn find_waits(context: &RuleContext, case: usize, epoch: &EpochWait) -> Vec<AdviceCandidate> {
    let waits = ComputationWait::find_all(context, epoch.kinds).into_iter();
    let is_late = |wait: &ComputationWait| {
        wait.is_due_to_computation() && (epoch.kinds != LOCK || context.inputs.calls.get(&wait.segment.to).is_some_and(is_under_lock))
    };
    let long = waits.filter(|wait| is_late(wait) && wait.exceeds(context, NOISE_SHARE));
    long.map(|wait| wait.candidate(epoch.call_override).of_case(case)).collect()
}

/// Whether a lock is held before these calls: computation that ends with taking it is outside.
fn is_under_lock(calls: &SiteCalls) -> bool {
    match calls.operation.role() {
        FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => true,
        FunctionRole::WindowSync => !matches!(calls.operation.name(), "MPI_Win_lock" | "MPI_Win_lock_all"),
        _ => false,
    }
}

fn find_contention(context: &RuleContext) -> impl Iterator<Item = AdviceCandidate> {
    let waits = context.waits(CONTENTION.kinds).into_iter();
    let long = waits.filter(|(_, waiting)| waiting.max_ns() > context.run_ns() / NOISE_SHARE);
    long.map(|(site, waiting)| {
        let change = WhatIfChange::Calls(vec![site], CONTENTION.call_override);
        AdviceCandidate::at_call(site, significant_ranks(&waiting.causes), change, waiting.max_ns()).of_case(COMPUTATION_WAITS.len())
    })
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let site = candidate.noticed_at;
    let computes = COMPUTATION_WAITS.get(candidate.case);
    let epoch = computes.unwrap_or(&CONTENTION);
    let waiting = context.waits(epoch.kinds).remove(&site).unwrap_or_default();
    let who = significant_ranks(&waiting.ranks);
    let name = context.inputs.calls.get(&site).map_or("a call", |calls| calls.operation.name());
    let segment = computes.map(|_| format!(" {}", context.describe_segment(candidate.segment))).unwrap_or_default();
    AdviceText {
        what: format!(
            "{} {} in {name} at {} for {} {}{segment}.",
            format_ranks(&who),
            choose_verb(who.len(), "waits", "wait"),
            context.source_location(site),
            format_ranks(&candidate.ranks),
            epoch.awaited
        ),
        evidence: context.describe_waiting(&waiting, "there"),
        try_this: epoch.try_this.into(),
    }
}
