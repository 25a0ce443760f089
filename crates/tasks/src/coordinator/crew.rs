//! The workers of a run.

use std::net::{Shutdown, TcpStream};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::allocation::Given;
use crate::{WorkerOutcome, protocol};

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
    stream: TcpStream,
    heard: Instant,
    pub tasks: usize,
    pub replicas: usize,
    pub busy: Duration,
}

impl Worker {
    pub fn new(stream: TcpStream, host: String, process: u64) -> Worker {
        let (state, heard, busy) = (State::Preparing, Instant::now(), Duration::ZERO);
        Worker { host, process, state, benchmark: f64::NAN, stream, heard, tasks: 0, replicas: 0, busy }
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

    pub fn send(&mut self, message: &[u8]) -> Result<(), String> {
        protocol::send(&mut self.stream, message).map_err(|error| format!("it cannot be sent anything: {error}"))
    }

    pub fn is_heard(&mut self, now: Instant) {
        self.heard = now;
    }

    pub fn is_silent(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.heard) > SILENCE
    }

    pub fn lose(&mut self, reason: String) {
        self.state = State::Lost(reason);
        // A connection that is closed already need not be.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    pub fn outcome(&self, fastest: f64) -> WorkerOutcome {
        WorkerOutcome {
            host: self.host.clone(),
            process: self.process,
            factor: fastest / self.benchmark,
            tasks: self.tasks,
            replicas: self.replicas,
            busy_seconds: self.busy.as_secs_f64(),
            lost: if let State::Lost(reason) = &self.state { Some(reason.clone()) } else { None },
        }
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

    /// Those that have ended by themselves since this was asked last, and how.
    pub fn ended(&mut self) -> Vec<(u64, String)> {
        let mut said = Vec::new();
        self.0.retain_mut(|child| match child.try_wait() {
            Ok(Some(status)) => {
                said.push((child.id().into(), format!("process {} ended with {status} before it came", child.id())));
                false
            }
            _ => true,
        });
        said
    }
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
