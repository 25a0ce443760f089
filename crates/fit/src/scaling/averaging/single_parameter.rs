//! Forms of one parameter: sums of usual terms, with one real exponent, with a step or a switch to another form, and saturation.

use super::basis_term::{BasisFactor, BasisTerm};
use super::candidates::{CandidateSet, CandidateSets, RealFamily};
use super::term_prior::{Nature, TERMS, natures, pair_weight, term_index};
use crate::measurements::ParameterKind;
use crate::scaling::hypothesis::LogFactor::{self, Log2, Log2Squared, None as NoLog};
use std::sync::OnceLock;

/// The probability of sums of one, two and three terms.
const NUMBER_OF_TERMS: [f64; 3] = [0.3, 0.4, 0.3];
/// The probability that the inverse of the quantity is a sum: saturation.
const RECIPROCAL: f64 = 0.08;
/// The probability of a step: a cache or a protocol makes a term dearer from some value on.
const STEP: f64 = 0.08;
/// The probability of another term from some value on: what was hidden dominates, or another algorithm is used.
const SWITCH: f64 = 0.06;
/// The probability of an exponent that is not simple.
const REAL_EXPONENT: f64 = 0.08;
/// The most probable sums of three terms that are weighed.
const MAX_SUMS: usize = 1600;
/// The fewest settings that can show a step.
const MIN_STEP_SETTINGS: usize = 4;
/// Real exponents from -1.5 to 3.5, without those near zero; between them, the grid is refined where the evidence has a peak.
const REAL_EXPONENTS: std::ops::RangeInclusive<i32> = -37..=87;
const REAL_EXPONENT_STEP: f64 = 0.04;
const MIN_REAL_EXPONENT: f64 = 0.06;

/// Families of terms with a real exponent: the logarithm, the exponent of a term beside it, and how probable they are.
const REAL_FAMILIES: [(LogFactor, Option<f64>, f64); 8] = [
    (NoLog, None, 0.3),
    (NoLog, Some(0.0), 0.3),
    (NoLog, Some(-1.0), 0.08),
    (NoLog, Some(1.0), 0.08),
    (Log2, None, 0.07),
    (Log2, Some(0.0), 0.09),
    (Log2Squared, None, 0.03),
    (Log2Squared, Some(0.0), 0.05),
];

/// The terms of inverses.
const RECIPROCAL_TERMS: [(f64, LogFactor); 8] =
    [(0.0, NoLog), (1.0, NoLog), (-1.0, NoLog), (0.5, NoLog), (-0.5, NoLog), (2.0, NoLog), (-2.0, NoLog), (0.0, Log2)];

/// The terms that may have a step, and those that may stand beside them.
const STEP_TERMS: [(f64, LogFactor); 9] =
    [(1.0, NoLog), (1.0, Log2), (2.0, NoLog), (3.0, NoLog), (1.5, NoLog), (0.0, NoLog), (-1.0, NoLog), (0.5, NoLog), (0.0, Log2)];
const BESIDE_STEP: [(f64, LogFactor); 6] = [(0.0, NoLog), (1.0, NoLog), (-1.0, NoLog), (0.0, Log2), (2.0, NoLog), (0.5, NoLog)];
/// A constant beside a step is this much more probable than its weight says.
const CONSTANT_BESIDE_STEP: f64 = 4.0;

impl CandidateSets {
    /// Those of one parameter of this kind, measured at these settings.
    pub(super) fn from_one_parameter(kind: ParameterKind, settings: &[f64]) -> Self {
        static SMOOTH: [OnceLock<CandidateSets>; 3] = [const { OnceLock::new() }; 3];
        let mut all = SMOOTH[kind as usize].get_or_init(|| Self::smooth(kind)).clone();
        let cuts = cuts(settings);
        all.add_steps(kind, &cuts);
        all.add_switches(kind, &cuts);
        all
    }

    /// Those that have no step.
    fn smooth(kind: ParameterKind) -> Self {
        let mut all = Self {
            terms: TERMS.iter().map(|(exponent, log, ..)| BasisFactor::new(*exponent, *log).into()).collect(),
            sets: Vec::new(),
            families: Vec::new(),
        };
        all.add_sums(kind);
        all.add_real_exponents(kind);
        all.add_reciprocals();
        all
    }

    fn add_sums(&mut self, kind: ParameterKind) {
        let probability = 1.0 - RECIPROCAL - STEP - SWITCH - REAL_EXPONENT;
        for (size, share) in (1..).zip(NUMBER_OF_TERMS) {
            let sums = combinations(TERMS.len(), size);
            let mut weights = vec![0.0; sums.len()];
            for (nature, belief) in natures(kind) {
                let products: Vec<f64> = sums.iter().map(|sum| sum.iter().map(|term| nature.weight(*term)).product()).collect();
                let all: f64 = products.iter().sum();
                weights.iter_mut().zip(products).for_each(|(weight, product)| *weight += belief * product / all);
            }
            let mut sets: Vec<CandidateSet> = sums.iter().zip(weights).map(|(sum, weight)| CandidateSet::new(sum, weight)).collect();
            sets.sort_by(|a, b| b.log_prior.total_cmp(&a.log_prior));
            sets.truncate(MAX_SUMS);
            self.add(probability * share, sets);
        }
    }

