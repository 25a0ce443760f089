//! Assumptions about symbols at a point of the program, and what follows from them.
//!
//! Inside a loop its index lies between 1 and the trip count, which is a formula itself. An inequality that is affine in an index holds in
//! all iterations if it holds in the first and the last one, so indexes are eliminated one by one until the domain of the other symbols
//! decides.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use serde_json::Value as Json;
use sintonia_formula::{Domain, Formula, Interval, Rational};

/// How many indexes are eliminated: each may double the work.
const MAX_INDEXES: usize = 5;
/// Larger formulas are not analysed.
const MAX_SIZE: u64 = 400;

/// Assumptions about symbols.
#[derive(Debug, Default)]
pub struct Assumptions {
    /// The ranges of symbols other than indexes.
    pub domain: Domain,
    /// Symbols that may be fractional.
    pub fractional: BTreeSet<String>,
    /// The enclosing loops, the outermost first: index and last iteration.
    loops: Vec<(String, Formula)>,
    /// Cached results, valid for the current loops.
    cache: RefCell<HashMap<Formula, bool>>,
}

impl Assumptions {
    /// Enters a loop whose index runs from 1 to `last`.
    pub fn enter_loop(&mut self, index: &str, last: Formula) {
        self.domain = std::mem::take(&mut self.domain).with_range(index, Interval::new(1.0, f64::INFINITY).unwrap_or(Interval::point(1.0)));
        self.loops.push((index.to_owned(), last));
        self.cache.get_mut().clear();
    }

    /// Leaves the innermost loop and returns its index.
    pub fn exit_loop(&mut self) -> Option<String> {
        self.cache.get_mut().clear();
        self.loops.pop().map(|(index, _)| index)
    }

    /// The innermost loop on whose index a formula depends, with its last iteration.
    pub fn innermost_loop(&self, formula: &Formula) -> Option<(&str, &Formula)> {
        let symbols = formula.symbols();
        self.loops.iter().rev().find(|(index, _)| symbols.contains(index)).map(|(index, last)| (index.as_str(), last))
    }

    /// The last iteration of the innermost loop.
    pub fn last_iteration(&self) -> Option<&Formula> {
        self.loops.last().map(|(_, last)| last)
    }

    /// Whether a formula is provably nonnegative.
    pub fn is_nonnegative(&self, formula: &Formula) -> bool {
        if let Some(number) = formula.as_exact() {
            return !number.is_negative();
        }
        if formula.size() > MAX_SIZE {
            return false;
        }
        if let Some(known) = self.cache.borrow().get(formula) {
            return *known;
        }
        let result = self.prove_nonnegative(formula, MAX_INDEXES);
        self.cache.borrow_mut().insert(formula.clone(), result);
        result
    }

    fn prove_nonnegative(&self, formula: &Formula, left: usize) -> bool {
        if self.is_nonnegative_by_form(formula) {
            return true;
        }
        let Some((index, last)) = self.innermost_loop(formula).filter(|_| left > 0) else { return false };
        let Some(line) = AffineForm::from_formula(formula, index) else { return false };
        let ends = match line.slope.as_exact().map(Rational::sign) {
            Some(Ordering::Less) => vec![last.clone()],
            Some(_) => vec![Formula::one()],
            None => vec![last.clone(), Formula::one()],
        };
        ends.iter().all(|end| self.prove_nonnegative(&line.at(end), left - 1))
    }

    /// Whether the signs of the terms show that a formula is nonnegative, with every symbol at least at its lower bound. The expensive
    /// comparison is only worthwhile if a range has an upper bound.
    fn is_nonnegative_by_form(&self, formula: &Formula) -> bool {
        let mut shifted = formula.clone();
        let mut bounded = false;
        for symbol in formula.symbols() {
            let range = self.domain.range(&symbol);
            bounded |= range.high().is_finite();
            if range.low() != 0.0 {
                shifted = shifted.substitute(&symbol, &(Formula::symbol(&symbol) + Formula::decimal(range.low())));
            }
        }
        Formula::max_of([shifted.clone(), Formula::zero()]) == shifted
            || bounded && matches!(formula.compare(&Formula::zero(), &self.domain), Some(Ordering::Greater | Ordering::Equal))
    }

    /// Whether a formula is provably positive.
    pub fn is_positive(&self, formula: &Formula) -> bool {
        match formula.as_exact() {
            Some(number) => number.sign() == Ordering::Greater,
            None if self.is_integer(formula) => self.is_nonnegative(&(formula - &Formula::one())),
            None => false,
        }
    }

