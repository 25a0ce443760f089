//! The coordinator: accepts workers, assigns tasks and collects results.

pub(crate) mod listener;
mod workers;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use sintonia_formula::Rational;
use sintonia_source::pasl;

use crate::allocation::{DistributionPolicy, TaskAllocator, TaskAssignment, TaskId};
use crate::child_processes::{ChildProcesses, ExitedProcess};
use crate::launch::{WorkerLauncher, new_token, start_remote};
use crate::plan::ExecutionPlan;
use crate::protocol::{self, WorkerMessage};
use crate::{BatchOutcome, Error, Jdk, TaskRunOutcome, TaskValue, jdk};
use listener::{AuthenticatedPeer, WorkerEvent, WorkerListener};
use workers::{ConnectedWorker, WorkerState};

/// Options of a run.
#[derive(Debug, Clone)]
pub struct CoordinatorOptions {
    /// Number of workers to start.
    pub workers: usize,
    /// Hosts to start them on, round robin; empty for the local host.
    pub hosts: Vec<String>,
    /// Command that starts a program on another host, with `{host}` for its name.
    pub launch: String,
    /// Path of this program on other hosts.
    pub program: PathBuf,
    /// Address the coordinator listens on.
    pub listen: String,
    /// How tasks are distributed over workers.
    pub policy: DistributionPolicy,
    /// Speed factors of the workers, in order of connection; measured if empty.
    pub factors: Vec<f64>,
    /// Parameter values.
    pub parameters: Vec<(String, Rational)>,
    /// Set to stop the run.
    pub stop: Arc<AtomicBool>,
}

/// A started worker must connect within this time.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(60);
/// How often heartbeats are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of the coordinator's own heartbeats. After a longer gap between checks this process was itself suspended, and silence of workers means nothing.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// Runs an application to completion; `on_listening` gets the address and the token for workers started by hand.
pub fn run(path: &Path, options: &CoordinatorOptions, on_listening: impl FnOnce(&str, &str)) -> Result<TaskRunOutcome, Error> {
    let plan = ExecutionPlan::new(&pasl::read(path)?, &options.parameters)?;
    let jdk = Jdk::find()?;
    let classes =
        protocol::encode_classes(&compile_classes(&plan, path, &jdk)?).map_err(|error| Error::Other(format!("the classes are {error}")))?;
    let launcher = WorkerLauncher::new(jdk)?;
    let (sender, events) = channel();
    let token = new_token()?;
    let listener = WorkerListener::bind(&options.listen, token.clone(), sender.clone())?;
    on_listening(&listener.address.to_string(), &token);
    let mut run = Coordinator::new(&plan, options, classes, sender, events);
    for number in 0..options.workers {
        run.processes.add(match options.hosts.get(number % options.hosts.len().max(1)) {
            None => launcher.start(&listener.address.ip().to_string(), &listener.address.port().to_string(), &token)?,
            Some(host) => start_remote(host, &options.launch, &options.program, listener.address, &token)?,
        });
    }
    run.wait_for_workers(options.workers.max(1))?;
    run.run_batches()
}

/// Compiles the application's classes from the Java files next to it.
fn compile_classes(plan: &ExecutionPlan, path: &Path, jdk: &Jdk) -> Result<Vec<protocol::ClassFile>, Error> {
    let source_dir = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = |(class, routine): (&str, &str)| {
        let path = source_dir.join(class.replace('.', "/")).with_extension("java");
        if path.is_file() { Ok(path) } else { Err(Error::MissingClass { path, routine: routine.to_owned() }) }
    };
    let files = plan.classes().into_iter().map(file).collect::<Result<Vec<_>, _>>()?;
    let folder = tempfile::tempdir().map_err(Error::io("a folder for classes"))?;
    jdk.compile(&files, source_dir, folder.path())?;
    jdk::read_classes(folder.path())
}

#[derive(Default)]
struct BatchProgress {
    start_time: Option<Instant>,
    end_time: Option<Instant>,
    busy_time: Duration,
    /// The first result of each task, and the worker it came from.
    results: Vec<Option<(TaskValue, usize)>>,
}

