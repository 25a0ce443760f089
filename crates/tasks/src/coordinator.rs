//! The coordinator: gathers workers, gives them tasks, and takes what comes back.

pub(crate) mod crew;
pub(crate) mod door;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use sintonia_formula::Rational;
use sintonia_source::pasl;

use crate::allocation::{Allocation, Given, Policy, Task};
use crate::launch::{Launcher, start_on, token};
use crate::plan::Plan;
use crate::protocol::{self, Word};
use crate::{BatchOutcome, Error, Jdk, Outcome, Value, jdk};
use crew::{Ended, Processes, State, Worker};
use door::{Door, Event, Guest};

/// What a run is told.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many workers are started.
    pub workers: usize,
    /// The hosts that they are started on, in turn; none for this one.
    pub hosts: Vec<String>,
    /// What starts a program on another host, with `{host}` for its name.
    pub launch: String,
    /// This program, as other hosts can start it.
    pub program: PathBuf,
    /// Where the coordinator listens.
    pub listen: String,
    /// How tasks are given to workers.
    pub policy: Policy,
    /// How fast the workers are, in the order in which they come; measured unless told.
    pub factors: Vec<f64>,
    /// Values of parameters.
    pub parameters: Vec<(String, Rational)>,
    /// Becomes true when the run is to end.
    pub stop: Arc<AtomicBool>,
}

/// Workers that were started come within this time, or never.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether somebody hangs.
const TICK: Duration = Duration::from_millis(100);
/// How often workers are shown that the coordinator lives. Who has not looked for as long was stopped itself, and knows nothing of the others' silence.
const BEAT: Duration = Duration::from_secs(1);

/// Runs an application to its end; `hear` is told where workers can be started by hand, and with what token.
pub fn run(path: &Path, options: &Options, hear: impl FnOnce(&str, &str)) -> Result<Outcome, Error> {
    let plan = Plan::new(&pasl::read(path)?, &options.parameters)?;
    let jdk = Jdk::find()?;
    let classes = protocol::classes(&compiled(&plan, path, &jdk)?).map_err(|error| Error::Other(format!("the classes are {error}")))?;
    let launcher = Launcher::new(jdk)?;
    let (sender, events) = channel();
    let token = token()?;
    let door = Door::open(&options.listen, token.clone(), sender.clone())?;
    hear(&door.address.to_string(), &token);
    let mut run = Run::new(&plan, options, classes, sender, events);
    for number in 0..options.workers {
        run.processes.add(match options.hosts.get(number % options.hosts.len().max(1)) {
            None => launcher.start(&door.address.ip().to_string(), &door.address.port().to_string(), &token)?,
            Some(host) => start_on(host, &options.launch, &options.program, door.address, &token)?,
        });
    }
    run.gather(options.workers.max(1))?;
    run.work()
}

/// The classes of the application, compiled from the files beside it.
fn compiled(plan: &Plan, path: &Path, jdk: &Jdk) -> Result<Vec<protocol::Class>, Error> {
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = |(class, routine): (&str, &str)| {
        let path = beside.join(class.replace('.', "/")).with_extension("java");
        if path.is_file() { Ok(path) } else { Err(Error::NoClass { path, routine: routine.to_owned() }) }
    };
    let files = plan.classes().into_iter().map(file).collect::<Result<Vec<_>, _>>()?;
    let folder = tempfile::tempdir().map_err(Error::io("a folder for classes"))?;
    jdk.compile(&files, beside, folder.path())?;
    jdk::classes(folder.path())
}

/// How far a batch is.
#[derive(Default)]
struct Progress {
    began: Option<Instant>,
    ended: Option<Instant>,
    busy: Duration,
    /// The first result of each task, and the worker that gave it.
    results: Vec<Option<(Value, usize)>>,
}

