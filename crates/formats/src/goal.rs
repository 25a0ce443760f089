//! GOAL, the schedule format of LogGOPSim and ATLAHS: the computations, sends and receives of each rank, with dependencies.
//!
//! Computation between calls is a `calc`; the time inside MPI is left to the simulator. Each thread is a chain: an operation `requires` the
//! one before it, or `irequires` it (depends on its start only) if that was a nonblocking send. A wait requires what it completes. A
//! nonblocking receive, whose source is known only on completion, is placed at its completion but requires what preceded its start.
//!
//! Schedules of other tools are read into a [`GoalSchedule`] for replay.

mod builder;
pub(crate) mod collective_messages;
pub mod graph;
mod read;
pub(crate) mod tag;

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::Path;

use sintonia_collective::describe_selection;
use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_recording::Recording;
use sintonia_recording::call_table::RequestId;
use sintonia_recording::comm_event::{self, CommEvent, GroupOp};
use sintonia_recording::raw::bytes_or_zero;
use sintonia_recording::request_table::RequestTable;

use crate::error::PathContext;
use crate::exported_calls::{self, ExportedCall};
use crate::{Error, ExportSummary, single_file};
use collective_messages::{CollectiveExpander, ExpansionError, MessageDirection, RankCollective, mpi_library};
pub use graph::GoalSchedule;
pub use read::{SourceLine, read};

/// What else synchronises ranks, in words, for the schedule's comment.
const SYNCHRONISATION: &str =
    "creating and freeing communicators and windows, fences, collective file access and MPI_Finalize as a barrier";

/// Writes the schedule of a recording; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    let header = &recording.header;
    exported_calls::require_calls(header)?;
    let mut omissions = BTreeSet::new();
    let mut written = single_file::write(path, |out| {
        write_header(out, recording).with_path(path)?;
        let mut known = header.ranks.iter().peekable();
        for rank in 0..header.rank_count() {
            writeln!(out, "rank {rank} {{").with_path(path)?;
            if known.next_if(|known| known.rank == rank).is_some() {
                let mut schedule = RankScheduleWriter::new(recording, rank, &mut *out, &mut omissions);
                exported_calls::for_each_call(recording, rank, |call| schedule.add_call(call).with_path(path))?;
                schedule.finish().with_path(path)?;
                progress();
            } else {
                // Simulators may expect at least one operation per rank.
                writeln!(out, "l1: calc 0").with_path(path)?;
            }
            writeln!(out, "}}\n").with_path(path)?;
        }
        Ok(())
    })?;
    written.notes.extend(omissions.into_iter().map(|omission| omission.describe().to_owned()));
    Ok(written)
}

fn write_header(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    let command = recording.header.command.join(" ").replace(char::is_control, " ");
    writeln!(out, "num_ranks {}\n", recording.header.rank_count())?;
    writeln!(out, "// {command}")?;
    writeln!(
        out,
        "// calc is the time outside MPI in nanoseconds; empty messages have one byte; bits 23 and up of a tag hold the communicator"
    )?;
    for line in describe_selection(mpi_library(recording)).iter().chain([&SYNCHRONISATION]) {
        writeln!(out, "// {line}")?;
    }
    writeln!(out)
}

/// What the schedule lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GoalOmission {
    UnknownNeighbours,
    Intercommunicator,
    OneSided,
    ExternalProcess,
    FoldedTags,
}

impl GoalOmission {
    fn describe(self) -> &'static str {
        match self {
            GoalOmission::UnknownNeighbours => "neighbourhood collectives are left out where the recording lacks the neighbours",
            GoalOmission::Intercommunicator => "collectives on intercommunicators are left out",
            GoalOmission::OneSided => "one-sided transfers are left out: GOAL has none",
            GoalOmission::ExternalProcess => "messages from and to processes outside the recording are left out",
            GoalOmission::FoldedTags => {
                "tags from 8388608 and communicators from 256 on are folded onto smaller ones: messages that differ in nothing else may match each other"
            }
        }
    }
}

/// An operation, by the number in its label.
type OpLabel = u64;

/// What the next operation of a thread depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prerequisite {
    /// The end of this operation.
    Finish(OpLabel),
    /// The start of this operation.
    Start(OpLabel),
}

