//! Time against size, as straight lines by pieces without a gap between them.

use crate::Figure;

/// A straight line: seconds against bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The seconds at 0 bytes, if the line went on to there.
    pub intercept: Figure,
    /// The seconds that each byte adds.
    pub slope: Figure,
}

impl Line {
    /// Lowest, middle and highest at a size.
    pub fn at(&self, bytes: f64) -> [f64; 3] {
        let (i, s) = (<[f64; 3]>::from(self.intercept), <[f64; 3]>::from(self.slope));
        std::array::from_fn(|k| i[k] + s[k] * bytes)
    }
}

/// Lines that follow each other: each holds up to and including its bound, the last one for all sizes beyond.
#[derive(Debug, Clone, PartialEq)]
pub struct Pieces {
    from: f64,
    bounded: Vec<(Figure, Line)>,
    last: Line,
}

/// Why lines do not make pieces.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PiecesProblem {
    /// A piece ends before it begins.
    #[error("the piece up to {up_to} bytes ends before it begins: it holds above {above} bytes")]
    NotAscending {
        /// Where the piece before ends.
        above: f64,
        /// Where this one ends.
        up_to: f64,
    },
    /// A time below zero.
    #[error("the time of {bytes} bytes is below zero: {seconds} s")]
    BelowZero {
        /// The size.
        bytes: f64,
        /// The time.
        seconds: f64,
    },
    /// A time that falls below zero for large messages.
    #[error("the last piece has a negative slope ({slope} s per byte): the time of a large message is below zero")]
    FallsBelowZero {
        /// The slope.
        slope: f64,
    },
}

impl Pieces {
    /// Pieces that begin at `from` bytes; the error comes with the number of the piece, from 0.
    pub fn new(from: f64, bounded: Vec<(Figure, Line)>, last: Line) -> Result<Pieces, (usize, PiecesProblem)> {
        let mut above = from;
        for (index, (bound, line)) in bounded.iter().enumerate() {
            let up_to = bound.middle();
            if up_to < above || (index > 0 && up_to == above) {
                return Err((index, PiecesProblem::NotAscending { above, up_to }));
            }
            not_below_zero(line, [above, up_to]).map_err(|problem| (index, problem))?;
            above = up_to;
        }
        not_below_zero(&last, [above, above]).map_err(|problem| (bounded.len(), problem))?;
        if last.slope.middle() < 0.0 {
            return Err((bounded.len(), PiecesProblem::FallsBelowZero { slope: last.slope.middle() }));
        }
        Ok(Pieces { from, bounded, last })
    }

    /// One line for all sizes.
    pub fn one(line: Line) -> Result<Pieces, PiecesProblem> {
        Pieces::new(0.0, Vec::new(), line).map_err(|(_, problem)| problem)
    }

    /// The least size that they hold for.
    pub fn from_bytes(&self) -> f64 {
        self.from
    }

    /// The lines that end, each with where it ends.
    pub fn bounded(&self) -> &[(Figure, Line)] {
        &self.bounded
    }

    /// The line that goes on for ever.
    pub fn last(&self) -> &Line {
        &self.last
    }

    /// The lines, each with the bound up to which it holds; the last one has none.
    pub fn iter(&self) -> impl Iterator<Item = (Option<Figure>, &Line)> {
        self.bounded.iter().map(|(bound, line)| (Some(*bound), line)).chain([(None, &self.last)])
    }

    /// The line that holds at a size.
    pub fn line(&self, bytes: f64) -> &Line {
        self.bounded.iter().find(|(bound, _)| bytes <= bound.middle()).map_or(&self.last, |(_, line)| line)
    }

    /// Lowest, middle and highest seconds at a size. Where it is open which of two pieces holds, the interval holds both.
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
        // Below the least size a line may go below zero, which no time does.
        [low, middle, high].map(|seconds| seconds.max(0.0))
    }
}

fn not_below_zero(line: &Line, ends: [f64; 2]) -> Result<(), PiecesProblem> {
    let below = ends.into_iter().map(|bytes| (bytes, line.at(bytes)[1])).find(|(_, seconds)| *seconds < 0.0);
    below.map_or(Ok(()), |(bytes, seconds)| Err(PiecesProblem::BelowZero { bytes, seconds }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(value: f64) -> Figure {
        Figure::exact(value).unwrap()
    }

    fn line(intercept: f64, slope: f64) -> Line {
        Line { intercept: exact(intercept), slope: exact(slope) }
    }

    #[test]
    fn a_piece_holds_up_to_and_including_its_bound() {
        let pieces = Pieces::new(0.0, vec![(exact(100.0), line(1.0, 0.0))], line(2.0, 0.0)).unwrap();
        assert_eq!([0.0, 100.0, 100.5, 1e9].map(|bytes| pieces.at(bytes)[1]), [1.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn where_the_break_may_lie_the_interval_holds_both_pieces() {
        let bound = Figure::new(90.0, 100.0, 120.0).unwrap();
        let pieces = Pieces::new(0.0, vec![(bound, line(1.0, 0.0))], line(2.0, 0.0)).unwrap();
        assert_eq!(pieces.at(110.0), [1.0, 2.0, 2.0]);
        assert_eq!(pieces.at(121.0), [2.0, 2.0, 2.0]);
    }

    #[test]
    fn pieces_must_ascend_and_times_are_not_below_zero() {
        let descending = vec![(exact(100.0), line(1.0, 0.0)), (exact(50.0), line(1.0, 0.0))];
        assert_eq!(Pieces::new(0.0, descending, line(1.0, 0.0)), Err((1, PiecesProblem::NotAscending { above: 100.0, up_to: 50.0 })));
        assert_eq!(Pieces::one(line(-1.0, 1.0)), Err(PiecesProblem::BelowZero { bytes: 0.0, seconds: -1.0 }));
        assert_eq!(Pieces::one(line(1.0, -1.0)), Err(PiecesProblem::FallsBelowZero { slope: -1.0 }));
        assert!(Pieces::new(6824.0, Vec::new(), line(-82e-6, 0.088e-6)).is_ok(), "an intercept below zero is none of a time");
    }
}
