//! Requested changes, their answers, and the values that processes are known to have.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::decision::TuningDecision;
use crate::protocol::ChangeEffect;
use crate::tuning_points::Actor;

/// Most changes without an answer.
const MAX_PENDING_CHANGES: usize = 1 << 16;
/// Most confirmed changes to which processes may still answer.
const MAX_ANSWERED_CHANGES: usize = 1 << 10;
/// A change that some processes have made counts as confirmed after this time, without those that have not answered.
const ANSWER_TIMEOUT_S: f64 = 2.0;
/// The same in iterations: a process may make it in its next iteration only.
const ANSWER_ITERATIONS: f64 = 5.0;

/// A requested change: its tunlet, its tuning point, and the log entry for when a process answers.
#[derive(Debug)]
pub(super) struct RequestedChange {
    pub tunlet: usize,
    pub point: usize,
    /// In this rank only.
    pub rank: Option<u32>,
    pub actor: Actor,
    pub decision: TuningDecision,
    /// When it was requested.
    pub time: f64,
    /// Ranks that have made it, and those that have refused it.
    made: BTreeSet<u32>,
    refused: BTreeMap<u32, String>,
    /// When the latest rank made it.
    effective: f64,
}

impl RequestedChange {
    /// A request that nobody has answered.
    pub(super) fn new(
        tunlet: usize,
        point: usize,
        rank: Option<u32>,
        actor: Actor,
        decision: TuningDecision,
        time: f64,
    ) -> RequestedChange {
        RequestedChange { tunlet, point, rank, actor, decision, time, made: BTreeSet::new(), refused: BTreeMap::new(), effective: 0.0 }
    }

    fn was_answered(&self) -> bool {
        !self.made.is_empty() || !self.refused.is_empty()
    }
}

/// A change to which all processes have answered.
#[derive(Debug, PartialEq)]
pub(super) struct ConfirmedChange {
    pub number: u64,
    pub tunlet: usize,
    pub point: usize,
    /// Ranks that have made it.
    pub made: BTreeSet<u32>,
    /// When the last of them did.
    pub effective: f64,
    /// Ranks that did not answer in time.
    pub silent: Vec<u32>,
    /// Why a process has refused it, if one has.
    pub refused: Option<String>,
    /// Whether it is one turn of a comparison.
    pub turn: bool,
}

/// The processes that are connected.
#[derive(Debug, Clone, Copy)]
pub(super) struct JoinedRanks<'a> {
    pub active: &'a HashSet<u32>,
    /// Whether all processes of the program have connected, now or before.
    pub are_all: bool,
}

/// Requested changes and known values.
#[derive(Debug, Default)]
pub(super) struct ChangeLedger {
    last_number: u64,
    /// By number, oldest first.
    pending: BTreeMap<u64, RequestedChange>,
    /// Confirmed changes, the latest of them: processes may still answer.
    answered: BTreeMap<u64, RequestedChange>,
    /// The latest confirmed change of a point.
    confirmed: HashMap<(usize, usize, Option<u32>), u64>,
    /// Values by target and rank.
    values: HashMap<(String, u32), f64>,
    /// Ranks that have answered for a point whose processes are known by what they call.
    callers: HashMap<(usize, usize), BTreeSet<u32>>,
}

impl ChangeLedger {
    /// Adds a request and returns its number.
    pub(super) fn request(&mut self, request: RequestedChange) -> u64 {
        self.last_number += 1;
        self.pending.insert(self.last_number, request);
        if self.pending.len() > MAX_PENDING_CHANGES {
            self.pending.pop_first();
        }
        self.last_number
    }

