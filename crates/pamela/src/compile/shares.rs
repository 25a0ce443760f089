//! How often conditions hold.
//!
//! Nobody knows that from the text alone. Unless told, a condition holds every other time, as in the papers; a share may stand in the model,
//! and what the user says by the place of a condition goes before both.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_formula::{Formula, Interval, ParseError, Values};

/// Shares by place, as the user gives them.
#[derive(Debug, Clone, Default)]
pub struct Shares(BTreeMap<String, Formula>);

/// A condition with the share that was taken for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Where it stands, if that is known.
    pub place: Option<String>,
    /// How often it holds.
    pub share: Formula,
    /// Whether nobody said so: half of the time.
    pub is_guess: bool,
}

/// Why a share cannot be taken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ShareProblem {
    /// Not of the form PLACE=SHARE.
    #[error("`{0}`: a place and a share are needed, such as Primes.java:14=0.0785")]
    NoShare(String),
    /// The share is no formula.
    #[error("{place}={text}: {error}")]
    NoFormula {
        /// The place.
        place: String,
        /// What should be a formula.
        text: String,
        /// Why it is none.
        error: ParseError,
    },
    /// The same place twice.
    #[error("the share of {0} is given twice")]
    Twice(String),
    /// No condition stands there.
    #[error("no condition of the model stands at {place}; {}", among(known))]
    UnknownPlace {
        /// The place.
        place: String,
        /// The places there are.
        known: Vec<String>,
    },
    /// A share that is more than all or less than nothing.
    #[error("{place}: a share is between 0 and 1, not {share}")]
    NotAShare {
        /// The place.
        place: String,
        /// The share.
        share: String,
    },
}

fn among(known: &[String]) -> String {
    if known.is_empty() { "it has no conditions with a place".to_owned() } else { format!("conditions stand at {}", known.join(", ")) }
}

impl Shares {
    /// No shares.
    pub fn new() -> Shares {
        Shares::default()
    }

    /// These shares and those of a text: `PLACE=0.1`, `PLACE=0.05..0.1`, `PLACE=[0.05,0.1]` or `PLACE=FORMULA`.
    pub fn with(mut self, text: &str) -> Result<Shares, ShareProblem> {
        let (place, share) = text.split_once('=').map(|(place, share)| (place.trim(), share.trim())).unwrap_or_default();
        if place.is_empty() || share.is_empty() {
            return Err(ShareProblem::NoShare(text.to_owned()));
        }
        let formula = of_text(share).map_err(|error| ShareProblem::NoFormula { place: place.to_owned(), text: share.to_owned(), error })?;
        checked(place, &formula, &Values::new())?;
        match self.0.insert(place.to_owned(), formula) {
            Some(_) => Err(ShareProblem::Twice(place.to_owned())),
            None => Ok(self),
        }
    }
}

/// A range of two numbers is an interval; anything else is a formula.
fn of_text(text: &str) -> Result<Formula, ParseError> {
    let range = text.split_once("..").and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    match range {
        Some((low, high)) if low <= high => Ok(Formula::between(low, high)),
        _ => Formula::parse(text),
    }
}

/// How far beyond its ends a share may come by rounding.
const ROUNDING: f64 = 1e-9;

impl Share {
    /// Whether it is between 0 and 1 where the symbols have these values; what has no value here is not known to be wrong.
    pub(crate) fn checked(&self, values: &Values<Interval>) -> Result<(), ShareProblem> {
        checked(self.place.as_deref().unwrap_or("a condition"), &self.share, values)
    }
}

fn checked(place: &str, share: &Formula, values: &Values<Interval>) -> Result<(), ShareProblem> {
    match share.enclose(values) {
        Ok(value) if value.low() < -ROUNDING || value.high() > 1.0 + ROUNDING => {
            Err(ShareProblem::NotAShare { place: place.to_owned(), share: share.to_string() })
        }
        _ => Ok(()),
    }
}

/// The shares as a walk takes them.
pub(super) struct Taken<'a> {
    given: &'a Shares,
    known: BTreeSet<String>,
    taken: Vec<Share>,
}

impl<'a> Taken<'a> {
    pub(super) fn new(given: &'a Shares) -> Taken<'a> {
        Taken { given, known: BTreeSet::new(), taken: Vec::new() }
    }

    /// How often the condition of a place holds.
    pub(super) fn of(&mut self, place: Option<&str>, own: Option<&Formula>) -> Formula {
        let given = place.and_then(|place| self.given.0.get(place));
        let known = given.or(own).cloned();
        let is_guess = known.is_none();
        let share = known.unwrap_or_else(|| Formula::ratio(1, 2));
        self.known.extend(place.map(str::to_owned));
        self.taken.push(Share { place: place.map(str::to_owned), share: share.clone(), is_guess });
        share
    }

    pub(super) fn finished(self) -> Result<Vec<Share>, ShareProblem> {
        if let Some(place) = self.given.0.keys().find(|place| !self.known.contains(*place)) {
            return Err(ShareProblem::UnknownPlace { place: place.clone(), known: self.known.into_iter().collect() });
        }
        self.taken.iter().try_for_each(|share| share.checked(&Values::new()))?;
        Ok(self.taken)
    }
}
