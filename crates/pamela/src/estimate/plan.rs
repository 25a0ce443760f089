//! The form in which a model is evaluated: bills, and what cannot be one bill.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use sintonia_formula::{Domain, Formula};

use super::bill::Bill;
use super::factor::Factor;
use crate::bindings::{Bindings, replaced, unused};
use crate::compile::WORKERS;
use crate::expression::{Dealt, Fold, Range};

/// What a part of a model costs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plan {
    Bill(Arc<Bill>),
    Add(Arc<Vec<Plan>>),
    Max(Arc<Vec<Plan>>),
    Min(Arc<Vec<Plan>>),
    Times(Factor, Arc<Plan>),
    Over(Fold, Range, Arc<Plan>),
    Tasks(Arc<Tasks>),
}

/// Tasks that are dealt to workers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tasks {
    pub(crate) dealt: Dealt,
    /// Their numbers.
    pub(crate) range: Range,
    /// How many there are.
    pub(crate) number: Formula,
    /// The name that their computer has.
    pub(crate) computer: String,
    /// What one of them takes.
    pub(crate) body: Plan,
    pub(crate) shape: Shape,
    /// Whether they take the same however many workers there are, each on its own.
    pub(crate) are_apart: bool,
}

/// How tasks differ from each other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// Not at all.
    Alike,
    /// They grow, or shrink, from the first to the last, and it is known what all of them take together.
    Ordered { total: Plan, least: Plan, greatest: Plan },
    /// Some have to be looked at.
    Any,
}

impl Plan {
    pub(crate) fn bill(bill: Bill) -> Plan {
        Plan::Bill(Arc::new(bill))
    }

    pub(crate) fn nothing() -> Plan {
        Plan::bill(Bill::default())
    }

    fn is_nothing(&self) -> bool {
        matches!(self, Plan::Bill(bill) if bill.is_empty())
    }

    pub(crate) fn sum(parts: Vec<Plan>) -> Plan {
        let (mut bill, mut others) = (Bill::default(), Vec::new());
        for part in parts {
            match part {
                Plan::Bill(own) => bill.add_all(&own),
                Plan::Add(inner) => {
                    for part in inner.iter() {
                        if let Plan::Bill(own) = part { bill.add_all(own) } else { others.push(part.clone()) }
                    }
                }
                other => others.push(other),
            }
        }
        if !bill.is_empty() || others.is_empty() {
            others.push(Plan::bill(bill));
        }
        if others.len() == 1 { others.remove(0) } else { Plan::Add(Arc::new(others)) }
    }

    pub(crate) fn max(parts: Vec<Plan>) -> Plan {
        let flat = parts.into_iter().flat_map(|part| if let Plan::Max(inner) = part { inner.to_vec() } else { vec![part] });
        let mut different = different(flat.filter(|part| !part.is_nothing()));
        match different.len() {
            0 => Plan::nothing(),
            1 => different.remove(0),
            _ => Plan::Max(Arc::new(different)),
        }
    }

    pub(crate) fn min(parts: Vec<Plan>) -> Plan {
        let mut different = different(parts.into_iter());
        if different.len() == 1 { different.remove(0) } else { Plan::Min(Arc::new(different)) }
    }

    /// The same number for plans that are equal, and mostly another one for others; what stands deeper than a few steps is not looked at.
    fn fingerprint(&self, depth: u32) -> u64 {
        let Some(inside) = depth.checked_sub(1) else { return 0 };
        let mut hasher = DefaultHasher::new();
        match self {
            Plan::Bill(bill) => bill.iter().for_each(|(_, count)| count.hash(&mut hasher)),
            Plan::Add(parts) | Plan::Max(parts) | Plan::Min(parts) => {
                parts.iter().for_each(|part| part.fingerprint(inside).hash(&mut hasher));
            }
            Plan::Times(factor, body) => (&factor.value, body.fingerprint(inside)).hash(&mut hasher),
            Plan::Over(_, range, body) => (&range.from, &range.to, body.fingerprint(inside)).hash(&mut hasher),
            Plan::Tasks(tasks) => (&tasks.number, tasks.body.fingerprint(inside)).hash(&mut hasher),
        }
        hasher.finish()
    }

    pub(crate) fn times(self, factor: &Formula) -> Plan {
        self.by(Factor::plain(factor.clone()))
    }

    fn by(self, factor: Factor) -> Plan {
        match self {
            plan if factor.value.is_one() => plan,
            _ if factor.value.is_zero() => Plan::nothing(),
            plan if plan.is_nothing() => plan,
            Plan::Bill(bill) if factor.is_short() => Plan::bill(bill.times(&factor.value)),
            Plan::Add(parts) if factor.is_short() => Plan::sum(parts.iter().map(|part| part.clone().by(factor.clone())).collect()),
            Plan::Times(own, body) => match own.times(&factor) {
                Some(both) => Plan::Times(both, body),
                None => Plan::Times(factor, Arc::new(Plan::Times(own, body))),
            },
            other => Plan::Times(factor, Arc::new(other)),
        }
    }

