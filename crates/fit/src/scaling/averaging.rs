//! Bayesian model averaging over sums of terms with given exponents: what intervals come from.
//!
//! With few values of a parameter, many laws fit equally well, also laws with as many unknowns as there are values. A proper prior on the
//! coefficients allows them to be weighed all the same, and what the measurements cannot tell stays open: the intervals are those of all laws
//! together. `docs/fit-theory.md` has the method and how well its intervals hold.

mod basis_term;
mod candidates;
mod discrepancy;
mod disturbed_runs;
mod evidence;
mod law_average;
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

use crate::measurements::Measurements;
pub use basis_term::{BasisFactor, BasisTerm};
use candidates::CandidateSets;
use evidence::EvidenceProblem;
pub use law_average::{LawAverage, LawSample, SampledForm};
use noise_grid::{NoiseGrid, log_sum};

/// More settings than these tell the law apart without an average over all of them.
const MAX_SETTINGS_OF_ONE_PARAMETER: usize = 24;
const MAX_SETTINGS: usize = 150;

/// With more parameters than this, there are too many products of factors.
const MAX_PARAMETERS: usize = 3;

/// Fewer different values of a parameter than this leave any law possible.
const MIN_VALUES: usize = 3;

/// The laws are weighed again with the values that they give if these differ from the measured ones by this much anywhere, as a logarithm.
const CLOSE: f64 = 0.04;

/// Forms less probable than the best by more than this, as a logarithm, do not count; at first, with more forms open, by more than that.
const NEGLIGIBLE_LOG_RATIO: f64 = 11.0;
const COARSE_LOG_RATIO: f64 = 12.0;

/// The laws that explain measurements, and which measurements these are.
pub(super) struct ExplainedRuns {
    /// Without disturbed runs.
    pub measurements: Measurements,
    /// How many runs were disturbed.
    pub disturbed: usize,
    /// `None` with many parameters, with too few values, with very many settings, or with numbers too extreme to weigh.
    pub average: Option<LawAverage>,
}

/// Averages over all laws, and leaves out single runs that they show to be disturbed.
pub(super) fn explain(measurements: &Measurements) -> ExplainedRuns {
    let mut measurements = measurements.clone();
    let most = disturbed_runs::max_count(&measurements);
    let mut disturbed = 0;
    let mut laws = WeighedLaws::of_measurements(&measurements);
    while let Some(weighed) = laws.as_ref().filter(|_| disturbed < most) {
        let Some(fewer) = disturbed_runs::without_most_suspicious(&measurements, &weighed.expected_logs) else { break };
        let Some(others) = WeighedLaws::of_measurements(&fewer) else { break };
        if others.log_evidence + disturbed_runs::LOG_DENSITY <= weighed.log_evidence {
            break;
        }
        disturbed += 1;
        (measurements, laws) = (fewer, Some(others));
    }
    ExplainedRuns { measurements, disturbed, average: laws.map(|laws| laws.average) }
}

/// The average over laws, and how well it explains the measurements.
struct WeighedLaws {
    average: LawAverage,
    /// The logarithm of the value that is expected at each setting.
    expected_logs: Vec<f64>,
    /// The logarithm of the density of the logarithms of all measured values.
    log_evidence: f64,
}

impl WeighedLaws {
    fn of_measurements(measurements: &Measurements) -> Option<Self> {
        let settings: Vec<Vec<f64>> = measurements.points().iter().map(|point| point.at.clone()).collect();
        let parameters = measurements.parameters().len();
        let has_values = (0..parameters).all(|parameter| measurements.distinct_values(parameter).len() >= MIN_VALUES);
        let most = if parameters == 1 { MAX_SETTINGS_OF_ONE_PARAMETER } else { MAX_SETTINGS };
        if parameters > MAX_PARAMETERS || !has_values || settings.len() > most {
            return None;
        }
        let noise = NoiseGrid::from_measurements(measurements);
        let mut problem = EvidenceProblem::new(&settings, &noise, candidates(measurements, &settings, &noise));
        refinement::refine(&mut problem);
        // Relative errors are linearised: at the measured values, and where these are not what the laws give, once more.
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

fn candidates(measurements: &Measurements, settings: &[Vec<f64>], noise: &NoiseGrid) -> CandidateSets {
    let kinds = measurements.parameter_kinds();
    let mut all = match measurements.parameters().len() {
        1 => CandidateSets::of_one_parameter(kinds[0], &settings.iter().map(|x| x[0]).collect::<Vec<f64>>()),
        parameters => CandidateSets::of_several_parameters(&kinds[..parameters], settings, &noise.log_values),
    };
    all.add_searched(searched_sums::search(measurements));
    all
}
