//! Worker connections.

use std::net::{Shutdown, TcpStream};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::listener::{AuthenticatedPeer, LastSeen, WorkerEvent, spawn_reader, spawn_writer};
use crate::WorkerOutcome;
use crate::allocation::TaskAssignment;

/// Heartbeat timeout; heartbeats are sent every 500 ms.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) enum WorkerState {
    /// Receives the classes and runs its benchmark.
    Preparing,
    Idle,
    /// Runs a task, since when.
    Busy(TaskAssignment, Instant),
    /// Why it was lost.
    Lost(String),
}

#[derive(Debug)]
pub(crate) struct ConnectedWorker {
    pub host: String,
    pub process: u64,
    pub state: WorkerState,
    /// Duration of its benchmark.
    pub benchmark_s: f64,
    is_local: bool,
    stream: TcpStream,
    outbox: Sender<Vec<u8>>,
    last_seen: LastSeen,
    pub tasks: usize,
    pub replicas: usize,
    pub busy_time: Duration,
}

impl ConnectedWorker {
    /// Starts the reader and writer threads of a worker.
    pub(crate) fn new(at: usize, peer: AuthenticatedPeer, events: &Sender<WorkerEvent>) -> std::io::Result<ConnectedWorker> {
        let (is_local, last_seen) = (peer.is_local(), LastSeen::now());
        let AuthenticatedPeer { stream, receive_mac, send_mac, host, process } = peer;
        spawn_reader(at, stream.try_clone()?, receive_mac, last_seen.clone(), events.clone());
        let outbox = spawn_writer(at, stream.try_clone()?, send_mac, events.clone());
        let (state, busy) = (WorkerState::Preparing, Duration::ZERO);
        Ok(ConnectedWorker {
            host,
            process,
            state,
            benchmark_s: f64::NAN,
            is_local,
            stream,
            outbox,
            last_seen,
            tasks: 0,
            replicas: 0,
            busy_time: busy,
        })
    }

    pub(crate) fn name(&self) -> String {
        format!("process {} on {}", self.process, self.host)
    }

    pub(crate) fn is_lost(&self) -> bool {
        matches!(self.state, WorkerState::Lost(_))
    }

    /// Whether tasks can be assigned to it.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state, WorkerState::Idle | WorkerState::Busy(..))
    }

    /// Its process ID, if it runs on this host.
    pub(crate) fn local_process(&self) -> Option<u64> {
        self.is_local.then_some(self.process)
    }

    /// Queues a message; a write error is reported as an event.
    pub(crate) fn send(&mut self, message: Vec<u8>) {
        let _ = self.outbox.send(message);
    }

    /// Whether its last heartbeat is too old, not counting time before `since`.
    pub(crate) fn has_timed_out(&self, now: Instant, since: Instant) -> bool {
        now.saturating_duration_since(self.last_seen.time().max(since)) > HEARTBEAT_TIMEOUT
    }

    pub(crate) fn mark_lost(&mut self, reason: String) {
        self.state = WorkerState::Lost(reason);
        // The connection may be closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    pub(crate) fn outcome(&self, factor: f64) -> WorkerOutcome {
        WorkerOutcome {
            host: self.host.clone(),
            process: self.process,
            factor,
            tasks: self.tasks,
            replicas: self.replicas,
            busy_seconds: self.busy_time.as_secs_f64(),
            lost: if let WorkerState::Lost(reason) = &self.state { Some(reason.clone()) } else { None },
        }
    }
}

impl Drop for ConnectedWorker {
    fn drop(&mut self) {
        // The reader and writer threads hold the connection, too; a worker on another host exits when it closes.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
