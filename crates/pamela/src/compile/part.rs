//! What is known of a part of a model: its times, and what it needs of each resource.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_formula::Formula;

use super::resource::Needed;
use crate::bindings::{Bindings, HERE};
use crate::bounds;
use crate::expression::{Cost, Dealt, Expression, Fold, Range};
use crate::model::{Computer, Order};

/// How long a part needs a resource, if it never waits.
#[derive(Debug, Clone)]
pub(super) struct Demand {
    /// At least: what holds it takes as long as without contention.
    pub(super) least: Expression,
    /// At most: what holds it may do one thing after the other.
    pub(super) most: Expression,
}

/// A part of a model.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Without contention.
    pub(super) free: Expression,
    /// With everything one after the other.
    pub(super) serial: Expression,
    pub(super) lower: Expression,
    pub(super) upper: Expression,
    pub(super) demands: BTreeMap<Needed, Demand>,
    /// What two of its pieces may want at the same time.
    pub(super) contended: BTreeSet<Needed>,
    /// Whether anything in it goes on at the same time as something else; otherwise its four times are one.
    branches: bool,
}

/// The times of a part, in an order that all who combine them share.
const TIMES: usize = 4;

impl Part {
    pub(super) fn nothing() -> Part {
        Part::of(Expression::nothing(), None)
    }

    /// One thing, which needs a resource or not.
    pub(super) fn of(time: Expression, needs: Option<Needed>) -> Part {
        let demand = |needed: Needed| (needed, Demand { least: time.clone(), most: time.clone() });
        let demands = needs.map(demand).into_iter().collect();
        let [free, serial, lower, upper] = [(); TIMES].map(|()| time.clone());
        Part { free, serial, lower, upper, demands, contended: BTreeSet::new(), branches: false }
    }

    pub(super) fn cost(cost: Cost, needs: Option<Needed>) -> Part {
        Part::of(Expression::cost(cost), needs)
    }

    fn times(&self) -> [&Expression; TIMES] {
        [&self.free, &self.serial, &self.lower, &self.upper]
    }

    /// How deep its parts stand inside each other.
    pub(super) fn depth(&self) -> u32 {
        self.times().into_iter().map(Expression::depth).max().unwrap_or(0)
    }

    /// The same change of all its times, and of what it needs.
    fn changed(self, change: impl Fn(&Expression) -> Expression) -> Part {
        let demands = self.demands.iter().map(|(needed, demand)| (needed.clone(), demand.changed(&change))).collect();
        let [free, serial, lower, upper] = if self.branches {
            self.times().map(&change)
        } else {
            let one = change(&self.free);
            [one.clone(), one.clone(), one.clone(), one]
        };
        Part { free, serial, lower, upper, demands, ..self }
    }

    /// One after the other.
    pub(super) fn sequence(parts: Vec<Part>) -> Part {
        let branches = parts.iter().any(|part| part.branches);
        let of = |time: usize| Expression::sum(parts.iter().map(|part| part.times()[time].clone()).collect());
        let [free, serial, lower, upper] = if branches {
            [of(0), of(1), of(2), of(3)]
        } else {
            let one = of(0);
            [one.clone(), one.clone(), one.clone(), one]
        };
        let contended = parts.iter().flat_map(|part| part.contended.iter().cloned()).collect();
        Part { free, serial, lower, upper, demands: added(&parts), contended, branches }
    }

    /// At the same time.
    pub(super) fn parallel(mut parts: Vec<Part>, multiplicity: &BTreeMap<String, Formula>) -> Part {
        parts.retain(|part| !part.free.is_nothing());
        if parts.len() < 2 {
            return parts.pop().unwrap_or_else(Part::nothing);
        }
        let all = |time: usize| parts.iter().map(|part| part.times()[time].clone()).collect::<Vec<_>>();
        let mut users: BTreeMap<&Needed, usize> = BTreeMap::new();
        parts.iter().flat_map(|part| part.demands.keys()).for_each(|needed| *users.entry(needed).or_default() += 1);
        let several = users.into_iter().filter(|(_, users)| *users > 1).map(|(needed, _)| needed.clone());
        let contended = several.chain(parts.iter().flat_map(|part| part.contended.iter().cloned())).collect();
        let together = Part {
            free: Expression::max(all(0)),
            serial: Expression::sum(all(1)),
            lower: Expression::max(all(2)),
            upper: Expression::nothing(),
            demands: added(&parts),
            contended,
            branches: true,
        };
        together.bounded(multiplicity)
    }

    /// Over and over.
    pub(super) fn repeated(mut self, order: Order, range: &Range, multiplicity: &BTreeMap<String, Formula>) -> Part {
        // The computer that is named by the index is another one in each round: it is neither added up nor competed for by rounds.
        let own = Needed::computer(&range.index);
        let (demand, is_contended) = (self.demands.remove(&own), self.contended.remove(&own));
        let together = match order {
            Order::Sequential => self.changed(|time| time.clone().over(Fold::Sum, range)),
            Order::Parallel => self.side_by_side(range),
        };
        let closed = together.closed(range, demand, is_contended);
        if order == Order::Parallel { closed.bounded(multiplicity) } else { closed }
    }

    /// The rounds of a loop at the same time, without its bounds.
    fn side_by_side(self, range: &Range) -> Part {
        let among_rounds = self.demands.keys().filter(|needed| **needed != Needed::Here).cloned();
        let contended = among_rounds.chain(self.contended.iter().cloned()).collect();
        let added = |(needed, demand): (&Needed, &Demand)| (needed.clone(), demand.changed(|time| time.clone().added_over(range)));
        Part {
            demands: self.demands.iter().map(added).collect(),
            free: self.free.over(Fold::Max, range),
            serial: self.serial.added_over(range),
            lower: self.lower.over(Fold::Max, range),
            upper: Expression::nothing(),
            contended,
            branches: true,
        }
    }