    fn add_real_exponents(&mut self, kind: ParameterKind) {
        let exponents: Vec<f64> =
            REAL_EXPONENTS.map(|step| f64::from(step) * REAL_EXPONENT_STEP).filter(|exponent| exponent.abs() > MIN_REAL_EXPONENT).collect();
        let weight = |exponent: f64| match kind {
            ParameterKind::Unknown if exponent < 0.0 => 0.4,
            ParameterKind::Size if exponent < 0.0 => 0.01,
            ParameterKind::Processes if exponent > 1.0 => 0.02,
            _ => 1.0,
        };
        for (log, beside, share) in REAL_FAMILIES {
            let first = self.terms.len();
            self.terms.extend(exponents.iter().map(|exponent| BasisTerm::from(BasisFactor::new(*exponent, log))));
            let set = |(term, exponent): (usize, &f64)| match beside {
                Some(other) => {
                    CandidateSet::new(&[term, term_index(other, NoLog)], weight(*exponent) * pair_weight(other, exponent.max(0.0)))
                }
                None => CandidateSet::new(&[term], weight(*exponent)),
            };
            let begin = self.sets.len();
            self.add(REAL_EXPONENT * share, (first..).zip(&exponents).map(set));
            self.families.push(RealFamily { sets: begin..self.sets.len(), step: REAL_EXPONENT_STEP });
        }
    }

    fn add_reciprocals(&mut self) {
        let pairs = combinations(RECIPROCAL_TERMS.len(), 2).into_iter().filter_map(|pair| {
            let [first, second] = [pair[0], pair[1]].map(|index| RECIPROCAL_TERMS[index]);
            // A sum of growing terms would be a form that falls.
            let bends = first.0 <= 0.0 || second.0 <= 0.0;
            let weight = if [first, second].contains(&(0.0, NoLog)) { 1.0 } else { (-1.0_f64).exp() };
            let terms = [first, second].map(|(exponent, log)| term_index(exponent, log));
            bends.then(|| CandidateSet::reciprocal(&terms, weight))
        });
        self.add(RECIPROCAL, pairs.collect::<Vec<_>>());
    }

    fn add_steps(&mut self, kind: ParameterKind, cuts: &[f64]) {
        let nature = Nature::from_kind(kind);
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        for (exponent, log) in STEP_TERMS {
            let base = term_index(exponent, log);
            for cut in cuts {
                let step = self.add_term(BasisFactor { above: Some(*cut), ..BasisFactor::new(exponent, log) }.into());
                alone.push(CandidateSet::new(&[base, step], nature.weight(base)));
                beside.extend(BESIDE_STEP.iter().filter_map(|(other_exponent, other_log)| {
                    let other = term_index(*other_exponent, *other_log);
                    let constant = if (*other_exponent, *other_log) == (0.0, NoLog) { CONSTANT_BESIDE_STEP } else { 1.0 };
                    let weight = nature.weight(base) * nature.weight(other) * constant * pair_weight(exponent, *other_exponent);
                    (other != base).then(|| CandidateSet::new(&[base, step, other], weight))
                }));
            }
        }
        self.add(0.5 * STEP, alone);
        self.add(0.5 * STEP, beside);
    }

    fn add_switches(&mut self, kind: ParameterKind, cuts: &[f64]) {
        let nature = Nature::from_kind(kind);
        let mut sets = Vec::new();
        for cut in cuts {
            let below = STEP_TERMS
                .map(|(exponent, log)| self.add_term(BasisFactor { up_to: Some(*cut), ..BasisFactor::new(exponent, log) }.into()));
            let above = STEP_TERMS
                .map(|(exponent, log)| self.add_term(BasisFactor { above: Some(*cut), ..BasisFactor::new(exponent, log) }.into()));
            for (first, (exponent, log)) in below.iter().zip(STEP_TERMS) {
                for (second, (other_exponent, other_log)) in above.iter().zip(STEP_TERMS).filter(|(_, other)| *other != (exponent, log)) {
                    let weight = nature.weight(term_index(exponent, log)) * nature.weight(term_index(other_exponent, other_log));
                    sets.push(CandidateSet::new(&[*first, *second], weight * pair_weight(exponent, other_exponent)));
                }
            }
        }
        self.add(SWITCH, sets);
    }
}

/// The values at which a form may change: one between any two settings.
fn cuts(settings: &[f64]) -> Vec<f64> {
    let mut values = settings.to_vec();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let is_enough = values.len() >= MIN_STEP_SETTINGS;
    values.windows(2).filter(|_| is_enough).map(|pair| (pair[0] * pair[1]).sqrt()).collect()
}

/// All sets of this size of the numbers below `count`.
fn combinations(count: usize, size: usize) -> Vec<Vec<usize>> {
    (0..size).fold(vec![Vec::new()], |sets: Vec<Vec<usize>>, _| {
        let longer = |set: Vec<usize>| {
            let first = set.last().map_or(0, |last| last + 1);
            (first..count).map(move |next| [set.as_slice(), &[next]].concat())
        };
        sets.into_iter().flat_map(longer).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_add_up_to_one() {
        for kind in [ParameterKind::Unknown, ParameterKind::Size, ParameterKind::Processes] {
            let candidates = CandidateSets::from_one_parameter(kind, &[2.0, 4.0, 8.0, 16.0, 32.0]);
            let all: f64 = candidates.sets.iter().map(|set| set.log_prior.exp()).sum();
            assert!((all - 1.0).abs() < 1e-9, "{kind:?}: {all}");
        }
    }

    #[test]
    fn a_falling_term_makes_steep_growth_improbable() {
        let candidates = CandidateSets::from_one_parameter(ParameterKind::Unknown, &[1.0, 2.0, 3.0]);
        let prior = |wanted: [usize; 2]| {
            let set = candidates.sets.iter().find(|set| set.terms().eq(wanted)).expect("a set");
            set.log_prior.exp()
        };
        let [falling, linear, cubic, constant] = [-1.0, 1.0, 3.0, 0.0].map(|exponent| term_index(exponent, NoLog));
        let [with_falling, without] = [[cubic, falling], [constant, cubic]].map(prior);
        assert!(prior([linear, falling]) / with_falling > 2.0 * prior([constant, linear]) / without);
    }
}
