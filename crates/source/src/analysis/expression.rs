//! Expressions: their cost and their abstract value.

use sintonia_formula::{Formula, Rational};
use sintonia_pamela::model::{ModelTerm, SourceLanguage};

use super::condition::indicator;
use super::term_builder::TermBuilder;
use super::{AbstractValue, BranchProbability, StaticAnalyzer, VariableScope, as_scalar, common_type, size_of_type};
use crate::error::Error;
use crate::ir::{BinaryOp, DataType, ExprKind, ScalarType, ShiftDirection, TypedExpr, UnaryOp};
use crate::model_names;

/// How deep conditions inside of expressions are analysed: each level evaluates the condition once more.
const MAX_CONDITION_DEPTH: usize = 2;

/// The size of a Java object header.
const HEADER_BYTES: i64 = 16;

impl<'a> StaticAnalyzer<'a> {
    /// Evaluates an expression: its cost goes to the builder, its assignments to the scope.
    pub(super) fn expression(
        &mut self,
        expression: &'a TypedExpr,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        if let Some(constant) = self.constant(expression) {
            return Ok(AbstractValue::Exact(constant));
        }
        self.nested(&expression.pos, |analysis| analysis.computation(expression, scope, ledger))
    }

    fn computation(
        &mut self,
        expression: &'a TypedExpr,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        match &expression.kind {
            ExprKind::Number(_) | ExprKind::StringLiteral(_) => Ok(AbstractValue::unknown()),
            ExprKind::Variable(name) => {
                self.add_read_cost(name, &expression.data_type, ledger);
                Ok(self.variable(name, scope))
            }
            ExprKind::Index(array, index) => self.element(array, index, &expression.data_type, scope, ledger),
            ExprKind::Field(of, name) => {
                let value = self.base_value(of, scope, ledger)?;
                self.add_operation("load", &expression.data_type, ledger);
                Ok(match (name.as_str(), value) {
                    ("length", AbstractValue::Array(lengths)) => {
                        lengths.into_iter().next().flatten().map_or_else(nonnegative_value, AbstractValue::Exact)
                    }
                    ("length", _) => nonnegative_value(),
                    _ => AbstractValue::unknown(),
                })
            }
            ExprKind::Unary(operation, of) => self.unary(*operation, of, expression, scope, ledger),
            ExprKind::Binary(operation @ (BinaryOp::And | BinaryOp::Or), one, two) => {
                let share = self.nested_condition(BranchProbability::Unknown, |analysis| analysis.branch_probability(one, scope))?;
                self.expression(one, scope, ledger)?;
                let share = if *operation == BinaryOp::And { share } else { share.complement(&self.assumptions) };
                let (mut inside, mut after) = (TermBuilder::default(), scope.clone());
                self.expression(two, &mut after, &mut inside)?;
                *scope = scope.join(&after, &self.assumptions);
                self.push_if(&two.pos, &share, inside.into_term(), ModelTerm::Sequence(Vec::new()), ledger);
                Ok(AbstractValue::bounded(Formula::zero(), Formula::one()))
            }
            ExprKind::Binary(operation, one, two) => self.binary(*operation, one, two, expression, scope, ledger),
            ExprKind::Assign { target, operator: with, value } => self.assign(target, *with, value, scope, ledger),
            ExprKind::Conditional(condition, one, two) => self.conditional(condition, one, two, scope, ledger),
            ExprKind::Cast(of) => {
                let value = self.expression(of, scope, ledger)?;
                Ok(self.convert_with_cost(value, &of.data_type, &expression.data_type, ledger))
            }
            ExprKind::Call(name, arguments) => self.call(name, arguments, expression, scope, ledger),
            ExprKind::Allocate(lengths) => self.new_array(lengths, &expression.data_type, scope, ledger),
            ExprKind::AddressOf(of) => {
                if let ExprKind::Variable(name) = &of.kind {
                    scope.set(name, AbstractValue::unknown());
                } else {
                    self.base_value(of, scope, ledger)?;
                }
                Ok(AbstractValue::unknown())
            }
            ExprKind::InitializerList(parts) => {
                for part in parts {
                    self.expression(part, scope, ledger)?;
                    self.add_operation("store", &part.data_type, ledger);
                }
                let length = Formula::integer(i64::try_from(parts.len()).unwrap_or(i64::MAX));
                if let (DataType::Array(element), SourceLanguage::Java) = (&expression.data_type, self.language) {
                    let bytes = &length * &Formula::integer(size_of_type(element)) + Formula::integer(HEADER_BYTES);
                    ledger.add(self.plain_operation("new"), bytes);
                }
                Ok(AbstractValue::Array(vec![Some(length)]))
            }
        }
    }

    /// The value of a constant expression, which a compiler would fold.
    fn constant(&self, expression: &TypedExpr) -> Option<Formula> {
        match &expression.kind {
            ExprKind::Number(text) => parse_number(text),
            ExprKind::Variable(name) if self.is_global(name) => {
                let (_, value) = self.globals.get(name.as_str())?;
                value.as_ref()?.formula().filter(|formula| formula.as_exact().is_some()).cloned()
            }
            ExprKind::Cast(of) => {
                let value = AbstractValue::Exact(self.constant(of)?);
                convert_value(value, &of.data_type, &expression.data_type, &self.assumptions).formula().cloned()
            }
            ExprKind::Unary(UnaryOp::Negate, of) => Some(-self.constant(of)?),
            ExprKind::Binary(operation, one, two) => {
                let (one, two) = (AbstractValue::Exact(self.constant(one)?), AbstractValue::Exact(self.constant(two)?));
                self.apply_binary(*operation, &one, &two, &expression.data_type)
                    .formula()
                    .filter(|formula| formula.as_exact().is_some())
                    .cloned()
            }
            _ => None,
        }
    }

    fn variable(&self, name: &str, scope: &VariableScope) -> AbstractValue {
        if let Some(value) = scope.get(name) {
            return value.clone();
        }
        self.globals.get(name).filter(|_| self.is_global(name)).and_then(|(_, value)| value.clone()).unwrap_or_else(AbstractValue::unknown)
    }

    /// The cost of reading a variable. That of a reference is part of its use.
    fn add_read_cost(&self, name: &str, of: &DataType, ledger: &mut TermBuilder) {
        self.add_operation(if self.is_global(name) { "load" } else { "access" }, of, ledger);
    }

    /// Counts an operation on a scalar; other types cost nothing by themselves.
    pub(super) fn add_operation(&self, name: &str, of: &DataType, ledger: &mut TermBuilder) {
        if let Some(of) = as_scalar(of) {
            ledger.add(self.operation(name, of), Formula::one());
        }
    }

    /// The operand of `[…]` or `.name`.
    fn base_value(&mut self, of: &'a TypedExpr, scope: &mut VariableScope, ledger: &mut TermBuilder) -> Result<AbstractValue, Error> {
        match &of.kind {
            ExprKind::Variable(name) if !self.is_global(name) => Ok(self.variable(name, scope)),
            _ => self.expression(of, scope, ledger),
        }
    }

    /// A subscript. Compilers step pointers along arrays (strength reduction), so the address of an element is not recomputed each time.
    fn subscript(&mut self, index: &'a TypedExpr, scope: &mut VariableScope, ledger: &mut TermBuilder) -> Result<(), Error> {
        if self.is_strength_reduced(index) {
            return Ok(());
        }
        self.expression(index, scope, ledger).map(drop)
    }

    /// Whether a subscript consists of sums and products of local integers, so that strength reduction applies.
    fn is_strength_reduced(&self, index: &TypedExpr) -> bool {
        let is_whole =
            |of: &DataType| matches!(as_scalar(of), Some(ScalarType::Byte | ScalarType::Short | ScalarType::Int | ScalarType::Long));
        is_whole(&index.data_type)
            && match &index.kind {
                ExprKind::Number(_) => true,
                ExprKind::Variable(name) => !self.is_global(name) || self.constant(index).is_some(),
                ExprKind::Unary(UnaryOp::Negate, of) => self.is_strength_reduced(of),
                ExprKind::Binary(BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply, one, two) => {
                    self.is_strength_reduced(one) && self.is_strength_reduced(two)
                }
                ExprKind::Cast(of) => {
                    is_whole(&of.data_type) && size_of_type(&of.data_type) <= size_of_type(&index.data_type) && self.is_strength_reduced(of)
                }
                _ => false,
            }
    }

    fn element(
        &mut self,
        array: &'a TypedExpr,
        index: &'a TypedExpr,
        of: &DataType,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        let value = self.base_value(array, scope, ledger)?;
        self.subscript(index, scope, ledger)?;
        // A row of a Java array is a reference.
        let loaded = if matches!(of, DataType::Array(_)) && self.language == SourceLanguage::Java {
            &DataType::Scalar(ScalarType::Long)
        } else {
            of
        };
        self.add_operation("load", loaded, ledger);
        Ok(match value {
            AbstractValue::Array(lengths) if lengths.len() > 1 => AbstractValue::Array(lengths[1..].to_vec()),
            _ => AbstractValue::unknown(),
        })
    }

    fn unary(
        &mut self,
        operation: UnaryOp,
        of: &'a TypedExpr,
        expression: &TypedExpr,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        let value = self.expression(of, scope, ledger)?;
        let name = if operation == UnaryOp::Negate { "sub" } else { "bits" };
        self.add_operation(name, &expression.data_type, ledger);
        Ok(match operation {
            UnaryOp::Negate => value.negate(),
            UnaryOp::Complement => value.negate().add(&AbstractValue::number(-1)),
            UnaryOp::Not => AbstractValue::bounded(Formula::zero(), Formula::one()),
        })
    }

    fn binary(
        &mut self,
        operation: BinaryOp,
        one: &'a TypedExpr,
        two: &'a TypedExpr,
        expression: &TypedExpr,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        let (left, right) = (self.expression(one, scope, ledger)?, self.expression(two, scope, ledger)?);
        if as_scalar(&one.data_type).is_some() || as_scalar(&two.data_type).is_some() {
            let of = if matches!(operation, BinaryOp::Shift(_)) {
                common_type(&one.data_type, &one.data_type)
            } else {
                common_type(&one.data_type, &two.data_type)
            };
            ledger.add(self.operation(operation_name(operation), of), Formula::one());
        }
        Ok(self.apply_binary(operation, &left, &right, &expression.data_type))
    }

    /// The result of an operation in the arithmetic of its type.
    pub(super) fn apply_binary(&self, operation: BinaryOp, one: &AbstractValue, two: &AbstractValue, of: &DataType) -> AbstractValue {
        let facts = &self.assumptions;
        let kind = as_scalar(of);
        let whole = !matches!(kind, Some(ScalarType::Float | ScalarType::Double));
        let result = match operation {
            BinaryOp::Add => one.add(two),
            BinaryOp::Subtract => one.add(&two.negate()),
            BinaryOp::Multiply => one.multiply(two, facts),
            BinaryOp::Divide => one.divide(two, whole, facts),
            BinaryOp::Remainder if whole => one.remainder(two, facts),
            BinaryOp::Shift(way) => match two.formula().and_then(Formula::as_exact).and_then(Rational::to_i64) {
                Some(places @ 0..63) => {
                    let factor = AbstractValue::number(1 << places);
                    match way {
                        ShiftDirection::Left => one.multiply(&factor, facts),
                        // Shifts round down, division rounds to zero.
                        ShiftDirection::Right if one.is_nonnegative(facts) => one.divide(&factor, true, facts),
                        ShiftDirection::Right => AbstractValue::unknown(),
                    }
                }
                _ => AbstractValue::unknown(),
            },
            BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
            | BinaryOp::Equal
            | BinaryOp::NotEqual => match (one, two) {
                (AbstractValue::Exact(one), AbstractValue::Exact(two)) if facts.is_integer(one) && facts.is_integer(two) => {
                    indicator(operation, one, two, facts).map_or_else(boolean_value, AbstractValue::Exact)
                }
                _ => boolean_value(),
            },
            BinaryOp::And | BinaryOp::Or => boolean_value(),
            BinaryOp::Bitwise(how) if whole => one.bits(how, two, facts),
            BinaryOp::Remainder | BinaryOp::Bitwise(_) => AbstractValue::unknown(),
        };
        match kind {
            Some(ScalarType::Int) => result.checked_width(32),
            Some(ScalarType::Long) => result.checked_width(64),
            _ => result,
        }
    }

    fn assign(
        &mut self,
        target: &'a TypedExpr,
        with: Option<BinaryOp>,
        value: &'a TypedExpr,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        let name = match &target.kind {
            ExprKind::Variable(name) => {
                self.add_operation(if self.is_global(name) { "store" } else { "assign" }, &target.data_type, ledger);
                Some(name.as_str())
            }
            ExprKind::Index(array, index) => {
                self.base_value(array, scope, ledger)?;
                self.subscript(index, scope, ledger)?;
                self.add_operation("store", &target.data_type, ledger);
                None
            }
            ExprKind::Field(of, _) => {
                self.base_value(of, scope, ledger)?;
                self.add_operation("store", &target.data_type, ledger);
                None
            }
            _ => {
                self.expression(target, scope, ledger)?;
                None
            }
        };
        let mut result = match with {
            None => self.expression(value, scope, ledger)?,
            Some(operation) => {
                let before = match name {
                    Some(name) => {
                        self.add_read_cost(name, &target.data_type, ledger);
                        self.variable(name, scope)
                    }
                    None => {
                        self.add_operation("load", &target.data_type, ledger);
                        AbstractValue::unknown()
                    }
                };
                let by = self.expression(value, scope, ledger)?;
                let of = common_type(&target.data_type, &value.data_type);
                ledger.add(self.operation(operation_name(operation), of), Formula::one());
                let computed = self.apply_binary(operation, &before, &by, &DataType::Scalar(of));
                convert_value(computed, &DataType::Scalar(of), &target.data_type, &self.assumptions)
            }
        };
        if let (DataType::Scalar(_), AbstractValue::Array(_)) = (&target.data_type, &result) {
            result = AbstractValue::unknown();
        }
        if let Some(name) = name {
            scope.set(name, result.clone());
        }
        Ok(result)
    }

    fn conditional(
        &mut self,
        condition: &'a TypedExpr,
        one: &'a TypedExpr,
        two: &'a TypedExpr,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        self.condition_label(&condition.pos);
        let share = self.nested_condition(BranchProbability::Unknown, |analysis| analysis.branch_probability(condition, scope))?;
        self.expression(condition, scope, ledger)?;
        match share {
            BranchProbability::Always => return self.expression(one, scope, ledger),
            BranchProbability::Never => return self.expression(two, scope, ledger),
            _ => {}
        }
        let (mut first, mut second) = ((scope.clone(), TermBuilder::default()), (scope.clone(), TermBuilder::default()));
        let left = self.expression(one, &mut first.0, &mut first.1)?;
        let right = self.expression(two, &mut second.0, &mut second.1)?;
        let either = left.join(&right, &self.assumptions);
        let result = self.nested_condition(either, |analysis| analysis.selected_value(condition, scope, &left, &right))?;
        *scope = first.0.join(&second.0, &self.assumptions);
        self.push_if(&condition.pos, &share, first.1.into_term(), second.1.into_term(), ledger);
        Ok(result)
    }

    /// Analyses a condition inside of an expression, or returns the default if the nesting is too deep.
    fn nested_condition<T>(&mut self, otherwise: T, weigh: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.condition_depth >= MAX_CONDITION_DEPTH {
            return Ok(otherwise);
        }
        self.condition_depth += 1;
        let result = weigh(self);
        self.condition_depth -= 1;
        result
    }

    fn convert_with_cost(&self, value: AbstractValue, from: &DataType, to: &DataType, ledger: &mut TermBuilder) -> AbstractValue {
        if let (Some(from), Some(to)) = (as_scalar(from), as_scalar(to)) {
            let (one, other) = (super::type_name(from), super::type_name(to));
            if one != other {
                // A conversion costs as much as that of its floating-point type, if there is one.
                let of = if matches!(from, ScalarType::Float | ScalarType::Double) { from.max(to) } else { to };
                ledger.add(self.operation("convert", of), Formula::one());
            }
        }
        convert_value(value, from, to, &self.assumptions)
    }

    fn new_array(
        &mut self,
        lengths: &'a [TypedExpr],
        of: &DataType,
        scope: &mut VariableScope,
        ledger: &mut TermBuilder,
    ) -> Result<AbstractValue, Error> {
        let (mut known, mut inside) = (Vec::new(), of);
        let mut bytes = Some(Formula::one());
        for length in lengths {
            let value = self.expression(length, scope, ledger)?;
            let formula = value.formula_or_interval();
            bytes = bytes.zip(formula).map(|(bytes, length)| bytes * length);
            known.push(value.formula().cloned());
            if let DataType::Array(element) = inside {
                inside = element;
            }
        }
        let header = Formula::integer(if self.language == SourceLanguage::Java { HEADER_BYTES } else { 0 });
        let bytes = match (lengths, bytes) {
            ([], _) => header,
            (_, Some(bytes)) => bytes * Formula::integer(size_of_type(inside)) + header,
            ([first, ..], None) => {
                let place = first.pos.clone();
                let name = format!("bytes_{}", model_names::pos_name(&place));
                self.note(&place, format!("the size of this allocation cannot be derived: set it with -p {name}=…"));
                self.parameter(&name, None, format!("bytes allocated at {}", place.file_and_line()))
            }
        };
        ledger.add(self.plain_operation("new"), bytes);
        Ok(if lengths.is_empty() { AbstractValue::unknown() } else { AbstractValue::Array(known) })
    }
}

