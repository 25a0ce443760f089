//! What a fit gives: possible formulas with weights, the one to show, and predictions from all of them.

use super::correction::Correction;
use super::member::{Factor, Member};
use crate::random::Random;
use crate::stats::{normal_as_student, normal_quantile, quick_normal_below, student_as_normal};
use serde::{Deserialize, Serialize};

/// How far the measurements scatter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The scatter of a point around the formula, in percent of its value at a typical point.
    pub percent: f64,
    /// The exponent of its growth: 1 if it grows like the value, 0 if it is the same everywhere.
    pub growth: f64,
    /// The scatter of repetitions in one point, in percent, if there are any.
    pub repetitions_percent: Option<f64>,
    /// How many repetitions lie far outside.
    pub outliers: usize,
}

/// How far the formula is from the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErrorPercent {
    /// The mean relative error at the points it was fitted to.
    pub in_sample: f64,
    /// The mean relative error at the largest points when they are held out, if there are enough points to try.
    pub validated: Option<f64>,
}

/// A scaling law found in measurements: plain data that can be stored and drawn from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// The largest measured value of each parameter, which the terms are relative to.
    pub reference: Vec<f64>,
    /// The smallest measured value of each parameter.
    pub smallest: Vec<f64>,
    /// The possible formulas, likeliest first.
    pub members: Vec<Member>,
    /// The formula to show.
    pub shown: Member,
    /// The scatter of one point: `spread * value^growth`.
    pub spread: f64,
    /// How far the measurements scatter.
    pub noise: Noise,
    /// How far the formula is from the measurements.
    pub error_percent: ErrorPercent,
    /// What puts predictions near the measurements right, where the errors of the formula have a pattern.
    pub correction: Option<Correction>,
    /// How far the truth may be from all formulas, if more than noise is between them and the measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unexplained: Option<Unexplained>,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// How it goes on beyond the largest measured value of a parameter, if the growth changes among the measured ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Beyond>,
}

/// How far the truth may be from all formulas, as a standard deviation relative to them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unexplained {
    /// Among the measured settings.
    pub within: f64,
    /// Further for each step beyond the largest measured value of each parameter.
    pub ahead: Vec<f64>,
    /// The logarithm of a typical step between measured values of each parameter.
    pub steps: Vec<f64>,
}

impl Unexplained {
    /// The standard deviation at a setting.
    fn at(&self, x: &[f64], reference: &[f64]) -> f64 {
        let steps = |k: usize| ((x[k] / reference[k]).ln() / self.steps[k]).max(0.0);
        (0..self.ahead.len()).map(|k| self.ahead[k] * steps(k)).fold(self.within, f64::hypot)
    }
}

/// How a quantity goes on beyond the largest measured value of a parameter: as the largest values alone say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beyond {
    /// The parameter, as an index.
    pub parameter: usize,
    /// The law of the points at its largest values.
    pub model: Box<Model>,
}

impl Model {
    /// The value of one more measurement at a setting (with as many repetitions as the others had): lowest, middle, highest.
    pub fn predict(&self, x: &[f64]) -> [f64; 3] {
        self.quantiles(x, true, self.confidence)
    }

    /// The true value at a setting, without the noise of measuring: lowest, middle, highest.
    pub fn expect(&self, x: &[f64]) -> [f64; 3] {
        self.quantiles(x, false, self.confidence)
    }

    /// Lowest, middle and highest value with another confidence, for one more measurement or for the true value.
    pub fn quantiles(&self, x: &[f64], measured: bool, confidence: f64) -> [f64; 3] {
        if let Some(beyond) = self.beyond(x) {
            return beyond.quantiles(x, measured, confidence);
        }
        let bells: Vec<Bell> = self.members.iter().map(|m| self.bell(m, x, measured)).collect();
        let tail = 0.5 * (1.0 - confidence);
        let (low, high) = (quantile(&bells, tail), quantile(&bells, 1.0 - tail));
        let factor = self.correction.as_ref().map_or(1.0, |c| c.at(x));
        // What is measured is positive, which the bells do not know.
        [low, middle(bells).clamp(low, high), high].map(|value| (factor * value).max(0.0))
    }

    /// The law that holds at a setting: this one, or that beyond the measurements.
    pub fn law_at(&self, x: &[f64]) -> &Self {
        self.beyond(x).unwrap_or(self)
    }

    /// The law that holds at a setting beyond the measurements, if it is another one.
    fn beyond(&self, x: &[f64]) -> Option<&Self> {
        self.beyond.as_ref().filter(|b| x[b.parameter] > self.reference[b.parameter]).map(|b| &*b.model)
    }

    fn unexplained_at(&self, x: &[f64]) -> f64 {
        self.unexplained.as_ref().map_or(0.0, |u| u.at(x, &self.reference))
    }

    fn bell(&self, member: &Member, x: &[f64], measured: bool) -> Bell {
        let (middle, error) = member.at(x, &self.reference);
        let noise = if measured { self.spread * middle.abs().powf(self.noise.growth) } else { 0.0 };
        let spread = error.hypot(noise).hypot(self.unexplained_at(x) * middle);
        Bell { weight: member.weight, middle, spread, freedom: member.freedom }
    }

