//! Loops whose iterations differ or run on different computers.

use sintonia_formula::Formula;

use super::context::{EstimateContext, LEVELS, iterations};
use super::plan::CostPlan;
use super::{EstimateError, Seconds, to_formula};
use crate::expression::{LoopRange, LoopReduction};

/// Loops up to this many iterations are evaluated one by one.
const MAX_UNROLLED_ITERATIONS: f64 = 64.0;

impl EstimateContext<'_> {
    /// The range split by worker groups; the whole range if its index is not a computer.
    pub(super) fn split_by_group(&self, range: &LoopRange, body: &CostPlan) -> Result<Vec<(Option<usize>, LoopRange)>, EstimateError> {
        if !body.runs_on(&range.index) {
            return Ok(vec![(None, range.clone())]);
        }
        let bound = |formula: &Formula| self.number(formula, || format!("a bound of {}", range.index));
        let ([_, from, _], [_, to, _]) = (bound(&range.from)?, bound(&range.to)?);
        let last_crew = self.workers.0.len() - 1;
        let parts = self.workers.numbering().map(|(crew, [first, last])| {
            // Computers beyond the workers count as the last of them, those before as the first.
            let first = if crew == 0 { from } else { from.max(first - self.offset) };
            let last = if crew == last_crew { to } else { to.min(last - self.offset) };
            (Some(crew), LoopRange { index: range.index.clone(), from: to_formula(first), to: to_formula(last) }, first <= last)
        });
        Ok(parts.filter(|(_, _, is_some)| *is_some).map(|(crew, range, _)| (crew, range)).collect())
    }

    pub(super) fn loop_time(&self, fold: LoopReduction, range: &LoopRange, body: &CostPlan) -> Result<Seconds, EstimateError> {
        let with = if fold == LoopReduction::Sum { |a: f64, b: f64| a + b } else { f64::max };
        let mut all = [0.0; 3];
        for (crew, range) in self.split_by_group(range, body)? {
            let case = crew.map(|crew| self.on_group(&range.index, crew));
            let case = case.as_ref().unwrap_or(self);
            let part = if body.counts_depend_on(&range.index) {
                let few = case.unrolled_loop_time(fold, &range, body)?;
                few.map_or_else(|| case.symbolic_loop_time(fold, &range, body), Ok)?
            } else {
                let rounds = case.number(&range.trip_count(), || "a trip count".to_owned())?;
                let value = case.value(body)?;
                LEVELS.map(|level| {
                    if fold == LoopReduction::Sum {
                        rounds[level].max(0.0) * value[level]
                    } else {
                        rounds[level].clamp(0.0, 1.0) * value[level]
                    }
                })
            };
            all = LEVELS.map(|level| with(all[level], part[level]));
        }
        Ok(all)
    }

    /// A loop of few iterations whose body is not a plain sum: evaluating each is more precise and faster than a formula.
    fn unrolled_loop_time(&self, fold: LoopReduction, range: &LoopRange, body: &CostPlan) -> Result<Option<Seconds>, EstimateError> {
        let bound = |formula: &Formula| self.number(formula, || format!("a bound of {}", range.index));
        let (from, to) = (bound(&range.from)?, bound(&range.to)?);
        if matches!(body, CostPlan::Vector(_)) || from[0] != from[2] || to[0] != to[2] || to[1] - from[1] >= MAX_UNROLLED_ITERATIONS {
            return Ok(None);
        }
        let mut all = [0.0; 3];
        for index in iterations(from[1], to[1]) {
            let round = self.with_index(&range.index, index).value(body)?;
            all =
                LEVELS.map(|level| if fold == LoopReduction::Sum { all[level] + round[level] } else { f64::max(all[level], round[level]) });
        }
        Ok(Some(all))
    }

    /// A loop whose body depends on the index: as one formula of the index for each level.
    fn symbolic_loop_time(&self, fold: LoopReduction, range: &LoopRange, body: &CostPlan) -> Result<Seconds, EstimateError> {
        let of = || format!("the body of the loop over {} from {} to {}", range.index, range.from, range.to);
        let rounds = self.number(&range.trip_count(), of)?;
        let mut seconds = [0.0; 3];
        for level in LEVELS.into_iter().filter(|level| rounds[*level] > 0.0) {
            let body = self.formula(body, level)?;
            seconds[level] = self.number(&reduce_formula(fold, range, &body), of)?[level].max(0.0);
        }
        Ok(seconds)
    }

    /// A plan as a formula of the enclosing indexes, with all unit costs at one level.
    pub(super) fn formula(&self, plan: &CostPlan, level: usize) -> Result<Formula, EstimateError> {
        let all = |parts: &[CostPlan]| parts.iter().map(|part| self.formula(part, level)).collect::<Result<Vec<_>, _>>();
        Ok(match plan {
            CostPlan::Vector(bill) => bill.iter().map(|(item, count)| to_formula(self.unit_cost(item)[level]) * count).sum(),
            CostPlan::Add(parts) => all(parts)?.into_iter().sum(),
            CostPlan::Max(parts) => Formula::max_of(all(parts)?),
            CostPlan::Min(parts) => Formula::min_of(all(parts)?),
            CostPlan::Times(factor, body) => self.formula(body, level)? * &factor.value,
            CostPlan::Loop(fold, range, body) => {
                let mut parts = Vec::new();
                for (crew, range) in self.split_by_group(range, body)? {
                    let body = match crew {
                        Some(crew) => self.on_group(&range.index, crew).formula(body, level)?,
                        None => self.formula(body, level)?,
                    };
                    parts.push(reduce_formula(*fold, &range, &body));
                }
                match fold {
                    LoopReduction::Sum => parts.into_iter().sum(),
                    LoopReduction::Max => Formula::max_of(parts),
                }
            }
            CostPlan::Tasks(tasks) => self.tasks_formula(tasks, level)?,
        })
    }
}

fn reduce_formula(fold: LoopReduction, range: &LoopRange, body: &Formula) -> Formula {
    match fold {
        LoopReduction::Sum => Formula::sum(&range.index, &range.from, &range.to, body),
        LoopReduction::Max => Formula::max_over(&range.index, &range.from, &range.to, body),
    }
}
