//! Loops whose rounds differ, or run on different computers.

use sintonia_formula::Formula;

use super::case::{Case, LEVELS, steps};
use super::plan::Plan;
use super::{EstimateError, Seconds, number};
use crate::expression::{Fold, Range};

/// So many rounds of a loop are looked at one by one.
const FEW_ROUNDS: f64 = 64.0;

impl Case<'_> {
    /// The parts of a range that are of one crew each; the whole range if its index names no computer.
    pub(super) fn by_crew(&self, range: &Range, body: &Plan) -> Result<Vec<(Option<usize>, Range)>, EstimateError> {
        if !body.runs_on(&range.index) {
            return Ok(vec![(None, range.clone())]);
        }
        let bound = |formula: &Formula| self.number(formula, || format!("where {} runs", range.index));
        let ([_, from, _], [_, to, _]) = (bound(&range.from)?, bound(&range.to)?);
        let last_crew = self.team.0.len() - 1;
        let parts = self.team.numbered().map(|(crew, [first, last])| {
            // Computers beyond the workers are as the last of them, those before as the first.
            let first = if crew == 0 { from } else { from.max(first - self.offset) };
            let last = if crew == last_crew { to } else { to.min(last - self.offset) };
            (Some(crew), Range { index: range.index.clone(), from: number(first), to: number(last) }, first <= last)
        });
        Ok(parts.filter(|(_, _, is_some)| *is_some).map(|(crew, range, _)| (crew, range)).collect())
    }

    pub(super) fn over(&self, fold: Fold, range: &Range, body: &Plan) -> Result<Seconds, EstimateError> {
        let with = if fold == Fold::Sum { |a: f64, b: f64| a + b } else { f64::max };
        let mut all = [0.0; 3];
        for (crew, range) in self.by_crew(range, body)? {
            let case = crew.map(|crew| self.on(&range.index, crew));
            let case = case.as_ref().unwrap_or(self);
            let part = if body.counts_by(&range.index) {
                let few = case.one_by_one(fold, &range, body)?;
                few.map_or_else(|| case.folded_over(fold, &range, body), Ok)?
            } else {
                let rounds = case.number(&range.rounds(), || "a number of rounds".to_owned())?;
                let value = case.value(body)?;
                LEVELS.map(|level| {
                    if fold == Fold::Sum { rounds[level].max(0.0) * value[level] } else { rounds[level].clamp(0.0, 1.0) * value[level] }
                })
            };
            all = LEVELS.map(|level| with(all[level], part[level]));
        }
        Ok(all)
    }

    /// Over a few rounds of something that is not a plain sum: each by itself, which is narrower and faster than any formula of it.
    fn one_by_one(&self, fold: Fold, range: &Range, body: &Plan) -> Result<Option<Seconds>, EstimateError> {
        let bound = |formula: &Formula| self.number(formula, || format!("where {} runs", range.index));
        let (from, to) = (bound(&range.from)?, bound(&range.to)?);
        if matches!(body, Plan::Bill(_)) || from[0] != from[2] || to[0] != to[2] || to[1] - from[1] >= FEW_ROUNDS {
            return Ok(None);
        }
        let mut all = [0.0; 3];
        for index in steps(from[1], to[1]) {
            let round = self.at(&range.index, index).value(body)?;
            all = LEVELS.map(|level| if fold == Fold::Sum { all[level] + round[level] } else { f64::max(all[level], round[level]) });
        }
        Ok(Some(all))
    }

    /// Over a range along which the body changes: as one formula of the index for each level.
    fn folded_over(&self, fold: Fold, range: &Range, body: &Plan) -> Result<Seconds, EstimateError> {
        let of = || format!("what is done for {} from {} to {}", range.index, range.from, range.to);
        let rounds = self.number(&range.rounds(), of)?;
        let mut seconds = [0.0; 3];
        for level in LEVELS.into_iter().filter(|level| rounds[*level] > 0.0) {
            let body = self.formula(body, level)?;
            seconds[level] = self.number(&folded(fold, range, &body), of)?[level].max(0.0);
        }
        Ok(seconds)
    }

    /// A plan as a formula of the indexes around it, with all prices at one level.
    pub(super) fn formula(&self, plan: &Plan, level: usize) -> Result<Formula, EstimateError> {
        let all = |parts: &[Plan]| parts.iter().map(|part| self.formula(part, level)).collect::<Result<Vec<_>, _>>();
        Ok(match plan {
            Plan::Bill(bill) => bill.iter().map(|(item, count)| number(self.price(item)[level]) * count).sum(),
            Plan::Add(parts) => all(parts)?.into_iter().sum(),
            Plan::Max(parts) => Formula::max_of(all(parts)?),
            Plan::Min(parts) => Formula::min_of(all(parts)?),
            Plan::Times(factor, body) => self.formula(body, level)? * &factor.value,
            Plan::Over(fold, range, body) => {
                let mut parts = Vec::new();
                for (crew, range) in self.by_crew(range, body)? {
                    let body = match crew {
                        Some(crew) => self.on(&range.index, crew).formula(body, level)?,
                        None => self.formula(body, level)?,
                    };
                    parts.push(folded(*fold, &range, &body));
                }
                match fold {
                    Fold::Sum => parts.into_iter().sum(),
                    Fold::Max => Formula::max_of(parts),
                }
            }
            Plan::Tasks(tasks) => self.tasks_formula(tasks, level)?,
        })
    }
}

fn folded(fold: Fold, range: &Range, body: &Formula) -> Formula {
    match fold {
        Fold::Sum => Formula::sum(&range.index, &range.from, &range.to, body),
        Fold::Max => Formula::max_over(&range.index, &range.from, &range.to, body),
    }
}
