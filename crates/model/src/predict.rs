//! From a model to figures: how long a run takes at any setting, with what certainty, and what it is made of.
//!
//! Every formula stands for many that explain the measurements as well. A *world* is one of them for each term of the model, drawn as
//! likely as it is; what holds in 95 of 100 worlds is the interval. Speed-ups compare two settings in the same world, so what both have in
//! common does not make them uncertain. The worlds are the same in every run of the program.

use sintonia_fit::Random;

use crate::model::{Model, Uses};
use crate::term::{Possible, Term};

/// How many worlds are looked at.
const WORLDS: usize = 1000;
/// The share of worlds that an interval holds.
const CONFIDENCE: f64 = 0.95;
/// How many runs it is worth that runs of programs scatter by some percent, not by some hundred: without that, four runs would say nothing.
const KNOWN_BEFORE: f64 = 3.0;
/// Where the drawing of worlds begins.
const SEED: u64 = 2003;

/// A figure: the least it may be, what it is most likely, and the most it may be.
pub type Figure = [f64; 3];

/// A model with its worlds.
pub struct Predictor<'a> {
    model: &'a Model,
    names: &'a [String],
    worlds: Vec<World<'a>>,
}

struct World<'a> {
    parts: Vec<Possible<'a>>,
    limits: Vec<Possible<'a>>,
    whole: Option<Possible<'a>>,
    /// How much longer or shorter than usual a single run takes there.
    luck: f64,
}

/// What a prediction is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution<'a> {
    /// The name of the part, or of the role.
    pub name: &'a str,
    /// The term.
    pub term: &'a Term,
    /// Seconds.
    pub seconds: Figure,
    /// Whether it is a part of the sum, or a role that is busy.
    pub is_part: bool,
}

impl Model {
    /// The most likely value at a setting; `None` where a formula has none.
    pub fn value(&self, setting: &[f64]) -> Option<f64> {
        let names = self.names();
        let sum = |own: bool| -> Option<f64> {
            let factor = |term: &Term| if own { term.factor(&names, setting)[1].recip() } else { 1.0 };
            self.parts.iter().map(|part| Some(part.term.likeliest(&names, setting)? * factor(&part.term))).sum()
        };
        match (self.uses, &self.whole) {
            (Uses::Whole, Some(whole)) if self.is_exchanged() => Some(whole.likeliest(&names, setting)? * sum(false)? / sum(true)?),
            (Uses::Whole, Some(whole)) => whole.likeliest(&names, setting),
            _ => self.limits.iter().try_fold(sum(false)?, |most, limit| Some(most.max(limit.term.likeliest(&names, setting)?))),
        }
    }
}

