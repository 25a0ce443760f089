//! The analyzer (as in MATE): feeds events to tunlets and has their tuning actions executed.
//!
//! Every change passes a guard ([`crate::guard`]): while it compares, the tunlet's changes are made and taken back in turns, and events with
//! the initial values are not for the tunlet.

mod change_ledger;
mod flapping;

use std::collections::HashSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sintonia_link::probe_protocol::HookSide;
use sintonia_text::quantity::format_seconds;

use crate::decision::{ComparedValue, TuningDecision, TuningLogEntry, TuningVerdict, VerdictResult};
use crate::guard::paired::ComparisonOutcome;
use crate::guard::{GuardStep, GuardVerdict, SwitchValue, TunletGuard};
use crate::protocol::{AgentReport, AgentRequest, ChangeEffect, ChangeRequest};
use crate::tree::HostTree;
use crate::tuning_points::{Actor, EventJoin, MeasurePoint, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};
use crate::tunlet::{ChangeGuard, EventSummary, PointEvent, TuningAction, Tunlet, TunletMetric};
use change_ledger::{ChangeLedger, ConfirmedChange, JoinedRanks, RequestedChange};
use flapping::{FlappingDamper, FlappingDecision};

/// Interval between polls: short enough for decisions, and it costs the program next to nothing.
const POLL_INTERVAL: Duration = Duration::from_micros(500);
/// Interval between ticks of tunlets.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// Reports in flight at the end of the program arrive within this time.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);
/// Log entries kept in memory, so that a run of days does not fill it.
const MAX_LOG_ENTRIES: usize = 1 << 20;
/// Numbers of the measure points that guards add, beyond those of tunlets.
const GUARD_POINTS: usize = 1 << 32;
/// MPI functions by which iterations are found if a tunlet measures nothing that repeats.
const ITERATION_CALLS: [&str; 8] =
    ["MPI_Allreduce", "MPI_Reduce", "MPI_Bcast", "MPI_Barrier", "MPI_Allgather", "MPI_Alltoall", "MPI_Waitall", "MPI_Sendrecv"];
/// Time without any iteration after which those are measured, and after which comparing is given up.
const ITERATION_TIMEOUTS_S: [f64; 2] = [2.0, 20.0];

/// Result of tuning a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TuningSummary {
    /// The log.
    pub log: Vec<TuningLogEntry>,
    /// Number of other hosts.
    pub hosts: usize,
    /// Number of tuned processes.
    pub processes: usize,
    /// Size of the program, if known.
    pub size: Option<u32>,
    /// Number of events read.
    pub events: u64,
    /// Number of events dropped.
    pub dropped: u64,
}

impl TuningSummary {
    /// The changes among the log entries.
    pub fn decisions(&self) -> impl Iterator<Item = &TuningDecision> {
        self.log.iter().filter_map(TuningLogEntry::decision)
    }
}

/// Watches and tunes one run.
pub struct Analyzer {
    tunlets: Vec<Box<dyn Tunlet>>,
    needs: Vec<TunletRequirements>,
    tree: HostTree,
    changes: ChangeLedger,
    guards: Vec<TunletGuard>,
    flapping: FlappingDamper,
    /// Tunlets for whose guards MPI functions are measured.
    measures_mpi: HashSet<usize>,
    /// Log entries not passed to the observer yet.
    new_entries: Vec<TuningLogEntry>,
    /// Problems reported already.
    reported_problems: HashSet<String>,
    /// Iterations reported already, by location.
    reported_iterations: HashSet<String>,
    /// Ranks of connected processes.
    active_ranks: HashSet<u32>,
    /// Whether all processes of the program have connected.
    all_joined: bool,
    last_metrics: Vec<Vec<TunletMetric>>,
    /// Changes are logged, not made.
    watch_only: bool,
    summary: TuningSummary,
}

impl Analyzer {
    /// An analyzer of the hosts in this tree.
    pub fn new(tunlets: Vec<Box<dyn Tunlet>>, tree: HostTree, watch_only: bool) -> Analyzer {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let began = TuningLogEntry::Began { time_s: 0.0, since_1970_s: now_s - tree.now() };
        Analyzer {
            needs: tunlets.iter().map(|_| TunletRequirements::default()).collect(),
            last_metrics: tunlets.iter().map(|_| Vec::new()).collect(),
            // Whoever only watches changes nothing that could be compared.
            guards: tunlets
                .iter()
                .map(|tunlet| TunletGuard::new(if watch_only { ChangeGuard::None } else { tunlet.guard() }, tunlet.guard_measure()))
                .collect(),
            tunlets,
            tree,
            changes: ChangeLedger::default(),
            flapping: FlappingDamper::default(),
            measures_mpi: HashSet::new(),
            new_entries: vec![began],
            reported_problems: HashSet::new(),
            reported_iterations: HashSet::new(),
            active_ranks: HashSet::new(),
            all_joined: false,
            watch_only,
            summary: TuningSummary::default(),
        }
    }

