//! Abstract values: a formula, bounds, or unknown.
//!
//! Arithmetic is that of the program's types: integer division truncates. Overflow is not modelled; a value that certainly overflows is
//! unknown.

use sintonia_formula::{Formula, Rational};

use super::assumptions::Assumptions;
use crate::ir::BitwiseOp;

/// What is known about a value.
#[derive(Debug, Clone, PartialEq)]
pub enum AbstractValue {
    /// Its exact formula.
    Exact(Formula),
    /// Bounds; a missing bound is unknown.
    Bounded {
        /// The lower bound.
        low: Option<Formula>,
        /// The upper bound.
        high: Option<Formula>,
    },
    /// A uniformly distributed random number.
    Uniform {
        /// The lower bound.
        low: Formula,
        /// The upper bound, exclusive unless only integers are drawn.
        high: Formula,
        /// Whether only integers are drawn.
        whole: bool,
    },
    /// An array, by its length in each dimension.
    Array(Vec<Option<Formula>>),
}

impl AbstractValue {
    /// An unknown value.
    pub fn unknown() -> AbstractValue {
        AbstractValue::Bounded { low: None, high: None }
    }

    /// A value with an exact formula.
    pub fn exact(formula: Formula) -> AbstractValue {
        AbstractValue::Exact(formula)
    }

    /// A constant.
    pub fn number(number: i64) -> AbstractValue {
        AbstractValue::Exact(Formula::integer(number))
    }

    /// A value between two bounds.
    pub fn bounded(low: Formula, high: Formula) -> AbstractValue {
        if low == high { AbstractValue::Exact(low) } else { AbstractValue::Bounded { low: Some(low), high: Some(high) } }
    }

    /// The exact formula, if known.
    pub fn formula(&self) -> Option<&Formula> {
        match self {
            AbstractValue::Exact(formula) => Some(formula),
            _ => None,
        }
    }

    /// The value as a formula, with an interval coefficient if only bounds are known.
    pub fn formula_or_interval(&self) -> Option<Formula> {
        match self {
            AbstractValue::Exact(formula) => Some(formula.clone()),
            AbstractValue::Bounded { low: Some(low), high: Some(high) } => Some(low + &(Formula::interval(0.0, 1.0) * (high - low))),
            _ => None,
        }
    }

    /// The lower and upper bounds.
    pub fn bounds(&self) -> (Option<Formula>, Option<Formula>) {
        match self {
            AbstractValue::Exact(formula) => (Some(formula.clone()), Some(formula.clone())),
            AbstractValue::Bounded { low, high } => (low.clone(), high.clone()),
            AbstractValue::Uniform { low, high, .. } => (Some(low.clone()), Some(high.clone())),
            AbstractValue::Array(_) => (None, None),
        }
    }

    /// Applies a function to all formulas in it.
    pub fn map(&self, change: impl Fn(&Formula) -> Formula) -> AbstractValue {
        match self {
            AbstractValue::Exact(formula) => AbstractValue::Exact(change(formula)),
            AbstractValue::Bounded { low, high } => {
                AbstractValue::Bounded { low: low.as_ref().map(&change), high: high.as_ref().map(&change) }
            }
            AbstractValue::Uniform { low, high, whole } => AbstractValue::Uniform { low: change(low), high: change(high), whole: *whole },
            AbstractValue::Array(lengths) => AbstractValue::Array(lengths.iter().map(|length| length.as_ref().map(&change)).collect()),
        }
    }

    /// Whether it depends on a symbol.
    pub fn depends_on(&self, symbol: &str) -> bool {
        let has = |formula: &Option<Formula>| formula.as_ref().is_some_and(|formula| formula.symbols().contains(symbol));
        match self {
            AbstractValue::Array(lengths) => lengths.iter().any(has),
            _ => {
                let (low, high) = self.bounds();
                has(&low) || has(&high)
            }
        }
    }

