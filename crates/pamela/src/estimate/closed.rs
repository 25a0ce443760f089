//! The time of a model as closed formulas over its parameters and symbolic unit costs.

use std::collections::HashMap;

use sintonia_formula::Formula;

use super::EstimateError;
use super::plan::{CostPlan, TaskSetPlan, TaskVariation};
use super::planner::CostPlanner;
use super::symbolic_costs::{self, SymbolicCosts};
use crate::compile::{ContendedResource, CostAnalysis};
use crate::expression::{AllocationMetric, CostExpr, LoopRange, LoopReduction, WORKERS};

/// The times of a model as formulas. The computers of a range and the workers of tasks are assumed identical; a message has a cost for its
/// start-up and one per byte, and so has a collective.
#[derive(Debug, Clone)]
pub struct ClosedForms {
    /// T0.
    pub contention_free: Formula,
    /// One Tr for each resource.
    pub contended: Vec<(ContendedResource, Formula)>,
    /// T: the maximum of them.
    pub time: Formula,
    /// A lower bound.
    pub lower: Formula,
    /// An upper bound.
    pub upper: Formula,
}

impl ClosedForms {
    /// Computes the closed forms of an analysis.
    pub fn from_analysis(analysis: &CostAnalysis) -> ClosedForms {
        let (mut planner, mut sums) = (CostPlanner::new(&SymbolicCosts), SumCache::default());
        let mut closed = |expression: &CostExpr| {
            planner.plan(expression).map(|plan| sums.formula(&plan)).unwrap_or_else(|_: EstimateError| Formula::zero())
        };
        let contention_free = closed(&analysis.contention_free);
        let contended: Vec<(ContendedResource, Formula)> =
            analysis.contended.iter().map(|(resource, load)| (resource.clone(), closed(load))).collect();
        let time = Formula::max_of(std::iter::once(&contention_free).chain(contended.iter().map(|(_, load)| load)).cloned());
        ClosedForms { lower: closed(&analysis.lower), upper: closed(&analysis.upper), contention_free, contended, time }
    }
}

/// Cached sums: the times of a model share most of them.
#[derive(Default)]
struct SumCache(HashMap<(String, Formula, Formula, Formula), Formula>);

impl SumCache {
    fn formula(&mut self, plan: &CostPlan) -> Formula {
        match plan {
            CostPlan::Vector(bill) => bill.iter().map(|(item, count)| symbolic_costs::cost_symbol(item) * count).sum(),
            CostPlan::Add(parts) => self.formulas(parts).into_iter().sum(),
            CostPlan::Max(parts) => Formula::max_of(self.formulas(parts)),
            CostPlan::Min(parts) => Formula::min_of(self.formulas(parts)),
            CostPlan::Times(factor, body) => self.formula(body) * &factor.value,
            CostPlan::Loop(LoopReduction::Sum, range, body) => self.sum_over(range, body),
            CostPlan::Loop(LoopReduction::Max, range, body) => Formula::max_over(&range.index, &range.from, &range.to, &self.formula(body)),
            CostPlan::Tasks(tasks) => self.tasks_formula(tasks),
        }
    }

    fn formulas(&mut self, parts: &[CostPlan]) -> Vec<Formula> {
        parts.iter().map(|part| self.formula(part)).collect()
    }

    /// The sum of a plan over a range: unit costs do not depend on the index, so each count is summed separately.
    fn sum_over(&mut self, range: &LoopRange, plan: &CostPlan) -> Formula {
        match plan {
            CostPlan::Vector(bill) => {
                bill.iter().map(|(item, count)| symbolic_costs::cost_symbol(item) * self.sum(range, count.clone())).sum()
            }
            CostPlan::Add(parts) => parts.iter().map(|part| self.sum_over(range, part)).sum(),
            CostPlan::Times(factor, body) => match &**body {
                CostPlan::Vector(bill) => self.sum_over(range, &CostPlan::vector(bill.times(&factor.value))),
                _ => self.formula_over(range, plan),
            },
            _ => self.formula_over(range, plan),
        }
    }

    fn formula_over(&mut self, range: &LoopRange, plan: &CostPlan) -> Formula {
        let body = self.formula(plan);
        self.sum(range, body)
    }

    fn sum(&mut self, range: &LoopRange, each: Formula) -> Formula {
        let key = (range.index.clone(), range.from.clone(), range.to.clone(), each);
        let new = |(index, from, to, each): &(String, Formula, Formula, Formula)| Formula::sum(index, from, to, each);
        self.0.entry(key).or_insert_with_key(new).clone()
    }

    /// Uniform tasks are allocated as whole tasks; otherwise the balanced time is given.
    fn tasks_formula(&mut self, tasks: &TaskSetPlan) -> Formula {
        let (number, workers) = (&tasks.count, Formula::symbol(WORKERS));
        match tasks.metric {
            // A single task runs on one worker, however many there are.
            AllocationMetric::Makespan if number.is_one() => self.sum_over(&tasks.range, &tasks.body),
            AllocationMetric::Makespan if tasks.variation == TaskVariation::Uniform => {
                self.formula(&tasks.body) * (number / workers).ceil()
            }
            AllocationMetric::Makespan | AllocationMetric::Balanced => self.sum_over(&tasks.range, &tasks.body) / workers,
            AllocationMetric::TotalWork => self.sum_over(&tasks.range, &tasks.body),
        }
    }
}
