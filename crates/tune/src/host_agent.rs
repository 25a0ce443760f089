//! The agent of a host: binds its processes to the requirements of the tunlets, and decodes their events.
//!
//! Addresses and bits stay here: symbols are resolved where the program's files are, and events decoded where the memory is
//! shared, so that messages to the analyzer are small and mean the same on every host.

mod event_aggregator;
mod instrumented_process;
mod later_libraries;
mod process_iteration;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sintonia_link::probe_protocol::{CommandOutcome, ProbeCommand, ProbeMessage};
use sintonia_symbols::ModuleCache;

use crate::collector::{CollectorEvent, ProcessCollector};
use crate::protocol::{AgentReport, AgentRequest, ChangeRequest};
use crate::tuning_points::{EventJoin, MeasurePoint, TuningMoment, TunletRequirements};
use crate::tunlet::{EventSummary, PointEvent};

pub use crate::host_clock::now_ns;
pub use event_aggregator::EventAggregator;
use instrumented_process::{InstrumentedProcess, PendingCommand};

/// Processes that must change together agree before every Nth of their collective calls.
const AGREEMENT_INTERVAL: u32 = 16;
/// Interval between reads of the counters of dropped events.
const COUNT_INTERVAL: Duration = Duration::from_millis(200);

/// The agent of a host.
pub struct HostAgent {
    collector: ProcessCollector,
    /// Start of the tuning, in nanoseconds of this host's clock.
    begin: f64,
    needs: Option<Vec<TunletRequirements>>,
    /// Changes to make in every process before MPI starts there.
    changes_before_mpi: Vec<ChangeRequest>,
    /// Current changes, the latest of each point: made in processes that connect later, too.
    standing_changes: Vec<ChangeRequest>,
    /// Whether all changes before the start of MPI are known.
    may_begin: bool,
    /// Additional measure points: tunlet, number, point.
    extra_points: Vec<(usize, usize, MeasurePoint)>,
    /// Connected processes.
    processes: HashMap<u32, InstrumentedProcess>,
    /// Whether a process has ever connected.
    had_processes: bool,
    aggregator: EventAggregator,
    /// Symbols of files, shared by all processes.
    files: Arc<Mutex<ModuleCache>>,
    last_count: Instant,
    /// When sums were read for the last time, in seconds since the start of the tuning.
    sums_read_at: f64,
    /// Dropped events of connected processes that were reported.
    reported_drops: u64,
    /// Dropped events of disconnected processes, not reported yet.
    dropped_by_gone: u64,
}

impl HostAgent {
    /// The agent for a collector's processes; `begin` is the start of the tuning, in nanoseconds of this host's clock.
    pub fn new(collector: ProcessCollector, begin: f64) -> HostAgent {
        HostAgent {
            collector,
            begin,
            needs: None,
            changes_before_mpi: Vec::new(),
            standing_changes: Vec::new(),
            may_begin: false,
            extra_points: Vec::new(),
            processes: HashMap::new(),
            had_processes: false,
            aggregator: EventAggregator::default(),
            files: Arc::default(),
            last_count: Instant::now(),
            sums_read_at: 0.0,
            reported_drops: 0,
            dropped_by_gone: 0,
        }
    }

    /// Sets the start of the tuning in nanoseconds of this host's clock, which becomes more precise with time.
    pub fn set_begin(&mut self, begin: f64) {
        self.begin = begin;
    }

    /// Whether processes have connected and all are gone.
    pub fn all_processes_gone(&self) -> bool {
        self.had_processes && self.is_empty()
    }

    /// Whether no process is connected.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Handles a request of the analyzer.
    pub fn handle_request(&mut self, request: AgentRequest) -> Vec<AgentReport> {
        let mut reports = Vec::new();
        match request {
            AgentRequest::Bind(needs) => {
                self.needs = Some(needs);
                self.bind_all(&mut reports);
            }
            AgentRequest::Begin => {
                self.may_begin = true;
                self.release_waiting(&mut reports);
            }
            AgentRequest::Change(change) => self.change(change, &mut reports),
            AgentRequest::AddPoint { tunlet, number, point } => {
                // Earlier calls do not count for it.
                self.read_sums(&mut reports);
                self.extra_points.push((tunlet, number, point.clone()));
                for process in self.processes.values_mut() {
                    process.add_point(tunlet, number, &point, &mut reports);
                }
            }
            AgentRequest::Callees { tunlet, function } => {
                // All processes run the same program: the first one that can answers. An empty answer tells the tunlet that none can.
                if !self.is_empty() {
                    let callees = self.processes.values_mut().find_map(|process| process.callees(&function)).unwrap_or_default();
                    reports.push(AgentReport::Callees { tunlet, function, callees });
                }
            }
            AgentRequest::RemovePoint { tunlet, number } => {
                self.read_sums(&mut reports);
                self.extra_points.retain(|(other, place, _)| (*other, *place) != (tunlet, number));
                for process in self.processes.values_mut() {
                    process.remove_point(tunlet, number, &mut reports);
                }
            }
        }
        reports
    }

