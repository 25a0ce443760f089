//! Message timing between two processes: the measuring and the assisting side.
//!
//! The measuring side reads only its own clock, so no clocks are compared. The assisting side prepares what must be ready: docs/bench.md
//! defines each metric by what happens here.

use std::time::{Duration, Instant};

use sintonia_mpi::{BenchmarkCalls, TimedSendMode, WorldError};

use super::clock::{CalibratedClock, wait};
use super::command::{ExchangeTask, MessageExchange};
use super::core_wait::CoreWaitTimer;
use super::page_aligned::PageAlignedBuffer;
use super::repetitions::{TimedRound, TimingValues};
use crate::MessageMetric;

/// Tags of messages between the two.
mod tag {
    pub(super) const DATA: i32 = 0;
    pub(super) const BACK: i32 = 1;
    pub(super) const READY: i32 = 2;
    pub(super) const ANSWER: i32 = 3;
    pub(super) const SENT: i32 = 4;
}

/// A process that times messages.
pub(super) struct MessageTimer<'t> {
    pub timed: &'t BenchmarkCalls<'t>,
    pub clock: CalibratedClock,
    /// Message buffer; grows on demand.
    pub buffer: PageAlignedBuffer<u8>,
}

impl<'t> MessageTimer<'t> {
    pub(super) fn new(timed: &'t BenchmarkCalls<'t>) -> MessageTimer<'t> {
        MessageTimer { timed, clock: CalibratedClock::new(), buffer: PageAlignedBuffer::new(0, FILL_BYTE) }
    }

    /// The measuring side: values of each timed quantity.
    pub(super) fn measure(&mut self, task: &ExchangeTask, other: usize) -> Result<TimedRound, WorldError> {
        self.ensure_capacity(task.bytes);
        match task.exchange {
            MessageExchange::Time(MessageMetric::Receive) => self.repeat(task, |side| side.receive(task, other).map(|time| vec![time])),
            MessageExchange::Time(MessageMetric::Transfer) => self.repeat(task, |side| side.transfer(task, other).map(|time| vec![time])),
            MessageExchange::Time(MessageMetric::StartSend | MessageMetric::WaitSend) => {
                self.repeat(task, |side| side.start_and_wait(task, other))
            }
            MessageExchange::Time(MessageMetric::BufferedSend) => {
                // A buffer is released some time after the message was received, so there is space for a few.
                let size = (task.bytes + 4096) * if task.bytes > 1 << 20 { 2 } else { 8 };
                let timed = self.timed;
                timed.with_attached_buffer(size, || self.repeat(task, |side| side.send(TimedSendMode::Buffered, task, other)))?
            }
            MessageExchange::Time(MessageMetric::Send) => self.repeat(task, |side| side.send(TimedSendMode::Standard, task, other)),
            MessageExchange::Time(MessageMetric::SynchronousSend) => {
                self.repeat(task, |side| side.send(TimedSendMode::Synchronous, task, other))
            }
            MessageExchange::Time(MessageMetric::ReadySend) => self.repeat(task, |side| side.send(TimedSendMode::Ready, task, other)),
            // Task messages do not use MPI, and a gap is not the time of one message: neither is measured here.
            MessageExchange::Time(MessageMetric::Task | MessageMetric::Gap) => Ok(TimedRound::default()),
            MessageExchange::Answered => self.repeat(task, |side| side.send_until_answered(task, other)),
            MessageExchange::Overlap => self.repeat(task, |side| side.measure_overlap(task, other).map(|share| vec![share])),
            MessageExchange::Eager(_) => self.test_eager(task, other).map(single_result),
            MessageExchange::Unattended(_) => self.time_unattended_send(task, other).map(single_result),
            MessageExchange::Detached(_) => self.test_detached(task, other).map(single_result),
        }
    }

    /// The assisting side: the share of the measured repetitions that it waited for a core.
    pub(super) fn assist(&mut self, task: &ExchangeTask, other: usize) -> Result<f64, WorldError> {
        self.ensure_capacity(task.bytes);
        match task.exchange {
            MessageExchange::Time(MessageMetric::Receive) => self.repeat_assist(task, |side| {
                side.await_notification(other, tag::READY)?;
                side.timed.send(TimedSendMode::Standard, &side.buffer[..task.bytes], other, tag::DATA)
            }),
            MessageExchange::Time(MessageMetric::Transfer) => self.repeat_assist(task, |MessageTimer { timed, buffer, .. }| {
                (0..task.train).try_for_each(|_| {
                    timed.receive(&mut buffer[..task.bytes], other, tag::DATA)?;
                    timed.send(TimedSendMode::Standard, &buffer[..task.bytes], other, tag::BACK)
                })
            }),
            MessageExchange::Time(MessageMetric::Task | MessageMetric::Gap) => Ok(0.0),
            MessageExchange::Time(_) => self.repeat_assist(task, |side| side.receive_when_ready(task, other)),
            MessageExchange::Answered => self.repeat_assist(task, |MessageTimer { timed, buffer, .. }| {
                timed.receive(&mut buffer[..task.bytes], other, tag::DATA)?;
                timed.send(TimedSendMode::Standard, &[], other, tag::BACK)
            }),
            // Each round has one message without computation and one with it.
            MessageExchange::Overlap => self.repeat_assist(task, |side| {
                side.receive_when_ready(task, other)?;
                side.receive_when_ready(task, other)
            }),
            MessageExchange::Eager(wait) => self.receive_after_sent(task, other, wait).map(|()| 0.0),
            MessageExchange::Unattended(wait) => self.receive_late(task, other, wait).map(|()| 0.0),
            MessageExchange::Detached(wait) => {
                self.receive_late(task, other, wait)?;
                let whole = self.buffer[..task.bytes].iter().all(|byte| *byte == FILL_BYTE);
                self.send_answer(whole, other).map(|()| 0.0)
            }
        }
    }

    fn ensure_capacity(&mut self, bytes: usize) {
        if self.buffer.len() < bytes {
            self.buffer = PageAlignedBuffer::new(bytes, FILL_BYTE);
        }
    }

    /// Warm-up rounds, then measured rounds.
    fn repeat(
        &mut self,
        task: &ExchangeTask,
        mut once: impl FnMut(&mut Self) -> Result<Vec<f64>, WorldError>,
    ) -> Result<TimedRound, WorldError> {
        for _ in 0..task.first {
            once(self)?;
        }
        let timer = CoreWaitTimer::start();
        let mut all: TimingValues = Vec::new();
        for _ in 0..task.times {
            let values = once(self)?;
            all.resize(values.len(), Vec::new());
            all.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
        }
        Ok(TimedRound { values: all, core_wait: timer.share() })
    }

    /// The share of the measured rounds that this process waited for a core.
    fn repeat_assist(&mut self, task: &ExchangeTask, mut once: impl FnMut(&mut Self) -> Result<(), WorldError>) -> Result<f64, WorldError> {
        (0..task.first).try_for_each(|_| once(self))?;
        let timer = CoreWaitTimer::start();
        (0..task.times).try_for_each(|_| once(self))?;
        Ok(timer.share())
    }

    /// Waits until the other process is ready and its receive is surely posted.
    fn wait_until_ready(&self, task: &ExchangeTask, other: usize) -> Result<(), WorldError> {
        self.await_notification(other, tag::READY)?;
        wait(Duration::from_secs_f64(task.settle));
        Ok(())
    }

    fn notify(&self, other: usize, tag: i32) -> Result<(), WorldError> {
        self.timed.send(TimedSendMode::Standard, &[], other, tag)
    }

    fn await_notification(&self, other: usize, tag: i32) -> Result<(), WorldError> {
        self.timed.receive(&mut [], other, tag)
    }

    fn receive_when_ready(&mut self, task: &ExchangeTask, other: usize) -> Result<(), WorldError> {
        let MessageTimer { timed, buffer, .. } = self;
        timed
            .irecv_overlapped(&mut buffer[..task.bytes], other, tag::DATA, || timed.send(TimedSendMode::Standard, &[], other, tag::READY))?
    }

    fn send(&mut self, how: TimedSendMode, task: &ExchangeTask, other: usize) -> Result<Vec<f64>, WorldError> {
        self.wait_until_ready(task, other)?;
        Ok(vec![self.clock.time(|| self.timed.send(how, &self.buffer[..task.bytes], other, tag::DATA))?])
    }

    fn start_and_wait(&mut self, task: &ExchangeTask, other: usize) -> Result<Vec<f64>, WorldError> {
        self.wait_until_ready(task, other)?;
        let (began, clock) = (Instant::now(), self.clock);
        let read = || (clock.elapsed_since(began), Instant::now());
        let (started, waiting) = self.timed.isend_overlapped(&self.buffer[..task.bytes], other, tag::DATA, read)?;
        Ok(vec![started, clock.elapsed_since(waiting)])
    }

    fn receive(&mut self, task: &ExchangeTask, other: usize) -> Result<f64, WorldError> {
        self.notify(other, tag::READY)?;
        wait(Duration::from_secs_f64(task.settle));
        self.clock.time(|| self.timed.receive(&mut self.buffer[..task.bytes], other, tag::DATA))
    }

    fn transfer(&mut self, task: &ExchangeTask, other: usize) -> Result<f64, WorldError> {
        let MessageTimer { timed, clock, buffer } = self;
        let round_trips = clock.time(|| {
            (0..task.train).try_for_each(|_| {
                timed.send(TimedSendMode::Standard, &buffer[..task.bytes], other, tag::DATA)?;
                timed.receive(&mut buffer[..task.bytes], other, tag::BACK)
            })
        })?;
        Ok(round_trips / (2 * task.train) as f64)
    }

    fn send_until_answered(&mut self, task: &ExchangeTask, other: usize) -> Result<Vec<f64>, WorldError> {
        let seconds = self.clock.time(|| {
            self.timed.send(TimedSendMode::Standard, &self.buffer[..task.bytes], other, tag::DATA)?;
            self.timed.receive(&mut [], other, tag::BACK)
        })?;
        Ok(vec![seconds])
    }

    /// The share of a transfer that is hidden behind computation of twice its duration.
    fn measure_overlap(&mut self, task: &ExchangeTask, other: usize) -> Result<f64, WorldError> {
        let alone = self.send_with_work(task, other, Duration::ZERO)?;
        let work = 2.0 * alone;
        let together = self.send_with_work(task, other, Duration::from_secs_f64(work))?;
        Ok((1.0 - (together - work) / alone).clamp(0.0, 1.0))
    }

    fn send_with_work(&mut self, task: &ExchangeTask, other: usize, work: Duration) -> Result<f64, WorldError> {
        self.wait_until_ready(task, other)?;
        let began = Instant::now();
        self.timed.isend_overlapped(&self.buffer[..task.bytes], other, tag::DATA, || busy_compute(work))?;
        Ok(self.clock.elapsed_since(began))
    }

    /// 1 if the message was sent before it was received, else 0.
    fn test_eager(&mut self, task: &ExchangeTask, other: usize) -> Result<f64, WorldError> {
        self.await_notification(other, tag::READY)?;
        self.timed.send(TimedSendMode::Standard, &self.buffer[..task.bytes], other, tag::DATA)?;
        self.notify(other, tag::SENT)?;
        self.receive_answer(other)
    }

    /// Receives only after notification that the message was sent, or a timeout.
    fn receive_after_sent(&mut self, task: &ExchangeTask, other: usize, wait: f64) -> Result<(), WorldError> {
        self.notify(other, tag::READY)?;
        let sent = self.timed.probe_within(other, tag::SENT, Duration::from_secs_f64(wait))?;
        self.timed.receive(&mut self.buffer[..task.bytes], other, tag::DATA)?;
        self.await_notification(other, tag::SENT)?;
        self.send_answer(sent, other)
    }

    fn send_answer(&self, yes: bool, other: usize) -> Result<(), WorldError> {
        self.timed.send(TimedSendMode::Standard, &[u8::from(yes)], other, tag::ANSWER)
    }

    fn receive_answer(&self, other: usize) -> Result<f64, WorldError> {
        let mut answer = [0];
        self.timed.receive(&mut answer, other, tag::ANSWER)?;
        Ok(f64::from(answer[0]))
    }

    /// Seconds of a send while the receiver does not call MPI.
    fn time_unattended_send(&mut self, task: &ExchangeTask, other: usize) -> Result<f64, WorldError> {
        self.await_notification(other, tag::READY)?;
        self.clock.time(|| self.timed.send(TimedSendMode::Standard, &self.buffer[..task.bytes], other, tag::DATA))
    }

    /// 1 if the receiver got the original data, 0 if it got what the sender overwrote it with.
    fn test_detached(&mut self, task: &ExchangeTask, other: usize) -> Result<f64, WorldError> {
        self.await_notification(other, tag::READY)?;
        self.timed.isend_then_overwrite(&mut self.buffer[..task.bytes], other, tag::DATA, !FILL_BYTE)?;
        self.buffer[..task.bytes].fill(FILL_BYTE);
        self.receive_answer(other)
    }

    fn receive_late(&mut self, task: &ExchangeTask, other: usize, wait: f64) -> Result<(), WorldError> {
        self.notify(other, tag::READY)?;
        std::thread::sleep(Duration::from_secs_f64(wait));
        self.timed.receive(&mut self.buffer[..task.bytes], other, tag::DATA)
    }
}

/// The result of a test.
fn single_result(value: f64) -> TimedRound {
    TimedRound { values: vec![vec![value]], core_wait: 0.0 }
}

/// Contents of messages.
const FILL_BYTE: u8 = 0x55;

/// Computes for this long, without calling MPI.
fn busy_compute(time: Duration) {
    let began = Instant::now();
    let mut number = 1u64;
    while began.elapsed() < time {
        (0..16).for_each(|step| number = std::hint::black_box(number.wrapping_mul(0x9e37_79b9).wrapping_add(step)));
    }
}
