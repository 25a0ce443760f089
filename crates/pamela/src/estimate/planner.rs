//! Translation of cost expressions to plans.

use std::collections::HashMap;

use sintonia_formula::Formula;
use sintonia_machine::CollectiveKind;

use super::EstimateError;
use super::cost_vector::{CostItem, CostVector};
use super::plan::CostPlan;
use crate::expression::{CostExpr, CostExprKind, PrimitiveCost};
use crate::model::{ComputeOp, Computer};

/// Translates primitive costs to cost items.
pub(crate) trait CostModel {
    /// Fails if an operation has no cost.
    fn check_operation(&self, operation: &ComputeOp) -> Result<(), EstimateError>;
    /// The items of a message.
    fn message_items(&self, from: &Computer, to: &Computer, bytes: &Formula) -> Result<Vec<(CostItem, Formula)>, EstimateError>;
    /// The items of a collective.
    fn collective_items(
        &self,
        operation: CollectiveKind,
        bytes: &Formula,
        processes: &Formula,
    ) -> Result<Vec<(CostItem, Formula)>, EstimateError>;
}

/// Builds plans, each expression once.
pub(crate) struct CostPlanner<'a> {
    cost_model: &'a dyn CostModel,
    cache: PlanCache,
    /// Whether the current plan contains a message.
    has_messages: bool,
}

/// Plans by the address of their expressions, which must outlive them.
#[derive(Default)]
pub(crate) struct PlanCache {
    plans: HashMap<usize, (CostPlan, HasMessages)>,
    /// Whether any computers are numbered from 0.
    pub(crate) has_zero_based_ranks: bool,
}

/// Whether a plan contains a message; its cost depends on whether there are several nodes.
type HasMessages = bool;

impl PlanCache {
    /// The plans that do not depend on message costs.
    pub(crate) fn without_messages(self) -> PlanCache {
        let plans = self.plans.into_iter().filter(|(_, (_, has_messages))| !has_messages).collect();
        PlanCache { plans, ..self }
    }
}

impl<'a> CostPlanner<'a> {
    pub(crate) fn new(tariff: &'a dyn CostModel) -> CostPlanner<'a> {
        CostPlanner::with_cache(tariff, PlanCache::default())
    }

    /// A planner that starts with cached plans.
    pub(crate) fn with_cache(cost_model: &'a dyn CostModel, cache: PlanCache) -> CostPlanner<'a> {
        CostPlanner { cost_model, cache, has_messages: false }
    }

    /// The plans built so far.
    pub(crate) fn into_cache(self) -> PlanCache {
        self.cache
    }

    /// The plan of an expression, which must outlive the planner.
    pub(crate) fn plan(&mut self, expression: &CostExpr) -> Result<CostPlan, EstimateError> {
        if let Some((plan, has_messages)) = self.cache.plans.get(&expression.address()) {
            self.has_messages |= has_messages;
            return Ok(plan.clone());
        }
        let around = std::mem::replace(&mut self.has_messages, false);
        let plan = self.build_plan(expression)?;
        self.cache.plans.insert(expression.address(), (plan.clone(), self.has_messages));
        self.has_messages |= around;
        Ok(plan)
    }

    fn build_plan(&mut self, expression: &CostExpr) -> Result<CostPlan, EstimateError> {
        Ok(match expression.kind() {
            CostExprKind::Cost(cost) => self.cost(cost)?,
            CostExprKind::Add(parts) => self.sum_plan(parts)?,
            CostExprKind::Max(parts) => CostPlan::max(self.plans(parts)?),
            CostExprKind::Min(parts) => CostPlan::min(self.plans(parts)?),
            CostExprKind::Times(factor, body) => self.plan(body)?.times(factor),
            CostExprKind::Divided(body, by) => self.plan(body)?.times(&(Formula::one() / by)),
            CostExprKind::Loop(fold, range, body) => {
                let body = self.plan(body)?;
                self.cache.has_zero_based_ranks |= body.runs_on(&range.index) && (range.from.is_zero() || range.spans_ranks());
                body.looped(*fold, range)
            }
            CostExprKind::Tasks(dealt, range, computer, body) => self.plan(body)?.allocated(*dealt, range, &computer.0),
            CostExprKind::Bound(bindings, body) => self.plan(body)?.with_bindings(bindings),
        })
    }

    /// A sum; primitive costs are added directly to its cost vector, since there may be many.
    fn sum_plan(&mut self, parts: &[CostExpr]) -> Result<CostPlan, EstimateError> {
        let (mut bill, mut others) = (CostVector::default(), Vec::new());
        for part in parts {
            match part.kind() {
                CostExprKind::Cost(cost) => self.add_cost(cost, &mut bill)?,
                _ => others.push(self.plan(part)?),
            }
        }
        others.push(CostPlan::vector(bill));
        Ok(CostPlan::sum(others))
    }

    fn plans(&mut self, parts: &[CostExpr]) -> Result<Vec<CostPlan>, EstimateError> {
        parts.iter().map(|part| self.plan(part)).collect()
    }

    fn cost(&mut self, cost: &PrimitiveCost) -> Result<CostPlan, EstimateError> {
        let mut bill = CostVector::default();
        self.add_cost(cost, &mut bill)?;
        Ok(CostPlan::vector(bill))
    }

    fn add_cost(&mut self, cost: &PrimitiveCost, bill: &mut CostVector) -> Result<(), EstimateError> {
        match cost {
            PrimitiveCost::Operation(operation, times) => {
                self.cost_model.check_operation(operation)?;
                bill.add(CostItem::Operation(operation.clone()), times.clone());
            }
            PrimitiveCost::Delay(seconds) => bill.add(CostItem::Delay, seconds.clone()),
            PrimitiveCost::Message { from, to, bytes } => {
                self.has_messages = true;
                self.cost_model.message_items(from, to, bytes)?.into_iter().for_each(|(item, count)| bill.add(item, count));
            }
            PrimitiveCost::Collective { operation, bytes, processes } => {
                self.cost_model.collective_items(*operation, bytes, processes)?.into_iter().for_each(|(item, count)| bill.add(item, count));
            }
        }
        Ok(())
    }
}
