//! LogGOPS costs in integer picoseconds: fine enough for bytes of fast networks, and sums are exact.

use super::LogGopsParameters;

pub(super) const PS_PER_S: f64 = 1e12;

/// LogGOPS parameters in picoseconds.
#[derive(Clone, Copy)]
pub(super) struct PicosecondCosts {
    /// `L`
    pub latency: u64,
    /// `o`
    pub overhead: u64,
    gap: u64,
    gap_per_byte: f64,
    overhead_per_byte: f64,
    /// `S`
    pub eager_bytes: u64,
}

impl PicosecondCosts {
    /// Converts parameters in seconds.
    pub(super) fn from_parameters(machine: &LogGopsParameters) -> PicosecondCosts {
        let whole = |seconds: f64| (seconds * PS_PER_S).round() as u64;
        PicosecondCosts {
            latency: whole(machine.latency_s),
            overhead: whole(machine.overhead_s),
            gap: whole(machine.gap_s),
            gap_per_byte: machine.gap_s_per_byte * PS_PER_S,
            overhead_per_byte: machine.overhead_s_per_byte * PS_PER_S,
            eager_bytes: machine.eager_bytes,
        }
    }
}

/// Resource occupancy of a message.
pub(super) struct MessageOccupancy {
    /// CPU of the sender.
    pub send: u64,
    /// NIC of either end.
    pub interface: u64,
    /// CPU of the receiver.
    pub receive: u64,
}

impl PicosecondCosts {
    /// Occupancy of a message of this size.
    pub(super) fn occupancy(&self, bytes: u64) -> MessageOccupancy {
        let further = bytes.saturating_sub(1) as f64;
        let whole = |per_byte: f64| (further * per_byte).round() as u64;
        let (gap, overhead) = (whole(self.gap_per_byte), whole(self.overhead_per_byte));
        MessageOccupancy {
            send: self.overhead.saturating_add(overhead),
            interface: self.gap.saturating_add(gap),
            receive: self.overhead.saturating_add(gap.max(overhead)),
        }
    }
}
