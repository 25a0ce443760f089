//! How disturbed the measurements were: one figure for the file, which readers widen intervals by, and notes on what it follows from.
//!
//! The figure is relative: with 0.5 a cost may be 1.5 times smaller or larger than the interval of its repetitions says.

use std::collections::BTreeMap;

use sintonia_fit::sample::median;

use super::timing::SamplesBySize;
use crate::bench::contradiction::{ContradictoryTime, MedianTimes, contradictions};
use crate::bench::{BenchQuantity, BenchSample, HostUse};
use crate::{MessageMetric, Named, PairClass};

/// What is known about disturbances.
#[derive(Debug, Default)]
pub(super) struct DisturbanceEvidence {
    /// Logarithms of how many times as long as without disturbance each point took, by kind of measurement.
    points: BTreeMap<&'static str, Vec<f64>>,
    /// Shares of processor time by host: other programs, and stolen.
    hosts: BTreeMap<String, [f64; 2]>,
    /// How many times as long as other figures allow transfers took.
    contradictory_factor: f64,
    notes: Vec<String>,
}

/// Shares of processor time that are worth a note.
pub(super) const MUCH_USE: f64 = 0.1;
const MUCH_STOLEN: f64 = 0.02;

impl DisturbanceEvidence {
    pub(super) fn add_samples<'a>(&mut self, samples: impl Iterator<Item = &'a BenchSample>) {
        for sample in samples {
            let kind = match sample.quantity {
                BenchQuantity::Message { class, .. } => class.name(),
                BenchQuantity::Group { .. } => "collectives",
                BenchQuantity::Memory { .. } => "memory",
                // Their repetitions are shorter than a time slice: a disturbed one is an outlier, which a median ignores.
                BenchQuantity::Compute { .. } | BenchQuantity::Overlap { .. } | BenchQuantity::SharedLink { .. } => continue,
            };
            self.points.entry(kind).or_default().push(sample.disturbance.max(0.0).ln_1p());
        }
    }

    pub(super) fn add_hosts<'a>(&mut self, used: impl Iterator<Item = &'a HostUse>) {
        for used in used {
            let [others, stolen] = self.hosts.entry(used.host.clone()).or_default();
            (*others, *stolen) = (others.max(used.others), stolen.max(used.stolen));
        }
    }

    /// The relative disturbance, to three digits.
    pub(super) fn relative(&self) -> f64 {
        let mean = |logarithms: &Vec<f64>| (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp();
        let measured = self.points.values().map(mean).fold(self.contradictory_factor.max(1.0), f64::max);
        let stolen = self.hosts.values().map(|[_, stolen]| stolen.min(MOST_STOLEN)).fold(0.0, f64::max);
        let relative = measured / (1.0 - stolen) - 1.0;
        if relative.is_finite() { (relative * 1e3).round() / 1e3 } else { MOST }
    }

    /// Why the measurements are disturbed, if they are.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        for (kind, logarithms) in &self.points {
            let disturbed = logarithms.iter().filter(|logarithm| **logarithm > NOTED_FACTOR.ln()).count();
            if disturbed * 20 > logarithms.len() {
                let all = logarithms.len();
                let name = kind.replace('_', " ");
                notes.push(format!("{name}: {disturbed} of {all} points were disturbed whenever they were measured"));
            }
        }
        let percent = |share: f64| (100.0 * share).round();
        for (host, [others, stolen]) in &self.hosts {
            if *others > MUCH_USE {
                notes.push(format!("{host}: other programs used {} % of the processor time during the measurement", percent(*others)));
            }
            if *stolen > MUCH_STOLEN {
                notes.push(format!("{host}: the hypervisor gave {} % of the processor time to others", percent(*stolen)));
            }
        }
        notes
    }
}

/// A point that took this many times as long as without disturbance counts as disturbed.
const NOTED_FACTOR: f64 = 1.25;
/// With more stolen time nothing can be said.
const MOST_STOLEN: f64 = 0.99;
/// A disturbance without bounds.
const MOST: f64 = 1e9;

/// Removes times that other figures of the same pair contradict. A metric for which that is more than half is not written; transfers
/// always are, but count as disturbed.
pub(super) fn without_contradictions<'a>(
    class: PairClass,
    thresholds: &[u64],
    mut points: BTreeMap<MessageMetric, SamplesBySize<'a>>,
    evidence: &mut DisturbanceEvidence,
) -> BTreeMap<MessageMetric, SamplesBySize<'a>> {
    let mut wrong: BTreeMap<MessageMetric, Vec<ContradictoryTime>> = BTreeMap::new();
    contradictions(&median_times(&points), thresholds).into_iter().for_each(|time| wrong.entry(time.what).or_default().push(time));
    for (what, times) in &wrong {
        let name = format!("{}, {}", what.name().replace('_', " "), class.name().replace('_', " "));
        let Some(sizes) = points.get_mut(what) else { continue };
        let example = &times[0];
        let shown = |seconds: f64| sintonia_text::quantity::format_seconds(seconds);
        let reason = format!("{} for {} bytes where others allow {}", shown(example.seconds), example.bytes, shown(example.most));
        if times.len() * 2 <= sizes.len() {
            times.iter().for_each(|time| _ = sizes.remove(&time.bytes));
            evidence.notes.push(format!(
                "{name}: {} of {} sizes contradict the others and are left out ({reason})",
                times.len(),
                sizes.len() + times.len()
            ));
        } else if *what == MessageMetric::Transfer {
            let factors: Vec<f64> = times.iter().map(|time| time.seconds / time.most).collect();
            evidence.contradictory_factor = evidence.contradictory_factor.max(median(&factors).unwrap_or(1.0));
            evidence.notes.push(format!("{name}: {} of {} sizes contradict each other ({reason})", times.len(), sizes.len()));
        } else {
            points.remove(what);
            evidence.notes.push(format!("{name}: not written, since most sizes contradict others ({reason})"));
        }
    }
    points
}

