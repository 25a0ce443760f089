//! Measures the round trip of a task between coordinator and worker, by size.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::child_processes::ChildProcesses;
use crate::coordinator::listener::{AuthenticatedPeer, WorkerEvent, WorkerListener};
use crate::launch::{WorkerLauncher, new_token};
use crate::protocol::{self, MAX_FRAME, WorkerMessage};
use crate::{Error, Jdk, TaskValue, jdk};

/// A task that returns its argument.
const ECHO_SOURCE: &str = "final class Echo { static long[] echo(long[] values) { return values; } }";

/// Warm-up rounds for each size, so that the JIT has compiled the code.
const WARMUP_ROUNDS: usize = 300;
/// A started worker must connect within this time.
const WORKER_TIMEOUT: Duration = Duration::from_secs(60);

/// Half round trip times in seconds, `times` samples for each of these sizes in bytes.
pub fn measure_round_trips(jdk: &Jdk, sizes: &[u64], times: usize) -> Result<Vec<(u64, Vec<f64>)>, Error> {
    let folder = tempfile::tempdir().map_err(Error::io("a folder for classes"))?;
    let file = folder.path().join("Echo.java");
    std::fs::write(&file, ECHO_SOURCE).map_err(Error::io("a class"))?;
    jdk.compile(&[file], folder.path(), folder.path())?;
    let classes = protocol::encode_classes(&jdk::read_classes(folder.path())?).map_err(|error| Error::Other(error.to_string()))?;
    let launcher = WorkerLauncher::new(jdk.clone())?;
    let (sender, events) = channel();
    let token = new_token()?;
    let listener = WorkerListener::bind("127.0.0.1:0", token.clone(), sender)?;
    let mut started = ChildProcesses::default();
    started.add(launcher.start(&listener.address.ip().to_string(), &listener.address.port().to_string(), &token)?);
    let Ok(WorkerEvent::Connected(mut peer)) = events.recv_timeout(WORKER_TIMEOUT) else { return Err(Error::NoWorkers(Vec::new())) };
    peer.stream.set_read_timeout(Some(WORKER_TIMEOUT)).map_err(connection_error)?;
    peer.send(classes)?;
    while !matches!(peer.receive()?, WorkerMessage::Ready { .. }) {}
    let mut measured = Vec::new();
    for &bytes in sizes {
        let argument = TaskValue::Longs(vec![1; (bytes / 8) as usize]);
        let mut once = || {
            let began = Instant::now();
            peer.send(protocol::encode_run(0, "Echo.echo", [&argument].into_iter()).map_err(|error| Error::Other(error.to_string()))?)?;
            loop {
                match peer.receive()? {
                    WorkerMessage::Done { .. } => return Ok(began.elapsed().as_secs_f64() / 2.0),
                    WorkerMessage::Heartbeat => {}
                    _ => return Err(Error::NoWorkers(vec!["it did not return its argument".into()])),
                }
            }
        };
        (0..WARMUP_ROUNDS).try_for_each(|_| once().map(|_| ()))?;
        measured.push((bytes, (0..times).map(|_| once()).collect::<Result<_, _>>()?));
    }
    Ok(measured)
}

impl AuthenticatedPeer {
    fn send(&mut self, message: Vec<u8>) -> Result<(), Error> {
        protocol::send(&mut self.stream, &mut self.send_mac, message).map_err(connection_error)
    }

    fn receive(&mut self) -> Result<WorkerMessage, Error> {
        protocol::receive(&mut self.stream, &mut self.receive_mac, MAX_FRAME).map_err(connection_error)
    }
}

fn connection_error(error: std::io::Error) -> Error {
    Error::NoWorkers(vec![error.to_string()])
}
