//! A GOAL schedule as a schedule of MPI calls.
//!
//! Every CPU of a rank is a location. Computations become the time before the next call, messages calls whose requests are completed when
//! an operation needs them. What an operation of one CPU needs from another CPU is a [signal](SendMode::Signal).

use std::iter::Peekable;

use rustc_hash::FxHashMap;
use sintonia_formats::goal::GoalSchedule;
use sintonia_formats::goal::graph::GoalOpKind;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::raw::part;

use super::call_writer::{CallWriter, call_named, message_call};
use super::{
    CallChunk, CallCompletion, CallReader, ChunkStatus, DescribedAction, LocationId, PeerEnvelope, ReceiveAction, ReplayAction, Request,
    Schedule, SendAction, SendMode,
};
use crate::Error;
use crate::costs::ReplayCosts;
use crate::goal::{CpuStep, GoalOrder, LogGopsParameters};

/// The highest bit of a GOAL tag marks messages of collectives. MPI's tags are not negative, so these get a communicator of their own.
const COLLECTIVE_BIT: u32 = 31;

/// The communicator of signals, after those of messages and of collectives.
const SIGNALS: u32 = 2;

/// Most requests of a call, well below what a recording can store.
const MAX_REQUESTS: usize = 1024;

/// A GOAL schedule whose operations have an order on each CPU.
pub struct OrderedGoal<'a> {
    goal: &'a GoalSchedule,
    order: GoalOrder,
    /// Up to this size, sends are blocking calls.
    eager_bytes: u64,
}

impl<'a> OrderedGoal<'a> {
    /// What its communicators were made by; each has all ranks: messages, messages of collectives, signals.
    pub const COMMUNICATORS: [&'static str; 3] = ["MPI_COMM_WORLD", "MPI_Comm_dup", "MPI_Comm_dup"];

    /// The order on a network without costs; a replay chooses that of its machine. Fails if the schedule cannot come to its end.
    pub fn new(goal: &'a GoalSchedule) -> Result<OrderedGoal<'a>, Error> {
        OrderedGoal::on_machine(goal, &LogGopsParameters::IDEAL)
    }

    fn on_machine(goal: &'a GoalSchedule, machine: &LogGopsParameters) -> Result<OrderedGoal<'a>, Error> {
        Ok(OrderedGoal { goal, order: GoalOrder::new(goal, machine)?, eager_bytes: machine.eager_bytes })
    }
}

impl Schedule for OrderedGoal<'_> {
    fn ranks(&self) -> u32 {
        self.goal.rank_count() as u32
    }

    fn locations(&self) -> Result<Vec<LocationId>, Error> {
        Ok(self.order.cpus().map(|(rank, cpu)| LocationId { rank, thread: cpu.into() }).collect())
    }

    fn reordered(&self, costs: &ReplayCosts) -> Result<Option<Box<dyn Schedule + '_>>, Error> {
        let ReplayCosts::Machine(platform) = costs else { return Ok(None) };
        Ok(Some(Box::new(OrderedGoal::on_machine(self.goal, &LogGopsParameters::from_platform(platform))?)))
    }

    /// A rank with one NIC has one port, however many CPUs send through it.
    fn shares_ports(&self) -> bool {
        self.goal.cpus() > 1 && self.goal.nics() == 1
    }

    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error> {
        let cpu = location.thread as u8;
        let steps = self.order.steps(location.rank, cpu).peekable();
        let (calls, requests) = (CallWriter::default(), OpenRequests::default());
        let starts_rank = self.order.first_cpu(location.rank) == Some(cpu);
        Ok(Box::new(GoalReader { schedule: self, rank: location.rank, cpu, starts_rank, steps, calls, requests }))
    }

    fn members(&self, _: u32) -> Vec<u32> {
        (0..self.ranks()).collect()
    }

    fn site_count(&self) -> u32 {
        1
    }

    fn site_name(&self, _: u32) -> String {
        "GOAL schedule".to_owned()
    }
}

/// Reader of one CPU.
struct GoalReader<'a, S: Iterator> {
    schedule: &'a OrderedGoal<'a>,
    rank: u32,
    cpu: u8,
    /// Whether `MPI_Init`, from which times count, is still to be called.
    starts_rank: bool,
    steps: Peekable<S>,
    calls: CallWriter,
    requests: OpenRequests,
}

impl<S: Iterator<Item = CpuStep>> CallReader for GoalReader<'_, S> {
    fn read_chunk(&mut self, chunk: &mut CallChunk) -> Result<ChunkStatus, Error> {
        self.calls.begin_chunk(chunk);
        if std::mem::take(&mut self.starts_rank) {
            self.calls.push(chunk, DescribedAction { action: ReplayAction::Init, call: call_named("MPI_Init") });
        }
        while !CallWriter::is_full(chunk) {
            match self.steps.next() {
                Some(CpuStep::Start(operation)) => self.start(chunk, operation),
                Some(CpuStep::Complete(operation)) => self.complete(chunk, operation),
                Some(CpuStep::Signal(to)) => self.signal(chunk, to),
                Some(CpuStep::AwaitSignal(from)) => self.await_signal(chunk, from),
                None => {
                    self.calls.end_location(chunk);
                    break;
                }
            }
        }
        Ok(self.calls.finish_chunk(chunk))
    }
}

