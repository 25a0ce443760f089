//! The workers of a run.

use std::net::{Shutdown, TcpStream};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::door::{Event, Guest, Heard, listen, speak};
use crate::WorkerOutcome;
use crate::allocation::Given;

/// Who shows no sign of life for so long has none; signs come twice a second.
const SILENCE: Duration = Duration::from_secs(10);

/// What a worker does.
#[derive(Debug)]
pub enum State {
    /// It gets the classes and measures itself.
    Preparing,
    /// It waits for a task.
    Idle,
    /// It does one.
    Busy(Given, Instant),
    /// It is no more, and why.
    Lost(String),
}

/// A worker.
#[derive(Debug)]
pub struct Worker {
    pub host: String,
    pub process: u64,
    pub state: State,
    /// How long its benchmark took.
    pub benchmark: f64,
    /// Whether it runs on this host.
    is_here: bool,
    stream: TcpStream,
    messages: Sender<Vec<u8>>,
    heard: Heard,
    pub tasks: usize,
    pub replicas: usize,
    pub busy: Duration,
}

impl Worker {
    /// The worker with that number, which is listened to from now on.
    pub fn new(at: usize, guest: Guest, events: &Sender<Event>) -> std::io::Result<Worker> {
        let (is_here, heard) = (guest.is_here(), Heard::now());
        let Guest { stream, hears, says, host, process } = guest;
        listen(at, stream.try_clone()?, hears, heard.clone(), events.clone());
        let messages = speak(at, stream.try_clone()?, says, events.clone());
        let (state, busy) = (State::Preparing, Duration::ZERO);
        Ok(Worker { host, process, state, benchmark: f64::NAN, is_here, stream, messages, heard, tasks: 0, replicas: 0, busy })
    }

    pub fn name(&self) -> String {
        format!("process {} on {}", self.process, self.host)
    }

    pub fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost(_))
    }

    /// Whether it has come so far that tasks can be given to it.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Idle | State::Busy(..))
    }

    /// The process of this host that it is, if it is on this host.
    pub fn process_here(&self) -> Option<u64> {
        self.is_here.then_some(self.process)
    }

    /// Sends it something; that it cannot be sent anything any more is heard of it.
    pub fn send(&mut self, message: Vec<u8>) {
        let _ = self.messages.send(message);
    }

    /// Whether nothing has come from it for too long, if it was listened to since that moment.
    pub fn is_silent(&self, now: Instant, since: Instant) -> bool {
        now.saturating_duration_since(self.heard.last().max(since)) > SILENCE
    }

    pub fn lose(&mut self, reason: String) {
        self.state = State::Lost(reason);
        // A connection that is closed already need not be.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// What came of it, its factor being told.
    pub fn outcome(&self, factor: f64) -> WorkerOutcome {
        WorkerOutcome {
            host: self.host.clone(),
            process: self.process,
            factor,
            tasks: self.tasks,
            replicas: self.replicas,
            busy_seconds: self.busy.as_secs_f64(),
            lost: if let State::Lost(reason) = &self.state { Some(reason.clone()) } else { None },
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The threads that listen and speak hold the connection, too; who is on another host ends when it closes.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The processes that were started for a run; they end with it, whatever happens.
#[derive(Default)]
pub struct Processes(Vec<Child>);

impl Processes {
    pub fn add(&mut self, child: Child) {
        self.0.push(child);
    }

    /// Ends one, if it was started here.
    pub fn end(&mut self, process: u64) {
        if let Some(at) = self.0.iter().position(|child| u64::from(child.id()) == process) {
            end(self.0.swap_remove(at));
        }
    }

    /// Those that have ended by themselves since this was asked last.
    pub fn ended(&mut self) -> Vec<Ended> {
        let mut ended = Vec::new();
        self.0.retain_mut(|child| match child.try_wait() {
            Ok(Some(status)) => {
                ended.push(Ended { process: child.id().into(), status });
                false
            }
            _ => true,
        });
        ended
    }
}

/// A process that has ended by itself.
pub struct Ended {
    pub process: u64,
    pub status: ExitStatus,
}

fn end(mut child: Child) {
    // One that has ended already cannot be ended, and need not be.
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.0.drain(..).for_each(end);
    }
}
