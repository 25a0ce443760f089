//! The form in which a model is evaluated: cost vectors, and what does not reduce to one.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sintonia_formula::{Domain, Formula};

use super::cost_vector::CostVector;
use super::repeat_count::RepeatCount;
use crate::bindings::{Bindings, substitute_all, unused_name};
use crate::expression::{AllocationMetric, LoopRange, LoopReduction, WORKERS};

/// The cost of a block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CostPlan {
    Vector(Arc<CostVector>),
    Add(Arc<Vec<CostPlan>>),
    Max(Arc<Vec<CostPlan>>),
    Min(Arc<Vec<CostPlan>>),
    Times(RepeatCount, Arc<CostPlan>),
    Loop(LoopReduction, LoopRange, Arc<CostPlan>),
    Tasks(Arc<TaskSetPlan>),
}

/// A set of tasks that are allocated to workers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaskSetPlan {
    pub(crate) metric: AllocationMetric,
    /// The range of task numbers.
    pub(crate) range: LoopRange,
    /// The number of tasks.
    pub(crate) count: Formula,
    /// The name of a task's computer in the body.
    pub(crate) computer: String,
    /// The cost of one task.
    pub(crate) body: CostPlan,
    pub(crate) variation: TaskVariation,
    /// Whether a task's time does not depend on the number of workers.
    pub(crate) is_worker_independent: bool,
}

/// How the tasks of a set differ.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TaskVariation {
    /// All tasks are equal.
    Uniform,
    /// Their times increase or decrease from the first to the last, and the total is known.
    Monotonic { total: CostPlan, least: CostPlan, greatest: CostPlan },
    /// Tasks have to be sampled.
    Arbitrary,
}

impl CostPlan {
    pub(crate) fn vector(bill: CostVector) -> CostPlan {
        CostPlan::Vector(Arc::new(bill))
    }

    pub(crate) fn zero() -> CostPlan {
        CostPlan::vector(CostVector::default())
    }

    fn is_zero(&self) -> bool {
        matches!(self, CostPlan::Vector(bill) if bill.is_empty())
    }

    pub(crate) fn sum(parts: Vec<CostPlan>) -> CostPlan {
        let (mut bill, mut others) = (CostVector::default(), Vec::new());
        for part in parts {
            match part {
                CostPlan::Vector(own) => bill.add_all(&own),
                CostPlan::Add(inner) => {
                    for part in inner.iter() {
                        if let CostPlan::Vector(own) = part { bill.add_all(own) } else { others.push(part.clone()) }
                    }
                }
                other => others.push(other),
            }
        }
        if !bill.is_empty() || others.is_empty() {
            others.push(CostPlan::vector(bill));
        }
        if others.len() == 1 { others.remove(0) } else { CostPlan::Add(Arc::new(others)) }
    }

    pub(crate) fn max(parts: Vec<CostPlan>) -> CostPlan {
        let flat = parts.into_iter().flat_map(|part| if let CostPlan::Max(inner) = part { inner.to_vec() } else { vec![part] });
        let mut different = dedup(flat.filter(|part| !part.is_zero()));
        match different.len() {
            0 => CostPlan::zero(),
            1 => different.remove(0),
            _ => CostPlan::Max(Arc::new(different)),
        }
    }

    pub(crate) fn min(parts: Vec<CostPlan>) -> CostPlan {
        let mut different = dedup(parts.into_iter());
        if different.len() == 1 { different.remove(0) } else { CostPlan::Min(Arc::new(different)) }
    }

    /// A hash up to a small depth: equal for equal plans.
    fn fingerprint(&self, depth: u32) -> u64 {
        let Some(inside) = depth.checked_sub(1) else { return 0 };
        let mut hasher = DefaultHasher::new();
        match self {
            CostPlan::Vector(bill) => bill.iter().for_each(|(_, count)| count.hash(&mut hasher)),
            CostPlan::Add(parts) | CostPlan::Max(parts) | CostPlan::Min(parts) => {
                parts.iter().for_each(|part| part.fingerprint(inside).hash(&mut hasher));
            }
            CostPlan::Times(factor, body) => (&factor.value, body.fingerprint(inside)).hash(&mut hasher),
            CostPlan::Loop(_, range, body) => (&range.from, &range.to, body.fingerprint(inside)).hash(&mut hasher),
            CostPlan::Tasks(tasks) => (&tasks.count, tasks.body.fingerprint(inside)).hash(&mut hasher),
        }
        hasher.finish()
    }

