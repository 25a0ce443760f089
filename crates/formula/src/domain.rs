//! The ranges of a formula's parameters.

use crate::interval::Interval;
use crate::values::SymbolValues;

/// The ranges of parameters over which formulas are compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    ranges: SymbolValues<Interval>,
    default_range: Interval,
}

impl Domain {
    /// All parameters are nonnegative.
    pub fn new() -> Domain {
        Domain::with_lower_bound(0.0)
    }

    /// All parameters are at least one, such as numbers of processes, elements and bytes.
    pub fn at_least_one() -> Domain {
        Domain::with_lower_bound(1.0)
    }

    fn with_lower_bound(low: f64) -> Domain {
        Domain { ranges: SymbolValues::new(), default_range: Interval::from_bounds(low, f64::INFINITY) }
    }

    /// The domain with a parameter restricted to a range.
    pub fn with_range(mut self, symbol: &str, range: Interval) -> Domain {
        self.ranges.set(symbol, range);
        self
    }

    /// The range of a parameter.
    pub fn range(&self, symbol: &str) -> Interval {
        self.ranges.get(symbol).copied().unwrap_or(self.default_range)
    }
}

impl Default for Domain {
    fn default() -> Domain {
        Domain::new()
    }
}
