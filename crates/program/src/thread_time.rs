//! How the time of each thread that calls MPI splits into MPI, computation and time blocked outside MPI.
//!
//! The main thread, which initialised MPI, is active from the begin to the end of its rank. Another thread is active from entering its first
//! call to leaving its last one: before and after, it need not exist. The same holds for each of several threads that had one number, one
//! after the other. A thread that only polls is in MPI between two polls too.
//!
//! A thread blocked outside MPI waits for another thread, sleeps or reads a file; it does not compute. This is known where the recording has
//! context switches or processor times. It counts only in ranks with several threads that call MPI, where waiting for each other is usual.

use sintonia_recording::call_table::CallTable;
use sintonia_recording::excerpt::ThreadExcerpt;
use sintonia_recording::header::RecordedRank;
use sintonia_recording::host::OffCpuSource;
use sintonia_recording::off_cpu::ThreadOffCpu;
use sintonia_recording::raw::part;

/// Longest gap after an unsuccessful test or probe that belongs to polling, as in replays; or the duration of the poll, if longer.
const MAX_POLL_GAP_NS: i64 = 2000;

/// A thread whose time outside MPI is at most one part in this many of its active time is a communication thread.
const COMMUNICATION_THREAD_PARTS: u64 = 20;

/// The time of one thread that calls MPI. MPI, computation and blocked time make up its active time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Its number in the process.
    pub thread: u16,
    /// Whether it is the main thread.
    pub main: bool,
    /// When it began to be active.
    pub begin_ns: i64,
    /// When it ceased to be active.
    pub end_ns: i64,
    /// Nanoseconds in between that are not active: from the last call of a thread to the first call of the next one with its number.
    pub absent_ns: u64,
    /// Nanoseconds in MPI, including polling.
    pub mpi_ns: u64,
    /// Nanoseconds of computation.
    pub compute_ns: u64,
    /// Nanoseconds blocked outside MPI; 0 if not known.
    pub blocked_ns: u64,
    /// Whether blocked time is known.
    pub blocked_known: bool,
    /// Number of calls.
    pub calls: u64,
}

impl ThreadTime {
    /// The only thread of a rank that calls MPI; `outside_ns` of its time are not in the part of the run that counts.
    pub(crate) fn only(rank: &RecordedRank, mpi_ns: u64, outside_ns: u64) -> ThreadTime {
        let time = ThreadTime::from_profile(rank, 0, true, mpi_ns);
        let absent_ns = outside_ns.min(time.compute_ns);
        ThreadTime { calls: rank.calls, absent_ns, compute_ns: time.compute_ns - absent_ns, ..time }
    }

    /// A thread of which only the time in MPI is known. If it is not the main thread, it is not known either when it was active.
    pub(crate) fn from_profile(rank: &RecordedRank, thread: u16, main: bool, mpi_ns: u64) -> ThreadTime {
        let (begin_ns, end_ns) = if main { (rank.begin_ns, rank.end_ns) } else { (0, mpi_ns.min(i64::MAX as u64) as i64) };
        let mpi_ns = mpi_ns.min(length_ns(begin_ns, end_ns));
        let compute_ns = length_ns(begin_ns, end_ns) - mpi_ns;
        ThreadTime { thread, main, begin_ns, end_ns, mpi_ns, compute_ns, ..ThreadTime::default() }
    }

    /// A thread of a rank with several threads that call MPI.
    fn from_table(
        rank: &RecordedRank,
        table: &CallTable,
        main: bool,
        off_cpu: &[ThreadOffCpu],
        excerpt: Option<&ThreadExcerpt>,
    ) -> ThreadTime {
        let (first, last) = (table.enter.first().copied().unwrap_or(0), table.leave.last().copied().unwrap_or(0));
        let (begin_ns, end_ns) = if main { (rank.begin_ns.min(first), rank.end_ns.max(last)) } else { (first, last) };
        let outside_ns = excerpt.map_or(0, ThreadExcerpt::outside_ns);
        let intervals = off_cpu.iter().find(|intervals| intervals.thread == table.thread);
        let reused_ns = intervals.map_or(0, |intervals| absent_ns(table, intervals));
        let absent_ns = reused_ns.saturating_add(outside_ns).min(length_ns(begin_ns, end_ns));
        let active = length_ns(begin_ns, end_ns) - absent_ns;
        let in_calls_ns = in_calls_ns(table).saturating_sub(outside_ns);
        let mpi_ns = in_calls_ns.saturating_add(if main { 0 } else { polling_ns(table) }).min(active);
        let calls = excerpt.map_or(table.len() as u64, ThreadExcerpt::counted_calls);
        let time = ThreadTime { thread: table.thread, main, begin_ns, end_ns, absent_ns, mpi_ns, calls, ..ThreadTime::default() };
        let blocked = time.blocked_ns(rank, table, intervals);
        let blocked_ns = blocked.unwrap_or(0).min(active - mpi_ns);
        ThreadTime { compute_ns: active - mpi_ns - blocked_ns, blocked_ns, blocked_known: blocked.is_some(), ..time }
    }