    /// Over the rounds of a loop; nothing where there are none.
    pub(crate) fn over(self, fold: Fold, range: &Range) -> Plan {
        if !self.mentions(&range.index) {
            return match fold {
                Fold::Sum => self.by(Factor::summed(range, &Formula::one())),
                Fold::Max => self.times(&at_least_one(range)),
            };
        }
        let kept = |plan: Plan| Plan::Over(fold, range.clone(), Arc::new(plan));
        match (fold, &self) {
            (Fold::Sum, Plan::Bill(bill)) if !bill.runs_on(&range.index) => summed(bill, range),
            (Fold::Sum, Plan::Add(parts)) => Plan::sum(parts.iter().map(|part| part.clone().over(fold, range)).collect()),
            (Fold::Sum, Plan::Times(factor, body)) => match (factor.mentions(&range.index), body.mentions(&range.index)) {
                (false, _) => Plan::clone(body).over(fold, range).by(factor.clone()),
                (true, false) if factor.sum.is_none() => Plan::clone(body).by(Factor::summed(range, &factor.value)),
                (true, true) if factor.sum.is_none() && matches!(**body, Plan::Bill(_)) => match &**body {
                    Plan::Bill(bill) if !bill.runs_on(&range.index) => summed(&bill.times(&factor.value), range),
                    _ => kept(self),
                },
                _ => kept(self),
            },
            (Fold::Max, Plan::Bill(bill)) => match bill.over(range) {
                Some(bill) => Plan::bill(bill).times(&at_least_one(range)),
                None => kept(self),
            },
            (Fold::Max, Plan::Times(factor, body)) if !factor.mentions(&range.index) => {
                Plan::clone(body).over(fold, range).by(factor.clone())
            }
            (Fold::Max, Plan::Max(parts)) => Plan::max(parts.iter().map(|part| part.clone().over(fold, range)).collect()),
            _ => kept(self),
        }
    }

    /// Tasks of which this is one.
    pub(crate) fn dealt(self, dealt: Dealt, range: &Range, computer: &str) -> Plan {
        let shape = if self.mentions(&range.index) { self.shape(range) } else { Shape::Alike };
        let counts_workers = self.counts_by(WORKERS) || [&range.from, &range.to].iter().any(|end| end.symbols().contains(WORKERS));
        let are_apart = !counts_workers && self.runs_only_on(computer);
        let (number, range, computer) = (range.rounds(), range.clone(), computer.to_owned());
        Plan::Tasks(Arc::new(Tasks { dealt, range, number, computer, body: self, shape, are_apart }))
    }

    fn shape(&self, range: &Range) -> Shape {
        let Plan::Bill(bill) = self else { return Shape::Any };
        let (Some(_), total @ Plan::Bill(_)) = (bill.peak(range), self.clone().over(Fold::Sum, range)) else { return Shape::Any };
        let [least, greatest] = [false, true].map(|largest| Plan::bill(bill.extreme(range, largest)));
        Shape::Ordered { total, least, greatest }
    }

