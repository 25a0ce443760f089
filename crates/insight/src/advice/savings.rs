//! Replays the run with one change after another, each on top of the accepted ones.
//!
//! Which run is replayed next depends on whether the last change was accepted, but a replay takes one core, and it needs little memory. So
//! the runs that may be needed next are replayed at the same time, by the cores of a single process or by the processes of a group; the
//! decisions are those of replaying them one by one.

use std::collections::{BTreeMap, VecDeque};

use rayon::prelude::*;
use sintonia_program::process_group::ProcessGroup;
use sintonia_replay::Error;

use super::AdviceCandidate;
use super::what_if::{WhatIfChange, WhatIfReplay};
use crate::progress::ShareProgress;

/// The changes of a run: a bit for each candidate.
type ChangeSet = u32;

/// More replays at the same time would take memory, and the last of them are hardly ever needed.
const MAX_PARALLEL: usize = 16;

/// Nanoseconds of the runs replayed so far.
type ReplayedRuns = BTreeMap<ChangeSet, i64>;

/// Replays the run with the changes of the candidates; returns the accepted ones with their savings. All processes of the group get the
/// same.
pub(super) fn accept_in_order(
    candidates: Vec<AdviceCandidate>,
    replay: &WhatIfReplay,
    worth_ns: i64,
    comm: &dyn ProcessGroup,
    progress: &ShareProgress,
) -> Result<Vec<AdviceCandidate>, Error> {
    if candidates.is_empty() {
        return Ok(candidates);
    }
    let parallel = if comm.size() == 1 { rayon::current_num_threads() } else { comm.size() };
    let mut runs = ReplayedRuns::new();
    loop {
        match decide(&candidates, &runs, worth_ns) {
            Decision::Accepted(accepted) => return Ok(accepted),
            Decision::Next(state) => {
                progress.reached(state.next, candidates.len());
                let wanted = state.next_runs(candidates.len(), &runs, parallel.min(MAX_PARALLEL));
                runs.extend(replay_runs(&candidates, &wanted, replay, comm)?);
            }
        }
    }
}

/// The result of the decisions that the replayed runs allow.
enum Decision {
    /// All candidates are decided; these are accepted.
    Accepted(Vec<AdviceCandidate>),
    /// A run is missing.
    Next(DecisionState),
}

/// How far the candidates are decided.
#[derive(Clone, Copy)]
struct DecisionState {
    accepted: ChangeSet,
    /// The next candidate.
    next: usize,
}

impl DecisionState {
    /// The run that decides about the next candidate.
    fn changed(self) -> ChangeSet {
        self.accepted | 1 << self.next
    }

    /// The runs that may be needed from here on, the most certain first.
    fn next_runs(self, candidates: usize, known: &ReplayedRuns, most: usize) -> Vec<ChangeSet> {
        let mut wanted: Vec<ChangeSet> = if known.contains_key(&0) { Vec::new() } else { vec![0] };
        let mut states = VecDeque::from([self]);
        while let Some(state) = states.pop_front().filter(|state| state.next < candidates && wanted.len() < most.max(1)) {
            if !known.contains_key(&state.changed()) {
                wanted.push(state.changed());
            }
            states.push_back(DecisionState { next: state.next + 1, ..state });
            states.push_back(DecisionState { accepted: state.changed(), next: state.next + 1 });
        }
        wanted
    }
}

/// Decides about the candidates in order, as far as the runs are known.
fn decide(candidates: &[AdviceCandidate], runs: &ReplayedRuns, worth_ns: i64) -> Decision {
    let mut accepted: Vec<AdviceCandidate> = Vec::new();
    let mut state = DecisionState { accepted: 0, next: 0 };
    while let Some(candidate) = candidates.get(state.next) {
        let (Some(length_ns), Some(changed_ns)) = (runs.get(&state.accepted), runs.get(&state.changed())) else {
            return Decision::Next(state);
        };
        // At one site, the first rule is the most specific: another one must save even more to be reported.
        let told = accepted.iter().filter(|other| other.site() == candidate.site());
        let worth_ns = told.map(|other| other.saving_ns).fold(worth_ns, i64::max);
        let saving_ns = (length_ns - changed_ns).min(candidate.max_saving_ns);
        if saving_ns > worth_ns {
            accepted.push(AdviceCandidate { saving_ns, ..candidate.clone() });
            state.accepted = state.changed();
        }
        state.next += 1;
    }
    Decision::Accepted(accepted)
}

/// Replays these runs, each by one process of the group; every process gets all results.
fn replay_runs(
    candidates: &[AdviceCandidate],
    wanted: &[ChangeSet],
    replay: &WhatIfReplay,
    comm: &dyn ProcessGroup,
) -> Result<ReplayedRuns, Error> {
    let own: Vec<ChangeSet> = wanted.iter().copied().skip(comm.own_index()).step_by(comm.size()).collect();
    let length = |set: &ChangeSet| -> Result<[i64; 2], Error> {
        let changes: Vec<WhatIfChange> = candidates
            .iter()
            .enumerate()
            .filter(|(index, _)| set & 1 << index != 0)
            .map(|(_, candidate)| candidate.change.clone())
            .collect();
        Ok([i64::from(*set), replay.changed_ns(&changes)?])
    };
    let mine: Vec<[i64; 2]> = own.par_iter().map(length).collect::<Result<_, Error>>()?;
    let all = comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten();
    Ok(all.map(|[set, ns]| (set as ChangeSet, ns)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Segment;

    fn candidate(site: u32) -> AdviceCandidate {
        AdviceCandidate::in_segment(
            Segment { from: 0, to: site },
            vec![0],
            WhatIfChange::Calls(vec![site], super::super::what_if::CallOverride::NoWait),
            i64::MAX,
        )
    }

    /// The length of a run in which the second change helps only without the first.
    fn length(set: ChangeSet) -> i64 {
        [100, 60, 70, 60, 95, 50, 64, 50][set as usize]
    }

    #[test]
    fn decisions_do_not_depend_on_how_many_runs_are_replayed_at_once() {
        let candidates: Vec<AdviceCandidate> = (1..=3).map(candidate).collect();
        for parallel in 1..=7 {
            let mut runs = ReplayedRuns::new();
            let accepted = loop {
                match decide(&candidates, &runs, 5) {
                    Decision::Accepted(accepted) => break accepted,
                    Decision::Next(state) => {
                        let wanted = state.next_runs(candidates.len(), &runs, parallel);
                        assert!(!wanted.is_empty() && wanted.len() <= parallel);
                        runs.extend(wanted.into_iter().map(|set| (set, length(set))));
                    }
                }
            };
            let savings: Vec<(u32, i64)> = accepted.iter().map(|candidate| (candidate.site(), candidate.saving_ns)).collect();
            assert_eq!(savings, [(1, 40), (3, 10)], "{parallel} at once");
        }
    }
}
