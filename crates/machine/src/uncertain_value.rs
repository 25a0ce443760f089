//! A number of a machine file with its uncertainty.

use serde::{Deserialize, Serialize};

/// A number with the interval it lies in; all three are finite and ascending.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "[f64; 3]", try_from = "[f64; 3]")]
pub struct UncertainValue {
    low: f64,
    middle: f64,
    high: f64,
}

/// Numbers that do not form such a value.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum UncertainValueError {
    /// One of them is infinite or not a number.
    #[error("{0} is not a finite number")]
    NotFinite(f64),
    /// The lower end is above the upper.
    #[error("the interval ends before it begins: low is {low}, high is {high}")]
    LowAboveHigh {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// The middle is outside the interval.
    #[error("the middle {middle} is not between low {low} and high {high}")]
    MiddleOutside {
        /// Lower end.
        low: f64,
        /// The middle.
        middle: f64,
        /// Upper end.
        high: f64,
    },
}

impl UncertainValue {
    /// Exactly 0.
    pub const ZERO: UncertainValue = UncertainValue { low: 0.0, middle: 0.0, high: 0.0 };

    /// Exactly 1: a factor without effect.
    pub const ONE: UncertainValue = UncertainValue { low: 1.0, middle: 1.0, high: 1.0 };

    /// A value from ascending numbers.
    pub fn new(low: f64, middle: f64, high: f64) -> Result<UncertainValue, UncertainValueError> {
        if let Some(bad) = [low, middle, high].into_iter().find(|number| !number.is_finite()) {
            return Err(UncertainValueError::NotFinite(bad));
        }
        if low > high {
            return Err(UncertainValueError::LowAboveHigh { low, high });
        }
        if middle < low || middle > high {
            return Err(UncertainValueError::MiddleOutside { low, middle, high });
        }
        Ok(UncertainValue { low, middle, high })
    }

    /// A value without an interval.
    pub fn exact(value: f64) -> Result<UncertainValue, UncertainValueError> {
        UncertainValue::new(value, value, value)
    }

    /// A value around `middle`, with the ends sorted and all numbers rounded to the digits of a measurement.
    pub fn from_measurement(low: f64, middle: f64, high: f64) -> Result<UncertainValue, UncertainValueError> {
        let [low, middle, high] = [low.min(middle), middle, high.max(middle)].map(rounded);
        UncertainValue::new(low, middle, high)
    }

    /// The value with all three numbers moved into a range, where nothing outside is possible.
    pub(crate) fn clamped(&self, least: f64, most: f64) -> UncertainValue {
        let [low, middle, high] = [self.low, self.middle, self.high].map(|number| number.clamp(least, most));
        UncertainValue { low, middle, high }
    }

    /// The value with both ends moved outwards by a factor of at least 1.
    pub(crate) fn widened(&self, factor: f64) -> UncertainValue {
        let low = if self.low > 0.0 { self.low / factor } else { self.low * factor };
        let high = if self.high > 0.0 { self.high * factor } else { self.high / factor };
        UncertainValue { low: low.max(f64::MIN), middle: self.middle, high: high.min(f64::MAX) }
    }

    /// Lower end.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Best estimate.
    pub fn middle(&self) -> f64 {
        self.middle
    }

    /// Upper end.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Whether the interval is a point.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

impl From<UncertainValue> for [f64; 3] {
    fn from(figure: UncertainValue) -> [f64; 3] {
        [figure.low, figure.middle, figure.high]
    }
}

impl TryFrom<[f64; 3]> for UncertainValue {
    type Error = UncertainValueError;

    fn try_from([low, middle, high]: [f64; 3]) -> Result<UncertainValue, UncertainValueError> {
        UncertainValue::new(low, middle, high)
    }
}

/// Five digits: more than any benchmark provides, and still readable.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_numbers_are_in_order() {
        assert!(UncertainValue::new(1.0, 2.0, 3.0).is_ok());
        assert_eq!(UncertainValue::new(3.0, 2.0, 1.0), Err(UncertainValueError::LowAboveHigh { low: 3.0, high: 1.0 }));
        assert_eq!(UncertainValue::new(1.0, 4.0, 3.0), Err(UncertainValueError::MiddleOutside { low: 1.0, middle: 4.0, high: 3.0 }));
        assert!(matches!(UncertainValue::exact(f64::NAN), Err(UncertainValueError::NotFinite(_))));
    }

    #[test]
    fn ends_are_moved_inwards_and_outwards() {
        let of = |low: f64, middle: f64, high: f64| UncertainValue::new(low, middle, high).unwrap();
        assert_eq!(of(-0.1, 0.5, 1.2).clamped(0.0, 1.0), of(0.0, 0.5, 1.0));
        assert_eq!(of(2.0, 3.0, 4.0).widened(2.0), of(1.0, 3.0, 8.0));
        assert_eq!(of(-4.0, -3.0, -2.0).widened(2.0), of(-8.0, -3.0, -1.0));
        assert_eq!(UncertainValue::ZERO.widened(2.0), UncertainValue::ZERO);
    }

    #[test]
    fn measurements_have_five_digits() {
        let figure = UncertainValue::from_measurement(1.234_567e-7, 1.3e-7, 1.4e-7).unwrap();
        assert_eq!((figure.low(), figure.middle()), (1.2346e-7, 1.3e-7));
        assert_eq!(<[f64; 3]>::from(UncertainValue::from_measurement(2.0, 1.0, 0.5).unwrap()), [1.0, 1.0, 1.0]);
    }
}
