//! One process of the program: its hooks and targets, pending commands, and decoding of its events.

mod call_sums;
mod changes;
mod made_changes;
mod sync_points;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sintonia_link::pieces::PieceParameter;
use sintonia_link::probe_protocol::{CommandOutcome, HookSide, ProbeAction, ProbeCommand, Recorded};
use sintonia_link::ring::{HookEvent, HookPoint as EventMoment, MPI_FUNCTION};
use sintonia_link::value_location::AccessError;
use sintonia_mpi::{FUNCTIONS, FunctionId};
use sintonia_symbols::{ModuleCache, ProgramImage};

use super::later_libraries::LaterLibraries;
use super::process_iteration::{ITERATION, ProcessIteration, describe_site};
use crate::bind::{BindError, CallTimeKind, FunctionHook, HookListener, ResolvedTarget, event_number, mpi_listener};
use crate::call_duration::CallDuration;
use crate::collector::ProcessConnection;
use crate::mpi_time::takes_time;
use crate::protocol::{AgentReport, ChangeRequest};
use crate::tuning_points::{Actor, EventJoin, MeasurePoint, ProcessIdentity, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};
use crate::tunlet::PointEvent;
use made_changes::MadeChanges;

/// Whether a change must be made before MPI starts.
pub(super) fn is_before_mpi(point: &TuningPoint) -> bool {
    point.moment == TuningMoment::BeforeMpi
}

/// Time of the first clock query after connecting; later ones follow at doubled intervals.
const FIRST_CLOCK_QUERY: Duration = Duration::from_secs(1);

/// A command that is not answered yet.
pub(super) enum PendingCommand {
    /// Permission to start MPI.
    Begin,
    /// Permission to continue.
    Continue,
    /// Hook of the function at this index.
    Hook(usize),
    /// Temporary hook of the function at this index, for changes there.
    SyncHook(usize),
    /// Watch an MPI function, or what the probe makes of calls.
    Watch(u16),
    /// Cancel the change that this command scheduled.
    Cancel(u64),
    /// Anything whose answer is ignored.
    Other,
    Change {
        /// The request.
        change: ChangeRequest,
        /// Decodes the previous value from the answer.
        target: Arc<ResolvedTarget>,
    },
}

/// Index of a tunlet and of one of its points.
type PointKey = (usize, usize);

struct InstalledHook {
    hook: FunctionHook,
    /// IDs of its hooks, one for each copy of the function.
    hook_ids: Vec<u32>,
    /// Whether the hook must be requested again, with changed reads.
    is_new: bool,
    /// Whether an actor is identified by calling it.
    identifies_actor: bool,
    /// Whether changes are made there.
    is_change_point: bool,
    /// Whether what the user must know about it was reported.
    is_noted: bool,
    /// Events seen.
    events: u64,
    /// IDs of the temporary hooks that are there for changes; empty while there is none.
    sync_ids: Vec<u32>,
    /// Temporary hooks requested but not answered yet.
    pending_sync: usize,
}

impl InstalledHook {
    /// Whether events of the function are wanted.
    fn is_measured(&self) -> bool {
        self.identifies_actor || !self.hook.listeners.is_empty()
    }
}

pub(super) struct InstrumentedProcess {
    process: ProcessConnection,
    identity: Option<ProcessIdentity>,
    is_connected: bool,
    has_begun: bool,
    is_bound: bool,
    is_running: bool,
    finished: bool,
    /// Symbols of files, shared by all processes.
    files: Arc<Mutex<ModuleCache>>,
    program: Option<Arc<ProgramImage>>,
    hooks: Vec<InstalledHook>,
    hooks_by_id: HashMap<u32, usize>,
    watched: HashMap<u16, Vec<HookListener>>,
    targets: HashMap<PointKey, Arc<ResolvedTarget>>,
    /// Points that were looked up, found or not.
    looked_up: HashSet<(PointKey, bool)>,
    later_libraries: LaterLibraries,
    pending: HashMap<u64, PendingCommand>,
    last_command: u64,
    /// Hooks requested but not answered yet.
    pending_hooks: usize,
    /// Orders that make changes at a later moment, or repeatedly.
    scheduled: HashMap<PointKey, Vec<u64>>,
    /// Changes that wait for a temporary hook of the function at this index.
    awaiting_sync: Vec<(usize, ChangeRequest)>,
    /// When changes were made.
    made: MadeChanges,
    /// Hooks of replaced functions.
    replaced: HashMap<PointKey, u32>,
    /// Lengths of the intervals of points whose sums suffice.
    sum_intervals: Vec<f64>,
    /// MPI functions whose sums are read.
    summed_mpi: HashSet<u16>,
    /// What is recorded of hooks and MPI functions; everything of those that are not listed.
    recorded: HashMap<u32, Recorded>,
    iteration: ProcessIteration,
    /// Values that could not be read at a call, by function and name, and whether that has been reported.
    unreadable: HashMap<(String, String), (AccessError, bool)>,
    /// Changes that wait for hooks, or for the answer to an earlier change of the same point.
    waiting_changes: Vec<ChangeRequest>,
    /// Time of connection, and time after it of the next clock query.
    connected_at: Instant,
    next_clock_query: Duration,
}

