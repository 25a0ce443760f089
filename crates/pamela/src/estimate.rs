//! From what a model costs to times on a machine.
//!
//! The costs of a model are brought into a form in which the machine's figures are factors: how often each operation is done, as a formula.
//! With the values of the parameters these are numbers; a machine and a number of workers then give a time with a few multiplications,
//! whatever the loops run to and however many workers there are.

mod bill;
mod case;
mod closed;
mod deal;
mod error;
mod factor;
mod plan;
mod planner;
mod prices;
mod rounds;
mod shares;
mod symbols;
mod team;

use std::cell::RefCell;

use sintonia_formula::{Formula, Interval, Values};
use sintonia_machine::{Machine, PairClass};

pub use closed::ClosedForms;
pub use error::EstimateError;
pub use team::{Crew, Team};

use crate::compile::{Analysis, CompileError, Resource, Shares, WORKERS, compile};
use crate::model::Model;
use case::{Case, Memory};
use plan::Plan;
use planner::{Planned, Planner};
use prices::Prices;

/// Lowest, middle and highest.
pub type Seconds = [f64; 3];

/// How tasks come to workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocation {
    /// All at the beginning, in proportion to how fast the workers are.
    #[default]
    Static,
    /// Half of them at the beginning, the others one by one to whoever is free, and copies of unfinished ones at the end.
    Mixed,
}

/// What a time is asked for.
#[derive(Debug, Clone)]
pub struct Setting {
    /// How many workers there are.
    pub workers: u64,
    /// The values of parameters that the user gives; others have those of the model.
    pub parameters: Values<Interval>,
    /// How tasks come to workers.
    pub allocation: Allocation,
}

/// What a model takes on a machine.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// The time: what it takes at least with the lowest costs, at least with the middle ones, and at most with the highest.
    pub seconds: Seconds,
    /// The least and the most that it takes with the middle costs.
    pub bounds: [f64; 2],
    /// What everything in it would take one after the other, with the middle costs.
    pub work: f64,
    /// T0 and one Tr for each resource.
    pub terms: Vec<(Rule, Seconds)>,
    /// The one of them that is largest in the middle.
    pub rules: Rule,
    /// The share of each operation in the time, the largest first; they add up to 1.
    pub shares: Vec<(String, f64)>,
    /// Who works.
    pub team: Team,
    /// Whether only some of many unequal tasks were looked at, so that the bounds of the time are no more than likely.
    pub is_sampled: bool,
}

/// One of the terms whose largest is the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// T0: what the program takes without contention.
    Free,
    /// Tr: what a resource is busy for.
    Busy(Resource),
    /// What cores take that several workers share.
    Cores,
}

impl std::fmt::Display for Rule {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rule::Free => out.write_str("no contention"),
            Rule::Busy(resource) => resource.fmt(out),
            Rule::Cores => out.write_str("cores"),
        }
    }
}

/// A model with the costs of a machine, ready for many questions.
pub struct Estimator<'a> {
    model: &'a Model,
    machine: &'a Machine,
    analysis: Analysis,
    prices: Prices<'a>,
    /// With messages inside a node, and between nodes.
    near: Option<Plans>,
    far: Option<Plans>,
    /// What is the same in both.
    planned: Planned,
    memory: RefCell<Memory>,
}

/// Everything that is asked of a model, in the form in which it is evaluated.
struct Plans {
    terms: Vec<(Rule, Plan)>,
    lower: Plan,
    upper: Plan,
    serial: Plan,
    /// Whether computers are numbered from 0, as ranks are.
    counts_ranks: bool,
}

