//! Estimates of a model's time on a machine.
//!
//! The cost of a model is transformed so that the machine's figures are factors: the count of each operation is a formula. Given the
//! parameters the counts are numbers; a machine and a number of workers then give a time with a few multiplications, however long the loops
//! and however many workers.

mod allocate;
mod breakdown;
mod closed;
mod context;
mod cost_vector;
mod error;
mod loops;
mod plan;
mod planner;
mod repeat_count;
mod symbolic_costs;
mod unit_costs;
mod workers;

use std::cell::RefCell;

use sintonia_formula::{Formula, Interval, SymbolValues};
use sintonia_machine::{Machine, PairClass};

pub use closed::ClosedForms;
pub use error::EstimateError;
pub use workers::{WorkerGroup, WorkerGroups};

use crate::compile::{BranchShares, CompileError, ContendedResource, CostAnalysis, compile};
use crate::expression::WORKERS;
use crate::model::PamelaModel;
use context::{EstimateCache, EstimateContext};
use plan::CostPlan;
use planner::{CostPlanner, PlanCache};
use unit_costs::UnitCosts;

/// Lower bound, midpoint and upper bound.
pub type Seconds = [f64; 3];

/// How tasks are allocated to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllocationPolicy {
    /// All at the start, in proportion to the workers' speeds.
    #[default]
    Static,
    /// Half at the start, the rest on demand, with copies of unfinished tasks at the end.
    Mixed,
}

/// The input of an estimate.
#[derive(Debug, Clone)]
pub struct EstimateRequest {
    /// The number of workers.
    pub workers: u64,
    /// Parameter values from the user; the model's own values are the default.
    pub parameters: SymbolValues<Interval>,
    /// How tasks are allocated to workers.
    pub allocation: AllocationPolicy,
}

/// The estimated time of a model on a machine.
#[derive(Debug, Clone)]
pub struct TimeEstimate {
    /// The time: the lower bound with the lowest costs, the lower bound with the middle costs, and the upper bound with the highest costs.
    pub seconds: Seconds,
    /// The lower and upper bound with the middle costs.
    pub bounds: [f64; 2],
    /// The time of serial execution with the middle costs.
    pub work: f64,
    /// T0 and one Tr for each resource.
    pub terms: Vec<(TimeTerm, Seconds)>,
    /// The largest of them with the middle costs.
    pub limiting_term: TimeTerm,
    /// The fraction of each operation in the time, the largest first; they sum to 1.
    pub shares: Vec<(String, f64)>,
    /// The workers.
    pub team: WorkerGroups,
    /// Whether only some of many unequal tasks were sampled, so that the bounds are estimates.
    pub is_sampled: bool,
}

/// One of the terms whose maximum is the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeTerm {
    /// T0: the time without contention.
    ContentionFree,
    /// Tr: the load of a resource.
    ResourceBusy(ContendedResource),
    /// The time on cores that several workers share.
    SharedCores,
}

impl std::fmt::Display for TimeTerm {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TimeTerm::ContentionFree => out.write_str("no contention"),
            TimeTerm::ResourceBusy(resource) => resource.fmt(out),
            TimeTerm::SharedCores => out.write_str("cores"),
        }
    }
}

/// A model with the costs of a machine, for repeated estimates.
pub struct ModelEstimator<'a> {
    model: &'a PamelaModel,
    machine: &'a Machine,
    analysis: CostAnalysis,
    unit_costs: UnitCosts<'a>,
    /// Plans with messages within a node; the next ones with messages between nodes.
    same_node_plans: Option<PlanSet>,
    other_node_plans: Option<PlanSet>,
    /// The plans that are the same for both.
    plan_cache: PlanCache,
    cache: RefCell<EstimateCache>,
}

/// All quantities of a model in the form in which they are evaluated.
struct PlanSet {
    terms: Vec<(TimeTerm, CostPlan)>,
    lower: CostPlan,
    upper: CostPlan,
    serial: CostPlan,
    /// Whether computers are numbered from 0, like ranks.
    has_zero_based_ranks: bool,
}

