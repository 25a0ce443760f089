//! What is known of a value while the program is gone through: a formula, bounds, or nothing.
//!
//! Arithmetic is that of the program, in whole numbers where its types are: division drops the fraction. That numbers of the machine overflow is
//! not followed; a value that certainly would is unknown.

use sintonia_formula::{Formula, Rational};

use super::facts::Facts;
use crate::routine::Bits;

/// What is known of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Exactly what it is.
    Known(Formula),
    /// Where it lies; nothing is known where there is no bound.
    Between {
        /// What it is not below.
        low: Option<Formula>,
        /// What it is not above.
        high: Option<Formula>,
    },
    /// Drawn by lot, each number between two as likely as any other.
    Drawn {
        /// The least.
        low: Formula,
        /// The greatest, which is not drawn itself unless only whole numbers are.
        high: Formula,
        /// Whether only whole numbers are drawn.
        whole: bool,
    },
    /// An array, by its lengths in each dimension.
    Array(Vec<Option<Formula>>),
}

impl Value {
    /// Nothing is known of it.
    pub fn unknown() -> Value {
        Value::Between { low: None, high: None }
    }

    /// It is this formula.
    pub fn known(formula: Formula) -> Value {
        Value::Known(formula)
    }

    /// It is this number.
    pub fn number(number: i64) -> Value {
        Value::Known(Formula::integer(number))
    }

    /// It lies between these two.
    pub fn between(low: Formula, high: Formula) -> Value {
        if low == high { Value::Known(low) } else { Value::Between { low: Some(low), high: Some(high) } }
    }

    /// What it is, if that is known.
    pub fn formula(&self) -> Option<&Formula> {
        match self {
            Value::Known(formula) => Some(formula),
            _ => None,
        }
    }

    /// What it is, as a formula with an unknown number where only bounds are known.
    pub fn formula_or_interval(&self) -> Option<Formula> {
        match self {
            Value::Known(formula) => Some(formula.clone()),
            Value::Between { low: Some(low), high: Some(high) } => Some(low + &(Formula::between(0.0, 1.0) * (high - low))),
            _ => None,
        }
    }

    /// What it is not below and what it is not above.
    pub fn bounds(&self) -> (Option<Formula>, Option<Formula>) {
        match self {
            Value::Known(formula) => (Some(formula.clone()), Some(formula.clone())),
            Value::Between { low, high } => (low.clone(), high.clone()),
            Value::Drawn { low, high, .. } => (Some(low.clone()), Some(high.clone())),
            Value::Array(_) => (None, None),
        }
    }

    /// The same with other formulas in it.
    pub fn map(&self, change: impl Fn(&Formula) -> Formula) -> Value {
        match self {
            Value::Known(formula) => Value::Known(change(formula)),
            Value::Between { low, high } => Value::Between { low: low.as_ref().map(&change), high: high.as_ref().map(&change) },
            Value::Drawn { low, high, whole } => Value::Drawn { low: change(low), high: change(high), whole: *whole },
            Value::Array(lengths) => Value::Array(lengths.iter().map(|length| length.as_ref().map(&change)).collect()),
        }
    }

    /// Whether what is known of it depends on a symbol.
    pub fn depends_on(&self, symbol: &str) -> bool {
        let has = |formula: &Option<Formula>| formula.as_ref().is_some_and(|formula| formula.symbols().contains(symbol));
        match self {
            Value::Array(lengths) => lengths.iter().any(has),
            _ => {
                let (low, high) = self.bounds();
                has(&low) || has(&high)
            }
        }
    }

    /// What is known where it may be this value or another.
    pub fn or(&self, other: &Value, facts: &Facts) -> Value {
        if self == other {
            return self.clone();
        }
        if let (Value::Array(one), Value::Array(two)) = (self, other) {
            return Value::Array(one.iter().zip(two).map(|(one, two)| if one == two { one.clone() } else { None }).collect());
        }
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        let join = |one: Option<Formula>, two: Option<Formula>, lower: bool| {
            let (one, two) = (one?, two?);
            if facts.is_nonnegative(&(&one - &two)) {
                return Some(if lower { two } else { one });
            }
            if facts.is_nonnegative(&(&two - &one)) {
                return Some(if lower { one } else { two });
            }
            Some(if lower { Formula::min_of([one, two]) } else { Formula::max_of([one, two]) })
        };
        Value::Between { low: join(low, other_low, true), high: join(high, other_high, false) }
    }

    /// The sum.
    pub fn add(&self, other: &Value) -> Value {
        match (self, other) {
            (Value::Known(one), Value::Known(two)) => Value::Known(one + two),
            (Value::Drawn { low, high, whole }, Value::Known(by)) | (Value::Known(by), Value::Drawn { low, high, whole }) => {
                Value::Drawn { low: low + by, high: high + by, whole: *whole }
            }
            _ => {
                let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
                Value::Between { low: low.zip(other_low).map(|(a, b)| a + b), high: high.zip(other_high).map(|(a, b)| a + b) }
            }
        }
    }