impl InstrumentedProcess {
    /// A process that has connected.
    pub(super) fn new(process: ProcessConnection, files: Arc<Mutex<ModuleCache>>) -> InstrumentedProcess {
        InstrumentedProcess {
            process,
            files,
            identity: None,
            is_connected: true,
            has_begun: false,
            is_bound: false,
            is_running: false,
            finished: false,
            program: None,
            hooks: Vec::new(),
            hooks_by_id: HashMap::new(),
            watched: HashMap::new(),
            targets: HashMap::new(),
            looked_up: HashSet::new(),
            later_libraries: LaterLibraries::default(),
            pending: HashMap::new(),
            last_command: 0,
            pending_hooks: 0,
            scheduled: HashMap::new(),
            awaiting_sync: Vec::new(),
            made: MadeChanges::default(),
            replaced: HashMap::new(),
            sum_intervals: Vec::new(),
            summed_mpi: HashSet::new(),
            recorded: HashMap::new(),
            iteration: ProcessIteration::default(),
            unreadable: HashMap::new(),
            waiting_changes: Vec::new(),
            connected_at: Instant::now(),
            next_clock_query: FIRST_CLOCK_QUERY,
        }
    }

    /// Size of the program, according to the launcher.
    pub(super) fn size(&self) -> Option<u32> {
        self.process.rank_and_size.map(|(_, size)| size)
    }

    /// Whether it was let into `MPI_Init`.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether its rank is known and it is not bound yet.
    pub(super) fn needs_binding(&self) -> bool {
        self.identity.is_some() && !self.is_bound
    }

    /// MPI has started, and the rank is known.
    pub(super) fn set_rank(&mut self, rank: u32, clock: (u64, u64)) {
        self.process.set_clock(clock);
        self.identity = Some(ProcessIdentity { rank, called: Vec::new() });
    }

    /// Adds a clock sample: the longer the distance to the first, the more precise the rate.
    pub(super) fn update_clock(&mut self, clock: (u64, u64)) {
        self.process.set_clock(clock);
    }

    /// Queries the clock a few times, at doubled intervals.
    pub(super) fn query_clock(&mut self, reports: &mut Vec<AgentReport>) {
        if self.is_running && self.is_connected && self.connected_at.elapsed() > self.next_clock_query {
            self.next_clock_query *= 2;
            self.send(ProbeCommand::Clock, PendingCommand::Other, reports);
        }
    }

    /// It has announced its end.
    pub(super) fn mark_finished(&mut self) {
        self.finished = true;
    }

    /// The connection has ended.
    pub(super) fn disconnect(&mut self) -> Vec<AgentReport> {
        self.is_connected = false;
        let Some(rank) = self.identity.as_ref().map(|identity| identity.rank) else { return Vec::new() };
        let silent = self.hooks.iter().filter(|installed| installed.events == 0 && !installed.hook.listeners.is_empty());
        let inlined = silent.filter_map(|installed| {
            let (name, sites) = (&installed.hook.name, installed.hook.inlined_at()?);
            let help = "build it with __attribute__((noinline)), or measure a caller";
            Some(self.problem(format!("no call of `{name}` was seen, because its calls were inlined ({sites}); {help}")))
        });
        inlined.chain([AgentReport::ProcessLeft { rank, finished: self.finished }]).collect()
    }

    /// Number of dropped events.
    pub(super) fn dropped(&self) -> u64 {
        self.process.dropped()
    }

    /// Number of the latest change that was made before a moment, in nanoseconds of the host's clock; 0 if none.
    pub(super) fn change_at(&self, time: f64) -> u64 {
        self.made.latest_at(time)
    }

