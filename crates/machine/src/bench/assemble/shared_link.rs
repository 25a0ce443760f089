//! The topology, as far as it is measured: a link of each node that its processes share.

use super::SampleSet;
use crate::bench::BenchQuantity;
use crate::topology::{ConcurrencyLimits, LinkParameters, TopologyKind};
use crate::{BandwidthSharing, Duplex, Topology, UncertainValue};

/// The bytes per second of all pairs together, for one number of pairs.
struct JointBandwidth {
    pairs: u64,
    rate: UncertainValue,
}

/// Links between `nodes` nodes, if several pairs of processes share one. A note says what was found.
pub(super) fn topology(sample_set: &SampleSet, nodes: u64, notes: &mut Vec<String>) -> Option<Topology> {
    let measured = joint_bandwidths(sample_set);
    let (one, most) = (measured.first().filter(|one| one.pairs == 1)?, measured.last().filter(|most| most.pairs > 1)?);
    let gain = most.rate.middle() / one.rate.middle();
    let pairs = most.pairs;
    if gain > ALONE_SHARE * pairs as f64 {
        notes.push(format!("{pairs} pairs of processes at once do not share the bandwidth between two nodes: {gain:.2} times that of one"));
        return None;
    }
    notes.push(format!(
        "the bandwidth of a link is that of {pairs} pairs of processes at once between two nodes: {gain:.2} times that of one"
    ));
    let largest = measured.iter().max_by(|a, b| a.rate.middle().total_cmp(&b.rate.middle()))?;
    Some(Topology {
        kind: TopologyKind::Crossbar { nodes: u32::try_from(nodes).ok()?.max(2) },
        // The latency is part of the costs of messages.
        link: LinkParameters { bandwidth: largest.rate, latency: UncertainValue::ZERO },
        duplex: Duplex::Full,
        sharing: BandwidthSharing::Fair,
        flow_control: None,
        limits: ConcurrencyLimits::default(),
    })
}

/// Pairs that together have this share of the bandwidth of as many single ones do not share a link.
const ALONE_SHARE: f64 = 0.8;

/// Ascending by the number of pairs.
fn joint_bandwidths(sample_set: &SampleSet) -> Vec<JointBandwidth> {
    let quantities = sample_set.0.keys().filter_map(|quantity| match quantity {
        BenchQuantity::SharedLink { pairs } => Some((*pairs, *quantity)),
        _ => None,
    });
    let of = |(pairs, quantity): (u64, BenchQuantity)| {
        let (bytes, seconds) = sample_set.figures(quantity).pop().filter(|(_, seconds)| seconds.low() > 0.0)?;
        let rate = |seconds: f64| (pairs * bytes) as f64 / seconds;
        let rate = UncertainValue::from_measurement(rate(seconds.high()), rate(seconds.middle()), rate(seconds.low())).ok()?;
        (rate.low() > 0.0).then_some(JointBandwidth { pairs, rate })
    };
    quantities.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::BenchSample;

    fn found(seconds: &[(u64, f64)]) -> (Option<f64>, String) {
        let sample = |(pairs, seconds): &(u64, f64)| {
            BenchSample::from_values(BenchQuantity::SharedLink { pairs: *pairs }, 1 << 20, &[*seconds; 8]).unwrap()
        };
        let samples: Vec<BenchSample> = seconds.iter().map(sample).collect();
        let mut notes = Vec::new();
        let topology = topology(&SampleSet::from_samples(samples.iter()), 2, &mut notes);
        (topology.map(|topology| topology.link.bandwidth.middle()), notes.join(""))
    }

    #[test]
    fn pairs_that_slow_each_other_down_share_a_link() {
        let (bandwidth, note) = found(&[(1, 0.1), (2, 0.19), (4, 0.4)]);
        assert!(bandwidth.is_some_and(|rate| (rate / ((2 << 20) as f64 / 0.19) - 1.0).abs() < 1e-4), "the largest: {bandwidth:?}");
        assert_eq!(note, "the bandwidth of a link is that of 4 pairs of processes at once between two nodes: 1.00 times that of one");
    }

    #[test]
    fn pairs_that_do_not_slow_each_other_down_do_not() {
        let (bandwidth, note) = found(&[(1, 0.1), (4, 0.11)]);
        assert_eq!((bandwidth, note.contains("do not share")), (None, true));
        assert_eq!(found(&[]), (None, String::new()));
        assert_eq!(found(&[(1, 0.1)]), (None, String::new()));
    }
}
