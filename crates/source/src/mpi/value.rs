//! What is known of the variables of one process while its program is gone through.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::request::Request;

/// Formulas that take more operations to write down are not joined.
const MOST_SIZE: u64 = 400;

/// What is known of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Unknown,
    /// A number.
    Number(Formula),
    /// The rank of a process that may be `MPI_PROC_NULL`.
    Neighbour {
        /// The rank, where there is one.
        rank: Formula,
        /// One where there is one, else zero.
        exists: Formula,
    },
    /// The address of something.
    Address(Address),
    /// The fields of a structure, or elements of an array by their numbers.
    Parts(BTreeMap<String, Value>),
    /// A datatype of MPI, by the bytes that one has.
    Datatype(Formula),
    /// A group of processes.
    Group(Group),
    /// A message that can be started again and again.
    Request(Request),
}

/// A communicator.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// How many processes it has.
    pub size: Formula,
    /// The rank of this process in it.
    pub rank: Option<Formula>,
    /// Its grid: the length and whether the ends meet, for each dimension.
    pub grid: Vec<(Formula, bool)>,
}

/// Where something stands in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    cell: usize,
    path: Vec<String>,
}

impl Address {
    /// The address of a part.
    pub fn part(&self, name: impl ToString) -> Address {
        let mut path = self.path.clone();
        path.push(name.to_string());
        Address { cell: self.cell, path }
    }

    /// The address of what this is a part of.
    pub fn whole(&self) -> Address {
        Address { cell: self.cell, path: self.path.split_last().map_or(Vec::new(), |(_, before)| before.to_vec()) }
    }

    /// The address of the element that is so many elements farther on.
    pub fn moved(&self, by: i64) -> Option<Address> {
        if by == 0 {
            return Some(self.clone());
        }
        let (last, before) = self.path.split_last()?;
        let at = last.parse::<i64>().ok()?.checked_add(by)?;
        Some(Address { cell: self.cell, path: before.to_vec() }.part(at))
    }
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<&Formula> {
        match self {
            Value::Number(formula) => Some(formula),
            _ => None,
        }
    }

    fn at(&self, path: &[String]) -> Value {
        match (path.split_first(), self) {
            (None, _) => self.clone(),
            (Some((name, rest)), Value::Parts(parts)) => parts.get(name).map_or(Value::Unknown, |part| part.at(rest)),
            _ => Value::Unknown,
        }
    }

    fn set(&mut self, path: &[String], value: Value) {
        let Some((name, rest)) = path.split_first() else {
            *self = value;
            return;
        };
        if !matches!(self, Value::Parts(_)) {
            *self = Value::Parts(BTreeMap::new());
        }
        if let Value::Parts(parts) = self {
            parts.entry(name.clone()).or_insert(Value::Unknown).set(rest, value);
        }
    }

    /// What is known where it may be this or another, depending on a condition that is one or zero.
    pub fn either(&self, other: &Value, condition: Option<&Formula>) -> Value {
        if self == other {
            return self.clone();
        }
        match (self, other, condition) {
            (Value::Number(a), Value::Number(b), Some(condition)) if a.size() + b.size() < MOST_SIZE => {
                Value::Number(chosen(condition, a, b))
            }
            (Value::Number(_), Value::Number(_), _) => Value::Unknown,
            (Value::Number(_) | Value::Neighbour { .. }, Value::Number(_) | Value::Neighbour { .. }, Some(condition)) => {
                let (Some((a, a_exists)), Some((b, b_exists))) = (self.as_neighbour(), other.as_neighbour()) else { return Value::Unknown };
                let rank = if a_exists.is_zero() {
                    b
                } else if b_exists.is_zero() {
                    a
                } else {
                    chosen(condition, &a, &b)
                };
                Value::Neighbour { rank, exists: chosen(condition, &a_exists, &b_exists) }
            }
            (Value::Parts(one), Value::Parts(two), _) => {
                let both = one.iter().filter_map(|(name, a)| two.get(name).map(|b| (name.clone(), a.either(b, condition))));
                Value::Parts(both.collect())
            }
            _ => Value::Unknown,
        }
    }

    /// The rank, and whether it exists.
    pub fn as_neighbour(&self) -> Option<(Formula, Formula)> {
        match self {
            Value::Number(rank) => Some((rank.clone(), Formula::one())),
            Value::Neighbour { rank, exists } => Some((rank.clone(), exists.clone())),
            _ => None,
        }
    }

    /// `MPI_PROC_NULL`
    pub fn nobody() -> Value {
        Value::Neighbour { rank: Formula::zero(), exists: Formula::zero() }
    }
}

fn chosen(condition: &Formula, a: &Formula, b: &Formula) -> Formula {
    b + &(condition * &(a - b))
}

/// The variables of a process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Store {
    cells: Vec<Value>,
}

impl Store {
    /// Room for a new variable.
    pub fn allocate(&mut self, value: Value) -> Address {
        self.cells.push(value);
        Address { cell: self.cells.len() - 1, path: Vec::new() }
    }

    /// What stands at an address.
    pub fn get(&self, address: &Address) -> Value {
        self.cells.get(address.cell).map_or(Value::Unknown, |cell| cell.at(&address.path))
    }

    /// Puts something there.
    pub fn set(&mut self, address: &Address, value: Value) {
        if let Some(cell) = self.cells.get_mut(address.cell) {
            cell.set(&address.path, value);
        }
    }

    /// What is known where this or the other store may hold, depending on a condition that is one or zero.
    pub fn either(&self, other: &Store, condition: Option<&Formula>) -> Store {
        Store { cells: self.cells.iter().zip(&other.cells).map(|(a, b)| a.either(b, condition)).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_each_for_itself() {
        let mut store = Store::default();
        let block = store.allocate(Value::Unknown);
        store.set(&block.part("rows"), Value::Number(Formula::symbol("n")));
        assert_eq!(store.get(&block.part("rows")), Value::Number(Formula::symbol("n")));
        assert_eq!(store.get(&block.part("columns")), Value::Unknown);
        assert_eq!(block.part(2).moved(-1), Some(block.part(1)));
    }

    #[test]
    fn a_condition_chooses_between_two_numbers() {
        let (a, b) = (Value::Number(Formula::integer(7)), Value::Number(Formula::integer(3)));
        let condition = Formula::symbol("c");
        let either = a.either(&b, Some(&condition));
        let at = |value: i64| either.number().expect("a number").substitute("c", &Formula::integer(value));
        assert_eq!((at(1), at(0)), (Formula::integer(7), Formula::integer(3)));
        assert_eq!(a.either(&b, None), Value::Unknown);
    }
}
