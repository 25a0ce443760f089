//! The tunlet `collectives`: selects the MPI library's algorithm of a collective by trial, where the library allows it.
//!
//! It looks at the most expensive collective. Each algorithm that its MPI_T control variable offers is used for a number of
//! calls, and the one with the least time per call is kept. Ranks with different algorithms would deadlock, so all change
//! before the same call ([`TuningMoment::Together`]).

use serde::Deserialize;
use sintonia_link::probe_protocol::ActionRepeat;

use crate::tuning_points::{Actor, MeasurePoint, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};
use crate::tunlet::{ChangeGuard, EventSummary, TuningAction, Tunlet, TunletMetric};

/// A control variable that selects the algorithm of a collective.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlgorithmControl {
    /// The collective.
    pub operation: String,
    /// The control variable.
    pub control: String,
    /// The values to try besides the initial one.
    pub values: Vec<f64>,
}

/// Settings of the tunlet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CollectivesSettings {
    /// The control variables. By default those of MPICH and derivatives, with values that every version has.
    pub choices: Vec<AlgorithmControl>,
    /// Calls per process to judge an algorithm.
    pub calls: u64,
    /// Relative improvement that is worth a change.
    pub worth: f64,
    /// Seconds per interval.
    pub period: f64,
}

impl Default for CollectivesSettings {
    fn default() -> CollectivesSettings {
        let choice = |operation: &str, name: &str, most: u8| AlgorithmControl {
            operation: operation.into(),
            control: format!("MPIR_CVAR_{name}_INTRA_ALGORITHM"),
            values: (1..=most).map(f64::from).collect(),
        };
        let choices = vec![
            choice("MPI_Bcast", "BCAST", 5),
            choice("MPI_Allreduce", "ALLREDUCE", 4),
            choice("MPI_Reduce", "REDUCE", 4),
            choice("MPI_Allgather", "ALLGATHER", 4),
        ];
        CollectivesSettings { choices, calls: 200, worth: 0.05, period: 0.05 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct CollectiveTally {
    calls: u64,
    seconds: f64,
}

impl CollectiveTally {
    fn mean_time(self) -> f64 {
        self.seconds / self.calls as f64
    }
}

/// Stage of the trial.
#[derive(Debug, Clone, PartialEq)]
enum TrialStage {
    /// The most expensive collective is not known yet.
    Looking,
    /// Values are tried in turn: the times per call so far, of which the first is that of the initial value.
    Trying { choice: usize, times: Vec<f64> },
    /// A change was requested, and not all processes have made it.
    Changing { choice: usize, times: Vec<f64> },
    /// The best value is kept.
    Done,
}

/// The tunlet.
pub struct CollectivesTunlet {
    settings: CollectivesSettings,
    processes: u32,
    tallies: Vec<CollectiveTally>,
    stage: TrialStage,
    /// The initial value.
    original: Option<f64>,
    /// The change that intervals must carry to count.
    counts_from: u64,
}

impl CollectivesTunlet {
    /// A tunlet with these settings.
    pub fn new(mut settings: CollectivesSettings) -> CollectivesTunlet {
        settings.calls = settings.calls.max(1);
        let tallies = vec![CollectiveTally::default(); settings.choices.len()];
        CollectivesTunlet { settings, processes: 1, tallies, stage: TrialStage::Looking, original: None, counts_from: 0 }
    }

    /// Whether a collective was called often enough to be judged.
    fn has_enough_calls(&self, choice: usize) -> bool {
        self.tallies[choice].calls >= self.settings.calls * u64::from(self.processes)
    }

    /// The most expensive collective, once known.
    fn slowest_operation(&self) -> Option<usize> {
        let worst = (0..self.tallies.len()).max_by(|one, other| self.tallies[*one].seconds.total_cmp(&self.tallies[*other].seconds))?;
        self.has_enough_calls(worst).then_some(worst)
    }

    /// The value after `tried` trials.
    fn trial_value(&self, choice: usize, tried: usize) -> Option<f64> {
        tried.checked_sub(1).and_then(|place| self.settings.choices[choice].values.get(place).copied())
    }

    fn advance(&mut self) -> Vec<TuningAction> {
        match std::mem::replace(&mut self.stage, TrialStage::Done) {
            TrialStage::Looking => match self.slowest_operation() {
                Some(choice) => self.next_trial(choice, Vec::new()),
                None => {
                    self.stage = TrialStage::Looking;
                    Vec::new()
                }
            },
            TrialStage::Trying { choice, times } if self.has_enough_calls(choice) => self.next_trial(choice, times),
            other => {
                self.stage = other;
                Vec::new()
            }
        }
    }

    /// After enough calls with a value: the next value, or the best one.
    fn next_trial(&mut self, choice: usize, mut times: Vec<f64>) -> Vec<TuningAction> {
        times.push(self.tallies[choice].mean_time());
        match self.trial_value(choice, times.len()) {
            Some(next) => {
                let why = format!(
                    "{} takes {} with {}",
                    self.settings.choices[choice].operation,
                    micros(times[times.len() - 1]),
                    self.algorithm_name(choice, times.len() - 1)
                );
                self.request_change(choice, times, next, why)
            }
            None => self.settle(choice, &times),
        }
    }

    /// Keeps the best of all values.
    fn settle(&mut self, choice: usize, times: &[f64]) -> Vec<TuningAction> {
        let best = (0..times.len()).min_by(|one, other| times[*one].total_cmp(&times[*other])).unwrap_or(0);
        let best = if times[best] < (1.0 - self.settings.worth) * times[0] { best } else { 0 };
        let value = self.trial_value(choice, best).or(self.original).unwrap_or(0.0);
        let operation = &self.settings.choices[choice].operation;
        let why = format!("{operation} takes {} with it, {} with the library's own choice", micros(times[best]), micros(times[0]));
        let findings =
            format!("{operation}: of {} algorithms, {} is the fastest so far: {}", times.len(), self.algorithm_name(choice, best), why);
        let mut actions = vec![TuningAction::Report(findings)];
        if best + 1 != times.len() {
            actions.push(TuningAction::change(choice, value, why));
        }
        self.stage = TrialStage::Done;
        actions
    }

    fn algorithm_name(&self, choice: usize, tried: usize) -> String {
        self.trial_value(choice, tried).map_or("the library's own choice".into(), |value| format!("algorithm {value}"))
    }

    fn request_change(&mut self, choice: usize, times: Vec<f64>, value: f64, why: String) -> Vec<TuningAction> {
        self.stage = TrialStage::Changing { choice, times };
        vec![TuningAction::change(choice, value, why)]
    }
}

fn micros(seconds: f64) -> String {
    format!("{:.1} us", 1e6 * seconds)
}

impl Tunlet for CollectivesTunlet {
    fn name(&self) -> &str {
        "collectives"
    }

    fn requirements(&mut self, _processes: u32) -> TunletRequirements {
        let measure = |choice: &AlgorithmControl| MeasurePoint::mpi_exit(Actor::All, &choice.operation, &["seconds"], self.settings.period);
        let tune = |choice: &AlgorithmControl| TuningPoint {
            actor: Actor::All,
            target: TuningTarget::Control(choice.control.clone()),
            range: (f64::MIN, f64::MAX),
            moment: TuningMoment::Together,
            when: ActionRepeat::Once,
        };
        TunletRequirements {
            measures: self.settings.choices.iter().map(measure).collect(),
            tunes: self.settings.choices.iter().map(tune).collect(),
        }
    }

    fn on_start(&mut self, processes: u32) -> Vec<TuningAction> {
        self.processes = processes.max(1);
        Vec::new()
    }

    fn on_summary(&mut self, summary: &EventSummary) -> Vec<TuningAction> {
        if summary.change < self.counts_from {
            return Vec::new();
        }
        let (Some(tally), Some(sums)) = (self.tallies.get_mut(summary.point), summary.values.first()) else { return Vec::new() };
        *tally = CollectiveTally { calls: tally.calls + sums.count(), seconds: tally.seconds + sums.sum() };
        self.advance()
    }

    fn guard(&self) -> ChangeGuard {
        ChangeGuard::WhenSettled
    }

    fn is_settled(&self) -> bool {
        self.stage == TrialStage::Done
    }

    fn on_changed(&mut self, _point: usize, _rank: u32, before: Option<f64>) {
        self.original = self.original.or(before);
    }

    fn on_confirmed(&mut self, point: usize, number: u64) {
        if let TrialStage::Changing { choice, times } = &mut self.stage
            && *choice == point
        {
            self.stage = TrialStage::Trying { choice: point, times: std::mem::take(times) };
            self.tallies = vec![CollectiveTally::default(); self.tallies.len()];
            self.counts_from = number;
        }
    }

    fn on_refused(&mut self, _point: usize, _rank: u32, why: &str) -> Vec<TuningAction> {
        match std::mem::replace(&mut self.stage, TrialStage::Done) {
            TrialStage::Done => return Vec::new(),
            // The library refuses this value: the best of the others is kept.
            TrialStage::Changing { choice, times, .. } if times.len() > 1 => return self.settle(choice, &times),
            TrialStage::Looking | TrialStage::Trying { .. } | TrialStage::Changing { .. } => {}
        }
        vec![TuningAction::Report(format!("this MPI library does not allow selecting algorithms at run time: {why}"))]
    }

    fn metrics(&self) -> Vec<TunletMetric> {
        match &self.stage {
            TrialStage::Trying { choice, times } | TrialStage::Changing { choice, times, .. } => {
                let best = times.iter().copied().fold(f64::INFINITY, f64::min);
                vec![
                    TunletMetric::new(&self.settings.choices[*choice].operation, 1e6 * best, "us"),
                    TunletMetric::new("tried", times.len() as f64, ""),
                ]
            }
            TrialStage::Looking | TrialStage::Done => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::RunningStats;

    /// Runs calls of a collective whose algorithms take these times; the first is the library's choice.
    fn run(times: &[f64]) -> (f64, Vec<String>) {
        let mut tunlet = CollectivesTunlet::new(CollectivesSettings { calls: 10, ..CollectivesSettings::default() });
        tunlet.on_start(4);
        let (mut value, mut findings, mut change) = (0.0, Vec::new(), 0);
        for round in 0..200 {
            let mut sums = RunningStats::default();
            (0..8).for_each(|_| sums.add(times[value as usize], 1));
            let actions =
                tunlet.on_summary(&EventSummary { point: 1, from: 0.05 * f64::from(round), count: 8, values: vec![sums], change });
            for action in actions {
                match action {
                    TuningAction::Change { point, value: new, .. } => {
                        let before = std::mem::replace(&mut value, new);
                        (0..4).for_each(|rank| tunlet.on_changed(point, rank, Some(before)));
                        change += 1;
                        tunlet.on_confirmed(point, change);
                    }
                    TuningAction::Report(what) => findings.push(what),
                    other => panic!("{other:?}"),
                }
            }
        }
        (value, findings)
    }

    #[test]
    fn every_algorithm_is_tried_and_the_best_is_kept() {
        let (value, findings) = run(&[10e-6, 12e-6, 5e-6, 20e-6, 11e-6]);
        assert_eq!(value, 2.0);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].contains("MPI_Allreduce: of 5 algorithms, algorithm 2 is the fastest"), "{findings:?}");
    }

    #[test]
    fn a_small_improvement_is_not_worth_a_change() {
        let (value, findings) = run(&[10e-6, 12e-6, 9.8e-6, 20e-6, 11e-6]);
        assert_eq!(value, 0.0);
        assert!(findings[0].contains("the library's own choice is the fastest"), "{findings:?}");
    }

    #[test]
    fn a_refused_algorithm_leaves_the_best_of_the_others() {
        let mut tunlet = CollectivesTunlet::new(CollectivesSettings { calls: 1, ..CollectivesSettings::default() });
        tunlet.stage = TrialStage::Changing { choice: 1, times: vec![10e-6, 5e-6, 12e-6] };
        let actions = tunlet.on_refused(1, 0, "there is no such algorithm");
        assert!(matches!(&actions[..], [TuningAction::Report(_), TuningAction::Change { point: 1, value: 1.0, .. }]), "{actions:?}");
    }

    #[test]
    fn it_stops_where_the_library_refuses() {
        let mut tunlet = CollectivesTunlet::new(CollectivesSettings::default());
        let actions = tunlet.on_refused(1, 0, "there is no such variable");
        assert!(matches!(&actions[..], [TuningAction::Report(what)] if what.contains("no such variable")));
        assert!(tunlet.on_refused(1, 1, "there is no such variable").is_empty());
    }
}
