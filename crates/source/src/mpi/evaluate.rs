//! Expressions on the way of a process: what they give, and what they change.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::condition::{is_condition, plain};
use super::counter;
use super::truth;
use super::value::{Address, Value};
use super::walk::{Walk, Walked};
use super::{calls, datatype};
use crate::analysis::Value as Known;
use crate::routine::{Binary, Computation, Expression, Scalar, Shift, Statement, Type, Unary};

/// Formulas that take more operations to write down are no longer followed.
const MOST_SIZE: u64 = 400;

impl<'p> Walk<'_, 'p> {
    /// What an expression gives.
    pub(super) fn evaluate(&mut self, expression: &'p Expression) -> Walked<Value> {
        let value = self.deeper(&expression.place, |walk| walk.value_of(expression))?;
        Ok(match value {
            Value::Number(formula) if formula.size() > MOST_SIZE => Value::Unknown,
            value => value,
        })
    }

    fn value_of(&mut self, expression: &'p Expression) -> Walked<Value> {
        match &expression.what {
            Computation::Number(text) => Ok(Formula::parse(text).map_or(Value::Unknown, Value::Number)),
            Computation::Text(_) => Ok(Value::Unknown),
            Computation::Variable(name) => Ok(self.variable(name, &expression.of)),
            Computation::Element(..) | Computation::Field(..) => {
                Ok(self.address(expression)?.map_or(Value::Unknown, |address| self.read(&address, &expression.of)))
            }
            Computation::AddressOf(of) => Ok(self.address(of)?.map_or(Value::Unknown, Value::Address)),
            Computation::Unary(operation, of) => self.unary(*operation, of),
            Computation::Binary(operation, a, b) => self.binary(*operation, a, b, expression),
            Computation::Assign { target, with, value } => self.assign(target, *with, value),
            Computation::Choice(condition, a, b) => self.choice(condition, a, b),
            Computation::Convert(of) => {
                let value = self.evaluate(of)?;
                Ok(match (&value, is_whole(&expression.of), is_whole(&of.of)) {
                    (Value::Number(number), true, false) => self.truncated(number),
                    _ => value,
                })
            }
            Computation::Call(name, arguments) => self.call(name, arguments, expression),
            Computation::New(lengths) => {
                for length in lengths {
                    self.evaluate(length)?;
                }
                Ok(Value::Address(self.store.allocate(Value::Parts(BTreeMap::new())).part(0)))
            }
            Computation::List(entries) => self.list(entries, &expression.of),
        }
    }

    fn truncated(&self, number: &Formula) -> Value {
        Known::known(number.clone()).truncate(&self.facts).formula().map_or(Value::Unknown, |formula| Value::Number(formula.clone()))
    }

    fn variable(&mut self, name: &str, of: &Type) -> Value {
        if let Some(address) = self.lookup(name) {
            return self.read(&address, of);
        }
        match name {
            "MPI_PROC_NULL" => Value::nobody(),
            "MPI_SUCCESS" | "EXIT_SUCCESS" => Value::Number(Formula::zero()),
            "NULL" => Value::Number(Formula::zero()),
            _ => match datatype::bytes(name) {
                Some(bytes) => Value::Datatype(Formula::integer(bytes)),
                None => calls::predefined_group(name, &self.role).map_or(Value::Unknown, Value::Group),
            },
        }
    }

    /// What stands at an address; an array is the address of its first element.
    fn read(&self, address: &Address, of: &Type) -> Value {
        match (self.store.get(address), of) {
            (Value::Parts(_), Type::Array(_)) => Value::Address(address.part(0)),
            (value, _) => value,
        }
    }

    /// Where an expression stands.
    pub(super) fn address(&mut self, expression: &'p Expression) -> Walked<Option<Address>> {
        match &expression.what {
            Computation::Variable(name) => Ok(self.lookup(name)),
            Computation::Convert(of) => self.address(of),
            Computation::Field(of, name) => {
                if matches!(of.of, Type::Array(_)) {
                    return Ok(match self.evaluate(of)? {
                        Value::Address(address) => Some(address.part(name)),
                        _ => None,
                    });
                }
                Ok(self.address(of)?.map(|address| address.part(name)))
            }
            Computation::Element(of, index) => {
                let index = self.evaluate(index)?.number().and_then(|index| index.as_exact()?.to_i64());
                let Value::Address(address) = self.evaluate(of)? else { return Ok(None) };
                Ok(index.and_then(|index| address.moved(index)))
            }
            _ => Ok(None),
        }
    }

    fn unary(&mut self, operation: Unary, of: &'p Expression) -> Walked<Value> {
        match operation {
            Unary::Negative => Ok(self.evaluate(of)?.number().map_or(Value::Unknown, |number| Value::Number(-number))),
            Unary::Not => Ok(self.truth(of)?.map_or(Value::Unknown, |holds| Value::Number(truth::not(&holds)))),
            Unary::Complement => self.evaluate(of).map(|_| Value::Unknown),
        }
    }

    fn binary(&mut self, operation: Binary, a: &'p Expression, b: &'p Expression, whole: &'p Expression) -> Walked<Value> {
        if is_condition(operation) {
            return Ok(self.truth(whole)?.map_or(Value::Unknown, Value::Number));
        }
        let (x, y) = (self.evaluate(a)?, self.evaluate(b)?);
        if let (Value::Address(address), Value::Number(by), Binary::Add | Binary::Subtract) = (&x, &y, operation) {
            let by = by.as_exact().and_then(|by| by.to_i64());
            let by = if operation == Binary::Subtract { by.and_then(i64::checked_neg) } else { by };
            return Ok(by.and_then(|by| address.moved(by)).map_or(Value::Unknown, Value::Address));
        }
        Ok(self.computed(operation, &x, &y, &whole.of))
    }

    pub(super) fn computed(&self, operation: Binary, a: &Value, b: &Value, of: &Type) -> Value {
        let (Value::Number(a), Value::Number(b)) = (a, b) else { return Value::Unknown };
        let (one, two) = (Known::known(a.clone()), Known::known(b.clone()));
        let number = |known: Known| known.formula().map_or(Value::Unknown, |formula| Value::Number(formula.clone()));
        match operation {
            Binary::Add => Value::Number(a + b),
            Binary::Subtract => Value::Number(a - b),
            Binary::Multiply => Value::Number(a * b),
            Binary::Divide => number(one.divide(&two, is_whole(of), &self.facts)),
            Binary::Remainder => number(self.wrapped(a, b).unwrap_or_else(|| one.remainder(&two, &self.facts))),
            Binary::Shift(way) => match b.as_exact().and_then(|places| places.to_i64()) {
                Some(places) if (0..62).contains(&places) => {
                    let factor = Known::number(1 << places);
                    if way == Shift::Left {
                        number(one.multiply(&factor, &self.facts))
                    } else {
                        number(one.divide(&factor, true, &self.facts))
                    }
                }
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    /// A remainder of what is known to lie below the divisor.
    fn wrapped(&self, a: &Formula, by: &Formula) -> Option<Known> {
        let below = self.role.is_nonnegative(&(by - a - Formula::one()), &self.facts);
        (below && self.role.is_nonnegative(a, &self.facts)).then(|| Known::known(a.clone()))
    }

    fn assign(&mut self, target: &'p Expression, with: Option<Binary>, value: &'p Expression) -> Walked<Value> {
        let name = match &target.what {
            Computation::Variable(name) | Computation::Field(_, name) => name.as_str(),
            _ => "value",
        };
        let before = match self.address(target)? {
            Some(address) => self.store.get(&address),
            None => Value::Unknown,
        };
        let value = match (self.given(name, &before, value)?, with) {
            (Some(given), _) => given,
            (None, None) => self.evaluate(value)?,
            (None, Some(operation)) => {
                let by = self.evaluate(value)?;
                match (&before, by.number().and_then(|by| by.as_exact()?.to_i64()), operation) {
                    (Value::Address(address), Some(by), Binary::Add) => address.moved(by).map_or(Value::Unknown, Value::Address),
                    _ => self.computed(operation, &before, &by, &target.of),
                }
            }
        };
        match self.address(target)? {
            Some(address) => self.store.set(&address, value.clone()),
            None => self.forget(target)?,
        }
        Ok(value)
    }

    /// Forgets the array whose element changes, since it is not known which.
    fn forget(&mut self, target: &'p Expression) -> Walked<()> {
        if let Computation::Element(of, _) = &target.what
            && let Value::Address(first) = self.evaluate(of)?
        {
            self.store.set(&first.whole(), Value::Parts(BTreeMap::new()));
        }
        Ok(())
    }

    fn choice(&mut self, condition: &'p Expression, a: &'p Expression, b: &'p Expression) -> Walked<Value> {
        let holds = self.truth(condition)?;
        match holds.as_ref().and_then(|holds| holds.as_exact()) {
            Some(number) if number.is_zero() => self.evaluate(b),
            Some(_) => self.evaluate(a),
            None => {
                let (a, b) = (self.evaluate(a)?, self.evaluate(b)?);
                Ok(a.either(&b, holds.as_ref()))
            }
        }
    }

    /// `{ a, b }` as elements or fields; several expressions with commas between them as the last.
    fn list(&mut self, entries: &'p [Expression], of: &Type) -> Walked<Value> {
        let mut values = Vec::new();
        for entry in entries {
            values.push(self.evaluate(entry)?);
        }
        match of {
            Type::Scalar(_) => Ok(values.pop().unwrap_or(Value::Unknown)),
            Type::Array(_) => Ok(Value::Parts(values.into_iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect())),
            Type::Other(name) => {
                let names = self.shared.structures.get(name).cloned().unwrap_or_default();
                Ok(Value::Parts(names.into_iter().zip(values).collect()))
            }
        }
    }

    fn call(&mut self, name: &'p str, arguments: &'p [Expression], call: &'p Expression) -> Walked<Value> {
        if name.starts_with("MPI_") || name.starts_with("PMPI_") {
            return self.mpi(name.trim_start_matches('P'), arguments, &call.place);
        }
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.evaluate(argument)?);
        }
        if let Some(routine) = self.shared.routines.get(name).copied() {
            return self.enter(routine, values, &call.place);
        }
        if name.ends_with("scanf") {
            self.read_by_user(arguments)?;
            return Ok(Value::Unknown);
        }
        self.forget_given(&values);
        Ok(mathematics(name, &values).map_or(Value::Unknown, Value::Number))
    }

    /// Variables whose address an unknown routine gets may be anything afterwards.
    pub(super) fn forget_given(&mut self, values: &[Value]) {
        for value in values {
            if let Value::Address(address) = value {
                self.store.set(address, Value::Unknown);
            }
        }
    }

    /// What a user types in is for the user of the model to say.
    fn read_by_user(&mut self, arguments: &'p [Expression]) -> Walked<()> {
        for argument in arguments {
            let Computation::AddressOf(of) = &argument.what else { continue };
            if let (Computation::Variable(name), Some(address)) = (&of.what, self.address(of)?) {
                let symbol = self.parameter(name, None, format!("what the program reads at {}", argument.place.short()));
                self.store.set(&address, Value::Number(symbol));
            }
        }
        Ok(())
    }

    /// A value that comes from the command line is a parameter of the model, with the value that it has otherwise.
    pub(super) fn given(&mut self, name: &str, before: &Value, value: &'p Expression) -> Walked<Option<Value>> {
        if !matches!(value.of, Type::Scalar(_)) || !self.is_argument(value) {
            return Ok(None);
        }
        let otherwise = match &plain(value).what {
            Computation::Choice(_, a, b) if !self.is_argument(a) => Some(self.evaluate(a)?),
            Computation::Choice(_, _, b) if !self.is_argument(b) => Some(self.evaluate(b)?),
            _ => None,
        };
        let known = otherwise.as_ref().unwrap_or(before).number().filter(|number| number.as_exact().is_some()).cloned();
        let note = format!("from the command line, at {}", value.place.short());
        Ok(Some(Value::Number(self.parameter(name, known, note))))
    }

    /// Whether an expression is read from the command line.
    fn is_argument(&self, expression: &Expression) -> bool {
        let name = &self.shared.arguments;
        counter::any(expression, &|part| matches!(&part.what, Computation::Variable(found) if name.as_ref() == Some(found)))
    }

    /// Of two ways, the one that uses the command line, where it depends on whether there is one.
    pub(super) fn asks_for_arguments(
        &self,
        condition: &Expression,
        then: &'p [Statement],
        otherwise: &'p [Statement],
    ) -> Option<&'p [Statement]> {
        let count = self.shared.argument_count.as_ref()?;
        let asks = counter::any(condition, &|part| matches!(&part.what, Computation::Variable(found) if found == count));
        let uses =
            |list: &[Statement]| list.iter().any(|statement| super::follow::any_in_statement(statement, &|part| self.is_argument(part)));
        match (asks, uses(then), uses(otherwise)) {
            (true, true, _) => Some(then),
            (true, false, true) => Some(otherwise),
            _ => None,
        }
    }
}

/// Functions whose result a number of processes or a size may be made of.
fn mathematics(name: &str, values: &[Value]) -> Option<Formula> {
    let numbers: Option<Vec<&Formula>> = values.iter().map(Value::number).collect();
    match (name, numbers?.as_slice()) {
        ("Math.sqrt", [a]) => Some(a.sqrt()),
        ("Math.floor", [a]) => Some(a.floor()),
        ("Math.ceil", [a]) => Some(a.ceil()),
        ("Math.log2", [a]) => Some(a.log2()),
        ("Math.max", [a, b]) => Some(Formula::max_of([(*a).clone(), (*b).clone()])),
        ("Math.min", [a, b]) => Some(Formula::min_of([(*a).clone(), (*b).clone()])),
        ("Math.pow", [a, b]) => Some(a.to_the(b)),
        _ => None,
    }
}

fn is_whole(of: &Type) -> bool {
    !matches!(of, Type::Scalar(Scalar::Float | Scalar::Double))
}
