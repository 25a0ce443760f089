//! What the network of a recording seems to be like, from receives that waited for their messages.

use super::RecordedNetwork;

/// How many receives are looked at.
const MOST: usize = 20_000;

/// Receives that waited: how large the message was, and how long it took from the send on.
#[derive(Default)]
pub struct Samples {
    seen: Vec<(f64, f64)>,
    /// Of so many receives one is looked at; it grows with their number.
    every: u64,
    count: u64,
}

impl Samples {
    /// A message of so many bytes took so long.
    pub fn add(&mut self, bytes: f64, seconds: f64) {
        self.count += 1;
        if seconds < 0.0 || !self.count.is_multiple_of(self.every + 1) {
            return;
        }
        self.seen.push((bytes, seconds));
        if self.seen.len() >= MOST {
            self.every = self.every * 2 + 1;
            let mut keep = false;
            self.seen.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// A straight line through the medians of the sizes: relative errors count, so that small messages do too.
    pub fn network(&self) -> RecordedNetwork {
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
        let (latency_s, s_per_byte) = if medians.is_empty() { (0.0, 0.0) } else { line(&medians) };
        RecordedNetwork { latency_s, s_per_byte, ..RecordedNetwork::default() }
    }

    fn medians(&self) -> Vec<(f64, f64)> {
        let mut seen = self.seen.clone();
        seen.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        seen.chunk_by(|a, b| a.0 == b.0).map(|size| size[size.len() / 2]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_found_in_spite_of_a_few_that_took_long() {
        let mut samples = Samples::default();
        for turn in 0..100u32 {
            for bytes in [0.0, 1000.0, 1e6] {
                let late = if turn % 10 == 0 { 1e-3 } else { 0.0 };
                samples.add(bytes, 2e-6 + 1e-9 * bytes + late);
            }
        }
        let network = samples.network();
        assert!((network.latency_s / 2e-6 - 1.0).abs() < 0.01 && (network.s_per_byte / 1e-9 - 1.0).abs() < 0.01, "{network:?}");
    }
}
