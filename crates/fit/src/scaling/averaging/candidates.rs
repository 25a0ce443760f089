//! The sums of terms that are weighed, and how probable each is before anything was measured.

use super::basis_term::{BasisFactor, BasisTerm};
use std::ops::Range;

/// Most terms of a sum.
pub(super) const MAX_TERMS: usize = 4;

/// A sum of terms, or the inverse of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct CandidateSet {
    terms: [u16; MAX_TERMS],
    len: u8,
    pub is_reciprocal: bool,
    pub log_prior: f64,
}

impl CandidateSet {
    pub(super) fn new(terms: &[usize], weight: f64) -> Self {
        Self::with_log_prior(terms, weight.ln())
    }

    pub(super) fn with_log_prior(terms: &[usize], log_prior: f64) -> Self {
        let mut own = [0; MAX_TERMS];
        own.iter_mut().zip(terms).for_each(|(own, term)| *own = *term as u16);
        Self { terms: own, len: terms.len() as u8, is_reciprocal: false, log_prior }
    }

    /// The inverse of a sum.
    pub(super) fn reciprocal(terms: &[usize], weight: f64) -> Self {
        Self { is_reciprocal: true, ..Self::new(terms, weight) }
    }

    /// The indices of its terms.
    pub(super) fn terms(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.terms[..usize::from(self.len)].iter().map(|term| usize::from(*term))
    }
}

/// All terms and sums that are weighed.
#[derive(Debug, Clone)]
pub(super) struct CandidateSets {
    pub terms: Vec<BasisTerm>,
    pub sets: Vec<CandidateSet>,
    pub families: Vec<RealFamily>,
}

/// Forms that differ only in a real exponent, that of their first term.
#[derive(Debug, Clone)]
pub(super) struct RealFamily {
    pub sets: Range<usize>,
    /// The distance of the exponents.
    pub step: f64,
}

impl CandidateSets {
    /// Adds sets, whose weights are scaled so that their probabilities add up to `probability`.
    pub(super) fn add(&mut self, probability: f64, sets: impl IntoIterator<Item = CandidateSet>) {
        let first = self.sets.len();
        self.sets.extend(sets);
        let added = &mut self.sets[first..];
        let all: f64 = added.iter().map(|set| set.log_prior.exp()).sum();
        added.iter_mut().for_each(|set| set.log_prior += (probability / all).ln());
    }

    /// Replaces the form of a family by forms with exponents around its own, of which there are `per_step` in a step of the grid. Together they
    /// are as probable. Returns the finer grid.
    pub(super) fn subdivide(&mut self, set: usize, family: &RealFamily, per_step: i32) -> RealFamily {
        let coarse = self.sets[set];
        let real = coarse.terms().next().unwrap_or_else(|| unreachable!("the first term of a family's form has the real exponent"));
        let step = family.step / f64::from(per_step);
        let begin = self.sets.len();
        for k in 1 - per_step..per_step {
            let finer = self.terms[real].factors()[0];
            let term = self.add_term(BasisFactor { exponent: finer.exponent + step * f64::from(k), ..finer }.into());
            let mut set = CandidateSet { log_prior: coarse.log_prior - f64::from(2 * per_step - 1).ln(), ..coarse };
            set.terms[0] = term as u16;
            self.sets.push(set);
        }
        self.sets[set].log_prior = f64::NEG_INFINITY;
        RealFamily { sets: begin..self.sets.len(), step }
    }

    /// Adds a term, and returns its index.
    pub(super) fn add_term(&mut self, term: BasisTerm) -> usize {
        self.terms.push(term);
        self.terms.len() - 1
    }
}
