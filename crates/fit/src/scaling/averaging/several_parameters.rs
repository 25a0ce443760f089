//! Forms of several parameters: sums of products of usual factors, and one product of real powers.
//!
//! There are too many sums to weigh all of them. A beam search finds those that leave little: the best sums of each size are joined with the terms
//! that explain most of what is left.

use super::basis_term::{BasisFactor, BasisTerm};
use super::candidates::{CandidateSet, CandidateSets};
use super::noise_grid::log_sum;
use super::real_powers;
use super::term_prior::{Nature, TERMS, natures};
use crate::measurements::ParameterKind;
use crate::scaling::cholesky::CholeskyFactor;
use std::collections::BTreeSet;

/// The probability of sums of one to four terms.
const NUMBER_OF_TERMS: [f64; 4] = [0.2, 0.35, 0.3, 0.15];
/// The most sums of each size that are weighed.
const MAX_SUMS: [usize; 4] = [150, 400, 600, 400];
/// The sums that are joined with further terms, and the further terms of each.
const BEAM: usize = 50;
const FURTHER_TERMS: usize = 40;

/// Which products are used.
struct ProductLimits {
    /// The least weight of a factor.
    factor_weight: f64,
    /// The most natures of each parameter that are combined.
    natures: usize,
    /// The most probable products.
    products: usize,
}

const LIMITS_OF_TWO_PARAMETERS: ProductLimits = ProductLimits { factor_weight: 0.1, natures: 3, products: 700 };
/// There are more combinations of more parameters.
const LIMITS_OF_MORE_PARAMETERS: ProductLimits = ProductLimits { factor_weight: 0.15, natures: 2, products: 700 };

/// The relative error below which sums are not told apart.
const RESOLUTION: f64 = 5e-4;
/// Terms that take less than this share of the value with the wrong sign make a sum improbable, more exclude it.
const SLIGHTLY_NEGATIVE: f64 = -0.02;
const CLEARLY_NEGATIVE: f64 = -0.3;
const SLIGHTLY_NEGATIVE_LOG_PRIOR: f64 = -8.0;

/// Products of one usual factor of each parameter, with what they are worth.
struct Products {
    terms: Vec<BasisTerm>,
    by_nature: Vec<NatureWeights>,
    /// The logarithmic weight of each product, over all natures.
    log_weights: Vec<f64>,
}

/// What the products are worth for one combination of natures of the parameters.
struct NatureWeights {
    log_probability: f64,
    /// The logarithm of the weight of each product; together they weigh one.
    log_weights: Vec<f64>,
}

impl CandidateSets {
    /// Those of several parameters of these kinds that leave little of the measured values, which are given by their logarithms.
    pub(super) fn from_several_parameters(kinds: &[ParameterKind], settings: &[Vec<f64>], log_values: &[f64]) -> Self {
        let products = Products::from_kinds(kinds);
        let beam = BeamSearch::new(&products, settings, log_values);
        let sets = beam.run();
        let real = real_powers::nodes(settings, log_values);
        let mut all = Self { terms: products.terms.clone(), sets, families: Vec::new() };
        all.sets.iter_mut().for_each(|set| set.log_prior += (1.0 - real_powers::PROBABILITY).ln());
        let constant = all.terms.iter().position(BasisTerm::is_constant);
        for node in real {
            let term = all.add_term(node.term);
            let terms = if node.with_constant { [Some(term), constant] } else { [Some(term), None] };
            let terms: Vec<usize> = terms.into_iter().flatten().collect();
            all.sets.push(CandidateSet::with_log_prior(&terms, node.log_prior));
        }
        all
    }
}

