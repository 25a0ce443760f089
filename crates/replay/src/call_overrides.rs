//! Call overrides: what-if changes to individual calls that a reader of the report could make.
//!
//! They change the program, not the machine; all other calls take their recorded time after their dependency.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sintonia_mpi::FunctionRole;
use sintonia_recording::call_table::CallDescriptor;

use crate::schedule::LocationId;

/// Up to this size, messages take about as long as empty ones on any network.
const SMALL_BYTES: u64 = 4096;

/// Computation of at most this length between two messages only prepares the next one.
pub const MAX_PREPARATION_S: f64 = 1e-6;

/// Function, peer and communicator: two consecutive calls with the same signature could be merged.
pub type MessageSignature = (u16, i32, u32);

/// Signature of the small message a call sends or receives, if any.
pub fn small_message(call: &CallDescriptor) -> Option<MessageSignature> {
    let bytes = match call.function.role() {
        FunctionRole::Send => call.bytes_sent(),
        // The size of a nonblocking receive is only known later, so the buffer size counts.
        FunctionRole::Receive => call.received,
        _ => return None,
    };
    (call.peer >= 0 && bytes <= SMALL_BYTES).then_some((call.function.0, call.peer, call.object))
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
    /// A small message is merged with the one before it.
    Merged,
    /// Messages are received in arrival order.
    ArrivalOrder,
}

impl CallOverride {
    /// Whether it is in a bit set.
    pub(crate) fn is_set_in(self, set: u8) -> bool {
        set & 1 << self as u8 != 0
    }
}

/// Index of a call of a location.
pub type CallIndex = u64;

/// Overridden calls. The default is none. What was observed of individual calls is shared by all replays of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallOverrides {
    /// Bit set of [`CallOverride`] by call site.
    sites: FxHashMap<u32, u8>,
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

impl CallOverrides {
    /// Adds an override for the calls at a site.
    pub fn add(&mut self, site: u32, change: CallOverride) {
        *self.sites.entry(site).or_default() |= 1 << change as u8;
    }

    /// Bit set of the overrides at a site.
    pub(crate) fn mask_at(&self, site: u32) -> u8 {
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
