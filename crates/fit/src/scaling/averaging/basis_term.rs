//! The terms of forms: products of one factor of each parameter.

use crate::scaling::hypothesis::LogFactor;
use serde::{Deserialize, Serialize};

/// A factor `x^exponent * log(x)`, perhaps only above or up to some value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BasisFactor {
    /// The exponent.
    pub exponent: f64,
    /// The logarithm.
    pub log: LogFactor,
    /// The value above which the term counts; below, it is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// The value up to which the term counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<f64>,
}

impl BasisFactor {
    pub(super) fn new(exponent: f64, log: LogFactor) -> Self {
        Self { exponent, log, above: None, up_to: None }
    }

    /// Its value.
    pub fn value_at(&self, x: f64) -> f64 {
        let log = match self.log {
            LogFactor::None => 1.0,
            // Rounded up like a tree's depth, of numbers that may have been computed.
            LogFactor::CeilLog2 => (x.max(1.0).log2() - 1e-9).ceil(),
            log => log.eval(x.max(1.0)),
        };
        let counts = self.above.is_none_or(|cut| x > cut) && self.up_to.is_none_or(|cut| x <= cut);
        if counts { x.powf(self.exponent) * log } else { 0.0 }
    }

    /// Whether it is one everywhere that it counts.
    pub(in crate::scaling) fn is_constant(&self) -> bool {
        self.exponent == 0.0 && self.log == LogFactor::None
    }

    fn is_valid(&self) -> bool {
        self.exponent.is_finite() && [self.above, self.up_to].into_iter().flatten().all(f64::is_finite)
    }
}

/// A product of one factor of each parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BasisTerm {
    factors: Vec<BasisFactor>,
}

impl BasisTerm {
    pub(super) fn new(factors: Vec<BasisFactor>) -> Self {
        Self { factors }
    }

    /// The factor of each parameter.
    pub fn factors(&self) -> &[BasisFactor] {
        &self.factors
    }

    /// Its value.
    pub fn value_at(&self, x: &[f64]) -> f64 {
        self.factors.iter().zip(x).map(|(factor, x)| factor.value_at(*x)).product()
    }

    pub(super) fn is_constant(&self) -> bool {
        self.factors.iter().all(BasisFactor::is_constant)
    }

    pub(super) fn is_valid(&self, parameters: usize) -> bool {
        self.factors.len() == parameters && self.factors.iter().all(BasisFactor::is_valid)
    }
}

impl From<BasisFactor> for BasisTerm {
    fn from(factor: BasisFactor) -> Self {
        Self::new(vec![factor])
    }
}
