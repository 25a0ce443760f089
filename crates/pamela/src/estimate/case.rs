//! The value of a plan at one setting.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use sintonia_formula::{Compiled, Formula, Interval, Values};
use sintonia_machine::PairClass;

use super::bill::{Bill, Item};
use super::deal::{OnCrew, TasksOn};
use super::factor::Factor;
use super::plan::Plan;
use super::prices::Prices;
use super::shares::Parts;
use super::team::Team;
use super::{Allocation, EstimateError, Seconds, error};
use crate::compile::WORKERS;
use crate::expression::Range;

/// Sums without closed form of at most so many steps are added up.
const MOST_ADDED: f64 = 20_000.0;

/// Lowest, middle, highest: which figure of every price is taken.
pub(super) const LEVELS: [usize; 3] = [0, 1, 2];

/// The values of formulas that do not depend on the number of workers: they are the same in a whole sweep, and some take long.
#[derive(Default)]
pub(crate) struct Memory {
    of: Vec<(String, Interval)>,
    /// At each value of the index that has one. Nothing for formulas that depend on something else too.
    known: HashMap<(Formula, Option<u64>), Option<Seconds>>,
    /// What tasks take that are the same in a whole sweep.
    pub(super) tasks: HashMap<TasksOn, OnCrew>,
    /// What one of them is made of.
    pub(super) parts: HashMap<TasksOn, Rc<Parts>>,
    /// What is added up step by step, prepared for these names.
    prepared: HashMap<(Formula, Vec<String>), Rc<Compiled>>,
    /// Whether tasks were only sampled for the answer that is being found.
    pub(super) is_sampled: bool,
}

impl Memory {
    /// Begins an answer: keeps what is known only if it is known of these values.
    pub(crate) fn begin(&mut self, values: &Values<Interval>) {
        let of: Vec<(String, Interval)> =
            values.iter().filter(|(name, _)| *name != WORKERS).map(|(name, value)| (name.to_owned(), *value)).collect();
        if of != self.of {
            *self = Memory { of, prepared: std::mem::take(&mut self.prepared), ..Memory::default() };
        }
        self.is_sampled = false;
    }
}

