//! Replays the run with one change after another, each on top of the accepted ones.
//!
//! Which run is replayed next depends on whether the last change was accepted, but a replay takes one core, and it needs little memory. So
//! the runs that may be needed next are replayed at the same time, by the cores of a single process or by the processes of a group; the
//! decisions are those of replaying them one by one.
//!
//! Rules are evaluated from the most specific to the most general one, changes are made from the most worthwhile to the least. So what the
//! accepted changes save is replayed once more in that order, under all assumptions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use rayon::prelude::*;
use sintonia_program::process_group::ProcessGroup;
use sintonia_replay::Error;

use super::what_if::{ReplayAssumptions, WhatIfChange, WhatIfReplay};
use super::{AdviceCandidate, Saving};
use crate::progress::ShareProgress;

/// The changes of a run: a bit for each candidate.
type ChangeSet = u32;

/// More replays at the same time would take memory, and the last of them are hardly ever needed.
const MAX_PARALLEL: usize = 16;

/// How often the accepted changes are sorted by what they save in the order of doing.
const MAX_SORTS: usize = 3;

/// Nanoseconds of the runs replayed so far.
type ReplayedRuns = BTreeMap<(ChangeSet, ReplayAssumptions), i64>;

/// Candidates that were found worthwhile, and how many were not because ranks without a core explain what they would save.
#[derive(Debug, Default, PartialEq)]
pub(super) struct WorthwhileCandidates {
    /// In the order in which to make the changes.
    pub list: Vec<AdviceCandidate>,
    pub held_back: usize,
}

/// What a saving is compared with.
#[derive(Clone, Copy)]
pub(super) struct SavingLimits {
    /// Smaller savings are not worthwhile, in nanoseconds.
    pub worth_ns: i64,
    pub missing_cores: MissingCores,
}

/// How far ranks without a core can explain what a change seems to save.
#[derive(Clone, Copy)]
pub(super) enum MissingCores {
    /// No rank waited for a core.
    Never,
    /// It is known when: the run is also replayed with a core for every rank.
    Known,
    /// By at most this number of nanoseconds; it is not known when.
    AtMost(i64),
}

/// Replays the run with the changes of the candidates; returns the worthwhile ones with their savings. All processes of the group get the
/// same.
pub(super) fn evaluate(
    candidates: &[AdviceCandidate],
    replay: &WhatIfReplay,
    limits: SavingLimits,
    comm: &dyn ProcessGroup,
    progress: &ShareProgress,
) -> Result<WorthwhileCandidates, Error> {
    if candidates.is_empty() {
        return Ok(WorthwhileCandidates::default());
    }
    let parallel = if comm.size() == 1 { rayon::current_num_threads() } else { comm.size() };
    let mut runs = ReplayedRuns::new();
    let accepted = loop {
        match decide(candidates, &runs, limits.worth_ns) {
            Decision::Accepted(accepted) => break accepted,
            Decision::Next(state) => {
                progress.reached(state.next, candidates.len());
                let wanted = state.next_runs(candidates.len(), &runs, parallel.min(MAX_PARALLEL));
                let wanted: Vec<_> = wanted.into_iter().map(|set| (set, ReplayAssumptions::Likely)).collect();
                runs.extend(replay_runs(candidates, &wanted, replay, comm)?);
            }
        }
    };
    let mut order = ChangeOrder::new(accepted);
    loop {
        runs.extend(replay_runs(candidates, &order.missing_runs(&runs, limits), replay, comm)?);
        let savings = order.savings(candidates, &runs, limits);
        if !order.drop_worthless(&savings, limits) && !order.sort(&savings) {
            return Ok(order.into_worthwhile(candidates, &savings));
        }
    }
}

/// A candidate that was accepted, and the nanoseconds it saves on top of those accepted before.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AcceptedCandidate {
    index: usize,
    saving_ns: i64,
}