impl<'a> Estimator<'a> {
    /// Prepares a model for a machine.
    pub fn new(model: &'a Model, machine: &'a Machine, shares: &Shares) -> Result<Estimator<'a>, EstimateError> {
        let analysis = compile(model, shares)?;
        if machine.nodes.is_empty() {
            return Err(EstimateError::NoNodes);
        }
        let prices = Prices::new(machine, model.language);
        Ok(Estimator { model, machine, analysis, prices, near: None, far: None, planned: Planned::default(), memory: RefCell::default() })
    }

    /// What the model costs, as expressions.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// The time at one setting.
    pub fn at(&mut self, setting: &Setting) -> Result<Estimate, EstimateError> {
        if setting.workers == 0 {
            return Err(EstimateError::NoWorkers);
        }
        let values = self.values(setting)?;
        self.check_shares(&values)?;
        let class = if team::fits_one_node(self.machine, setting.workers) { PairClass::SameNode } else { PairClass::OtherNode };
        self.prepare(class)?;
        let plans = if class == PairClass::SameNode { &self.near } else { &self.far };
        let Some(plans) = plans else { return Err(EstimateError::NoNodes) };
        self.memory.borrow_mut().begin(&values);
        answer(plans, &self.prices, class, &values, setting, &self.memory)
    }

    /// Shares that depend on parameters only must be shares with their values.
    fn check_shares(&self, values: &Values<Interval>) -> Result<(), EstimateError> {
        for share in &self.analysis.shares {
            if share.share.as_exact().is_none() && share.share.symbols().iter().all(|name| values.get(name).is_some()) {
                share.checked(values).map_err(CompileError::from)?;
            }
        }
        Ok(())
    }

    /// The plans for messages of a class, made when they are first needed.
    fn prepare(&mut self, class: PairClass) -> Result<(), EstimateError> {
        let plans = if class == PairClass::SameNode { &mut self.near } else { &mut self.far };
        if plans.is_some() {
            return Ok(());
        }
        let tariff = self.prices.tariff(class);
        let mut planner = Planner::knowing(&tariff, std::mem::take(&mut self.planned));
        let analysis = &self.analysis;
        let mut terms = vec![(Rule::Free, planner.plan(&analysis.free)?)];
        for (resource, load) in &analysis.contended {
            terms.push((Rule::Busy(resource.clone()), planner.plan(load)?));
        }
        let (lower, upper, serial) = (planner.plan(&analysis.lower)?, planner.plan(&analysis.upper)?, planner.plan(&analysis.serial)?);
        let planned = planner.finished();
        *plans = Some(Plans { terms, lower, upper, serial, counts_ranks: planned.counts_ranks });
        self.planned = planned.without_messages();
        Ok(())
    }

    /// The values of all parameters: the user's, or the model's, each of which may need those before it.
    fn values(&self, setting: &Setting) -> Result<Values<Interval>, EstimateError> {
        let mut values: Values<Interval> = Values::new();
        values.set(WORKERS, Interval::point(setting.workers as f64));
        if let Some((name, _)) = setting.parameters.iter().find(|(name, _)| self.model.parameters.iter().all(|own| own.name != *name)) {
            let known = self.model.parameters.iter().map(|own| own.name.clone()).collect();
            return Err(EstimateError::UnknownParameter { name: name.to_owned(), known });
        }
        for parameter in &self.model.parameters {
            let given = setting.parameters.get(&parameter.name).copied();
            let own = || {
                let value = parameter.value.as_ref().ok_or_else(|| EstimateError::unbound(parameter))?;
                error::value(value, &values, || format!("parameter {}", parameter.name))
            };
            let value = given.map_or_else(own, Ok)?;
            values.set(&parameter.name, value);
        }
        Ok(values)
    }
}

fn answer(
    plans: &Plans,
    prices: &Prices<'_>,
    class: PairClass,
    values: &Values<Interval>,
    setting: &Setting,
    memory: &RefCell<Memory>,
) -> Result<Estimate, EstimateError> {
    let case = |team: Team| Case::new(prices, class, values, team, plans.counts_ranks, setting.allocation, memory);
    let speed = |kind: usize| case(Team::one(prices.machine(), kind)).value(&plans.serial).map(|seconds| seconds[1]);
    let team = Team::of(prices.machine(), setting.workers, speed)?;
    let case = case(team.clone());
    let terms = plans.terms.iter().map(|(rule, plan)| Ok((rule.clone(), case.value(plan)?)));
    let mut terms: Vec<(Rule, Seconds)> = terms.collect::<Result<_, EstimateError>>()?;
    if let (true, Some(place)) = (team.shares_cores(), terms.iter().position(|(rule, _)| *rule == Rule::Free)) {
        let (_, shared) = terms[place];
        terms[place].1 = case.with_a_core_each().value(&plans.terms[place].1)?;
        terms.insert(place + 1, (Rule::Cores, shared));
    }
    let (lower, upper) = (case.value(&plans.lower)?, case.value(&plans.upper)?);
    // Of terms that are as large as each other, the first rules: where a computer is always busy, it waits for nobody.
    let largest = terms.iter().map(|(_, seconds)| seconds[1]).fold(0.0, f64::max);
    let rules = terms.iter().find(|(_, seconds)| seconds[1] >= largest * (1.0 - 1e-9)).map_or(Rule::Free, |(rule, _)| rule.clone());
    let shares = shares::of(&case, &plans.lower)?;
    let work = case.value(&plans.serial)?[1];
    let most = |level: usize| upper[level].max(lower[level]);
    let is_sampled = memory.borrow().is_sampled;
    Ok(Estimate { seconds: [lower[0], lower[1], most(2)], bounds: [lower[1], most(1)], work, terms, rules, shares, team, is_sampled })
}

/// A number as a formula.
fn number(value: f64) -> Formula {
    Formula::decimal(value)
}
