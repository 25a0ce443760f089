//! Figures that cannot all be true: a larger message that is much cheaper than a smaller one, or a send that takes much longer than the transfer.

use std::collections::BTreeMap;

use crate::MessageMetric;

/// Median seconds of each metric, by size.
pub(super) type MedianTimes = BTreeMap<MessageMetric, BTreeMap<u64, f64>>;

/// A time that other measurements contradict.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ContradictoryTime {
    pub what: MessageMetric,
    pub bytes: u64,
    pub seconds: f64,
    /// What it could be at most according to the others.
    pub most: f64,
}

/// The factor by which a time may be above what the others allow.
const TOLERANCE: f64 = 2.0;
/// Shorter times differ because the clock ticks.
const CLOCK_NOISE: f64 = 2e-6;

/// The contradictory times of a pair of processes. Beyond a threshold another protocol applies, by which a larger message may be cheaper.
pub(super) fn contradictions(times: &MedianTimes, thresholds: &[u64]) -> Vec<ContradictoryTime> {
    let protocol = |bytes: u64| thresholds.iter().filter(|threshold| bytes > **threshold).count();
    let transfers = times.get(&MessageMetric::Transfer);
    let of = |(what, sizes): (&MessageMetric, &BTreeMap<u64, f64>)| {
        let mut found = Vec::new();
        let (mut least_above, mut protocol_above) = (f64::INFINITY, None);
        for (&bytes, &seconds) in sizes.iter().rev() {
            if protocol_above.replace(protocol(bytes)) != Some(protocol(bytes)) {
                least_above = f64::INFINITY;
            }
            let most = least_above.min(longest_by_transfer(*what, bytes, transfers));
            if seconds > TOLERANCE * most + CLOCK_NOISE {
                found.push(ContradictoryTime { what: *what, bytes, seconds, most });
            }
            least_above = least_above.min(seconds);
        }
        found
    };
    times.iter().flat_map(of).collect()
}

/// The longest that one side of a message can be busy with it: the transfer, and a request and an answer before it.
fn longest_by_transfer(what: MessageMetric, bytes: u64, transfers: Option<&BTreeMap<u64, f64>>) -> f64 {
    let is_side = !matches!(what, MessageMetric::Transfer | MessageMetric::Task | MessageMetric::Gap);
    let known = transfers.filter(|_| is_side).and_then(|transfers| {
        let (_, empty) = transfers.first_key_value()?;
        Some(transfers.get(&bytes)? + 2.0 * empty)
    });
    known.unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(sends: &[(u64, f64)], transfers: &[(u64, f64)]) -> MedianTimes {
        let of = |times: &[(u64, f64)]| times.iter().copied().collect();
        BTreeMap::from([(MessageMetric::Send, of(sends)), (MessageMetric::Transfer, of(transfers))])
    }

    fn found(times: &MedianTimes) -> Vec<(MessageMetric, u64)> {
        contradictions(times, &[]).iter().map(|one| (one.what, one.bytes)).collect()
    }

    #[test]
    fn a_send_cannot_take_much_longer_than_the_transfer() {
        let one = times(&[(0, 2e-6), (64, 14.6e-3), (128, 15e-3)], &[(0, 4e-6), (64, 4e-6), (128, 4e-6)]);
        assert_eq!(found(&one), [(MessageMetric::Send, 128), (MessageMetric::Send, 64)]);
        let rendezvous = times(&[(0, 2e-6), (64, 19e-6)], &[(0, 4e-6), (64, 12e-6)]);
        assert!(found(&rendezvous).is_empty());
    }

    #[test]
    fn a_larger_message_is_not_much_cheaper() {
        let one = times(&[], &[(0, 5e-6), (100, 50e-6), (1000, 8e-6), (10_000, 9e-6)]);
        assert_eq!(found(&one), [(MessageMetric::Transfer, 100)]);
        let at_threshold: Vec<u64> = contradictions(&one, &[100]).iter().map(|one| one.bytes).collect();
        assert!(at_threshold.is_empty(), "the next protocol is cheaper");
        let noise = times(&[], &[(0, 0.9e-6), (100, 0.1e-6)]);
        assert!(found(&noise).is_empty(), "below what the clock resolves");
    }
}
