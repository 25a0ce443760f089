//! Guards changes: a change is kept only if it pays, measured in turns with the values that the program began with.
//!
//! Before and after would not do: programs get faster and slower by themselves, and machines are shared. So the beginning is measured again
//! between the turns with the change ([`paired`]), and only iterations that ran entirely after a confirmed switch count ([`turns`]). What is
//! compared is the tunlet as a whole: with a rule that changes a value in every iteration, the rule on and the rule off.

mod meter;
pub mod paired;
pub mod turns;

use std::collections::{BTreeMap, BTreeSet};

use crate::tunlet::{ChangeGuard, GuardMeasure, PointEvent};
use meter::{IterationMeter, TimedIteration};
use paired::{ComparisonOutcome, TimeRatio};
use turns::{Setting, TurnSequence, TurnStep};

/// Iterations until changes that paid are compared again; doubled each time.
const RECHECK_ITERATIONS: u64 = 500;
/// Iterations until changes without gain are tried again; doubled each time.
const HOLD_ITERATIONS: u64 = 200;
/// The same for changes that harm, as a multiple.
const HARM_HOLD: u64 = 5;
/// An iteration may have begun before a switch by this share of its time.
const OVERLAP: f64 = 0.01;

/// A comparison ends if there is no iteration for this many seconds,
const STALLED_S: f64 = 5.0;
/// and for this many usual iterations.
const STALLED_ITERATIONS: f64 = 50.0;

/// A tuning point, in all processes or in one.
type PointKey = (usize, Option<u32>);

/// A value that a tunlet wants.
#[derive(Debug, Clone, PartialEq)]
struct WantedValue {
    value: f64,
    why: String,
}

/// A value to be set by a switch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SwitchValue {
    /// Index of the tuning point.
    pub point: usize,
    /// In this rank only.
    pub rank: Option<u32>,
    /// The value.
    pub value: f64,
    /// The reason.
    pub why: String,
    /// Whether it is the initial value.
    pub is_initial: bool,
}

/// A switch that not all processes have made.
#[derive(Debug)]
struct PendingSwitch {
    to: Setting,
    /// Changes that are not confirmed yet.
    numbers: BTreeSet<u64>,
    /// When the latest of the confirmed ones was made.
    effective: f64,
    /// The largest change of each rank.
    ranks: BTreeMap<u32, u64>,
}

/// Stage of a guard.
#[derive(Debug)]
enum GuardStage {
    /// Nothing is compared.
    Idle,
    /// A comparison is in progress.
    Trying(TurnSequence),
    /// The changes paid; iterations until they are compared again.
    Kept(u64),
    /// The changes did not pay, and are not made; iterations until they are tried again.
    Held(u64),
}

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GuardVerdict {
    /// The outcome; none if the program ended before it was decided.
    pub outcome: Option<ComparisonOutcome>,
    /// The ratio of the times, if there is one.
    pub ratio: Option<TimeRatio>,
    /// Number of comparisons with the beginning.
    pub comparisons: usize,
    /// Number of iterations that counted.
    pub iterations: u64,
    /// Point, beginning and changed value of what was compared.
    pub values: Vec<(usize, f64, f64)>,
}

/// What a guard requests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GuardStep {
    /// Make these changes as a turn; the guard is told their numbers.
    Turn(Vec<SwitchValue>),
    /// The comparison is decided: these changes make it so.
    Verdict(GuardVerdict, Vec<SwitchValue>),
}

/// Guards the changes of one tunlet.
#[derive(Debug)]
pub(crate) struct TunletGuard {
    mode: ChangeGuard,
    meter: IterationMeter,
    stage: GuardStage,
    /// The values that the tunlet has requested last.
    wanted: BTreeMap<PointKey, WantedValue>,
    /// The values before the first change, by point and rank.
    beginning: BTreeMap<(usize, u32), f64>,
    switch: Option<PendingSwitch>,
    /// Since when the current values are in effect, and the change that events of a rank must carry.
    since: f64,
    needed: BTreeMap<u32, u64>,
    /// Whether the program has, or just had, its initial values: events are not for the tunlet.
    is_suspended: bool,
    /// Values that were compared last.
    judged: Vec<(usize, f64, f64)>,
    recheck: u64,
    hold: u64,
    /// When the comparison began.
    began: f64,
}

