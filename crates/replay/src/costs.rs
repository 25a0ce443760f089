//! What messages and collectives cost in a replay: as recorded, or as on a machine.

use crate::platform::Platform;
use crate::transfer_counts::TransferCounts;

/// Cost model of messages and collectives.
#[derive(Clone, Debug)]
pub enum ReplayCosts {
    /// Recorded durations after the dependencies, scaled by the factors of the network.
    Recorded(RecordedNetwork),
    /// Costs on a machine.
    Machine(Box<Platform>),
}

/// The recorded network, as estimated from its messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedNetwork {
    /// Estimated latency in seconds.
    pub latency_s: f64,
    /// Estimated seconds per byte.
    pub s_per_byte: f64,
    /// Factor on the latency.
    pub latency_factor: f64,
    /// Factor on the per-byte cost.
    pub per_byte_factor: f64,
    /// The messages from which it was estimated.
    pub transfers: TransferCounts,
}

impl Default for RecordedNetwork {
    fn default() -> RecordedNetwork {
        RecordedNetwork { latency_s: 0.0, s_per_byte: 0.0, latency_factor: 1.0, per_byte_factor: 1.0, transfers: TransferCounts::default() }
    }
}

impl RecordedNetwork {
    /// Whether communication is free: then no standard send waits for its receive.
    pub(crate) fn is_ideal(&self) -> bool {
        self.latency_factor == 0.0 && self.per_byte_factor == 0.0
    }

    /// Factor on the duration of a call that moved `bytes`.
    pub(crate) fn slowdown(&self, bytes: f64) -> f64 {
        if self.latency_factor == self.per_byte_factor {
            return self.latency_factor;
        }
        let whole = self.latency_s + self.s_per_byte * bytes;
        if whole <= 0.0 {
            return 1.0;
        }
        (self.latency_s * self.latency_factor + self.s_per_byte * bytes * self.per_byte_factor) / whole
    }
}
