//! The distributions behind the intervals.
//!
//! The tails matter more than the last digit: a 95 % interval needs quantiles near 0.025, and mixtures need many of them. The fast
//! approximations are accurate to three digits and say so.

use std::f64::consts::SQRT_2;

/// Cumulative distribution function of the standard normal distribution.
pub(crate) fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / SQRT_2)
}

/// Its logarithm within 1e-5, also where the probability itself is too small for a number.
pub(crate) fn ln_normal_cdf(z: f64) -> f64 {
    if z > -2.0 {
        return fast_normal_cdf(z).ln();
    }
    if z > -8.0 {
        return normal_cdf(z).ln();
    }
    let series = 1.0 - z.powi(-2) + 3.0 * z.powi(-4) - 15.0 * z.powi(-6);
    -0.5 * z * z - (-z).ln() - 0.5 * (2.0 * std::f64::consts::PI).ln() + series.ln()
}

/// The same within 1e-7, for mixtures that evaluate it thousands of times (Abramowitz and Stegun 26.2.17).
pub(crate) fn fast_normal_cdf(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.2316419 * z.abs());
    let tail = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
    let above = normal_pdf(z) * tail;
    if z > 0.0 { 1.0 - above } else { above }
}

/// Density of the standard normal distribution.
pub(crate) fn normal_pdf(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Quantile of the standard normal distribution (within 1e-9 for `p` from 1e-12 to 1 - 1e-12).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let rough = approximate_normal_quantile(p);
    // One step of Halley's method on the rough value.
    let excess = (normal_cdf(rough) - p) / normal_pdf(rough);
    rough - excess / (1.0 + 0.5 * rough * excess)
}

/// Abramowitz and Stegun 26.2.23, within 4.5e-4.
fn approximate_normal_quantile(p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    let t = (-2.0 * tail.ln()).sqrt();
    let z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    if p < 0.5 { -z } else { z }
}

/// The normal deviate that corresponds to a value of Student's t (Wallace 1959; three digits in the tails that matter).
pub(crate) fn student_to_normal(t: f64, freedom: f64) -> f64 {
    let scale = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0);
    (scale * (freedom * (t * t / freedom).ln_1p()).sqrt()).copysign(t)
}

/// The value of Student's t that corresponds to a normal deviate: the inverse of [`student_to_normal`].
pub(crate) fn normal_to_student(z: f64, freedom: f64) -> f64 {
    let scaled = z * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0);
    (freedom * (scaled * scaled / freedom).exp_m1()).sqrt().copysign(z)
}

/// Cumulative distribution function of Student's t.
pub(crate) fn student_cdf(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t));
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Survival function of the F distribution: the probability that a ratio of two mean squares of the same noise exceeds `ratio`.
pub(crate) fn f_survival(ratio: f64, freedom: f64, freedom_below: f64) -> f64 {
    incomplete_beta(0.5 * freedom_below, 0.5 * freedom, freedom_below / (freedom_below + freedom * ratio))
}

/// Quantile of Student's t; infinite for `p` = 0 or 1.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    if p < 0.5 {
        return -student_quantile(1.0 - p, freedom);
    }
    if p == 0.5 {
        return 0.0;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let mut high = 1.0;
    while student_cdf(high, freedom) < p && high < 1e300 {
        high *= 2.0;
    }
    let mut low = 0.0;
    // Newton's method from the fast value, with bisection whenever a step leaves the bracket.
    let mut value = normal_to_student(normal_quantile(p), freedom);
    for _ in 0..200 {
        if !(low < value && value < high) {
            value = 0.5 * (low + high);
        }
        let excess = student_cdf(value, freedom) - p;
        if excess < 0.0 {
            low = value
        } else {
            high = value
        }
        let step = excess / student_pdf(value, freedom);
        if step.abs() <= 1e-14 * value || low >= high {
            break;
        }
        value -= step;
    }
    value
}

fn student_pdf(t: f64, freedom: f64) -> f64 {
    let half = 0.5 * (freedom + 1.0);
    let front = libm::lgamma(half) - libm::lgamma(0.5 * freedom) - 0.5 * (freedom * std::f64::consts::PI).ln();
    (front - half * (t * t / freedom).ln_1p()).exp()
}

/// The probability of at most `successes` among `trials` tosses of a fair coin.
pub(crate) fn fair_binomial_cdf(successes: usize, trials: usize) -> f64 {
    let n = trials as f64;
    let chance = |k: f64| (libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0) - n * std::f64::consts::LN_2).exp();
    (0..=successes.min(trials)).map(|k| chance(k as f64)).sum::<f64>().min(1.0)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    front * beta_fraction(a, b, x)
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..400 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_printed_tables() {
        assert!((normal_quantile(0.975) - 1.959963985).abs() < 1e-8);
        assert!((normal_quantile(0.0001) + 3.719016485).abs() < 1e-8);
        assert!((student_quantile(0.975, 1.0) - 12.70620474).abs() < 1e-6);
        assert!((student_quantile(0.975, 4.0) - 2.776445105).abs() < 1e-8);
        assert!((student_quantile(0.025, 30.0) + 2.042272456).abs() < 1e-8);
        assert!((student_quantile(0.9999, 1.0) - 3183.098757).abs() < 1e-5);
        assert!((student_quantile(0.975, 1e6) - 1.959966).abs() < 1e-5);
        assert_eq!(student_quantile(0.5, 3.0), 0.0);
        assert_eq!(student_quantile(0.0, 3.0), f64::NEG_INFINITY);
    }

    #[test]
    fn fast_normal_cdf_is_accurate_to_seven_digits() {
        for z in [-6.0, -2.0, -0.3, 0.0, 0.7, 3.0] {
            assert!((fast_normal_cdf(z) - normal_cdf(z)).abs() < 1e-7, "z {z}");
        }
    }

    #[test]
    fn the_logarithm_of_the_normal_cdf_has_no_gap() {
        assert!((ln_normal_cdf(-7.999_999) - ln_normal_cdf(-8.000_001)).abs() < 1e-4);
        // Mills' ratio: Φ(-40) is 1e-350.
        assert!((ln_normal_cdf(-40.0) + 804.608_442).abs() < 1e-5);
    }

    #[test]
    fn student_to_normal_is_accurate_to_three_digits() {
        for freedom in [3.0, 5.0, 10.0, 50.0] {
            for t in [-4.0, -2.0, -0.5, 0.0, 1.0, 3.0] {
                let quick = normal_cdf(student_to_normal(t, freedom));
                assert!((quick - student_cdf(t, freedom)).abs() < 4e-3, "t {t}, {freedom} degrees of freedom");
            }
        }
    }

    #[test]
    fn student_to_normal_round_trips() {
        for t in [-3.0, -0.1, 0.0, 2.5] {
            assert!((normal_to_student(student_to_normal(t, 4.0), 4.0) - t).abs() < 1e-9);
        }
    }

    #[test]
    fn f_survival_matches_printed_tables() {
        assert!((f_survival(4.0, 1.0, 20.0) - 2.0 * (1.0 - student_cdf(2.0, 20.0))).abs() < 1e-12);
        assert!((f_survival(2.7109, 5.0, 20.0) - 0.05).abs() < 1e-4);
    }

    #[test]
    fn fair_binomial_cdf_matches_known_values() {
        assert!((fair_binomial_cdf(0, 6) - 1.0 / 64.0).abs() < 1e-12);
        assert!((fair_binomial_cdf(4, 9) - 0.5).abs() < 1e-12);
        assert!((fair_binomial_cdf(9, 9) - 1.0).abs() < 1e-12);
    }
}