    /// The join of two control flow paths.
    pub fn join(&self, other: &AbstractValue, facts: &Assumptions) -> AbstractValue {
        if self == other {
            return self.clone();
        }
        if let (AbstractValue::Array(one), AbstractValue::Array(two)) = (self, other) {
            return AbstractValue::Array(one.iter().zip(two).map(|(one, two)| if one == two { one.clone() } else { None }).collect());
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
        AbstractValue::Bounded { low: join(low, other_low, true), high: join(high, other_high, false) }
    }

    /// The sum.
    pub fn add(&self, other: &AbstractValue) -> AbstractValue {
        match (self, other) {
            (AbstractValue::Exact(one), AbstractValue::Exact(two)) => AbstractValue::Exact(one + two),
            (AbstractValue::Uniform { low, high, whole }, AbstractValue::Exact(by))
            | (AbstractValue::Exact(by), AbstractValue::Uniform { low, high, whole }) => {
                AbstractValue::Uniform { low: low + by, high: high + by, whole: *whole }
            }
            _ => {
                let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
                AbstractValue::Bounded { low: low.zip(other_low).map(|(a, b)| a + b), high: high.zip(other_high).map(|(a, b)| a + b) }
            }
        }
    }

    /// The negated value.
    pub fn negate(&self) -> AbstractValue {
        match self {
            AbstractValue::Exact(formula) => AbstractValue::Exact(-formula),
            AbstractValue::Uniform { low, high, whole } => AbstractValue::Uniform { low: -high, high: -low, whole: *whole },
            AbstractValue::Bounded { low, high } => {
                AbstractValue::Bounded { low: high.as_ref().map(|high| -high), high: low.as_ref().map(|low| -low) }
            }
            AbstractValue::Array(_) => AbstractValue::unknown(),
        }
    }

    /// The product.
    pub fn multiply(&self, other: &AbstractValue, facts: &Assumptions) -> AbstractValue {
        match (self, other) {
            (AbstractValue::Exact(one), AbstractValue::Exact(two)) => AbstractValue::Exact(one * two),
            (AbstractValue::Exact(by), value) | (value, AbstractValue::Exact(by)) => value.scaled(by, facts),
            _ if self.is_nonnegative(facts) && other.is_nonnegative(facts) => {
                let high = self.bounds().1.zip(other.bounds().1).map(|(a, b)| a * b);
                AbstractValue::Bounded { low: Some(Formula::zero()), high }
            }
            _ => AbstractValue::unknown(),
        }
    }

    fn scaled(&self, by: &Formula, facts: &Assumptions) -> AbstractValue {
        if facts.is_nonnegative(by) {
            match self {
                // Multiples of integers are not all integers between their bounds.
                AbstractValue::Uniform { low, high, whole: true } => AbstractValue::bounded(low * by, high * by),
                _ => self.map(|formula| formula * by),
            }
        } else if facts.is_nonnegative(&-by) {
            self.negate().scaled(&-by, facts)
        } else {
            AbstractValue::unknown()
        }
    }

    /// The quotient; truncated if `whole`.
    pub fn divide(&self, other: &AbstractValue, whole: bool, facts: &Assumptions) -> AbstractValue {
        let AbstractValue::Exact(by) = other else {
            let shrinks = self.is_nonnegative(facts) && other.bounds().0.is_some_and(|low| facts.is_positive(&low));
            return if shrinks {
                AbstractValue::Bounded { low: Some(Formula::zero()), high: self.bounds().1 }
            } else {
                AbstractValue::unknown()
            };
        };
        if by.is_zero() {
            return AbstractValue::unknown();
        }
        if !whole {
            return self.multiply(&AbstractValue::Exact(by.power(-1)), facts);
        }
        match (self, by.as_exact()) {
            (_, Some(number)) if number.is_negative() => self.negate().divide(&AbstractValue::Exact(-by), whole, facts),
            (AbstractValue::Exact(over), _) => {
                truncated_quotient(over, by, facts).map_or_else(AbstractValue::unknown, AbstractValue::Exact)
            }
            _ if self.is_nonnegative(facts) && facts.is_positive(by) => {
                let (low, high) = self.bounds();
                let rounded = |end: Formula| facts.floor(&(end * by.power(-1)));
                AbstractValue::Bounded { low: low.map(rounded), high: high.map(rounded) }
            }
            _ => AbstractValue::unknown(),
        }
    }

    /// The remainder of an integer division.
    pub fn remainder(&self, other: &AbstractValue, facts: &Assumptions) -> AbstractValue {
        if let (AbstractValue::Exact(over), AbstractValue::Exact(by)) = (self, other)
            && let Some(quotient) = truncated_quotient(over, by, facts)
        {
            return AbstractValue::Exact(over - &(by * &quotient));
        }
        let Some(most) = other.bounds().1.filter(|_| other.is_nonnegative(facts)).map(|high| high - Formula::one()) else {
            return AbstractValue::unknown();
        };
        let low = if self.is_nonnegative(facts) { Formula::zero() } else { -&most };
        AbstractValue::bounded(low, most)
    }

    /// The result of a bitwise operation.
    pub fn bits(&self, how: BitwiseOp, other: &AbstractValue, facts: &Assumptions) -> AbstractValue {
        let number = |value: &AbstractValue| value.formula().and_then(Formula::as_exact).and_then(Rational::to_i64);
        match (how, number(self), number(other)) {
            (BitwiseOp::And, Some(one), Some(two)) => AbstractValue::number(one & two),
            (BitwiseOp::Or, Some(one), Some(two)) => AbstractValue::number(one | two),
            (BitwiseOp::Xor, Some(one), Some(two)) => AbstractValue::number(one ^ two),
            (BitwiseOp::And, Some(mask), None) => other.masked(mask, facts),
            (BitwiseOp::And, None, Some(mask)) => self.masked(mask, facts),
            _ => AbstractValue::unknown(),
        }
    }

    /// The bits under a mask; for a mask of one less than a power of two they are a remainder.
    fn masked(&self, mask: i64, facts: &Assumptions) -> AbstractValue {
        match mask.checked_add(1) {
            Some(by) if by > 0 && by & mask == 0 && self.is_nonnegative(facts) => self.remainder(&AbstractValue::number(by), facts),
            _ if mask >= 0 => AbstractValue::bounded(Formula::zero(), Formula::integer(mask)),
            _ => AbstractValue::unknown(),
        }
    }

    /// The maximum or minimum.
    pub fn extreme(&self, other: &AbstractValue, larger: bool) -> AbstractValue {
        let pick = |one: Formula, two: Formula| if larger { Formula::max_of([one, two]) } else { Formula::min_of([one, two]) };
        if let (AbstractValue::Exact(one), AbstractValue::Exact(two)) = (self, other) {
            return AbstractValue::Exact(pick(one.clone(), two.clone()));
        }
        let ((low, high), (other_low, other_high)) = (self.bounds(), other.bounds());
        // One known operand is enough for the bound that it implies by itself.
        let join = |one: Option<Formula>, two: Option<Formula>, either: bool| match (one, two) {
            (Some(one), Some(two)) => Some(pick(one, two)),
            (one, two) if either => one.or(two),
            _ => None,
        };
        AbstractValue::Bounded { low: join(low, other_low, larger), high: join(high, other_high, !larger) }
    }

    /// The value truncated to an integer.
    pub fn truncate(&self, facts: &Assumptions) -> AbstractValue {
        match self {
            AbstractValue::Exact(formula) if facts.is_integer(formula) => self.clone(),
            AbstractValue::Exact(formula) => {
                truncated_quotient(formula, &Formula::one(), facts).map_or_else(AbstractValue::unknown, AbstractValue::Exact)
            }
            AbstractValue::Uniform { low, high, whole: false }
                if facts.is_integer(low) && facts.is_integer(high) && facts.is_nonnegative(low) =>
            {
                AbstractValue::Uniform { low: low.clone(), high: high - &Formula::one(), whole: true }
            }
            AbstractValue::Uniform { .. } | AbstractValue::Bounded { .. } if self.is_nonnegative(facts) => {
                let (low, high) = self.bounds();
                AbstractValue::Bounded { low: low.map(|low| facts.floor(&low)), high: high.map(|high| facts.floor(&high)) }
            }
            AbstractValue::Uniform { low, whole: true, .. } if facts.is_integer(low) => self.clone(),
            _ => AbstractValue::unknown(),
        }
    }

    /// Whether it is provably nonnegative.
    pub fn is_nonnegative(&self, facts: &Assumptions) -> bool {
        self.bounds().0.is_some_and(|low| facts.is_nonnegative(&low))
    }

    /// Unknown if it certainly overflows its type.
    pub fn checked_width(self, bits: u32) -> AbstractValue {
        let most = Rational::from(2).power(i64::from(bits) - 1);
        match (&self, most) {
            (AbstractValue::Exact(formula), Some(most)) if formula.as_exact().is_some_and(|number| number.abs() > most) => {
                AbstractValue::unknown()
            }
            _ => self,
        }
    }
}

/// A truncated quotient of any sign; `None` if the sign of a symbolic divisor is unknown.
fn truncated_quotient(over: &Formula, by: &Formula, facts: &Assumptions) -> Option<Formula> {
    let quotient = over * &by.power(-1);
    if facts.is_integer(&quotient) {
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
    use sintonia_formula::SymbolValues;

    #[test]
    fn division_drops_the_fraction_for_either_sign() {
        let facts = Assumptions::default();
        let (n, m) = (Formula::symbol("n"), Formula::symbol("m"));
        let quotient = AbstractValue::exact(&n - &m).divide(&AbstractValue::number(3), true, &facts);
        let remainder = AbstractValue::exact(&n - &m).remainder(&AbstractValue::number(3), &facts);
        for (a, b) in (0..20).flat_map(|a| (0..20).map(move |b| (a, b))) {
            let at = SymbolValues::from([("n", f64::from(a)), ("m", f64::from(b))]);
            let value = |value: &AbstractValue| value.formula().expect("known").evaluate(&at).expect("a value");
            assert_eq!(value(&quotient), f64::from((a - b) / 3));
            assert_eq!(value(&remainder), f64::from((a - b) % 3));
        }
    }

    #[test]
    fn a_number_drawn_and_made_whole_is_drawn_among_whole_numbers() {
        let facts = Assumptions::default();
        let drawn = AbstractValue::Uniform { low: Formula::zero(), high: Formula::one(), whole: false };
        let die = drawn.multiply(&AbstractValue::number(6), &facts).truncate(&facts).add(&AbstractValue::number(1));
        assert_eq!(die, AbstractValue::Uniform { low: Formula::one(), high: Formula::integer(6), whole: true });
    }

    #[test]
    fn bounds_go_through_arithmetic() {
        let facts = Assumptions::default();
        let some = AbstractValue::bounded(Formula::zero(), Formula::symbol("n"));
        assert_eq!(
            some.add(&AbstractValue::number(2)),
            AbstractValue::bounded(Formula::integer(2), Formula::symbol("n") + Formula::integer(2))
        );
        assert_eq!(
            AbstractValue::unknown().remainder(&AbstractValue::number(7), &facts),
            AbstractValue::bounded(Formula::integer(-6), Formula::integer(6))
        );
        assert_eq!(
            AbstractValue::unknown().extreme(&AbstractValue::number(7), false),
            AbstractValue::Bounded { low: None, high: Some(Formula::integer(7)) }
        );
    }
}
