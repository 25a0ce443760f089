//! GOAL, the schedule that LogGOPSim and ATLAHS replay: per rank what it computes, sends and receives, and what must be done before what.
//!
//! Computation between calls is a `calc`; how long MPI took is left to the simulator. Each thread is a chain: an operation `requires` the
//! one before it, or `irequires` (needs it only to have begun) where that was a nonblocking send. A wait requires what it completes; a
//! nonblocking receive, whose sender is known only when it completes, stands there but requires what came before it was begun.
//!
//! Schedules of other tools are read into a [`Goal`], which the replay plays.

mod build;
mod collective;
pub mod graph;
pub(crate) mod group;
mod read;
pub(crate) mod tag;

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::Path;

use sintonia_mpi::Role;
use sintonia_recording::Recording;
use sintonia_recording::deed::{self, Deed, Purpose};
use sintonia_recording::raw::known_bytes;
use sintonia_recording::table::RequestId;

use crate::error::At;
use crate::requests::Requests;
use crate::rows::{self, Row};
use crate::{Error, Written, single};
use collective::ALGORITHMS;
pub use graph::Goal;
use group::{Groups, Joined, Untold, Way};
pub use read::{Told, read};

/// Writes the schedule of a recording; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<Written, Error> {
    let header = &recording.header;
    rows::check_for_calls(header)?;
    let mut left_out = BTreeSet::new();
    let mut written = single::write(path, |out| {
        write_title(out, recording).at(path)?;
        let mut known = header.ranks.iter().peekable();
        for rank in 0..header.rank_count() {
            writeln!(out, "rank {rank} {{").at(path)?;
            if known.next_if(|known| known.rank == rank).is_some() {
                let mut schedule = Schedule::of(recording, rank, &mut *out, &mut left_out);
                rows::each(recording, rank, |row| schedule.call(row).at(path))?;
                schedule.finish().at(path)?;
                progress();
            } else {
                // A simulator may expect everyone to do something.
                writeln!(out, "l1: calc 0").at(path)?;
            }
            writeln!(out, "}}\n").at(path)?;
        }
        Ok(())
    })?;
    written.notes.extend(left_out.into_iter().map(|left_out| left_out.sentence().to_owned()));
    Ok(written)
}

fn write_title(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    let command = recording.header.command.join(" ").replace(char::is_control, " ");
    writeln!(out, "num_ranks {}\n", recording.header.rank_count())?;
    writeln!(out, "// {command}")?;
    writeln!(out, "// calc in nanoseconds outside MPI; empty messages have one byte; a tag holds the communicator in the bits from 23 on")?;
    for algorithm in ALGORITHMS {
        writeln!(out, "// {algorithm}")?;
    }
    writeln!(out)
}

/// What the recording shows but the schedule does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LeftOut {
    Neighbourhood,
    BetweenGroups,
    OneSided,
    Outside,
    Folded,
}

impl LeftOut {
    fn sentence(self) -> &'static str {
        match self {
            LeftOut::Neighbourhood => "neighbourhood collectives are left out where the recording does not tell the neighbours",
            LeftOut::BetweenGroups => "collectives between two groups are left out",
            LeftOut::OneSided => "one-sided transfers are left out: GOAL has none",
            LeftOut::Outside => "messages from and to processes outside the recording are left out",
            LeftOut::Folded => {
                "tags from 8388608 or communicators from 256 on share numbers with smaller ones: messages that differ in nothing else may match each other"
            }
        }
    }
}

/// An operation of the schedule, by the number in its label.
type Operation = u64;

/// What the next operation of a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// That this one is done.
    Done(Operation),
    /// That this one has begun.
    Begun(Operation),
}

/// How far a thread is.
struct Thread {
    last: Option<After>,
    /// When its last call ended.
    leave: i64,
    /// Nanoseconds of computation before that which no operation stands for yet.
    computed: i64,
}

impl Thread {
    fn compute(&mut self, nanoseconds: i64) {
        self.computed = self.computed.saturating_add(nanoseconds.max(0));
    }
}