/// The median over launches of the medians at each size.
fn median_times(points: &BTreeMap<MessageMetric, SamplesBySize>) -> MedianTimes {
    let seconds = |samples: &Vec<&BenchSample>| {
        let medians: Vec<f64> = samples.iter().filter_map(|sample| median(&sample.kept).ok()).collect();
        median(&medians).ok()
    };
    let of = |sizes: &SamplesBySize| sizes.iter().filter_map(|(bytes, samples)| Some((*bytes, seconds(samples)?))).collect();
    points.iter().map(|(what, sizes)| (*what, of(sizes))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(what: MessageMetric, bytes: u64, seconds: f64, disturbance: f64) -> BenchSample {
        let quantity = BenchQuantity::Message { class: PairClass::SameNode, what };
        BenchSample { disturbance, ..BenchSample::from_values(quantity, bytes, &[seconds]).unwrap() }
    }

    fn by_size(samples: &[BenchSample]) -> BTreeMap<MessageMetric, SamplesBySize<'_>> {
        let mut points: BTreeMap<MessageMetric, SamplesBySize> = BTreeMap::new();
        for sample in samples {
            let BenchQuantity::Message { what, .. } = sample.quantity else { panic!("a message") };
            points.entry(what).or_default().entry(sample.bytes).or_default().push(sample);
        }
        points
    }

    #[test]
    fn nothing_is_disturbed_without_evidence() {
        let mut evidence = DisturbanceEvidence::default();
        assert_eq!((evidence.relative(), evidence.notes()), (0.0, Vec::new()));
        evidence.add_samples([sample(MessageMetric::Send, 1, 1e-3, 0.0)].iter());
        evidence.add_hosts([HostUse { host: "a".into(), others: 0.05, stolen: 0.0 }].iter());
        assert_eq!((evidence.relative(), evidence.notes()), (0.0, Vec::new()));
    }

    #[test]
    fn disturbed_points_and_stolen_time_count() {
        let mut evidence = DisturbanceEvidence::default();
        let samples = [0.0, 3.0].map(|disturbance| sample(MessageMetric::Send, 1, 1e-3, disturbance));
        evidence.add_samples(samples.iter());
        assert_eq!(evidence.relative(), 1.0, "the geometric mean of 1 and 4");
        evidence.add_hosts([HostUse { host: "a".into(), others: 0.5, stolen: 0.2 }].iter());
        assert_eq!(evidence.relative(), 1.5);
        let notes = [
            "same node: 1 of 2 points were disturbed whenever they were measured",
            "a: other programs used 50 % of the processor time during the measurement",
            "a: the hypervisor gave 20 % of the processor time to others",
        ];
        assert_eq!(evidence.notes(), notes);
    }

    #[test]
    fn contradictory_times_are_left_out() {
        let mut samples: Vec<BenchSample> = (0..8).map(|bytes| sample(MessageMetric::Transfer, bytes, 4e-6, 0.0)).collect();
        samples.extend((0..8).map(|bytes| sample(MessageMetric::Send, bytes, if bytes == 3 { 14.6e-3 } else { 2e-6 }, 0.0)));
        samples.extend((0..8).map(|bytes| sample(MessageMetric::Receive, bytes, 1e-3 * (bytes + 1) as f64, 0.0)));
        let mut evidence = DisturbanceEvidence::default();
        let points = without_contradictions(PairClass::SameNode, &[], by_size(&samples), &mut evidence);
        assert_eq!(points.keys().copied().collect::<Vec<_>>(), [MessageMetric::Send, MessageMetric::Transfer]);
        assert_eq!((points[&MessageMetric::Send].len(), points[&MessageMetric::Transfer].len()), (7, 8));
        assert_eq!(
            evidence.notes[0],
            "send, same node: 1 of 8 sizes contradict the others and are left out (14.6 ms for 3 bytes where others allow 2.00 us)"
        );
        assert!(evidence.notes[1].starts_with("receive, same node: not written"), "{:?}", evidence.notes);
        assert_eq!(evidence.relative(), 0.0);
    }
}
