//! A simulator trace as a schedule of MPI calls.
//!
//! Such a trace only has compute times, and names a request by its message.

use std::collections::{HashMap, VecDeque};

use sintonia_formats::sim_trace::{CollectiveOp, Completion, TraceAction, TraceEnvelope as Message};
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::comm_event::{CollectiveGroup, GroupOp};
use sintonia_recording::raw::part;

use super::call_writer::{CallWriter, call_named, message_call};
use super::{
    CallChunk, CallCompletion, CallReader, ChunkStatus, CollectiveAction, DescribedAction, PeerEnvelope, ReceiveAction, ReplayAction,
    Request, SendAction, SendMode,
};
use crate::Error;

const NS_PER_S: f64 = 1e9;

/// Reader of one thread of a trace.
pub(super) struct SimulatorTraceReader<S> {
    steps: std::iter::Fuse<S>,
    calls: CallWriter,
    requests: StartedTransfers,
}

impl<S: Iterator> SimulatorTraceReader<S> {
    pub(super) fn new(steps: S) -> SimulatorTraceReader<S> {
        SimulatorTraceReader { steps: steps.fuse(), calls: CallWriter::default(), requests: StartedTransfers::default() }
    }

    fn convert_step(&mut self, chunk: &mut CallChunk, step: TraceAction) {
        match step {
            TraceAction::Compute { seconds } => self.calls.compute(seconds * NS_PER_S),
            TraceAction::Send { to, bytes, synchronous, completion: end } => self.send(chunk, to, bytes, synchronous, end),
            TraceAction::Receive { from, bytes, completion: end } => {
                let completion = self.requests.start(StartedTransfer { sent: false, message: from, bytes }, end);
                let receive = ReceiveAction { from: Some(envelope(from)), any_source: false, completion };
                let name = if completion == CallCompletion::Blocking { "MPI_Recv" } else { "MPI_Irecv" };
                let descriptor = CallDescriptor { received: bytes, ..message_call(name, envelope(from), completion, part::RECEIVED) };
                self.calls.push(chunk, DescribedAction { action: ReplayAction::Receive(receive), call: descriptor });
            }
            TraceAction::Wait { is_send: sent, message } => {
                let listed = self.requests.complete(sent, message);
                self.complete(chunk, listed.into_iter().collect(), "MPI_Wait");
            }
            TraceAction::WaitAll { include_sends: sent } => {
                let listed = self.requests.complete_all(sent);
                self.complete(chunk, listed, "MPI_Waitall");
            }
            TraceAction::Test => self.calls.push(chunk, DescribedAction { action: ReplayAction::Poll, call: call_named("MPI_Test") }),
            TraceAction::Collective { operation: op, communicator, root, sent, received } => {
                let join = CollectiveAction {
                    group: CollectiveGroup::Communicator(communicator),
                    op: GroupOp::Collective(op),
                    root,
                    sent,
                    received,
                    completion: CallCompletion::Blocking,
                };
                self.calls.push(
                    chunk,
                    DescribedAction { action: ReplayAction::Collective(join), call: collective_descriptor(op, &join, communicator) },
                );
            }
            TraceAction::Init => self.calls.push(chunk, DescribedAction { action: ReplayAction::Init, call: call_named("MPI_Init") }),
            TraceAction::Finalize => {
                self.calls.push(chunk, DescribedAction { action: ReplayAction::Finalize, call: call_named("MPI_Finalize") })
            }
        }
    }

    fn send(&mut self, chunk: &mut CallChunk, to: Message, bytes: u64, synchronous: bool, end: Completion) {
        let completion = self.requests.start(StartedTransfer { sent: true, message: to, bytes }, end);
        let mode = if synchronous { SendMode::Synchronous } else { SendMode::Standard };
        let name = match (synchronous, completion) {
            (false, CallCompletion::Blocking) => "MPI_Send",
            (false, _) => "MPI_Isend",
            (true, CallCompletion::Blocking) => "MPI_Ssend",
            (true, _) => "MPI_Issend",
        };
        let descriptor = CallDescriptor { sent: bytes, ..message_call(name, envelope(to), completion, part::SENT) };
        self.calls.push(
            chunk,
            DescribedAction { action: ReplayAction::Send(SendAction { to: envelope(to), bytes, mode, completion }), call: descriptor },
        );
        if end == Completion::Detached {
            let newest = ListedRequest { request: Request::Relative(0), is_receive: false, peer: 0, tag: 0, received: 0 };
            let free = CallDescriptor { requests: vec![newest], ..call_named("MPI_Request_free") };
            self.calls.push(chunk, DescribedAction { action: ReplayAction::FreeRequests(vec![Request::Relative(0)]), call: free });
        }
    }

    /// A wait without requests, for instance after a successful test, is not a call.
    fn complete(&mut self, chunk: &mut CallChunk, listed: Vec<ListedRequest>, name: &str) {
        if !listed.is_empty() {
            let action = ReplayAction::Complete(listed.iter().map(|listed| listed.request).collect());
            self.calls.push(chunk, DescribedAction { action, call: CallDescriptor { requests: listed, ..call_named(name) } });
        }
    }
}