/// The result of the decisions that the replayed runs allow.
enum Decision {
    /// All candidates are decided; these are accepted.
    Accepted(Vec<AcceptedCandidate>),
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
        let mut wanted: Vec<ChangeSet> = if known.contains_key(&(0, ReplayAssumptions::Likely)) { Vec::new() } else { vec![0] };
        let mut states = VecDeque::from([self]);
        while let Some(state) = states.pop_front().filter(|state| state.next < candidates && wanted.len() < most.max(1)) {
            if !known.contains_key(&(state.changed(), ReplayAssumptions::Likely)) {
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
    let mut accepted: Vec<AcceptedCandidate> = Vec::new();
    let mut state = DecisionState { accepted: 0, next: 0 };
    let length = |set: ChangeSet| runs.get(&(set, ReplayAssumptions::Likely));
    while let Some(candidate) = candidates.get(state.next) {
        let (Some(length_ns), Some(changed_ns)) = (length(state.accepted), length(state.changed())) else {
            return Decision::Next(state);
        };
        // At one site, the first rule is the most specific: another one must save even more to be reported.
        let at_same_site = accepted.iter().filter(|other| candidates[other.index].site() == candidate.site());
        let worth_ns = at_same_site.map(|other| other.saving_ns).fold(worth_ns, i64::max);
        let saving_ns = (length_ns - changed_ns).min(candidate.max_saving_ns);
        if saving_ns > worth_ns {
            accepted.push(AcceptedCandidate { index: state.next, saving_ns });
            state.accepted = state.changed();
        }
        state.next += 1;
    }
    Decision::Accepted(accepted)
}

/// The order in which to make the accepted changes.
struct ChangeOrder {
    /// Indices of the candidates.
    indices: Vec<usize>,
    held_back: usize,
    sorts: usize,
}

impl ChangeOrder {
    /// The most worthwhile change first.
    fn new(mut accepted: Vec<AcceptedCandidate>) -> ChangeOrder {
        accepted.sort_by_key(|candidate| (Reverse(candidate.saving_ns), candidate.index));
        ChangeOrder { held_back: 0, sorts: 0, indices: accepted.iter().map(|candidate| candidate.index).collect() }
    }

    /// The first changes together, from none to all of them.
    fn prefixes(&self) -> Vec<ChangeSet> {
        let sums = self.indices.iter().scan(0, |set, index| {
            *set |= 1 << index;
            Some(*set)
        });
        std::iter::once(0).chain(sums).collect()
    }

    fn missing_runs(&self, known: &ReplayedRuns, limits: SavingLimits) -> Vec<(ChangeSet, ReplayAssumptions)> {
        let prefixes = self.prefixes();
        let changed = prefixes[1..].iter().flat_map(|set| ReplayAssumptions::OF_CHANGES.map(|assumptions| (*set, assumptions)));
        let with_cores = prefixes.iter().map(|set| (*set, ReplayAssumptions::CoreForEachRank));
        let with_cores = with_cores.filter(|_| matches!(limits.missing_cores, MissingCores::Known) && !self.indices.is_empty());
        changed.chain(with_cores).filter(|run| !known.contains_key(run)).collect()
    }

    /// What each change saves after those before it.
    fn savings(&self, candidates: &[AdviceCandidate], runs: &ReplayedRuns, limits: SavingLimits) -> Vec<Saving> {
        if self.indices.is_empty() {
            return Vec::new();
        }
        let recorded_ns = runs[&(0, ReplayAssumptions::Likely)];
        let [cautious, likely, favourable] =
            ReplayAssumptions::OF_CHANGES.map(|assumptions| self.saved_ns(candidates, runs, assumptions, recorded_ns));
        let with_cores = match limits.missing_cores {
            MissingCores::Known => {
                let unchanged_ns = runs[&(0, ReplayAssumptions::CoreForEachRank)].max(1);
                let saved = self.saved_ns(candidates, runs, ReplayAssumptions::CoreForEachRank, unchanged_ns);
                // The changed program has no more cores than the recorded one.
                saved.into_iter().map(|ns| (ns as f64 * recorded_ns as f64 / unchanged_ns as f64) as i64).collect()
            }
            MissingCores::Never => likely.clone(),
            MissingCores::AtMost(explained_ns) => likely.iter().map(|ns| ns - explained_ns).collect(),
        };
        (0..self.indices.len()).map(|at| Saving::between([cautious[at], likely[at], favourable[at]], with_cores[at])).collect()
    }

    /// Nanoseconds saved by each change after those before it, of a run that takes `unchanged_ns` without any.
    fn saved_ns(&self, candidates: &[AdviceCandidate], runs: &ReplayedRuns, assumptions: ReplayAssumptions, unchanged_ns: i64) -> Vec<i64> {
        let length = |set: ChangeSet| if set == 0 { unchanged_ns } else { runs[&(set, assumptions)] };
        let prefixes = self.prefixes();
        let steps = prefixes.windows(2).zip(&self.indices);
        steps.map(|(sets, index)| (length(sets[0]) - length(sets[1])).min(candidates[*index].max_saving_ns)).collect()
    }

    /// Sorts the changes by what each saves after those before it; whether that changed their order. What a change saves depends on the
    /// order, so this need not come to an end by itself.
    fn sort(&mut self, savings: &[Saving]) -> bool {
        let mut sorted: Vec<(Reverse<i64>, usize)> =
            savings.iter().map(|saving| Reverse(saving.likely_ns)).zip(self.indices.clone()).collect();
        sorted.sort_by_key(|(saving, _)| *saving);
        let sorted: Vec<usize> = sorted.into_iter().map(|(_, index)| index).collect();
        self.sorts += 1;
        let is_other = sorted != self.indices && self.sorts <= MAX_SORTS;
        if is_other {
            self.indices = sorted;
        }
        is_other
    }

    /// Drops the last change that is not worthwhile after those before it; whether there was one. A change that costs
    /// more under cautious assumptions than it saves under likely ones is not worthwhile.
    fn drop_worthless(&mut self, savings: &[Saving], limits: SavingLimits) -> bool {
        let is_worthless = |saving: &Saving| saving.likely_ns <= limits.worth_ns || saving.low_ns < -saving.likely_ns;
        let Some(worthless) = savings.iter().rposition(is_worthless) else { return false };
        if savings[worthless].high_ns > limits.worth_ns && !matches!(limits.missing_cores, MissingCores::Never) {
            self.held_back += 1;
        }
        self.indices.remove(worthless);
        true
    }

    /// The candidates with their savings.
    fn into_worthwhile(self, candidates: &[AdviceCandidate], savings: &[Saving]) -> WorthwhileCandidates {
        let together = savings.iter().scan(0, |sum, saving| {
            *sum += saving.likely_ns;
            Some(*sum)
        });
        let with_saving = |((index, saving), together_ns): ((&usize, &Saving), i64)| AdviceCandidate {
            saving: *saving,
            together_ns,
            ..candidates[*index].clone()
        };
        let list = self.indices.iter().zip(savings).zip(together).map(with_saving).collect();
        WorthwhileCandidates { list, held_back: self.held_back }
    }
}

/// Replays these runs, each by one process of the group; every process gets all results.
fn replay_runs(
    candidates: &[AdviceCandidate],
    wanted: &[(ChangeSet, ReplayAssumptions)],
    replay: &WhatIfReplay,
    comm: &dyn ProcessGroup,
) -> Result<ReplayedRuns, Error> {
    let own: Vec<usize> = (comm.own_index()..wanted.len()).step_by(comm.size()).collect();
    let length = |index: &usize| -> Result<[i64; 2], Error> {
        let (set, assumptions) = wanted[*index];
        let included = candidates.iter().enumerate().filter(|(candidate, _)| set & 1 << candidate != 0);
        let changes: Vec<WhatIfChange> = included.map(|(_, candidate)| candidate.change.clone()).collect();
        Ok([*index as i64, replay.changed_ns(&changes, assumptions)?])
    };
    let mine: Vec<[i64; 2]> = own.par_iter().map(length).collect::<Result<_, Error>>()?;
    let all = comm.all_to_all(vec![mine; comm.size()]).into_iter().flatten();
    Ok(all.map(|[index, ns]| (wanted[index as usize], ns)).collect())
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
                        runs.extend(wanted.into_iter().map(|set| ((set, ReplayAssumptions::Likely), length(set))));
                    }
                }
            };
            let savings: Vec<(usize, i64)> = accepted.iter().map(|candidate| (candidate.index, candidate.saving_ns)).collect();
            assert_eq!(savings, [(0, 40), (2, 10)], "{parallel} at once");
        }
    }

    /// Three changes of which the first two were accepted; the second saves more. Without missing cores.
    fn order() -> (ChangeOrder, ReplayedRuns) {
        let accepted = vec![AcceptedCandidate { index: 0, saving_ns: 10 }, AcceptedCandidate { index: 1, saving_ns: 30 }];
        let run = |set: ChangeSet, assumptions, ns| ((set, assumptions), ns);
        let runs = ReplayedRuns::from([
            run(0, ReplayAssumptions::Likely, 100),
            run(2, ReplayAssumptions::Cautious, 75),
            run(2, ReplayAssumptions::Likely, 70),
            run(2, ReplayAssumptions::Favourable, 60),
            run(3, ReplayAssumptions::Cautious, 73),
            run(3, ReplayAssumptions::Likely, 62),
            run(3, ReplayAssumptions::Favourable, 50),
        ]);
        (ChangeOrder::new(accepted), runs)
    }

    #[test]
    fn each_change_saves_what_it_adds_to_those_before_it() {
        let candidates: Vec<AdviceCandidate> = (1..=3).map(candidate).collect();
        let limits = SavingLimits { worth_ns: 5, missing_cores: MissingCores::Never };
        let (mut order, runs) = order();
        assert_eq!(order.prefixes(), [0, 2, 3], "the most worthwhile first");
        assert!(order.missing_runs(&runs, limits).is_empty());
        let savings = order.savings(&candidates, &runs, limits);
        assert_eq!(savings, [Saving { low_ns: 25, likely_ns: 30, high_ns: 40 }, Saving { low_ns: 2, likely_ns: 8, high_ns: 10 }]);
        assert!(!order.drop_worthless(&savings, limits));
        let together: Vec<i64> = order.into_worthwhile(&candidates, &savings).list.iter().map(|item| item.together_ns).collect();
        assert_eq!(together, [30, 38]);
    }

    #[test]
    fn what_missing_cores_explain_is_held_back() {
        let candidates: Vec<AdviceCandidate> = (1..=3).map(candidate).collect();
        let limits = SavingLimits { worth_ns: 5, missing_cores: MissingCores::Known };
        let (mut order, mut runs) = order();
        let with_cores =
            [(0, ReplayAssumptions::CoreForEachRank), (2, ReplayAssumptions::CoreForEachRank), (3, ReplayAssumptions::CoreForEachRank)];
        assert_eq!(order.missing_runs(&runs, limits), with_cores);
        // With cores the run takes half as long, and the second change helps no more.
        runs.extend(with_cores.into_iter().zip([50, 40, 40]));
        let savings = order.savings(&candidates, &runs, limits);
        assert_eq!(savings[0], Saving { low_ns: 15, likely_ns: 25, high_ns: 40 }, "30 as recorded, 20 of 100 with cores");
        assert!(order.drop_worthless(&savings, limits), "{savings:?}");
        assert_eq!((&order.indices[..], order.held_back), (&[1][..], 1));
    }
}
