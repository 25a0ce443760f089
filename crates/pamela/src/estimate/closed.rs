//! The time of a model as closed formulas, over its parameters and the names of prices.

use sintonia_formula::Formula;

use super::EstimateError;
use super::plan::{Plan, Shape, Tasks};
use super::planner::Planner;
use super::symbols::{self, Symbols};
use crate::compile::{Analysis, Resource, WORKERS};
use crate::expression::{Dealt, Expression, Fold};

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
        let mut planner = Planner::new(&Symbols);
        let mut closed = |expression: &Expression| {
            planner.plan(expression).map(|plan| formula(&plan)).unwrap_or_else(|_: EstimateError| Formula::zero())
        };
        let free = closed(&analysis.free);
        let contended: Vec<(Resource, Formula)> =
            analysis.contended.iter().map(|(resource, load)| (resource.clone(), closed(load))).collect();
        let time = Formula::max_of(std::iter::once(&free).chain(contended.iter().map(|(_, load)| load)).cloned());
        ClosedForms { lower: closed(&analysis.lower), upper: closed(&analysis.upper), free, contended, time }
    }
}

fn formula(plan: &Plan) -> Formula {
    let all = |parts: &[Plan]| parts.iter().map(formula).collect::<Vec<_>>();
    match plan {
        Plan::Bill(bill) => bill.iter().map(|(item, count)| symbols::of(item) * count).sum(),
        Plan::Add(parts) => all(parts).into_iter().sum(),
        Plan::Max(parts) => Formula::max_of(all(parts)),
        Plan::Min(parts) => Formula::min_of(all(parts)),
        Plan::Times(factor, body) => formula(body) * &factor.value,
        Plan::Over(Fold::Sum, range, body) => Formula::sum(&range.index, &range.from, &range.to, &formula(body)),
        Plan::Over(Fold::Max, range, body) => Formula::max_over(&range.index, &range.from, &range.to, &formula(body)),
        Plan::Tasks(tasks) => of_tasks(tasks),
    }
}

/// Tasks that are alike are dealt in whole; of others the even share is told.
fn of_tasks(tasks: &Tasks) -> Formula {
    let (body, number, workers) = (formula(&tasks.body), tasks.number(), Formula::symbol(WORKERS));
    let total = || Formula::sum(&tasks.range.index, &tasks.range.from, &tasks.range.to, &body);
    match tasks.dealt {
        // One task is one worker's, however many there are.
        Dealt::Longest if number.is_one() => total(),
        Dealt::Longest if tasks.shape == Shape::Alike => body * (number / workers).ceil(),
        Dealt::Longest | Dealt::Even => total() / workers,
        Dealt::All => total(),
    }
}