fn boolean_value() -> AbstractValue {
    AbstractValue::bounded(Formula::zero(), Formula::one())
}

fn nonnegative_value() -> AbstractValue {
    AbstractValue::Bounded { low: Some(Formula::zero()), high: None }
}

/// A value converted to another type.
fn convert_value(value: AbstractValue, from: &DataType, to: &DataType, facts: &super::Assumptions) -> AbstractValue {
    let fractional = |of: &DataType| matches!(as_scalar(of), Some(ScalarType::Float | ScalarType::Double));
    match (from, to) {
        (DataType::Scalar(_), DataType::Scalar(_)) if fractional(from) && !fractional(to) => value.truncate(facts),
        (DataType::Scalar(_), DataType::Scalar(_)) => value,
        (DataType::Array(_), DataType::Array(_)) => value,
        _ => AbstractValue::unknown(),
    }
}

/// The name of an operation in models.
pub(super) fn operation_name(operation: BinaryOp) -> &'static str {
    match operation {
        BinaryOp::Add => "sum",
        BinaryOp::Subtract => "sub",
        BinaryOp::Multiply => "mpy",
        BinaryOp::Divide => "div",
        BinaryOp::Remainder => "mod",
        BinaryOp::Bitwise(_) | BinaryOp::And | BinaryOp::Or => "bits",
        BinaryOp::Shift(_) => "shift",
        BinaryOp::Less | BinaryOp::LessOrEqual | BinaryOp::Greater | BinaryOp::GreaterOrEqual | BinaryOp::Equal | BinaryOp::NotEqual => {
            "compare"
        }
    }
}

/// A number literal: decimal, hexadecimal, binary or octal.
fn parse_number(text: &str) -> Option<Formula> {
    let lower = text.to_ascii_lowercase();
    let whole = |digits: &str, base: u32| u64::from_str_radix(digits, base).ok();
    let bits = if let Some(digits) = lower.strip_prefix("0x") {
        whole(digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        whole(digits, 2)
    } else if lower.len() > 1 && lower.starts_with('0') && lower.bytes().all(|digit| digit.is_ascii_digit()) {
        whole(&lower, 8)
    } else {
        return Rational::parse(&lower).map(Formula::from_rational);
    };
    bits.and_then(|bits| i64::try_from(bits).ok()).map(Formula::integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_programs_write_them() {
        let read = |text: &str| parse_number(text).map(|formula| formula.to_string());
        let expected = ["31", "5", "8", "0.5", "1", "2.5e-10", "1000"].map(|text| Some(text.to_owned()));
        assert_eq!(["0x1F", "0b101", "010", ".5", "1.", "2.5E-10", "1e+3"].map(read), expected);
        assert_eq!(read("abc"), None);
    }
}