    /// Reports since the last call.
    pub fn collect_reports(&mut self) -> Vec<AgentReport> {
        let mut reports = Vec::new();
        let events: Vec<CollectorEvent> = self.collector.events().collect();
        events.into_iter().for_each(|event| self.handle_event(event, &mut reports));
        self.processes.values_mut().for_each(|process| process.query_clock(&mut reports));
        self.search_later_libraries(&mut reports);
        self.read_events(&mut reports);
        if self.is_interval_over() {
            self.read_sums(&mut reports);
        }
        // Without processes, no more events will come for open intervals.
        let now = if self.all_processes_gone() { f64::INFINITY } else { self.now() };
        reports.extend(self.aggregator.take_finished(now).into_iter().map(|(tunlet, summary)| AgentReport::Summary { tunlet, summary }));
        reports
    }

    fn now(&self) -> f64 {
        (now_ns() - self.begin) / 1e9
    }

    fn handle_event(&mut self, event: CollectorEvent, reports: &mut Vec<AgentReport>) {
        match event {
            CollectorEvent::Connected(process) => {
                let number = process.id;
                let process = InstrumentedProcess::new(*process, self.files.clone());
                reports.extend(process.size().map(|size| AgentReport::ProcessJoined { size }));
                self.processes.insert(number, process);
                self.had_processes = true;
                self.release_waiting(reports);
            }
            CollectorEvent::Message(process, ProbeMessage::Rank { rank, size, clock }) => {
                let Some(process) = self.processes.get_mut(&process) else { return };
                process.set_rank(rank, clock);
                reports.push(AgentReport::ProcessJoined { size });
                self.bind_all(reports);
            }
            CollectorEvent::Message(process, ProbeMessage::Answer { number, outcome }) => {
                if self.processes.get(&process).is_some_and(|process| process.is_change(number)) {
                    // Calls after a change are not summed together with earlier ones.
                    self.read_sums(reports);
                }
                self.handle_answer(process, number, outcome, reports)
            }
            CollectorEvent::Message(process, ProbeMessage::Throttled { hook, calls, seconds_per_call }) => {
                self.read_sums(reports);
                if let Some(process) = self.processes.get_mut(&process) {
                    reports.push(process.handle_throttled(hook, calls, seconds_per_call));
                }
            }
            CollectorEvent::Message(process, ProbeMessage::Clock { clock }) => {
                self.processes.get_mut(&process).into_iter().for_each(|process| process.update_clock(clock));
            }
            CollectorEvent::Message(process, ProbeMessage::Finalizing) => {
                self.processes.get_mut(&process).into_iter().for_each(InstrumentedProcess::mark_finished);
            }
            CollectorEvent::Message(_, ProbeMessage::Hello { .. } | ProbeMessage::Surveyed(_)) => {}
            CollectorEvent::Disconnected(process) => {
                // Its last events are still in the ring, and its last calls in the sums.
                self.read_events(reports);
                self.read_sums(reports);
                let Some(mut process) = self.processes.remove(&process) else { return };
                self.dropped_by_gone += process.dropped();
                reports.extend(process.disconnect());
            }
            CollectorEvent::Rejected(what) => {
                reports.push(AgentReport::Problem(format!("a connection that does not belong to this run was refused: {what}")))
            }
        }
    }

    /// Lets processes into `MPI_Init` once all changes before it are made.
    fn release_waiting(&mut self, reports: &mut Vec<AgentReport>) {
        for process in self.processes.values_mut().filter(|process| !process.has_begun()) {
            // A process that does not know the program's size before MPI starts cannot be prepared.
            if self.may_begin || process.size().is_none() {
                if let Some(needs) = &self.needs {
                    if needs.iter().flat_map(|needs| &needs.tunes).any(|point| point.moment == TuningMoment::Together) {
                        process.send(ProbeCommand::EnableAgreement(AGREEMENT_INTERVAL), PendingCommand::Other, reports);
                    }
                    self.changes_before_mpi.iter().for_each(|change| process.change(needs, change, true, reports));
                }
                process.send(ProbeCommand::Begin, PendingCommand::Begin, reports);
            }
        }
    }

