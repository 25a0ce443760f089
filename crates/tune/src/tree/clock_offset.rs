//! The offset of another host's clock, from the round trip with the lowest delay (as NTP does).

use std::collections::VecDeque;

/// Round trips kept: clocks drift.
const MAX_SAMPLES: usize = 16;

/// Offset of another host's clock to ours.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostClockOffset {
    /// Round-trip delay and offset, in nanoseconds.
    round_trips: VecDeque<(f64, f64)>,
}

impl HostClockOffset {
    /// Adds a query: when it was sent, what the other clock showed, and when the answer arrived.
    pub fn add_round_trip(&mut self, sent: f64, remote: f64, received: f64) {
        if !remote.is_finite() {
            return;
        }
        if self.round_trips.len() == MAX_SAMPLES {
            self.round_trips.pop_front();
        }
        self.round_trips.push_back((received - sent, remote - (sent + received) / 2.0));
    }

    /// How far the other clock is ahead of ours, in nanoseconds.
    pub fn offset_ns(&self) -> Option<f64> {
        self.round_trips.iter().min_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, offset)| *offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_delay_counts_and_old_samples_expire() {
        let mut offset = HostClockOffset::default();
        assert_eq!(offset.offset_ns(), None);
        offset.add_round_trip(1000.0, 5_500.0, 3000.0);
        offset.add_round_trip(4000.0, 8_110.0, 4200.0);
        assert_eq!(offset.offset_ns(), Some(4010.0));
        offset.add_round_trip(5000.0, f64::NAN, 5000.0);
        assert_eq!(offset.offset_ns(), Some(4010.0), "NaN is ignored");
        (0..MAX_SAMPLES).for_each(|_| offset.add_round_trip(10_000.0, 15_000.0, 11_000.0));
        assert_eq!(offset.offset_ns(), Some(4500.0));
    }
}
