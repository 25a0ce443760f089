//! Per-rank totals: calls by descriptor, persistent operations as often as they were started, and the split of its time into MPI and
//! computation.

use std::collections::HashMap;

use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_recording::call_table::{CallDescriptor, CallTable, DescriptorTotals, RequestId};
use sintonia_recording::excerpt::ThreadExcerpt;
use sintonia_recording::header::RecordedRank;
use sintonia_recording::raw::part;
use sintonia_recording::{Error, Recording};

use crate::message_flow::{self, MessageFlow};
use crate::thread_time::{self, ThreadTime};

/// Flags of calls that moved no data: they failed, completed nothing, or never returned.
const NO_DATA_MARKS: u16 = part::ERROR | part::UNFINISHED | part::FLAG_FALSE;

/// The totals of one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankActivity {
    /// The rank.
    pub rank: u32,
    /// Its calls by descriptor.
    pub totals: Vec<(CallDescriptor, DescriptorTotals)>,
    /// Its persistent operations, counted once per start.
    pub started_persistent: Vec<(CallDescriptor, DescriptorTotals)>,
    /// How its time splits into MPI and computation.
    pub time: TimeSplit,
    /// The same for each thread that calls MPI, the main thread first.
    pub threads: Vec<ThreadTime>,
}

/// How a rank's time splits into MPI and computation, summed over its threads that call MPI.
///
/// A profile does not tell when threads other than the main one were active; of them only the time in MPI counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSplit {
    /// Nanoseconds in MPI.
    pub mpi_ns: u64,
    /// Nanoseconds of computation: outside MPI, while a thread was active and not known to be blocked.
    pub compute_ns: u64,
    /// Nanoseconds in `MPI_Init`, part of `mpi_ns`.
    pub init_ns: u64,
    /// Nanoseconds in `MPI_Finalize`, part of `mpi_ns`.
    pub finalize_ns: u64,
}

impl RankActivity {
    /// Reads the totals of one rank.
    pub fn read(recording: &Recording, rank: &RecordedRank) -> Result<RankActivity, Error> {
        let totals = recording.totals(rank.rank)?;
        let starts = totals.iter().any(|(descriptor, _)| is_start(descriptor));
        let needs_calls = !recording.header.profile && (starts || rank.threads > 1);
        let tables = if needs_calls { recording.tables(rank.rank)? } else { Vec::new() };
        let started = if starts { started_persistent(&tables, &recording.counted_tables(rank.rank)?) } else { Vec::new() };
        let within =
            |role: FunctionRole| totals.iter().filter(|(descriptor, _)| descriptor.function.role() == role).map(|(_, t)| t.total_ns).sum();
        let threads = read_threads(recording, rank, &tables, totals.iter().map(|(_, t)| t.total_ns).sum())?;
        let time = TimeSplit {
            init_ns: within(FunctionRole::Init),
            finalize_ns: within(FunctionRole::Finalize),
            mpi_ns: threads.iter().map(|thread| thread.mpi_ns).sum(),
            compute_ns: threads.iter().map(|thread| thread.compute_ns).sum(),
        };
        Ok(RankActivity { rank: rank.rank, totals, started_persistent: started, time, threads })
    }

    /// The calls that moved data: those that returned without error, persistent operations once per start.
    pub fn data_calls(&self) -> impl Iterator<Item = &(CallDescriptor, DescriptorTotals)> {
        let called = self.totals.iter().filter(|(descriptor, _)| moves_data_itself(descriptor));
        called.chain(self.started_persistent.iter().filter(|(descriptor, _)| descriptor.parts & NO_DATA_MARKS == 0))
    }

    /// The point-to-point and one-sided messages it sent to other ranks.
    pub fn sent_flows(&self) -> impl Iterator<Item = MessageFlow> {
        self.data_calls()
            .flat_map(|(descriptor, totals)| message_flow::sent_flows(self.rank, descriptor, totals))
            .filter(MessageFlow::is_between_ranks)
    }
}

/// Whether a call with this descriptor moves data: it returned without error, and is not one that only makes a persistent request.
pub(crate) fn moves_data_itself(descriptor: &CallDescriptor) -> bool {
    descriptor.function.definition().mode != BlockingMode::Persistent && descriptor.parts & NO_DATA_MARKS == 0
}

/// The times of the threads of a rank whose calls took `mpi_ns`.
fn read_threads(recording: &Recording, rank: &RecordedRank, tables: &[CallTable], mpi_ns: u64) -> Result<Vec<ThreadTime>, Error> {
    if rank.threads > 1 && recording.header.profile {
        let threads = recording.profile_threads(rank.rank)?.into_iter().enumerate();
        return Ok(threads.map(|(index, (thread, ns))| ThreadTime::from_profile(rank, thread, index == 0, ns)).collect());
    }
    if tables.len() > 1 {
        let excerpt = recording.excerpt_threads(rank.rank);
        return Ok(thread_time::thread_times(rank, tables, &recording.off_cpu(rank.rank)?, excerpt));
    }
    let only = recording.excerpt_threads(rank.rank).and_then(|threads| threads.first());
    Ok(vec![ThreadTime::only(rank, mpi_ns, only.map_or(0, ThreadExcerpt::outside_ns))])
}