    /// Whether its value where an index lies in an interval is a bound, and is found at once.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Plan::Bill(_) => true,
            Plan::Add(parts) | Plan::Max(parts) | Plan::Min(parts) => parts.iter().all(Plan::is_closed),
            Plan::Times(factor, body) => factor.sum.is_none() && body.is_closed(),
            Plan::Over(..) | Plan::Tasks(_) => false,
        }
    }

    pub(crate) fn mentions(&self, name: &str) -> bool {
        let has = |formula: &Formula| formula.symbols().contains(name);
        match self {
            Plan::Bill(bill) => bill.runs_on(name) || bill.counts_by(name),
            Plan::Add(parts) | Plan::Max(parts) | Plan::Min(parts) => parts.iter().any(|part| part.mentions(name)),
            Plan::Times(factor, body) => factor.mentions(name) || body.mentions(name),
            Plan::Over(_, range, body) => has(&range.from) || has(&range.to) || range.index != name && body.mentions(name),
            Plan::Tasks(tasks) => {
                let bounds = has(&tasks.range.from) || has(&tasks.range.to);
                bounds || tasks.computer != name && tasks.range.index != name && tasks.body.mentions(name)
            }
        }
    }

    /// Whether computers of that name do anything in it.
    pub(crate) fn runs_on(&self, name: &str) -> bool {
        match self {
            Plan::Bill(bill) => bill.runs_on(name),
            Plan::Add(parts) | Plan::Max(parts) | Plan::Min(parts) => parts.iter().any(|part| part.runs_on(name)),
            Plan::Times(_, body) => body.runs_on(name),
            Plan::Over(_, range, body) => range.index != name && body.runs_on(name),
            Plan::Tasks(tasks) => tasks.computer != name && tasks.range.index != name && tasks.body.runs_on(name),
        }
    }

    /// Whether all that depends on who does it is done by the computer of that name.
    fn runs_only_on(&self, name: &str) -> bool {
        match self {
            Plan::Bill(bill) => bill.runs_only_on(name),
            Plan::Add(parts) | Plan::Max(parts) | Plan::Min(parts) => parts.iter().all(|part| part.runs_only_on(name)),
            Plan::Times(_, body) => body.runs_only_on(name),
            Plan::Over(_, range, body) => range.index != name && body.runs_only_on(name),
            Plan::Tasks(_) => false,
        }
    }

    /// Whether a count, a factor or a bound depends on a name.
    pub(crate) fn counts_by(&self, name: &str) -> bool {
        let has = |formula: &Formula| formula.symbols().contains(name);
        match self {
            Plan::Bill(bill) => bill.counts_by(name),
            Plan::Add(parts) | Plan::Max(parts) | Plan::Min(parts) => parts.iter().any(|part| part.counts_by(name)),
            Plan::Times(factor, body) => factor.mentions(name) || body.counts_by(name),
            Plan::Over(_, range, body) => has(&range.from) || has(&range.to) || range.index != name && body.counts_by(name),
            Plan::Tasks(tasks) => has(&tasks.range.from) || has(&tasks.range.to) || tasks.range.index != name && tasks.body.counts_by(name),
        }
    }

    /// The same with other things in the places of names.
    pub(crate) fn with(&self, bindings: &Bindings) -> Plan {
        if bindings.iter().all(|(name, _)| !self.mentions(name)) {
            return self.clone();
        }
        let all = |parts: &[Plan]| parts.iter().map(|part| part.with(bindings)).collect::<Vec<_>>();
        match self {
            Plan::Bill(bill) => Plan::bill(bill.with(bindings)),
            Plan::Add(parts) => Plan::sum(all(parts)),
            Plan::Max(parts) => Plan::max(all(parts)),
            Plan::Min(parts) => Plan::min(all(parts)),
            Plan::Times(factor, body) => body.with(bindings).by(factor.with(bindings)),
            Plan::Over(fold, range, body) => {
                let (index, inner) = entered(&range.index, bindings.clone(), body);
                let (from, to) = (replaced(&range.from, bindings), replaced(&range.to, bindings));
                body.with(&inner).over(*fold, &Range { index, from, to })
            }
            Plan::Tasks(tasks) => tasks.with(bindings),
        }
    }
}

impl Tasks {
    fn with(&self, bindings: &Bindings) -> Plan {
        let (index, inner) = entered(&self.range.index, bindings.clone(), &self.body);
        let (computer, inner) = entered(&self.computer, inner, &self.body);
        let (from, to) = (replaced(&self.range.from, bindings), replaced(&self.range.to, bindings));
        self.body.with(&inner).dealt(self.dealt, &Range { index, from, to }, &computer)
    }
}

/// A bound name and what takes the places of names in its scope: another name, if something that comes in means something else by it.
fn entered(bound: &str, bindings: Bindings, body: &Plan) -> (String, Bindings) {
    let mut inner: Bindings = bindings.into_iter().filter(|(name, _)| name != bound).collect();
    let taken = |name: &str| inner.iter().any(|(_, by)| by.symbols().contains(name));
    if !taken(bound) {
        return (bound.to_owned(), inner);
    }
    let other = unused(bound, |name| taken(name) || body.mentions(name));
    inner.push((bound.to_owned(), Formula::symbol(&other)));
    (other, inner)
}

/// The sum of a bill over a range: one bill of what has a closed form, and what has none as factors, each once.
fn summed(bill: &Bill, range: &Range) -> Plan {
    let (mut closed, mut open): (Bill, Vec<(&Formula, Factor, Bill)>) = (Bill::default(), Vec::new());
    for (item, count) in bill.iter() {
        if let Some((_, _, same)) = open.iter_mut().find(|(own, ..)| *own == count) {
            same.add(item.clone(), Formula::one());
            continue;
        }
        let factor = Factor::summed(range, count);
        if factor.sum.is_none() {
            closed.add(item.clone(), factor.value);
        } else {
            let mut own = Bill::default();
            own.add(item.clone(), Formula::one());
            open.push((count, factor, own));
        }
    }
    let open = open.into_iter().map(|(_, factor, bill)| Plan::Times(factor, Arc::new(Plan::bill(bill))));
    Plan::sum(open.chain([Plan::bill(closed)]).collect())
}

/// Each plan once, in the order in which they come first.
fn different(parts: impl Iterator<Item = Plan>) -> Vec<Plan> {
    const DEPTH: u32 = 3;
    let (mut different, mut places): (Vec<Plan>, HashMap<u64, Vec<usize>>) = Default::default();
    for part in parts {
        let alike = places.entry(part.fingerprint(DEPTH)).or_default();
        if alike.iter().all(|place| different[*place] != part) {
            alike.push(different.len());
            different.push(part);
        }
    }
    different
}

/// One if there is a round, nothing if there is none.
fn at_least_one(range: &Range) -> Formula {
    let more = (&range.to - &range.from).compare(&Formula::zero(), &Domain::counts());
    match more {
        Some(Ordering::Greater | Ordering::Equal) => Formula::one(),
        _ => Formula::min_of([Formula::one(), Formula::max_of([Formula::zero(), range.rounds()])]),
    }
}
