//! From expressions to plans.

use std::collections::HashMap;

use sintonia_formula::Formula;
use sintonia_machine::Collective;

use super::EstimateError;
use super::bill::{Bill, Item};
use super::plan::Plan;
use crate::expression::{Cost, Expression, Kind};
use crate::model::{Computer, Operation};

/// Into which items things fall that have more than one price.
pub(crate) trait Tariff {
    /// Whether an operation has a price.
    fn knows(&self, operation: &Operation) -> Result<(), EstimateError>;
    /// A message.
    fn message(&self, from: &Computer, to: &Computer, bytes: &Formula) -> Result<Vec<(Item, Formula)>, EstimateError>;
    /// An operation of a group.
    fn group(&self, operation: Collective, bytes: &Formula, processes: &Formula) -> Result<Vec<(Item, Formula)>, EstimateError>;
}

/// Makes plans, each expression once.
pub(crate) struct Planner<'a> {
    tariff: &'a dyn Tariff,
    known: Planned,
    /// Whether there was a message in what is being planned.
    has_messages: bool,
}

/// Plans by where their expressions lie, which must outlive them.
#[derive(Default)]
pub(crate) struct Planned {
    plans: HashMap<usize, (Plan, HasMessages)>,
    /// Whether any computers are numbered from 0.
    pub(crate) counts_ranks: bool,
}

/// Whether there is a message in a plan: what it costs is another matter on one node than on several.
type HasMessages = bool;

impl Planned {
    /// Those that are the same whatever messages cost.
    pub(crate) fn without_messages(self) -> Planned {
        let plans = self.plans.into_iter().filter(|(_, (_, has_messages))| !has_messages).collect();
        Planned { plans, ..self }
    }
}

impl<'a> Planner<'a> {
    pub(crate) fn new(tariff: &'a dyn Tariff) -> Planner<'a> {
        Planner::knowing(tariff, Planned::default())
    }

    /// One that need not plan again what is known.
    pub(crate) fn knowing(tariff: &'a dyn Tariff, known: Planned) -> Planner<'a> {
        Planner { tariff, known, has_messages: false }
    }

    /// All that was planned.
    pub(crate) fn finished(self) -> Planned {
        self.known
    }

    /// The plan of an expression, which must outlive the planner.
    pub(crate) fn plan(&mut self, expression: &Expression) -> Result<Plan, EstimateError> {
        if let Some((plan, has_messages)) = self.known.plans.get(&expression.address()) {
            self.has_messages |= has_messages;
            return Ok(plan.clone());
        }
        let around = std::mem::replace(&mut self.has_messages, false);
        let plan = self.made(expression)?;
        self.known.plans.insert(expression.address(), (plan.clone(), self.has_messages));
        self.has_messages |= around;
        Ok(plan)
    }

    fn made(&mut self, expression: &Expression) -> Result<Plan, EstimateError> {
        Ok(match expression.kind() {
            Kind::Cost(cost) => self.cost(cost)?,
            Kind::Add(parts) => self.added(parts)?,
            Kind::Max(parts) => Plan::max(self.all(parts)?),
            Kind::Min(parts) => Plan::min(self.all(parts)?),
            Kind::Times(factor, body) => self.plan(body)?.times(factor),
            Kind::Divided(body, by) => self.plan(body)?.times(&(Formula::one() / by)),
            Kind::Over(fold, range, body) => {
                let body = self.plan(body)?;
                self.known.counts_ranks |= body.runs_on(&range.index) && (range.from.is_zero() || range.is_of_ranks());
                body.over(*fold, range)
            }
            Kind::Tasks(dealt, range, computer, body) => self.plan(body)?.dealt(*dealt, range, &computer.0),
            Kind::With(bindings, body) => self.plan(body)?.with(bindings),
        })
    }

    /// A sum; costs are written into its bill at once, since there may be many.
    fn added(&mut self, parts: &[Expression]) -> Result<Plan, EstimateError> {
        let (mut bill, mut others) = (Bill::default(), Vec::new());
        for part in parts {
            match part.kind() {
                Kind::Cost(cost) => self.write(cost, &mut bill)?,
                _ => others.push(self.plan(part)?),
            }
        }
        others.push(Plan::bill(bill));
        Ok(Plan::sum(others))
    }

    fn all(&mut self, parts: &[Expression]) -> Result<Vec<Plan>, EstimateError> {
        parts.iter().map(|part| self.plan(part)).collect()
    }

    fn cost(&mut self, cost: &Cost) -> Result<Plan, EstimateError> {
        let mut bill = Bill::default();
        self.write(cost, &mut bill)?;
        Ok(Plan::bill(bill))
    }

    fn write(&mut self, cost: &Cost, bill: &mut Bill) -> Result<(), EstimateError> {
        match cost {
            Cost::Operation(operation, times) => {
                self.tariff.knows(operation)?;
                bill.add(Item::Operation(operation.clone()), times.clone());
            }
            Cost::Delay(seconds) => bill.add(Item::Second, seconds.clone()),
            Cost::Message { from, to, bytes } => {
                self.has_messages = true;
                self.tariff.message(from, to, bytes)?.into_iter().for_each(|(item, count)| bill.add(item, count));
            }
            Cost::Group { operation, bytes, processes } => {
                self.tariff.group(*operation, bytes, processes)?.into_iter().for_each(|(item, count)| bill.add(item, count));
            }
        }
        Ok(())
    }
}
