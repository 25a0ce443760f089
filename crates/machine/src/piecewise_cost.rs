//! Piecewise linear time by size.

use crate::UncertainValue;

/// Seconds as a linear function of bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearCost {
    /// Seconds at 0 bytes, extrapolated.
    pub intercept: UncertainValue,
    /// Seconds per byte.
    pub slope: UncertainValue,
    /// How many times smaller or larger a time may be than these figures say. It belongs to the time: with a negative intercept, a longer
    /// time has a smaller intercept, so no interval of the intercept could express it.
    pub(crate) widening: f64,
}

impl LinearCost {
    /// A line.
    pub fn new(intercept: UncertainValue, slope: UncertainValue) -> LinearCost {
        LinearCost { intercept, slope, widening: 1.0 }
    }

    /// The same times, with intervals widened by a factor.
    fn widened(&self, factor: f64) -> LinearCost {
        LinearCost { widening: self.widening * factor, ..*self }
    }

    /// Intercept and slope of the line of low, middle and high times.
    pub fn bounds(&self) -> [(f64, f64); 3] {
        let (intercept, slope) = (<[f64; 3]>::from(self.intercept), <[f64; 3]>::from(self.slope));
        let factors = [self.widening.recip(), 1.0, self.widening];
        std::array::from_fn(|k| (intercept[k] * factors[k], slope[k] * factors[k]))
    }

    /// Whether all intervals are points.
    pub fn is_exact(&self) -> bool {
        self.intercept.is_exact() && self.slope.is_exact() && self.widening == 1.0
    }

    /// Low, middle and high at a size.
    pub fn at(&self, bytes: f64) -> [f64; 3] {
        self.bounds().map(|(intercept, slope)| intercept + slope * bytes)
    }
}

/// Consecutive lines: each applies up to and including its bound, the last one to all larger sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct PiecewiseCost {
    from: f64,
    bounded: Vec<(UncertainValue, LinearCost)>,
    last: LinearCost,
}

/// Why lines do not form a cost.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PiecewiseCostError {
    /// A piece ends before it begins.
    #[error("the piece up to {up_to} bytes ends before it begins: it begins above {above} bytes")]
    NotAscending {
        /// Upper end of the previous piece.
        above: f64,
        /// Upper end of this one.
        up_to: f64,
    },
    /// A negative time.
    #[error("the time of {bytes} bytes is negative: {seconds} s")]
    BelowZero {
        /// The size.
        bytes: f64,
        /// The time.
        seconds: f64,
    },
    /// A time that becomes negative for large messages.
    #[error("the last piece has a negative slope ({slope} s per byte): the time of a large message is negative")]
    FallsBelowZero {
        /// The slope.
        slope: f64,
    },
}

impl PiecewiseCost {
    /// Pieces that begin at `from` bytes; the error has the index of the piece.
    pub fn new(
        from: f64,
        bounded: Vec<(UncertainValue, LinearCost)>,
        last: LinearCost,
    ) -> Result<PiecewiseCost, (usize, PiecewiseCostError)> {
        let mut above = from;
        for (index, (bound, line)) in bounded.iter().enumerate() {
            let up_to = bound.middle();
            if up_to < above || (index > 0 && up_to == above) {
                return Err((index, PiecewiseCostError::NotAscending { above, up_to }));
            }
            check_non_negative(line, [above, up_to]).map_err(|problem| (index, problem))?;
            above = up_to;
        }
        check_non_negative(&last, [above, above]).map_err(|problem| (bounded.len(), problem))?;
        if last.slope.middle() < 0.0 {
            return Err((bounded.len(), PiecewiseCostError::FallsBelowZero { slope: last.slope.middle() }));
        }
        Ok(PiecewiseCost { from, bounded, last })
    }

    /// One line for all sizes.
    pub fn from_line(line: LinearCost) -> Result<PiecewiseCost, PiecewiseCostError> {
        PiecewiseCost::new(0.0, Vec::new(), line).map_err(|(_, problem)| problem)
    }

    /// The same times, with intervals widened by a factor.
    pub(crate) fn widened(&self, factor: f64) -> PiecewiseCost {
        let bounded = self.bounded.iter().map(|(bound, line)| (*bound, line.widened(factor))).collect();
        PiecewiseCost { from: self.from, bounded, last: self.last.widened(factor) }
    }

    /// Smallest size.
    pub fn from_bytes(&self) -> f64 {
        self.from
    }

