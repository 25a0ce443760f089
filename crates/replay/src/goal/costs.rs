//! What messages take, in whole picoseconds: so fine that bytes of a fast network are not lost, and whole so that sums are exact.

use super::Loggps;

/// Picoseconds of a second.
pub const PICOSECONDS: f64 = 1e12;

/// The machine in picoseconds.
#[derive(Clone, Copy)]
pub struct Costs {
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

impl Costs {
    /// Those of a machine.
    pub fn of(machine: &Loggps) -> Costs {
        let whole = |seconds: f64| (seconds * PICOSECONDS).round() as u64;
        Costs {
            latency: whole(machine.latency_s),
            overhead: whole(machine.overhead_s),
            gap: whole(machine.gap_s),
            gap_per_byte: machine.gap_s_per_byte * PICOSECONDS,
            overhead_per_byte: machine.overhead_s_per_byte * PICOSECONDS,
            eager_bytes: machine.eager_bytes,
        }
    }
}

/// What a message takes.
pub struct Times {
    /// The processor of the sender.
    pub send: u64,
    /// The network interface of either end.
    pub interface: u64,
    /// The processor of the receiver.
    pub receive: u64,
}

impl Costs {
    /// What a message of so many bytes takes.
    pub fn times(&self, bytes: u64) -> Times {
        let further = bytes.saturating_sub(1) as f64;
        let whole = |per_byte: f64| (further * per_byte).round() as u64;
        let (gap, overhead) = (whole(self.gap_per_byte), whole(self.overhead_per_byte));
        Times {
            send: self.overhead.saturating_add(overhead),
            interface: self.gap.saturating_add(gap),
            receive: self.overhead.saturating_add(gap.max(overhead)),
        }
    }
}