/// What one call adds to a thread.
struct Step {
    /// The computation before the call.
    anchor: Operation,
    /// What must be done when the call returns.
    done: Vec<Operation>,
    /// What must have begun when the call returns.
    begun: Vec<Operation>,
    /// Whether some of `done` does not itself wait for the anchor, since an earlier call began it.
    earlier: bool,
}

/// The schedule of one rank under way.
struct Schedule<'a, W> {
    out: &'a mut W,
    left_out: &'a mut BTreeSet<LeftOut>,
    next: Operation,
    /// When the rank began to do anything.
    start: Option<i64>,
    threads: HashMap<u16, Thread>,
    /// The last operations of sends and collectives under way.
    begun: Requests<RequestId, Vec<Operation>>,
    /// What receives under way wait for before they begin.
    posted: Requests<RequestId, Operation>,
    /// Bytes that persistent collectives send and receive each time they are started.
    prepared: HashMap<RequestId, (u64, u64)>,
    groups: Groups<'a>,
}

impl<'a, W: Write> Schedule<'a, W> {
    fn of(recording: &'a Recording, rank: u32, out: &'a mut W, left_out: &'a mut BTreeSet<LeftOut>) -> Schedule<'a, W> {
        let (begun, posted) = (Requests::default(), Requests::default());
        let (threads, prepared, groups) = (HashMap::new(), HashMap::new(), Groups::of(recording, rank));
        Schedule { out, left_out, next: 0, start: None, threads, begun, posted, prepared, groups }
    }

    fn call(&mut self, row: &Row) -> io::Result<()> {
        let role = row.operation.role();
        let start = *self.start.get_or_insert(if role == Role::Init { row.leave } else { row.enter });
        let thread = self.threads.entry(row.thread).or_insert(Thread { last: None, leave: start, computed: 0 });
        thread.compute(row.enter.saturating_sub(thread.leave));
        thread.leave = row.leave;
        match role {
            Role::RequestFree => row.listed.iter().for_each(|(request, _)| self.forget(*request)),
            Role::Put | Role::Get | Role::Exchange => _ = self.left_out.insert(LeftOut::OneSided),
            _ if row.deeds.iter().any(|deed| !matches!(deed, Deed::Join { purpose: Purpose::Init, .. })) => return self.step(row),
            Role::Collective(_) => self.prepare(row),
            _ if is_work(role) => thread.compute(row.leave.saturating_sub(row.enter)),
            _ => {}
        }
        Ok(())
    }

    /// Remembers the bytes of a persistent collective, which the calls that start it do not say.
    fn prepare(&mut self, row: &Row) {
        let request = row.request.map(|number| RequestId { thread: row.thread, number });
        self.prepared.extend(request.map(|request| (request, bytes(row))));
    }

    /// Writes what a call does.
    fn step(&mut self, row: &Row) -> io::Result<()> {
        let (computed, last) = self.threads.get_mut(&row.thread).map_or((0, None), |t| (std::mem::take(&mut t.computed), t.last));
        let anchor = self.calc(row.thread, computed)?;
        self.after(anchor, last)?;
        let mut step = Step { anchor, done: Vec::new(), begun: Vec::new(), earlier: false };
        for deed in &row.deeds {
            self.deed(row, deed, &mut step)?;
        }
        let last = self.join(row.thread, &step)?;
        if let Some(thread) = self.threads.get_mut(&row.thread) {
            thread.last = Some(last);
        }
        Ok(())
    }

    /// Writes the computation after the last call that did something, for each thread that was seen to end later.
    fn finish(&mut self) -> io::Result<()> {
        let mut left: Vec<(u16, i64, Option<After>)> = self.threads.iter().map(|(thread, t)| (*thread, t.computed, t.last)).collect();
        left.sort_unstable_by_key(|(thread, ..)| *thread);
        for (thread, computed, last) in left.into_iter().filter(|(_, computed, last)| *computed > 0 || last.is_none()) {
            let calc = self.calc(thread, computed)?;
            self.after(calc, last)?;
        }
        Ok(())
    }

    fn deed(&mut self, row: &Row, deed: &Deed, step: &mut Step) -> io::Result<()> {
        match *deed {
            Deed::Send { message, request, .. } => {
                let Some(peer) = self.inside(message.peer) else { return Ok(()) };
                let tag = self.message_tag(message);
                let send = self.message(row.thread, Way::To(peer), message.bytes, tag)?;
                self.after(send, Some(After::Done(step.anchor)))?;
                match request {
                    Some(request) => {
                        self.begun.insert(request, vec![send]);
                        step.begun.push(send);
                    }
                    None => step.done.push(send),
                }
            }
            Deed::Receive { message, request, .. } => {
                let began = request.and_then(|request| self.posted.remove(&request));
                let Some(peer) = self.inside(message.peer) else { return Ok(()) };
                let tag = self.message_tag(message);
                let receive = self.message(row.thread, Way::From(peer), message.bytes, tag)?;
                self.after(receive, Some(After::Done(began.unwrap_or(step.anchor))))?;
                step.done.push(receive);
                step.earlier |= began.is_some();
            }
            Deed::Post { request } => _ = self.posted.insert(request, step.anchor),
            Deed::Cancel { request } => self.forget(request),
            Deed::Sent { request, .. } | Deed::Joined { request, .. } => {
                step.done.extend(self.begun.remove(&request).unwrap_or_default());
                step.earlier = true;
            }
            Deed::Join { meeting, purpose, root, request } => {
                let prepared = request.and_then(|request| self.prepared.get(&request).copied());
                let (sent, received) = prepared.unwrap_or(bytes(row));
                let last = self.collective(row.thread, &Joined { meeting, purpose, root, sent, received }, step.anchor)?;
                match request {
                    Some(request) => _ = self.begun.insert(request, last),
                    None => step.done.extend(last),
                }
            }
        }
        Ok(())
    }

    /// Brings together what a call waits for, and says what the next one waits for.
    fn join(&mut self, thread: u16, step: &Step) -> io::Result<After> {
        match (&step.done[..], &step.begun[..]) {
            ([], []) => return Ok(After::Done(step.anchor)),
            ([done], []) if !step.earlier => return Ok(After::Done(*done)),
            ([], [begun]) => return Ok(After::Begun(*begun)),
            _ => {}
        }
        let join = self.calc(thread, 0)?;
        let anchor = step.earlier.then_some(After::Done(step.anchor));
        let done = step.done.iter().copied().map(After::Done);
        for after in anchor.into_iter().chain(done).chain(step.begun.iter().copied().map(After::Begun)) {
            self.after(join, Some(after))?;
        }
        Ok(After::Done(join))
    }

    /// Writes an operation of a group, and gives what must be done for it to be complete.
    fn collective(&mut self, thread: u16, joined: &Joined, anchor: Operation) -> io::Result<Vec<Operation>> {
        let mut last = vec![anchor];
        let Some(communicator) = self.groups.communicator(joined) else { return Ok(last) };
        let tag = tag::of_meeting(communicator, joined.meeting);
        for round in self.rounds(communicator, joined) {
            let mut operations = Vec::new();
            for (way, bytes) in round {
                let operation = self.message(thread, way, bytes, tag)?;
                for before in &last {
                    self.after(operation, Some(After::Done(*before)))?;
                }
                operations.push(operation);
            }
            last = operations;
        }
        Ok(last)
    }

    /// The messages of this rank in an operation of a group, round by round.
    fn rounds(&mut self, communicator: u32, joined: &Joined) -> Vec<Vec<(Way, u64)>> {
        self.groups.rounds(communicator, joined).unwrap_or_else(|untold| {
            self.left_out.insert(match untold {
                Untold::Neighbourhood => LeftOut::Neighbourhood,
                Untold::BetweenGroups => LeftOut::BetweenGroups,
            });
            Vec::new()
        })
    }

    fn calc(&mut self, thread: u16, nanoseconds: i64) -> io::Result<Operation> {
        let operation = self.label()?;
        write!(self.out, "calc {nanoseconds}")?;
        self.end_operation(thread)?;
        Ok(operation)
    }

    fn message(&mut self, thread: u16, way: Way, bytes: u64, tag: u32) -> io::Result<Operation> {
        let operation = self.label()?;
        // The simulator counts the bytes after the first one, so there must be one.
        let bytes = known_bytes(bytes).max(1);
        match way {
            Way::To(rank) => write!(self.out, "send {bytes}b to {rank} tag {tag}")?,
            Way::From(rank) => write!(self.out, "recv {bytes}b from {rank} tag {tag}")?,
        }
        self.end_operation(thread)?;
        Ok(operation)
    }

    fn label(&mut self) -> io::Result<Operation> {
        self.next += 1;
        write!(self.out, "l{}: ", self.next)?;
        Ok(self.next)
    }

    /// The thread's processor, which is counted in a byte; the first is the usual one.
    fn end_operation(&mut self, thread: u16) -> io::Result<()> {
        match thread % 256 {
            0 => writeln!(self.out),
            processor => writeln!(self.out, " cpu {processor}"),
        }
    }

    fn after(&mut self, operation: Operation, after: Option<After>) -> io::Result<()> {
        match after {
            None => Ok(()),
            Some(After::Done(before)) => writeln!(self.out, "l{operation} requires l{before}"),
            Some(After::Begun(before)) => writeln!(self.out, "l{operation} irequires l{before}"),
        }
    }

    /// The other end of a message, if it is in the recording.
    fn inside(&mut self, peer: i32) -> Option<u32> {
        let inside = u32::try_from(peer).ok();
        if inside.is_none() {
            self.left_out.insert(LeftOut::Outside);
        }
        inside
    }

    fn message_tag(&mut self, message: deed::Message) -> u32 {
        if !tag::fits(message.communicator, message.tag) {
            self.left_out.insert(LeftOut::Folded);
        }
        tag::of_message(message.communicator, message.tag)
    }

    /// A request that nobody completes.
    fn forget(&mut self, request: RequestId) {
        self.begun.remove(&request);
        self.posted.remove(&request);
        self.prepared.remove(&request);
    }
}

/// Bytes that a call sends and receives.
fn bytes(row: &Row) -> (u64, u64) {
    (row.bytes_sent.unwrap_or(0), row.bytes_received.unwrap_or(0))
}

/// Whether the time inside a call that does nothing to other ranks is the rank's own, and not spent waiting for others.
fn is_work(role: Role) -> bool {
    role.is_file() || matches!(role, Role::Datatype | Role::Other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{call, example, in_worlds, written};
    use sintonia_recording::neighbours::{self, Neighbours};
    use sintonia_recording::raw::{PROC_NULL, part};
    use sintonia_recording::table::Shape;

    fn schedule() -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.goal");
        let written = write(&example().recording, &path, &|| {}).unwrap();
        assert!(written.notes.is_empty());
        std::fs::read_to_string(&path).unwrap()
    }

    /// The lines of a rank.
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
        let example = in_worlds(&[finalize(), finalize(), finalize()], &["0", "1-2"]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.goal");
        write(&example.recording, &path, &|| {}).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let peers: Vec<&str> = text.lines().filter(|line| line.contains("send")).filter_map(|line| line.split(' ').nth(4)).collect();
        assert_eq!(peers, ["2", "1"], "{text}");
    }

    /// A schedule in which all ranks of a line, each with one before and one after it, call a neighbourhood collective.
    fn among_neighbours(operation: &str, sent: [u64; 3]) -> String {
        let parts = part::OBJECT | part::SENT | part::RECEIVED;
        let join = |bytes: u64| vec![(0, 10, 20, Shape { object: 0, sent: bytes, received: bytes, parts, ..call(operation, 5) })];
        let mut example = written(&sent.map(join));
        let there = |rank: i32| if (0..3).contains(&rank) { rank } else { PROC_NULL };
        let both = |rank: i32| vec![there(rank - 1), there(rank + 1)];
        let line = (0..3).map(|rank| (rank as u32, Neighbours { sources: both(rank), destinations: both(rank) })).collect();
        example.recording.header.communicators[0].neighbours = neighbours::write(&line);
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
