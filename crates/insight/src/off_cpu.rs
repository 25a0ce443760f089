//! When the threads of all ranks were ready to run and had no core, for analyses that follow the calls of a history.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;
use sintonia_program::history::{CallId, Location};
use sintonia_recording::Recording;
use sintonia_recording::header::RecordedRank;
use sintonia_recording::off_cpu::ThreadOffCpu;
use sintonia_replay::Error;

use crate::wait_states::WaitInstance;

/// The intervals of each thread, by rank and thread.
#[derive(Default)]
pub struct OffCpuIntervals(BTreeMap<(u32, u16), ThreadOffCpu>);

impl OffCpuIntervals {
    /// Reads the intervals of all ranks that have any.
    pub(crate) fn read(recording: &Recording) -> Result<OffCpuIntervals, Error> {
        let known = recording.header.ranks.par_iter().filter(|rank| rank.off_cpu.is_some());
        let read = |rank: &RecordedRank| Ok((rank.rank, recording.off_cpu(rank.rank)?));
        let ranks: Vec<(u32, Vec<ThreadOffCpu>)> = known.map(read).collect::<Result<_, Error>>()?;
        let threads = ranks.into_iter().flat_map(|(rank, threads)| threads.into_iter().map(move |thread| ((rank, thread.thread), thread)));
        Ok(OffCpuIntervals(threads.collect()))
    }

    /// Whether nothing is known of any thread.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The intervals of a location; `None` if it always had a core.
    pub(crate) fn of_location(&self, location: &Location) -> Option<&ThreadOffCpu> {
        self.0.get(&(location.rank, location.calls.thread))
    }

    /// Nanoseconds between two points in time in which a thread had no core.
    pub(crate) fn waiting_ns(&self, rank: u32, thread: u32, begin: i64, end: i64) -> i64 {
        let own = u16::try_from(thread).ok().and_then(|thread| self.0.get(&(rank, thread)));
        own.map_or(0, |own| waiting_ns(own, begin, end))
    }

    /// The part of the segment before a call in which the location had no core, in nanoseconds.
    pub(crate) fn preempted_ns(&self, location: &Location, row: usize) -> i64 {
        self.of_location(location).map_or(0, |own| preempted_ns(own, location, row))
    }

    /// Nanoseconds in some consecutive calls in which the location had no core, after what each of them waited for was there.
    pub(crate) fn late_in_calls_ns(&self, location: &Location, waits: &[WaitInstance], rows: Range<usize>) -> i64 {
        let Some(own) = self.of_location(location).filter(|_| !rows.is_empty()) else { return 0 };
        if waiting_ns(own, location.calls.enter[rows.start], location.calls.leave[rows.end - 1]) == 0 {
            return 0;
        }
        let mut first_wait = waits.partition_point(|wait| (wait.row as usize) < rows.start);
        let mut sum = 0;
        for row in rows {
            let own_waits = waits[first_wait..].iter().take_while(|wait| wait.row as usize == row);
            first_wait += own_waits.clone().count();
            let waited: i64 = own_waits.filter(|wait| wait.cause != CallId::NONE).map(|wait| wait.ns).sum();
            let (ready, leave) = (location.calls.enter[row] + waited, location.calls.leave[row]);
            if ready < leave {
                sum += waiting_ns(own, ready, leave).min(leave - ready);
            }
        }
        sum
    }
}

fn waiting_ns(own: &ThreadOffCpu, begin: i64, end: i64) -> i64 {
    own.within(begin, end).waiting_ns.min(i64::MAX as u64) as i64
}

fn preempted_ns(own: &ThreadOffCpu, location: &Location, row: usize) -> i64 {
    let (begin, end) = (location.compute_begin(row), location.calls.enter[row]);
    waiting_ns(own, begin, end).clamp(0, (end - begin).max(0))
}