impl Products {
    fn from_kinds(kinds: &[ParameterKind]) -> Self {
        let limits = if kinds.len() == 2 { LIMITS_OF_TWO_PARAMETERS } else { LIMITS_OF_MORE_PARAMETERS };
        let products = choices(&kinds.iter().map(|kind| usual_factors(*kind, limits.factor_weight)).collect::<Vec<_>>());
        let possible: Vec<Vec<(Nature, f64)>> =
            kinds.iter().map(|kind| natures(*kind).into_iter().take(limits.natures).collect()).collect();
        let mut by_nature: Vec<NatureWeights> = choices(&possible).iter().map(|natures| NatureWeights::new(natures, &products)).collect();
        let log_weight = |product: usize| log_sum(by_nature.iter().map(move |of| of.log_probability + of.log_weights[product]));
        let log_weights: Vec<f64> = (0..products.len()).map(log_weight).collect();
        let mut order: Vec<usize> = (0..products.len()).collect();
        order.sort_by(|a, b| log_weights[*b].total_cmp(&log_weights[*a]));
        order.truncate(limits.products);
        let in_order = |weights: &[f64]| order.iter().map(|product| weights[*product]).collect();
        by_nature.iter_mut().for_each(|of| of.log_weights = in_order(&of.log_weights));
        Self {
            terms: order.iter().map(|product| product_of(&products[*product])).collect(),
            by_nature,
            log_weights: in_order(&log_weights),
        }
    }

    /// The logarithmic prior probability of a sum: natures hold for all of its terms.
    fn log_prior(&self, sum: &[usize]) -> f64 {
        let orders: f64 = (1..=sum.len()).map(|k| k as f64).product();
        let of_nature = |of: &NatureWeights| of.log_probability + sum.iter().map(|term| of.log_weights[*term]).sum::<f64>();
        log_sum(self.by_nature.iter().map(of_nature)) + orders.ln() + NUMBER_OF_TERMS[sum.len() - 1].ln()
    }
}

impl NatureWeights {
    fn new(natures: &[(Nature, f64)], products: &[Vec<usize>]) -> Self {
        let weight =
            |product: &Vec<usize>| natures.iter().zip(product).map(|((nature, _), factor)| nature.weight(*factor).ln()).sum::<f64>();
        let weights: Vec<f64> = products.iter().map(weight).collect();
        let all = log_sum(weights.iter().copied());
        let log_probability = natures.iter().map(|(_, probability)| probability.ln()).sum();
        Self { log_probability, log_weights: weights.into_iter().map(|weight| weight - all).collect() }
    }
}

/// The usual factors of a parameter that weigh at least this much, whatever it is.
fn usual_factors(kind: ParameterKind, least: f64) -> Vec<usize> {
    (0..TERMS.len()).filter(|factor| natures(kind).iter().any(|(nature, _)| nature.weight(*factor) >= least)).collect()
}

/// The product of one usual factor of each parameter.
fn product_of(factors: &[usize]) -> BasisTerm {
    BasisTerm::new(factors.iter().map(|factor| BasisFactor::new(TERMS[*factor].0, TERMS[*factor].1)).collect())
}

/// All ways of choosing one item of each list.
fn choices<T: Copy>(lists: &[Vec<T>]) -> Vec<Vec<T>> {
    lists.iter().fold(vec![Vec::new()], |chosen: Vec<Vec<T>>, list| {
        chosen.iter().flat_map(|begin| list.iter().map(move |item| [begin.as_slice(), &[*item]].concat())).collect()
    })
}

/// Relative values of all products, as a linear system for the value one.
struct BeamSearch<'a> {
    products: &'a Products,
    settings: usize,
    /// Inner products of the columns, row by row.
    gram: Vec<f64>,
    /// Inner products with the value one.
    right: Vec<f64>,
}

impl<'a> BeamSearch<'a> {
    fn new(products: &'a Products, settings: &[Vec<f64>], log_values: &[f64]) -> Self {
        let column = |term: &BasisTerm| {
            let mut column: Vec<f64> = settings.iter().zip(log_values).map(|(x, log)| term.value_at(x) * (-log).exp()).collect();
            let scale = column.iter().copied().fold(0.0, f64::max);
            let is_usable = scale > 0.0 && scale.is_finite();
            column.iter_mut().for_each(|value| *value = if is_usable { *value / scale } else { 0.0 });
            column
        };
        let columns: Vec<Vec<f64>> = products.terms.iter().map(column).collect();
        let count = columns.len();
        let mut gram = vec![0.0; count * count];
        for i in 0..count {
            for j in 0..=i {
                let product = columns[i].iter().zip(&columns[j]).map(|(a, b)| a * b).sum();
                gram[i * count + j] = product;
                gram[j * count + i] = product;
            }
        }
        let right = columns.iter().map(|column| column.iter().sum()).collect();
        Self { products, settings: settings.len(), gram, right }
    }

