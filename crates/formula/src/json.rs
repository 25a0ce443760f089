//! Formulas as JSON trees.
//!
//! Every node is an object with one key that names the operation. Numbers are strings, so that no digit is lost.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::atom::{Extremum, FoldOp, PiecewiseCase, SymbolId};
use crate::build;
use crate::coefficient::Coefficient;
use crate::display::{DisplayExpr, MathFunction, to_display};
use crate::formula::Formula;
use crate::rational::Rational;

/// Maximum nesting depth.
const MAX_DEPTH: usize = 256;

/// The JSON is not a formula.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("at {path}: {problem}")]
pub struct JsonError {
    /// The JSON pointer to the problem.
    pub path: String,
    /// What is wrong there.
    pub problem: String,
}

impl Formula {
    /// The formula as a JSON tree.
    pub fn to_json(&self) -> Value {
        to_tree(&to_display(self, None))
    }

    /// The formula that a JSON tree represents.
    pub fn from_json(value: &Value) -> Result<Formula, JsonError> {
        JsonCursor { path: String::new(), depth: 0, value }.formula()
    }
}

fn to_tree(expr: &DisplayExpr) -> Value {
    let list = |entries: &[DisplayExpr]| entries.iter().map(to_tree).collect::<Vec<_>>();
    match expr {
        DisplayExpr::Number(value) => json!({ "number": value.to_string() }),
        DisplayExpr::Interval(low, high) => json!({ "between": [low.to_string(), high.to_string()] }),
        DisplayExpr::Symbol(name) => json!({ "symbol": name }),
        DisplayExpr::Power(base, exponent) => json!({ "power": [to_tree(base), to_tree(exponent)] }),
        DisplayExpr::Function(call, entries) => match call {
            MathFunction::Max => json!({ "max": list(entries) }),
            MathFunction::Min => json!({ "min": list(entries) }),
            MathFunction::Sqrt => json!({ "sqrt": list(entries) }),
            MathFunction::Log2 => json!({ "log2": list(entries) }),
            MathFunction::Ln => json!({ "ln": list(entries) }),
            MathFunction::Ceil => json!({ "ceil": list(entries) }),
            MathFunction::Floor => json!({ "floor": list(entries) }),
        },
        DisplayExpr::Product { numerator, denominator } if denominator.is_empty() => json!({ "multiply": list(numerator) }),
        DisplayExpr::Product { numerator, denominator } => {
            json!({ "divide": [{ "multiply": list(numerator) }, { "multiply": list(denominator) }] })
        }
        DisplayExpr::Sum(terms) => {
            let signed =
                terms.iter().map(|term| if term.negative { json!({ "negative": [to_tree(&term.expr)] }) } else { to_tree(&term.expr) });
            json!({ "add": signed.collect::<Vec<_>>() })
        }
        DisplayExpr::Fold(range) => {
            let name = match range.op {
                FoldOp::Sum => "sum",
                FoldOp::Extremum(Extremum::Max) => "max_over",
                FoldOp::Extremum(Extremum::Min) => "min_over",
            };
            let (from, to, body) = (to_tree(&range.from), to_tree(&range.to), to_tree(&range.body));
            json!({ name: { "index": range.index, "from": from, "to": to, "body": body } })
        }
        DisplayExpr::Piecewise(variable, pieces) => {
            let piece = |(bound, formula): &(Option<DisplayExpr>, DisplayExpr)| match bound {
                Some(bound) => json!({ "up_to": to_tree(bound), "formula": to_tree(formula) }),
                None => json!({ "formula": to_tree(formula) }),
            };
            json!({ "pieces": { "of": to_tree(variable), "list": pieces.iter().map(piece).collect::<Vec<_>>() } })
        }
    }
}

/// A JSON value and its path.
struct JsonCursor<'a> {
    path: String,
    depth: usize,
    value: &'a Value,
}

impl<'a> JsonCursor<'a> {
    fn error<T>(&self, problem: impl Into<String>) -> Result<T, JsonError> {
        let path = if self.path.is_empty() { "/".to_owned() } else { self.path.clone() };
        Err(JsonError { path, problem: problem.into() })
    }

    fn child(&self, key: &str, value: &'a Value) -> JsonCursor<'a> {
        JsonCursor { path: format!("{}/{key}", self.path), depth: self.depth + 1, value }
    }

    fn object(&self) -> Result<&'a Map<String, Value>, JsonError> {
        match self.value.as_object() {
            Some(object) => Ok(object),
            None => self.error("expected an object"),
        }
    }

