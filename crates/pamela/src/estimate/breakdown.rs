//! Breakdown of a time by operation.
//!
//! A time is a sum of unit costs times counts, or the maximum of several such sums. Along the maximal ones, the parts add up to the whole.

use std::collections::BTreeMap;
use std::rc::Rc;

use sintonia_formula::Formula;

use super::EstimateError;
use super::context::{CostBreakdown, EstimateContext};
use super::plan::{CostPlan, TaskSetPlan};
use crate::expression::{LoopRange, LoopReduction};

/// The fraction of each operation, the largest first.
pub(super) fn cost_breakdown(case: &EstimateContext<'_>, plan: &CostPlan) -> Result<Vec<(String, f64)>, EstimateError> {
    let mut parts = BTreeMap::new();
    add_breakdown(case, plan, 1.0, &mut parts)?;
    let all: f64 = parts.values().sum();
    let mut shares: Vec<(String, f64)> = parts.into_iter().filter(|(_, part)| *part > 0.0).map(|(name, part)| (name, part / all)).collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    Ok(shares)
}

fn add_breakdown(case: &EstimateContext<'_>, plan: &CostPlan, factor: f64, parts: &mut CostBreakdown) -> Result<(), EstimateError> {
    let ranked = |list: &[CostPlan]| -> Result<Vec<f64>, EstimateError> { list.iter().map(|part| Ok(case.value(part)?[1])).collect() };
    match plan {
        CostPlan::Vector(bill) => {
            for ((item, _), count) in bill.iter().zip(case.counts(bill)?) {
                *parts.entry(item.display_name()).or_default() += factor * count[1] * case.unit_cost(item)[1];
            }
            Ok(())
        }
        CostPlan::Add(list) => list.iter().try_for_each(|part| add_breakdown(case, part, factor, parts)),
        CostPlan::Max(list) | CostPlan::Min(list) => {
            let values = ranked(list)?;
            let order = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
            let all = 0..values.len();
            let one = if matches!(plan, CostPlan::Max(_)) { all.max_by(order) } else { all.min_by(order) };
            one.map_or(Ok(()), |one| add_breakdown(case, &list[one], factor, parts))
        }
        CostPlan::Times(times, body) => {
            let times = case.factor(times)?[1];
            add_breakdown(case, body, factor * times, parts)
        }
        CostPlan::Loop(fold, range, body) => add_loop(case, *fold, range, body, factor, parts),
        CostPlan::Tasks(tasks) => add_tasks(case, plan, tasks, factor, parts),
    }
}

/// A loop: each worker group separately, represented by its longer end iteration.
fn add_loop(
    case: &EstimateContext<'_>,
    fold: LoopReduction,
    range: &LoopRange,
    body: &CostPlan,
    factor: f64,
    parts: &mut CostBreakdown,
) -> Result<(), EstimateError> {
    let mut pieces = Vec::new();
    for (crew, range) in case.split_by_group(range, body)? {
        let inner = crew.map_or_else(|| case.on_group("", 0), |crew| case.on_group(&range.index, crew));
        let value = inner.value(&CostPlan::Loop(fold, range.clone(), std::sync::Arc::new(body.clone())))?[1];
        pieces.push((inner, range, value));
    }
    if fold == LoopReduction::Max {
        pieces.sort_by(|(_, _, a), (_, _, b)| b.total_cmp(a));
        pieces.truncate(1);
    }
    for (inner, range, value) in pieces {
        let ends = [&range.to, &range.from].map(|end| inner.number(end, || "a bound".to_owned()).map(|end| end[1]));
        let rounds = ends.into_iter().collect::<Result<Vec<f64>, _>>()?.into_iter().map(|at| inner.with_index(&range.index, at));
        let mut rounds = rounds.map(|round| Ok((round.value(body)?[1], round))).collect::<Result<Vec<_>, EstimateError>>()?;
        rounds.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        if let Some((longest, round)) = rounds.first().filter(|(longest, _)| *longest > 0.0) {
            add_breakdown(round, body, factor * value / longest, parts)?;
        }
    }
    Ok(())
}

/// Tasks: those of the slowest worker, represented by the median task on its computer.
fn add_tasks(
    case: &EstimateContext<'_>,
    plan: &CostPlan,
    tasks: &TaskSetPlan,
    factor: f64,
    parts: &mut CostBreakdown,
) -> Result<(), EstimateError> {
    let crew = case.slowest_group(tasks)?;
    let key = case.cache_key(tasks, &case.workers.0[crew]);
    let known = key.and_then(|key| case.cache.borrow().breakdowns.get(&key).cloned());
    let task = known.map_or_else(|| median_task_breakdown(case, tasks, crew).map(Rc::new), Ok)?;
    let value = factor * case.value(plan)?[1];
    task.iter().for_each(|(name, part)| *parts.entry(name.clone()).or_default() += value * part);
    key.map(|key| case.cache.borrow_mut().breakdowns.insert(key, task));
    Ok(())
}

/// The fractions of the operations in the median task.
fn median_task_breakdown(case: &EstimateContext<'_>, tasks: &TaskSetPlan, crew: usize) -> Result<CostBreakdown, EstimateError> {
    let bound = |formula: &Formula| Ok::<f64, EstimateError>(case.number(formula, || "the numbers of tasks".to_owned())?[1]);
    let middle = f64::midpoint(bound(&tasks.range.from)?, bound(&tasks.range.to)?).round();
    let on = case.on_group(&tasks.computer, crew).with_index(&tasks.range.index, middle);
    let one = on.value(&tasks.body)?[1];
    let mut parts = CostBreakdown::new();
    if one > 0.0 {
        add_breakdown(&on, &tasks.body, 1.0 / one, &mut parts)?;
    }
    Ok(parts)
}
