//! What two processes do to time a message, each its side of it.
//!
//! The one that measures reads its own clock only, so no clocks are compared. The other one makes ready what must be ready: docs/bench.md
//! defines each figure by what happens here.

use std::time::{Duration, Instant};

use sintonia_mpi::{Sending, Timed, WorldError};

use super::clock::{Clock, pause};
use super::order::{Exchange, Task, Values};
use super::room::Room;
use crate::Message;

/// What a message between the two is about.
mod topic {
    pub const DATA: i32 = 0;
    pub const BACK: i32 = 1;
    pub const READY: i32 = 2;
    pub const ANSWER: i32 = 3;
    pub const SENT: i32 = 4;
}

/// This process with what it needs to time messages.
pub struct Side<'t> {
    pub timed: &'t Timed<'t>,
    pub clock: Clock,
    /// Memory for messages, which grows with them.
    pub buffer: Room<u8>,
}

impl<'t> Side<'t> {
    pub fn new(timed: &'t Timed<'t>) -> Side<'t> {
        Side { timed, clock: Clock::new(), buffer: Room::new(0, ORIGINAL) }
    }

    /// The side that measures: values of each thing that is timed.
    pub fn measure(&mut self, task: &Task, other: usize) -> Result<Values, WorldError> {
        self.make_room(task.bytes);
        match task.exchange {
            Exchange::Time(Message::Receive) => self.repeat(task, |side| side.receive(task, other).map(|time| vec![time])),
            Exchange::Time(Message::Transfer) => self.repeat(task, |side| side.transfer(task, other).map(|time| vec![time])),
            Exchange::Time(Message::StartSend | Message::WaitSend) => self.repeat(task, |side| side.start_and_wait(task, other)),
            Exchange::Time(Message::BufferedSend) => {
                // Messages leave the buffer some time after they were received, so there is room for a few.
                let room = (task.bytes + 4096) * if task.bytes > 1 << 20 { 2 } else { 8 };
                let timed = self.timed;
                timed.with_buffer(room, || self.repeat(task, |side| side.send(Sending::Buffered, task, other)))?
            }
            Exchange::Time(Message::Send) => self.repeat(task, |side| side.send(Sending::Standard, task, other)),
            Exchange::Time(Message::SynchronousSend) => self.repeat(task, |side| side.send(Sending::Synchronous, task, other)),
            Exchange::Time(Message::ReadySend) => self.repeat(task, |side| side.send(Sending::Ready, task, other)),
            // The way of a task is none of MPI's, and a gap is no time of one message: not asked for here.
            Exchange::Time(Message::Task | Message::Gap) => Ok(Vec::new()),
            Exchange::Overlap => self.repeat(task, |side| side.overlap(task, other).map(|share| vec![share])),
            Exchange::Eager(_) => Ok(vec![vec![self.send_eagerly(task, other)?]]),
            Exchange::Unattended(_) => Ok(vec![vec![self.send_to_nobody(task, other)?]]),
            Exchange::Detached(_) => Ok(vec![vec![self.send_and_overwrite(task, other)?]]),
        }
    }

    /// The side that takes part.
    pub fn assist(&mut self, task: &Task, other: usize) -> Result<(), WorldError> {
        self.make_room(task.bytes);
        match task.exchange {
            Exchange::Time(Message::Receive) => self.assist_all(task, |side| {
                side.hear(other, topic::READY)?;
                side.timed.send(Sending::Standard, &side.buffer[..task.bytes], other, topic::DATA)
            }),
            Exchange::Time(Message::Transfer) => self.assist_all(task, |Side { timed, buffer, .. }| {
                (0..task.train).try_for_each(|_| {
                    timed.receive(&mut buffer[..task.bytes], other, topic::DATA)?;
                    timed.send(Sending::Standard, &buffer[..task.bytes], other, topic::BACK)
                })
            }),
            Exchange::Time(Message::Task | Message::Gap) => Ok(()),
            Exchange::Time(_) => self.assist_all(task, |side| side.receive_when_ready(task, other)),
            // Each time there is a message without computation and one beside it.
            Exchange::Overlap => self.assist_all(task, |side| {
                side.receive_when_ready(task, other)?;
                side.receive_when_ready(task, other)
            }),
            Exchange::Eager(wait) => self.receive_after_all(task, other, wait),
            Exchange::Unattended(wait) => self.receive_late(task, other, wait),
            Exchange::Detached(wait) => {
                self.receive_late(task, other, wait)?;
                let whole = self.buffer[..task.bytes].iter().all(|byte| *byte == ORIGINAL);
                self.say(whole, other)
            }
        }
    }

    fn make_room(&mut self, bytes: usize) {
        if self.buffer.len() < bytes {
            self.buffer = Room::new(bytes, ORIGINAL);
        }
    }

    /// As often as asked, and how long it takes then.
    fn repeat(&mut self, task: &Task, mut once: impl FnMut(&mut Self) -> Result<Vec<f64>, WorldError>) -> Result<Values, WorldError> {
        for _ in 0..task.first {
            once(self)?;
        }
        let mut all: Values = Vec::new();
        for _ in 0..task.times {
            let values = once(self)?;
            all.resize(values.len(), Vec::new());
            all.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
        }
        Ok(all)
    }

    fn assist_all(&mut self, task: &Task, mut once: impl FnMut(&mut Self) -> Result<(), WorldError>) -> Result<(), WorldError> {
        (0..task.first + task.times).try_for_each(|_| once(self))
    }

    /// Waits until the other one is ready, and for what it began then to be under way.
    fn settle(&self, task: &Task, other: usize) -> Result<(), WorldError> {
        self.hear(other, topic::READY)?;
        pause(Duration::from_secs_f64(task.settle));
        Ok(())
    }

    fn tell(&self, other: usize, topic: i32) -> Result<(), WorldError> {
        self.timed.send(Sending::Standard, &[], other, topic)
    }

    fn hear(&self, other: usize, topic: i32) -> Result<(), WorldError> {
        self.timed.receive(&mut [], other, topic)
    }

    fn receive_when_ready(&mut self, task: &Task, other: usize) -> Result<(), WorldError> {
        let Side { timed, buffer, .. } = self;
        timed.receive_while(&mut buffer[..task.bytes], other, topic::DATA, || timed.send(Sending::Standard, &[], other, topic::READY))?
    }

    fn send(&mut self, how: Sending, task: &Task, other: usize) -> Result<Vec<f64>, WorldError> {
        self.settle(task, other)?;
        Ok(vec![self.clock.time(|| self.timed.send(how, &self.buffer[..task.bytes], other, topic::DATA))?])
    }

    fn start_and_wait(&mut self, task: &Task, other: usize) -> Result<Vec<f64>, WorldError> {
        self.settle(task, other)?;
        let (began, clock) = (Instant::now(), self.clock);
        let read = || (clock.since(began), Instant::now());
        let (started, waiting) = self.timed.send_while(&self.buffer[..task.bytes], other, topic::DATA, read)?;
        Ok(vec![started, clock.since(waiting)])
    }

    fn receive(&mut self, task: &Task, other: usize) -> Result<f64, WorldError> {
        self.tell(other, topic::READY)?;
        pause(Duration::from_secs_f64(task.settle));
        self.clock.time(|| self.timed.receive(&mut self.buffer[..task.bytes], other, topic::DATA))
    }

    fn transfer(&mut self, task: &Task, other: usize) -> Result<f64, WorldError> {
        let Side { timed, clock, buffer } = self;
        let there_and_back = clock.time(|| {
            (0..task.train).try_for_each(|_| {
                timed.send(Sending::Standard, &buffer[..task.bytes], other, topic::DATA)?;
                timed.receive(&mut buffer[..task.bytes], other, topic::BACK)
            })
        })?;
        Ok(there_and_back / (2 * task.train) as f64)
    }

    /// The share of a message that is hidden behind computation of twice its time.
    fn overlap(&mut self, task: &Task, other: usize) -> Result<f64, WorldError> {
        let alone = self.send_beside(task, other, Duration::ZERO)?;
        let work = 2.0 * alone;
        let together = self.send_beside(task, other, Duration::from_secs_f64(work))?;
        Ok((1.0 - (together - work) / alone).clamp(0.0, 1.0))
    }

    fn send_beside(&mut self, task: &Task, other: usize, work: Duration) -> Result<f64, WorldError> {
        self.settle(task, other)?;
        let began = Instant::now();
        self.timed.send_while(&self.buffer[..task.bytes], other, topic::DATA, || compute(work))?;
        Ok(self.clock.since(began))
    }

    /// 1 if the message was sent before it was received, 0 if not.
    fn send_eagerly(&mut self, task: &Task, other: usize) -> Result<f64, WorldError> {
        self.hear(other, topic::READY)?;
        self.timed.send(Sending::Standard, &self.buffer[..task.bytes], other, topic::DATA)?;
        self.tell(other, topic::SENT)?;
        self.be_told(other)
    }

    /// Receives only when it is told that the message is sent, or has waited long enough for that.
    fn receive_after_all(&mut self, task: &Task, other: usize, wait: f64) -> Result<(), WorldError> {
        self.tell(other, topic::READY)?;
        let sent = self.timed.comes(other, topic::SENT, Duration::from_secs_f64(wait))?;
        self.timed.receive(&mut self.buffer[..task.bytes], other, topic::DATA)?;
        self.hear(other, topic::SENT)?;
        self.say(sent, other)
    }

    fn say(&self, yes: bool, other: usize) -> Result<(), WorldError> {
        self.timed.send(Sending::Standard, &[u8::from(yes)], other, topic::ANSWER)
    }

    fn be_told(&self, other: usize) -> Result<f64, WorldError> {
        let mut answer = [0];
        self.timed.receive(&mut answer, other, topic::ANSWER)?;
        Ok(f64::from(answer[0]))
    }

    /// The seconds of a send while the other one is not in MPI.
    fn send_to_nobody(&mut self, task: &Task, other: usize) -> Result<f64, WorldError> {
        self.hear(other, topic::READY)?;
        self.clock.time(|| self.timed.send(Sending::Standard, &self.buffer[..task.bytes], other, topic::DATA))
    }

    /// 1 if the other one got the message as it was, 0 if it got what it was overwritten with.
    fn send_and_overwrite(&mut self, task: &Task, other: usize) -> Result<f64, WorldError> {
        self.hear(other, topic::READY)?;
        self.timed.send_and_overwrite(&mut self.buffer[..task.bytes], other, topic::DATA, !ORIGINAL)?;
        self.buffer[..task.bytes].fill(ORIGINAL);
        self.be_told(other)
    }

    fn receive_late(&mut self, task: &Task, other: usize, wait: f64) -> Result<(), WorldError> {
        self.tell(other, topic::READY)?;
        std::thread::sleep(Duration::from_secs_f64(wait));
        self.timed.receive(&mut self.buffer[..task.bytes], other, topic::DATA)
    }
}

/// What messages are made of.
const ORIGINAL: u8 = 0x55;

/// Computes for so long, without calling MPI.
fn compute(time: Duration) {
    let began = Instant::now();
    let mut number = 1u64;
    while began.elapsed() < time {
        (0..16).for_each(|step| number = std::hint::black_box(number.wrapping_mul(0x9e37_79b9).wrapping_add(step)));
    }
}
