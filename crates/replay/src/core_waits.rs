//! When locations waited for a core while they were recorded.
//!
//! Such waiting belongs to the host of the recording, not to the program or its network. A replay removes it: from computation and from
//! calls of the location itself, and from calls of others that could not go on before a rank had a core again.

use sintonia_recording::off_cpu::{OffCpuInterval, ThreadOffCpu};
use sintonia_recording::{Error, Recording};

/// A location that waited for a core for a smaller share of its time does not delay others noticeably.
pub const CROWDED_SHARE: f64 = 0.05;

/// Which waiting for a core a replay removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoreWaitRemoval {
    /// That of a location, and of its communication partners in its calls.
    #[default]
    OwnAndPartners,
    /// Only that of the location itself: an upper bound of the time.
    Own,
    /// None: the run with the cores as recorded.
    Nothing,
}

/// The waiting for a core of one location.
#[derive(Clone, Debug)]
pub struct LocationCoreWaits {
    intervals: ThreadOffCpu,
    /// Its share of the recorded time of the location.
    share: f64,
    /// Index of the first interval that ends after the begin of the latest query of [`LocationCoreWaits::next_ns`].
    next: usize,
    latest_begin: i64,
}

impl LocationCoreWaits {
    /// The waiting of a thread that was recorded for `elapsed_ns`; `None` if it never waited.
    pub fn new(intervals: ThreadOffCpu, elapsed_ns: i64) -> Option<LocationCoreWaits> {
        let waiting_ns = intervals.total().waiting_ns;
        let share = (waiting_ns as f64 / elapsed_ns.max(1) as f64).min(1.0);
        (waiting_ns > 0).then_some(LocationCoreWaits { intervals, share, next: 0, latest_begin: i64::MIN })
    }

    /// Whether it delays others noticeably.
    pub(crate) fn is_crowded(&self) -> bool {
        self.share >= CROWDED_SHARE
    }

    /// Nanoseconds of waiting between two points in time.
    pub(crate) fn within_ns(&self, begin: i64, end: i64) -> i64 {
        self.intervals.within(begin, end).waiting_ns as i64
    }

    fn overlapping(&self, begin: i64, end: i64) -> &[OffCpuInterval] {
        let intervals = self.intervals.intervals();
        let from = intervals.partition_point(|interval| interval.end <= begin);
        let count = intervals[from..].partition_point(|interval| interval.begin < end);
        &intervals[from..from + count]
    }

    /// The same for queries that mostly come in order, without a search in the many that have no waiting.
    #[inline]
    pub(crate) fn next_ns(&mut self, begin: i64, end: i64) -> i64 {
        // Clock error: a call can seem to be entered before the previous one was left.
        if end <= begin {
            return 0;
        }
        if begin < self.latest_begin {
            return self.within_ns(begin, end).clamp(0, end - begin);
        }
        self.latest_begin = begin;
        let intervals = self.intervals.intervals();
        while intervals.get(self.next).is_some_and(|interval| interval.end <= begin) {
            self.next += 1;
        }
        if intervals.get(self.next).is_none_or(|interval| interval.begin >= end) {
            return 0;
        }
        self.within_ns(begin, end).clamp(0, end - begin)
    }
}

/// When a recorded thread waited for a core; `None` if it never did, or if that is unknown.
pub(crate) fn core_waits_of_thread(recording: &Recording, rank: u32, thread: u16) -> Result<Option<LocationCoreWaits>, Error> {
    let Some(known) = recording.header.rank(rank).filter(|rank| rank.off_cpu.is_some()) else { return Ok(None) };
    let intervals = recording.off_cpu(rank)?.into_iter().find(|off_cpu| off_cpu.thread == thread);
    Ok(intervals.and_then(|intervals| LocationCoreWaits::new(intervals, known.end_ns - known.begin_ns)))
}

/// Time in which at least one of several locations waited for a core, accumulated.
///
/// Where only the sum of the waiting in an interval is known, it counts as spread evenly over the interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct CombinedCoreWaits {
    /// Points in time with the accumulated waiting up to each and the rate after it, in order.
    steps: Vec<WaitStep>,
}

#[derive(Clone, Copy, Debug)]
struct WaitStep {
    time_ns: i64,
    accumulated_ns: f64,
    rate: f64,
}

