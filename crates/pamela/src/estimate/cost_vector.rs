//! Cost vectors: the count of each cost item, for the part of a time that is a plain sum.

use std::collections::BTreeMap;

use sintonia_formula::Formula;
use sintonia_machine::{CollectiveKind, Named};

use crate::bindings::{Bindings, CURRENT_COMPUTER, bind_computer, resolve_computer, substitute_all};
use crate::expression::LoopRange;
use crate::model::{ComputeOp, Computer};
use crate::vocabulary;

/// Something with a unit cost.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CostItem {
    /// An operation on a computer; `None` is the computer of the block.
    Operation(ComputeOp),
    /// A second.
    Delay,
    /// The start-up or a byte of a message, by the segment of the timing; with sender and receiver where that matters.
    Message { piece: usize, part: TransferCost, between: Option<(Computer, Computer)> },
    /// The same for a collective, by the index of the measured process count.
    Collective { operation: CollectiveKind, process_index: usize, piece: usize, part: TransferCost },
}

/// The two costs of a linear timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TransferCost {
    Startup,
    PerByte,
}

impl CostItem {
    /// The name in results.
    pub(crate) fn display_name(&self) -> String {
        match self {
            CostItem::Operation(operation) => vocabulary::operation_name(operation),
            CostItem::Delay => "delay".to_owned(),
            CostItem::Message { .. } => "send".to_owned(),
            CostItem::Collective { operation, .. } => operation.name().to_owned(),
        }
    }

    fn runs_on(&self, name: &str) -> bool {
        match self {
            CostItem::Operation(operation) => operation.computer.as_ref().map_or(CURRENT_COMPUTER, |on| &on.0) == name,
            CostItem::Message { between, .. } => between.iter().any(|(from, to)| from.0 == name || to.0 == name),
            CostItem::Delay | CostItem::Collective { .. } => false,
        }
    }

    fn runs_only_on(&self, name: &str) -> bool {
        match self {
            CostItem::Operation(operation) => operation.computer.as_ref().is_some_and(|on| on.0 == name),
            // These cost the same everywhere.
            CostItem::Message { .. } | CostItem::Delay | CostItem::Collective { .. } => true,
        }
    }

    fn with_bindings(&self, bindings: &Bindings) -> CostItem {
        match self {
            CostItem::Operation(operation) => {
                CostItem::Operation(ComputeOp { computer: resolve_computer(operation.computer.as_ref(), bindings), ..operation.clone() })
            }
            CostItem::Message { piece, part: per, between } => {
                let between = between.as_ref().map(|(from, to)| (bind_computer(from, bindings), bind_computer(to, bindings)));
                CostItem::Message { piece: *piece, part: *per, between }
            }
            CostItem::Delay | CostItem::Collective { .. } => self.clone(),
        }
    }
}

/// Cost items and their counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CostVector(BTreeMap<CostItem, Formula>);

impl CostVector {
    pub(crate) fn add(&mut self, item: CostItem, count: Formula) {
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

    pub(crate) fn add_all(&mut self, other: &CostVector) {
        other.iter().for_each(|(item, count)| self.add(item.clone(), count.clone()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&CostItem, &Formula)> {
        self.0.iter()
    }

    fn map_counts(&self, change: impl Fn(&Formula) -> Formula) -> CostVector {
        let mut changed = CostVector::default();
        self.iter().for_each(|(item, count)| changed.add(item.clone(), change(count)));
        changed
    }

    pub(crate) fn times(&self, factor: &Formula) -> CostVector {
        self.map_counts(|count| factor * count)
    }

    /// Each count at its maximum or minimum over a range.
    pub(crate) fn extremum_over(&self, range: &LoopRange, largest: bool) -> CostVector {
        let extreme = if largest { Formula::max_over } else { Formula::min_over };
        self.map_counts(|count| extreme(&range.index, &range.from, &range.to, count))
    }

    pub(crate) fn at_index(&self, index: &str, value: &Formula) -> CostVector {
        self.map_counts(|count| count.substitute(index, value))
    }

    pub(crate) fn with_bindings(&self, bindings: &Bindings) -> CostVector {
        let mut changed = CostVector::default();
        self.iter().for_each(|(item, count)| changed.add(item.with_bindings(bindings), substitute_all(count, bindings)));
        changed
    }

    pub(crate) fn counts_depend_on(&self, name: &str) -> bool {
        self.0.values().any(|count| count.symbols().contains(name))
    }

    /// Whether an item runs on a computer of that name.
    pub(crate) fn runs_on(&self, name: &str) -> bool {
        self.0.keys().any(|item| item.runs_on(name))
    }

    /// Whether no item runs on a computer of another name.
    pub(crate) fn runs_only_on(&self, name: &str) -> bool {
        self.0.keys().all(|item| item.runs_only_on(name))
    }

    /// The index of the maximum, if all counts increase or all decrease along the range.
    pub(crate) fn argmax(&self, range: &LoopRange) -> Option<Formula> {
        let at = |end: &Formula| self.at_index(&range.index, end);
        let (most, least) = (self.extremum_over(range, true), self.extremum_over(range, false));
        let (first, last) = (at(&range.from), at(&range.to));
        if most == last && least == first {
            return Some(range.to.clone());
        }
        (most == first && least == last).then(|| range.from.clone())
    }

    /// The maximum over a range, if it is at an end.
    pub(crate) fn max_over(&self, range: &LoopRange) -> Option<CostVector> {
        if self.runs_on(&range.index) {
            return None;
        }
        self.argmax(range).map(|peak| self.at_index(&range.index, &peak))
    }
}