    /// A possible curve, drawn as likely as the measurements make it: a member, and coefficients for its terms.
    pub fn draw(&self, random: &mut Random) -> Drawn<'_> {
        let mut left = random.unit();
        let chosen = self.members.iter().find(|m| {
            left -= m.weight;
            left <= 0.0
        });
        let member = chosen.unwrap_or(&self.members[0]);
        let stretch = random.mean_square(member.freedom).sqrt().recip();
        let size = member.coefficients.len();
        let root = cholesky(&member.covariance, size);
        let normals: Vec<f64> = (0..size).map(|_| stretch * random.normal()).collect();
        let coefficients =
            (0..size).map(|i| member.coefficients[i] + (0..=i).map(|j| root[i * size + j] * normals[j]).sum::<f64>()).collect();
        let unexplained = random.normal();
        let beyond = self.beyond.as_ref().map(|b| Box::new(b.model.draw(random)));
        Drawn { model: self, member, coefficients, unexplained, beyond }
    }
}

/// One possible curve.
#[derive(Debug, Clone)]
pub struct Drawn<'a> {
    model: &'a Model,
    member: &'a Member,
    coefficients: Vec<f64>,
    /// How many standard deviations it is from its formula.
    unexplained: f64,
    beyond: Option<Box<Drawn<'a>>>,
}

impl Drawn<'_> {
    /// Its value at a setting, which is never negative.
    pub fn at(&self, x: &[f64]) -> f64 {
        if let Some(beyond) = self.beyond.as_ref().filter(|_| self.model.beyond(x).is_some()) {
            return beyond.at(x);
        }
        let term = |t: &Vec<Factor>| t.iter().map(|f| f.at(x, &self.model.reference)).product::<f64>();
        let value: f64 = self.member.terms.iter().zip(&self.coefficients).map(|(t, c)| c * term(t)).sum();
        let correction = self.model.correction.as_ref().map_or(1.0, |c| c.at(x));
        (value * correction * (1.0 + self.unexplained * self.model.unexplained_at(x))).max(0.0)
    }
}

/// What one member says of a value: a bell of Student's shape.
struct Bell {
    weight: f64,
    middle: f64,
    spread: f64,
    freedom: f64,
}

impl Bell {
    /// The chance that the value is below.
    fn below(&self, value: f64) -> f64 {
        let distance = value - self.middle;
        if self.spread > 0.0 {
            quick_normal_below(student_as_normal(distance / self.spread, self.freedom))
        } else {
            f64::from(u8::from(distance >= 0.0))
        }
    }
}

/// The value below which a mixture lies with the chance `p`.
fn quantile(bells: &[Bell], p: f64) -> f64 {
    let z = normal_quantile(p);
    let own = |b: &Bell| b.middle + b.spread * normal_as_student(z, b.freedom);
    let excess = |value: f64| bells.iter().map(|b| b.weight * b.below(value)).sum::<f64>() - p;
    // The quantile of a mixture lies between those of its parts.
    let low = bells.iter().map(own).fold(f64::INFINITY, f64::min);
    let high = bells.iter().map(own).fold(f64::NEG_INFINITY, f64::max);
    root(excess, low, high)
}

/// The middle of what members say: the value of the likeliest, if it is likelier than all others together.
fn middle(mut bells: Vec<Bell>) -> f64 {
    bells.sort_unstable_by(|a, b| a.middle.total_cmp(&b.middle));
    let mut below = 0.0;
    let half = bells.iter().find(|b| {
        below += b.weight;
        below >= 0.5
    });
    half.or(bells.last()).map_or(f64::NAN, |b| b.middle)
}

/// Where a growing function crosses zero between two values, within a hundred-thousandth.
///
/// Mixtures have plateaus, where following the slope alone goes astray: every second step halves the range.
fn root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let (mut f_low, mut f_high) = (f(low), f(high));
    for step in 0..100 {
        if high - low <= 1e-5 * low.abs().max(high.abs()) {
            break;
        }
        let along = high - f_high * (high - low) / (f_high - f_low);
        let middle = if step % 2 == 0 && low < along && along < high { along } else { 0.5 * (low + high) };
        let f_middle = f(middle);
        if f_middle < 0.0 {
            (low, f_low) = (middle, f_middle);
        } else {
            (high, f_high) = (middle, f_middle);
        }
        if f_middle.abs() < 1e-6 {
            return middle;
        }
    }
    0.5 * (low + high)
}

/// The lower triangle whose square is the matrix; zero where it has no spread left.
fn cholesky(matrix: &[f64], size: usize) -> Vec<f64> {
    let mut root = vec![0.0; size * size];
    for i in 0..size {
        for j in 0..=i {
            let rest = matrix[i * size + j] - (0..j).map(|k| root[i * size + k] * root[j * size + k]).sum::<f64>();
            root[i * size + j] = match (i == j, root[j * size + j] > 0.0) {
                (true, _) => rest.max(0.0).sqrt(),
                (false, true) => rest / root[j * size + j],
                (false, false) => 0.0,
            };
        }
    }
    root
}
