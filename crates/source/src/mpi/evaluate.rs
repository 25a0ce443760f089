//! Expressions in symbolic execution: their values and side effects.

use std::collections::BTreeMap;

use sintonia_formula::Formula;

use super::condition::{is_boolean_op, strip_casts};
use super::executor::{ExecutionResult, SymbolicExecutor};
use super::indicator;
use super::loop_counter;
use super::value::{StoreAddress, SymbolicValue};
use super::{calls, datatype};
use crate::analysis::AbstractValue as Known;
use crate::ir::{BinaryOp, DataType, ExprKind, ScalarType, ShiftDirection, Statement, TypedExpr, UnaryOp};

/// Larger formulas are unknown.
const MAX_SIZE: u64 = 400;

impl<'p> SymbolicExecutor<'_, 'p> {
    /// The value of an expression.
    pub(super) fn evaluate(&mut self, expression: &'p TypedExpr) -> ExecutionResult<SymbolicValue> {
        let value = self.nested(&expression.pos, |walk| walk.value_of(expression))?;
        Ok(match value {
            SymbolicValue::Number(formula) if formula.size() > MAX_SIZE => SymbolicValue::Unknown,
            value => value,
        })
    }

    fn value_of(&mut self, expression: &'p TypedExpr) -> ExecutionResult<SymbolicValue> {
        match &expression.kind {
            ExprKind::Number(text) => Ok(Formula::parse(text).map_or(SymbolicValue::Unknown, SymbolicValue::Number)),
            ExprKind::StringLiteral(_) => Ok(SymbolicValue::Unknown),
            ExprKind::Variable(name) => Ok(self.variable(name, &expression.data_type)),
            ExprKind::Index(..) | ExprKind::Field(..) => {
                Ok(self.address(expression)?.map_or(SymbolicValue::Unknown, |address| self.read(&address, &expression.data_type)))
            }
            ExprKind::AddressOf(of) => Ok(self.address(of)?.map_or(SymbolicValue::Unknown, SymbolicValue::Address)),
            ExprKind::Unary(operation, of) => self.unary(*operation, of),
            ExprKind::Binary(operation, a, b) => self.binary(*operation, a, b, expression),
            ExprKind::Assign { target, operator: with, value } => self.assign(target, *with, value),
            ExprKind::Conditional(condition, a, b) => self.conditional(condition, a, b),
            ExprKind::Cast(of) => {
                let value = self.evaluate(of)?;
                Ok(match (&value, is_integer_type(&expression.data_type), is_integer_type(&of.data_type)) {
                    (SymbolicValue::Number(number), true, false) => self.truncated(number),
                    _ => value,
                })
            }
            ExprKind::Call(name, arguments) => self.call(name, arguments, expression),
            ExprKind::Allocate(lengths) => {
                for length in lengths {
                    self.evaluate(length)?;
                }
                Ok(SymbolicValue::Address(self.store.allocate(SymbolicValue::Aggregate(BTreeMap::new())).field(0)))
            }
            ExprKind::InitializerList(entries) => self.initializer_list(entries, &expression.data_type),
        }
    }

    fn truncated(&self, number: &Formula) -> SymbolicValue {
        Known::exact(number.clone())
            .truncate(&self.assumptions)
            .formula()
            .map_or(SymbolicValue::Unknown, |formula| SymbolicValue::Number(formula.clone()))
    }

    fn variable(&mut self, name: &str, of: &DataType) -> SymbolicValue {
        if let Some(address) = self.lookup(name) {
            return self.read(&address, of);
        }
        match name {
            "MPI_PROC_NULL" => SymbolicValue::proc_null(),
            "MPI_SUCCESS" | "EXIT_SUCCESS" => SymbolicValue::Number(Formula::zero()),
            "NULL" => SymbolicValue::Number(Formula::zero()),
            _ => match datatype::datatype_size(name) {
                Some(bytes) => SymbolicValue::Datatype(Formula::integer(bytes)),
                None => calls::predefined_communicator(name, &self.role).map_or(SymbolicValue::Unknown, SymbolicValue::Communicator),
            },
        }
    }

    /// The value at an address; an array decays to the address of its first element.
    fn read(&self, address: &StoreAddress, of: &DataType) -> SymbolicValue {
        match (self.store.get(address), of) {
            (SymbolicValue::Aggregate(_), DataType::Array(_)) => SymbolicValue::Address(address.field(0)),
            (value, _) => value,
        }
    }

    /// The address of an lvalue.
    pub(super) fn address(&mut self, expression: &'p TypedExpr) -> ExecutionResult<Option<StoreAddress>> {
        match &expression.kind {
            ExprKind::Variable(name) => Ok(self.lookup(name)),
            ExprKind::Cast(of) => self.address(of),
            ExprKind::Field(of, name) => {
                if matches!(of.data_type, DataType::Array(_)) {
                    return Ok(match self.evaluate(of)? {
                        SymbolicValue::Address(address) => Some(address.field(name)),
                        _ => None,
                    });
                }
                Ok(self.address(of)?.map(|address| address.field(name)))
            }
            ExprKind::Index(of, index) => {
                let index = self.evaluate(index)?.number().and_then(|index| index.as_exact()?.to_i64());
                let SymbolicValue::Address(address) = self.evaluate(of)? else { return Ok(None) };
                Ok(index.and_then(|index| address.offset_by(index)))
            }
            _ => Ok(None),
        }
    }

    fn unary(&mut self, operation: UnaryOp, of: &'p TypedExpr) -> ExecutionResult<SymbolicValue> {
        match operation {
            UnaryOp::Negate => Ok(self.evaluate(of)?.number().map_or(SymbolicValue::Unknown, |number| SymbolicValue::Number(-number))),
            UnaryOp::Not => Ok(self.truth(of)?.map_or(SymbolicValue::Unknown, |holds| SymbolicValue::Number(indicator::not(&holds)))),
            UnaryOp::Complement => self.evaluate(of).map(|_| SymbolicValue::Unknown),
        }
    }

    fn binary(&mut self, operation: BinaryOp, a: &'p TypedExpr, b: &'p TypedExpr, whole: &'p TypedExpr) -> ExecutionResult<SymbolicValue> {
        if is_boolean_op(operation) {
            return Ok(self.truth(whole)?.map_or(SymbolicValue::Unknown, SymbolicValue::Number));
        }
        let (x, y) = (self.evaluate(a)?, self.evaluate(b)?);
        if let (SymbolicValue::Address(address), SymbolicValue::Number(by), BinaryOp::Add | BinaryOp::Subtract) = (&x, &y, operation) {
            let by = by.as_exact().and_then(|by| by.to_i64());
            let by = if operation == BinaryOp::Subtract { by.and_then(i64::checked_neg) } else { by };
            return Ok(by.and_then(|by| address.offset_by(by)).map_or(SymbolicValue::Unknown, SymbolicValue::Address));
        }
        Ok(self.apply_binary(operation, &x, &y, &whole.data_type))
    }

    pub(super) fn apply_binary(&self, operation: BinaryOp, a: &SymbolicValue, b: &SymbolicValue, of: &DataType) -> SymbolicValue {
        let (SymbolicValue::Number(a), SymbolicValue::Number(b)) = (a, b) else { return SymbolicValue::Unknown };
        let (one, two) = (Known::exact(a.clone()), Known::exact(b.clone()));
        let number = |known: Known| known.formula().map_or(SymbolicValue::Unknown, |formula| SymbolicValue::Number(formula.clone()));
        match operation {
            BinaryOp::Add => SymbolicValue::Number(a + b),
            BinaryOp::Subtract => SymbolicValue::Number(a - b),
            BinaryOp::Multiply => SymbolicValue::Number(a * b),
            BinaryOp::Divide => number(one.divide(&two, is_integer_type(of), &self.assumptions)),
            BinaryOp::Remainder => number(self.remainder_in_range(a, b).unwrap_or_else(|| one.remainder(&two, &self.assumptions))),
            BinaryOp::Shift(way) => match b.as_exact().and_then(|places| places.to_i64()) {
                Some(places) if (0..62).contains(&places) => {
                    let factor = Known::number(1 << places);
                    if way == ShiftDirection::Left {
                        number(one.multiply(&factor, &self.assumptions))
                    } else {
                        number(one.divide(&factor, true, &self.assumptions))
                    }
                }
                _ => SymbolicValue::Unknown,
            },
            _ => SymbolicValue::Unknown,
        }
    }

    /// A remainder of a number that is known to be below the divisor.
    fn remainder_in_range(&self, a: &Formula, by: &Formula) -> Option<Known> {
        let below = self.role.is_nonnegative(&(by - a - Formula::one()), &self.assumptions);
        (below && self.role.is_nonnegative(a, &self.assumptions)).then(|| Known::exact(a.clone()))
    }

    fn assign(&mut self, target: &'p TypedExpr, with: Option<BinaryOp>, value: &'p TypedExpr) -> ExecutionResult<SymbolicValue> {
        let name = match &target.kind {
            ExprKind::Variable(name) | ExprKind::Field(_, name) => name.as_str(),
            _ => "value",
        };
        let before = match self.address(target)? {
            Some(address) => self.store.get(&address),
            None => SymbolicValue::Unknown,
        };
        let value = match (self.command_line_value(name, &before, value)?, with) {
            (Some(given), _) => given,
            (None, None) => self.evaluate(value)?,
            (None, Some(operation)) => {
                let by = self.evaluate(value)?;
                match (&before, by.number().and_then(|by| by.as_exact()?.to_i64()), operation) {
                    (SymbolicValue::Address(address), Some(by), BinaryOp::Add) => {
                        address.offset_by(by).map_or(SymbolicValue::Unknown, SymbolicValue::Address)
                    }
                    _ => self.apply_binary(operation, &before, &by, &target.data_type),
                }
            }
        };
        match self.address(target)? {
            Some(address) => self.store.set(&address, value.clone()),
            None => self.invalidate_array(target)?,
        }
        Ok(value)
    }

    /// Makes an array unknown if an element at an unknown index is written.
    fn invalidate_array(&mut self, target: &'p TypedExpr) -> ExecutionResult<()> {
        if let ExprKind::Index(of, _) = &target.kind
            && let SymbolicValue::Address(first) = self.evaluate(of)?
        {
            self.store.set(&first.parent(), SymbolicValue::Aggregate(BTreeMap::new()));
        }
        Ok(())
    }

    fn conditional(&mut self, condition: &'p TypedExpr, a: &'p TypedExpr, b: &'p TypedExpr) -> ExecutionResult<SymbolicValue> {
        let holds = self.truth(condition)?;
        match holds.as_ref().and_then(|holds| holds.as_exact()) {
            Some(number) if number.is_zero() => self.evaluate(b),
            Some(_) => self.evaluate(a),
            None => {
                let (a, b) = (self.evaluate(a)?, self.evaluate(b)?);
                Ok(a.join(&b, holds.as_ref()))
            }
        }
    }

    /// `{ a, b }` as elements or fields; a comma expression is its last operand.
    fn initializer_list(&mut self, entries: &'p [TypedExpr], of: &DataType) -> ExecutionResult<SymbolicValue> {
        let mut values = Vec::new();
        for entry in entries {
            values.push(self.evaluate(entry)?);
        }
        match of {
            DataType::Scalar(_) => Ok(values.pop().unwrap_or(SymbolicValue::Unknown)),
            DataType::Array(_) => {
                Ok(SymbolicValue::Aggregate(values.into_iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()))
            }
            DataType::Named(name) => {
                let names = self.shared.struct_fields.get(name).cloned().unwrap_or_default();
                Ok(SymbolicValue::Aggregate(names.into_iter().zip(values).collect()))
            }
        }
    }

    fn call(&mut self, name: &'p str, arguments: &'p [TypedExpr], call: &'p TypedExpr) -> ExecutionResult<SymbolicValue> {
        if name.starts_with("MPI_") || name.starts_with("PMPI_") {
            return self.mpi_call(name.trim_start_matches('P'), arguments, &call.pos);
        }
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.evaluate(argument)?);
        }
        if let Some(routine) = self.shared.routines.get(name).copied() {
            return self.call_routine(routine, values, &call.pos);
        }
        if name.ends_with("scanf") {
            self.scanned_input(arguments)?;
            return Ok(SymbolicValue::Unknown);
        }
        self.invalidate_arguments(&values);
        Ok(math_function(name, &values).map_or(SymbolicValue::Unknown, SymbolicValue::Number))
    }

    /// Variables whose address an unknown routine gets are unknown afterwards.
    pub(super) fn invalidate_arguments(&mut self, values: &[SymbolicValue]) {
        for value in values {
            if let SymbolicValue::Address(address) = value {
                self.store.set(address, SymbolicValue::Unknown);
            }
        }
    }

    /// Numbers read by `scanf` become parameters of the model.
    fn scanned_input(&mut self, arguments: &'p [TypedExpr]) -> ExecutionResult<()> {
        for argument in arguments {
            let ExprKind::AddressOf(of) = &argument.kind else { continue };
            if let (ExprKind::Variable(name), Some(address)) = (&of.kind, self.address(of)?) {
                let symbol = self.parameter(name, None, format!("read by the program at {}", argument.pos.file_and_line()));
                self.store.set(&address, SymbolicValue::Number(symbol));
            }
        }
        Ok(())
    }

    /// A value from the command line is a parameter of the model, with its fallback as the default.
    pub(super) fn command_line_value(
        &mut self,
        name: &str,
        before: &SymbolicValue,
        value: &'p TypedExpr,
    ) -> ExecutionResult<Option<SymbolicValue>> {
        if !matches!(value.data_type, DataType::Scalar(_)) || !self.uses_command_line(value) {
            return Ok(None);
        }
        let otherwise = match &strip_casts(value).kind {
            ExprKind::Conditional(_, a, b) if !self.uses_command_line(a) => Some(self.evaluate(a)?),
            ExprKind::Conditional(_, _, b) if !self.uses_command_line(b) => Some(self.evaluate(b)?),
            _ => None,
        };
        let known = otherwise.as_ref().unwrap_or(before).number().filter(|number| number.as_exact().is_some()).cloned();
        let note = format!("from the command line, at {}", value.pos.file_and_line());
        Ok(Some(SymbolicValue::Number(self.parameter(name, known, note))))
    }

    /// Whether an expression reads the command line.
    fn uses_command_line(&self, expression: &TypedExpr) -> bool {
        let name = &self.shared.arguments;
        loop_counter::any_subexpr(expression, &|part| matches!(&part.kind, ExprKind::Variable(found) if name.as_ref() == Some(found)))
    }

    /// The branch that uses the command line, if the condition depends on its length.
    pub(super) fn branch_using_command_line(
        &self,
        condition: &TypedExpr,
        then: &'p [Statement],
        otherwise: &'p [Statement],
    ) -> Option<&'p [Statement]> {
        let count = self.shared.argument_count.as_ref()?;
        let asks = loop_counter::any_subexpr(condition, &|part| matches!(&part.kind, ExprKind::Variable(found) if found == count));
        let uses = |list: &[Statement]| {
            list.iter().any(|statement| super::call_graph::any_in_statement(statement, &|part| self.uses_command_line(part)))
        };
        match (asks, uses(then), uses(otherwise)) {
            (true, true, _) => Some(then),
            (true, false, true) => Some(otherwise),
            _ => None,
        }
    }
}

/// Math functions for process counts and sizes.
fn math_function(name: &str, values: &[SymbolicValue]) -> Option<Formula> {
    let numbers: Option<Vec<&Formula>> = values.iter().map(SymbolicValue::number).collect();
    match (name, numbers?.as_slice()) {
        ("Math.sqrt", [a]) => Some(a.sqrt()),
        ("Math.floor", [a]) => Some(a.floor()),
        ("Math.ceil", [a]) => Some(a.ceil()),
        ("Math.log2", [a]) => Some(a.log2()),
        ("Math.max", [a, b]) => Some(Formula::max_of([(*a).clone(), (*b).clone()])),
        ("Math.min", [a, b]) => Some(Formula::min_of([(*a).clone(), (*b).clone()])),
        ("Math.pow", [a, b]) => Some(a.pow_formula(b)),
        _ => None,
    }
}

fn is_integer_type(of: &DataType) -> bool {
    !matches!(of, DataType::Scalar(ScalarType::Float | ScalarType::Double))
}