    /// Runs until `is_over`; `observe` receives every log entry.
    pub fn run(mut self, is_over: impl Fn() -> bool, mut observe: impl FnMut(&TuningLogEntry)) -> TuningSummary {
        let mut ticked = Instant::now();
        loop {
            let over = is_over();
            let begin = Instant::now();
            self.receive_reports();
            if over {
                self.drain();
            }
            if over || ticked.elapsed() >= TICK_INTERVAL {
                ticked = Instant::now();
                self.tick();
            }
            self.flush_log(&mut observe);
            if over {
                return self.summary;
            }
            std::thread::sleep(POLL_INTERVAL.saturating_sub(begin.elapsed()));
        }
    }

    /// Waits for reports in flight; a change without any answer is logged as refused.
    fn drain(&mut self) {
        let begin = Instant::now();
        while !self.tree.is_empty() && begin.elapsed() < DRAIN_TIMEOUT {
            std::thread::sleep(POLL_INTERVAL);
            self.receive_reports();
        }
        let last = self.tree.collect_final_reports();
        self.handle_reports(last);
        for decision in self.changes.take_unanswered() {
            let refused = Some("no process made it before the program ended".into());
            self.new_entries.push(TuningLogEntry::Change(TuningDecision { refused, ..decision }));
        }
        let time_s = self.tree.now();
        for tunlet in 0..self.guards.len() {
            if let Some(verdict) = self.guards[tunlet].unfinished() {
                self.log_verdict(tunlet, verdict, time_s);
            }
        }
    }

    fn flush_log(&mut self, observe: &mut impl FnMut(&TuningLogEntry)) {
        let capacity = MAX_LOG_ENTRIES.saturating_sub(self.summary.log.len());
        if capacity > 0 && self.new_entries.len() >= capacity {
            let what = format!("the log has {MAX_LOG_ENTRIES} entries: further entries are shown, but not kept");
            self.new_entries.insert(capacity - 1, TuningLogEntry::Problem { time_s: self.tree.now(), what });
        }
        self.new_entries.iter().for_each(observe);
        self.summary.log.extend(self.new_entries.drain(..).take(capacity));
    }

    fn receive_reports(&mut self) {
        let report = self.tree.collect_reports();
        self.handle_reports(report);
    }

    fn handle_reports(&mut self, reports: Vec<AgentReport>) {
        for report in reports {
            match report {
                AgentReport::HostJoined(_) => self.summary.hosts += 1,
                AgentReport::ProcessJoined { size } => self.start_tunlets(size),
                AgentReport::Ready { rank } => {
                    self.summary.processes += 1;
                    if !self.active_ranks.insert(rank) {
                        self.report_problem(format!("rank {rank}: {DUPLICATE_RANK}"));
                    }
                }
                AgentReport::ProcessLeft { rank, finished } => {
                    self.active_ranks.remove(&rank);
                    if !finished {
                        self.report_problem(format!("rank {rank} has ended early; the others are still tuned"));
                    }
                }
                AgentReport::Event { tunlet, event } => self.handle_event(tunlet, &event),
                AgentReport::Summary { tunlet, summary } => self.handle_summary(tunlet, &summary),
                AgentReport::Changed { number, rank, outcome } => self.handle_change_result(number, rank, outcome),
                AgentReport::Callees { tunlet, function, callees } => self.handle_callees(tunlet, &function, &callees),
                AgentReport::Iteration { seconds, location, .. } => self.report_iteration(seconds, &location),
                AgentReport::Problem(what) => self.report_problem(what),
                AgentReport::Count { events, dropped } => {
                    self.summary.events += events;
                    self.summary.dropped += dropped;
                }
            }
        }
    }

    /// An iteration that every process has is logged once.
    fn report_iteration(&mut self, seconds: f64, location: &str) {
        if self.reported_iterations.insert(location.to_owned()) {
            let what = format!("every {}, at {location}", format_seconds(seconds));
            self.new_entries.push(TuningLogEntry::Finding { time_s: self.tree.now(), tunlet: "iteration".into(), what });
        }
    }

