//! From a guess of the exponents to the best ones nearby.

use super::family::Family;
use super::prior;
use super::short::Short;
use super::solve::Solver;

/// The exponents of a form, one for each factor.
pub type Exponents = Short<f64>;

/// A form with its best exponents.
#[derive(Debug, Clone)]
pub struct Fitted {
    pub family: Family,
    pub exponents: Exponents,
    /// The weighted sum of squares that is left.
    pub residual: f64,
    /// The upper triangle of the exponents' information, coefficients eliminated, at the last step but one.
    pub bend: Vec<f64>,
}

/// The most steps.
const MOST_STEPS: usize = 25;
/// A step that lowers the residual by less than this share is the last.
const ENOUGH: f64 = 1e-4;
/// The same for a form that is so far behind the best known one that it will not come first.
const ENOUGH_BEHIND: f64 = 0.05;
/// How many times the residual of the best known form is far behind.
const BEHIND: f64 = 3.0;

/// What is known before a form is refined.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// What noise adds to any residual, below which nothing is worth a step.
    pub floor: f64,
    /// The least residual of the forms so far.
    pub least: f64,
}

/// Refines a guess of the exponents.
pub fn refine(solver: &mut Solver, family: &Family, guess: &[f64], known: Known) -> Option<Fitted> {
    let range = |slot: usize| prior::range_around(guess[slot], family.slots[slot].log);
    let within = |slot: usize, exponent: f64| exponent.clamp(range(slot).0, range(slot).1);
    let mut exponents: Exponents = guess.iter().enumerate().map(|(slot, e)| within(slot, *e)).collect();
    let mut residual = solver.residual(family, &exponents);
    if !residual.is_finite() {
        return None;
    }
    for _ in 0..MOST_STEPS {
        solver.improve(family);
        let step = Exponents::from(solver.step.as_slice());
        // A step is never longer than one, and gets shorter until it helps.
        let mut factor = 1.0 / step.iter().fold(1.0, |most: f64, s| most.max(s.abs()));
        let better = (0..6).find_map(|_| {
            let tried: Exponents = exponents.iter().zip(step.iter()).enumerate().map(|(k, (e, s))| within(k, e + factor * s)).collect();
            factor *= 0.3;
            let less = solver.residual(family, &tried);
            (less < residual).then_some((tried, less))
        });
        let Some((tried, less)) = better else {
            solver.residual(family, &exponents);
            break;
        };
        let gain = (residual - less) / (less + known.floor);
        (exponents, residual) = (tried, less);
        let behind = residual > BEHIND * (known.least + known.floor);
        if gain < if behind { ENOUGH_BEHIND } else { ENOUGH } {
            break;
        }
    }
    Some(Fitted { family: *family, exponents, residual, bend: solver.bend.clone() })
}
