//! Symbolic values of the variables of one process.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::process_step::MessageEnd;

/// Larger formulas are not joined.
const MAX_SIZE: u64 = 400;

/// What is known about a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SymbolicValue {
    /// Unknown.
    Unknown,
    /// A number.
    Number(Formula),
    /// A rank that may be `MPI_PROC_NULL`.
    Neighbour {
        /// The rank, if it exists.
        rank: Formula,
        /// One if it exists, else zero.
        exists: Formula,
    },
    /// An address.
    Address(StoreAddress),
    /// The fields of a struct, or the elements of an array by index.
    Aggregate(BTreeMap<String, SymbolicValue>),
    /// An MPI datatype, by its size.
    Datatype(Formula),
    /// A communicator.
    Communicator(CommunicatorValue),
    /// A persistent request.
    Request(PersistentRequest),
}

/// A communicator.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CommunicatorValue {
    /// Its size.
    pub size: Formula,
    /// The rank of this process in it.
    pub rank: Option<Formula>,
    /// Its grid: length and periodicity of each dimension.
    pub grid: Vec<(Formula, bool)>,
}

/// A persistent request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PersistentRequest {
    /// Its message, if known.
    pub message: Option<MessageEnd>,
    /// The receive buffer.
    pub buffer: Option<StoreAddress>,
}

/// An address in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoreAddress {
    cell: usize,
    path: Vec<String>,
}

impl StoreAddress {
    /// The address of a field or element.
    pub(super) fn field(&self, name: impl ToString) -> StoreAddress {
        let mut path = self.path.clone();
        path.push(name.to_string());
        StoreAddress { cell: self.cell, path }
    }

    /// The address of the containing aggregate.
    pub(super) fn parent(&self) -> StoreAddress {
        StoreAddress { cell: self.cell, path: self.path.split_last().map_or(Vec::new(), |(_, before)| before.to_vec()) }
    }

    /// The address of the element `by` elements further on.
    pub(super) fn offset_by(&self, by: i64) -> Option<StoreAddress> {
        if by == 0 {
            return Some(self.clone());
        }
        let (last, before) = self.path.split_last()?;
        let at = last.parse::<i64>().ok()?.checked_add(by)?;
        Some(StoreAddress { cell: self.cell, path: before.to_vec() }.field(at))
    }
}

impl SymbolicValue {
    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<&Formula> {
        match self {
            SymbolicValue::Number(formula) => Some(formula),
            _ => None,
        }
    }

    fn at(&self, path: &[String]) -> SymbolicValue {
        match (path.split_first(), self) {
            (None, _) => self.clone(),
            (Some((name, rest)), SymbolicValue::Aggregate(parts)) => parts.get(name).map_or(SymbolicValue::Unknown, |part| part.at(rest)),
            _ => SymbolicValue::Unknown,
        }
    }

    fn set(&mut self, path: &[String], value: SymbolicValue) {
        let Some((name, rest)) = path.split_first() else {
            *self = value;
            return;
        };
        if !matches!(self, SymbolicValue::Aggregate(_)) {
            *self = SymbolicValue::Aggregate(BTreeMap::new());
        }
        if let SymbolicValue::Aggregate(parts) = self {
            parts.entry(name.clone()).or_insert(SymbolicValue::Unknown).set(rest, value);
        }
    }

