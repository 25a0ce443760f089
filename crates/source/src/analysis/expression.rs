//! Expressions: what computing them costs, and what is known of the result.

use sintonia_formula::{Formula, Rational};
use sintonia_pamela::model::{Language, Term};

use super::condition::indicator;
use super::ledger::Ledger;
use super::{Analysis, Scope, Share, Value, bytes_of, common, scalar};
use crate::error::Error;
use crate::names;
use crate::routine::{Binary, Computation, Expression, Scalar, Shift, Type, Unary};

/// How many conditions inside of expressions are weighed one inside of the other: each is gone through once more for it.
const MOST_WEIGHED: usize = 2;

/// How many bytes an object of Java has before its first field.
const HEADER_BYTES: i64 = 16;

impl<'a> Analysis<'a> {
    /// Goes through an expression: its cost goes to the ledger, what it assigns to the scope.
    pub(super) fn expression(&mut self, expression: &'a Expression, scope: &mut Scope, ledger: &mut Ledger) -> Result<Value, Error> {
        if let Some(constant) = self.constant(expression) {
            return Ok(Value::Known(constant));
        }
        self.deeper(&expression.place, |analysis| analysis.computation(expression, scope, ledger))
    }

    fn computation(&mut self, expression: &'a Expression, scope: &mut Scope, ledger: &mut Ledger) -> Result<Value, Error> {
        match &expression.what {
            Computation::Number(_) | Computation::Text(_) => Ok(Value::unknown()),
            Computation::Variable(name) => {
                self.reading(name, &expression.of, ledger);
                Ok(self.variable(name, scope))
            }
            Computation::Element(array, index) => self.element(array, index, &expression.of, scope, ledger),
            Computation::Field(of, name) => {
                let value = self.base(of, scope, ledger)?;
                self.add("load", &expression.of, ledger);
                Ok(match (name.as_str(), value) {
                    ("length", Value::Array(lengths)) => lengths.into_iter().next().flatten().map_or_else(not_negative, Value::Known),
                    ("length", _) => not_negative(),
                    _ => Value::unknown(),
                })
            }
            Computation::Unary(operation, of) => self.unary(*operation, of, expression, scope, ledger),
            Computation::Binary(operation @ (Binary::And | Binary::Or), one, two) => {
                let share = self.weighed(Share::Unknown, |analysis| analysis.share(one, scope))?;
                self.expression(one, scope, ledger)?;
                let share = if *operation == Binary::And { share } else { share.opposite(&self.facts) };
                let (mut inside, mut after) = (Ledger::default(), scope.clone());
                self.expression(two, &mut after, &mut inside)?;
                *scope = scope.or(&after, &self.facts);
                self.push_if(&two.place, &share, inside.into_term(), Term::Sequence(Vec::new()), ledger);
                Ok(Value::between(Formula::zero(), Formula::one()))
            }
            Computation::Binary(operation, one, two) => self.binary(*operation, one, two, expression, scope, ledger),
            Computation::Assign { target, with, value } => self.assign(target, *with, value, scope, ledger),
            Computation::Choice(condition, one, two) => self.choice(condition, one, two, scope, ledger),
            Computation::Convert(of) => {
                let value = self.expression(of, scope, ledger)?;
                Ok(self.convert(value, &of.of, &expression.of, ledger))
            }
            Computation::Call(name, arguments) => self.call(name, arguments, expression, scope, ledger),
            Computation::New(lengths) => self.new_array(lengths, &expression.of, scope, ledger),
            Computation::AddressOf(of) => {
                if let Computation::Variable(name) = &of.what {
                    scope.set(name, Value::unknown());
                } else {
                    self.base(of, scope, ledger)?;
                }
                Ok(Value::unknown())
            }
            Computation::List(parts) => {
                for part in parts {
                    self.expression(part, scope, ledger)?;
                    self.add("store", &part.of, ledger);
                }
                let length = Formula::integer(i64::try_from(parts.len()).unwrap_or(i64::MAX));
                if let (Type::Array(element), Language::Java) = (&expression.of, self.language) {
                    let bytes = &length * &Formula::integer(bytes_of(element)) + Formula::integer(HEADER_BYTES);
                    ledger.add(self.plain_operation("new"), bytes);
                }
                Ok(Value::Array(vec![Some(length)]))
            }
        }
    }