    fn report_problem(&mut self, what: String) {
        let time_s = self.tree.now();
        // A problem that every process reports is logged once.
        let about = what.split_once(": ").map_or(&what[..], |(_, rest)| rest).to_owned();
        if self.reported_problems.insert(about) {
            self.new_entries.push(TuningLogEntry::Problem { time_s, what });
        }
    }

    /// The size of the program is known, and so are the requirements of the tunlets.
    fn start_tunlets(&mut self, size: u32) {
        if self.summary.size.is_some() {
            return;
        }
        self.summary.size = Some(size);
        self.needs = self.tunlets.iter_mut().map(|tunlet| tunlet.requirements(size)).collect();
        self.tree.broadcast(AgentRequest::Bind(self.needs.clone()));
        for tunlet in 0..self.tunlets.len() {
            let actions = self.tunlets[tunlet].on_start(size);
            self.execute_all(tunlet, actions, 0.0);
        }
        self.tree.broadcast(AgentRequest::Begin);
    }

    fn handle_event(&mut self, tunlet: usize, event: &PointEvent) {
        let Some(one) = self.tunlets.get_mut(tunlet) else { return };
        let is_for_tunlet = event.point < GUARD_POINTS && !self.guards[tunlet].withholds();
        let actions = if is_for_tunlet { one.on_event(event) } else { Vec::new() };
        let is_settled = one.is_settled();
        self.execute_all(tunlet, actions, event.time);
        let may_try = self.may_compare(tunlet);
        if let Some(step) = self.guards[tunlet].event(event, is_settled, may_try) {
            self.follow_guard(tunlet, step, event.time);
        }
    }

    fn follow_guard(&mut self, tunlet: usize, step: GuardStep, time: f64) {
        match step {
            GuardStep::Turn(values) => self.switch(tunlet, values, true, time),
            GuardStep::Verdict(verdict, values) => {
                let pays = verdict.outcome == Some(ComparisonOutcome::Pays);
                self.log_verdict(tunlet, verdict, time);
                self.switch(tunlet, values, false, time);
                self.tunlets[tunlet].on_verdict(pays);
            }
        }
    }

    /// Whether no other tunlet is being compared: the times would mix.
    fn may_compare(&self, tunlet: usize) -> bool {
        self.guards.iter().enumerate().all(|(other, guard)| other == tunlet || !guard.is_trying())
    }

    /// Makes the changes of a guard.
    fn switch(&mut self, tunlet: usize, values: Vec<SwitchValue>, turn: bool, time: f64) {
        for SwitchValue { point, rank, value, why, is_initial } in values {
            let Some(tuning_point) = self.needs[tunlet].tunes.get(point) else { continue };
            let (actor, action) = (tuning_point.actor.clone(), tuning_point.target.to_string());
            let name = self.tunlets[tunlet].name().to_owned();
            let decision = TuningDecision { time_s: time, tunlet: name, action, rank, old: None, new: value, why, refused: None, turn };
            self.send_change(RequestedChange::new(tunlet, point, rank, actor, decision, self.tree.now()), is_initial);
        }
        self.guards[tunlet].finish_empty_switch(time);
    }

    fn log_verdict(&mut self, tunlet: usize, verdict: GuardVerdict, time_s: f64) {
        let GuardVerdict { outcome, ratio, comparisons, iterations, values } = verdict;
        let result = match outcome {
            Some(ComparisonOutcome::Pays) => VerdictResult::Pays,
            Some(ComparisonOutcome::NoGain) => VerdictResult::NoGain,
            Some(ComparisonOutcome::Harms) => VerdictResult::Harms,
            None => VerdictResult::Undecided,
        };
        let action = |point: usize| self.needs[tunlet].tunes.get(point).map_or(String::new(), |point| point.target.to_string());
        let values =
            values.into_iter().map(|(point, initial, changed)| ComparedValue { action: action(point), initial, changed }).collect();
        let verdict = TuningVerdict {
            time_s,
            tunlet: self.tunlets[tunlet].name().to_owned(),
            result,
            gain: ratio.map(|ratio| 1.0 - ratio.ratio),
            interval: ratio.map(|ratio| (1.0 - ratio.high, 1.0 - ratio.low)),
            comparisons,
            iterations,
            values,
            what: String::new(),
        };
        self.new_entries.push(TuningLogEntry::Verdict(verdict.with_sentence()));
    }