    /// Whether the structure of a formula shows that it is an integer.
    pub fn is_integer(&self, formula: &Formula) -> bool {
        match formula.as_exact() {
            Some(number) => number.is_integer(),
            None => formula.size() <= MAX_SIZE && self.is_integer_tree(&formula.to_json()),
        }
    }

    fn is_integer_tree(&self, tree: &Json) -> bool {
        let Some((key, inside)) = tree.as_object().and_then(|object| object.iter().next()) else { return false };
        let all = || inside.as_array().is_some_and(|list| list.iter().all(|part| self.is_integer_tree(part)));
        match key.as_str() {
            "number" => inside.as_str().and_then(Rational::parse).is_some_and(|number| number.is_integer()),
            "symbol" => inside.as_str().is_some_and(|name| !self.fractional.contains(name)),
            "add" | "negative" | "multiply" | "max" | "min" => all(),
            "ceil" | "floor" => true,
            "power" => {
                let exponent = inside.get(1).and_then(|part| part.get("number")).and_then(Json::as_str).and_then(Rational::parse);
                exponent.is_some_and(|number| number.is_integer() && !number.is_negative())
                    && all_but_last(inside, |part| self.is_integer_tree(part))
            }
            _ => false,
        }
    }

    /// A formula rounded down; unchanged if it is an integer.
    pub fn floor(&self, formula: &Formula) -> Formula {
        if self.is_integer(formula) { formula.clone() } else { formula.floor() }
    }

    /// A formula rounded up; unchanged if it is an integer.
    pub fn ceil(&self, formula: &Formula) -> Formula {
        if self.is_integer(formula) { formula.clone() } else { formula.ceil() }
    }

    /// The maximum of a formula and zero.
    pub fn max_with_zero(&self, formula: Formula) -> Formula {
        if self.is_nonnegative(&formula) { formula } else { Formula::max_of([formula, Formula::zero()]) }
    }

    /// The maximum of a formula and one.
    pub fn max_with_one(&self, formula: &Formula) -> Formula {
        if self.is_nonnegative(&(formula - &Formula::one())) { formula.clone() } else { Formula::max_of([formula.clone(), Formula::one()]) }
    }
}

fn all_but_last(list: &Json, holds: impl Fn(&Json) -> bool) -> bool {
    list.as_array().is_some_and(|list| list.split_last().is_some_and(|(_, rest)| rest.iter().all(holds)))
}

/// A formula as an affine function of one symbol.
#[derive(Debug, Clone, PartialEq)]
pub struct AffineForm {
    /// The value at zero.
    pub intercept: Formula,
    /// The increase per step of the symbol.
    pub slope: Formula,
}

impl AffineForm {
    /// The affine form of a formula in a symbol, if it is affine.
    pub fn from_formula(formula: &Formula, symbol: &str) -> Option<AffineForm> {
        let next = Formula::symbol(symbol) + Formula::one();
        let slope = formula.substitute(symbol, &next) - formula.clone();
        let start = formula.substitute(symbol, &Formula::zero());
        let line = AffineForm { intercept: start, slope };
        (!line.slope.symbols().contains(symbol) && (formula - &line.at(&Formula::symbol(symbol))).is_zero()).then_some(line)
    }

    /// The value at a point.
    pub fn at(&self, place: &Formula) -> Formula {
        &self.intercept + &(&self.slope * place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(text: &str) -> Formula {
        text.parse().expect("a formula")
    }

    #[test]
    fn an_index_lies_between_one_and_its_last_round() {
        let mut facts = Assumptions::default();
        facts.enter_loop("i", formula("n"));
        facts.enter_loop("j", formula("n - i"));
        assert!(facts.is_nonnegative(&formula("n - i")) && facts.is_nonnegative(&formula("n - i - j")) && facts.is_positive(&formula("i")));
        assert!(!facts.is_nonnegative(&formula("n - i - j - 1")));
        facts.exit_loop();
        facts.exit_loop();
        assert!(!facts.is_nonnegative(&formula("n - i")));
    }

    #[test]
    fn what_is_built_of_whole_numbers_is_whole() {
        let mut facts = Assumptions::default();
        facts.fractional.insert("x".to_owned());
        assert!(["n^2 + 3*n - 1", "floor(n/2)", "max(n, 2*p)"].iter().all(|text| facts.is_integer(&formula(text))));
        assert!(["n/2", "x", "sqrt(n)", "1/n", "n^(1/2)", "[1, 2]"].iter().all(|text| !facts.is_integer(&formula(text))));
    }
}