/// Whether a call starts the requests it lists. (Partition calls list the request they belong to.)
fn is_start(descriptor: &CallDescriptor) -> bool {
    matches!(descriptor.function.role(), FunctionRole::Start | FunctionRole::StartAll)
}

/// The persistent operations of a process by descriptor, counted once per start; `starting` are its calls that count.
fn started_persistent(tables: &[CallTable], starting: &[CallTable]) -> Vec<(CallDescriptor, DescriptorTotals)> {
    let mut made: HashMap<RequestId, (usize, u32)> = HashMap::new();
    for (index, table) in tables.iter().enumerate() {
        for (call, descriptor) in table.calls().zip(&table.descriptor_ids) {
            if let Some(request) = call.request.filter(|_| call.descriptor.function.definition().mode == BlockingMode::Persistent) {
                made.insert(request, (index, *descriptor));
            }
        }
    }
    let mut counts: HashMap<(usize, u32), u64> = HashMap::new();
    let starts = starting.iter().flat_map(CallTable::calls).filter(|call| is_start(call.descriptor));
    for (request, _) in starts.flat_map(|call| call.requests()) {
        if let Some(operation) = made.get(&request) {
            *counts.entry(*operation).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    counts.into_iter().map(|((table, descriptor), calls)| repeat_calls(&tables[table].descriptors[descriptor as usize], calls)).collect()
}

/// A descriptor with the totals of `calls` calls.
fn repeat_calls(descriptor: &CallDescriptor, calls: u64) -> (CallDescriptor, DescriptorTotals) {
    let (sent, received) = (descriptor.bytes_sent().saturating_mul(calls), descriptor.bytes_received().saturating_mul(calls));
    (descriptor.clone(), DescriptorTotals { calls, sent, received, ..DescriptorTotals::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::raw::{self, RequestRef};
    use sintonia_recording::testing::{call, call_table, completed_receive, descriptor_totals};

    fn activity(totals: Vec<(CallDescriptor, DescriptorTotals)>, started: Vec<(CallDescriptor, DescriptorTotals)>) -> RankActivity {
        RankActivity { rank: 1, totals, started_persistent: started, ..RankActivity::default() }
    }

    fn start(requests: &[RequestRef]) -> CallDescriptor {
        call("MPI_Startall").mark(part::STARTED).requests(requests.iter().map(|r| completed_receive(*r, raw::NONE, 0)))
    }

    #[test]
    fn persistent_operations_count_as_often_as_they_are_started() {
        let first = call_table(
            0,
            vec![
                call("MPI_Send_init").peer(2).sent(100),
                call("MPI_Isend").peer(0).sent(5),
                call("MPI_Recv_init").peer(3).received(7),
                start(&[RequestRef::Relative(0), RequestRef::Relative(2)]),
                start(&[RequestRef::Relative(2)]),
                call("MPI_Irecv").peer(0).received(5),
                start(&[RequestRef::Relative(3)]),
            ],
        );
        let second = call_table(1, vec![start(&[RequestRef::Absolute(0, 0), RequestRef::Absolute(7, 0)])]);
        let tables = [first, second];
        let started = started_persistent(&tables, &tables);
        let counts: Vec<(&str, u64, u64)> = started.iter().map(|(s, t)| (s.function.name(), t.calls, t.sent)).collect();
        assert_eq!(counts, [("MPI_Send_init", 4, 400), ("MPI_Recv_init", 1, 0)]);
        let sent: Vec<MessageFlow> =
            activity(vec![descriptor_totals(call("MPI_Send_init").peer(2).sent(100), 1)], started).sent_flows().collect();
        assert_eq!(sent, [MessageFlow { from: 1, to: 2, messages: 4, bytes: 400 }]);
    }

    #[test]
    fn calls_that_moved_nothing_send_nothing() {
        let send = |peer, mark| descriptor_totals(call("MPI_Send").peer(peer).sent(8).mark(mark), 1);
        let marked = [part::ERROR, part::UNFINISHED].map(|mark| send(2, mark));
        let elsewhere = [raw::PROC_NULL, raw::EXTERNAL, 1].map(|peer| send(peer, 0));
        let activity = activity(marked.into_iter().chain(elsewhere).collect(), vec![]);
        assert_eq!(activity.sent_flows().count(), 0);
    }
}
