//! Call overrides: what-if changes to individual calls that a reader of the report could make.
//!
//! They change the program, not the machine; all other calls take their recorded time after their dependency.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw;

use crate::schedule::LocationId;

/// Up to this size, messages take about as long as empty ones on any network.
const SMALL_BYTES: u64 = 4096;

/// Computation of at most this length between two calls only prepares the next one.
const MIN_PREPARATION_S: f64 = 1e-6;

/// Longer computation is work, however long the call before it took.
const MAX_PREPARATION_S: f64 = 1e-5;

/// A repeated sequence of more calls than this is not recognised.
const MAX_PERIOD: usize = 6;

/// Function, peer and communicator or window: two consecutive calls with the same signature could be merged.
pub type CallSignature = (u16, i32, u32);

/// Signature of a call that moves little data or synchronises those that do; `None` if it cannot be merged with others.
pub fn mergeable_call(call: &CallDescriptor) -> Option<CallSignature> {
    let bytes = match call.function.role() {
        FunctionRole::Send | FunctionRole::Put => call.bytes_sent(),
        // The size of a nonblocking receive is only known later, so the buffer size counts.
        FunctionRole::Receive | FunctionRole::Get => call.received,
        FunctionRole::SendReceive | FunctionRole::Collective(_) | FunctionRole::Exchange => call.bytes_sent().max(call.received),
        FunctionRole::WindowSync => 0,
        FunctionRole::CompleteOne | FunctionRole::CompleteAll if call.function.definition().mode == BlockingMode::Blocking => {
            return Some((call.function.0, call.requests.len() as i32, raw::NO_OBJECT));
        }
        _ => return None,
    };
    let to_peer = !matches!(call.function.role(), FunctionRole::Send | FunctionRole::Receive) || call.peer >= 0;
    (to_peer && bytes <= SMALL_BYTES).then_some((call.function.0, call.peer, call.object))
}

/// Finds calls that repeat those before them with hardly any computation in between: one message, put or epoch for each element, where
/// one for all would do.
#[derive(Clone, Debug, Default)]
pub struct RepetitionTracker {
    /// The last calls, the latest first: signature, and whether hardly anything was computed before the call.
    recent: VecDeque<(CallSignature, bool)>,
    /// Duration of the last call in seconds.
    last_s: f64,
}

impl RepetitionTracker {
    /// Whether a call repeats an earlier one of a short sequence, given the computation before it in seconds.
    pub fn repeats(&self, signature: Option<CallSignature>, gap_s: f64) -> bool {
        let Some(signature) = signature.filter(|_| self.is_short(gap_s)) else { return false };
        for (known, short_gap) in &self.recent {
            if *known == signature {
                return true;
            }
            if !short_gap {
                return false;
            }
        }
        false
    }

    /// Notes the next call, the computation before it and its duration in seconds.
    pub fn note(&mut self, signature: Option<CallSignature>, gap_s: f64, duration_s: f64) {
        let short_gap = self.is_short(gap_s);
        self.last_s = duration_s;
        let Some(signature) = signature else {
            self.recent.clear();
            return;
        };
        self.recent.truncate(MAX_PERIOD - 1);
        self.recent.push_front((signature, short_gap));
    }

    fn is_short(&self, gap_s: f64) -> bool {
        gap_s <= (self.last_s / 2.0).clamp(MIN_PREPARATION_S, MAX_PREPARATION_S)
    }
}

/// What-if change of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOverride {
    /// The call is removed.
    Skipped,
    /// Its dependency is already satisfied.
    NoWait,
    /// It takes no time by itself, but still waits.
    ZeroCost,
    /// Its work is divided among all ranks.
    SharedByRanks,
    /// It overlaps with the computation after it.
    Overlapped,
    /// A call with little data is merged with an equal one before it: only the time of its bytes remains.
    Merged,
    /// Messages are received in arrival order.
    ArrivalOrder,
    /// The sender sends what it computes in parts, and the first of them is enough to go on.
    SentInParts,
}

impl CallOverride {
    /// Whether it is in a bit set.
    pub(crate) fn is_set_in(self, set: u16) -> bool {
        set & 1 << self as u8 != 0
    }
}

/// Index of a call of a location.
pub type CallIndex = u64;

/// Overridden calls. The default is none. What was observed of individual calls is shared by all replays of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOverrides {
    /// Bit set of [`CallOverride`] by call site.
    sites: FxHashMap<u32, u16>,
    /// Number of parts for [`CallOverride::SentInParts`].
    pub parts: f64,
    /// Seconds that another byte takes in a message that others are merged with.
    pub s_per_byte: f64,
    /// Seconds by which messages received at a call site are there earlier.
    earlier_s: FxHashMap<u32, f64>,
    /// Factor on the own time of the calls at a site.
    factors: FxHashMap<u32, f64>,
    /// Ranks on other hosts.
    pub relocation: Option<RankRelocation>,
    /// Sends recorded to wait for their receives, in order: they would wait again.
    pub waiting_sends: Arc<FxHashMap<LocationId, Vec<CallIndex>>>,
    /// Receives that waited although another message was there, each with the later receive that took that one; in order.
    pub deferrable_receives: Arc<FxHashMap<LocationId, Vec<(CallIndex, CallIndex)>>>,
}