impl TunletGuard {
    /// A guard for a tunlet.
    pub(crate) fn new(mode: ChangeGuard, measure: Option<GuardMeasure>) -> TunletGuard {
        TunletGuard {
            mode,
            meter: IterationMeter::new(measure),
            stage: GuardStage::Idle,
            wanted: BTreeMap::new(),
            beginning: BTreeMap::new(),
            switch: None,
            since: 0.0,
            needed: BTreeMap::new(),
            is_suspended: false,
            judged: Vec::new(),
            recheck: RECHECK_ITERATIONS,
            hold: HOLD_ITERATIONS,
            began: 0.0,
        }
    }

    fn is_active(&self) -> bool {
        matches!(self.mode, ChangeGuard::InTurns | ChangeGuard::WhenSettled)
    }

    /// Whether a comparison is in progress.
    pub(crate) fn is_trying(&self) -> bool {
        matches!(self.stage, GuardStage::Trying(_))
    }

    /// Whether a comparison waits because nothing that repeats was seen since it began, and for how long.
    pub(crate) fn waits_for_iterations(&self, now: f64) -> Option<f64> {
        (self.is_trying() && !self.meter.is_ready()).then_some(now - self.began)
    }

    /// Gives up comparing: changes are made from now on.
    pub(crate) fn give_up(&mut self) {
        self.mode = ChangeGuard::None;
        (self.stage, self.switch, self.is_suspended) = (GuardStage::Idle, None, false);
    }

    /// Whether events are withheld from the tunlet.
    pub(crate) fn withholds(&self) -> bool {
        self.is_suspended
    }

    /// The usual time of an iteration.
    pub(crate) fn usual_seconds(&self) -> Option<f64> {
        self.meter.usual_seconds()
    }

    /// A tunlet requests a change: returns whether it is made now. Otherwise it is kept for the next turn. `may_try` says that no other tunlet
    /// is being compared.
    pub(crate) fn admit(&mut self, key: PointKey, value: f64, why: &str, may_try: bool, now: f64) -> bool {
        if !self.is_active() {
            return true;
        }
        self.wanted.insert(key, WantedValue { value, why: why.to_owned() });
        match self.stage {
            GuardStage::Idle if self.mode == ChangeGuard::WhenSettled => true,
            GuardStage::Idle if may_try => {
                self.begin_trial(now);
                self.begin_switch(Setting::Changed);
                true
            }
            GuardStage::Idle | GuardStage::Held(_) => false,
            GuardStage::Trying(_) | GuardStage::Kept(_) => !self.is_suspended,
        }
    }

    fn begin_trial(&mut self, now: f64) {
        self.meter.choose();
        let baseline = self.meter.iterations_within(self.since, now);
        self.stage = GuardStage::Trying(TurnSequence::new(&baseline));
        self.began = now;
    }

    fn begin_switch(&mut self, to: Setting) {
        self.is_suspended |= to == Setting::Beginning;
        self.switch = Some(PendingSwitch { to, numbers: BTreeSet::new(), effective: self.since, ranks: BTreeMap::new() });
    }

    /// A change that it has admitted or requested was sent.
    pub(crate) fn sent(&mut self, number: u64) {
        if let Some(switch) = &mut self.switch {
            switch.numbers.insert(number);
        }
    }

    /// A process has made a change; `before` is the previous value.
    pub(crate) fn made(&mut self, point: usize, rank: u32, before: f64) {
        self.beginning.entry((point, rank)).or_insert(before);
    }

    /// All processes have answered to a change: those that made it, and the time when the last one did.
    pub(crate) fn confirmed(&mut self, number: u64, point: usize, ranks: impl IntoIterator<Item = u32>, effective: f64) {
        let Some(switch) = &mut self.switch else { return };
        if !switch.numbers.remove(&number) {
            return;
        }
        switch.effective = switch.effective.max(effective);
        let made: Vec<u32> = ranks.into_iter().collect();
        // A change that no process makes is not compared.
        if made.is_empty() && switch.to == Setting::Changed {
            self.wanted.retain(|key, _| key.0 != point);
        }
        switch.ranks.extend(made.into_iter().map(|rank| (rank, number)));
        if switch.numbers.is_empty() {
            self.finish_switch();
        }
    }

    /// Ends a switch to which nothing had to be sent.
    pub(crate) fn finish_empty_switch(&mut self, now: f64) {
        if let Some(switch) = self.switch.as_mut().filter(|switch| switch.numbers.is_empty()) {
            switch.effective = now;
            self.finish_switch();
        }
    }

    fn finish_switch(&mut self) {
        let Some(switch) = self.switch.take() else { return };
        (self.since, self.needed) = (switch.effective, switch.ranks);
        if self.wanted.is_empty() || (self.is_trying() && self.differing().is_empty()) {
            (self.stage, self.is_suspended) = (GuardStage::Idle, false);
        } else if switch.to == Setting::Changed {
            self.is_suspended = false;
        }
    }