impl<'a> ModelEstimator<'a> {
    /// Compiles a model for a machine.
    pub fn new(model: &'a PamelaModel, machine: &'a Machine, shares: &BranchShares) -> Result<ModelEstimator<'a>, EstimateError> {
        let analysis = compile(model, shares)?;
        if machine.nodes.is_empty() {
            return Err(EstimateError::NoNodes);
        }
        let prices = UnitCosts::new(machine, model.language);
        Ok(ModelEstimator {
            model,
            machine,
            analysis,
            unit_costs: prices,
            same_node_plans: None,
            other_node_plans: None,
            plan_cache: PlanCache::default(),
            cache: RefCell::default(),
        })
    }

    /// The cost expressions of the model.
    pub fn analysis(&self) -> &CostAnalysis {
        &self.analysis
    }

    /// Estimates the time for a request.
    pub fn estimate(&mut self, setting: &EstimateRequest) -> Result<TimeEstimate, EstimateError> {
        if setting.workers == 0 {
            return Err(EstimateError::NoWorkers);
        }
        let values = self.values(setting)?;
        self.check_shares(&values)?;
        let class = if workers::fits_one_node(self.machine, setting.workers) { PairClass::SameNode } else { PairClass::OtherNode };
        self.prepare(class)?;
        let plans = if class == PairClass::SameNode { &self.same_node_plans } else { &self.other_node_plans };
        let Some(plans) = plans else { return Err(EstimateError::NoNodes) };
        self.cache.borrow_mut().begin(&values);
        evaluate_plans(plans, &self.unit_costs, class, &values, setting, &self.cache)
    }

    /// Checks shares that depend only on parameters with their values.
    fn check_shares(&self, values: &SymbolValues<Interval>) -> Result<(), EstimateError> {
        for share in &self.analysis.shares {
            if share.share.as_exact().is_none() && share.share.symbols().iter().all(|name| values.get(name).is_some()) {
                share.check(values).map_err(CompileError::from)?;
            }
        }
        Ok(())
    }

    /// Builds the plans for messages of a class when they are first needed.
    fn prepare(&mut self, class: PairClass) -> Result<(), EstimateError> {
        let plans = if class == PairClass::SameNode { &mut self.same_node_plans } else { &mut self.other_node_plans };
        if plans.is_some() {
            return Ok(());
        }
        let tariff = self.unit_costs.cost_model(class);
        let mut planner = CostPlanner::with_cache(&tariff, std::mem::take(&mut self.plan_cache));
        let analysis = &self.analysis;
        let mut terms = vec![(TimeTerm::ContentionFree, planner.plan(&analysis.contention_free)?)];
        for (resource, load) in &analysis.contended {
            terms.push((TimeTerm::ResourceBusy(resource.clone()), planner.plan(load)?));
        }
        let (lower, upper, serial) = (planner.plan(&analysis.lower)?, planner.plan(&analysis.upper)?, planner.plan(&analysis.serial)?);
        let planned = planner.into_cache();
        *plans = Some(PlanSet { terms, lower, upper, serial, has_zero_based_ranks: planned.has_zero_based_ranks });
        self.plan_cache = planned.without_messages();
        Ok(())
    }

    /// The values of all parameters: the user's, or the model's, which may depend on the parameters before them.
    fn values(&self, setting: &EstimateRequest) -> Result<SymbolValues<Interval>, EstimateError> {
        let mut values: SymbolValues<Interval> = SymbolValues::new();
        values.set(WORKERS, Interval::point(setting.workers as f64));
        if let Some((name, _)) = setting.parameters.iter().find(|(name, _)| self.model.parameters.iter().all(|own| own.name != *name)) {
            let known = self.model.parameters.iter().map(|own| own.name.clone()).collect();
            return Err(EstimateError::UnknownParameter { name: name.to_owned(), known });
        }
        for parameter in &self.model.parameters {
            let given = setting.parameters.get(&parameter.name).copied();
            let own = || {
                let value = parameter.value.as_ref().ok_or_else(|| EstimateError::unbound(parameter))?;
                error::evaluate_formula(value, &values, || format!("parameter {}", parameter.name))
            };
            let value = given.map_or_else(own, Ok)?;
            values.set(&parameter.name, value);
        }
        Ok(values)
    }
}

fn evaluate_plans(
    plans: &PlanSet,
    prices: &UnitCosts<'_>,
    class: PairClass,
    values: &SymbolValues<Interval>,
    setting: &EstimateRequest,
    memory: &RefCell<EstimateCache>,
) -> Result<TimeEstimate, EstimateError> {
    let case =
        |team: WorkerGroups| EstimateContext::new(prices, class, values, team, plans.has_zero_based_ranks, setting.allocation, memory);
    let speed = |kind: usize| case(WorkerGroups::single(prices.machine(), kind)).value(&plans.serial).map(|seconds| seconds[1]);
    let team = WorkerGroups::select(prices.machine(), setting.workers, speed)?;
    let case = case(team.clone());
    let terms = plans.terms.iter().map(|(rule, plan)| Ok((rule.clone(), case.value(plan)?)));
    let mut terms: Vec<(TimeTerm, Seconds)> = terms.collect::<Result<_, EstimateError>>()?;
    if let (true, Some(place)) = (team.shares_cores(), terms.iter().position(|(rule, _)| *rule == TimeTerm::ContentionFree)) {
        let (_, shared) = terms[place];
        terms[place].1 = case.without_core_sharing().value(&plans.terms[place].1)?;
        terms.insert(place + 1, (TimeTerm::SharedCores, shared));
    }
    let (lower, upper) = (case.value(&plans.lower)?, case.value(&plans.upper)?);
    // Of equal terms the first is limiting: a computer that is always busy waits for nothing.
    let largest = terms.iter().map(|(_, seconds)| seconds[1]).fold(0.0, f64::max);
    let rules =
        terms.iter().find(|(_, seconds)| seconds[1] >= largest * (1.0 - 1e-9)).map_or(TimeTerm::ContentionFree, |(rule, _)| rule.clone());
    let shares = breakdown::cost_breakdown(&case, &plans.lower)?;
    let work = case.value(&plans.serial)?[1];
    let most = |level: usize| upper[level].max(lower[level]);
    let is_sampled = memory.borrow().is_sampled;
    Ok(TimeEstimate {
        seconds: [lower[0], lower[1], most(2)],
        bounds: [lower[1], most(1)],
        work,
        terms,
        limiting_term: rules,
        shares,
        team,
        is_sampled,
    })
}

fn to_formula(value: f64) -> Formula {
    Formula::decimal(value)
}
