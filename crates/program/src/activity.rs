//! What one rank did: its calls summed up by shape, and how long it computed.

use std::collections::HashMap;

use sintonia_mpi::{Mode, Role};
use sintonia_recording::header::Rank;
use sintonia_recording::raw::part;
use sintonia_recording::table::{CallTable, RequestId, Shape, Totals};
use sintonia_recording::{Error, Recording};

use crate::flow::{self, Flow};

/// Marks of calls that moved no data: they failed, found nothing, or never came back.
const NOTHING_MOVED: u16 = part::ERROR | part::UNFINISHED | part::FOUND_NOTHING;

/// What one rank did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Activity {
    /// The rank.
    pub rank: u32,
    /// Its calls, summed up by shape.
    pub totals: Vec<(Shape, Totals)>,
    /// Its persistent operations, as often as they were started.
    pub started: Vec<(Shape, Totals)>,
    /// Where its time went.
    pub time: Time,
}

/// How a rank's time divides.
///
/// Where several threads call MPI, it is the time of the first of them, the one that started MPI: other threads may wait in MPI all the
/// time without holding up the computation. A profile does not tell threads apart; there all are added, up to the time there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Nanoseconds inside MPI.
    pub mpi_ns: u64,
    /// Nanoseconds outside MPI, between the first moment of the recording and the last.
    pub outside_ns: u64,
    /// Nanoseconds in `MPI_Init`, part of `mpi_ns`.
    pub init_ns: u64,
    /// Nanoseconds in `MPI_Finalize`, part of `mpi_ns`.
    pub finalize_ns: u64,
}

impl Activity {
    /// Reads what one rank of a recording did.
    pub fn read(recording: &Recording, rank: &Rank) -> Result<Activity, Error> {
        let totals = recording.totals(rank.rank)?;
        let starts = totals.iter().any(|(shape, _)| is_start(shape));
        let needs_calls = !recording.header.profile && (starts || rank.threads > 1);
        let tables = if needs_calls { recording.tables(rank.rank)? } else { Vec::new() };
        let first_thread = tables.iter().find(|table| table.thread == 0);
        let mpi_ns = match first_thread {
            Some(table) if rank.threads > 1 => table.enter.iter().zip(&table.leave).map(|(enter, leave)| leave.abs_diff(*enter)).sum(),
            _ => totals.iter().map(|(_, t)| t.nanoseconds).sum(),
        };
        let started = if starts { started(&tables) } else { Vec::new() };
        let within = |role: Role| totals.iter().filter(|(shape, _)| shape.operation.role() == role).map(|(_, t)| t.nanoseconds).sum();
        let time = Time { init_ns: within(Role::Init), finalize_ns: within(Role::Finalize), ..Time::new(rank, mpi_ns) };
        Ok(Activity { rank: rank.rank, totals, started, time })
    }

    /// The calls that moved data: those that came back without error, persistent operations as often as they were started.
    pub fn done(&self) -> impl Iterator<Item = &(Shape, Totals)> {
        let called = self.totals.iter().filter(|(shape, _)| shape.operation.function().mode != Mode::Persistent);
        called.chain(&self.started).filter(|(shape, _)| shape.parts & NOTHING_MOVED == 0)
    }

    /// The messages it sent to other ranks, point to point and one-sided.
    pub fn sent(&self) -> impl Iterator<Item = Flow> {
        self.done().flat_map(|(shape, totals)| flow::sent(self.rank, shape, totals)).filter(Flow::is_between_ranks)
    }
}

impl Time {
    fn new(rank: &Rank, mpi_ns: u64) -> Time {
        let all = u64::try_from(rank.end_ns.saturating_sub(rank.begin_ns)).unwrap_or(0);
        let mpi_ns = mpi_ns.min(all);
        Time { mpi_ns, outside_ns: all - mpi_ns, ..Time::default() }
    }
}

/// Whether a call starts the requests it lists; calls about partitions list the request they belong to.
fn is_start(shape: &Shape) -> bool {
    matches!(shape.operation.role(), Role::Start | Role::StartAll)
}

