//! Refines initial exponents to a local optimum.

use super::bounded_vec::BoundedVec;
use super::hypothesis::Hypothesis;
use super::least_squares::LeastSquaresSolver;
use super::prior;

/// The exponents of a hypothesis, one per factor.
pub(super) type Exponents = BoundedVec<f64>;

/// A hypothesis with its fitted exponents.
#[derive(Debug, Clone)]
pub(super) struct FittedHypothesis {
    pub hypothesis: Hypothesis,
    pub exponents: Exponents,
    /// The weighted residual sum of squares.
    pub residual: f64,
    /// The upper Cholesky factor of the exponents' information matrix, coefficients eliminated, from the last but one step.
    pub information_root: Vec<f64>,
}

/// The maximum number of steps.
const MAX_STEPS: usize = 25;
/// Iteration stops when a step lowers the residual by less than this share.
const MIN_GAIN: f64 = 1e-4;
/// The same for a hypothesis too far behind the best known one to win.
const MIN_GAIN_BEHIND: f64 = 0.05;
/// A residual above this multiple of the best is far behind.
const BEHIND_FACTOR: f64 = 3.0;

/// What is known before a hypothesis is refined.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefineContext {
    /// The noise contribution to any residual; smaller gains are not worth a step.
    pub noise_floor: f64,
    /// The lowest residual of the hypotheses so far.
    pub best_residual: f64,
}

/// Refines initial exponents.
pub(super) fn refine(
    solver: &mut LeastSquaresSolver,
    hypothesis: &Hypothesis,
    guess: &[f64],
    known: RefineContext,
) -> Option<FittedHypothesis> {
    let range = |slot: usize| prior::exponent_range(guess[slot], hypothesis.factors[slot].log);
    let within = |slot: usize, exponent: f64| exponent.clamp(range(slot).0, range(slot).1);
    let mut exponents: Exponents = guess.iter().enumerate().map(|(slot, e)| within(slot, *e)).collect();
    let mut residual = solver.residual(hypothesis, &exponents);
    if !residual.is_finite() {
        return None;
    }
    for _ in 0..MAX_STEPS {
        solver.gauss_newton_step(hypothesis);
        let step = Exponents::from(solver.step.as_slice());
        // A step is at most one long, and is shortened until it helps.
        let mut factor = 1.0 / step.iter().fold(1.0, |most: f64, s| most.max(s.abs()));
        let better = (0..6).find_map(|_| {
            let tried: Exponents = exponents.iter().zip(step.iter()).enumerate().map(|(k, (e, s))| within(k, e + factor * s)).collect();
            factor *= 0.3;
            let less = solver.residual(hypothesis, &tried);
            (less < residual).then_some((tried, less))
        });
        let Some((tried, less)) = better else {
            solver.residual(hypothesis, &exponents);
            break;
        };
        let gain = (residual - less) / (less + known.noise_floor);
        (exponents, residual) = (tried, less);
        let behind = residual > BEHIND_FACTOR * (known.best_residual + known.noise_floor);
        if gain < if behind { MIN_GAIN_BEHIND } else { MIN_GAIN } {
            break;
        }
    }
    Some(FittedHypothesis { hypothesis: *hypothesis, exponents, residual, information_root: solver.information_root.clone() })
}