    /// Passes every new event to `each`, with its ring and its time in nanoseconds of the host's clock.
    pub(super) fn drain(&mut self, each: impl FnMut(usize, f64, HookEvent)) {
        if self.identity.is_some() {
            // An unreadable ring has no more events.
            let _ = self.process.drain(each);
        }
    }

    fn rank(&self) -> Option<u32> {
        self.identity.as_ref().map(|identity| identity.rank).or(self.process.rank_and_size.map(|(rank, _)| rank))
    }

    fn problem(&self, what: impl std::fmt::Display) -> AgentReport {
        match self.rank() {
            Some(rank) => AgentReport::Problem(format!("rank {rank}: {what}")),
            None => AgentReport::Problem(format!("process {}: {what}", self.process.pid)),
        }
    }

    /// Sends a command.
    pub(super) fn send(&mut self, command: ProbeCommand, sent: PendingCommand, reports: &mut Vec<AgentReport>) {
        if !self.is_connected {
            return;
        }
        self.last_command += 1;
        match sent {
            PendingCommand::Begin => self.has_begun = true,
            PendingCommand::Continue => self.is_running = true,
            PendingCommand::Hook(_) | PendingCommand::SyncHook(_) | PendingCommand::Watch(_) => self.pending_hooks += 1,
            PendingCommand::Other | PendingCommand::Cancel(_) | PendingCommand::Change { .. } => {}
        }
        match self.process.send_command(self.last_command, command) {
            Ok(()) => drop(self.pending.insert(self.last_command, sent)),
            Err(problem) => {
                self.is_connected = false;
                reports.push(self.problem(format!("cannot be reached any more: {problem}")));
            }
        }
    }

    /// Resolves requirements that are not resolved yet and requests their hooks.
    /// Changes requested earlier follow.
    pub(super) fn bind(&mut self, needs: &[TunletRequirements], changes: &[ChangeRequest], reports: &mut Vec<AgentReport>) {
        self.is_bound = true;
        self.waiting_changes.extend(changes);
        for (tunlet, needs) in needs.iter().enumerate() {
            for (index, point) in needs.measures.iter().enumerate() {
                self.add_listener(tunlet, index, point, reports);
            }
            for (index, point) in needs.tunes.iter().enumerate() {
                self.prepare_target(tunlet, index, point, reports);
            }
        }
        self.request_hooks(reports);
        self.resume_if_ready(needs, reports);
    }

    /// It has called a function that identifies an actor: binds the points of that actor, and makes its current changes.
    pub(super) fn bind_new_actor(&mut self, needs: &[TunletRequirements], standing: &[ChangeRequest], reports: &mut Vec<AgentReport>) {
        let Some(function) = self.identity.as_ref().and_then(|identity| identity.called.last().cloned()) else { return };
        let is_meant = |change: &&ChangeRequest| {
            let point = needs.get(change.tunlet).and_then(|needs| needs.tunes.get(change.point));
            point.is_some_and(|point| matches!(&point.actor, Actor::Callers(caller) if *caller == function))
        };
        let changes: Vec<ChangeRequest> = standing.iter().filter(is_meant).copied().collect();
        self.bind(needs, &changes, reports);
    }

    /// Adds a measure point.
    pub(super) fn add_point(&mut self, tunlet: usize, number: usize, point: &MeasurePoint, reports: &mut Vec<AgentReport>) {
        if self.is_bound {
            self.add_listener(tunlet, number, point, reports);
            self.request_hooks(reports);
        }
    }

    /// Removes a measure point.
    pub(super) fn remove_point(&mut self, tunlet: usize, number: usize, reports: &mut Vec<AgentReport>) {
        let others = |listener: &HookListener| (listener.tunlet, listener.point) != (tunlet, number);
        let mut cancelled = Vec::new();
        self.looked_up.remove(&((tunlet, number), true));
        // A hook that replaces a function stays.
        let is_free = |hook: &mut u32| !self.replaced.values().any(|replaced| replaced == hook);
        for installed in &mut self.hooks {
            let before = installed.hook.listeners.len();
            installed.hook.listeners.retain(others);
            if before > 0 && !installed.is_measured() {
                cancelled.extend(installed.hook_ids.extract_if(.., is_free).map(ProbeCommand::Unhook));
            }
        }
        self.iteration.listeners.retain(others);
        let needs_mpi_time =
            !self.iteration.listeners.is_empty() || self.hooks.iter().any(|installed| installed.hook.needs_timing(CallTimeKind::InMpi));
        self.watched.retain(|operation, listeners| {
            listeners.retain(others);
            let stays = !listeners.is_empty() || needs_mpi_time;
            if !stays {
                cancelled.push(ProbeCommand::Unwatch(*operation));
            }
            stays
        });
        cancelled.into_iter().for_each(|command| self.send(command, PendingCommand::Other, reports));
        (0..self.hooks.len()).for_each(|at| self.select_records(at, reports));
        let watched: Vec<FunctionId> = self.watched.keys().map(|operation| FunctionId(*operation)).collect();
        watched.into_iter().for_each(|operation| self.select_mpi_records(operation, reports));
    }

