//! Time between a poll that found nothing and the next poll, and whether the rank worked in it: a rank that polls while it computes lets
//! messages progress, one that sleeps keeps others waiting.

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use sintonia_program::history::Location;
use sintonia_recording::raw::part;

use super::site_groups::SiteGroups;
use super::what_if::call_descriptor;
use crate::off_cpu::OffCpuIntervals;
use crate::segment::{self, Segment};
use crate::wait_states::is_polling;

/// Shorter computation between two polling calls is waiting, not work.
pub(super) const POLL_GAP_NS: i64 = 10_000;

/// The time of a rank between unsuccessful polls at one site and the next polls at the same or another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PollGaps {
    /// Nanoseconds.
    pub ns: i64,
    /// The part for which the thread is known to have been blocked.
    pub blocked_ns: i64,
    /// Number of times.
    pub count: u64,
}

impl PollGaps {
    pub(super) fn add(&mut self, other: &PollGaps) {
        self.ns += other.ns;
        self.blocked_ns += other.blocked_ns;
        self.count += other.count;
    }

    /// The part of these gaps in which the rank did nothing, in nanoseconds, given for how long samples found it working in them: it was
    /// blocked, or has no samples. `None` if it is not known, or if that is less than half of them.
    pub(super) fn idle_ns(&self, sampled_ns: Option<i64>) -> Option<i64> {
        let without_samples = sampled_ns.map_or(0, |sampled_ns| self.ns - sampled_ns);
        Some(self.blocked_ns.max(without_samples).min(self.ns)).filter(|idle_ns| 2 * idle_ns > self.ns)
    }
}

/// Whether a call polls.
pub(super) fn is_poll(location: &Location, row: usize) -> bool {
    is_polling(call_descriptor(location, row).function.definition())
}

/// The gaps of a location.
pub(super) fn location_gaps(location: &Location, sites: &SiteGroups, off_cpu: Option<&OffCpuIntervals>) -> FxHashMap<Segment, PollGaps> {
    let own = off_cpu.and_then(|off_cpu| off_cpu.of_location(location));
    let found_nothing = |row: usize| is_poll(location, row) && call_descriptor(location, row).parts & part::FLAG_FALSE != 0;
    let mut gaps: FxHashMap<Segment, PollGaps> = FxHashMap::default();
    for row in (1..location.len()).filter(|row| is_poll(location, *row) && found_nothing(row - 1)) {
        let (begin, end) = (location.compute_begin(row), location.calls.enter[row]);
        let Some(segment) = segment::segment_before(location, row).filter(|_| end - begin >= POLL_GAP_NS) else { continue };
        let blocked_ns = own.map_or(0, |own| own.within(begin, end).blocked_ns as i64);
        gaps.entry(sites.representative_segment(segment)).or_default().add(&PollGaps { ns: end - begin, blocked_ns, count: 1 });
    }
    gaps
}