/// State of a thread's chain.
struct ThreadChain {
    last: Option<Prerequisite>,
    /// When its last call ended.
    last_leave: i64,
    /// Computation in nanoseconds not yet written as an operation.
    pending_compute_ns: i64,
}

impl ThreadChain {
    fn add_compute(&mut self, nanoseconds: i64) {
        self.pending_compute_ns = self.pending_compute_ns.saturating_add(nanoseconds.max(0));
    }
}

/// The operations of one call.
struct CallOps {
    /// The computation before the call.
    anchor: OpLabel,
    /// Operations that must be complete when the call returns.
    completed: Vec<OpLabel>,
    /// Operations that must have started when the call returns.
    started: Vec<OpLabel>,
    /// Whether some of `completed` was started by an earlier call and does not itself depend on the anchor.
    began_earlier: bool,
}

/// Writes the schedule of one rank.
struct RankScheduleWriter<'a, W> {
    out: &'a mut W,
    omissions: &'a mut BTreeSet<GoalOmission>,
    next_label: OpLabel,
    /// Start time of the rank.
    start: Option<i64>,
    threads: HashMap<u16, ThreadChain>,
    /// The last operations of sends and collectives in progress.
    pending: RequestTable<RequestId, Vec<OpLabel>>,
    /// Prerequisites of receives in progress.
    posted_receives: RequestTable<RequestId, OpLabel>,
    /// Bytes that a persistent collective sends and receives per start.
    persistent_bytes: HashMap<RequestId, (u64, u64)>,
    expander: CollectiveExpander<'a>,
}