impl CombinedCoreWaits {
    /// Combines the waiting of locations.
    pub(crate) fn new<'a>(locations: impl Iterator<Item = &'a LocationCoreWaits>) -> CombinedCoreWaits {
        CombinedCoreWaits::of_intervals(locations.flat_map(|location| location.intervals.intervals()))
    }

    /// Nanoseconds in which at least one of these locations waited between two points in time.
    pub(crate) fn of_locations_ns<'a>(locations: impl Iterator<Item = &'a LocationCoreWaits>, begin: i64, end: i64) -> i64 {
        let overlapping = locations.flat_map(|location| location.overlapping(begin, end));
        CombinedCoreWaits::of_intervals(overlapping).within_ns(begin, end)
    }

    fn of_intervals<'a>(intervals: impl Iterator<Item = &'a OffCpuInterval>) -> CombinedCoreWaits {
        let mut changes: Vec<(i64, f64)> = Vec::new();
        for interval in intervals {
            let length = interval.end - interval.begin;
            if interval.waiting_ns > 0 && length > 0 {
                let rate = (interval.waiting_ns as f64 / length as f64).min(1.0);
                changes.extend([(interval.begin, rate), (interval.end, -rate)]);
            }
        }
        changes.sort_by_key(|(time, _)| *time);
        let (mut steps, mut sum) = (Vec::<WaitStep>::new(), 0.0);
        for (time_ns, change) in changes {
            sum += change;
            let rate = f64::clamp(sum, 0.0, 1.0);
            match steps.last_mut() {
                Some(last) if last.time_ns == time_ns => last.rate = rate,
                last => {
                    let accumulated_ns = last.map_or(0.0, |last| last.accumulated_at(time_ns));
                    steps.push(WaitStep { time_ns, accumulated_ns, rate });
                }
            }
        }
        CombinedCoreWaits { steps }
    }

    /// Nanoseconds of waiting between two points in time.
    pub(crate) fn within_ns(&self, begin: i64, end: i64) -> i64 {
        let accumulated = |time: i64| {
            let step = self.steps.partition_point(|step| step.time_ns <= time).checked_sub(1);
            step.map_or(0.0, |step| self.steps[step].accumulated_at(time))
        };
        (accumulated(end) - accumulated(begin)).max(0.0) as i64
    }
}

impl WaitStep {
    fn accumulated_at(&self, time_ns: i64) -> f64 {
        self.accumulated_ns + self.rate * (time_ns - self.time_ns) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(intervals: &[(i64, i64, u64)]) -> LocationCoreWaits {
        let interval = |(begin, end, waiting_ns): &(i64, i64, u64)| OffCpuInterval {
            begin: *begin,
            end: *end,
            waiting_ns: *waiting_ns,
            ..OffCpuInterval::default()
        };
        LocationCoreWaits::new(ThreadOffCpu::new(0, intervals.iter().map(interval).collect()), 1000).unwrap()
    }

    #[test]
    fn queries_in_order_equal_searches() {
        let exact = waits(&[(100, 200, 100), (300, 400, 40), (500, 600, 10)]);
        let mut cursor = exact.clone();
        for (begin, end) in [(0, 50), (50, 150), (150, 350), (350, 350), (350, 700), (700, 800), (120, 130)] {
            assert_eq!(cursor.next_ns(begin, end), exact.within_ns(begin, end), "{begin} to {end}");
        }
        assert_eq!(waits(&[(0, 100, 100)]).clone().next_ns(40, 50), 10);
        assert!(exact.is_crowded() && !waits(&[(0, 10, 10)]).is_crowded());
        assert!(LocationCoreWaits::new(ThreadOffCpu::default(), 1000).is_none());
    }

    #[test]
    fn time_in_which_two_locations_wait_counts_once() {
        let both = [waits(&[(100, 200, 100), (300, 400, 50)]), waits(&[(150, 250, 100), (300, 400, 70)])];
        let combined = CombinedCoreWaits::new(both.iter());
        assert_eq!(combined.within_ns(0, 300), 150, "from 100 to 250");
        assert_eq!(combined.within_ns(180, 220), 40);
        assert_eq!(combined.within_ns(300, 400), 100, "half and seven tenths of an interval are all of it at most");
        assert_eq!(combined.within_ns(310, 320), 10);
        assert_eq!(combined.within_ns(400, 9000), 0);
        assert_eq!(CombinedCoreWaits::of_locations_ns(both.iter(), 180, 310), 80, "from 180 to 250, and 10 of the last interval");
        assert_eq!(CombinedCoreWaits::default().within_ns(0, 10), 0);
    }
}