struct Coordinator<'a> {
    plan: &'a ExecutionPlan,
    options: &'a CoordinatorOptions,
    classes: Vec<u8>,
    event_sender: Sender<WorkerEvent>,
    events: Receiver<WorkerEvent>,
    processes: ChildProcesses,
    workers: Vec<ConnectedWorker>,
    /// Why workers failed to start.
    startup_failures: Vec<String>,
    allocation: TaskAllocator,
    progress: Vec<BatchProgress>,
    /// Results of completed batches, as arrays.
    batch_arrays: Vec<Option<TaskValue>>,
    /// Times of the last heartbeat check, the start of uninterrupted checking, and the last heartbeat sent.
    last_check: Instant,
    checking_since: Instant,
    last_heartbeat: Instant,
}

impl<'a> Coordinator<'a> {
    fn new(
        plan: &'a ExecutionPlan,
        options: &'a CoordinatorOptions,
        classes: Vec<u8>,
        event_sender: Sender<WorkerEvent>,
        events: Receiver<WorkerEvent>,
    ) -> Coordinator<'a> {
        let progress = plan.batches.iter().map(|batch| BatchProgress { results: vec![None; batch.tasks], ..BatchProgress::default() });
        let now = Instant::now();
        Coordinator {
            plan,
            options,
            classes,
            event_sender,
            events,
            processes: ChildProcesses::default(),
            workers: Vec::new(),
            startup_failures: Vec::new(),
            allocation: TaskAllocator::new(options.policy),
            progress: progress.collect(),
            batch_arrays: vec![None; plan.batches.len()],
            last_check: now,
            checking_since: now,
            last_heartbeat: now,
        }
    }

    /// Waits until `expected` workers are ready or lost, or the timeout expires.
    fn wait_for_workers(&mut self, expected: usize) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let manual = self.options.workers == 0;
            // With workers started by hand, a lost one can be replaced.
            let is_decided = |worker: &&ConnectedWorker| worker.is_ready() || (worker.is_lost() && !manual);
            let decided = self.workers.iter().filter(is_decided).count();
            if decided + self.startup_failures.len() >= expected || (began.elapsed() > STARTUP_TIMEOUT && !manual) {
                return self.workers.iter().any(ConnectedWorker::is_ready).then_some(()).ok_or_else(|| self.no_workers_error());
            }
            self.poll_event()?;
            let ended = self.processes.reap().into_iter();
            let never_connected = ended.filter(|ended| self.workers.iter().all(|worker| worker.local_process() != Some(ended.process)));
            let how = |ended: ExitedProcess| format!("process {} ended with {} before it connected", ended.process, ended.status);
            self.startup_failures.extend(never_connected.map(how));
        }
    }

    /// Assigns tasks and collects results until all batches are complete.
    fn run_batches(mut self) -> Result<TaskRunOutcome, Error> {
        let began = Instant::now();
        while !self.advance_batches(Instant::now()) {
            self.assign_tasks()?;
            if self.workers.iter().all(ConnectedWorker::is_lost) {
                return Err(self.no_workers_error());
            }
            self.poll_event()?;
        }
        Ok(self.outcome(began))
    }

    /// Ends completed batches and starts those without open dependencies; returns whether all are complete.
    fn advance_batches(&mut self, now: Instant) -> bool {
        let ready = self.ready_workers();
        for (index, batch) in self.plan.batches.iter().enumerate() {
            if self.progress[index].end_time.is_none() && self.allocation.is_batch_complete(index) {
                self.progress[index].end_time = Some(now);
                let results: Vec<&TaskValue> = self.progress[index].results.iter().flatten().map(|(value, _)| value).collect();
                self.batch_arrays[index] = Some(TaskValue::from_results(&results));
            }
            let may_begin = batch.dependencies.iter().all(|before| self.progress[*before].end_time.is_some());
            if self.progress[index].start_time.is_none() && may_begin {
                self.progress[index].start_time = Some(now);
                self.allocation.start_batch(index, batch.tasks, &ready);
            }
        }
        self.progress.iter().all(|progress| progress.end_time.is_some())
    }

    /// Workers that can run tasks, with their speed factors.
    fn ready_workers(&self) -> Vec<(usize, f64)> {
        (0..self.workers.len()).filter(|at| self.workers[*at].is_ready()).map(|at| (at, self.speed(at))).collect()
    }

    /// Speed factor of a worker: from the options, reused cyclically, or from its benchmark.
    fn speed(&self, at: usize) -> f64 {
        let factors = &self.options.factors;
        if factors.is_empty() { 1.0 / self.workers[at].benchmark_s } else { factors[at % factors.len()] }
    }

    /// Assigns a task to every idle worker.
    fn assign_tasks(&mut self) -> Result<(), Error> {
        for at in 0..self.workers.len() {
            if !matches!(self.workers[at].state, WorkerState::Idle) {
                continue;
            }
            let now = Instant::now();
            let Some(assignment) = self.allocation.assign_next(at, now) else { continue };
            let TaskId { batch, index } = assignment.task;
            let batch = &self.plan.batches[batch];
            let arguments = batch.arguments(index, &self.batch_arrays)?;
            let message = protocol::encode_run(wire_id(assignment.task), &batch.routine, arguments.iter().map(AsRef::as_ref));
            let message = message.map_err(|error| self.task_error(assignment.task, format!("its arguments are {error}")))?;
            let worker = &mut self.workers[at];
            worker.state = WorkerState::Busy(assignment, now);
            worker.replicas += usize::from(assignment.replica);
            worker.send(message);
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// Waits briefly for an event and handles it.
    fn poll_event(&mut self) -> Result<(), Error> {
        if self.is_stopped() {
            return Err(Error::Interrupted);
        }
        match self.events.recv_timeout(POLL_INTERVAL) {
            Ok(WorkerEvent::Connected(guest)) => self.add_worker(*guest)?,
            Ok(WorkerEvent::Message(at, word)) => self.handle_message(at, word)?,
            Ok(WorkerEvent::Disconnected(at, reason)) => self.drop_worker(at, reason),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.check_heartbeats(Instant::now());
        Ok(())
    }

    /// Drops workers whose heartbeat timed out, and sends a heartbeat.
    fn check_heartbeats(&mut self, now: Instant) {
        if now.saturating_duration_since(self.last_check) > HEARTBEAT_INTERVAL {
            self.checking_since = now;
        }
        self.last_check = now;
        for at in 0..self.workers.len() {
            if self.workers[at].has_timed_out(now, self.checking_since) {
                self.drop_worker(at, "its heartbeat timed out".into());
            }
        }
        if now.saturating_duration_since(self.last_heartbeat) > HEARTBEAT_INTERVAL {
            self.last_heartbeat = now;
            self.workers.iter_mut().filter(|worker| !worker.is_lost()).for_each(|worker| worker.send(protocol::encode_heartbeat()));
        }
    }

    fn add_worker(&mut self, guest: AuthenticatedPeer) -> Result<(), Error> {
        let mut worker =
            ConnectedWorker::new(self.workers.len(), guest, &self.event_sender).map_err(Error::io("the connection of a worker"))?;
        worker.send(self.classes.clone());
        self.workers.push(worker);
        Ok(())
    }

    fn handle_message(&mut self, at: usize, word: WorkerMessage) -> Result<(), Error> {
        let worker = &mut self.workers[at];
        match (word, &worker.state) {
            (_, WorkerState::Lost(_)) | (WorkerMessage::Heartbeat, _) => Ok(()),
            (WorkerMessage::Ready { seconds }, WorkerState::Preparing) if seconds > 0.0 && seconds.is_finite() => {
                worker.benchmark_s = seconds;
                worker.state = WorkerState::Idle;
                Ok(())
            }
            (WorkerMessage::Done { task, nanoseconds, result }, WorkerState::Busy(assignment, since))
                if wire_id(assignment.task) == task =>
            {
                let (assignment, took) = (*assignment, since.elapsed());
                worker.state = WorkerState::Idle;
                worker.busy_time += Duration::from_nanos(nanoseconds);
                self.record_result(at, assignment, result, took, Duration::from_nanos(nanoseconds))
            }
            (WorkerMessage::Failed { task, reason }, WorkerState::Busy(assignment, _)) if wire_id(assignment.task) == task => {
                let task = assignment.task;
                Err(self.task_error(task, reason.trim_end().to_owned()))
            }
            _ => {
                self.drop_worker(at, "it violated the protocol".into());
                Ok(())
            }
        }
    }

    fn task_error(&self, task: TaskId, reason: String) -> Error {
        Error::TaskFailed { batch: self.plan.batches[task.batch].name.clone(), number: task.index + 1, reason }
    }

    fn record_result(
        &mut self,
        at: usize,
        assignment: TaskAssignment,
        result: TaskValue,
        took: Duration,
        busy: Duration,
    ) -> Result<(), Error> {
        let TaskId { batch, index } = assignment.task;
        let progress = &mut self.progress[batch];
        if self.allocation.complete(assignment.task, took) {
            progress.results[index] = Some((result, at));
            progress.busy_time += busy;
            self.workers[at].tasks += 1;
            return Ok(());
        }
        match &progress.results[index] {
            Some((first, by)) if *first != result => Err(Error::ResultMismatch {
                batch: self.plan.batches[batch].name.clone(),
                number: index + 1,
                first: Box::new((first.clone(), self.workers[*by].name())),
                second: Box::new((result, self.workers[at].name())),
            }),
            _ => Ok(()),
        }
    }

    /// Continues without a worker.
    fn drop_worker(&mut self, at: usize, reason: String) {
        let during = match &self.workers[at].state {
            WorkerState::Lost(_) => return,
            // A task that crashes its worker crashes one worker after another, so name it.
            WorkerState::Busy(TaskAssignment { task, .. }, _) => {
                format!(" during task {} of {}", task.index + 1, self.plan.batches[task.batch].name)
            }
            WorkerState::Preparing | WorkerState::Idle => String::new(),
        };
        self.workers[at].mark_lost(reason + &during);
        if let Some(process) = self.workers[at].local_process() {
            self.processes.kill(process);
        }
        let ready = self.ready_workers();
        self.allocation.remove_worker(at, &ready);
    }

    fn no_workers_error(&mut self) -> Error {
        // Ctrl-C on a terminal reaches the workers, too.
        if self.is_stopped() {
            return Error::Interrupted;
        }
        let lost = self.workers.iter().filter_map(|worker| match &worker.state {
            WorkerState::Lost(reason) => Some(format!("{}: {reason}", worker.name())),
            _ => None,
        });
        let reasons = lost.chain(self.startup_failures.drain(..)).collect::<Vec<_>>();
        Error::NoWorkers(if reasons.is_empty() { vec!["none has connected".into()] } else { reasons })
    }

    fn outcome(&self, began: Instant) -> TaskRunOutcome {
        let fastest = (0..self.workers.len()).map(|at| self.speed(at)).fold(0.0, f64::max);
        let last: Vec<usize> = self.plan.final_batches().collect();
        let ended = self.progress.iter().filter_map(|progress| progress.end_time).max().unwrap_or(began);
        let batch = |(index, progress): (usize, &BatchProgress)| BatchOutcome {
            name: self.plan.batches[index].name.clone(),
            tasks: self.plan.batches[index].tasks,
            seconds: progress.end_time.zip(progress.start_time).map_or(0.0, |(ended, began)| (ended - began).as_secs_f64()),
            busy_seconds: progress.busy_time.as_secs_f64(),
            results: last.contains(&index).then(|| progress.results.iter().flatten().map(|(value, _)| value.clone()).collect()),
        };
        TaskRunOutcome {
            application: self.plan.name.clone(),
            parameters: self.plan.parameters.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            seconds: (ended - began).as_secs_f64(),
            batches: self.progress.iter().enumerate().map(batch).collect(),
            workers: self.workers.iter().enumerate().map(|(at, worker)| worker.outcome(self.speed(at) / fastest)).collect(),
        }
    }
}

/// Task number used on the wire.
fn wire_id(task: TaskId) -> u64 {
    ((task.batch as u64) << 32) | task.index as u64
}