    pub(crate) fn times(self, factor: &Formula) -> CostPlan {
        self.repeated(RepeatCount::from_formula(factor.clone()))
    }

    fn repeated(self, factor: RepeatCount) -> CostPlan {
        match self {
            plan if factor.value.is_one() => plan,
            _ if factor.value.is_zero() => CostPlan::zero(),
            plan if plan.is_zero() => plan,
            CostPlan::Vector(bill) if factor.is_short() => CostPlan::vector(bill.times(&factor.value)),
            CostPlan::Add(parts) if factor.is_short() => {
                CostPlan::sum(parts.iter().map(|part| part.clone().repeated(factor.clone())).collect())
            }
            CostPlan::Times(own, body) => match own.times(&factor) {
                Some(both) => CostPlan::Times(both, body),
                None => CostPlan::Times(factor, Arc::new(CostPlan::Times(own, body))),
            },
            other => CostPlan::Times(factor, Arc::new(other)),
        }
    }

    /// The body of a loop, reduced over its iterations; zero without iterations.
    pub(crate) fn looped(self, fold: LoopReduction, range: &LoopRange) -> CostPlan {
        if !self.mentions(&range.index) {
            return match fold {
                LoopReduction::Sum => self.repeated(RepeatCount::from_sum(range, &Formula::one())),
                LoopReduction::Max => self.times(&has_iterations(range)),
            };
        }
        let kept = |plan: CostPlan| CostPlan::Loop(fold, range.clone(), Arc::new(plan));
        match (fold, &self) {
            (LoopReduction::Sum, CostPlan::Vector(bill)) if !bill.runs_on(&range.index) => sum_over_range(bill, range),
            (LoopReduction::Sum, CostPlan::Add(parts)) => {
                CostPlan::sum(parts.iter().map(|part| part.clone().looped(fold, range)).collect())
            }
            (LoopReduction::Sum, CostPlan::Times(factor, body)) => match (factor.mentions(&range.index), body.mentions(&range.index)) {
                (false, _) => CostPlan::clone(body).looped(fold, range).repeated(factor.clone()),
                (true, false) if factor.sum.is_none() => CostPlan::clone(body).repeated(RepeatCount::from_sum(range, &factor.value)),
                (true, true) if factor.sum.is_none() && matches!(**body, CostPlan::Vector(_)) => match &**body {
                    CostPlan::Vector(bill) if !bill.runs_on(&range.index) => sum_over_range(&bill.times(&factor.value), range),
                    _ => kept(self),
                },
                _ => kept(self),
            },
            (LoopReduction::Max, CostPlan::Vector(bill)) => match bill.max_over(range) {
                Some(bill) => CostPlan::vector(bill).times(&has_iterations(range)),
                None => kept(self),
            },
            (LoopReduction::Max, CostPlan::Times(factor, body)) if !factor.mentions(&range.index) => {
                CostPlan::clone(body).looped(fold, range).repeated(factor.clone())
            }
            (LoopReduction::Max, CostPlan::Max(parts)) => {
                CostPlan::max(parts.iter().map(|part| part.clone().looped(fold, range)).collect())
            }
            _ => kept(self),
        }
    }

    /// A task set with this as the body.
    pub(crate) fn allocated(self, dealt: AllocationMetric, range: &LoopRange, computer: &str) -> CostPlan {
        let shape = if self.mentions(&range.index) { self.variation(range) } else { TaskVariation::Uniform };
        let counts_workers = self.counts_depend_on(WORKERS) || [&range.from, &range.to].iter().any(|end| end.symbols().contains(WORKERS));
        let are_apart = !counts_workers && self.runs_only_on(computer);
        let (number, range, computer) = (range.trip_count(), range.clone(), computer.to_owned());
        CostPlan::Tasks(Arc::new(TaskSetPlan {
            metric: dealt,
            range,
            count: number,
            computer,
            body: self,
            variation: shape,
            is_worker_independent: are_apart,
        }))
    }

