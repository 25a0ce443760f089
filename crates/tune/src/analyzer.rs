//! The analyzer (as in MATE): feeds events to tunlets and has their tuning actions executed.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sintonia_text::quantity::format_seconds;

use crate::decision::{TuningDecision, TuningLogEntry};
use crate::protocol::{AgentReport, AgentRequest, ChangeRequest};
use crate::tree::HostTree;
use crate::tuning_points::TunletRequirements;
use crate::tunlet::{EventSummary, PointEvent, TuningAction, Tunlet, TunletMetric};

/// Interval between polls: short enough for decisions, and it costs the program next to nothing.
const POLL_INTERVAL: Duration = Duration::from_micros(500);
/// Interval between ticks of tunlets.
const TICK_INTERVAL: Duration = Duration::from_millis(100);

/// Reports in flight at the end of the program arrive within this time.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);
/// Log entries kept in memory, so that a run of days does not fill it.
const MAX_LOG_ENTRIES: usize = 1 << 20;
/// Most changes without an answer.
const MAX_PENDING_CHANGES: usize = 1 << 16;

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

/// A requested change: its tunlet, its tuning point, and the log entry for when a process answers.
struct RequestedChange {
    tunlet: usize,
    point: usize,
    decision: TuningDecision,
    was_answered: bool,
}

/// Watches and tunes one run.
pub struct Analyzer {
    tunlets: Vec<Box<dyn Tunlet>>,
    needs: Vec<TunletRequirements>,
    tree: HostTree,
    /// By number, oldest first.
    pending: BTreeMap<u64, RequestedChange>,
    last_change_number: u64,
    /// Log entries not passed to the observer yet.
    new_entries: Vec<TuningLogEntry>,
    /// Problems reported already.
    reported_problems: HashSet<String>,
    /// Iterations reported already, by location.
    reported_iterations: HashSet<String>,
    /// Ranks of connected processes.
    active_ranks: HashSet<u32>,
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
            tunlets,
            tree,
            pending: BTreeMap::new(),
            last_change_number: 0,
            new_entries: vec![began],
            reported_problems: HashSet::new(),
            reported_iterations: HashSet::new(),
            active_ranks: HashSet::new(),
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
        // A change superseded by a later one of the same point is not logged.
        let mut later = HashSet::new();
        for RequestedChange { tunlet, point, decision, was_answered } in std::mem::take(&mut self.pending).into_values().rev() {
            if later.insert((tunlet, point, decision.rank)) && !was_answered {
                let refused = Some("no process made it before the program ended".into());
                self.new_entries.push(TuningLogEntry::Change(TuningDecision { refused, ..decision }));
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
        let actions = one.on_event(event);
        self.execute_all(tunlet, actions, event.time);
    }

    fn handle_summary(&mut self, tunlet: usize, summary: &EventSummary) {
        let Some(one) = self.tunlets.get_mut(tunlet) else { return };
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
        for tunlet in 0..self.tunlets.len() {
            let actions = self.tunlets[tunlet].on_tick(time_s);
            self.execute_all(tunlet, actions, time_s);
            let figures = self.tunlets[tunlet].metrics();
            if figures != self.last_metrics[tunlet] {
                self.last_metrics[tunlet].clone_from(&figures);
                self.new_entries.push(TuningLogEntry::Figures { time_s, tunlet: self.tunlets[tunlet].name().to_owned(), figures });
            }
        }
    }

    fn handle_change_result(&mut self, number: u64, rank: u32, outcome: Result<Option<f64>, String>) {
        let Some(RequestedChange { tunlet, point, decision, was_answered }) = self.pending.get_mut(&number) else { return };
        *was_answered = true;
        let (tunlet, point) = (*tunlet, *point);
        let mut decision = TuningDecision { rank: Some(rank), ..decision.clone() };
        let mut actions = Vec::new();
        match outcome {
            Ok(before) => {
                self.tunlets[tunlet].on_changed(point, rank, before);
                decision.old = before;
            }
            Err(why) => {
                actions = self.tunlets[tunlet].on_refused(point, rank, &why);
                decision.refused = Some(why);
            }
        }
        let time = decision.time_s;
        self.new_entries.push(TuningLogEntry::Change(decision));
        self.execute_all(tunlet, actions, time);
    }

    fn execute_all(&mut self, tunlet: usize, actions: Vec<TuningAction>, time: f64) {
        for action in actions {
            match action {
                TuningAction::Change { point, value, rank, why } => {
                    self.request_change(ChangeRequest { number: 0, tunlet, point, value, rank }, why, time)
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
        let tunlet = self.tunlets[change.tunlet].name().to_owned();
        let decision = TuningDecision { time_s: time, tunlet, action, rank: change.rank, old: None, new: change.value, why, refused };
        if decision.refused.is_some() {
            return self.new_entries.push(TuningLogEntry::Change(decision));
        }
        self.last_change_number += 1;
        self.pending
            .insert(self.last_change_number, RequestedChange { tunlet: change.tunlet, point: change.point, decision, was_answered: false });
        if self.pending.len() > MAX_PENDING_CHANGES {
            self.pending.pop_first();
        }
        self.tree.broadcast(AgentRequest::Change(ChangeRequest { number: self.last_change_number, ..change }));
    }

    /// If several tunlets set the same variable, the first one listed wins.
    fn is_owned_by_another(&self, tunlet: usize, action: &str) -> bool {
        self.needs[..tunlet].iter().flat_map(|needs| &needs.tunes).any(|point| point.target.to_string() == action)
    }
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
