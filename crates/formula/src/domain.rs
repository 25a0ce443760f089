//! Where the parameters of a formula lie.

use crate::interval::Interval;
use crate::values::Values;

/// The ranges of parameters, in which formulas are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    ranges: Values<Interval>,
    otherwise: Interval,
}

impl Domain {
    /// No parameter is negative.
    pub fn new() -> Domain {
        Domain::with_all(0.0)
    }

    /// No parameter is less than one, as numbers of processes, elements and bytes are.
    pub fn counts() -> Domain {
        Domain::with_all(1.0)
    }

    fn with_all(low: f64) -> Domain {
        Domain { ranges: Values::new(), otherwise: Interval::between(low, f64::INFINITY) }
    }

    /// This domain with a parameter in a certain range.
    pub fn with(mut self, symbol: &str, range: Interval) -> Domain {
        self.ranges.set(symbol, range);
        self
    }

    /// Where a parameter lies.
    pub fn range(&self, symbol: &str) -> Interval {
        self.ranges.get(symbol).copied().unwrap_or(self.otherwise)
    }
}

impl Default for Domain {
    fn default() -> Domain {
        Domain::new()
    }
}