    /// The same with the other sign.
    pub fn negative(&self) -> Value {
        match self {
            Value::Known(formula) => Value::Known(-formula),
            Value::Drawn { low, high, whole } => Value::Drawn { low: -high, high: -low, whole: *whole },
            Value::Between { low, high } => Value::Between { low: high.as_ref().map(|high| -high), high: low.as_ref().map(|low| -low) },
            Value::Array(_) => Value::unknown(),
        }
    }

    /// The product.
    pub fn multiply(&self, other: &Value, facts: &Facts) -> Value {
        match (self, other) {
            (Value::Known(one), Value::Known(two)) => Value::Known(one * two),
            (Value::Known(by), value) | (value, Value::Known(by)) => value.scaled(by, facts),
            _ if self.is_nonnegative(facts) && other.is_nonnegative(facts) => {
                let high = self.bounds().1.zip(other.bounds().1).map(|(a, b)| a * b);
                Value::Between { low: Some(Formula::zero()), high }
            }
            _ => Value::unknown(),
        }
    }

    fn scaled(&self, by: &Formula, facts: &Facts) -> Value {
        if facts.is_nonnegative(by) {
            match self {
                // Multiples of whole numbers are no longer all whole numbers between their ends.
                Value::Drawn { low, high, whole: true } => Value::between(low * by, high * by),
                _ => self.map(|formula| formula * by),
            }
        } else if facts.is_nonnegative(&-by) {
            self.negative().scaled(&-by, facts)
        } else {
            Value::unknown()
        }
    }

    /// The quotient, with its fraction or without.
    pub fn divide(&self, other: &Value, whole: bool, facts: &Facts) -> Value {
        let Value::Known(by) = other else {
            let shrinks = self.is_nonnegative(facts) && other.bounds().0.is_some_and(|low| facts.is_positive(&low));
            return if shrinks { Value::Between { low: Some(Formula::zero()), high: self.bounds().1 } } else { Value::unknown() };
        };
        if by.is_zero() {
            return Value::unknown();
        }
        if !whole {
            return self.multiply(&Value::Known(by.power(-1)), facts);
        }
        match (self, by.as_exact()) {
            (_, Some(number)) if number.is_negative() => self.negative().divide(&Value::Known(-by), whole, facts),
            (Value::Known(over), _) => truncated(over, by, facts).map_or_else(Value::unknown, Value::Known),
            _ if self.is_nonnegative(facts) && facts.is_positive(by) => {
                let (low, high) = self.bounds();
                let rounded = |end: Formula| facts.floor(&(end * by.power(-1)));
                Value::Between { low: low.map(rounded), high: high.map(rounded) }
            }
            _ => Value::unknown(),
        }
    }

    /// What is left by a division of whole numbers.
    pub fn remainder(&self, other: &Value, facts: &Facts) -> Value {
        if let (Value::Known(over), Value::Known(by)) = (self, other)
            && let Some(quotient) = truncated(over, by, facts)
        {
            return Value::Known(over - &(by * &quotient));
        }
        let Some(most) = other.bounds().1.filter(|_| other.is_nonnegative(facts)).map(|high| high - Formula::one()) else {
            return Value::unknown();
        };
        let low = if self.is_nonnegative(facts) { Formula::zero() } else { -&most };
        Value::between(low, most)
    }

    /// What two numbers give bit by bit.
    pub fn bits(&self, how: Bits, other: &Value, facts: &Facts) -> Value {
        let number = |value: &Value| value.formula().and_then(Formula::as_exact).and_then(Rational::to_i64);
        match (how, number(self), number(other)) {
            (Bits::And, Some(one), Some(two)) => Value::number(one & two),
            (Bits::Or, Some(one), Some(two)) => Value::number(one | two),
            (Bits::Exclusive, Some(one), Some(two)) => Value::number(one ^ two),
            (Bits::And, Some(mask), None) => other.masked(mask, facts),
            (Bits::And, None, Some(mask)) => self.masked(mask, facts),
            _ => Value::unknown(),
        }
    }

    /// The bits of it that a mask has as well; those of a mask that is one less than a power of two are a remainder.
    fn masked(&self, mask: i64, facts: &Facts) -> Value {
        match mask.checked_add(1) {
            Some(by) if by > 0 && by & mask == 0 && self.is_nonnegative(facts) => self.remainder(&Value::number(by), facts),
            _ if mask >= 0 => Value::between(Formula::zero(), Formula::integer(mask)),
            _ => Value::unknown(),
        }
    }