    /// Binds processes whose rank is known and that are not bound yet.
    fn bind_all(&mut self, reports: &mut Vec<AgentReport>) {
        let Some(needs) = &self.needs else { return };
        for process in self.processes.values_mut().filter(|process| process.needs_binding()) {
            process.bind(needs, &self.standing_changes, reports);
            self.extra_points.iter().for_each(|(tunlet, number, point)| process.add_point(*tunlet, *number, point, reports));
        }
    }

    /// Binds what was not found before in processes that have loaded libraries since.
    fn search_later_libraries(&mut self, reports: &mut Vec<AgentReport>) {
        let Some(needs) = &self.needs else { return };
        for process in self.processes.values_mut() {
            if process.search_later_libraries(needs, &self.standing_changes, reports) {
                self.extra_points.iter().for_each(|(tunlet, number, point)| process.add_point(*tunlet, *number, point, reports));
            }
        }
    }

    fn change(&mut self, change: ChangeRequest, reports: &mut Vec<AgentReport>) {
        let Some(needs) = &self.needs else { return };
        let before =
            needs.get(change.tunlet).and_then(|needs| needs.tunes.get(change.point)).is_some_and(instrumented_process::is_before_mpi);
        let kept = if before { &mut self.changes_before_mpi } else { &mut self.standing_changes };
        kept.retain(|other| !other.is_same_point(&change));
        kept.push(change);
        for process in self.processes.values_mut().filter(|process| !before || process.has_begun()) {
            process.change(needs, &change, false, reports);
        }
    }

    fn handle_answer(&mut self, id: u32, number: u64, outcome: CommandOutcome, reports: &mut Vec<AgentReport>) {
        if let Some(process) = self.processes.get_mut(&id) {
            process.handle_answer(number, outcome, self.begin, self.needs.as_deref().unwrap_or_default(), reports);
        }
    }

    /// Reads the events of all processes, in order of time.
    fn read_events(&mut self, reports: &mut Vec<AgentReport>) {
        let mut events = Vec::new();
        for (id, process) in &mut self.processes {
            process.drain(|ring, time, event| events.push((time, *id, ring, event)));
        }
        let count = events.len() as u64;
        events.sort_by(|one, other| one.0.total_cmp(&other.0));
        let now = self.now();
        for (time, id, ring, event) in events {
            let Some(process) = self.processes.get_mut(&id) else { continue };
            // Clock error must not put an event into the future.
            let seconds = ((time - self.begin) / 1e9).min(now);
            let change = process.change_at(time);
            let mut deliver = |tunlet, join, event| self.aggregator.add(tunlet, join, PointEvent { change, ..event }, reports);
            if process.handle_event(ring, seconds, &event, &mut deliver)
                && let Some(needs) = &self.needs
            {
                process.bind_new_actor(needs, &self.standing_changes, reports);
            }
        }
        for process in self.processes.values_mut() {
            process.report_unreadable(reports);
            reports.extend(process.take_iteration());
            process.follow_iteration(reports);
        }
        let dropped = self.take_new_drops();
        if count + dropped > 0 {
            reports.push(AgentReport::Count { events: count, dropped });
        }
    }

    /// Whether an interval of a point whose sums suffice has ended.
    fn is_interval_over(&self) -> bool {
        let (from, now) = (self.sums_read_at, self.now());
        let mut lengths = self.processes.values().flat_map(InstrumentedProcess::sum_intervals);
        lengths.any(|length| event_aggregator::ends_between(*length, from, now))
    }

    /// Reads the sums of all processes. They count for the interval in which they were read last, which has just ended.
    fn read_sums(&mut self, reports: &mut Vec<AgentReport>) {
        let now = self.now();
        let from = std::mem::replace(&mut self.sums_read_at, now);
        let mut events = 0;
        for process in self.processes.values_mut() {
            let change = process.change_at(now_ns());
            events += process.take_sums(|listener, count, values| {
                if let EventJoin::Over(length) = listener.join {
                    let sums = EventSummary { point: listener.point, from, count, values: values.to_vec(), change };
                    self.aggregator.add_sums(listener.tunlet, length, from, sums);
                }
            });
        }
        if events > 0 {
            reports.push(AgentReport::Count { events, dropped: 0 });
        }
    }

    fn take_new_drops(&mut self) -> u64 {
        if self.last_count.elapsed() < COUNT_INTERVAL && !self.all_processes_gone() {
            return 0;
        }
        self.last_count = Instant::now();
        let there: u64 = self.processes.values().map(InstrumentedProcess::dropped).sum();
        let all = there + std::mem::take(&mut self.dropped_by_gone);
        all.saturating_sub(std::mem::replace(&mut self.reported_drops, there))
    }
}
