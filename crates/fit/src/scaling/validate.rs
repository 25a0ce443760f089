//! Trying a fit on points it has not seen: the largest ones, since predictions are asked for beyond them.
//!
//! How much the small points should count is not a matter of noise alone. Where no form can express what happens, weights that follow the
//! noise let small points far from the question decide. That this is so shows in a pattern of the errors; how to weigh then is decided by
//! what predicts the largest points best when they are held out.

use super::correction::{self, Likeness};
use super::design::{Axis, Design};
use super::explain::{Explained, Weighing, errors_without};
use super::noise::Summarised;
use super::search::Simple;

/// Growths of the error that are tried beside the one that the repetitions show.
const OTHERS: [f64; 2] = [0.5, 0.0];
/// How alike errors one step apart may be.
const ALIKE: [f64; 4] = [0.4, 0.7, 0.9, 0.97];
/// The errors of neighbours are used if that leaves less than this share of the errors.
const BETTER: f64 = 0.8;
/// A polynomial is considered if it leaves less than this share of the errors.
const MUCH_BETTER: f64 = 0.4;
/// How much more than chance errors must have in common to be a pattern.
const PATTERN: f64 = 5.0;
/// With more noise than this, the weights of points follow a first fit instead of the values themselves.
const NOISY: f64 = 0.05;
/// More points than this are not corrected: the work grows with their cube.
const MOST_CORRECTED: usize = 300;

/// What holding out the largest points has settled.
pub struct Settled {
    pub explained: Explained,
    /// The mean relative error at the points held out.
    pub error: Option<f64>,
    /// Whether the errors have a pattern that no form explains.
    pub pattern: bool,
    /// How alike neighbouring errors are, if that helps to predict.
    pub likeness: Option<Likeness>,
}

/// Chooses how errors grow with the value, and finds out whether they have a pattern.
pub fn settle(design: &Design, summary: &Summarised) -> Settled {
    let growth = summary.growth.unwrap_or(1.0);
    let usual = Explained::new(design, summary, Weighing { growth, alike: 1.0 }, &[]);
    if usual.spread() > NOISY {
        let again = summary.thought_again(&usual.relative_errors(design));
        let usual = Explained::new(design, &again, usual.weighing, &[]);
        settle_weights(design, &again, usual)
    } else {
        settle_weights(design, summary, usual)
    }
}

fn settle_weights(design: &Design, summary: &Summarised, mut usual: Explained) -> Settled {
    let folds = folds(design);
    let growth = usual.weighing.growth;
    let polynomials = polynomials(design, summary, &usual);
    if !polynomials.is_empty() {
        usual = Explained::new(design, summary, usual.weighing, &polynomials);
    }
    let Some(alike) = pattern(design, &usual) else { return Trial::new(design, summary, usual, &folds).settled(false, None) };
    let others = std::iter::once(growth).chain(OTHERS.into_iter().filter(|g| *g < growth));
    let tried = others.map(|growth| {
        let explained = Explained::new(design, summary, Weighing { growth, alike }, &polynomials);
        let trial = Trial::new(design, summary, explained, &folds);
        let likeness = trial.likeness(summary);
        trial.settled(true, likeness)
    });
    let error = |s: &Settled| s.error.unwrap_or(f64::INFINITY);
    tried.min_by(|a, b| error(a).total_cmp(&error(b))).expect("the usual growth is among those tried")
}

/// The polynomials that predict the two largest points better than all forms do.
///
/// With terms of any sign they follow whatever is measured, and go astray soon after: so they must show that they do not.
fn polynomials(design: &Design, summary: &Summarised, usual: &Explained) -> Vec<Simple> {
    let [axis] = design.axes.as_slice() else { return Vec::new() };
    let beyond = axis.len().saturating_sub(2);
    let held: Vec<usize> = (0..design.points).filter(|i| axis.place[*i] as usize >= beyond).collect();
    let sum = |errors: Vec<f64>| held.iter().map(|&i| errors[i].abs()).sum::<f64>();
    let candidates: Vec<(Simple, f64)> = (2..=3)
        .map(Simple::polynomial)
        .filter_map(|p| errors_without(design, summary, usual.weighing, &p, &held).map(|errors| (p, sum(errors))))
        .collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let Some(forms) = usual.without(design, summary, &held).map(sum) else { return Vec::new() };
    candidates.into_iter().filter(|(_, error)| *error < MUCH_BETTER * forms).map(|(p, _)| p).collect()
}

/// An explanation, and how far off it is at points held out.
struct Trial<'a> {
    design: &'a Design,
    explained: Explained,
    held_out: Vec<HeldOut<'a>>,
}

/// The relative errors at all points when those of a fold are held out.
struct HeldOut<'a> {
    fold: &'a Fold,
    errors: Vec<f64>,
}