impl<S: Iterator<Item = Result<TraceAction, sintonia_formats::Error>>> CallReader for SimulatorTraceReader<S> {
    fn read_chunk(&mut self, chunk: &mut CallChunk) -> Result<ChunkStatus, Error> {
        self.calls.begin_chunk(chunk);
        while !CallWriter::is_full(chunk) {
            match self.steps.next().transpose()? {
                Some(step) => self.convert_step(chunk, step),
                None => {
                    self.calls.end_location(chunk);
                    break;
                }
            }
        }
        Ok(self.calls.finish_chunk(chunk))
    }
}

/// A started message that a later step completes.
#[derive(Clone, Copy)]
struct StartedTransfer {
    sent: bool,
    message: Message,
    bytes: u64,
}

/// Uncompleted messages with their request numbers.
#[derive(Default)]
struct StartedTransfers {
    n_requests: u64,
    pending: HashMap<(bool, Message), VecDeque<(u64, StartedTransfer)>>,
}

impl StartedTransfers {
    fn start(&mut self, pending: StartedTransfer, end: Completion) -> CallCompletion {
        if end == Completion::Blocking {
            return CallCompletion::Blocking;
        }
        if end == Completion::Nonblocking {
            self.pending.entry((pending.sent, pending.message)).or_default().push_back((self.n_requests, pending));
        }
        self.n_requests += 1;
        CallCompletion::Nonblocking
    }

    fn complete(&mut self, sent: bool, message: Message) -> Option<ListedRequest> {
        let (number, pending) = self.pending.get_mut(&(sent, message))?.pop_front()?;
        Some(self.listed_request(number, pending))
    }

    fn complete_all(&mut self, sends_too: bool) -> Vec<ListedRequest> {
        let ended = self.pending.iter_mut().filter(|((sent, _), _)| sends_too || !sent);
        let mut ended: Vec<(u64, StartedTransfer)> = ended.flat_map(|(_, pending)| pending.drain(..)).collect();
        ended.sort_unstable_by_key(|(number, _)| *number);
        self.pending.retain(|_, pending| !pending.is_empty());
        ended.into_iter().map(|(number, pending)| self.listed_request(number, pending)).collect()
    }

    fn listed_request(&self, number: u64, StartedTransfer { sent, message, bytes }: StartedTransfer) -> ListedRequest {
        let received = if sent { 0 } else { bytes };
        ListedRequest {
            request: Request::Relative(self.n_requests - 1 - number),
            is_receive: !sent,
            peer: message.peer as i32,
            tag: message.tag,
            received,
        }
    }
}

fn envelope(message: Message) -> PeerEnvelope {
    PeerEnvelope { peer: message.peer, communicator: message.communicator, tag: message.tag }
}

fn collective_descriptor(op: CollectiveOp, join: &CollectiveAction, communicator: u32) -> CallDescriptor {
    let parts = part::OBJECT | part::SENT | part::RECEIVED;
    let peer = join.root.map_or(sintonia_recording::raw::NONE, |root| root as i32);
    CallDescriptor { parts, object: communicator, peer, sent: join.sent, received: join.received, ..call_named(function_name(op)) }
}

fn function_name(op: CollectiveOp) -> &'static str {
    match op {
        CollectiveOp::Barrier => "MPI_Barrier",
        CollectiveOp::Broadcast => "MPI_Bcast",
        CollectiveOp::Reduce => "MPI_Reduce",
        CollectiveOp::Allreduce => "MPI_Allreduce",
        CollectiveOp::Gather => "MPI_Gather",
        CollectiveOp::Gatherv => "MPI_Gatherv",
        CollectiveOp::Scatter => "MPI_Scatter",
        CollectiveOp::Scatterv => "MPI_Scatterv",
        CollectiveOp::Allgather => "MPI_Allgather",
        CollectiveOp::Allgatherv => "MPI_Allgatherv",
        CollectiveOp::Alltoall => "MPI_Alltoall",
        CollectiveOp::Alltoallv => "MPI_Alltoallv",
        CollectiveOp::Alltoallw => "MPI_Alltoallw",
        CollectiveOp::ReduceScatter => "MPI_Reduce_scatter",
        CollectiveOp::ReduceScatterBlock => "MPI_Reduce_scatter_block",
        CollectiveOp::Scan => "MPI_Scan",
        CollectiveOp::Exscan => "MPI_Exscan",
        CollectiveOp::NeighborAllgather => "MPI_Neighbor_allgather",
        CollectiveOp::NeighborAllgatherv => "MPI_Neighbor_allgatherv",
        CollectiveOp::NeighborAlltoall => "MPI_Neighbor_alltoall",
        CollectiveOp::NeighborAlltoallv => "MPI_Neighbor_alltoallv",
        CollectiveOp::NeighborAlltoallw => "MPI_Neighbor_alltoallw",
    }
}

#[cfg(test)]
mod tests {
    use sintonia_mpi::FunctionRole;

    use super::super::ScheduledCall;
    use super::super::call_writer::{CHUNK_CALLS, operation};
    use super::*;