struct Run<'a> {
    plan: &'a Plan,
    options: &'a Options,
    classes: Vec<u8>,
    sender: Sender<Event>,
    events: Receiver<Event>,
    processes: Processes,
    workers: Vec<Worker>,
    /// Why workers that never came did not.
    absent: Vec<String>,
    allocation: Allocation,
    progress: Vec<Progress>,
    /// The results of batches that are done, as arrays.
    arrays: Vec<Option<Value>>,
    /// When it was looked last who is silent, since when it is looked all the time, and when workers were shown last that the coordinator lives.
    looked: Instant,
    looking_since: Instant,
    beat: Instant,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, options: &'a Options, classes: Vec<u8>, sender: Sender<Event>, events: Receiver<Event>) -> Run<'a> {
        let progress = plan.batches.iter().map(|batch| Progress { results: vec![None; batch.tasks], ..Progress::default() });
        let now = Instant::now();
        Run {
            plan,
            options,
            classes,
            sender,
            events,
            processes: Processes::default(),
            workers: Vec::new(),
            absent: Vec::new(),
            allocation: Allocation::new(options.policy),
            progress: progress.collect(),
            arrays: vec![None; plan.batches.len()],
            looked: now,
            looking_since: now,
            beat: now,
        }
    }

    /// Waits until so many workers are ready or lost, but not for ever.
    fn gather(&mut self, expected: usize) -> Result<(), Error> {
        let began = Instant::now();
        loop {
            let by_hand = self.options.workers == 0;
            // Who starts workers by hand can start another in place of one that is lost.
            let is_settled = |worker: &&Worker| worker.is_ready() || (worker.is_lost() && !by_hand);
            let settled = self.workers.iter().filter(is_settled).count();
            if settled + self.absent.len() >= expected || (began.elapsed() > PATIENCE && !by_hand) {
                return self.workers.iter().any(Worker::is_ready).then_some(()).ok_or_else(|| self.nobody());
            }
            self.hear()?;
            let ended = self.processes.ended().into_iter();
            let never_came = ended.filter(|ended| self.workers.iter().all(|worker| worker.process_here() != Some(ended.process)));
            let how = |ended: Ended| format!("process {} ended with {} before it came", ended.process, ended.status);
            self.absent.extend(never_came.map(how));
        }
    }

    /// Gives tasks and takes results until all is done.
    fn work(mut self) -> Result<Outcome, Error> {
        let began = Instant::now();
        while !self.begin_batches(Instant::now()) {
            self.give()?;
            if self.workers.iter().all(Worker::is_lost) {
                return Err(self.nobody());
            }
            self.hear()?;
        }
        Ok(self.outcome(began))
    }

    /// Ends batches that are done, and begins those that wait for no other; whether all are done.
    fn begin_batches(&mut self, now: Instant) -> bool {
        let ready = self.ready();
        for (index, batch) in self.plan.batches.iter().enumerate() {
            if self.progress[index].ended.is_none() && self.allocation.is_done(index) {
                self.progress[index].ended = Some(now);
                let results: Vec<&Value> = self.progress[index].results.iter().flatten().map(|(value, _)| value).collect();
                self.arrays[index] = Some(Value::array(&results));
            }
            let may_begin = batch.after.iter().all(|before| self.progress[*before].ended.is_some());
            if self.progress[index].began.is_none() && may_begin {
                self.progress[index].began = Some(now);
                self.allocation.begin(index, batch.tasks, &ready);
            }
        }
        self.progress.iter().all(|progress| progress.ended.is_some())
    }

    /// The workers that can do something, with their factors.
    fn ready(&self) -> Vec<(usize, f64)> {
        (0..self.workers.len()).filter(|at| self.workers[*at].is_ready()).map(|at| (at, self.speed(at))).collect()
    }

    /// How fast a worker is: as it was told, where more workers than were told of begin again with the first, or as it measured itself.
    fn speed(&self, at: usize) -> f64 {
        let factors = &self.options.factors;
        if factors.is_empty() { 1.0 / self.workers[at].benchmark } else { factors[at % factors.len()] }
    }

    /// Gives tasks to all who have none.
    fn give(&mut self) -> Result<(), Error> {
        for at in 0..self.workers.len() {
            if !matches!(self.workers[at].state, State::Idle) {
                continue;
            }
            let now = Instant::now();
            let Some(given) = self.allocation.next(at, now) else { continue };
            let Task { batch, index } = given.task;
            let batch = &self.plan.batches[batch];
            let arguments = batch.arguments(index, &self.arrays)?;
            let message = protocol::run(number(given.task), &batch.routine, arguments.iter().map(AsRef::as_ref));
            let message = message.map_err(|error| self.failed(given.task, format!("what it is given is {error}")))?;
            let worker = &mut self.workers[at];
            worker.state = State::Busy(given, now);
            worker.replicas += usize::from(given.replica);
            worker.send(message);
        }
        Ok(())
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// Waits a little for something to happen, and takes it in.
    fn hear(&mut self) -> Result<(), Error> {
        if self.is_stopped() {
            return Err(Error::Interrupted);
        }
        match self.events.recv_timeout(TICK) {
            Ok(Event::Came(guest)) => self.welcome(*guest)?,
            Ok(Event::Said(at, word)) => self.heard(at, word)?,
            Ok(Event::Silent(at, reason)) => self.lose(at, reason),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        self.look(Instant::now());
        Ok(())
    }

    /// Gives up those who show no sign of life, and shows one.
    fn look(&mut self, now: Instant) {
        if now.saturating_duration_since(self.looked) > BEAT {
            self.looking_since = now;
        }
        self.looked = now;
        for at in 0..self.workers.len() {
            if self.workers[at].is_silent(now, self.looking_since) {
                self.lose(at, "it showed no sign of life".into());
            }
        }
        if now.saturating_duration_since(self.beat) > BEAT {
            self.beat = now;
            self.workers.iter_mut().filter(|worker| !worker.is_lost()).for_each(|worker| worker.send(protocol::pulse()));
        }
    }

    fn welcome(&mut self, guest: Guest) -> Result<(), Error> {
        let mut worker = Worker::new(self.workers.len(), guest, &self.sender).map_err(Error::io("the connection of a worker"))?;
        worker.send(self.classes.clone());
        self.workers.push(worker);
        Ok(())
    }

    fn heard(&mut self, at: usize, word: Word) -> Result<(), Error> {
        let worker = &mut self.workers[at];
        match (word, &worker.state) {
            (_, State::Lost(_)) | (Word::Pulse, _) => Ok(()),
            (Word::Ready { seconds }, State::Preparing) if seconds > 0.0 && seconds.is_finite() => {
                worker.benchmark = seconds;
                worker.state = State::Idle;
                Ok(())
            }
            (Word::Done { task, nanoseconds, result }, State::Busy(given, since)) if number(given.task) == task => {
                let (given, took) = (*given, since.elapsed());
                worker.state = State::Idle;
                worker.busy += Duration::from_nanos(nanoseconds);
                self.result(at, given, result, took, Duration::from_nanos(nanoseconds))
            }
            (Word::Failed { task, reason }, State::Busy(given, _)) if number(given.task) == task => {
                let task = given.task;
                Err(self.failed(task, reason.trim_end().to_owned()))
            }
            _ => {
                self.lose(at, "it said what makes no sense".into());
                Ok(())
            }
        }
    }

    fn failed(&self, task: Task, reason: String) -> Error {
        Error::Failed { batch: self.plan.batches[task.batch].name.clone(), number: task.index + 1, reason }
    }

    fn result(&mut self, at: usize, given: Given, result: Value, took: Duration, busy: Duration) -> Result<(), Error> {
        let Task { batch, index } = given.task;
        let progress = &mut self.progress[batch];
        if self.allocation.done(given.task, took) {
            progress.results[index] = Some((result, at));
            progress.busy += busy;
            self.workers[at].tasks += 1;
            return Ok(());
        }
        match &progress.results[index] {
            Some((first, by)) if *first != result => Err(Error::Disagreement {
                batch: self.plan.batches[batch].name.clone(),
                number: index + 1,
                first: Box::new((first.clone(), self.workers[*by].name())),
                second: Box::new((result, self.workers[at].name())),
            }),
            _ => Ok(()),
        }
    }

    /// Goes on without a worker.
    fn lose(&mut self, at: usize, reason: String) {
        let during = match &self.workers[at].state {
            State::Lost(_) => return,
            // A task that ends its worker ends one after the other.
            State::Busy(Given { task, .. }, _) => format!(" during task {} of {}", task.index + 1, self.plan.batches[task.batch].name),
            State::Preparing | State::Idle => String::new(),
        };
        self.workers[at].lose(reason + &during);
        if let Some(process) = self.workers[at].process_here() {
            self.processes.end(process);
        }
        let ready = self.ready();
        self.allocation.lost(at, &ready);
    }

    fn nobody(&mut self) -> Error {
        // Who interrupts a run on a terminal interrupts its workers, too.
        if self.is_stopped() {
            return Error::Interrupted;
        }
        let lost = self.workers.iter().filter_map(|worker| match &worker.state {
            State::Lost(reason) => Some(format!("{}: {reason}", worker.name())),
            _ => None,
        });
        let reasons = lost.chain(self.absent.drain(..)).collect::<Vec<_>>();
        Error::NoWorkers(if reasons.is_empty() { vec!["none has come".into()] } else { reasons })
    }

    fn outcome(&self, began: Instant) -> Outcome {
        let fastest = (0..self.workers.len()).map(|at| self.speed(at)).fold(0.0, f64::max);
        let last: Vec<usize> = self.plan.last().collect();
        let ended = self.progress.iter().filter_map(|progress| progress.ended).max().unwrap_or(began);
        let batch = |(index, progress): (usize, &Progress)| BatchOutcome {
            name: self.plan.batches[index].name.clone(),
            tasks: self.plan.batches[index].tasks,
            seconds: progress.ended.zip(progress.began).map_or(0.0, |(ended, began)| (ended - began).as_secs_f64()),
            busy_seconds: progress.busy.as_secs_f64(),
            results: last.contains(&index).then(|| progress.results.iter().flatten().map(|(value, _)| value.clone()).collect()),
        };
        Outcome {
            application: self.plan.name.clone(),
            parameters: self.plan.parameters.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
            seconds: (ended - began).as_secs_f64(),
            batches: self.progress.iter().enumerate().map(batch).collect(),
            workers: self.workers.iter().enumerate().map(|(at, worker)| worker.outcome(self.speed(at) / fastest)).collect(),
        }
    }
}

/// The number that a task has between the coordinator and its workers.
fn number(task: Task) -> u64 {
    ((task.batch as u64) << 32) | task.index as u64
}