    /// The functions that a function calls.
    pub(super) fn callees(&mut self, function: &str) -> Option<Vec<String>> {
        self.program().ok()?.callees(function).ok()
    }

    /// Whether a point applies to this process and was not looked up before; hooks functions that identify an actor.
    fn needs_lookup(&mut self, key: PointKey, actor: &Actor, measures: bool, reports: &mut Vec<AgentReport>) -> bool {
        let Some(identity) = &self.identity else { return false };
        if self.looked_up.contains(&(key, measures)) {
            return false;
        }
        if actor.matches(identity) {
            self.looked_up.insert((key, measures));
            return true;
        }
        if let Actor::Callers(function) = actor
            && let Err(problem) = self.hook_index(function, |installed| installed.identifies_actor = true)
        {
            self.looked_up.insert((key, measures));
            self.report_unbound((key, measures), function, &problem, reports);
        }
        false
    }

    /// Reports why a point, or a value of it, is not bound; a library that is loaded later may have the name.
    fn report_unbound(&mut self, point: (PointKey, bool), name: &str, problem: &BindError, reports: &mut Vec<AgentReport>) {
        if problem.is_unknown_name() {
            self.later_libraries.await_name(self.process.pid, point, name);
            let problem = problem.to_string();
            let link = if problem.ends_with('?') { " Libraries" } else { "; libraries" };
            reports.push(self.problem(format!("{problem}{link} that are loaded later are searched, too")));
        } else {
            reports.push(self.problem(problem));
        }
    }

    /// Binds what was not found before, if libraries were loaded since.
    pub(super) fn search_later_libraries(
        &mut self,
        needs: &[TunletRequirements],
        standing: &[ChangeRequest],
        reports: &mut Vec<AgentReport>,
    ) -> bool {
        if !self.is_running || !self.is_connected || !self.later_libraries.have_come(self.process.pid) {
            return false;
        }
        let awaited = self.later_libraries.take_awaited();
        for (point, _) in &awaited {
            self.looked_up.remove(point);
            for installed in self.hooks.iter_mut().filter(|_| point.1) {
                installed.hook.listeners.retain(|listener| (listener.tunlet, listener.point) != point.0);
            }
        }
        self.program = None;
        let is_new = |change: &&ChangeRequest| awaited.iter().any(|(point, _)| *point == ((change.tunlet, change.point), false));
        let changes: Vec<ChangeRequest> = standing.iter().filter(is_new).copied().collect();
        self.bind(needs, &changes, reports);
        let mut found: Vec<&String> = awaited.iter().map(|(_, name)| name).filter(|name| !self.later_libraries.awaits(name)).collect();
        found.dedup();
        for name in found {
            reports.push(self.problem(format!("`{name}` is found now, in a library that was loaded later")));
        }
        true
    }