    fn variation(&self, range: &LoopRange) -> TaskVariation {
        let CostPlan::Vector(bill) = self else { return TaskVariation::Arbitrary };
        let (Some(_), total @ CostPlan::Vector(_)) = (bill.argmax(range), self.clone().looped(LoopReduction::Sum, range)) else {
            return TaskVariation::Arbitrary;
        };
        let [least, greatest] = [false, true].map(|largest| CostPlan::vector(bill.extremum_over(range, largest)));
        TaskVariation::Monotonic { total, least, greatest }
    }

    /// Whether evaluating it with an index in an interval gives bounds directly.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            CostPlan::Vector(_) => true,
            CostPlan::Add(parts) | CostPlan::Max(parts) | CostPlan::Min(parts) => parts.iter().all(CostPlan::is_closed),
            CostPlan::Times(factor, body) => factor.sum.is_none() && body.is_closed(),
            CostPlan::Loop(..) | CostPlan::Tasks(_) => false,
        }
    }

    pub(crate) fn mentions(&self, name: &str) -> bool {
        let has = |formula: &Formula| formula.symbols().contains(name);
        match self {
            CostPlan::Vector(bill) => bill.runs_on(name) || bill.counts_depend_on(name),
            CostPlan::Add(parts) | CostPlan::Max(parts) | CostPlan::Min(parts) => parts.iter().any(|part| part.mentions(name)),
            CostPlan::Times(factor, body) => factor.mentions(name) || body.mentions(name),
            CostPlan::Loop(_, range, body) => has(&range.from) || has(&range.to) || range.index != name && body.mentions(name),
            CostPlan::Tasks(tasks) => {
                let bounds = has(&tasks.range.from) || has(&tasks.range.to);
                bounds || tasks.computer != name && tasks.range.index != name && tasks.body.mentions(name)
            }
        }
    }

    /// Whether a computer of that name does anything in it.
    pub(crate) fn runs_on(&self, name: &str) -> bool {
        match self {
            CostPlan::Vector(bill) => bill.runs_on(name),
            CostPlan::Add(parts) | CostPlan::Max(parts) | CostPlan::Min(parts) => parts.iter().any(|part| part.runs_on(name)),
            CostPlan::Times(_, body) => body.runs_on(name),
            CostPlan::Loop(_, range, body) => range.index != name && body.runs_on(name),
            CostPlan::Tasks(tasks) => tasks.computer != name && tasks.range.index != name && tasks.body.runs_on(name),
        }
    }

    /// Whether everything that depends on the computer runs on the one of that name.
    fn runs_only_on(&self, name: &str) -> bool {
        match self {
            CostPlan::Vector(bill) => bill.runs_only_on(name),
            CostPlan::Add(parts) | CostPlan::Max(parts) | CostPlan::Min(parts) => parts.iter().all(|part| part.runs_only_on(name)),
            CostPlan::Times(_, body) => body.runs_only_on(name),
            CostPlan::Loop(_, range, body) => range.index != name && body.runs_only_on(name),
            CostPlan::Tasks(_) => false,
        }
    }

    /// Whether a count, a factor or a bound depends on a name.
    pub(crate) fn counts_depend_on(&self, name: &str) -> bool {
        let has = |formula: &Formula| formula.symbols().contains(name);
        match self {
            CostPlan::Vector(bill) => bill.counts_depend_on(name),
            CostPlan::Add(parts) | CostPlan::Max(parts) | CostPlan::Min(parts) => parts.iter().any(|part| part.counts_depend_on(name)),
            CostPlan::Times(factor, body) => factor.mentions(name) || body.counts_depend_on(name),
            CostPlan::Loop(_, range, body) => has(&range.from) || has(&range.to) || range.index != name && body.counts_depend_on(name),
            CostPlan::Tasks(tasks) => {
                has(&tasks.range.from) || has(&tasks.range.to) || tasks.range.index != name && tasks.body.counts_depend_on(name)
            }
        }
    }

    /// Substitutes names.
    pub(crate) fn with_bindings(&self, bindings: &Bindings) -> CostPlan {
        if bindings.iter().all(|(name, _)| !self.mentions(name)) {
            return self.clone();
        }
        let all = |parts: &[CostPlan]| parts.iter().map(|part| part.with_bindings(bindings)).collect::<Vec<_>>();
        match self {
            CostPlan::Vector(bill) => CostPlan::vector(bill.with_bindings(bindings)),
            CostPlan::Add(parts) => CostPlan::sum(all(parts)),
            CostPlan::Max(parts) => CostPlan::max(all(parts)),
            CostPlan::Min(parts) => CostPlan::min(all(parts)),
            CostPlan::Times(factor, body) => body.with_bindings(bindings).repeated(factor.with_bindings(bindings)),
            CostPlan::Loop(fold, range, body) => {
                let (index, inner) = rename_bound(&range.index, bindings.clone(), body);
                let (from, to) = (substitute_all(&range.from, bindings), substitute_all(&range.to, bindings));
                body.with_bindings(&inner).looped(*fold, &LoopRange { index, from, to })
            }
            CostPlan::Tasks(tasks) => tasks.with_bindings(bindings),
        }
    }
}

