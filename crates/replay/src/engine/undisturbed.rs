//! Time of calls without waiting for a core.
//!
//! A call that waited for a message or for other ranks can be late because one of them had no core. The time in which a partner waited for a
//! core is removed as well, but the call still takes what undisturbed messages of its size take, if that is known.

use super::RecordedNetwork;
use super::core_waits::{Dependency, to_ns};
use super::location::{CallRecord, LocationState};
use super::messages::TimePair;
use super::state::ReplayState;

/// An exchange is undisturbed if its two ranks waited for a core for at most this share of it.
const MAX_DISTURBED_SHARE: f64 = 0.05;

impl LocationState<'_> {
    /// Seconds for which it waited for a core between two recorded times.
    #[inline]
    fn core_wait_between(&mut self, from: f64, to: f64) -> f64 {
        match &mut self.core_waits {
            None => 0.0,
            Some(waits) => waits.next_ns(to_ns(from), to_ns(to)) as f64 * 1e-9,
        }
    }

    /// Duration of the current call without waiting for a core, in seconds.
    #[inline]
    pub(super) fn call_time(&mut self, record: &CallRecord) -> f64 {
        let duration = record.duration();
        match self.core_waits {
            None => duration,
            Some(_) => duration - self.core_wait_between(self.recorded_enter_time, self.recorded_enter_time + duration),
        }
    }
}

impl ReplayState<'_> {
    /// Recorded time of a call after its dependency, without waiting for a core; negative if it ended before the dependency.
    #[inline]
    pub(super) fn own_time(&mut self, location: &mut LocationState, record: &CallRecord, need: Option<Dependency>, bytes: f64) -> f64 {
        let from = need.map_or(location.recorded_enter_time, |need| location.recorded_wait_start.max(need.time.recorded));
        let exit = location.recorded_enter_time + record.duration();
        if self.core_waits.is_empty() || exit <= from { exit - from } else { self.undisturbed_time(location, need, from, exit, bytes) }
    }

    fn undisturbed_time(&mut self, location: &mut LocationState, need: Option<Dependency>, from: f64, exit: f64, bytes: f64) -> f64 {
        let own_wait = location.core_wait_between(from, exit);
        let own_time = (exit - from - own_wait).max(0.0);
        let Some(need) = need else { return own_time };
        let joint_waits = self.core_waits.joint_waits((location.core_waits.as_deref(), own_wait), need.partner, from, exit);
        if joint_waits <= own_wait {
            return own_time;
        }
        self.core_waits.n_disturbed_calls += 1;
        let least = self.recorded_network().map_or(0.0, |network| network.message_time(bytes));
        (exit - from - joint_waits).max(least.min(own_time))
    }

    /// Adds a receive that waited for its message to the samples of the network, unless one of the two ranks waited for a core meanwhile.
    pub(super) fn sample_transfer(&mut self, location: &mut LocationState, record: &CallRecord, sender: u32, sent: TimePair, bytes: f64) {
        let exit = location.recorded_enter_time + record.duration();
        let seconds = exit - sent.recorded;
        if !self.core_waits.is_empty() {
            let waits = location.core_wait_between(sent.recorded, exit) + self.core_waits.within(sender, sent.recorded, exit);
            if waits > MAX_DISTURBED_SHARE * seconds.max(0.0) {
                return self.samples.count_disturbed();
            }
        }
        self.samples.add(bytes, seconds);
    }
}

impl RecordedNetwork {
    /// Estimated time of a message; 0 if it is unknown.
    fn message_time(&self, bytes: f64) -> f64 {
        self.latency_s + self.s_per_byte * bytes
    }
}
