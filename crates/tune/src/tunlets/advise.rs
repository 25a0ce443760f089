//! The tunlet `advise`: why, where and when a program loses time, searched online as by Paradyn's Performance Consultant.
//!
//! It changes nothing. Initially it measures only MPI functions, which costs next to nothing. When a hypothesis holds for the whole
//! program, it refines it: over groups of ranks, and over the functions that `main` calls, and so on down the call graph. Measure points
//! without a significant share of the time are removed again.

mod call_totals;
mod code;
mod ranks;

use serde::Deserialize;
use sintonia_mpi::{FUNCTIONS, FunctionId};

use crate::mpi_time::{sends, takes_time, waits};
use crate::tuning_points::{Actor, MeasurePoint, TunletRequirements};
use crate::tunlet::{EventSummary, TuningAction, Tunlet, TunletMetric};

use call_totals::{CallTimeTotals, PointRegistry};
use code::CodeSearch;
use ranks::RankSearch;

/// Settings of the tunlet.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdviseSettings {
    /// Share of the time that is worth reporting.
    pub threshold: f64,
    /// Seconds per period.
    pub period: f64,
    /// Periods before a hypothesis is accepted.
    pub periods: u32,
}

impl Default for AdviseSettings {
    fn default() -> AdviseSettings {
        AdviseSettings { threshold: 0.2, period: 0.25, periods: 4 }
    }
}

/// A hypothesis why a program loses time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LossHypothesis {
    /// Waiting for messages or other ranks.
    Waiting,
    /// Sending small messages.
    SmallMessages,
    /// File access.
    Files,
    /// Computation.
    Computing,
}

impl LossHypothesis {
    const ALL: [LossHypothesis; 4] =
        [LossHypothesis::Waiting, LossHypothesis::SmallMessages, LossHypothesis::Files, LossHypothesis::Computing];

    /// Whether time in this function supports it.
    fn covers(self, operation: FunctionId) -> bool {
        match self {
            LossHypothesis::Waiting => waits(operation.role()),
            LossHypothesis::SmallMessages => sends(operation.role()),
            LossHypothesis::Files => operation.role().is_file(),
            LossHypothesis::Computing => takes_time(operation.role()),
        }
    }

    fn describe(self) -> &'static str {
        match self {
            LossHypothesis::Waiting => "is spent waiting",
            LossHypothesis::SmallMessages => "is spent sending small messages",
            LossHypothesis::Files => "is spent on files",
            LossHypothesis::Computing => "is spent computing",
        }
    }
}

/// Smaller messages count as small.
const SMALL_MESSAGE_BYTES: f64 = 1024.0;

/// A hypothesis that holds, and the searches that locate it.
struct HypothesisCase {
    why: LossHypothesis,
    share: f64,
    since: f64,
    /// The MPI function with most of the time.
    operation: Option<FunctionId>,
    ranks: Option<RankSearch>,
    code: CodeSearch,
    reported: bool,
}

/// The tunlet.
pub struct AdviseTunlet {
    settings: AdviseSettings,
    processes: u32,
    /// Totals of each MPI function in the current period, and in each of the latest.
    operations: Vec<(FunctionId, CallTimeTotals)>,
    latest: Vec<Vec<CallTimeTotals>>,
    extra_points: PointRegistry,
    period_began: f64,
    began: Option<f64>,
    cases: Vec<HypothesisCase>,
    shares: [f64; 4],
}

impl AdviseTunlet {
    /// A tunlet with these settings.
    pub fn new(mut settings: AdviseSettings) -> AdviseTunlet {
        /// Ticks come ten times per second.
        const SHORTEST_PERIOD: f64 = 0.1;
        settings.period = settings.period.max(SHORTEST_PERIOD);
        settings.periods = settings.periods.max(1);
        let all = (0..FUNCTIONS.len() as u16).filter_map(FunctionId::from_index);
        let operations: Vec<_> =
            all.filter(|operation| takes_time(operation.role())).map(|operation| (operation, CallTimeTotals::default())).collect();
        AdviseTunlet {
            extra_points: PointRegistry::new(operations.len()),
            settings,
            processes: 1,
            operations,
            latest: Vec::new(),
            period_began: 0.0,
            began: None,
            cases: Vec::new(),
            shares: [0.0; 4],
        }
    }

    /// The share of the program's time that a hypothesis explains, over the latest periods.
    fn share(&self, why: LossHypothesis) -> f64 {
        let time = self.settings.period * self.latest.len() as f64 * f64::from(self.processes);
        let counted = self.operations.iter().enumerate().filter(|(_, (operation, _))| why.covers(*operation));
        let tally = counted.map(|(index, _)| self.sum(index)).fold(CallTimeTotals::default(), CallTimeTotals::merged);
        let share = (tally.seconds / time).clamp(0.0, 1.0);
        match why {
            LossHypothesis::Computing => 1.0 - share,
            LossHypothesis::SmallMessages if tally.second_value > SMALL_MESSAGE_BYTES * tally.count as f64 => 0.0,
            _ => share,
        }
    }

