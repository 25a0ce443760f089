//! Branch shares: how often conditions hold.
//!
//! The text of a program does not show that. The default is one half, as in the papers; a share in the model overrides it, and a share that
//! the user gives for the position of a condition overrides both.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_formula::{Formula, Interval, ParseError, SymbolValues};

/// The branch shares that the user gives, by position.
#[derive(Debug, Clone, Default)]
pub struct BranchShares(BTreeMap<String, Formula>);

/// A condition and the share used for it.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchShare {
    /// Its position in the source, if known.
    pub place: Option<String>,
    /// How often it holds.
    pub share: Formula,
    /// Whether it is the default of one half.
    pub is_guess: bool,
}

/// Why a share is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ShareError {
    /// Not of the form PLACE=SHARE.
    #[error("`{0}`: expected PLACE=SHARE, such as Primes.java:14=0.0785")]
    NoShare(String),
    /// The share is not a formula.
    #[error("{place}={text}: {error}")]
    NoFormula {
        /// The position.
        place: String,
        /// The text of the share.
        text: String,
        /// The parse error.
        error: ParseError,
    },
    /// The same position twice.
    #[error("the share of {0} is given twice")]
    Twice(String),
    /// The model has no condition at that position.
    #[error("the model has no condition at {place}; {}", among(known))]
    UnknownPlace {
        /// The position.
        place: String,
        /// The positions of the model's conditions.
        known: Vec<String>,
    },
    /// A share outside of 0 to 1.
    #[error("{place}: a share is between 0 and 1, not {share}")]
    NotAShare {
        /// The position.
        place: String,
        /// The share.
        share: String,
    },
}

fn among(known: &[String]) -> String {
    if known.is_empty() {
        "it has no conditions with a position".to_owned()
    } else {
        format!("there are conditions at {}", known.join(", "))
    }
}

impl BranchShares {
    /// No shares.
    pub fn new() -> BranchShares {
        BranchShares::default()
    }

    /// Adds a share from text: `PLACE=0.1`, `PLACE=0.05..0.1`, `PLACE=[0.05,0.1]` or `PLACE=FORMULA`.
    pub fn with_text(mut self, text: &str) -> Result<BranchShares, ShareError> {
        let (place, share) = text.split_once('=').map(|(place, share)| (place.trim(), share.trim())).unwrap_or_default();
        if place.is_empty() || share.is_empty() {
            return Err(ShareError::NoShare(text.to_owned()));
        }
        let formula =
            parse_share(share).map_err(|error| ShareError::NoFormula { place: place.to_owned(), text: share.to_owned(), error })?;
        check_share(place, &formula, &SymbolValues::new())?;
        match self.0.insert(place.to_owned(), formula) {
            Some(_) => Err(ShareError::Twice(place.to_owned())),
            None => Ok(self),
        }
    }
}

/// A range of two numbers is an interval; anything else is a formula.
fn parse_share(text: &str) -> Result<Formula, ParseError> {
    let range = text.split_once("..").and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    match range {
        Some((low, high)) if low <= high => Ok(Formula::interval(low, high)),
        _ => Formula::parse(text),
    }
}

/// Tolerance for rounding errors at the bounds 0 and 1.
const SHARE_TOLERANCE: f64 = 1e-9;

impl BranchShare {
    /// Checks that it is between 0 and 1 for these values; a share that cannot be evaluated passes.
    pub(crate) fn check(&self, values: &SymbolValues<Interval>) -> Result<(), ShareError> {
        check_share(self.place.as_deref().unwrap_or("a condition"), &self.share, values)
    }
}

fn check_share(place: &str, share: &Formula, values: &SymbolValues<Interval>) -> Result<(), ShareError> {
    match share.enclose(values) {
        Ok(value) if value.low() < -SHARE_TOLERANCE || value.high() > 1.0 + SHARE_TOLERANCE => {
            Err(ShareError::NotAShare { place: place.to_owned(), share: share.to_string() })
        }
        _ => Ok(()),
    }
}

/// Looks up shares during compilation, and records which were used.
pub(super) struct ShareLookup<'a> {
    given: &'a BranchShares,
    known_positions: BTreeSet<String>,
    taken: Vec<BranchShare>,
}

impl<'a> ShareLookup<'a> {
    pub(super) fn new(given: &'a BranchShares) -> ShareLookup<'a> {
        ShareLookup { given, known_positions: BTreeSet::new(), taken: Vec::new() }
    }

    /// The share of a condition.
    pub(super) fn lookup(&mut self, place: Option<&str>, own: Option<&Formula>) -> Formula {
        let given = place.and_then(|place| self.given.0.get(place));
        let known = given.or(own).cloned();
        let is_guess = known.is_none();
        let share = known.unwrap_or_else(|| Formula::ratio(1, 2));
        self.known_positions.extend(place.map(str::to_owned));
        self.taken.push(BranchShare { place: place.map(str::to_owned), share: share.clone(), is_guess });
        share
    }

    pub(super) fn finish(self) -> Result<Vec<BranchShare>, ShareError> {
        if let Some(place) = self.given.0.keys().find(|place| !self.known_positions.contains(*place)) {
            return Err(ShareError::UnknownPlace { place: place.clone(), known: self.known_positions.into_iter().collect() });
        }
        self.taken.iter().try_for_each(|share| share.check(&SymbolValues::new()))?;
        Ok(self.taken)
    }
}
