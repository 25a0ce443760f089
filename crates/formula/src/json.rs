//! Formulas as JSON trees, for programs that do not want to read text.
//!
//! Every node is an object with one key that names the operation. Numbers are texts, so that no digit is lost on the way.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::atom::{Extreme, How, Piece, Symbol};
use crate::build;
use crate::formula::Formula;
use crate::number::Number;
use crate::rational::Rational;
use crate::shown::{Call, Shown, shown};

/// How deep operations may stand inside each other.
const MOST_DEPTH: usize = 256;

/// The JSON is not a formula.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("at {path}: {problem}")]
pub struct JsonError {
    /// The way from the outermost object to the problem, as a JSON pointer.
    pub path: String,
    /// What is wrong there.
    pub problem: String,
}

impl Formula {
    /// The formula as a JSON tree.
    pub fn to_json(&self) -> Value {
        tree(&shown(self, None))
    }

    /// The formula of a JSON tree.
    pub fn from_json(value: &Value) -> Result<Formula, JsonError> {
        Place { path: String::new(), depth: 0, value }.formula()
    }
}

fn tree(shown: &Shown) -> Value {
    let list = |entries: &[Shown]| entries.iter().map(tree).collect::<Vec<_>>();
    match shown {
        Shown::Number(value) => json!({ "number": value.to_string() }),
        Shown::Between(low, high) => json!({ "between": [low.to_string(), high.to_string()] }),
        Shown::Symbol(name) => json!({ "symbol": name }),
        Shown::Power(base, exponent) => json!({ "power": [tree(base), tree(exponent)] }),
        Shown::Call(call, entries) => match call {
            Call::Max => json!({ "max": list(entries) }),
            Call::Min => json!({ "min": list(entries) }),
            Call::Sqrt => json!({ "sqrt": list(entries) }),
            Call::Log2 => json!({ "log2": list(entries) }),
            Call::Ln => json!({ "ln": list(entries) }),
            Call::Ceil => json!({ "ceil": list(entries) }),
            Call::Floor => json!({ "floor": list(entries) }),
        },
        Shown::Product { over, under } if under.is_empty() => json!({ "multiply": list(over) }),
        Shown::Product { over, under } => json!({ "divide": [{ "multiply": list(over) }, { "multiply": list(under) }] }),
        Shown::Sum(terms) => {
            let signed =
                terms.iter().map(|term| if term.negative { json!({ "negative": [tree(&term.shown)] }) } else { tree(&term.shown) });
            json!({ "add": signed.collect::<Vec<_>>() })
        }
        Shown::Range(range) => {
            let name = match range.how {
                How::Sum => "sum",
                How::Extreme(Extreme::Max) => "max_over",
                How::Extreme(Extreme::Min) => "min_over",
            };
            let (from, to, body) = (tree(&range.from), tree(&range.to), tree(&range.body));
            json!({ name: { "index": range.index, "from": from, "to": to, "body": body } })
        }
        Shown::Pieces(variable, pieces) => {
            let piece = |(bound, formula): &(Option<Shown>, Shown)| match bound {
                Some(bound) => json!({ "up_to": tree(bound), "formula": tree(formula) }),
                None => json!({ "formula": tree(formula) }),
            };
            json!({ "pieces": { "of": tree(variable), "list": pieces.iter().map(piece).collect::<Vec<_>>() } })
        }
    }
}

/// A value and the way to it.
struct Place<'a> {
    path: String,
    depth: usize,
    value: &'a Value,
}

impl<'a> Place<'a> {
    fn problem<T>(&self, problem: impl Into<String>) -> Result<T, JsonError> {
        let path = if self.path.is_empty() { "/".to_owned() } else { self.path.clone() };
        Err(JsonError { path, problem: problem.into() })
    }

    fn inside(&self, key: &str, value: &'a Value) -> Place<'a> {
        Place { path: format!("{}/{key}", self.path), depth: self.depth + 1, value }
    }

    fn object(&self) -> Result<&'a Map<String, Value>, JsonError> {
        match self.value.as_object() {
            Some(object) => Ok(object),
            None => self.problem("expected an object"),
        }
    }

