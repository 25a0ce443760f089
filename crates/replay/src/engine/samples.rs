//! Estimates the recorded network from receives that waited.

use super::RecordedNetwork;
use crate::transfer_counts::TransferCounts;

/// Maximum number of samples.
const MAX_SAMPLES: usize = 20_000;

/// Receives that waited: message size and time since the send.
#[derive(Default)]
pub(super) struct TransferSamples {
    samples: Vec<(f64, f64)>,
    /// Keeps one of `stride + 1` receives; grows with their number.
    stride: u64,
    count: u64,
    /// Receives that waited while one of the two ranks waited for a core.
    n_disturbed: u64,
}

impl TransferSamples {
    /// Adds a sample.
    pub(super) fn add(&mut self, bytes: f64, seconds: f64) {
        self.count += 1;
        if seconds < 0.0 || !self.count.is_multiple_of(self.stride + 1) {
            return;
        }
        self.samples.push((bytes, seconds));
        if self.samples.len() >= MAX_SAMPLES {
            self.stride = self.stride * 2 + 1;
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// Counts a receive whose time says nothing about the network.
    pub(super) fn count_disturbed(&mut self) {
        self.n_disturbed += 1;
    }

    /// Weighted linear fit through the medians per size. Relative errors count, so that small messages matter.
    pub(super) fn fit_network(&self) -> RecordedNetwork {
        let medians = self.medians();
        let line = |points: &[(f64, f64)]| {
            let weight = |seconds: f64| 1.0 / (seconds * seconds).max(1e-18);
            let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| weight(*y) * of(*x, *y)).sum::<f64>();
            let (w, x, y) = (sum(&|_, _| 1.0), sum(&|x, _| x), sum(&|_, y| y));
            let (xx, xy) = (sum(&|x, _| x * x), sum(&|x, y| x * y));
            let spread = w * xx - x * x;
            let slope = if spread > 1e-9 * w * xx { (w * xy - x * y) / spread } else { 0.0 };
            (((y - slope * x) / w).max(0.0), slope.max(0.0))
        };
        let transfers = TransferCounts { undisturbed: self.count, disturbed: self.n_disturbed };
        let (latency_s, s_per_byte) = if medians.is_empty() || transfers.are_too_few() { (0.0, 0.0) } else { line(&medians) };
        RecordedNetwork { latency_s, s_per_byte, transfers, ..RecordedNetwork::default() }
    }

    fn medians(&self) -> Vec<(f64, f64)> {
        let mut seen = self.samples.clone();
        seen.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        seen.chunk_by(|a, b| a.0 == b.0).map(|size| size[size.len() / 2]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbed_transfers_do_not_count_and_too_few_others_are_refused() {
        let mut samples = TransferSamples::default();
        for turn in 0..1000 {
            samples.count_disturbed();
            if turn % 100 < 1 {
                samples.add(8.0, 3e-6);
            }
        }
        assert_eq!(samples.fit_network().latency_s, 3e-6);
        assert_eq!(samples.fit_network().transfers, TransferCounts { undisturbed: 10, disturbed: 1000 });
        let mut few = TransferSamples::default();
        few.add(8.0, 3e-6);
        assert_eq!(few.fit_network().latency_s, 3e-6, "one is enough if none was disturbed");
        few.count_disturbed();
        assert!(few.fit_network().transfers.are_too_few());
        assert_eq!(few.fit_network().latency_s, 0.0);
    }

    #[test]
    fn a_line_is_fitted_in_spite_of_outliers() {
        let mut samples = TransferSamples::default();
        for turn in 0..100u32 {
            for bytes in [0.0, 1000.0, 1e6] {
                let late = if turn % 10 == 0 { 1e-3 } else { 0.0 };
                samples.add(bytes, 2e-6 + 1e-9 * bytes + late);
            }
        }
        let network = samples.fit_network();
        assert!((network.latency_s / 2e-6 - 1.0).abs() < 0.01 && (network.s_per_byte / 1e-9 - 1.0).abs() < 0.01, "{network:?}");
    }
}