impl<'a, W: Write> RankScheduleWriter<'a, W> {
    fn new(recording: &'a Recording, rank: u32, out: &'a mut W, omissions: &'a mut BTreeSet<GoalOmission>) -> RankScheduleWriter<'a, W> {
        let (pending, posted_receives) = (RequestTable::default(), RequestTable::default());
        let (threads, persistent_bytes, expander) = (HashMap::new(), HashMap::new(), CollectiveExpander::new(recording, rank));
        RankScheduleWriter { out, omissions, next_label: 0, start: None, threads, pending, posted_receives, persistent_bytes, expander }
    }

    fn add_call(&mut self, call: &ExportedCall) -> io::Result<()> {
        let role = call.operation.role();
        let start = *self.start.get_or_insert(if role == FunctionRole::Init { call.leave } else { call.enter });
        let thread = self.threads.entry(call.thread).or_insert(ThreadChain { last: None, last_leave: start, pending_compute_ns: 0 });
        thread.add_compute(call.enter.saturating_sub(thread.last_leave));
        thread.last_leave = call.leave;
        match role {
            FunctionRole::RequestFree => call.listed_requests.iter().for_each(|(request, _)| self.forget_request(*request)),
            FunctionRole::Put | FunctionRole::Get | FunctionRole::Exchange => _ = self.omissions.insert(GoalOmission::OneSided),
            _ if call.events.iter().any(|event| !matches!(event, CommEvent::CollectiveBegin { op: GroupOp::Init, .. })) => {
                return self.write_call(call);
            }
            FunctionRole::Collective(_) => self.remember_persistent(call),
            _ if counts_as_compute(role) => thread.add_compute(call.leave.saturating_sub(call.enter)),
            _ => {}
        }
        Ok(())
    }

    /// Remembers the bytes of a persistent collective; the calls that start it do not have them.
    fn remember_persistent(&mut self, call: &ExportedCall) {
        let request = call.request.map(|number| RequestId { thread: call.thread, number });
        self.persistent_bytes.extend(request.map(|request| (request, call_bytes(call))));
    }

    /// Writes the operations of a call.
    fn write_call(&mut self, call: &ExportedCall) -> io::Result<()> {
        let (computed, last) =
            self.threads.get_mut(&call.thread).map_or((0, None), |t| (std::mem::take(&mut t.pending_compute_ns), t.last));
        let anchor = self.write_calc(call.thread, computed)?;
        self.write_requires(anchor, last)?;
        let mut ops = CallOps { anchor, completed: Vec::new(), started: Vec::new(), began_earlier: false };
        for event in &call.events {
            self.write_event(call, event, &mut ops)?;
        }
        let last = self.write_join(call.thread, &ops)?;
        if let Some(thread) = self.threads.get_mut(&call.thread) {
            thread.last = Some(last);
        }
        Ok(())
    }

    /// Writes the computation after the last operation of each thread.
    fn finish(&mut self) -> io::Result<()> {
        let mut left: Vec<(u16, i64, Option<Prerequisite>)> =
            self.threads.iter().map(|(thread, t)| (*thread, t.pending_compute_ns, t.last)).collect();
        left.sort_unstable_by_key(|(thread, ..)| *thread);
        for (thread, computed, last) in left.into_iter().filter(|(_, computed, last)| *computed > 0 || last.is_none()) {
            let calc = self.write_calc(thread, computed)?;
            self.write_requires(calc, last)?;
        }
        Ok(())
    }

    fn write_event(&mut self, call: &ExportedCall, event: &CommEvent, ops: &mut CallOps) -> io::Result<()> {
        match *event {
            CommEvent::Send { message, request, .. } => {
                let Some(peer) = self.recorded_rank(message.peer) else { return Ok(()) };
                let tag = self.message_tag(message);
                let send = self.write_message(call.thread, MessageDirection::To(peer), message.bytes, tag)?;
                self.write_requires(send, Some(Prerequisite::Finish(ops.anchor)))?;
                match request {
                    Some(request) => {
                        self.pending.create(request, BlockingMode::Nonblocking, vec![send]);
                        ops.started.push(send);
                    }
                    None => ops.completed.push(send),
                }
            }
            CommEvent::Receive { message, request, .. } => {
                let began = request.and_then(|request| self.posted_receives.remove(&request));
                let Some(peer) = self.recorded_rank(message.peer) else { return Ok(()) };
                let tag = self.message_tag(message);
                let receive = self.write_message(call.thread, MessageDirection::From(peer), message.bytes, tag)?;
                self.write_requires(receive, Some(Prerequisite::Finish(began.unwrap_or(ops.anchor))))?;
                ops.completed.push(receive);
                ops.began_earlier |= began.is_some();
            }
            CommEvent::ReceivePost { request } => _ = self.posted_receives.create(request, BlockingMode::Nonblocking, ops.anchor),
            CommEvent::ReceiveCancel { request } => self.forget_request(request),
            CommEvent::SendComplete { request, .. } | CommEvent::CollectiveEnd { request, .. } => {
                ops.completed.extend(self.pending.remove(&request).unwrap_or_default());
                ops.began_earlier = true;
            }
            CommEvent::CollectiveBegin { collective: instance, op, root, request } => {
                let prepared = request.and_then(|request| self.persistent_bytes.get(&request).copied());
                let (sent, received) = prepared.unwrap_or(call_bytes(call));
                let last = self.write_collective(call.thread, &RankCollective { instance, op, root, sent, received }, ops.anchor)?;
                match request {
                    Some(request) => _ = self.pending.create(request, BlockingMode::Nonblocking, last),
                    None => ops.completed.extend(last),
                }
            }
        }
        Ok(())
    }

    /// Joins what a call waits for; returns the prerequisite of the next call.
    fn write_join(&mut self, thread: u16, ops: &CallOps) -> io::Result<Prerequisite> {
        match (&ops.completed[..], &ops.started[..]) {
            ([], []) => return Ok(Prerequisite::Finish(ops.anchor)),
            ([done], []) if !ops.began_earlier => return Ok(Prerequisite::Finish(*done)),
            ([], [begun]) => return Ok(Prerequisite::Start(*begun)),
            _ => {}
        }
        let join = self.write_calc(thread, 0)?;
        let anchor = ops.began_earlier.then_some(Prerequisite::Finish(ops.anchor));
        let done = ops.completed.iter().copied().map(Prerequisite::Finish);
        for after in anchor.into_iter().chain(done).chain(ops.started.iter().copied().map(Prerequisite::Start)) {
            self.write_requires(join, Some(after))?;
        }
        Ok(Prerequisite::Finish(join))
    }

    /// Writes a collective; returns the operations that complete it.
    fn write_collective(&mut self, thread: u16, collective: &RankCollective, anchor: OpLabel) -> io::Result<Vec<OpLabel>> {
        let mut last = vec![anchor];
        let Some(communicator) = self.expander.communicator(collective) else { return Ok(last) };
        let tag = tag::collective_tag(communicator, collective.instance);
        for round in self.expand_collective(communicator, collective) {
            // Many operations that require many others are joined, so that dependencies grow with their sum, not their product.
            if last.len().min(round.len()) > 2 {
                let join = self.write_calc(thread, 0)?;
                for before in std::mem::replace(&mut last, vec![join]) {
                    self.write_requires(join, Some(Prerequisite::Finish(before)))?;
                }
            }
            let mut operations = Vec::new();
            for (direction, bytes) in round {
                let operation = self.write_message(thread, direction, bytes, tag)?;
                for before in &last {
                    self.write_requires(operation, Some(Prerequisite::Finish(*before)))?;
                }
                operations.push(operation);
            }
            last = operations;
        }
        Ok(last)
    }

    fn expand_collective(&mut self, communicator: u32, collective: &RankCollective) -> Vec<Vec<(MessageDirection, u64)>> {
        self.expander.rounds(communicator, collective).unwrap_or_else(|error| {
            self.omissions.insert(match error {
                ExpansionError::UnknownNeighbours => GoalOmission::UnknownNeighbours,
                ExpansionError::Intercommunicator => GoalOmission::Intercommunicator,
            });
            Vec::new()
        })
    }

    fn write_calc(&mut self, thread: u16, nanoseconds: i64) -> io::Result<OpLabel> {
        let operation = self.write_label()?;
        write!(self.out, "calc {nanoseconds}")?;
        self.write_cpu(thread)?;
        Ok(operation)
    }

    fn write_message(&mut self, thread: u16, direction: MessageDirection, bytes: u64, tag: u32) -> io::Result<OpLabel> {
        let operation = self.write_label()?;
        // The simulator counts the bytes after the first one, so there must be at least one.
        let bytes = bytes_or_zero(bytes).max(1);
        match direction {
            MessageDirection::To(rank) => write!(self.out, "send {bytes}b to {rank} tag {tag}")?,
            MessageDirection::From(rank) => write!(self.out, "recv {bytes}b from {rank} tag {tag}")?,
        }
        self.write_cpu(thread)?;
        Ok(operation)
    }

    fn write_label(&mut self) -> io::Result<OpLabel> {
        self.next_label += 1;
        write!(self.out, "l{}: ", self.next_label)?;
        Ok(self.next_label)
    }

    /// A thread's CPU, which is a byte; 0 is the default.
    fn write_cpu(&mut self, thread: u16) -> io::Result<()> {
        match thread % 256 {
            0 => writeln!(self.out),
            processor => writeln!(self.out, " cpu {processor}"),
        }
    }

    fn write_requires(&mut self, operation: OpLabel, after: Option<Prerequisite>) -> io::Result<()> {
        match after {
            None => Ok(()),
            Some(Prerequisite::Finish(before)) => writeln!(self.out, "l{operation} requires l{before}"),
            Some(Prerequisite::Start(before)) => writeln!(self.out, "l{operation} irequires l{before}"),
        }
    }

    /// The peer of a message, if it is in the recording.
    fn recorded_rank(&mut self, peer: i32) -> Option<u32> {
        let inside = u32::try_from(peer).ok();
        if inside.is_none() {
            self.omissions.insert(GoalOmission::ExternalProcess);
        }
        inside
    }

    fn message_tag(&mut self, message: comm_event::PointToPointMessage) -> u32 {
        if !tag::is_representable(message.communicator, message.tag) {
            self.omissions.insert(GoalOmission::FoldedTags);
        }
        tag::message_tag(message.communicator, message.tag)
    }

    fn forget_request(&mut self, request: RequestId) {
        self.pending.remove(&request);
        self.posted_receives.remove(&request);
        self.persistent_bytes.remove(&request);
    }
}

/// Bytes that a call sends and receives.
fn call_bytes(call: &ExportedCall) -> (u64, u64) {
    (call.bytes_sent.unwrap_or(0), call.bytes_received.unwrap_or(0))
}

/// Whether the time inside a call without communication events is computation, not waiting.
fn counts_as_compute(role: FunctionRole) -> bool {
    role.is_file() || matches!(role, FunctionRole::Datatype | FunctionRole::Other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{call, example, write_recording, write_recording_with_worlds};
    use sintonia_recording::call_table::CallDescriptor;
    use sintonia_recording::neighbours::{self, TopologyNeighbours};
    use sintonia_recording::raw::{PROC_NULL, part};

    fn schedule() -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.goal");
        let written = write(&example().recording, &path, &|| {}).unwrap();
        assert!(written.notes.is_empty());
        std::fs::read_to_string(&path).unwrap()
    }

    fn rank(number: u32) -> Vec<String> {
        let text = schedule();
        let lines = text.lines().skip_while(|line| *line != format!("rank {number} {{")).skip(1);
        lines.take_while(|line| *line != "}").map(String::from).collect()
    }

    #[test]
    fn every_thread_is_a_chain() {
        let expected = [
            "l1: calc 0",
            "l2: send 1000b to 1 tag 7",
            "l2 requires l1",
            "l3: calc 210 cpu 1",
            "l4: send 2000b to 1 tag 7 cpu 1",
            "l4 requires l3",
            "l5: calc 50",
            "l5 requires l2",
        ];
        assert_eq!(rank(0)[..expected.len()], expected);
    }

    #[test]
    fn a_receive_begins_where_it_was_posted_and_a_wait_requires_what_it_completes() {
        let expected = [
            "l1: calc 0",
            "l2: calc 0",
            "l2 requires l1",
            "l3: calc 0",
            "l3 requires l2",
            "l4: send 16b to 2 tag 9",
            "l4 requires l3",
            "l5: calc 10",
            "l5 irequires l4",
            "l6: recv 1000b from 0 tag 7",
            "l6 requires l1",
            "l7: recv 64b from 2 tag 8",
            "l7 requires l2",
            "l8: calc 0",
            "l8 requires l5",
            "l8 requires l6",
            "l8 requires l4",
            "l8 requires l7",
            "l9: calc 0",
            "l9 requires l8",
            "l10: recv 2000b from 0 tag 7",
            "l10 requires l9",
        ];
        assert_eq!(rank(1)[..expected.len()], expected);
    }

    #[test]
    fn processes_that_were_spawned_finalize_among_themselves() {
        let finalize = || vec![(0, 10, 20, call("MPI_Finalize", 5))];
        let example = write_recording_with_worlds(&[finalize(), finalize(), finalize()], &["0", "1-2"]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.goal");
        write(&example.recording, &path, &|| {}).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let peers: Vec<&str> = text.lines().filter(|line| line.contains("send")).filter_map(|line| line.split(' ').nth(4)).collect();
        assert_eq!(peers, ["2", "1"], "{text}");
    }

    /// A schedule in which the ranks of a line call a neighbourhood collective.
    fn among_neighbours(operation: &str, sent: [u64; 3]) -> String {
        let parts = part::OBJECT | part::SENT | part::RECEIVED;
        let join = |bytes: u64| vec![(0, 10, 20, CallDescriptor { object: 0, sent: bytes, received: bytes, parts, ..call(operation, 5) })];
        let mut example = write_recording(&sent.map(join));
        let there = |rank: i32| if (0..3).contains(&rank) { rank } else { PROC_NULL };
        let both = |rank: i32| vec![there(rank - 1), there(rank + 1)];
        let line = (0..3).map(|rank| (rank as u32, TopologyNeighbours { sources: both(rank), destinations: both(rank) })).collect();
        example.recording.header.communicators[0].neighbours = neighbours::encode(&line);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.goal");
        write(&example.recording, &path, &|| {}).unwrap();
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn what_goes_to_neighbours_is_shared_among_those_there_are() {
        for operation in ["MPI_Neighbor_allgather", "MPI_Neighbor_alltoall"] {
            let text = among_neighbours(operation, [8, 16, 8]);
            let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
            assert_eq!([count("send 8b"), count("recv 8b"), count("send"), count("recv")], [4; 4], "{operation}: {text}");
        }
    }

    #[test]
    fn a_collective_is_messages_that_both_ends_have() {
        let text = schedule();
        let count = |what: &str| text.lines().filter(|line| line.contains(what) && line.ends_with("tag 2147483648")).count();
        assert_eq!((count("send 8b"), count("recv 8b")), (4, 4), "three ranks: one pair doubles, one hands over and gets the result");
    }
}