    /// Whether an iteration ran entirely with the current values.
    fn counts(&self, iteration: &TimedIteration) -> bool {
        let number = self.needed.get(&iteration.rank).copied().unwrap_or(0);
        self.switch.is_none() && iteration.begin >= self.since - OVERLAP * iteration.seconds && iteration.change >= number
    }

    /// Handles an event of the tunlet; `is_settled` says whether the tunlet is done with trying values.
    pub(crate) fn event(&mut self, event: &PointEvent, is_settled: bool, may_try: bool) -> Option<GuardStep> {
        if !self.is_active() {
            return None;
        }
        let Some(iteration) = self.meter.event(event) else {
            if self.is_trying() {
                self.meter.choose();
            }
            return None;
        };
        let now = iteration.begin + iteration.seconds;
        let counts = self.counts(&iteration);
        let differing = self.differing();
        match &mut self.stage {
            GuardStage::Trying(_) if !is_settled => {
                // The tunlet tries values again.
                self.stage = GuardStage::Idle;
                self.is_suspended.then(|| self.resume())
            }
            GuardStage::Trying(turns) if counts => match turns.iteration(iteration.seconds) {
                TurnStep::Stay => None,
                TurnStep::Switch(setting) => Some(GuardStep::Turn(self.switch_to(setting))),
                TurnStep::Decided(outcome) => Some(self.decide(outcome)),
            },
            GuardStage::Trying(_) => None,
            GuardStage::Kept(left) | GuardStage::Held(left) if *left > 1 => {
                *left -= 1;
                None
            }
            GuardStage::Kept(_) if may_try && self.switch.is_none() => {
                self.stage = GuardStage::Trying(TurnSequence::new(&[]));
                self.began = now;
                None
            }
            GuardStage::Held(_) if may_try && self.switch.is_none() && !differing.is_empty() => {
                self.begin_trial(now);
                Some(GuardStep::Turn(self.switch_to(Setting::Changed)))
            }
            GuardStage::Kept(_) | GuardStage::Held(_) | GuardStage::Idle => None,
        }
    }

    /// Begins to compare values that a tunlet has settled on, if they were not compared yet.
    pub(crate) fn settled(&mut self, is_settled: bool, may_try: bool, now: f64) {
        let is_due = self.mode == ChangeGuard::WhenSettled && is_settled && may_try && matches!(self.stage, GuardStage::Idle);
        if is_due && self.switch.is_none() {
            let values = self.differing();
            if !values.is_empty() && values != self.judged {
                self.stage = GuardStage::Trying(TurnSequence::new(&[]));
                (self.since, self.began) = (now, now);
                self.meter.choose();
            }
        }
    }

    fn resume(&mut self) -> GuardStep {
        GuardStep::Turn(self.switch_to(Setting::Changed))
    }

    fn switch_to(&mut self, setting: Setting) -> Vec<SwitchValue> {
        self.begin_switch(setting);
        match setting {
            Setting::Changed => self.changed_values(),
            Setting::Beginning => self.beginning_values("measured again with the initial values"),
        }
    }

    fn decide(&mut self, outcome: ComparisonOutcome) -> GuardStep {
        let verdict = self.verdict(Some(outcome));
        self.judged.clone_from(&verdict.values);
        if outcome == ComparisonOutcome::Pays {
            self.stage = GuardStage::Kept(self.recheck);
            self.recheck *= 2;
            return GuardStep::Verdict(verdict, self.switch_to(Setting::Changed));
        }
        if self.mode == ChangeGuard::WhenSettled {
            // A search restarts by itself when the program changes.
            (self.stage, self.is_suspended) = (GuardStage::Idle, false);
            self.wanted.clear();
        } else {
            self.stage = GuardStage::Held(self.hold * if outcome == ComparisonOutcome::Harms { HARM_HOLD } else { 1 });
            self.hold *= 2;
        }
        GuardStep::Verdict(verdict, Vec::new())
    }

    /// Ends a comparison whose iterations have ended, because their measure point was removed or is not reached any more: the initial values
    /// return.
    pub(crate) fn end_if_stalled(&mut self, now: f64) -> Option<GuardStep> {
        let patience = STALLED_S.max(STALLED_ITERATIONS * self.meter.usual_seconds()?);
        let since = self.meter.latest_end()?.max(self.since);
        if !self.is_trying() || self.switch.is_some() || now - since < patience {
            return None;
        }
        let verdict = self.verdict(None);
        self.stage = GuardStage::Held(self.hold);
        let values = if self.is_suspended { Vec::new() } else { self.switch_to(Setting::Beginning) };
        Some(GuardStep::Verdict(verdict, values))
    }

