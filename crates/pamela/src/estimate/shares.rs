//! What the time is made of: the share of each operation.
//!
//! A time is a sum of prices times counts, or the largest of several such sums. Along those that are largest, the parts add up to the whole.

use std::collections::BTreeMap;
use std::rc::Rc;

use sintonia_formula::Formula;

use super::EstimateError;
use super::case::Case;
use super::plan::{Plan, Tasks};
use crate::expression::{Fold, Range};

/// The share of each operation, the largest first.
pub(super) fn of(case: &Case<'_>, plan: &Plan) -> Result<Vec<(String, f64)>, EstimateError> {
    let mut parts = BTreeMap::new();
    split(case, plan, 1.0, &mut parts)?;
    let all: f64 = parts.values().sum();
    let mut shares: Vec<(String, f64)> = parts.into_iter().filter(|(_, part)| *part > 0.0).map(|(name, part)| (name, part / all)).collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    Ok(shares)
}

pub(super) type Parts = BTreeMap<String, f64>;

fn split(case: &Case<'_>, plan: &Plan, factor: f64, parts: &mut Parts) -> Result<(), EstimateError> {
    let ranked = |list: &[Plan]| -> Result<Vec<f64>, EstimateError> { list.iter().map(|part| Ok(case.value(part)?[1])).collect() };
    match plan {
        Plan::Bill(bill) => {
            for ((item, _), count) in bill.iter().zip(case.counts(bill)?) {
                *parts.entry(item.called()).or_default() += factor * count[1] * case.price(item)[1];
            }
            Ok(())
        }
        Plan::Add(list) => list.iter().try_for_each(|part| split(case, part, factor, parts)),
        Plan::Max(list) | Plan::Min(list) => {
            let values = ranked(list)?;
            let order = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
            let all = 0..values.len();
            let one = if matches!(plan, Plan::Max(_)) { all.max_by(order) } else { all.min_by(order) };
            one.map_or(Ok(()), |one| split(case, &list[one], factor, parts))
        }
        Plan::Times(times, body) => {
            let times = case.factor(times)?[1];
            split(case, body, factor * times, parts)
        }
        Plan::Over(fold, range, body) => over(case, *fold, range, body, factor, parts),
        Plan::Tasks(tasks) => dealt(case, plan, tasks, factor, parts),
    }
}

/// A loop: each crew by itself, with the round at the end that takes longer for all of it.
fn over(case: &Case<'_>, fold: Fold, range: &Range, body: &Plan, factor: f64, parts: &mut Parts) -> Result<(), EstimateError> {
    let mut pieces = Vec::new();
    for (crew, range) in case.by_crew(range, body)? {
        let inner = crew.map_or_else(|| case.on("", 0), |crew| case.on(&range.index, crew));
        let value = inner.value(&Plan::Over(fold, range.clone(), std::sync::Arc::new(body.clone())))?[1];
        pieces.push((inner, range, value));
    }
    if fold == Fold::Max {
        pieces.sort_by(|(_, _, a), (_, _, b)| b.total_cmp(a));
        pieces.truncate(1);
    }
    for (inner, range, value) in pieces {
        let ends = [&range.to, &range.from].map(|end| inner.number(end, || "a bound".to_owned()).map(|end| end[1]));
        let rounds = ends.into_iter().collect::<Result<Vec<f64>, _>>()?.into_iter().map(|at| inner.at(&range.index, at));
        let mut rounds = rounds.map(|round| Ok((round.value(body)?[1], round))).collect::<Result<Vec<_>, EstimateError>>()?;
        rounds.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        if let Some((longest, round)) = rounds.first().filter(|(longest, _)| *longest > 0.0) {
            split(round, body, factor * value / longest, parts)?;
        }
    }
    Ok(())
}

/// Tasks: those of the worker that needs longest, as the one in the middle is on its computer.
fn dealt(case: &Case<'_>, plan: &Plan, tasks: &Tasks, factor: f64, parts: &mut Parts) -> Result<(), EstimateError> {
    let crew = case.longest(tasks)?;
    let key = case.known_as(tasks, &case.team.0[crew]);
    let known = key.and_then(|key| case.memory.borrow().parts.get(&key).cloned());
    let task = known.map_or_else(|| middle(case, tasks, crew).map(Rc::new), Ok)?;
    let value = factor * case.value(plan)?[1];
    task.iter().for_each(|(name, part)| *parts.entry(name.clone()).or_default() += value * part);
    key.map(|key| case.memory.borrow_mut().parts.insert(key, task));
    Ok(())
}

/// The parts of the task in the middle, of which it is one.
fn middle(case: &Case<'_>, tasks: &Tasks, crew: usize) -> Result<Parts, EstimateError> {
    let bound = |formula: &Formula| Ok::<f64, EstimateError>(case.number(formula, || "the numbers of tasks".to_owned())?[1]);
    let middle = f64::midpoint(bound(&tasks.range.from)?, bound(&tasks.range.to)?).round();
    let on = case.on(&tasks.computer, crew).at(&tasks.range.index, middle);
    let one = on.value(&tasks.body)?[1];
    let mut parts = Parts::new();
    if one > 0.0 {
        split(&on, &tasks.body, 1.0 / one, &mut parts)?;
    }
    Ok(parts)
}
