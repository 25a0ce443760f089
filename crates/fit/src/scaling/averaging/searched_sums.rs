//! The sums that the search for the displayed formula keeps: it tries exponents and logarithms that are too many for a list of usual terms.

use super::basis_term::{BasisFactor, BasisTerm};
use super::candidates::{CandidateSet, CandidateSets, MAX_TERMS};
use crate::scaling::ensemble_member::TermFactor;
use crate::scaling::hypothesis::LogFactor;
use crate::scaling::posterior::ScoredMember;
use crate::scaling::searched_fit::SearchedFit;

/// The probability that the truth is one of all sums that the search may visit.
const PROBABILITY: f64 = 0.1;

/// A sum with given exponents.
pub(super) struct SearchedSum {
    terms: Vec<BasisTerm>,
    /// The logarithm of its probability among all sums that the search may visit.
    log_prior: f64,
}

/// The sums that the search keeps.
pub(super) fn from_search(searched: &SearchedFit, parameters: usize) -> Vec<SearchedSum> {
    let found = &searched.validated.ensemble.members;
    let is_usable = |found: &&ScoredMember| !found.hypothesis.allows_negative && found.hypothesis.n_columns() <= MAX_TERMS;
    let sum = |found: &ScoredMember| SearchedSum {
        terms: found.member.terms.iter().map(|factors| basis_term(factors, parameters)).collect(),
        log_prior: found.log_prior,
    };
    found.iter().filter(is_usable).map(sum).collect()
}

fn basis_term(factors: &[TermFactor], parameters: usize) -> BasisTerm {
    let factor = |parameter: usize| {
        let found = factors.iter().find(|factor| factor.parameter == parameter);
        found.map_or(BasisFactor::new(0.0, LogFactor::None), |factor| BasisFactor::new(factor.exponent, factor.log))
    };
    BasisTerm::new((0..parameters).map(factor).collect())
}

impl CandidateSets {
    /// Adds what the search found.
    pub(super) fn add_searched(&mut self, sums: Vec<SearchedSum>) {
        self.sets.iter_mut().for_each(|set| set.log_prior += (1.0 - PROBABILITY).ln());
        for SearchedSum { terms, log_prior } in sums {
            let terms: Vec<usize> = terms.into_iter().map(|term| self.add_term(term)).collect();
            self.sets.push(CandidateSet::with_log_prior(&terms, PROBABILITY.ln() + log_prior));
        }
    }
}
