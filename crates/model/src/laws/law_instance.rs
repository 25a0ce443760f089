//! A law with values for its symbols.

use std::collections::BTreeMap;

use sintonia_formula::{EvaluationError, Formula, Interval, SymbolValues};
use thiserror::Error;

use super::{LawQuantity, PerformanceLaw};

/// A law with values for some of its symbols.
#[derive(Clone, Debug, PartialEq)]
pub struct LawInstance {
    law: &'static PerformanceLaw,
    values: BTreeMap<&'static str, Interval>,
}

/// A value that a law does not accept.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LawValueError {
    /// The law has no such symbol.
    #[error("{law} has no symbol `{name}`; its symbols are {known}")]
    UnknownSymbol {
        /// The law.
        law: &'static str,
        /// The requested symbol.
        name: String,
        /// The symbols of the law.
        known: String,
    },
    /// A symbol has two values.
    #[error("`{0}` is given twice")]
    DuplicateValue(&'static str),
    /// The value is out of range.
    #[error("`{name}` ({description}) is {value}: it must be between 0 and {max}")]
    OutOfRange {
        /// The symbol.
        name: &'static str,
        /// What it is.
        description: &'static str,
        /// The rejected value.
        value: f64,
        /// Its maximum.
        max: f64,
    },
}

/// Why a law cannot be evaluated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LawEvaluationError {
    /// It has no equation for the quantity.
    #[error("{law} has no equation for {symbol}")]
    NoEquation {
        /// The law.
        law: &'static str,
        /// The symbol of the requested quantity.
        symbol: &'static str,
    },
    /// Values are missing.
    #[error("{law} needs {missing} for {symbol}")]
    Missing {
        /// The law.
        law: &'static str,
        /// The symbol of the requested quantity.
        symbol: &'static str,
        /// The symbols without a value.
        missing: String,
    },
    /// The formula is undefined there.
    #[error("{symbol} of {law} is undefined there: {undefined}")]
    Undefined {
        /// The law.
        law: &'static str,
        /// The symbol of the requested quantity.
        symbol: &'static str,
        /// The reason.
        undefined: EvaluationError,
    },
}

impl PerformanceLaw {
    /// The law with values for symbols, under any of their names.
    pub fn with_values<'a>(&'static self, values: impl IntoIterator<Item = (&'a str, Interval)>) -> Result<LawInstance, LawValueError> {
        let mut case = LawInstance { law: self, values: BTreeMap::new() };
        for (name, value) in values {
            let Some(symbol) = self.symbol(name) else {
                let known: Vec<&str> = self.symbols.iter().map(|symbol| symbol.aliases.first().copied().unwrap_or(symbol.name)).collect();
                return Err(LawValueError::UnknownSymbol { law: self.title, name: name.to_owned(), known: known.join(", ") });
            };
            for end in [value.low(), value.high()] {
                if !(0.0..=symbol.max).contains(&end) {
                    return Err(LawValueError::OutOfRange {
                        name: symbol.name,
                        description: symbol.description,
                        value: end,
                        max: symbol.max,
                    });
                }
            }
            if case.values.insert(symbol.name, value).is_some() {
                return Err(LawValueError::DuplicateValue(symbol.name));
            }
        }
        Ok(case)
    }

    /// A symbol with the alias used on the command line.
    fn name_with_alias(&self, name: &str) -> String {
        match self.symbol(name).and_then(|symbol| symbol.aliases.first()) {
            Some(also) => format!("{name} ({also})"),
            None => name.to_owned(),
        }
    }

    /// The formula of a quantity in terms of symbols that have values; others are replaced by their definitions.
    fn resolve_formula(&self, of: LawQuantity, has_value: impl Fn(&str) -> bool) -> Option<Formula> {
        let mut formula = self.formula(of)?;
        let definitions =
            [LawQuantity::Granularity, LawQuantity::Tasks, LawQuantity::Overhead, LawQuantity::MessageSize, LawQuantity::TasksPerNode];
        for definition in definitions.into_iter().filter(|quantity| !has_value(quantity.symbol())) {
            if let Some(meaning) = self.formula(definition) {
                formula = formula.substitute(definition.symbol(), &meaning);
            }
        }
        Some(formula)
    }
}

impl LawInstance {
    /// The law.
    pub fn law(&self) -> &'static PerformanceLaw {
        self.law
    }

    /// The formula of a quantity with all values inserted; symbols without a value, such as the number of nodes, remain.
    pub fn formula(&self, of: LawQuantity) -> Result<Formula, LawEvaluationError> {
        let mut formula = self.resolve_formula(of, &[])?;
        for (symbol, value) in &self.values {
            let exact = value.low() == value.high();
            let number = if exact { Formula::decimal(value.low()) } else { Formula::interval(value.low(), value.high()) };
            formula = formula.substitute(symbol, &number);
        }
        Ok(formula)
    }

    /// The value of a quantity, given values of the remaining symbols, such as the number of nodes.
    ///
    /// Each formula of a law is monotonic in each of its symbols, so its extremes are at the ends of their intervals and the result is as narrow
    /// as possible.
    pub fn evaluate_at(&self, of: LawQuantity, free: &[(&str, f64)]) -> Result<Interval, LawEvaluationError> {
        let (law, symbol) = (self.law.title, of.symbol());
        // A given value takes precedence over one computed from others, which may be less precise.
        if let Some(known) = self.values.get(symbol).filter(|_| self.law.equation(of).is_some()) {
            return Ok(*known);
        }
        let formula = self.resolve_formula(of, free)?;
        let ends = |name: &str| {
            let given = free.iter().find(|(symbol, _)| *symbol == name).map(|(_, value)| (*value, *value));
            given.or_else(|| self.values.get(name).map(|value| (value.low(), value.high())))
        };
        let symbols = formula.symbols();
        let missing: Vec<String> = symbols.iter().filter(|name| ends(name).is_none()).map(|name| self.law.name_with_alias(name)).collect();
        if !missing.is_empty() {
            return Err(LawEvaluationError::Missing { law, symbol, missing: missing.join(", ") });
        }
        let mut corners = vec![SymbolValues::new()];
        for name in &symbols {
            let Some((low, high)) = ends(name) else { continue };
            let with =
                |end: f64| corners.iter().map(move |corner: &SymbolValues<Interval>| corner.clone().with_value(name, Interval::point(end)));
            corners = if low == high { with(low).collect() } else { with(low).chain(with(high)).collect() };
        }
        let mut values = corners
            .iter()
            .map(|corner| formula.enclose(corner).map_err(|undefined| LawEvaluationError::Undefined { law, symbol, undefined }));
        let first = values.next().expect("there is one corner even without symbols")?;
        values.try_fold(first, |hull, value| Ok(hull.hull(value?)))
    }

    fn resolve_formula(&self, of: LawQuantity, free: &[(&str, f64)]) -> Result<Formula, LawEvaluationError> {
        let has_value = |name: &str| self.values.contains_key(name) || free.iter().any(|(symbol, _)| *symbol == name);
        self.law.resolve_formula(of, has_value).ok_or(LawEvaluationError::NoEquation { law: self.law.title, symbol: of.symbol() })
    }
}