    /// The join of two branches, given the indicator of the condition.
    pub(super) fn join(&self, other: &SymbolicValue, condition: Option<&Formula>) -> SymbolicValue {
        if self == other {
            return self.clone();
        }
        match (self, other, condition) {
            (SymbolicValue::Number(a), SymbolicValue::Number(b), Some(condition)) if a.size() + b.size() < MAX_SIZE => {
                SymbolicValue::Number(select(condition, a, b))
            }
            (SymbolicValue::Number(_), SymbolicValue::Number(_), _) => SymbolicValue::Unknown,
            (
                SymbolicValue::Number(_) | SymbolicValue::Neighbour { .. },
                SymbolicValue::Number(_) | SymbolicValue::Neighbour { .. },
                Some(condition),
            ) => {
                let (Some((a, a_exists)), Some((b, b_exists))) = (self.as_neighbour(), other.as_neighbour()) else {
                    return SymbolicValue::Unknown;
                };
                let rank = if a_exists.is_zero() {
                    b
                } else if b_exists.is_zero() {
                    a
                } else {
                    select(condition, &a, &b)
                };
                SymbolicValue::Neighbour { rank, exists: select(condition, &a_exists, &b_exists) }
            }
            (SymbolicValue::Aggregate(one), SymbolicValue::Aggregate(two), _) => {
                let both = one.iter().filter_map(|(name, a)| two.get(name).map(|b| (name.clone(), a.join(b, condition))));
                SymbolicValue::Aggregate(both.collect())
            }
            _ => SymbolicValue::Unknown,
        }
    }

    /// The rank, and the indicator of its existence.
    pub(super) fn as_neighbour(&self) -> Option<(Formula, Formula)> {
        match self {
            SymbolicValue::Number(rank) => Some((rank.clone(), Formula::one())),
            SymbolicValue::Neighbour { rank, exists } => Some((rank.clone(), exists.clone())),
            _ => None,
        }
    }

    /// `MPI_PROC_NULL`
    pub(super) fn proc_null() -> SymbolicValue {
        SymbolicValue::Neighbour { rank: Formula::zero(), exists: Formula::zero() }
    }
}

fn select(condition: &Formula, a: &Formula, b: &Formula) -> Formula {
    b + &(condition * &(a - b))
}

/// The variables of a process.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SymbolicStore {
    cells: Vec<SymbolicValue>,
}

impl SymbolicStore {
    /// Allocates a variable.
    pub(super) fn allocate(&mut self, value: SymbolicValue) -> StoreAddress {
        self.cells.push(value);
        StoreAddress { cell: self.cells.len() - 1, path: Vec::new() }
    }

    /// The value at an address.
    pub(super) fn get(&self, address: &StoreAddress) -> SymbolicValue {
        self.cells.get(address.cell).map_or(SymbolicValue::Unknown, |cell| cell.at(&address.path))
    }

    /// Stores a value.
    pub(super) fn set(&mut self, address: &StoreAddress, value: SymbolicValue) {
        if let Some(cell) = self.cells.get_mut(address.cell) {
            cell.set(&address.path, value);
        }
    }

    /// The join of two branches, given the indicator of the condition.
    pub(super) fn join(&self, other: &SymbolicStore, condition: Option<&Formula>) -> SymbolicStore {
        SymbolicStore { cells: self.cells.iter().zip(&other.cells).map(|(a, b)| a.join(b, condition)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_each_for_itself() {
        let mut store = SymbolicStore::default();
        let block = store.allocate(SymbolicValue::Unknown);
        store.set(&block.field("rows"), SymbolicValue::Number(Formula::symbol("n")));
        assert_eq!(store.get(&block.field("rows")), SymbolicValue::Number(Formula::symbol("n")));
        assert_eq!(store.get(&block.field("columns")), SymbolicValue::Unknown);
        assert_eq!(block.field(2).offset_by(-1), Some(block.field(1)));
    }

    #[test]
    fn a_condition_chooses_between_two_numbers() {
        let (a, b) = (SymbolicValue::Number(Formula::integer(7)), SymbolicValue::Number(Formula::integer(3)));
        let condition = Formula::symbol("c");
        let either = a.join(&b, Some(&condition));
        let at = |value: i64| either.number().expect("a number").substitute("c", &Formula::integer(value));
        assert_eq!((at(1), at(0)), (Formula::integer(7), Formula::integer(3)));
        assert_eq!(a.join(&b, None), SymbolicValue::Unknown);
    }
}