/// The persistent operations of a process by shape, counted as often as they were started.
fn started(tables: &[CallTable]) -> Vec<(Shape, Totals)> {
    let mut made: HashMap<RequestId, (usize, u32)> = HashMap::new();
    for (place, table) in tables.iter().enumerate() {
        for (call, shape) in table.calls().zip(&table.shape) {
            if let Some(request) = call.request.filter(|_| call.shape.operation.function().mode == Mode::Persistent) {
                made.insert(request, (place, *shape));
            }
        }
    }
    let mut counts: HashMap<(usize, u32), u64> = HashMap::new();
    let starts = tables.iter().flat_map(CallTable::calls).filter(|call| is_start(call.shape));
    for (request, _) in starts.flat_map(|call| call.listed()) {
        if let Some(operation) = made.get(&request) {
            *counts.entry(*operation).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable();
    counts.into_iter().map(|((table, shape), calls)| repeated(&tables[table].shapes[shape as usize], calls)).collect()
}

/// A shape and what it sums up to when it is called so often.
fn repeated(shape: &Shape, calls: u64) -> (Shape, Totals) {
    let (sent, received) = (shape.bytes_sent().saturating_mul(calls), shape.bytes_received().saturating_mul(calls));
    (shape.clone(), Totals { calls, sent, received, ..Totals::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, calls, completed, shape, table};
    use sintonia_recording::raw::{self, RequestRef};

    fn activity(totals: Vec<(Shape, Totals)>, started: Vec<(Shape, Totals)>) -> Activity {
        Activity { rank: 1, totals, started, time: Time::default() }
    }

    fn start(requests: &[RequestRef]) -> Sample {
        let requests = requests.iter().map(|r| completed(*r, raw::NONE, 0)).collect();
        shape("MPI_Startall").mark(part::STARTED).requests(requests)
    }

    #[test]
    fn persistent_operations_count_as_often_as_they_are_started() {
        let first = table(
            0,
            vec![
                shape("MPI_Send_init").peer(2).sent(100).mark(part::REQUEST),
                shape("MPI_Isend").peer(0).sent(5).mark(part::REQUEST),
                shape("MPI_Recv_init").peer(3).received(7).mark(part::REQUEST),
                start(&[RequestRef::Ago(0), RequestRef::Ago(2)]),
                start(&[RequestRef::Ago(2)]),
                shape("MPI_Irecv").peer(0).received(5).mark(part::REQUEST),
                start(&[RequestRef::Ago(3)]),
            ],
        );
        let second = table(1, vec![start(&[RequestRef::Of(0, 0), RequestRef::Of(7, 0)])]);
        let started = started(&[first, second]);
        let counts: Vec<(&str, u64, u64)> = started.iter().map(|(s, t)| (s.operation.name(), t.calls, t.sent)).collect();
        assert_eq!(counts, [("MPI_Send_init", 4, 400), ("MPI_Recv_init", 1, 0)]);
        let sent: Vec<Flow> = activity(vec![calls(shape("MPI_Send_init").peer(2).sent(100), 1)], started).sent().collect();
        assert_eq!(sent, [Flow { from: 1, to: 2, messages: 4, bytes: 400 }]);
    }

    #[test]
    fn calls_that_moved_nothing_send_nothing() {
        let send = |peer, mark| calls(shape("MPI_Send").peer(peer).sent(8).mark(mark), 1);
        let marked = [part::ERROR, part::UNFINISHED].map(|mark| send(2, mark));
        let elsewhere = [raw::PROC_NULL, raw::OUTSIDE, 1].map(|peer| send(peer, 0));
        let activity = activity(marked.into_iter().chain(elsewhere).collect(), vec![]);
        assert_eq!(activity.sent().count(), 0);
    }

    #[test]
    fn time_outside_mpi_is_what_is_left() {
        let rank = Rank { begin_ns: 100, end_ns: 1100, ..Rank::default() };
        assert_eq!(Time::new(&rank, 300), Time { mpi_ns: 300, outside_ns: 700, ..Time::default() });
        assert_eq!(Time::new(&rank, 5000), Time { mpi_ns: 1000, ..Time::default() });
        assert_eq!(Time::new(&Rank { begin_ns: 5, ..Rank::default() }, 1), Time::default());
    }
}