    /// The value of an expression that compilers compute: numbers, constants, and what is made of them.
    fn constant(&self, expression: &Expression) -> Option<Formula> {
        match &expression.what {
            Computation::Number(text) => number(text),
            Computation::Variable(name) if self.is_global(name) => {
                let (_, value) = self.globals.get(name.as_str())?;
                value.as_ref()?.formula().filter(|formula| formula.as_exact().is_some()).cloned()
            }
            Computation::Convert(of) => {
                let value = Value::Known(self.constant(of)?);
                converted(value, &of.of, &expression.of, &self.facts).formula().cloned()
            }
            Computation::Unary(Unary::Negative, of) => Some(-self.constant(of)?),
            Computation::Binary(operation, one, two) => {
                let (one, two) = (Value::Known(self.constant(one)?), Value::Known(self.constant(two)?));
                self.computed(*operation, &one, &two, &expression.of).formula().filter(|formula| formula.as_exact().is_some()).cloned()
            }
            _ => None,
        }
    }

    fn variable(&self, name: &str, scope: &Scope) -> Value {
        if let Some(value) = scope.get(name) {
            return value.clone();
        }
        self.globals.get(name).filter(|_| self.is_global(name)).and_then(|(_, value)| value.clone()).unwrap_or_else(Value::unknown)
    }

    /// The cost of reading a variable. That of a reference is part of what is done with it.
    fn reading(&self, name: &str, of: &Type, ledger: &mut Ledger) {
        self.add(if self.is_global(name) { "load" } else { "access" }, of, ledger);
    }

    /// Counts an operation on a number; other types cost nothing by themselves.
    pub(super) fn add(&self, name: &str, of: &Type, ledger: &mut Ledger) {
        if let Some(of) = scalar(of) {
            ledger.add(self.operation(name, of), Formula::one());
        }
    }

    /// What is before `[…]` or `.name`.
    fn base(&mut self, of: &'a Expression, scope: &mut Scope, ledger: &mut Ledger) -> Result<Value, Error> {
        match &of.what {
            Computation::Variable(name) if !self.is_global(name) => Ok(self.variable(name, scope)),
            _ => self.expression(of, scope, ledger),
        }
    }

    /// What is between `[` and `]`. Compilers step along arrays, so that where an element is need not be computed anew for each.
    fn subscript(&mut self, index: &'a Expression, scope: &mut Scope, ledger: &mut Ledger) -> Result<(), Error> {
        if self.is_stepped(index) {
            return Ok(());
        }
        self.expression(index, scope, ledger).map(drop)
    }

    /// Whether it is made of local whole numbers by sums and products, so that it moves evenly with each of them.
    fn is_stepped(&self, index: &Expression) -> bool {
        let is_whole = |of: &Type| matches!(scalar(of), Some(Scalar::Byte | Scalar::Short | Scalar::Int | Scalar::Long));
        is_whole(&index.of)
            && match &index.what {
                Computation::Number(_) => true,
                Computation::Variable(name) => !self.is_global(name) || self.constant(index).is_some(),
                Computation::Unary(Unary::Negative, of) => self.is_stepped(of),
                Computation::Binary(Binary::Add | Binary::Subtract | Binary::Multiply, one, two) => {
                    self.is_stepped(one) && self.is_stepped(two)
                }
                Computation::Convert(of) => is_whole(&of.of) && bytes_of(&of.of) <= bytes_of(&index.of) && self.is_stepped(of),
                _ => false,
            }
    }

    fn element(
        &mut self,
        array: &'a Expression,
        index: &'a Expression,
        of: &Type,
        scope: &mut Scope,
        ledger: &mut Ledger,
    ) -> Result<Value, Error> {
        let value = self.base(array, scope, ledger)?;
        self.subscript(index, scope, ledger)?;
        // A row of a Java array is found by its reference.
        let loaded = if matches!(of, Type::Array(_)) && self.language == Language::Java { &Type::Scalar(Scalar::Long) } else { of };
        self.add("load", loaded, ledger);
        Ok(match value {
            Value::Array(lengths) if lengths.len() > 1 => Value::Array(lengths[1..].to_vec()),
            _ => Value::unknown(),
        })
    }

    fn unary(
        &mut self,
        operation: Unary,
        of: &'a Expression,
        expression: &Expression,
        scope: &mut Scope,
        ledger: &mut Ledger,
    ) -> Result<Value, Error> {
        let value = self.expression(of, scope, ledger)?;
        let name = if operation == Unary::Negative { "sub" } else { "bits" };
        self.add(name, &expression.of, ledger);
        Ok(match operation {
            Unary::Negative => value.negative(),
            Unary::Complement => value.negative().add(&Value::number(-1)),
            Unary::Not => Value::between(Formula::zero(), Formula::one()),
        })
    }