impl<S: Iterator<Item = CpuStep>> GoalReader<'_, S> {
    fn start(&mut self, chunk: &mut CallChunk, operation: u32) {
        let schedule = self.schedule;
        let described = &schedule.goal.operations()[operation as usize];
        if described.kind == GoalOpKind::Compute {
            return self.calls.compute(described.size as f64);
        }
        let channel = schedule.goal.channels()[schedule.order.channel(operation, described)];
        let is_send = described.kind == GoalOpKind::Send;
        let peer = if is_send { channel.destination } else { channel.source };
        let envelope =
            PeerEnvelope { peer, communicator: channel.tag >> COLLECTIVE_BIT, tag: (channel.tag & !(1 << COLLECTIVE_BIT)) as i32 };
        let is_blocking = if is_send { described.size <= schedule.eager_bytes } else { self.is_awaited_at_once(operation) };
        let completion = if is_blocking { CallCompletion::Blocking } else { CallCompletion::Nonblocking };
        if !is_blocking {
            self.requests.open(operation, is_send, envelope, described.size);
        }
        let action = match is_send {
            true => send_call(envelope, described.size, SendMode::Standard, completion),
            false => receive_call(envelope, described.size, completion),
        };
        self.calls.push(chunk, action);
    }

    /// Whether the next call does nothing but wait for this receive; then it is part of the receive.
    fn is_awaited_at_once(&mut self, operation: u32) -> bool {
        self.steps.next_if_eq(&CpuStep::Complete(operation)).is_some()
    }

    /// Completes a request, and those of the steps that follow.
    fn complete(&mut self, chunk: &mut CallChunk, operation: u32) {
        let mut listed: Vec<ListedRequest> = self.requests.close(operation).into_iter().collect();
        while listed.len() < MAX_REQUESTS
            && let Some(CpuStep::Complete(operation)) = self.steps.next_if(|step| matches!(step, CpuStep::Complete(_)))
        {
            listed.extend(self.requests.close(operation));
        }
        let name = if listed.len() == 1 { "MPI_Wait" } else { "MPI_Waitall" };
        let action = ReplayAction::Complete(listed.iter().map(|listed| listed.request).collect());
        self.calls.push(chunk, DescribedAction { action, call: CallDescriptor { requests: listed, ..call_named(name) } });
    }

    fn signal(&mut self, chunk: &mut CallChunk, to: u8) {
        let envelope = self.signal_envelope(self.cpu, to);
        self.calls.push(chunk, send_call(envelope, 0, SendMode::Signal, CallCompletion::Blocking));
    }

    fn await_signal(&mut self, chunk: &mut CallChunk, from: u8) {
        let envelope = self.signal_envelope(from, self.cpu);
        self.calls.push(chunk, receive_call(envelope, 0, CallCompletion::Blocking));
    }

    fn signal_envelope(&self, from: u8, to: u8) -> PeerEnvelope {
        PeerEnvelope { peer: self.rank, communicator: SIGNALS, tag: i32::from(from) << 8 | i32::from(to) }
    }
}

fn send_call(to: PeerEnvelope, bytes: u64, mode: SendMode, completion: CallCompletion) -> DescribedAction {
    let name = if completion == CallCompletion::Blocking { "MPI_Send" } else { "MPI_Isend" };
    let call = CallDescriptor { sent: bytes, ..message_call(name, to, completion, part::SENT) };
    DescribedAction { action: ReplayAction::Send(SendAction { to, bytes, mode, completion }), call }
}

fn receive_call(from: PeerEnvelope, bytes: u64, completion: CallCompletion) -> DescribedAction {
    let name = if completion == CallCompletion::Blocking { "MPI_Recv" } else { "MPI_Irecv" };
    let call = CallDescriptor { received: bytes, ..message_call(name, from, completion, part::RECEIVED) };
    DescribedAction { action: ReplayAction::Receive(ReceiveAction { from: Some(from), any_source: false, completion }), call }
}

/// Requests that are not completed, by operation.
#[derive(Default)]
struct OpenRequests {
    count: u64,
    open: FxHashMap<u32, (u64, ListedRequest)>,
}

impl OpenRequests {
    fn open(&mut self, operation: u32, is_send: bool, message: PeerEnvelope, bytes: u64) {
        let received = if is_send { 0 } else { bytes };
        let (peer, tag) = (message.peer as i32, message.tag);
        let listed = ListedRequest { request: Request::Relative(0), is_receive: !is_send, peer, tag, received };
        self.open.insert(operation, (self.count, listed));
        self.count += 1;
    }

    fn close(&mut self, operation: u32) -> Option<ListedRequest> {
        let (number, listed) = self.open.remove(&operation)?;
        Some(ListedRequest { request: Request::Relative(self.count - 1 - number), ..listed })
    }
}

#[cfg(test)]
mod tests;