    /// The number of the latest request.
    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }

    /// The request with this number.
    pub(super) fn requested(&self, number: u64) -> Option<&RequestedChange> {
        self.pending.get(&number).or_else(|| self.answered.get(&number))
    }

    /// Records an answer; returns whether the process had another value than it was last given.
    pub(super) fn answer(&mut self, number: u64, rank: u32, outcome: &Result<ChangeEffect, String>) -> bool {
        let Some(request) = self.pending.get_mut(&number).or_else(|| self.answered.get_mut(&number)) else { return false };
        self.callers.entry((request.tunlet, request.point)).or_default().insert(rank);
        match outcome {
            Ok(effect) => {
                request.made.insert(rank);
                request.effective = request.effective.max(effect.time);
                let known = self.values.insert((request.decision.action.clone(), rank), effect.after);
                known.zip(effect.before).is_some_and(|(known, before)| known != before)
            }
            Err(why) => {
                request.refused.insert(rank, why.clone());
                false
            }
        }
    }

    /// Ranks that a change is for, of those that are connected.
    fn expected(&self, request: &RequestedChange, active: &HashSet<u32>) -> BTreeSet<u32> {
        let known = self.callers.get(&(request.tunlet, request.point));
        let is_meant = |rank: &u32| {
            request.rank.is_none_or(|only| only == *rank)
                && match &request.actor {
                    Actor::Callers(_) => known.is_some_and(|known| known.contains(rank)),
                    actor => actor.matches_rank(*rank),
                }
        };
        active.iter().copied().filter(is_meant).collect()
    }

    /// Takes the changes to which all processes have answered by now; `patience` is the usual time of an iteration of a tunlet.
    pub(super) fn take_confirmed(
        &mut self,
        joined: JoinedRanks,
        now: f64,
        patience: impl Fn(usize) -> Option<f64>,
    ) -> Vec<ConfirmedChange> {
        let mut all = Vec::new();
        for (number, request) in self.pending.iter().filter(|(_, request)| request.was_answered()) {
            let answered = |rank: &u32| request.made.contains(rank) || request.refused.contains_key(rank);
            let expected = self.expected(request, joined.active);
            let silent: Vec<u32> = expected.iter().copied().filter(|rank| !answered(rank)).collect();
            let timeout = ANSWER_TIMEOUT_S.max(ANSWER_ITERATIONS * patience(request.tunlet).unwrap_or(0.0));
            if (silent.is_empty() && joined.are_all) || now - request.time > timeout {
                let RequestedChange { tunlet, point, effective, .. } = *request;
                let (made, refused, turn) = (request.made.clone(), request.refused.values().next().cloned(), request.decision.turn);
                all.push(ConfirmedChange { number: *number, tunlet, point, made, effective, silent, refused, turn });
            }
        }
        for change in &all {
            if let Some(request) = self.pending.remove(&change.number) {
                self.confirmed.insert((request.tunlet, request.point, request.rank), change.number);
                self.answered.insert(change.number, request);
            }
            if self.answered.len() > MAX_ANSWERED_CHANGES {
                self.answered.pop_first();
            }
        }
        all
    }

    /// The ranks that have this value already, if all have that the change is for and no other change of the point is under way.
    pub(super) fn already_there(&self, request: &RequestedChange, active: &HashSet<u32>) -> Option<BTreeSet<u32>> {
        let (action, value) = (&request.decision.action, request.decision.new);
        if self.pending.values().any(|other| other.decision.action == *action) {
            return None;
        }
        let expected = self.expected(request, active);
        let has_value = |rank: &u32| self.values.get(&(action.clone(), *rank)) == Some(&value);
        (!expected.is_empty() && expected.iter().all(has_value)).then_some(expected)
    }

    /// Changes without any answer, except those that a later one of the same point has replaced.
    pub(super) fn take_unanswered(&mut self) -> Vec<TuningDecision> {
        let mut later = HashSet::new();
        let mut decisions = Vec::new();
        for (number, request) in std::mem::take(&mut self.pending).into_iter().rev() {
            let key = (request.tunlet, request.point, request.rank);
            let is_replaced = self.confirmed.get(&key).is_some_and(|confirmed| *confirmed > number);
            if later.insert(key) && !is_replaced && !request.was_answered() {
                decisions.push(request.decision);
            }
        }
        decisions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(value: f64, time: f64) -> RequestedChange {
        let decision = TuningDecision {
            time_s: time,
            tunlet: "t".into(),
            action: "n".into(),
            rank: None,
            old: None,
            new: value,
            why: String::new(),
            refused: None,
            turn: false,
        };
        RequestedChange::new(0, 0, None, Actor::All, decision, time)
    }

    fn made(before: f64, after: f64, time: f64) -> Result<ChangeEffect, String> {
        Ok(ChangeEffect { before: Some(before), after, time })
    }

    #[test]
    fn a_change_is_confirmed_when_all_ranks_have_answered() {
        let (mut ledger, active) = (ChangeLedger::default(), HashSet::from([0, 1]));
        let joined = JoinedRanks { active: &active, are_all: true };
        let number = ledger.request(request(8.0, 1.0));
        assert!(!ledger.answer(number, 1, &made(4.0, 8.0, 1.25)));
        assert_eq!(ledger.take_confirmed(joined, 1.5, |_| None), []);
        ledger.answer(number, 0, &made(4.0, 8.0, 1.5));
        let confirmed = ledger.take_confirmed(joined, 1.5, |_| None);
        assert_eq!((confirmed.len(), confirmed[0].effective, confirmed[0].made.len()), (1, 1.5, 2));
        assert_eq!(ledger.already_there(&request(8.0, 2.0), &active), Some(BTreeSet::from([0, 1])));
        assert_eq!(ledger.already_there(&request(9.0, 2.0), &active), None);
    }

    #[test]
    fn a_silent_rank_is_not_waited_for_for_ever() {
        let (mut ledger, active) = (ChangeLedger::default(), HashSet::from([0, 1]));
        let joined = JoinedRanks { active: &active, are_all: true };
        let number = ledger.request(request(8.0, 1.0));
        assert_eq!(ledger.take_confirmed(joined, 100.0, |_| None), [], "nobody has answered");
        ledger.answer(number, 0, &made(4.0, 8.0, 1.5));
        assert_eq!(ledger.take_confirmed(joined, 4.0, |_| Some(1.0)), [], "an iteration takes a second");
        assert_eq!(ledger.take_confirmed(joined, 7.0, |_| Some(1.0))[0].silent, [1]);
    }

    #[test]
    fn a_value_that_the_program_sets_itself_is_noticed() {
        let mut ledger = ChangeLedger::default();
        let first = ledger.request(request(8.0, 1.0));
        assert!(!ledger.answer(first, 0, &made(4.0, 8.0, 1.0)));
        let second = ledger.request(request(9.0, 2.0));
        assert!(ledger.answer(second, 0, &made(4.0, 9.0, 2.0)));
    }
}
