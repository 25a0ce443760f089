//! What is done, and how often: the part of a time that is a plain sum.

use std::collections::BTreeMap;

use sintonia_formula::Formula;
use sintonia_machine::{Collective, Named};

use crate::bindings::{Bindings, HERE, computer, doer, replaced};
use crate::expression::Range;
use crate::model::{Computer, Operation};
use crate::vocabulary;

/// Something that has a price.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    /// An operation, on a computer or on the one that the part runs on.
    Operation(Operation),
    /// A second.
    Second,
    /// A message without its bytes, or a byte of one, by the piece of the timing that holds; with who sends it to whom where that matters.
    Message { piece: usize, per: Per, between: Option<(Computer, Computer)> },
    /// The same of an operation of a group, by the number of processes that was measured.
    Group { operation: Collective, at: usize, piece: usize, per: Per },
}

/// What of a line of a timing is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Per {
    Start,
    Byte,
}

impl Item {
    /// What people call it.
    pub(crate) fn called(&self) -> String {
        match self {
            Item::Operation(operation) => vocabulary::called(operation),
            Item::Second => "delay".to_owned(),
            Item::Message { .. } => "send".to_owned(),
            Item::Group { operation, .. } => operation.name().to_owned(),
        }
    }

    fn runs_on(&self, name: &str) -> bool {
        match self {
            Item::Operation(operation) => operation.on.as_ref().map_or(HERE, |on| &on.0) == name,
            Item::Message { between, .. } => between.iter().any(|(from, to)| from.0 == name || to.0 == name),
            Item::Second | Item::Group { .. } => false,
        }
    }

    fn runs_only_on(&self, name: &str) -> bool {
        match self {
            Item::Operation(operation) => operation.on.as_ref().is_some_and(|on| on.0 == name),
            // These cost the same everywhere.
            Item::Message { .. } | Item::Second | Item::Group { .. } => true,
        }
    }

    fn with(&self, bindings: &Bindings) -> Item {
        match self {
            Item::Operation(operation) => Item::Operation(Operation { on: doer(operation.on.as_ref(), bindings), ..operation.clone() }),
            Item::Message { piece, per, between } => {
                let between = between.as_ref().map(|(from, to)| (computer(from, bindings), computer(to, bindings)));
                Item::Message { piece: *piece, per: *per, between }
            }
            Item::Second | Item::Group { .. } => self.clone(),
        }
    }
}

/// Items, and how often each is needed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Bill(BTreeMap<Item, Formula>);

impl Bill {
    pub(crate) fn add(&mut self, item: Item, count: Formula) {
        if count.is_zero() {
            return;
        }
        match self.0.entry(item) {
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(count);
            }
            std::collections::btree_map::Entry::Occupied(mut place) => *place.get_mut() += count,
        }
    }

    pub(crate) fn add_all(&mut self, other: &Bill) {
        other.iter().for_each(|(item, count)| self.add(item.clone(), count.clone()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Item, &Formula)> {
        self.0.iter()
    }

    fn counted(&self, change: impl Fn(&Formula) -> Formula) -> Bill {
        let mut changed = Bill::default();
        self.iter().for_each(|(item, count)| changed.add(item.clone(), change(count)));
        changed
    }

    pub(crate) fn times(&self, factor: &Formula) -> Bill {
        self.counted(|count| factor * count)
    }

    /// Each count at its largest or smallest over a range.
    pub(crate) fn extreme(&self, range: &Range, largest: bool) -> Bill {
        let extreme = if largest { Formula::max_over } else { Formula::min_over };
        self.counted(|count| extreme(&range.index, &range.from, &range.to, count))
    }

    pub(crate) fn at(&self, index: &str, value: &Formula) -> Bill {
        self.counted(|count| count.substitute(index, value))
    }

    pub(crate) fn with(&self, bindings: &Bindings) -> Bill {
        let mut changed = Bill::default();
        self.iter().for_each(|(item, count)| changed.add(item.with(bindings), replaced(count, bindings)));
        changed
    }

    /// Whether a count depends on a name.
    pub(crate) fn counts_by(&self, name: &str) -> bool {
        self.0.values().any(|count| count.symbols().contains(name))
    }

    /// Whether an item belongs to a computer of that name.
    pub(crate) fn runs_on(&self, name: &str) -> bool {
        self.0.keys().any(|item| item.runs_on(name))
    }

    /// Whether no item belongs to a computer of another name.
    pub(crate) fn runs_only_on(&self, name: &str) -> bool {
        self.0.keys().all(|item| item.runs_only_on(name))
    }

    /// Whether all counts rise, or all fall, along a range: then the whole does. Gives the index at which it is largest.
    pub(crate) fn peak(&self, range: &Range) -> Option<Formula> {
        let at = |end: &Formula| self.at(&range.index, end);
        let (most, least) = (self.extreme(range, true), self.extreme(range, false));
        let (first, last) = (at(&range.from), at(&range.to));
        if most == last && least == first {
            return Some(range.to.clone());
        }
        (most == first && least == last).then(|| range.from.clone())
    }

    /// The largest over a range, if it is at an end.
    pub(crate) fn over(&self, range: &Range) -> Option<Bill> {
        if self.runs_on(&range.index) {
            return None;
        }
        self.peak(range).map(|peak| self.at(&range.index, &peak))
    }
}