impl TaskSetPlan {
    fn with_bindings(&self, bindings: &Bindings) -> CostPlan {
        let (index, inner) = rename_bound(&self.range.index, bindings.clone(), &self.body);
        let (computer, inner) = rename_bound(&self.computer, inner, &self.body);
        let (from, to) = (substitute_all(&self.range.from, bindings), substitute_all(&self.range.to, bindings));
        self.body.with_bindings(&inner).allocated(self.metric, &LoopRange { index, from, to }, &computer)
    }
}

/// Renames a bound name if a substitute contains it; also returns the bindings for its scope.
fn rename_bound(bound: &str, bindings: Bindings, body: &CostPlan) -> (String, Bindings) {
    let mut inner: Bindings = bindings.into_iter().filter(|(name, _)| name != bound).collect();
    let taken = |name: &str| inner.iter().any(|(_, by)| by.symbols().contains(name));
    if !taken(bound) {
        return (bound.to_owned(), inner);
    }
    let other = unused_name(bound, |name| taken(name) || body.mentions(name));
    inner.push((bound.to_owned(), Formula::symbol(&other)));
    (other, inner)
}

/// The sum of a cost vector over a range: one vector for the closed forms, and factors for the rest, each once.
fn sum_over_range(bill: &CostVector, range: &LoopRange) -> CostPlan {
    let (mut closed, mut open): (CostVector, Vec<(&Formula, RepeatCount, CostVector)>) = (CostVector::default(), Vec::new());
    for (item, count) in bill.iter() {
        if let Some((_, _, same)) = open.iter_mut().find(|(own, ..)| *own == count) {
            same.add(item.clone(), Formula::one());
            continue;
        }
        let factor = RepeatCount::from_sum(range, count);
        if factor.sum.is_none() {
            closed.add(item.clone(), factor.value);
        } else {
            let mut own = CostVector::default();
            own.add(item.clone(), Formula::one());
            open.push((count, factor, own));
        }
    }
    let open = open.into_iter().map(|(_, factor, bill)| CostPlan::Times(factor, Arc::new(CostPlan::vector(bill))));
    CostPlan::sum(open.chain([CostPlan::vector(closed)]).collect())
}

/// Distinct plans in order of first occurrence.
fn dedup(parts: impl Iterator<Item = CostPlan>) -> Vec<CostPlan> {
    const DEPTH: u32 = 3;
    let (mut different, mut places): (Vec<CostPlan>, HashMap<u64, Vec<usize>>) = Default::default();
    for part in parts {
        let alike = places.entry(part.fingerprint(DEPTH)).or_default();
        if alike.iter().all(|place| different[*place] != part) {
            alike.push(different.len());
            different.push(part);
        }
    }
    different
}

/// One if there is an iteration, zero otherwise.
fn has_iterations(range: &LoopRange) -> Formula {
    let more = (&range.to - &range.from).compare(&Formula::zero(), &Domain::at_least_one());
    match more {
        Some(Ordering::Greater | Ordering::Equal) => Formula::one(),
        _ => Formula::min_of([Formula::one(), Formula::max_of([Formula::zero(), range.trip_count()])]),
    }
}
