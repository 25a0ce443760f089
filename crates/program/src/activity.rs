//! Per-rank totals: calls by descriptor, persistent operations as often as they were started, and the split of its time into MPI and
//! computation.

use std::collections::HashMap;

use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_recording::call_table::{CallDescriptor, CallTable, DescriptorTotals, RequestId};
use sintonia_recording::header::RecordedRank;
use sintonia_recording::raw::part;
use sintonia_recording::{Error, Recording};

use crate::message_flow::{self, MessageFlow};

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
}

/// How a rank's time splits into MPI and computation.
///
/// If several threads call MPI, only the thread that initialised MPI counts: the others may block in MPI all the time without delaying
/// computation. A profile does not distinguish threads; there all of them are summed, capped at the rank's elapsed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSplit {
    /// Nanoseconds in MPI.
    pub mpi_ns: u64,
    /// Nanoseconds of computation: outside MPI, between the first and the last event of the rank.
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
        let first_thread = tables.iter().find(|table| table.thread == 0);
        let mpi_ns = match first_thread {
            Some(table) if rank.threads > 1 => table.enter.iter().zip(&table.leave).map(|(enter, leave)| leave.abs_diff(*enter)).sum(),
            _ => totals.iter().map(|(_, t)| t.total_ns).sum(),
        };
        let started = if starts { started_persistent(&tables) } else { Vec::new() };
        let within =
            |role: FunctionRole| totals.iter().filter(|(descriptor, _)| descriptor.function.role() == role).map(|(_, t)| t.total_ns).sum();
        let time =
            TimeSplit { init_ns: within(FunctionRole::Init), finalize_ns: within(FunctionRole::Finalize), ..TimeSplit::new(rank, mpi_ns) };
        Ok(RankActivity { rank: rank.rank, totals, started_persistent: started, time })
    }

    /// The calls that moved data: those that returned without error, persistent operations once per start.
    pub fn data_calls(&self) -> impl Iterator<Item = &(CallDescriptor, DescriptorTotals)> {
        let called = self.totals.iter().filter(|(descriptor, _)| descriptor.function.definition().mode != BlockingMode::Persistent);
        called.chain(&self.started_persistent).filter(|(descriptor, _)| descriptor.parts & NO_DATA_MARKS == 0)
    }

    /// The point-to-point and one-sided messages it sent to other ranks.
    pub fn sent_flows(&self) -> impl Iterator<Item = MessageFlow> {
        self.data_calls()
            .flat_map(|(descriptor, totals)| message_flow::sent_flows(self.rank, descriptor, totals))
            .filter(MessageFlow::is_between_ranks)
    }
}

impl TimeSplit {
    fn new(rank: &RecordedRank, mpi_ns: u64) -> TimeSplit {
        let all = u64::try_from(rank.end_ns.saturating_sub(rank.begin_ns)).unwrap_or(0);
        let mpi_ns = mpi_ns.min(all);
        TimeSplit { mpi_ns, compute_ns: all - mpi_ns, ..TimeSplit::default() }
    }
}

/// Whether a call starts the requests it lists. (Partition calls list the request they belong to.)
fn is_start(descriptor: &CallDescriptor) -> bool {
    matches!(descriptor.function.role(), FunctionRole::Start | FunctionRole::StartAll)
}

/// The persistent operations of a process by descriptor, counted once per start.
fn started_persistent(tables: &[CallTable]) -> Vec<(CallDescriptor, DescriptorTotals)> {
    let mut made: HashMap<RequestId, (usize, u32)> = HashMap::new();
    for (index, table) in tables.iter().enumerate() {
        for (call, descriptor) in table.calls().zip(&table.descriptor_ids) {
            if let Some(request) = call.request.filter(|_| call.descriptor.function.definition().mode == BlockingMode::Persistent) {
                made.insert(request, (index, *descriptor));
            }
        }
    }
    let mut counts: HashMap<(usize, u32), u64> = HashMap::new();
    let starts = tables.iter().flat_map(CallTable::calls).filter(|call| is_start(call.descriptor));
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
        RankActivity { rank: 1, totals, started_persistent: started, time: TimeSplit::default() }
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
        let started = started_persistent(&[first, second]);
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

    #[test]
    fn time_outside_mpi_is_what_is_left() {
        let rank = RecordedRank { begin_ns: 100, end_ns: 1100, ..RecordedRank::default() };
        assert_eq!(TimeSplit::new(&rank, 300), TimeSplit { mpi_ns: 300, compute_ns: 700, ..TimeSplit::default() });
        assert_eq!(TimeSplit::new(&rank, 5000), TimeSplit { mpi_ns: 1000, ..TimeSplit::default() });
        assert_eq!(TimeSplit::new(&RecordedRank { begin_ns: 5, ..RecordedRank::default() }, 1), TimeSplit::default());
    }
}
