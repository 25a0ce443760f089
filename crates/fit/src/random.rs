//! Numbers that look random and are the same on every machine, so that the same measurements give the same figures everywhere.

use crate::stats::normal_quantile;
use serde::{Deserialize, Serialize};

/// A source of random numbers that its seed determines (SplitMix64).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The source that belongs to a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A number evenly spread over all 64-bit numbers.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number evenly spread between 0 and 1, both excluded.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// An index below `count`, which is not zero.
    pub fn below(&mut self, count: usize) -> usize {
        ((self.unit() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.unit())
    }

    /// A number from the chi-squared distribution divided by its degrees of freedom (Wilson and Hilferty's approximation).
    pub fn mean_square(&mut self, freedom: f64) -> f64 {
        let shrink = 2.0 / (9.0 * freedom);
        (1.0 - shrink + self.normal() * shrink.sqrt()).max(0.05).powi(3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_mean_zero_and_spread_one() {
        let mut random = Random::new(1);
        let drawn: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let square = drawn.iter().map(|v| v * v).sum::<f64>() / drawn.len() as f64;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.04, "mean {mean}, mean square {square}");
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        assert_eq!(Random::new(7).bits(), Random::new(7).bits());
        assert_ne!(Random::new(7).bits(), Random::new(8).bits());
    }
}