impl<'a> Trial<'a> {
    fn new(design: &'a Design, summary: &Summarised, explained: Explained, folds: &'a [Fold]) -> Self {
        let held_out =
            folds.iter().filter_map(|fold| Some(HeldOut { fold, errors: explained.without(design, summary, &fold.held)? })).collect();
        Self { design, explained, held_out }
    }

    /// How alike neighbouring errors are along each axis: what predicts its largest value best.
    fn likeness(&self, summary: &Summarised) -> Option<Likeness> {
        if self.design.points > MOST_CORRECTED {
            return None;
        }
        let errors = self.explained.relative_errors(self.design);
        let square = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        let noise = summary.known(&summary.root_weights(1.0)).variance;
        let none = Likeness { along: vec![0.0; self.design.axes.len()], own: (noise / square).clamp(0.01, 0.5) };
        let mut likeness = none.clone();
        for held_out in &self.held_out {
            let tried = ALIKE.map(|alike| {
                let mut along = none.along.clone();
                along[held_out.fold.axis] = alike;
                (held_out.left(self.design, &Some(Likeness { along, ..none })), alike)
            });
            let best = tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((left, alike)) = best
                && left < BETTER * held_out.left(self.design, &None)
            {
                likeness.along[held_out.fold.axis] = alike;
            }
        }
        likeness.along.iter().any(|a| *a > 0.0).then_some(likeness)
    }

    fn settled(self, pattern: bool, likeness: Option<Likeness>) -> Settled {
        let points: usize = self.held_out.iter().map(|h| h.fold.held.len()).sum();
        let sum: f64 = self.held_out.iter().map(|h| h.left(self.design, &likeness)).sum();
        Settled { error: (points > 0).then(|| sum / points as f64), explained: self.explained, pattern, likeness }
    }
}

impl HeldOut<'_> {
    /// The sum of the errors at the points held out that are left when the others' errors put them right.
    fn left(&self, design: &Design, likeness: &Option<Likeness>) -> f64 {
        let Some(likeness) = likeness else { return self.fold.held.iter().map(|&i| self.errors[i].abs()).sum() };
        let suggested = correction::suggested(design, &self.errors, &self.fold.kept, &self.fold.held, likeness);
        self.fold.held.iter().zip(suggested).map(|(&i, s)| ((1.0 + self.errors[i]) / (1.0 + s) - 1.0).abs()).sum()
    }
}

/// Whether the errors of a fit have more in common than chance gives them, and if so how many points are worth one.
fn pattern(design: &Design, explained: &Explained) -> Option<f64> {
    let best = &explained.possible[0];
    if design.axes.len() == 1 {
        let freedom = (design.points as f64 - best.family.unknowns() as f64).max(1.0);
        let far = explained.judge.noise_freedom > 1.0 && best.residual / freedom > PATTERN * explained.judge.noise_variance;
        return far.then_some(1.0);
    }
    let errors = explained.relative_errors(design);
    design.axes.iter().filter_map(|axis| in_common(axis, &errors)).max_by(f64::total_cmp)
}

/// How many points are worth one if the errors at the same value of an axis are alike.
fn in_common(axis: &Axis, errors: &[f64]) -> Option<f64> {
    let (mut common, mut own) = (0.0, 0.0);
    for level in 0..axis.len() {
        let alike: Vec<f64> = errors.iter().zip(&axis.place).filter(|(_, p)| **p as usize == level).map(|(e, _)| *e).collect();
        let mean = alike.iter().sum::<f64>() / alike.len() as f64;
        common += alike.len() as f64 * mean * mean;
        own += alike.iter().map(|e| (e - mean).powi(2)).sum::<f64>();
    }
    let (points, levels) = (errors.len() as f64, axis.len() as f64);
    let (common, own) = (common / levels, own / (points - levels).max(1.0));
    let each = points / levels;
    // The correlation within a level, and the design effect that follows from it.
    let correlation = (common - own) / (common + (each - 1.0) * own);
    (points > levels && common > PATTERN * own).then_some(1.0 + (each - 1.0) * correlation)
}

/// The points at the largest value of an axis, and all others.
struct Fold {
    axis: usize,
    held: Vec<usize>,
    kept: Vec<usize>,
}

/// A fold for each axis with enough values.
fn folds(design: &Design) -> Vec<Fold> {
    let enough = if design.axes.len() == 1 { 4 } else { 3 };
    (0..design.axes.len())
        .filter(|axis| design.axes[*axis].len() >= enough)
        .map(|axis| {
            let last = design.axes[axis].len() as u32 - 1;
            let (held, kept) = (0..design.points).partition(|i| design.axes[axis].place[*i] == last);
            Fold { axis, held, kept }
        })
        .filter(|fold| fold.kept.len() >= 4)
        .collect()
}