    fn handle_summary(&mut self, tunlet: usize, summary: &EventSummary) {
        let Some(one) = self.tunlets.get_mut(tunlet).filter(|_| !self.guards[tunlet].withholds()) else { return };
        let actions = one.on_summary(summary);
        self.execute_all(tunlet, actions, summary.from);
    }

    fn handle_callees(&mut self, tunlet: usize, function: &str, callees: &[String]) {
        let Some(one) = self.tunlets.get_mut(tunlet) else { return };
        let actions = one.on_callees(function, callees);
        self.execute_all(tunlet, actions, self.tree.now());
    }

    fn tick(&mut self) {
        let time_s = self.tree.now();
        self.confirm_changes();
        for tunlet in 0..self.tunlets.len() {
            let (is_settled, may_try) = (self.tunlets[tunlet].is_settled(), self.may_compare(tunlet));
            self.guards[tunlet].settled(is_settled, may_try, time_s);
            self.find_iterations(tunlet, time_s);
            if let Some(step) = self.guards[tunlet].end_if_stalled(time_s) {
                self.follow_guard(tunlet, step, time_s);
            }
            if !self.guards[tunlet].withholds() {
                let actions = self.tunlets[tunlet].on_tick(time_s);
                self.execute_all(tunlet, actions, time_s);
            }
            let figures = self.tunlets[tunlet].metrics();
            if figures != self.last_metrics[tunlet] {
                self.last_metrics[tunlet].clone_from(&figures);
                self.new_entries.push(TuningLogEntry::Figures { time_s, tunlet: self.tunlets[tunlet].name().to_owned(), figures });
            }
        }
    }

    /// A guard that sees no iterations gets those of MPI calls; if there are none either, it gives up.
    fn find_iterations(&mut self, tunlet: usize, now: f64) {
        let Some(waiting) = self.guards[tunlet].waits_for_iterations(now) else { return };
        if waiting > ITERATION_TIMEOUTS_S[1] {
            self.guards[tunlet].give_up();
            let what = "nothing repeats in the program as far as measured: changes are not compared with the initial values; a tunlet file may name the measure of an iteration with `guard`";
            self.new_entries.push(TuningLogEntry::Finding {
                time_s: now,
                tunlet: self.tunlets[tunlet].name().to_owned(),
                what: what.into(),
            });
        } else if waiting > ITERATION_TIMEOUTS_S[0] && self.measures_mpi.insert(tunlet) {
            for (index, function) in ITERATION_CALLS.into_iter().enumerate() {
                let (side, values) = (HookSide::Exit, Vec::new());
                let point = MeasurePoint { actor: Actor::Master, function: function.into(), side, values, join: EventJoin::Each };
                self.tree.broadcast(AgentRequest::AddPoint { tunlet, number: GUARD_POINTS + index, point });
            }
        }
    }

    fn handle_change_result(&mut self, number: u64, rank: u32, outcome: Result<ChangeEffect, String>) {
        let Some(request) = self.changes.requested(number) else { return };
        let (tunlet, point) = (request.tunlet, request.point);
        let mut decision = TuningDecision { rank: Some(rank), ..request.decision.clone() };
        let is_variable = self.needs[tunlet].tunes.get(point).is_some_and(has_value);
        let had_another = self.changes.answer(number, rank, &outcome);
        let mut actions = Vec::new();
        let mut is_change = true;
        match outcome {
            Ok(ChangeEffect { before, after, .. }) => {
                self.tunlets[tunlet].on_changed(point, rank, before);
                (decision.old, decision.new) = (before, after);
                is_change = before != Some(after);
                if let Some(before) = before {
                    self.guards[tunlet].made(point, rank, before);
                } else if !is_variable {
                    // Replacing a function is undone by 0.
                    self.guards[tunlet].made(point, rank, 0.0);
                }
                if had_another && is_variable {
                    self.report_problem(format!("rank {rank}: {} does not keep its value: the program sets it, too", decision.action));
                }
            }
            Err(why) => {
                // The process keeps its value: a turn that is refused is no refusal of the tunlet's change.
                if !decision.turn {
                    actions = self.tunlets[tunlet].on_refused(point, rank, &why);
                }
                decision.refused = Some(why);
            }
        }
        let time = decision.time_s;
        // A change to the value that is there is none.
        if is_change {
            self.new_entries.push(TuningLogEntry::Change(decision));
        }
        self.confirm_changes();
        self.execute_all(tunlet, actions, time);
    }

