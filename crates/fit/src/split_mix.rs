//! A deterministic random number generator, so that the same measurements give the same figures on every machine.

use crate::stats::normal_quantile;
use serde::{Deserialize, Serialize};

/// The SplitMix64 generator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A uniform 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        mix(self.state)
    }

    /// The uniform number between 0 and 1 (excluded) that belongs to a key and a counter, whatever was asked for before.
    pub fn uniform_at(key: u64, counter: u64) -> f64 {
        (mix(key ^ counter.wrapping_mul(GOLDEN_GAMMA)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A uniform number between 0 and 1, both excluded.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// A uniform index below `count`, which must not be zero.
    pub fn index_below(&mut self, count: usize) -> usize {
        ((self.uniform() * count as f64) as usize).min(count.saturating_sub(1))
    }

    /// A standard normal deviate.
    pub fn standard_normal(&mut self) -> f64 {
        normal_quantile(self.uniform())
    }

    /// A chi-squared deviate divided by its degrees of freedom (Wilson and Hilferty's approximation).
    pub fn scaled_chi_squared(&mut self, freedom: f64) -> f64 {
        let shrink = 2.0 / (9.0 * freedom);
        (1.0 - shrink + self.standard_normal() * shrink.sqrt()).max(0.05).powi(3)
    }
}

/// The step of the state: 2^64 divided by the golden ratio.
const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64 (Sebastiano Vigna).
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_numbers_have_mean_zero_and_spread_one() {
        let mut random = SplitMix64::new(1);
        let drawn: Vec<f64> = (0..20_000).map(|_| random.standard_normal()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let square = drawn.iter().map(|v| v * v).sum::<f64>() / drawn.len() as f64;
        assert!(mean.abs() < 0.03 && (square - 1.0).abs() < 0.04, "mean {mean}, mean square {square}");
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        assert_eq!(SplitMix64::new(7).next_u64(), SplitMix64::new(7).next_u64());
        assert_ne!(SplitMix64::new(7).next_u64(), SplitMix64::new(8).next_u64());
    }
}
