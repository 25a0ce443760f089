//! What it takes to give a task to a worker and get its result, by their size.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::coordinator::crew::Processes;
use crate::coordinator::door::{Door, Event, Guest};
use crate::launch::{Launcher, token};
use crate::protocol::{self, LONGEST, Word};
use crate::{Error, Jdk, Value, jdk};

/// A task that does nothing but give back what it gets.
const SOURCE: &str = "final class Echo { static long[] echo(long[] values) { return values; } }";

/// How often each size goes round before it counts: the virtual machine compiles what it does often.
const FIRST: usize = 300;
/// A worker comes within this time, or never.
const PATIENCE: Duration = Duration::from_secs(60);

/// Seconds of half a round trip of a task, for each of these numbers of bytes as often as told.
pub fn round_trips(jdk: &Jdk, sizes: &[u64], times: usize) -> Result<Vec<(u64, Vec<f64>)>, Error> {
    let folder = tempfile::tempdir().map_err(Error::io("a folder for classes"))?;
    let file = folder.path().join("Echo.java");
    std::fs::write(&file, SOURCE).map_err(Error::io("a class"))?;
    jdk.compile(&[file], folder.path(), folder.path())?;
    let classes = protocol::classes(&jdk::classes(folder.path())?).map_err(|error| Error::Other(error.to_string()))?;
    let launcher = Launcher::new(jdk.clone())?;
    let (sender, events) = channel();
    let token = token()?;
    let door = Door::open("127.0.0.1:0", token.clone(), sender)?;
    let mut started = Processes::default();
    started.add(launcher.start(&door.address.ip().to_string(), &door.address.port().to_string(), &token)?);
    let Ok(Event::Came(mut guest)) = events.recv_timeout(PATIENCE) else { return Err(Error::NoWorkers(Vec::new())) };
    guest.stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
    guest.send(classes)?;
    while !matches!(guest.hear()?, Word::Ready { .. }) {}
    let mut measured = Vec::new();
    for &bytes in sizes {
        let argument = Value::Longs(vec![1; (bytes / 8) as usize]);
        let mut once = || {
            let began = Instant::now();
            guest.send(protocol::run(0, "Echo.echo", [&argument].into_iter()).map_err(|error| Error::Other(error.to_string()))?)?;
            loop {
                match guest.hear()? {
                    Word::Done { .. } => return Ok(began.elapsed().as_secs_f64() / 2.0),
                    Word::Pulse => {}
                    _ => return Err(Error::NoWorkers(vec!["it did not give back what it got".into()])),
                }
            }
        };
        (0..FIRST).try_for_each(|_| once().map(|_| ()))?;
        measured.push((bytes, (0..times).map(|_| once()).collect::<Result<_, _>>()?));
    }
    Ok(measured)
}

impl Guest {
    fn send(&mut self, message: Vec<u8>) -> Result<(), Error> {
        protocol::send(&mut self.stream, &mut self.says, message).map_err(lost)
    }

    fn hear(&mut self) -> Result<Word, Error> {
        protocol::receive(&mut self.stream, &mut self.hears, LONGEST).map_err(lost)
    }
}

fn lost(error: std::io::Error) -> Error {
    Error::NoWorkers(vec![error.to_string()])
}