    /// All lines but the last, each with its upper bound.
    pub fn bounded(&self) -> &[(UncertainValue, LinearCost)] {
        &self.bounded
    }

    /// The line without an upper bound.
    pub fn last(&self) -> &LinearCost {
        &self.last
    }

    /// All lines with their upper bounds; the last one has none.
    pub fn iter(&self) -> impl Iterator<Item = (Option<UncertainValue>, &LinearCost)> {
        self.bounded.iter().map(|(bound, line)| (Some(*bound), line)).chain([(None, &self.last)])
    }

    /// The line that applies at a size.
    pub fn line(&self, bytes: f64) -> &LinearCost {
        self.bounded.iter().find(|(bound, _)| bytes <= bound.middle()).map_or(&self.last, |(_, line)| line)
    }

    /// Low, middle and high seconds at a size. Within the interval of a bound, the result encloses both pieces.
    pub fn at(&self, bytes: f64) -> [f64; 3] {
        let [mut low, middle, mut high] = self.line(bytes).at(bytes);
        let next = self.bounded.iter().skip(1).map(|(_, line)| line).chain([&self.last]);
        for ((bound, line), next) in self.bounded.iter().zip(next) {
            if bound.low() < bytes && bytes < bound.high() {
                for other in [line.at(bytes), next.at(bytes)] {
                    (low, high) = (low.min(other[0]), high.max(other[2]));
                }
            }
        }
        // Below the smallest size a line may become negative.
        [low, middle, high].map(|seconds| seconds.max(0.0))
    }
}

fn check_non_negative(line: &LinearCost, ends: [f64; 2]) -> Result<(), PiecewiseCostError> {
    let below = ends.into_iter().map(|bytes| (bytes, line.at(bytes)[1])).find(|(_, seconds)| *seconds < 0.0);
    below.map_or(Ok(()), |(bytes, seconds)| Err(PiecewiseCostError::BelowZero { bytes, seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(value: f64) -> UncertainValue {
        UncertainValue::exact(value).unwrap()
    }

    fn line(intercept: f64, slope: f64) -> LinearCost {
        LinearCost::new(exact(intercept), exact(slope))
    }

    #[test]
    fn a_piece_includes_its_bound() {
        let pieces = PiecewiseCost::new(0.0, vec![(exact(100.0), line(1.0, 0.0))], line(2.0, 0.0)).unwrap();
        assert_eq!([0.0, 100.0, 100.5, 1e9].map(|bytes| pieces.at(bytes)[1]), [1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn within_the_bound_interval_both_pieces_are_enclosed() {
        let bound = UncertainValue::new(90.0, 100.0, 120.0).unwrap();
        let pieces = PiecewiseCost::new(0.0, vec![(bound, line(1.0, 0.0))], line(2.0, 0.0)).unwrap();
        assert_eq!(pieces.at(110.0), [1.0, 2.0, 2.0]);
        assert_eq!(pieces.at(121.0), [2.0, 2.0, 2.0]);
    }

    #[test]
    fn a_time_is_widened_and_not_its_parts() {
        let pieces = PiecewiseCost::new(1.0, Vec::new(), line(-10e-6, 20e-6)).unwrap().widened(1.5);
        let [low, middle, high] = pieces.at(1.0);
        assert!(
            (low - 10e-6 / 1.5).abs() < 1e-12 && (middle - 10e-6).abs() < 1e-12 && (high - 15e-6).abs() < 1e-12,
            "{low} {middle} {high}"
        );
    }

    #[test]
    fn pieces_ascend_and_times_are_not_negative() {
        let descending = vec![(exact(100.0), line(1.0, 0.0)), (exact(50.0), line(1.0, 0.0))];
        assert_eq!(
            PiecewiseCost::new(0.0, descending, line(1.0, 0.0)),
            Err((1, PiecewiseCostError::NotAscending { above: 100.0, up_to: 50.0 }))
        );
        assert_eq!(PiecewiseCost::from_line(line(-1.0, 1.0)), Err(PiecewiseCostError::BelowZero { bytes: 0.0, seconds: -1.0 }));
        assert_eq!(PiecewiseCost::from_line(line(1.0, -1.0)), Err(PiecewiseCostError::FallsBelowZero { slope: -1.0 }));
        assert!(PiecewiseCost::new(6824.0, Vec::new(), line(-82e-6, 0.088e-6)).is_ok(), "a negative intercept is not a negative time");
    }
}
