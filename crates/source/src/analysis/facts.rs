//! What is known of the symbols at a place in the program, and what follows from it.
//!
//! Inside a loop its index lies between 1 and the number of rounds, which is a formula itself. A statement that is affine in an index holds in
//! all rounds where it holds in the first and in the last, so indexes are taken out one by one until the domain of the rest decides.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use serde_json::Value as Json;
use sintonia_formula::{Domain, Formula, Interval, Rational};

/// How many indexes are taken out of a statement: each may double the work.
const MOST_INDEXES: usize = 5;
/// Formulas that take more operations to write down are no longer followed.
const MOST_SIZE: u64 = 400;

/// What is known of symbols.
#[derive(Debug, Default)]
pub struct Facts {
    /// Where symbols lie that are no indexes.
    pub domain: Domain,
    /// Symbols that need not be whole.
    pub fractional: BTreeSet<String>,
    /// The loops around, the outermost first: the name of the index, and the last round.
    loops: Vec<(String, Formula)>,
    /// What was decided already, with these loops around.
    decided: RefCell<HashMap<Formula, bool>>,
}

impl Facts {
    /// Enters a loop whose index runs from 1 to `last`.
    pub fn open(&mut self, index: &str, last: Formula) {
        self.domain = std::mem::take(&mut self.domain).with(index, Interval::new(1.0, f64::INFINITY).unwrap_or(Interval::point(1.0)));
        self.loops.push((index.to_owned(), last));
        self.decided.get_mut().clear();
    }

    /// Leaves the innermost loop and gives the name of its index.
    pub fn close(&mut self) -> Option<String> {
        self.decided.get_mut().clear();
        self.loops.pop().map(|(index, _)| index)
    }

    /// The innermost loop whose index a formula depends on, with its last round.
    pub fn innermost(&self, formula: &Formula) -> Option<(&str, &Formula)> {
        let symbols = formula.symbols();
        self.loops.iter().rev().find(|(index, _)| symbols.contains(index)).map(|(index, last)| (index.as_str(), last))
    }

    /// The last round of the innermost loop.
    pub fn last_round(&self) -> Option<&Formula> {
        self.loops.last().map(|(_, last)| last)
    }

    /// Whether a formula is certainly not negative.
    pub fn is_nonnegative(&self, formula: &Formula) -> bool {
        if let Some(number) = formula.as_exact() {
            return !number.is_negative();
        }
        if formula.size() > MOST_SIZE {
            return false;
        }
        if let Some(known) = self.decided.borrow().get(formula) {
            return *known;
        }
        let result = self.decide(formula, MOST_INDEXES);
        self.decided.borrow_mut().insert(formula.clone(), result);
        result
    }

    fn decide(&self, formula: &Formula, left: usize) -> bool {
        if self.is_nonnegative_by_form(formula) {
            return true;
        }
        let Some((index, last)) = self.innermost(formula).filter(|_| left > 0) else { return false };
        let Some(line) = Line::of(formula, index) else { return false };
        let ends = match line.slope.as_exact().map(Rational::sign) {
            Some(Ordering::Less) => vec![last.clone()],
            Some(_) => vec![Formula::one()],
            None => vec![last.clone(), Formula::one()],
        };
        ends.iter().all(|end| self.decide(&line.at(end), left - 1))
    }

    /// Whether the terms of a formula show that it is not negative where every symbol is at least the lower end of its range. Only where a
    /// range has an upper end as well, more than a look at the form is worth its time.
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

    /// Whether a formula is certainly above zero, for whole formulas and for others.
    pub fn is_positive(&self, formula: &Formula) -> bool {
        match formula.as_exact() {
            Some(number) => number.sign() == Ordering::Greater,
            None if self.is_whole(formula) => self.is_nonnegative(&(formula - &Formula::one())),
            None => false,
        }
    }

    /// Whether a formula has whole values only, as far as its form shows.
    pub fn is_whole(&self, formula: &Formula) -> bool {
        match formula.as_exact() {
            Some(number) => number.is_whole(),
            None => formula.size() <= MOST_SIZE && self.whole(&formula.to_json()),
        }
    }

