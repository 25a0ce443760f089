//! Bayesian model averaging over sums of terms with given exponents: what intervals come from.
//!
//! With few values of a parameter, many forms fit equally well, also those with as many unknowns as there are values. A proper prior on the
//! coefficients allows them to be weighed all the same, and what the measurements cannot tell stays open: the intervals are those of all forms
//! together. `docs/fit-theory.md` has the method and how well its intervals hold.

mod basis_term;
mod candidates;
mod discrepancy;
mod disturbed_runs;
mod evidence;
mod form_average;
mod linear_system;
mod noise_grid;
mod real_powers;
mod refinement;
mod sampling;
mod searched_sums;
mod setting_range;
mod several_parameters;
mod single_parameter;
mod term_prior;

use super::data_check;
use super::searched_fit::SearchedFit;
use crate::measurements::{DataPoint, Measurements};
pub use basis_term::{BasisFactor, BasisTerm};
use candidates::CandidateSets;
use evidence::EvidenceProblem;
pub use form_average::{FormAverage, FormSample, SampledForm};
use noise_grid::{NoiseGrid, log_sum};

/// More settings than these tell the form without an average over all of them.
const MAX_SETTINGS_OF_ONE_PARAMETER: usize = 24;
const MAX_SETTINGS: usize = 150;

/// With more parameters than this, there are too many products of factors.
const MAX_PARAMETERS: usize = 3;

/// Fewer different values of a parameter than this leave any form possible.
const MIN_VALUES: usize = 3;

/// The forms are weighed again with the values that they give if these differ from the measured ones by this much anywhere, as a logarithm.
const CLOSE: f64 = 0.04;

/// Forms less probable than the best by more than this, as a logarithm, do not count; at first, with more forms open, by more than that.
const NEGLIGIBLE_LOG_RATIO: f64 = 11.0;
const COARSE_LOG_RATIO: f64 = 12.0;

/// The forms that explain measurements, and which measurements these are.
pub(super) struct ExplainedRuns {
    /// Without disturbed runs.
    pub measurements: Measurements,
    /// The disturbed runs, one value each.
    pub disturbed: Vec<DataPoint>,
    /// What the search finds in the measurements.
    pub searched: SearchedFit,
    /// `None` with many parameters, with too few values, with very many settings, or with numbers too extreme to weigh.
    pub average: Option<FormAverage>,
}

/// Averages over all forms, and leaves out single runs that they show to be disturbed.
pub(super) fn explain(measurements: &Measurements) -> ExplainedRuns {
    let most = disturbed_runs::max_count(measurements);
    let mut runs = WeighedRuns::new(measurements.clone());
    let mut disturbed = Vec::new();
    while let Some(weighed) = runs.weighed.as_ref().filter(|_| disturbed.len() < most) {
        // One by one at first. Of many runs more at a time, because all forms are weighed again each time.
        let count = (disturbed.len() / 2).max(1).min(most - disturbed.len());
        let Some(left_out) = disturbed_runs::most_suspicious(&runs.measurements, &weighed.expected_logs, count) else { break };
        let (fewer, values) = runs.measurements.without_runs(&left_out);
        if data_check::check(&fewer).is_err() {
            break;
        }
        let fewer = WeighedRuns::new(fewer);
        let Some(others) = &fewer.weighed else { break };
        if others.log_evidence + values.len() as f64 * disturbed_runs::LOG_DENSITY <= weighed.log_evidence {
            break;
        }
        disturbed.extend(values);
        runs = fewer;
    }
    let WeighedRuns { measurements, searched, weighed } = runs;
    ExplainedRuns { measurements, disturbed, searched, average: weighed.map(|weighed| weighed.average) }
}

/// Measurements with the fit of the search and the average over forms.
struct WeighedRuns {
    measurements: Measurements,
    searched: SearchedFit,
    weighed: Option<ScoredAverage>,
}

impl WeighedRuns {
    fn new(measurements: Measurements) -> Self {
        let searched = SearchedFit::from_measurements(&measurements);
        let weighed = ScoredAverage::from_measurements(&measurements, &searched);
        Self { measurements, searched, weighed }
    }
}

/// The average over forms, and how well it explains the measurements.
struct ScoredAverage {
    average: FormAverage,
    /// The logarithm of the value that is expected at each setting.
    expected_logs: Vec<f64>,
    /// The logarithm of the density of the logarithms of all measured values.
    log_evidence: f64,
}

impl ScoredAverage {
    fn from_measurements(measurements: &Measurements, searched: &SearchedFit) -> Option<Self> {
        let settings: Vec<Vec<f64>> = measurements.points().iter().map(|point| point.at.clone()).collect();
        let parameters = measurements.parameters().len();
        let has_values = (0..parameters).all(|parameter| measurements.distinct_values(parameter).len() >= MIN_VALUES);
        let most = if parameters == 1 { MAX_SETTINGS_OF_ONE_PARAMETER } else { MAX_SETTINGS };
        if parameters > MAX_PARAMETERS || !has_values || settings.len() > most {
            return None;
        }
        let noise = NoiseGrid::from_measurements(measurements);
        let mut problem = EvidenceProblem::new(&settings, &noise, candidates(measurements, searched, &settings, &noise));
        refinement::refine(&mut problem);
        // Relative errors are linearised: at the measured values, and where these are not what the forms give, once more.
        let mut coarse = problem.weigh_coarsely(COARSE_LOG_RATIO);
        let expected = problem.expected_log_values(&coarse);
        if expected.iter().zip(&noise.log_values).any(|(expected, measured)| (expected - measured).abs() >= CLOSE) {
            problem.set_expected(expected.clone());
            coarse = problem.weigh_coarsely(COARSE_LOG_RATIO);
        }
        let weighed = problem.weigh(&EvidenceProblem::promising(&coarse), NEGLIGIBLE_LOG_RATIO);
        let average = sampling::sample(&problem, &weighed).filter(|average| average.is_valid(parameters))?;
        let log_evidence = log_sum(weighed.iter().map(|form| form.gaussian.log_bound())) + noise.log_density;
        Some(Self { average, expected_logs: expected, log_evidence })
    }
}

fn candidates(measurements: &Measurements, searched: &SearchedFit, settings: &[Vec<f64>], noise: &NoiseGrid) -> CandidateSets {
    let kinds = measurements.parameter_kinds();
    let mut all = match measurements.parameters().len() {
        1 => CandidateSets::from_one_parameter(kinds[0], &settings.iter().map(|x| x[0]).collect::<Vec<f64>>()),
        parameters => CandidateSets::from_several_parameters(&kinds[..parameters], settings, &noise.log_values),
    };
    all.add_searched(searched_sums::from_search(searched, measurements.parameters().len()));
    all
}