    fn binary(
        &mut self,
        operation: Binary,
        one: &'a Expression,
        two: &'a Expression,
        expression: &Expression,
        scope: &mut Scope,
        ledger: &mut Ledger,
    ) -> Result<Value, Error> {
        let (left, right) = (self.expression(one, scope, ledger)?, self.expression(two, scope, ledger)?);
        if scalar(&one.of).is_some() || scalar(&two.of).is_some() {
            let of = if matches!(operation, Binary::Shift(_)) { common(&one.of, &one.of) } else { common(&one.of, &two.of) };
            ledger.add(self.operation(operation_name(operation), of), Formula::one());
        }
        Ok(self.computed(operation, &left, &right, &expression.of))
    }

    /// What an operation gives, in the arithmetic of its type.
    pub(super) fn computed(&self, operation: Binary, one: &Value, two: &Value, of: &Type) -> Value {
        let facts = &self.facts;
        let kind = scalar(of);
        let whole = !matches!(kind, Some(Scalar::Float | Scalar::Double));
        let result = match operation {
            Binary::Add => one.add(two),
            Binary::Subtract => one.add(&two.negative()),
            Binary::Multiply => one.multiply(two, facts),
            Binary::Divide => one.divide(two, whole, facts),
            Binary::Remainder if whole => one.remainder(two, facts),
            Binary::Shift(way) => match two.formula().and_then(Formula::as_exact).and_then(Rational::to_i64) {
                Some(places @ 0..63) => {
                    let factor = Value::number(1 << places);
                    match way {
                        Shift::Left => one.multiply(&factor, facts),
                        // Bits that are shifted out round down, division rounds to zero.
                        Shift::Right if one.is_nonnegative(facts) => one.divide(&factor, true, facts),
                        Shift::Right => Value::unknown(),
                    }
                }
                _ => Value::unknown(),
            },
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual | Binary::Equal | Binary::NotEqual => {
                match (one, two) {
                    (Value::Known(one), Value::Known(two)) if facts.is_whole(one) && facts.is_whole(two) => {
                        indicator(operation, one, two, facts).map_or_else(truth, Value::Known)
                    }
                    _ => truth(),
                }
            }
            Binary::And | Binary::Or => truth(),
            Binary::Bits(how) if whole => one.bits(how, two, facts),
            Binary::Remainder | Binary::Bits(_) => Value::unknown(),
        };
        match kind {
            Some(Scalar::Int) => result.within(32),
            Some(Scalar::Long) => result.within(64),
            _ => result,
        }
    }

    fn assign(
        &mut self,
        target: &'a Expression,
        with: Option<Binary>,
        value: &'a Expression,
        scope: &mut Scope,
        ledger: &mut Ledger,
    ) -> Result<Value, Error> {
        let name = match &target.what {
            Computation::Variable(name) => {
                self.add(if self.is_global(name) { "store" } else { "assign" }, &target.of, ledger);
                Some(name.as_str())
            }
            Computation::Element(array, index) => {
                self.base(array, scope, ledger)?;
                self.subscript(index, scope, ledger)?;
                self.add("store", &target.of, ledger);
                None
            }
            Computation::Field(of, _) => {
                self.base(of, scope, ledger)?;
                self.add("store", &target.of, ledger);
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
                        self.reading(name, &target.of, ledger);
                        self.variable(name, scope)
                    }
                    None => {
                        self.add("load", &target.of, ledger);
                        Value::unknown()
                    }
                };
                let by = self.expression(value, scope, ledger)?;
                let of = common(&target.of, &value.of);
                ledger.add(self.operation(operation_name(operation), of), Formula::one());
                let computed = self.computed(operation, &before, &by, &Type::Scalar(of));
                converted(computed, &Type::Scalar(of), &target.of, &self.facts)
            }
        };
        if let (Type::Scalar(_), Value::Array(_)) = (&target.of, &result) {
            result = Value::unknown();
        }
        if let Some(name) = name {
            scope.set(name, result.clone());
        }
        Ok(result)
    }

    fn choice(
        &mut self,
        condition: &'a Expression,
        one: &'a Expression,
        two: &'a Expression,
        scope: &mut Scope,
        ledger: &mut Ledger,
    ) -> Result<Value, Error> {
        self.condition_name(&condition.place);
        let share = self.weighed(Share::Unknown, |analysis| analysis.share(condition, scope))?;
        self.expression(condition, scope, ledger)?;
        match share {
            Share::Always => return self.expression(one, scope, ledger),
            Share::Never => return self.expression(two, scope, ledger),
            _ => {}
        }
        let (mut first, mut second) = ((scope.clone(), Ledger::default()), (scope.clone(), Ledger::default()));
        let left = self.expression(one, &mut first.0, &mut first.1)?;
        let right = self.expression(two, &mut second.0, &mut second.1)?;
        let either = left.or(&right, &self.facts);
        let result = self.weighed(either, |analysis| analysis.chosen(condition, scope, &left, &right))?;
        *scope = first.0.or(&second.0, &self.facts);
        self.push_if(&condition.place, &share, first.1.into_term(), second.1.into_term(), ledger);
        Ok(result)
    }

    /// What weighing a condition inside of an expression gives, or something else if it stands inside of too many others.
    fn weighed<T>(&mut self, otherwise: T, weigh: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.weighed >= MOST_WEIGHED {
            return Ok(otherwise);
        }
        self.weighed += 1;
        let result = weigh(self);
        self.weighed -= 1;
        result
    }

    fn convert(&self, value: Value, from: &Type, to: &Type, ledger: &mut Ledger) -> Value {
        if let (Some(from), Some(to)) = (scalar(from), scalar(to)) {
            let (one, other) = (super::word(from), super::word(to));
            if one != other {
                // Conversions cost what the type with a fraction makes them cost, if there is one.
                let of = if matches!(from, Scalar::Float | Scalar::Double) { from.max(to) } else { to };
                ledger.add(self.operation("convert", of), Formula::one());
            }
        }
        converted(value, from, to, &self.facts)
    }

    fn new_array(&mut self, lengths: &'a [Expression], of: &Type, scope: &mut Scope, ledger: &mut Ledger) -> Result<Value, Error> {
        let (mut known, mut inside) = (Vec::new(), of);
        let mut bytes = Some(Formula::one());
        for length in lengths {
            let value = self.expression(length, scope, ledger)?;
            let formula = value.formula_or_interval();
            bytes = bytes.zip(formula).map(|(bytes, length)| bytes * length);
            known.push(value.formula().cloned());
            if let Type::Array(element) = inside {
                inside = element;
            }
        }
        let header = Formula::integer(if self.language == Language::Java { HEADER_BYTES } else { 0 });
        let bytes = match (lengths, bytes) {
            ([], _) => header,
            (_, Some(bytes)) => bytes * Formula::integer(bytes_of(inside)) + header,
            ([first, ..], None) => {
                let place = first.place.clone();
                let name = format!("bytes_{}", names::spot(&place));
                self.note(&place, format!("how much is allocated here cannot be derived: give it with -p {name}=…"));
                self.parameter(&name, None, format!("bytes allocated at {}", place.short()))
            }
        };
        ledger.add(self.plain_operation("new"), bytes);
        Ok(if lengths.is_empty() { Value::unknown() } else { Value::Array(known) })
    }
}