    /// Tasks dealt to workers.
    pub(super) fn dealt(self, range: &Range, computer: &Computer, multiplicity: &BTreeMap<String, Formula>) -> Part {
        let own = Needed::computer(&computer.0);
        let dealt = |time: &Expression, how: Dealt| time.clone().dealt(how, range, computer);
        let mut demands: BTreeMap<Needed, Demand> = BTreeMap::new();
        let others = self.demands.iter().filter(|(needed, _)| **needed != own && !depends(needed, &range.index));
        demands.extend(others.map(|(needed, demand)| (needed.clone(), demand.changed(|time| dealt(time, Dealt::All)))));
        let mut contended: BTreeSet<Needed> = demands.keys().cloned().collect();
        contended.remove(&Needed::Workers);
        if let Some(Demand { least, most }) = self.demands.get(&own) {
            demands.insert(Needed::Workers, Demand { least: dealt(least, Dealt::Even), most: dealt(most, Dealt::Longest) });
        }
        contended.extend(self.contended.iter().filter(|needed| demands.contains_key(needed)).cloned());
        let together = Part {
            free: dealt(&self.free, Dealt::Longest),
            serial: dealt(&self.serial, Dealt::All),
            lower: dealt(&self.lower, Dealt::Longest),
            upper: Expression::nothing(),
            demands,
            contended,
            branches: true,
        };
        together.bounded(multiplicity)
    }

    /// Holding a resource.
    pub(super) fn using(mut self, resource: &str) -> Part {
        let demand = Demand { least: self.free.clone(), most: self.serial.clone() };
        let needed = Needed::Named(resource.to_owned());
        self.contended.remove(&needed);
        self.demands.insert(needed, demand);
        self
    }

    /// A share of it, as if it were done so often.
    pub(super) fn scaled(self, share: &Formula) -> Part {
        if share.is_zero() {
            return Part::nothing();
        }
        self.changed(|time| time.clone().times(share))
    }

    /// The same on a computer, for everything that does not say where it runs.
    pub(super) fn on(&self, computer: &str) -> Part {
        self.with(&vec![(HERE.to_owned(), Formula::symbol(computer))])
    }

    /// The same with other things in the places of names.
    pub(super) fn with(&self, bindings: &Bindings) -> Part {
        let mut changed = self.clone().changed(|time| time.clone().with(bindings));
        let mut demands: BTreeMap<Needed, Vec<Demand>> = BTreeMap::new();
        for (needed, demand) in std::mem::take(&mut changed.demands) {
            demands.entry(needed.with(bindings)).or_default().push(demand);
        }
        changed.demands = demands.into_iter().map(|(needed, all)| (needed, sum(&all))).collect();
        changed.contended = changed.contended.iter().map(|needed| needed.with(bindings)).collect();
        changed
    }

    /// Ends the scope of an index: what its computer needs is what each computer of the range needs, and what cannot be said without the
    /// index is left away.
    fn closed(mut self, range: &Range, own: Option<Demand>, is_contended: bool) -> Part {
        self.demands.retain(|needed, _| !depends(needed, &range.index));
        self.contended.retain(|needed| !depends(needed, &range.index));
        let Some(own) = own else { return self };
        let each = Needed::Each(range.from.clone(), range.to.clone());
        let named: Bindings = vec![(range.index.clone(), Formula::symbol(super::EACH))];
        let own = own.changed(|time| time.clone().with(&named));
        let both: Vec<Demand> = self.demands.remove(&each).into_iter().chain([own]).collect();
        self.demands.insert(each.clone(), sum(&both));
        if is_contended {
            self.contended.insert(each);
        }
        self
    }

    /// The two bounds of a parallel block, from everything else.
    fn bounded(mut self, multiplicity: &BTreeMap<String, Formula>) -> Part {
        let contended = || self.contended.iter().filter_map(|needed| Some((needed, self.demands.get(needed)?)));
        let loads = contended().map(|(needed, demand)| needed.load(demand, multiplicity)).collect();
        let waits = contended().map(|(needed, demand)| needed.wait(demand, multiplicity)).collect();
        let lower = bounds::lower(self.lower.clone(), loads);
        self.upper = bounds::upper(&self.free, &self.serial, waits);
        self.lower = lower;
        self
    }
}

impl Demand {
    fn changed(&self, change: impl Fn(&Expression) -> Expression) -> Demand {
        let least = change(&self.least);
        let most = if same(&self.least, &self.most) { least.clone() } else { change(&self.most) };
        Demand { least, most }
    }
}

fn same(a: &Expression, b: &Expression) -> bool {
    a.address() == b.address()
}

fn sum(demands: &[Demand]) -> Demand {
    match demands {
        [one] => one.clone(),
        several => {
            let of = |pick: fn(&Demand) -> &Expression| Expression::sum(several.iter().map(|demand| pick(demand).clone()).collect());
            Demand { least: of(|demand| &demand.least), most: of(|demand| &demand.most) }
        }
    }
}

/// What parts need together.
fn added(parts: &[Part]) -> BTreeMap<Needed, Demand> {
    let mut all: BTreeMap<&Needed, Vec<Demand>> = BTreeMap::new();
    for (needed, demand) in parts.iter().flat_map(|part| &part.demands) {
        all.entry(needed).or_default().push(demand.clone());
    }
    all.into_iter().map(|(needed, demands)| (needed.clone(), sum(&demands))).collect()
}

fn depends(needed: &Needed, index: &str) -> bool {
    match needed {
        Needed::Each(from, to) => from.symbols().contains(index) || to.symbols().contains(index),
        Needed::Here | Needed::Named(_) | Needed::Workers => false,
    }
}
