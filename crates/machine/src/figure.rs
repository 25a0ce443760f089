//! A figure of a machine: never a bare number, since no measurement is one.

use serde::{Deserialize, Serialize};

/// A number with the interval it lies in; the three are finite and in order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(into = "[f64; 3]", try_from = "[f64; 3]")]
pub struct Figure {
    low: f64,
    middle: f64,
    high: f64,
}

/// Numbers that make no figure.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum BadFigure {
    /// One of them is infinite or not a number.
    #[error("{0} is no figure: it must be a finite number")]
    NotFinite(f64),
    /// The lower end is above the upper.
    #[error("the interval ends before it begins: low is {low}, high is {high}")]
    LowAboveHigh {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// The middle is outside.
    #[error("the middle {middle} is not between low {low} and high {high}")]
    MiddleOutside {
        /// The lower end.
        low: f64,
        /// What should lie between.
        middle: f64,
        /// The upper end.
        high: f64,
    },
}

impl Figure {
    /// Nothing, for sure.
    pub const ZERO: Figure = Figure { low: 0.0, middle: 0.0, high: 0.0 };

    /// One, for sure: a factor that changes nothing.
    pub const ONE: Figure = Figure { low: 1.0, middle: 1.0, high: 1.0 };

    /// A figure, if the numbers are in order.
    pub fn new(low: f64, middle: f64, high: f64) -> Result<Figure, BadFigure> {
        if let Some(bad) = [low, middle, high].into_iter().find(|number| !number.is_finite()) {
            return Err(BadFigure::NotFinite(bad));
        }
        if low > high {
            return Err(BadFigure::LowAboveHigh { low, high });
        }
        if middle < low || middle > high {
            return Err(BadFigure::MiddleOutside { low, middle, high });
        }
        Ok(Figure { low, middle, high })
    }

    /// A figure that is known exactly, or given without an interval.
    pub fn exact(value: f64) -> Result<Figure, BadFigure> {
        Figure::new(value, value, value)
    }

    /// Around `middle`, with the ends brought in order and everything rounded to the digits that a measurement has.
    pub fn measured(low: f64, middle: f64, high: f64) -> Result<Figure, BadFigure> {
        let [low, middle, high] = [low.min(middle), middle, high.max(middle)].map(rounded);
        Figure::new(low, middle, high)
    }

    /// The lower end.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The figure itself.
    pub fn middle(&self) -> f64 {
        self.middle
    }

    /// The upper end.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// Whether the interval is a point.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

impl From<Figure> for [f64; 3] {
    fn from(figure: Figure) -> [f64; 3] {
        [figure.low, figure.middle, figure.high]
    }
}

impl TryFrom<[f64; 3]> for Figure {
    type Error = BadFigure;

    fn try_from([low, middle, high]: [f64; 3]) -> Result<Figure, BadFigure> {
        Figure::new(low, middle, high)
    }
}

/// Five digits: more than any benchmark is good for, and still readable.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_numbers_are_in_order() {
        assert!(Figure::new(1.0, 2.0, 3.0).is_ok());
        assert_eq!(Figure::new(3.0, 2.0, 1.0), Err(BadFigure::LowAboveHigh { low: 3.0, high: 1.0 }));
        assert_eq!(Figure::new(1.0, 4.0, 3.0), Err(BadFigure::MiddleOutside { low: 1.0, middle: 4.0, high: 3.0 }));
        assert!(matches!(Figure::exact(f64::NAN), Err(BadFigure::NotFinite(_))));
    }

    #[test]
    fn what_is_measured_has_five_digits() {
        let figure = Figure::measured(1.234_567e-7, 1.3e-7, 1.4e-7).unwrap();
        assert_eq!((figure.low(), figure.middle()), (1.2346e-7, 1.3e-7));
        assert_eq!(<[f64; 3]>::from(Figure::measured(2.0, 1.0, 0.5).unwrap()), [1.0, 1.0, 1.0]);
    }
}