    /// Tells guards and tunlets which changes all processes have made.
    fn confirm_changes(&mut self) {
        let now = self.tree.now();
        let guards = &self.guards;
        self.all_joined |= self.summary.size.is_some_and(|size| self.active_ranks.len() >= size as usize);
        let joined = JoinedRanks { active: &self.active_ranks, are_all: self.all_joined };
        let confirmed = self.changes.take_confirmed(joined, now, |tunlet| guards[tunlet].usual_seconds());
        for ConfirmedChange { number, tunlet, point, made, effective, silent, refused, turn } in confirmed {
            for rank in silent {
                self.report_problem(format!("rank {rank}: it has not made a change that others have made; it is not waited for"));
            }
            if turn {
                // The tunlet does not take part in turns.
            } else if let Some(why) = refused {
                let actions = self.tunlets[tunlet].on_rejected(point, &why);
                self.execute_all(tunlet, actions, now);
            } else {
                self.tunlets[tunlet].on_confirmed(point, number);
            }
            let was_withheld = self.guards[tunlet].withholds();
            self.guards[tunlet].confirmed(number, point, made, effective);
            if was_withheld && !self.guards[tunlet].withholds() {
                self.tunlets[tunlet].on_resumed();
            }
        }
    }

    fn execute_all(&mut self, tunlet: usize, actions: Vec<TuningAction>, time: f64) {
        for action in actions {
            match action {
                TuningAction::Change { point, value, rank, why } => {
                    self.request_change(ChangeRequest { number: 0, tunlet, point, value, rank, once: false }, why, time)
                }
                TuningAction::AddPoint { number, point } => self.tree.broadcast(AgentRequest::AddPoint { tunlet, number, point }),
                TuningAction::RemovePoint(number) => self.tree.broadcast(AgentRequest::RemovePoint { tunlet, number }),
                TuningAction::QueryCallees(function) => self.tree.broadcast(AgentRequest::Callees { tunlet, function }),
                TuningAction::Report(what) => {
                    self.new_entries.push(TuningLogEntry::Finding { time_s: time, tunlet: self.tunlets[tunlet].name().to_owned(), what });
                }
            }
        }
    }

    /// Requests a change, unless it must be refused.
    fn request_change(&mut self, change: ChangeRequest, why: String, time: f64) {
        let Some(point) = self.needs[change.tunlet].tunes.get(change.point) else { return };
        let action = point.target.to_string();
        let (least, most) = point.range;
        let refused = if !(least..=most).contains(&change.value) {
            Some(format!("{action} may be from {least} to {most}"))
        } else if self.is_owned_by_another(change.tunlet, &action) {
            Some("another tunlet, listed before, sets it".into())
        } else if self.watch_only {
            Some("only watched".into())
        } else {
            None
        };
        let ChangeRequest { tunlet, point: index, value, rank, .. } = change;
        let name = self.tunlets[tunlet].name().to_owned();
        let decision = TuningDecision { time_s: time, tunlet: name, action, rank, old: None, new: value, why, refused, turn: false };
        if let Some(why) = decision.refused.clone() {
            self.new_entries.push(TuningLogEntry::Change(decision));
            let actions = self.tunlets[tunlet].on_not_made(index, &why);
            return self.execute_all(tunlet, actions, time);
        }
        let (can_be_undone, has_value) = (can_be_undone(point), has_value(point));
        let request = RequestedChange::new(tunlet, index, rank, point.actor.clone(), decision, self.tree.now());
        let is_settled = self.tunlets[tunlet].is_settled();
        if has_value && is_settled && self.is_flapping(&request) {
            return;
        }
        let may_try = self.may_compare(tunlet);
        if can_be_undone && !self.guards[tunlet].admit((index, rank), value, &request.decision.why, may_try, time) {
            return;
        }
        // A change to the value that is there is none: it is not made, but the tunlet may wait for it.
        match self.changes.already_there(&request, &self.active_ranks).filter(|_| has_value) {
            Some(ranks) => {
                ranks.into_iter().for_each(|rank| self.tunlets[tunlet].on_changed(index, rank, Some(value)));
                self.tunlets[tunlet].on_confirmed(index, self.changes.last_number());
                self.guards[tunlet].finish_empty_switch(time);
            }
            None => self.send_change(request, false),
        }
    }