/// Relocation of ranks to other hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct RankRelocation {
    /// Recorded host of each rank.
    pub old_hosts: Vec<u32>,
    /// New host of each rank.
    pub new_hosts: Vec<u32>,
    /// Factor on calls that receive only messages that become host-local.
    pub factor: f64,
}

impl Default for CallOverrides {
    fn default() -> CallOverrides {
        CallOverrides {
            sites: FxHashMap::default(),
            earlier_s: FxHashMap::default(),
            factors: FxHashMap::default(),
            parts: 1.0,
            s_per_byte: 0.0,
            relocation: None,
            waiting_sends: Arc::default(),
            deferrable_receives: Arc::default(),
        }
    }
}

impl CallOverrides {
    /// Adds an override for the calls at a site.
    pub fn add(&mut self, site: u32, change: CallOverride) {
        *self.sites.entry(site).or_default() |= 1 << change as u8;
    }

    /// The messages received at a site are there earlier by this many seconds.
    pub fn add_earlier(&mut self, site: u32, seconds: f64) {
        *self.earlier_s.entry(site).or_default() += seconds;
    }

    /// The calls at a site take this multiple of their time after their dependency.
    pub fn add_factor(&mut self, site: u32, factor: f64) {
        *self.factors.entry(site).or_insert(1.0) *= factor;
    }

    /// What remains of the time of a call that moves its bytes together with those of another one. Calls with little data take about as
    /// long as empty ones, whatever a byte was found to take.
    pub(crate) fn merged_s(&self, own_s: f64, bytes: u64) -> f64 {
        let share = bytes as f64 / SMALL_BYTES as f64;
        own_s.min((self.s_per_byte * bytes as f64).min(own_s.max(0.0) * share))
    }

    /// Seconds by which the messages received at a site are there earlier.
    pub(crate) fn earlier_s_at(&self, site: u32) -> f64 {
        self.earlier_s.get(&site).copied().unwrap_or(0.0)
    }

    /// Factor on the own time of the calls at a site.
    pub(crate) fn factor_at(&self, site: u32) -> f64 {
        self.factors.get(&site).copied().unwrap_or(1.0)
    }

    /// Bit set of the overrides at a site.
    pub(crate) fn mask_at(&self, site: u32) -> u16 {
        self.sites.get(&site).copied().unwrap_or(0)
    }

    /// The later receive that a receive could be swapped with.
    pub(crate) fn deferred_to(&self, location: LocationId, call: CallIndex) -> Option<CallIndex> {
        let calls = self.deferrable_receives.get(&location)?;
        let index = calls.binary_search_by_key(&call, |(early, _)| *early).ok()?;
        Some(calls[index].1)
    }

    /// Whether a send was recorded to wait for its receive.
    pub(crate) fn send_waited(&self, location: LocationId, call: CallIndex) -> bool {
        self.waiting_sends.get(&location).is_some_and(|calls| calls.binary_search(&call).is_ok())
    }
}

impl RankRelocation {
    /// Whether a message becomes host-local.
    pub(crate) fn becomes_local(&self, sender: u32, receiver: u32) -> bool {
        let together = |hosts: &[u32]| hosts.get(sender as usize) == hosts.get(receiver as usize);
        !together(&self.old_hosts) && together(&self.new_hosts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(calls: &[(Option<CallSignature>, f64)]) -> Vec<bool> {
        let mut tracker = RepetitionTracker::default();
        let decide = |(signature, gap_s): &(Option<CallSignature>, f64)| {
            let repeats = tracker.repeats(*signature, *gap_s);
            tracker.note(*signature, *gap_s, 1e-6);
            repeats
        };
        calls.iter().map(decide).collect()
    }

    #[test]
    fn a_merged_call_takes_what_its_bytes_take() {
        let of = |s_per_byte: f64| CallOverrides { s_per_byte, ..CallOverrides::default() };
        assert_eq!([of(0.0), of(1e-10), of(f64::INFINITY)].map(|overrides| overrides.merged_s(1e-6, 2048)), [0.0, 2.048e-7, 5e-7]);
        assert_eq!(of(f64::INFINITY).merged_s(1e-6, 0), 0.0, "no byte");
        assert_eq!(of(1.0).merged_s(1e-6, 1 << 20), 1e-6, "never more than by itself");
        assert_eq!(of(1.0).merged_s(-1e-6, 2048), -1e-6, "it did not need what it depended on");
    }

    #[test]
    fn a_repeated_sequence_is_merged_until_something_is_computed() {
        let (put, fence) = (Some((1, 0, 0)), Some((2, -1, 0)));
        assert_eq!(merged(&[(put, 1.0), (put, 0.0), (put, 0.0)]), [false, true, true]);
        assert_eq!(merged(&[(put, 1.0), (fence, 0.0), (put, 0.0), (fence, 0.0)]), [false, false, true, true]);
        assert_eq!(merged(&[(put, 1.0), (put, 1.0), (put, 0.0)]), [false, false, true]);
        assert_eq!(merged(&[(put, 1.0), (fence, 1.0), (put, 0.0), (fence, 0.0)]), [false, false, false, true]);
        assert_eq!(merged(&[(put, 1.0), (None, 0.0), (put, 0.0)]), [false, false, false], "something else is in between");
    }
}
