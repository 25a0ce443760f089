//! The maximum or minimum over a range by branch and bound.
//!
//! The range is split like that of a sum, the most promising block first; a block in which the body is monotonic has its extremum at an
//! end. The result encloses the extremum even if the search stops early.

use std::collections::BinaryHeap;

use super::series::{BlockEstimate, is_short};
use super::steps::{StepExtent, StepRange};
use super::{EvaluationError, Evaluator};
use crate::atom::{Extremum, IndexedFold};
use crate::interval::Interval;

/// The search stops at this relative width.
const TOLERANCE: f64 = 1e-14;

impl Evaluator<'_> {
    /// The extremum of a body, from the values of its bounds and of their difference.
    pub(super) fn extremum_over(
        &mut self,
        side: Extremum,
        fold: &IndexedFold,
        from: Interval,
        to: Interval,
        span: Interval,
    ) -> Result<Interval, EvaluationError> {
        if span.high() < 0.0 {
            return Err(EvaluationError::EmptyRange);
        }
        let Some(extent) = StepExtent::from_bounds(from, to, span) else {
            return self.eval_over(&fold.index(), Interval::from_bounds(from.low(), to.high()), &fold.body);
        };
        let mut best = match extent.certain {
            Some(steps) => Some(self.extremum_of_steps(side, fold, steps)?),
            None => None,
        };
        for steps in extent.possible {
            let some = self.extremum_of_steps(side, fold, steps)?;
            best = Some(match (best, side) {
                // No step is certain: the extremum of any part may be the extremum of all.
                (None, _) => some.hull(self.eval_over(&fold.index(), steps.hull(), &fold.body)?),
                (Some(known), Extremum::Max) => Interval::from_bounds(known.low(), known.high().max(some.high())),
                (Some(known), Extremum::Min) => Interval::from_bounds(known.low().min(some.low()), known.high()),
            });
        }
        best.ok_or(EvaluationError::EmptyRange)
    }

    fn extremum_of_steps(&mut self, side: Extremum, fold: &IndexedFold, steps: StepRange) -> Result<Interval, EvaluationError> {
        let flip = |value: Interval| if side == Extremum::Max { value } else { -value };
        let ends = [steps.first, steps.last].map(|step| self.eval_with(&fold.index(), steps.index_at(step), &fold.body).map(flip));
        let [first, last] = ends;
        let mut found = first?.max(last?);
        let mut parts = BinaryHeap::from([BlockEstimate { priority: f64::INFINITY, steps, value: Interval::ALL }]);
        let (mut examined, most_blocks) = (0, self.max_blocks(fold));
        while let Some(part) = parts.pop() {
            let enough = found.low() + TOLERANCE * found.magnitude();
            if part.priority <= enough || examined >= most_blocks {
                return Ok(flip(Interval::from_bounds(found.low(), found.high().max(part.priority))));
            }
            examined += 1;
            if is_short(part.steps) {
                for step in part.steps.first..=part.steps.last {
                    found = found.max(flip(self.eval_with(&fold.index(), part.steps.index_at(step), &fold.body)?));
                }
                continue;
            }
            let (left, right) = part.steps.bisect();
            for steps in [left, right] {
                for step in [steps.first, steps.last] {
                    found = found.max(flip(self.eval_with(&fold.index(), steps.index_at(step), &fold.body)?));
                }
                let jet = self.jet(&fold.body, &steps.block(&fold.index()));
                let slope = jet.and_then(|jet| jet.block.get(1).copied());
                if slope.is_some_and(|slope| slope.low() >= 0.0 || slope.high() <= 0.0) {
                    continue;
                }
                let range = self.eval_over(&fold.index(), steps.hull(), &fold.body).map_or(Interval::ALL, flip);
                parts.push(BlockEstimate { priority: range.high(), steps, value: range });
            }
        }
        Ok(flip(found))
    }
}