    /// Active time in nanoseconds.
    pub fn active_ns(&self) -> u64 {
        length_ns(self.begin_ns, self.end_ns) - self.absent_ns
    }

    /// Whether it is a helper that does hardly anything but communicate: it polls, or blocks in receives.
    pub fn only_communicates(&self) -> bool {
        let outside = self.active_ns() - self.mpi_ns.min(self.active_ns());
        !self.main && outside <= self.active_ns() / COMMUNICATION_THREAD_PARTS
    }

    /// Time blocked outside MPI, if known.
    fn blocked_ns(&self, rank: &RecordedRank, table: &CallTable, intervals: Option<&ThreadOffCpu>) -> Option<u64> {
        if rank.off_cpu == Some(OffCpuSource::ContextSwitches) {
            return Some(intervals.map_or(0, |intervals| self.blocked_between_calls_ns(table, intervals)));
        }
        // Only sums are known: a thread does not compute longer than it had or waited for a processor. In a recording that does not tell
        // when a number was reused, they do not cover its active time. If the kernel does not count waiting, it cannot be told from being
        // blocked.
        let usage = rank.usage.iter().find(|usage| usage.thread == self.thread)?;
        let covers_all = usage.elapsed_ns >= self.active_ns() - self.active_ns() / 10;
        let computable = usage.cpu_ns.saturating_add(usage.waiting_ns?);
        covers_all.then(|| (self.active_ns() - self.mpi_ns).saturating_sub(computable))
    }

    fn blocked_between_calls_ns(&self, table: &CallTable, intervals: &ThreadOffCpu) -> u64 {
        let begins = std::iter::once(self.begin_ns).chain(table.leave.iter().copied());
        let ends = table.enter.iter().copied().chain([self.end_ns]);
        let gaps = begins.zip(ends).filter(|(begin, end)| begin < end && !intervals.is_reused_between(*begin, *end));
        gaps.map(|(begin, end)| intervals.within(begin, end).blocked_ns).sum()
    }
}

/// The times of the threads of a rank in which several threads call MPI. The first table is that of the main thread.
pub(crate) fn thread_times(
    rank: &RecordedRank,
    tables: &[CallTable],
    off_cpu: &[ThreadOffCpu],
    excerpt: Option<&[ThreadExcerpt]>,
) -> Vec<ThreadTime> {
    let time = |(index, table): (usize, &CallTable)| {
        ThreadTime::from_table(rank, table, index == 0, off_cpu, excerpt.and_then(|threads| threads.get(index)))
    };
    tables.iter().enumerate().map(time).collect()
}

/// Time in the calls of a thread.
fn in_calls_ns(table: &CallTable) -> u64 {
    table.enter.iter().zip(&table.leave).map(|(enter, leave)| leave.abs_diff(*enter)).sum()
}

/// Time between the last call of a thread and the first call of the next one with its number.
fn absent_ns(table: &CallTable, intervals: &ThreadOffCpu) -> u64 {
    let gaps = table.leave.iter().zip(table.enter.iter().skip(1));
    gaps.filter(|(leave, enter)| intervals.is_reused_between(**leave, **enter)).map(|(leave, enter)| length_ns(*leave, *enter)).sum()
}

/// Time between an unsuccessful test or probe and the next call, where the thread only polls.
fn polling_ns(table: &CallTable) -> u64 {
    let gap = |row: usize| {
        let gap = table.enter[row + 1].saturating_sub(table.leave[row]);
        let found_nothing = table.descriptors[table.descriptor_ids[row] as usize].parts & part::FLAG_FALSE != 0;
        let polls = found_nothing && gap <= MAX_POLL_GAP_NS.max(table.leave[row].saturating_sub(table.enter[row]));
        u64::try_from(gap).ok().filter(|_| polls).unwrap_or(0)
    };
    (0..table.len().saturating_sub(1)).map(gap).sum()
}