    /// The verdict at the end of the program, if a comparison is in progress.
    pub(crate) fn unfinished(&self) -> Option<GuardVerdict> {
        self.is_trying().then(|| self.verdict(None)).filter(|verdict| !verdict.values.is_empty())
    }

    fn verdict(&self, outcome: Option<ComparisonOutcome>) -> GuardVerdict {
        let GuardStage::Trying(turns) = &self.stage else {
            return GuardVerdict { outcome, ratio: None, comparisons: 0, iterations: 0, values: self.differing() };
        };
        let trial = turns.trial();
        GuardVerdict {
            outcome,
            ratio: trial.ratio(),
            comparisons: trial.blocks(),
            iterations: turns.iterations(),
            values: self.differing(),
        }
    }

    /// The points whose wanted value is not the initial one: point, initial and wanted value of the first such process.
    fn differing(&self) -> Vec<(usize, f64, f64)> {
        let mut values: Vec<(usize, f64, f64)> = Vec::new();
        for ((point, rank), wanted) in &self.wanted {
            let initial = self.ranks_of(*point, *rank).map(|(_, initial)| initial).find(|initial| *initial != wanted.value);
            if let Some(initial) = initial
                && values.iter().all(|(known, ..)| known != point)
            {
                values.push((*point, initial, wanted.value));
            }
        }
        values
    }

    /// Ranks and initial values of a point.
    fn ranks_of(&self, point: usize, only: Option<u32>) -> impl Iterator<Item = (u32, f64)> {
        let of_point = self.beginning.range((point, 0)..=(point, u32::MAX)).map(|((_, rank), value)| (*rank, *value));
        of_point.filter(move |(rank, _)| only.is_none_or(|only| only == *rank))
    }

    fn changed_values(&self) -> Vec<SwitchValue> {
        let one = |((point, rank), wanted): (&PointKey, &WantedValue)| SwitchValue {
            point: *point,
            rank: *rank,
            value: wanted.value,
            why: wanted.why.clone(),
            is_initial: false,
        };
        self.wanted.iter().map(one).collect()
    }