    fn whole(&self, tree: &Json) -> bool {
        let Some((key, inside)) = tree.as_object().and_then(|object| object.iter().next()) else { return false };
        let all = || inside.as_array().is_some_and(|list| list.iter().all(|part| self.whole(part)));
        match key.as_str() {
            "number" => inside.as_str().and_then(Rational::parse).is_some_and(|number| number.is_whole()),
            "symbol" => inside.as_str().is_some_and(|name| !self.fractional.contains(name)),
            "add" | "negative" | "multiply" | "max" | "min" => all(),
            "ceil" | "floor" => true,
            "power" => {
                let exponent = inside.get(1).and_then(|part| part.get("number")).and_then(Json::as_str).and_then(Rational::parse);
                exponent.is_some_and(|number| number.is_whole() && !number.is_negative()) && all_but_last(inside, |part| self.whole(part))
            }
            _ => false,
        }
    }

    /// A formula rounded down; itself where it is whole.
    pub fn floor(&self, formula: &Formula) -> Formula {
        if self.is_whole(formula) { formula.clone() } else { formula.floor() }
    }

    /// A formula rounded up; itself where it is whole.
    pub fn ceil(&self, formula: &Formula) -> Formula {
        if self.is_whole(formula) { formula.clone() } else { formula.ceil() }
    }

    /// The larger of a formula and zero.
    pub fn at_least_zero(&self, formula: Formula) -> Formula {
        if self.is_nonnegative(&formula) { formula } else { Formula::max_of([formula, Formula::zero()]) }
    }

    /// The larger of a formula and one.
    pub fn at_least_one(&self, formula: &Formula) -> Formula {
        if self.is_nonnegative(&(formula - &Formula::one())) { formula.clone() } else { Formula::max_of([formula.clone(), Formula::one()]) }
    }
}

fn all_but_last(list: &Json, holds: impl Fn(&Json) -> bool) -> bool {
    list.as_array().is_some_and(|list| list.split_last().is_some_and(|(_, rest)| rest.iter().all(holds)))
}

/// A formula as a line over one symbol.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is where the symbol is zero.
    pub start: Formula,
    /// How much it grows with each step of the symbol.
    pub slope: Formula,
}

impl Line {
    /// The line that a formula is over a symbol, if it is one.
    pub fn of(formula: &Formula, symbol: &str) -> Option<Line> {
        let next = Formula::symbol(symbol) + Formula::one();
        let slope = formula.substitute(symbol, &next) - formula.clone();
        let start = formula.substitute(symbol, &Formula::zero());
        let line = Line { start, slope };
        (!line.slope.symbols().contains(symbol) && (formula - &line.at(&Formula::symbol(symbol))).is_zero()).then_some(line)
    }

    /// Its value.
    pub fn at(&self, place: &Formula) -> Formula {
        &self.start + &(&self.slope * place)
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
        let mut facts = Facts::default();
        facts.open("i", formula("n"));
        facts.open("j", formula("n - i"));
        assert!(facts.is_nonnegative(&formula("n - i")) && facts.is_nonnegative(&formula("n - i - j")) && facts.is_positive(&formula("i")));
        assert!(!facts.is_nonnegative(&formula("n - i - j - 1")));
        facts.close();
        facts.close();
        assert!(!facts.is_nonnegative(&formula("n - i")));
    }

    #[test]
    fn what_is_built_of_whole_numbers_is_whole() {
        let mut facts = Facts::default();
        facts.fractional.insert("x".to_owned());
        assert!(["n^2 + 3*n - 1", "floor(n/2)", "max(n, 2*p)"].iter().all(|text| facts.is_whole(&formula(text))));
        assert!(["n/2", "x", "sqrt(n)", "1/n", "n^(1/2)", "[1, 2]"].iter().all(|text| !facts.is_whole(&formula(text))));
    }
}