/// A setting: values, workers and prices.
pub(crate) struct Case<'a> {
    prices: &'a Prices<'a>,
    class: PairClass,
    /// The values of parameters, and of indexes at which something is looked at.
    values: Rc<Values<Interval>>,
    /// The middles of the same.
    middles: Rc<Values<Interval>>,
    pub(super) team: Rc<Team>,
    /// What is taken off the number of a computer that is counted from 0, to get that of a worker.
    pub(super) offset: f64,
    pub(super) allocation: Allocation,
    pub(super) memory: &'a RefCell<Memory>,
    /// The crews that names of computers belong to, the latest last.
    crews: Vec<(String, usize)>,
    /// The indexes that have values, or lie somewhere in an interval.
    pub(super) indexes: Vec<(String, Interval)>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        prices: &'a Prices<'a>,
        class: PairClass,
        values: &Values<Interval>,
        team: Team,
        counts_ranks: bool,
        allocation: Allocation,
        memory: &'a RefCell<Memory>,
    ) -> Case<'a> {
        let middles = Rc::new(values.iter().map(|(name, value)| (name, Interval::point(value.middle()))).collect());
        let (values, team) = (Rc::new(values.clone()), Rc::new(team));
        let offset = if counts_ranks { 1.0 } else { 0.0 };
        Case { prices, class, values, middles, team, offset, allocation, memory, crews: Vec::new(), indexes: Vec::new() }
    }

    /// The same, where no worker shares its core.
    pub(super) fn with_a_core_each(&self) -> Case<'a> {
        let (crews, indexes) = (self.crews.clone(), self.indexes.clone());
        let team = Rc::new(self.team.with_a_core_each());
        Case { crews, indexes, values: self.values.clone(), middles: self.middles.clone(), team, ..*self }
    }

    /// The same, where a computer belongs to a crew.
    pub(super) fn on(&self, computer: &str, crew: usize) -> Case<'a> {
        let mut crews = self.crews.clone();
        crews.push((computer.to_owned(), crew));
        let indexes = self.indexes.clone();
        Case { crews, indexes, values: self.values.clone(), middles: self.middles.clone(), team: self.team.clone(), ..*self }
    }

    /// The same, where an index has a value.
    pub(super) fn at(&self, index: &str, value: f64) -> Case<'a> {
        self.within(index, Interval::point(value))
    }

    /// The same, where an index has any of some values.
    pub(super) fn within(&self, index: &str, value: Interval) -> Case<'a> {
        let with = |values: &Rc<Values<Interval>>, value: Interval| Rc::new(Values::clone(values).with(index, value));
        let (values, middles) = (with(&self.values, value), with(&self.middles, Interval::point(value.middle())));
        let indexes = self.indexes.iter().cloned().chain([(index.to_owned(), value)]).collect();
        Case { crews: self.crews.clone(), indexes, values, middles, team: self.team.clone(), ..*self }
    }

    /// Lowest, middle and highest value of a plan.
    pub(crate) fn value(&self, plan: &Plan) -> Result<Seconds, EstimateError> {
        match plan {
            Plan::Bill(bill) => self.bill(bill),
            Plan::Add(parts) => self.folded(parts, [0.0; 3], |a, b| a + b),
            Plan::Max(parts) => self.folded(parts, [0.0; 3], f64::max),
            Plan::Min(parts) => self.folded(parts, [f64::INFINITY; 3], f64::min),
            Plan::Times(factor, body) => {
                let (factor, body) = (self.factor(factor)?, self.value(body)?);
                Ok(LEVELS.map(|level| factor[level] * body[level]))
            }
            Plan::Over(fold, range, body) => self.over(*fold, range, body),
            Plan::Tasks(tasks) => self.tasks(tasks),
        }
    }

    fn folded(&self, parts: &[Plan], first: Seconds, with: impl Fn(f64, f64) -> f64) -> Result<Seconds, EstimateError> {
        parts.iter().try_fold(first, |sum, part| {
            let value = self.value(part)?;
            Ok(LEVELS.map(|level| with(sum[level], value[level])))
        })
    }

    fn bill(&self, bill: &Bill) -> Result<Seconds, EstimateError> {
        let mut sum = [0.0; 3];
        for ((item, _), count) in bill.iter().zip(self.counts(bill)?) {
            let price = self.price(item);
            // A line that begins below zero is paid together with its bytes, which are more.
            LEVELS.into_iter().for_each(|level| sum[level] += price[level] * count[level]);
        }
        // Lines may begin below zero, times do not.
        Ok(sum.map(|seconds: f64| seconds.max(0.0)))
    }

    /// How often each item of a bill is needed.
    pub(super) fn counts(&self, bill: &Bill) -> Result<Vec<Seconds>, EstimateError> {
        bill.iter().map(|(item, count)| self.number(count, || format!("how often {} is done", item.called()))).collect()
    }

    /// Lowest, middle and highest value of a formula.
    pub(super) fn number(&self, formula: &Formula, of: impl Fn() -> String) -> Result<Seconds, EstimateError> {
        if let Some(exact) = formula.as_exact() {
            return Ok([exact.nearest(); 3]);
        }
        self.remembered(formula, |symbols| self.computed(formula, symbols, &of))
    }

    /// Lowest, middle and highest of how often something is done.
    pub(super) fn factor(&self, factor: &Factor) -> Result<Seconds, EstimateError> {
        let of = || "a number of times".to_owned();
        let Some((range, each)) = &factor.sum else { return Ok(self.number(&factor.value, of)?.map(|times| times.max(0.0))) };
        let value = self.remembered(&factor.value, |symbols| {
            let added = if self.is_wide(symbols) { None } else { self.added_up(range, each)? };
            added.map_or_else(|| self.computed(&factor.value, symbols, of), |sum| Ok([sum; 3]))
        })?;
        Ok(value.map(|times| times.max(0.0)))
    }

    /// A sum over a short range, step by step.
    fn added_up(&self, range: &Range, each: &Formula) -> Result<Option<f64>, EstimateError> {
        let bound = |formula: &Formula| self.number(formula, || "where a loop begins or ends".to_owned());
        let ([_, from, _], [_, to, _]) = (bound(&range.from)?, bound(&range.to)?);
        if to - from > MOST_ADDED {
            return Ok(None);
        }
        let (names, values): (Vec<&str>, Vec<f64>) =
            std::iter::once((range.index.as_str(), from)).chain(self.middles.iter().map(|(name, value)| (name, value.low()))).unzip();
        let Some(each) = self.prepared(each, &names) else { return Ok(None) };
        let sum = each.sum(&values, 0, rounds(from, to));
        Ok(Some(sum).filter(|sum| sum.is_finite()))
    }

    /// A formula ready to be evaluated at many points; nothing if it has other names.
    fn prepared(&self, formula: &Formula, names: &[&str]) -> Option<Rc<Compiled>> {
        let key = (formula.clone(), names.iter().map(|name| (*name).to_owned()).collect());
        if let Some(known) = self.memory.borrow().prepared.get(&key) {
            return Some(known.clone());
        }
        let compiled = Rc::new(formula.compile(names).ok()?);
        self.memory.borrow_mut().prepared.insert(key, compiled.clone());
        Some(compiled)
    }

    /// A value that is computed once, if it is the same in a whole sweep.
    fn remembered(
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
        let known = self.memory.borrow().known.get(&key).copied();
        if let Some(Some(value)) = known {
            return Ok(value);
        }
        let symbols = formula.symbols();
        let value = compute(&symbols)?;
        if known.is_none() {
            let mut memory = self.memory.borrow_mut();
            let is_given = |name: &String| memory.of.iter().any(|(own, _)| own == name) || self.indexes.iter().any(|(own, _)| own == name);
            let lasts = symbols.iter().all(is_given);
            memory.known.insert(key, lasts.then_some(value));
        }
        Ok(value)
    }

    fn is_wide(&self, symbols: &BTreeSet<String>) -> bool {
        symbols.iter().any(|name| self.values.get(name).is_some_and(|value| !value.is_point()))
    }

    fn computed(&self, formula: &Formula, symbols: &BTreeSet<String>, of: impl Fn() -> String) -> Result<Seconds, EstimateError> {
        let middle = error::value(formula, &self.middles, &of)?;
        let wide = if self.is_wide(symbols) { error::value(formula, &self.values, &of)? } else { middle };
        Ok([wide.low(), middle.middle(), wide.high()])
    }

    /// What an item costs where it is done.
    pub(super) fn price(&self, item: &Item) -> Seconds {
        let Item::Operation(operation) = item else { return self.prices.of(item, 0, self.class) };
        let crew = &self.team.0[operation.on.as_ref().map_or(0, |on| self.crew(&on.0))];
        self.prices.of(item, crew.node, self.class).map(|seconds| seconds * crew.sharing())
    }

    /// The crew of a computer: that of the worker with its number, or the fastest for the coordinator and for names that stand for themselves.
    fn crew(&self, computer: &str) -> usize {
        if let Some((_, crew)) = self.crews.iter().rev().find(|(name, _)| name == computer) {
            return *crew;
        }
        let number = computer.parse::<f64>().map_or(0.0, |number| number + self.offset);
        self.team.numbered().find(|(_, [first, last])| (*first..=*last).contains(&number)).map_or(0, |(crew, _)| crew)
    }
}

/// The indexes of a range that is known to be short.
pub(super) fn steps(from: f64, to: f64) -> impl Iterator<Item = f64> {
    (0..rounds(from, to)).map(move |step| from + step as f64)
}

fn rounds(from: f64, to: f64) -> u64 {
    if to >= from { (to - from).floor() as u64 + 1 } else { 0 }
}