    fn read(steps: Vec<TraceAction>) -> (Vec<DescribedAction>, Vec<ScheduledCall>) {
        let mut reader = SimulatorTraceReader::new(steps.into_iter().map(Ok));
        let (mut chunk, mut rows) = (CallChunk::default(), Vec::new());
        while reader.read_chunk(&mut chunk).unwrap() != ChunkStatus::End {
            rows.extend(&chunk.calls);
        }
        (chunk.actions, rows)
    }

    fn message(tag: i32) -> Message {
        Message { peer: 1, tag, communicator: 0 }
    }

    #[test]
    fn the_names_of_all_functions_are_known() {
        for op in CollectiveOp::ALL {
            assert_eq!(operation(function_name(op)).role(), FunctionRole::Collective(op));
        }
        for name in [
            "MPI_Send",
            "MPI_Isend",
            "MPI_Ssend",
            "MPI_Issend",
            "MPI_Recv",
            "MPI_Irecv",
            "MPI_Wait",
            "MPI_Waitall",
            "MPI_Test",
            "MPI_Request_free",
        ] {
            assert_eq!(operation(name).name(), name);
        }
    }

    #[test]
    fn a_wait_names_the_oldest_request_of_its_message() {
        let begin = |tag| TraceAction::Receive { from: message(tag), bytes: 8, completion: Completion::Nonblocking };
        let wait = |tag| TraceAction::Wait { is_send: false, message: message(tag) };
        let (actions, rows) = read(vec![begin(1), begin(2), begin(1), wait(1), wait(2), wait(1), wait(1)]);
        let completed: Vec<&ReplayAction> = rows[3..].iter().map(|call| &actions[call.action as usize].action).collect();
        let ago = |number| ReplayAction::Complete(vec![Request::Relative(number)]);
        assert_eq!(completed, [&ago(2), &ago(1), &ago(0)]);
    }

    #[test]
    fn waiting_for_all_names_all_in_the_order_of_their_begin() {
        let send = TraceAction::Send { to: message(5), bytes: 8, synchronous: false, completion: Completion::Nonblocking };
        let (actions, rows) = read(vec![
            send,
            TraceAction::Receive { from: message(5), bytes: 8, completion: Completion::Nonblocking },
            send,
            TraceAction::WaitAll { include_sends: true },
        ]);
        let expected = ReplayAction::Complete([2, 1, 0].map(Request::Relative).to_vec());
        assert_eq!(actions[rows[3].action as usize].action, expected);
    }

    #[test]
    fn actions_of_a_loop_are_listed_once_and_its_computation_each_time() {
        let round = [
            TraceAction::Compute { seconds: 1.5e-9 },
            TraceAction::Send { to: message(1), bytes: 8, synchronous: false, completion: Completion::Blocking },
            TraceAction::Test,
        ];
        let (actions, rows) = read(round.repeat(1000));
        assert_eq!((actions.len(), rows.len()), (2, 2000));
        assert_eq!(rows.iter().map(|call| call.compute_ns).sum::<i64>(), 1500);
    }

    #[test]
    fn more_actions_than_are_kept_are_still_read() {
        let sends =
            (0..3000).map(|tag| TraceAction::Send { to: message(tag), bytes: 8, synchronous: false, completion: Completion::Blocking });
        let mut reader = SimulatorTraceReader::new(sends.map(Ok));
        let (mut chunk, mut tags) = (CallChunk::default(), Vec::new());
        while reader.read_chunk(&mut chunk).unwrap() != ChunkStatus::End {
            tags.extend(chunk.calls.iter().map(|call| chunk.actions[call.action as usize].call.tag));
        }
        assert_eq!(tags, (0..3000).collect::<Vec<_>>());
    }

    #[test]
    fn the_enter_time_of_a_chunk_includes_the_computation_before_it() {
        let mut reader = SimulatorTraceReader::new(
            [TraceAction::Compute { seconds: 1e-6 }, TraceAction::Test].repeat(CHUNK_CALLS + 1).into_iter().map(Ok),
        );
        let mut chunk = CallChunk::default();
        reader.read_chunk(&mut chunk).unwrap();
        assert_eq!(chunk.enter_ns, 1000);
        reader.read_chunk(&mut chunk).unwrap();
        assert_eq!(chunk.enter_ns, 1000 * (CHUNK_CALLS as i64 + 1));
    }

    #[test]
    fn computation_at_the_end_is_not_lost() {
        let (actions, rows) = read(vec![TraceAction::Test, TraceAction::Compute { seconds: 1e-6 }]);
        assert_eq!((rows.len(), rows[1].compute_ns, &actions[1].action), (2, 1000, &ReplayAction::Local));
    }

    #[test]
    fn a_send_that_is_never_waited_for_is_freed_at_once() {
        let (actions, rows) =
            read(vec![TraceAction::Send { to: message(1), bytes: 8, synchronous: false, completion: Completion::Detached }]);
        assert_eq!(rows.len(), 2);
        assert_eq!(actions[1].action, ReplayAction::FreeRequests(vec![Request::Relative(0)]));
    }
}