fn truth() -> Value {
    Value::between(Formula::zero(), Formula::one())
}

fn not_negative() -> Value {
    Value::Between { low: Some(Formula::zero()), high: None }
}

/// What a value is in another type.
fn converted(value: Value, from: &Type, to: &Type, facts: &super::Facts) -> Value {
    let fractional = |of: &Type| matches!(scalar(of), Some(Scalar::Float | Scalar::Double));
    match (from, to) {
        (Type::Scalar(_), Type::Scalar(_)) if fractional(from) && !fractional(to) => value.truncate(facts),
        (Type::Scalar(_), Type::Scalar(_)) => value,
        (Type::Array(_), Type::Array(_)) => value,
        _ => Value::unknown(),
    }
}

/// What an operation is called in models.
pub(super) fn operation_name(operation: Binary) -> &'static str {
    match operation {
        Binary::Add => "sum",
        Binary::Subtract => "sub",
        Binary::Multiply => "mpy",
        Binary::Divide => "div",
        Binary::Remainder => "mod",
        Binary::Bits(_) | Binary::And | Binary::Or => "bits",
        Binary::Shift(_) => "shift",
        Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual | Binary::Equal | Binary::NotEqual => "compare",
    }
}

/// A number as programs write it: decimal, hexadecimal, binary or octal.
fn number(text: &str) -> Option<Formula> {
    let lower = text.to_ascii_lowercase();
    let whole = |digits: &str, base: u32| u64::from_str_radix(digits, base).ok();
    let bits = if let Some(digits) = lower.strip_prefix("0x") {
        whole(digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        whole(digits, 2)
    } else if lower.len() > 1 && lower.starts_with('0') && lower.bytes().all(|digit| digit.is_ascii_digit()) {
        whole(&lower, 8)
    } else {
        return Rational::parse(&lower).map(Formula::exact);
    };
    bits.and_then(|bits| i64::try_from(bits).ok()).map(Formula::integer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_programs_write_them() {
        let read = |text: &str| number(text).map(|formula| formula.to_string());
        let expected = ["31", "5", "8", "0.5", "1", "2.5e-10", "1000"].map(|text| Some(text.to_owned()));
        assert_eq!(["0x1F", "0b101", "010", ".5", "1.", "2.5E-10", "1e+3"].map(read), expected);
        assert_eq!(read("abc"), None);
    }
}
