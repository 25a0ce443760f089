//! Evaluation of a plan for one request.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use sintonia_formula::{CompiledFormula, Formula, Interval, SymbolValues};
use sintonia_machine::PairClass;

use super::cost_vector::{CostItem, CostVector};
use super::plan::CostPlan;
use super::repeat_count::RepeatCount;
use super::unit_costs::UnitCosts;
use super::workers::WorkerGroups;
use super::{AllocationPolicy, EstimateError, Seconds, error};
use crate::expression::{LoopRange, WORKERS};

/// Sums without a closed form are summed step by step up to this many steps.
const MAX_SUMMED_STEPS: f64 = 20_000.0;

/// Lower bound, midpoint, upper bound of every figure.
pub(super) const LEVELS: [usize; 3] = [0, 1, 2];

/// The times of a task set on the workers of one group.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupTaskTimes {
    pub(super) total: Seconds,
    pub(super) least: Seconds,
    pub(super) greatest: Seconds,
    /// The sum of the differences between consecutive tasks.
    pub(super) total_variation: Seconds,
    /// The difference between the first and the last task.
    pub(super) drift: Seconds,
    /// Whether these figures come from samples.
    pub(super) is_sampled: bool,
}

/// The key of cached task times: the address of the plan, the kind of node, and the number of workers per core.
pub(super) type TaskTimesKey = (usize, usize, u64);

/// The seconds of each operation.
pub(super) type CostBreakdown = BTreeMap<String, f64>;

/// Cached values of formulas that do not depend on the number of workers: they stay the same in a sweep, and some are expensive.
#[derive(Default)]
pub(crate) struct EstimateCache {
    parameters: Vec<(String, Interval)>,
    /// By formula and value of the current index; `None` for formulas that depend on something else, too.
    values: HashMap<(Formula, Option<u64>), Option<Seconds>>,
    /// Times of tasks that stay the same in a sweep.
    pub(super) task_times: HashMap<TaskTimesKey, GroupTaskTimes>,
    /// The cost breakdown of one of them.
    pub(super) breakdowns: HashMap<TaskTimesKey, Rc<CostBreakdown>>,
    /// Formulas compiled for step-by-step sums, by the names of their inputs.
    compiled: HashMap<(Formula, Vec<String>), Rc<CompiledFormula>>,
    /// Whether tasks were sampled for the current estimate.
    pub(super) is_sampled: bool,
}

impl EstimateCache {
    /// Starts an estimate; keeps cached values only if the parameters are the same.
    pub(crate) fn begin(&mut self, values: &SymbolValues<Interval>) {
        let of: Vec<(String, Interval)> =
            values.iter().filter(|(name, _)| *name != WORKERS).map(|(name, value)| (name.to_owned(), *value)).collect();
        if of != self.parameters {
            *self = EstimateCache { parameters: of, compiled: std::mem::take(&mut self.compiled), ..EstimateCache::default() };
        }
        self.is_sampled = false;
    }
}

/// The context of an evaluation: values, workers and unit costs.
pub(crate) struct EstimateContext<'a> {
    unit_costs: &'a UnitCosts<'a>,
    class: PairClass,
    /// The values of parameters and of current indexes.
    values: Rc<SymbolValues<Interval>>,
    /// Their midpoints.
    midpoints: Rc<SymbolValues<Interval>>,
    pub(super) workers: Rc<WorkerGroups>,
    /// The offset from the number of a computer to that of a worker: 1 if computers are numbered from 0.
    pub(super) offset: f64,
    pub(super) allocation: AllocationPolicy,
    pub(super) cache: &'a RefCell<EstimateCache>,
    /// The worker groups of named computers, the innermost last.
    group_of_computer: Vec<(String, usize)>,
    /// Indexes with a value or an interval.
    pub(super) indexes: Vec<(String, Interval)>,
}