    /// The larger of two, or the smaller.
    pub fn extreme(&self, other: &Value, larger: bool) -> Value {
        let pick = |one: Formula, two: Formula| if larger { Formula::max_of([one, two]) } else { Formula::min_of([one, two]) };
        if let (Value::Known(one), Value::Known(two)) = (self, other) {
            return Value::Known(pick(one.clone(), two.clone()));
        }
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        // One known side is enough for the bound that it sets by itself.
        let join = |one: Option<Formula>, two: Option<Formula>, either: bool| match (one, two) {
            (Some(one), Some(two)) => Some(pick(one, two)),
            (one, two) if either => one.or(two),
            _ => None,
        };
        Value::Between { low: join(low, other_low, larger), high: join(high, other_high, !larger) }
    }

    /// What is left when the fraction is dropped.
    pub fn truncate(&self, facts: &Facts) -> Value {
        match self {
            Value::Known(formula) if facts.is_whole(formula) => self.clone(),
            Value::Known(formula) => truncated(formula, &Formula::one(), facts).map_or_else(Value::unknown, Value::Known),
            Value::Drawn { low, high, whole: false } if facts.is_whole(low) && facts.is_whole(high) && facts.is_nonnegative(low) => {
                Value::Drawn { low: low.clone(), high: high - &Formula::one(), whole: true }
            }
            Value::Drawn { .. } | Value::Between { .. } if self.is_nonnegative(facts) => {
                let (low, high) = self.bounds();
                Value::Between { low: low.map(|low| facts.floor(&low)), high: high.map(|high| facts.floor(&high)) }
            }
            Value::Drawn { low, whole: true, .. } if facts.is_whole(low) => self.clone(),
            _ => Value::unknown(),
        }
    }

    /// Whether it is certainly not negative.
    pub fn is_nonnegative(&self, facts: &Facts) -> bool {
        self.bounds().0.is_some_and(|low| facts.is_nonnegative(&low))
    }

    /// Nothing, where a number is known to be beyond what its type holds.
    pub fn within(self, bits: u32) -> Value {
        let most = Rational::from(2).power(i64::from(bits) - 1);
        match (&self, most) {
            (Value::Known(formula), Some(most)) if formula.as_exact().is_some_and(|number| number.abs() > most) => Value::unknown(),
            _ => self,
        }
    }
}

/// A quotient without its fraction, whatever its sign; nothing where the sign of a divisor that is no number cannot be told.
fn truncated(over: &Formula, by: &Formula, facts: &Facts) -> Option<Formula> {
    let quotient = over * &by.power(-1);
    if facts.is_whole(&quotient) {
        return Some(quotient);
    }
    let positive = by.as_exact().map_or_else(|| facts.is_nonnegative(by), |number| !number.is_negative());
    if !positive {
        return None;
    }
    if facts.is_nonnegative(over) {
        return Some(quotient.floor());
    }
    let above = Formula::max_of([quotient.floor(), Formula::zero()]);
    if facts.is_positive(&(over + by)) {
        return Some(above);
    }
    Some(above + Formula::min_of([quotient.ceil(), Formula::zero()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_formula::Values;

    #[test]
    fn division_drops_the_fraction_for_either_sign() {
        let facts = Facts::default();
        let (n, m) = (Formula::symbol("n"), Formula::symbol("m"));
        let quotient = Value::known(&n - &m).divide(&Value::number(3), true, &facts);
        let remainder = Value::known(&n - &m).remainder(&Value::number(3), &facts);
        for (a, b) in (0..20).flat_map(|a| (0..20).map(move |b| (a, b))) {
            let at = Values::from([("n", f64::from(a)), ("m", f64::from(b))]);
            let value = |value: &Value| value.formula().expect("known").evaluate(&at).expect("a value");
            assert_eq!(value(&quotient), f64::from((a - b) / 3));
            assert_eq!(value(&remainder), f64::from((a - b) % 3));
        }
    }

    #[test]
    fn a_number_drawn_and_made_whole_is_drawn_among_whole_numbers() {
        let facts = Facts::default();
        let drawn = Value::Drawn { low: Formula::zero(), high: Formula::one(), whole: false };
        let die = drawn.multiply(&Value::number(6), &facts).truncate(&facts).add(&Value::number(1));
        assert_eq!(die, Value::Drawn { low: Formula::one(), high: Formula::integer(6), whole: true });
    }

    #[test]
    fn bounds_go_through_arithmetic() {
        let facts = Facts::default();
        let some = Value::between(Formula::zero(), Formula::symbol("n"));
        assert_eq!(some.add(&Value::number(2)), Value::between(Formula::integer(2), Formula::symbol("n") + Formula::integer(2)));
        assert_eq!(Value::unknown().remainder(&Value::number(7), &facts), Value::between(Formula::integer(-6), Formula::integer(6)));
        assert_eq!(Value::unknown().extreme(&Value::number(7), false), Value::Between { low: None, high: Some(Formula::integer(7)) });
    }
}
