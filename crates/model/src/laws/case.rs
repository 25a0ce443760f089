//! A law with values for its symbols.

use std::collections::BTreeMap;

use sintonia_formula::{Formula, Interval, Undefined, Values};
use thiserror::Error;

use super::{Law, Quantity};

/// A law with values for some of its symbols.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    law: &'static Law,
    values: BTreeMap<&'static str, Interval>,
}

/// A value that a law cannot have.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BadValue {
    /// The law has no such symbol.
    #[error("{law} has no `{name}`; it has {known}")]
    NoSuchSymbol {
        /// The law.
        law: &'static str,
        /// What it was asked for.
        name: String,
        /// What it has.
        known: String,
    },
    /// A symbol has two values.
    #[error("`{0}` is given twice")]
    Twice(&'static str),
    /// The symbol cannot have this value.
    #[error("`{name}` ({means}) is {value}: it must be from 0 to {most}")]
    OutOfRange {
        /// The symbol.
        name: &'static str,
        /// What it is.
        means: &'static str,
        /// What it should have been.
        value: f64,
        /// The largest value it can have.
        most: f64,
    },
}

/// Why a law does not answer.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Unanswered {
    /// It says nothing about that.
    #[error("{law} says nothing about {symbol}")]
    NoEquation {
        /// The law.
        law: &'static str,
        /// The symbol of what was asked for.
        symbol: &'static str,
    },
    /// Values are missing.
    #[error("{law} needs {missing} for {symbol}")]
    Missing {
        /// The law.
        law: &'static str,
        /// The symbol of what was asked for.
        symbol: &'static str,
        /// What has no value.
        missing: String,
    },
    /// Its formula has no value there.
    #[error("{law} has no value for {symbol} there: {undefined}")]
    Undefined {
        /// The law.
        law: &'static str,
        /// The symbol of what was asked for.
        symbol: &'static str,
        /// Why.
        undefined: Undefined,
    },
}

impl Law {
    /// The law with values for symbols, under any name by which the law knows them.
    pub fn with<'a>(&'static self, values: impl IntoIterator<Item = (&'a str, Interval)>) -> Result<Case, BadValue> {
        let mut case = Case { law: self, values: BTreeMap::new() };
        for (name, value) in values {
            let Some(symbol) = self.symbol(name) else {
                let known: Vec<&str> = self.symbols.iter().map(|symbol| symbol.also.first().copied().unwrap_or(symbol.name)).collect();
                return Err(BadValue::NoSuchSymbol { law: self.title, name: name.to_owned(), known: known.join(", ") });
            };
            for end in [value.low(), value.high()] {
                if !(0.0..=symbol.most).contains(&end) {
                    return Err(BadValue::OutOfRange { name: symbol.name, means: symbol.means, value: end, most: symbol.most });
                }
            }
            if case.values.insert(symbol.name, value).is_some() {
                return Err(BadValue::Twice(symbol.name));
            }
        }
        Ok(case)
    }

    /// A symbol with the name that commands know it by.
    fn known_as(&self, name: &str) -> String {
        match self.symbol(name).and_then(|symbol| symbol.also.first()) {
            Some(also) => format!("{name} ({also})"),
            None => name.to_owned(),
        }
    }

    /// The formula of a quantity in terms of what has values: other symbols are replaced by what the law says they are.
    fn resolved(&self, of: Quantity, has_value: impl Fn(&str) -> bool) -> Option<Formula> {
        let mut formula = self.formula(of)?;
        let definitions = [Quantity::Granularity, Quantity::Tasks, Quantity::Overhead, Quantity::MessageSize, Quantity::TasksPerNode];
        for definition in definitions.into_iter().filter(|quantity| !has_value(quantity.symbol())) {
            if let Some(meaning) = self.formula(definition) {
                formula = formula.substitute(definition.symbol(), &meaning);
            }
        }
        Some(formula)
    }
}

impl Case {
    /// The law.
    pub fn law(&self) -> &'static Law {
        self.law
    }

    /// The formula of a quantity with all values in it; what has none, as the number of nodes, stays a symbol.
    pub fn formula(&self, of: Quantity) -> Result<Formula, Unanswered> {
        let mut formula = self.resolved(of, &[])?;
        for (symbol, value) in &self.values {
            let exact = value.low() == value.high();
            let number = if exact { Formula::decimal(value.low()) } else { Formula::between(value.low(), value.high()) };
            formula = formula.substitute(symbol, &number);
        }
        Ok(formula)
    }

    /// The value of a quantity where the symbols that are still free, as the number of nodes, have these values.
    ///
    /// Each formula of a law rises or falls with each of its symbols all the way, so its extremes lie at the ends of their intervals: the
    /// result is as narrow as it can be.
    pub fn at(&self, of: Quantity, free: &[(&str, f64)]) -> Result<Interval, Unanswered> {
        let (law, symbol) = (self.law.title, of.symbol());
        // What has a value is not computed from others, which may know less of it.
        if let Some(known) = self.values.get(symbol).filter(|_| self.law.equation(of).is_some()) {
            return Ok(*known);
        }
        let formula = self.resolved(of, free)?;
        let ends = |name: &str| {
            let given = free.iter().find(|(symbol, _)| *symbol == name).map(|(_, value)| (*value, *value));
            given.or_else(|| self.values.get(name).map(|value| (value.low(), value.high())))
        };
        let symbols = formula.symbols();
        let missing: Vec<String> = symbols.iter().filter(|name| ends(name).is_none()).map(|name| self.law.known_as(name)).collect();
        if !missing.is_empty() {
            return Err(Unanswered::Missing { law, symbol, missing: missing.join(", ") });
        }
        let mut corners = vec![Values::new()];
        for name in &symbols {
            let Some((low, high)) = ends(name) else { continue };
            let with = |end: f64| corners.iter().map(move |corner: &Values<Interval>| corner.clone().with(name, Interval::point(end)));
            corners = if low == high { with(low).collect() } else { with(low).chain(with(high)).collect() };
        }
        let mut values =
            corners.iter().map(|corner| formula.enclose(corner).map_err(|undefined| Unanswered::Undefined { law, symbol, undefined }));
        let first = values.next().expect("there is a corner even without symbols")?;
        values.try_fold(first, |hull, value| Ok(hull.hull(value?)))
    }

    fn resolved(&self, of: Quantity, free: &[(&str, f64)]) -> Result<Formula, Unanswered> {
        let has_value = |name: &str| self.values.contains_key(name) || free.iter().any(|(symbol, _)| *symbol == name);
        self.law.resolved(of, has_value).ok_or(Unanswered::NoEquation { law: self.law.title, symbol: of.symbol() })
    }
}