    fn add_listener(&mut self, tunlet: usize, index: usize, point: &MeasurePoint, reports: &mut Vec<AgentReport>) {
        if !self.needs_lookup((tunlet, index), &point.actor, true, reports) {
            return;
        }
        let unbound = match event_number(&point.function) {
            Some(number) => {
                let (listener, problems) = mpi_listener(tunlet, index, point);
                let is_new = !self.watched.contains_key(&number);
                self.watched.entry(number).or_default().push(listener);
                FunctionId::from_index(number).into_iter().for_each(|operation| self.select_mpi_records(operation, reports));
                if is_new {
                    self.send(ProbeCommand::Watch(number), PendingCommand::Watch(number), reports);
                }
                problems
            }
            None if point.function == ITERATION && self.is_unknown_function(ITERATION) => {
                let (listener, problems) = mpi_listener(tunlet, index, point);
                self.iteration.listeners.push(listener);
                self.watch_mpi(reports);
                problems
            }
            None => match self.hook_function(tunlet, index, point) {
                Ok((in_mpi, problems)) => {
                    if in_mpi {
                        self.watch_mpi(reports);
                    }
                    problems
                }
                Err(problem) => vec![problem],
            },
        };
        if let EventJoin::Over(length) = point.join
            && !self.sum_intervals.contains(&length)
        {
            self.sum_intervals.push(length);
        }
        for problem in unbound {
            let name = match &problem {
                BindError::NoValue { value, .. } => value,
                _ => &point.function,
            };
            self.report_unbound(((tunlet, index), true), name, &problem, reports);
        }
        let operations = (0..FUNCTIONS.len() as u16).filter_map(FunctionId::from_index);
        let mut timed = operations.filter(|operation| takes_time(operation.role()));
        self.iteration.is_complete = timed.all(|operation| self.watched.contains_key(&operation.0));
        self.follow_iteration(reports);
    }

    /// Whether the program has no function of this name.
    fn is_unknown_function(&mut self, name: &str) -> bool {
        self.program().is_ok_and(|program| program.functions(name).is_err())
    }

    /// The iteration, if it was found since the last call.
    pub(super) fn take_iteration(&mut self) -> Option<AgentReport> {
        let found = self.iteration.take_found()?;
        let function = FunctionId::from_index(found.anchor.function)?.name();
        let location = format!("{} ({function})", describe_site(self.process.pid, found.anchor.site));
        Some(AgentReport::Iteration { rank: self.rank()?, seconds: found.seconds, location })
    }

    /// Hooks a function; returns whether the MPI part of its time is needed, and which values cannot be read.
    fn hook_function(&mut self, tunlet: usize, index: usize, point: &MeasurePoint) -> Result<(bool, Vec<BindError>), BindError> {
        let program = self.program()?;
        let at = self.hook_index(&point.function, |_| ())?;
        self.hooks[at].is_new = true;
        let problems = self.hooks[at].hook.add_listener(&program, tunlet, index, point);
        Ok((self.hooks[at].hook.needs_timing(CallTimeKind::InMpi), problems))
    }

    /// Watches every MPI function that takes time.
    fn watch_mpi(&mut self, reports: &mut Vec<AgentReport>) {
        let operations = (0..FUNCTIONS.len() as u16).filter_map(FunctionId::from_index);
        for operation in operations.filter(|operation| takes_time(operation.role())) {
            if let Entry::Vacant(entry) = self.watched.entry(operation.0) {
                entry.insert(Vec::new());
                self.select_mpi_records(operation, reports);
                self.send(ProbeCommand::Watch(operation.0), PendingCommand::Watch(operation.0), reports);
            }
        }
    }

    /// The index of a function's hook, created if there is none.
    fn hook_index(&mut self, function: &str, change: impl FnOnce(&mut InstalledHook)) -> Result<usize, BindError> {
        let at = match self.hooks.iter().position(|installed| installed.hook.name == function) {
            Some(at) => at,
            None => {
                let hook = FunctionHook::new(&*self.program()?, function)?;
                self.hooks.push(InstalledHook {
                    hook,
                    hook_ids: Vec::new(),
                    is_new: true,
                    identifies_actor: false,
                    is_change_point: false,
                    is_noted: false,
                    events: 0,
                    sync_ids: Vec::new(),
                    pending_sync: 0,
                });
                self.hooks.len() - 1
            }
        };
        change(&mut self.hooks[at]);
        Ok(at)
    }

    /// Symbols of the process; read on first use, because not every tunlet needs them.
    fn program(&mut self) -> Result<Arc<ProgramImage>, BindError> {
        if self.program.is_none() {
            let mut files = self.files.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            self.program = Some(Arc::new(ProgramImage::from_process(self.process.pid, &mut files)?));
        }
        Ok(self.program.clone().expect("just set"))
    }

    fn prepare_target(&mut self, tunlet: usize, index: usize, point: &TuningPoint, reports: &mut Vec<AgentReport>) {
        if !self.needs_lookup((tunlet, index), &point.actor, false, reports) {
            return;
        }
        match self.try_prepare_target((tunlet, index), point, reports) {
            // Pieces are followed from the first one on, also if nothing is ever changed.
            Ok(Some(action)) => self.send(ProbeCommand::Execute(action), PendingCommand::Other, reports),
            Ok(None) => {}
            Err(problem) => self.report_unbound(((tunlet, index), false), &point.target.to_string(), &problem, reports),
        }
    }

