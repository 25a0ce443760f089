//! Collective algorithms tried while the program runs, where the MPI library allows it.
//!
//! MPICH reads its control variables for collective algorithms at each call. So one run under the tunlet `collectives` tells whether another
//! algorithm of the most expensive collective is worth runs of its own: all processes change before the same call, and times per call are
//! compared.

use sintonia_autotune::{MpiFamily, RunFacts, TuningCandidate};
use sintonia_mpi::CollectiveOp;

/// The tunlet tries algorithms of these collectives; the part of the control variable's name.
const OPERATIONS: [(CollectiveOp, &str); 4] = [
    (CollectiveOp::Broadcast, "BCAST"),
    (CollectiveOp::Allreduce, "ALLREDUCE"),
    (CollectiveOp::Reduce, "REDUCE"),
    (CollectiveOp::Allgather, "ALLGATHER"),
];
/// With a smaller share of the time, a run for the trial is not worth its time.
const MIN_SHARE: f64 = 0.05;
/// Calls of a rank that the tunlet needs to compare all algorithms, with some to spare.
const MIN_CALLS: u64 = 2000;

/// The control variable of the most expensive collective, if its algorithms can be tried live.
pub(super) fn live_control(facts: &RunFacts) -> Option<String> {
    if facts.mpi != MpiFamily::Mpich {
        return None;
    }
    let worst = facts.collectives.first().filter(|worst| worst.share >= MIN_SHARE && worst.calls_per_rank >= MIN_CALLS)?;
    let (_, name) = OPERATIONS.iter().find(|(operation, _)| *operation == worst.operation)?;
    Some(format!("MPIR_CVAR_{name}_INTRA_ALGORITHM"))
}

/// What a live trial showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveVerdict {
    /// Another algorithm was faster, and was kept.
    OtherIsFaster,
    /// The library's own choice was restored.
    OwnIsBest,
    /// The trial did not come to an end.
    Unknown,
}

/// The verdict, from the summary of `sintonia tune --tunlet collectives --json`.
pub(super) fn read_verdict(summary: &str, control: &str) -> LiveVerdict {
    let Ok(summary) = serde_json::from_str::<serde_json::Value>(summary) else { return LiveVerdict::Unknown };
    let changes = summary["decisions"].as_array().map_or(&[][..], Vec::as_slice);
    let values = |key: &str| {
        let made = changes.iter().filter(|change| change["action"] == control && change["refused"].is_null());
        made.filter_map(|change| change[key].as_f64()).collect::<Vec<_>>()
    };
    let is_over = summary["told"].as_array().is_some_and(|told| told.iter().any(|one| one.to_string().contains("is kept")));
    match (values("old").first(), values("new").last()) {
        _ if !is_over => LiveVerdict::Unknown,
        (Some(first), Some(last)) if first != last => LiveVerdict::OtherIsFaster,
        _ => LiveVerdict::OwnIsBest,
    }
}

/// Applies the verdict: candidates for this control variable are tried first, or not at all.
pub(super) fn apply_verdict(verdict: LiveVerdict, control: &str, candidates: &mut Vec<TuningCandidate>) {
    let sets_control = |candidate: &TuningCandidate| candidate.settings.environment.names().any(|name| name == control);
    match verdict {
        LiveVerdict::OwnIsBest => candidates.retain(|candidate| !sets_control(candidate)),
        LiveVerdict::OtherIsFaster => {
            for candidate in candidates.iter_mut().filter(|candidate| sets_control(candidate)) {
                candidate.relevance = candidate.relevance.max(0.9);
                candidate.reason.push_str("; a trial while the program ran found a faster algorithm");
            }
        }
        LiveVerdict::Unknown => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROL: &str = "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM";

    fn summary(values: &[(f64, f64)], told: &str) -> String {
        let change = |(old, new): &(f64, f64)| serde_json::json!({ "action": CONTROL, "old": old, "new": new });
        serde_json::json!({ "decisions": values.iter().map(change).collect::<Vec<_>>(), "told": [{ "what": told }] }).to_string()
    }

    #[test]
    fn the_value_at_the_end_is_the_verdict() {
        let kept = "MPI_Allreduce: of 3 algorithms, algorithm 2 is kept";
        assert_eq!(read_verdict(&summary(&[(0.0, 1.0), (1.0, 2.0)], kept), CONTROL), LiveVerdict::OtherIsFaster);
        assert_eq!(read_verdict(&summary(&[(0.0, 1.0), (1.0, 2.0), (2.0, 0.0)], kept), CONTROL), LiveVerdict::OwnIsBest);
        assert_eq!(read_verdict(&summary(&[(0.0, 1.0)], "nothing"), CONTROL), LiveVerdict::Unknown);
        assert_eq!(read_verdict("no JSON", CONTROL), LiveVerdict::Unknown);
    }
}