fn length_ns(begin_ns: i64, end_ns: i64) -> u64 {
    u64::try_from(end_ns.saturating_sub(begin_ns)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::call_table::CallTable;
    use sintonia_recording::host::ThreadUsage;
    use sintonia_recording::off_cpu::OffCpuInterval;
    use sintonia_recording::raw::off_cpu::NO_THREAD;
    use sintonia_recording::testing::call;

    fn rank() -> RecordedRank {
        RecordedRank { begin_ns: 100, end_ns: 1100, threads: 2, ..RecordedRank::default() }
    }

    /// A thread that polls unsuccessfully at these times.
    fn polls(thread: u16, times: &[(i64, i64)]) -> CallTable {
        CallTable {
            thread,
            enter: times.iter().map(|(enter, _)| *enter).collect(),
            leave: times.iter().map(|(_, leave)| *leave).collect(),
            descriptor_ids: vec![0; times.len()],
            descriptors: vec![call("MPI_Test").mark(part::FLAG_FALSE)],
            ..CallTable::default()
        }
    }

    #[test]
    fn time_outside_mpi_is_what_is_left() {
        let only = |rank: &RecordedRank, mpi_ns| {
            let time = ThreadTime::only(rank, mpi_ns, 0);
            (time.mpi_ns, time.compute_ns)
        };
        assert_eq!(only(&rank(), 300), (300, 700));
        assert_eq!(only(&rank(), 5000), (1000, 0));
        assert_eq!(only(&RecordedRank { begin_ns: 5, ..RecordedRank::default() }, 1), (0, 0));
    }

    #[test]
    fn a_thread_is_active_from_its_first_call_to_its_last_and_the_main_thread_all_the_time() {
        let table = polls(0, &[(300, 400), (5400, 5500)]);
        let main = ThreadTime::from_table(&RecordedRank { end_ns: 10_100, ..rank() }, &table, true, &[], None);
        assert_eq!((main.active_ns(), main.mpi_ns, main.compute_ns), (10_000, 200, 9_800));
        let other = ThreadTime::from_table(&rank(), &table, false, &[], None);
        assert_eq!((other.begin_ns, other.end_ns, other.mpi_ns, other.compute_ns), (300, 5500, 200, 5000));
        assert!(!other.only_communicates());
    }

    #[test]
    fn between_two_polls_a_thread_that_only_polls_is_in_mpi() {
        let table = polls(1, &[(0, 100), (2100, 2200), (4201, 4300), (9000, 13_000), (17_000, 17_100)]);
        let time = ThreadTime::from_table(&rank(), &table, false, &[], None);
        assert_eq!(time.mpi_ns, 100 + 100 + 99 + 4000 + 100 + 2000 + 4000, "2001 ns and 4700 ns are too long");
        assert!(!time.only_communicates());
        assert!(ThreadTime::from_table(&rank(), &polls(1, &[(0, 100), (150, 250)]), false, &[], None).only_communicates());
        assert!(
            !ThreadTime::from_table(&rank(), &polls(1, &[(100, 1100)]), true, &[], None).only_communicates(),
            "the main thread does not"
        );
    }

    #[test]
    fn between_two_threads_with_one_number_nobody_computes() {
        let table = polls(1, &[(0, 100), (5100, 5200), (9000, 9100), (20_000, 20_100)]);
        let interval =
            |begin, end, processor| OffCpuInterval { begin, end, blocked_ns: (end - begin) as u64, processor, ..OffCpuInterval::default() };
        let off_cpu = [ThreadOffCpu::new(1, vec![interval(1000, 1500, Some(0)), interval(5900, 8990, Some(NO_THREAD))])];
        for (source, blocked_ns) in [(OffCpuSource::ContextSwitches, 500), (OffCpuSource::Totals, 0)] {
            let time = ThreadTime::from_table(&RecordedRank { off_cpu: Some(source), ..rank() }, &table, false, &off_cpu, None);
            let computing = 5000 + 10_900 - blocked_ns;
            assert_eq!((time.active_ns(), time.mpi_ns, time.compute_ns, time.blocked_ns), (16_300, 400, computing, blocked_ns));
        }
    }

    #[test]
    fn a_thread_that_is_blocked_outside_mpi_does_not_compute() {
        let table = polls(1, &[(0, 100), (5100, 5200)]);
        let blocked = |begin, end, blocked_ns| OffCpuInterval { begin, end, blocked_ns, ..OffCpuInterval::default() };
        let off_cpu = [ThreadOffCpu::new(1, vec![blocked(50, 150, 100), blocked(1000, 3000, 2000)])];
        let switches = RecordedRank { off_cpu: Some(OffCpuSource::ContextSwitches), ..rank() };
        let split = |rank: &RecordedRank, off_cpu: &[ThreadOffCpu]| {
            let time = ThreadTime::from_table(rank, &table, false, off_cpu, None);
            (time.mpi_ns, time.compute_ns, time.blocked_ns, time.blocked_known)
        };
        assert_eq!(split(&switches, &off_cpu), (200, 2950, 2050, true));
        assert_eq!(split(&switches, &[]), (200, 5000, 0, true));
        assert_eq!(split(&rank(), &off_cpu), (200, 5000, 0, false));
        let usage = |elapsed_ns| ThreadUsage { thread: 1, elapsed_ns, cpu_ns: 600, waiting_ns: Some(300), ..ThreadUsage::default() };
        assert_eq!(split(&RecordedRank { usage: vec![usage(5200)], ..rank() }, &[]), (200, 900, 4100, true));
        assert_eq!(split(&RecordedRank { usage: vec![usage(2000)], ..rank() }, &[]), (200, 5000, 0, false), "of another thread");
        let uncounted = ThreadUsage { waiting_ns: None, ..usage(5200) };
        assert_eq!(split(&RecordedRank { usage: vec![uncounted], ..rank() }, &[]), (200, 5000, 0, false), "blocked or waiting");
    }
}