    /// Resolves a target; returns an action that the process needs to prepare for it.
    fn try_prepare_target(
        &mut self,
        key: PointKey,
        point: &TuningPoint,
        reports: &mut Vec<AgentReport>,
    ) -> Result<Option<ProbeAction>, BindError> {
        if let TuningMoment::At(function, _) = &point.moment {
            let at = self.hook_index(function, |installed| installed.is_change_point = true)?;
            self.check_sync_point(at, reports);
        }
        let target = self.resolve_target(&point.target)?;
        let action = matches!(target, ResolvedTarget::Piece(_, PieceParameter::Enabled)).then(|| target.action(0.0)).flatten();
        self.targets.insert(key, Arc::new(target));
        Ok(action)
    }

    fn resolve_target(&mut self, target: &TuningTarget) -> Result<ResolvedTarget, BindError> {
        match ResolvedTarget::without_symbols(target) {
            Some(target) => Ok(target),
            None => ResolvedTarget::resolve(&*self.program()?, target),
        }
    }

    fn request_hooks(&mut self, reports: &mut Vec<AgentReport>) {
        for at in 0..self.hooks.len() {
            if self.hooks[at].is_measured() && std::mem::take(&mut self.hooks[at].is_new) {
                if !std::mem::replace(&mut self.hooks[at].is_noted, true) {
                    reports.extend(self.hooks[at].hook.notes().into_iter().map(|note| self.problem(note)));
                }
                let recorded = self.needed_records(at);
                for command in self.hooks[at].hook.commands(self.hooks[at].is_change_point, recorded) {
                    self.send(command, PendingCommand::Hook(at), reports);
                }
            }
        }
    }

    /// Once all hooks are installed: makes waiting changes and lets the process continue.
    fn resume_if_ready(&mut self, needs: &[TunletRequirements], reports: &mut Vec<AgentReport>) {
        if !self.is_bound || self.pending_hooks > 0 {
            return;
        }
        std::mem::take(&mut self.waiting_changes).iter().for_each(|change| self.apply_change(needs, change, false, reports));
        if !self.is_running {
            self.send(ProbeCommand::Resume, PendingCommand::Continue, reports);
            reports.extend(self.identity.as_ref().map(|identity| AgentReport::Ready { rank: identity.rank }));
        }
    }

    /// Handles an answer of the process.
    pub(super) fn handle_answer(
        &mut self,
        number: u64,
        outcome: CommandOutcome,
        begin: f64,
        needs: &[TunletRequirements],
        reports: &mut Vec<AgentReport>,
    ) {
        let Some(sent) = self.pending.remove(&number) else { return };
        match sent {
            PendingCommand::Hook(at) => self.handle_hooked(at, outcome, reports),
            PendingCommand::Watch(operation) => {
                self.pending_hooks = self.pending_hooks.saturating_sub(1);
                if let CommandOutcome::Refused(why) = outcome {
                    // A reason common to all of them is reported once.
                    let name = FunctionId::from_index(operation).map_or("", |operation| operation.name());
                    let what =
                        if !name.is_empty() && why.contains(name) { why } else { format!("MPI functions cannot be measured: {why}") };
                    reports.push(self.problem(what));
                }
            }
            PendingCommand::SyncHook(at) => self.handle_sync_hooked(at, outcome, needs, reports),
            // A scheduled change is answered again when it is made.
            PendingCommand::Change { .. } if outcome == CommandOutcome::Scheduled => return drop(self.pending.insert(number, sent)),
            PendingCommand::Change { change, target } => {
                let Some(rank) = self.rank() else { return };
                if self.retries_at_sync_point(&change, &outcome, needs, reports) {
                    return;
                }
                let outcome = self.change_effect(&change, &target, outcome, begin);
                reports.push(AgentReport::Changed { number: change.number, rank, outcome });
                self.change_answered(number, &change, needs, reports);
            }
            PendingCommand::Cancel(command) => {
                // Otherwise it was made already, which is or will be reported.
                if let CommandOutcome::Done(_) = outcome {
                    self.pending.remove(&command);
                }
            }
            PendingCommand::Begin | PendingCommand::Continue | PendingCommand::Other => {}
        }
        self.resume_if_ready(needs, reports);
    }