    /// Whether a rule goes back and forth between values; reported once.
    fn is_flapping(&mut self, request: &RequestedChange) -> bool {
        let RequestedChange { tunlet, point, rank, decision, .. } = request;
        match self.flapping.decide((*tunlet, *point, *rank), decision.new, request.time) {
            FlappingDecision::Go => false,
            FlappingDecision::Hold { is_first } => {
                if is_first {
                    let what = format!("{} goes back and forth between values: it is held, longer each time", decision.action);
                    self.new_entries.push(TuningLogEntry::Finding { time_s: decision.time_s, tunlet: decision.tunlet.clone(), what });
                }
                true
            }
        }
    }

    fn send_change(&mut self, request: RequestedChange, once: bool) {
        let RequestedChange { tunlet, point, rank, .. } = request;
        let value = request.decision.new;
        let number = self.changes.request(request);
        self.guards[tunlet].sent(number);
        self.tree.broadcast(AgentRequest::Change(ChangeRequest { number, tunlet, point, value, rank, once }));
    }

    /// If several tunlets set the same variable, the first one listed wins.
    fn is_owned_by_another(&self, tunlet: usize, action: &str) -> bool {
        self.needs[..tunlet].iter().flat_map(|needs| &needs.tunes).any(|point| point.target.to_string() == action)
    }
}

/// Whether a point has a value that can be read: setting it to that value changes nothing.
fn has_value(point: &TuningPoint) -> bool {
    matches!(point.target, TuningTarget::Variable(_) | TuningTarget::Typed { .. } | TuningTarget::Control(_))
}

/// Whether a change can be taken back, and so compared.
fn can_be_undone(point: &TuningPoint) -> bool {
    let is_undone_by_value = has_value(point) || matches!(point.target, TuningTarget::Replace { .. });
    is_undone_by_value && point.moment != TuningMoment::BeforeMpi
}

/// Processes of several programs cannot be distinguished by rank.
const DUPLICATE_RANK: &str =
    "two processes have the same rank, as with several programs at once: their events are treated as those of one process";

#[cfg(test)]
mod tests {
    use sintonia_link::probe_protocol::ActionRepeat;
    use sintonia_link::session::SharedSecret;

    use super::*;
    use crate::collector::ProcessCollector;
    use crate::host_agent::now_ns;
    use crate::tuning_points::{Actor, TuningMoment, TuningPoint, TuningTarget};

    /// A tunlet that requests changes from the start.
    struct Eager;

    impl Tunlet for Eager {
        fn name(&self) -> &str {
            "eager"
        }

        fn requirements(&mut self, _processes: u32) -> TunletRequirements {
            let target = TuningTarget::Variable("chunk".into());
            let tune =
                TuningPoint { actor: Actor::Master, target, range: (0.0, 9.0), moment: TuningMoment::AtOnce, when: ActionRepeat::Once };
            TunletRequirements { measures: Vec::new(), tunes: vec![tune] }
        }

        fn on_start(&mut self, _processes: u32) -> Vec<TuningAction> {
            vec![
                TuningAction::change(0, 2.0, "two are better"),
                TuningAction::change(0, 3.0, "three are better"),
                TuningAction::change(7, 3.0, "there is no such point"),
            ]
        }
    }

    fn analyzer(folder: &tempfile::TempDir) -> Analyzer {
        let collector = ProcessCollector::open(&folder.path().join("door"), &SharedSecret::new().expect("randomness")).expect("a door");
        Analyzer::new(vec![Box::new(Eager)], HostTree::new(collector, None, now_ns()), false)
    }

    #[test]
    fn a_change_without_an_answer_is_logged_as_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut analyzer = analyzer(&folder);
        analyzer.handle_reports(vec![AgentReport::ProcessJoined { size: 2 }]);
        let summary = analyzer.run(|| true, |_| ());
        let decisions: Vec<_> = summary.decisions().map(|decision| (decision.new, decision.refused.is_some())).collect();
        assert_eq!(decisions, [(3.0, true)]);
    }

    #[test]
    fn concurrent_duplicate_ranks_are_reported_once() {
        let problems = |report: &[AgentReport]| {
            let folder = tempfile::tempdir().expect("a folder");
            let mut analyzer = analyzer(&folder);
            analyzer.handle_reports(report.to_vec());
            analyzer.run(|| true, |_| ()).log.iter().filter(|entry| matches!(entry, TuningLogEntry::Problem { .. })).count()
        };
        let (ready, gone) = (|rank| AgentReport::Ready { rank }, AgentReport::ProcessLeft { rank: 0, finished: true });
        assert_eq!(problems(&[ready(0), ready(1), ready(0), ready(1)]), 1);
        assert_eq!(problems(&[ready(0), ready(1), gone, ready(0)]), 0);
    }
}