    fn field(&self, key: &str) -> Result<JsonCursor<'a>, JsonError> {
        match self.object()?.get(key) {
            Some(value) => Ok(self.child(key, value)),
            None => self.error(format!("`{key}` is missing")),
        }
    }

    fn entries(&self) -> Result<Vec<JsonCursor<'a>>, JsonError> {
        match self.value.as_array() {
            Some(list) => Ok(list.iter().enumerate().map(|(at, value)| self.child(&at.to_string(), value)).collect()),
            None => self.error("expected a list"),
        }
    }

    fn formulas(&self) -> Result<Vec<Formula>, JsonError> {
        self.entries()?.iter().map(JsonCursor::formula).collect()
    }

    /// A list of exactly `N` formulas.
    fn formula_array<const N: usize>(&self) -> Result<[Formula; N], JsonError> {
        match self.formulas()?.try_into() {
            Ok(formulas) => Ok(formulas),
            Err(_) => self.error(format!("expected a list of {N}")),
        }
    }

    fn text(&self) -> Result<&'a str, JsonError> {
        match self.value.as_str() {
            Some(text) => Ok(text),
            None => self.error("expected a string"),
        }
    }

    /// A number written as a decimal or a fraction.
    fn number(&self) -> Result<Rational, JsonError> {
        let text = self.text()?;
        let number = match text.split_once('/') {
            Some((numerator, denominator)) => Rational::parse(numerator)
                .zip(Rational::parse(denominator))
                .and_then(|(numerator, denominator)| numerator.checked_div(&denominator)),
            None => Rational::parse(text),
        };
        match number {
            Some(number) => Ok(number),
            None => self.error("not a number, or one with too many digits"),
        }
    }

    fn formula(&self) -> Result<Formula, JsonError> {
        if self.depth > 2 * MAX_DEPTH {
            return self.error(format!("operations are nested more than {MAX_DEPTH} deep"));
        }
        let object = self.object()?;
        let Some((key, value)) = object.iter().next().filter(|_| object.len() == 1) else {
            return self.error("expected one key, the name of the operation");
        };
        let cursor = self.child(key, value);
        let one = |function: fn(&Formula) -> Formula| cursor.formula_array::<1>().map(|[formula]| function(&formula));
        match key.as_str() {
            "number" => Ok(Formula::from_rational(cursor.number()?)),
            "symbol" => Ok(Formula::symbol(cursor.text()?)),
            "between" => cursor.between(),
            "add" => Ok(cursor.formulas()?.into_iter().sum()),
            "negative" => one(|formula| -formula),
            "multiply" => Ok(build::product_of(cursor.formulas()?)),
            "divide" => cursor.quotient(),
            "power" => cursor.formula_array().map(|[base, exponent]: [Formula; 2]| base.pow_formula(&exponent)),
            "sqrt" => one(Formula::sqrt),
            "log2" => one(Formula::log2),
            "ln" => one(Formula::ln),
            "ceil" => one(Formula::ceil),
            "floor" => one(Formula::floor),
            "max" => Ok(Formula::max_of(cursor.formulas()?)),
            "min" => Ok(Formula::min_of(cursor.formulas()?)),
            "sum" => cursor.range(FoldOp::Sum),
            "max_over" => cursor.range(FoldOp::Extremum(Extremum::Max)),
            "min_over" => cursor.range(FoldOp::Extremum(Extremum::Min)),
            "pieces" => cursor.piecewise(),
            _ => self.error(format!("there is no operation `{key}`")),
        }
    }

    fn quotient(&self) -> Result<Formula, JsonError> {
        let entries = self.entries()?;
        let [numerator, denominator] = entries.as_slice() else { return self.error("expected a list of 2") };
        Ok(numerator.formula()? * denominator.inverse()?)
    }

    /// The reciprocal of the formula. A power of a sum must be inverted before it is expanded.
    fn inverse(&self) -> Result<Formula, JsonError> {
        match self.value.as_object().and_then(|object| object.iter().next()) {
            Some((key, value)) if key == "multiply" => {
                let factors = self.child(key, value).entries()?;
                Ok(build::product_of(factors.iter().map(JsonCursor::inverse).collect::<Result<_, _>>()?))
            }
            Some((key, value)) if key == "power" => {
                let [base, exponent] = self.child(key, value).formula_array()?;
                Ok(base.pow_formula(&-exponent))
            }
            _ => Ok(self.formula()?.power(-1)),
        }
    }

    fn between(&self) -> Result<Formula, JsonError> {
        let entries = self.entries()?;
        let [low, high] = entries.as_slice() else { return self.error("expected a list of 2") };
        let (low, high) = (low.number()?, high.number()?);
        if low > high {
            return self.error("the lower bound must come first");
        }
        Ok(Formula::from_coefficient(Coefficient::interval(low, high)))
    }

    fn range(&self, op: FoldOp) -> Result<Formula, JsonError> {
        let index = self.field("index")?.text()?;
        let (from, to, body) = (self.field("from")?.formula()?, self.field("to")?.formula()?, self.field("body")?.formula()?);
        Ok(build::fold(op, &SymbolId::named(index), index, &from, &to, &body))
    }

    fn piecewise(&self) -> Result<Formula, JsonError> {
        let variable = self.field("of")?.formula()?;
        let read = |piece: &JsonCursor| {
            let up_to = match piece.object()?.get("up_to") {
                Some(bound) => Some(piece.child("up_to", bound).formula()?),
                None => None,
            };
            Ok(PiecewiseCase { up_to, formula: piece.field("formula")?.formula()? })
        };
        let list = self.field("list")?.entries()?.iter().map(read).collect::<Result<Vec<_>, JsonError>>()?;
        Ok(build::piecewise(&variable, list))
    }
}

impl Serialize for Formula {
    /// As text, since people read the files that contain it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Formula, D::Error> {
        let text = String::deserialize(deserializer)?;
        Formula::parse(&text).map_err(serde::de::Error::custom)
    }
}