    fn sum(&self, operation: usize) -> CallTimeTotals {
        self.latest.iter().map(|tallies| tallies[operation]).fold(CallTimeTotals::default(), CallTimeTotals::merged)
    }

    /// The MPI function with most of the time.
    fn dominant_operation(&self, why: LossHypothesis) -> Option<FunctionId> {
        let counted = self.operations.iter().enumerate().filter(|(_, (operation, _))| why.covers(*operation));
        let greatest = counted.max_by(|one, other| self.sum(one.0).seconds.total_cmp(&self.sum(other.0).seconds));
        greatest.filter(|(index, _)| self.sum(*index).seconds > 0.0).map(|(_, (operation, _))| *operation)
    }

    /// Tests all hypotheses at the end of a period.
    fn test_hypotheses(&mut self, time: f64) -> Vec<TuningAction> {
        let tallies = self.operations.iter_mut().map(|(_, tally)| std::mem::take(tally)).collect();
        self.latest.push(tallies);
        if self.latest.len() > self.settings.periods as usize {
            self.latest.remove(0);
        }
        if self.latest.len() < self.settings.periods as usize {
            return Vec::new();
        }
        let mut actions = Vec::new();
        for (index, why) in LossHypothesis::ALL.into_iter().enumerate() {
            let share = self.share(why);
            self.shares[index] = share;
            let holds = share >= self.settings.threshold;
            match self.cases.iter().position(|case| case.why == why) {
                None if holds => actions.extend(self.open_case(why, share, time)),
                // Hysteresis around the threshold.
                Some(at) if share < 0.75 * self.settings.threshold => actions.extend(self.close_case(at, share, time)),
                _ => {}
            }
        }
        actions
    }

    fn open_case(&mut self, why: LossHypothesis, share: f64, time: f64) -> Vec<TuningAction> {
        let operation = if why == LossHypothesis::Computing { None } else { self.dominant_operation(why) };
        let since = time - self.settings.period * f64::from(self.settings.periods);
        let ranks = operation.filter(|_| self.processes > 1).map(|operation| RankSearch::new(operation, self.processes));
        let mut case = HypothesisCase {
            why,
            share,
            since: since.max(0.0),
            operation,
            ranks,
            code: CodeSearch::new(why != LossHypothesis::Computing),
            reported: false,
        };
        let mut actions = case.ranks.as_mut().map_or(Vec::new(), |ranks| ranks.begin(&mut self.extra_points, self.settings.period, time));
        actions.extend(case.code.begin());
        self.cases.push(case);
        actions
    }

    /// A hypothesis no longer holds.
    fn close_case(&mut self, at: usize, share: f64, time: f64) -> Vec<TuningAction> {
        let case = self.cases.remove(at);
        let mut actions: Vec<TuningAction> = case.code.end(&mut self.extra_points);
        actions.extend(case.ranks.into_iter().flat_map(|ranks| ranks.end(&mut self.extra_points)));
        if case.reported {
            let now = format!("when: until {time:.1} s; since then {:.0} % of the time {}", 100.0 * share, case.why.describe());
            actions.push(TuningAction::Report(now));
        }
        actions
    }

    /// Advances the searches, and reports a case once it is located.
    fn advance_searches(&mut self, time: f64) -> Vec<TuningAction> {
        let AdviseSettings { threshold, period, periods } = self.settings;
        let patience = period * f64::from(periods);
        let mut actions = Vec::new();
        for case in &mut self.cases {
            if let Some(ranks) = &mut case.ranks {
                actions.extend(ranks.advance(&mut self.extra_points, period, patience, time));
            }
            actions.extend(case.code.advance(&mut self.extra_points, threshold, patience, time, self.processes));
            let found = case.code.is_done() && case.ranks.as_ref().is_none_or(RankSearch::is_done);
            if found && !case.reported {
                case.reported = true;
                actions.push(TuningAction::Report(case.describe()));
            }
        }
        actions
    }
}

impl HypothesisCase {
    /// Why, where and when.
    fn describe(&self) -> String {
        let mut words = format!("why: {:.0} % of the time {}", 100.0 * self.share, self.why.describe());
        let inside = self.operation.map(|operation| format!("in {}", operation.name()));
        let ranks = self.ranks.as_ref().map(RankSearch::describe);
        let code = self.code.describe();
        let location: Vec<String> = inside.into_iter().chain(ranks).chain(code).collect();
        if !location.is_empty() {
            words += &format!("; where: {}", location.join(", "))[..];
        }
        words + &format!("; when: since {:.1} s", self.since)[..]
    }
}

impl Tunlet for AdviseTunlet {
    fn name(&self) -> &str {
        "advise"
    }

    fn requirements(&mut self, _processes: u32) -> TunletRequirements {
        let measure = |(operation, _): &(FunctionId, CallTimeTotals)| {
            MeasurePoint::mpi_exit(Actor::All, operation.name(), &["seconds", "bytes"], self.settings.period)
        };
        TunletRequirements { measures: self.operations.iter().map(measure).collect(), tunes: Vec::new() }
    }

    fn on_start(&mut self, processes: u32) -> Vec<TuningAction> {
        self.processes = processes.max(1);
        Vec::new()
    }

