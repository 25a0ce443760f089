//! The time of a model as closed formulas, over its parameters and the names of prices.

use std::collections::HashMap;

use sintonia_formula::Formula;

use super::EstimateError;
use super::plan::{Plan, Shape, Tasks};
use super::planner::Planner;
use super::symbols::{self, Symbols};
use crate::compile::{Analysis, Resource, WORKERS};
use crate::expression::{Dealt, Expression, Fold, Range};

/// The times of a model as formulas. Computers that an index runs over, and the workers that tasks are dealt to, are taken as alike; a
/// message has a price for its start and one for each byte, and so has an operation of a group.
#[derive(Debug, Clone)]
pub struct ClosedForms {
    /// T0.
    pub free: Formula,
    /// One Tr for each resource.
    pub contended: Vec<(Resource, Formula)>,
    /// T: the largest of them.
    pub time: Formula,
    /// What it takes at least.
    pub lower: Formula,
    /// What it takes at most.
    pub upper: Formula,
}

impl ClosedForms {
    /// The formulas of a model.
    pub fn of(analysis: &Analysis) -> ClosedForms {
        let (mut planner, mut sums) = (Planner::new(&Symbols), Sums::default());
        let mut closed = |expression: &Expression| {
            planner.plan(expression).map(|plan| sums.formula(&plan)).unwrap_or_else(|_: EstimateError| Formula::zero())
        };
        let free = closed(&analysis.free);
        let contended: Vec<(Resource, Formula)> =
            analysis.contended.iter().map(|(resource, load)| (resource.clone(), closed(load))).collect();
        let time = Formula::max_of(std::iter::once(&free).chain(contended.iter().map(|(_, load)| load)).cloned());
        ClosedForms { lower: closed(&analysis.lower), upper: closed(&analysis.upper), free, contended, time }
    }
}

/// Sums over ranges, each of which is found once: the times of a model have most of them in common.
#[derive(Default)]
struct Sums(HashMap<(String, Formula, Formula, Formula), Formula>);

impl Sums {
    fn formula(&mut self, plan: &Plan) -> Formula {
        match plan {
            Plan::Bill(bill) => bill.iter().map(|(item, count)| symbols::of(item) * count).sum(),
            Plan::Add(parts) => self.all(parts).into_iter().sum(),
            Plan::Max(parts) => Formula::max_of(self.all(parts)),
            Plan::Min(parts) => Formula::min_of(self.all(parts)),
            Plan::Times(factor, body) => self.formula(body) * &factor.value,
            Plan::Over(Fold::Sum, range, body) => self.over(range, body),
            Plan::Over(Fold::Max, range, body) => Formula::max_over(&range.index, &range.from, &range.to, &self.formula(body)),
            Plan::Tasks(tasks) => self.of_tasks(tasks),
        }
    }

    fn all(&mut self, parts: &[Plan]) -> Vec<Formula> {
        parts.iter().map(|part| self.formula(part)).collect()
    }

    /// The sum of a plan over a range: prices do not depend on the index, so each count is summed up by itself.
    fn over(&mut self, range: &Range, plan: &Plan) -> Formula {
        match plan {
            Plan::Bill(bill) => bill.iter().map(|(item, count)| symbols::of(item) * self.sum(range, count.clone())).sum(),
            Plan::Add(parts) => parts.iter().map(|part| self.over(range, part)).sum(),
            Plan::Times(factor, body) => match &**body {
                Plan::Bill(bill) => self.over(range, &Plan::bill(bill.times(&factor.value))),
                _ => self.formula_over(range, plan),
            },
            _ => self.formula_over(range, plan),
        }
    }

    fn formula_over(&mut self, range: &Range, plan: &Plan) -> Formula {
        let body = self.formula(plan);
        self.sum(range, body)
    }

    fn sum(&mut self, range: &Range, each: Formula) -> Formula {
        let key = (range.index.clone(), range.from.clone(), range.to.clone(), each);
        let new = |(index, from, to, each): &(String, Formula, Formula, Formula)| Formula::sum(index, from, to, each);
        self.0.entry(key).or_insert_with_key(new).clone()
    }

    /// Tasks that are alike are dealt in whole; of others the even share is told.
    fn of_tasks(&mut self, tasks: &Tasks) -> Formula {
        let (number, workers) = (&tasks.number, Formula::symbol(WORKERS));
        match tasks.dealt {
            // One task is one worker's, however many there are.
            Dealt::Longest if number.is_one() => self.over(&tasks.range, &tasks.body),
            Dealt::Longest if tasks.shape == Shape::Alike => self.formula(&tasks.body) * (number / workers).ceil(),
            Dealt::Longest | Dealt::Even => self.over(&tasks.range, &tasks.body) / workers,
            Dealt::All => self.over(&tasks.range, &tasks.body),
        }
    }
}