impl<'a> EstimateContext<'a> {
    pub(crate) fn new(
        unit_costs: &'a UnitCosts<'a>,
        class: PairClass,
        values: &SymbolValues<Interval>,
        team: WorkerGroups,
        counts_ranks: bool,
        allocation: AllocationPolicy,
        cache: &'a RefCell<EstimateCache>,
    ) -> EstimateContext<'a> {
        let midpoints = Rc::new(values.iter().map(|(name, value)| (name, Interval::point(value.midpoint()))).collect());
        let (values, workers) = (Rc::new(values.clone()), Rc::new(team));
        let offset = if counts_ranks { 1.0 } else { 0.0 };
        EstimateContext {
            unit_costs,
            class,
            values,
            midpoints,
            workers,
            offset,
            allocation,
            cache,
            group_of_computer: Vec::new(),
            indexes: Vec::new(),
        }
    }

    /// The same with a core for each worker.
    pub(super) fn without_core_sharing(&self) -> EstimateContext<'a> {
        let (crews, indexes) = (self.group_of_computer.clone(), self.indexes.clone());
        let team = Rc::new(self.workers.without_core_sharing());
        EstimateContext {
            group_of_computer: crews,
            indexes,
            values: self.values.clone(),
            midpoints: self.midpoints.clone(),
            workers: team,
            ..*self
        }
    }

    /// The same with a computer bound to a worker group.
    pub(super) fn on_group(&self, computer: &str, crew: usize) -> EstimateContext<'a> {
        let mut crews = self.group_of_computer.clone();
        crews.push((computer.to_owned(), crew));
        let indexes = self.indexes.clone();
        EstimateContext {
            group_of_computer: crews,
            indexes,
            values: self.values.clone(),
            midpoints: self.midpoints.clone(),
            workers: self.workers.clone(),
            ..*self
        }
    }

    /// The same with an index bound to a value.
    pub(super) fn with_index(&self, index: &str, value: f64) -> EstimateContext<'a> {
        self.with_index_range(index, Interval::point(value))
    }

    /// The same with an index bound to an interval.
    pub(super) fn with_index_range(&self, index: &str, value: Interval) -> EstimateContext<'a> {
        let with = |values: &Rc<SymbolValues<Interval>>, value: Interval| Rc::new(SymbolValues::clone(values).with_value(index, value));
        let (values, middles) = (with(&self.values, value), with(&self.midpoints, Interval::point(value.midpoint())));
        let indexes = self.indexes.iter().cloned().chain([(index.to_owned(), value)]).collect();
        EstimateContext {
            group_of_computer: self.group_of_computer.clone(),
            indexes,
            values,
            midpoints: middles,
            workers: self.workers.clone(),
            ..*self
        }
    }

    /// Lower bound, midpoint and upper bound of a plan.
    pub(crate) fn value(&self, plan: &CostPlan) -> Result<Seconds, EstimateError> {
        match plan {
            CostPlan::Vector(bill) => self.cost(bill),
            CostPlan::Add(parts) => self.fold_parts(parts, [0.0; 3], |a, b| a + b),
            CostPlan::Max(parts) => self.fold_parts(parts, [0.0; 3], f64::max),
            CostPlan::Min(parts) => self.fold_parts(parts, [f64::INFINITY; 3], f64::min),
            CostPlan::Times(factor, body) => {
                let (factor, body) = (self.factor(factor)?, self.value(body)?);
                Ok(LEVELS.map(|level| factor[level] * body[level]))
            }
            CostPlan::Loop(fold, range, body) => self.loop_time(*fold, range, body),
            CostPlan::Tasks(tasks) => self.task_time(tasks),
        }
    }

    fn fold_parts(&self, parts: &[CostPlan], first: Seconds, with: impl Fn(f64, f64) -> f64) -> Result<Seconds, EstimateError> {
        parts.iter().try_fold(first, |sum, part| {
            let value = self.value(part)?;
            Ok(LEVELS.map(|level| with(sum[level], value[level])))
        })
    }

    fn cost(&self, bill: &CostVector) -> Result<Seconds, EstimateError> {
        let mut sum = [0.0; 3];
        for ((item, _), count) in bill.iter().zip(self.counts(bill)?) {
            let price = self.unit_cost(item);
            // A negative intercept is always paid together with enough bytes.
            LEVELS.into_iter().for_each(|level| sum[level] += price[level] * count[level]);
        }
        // Intercepts may be negative, times may not.
        Ok(sum.map(|seconds: f64| seconds.max(0.0)))
    }

    /// The count of each item of a cost vector.
    pub(super) fn counts(&self, bill: &CostVector) -> Result<Vec<Seconds>, EstimateError> {
        bill.iter().map(|(item, count)| self.number(count, || format!("the count of {}", item.display_name()))).collect()
    }

    /// Lower bound, midpoint and upper bound of a formula.
    pub(super) fn number(&self, formula: &Formula, of: impl Fn() -> String) -> Result<Seconds, EstimateError> {
        if let Some(exact) = formula.as_exact() {
            return Ok([exact.to_f64(); 3]);
        }
        self.cached(formula, |symbols| self.evaluate(formula, symbols, &of))
    }

    /// Lower bound, midpoint and upper bound of a repeat count.
    pub(super) fn factor(&self, factor: &RepeatCount) -> Result<Seconds, EstimateError> {
        let of = || "a repeat count".to_owned();
        let Some((range, each)) = &factor.sum else { return Ok(self.number(&factor.value, of)?.map(|times| times.max(0.0))) };
        let value = self.cached(&factor.value, |symbols| {
            let added = if self.is_wide(symbols) { None } else { self.sum_stepwise(range, each)? };
            added.map_or_else(|| self.evaluate(&factor.value, symbols, of), |sum| Ok([sum; 3]))
        })?;
        Ok(value.map(|times| times.max(0.0)))
    }

    /// A sum over a short range, step by step.
    fn sum_stepwise(&self, range: &LoopRange, each: &Formula) -> Result<Option<f64>, EstimateError> {
        let bound = |formula: &Formula| self.number(formula, || "a loop bound".to_owned());
        let ([_, from, _], [_, to, _]) = (bound(&range.from)?, bound(&range.to)?);
        if to - from > MAX_SUMMED_STEPS {
            return Ok(None);
        }
        let (names, values): (Vec<&str>, Vec<f64>) =
            std::iter::once((range.index.as_str(), from)).chain(self.midpoints.iter().map(|(name, value)| (name, value.low()))).unzip();
        let Some(each) = self.compiled(each, &names) else { return Ok(None) };
        let sum = each.sum_over(&values, 0, iteration_count(from, to));
        Ok(Some(sum).filter(|sum| sum.is_finite()))
    }

    /// A formula compiled for these inputs; `None` if it has other symbols.
    fn compiled(&self, formula: &Formula, names: &[&str]) -> Option<Rc<CompiledFormula>> {
        let key = (formula.clone(), names.iter().map(|name| (*name).to_owned()).collect());
        if let Some(known) = self.cache.borrow().compiled.get(&key) {
            return Some(known.clone());
        }
        let compiled = Rc::new(formula.compile(names).ok()?);
        self.cache.borrow_mut().compiled.insert(key, compiled.clone());
        Some(compiled)
    }

    /// Caches a value if it stays the same in a sweep.
    fn cached(
        &self,
        formula: &Formula,
        compute: impl FnOnce(&BTreeSet<String>) -> Result<Seconds, EstimateError>,
    ) -> Result<Seconds, EstimateError> {
        let index = match &self.indexes[..] {
            [] => None,
            [(_, value)] if value.is_point() => Some(value.low().to_bits()),
            _ => return compute(&formula.symbols()),
        };
        let key = (formula.clone(), index);
        let known = self.cache.borrow().values.get(&key).copied();
        if let Some(Some(value)) = known {
            return Ok(value);
        }
        let symbols = formula.symbols();
        let value = compute(&symbols)?;
        if known.is_none() {
            let mut memory = self.cache.borrow_mut();
            let is_given =
                |name: &String| memory.parameters.iter().any(|(own, _)| own == name) || self.indexes.iter().any(|(own, _)| own == name);
            let lasts = symbols.iter().all(is_given);
            memory.values.insert(key, lasts.then_some(value));
        }
        Ok(value)
    }

    fn is_wide(&self, symbols: &BTreeSet<String>) -> bool {
        symbols.iter().any(|name| self.values.get(name).is_some_and(|value| !value.is_point()))
    }

    fn evaluate(&self, formula: &Formula, symbols: &BTreeSet<String>, of: impl Fn() -> String) -> Result<Seconds, EstimateError> {
        let middle = error::evaluate_formula(formula, &self.midpoints, &of)?;
        let wide = if self.is_wide(symbols) { error::evaluate_formula(formula, &self.values, &of)? } else { middle };
        Ok([wide.low(), middle.midpoint(), wide.high()])
    }

    /// The unit cost of an item where it runs.
    pub(super) fn unit_cost(&self, item: &CostItem) -> Seconds {
        let CostItem::Operation(operation) = item else { return self.unit_costs.unit_cost(item, 0, self.class) };
        let crew = &self.workers.0[operation.computer.as_ref().map_or(0, |on| self.group_index(&on.0))];
        self.unit_costs.unit_cost(item, crew.node, self.class).map(|seconds| seconds * crew.core_sharing())
    }

    /// The worker group of a computer: that of the worker with its number, or the fastest one for the coordinator and for other names.
    fn group_index(&self, computer: &str) -> usize {
        if let Some((_, crew)) = self.group_of_computer.iter().rev().find(|(name, _)| name == computer) {
            return *crew;
        }
        let number = computer.parse::<f64>().map_or(0.0, |number| number + self.offset);
        self.workers.numbering().find(|(_, [first, last])| (*first..=*last).contains(&number)).map_or(0, |(crew, _)| crew)
    }
}

/// The indexes of a range that is known to be short.
pub(super) fn iterations(from: f64, to: f64) -> impl Iterator<Item = f64> {
    (0..iteration_count(from, to)).map(move |step| from + step as f64)
}

fn iteration_count(from: f64, to: f64) -> u64 {
    if to >= from { (to - from).floor() as u64 + 1 } else { 0 }
}