    fn on_summary(&mut self, summary: &EventSummary) -> Vec<TuningAction> {
        let tally = CallTimeTotals::from_summary(summary);
        match self.operations.get_mut(summary.point) {
            Some((_, sum)) => *sum = sum.merged(tally),
            None => self.extra_points.record(summary.point, tally),
        }
        if self.began.is_none() {
            self.began = Some(summary.from);
            self.period_began = summary.from;
        }
        Vec::new()
    }

    fn on_tick(&mut self, time: f64) -> Vec<TuningAction> {
        if self.began.is_none() || time - self.period_began < self.settings.period {
            return Vec::new();
        }
        self.period_began += self.settings.period;
        let mut actions = self.test_hypotheses(time);
        actions.extend(self.advance_searches(time));
        actions
    }

    fn on_callees(&mut self, function: &str, callees: &[String]) -> Vec<TuningAction> {
        let time = self.period_began;
        let (looks, period) = (&mut self.extra_points, self.settings.period);
        self.cases.iter_mut().flat_map(|case| case.code.on_callees(function, callees, looks, period, time)).collect()
    }

    fn metrics(&self) -> Vec<TunletMetric> {
        let percent = |name, index: usize| TunletMetric::new(name, (100.0 * self.shares[index]).round(), "%");
        if self.latest.len() < self.settings.periods as usize { Vec::new() } else { vec![percent("waiting", 0), percent("computing", 3)] }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::statistics::RunningStats;

    /// Four ranks: the upper two wait half of their time in MPI_Recv, all of it under `exchange`, which `step` calls.
    #[derive(Default)]
    struct Program {
        looks: HashMap<usize, MeasurePoint>,
        reported: Vec<String>,
    }

    impl Program {
        /// Seconds per second that ranks spend in a function, and in MPI.
        fn spends(point: &MeasurePoint) -> (f64, f64) {
            let ranks = match &point.actor {
                Actor::Ranks(ranks) => ranks.clone(),
                _ => vec![0, 1, 2, 3],
            };
            let late = ranks.iter().filter(|rank| **rank >= 2).count() as f64;
            match point.function.as_str() {
                "MPI_Recv" => (0.5 * late, 0.0),
                "step" | "exchange" => (0.8 * ranks.len() as f64, 0.5 * late),
                "setup" => (0.01, 0.0),
                _ => (0.0, 0.0),
            }
        }

        fn grant(&mut self, advise: &mut AdviseTunlet, actions: Vec<TuningAction>) {
            for action in actions {
                match action {
                    TuningAction::AddPoint { number, point } => drop(self.looks.insert(number, point)),
                    TuningAction::RemovePoint(number) => drop(self.looks.remove(&number)),
                    TuningAction::Report(what) => self.reported.push(what),
                    TuningAction::QueryCallees(function) => {
                        let callees: &[&str] = match function.as_str() {
                            "main" => &["setup", "run"],
                            "run" => &["step"],
                            "step" => &["exchange"],
                            _ => &[],
                        };
                        let callees: Vec<String> = callees.iter().map(ToString::to_string).collect();
                        let more = advise.on_callees(&function, &callees);
                        self.grant(advise, more);
                    }
                    TuningAction::Change { .. } => panic!("it changes nothing"),
                }
            }
        }

        fn run(&mut self, advise: &mut AdviseTunlet, seconds: u32) {
            let needs = advise.requirements(4);
            let declared: Vec<(usize, MeasurePoint)> = needs.measures.into_iter().enumerate().collect();
            let period = advise.settings.period;
            for round in 0..(f64::from(seconds) / period) as u32 {
                let from = f64::from(round) * period;
                for (number, point) in declared.iter().map(|(number, point)| (*number, point.clone())).chain(self.looks.clone()) {
                    let (spent, in_mpi) = Program::spends(&point);
                    if spent > 0.0 {
                        let of = |value: f64| {
                            let mut sums = RunningStats::default();
                            sums.add(value * period, 1);
                            sums
                        };
                        advise.on_summary(&EventSummary { point: number, from, count: 1, values: vec![of(spent), of(in_mpi)], change: 0 });
                    }
                }
                let actions = advise.on_tick(from + period);
                self.grant(advise, actions);
            }
        }
    }

    #[test]
    fn it_finds_why_where_and_when() {
        let (mut advise, mut program) = (AdviseTunlet::new(AdviseSettings::default()), Program::default());
        advise.on_start(4);
        program.run(&mut advise, 30);
        let waiting = program.reported.iter().find(|reported| reported.contains("waiting")).expect("reported");
        assert_eq!(
            waiting,
            "why: 25 % of the time is spent waiting; where: in MPI_Recv, on ranks 2-3, under main > run > step > exchange (25 %); when: since 0.0 s"
        );
        assert!(
            program
                .reported
                .iter()
                .any(|reported| reported.contains("75 % of the time is spent computing")
                    && reported.contains("main > run > step > exchange"))
        );
        assert_eq!(program.reported.len(), 2, "{:?}", program.reported);
        assert!(program.looks.is_empty(), "it looks away when it has found out: {:?}", program.looks);
    }
}
