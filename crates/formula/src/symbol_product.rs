//! Products of powers of symbols and of their logarithms, taken apart: the terms of scaling laws.

use crate::atom::{AtomKind, RoundingMode, SymbolId};
use crate::formula::Formula;
use crate::monomial::{Monomial, PowerFactor};
use crate::rational::Rational;
use crate::values::SymbolValues;

/// What a factor of a product is a power of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolFunction {
    /// The symbol itself.
    Identity,
    /// Its logarithm to base 2.
    Log2,
    /// That logarithm, rounded up.
    CeilLog2,
}

/// A power of a symbol or of its logarithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolPower {
    /// The symbol.
    pub symbol: String,
    /// What is raised to the power.
    pub function: SymbolFunction,
    /// The exponent.
    pub exponent: Rational,
}

impl Formula {
    /// The number and the powers whose product this formula is; `None` if it is anything else, such as a sum.
    pub fn as_symbol_product(&self) -> Option<(f64, Vec<SymbolPower>)> {
        let (monomial, coefficient) = self.as_term()?;
        let mut number = coefficient.as_exact()?.to_f64();
        let mut powers = Vec::new();
        for factor in monomial.factors() {
            match as_symbol_function(factor.atom.kind()) {
                Some((symbol, function)) => powers.push(SymbolPower { symbol, function, exponent: factor.exponent.clone() }),
                None => number *= constant_value(factor)?,
            }
        }
        Some((number, powers))
    }

    /// The name, if the formula is a single symbol.
    fn as_symbol_name(&self) -> Option<String> {
        match self.as_atom()?.kind() {
            AtomKind::Symbol(SymbolId::Named(name)) => Some(name.to_string()),
            _ => None,
        }
    }
}

fn as_symbol_function(atom: &AtomKind) -> Option<(String, SymbolFunction)> {
    match atom {
        AtomKind::Symbol(SymbolId::Named(name)) => Some((name.to_string(), SymbolFunction::Identity)),
        AtomKind::Log2(inner) => Some((inner.as_symbol_name()?, SymbolFunction::Log2)),
        AtomKind::Rounded(RoundingMode::Up, inner) => match inner.as_atom()?.kind() {
            AtomKind::Log2(inner) => Some((inner.as_symbol_name()?, SymbolFunction::CeilLog2)),
            _ => None,
        },
        _ => None,
    }
}

/// The value of a factor without symbols, such as `ln(2)` or `sqrt(3)`.
fn constant_value(factor: &PowerFactor) -> Option<f64> {
    let formula = Formula::from(Monomial::power(factor.atom.clone(), factor.exponent.clone()));
    if formula.has_interval() { None } else { formula.evaluate(&SymbolValues::new()).ok().filter(|value| value.is_finite()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A symbol, what of it is raised to a power, and the exponent.
    type Power = (String, SymbolFunction, f64);

    fn parts(text: &str) -> Option<(f64, Vec<Power>)> {
        let (number, mut powers) = text.parse::<Formula>().unwrap().as_symbol_product()?;
        powers.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        Some((number, powers.into_iter().map(|power| (power.symbol, power.function, power.exponent.to_f64())).collect()))
    }

    #[test]
    fn a_product_has_a_number_and_powers() {
        use SymbolFunction::{CeilLog2, Identity, Log2};
        let power = |name: &str, function, exponent| (name.to_owned(), function, exponent);
        assert_eq!(
            parts("-3*a*n^(3/2)/p"),
            Some((-3.0, vec![power("a", Identity, 1.0), power("n", Identity, 1.5), power("p", Identity, -1.0)]))
        );
        assert_eq!(parts("log2(n)^2*2"), Some((2.0, vec![power("n", Log2, 2.0)])));
        assert_eq!(parts("ceil(log2(p))"), Some((1.0, vec![power("p", CeilLog2, 1.0)])));
        assert_eq!(parts("7"), Some((7.0, vec![])));
        let (number, powers) = parts("ln(n)*sqrt(3)").unwrap();
        assert!((number - std::f64::consts::LN_2 * 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(powers, [power("n", Log2, 1.0)]);
    }

    #[test]
    fn anything_else_is_no_product() {
        for text in ["n + 1", "log2(n*p)", "n^a", "ceil(n/p)", "max(n, p)", "[1, 2]*n", "0*n", "1/(n + 1)", "sum(i=1..n, sqrt(i))"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