    /// The sums to weigh.
    fn run(&self) -> Vec<CandidateSet> {
        let mut weighed = Vec::new();
        let mut sums: BTreeSet<Vec<usize>> = (0..self.right.len()).filter(|term| self.right[*term] > 0.0).map(|term| vec![term]).collect();
        for (size, most) in (1..).zip(MAX_SUMS) {
            let mut scored: Vec<(f64, Vec<usize>)> = sums.into_iter().filter_map(|sum| Some((self.score(&sum)?, sum))).collect();
            scored.sort_by(|a, b| b.0.total_cmp(&a.0));
            scored.truncate(most);
            weighed.extend(scored.iter().map(|(_, sum)| CandidateSet::with_log_prior(sum, self.products.log_prior(sum))));
            if self.settings < size + 2 {
                break;
            }
            sums = scored.iter().take(BEAM).flat_map(|(_, sum)| self.longer_sums(sum)).collect();
        }
        weighed
    }

    fn least_squares(&self, sum: &[usize]) -> CholeskyFactor {
        let count = self.right.len();
        CholeskyFactor::new(sum.len(), |i, j| self.gram[sum[i] * count + sum[j]] + if i == j { RESOLUTION.powi(2) } else { 0.0 })
    }

    /// The squares of relative errors below which sums are not told apart.
    fn least_residual(&self) -> f64 {
        self.settings as f64 * RESOLUTION.powi(2)
    }

    /// About the logarithmic posterior of a sum; `None` if a term is clearly negative.
    fn score(&self, sum: &[usize]) -> Option<f64> {
        let right: Vec<f64> = sum.iter().map(|term| self.right[*term]).collect();
        let factor = self.least_squares(sum);
        let half = factor.solve_lower(&right);
        let shares = factor.solve_upper(&half);
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        if least < CLEARLY_NEGATIVE {
            return None;
        }
        let sign = if least < SLIGHTLY_NEGATIVE { SLIGHTLY_NEGATIVE_LOG_PRIOR } else { 0.0 };
        let explained: f64 = half.iter().map(|value| value * value).sum();
        let residual = (self.settings as f64 - explained).max(0.0) + self.least_residual();
        let freedom = self.settings as f64 - sum.len() as f64;
        Some(-0.5 * freedom * residual.ln() + sum.iter().map(|term| self.products.log_weights[*term]).sum::<f64>() + sign)
    }

    /// The sum with one of the terms that explain most of what it leaves.
    fn longer_sums(&self, sum: &[usize]) -> Vec<Vec<usize>> {
        let count = self.right.len();
        let factor = self.least_squares(sum);
        let right: Vec<f64> = sum.iter().map(|term| self.right[*term]).collect();
        let half = factor.solve_lower(&right);
        let left = (self.settings as f64 - half.iter().map(|value| value * value).sum::<f64>()).max(0.0);
        let mut scored: Vec<(f64, usize)> = (0..count)
            .filter(|term| self.right[*term] > 0.0 && !sum.contains(term))
            .map(|term| {
                let shared: Vec<f64> = sum.iter().map(|other| self.gram[other * count + term]).collect();
                let shared = factor.solve_lower(&shared);
                let own = self.gram[term * count + term] - shared.iter().map(|value| value * value).sum::<f64>();
                let with_rest = self.right[term] - shared.iter().zip(&half).map(|(a, b)| a * b).sum::<f64>();
                let residual = (left - with_rest.powi(2) / own.max(1e-9)).max(0.0) + self.least_residual();
                (-0.5 * self.settings as f64 * residual.ln() + self.products.log_weights[term], term)
            })
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0));
        let longer = |(_, term): &(f64, usize)| {
            let mut longer = [sum, &[*term]].concat();
            longer.sort_unstable();
            longer
        };
        scored.iter().take(FURTHER_TERMS).map(longer).collect()
    }
}