    fn field(&self, key: &str) -> Result<Place<'a>, JsonError> {
        match self.object()?.get(key) {
            Some(value) => Ok(self.inside(key, value)),
            None => self.problem(format!("`{key}` is missing")),
        }
    }

    fn entries(&self) -> Result<Vec<Place<'a>>, JsonError> {
        match self.value.as_array() {
            Some(list) => Ok(list.iter().enumerate().map(|(at, value)| self.inside(&at.to_string(), value)).collect()),
            None => self.problem("expected a list"),
        }
    }

    fn formulas(&self) -> Result<Vec<Formula>, JsonError> {
        self.entries()?.iter().map(Place::formula).collect()
    }

    /// A list of exactly so many formulas.
    fn exactly<const N: usize>(&self) -> Result<[Formula; N], JsonError> {
        match self.formulas()?.try_into() {
            Ok(formulas) => Ok(formulas),
            Err(_) => self.problem(format!("expected a list of {N}")),
        }
    }

    fn text(&self) -> Result<&'a str, JsonError> {
        match self.value.as_str() {
            Some(text) => Ok(text),
            None => self.problem("expected a text"),
        }
    }

    /// A number written as a decimal or a fraction.
    fn number(&self) -> Result<Rational, JsonError> {
        let text = self.text()?;
        let number = match text.split_once('/') {
            Some((over, under)) => Rational::parse(over).zip(Rational::parse(under)).and_then(|(over, under)| over.over(&under)),
            None => Rational::parse(text),
        };
        match number {
            Some(number) => Ok(number),
            None => self.problem("not a number, or one with too many digits"),
        }
    }

    fn formula(&self) -> Result<Formula, JsonError> {
        if self.depth > 2 * MOST_DEPTH {
            return self.problem(format!("operations stand more than {MOST_DEPTH} deep inside each other"));
        }
        let object = self.object()?;
        let Some((key, value)) = object.iter().next().filter(|_| object.len() == 1) else {
            return self.problem("expected one key, the name of the operation");
        };
        let place = self.inside(key, value);
        let one = |function: fn(&Formula) -> Formula| place.exactly::<1>().map(|[formula]| function(&formula));
        match key.as_str() {
            "number" => Ok(Formula::exact(place.number()?)),
            "symbol" => Ok(Formula::symbol(place.text()?)),
            "between" => place.between(),
            "add" => Ok(place.formulas()?.into_iter().sum()),
            "negative" => one(|formula| -formula),
            "multiply" => Ok(build::product_of(place.formulas()?)),
            "divide" => place.quotient(),
            "power" => place.exactly().map(|[base, exponent]: [Formula; 2]| base.to_the(&exponent)),
            "sqrt" => one(Formula::sqrt),
            "log2" => one(Formula::log2),
            "ln" => one(Formula::ln),
            "ceil" => one(Formula::ceil),
            "floor" => one(Formula::floor),
            "max" => Ok(Formula::max_of(place.formulas()?)),
            "min" => Ok(Formula::min_of(place.formulas()?)),
            "sum" => place.range(How::Sum),
            "max_over" => place.range(How::Extreme(Extreme::Max)),
            "min_over" => place.range(How::Extreme(Extreme::Min)),
            "pieces" => place.pieces(),
            _ => self.problem(format!("there is no operation `{key}`")),
        }
    }

    fn quotient(&self) -> Result<Formula, JsonError> {
        let entries = self.entries()?;
        let [over, under] = entries.as_slice() else { return self.problem("expected a list of 2") };
        Ok(over.formula()? * under.inverse()?)
    }

    /// One over the formula. A power of a sum must become a power of the sum before it is multiplied out.
    fn inverse(&self) -> Result<Formula, JsonError> {
        match self.value.as_object().and_then(|object| object.iter().next()) {
            Some((key, value)) if key == "multiply" => {
                let factors = self.inside(key, value).entries()?;
                Ok(build::product_of(factors.iter().map(Place::inverse).collect::<Result<_, _>>()?))
            }
            Some((key, value)) if key == "power" => {
                let [base, exponent] = self.inside(key, value).exactly()?;
                Ok(base.to_the(&-exponent))
            }
            _ => Ok(self.formula()?.power(-1)),
        }
    }

    fn between(&self) -> Result<Formula, JsonError> {
        let entries = self.entries()?;
        let [low, high] = entries.as_slice() else { return self.problem("expected a list of 2") };
        let (low, high) = (low.number()?, high.number()?);
        if low > high {
            return self.problem("the lower number comes first");
        }
        Ok(Formula::number(Number::between(low, high)))
    }

    fn range(&self, how: How) -> Result<Formula, JsonError> {
        let index = self.field("index")?.text()?;
        let (from, to, body) = (self.field("from")?.formula()?, self.field("to")?.formula()?, self.field("body")?.formula()?);
        Ok(build::fold(how, &Symbol::named(index), index, &from, &to, &body))
    }

    fn pieces(&self) -> Result<Formula, JsonError> {
        let variable = self.field("of")?.formula()?;
        let read = |piece: &Place| {
            let up_to = match piece.object()?.get("up_to") {
                Some(bound) => Some(piece.inside("up_to", bound).formula()?),
                None => None,
            };
            Ok(Piece { up_to, formula: piece.field("formula")?.formula()? })
        };
        let list = self.field("list")?.entries()?.iter().map(read).collect::<Result<Vec<_>, JsonError>>()?;
        Ok(build::pieces(&variable, list))
    }
}

impl Serialize for Formula {
    /// As text: it is read by people in the files that hold it.
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