impl<'a> Predictor<'a> {
    /// The worlds of a model; `names` are those of its parameters.
    pub fn new(model: &'a Model, names: &'a [String]) -> Predictor<'a> {
        let mut random = Random::new(SEED);
        let freedom = model.points.len().saturating_sub(3) as f64 + KNOWN_BEFORE;
        let worlds = (0..WORLDS).map(|_| {
            let noise = model.noise_percent / 100.0 * random.normal() / random.mean_square(freedom).sqrt();
            World {
                parts: model.parts.iter().map(|part| part.term.draw(names, &mut random)).collect(),
                limits: model.limits.iter().map(|limit| limit.term.draw(names, &mut random)).collect(),
                whole: model.whole.as_ref().map(|whole| whole.draw(names, &mut random)),
                luck: (1.0 + noise).max(0.0),
            }
        });
        Predictor { model, names, worlds: worlds.collect() }
    }

    /// What one run takes at a setting.
    pub fn seconds(&self, setting: &[f64]) -> Option<Figure> {
        let whole = self.model.whole.as_ref().and_then(|whole| whole.curve.as_ref());
        if let (Uses::Whole, Some(curve), false) = (self.model.uses, whole, self.model.is_exchanged()) {
            return Some(curve.predict(setting).map(|value| value.max(0.0)));
        }
        let middle = self.model.value(setting)?;
        let worlds = self.worlds.iter().zip(self.in_worlds(setting));
        Some(around(middle, worlds.map(|(world, seconds)| world.luck * seconds).collect()))
    }

    /// A figure that follows from what runs take at two settings, luck aside.
    pub fn compare(&self, a: &[f64], b: &[f64], of: impl Fn(f64, f64) -> f64) -> Option<Figure> {
        let middle = of(self.model.value(a)?, self.model.value(b)?);
        let both = self.in_worlds(a).into_iter().zip(self.in_worlds(b));
        Some(around(middle, both.map(|(a, b)| of(a, b)).collect()))
    }

    /// What a prediction is made of, the largest first: the parts, and then the roles.
    pub fn contributions(&self, setting: &[f64]) -> Vec<Contribution<'a>> {
        let model = self.model;
        let parts = model.parts.iter().enumerate().filter_map(|(place, part)| {
            let seconds = self.figure(&part.term, setting, |world| &world.parts[place])?;
            Some(Contribution { name: &part.name, term: &part.term, seconds, is_part: true })
        });
        let limits = model.limits.iter().enumerate().filter_map(|(place, limit)| {
            let seconds = self.figure(&limit.term, setting, |world| &world.limits[place])?;
            Some(Contribution { name: &limit.role, term: &limit.term, seconds, is_part: false })
        });
        let mut all: Vec<Contribution> = parts.chain(limits).collect();
        all.sort_by(|a, b| b.is_part.cmp(&a.is_part).then(b.seconds[1].total_cmp(&a.seconds[1])));
        all
    }

    fn figure<'w>(&'w self, term: &Term, setting: &[f64], of: impl Fn(&'w World<'a>) -> &'w Possible<'a>) -> Option<Figure> {
        if let (Some(curve), None) = (&term.curve, &term.scale) {
            return Some(curve.expect(setting).map(|value| value.max(0.0)));
        }
        let factor = term.factor(self.names, setting);
        let middle = term.likeliest(self.names, setting)?;
        Some(around(middle, self.worlds.iter().map(|world| of(world).at(setting, factor)).collect()))
    }

    /// What runs take at a setting in each world, luck aside.
    fn in_worlds(&self, setting: &[f64]) -> Vec<f64> {
        let model = self.model;
        let parts: Vec<Figure> = model.parts.iter().map(|part| part.term.factor(self.names, setting)).collect();
        let limits: Vec<Figure> = model.limits.iter().map(|limit| limit.term.factor(self.names, setting)).collect();
        let in_world = |world: &World| {
            let sum = |factors: &mut dyn Iterator<Item = Figure>| {
                world.parts.iter().zip(factors).map(|(part, factor)| part.at(setting, factor)).sum::<f64>()
            };
            match (model.uses, &world.whole) {
                (Uses::Whole, Some(whole)) => {
                    let here = whole.at(setting, [1.0; 3]);
                    let exchanged = || sum(&mut parts.iter().copied()) / sum(&mut std::iter::repeat([1.0; 3]));
                    if model.is_exchanged() { here * exchanged() } else { here }
                }
                _ => {
                    let limits = world.limits.iter().zip(&limits).map(|(limit, factor)| limit.at(setting, *factor));
                    limits.fold(sum(&mut parts.iter().copied()), f64::max)
                }
            }
        };
        self.worlds.iter().map(in_world).collect()
    }
}

/// The interval that holds most of the values, and this one.
fn around(middle: f64, mut values: Vec<f64>) -> Figure {
    values.retain(|value| !value.is_nan());
    values.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let at = |share: f64| values.get(((values.len() as f64 * share) as usize).min(values.len().saturating_sub(1))).copied();
    let (low, high) = (at(tail).unwrap_or(middle), at(1.0 - tail).unwrap_or(middle));
    [low.min(middle), middle, high.max(middle)]
}
