//! The largest or smallest value over a range, found without going through it.
//!
//! The range is divided like that of a sum, most promising block first; a block in which the body only rises or only falls has its extreme
//! at an end. What is found encloses the extreme even when the search ends early.

use std::collections::BinaryHeap;

use super::series::{Extent, Part, Steps, is_short};
use super::{Evaluation, Undefined};
use crate::atom::{Extreme, Fold};
use crate::interval::Interval;

/// When the extreme is known this well, relatively, the search ends.
const NARROW: f64 = 1e-14;

impl Evaluation<'_> {
    /// The extreme of a body, from the values of its bounds and of their difference.
    pub(super) fn extreme_over(
        &mut self,
        side: Extreme,
        fold: &Fold,
        from: Interval,
        to: Interval,
        span: Interval,
    ) -> Result<Interval, Undefined> {
        if span.high() < 0.0 {
            return Err(Undefined::EmptyRange);
        }
        let Some(extent) = Extent::of(from, to, span) else {
            return self.over(&fold.index(), Interval::between(from.low(), to.high()), &fold.body);
        };
        let mut best = match extent.sure {
            Some(steps) => Some(self.extreme_of_steps(side, fold, steps)?),
            None => None,
        };
        for steps in extent.unsure {
            let some = self.extreme_of_steps(side, fold, steps)?;
            best = Some(match (best, side) {
                // Nothing is there for certain: the extreme of any part may be the extreme of all.
                (None, _) => some.hull(self.over(&fold.index(), steps.all(), &fold.body)?),
                (Some(known), Extreme::Max) => Interval::between(known.low(), known.high().max(some.high())),
                (Some(known), Extreme::Min) => Interval::between(known.low().min(some.low()), known.high()),
            });
        }
        best.ok_or(Undefined::EmptyRange)
    }

    fn extreme_of_steps(&mut self, side: Extreme, fold: &Fold, steps: Steps) -> Result<Interval, Undefined> {
        let flip = |value: Interval| if side == Extreme::Max { value } else { -value };
        let ends = [steps.first, steps.last].map(|step| self.at(&fold.index(), steps.index(step), &fold.body).map(flip));
        let [first, last] = ends;
        let mut found = first?.max(last?);
        let mut parts = BinaryHeap::from([Part { promise: f64::INFINITY, steps, value: Interval::ALL }]);
        let (mut looked_at, most_blocks) = (0, self.most_blocks(fold));
        while let Some(part) = parts.pop() {
            let enough = found.low() + NARROW * found.magnitude();
            if part.promise <= enough || looked_at >= most_blocks {
                return Ok(flip(Interval::between(found.low(), found.high().max(part.promise))));
            }
            looked_at += 1;
            if is_short(part.steps) {
                for step in part.steps.first..=part.steps.last {
                    found = found.max(flip(self.at(&fold.index(), part.steps.index(step), &fold.body)?));
                }
                continue;
            }
            let (left, right) = part.steps.halves();
            for steps in [left, right] {
                for step in [steps.first, steps.last] {
                    found = found.max(flip(self.at(&fold.index(), steps.index(step), &fold.body)?));
                }
                let jet = self.jet(&fold.body, &steps.block(&fold.index()));
                let slope = jet.and_then(|jet| jet.block.get(1).copied());
                if slope.is_some_and(|slope| slope.low() >= 0.0 || slope.high() <= 0.0) {
                    continue;
                }
                let range = self.over(&fold.index(), steps.all(), &fold.body).map_or(Interval::ALL, flip);
                parts.push(Part { promise: range.high(), steps, value: range });
            }
        }
        Ok(flip(found))
    }
}