    fn handle_hooked(&mut self, at: usize, outcome: CommandOutcome, reports: &mut Vec<AgentReport>) {
        self.pending_hooks = self.pending_hooks.saturating_sub(1);
        match outcome {
            CommandOutcome::Hooked(number) => {
                self.hooks_by_id.insert(number, at);
                let numbers = &mut self.hooks[at].hook_ids;
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
                self.recorded.insert(number, self.needed_records(at));
            }
            CommandOutcome::Refused(why) => reports.push(self.problem(format!("`{}` cannot be hooked: {why}", self.hooks[at].hook.name))),
            _ => {}
        }
    }

    /// A hook has removed itself.
    pub(super) fn handle_throttled(&mut self, hook: u32, calls: u64, seconds_per_call: f64) -> AgentReport {
        let name = self.hooks_by_id.get(&hook).map_or("a function", |at| &self.hooks[*at].hook.name);
        let often = format!(
            "`{name}` was called {calls} times, {:.2} us each: too often to be measured; its hook was removed",
            1e6 * seconds_per_call
        );
        if let Some(at) = self.hooks_by_id.remove(&hook) {
            self.hooks[at].hook_ids.retain(|number| *number != hook);
        }
        self.problem(often)
    }

    /// Delivers an event of a ring to its listeners; returns whether the process has become an actor.
    pub(super) fn handle_event(
        &mut self,
        ring: usize,
        time: f64,
        event: &HookEvent,
        deliver: &mut impl FnMut(usize, EventJoin, PointEvent),
    ) -> bool {
        let Some(rank) = self.identity.as_ref().map(|identity| identity.rank) else { return false };
        let side = match event.point {
            EventMoment::Entry => HookSide::Entry,
            EventMoment::Exit => HookSide::Exit,
        };
        if event.hook & MPI_FUNCTION != 0 {
            let listeners = self.watched.get(&((event.hook & !MPI_FUNCTION) as u16));
            let seconds = self.process.seconds_between(event.words[5], event.ticks);
            if side == HookSide::Exit
                && let Some(seconds) = self.iteration.add_exit(ring, event, time)
            {
                let duration = CallDuration { seconds, mpi_seconds: f64::NAN };
                self.iteration.listeners.iter().for_each(|listener| {
                    deliver(listener.tunlet, listener.join, listener.decode_event(event, rank, time, duration));
                });
            }
            let needs_event = |listener: &&HookListener| listener.side == side && listener.summed().is_none();
            listeners.into_iter().flatten().filter(needs_event).for_each(|listener| {
                deliver(
                    listener.tunlet,
                    listener.join,
                    listener.decode_event(event, rank, time, CallDuration { seconds, mpi_seconds: seconds }),
                );
            });
            return false;
        }
        let Some(at) = self.hooks_by_id.get(&event.hook) else { return false };
        let installed = &self.hooks[*at];
        let duration = match side {
            HookSide::Entry => CallDuration::UNKNOWN,
            HookSide::Exit => CallDuration {
                seconds: self.process.seconds_between(event.words[5], event.ticks),
                mpi_seconds: event.words[4] as f64 * self.process.seconds_per_tick(),
            },
        };
        for listener in installed.hook.listeners.iter().filter(|listener| listener.side == side && listener.summed().is_none()) {
            for (value, reason) in listener.unreadable(event) {
                self.unreadable.entry((installed.hook.name.clone(), value.to_owned())).or_insert((reason, false));
            }
            deliver(listener.tunlet, listener.join, listener.decode_event(event, rank, time, duration));
        }
        match &mut self.identity {
            Some(identity) if installed.identifies_actor && !identity.called.contains(&installed.hook.name) => {
                identity.called.push(installed.hook.name.clone());
                true
            }
            _ => false,
        }
    }

    /// Reports values that could not be read, each once: calls without a value do not count for its statistics.
    pub(super) fn report_unreadable(&mut self, reports: &mut Vec<AgentReport>) {
        let mut new = Vec::new();
        for ((function, value), (reason, is_reported)) in self.unreadable.iter_mut().filter(|(_, (_, is_reported))| !is_reported) {
            *is_reported = true;
            new.push(format!("`{value}` could not be read at a call of `{function}`: {reason}; such calls do not count for it"));
        }
        reports.extend(new.into_iter().map(|what| self.problem(what)));
    }
}
