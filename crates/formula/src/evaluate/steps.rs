//! The steps of a range of indexes, whose bounds may be intervals.

use std::cmp::Ordering;

use super::jet::IndexBlock;
use crate::interval::Interval;

/// Ranges with more steps are treated as unbounded.
const MAX_STEPS: f64 = 1e30;

/// The steps of a range from the first to the last; the index at a step is the start plus the step.
#[derive(Clone, Copy)]
pub(super) struct StepRange {
    pub(super) start: Interval,
    pub(super) first: i128,
    pub(super) last: i128,
}

impl StepRange {
    pub(super) fn count(self) -> i128 {
        self.last - self.first + 1
    }

    pub(super) fn index_at(self, step: i128) -> Interval {
        self.start + integer_interval(step)
    }

    /// All indexes and the numbers between them.
    pub(super) fn hull(self) -> Interval {
        self.index_at(self.first).hull(self.index_at(self.last))
    }

    /// Two halves: at the geometric mean if the indexes span magnitudes, in the middle otherwise.
    pub(super) fn bisect(self) -> (StepRange, StepRange) {
        let (low, high) = (self.index_at(self.first).low() + 1.0, self.index_at(self.last).high() + 1.0);
        let middle = self.first + (self.last - self.first) / 2;
        let cut = if low >= 1.0 && high > 4.0 * low { (low * high).sqrt() - 1.0 - self.start.low() } else { f64::NAN };
        let cut = if cut.is_finite() { (cut as i128).clamp(self.first, self.last - 1) } else { middle };
        (StepRange { last: cut, ..self }, StepRange { first: cut + 1, ..self })
    }

    pub(super) fn block<'a>(self, index: &'a crate::atom::SymbolId) -> IndexBlock<'a> {
        let (first, last, two) = (self.index_at(self.first), self.index_at(self.last), Interval::point(2.0));
        IndexBlock { index, centre: (first + last) / two, radius: integer_interval(self.last - self.first) / two, hull: self.hull() }
    }
}

/// An integer as narrow as floats allow.
pub(super) fn integer_interval(value: i128) -> Interval {
    let near = value as f64;
    match (near as i128).cmp(&value) {
        Ordering::Equal => Interval::point(near),
        Ordering::Less => Interval::from_bounds(near, near.next_up()),
        Ordering::Greater => Interval::from_bounds(near.next_down(), near),
    }
}

/// The steps that certainly exist, and those that possibly do.
pub(super) struct StepExtent {
    pub(super) certain: Option<StepRange>,
    pub(super) possible: Vec<StepRange>,
}

impl StepExtent {
    /// The steps between two bounds that may be intervals; `None` if unbounded.
    pub(super) fn from_bounds(from: Interval, to: Interval, span: Interval) -> Option<StepExtent> {
        let steps = |start: Interval, first: f64, last: f64| {
            (first <= last).then_some(StepRange { start, first: first as i128, last: last as i128 })
        };
        if from.is_point() {
            if span.high().abs() > MAX_STEPS {
                return None;
            }
            let (sure, most) = (span.low().floor().max(-1.0), span.high().floor());
            let unsure = steps(from, sure + 1.0, most).into_iter().collect();
            return Some(StepExtent { certain: steps(from, 0.0, sure), possible: unsure });
        }
        if from.magnitude().max(to.magnitude()) > MAX_STEPS {
            return None;
        }
        // Bounds are integers, so the indexes are integers, whichever they are.
        let zero = Interval::ZERO;
        let (first, last) = (from.high().ceil(), to.low().floor());
        if first > last {
            return Some(StepExtent { certain: None, possible: steps(zero, from.low().ceil(), to.high().floor()).into_iter().collect() });
        }
        let unsure = [steps(zero, from.low().ceil(), first - 1.0), steps(zero, last + 1.0, to.high().floor())];
        Some(StepExtent { certain: steps(zero, first, last), possible: unsure.into_iter().flatten().collect() })
    }
}