    /// The initial values: one change for all processes if they are the same everywhere.
    fn beginning_values(&self, why: &str) -> Vec<SwitchValue> {
        let mut values = Vec::new();
        for (point, rank) in self.wanted.keys() {
            let initial: Vec<(u32, f64)> = self.ranks_of(*point, *rank).collect();
            let Some((_, first)) = initial.first().copied() else { continue };
            let one = |rank, value| SwitchValue { point: *point, rank, value, why: why.to_owned(), is_initial: true };
            if initial.iter().all(|(_, value)| *value == first) {
                values.push(one(*rank, first));
            } else {
                values.extend(initial.into_iter().map(|(rank, value)| one(Some(rank), value)));
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use sintonia_link::probe_protocol::HookSide;

    use super::*;

    /// A program with one variable, whose changes take effect in the middle of the next iteration.
    struct Program {
        guard: TunletGuard,
        time: f64,
        value: f64,
        number: u64,
        pending: Option<f64>,
        iterations: u64,
        verdicts: Vec<GuardVerdict>,
        /// Seconds of all iterations by the value they began with.
        ledger: Vec<(f64, f64)>,
    }

    impl Program {
        fn new() -> Program {
            let measure = GuardMeasure { point: 0, duration: None };
            let guard = TunletGuard::new(ChangeGuard::InTurns, Some(measure));
            Program { guard, time: 0.0, value: 1.0, number: 0, pending: None, iterations: 0, verdicts: Vec::new(), ledger: Vec::new() }
        }

        fn request(&mut self, value: f64) {
            if self.guard.admit((0, None), value, "better", true, self.time) {
                self.send(value);
            }
        }

        fn send(&mut self, value: f64) {
            self.number += 1;
            self.guard.sent(self.number);
            self.pending = Some(value);
        }

        fn run(&mut self, count: usize, seconds: impl Fn(f64, u64) -> f64) {
            for _ in 0..count {
                self.iterations += 1;
                let wobble = 1.0 + 0.01 * ((self.iterations * 7919 % 13) as f64 / 6.0 - 1.0);
                let takes = wobble * seconds(self.value, self.iterations);
                self.ledger.push((self.value, takes));
                if let Some(value) = self.pending.take() {
                    self.guard.made(0, 0, self.value);
                    self.value = value;
                    self.guard.confirmed(self.number, 0, [0], self.time + takes / 2.0);
                }
                self.time += takes;
                let event = PointEvent { point: 0, rank: 0, side: HookSide::Exit, time: self.time, values: vec![], change: self.number };
                match self.guard.event(&event, true, true) {
                    Some(GuardStep::Turn(values)) => values.iter().for_each(|one| self.send(one.value)),
                    Some(GuardStep::Verdict(verdict, values)) => {
                        self.verdicts.push(verdict);
                        values.iter().for_each(|one| self.send(one.value));
                    }
                    None => {}
                }
            }
        }
    }

    #[test]
    fn a_change_that_pays_is_kept_and_the_gain_is_that_of_the_ledger() {
        let mut program = Program::new();
        program.run(20, |_, _| 1.0);
        program.request(2.0);
        program.run(100, |value, _| if value == 2.0 { 0.7 } else { 1.0 });
        assert_eq!((program.verdicts.len(), program.value), (1, 2.0));
        let verdict = &program.verdicts[0];
        let TimeRatio { ratio, low, high } = verdict.ratio.expect("a ratio");
        assert_eq!((verdict.outcome, &verdict.values[..]), (Some(ComparisonOutcome::Pays), &[(0, 1.0, 2.0)][..]));
        assert!(low <= 0.7 && 0.7 <= high && (ratio - 0.7).abs() < 0.01, "{verdict:?}");
    }

    #[test]
    fn a_change_without_effect_or_with_harm_is_taken_back() {
        for (factor, most) in [(1.0, 1.01), (1.1, 1.02), (3.0, 1.05)] {
            let mut program = Program::new();
            program.run(20, |_, _| 1.0);
            program.request(2.0);
            program.run(400, |value, _| if value == 2.0 { factor } else { 1.0 });
            assert_eq!(program.value, 1.0, "{factor}");
            assert!(program.verdicts.iter().all(|verdict| verdict.outcome != Some(ComparisonOutcome::Pays)), "{:?}", program.verdicts);
            let total: f64 = program.ledger.iter().map(|(_, seconds)| seconds).sum();
            assert!(total / 420.0 < most, "{factor}: {total}");
        }
    }

    #[test]
    fn a_program_that_gets_faster_by_itself_has_no_gain() {
        let mut program = Program::new();
        program.run(20, |_, _| 1.0);
        program.request(2.0);
        program.run(150, |_, index| 0.99f64.powi(index as i32));
        assert_eq!(program.verdicts.iter().filter(|verdict| verdict.outcome == Some(ComparisonOutcome::Pays)).count(), 0);
        assert_eq!(program.value, 1.0);
    }

    #[test]
    fn a_rule_that_changes_in_every_iteration_is_compared_as_a_whole() {
        let mut program = Program::new();
        program.run(20, |_, _| 1.0);
        for index in 0..60 {
            if !program.guard.withholds() {
                program.request(2.0 + f64::from(index % 7));
            }
            program.run(1, |value, _| if value >= 2.0 { 0.8 } else { 1.0 });
        }
        assert_eq!(program.verdicts.len(), 1);
        assert_eq!(program.verdicts[0].outcome, Some(ComparisonOutcome::Pays));
        assert!(program.value >= 2.0);
    }

    #[test]
    fn values_return_if_the_iterations_end() {
        let mut program = Program::new();
        program.run(20, |_, _| 1.0);
        program.request(2.0);
        program.run(3, |_, _| 1.0);
        assert_eq!(program.guard.end_if_stalled(program.time + 10.0), None);
        let Some(GuardStep::Verdict(verdict, values)) = program.guard.end_if_stalled(program.time + 100.0) else { panic!("a verdict") };
        assert_eq!((verdict.outcome, values[0].value, program.guard.is_trying()), (None, 1.0, false));
    }

    #[test]
    fn a_change_that_no_process_makes_is_not_compared() {
        let mut program = Program::new();
        assert!(program.guard.admit((0, None), 2.0, "better", true, 0.0));
        program.guard.sent(1);
        program.guard.confirmed(1, 0, [], 0.0);
        program.run(50, |_, _| 1.0);
        assert!(program.verdicts.is_empty() && program.guard.unfinished().is_none() && !program.guard.is_trying());
    }

    #[test]
    fn processes_that_began_with_different_values_get_them_back() {
        let mut guard = TunletGuard::new(ChangeGuard::InTurns, None);
        guard.admit((0, None), 9.0, "", true, 0.0);
        guard.made(0, 0, 4.0);
        guard.made(0, 1, 5.0);
        let values: Vec<_> = guard.beginning_values("").into_iter().map(|one| (one.rank, one.value)).collect();
        assert_eq!(values, [(Some(0), 4.0), (Some(1), 5.0)]);
    }
}
