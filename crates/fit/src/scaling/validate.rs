//! Trying a fit on points it has not seen: the largest ones, since predictions are asked for beyond them.
//!
//! How much the small points should count is not a matter of noise alone. Where no form can express what happens, weights that follow the
//! noise let small points far from the question decide. That this is so shows in a pattern of the errors; how to weigh then is decided by
//! what predicts the largest points best when they are held out.

use super::correction::{self, Likeness};
use super::design::{Axis, Design};
use super::explain::{Explained, Forms, Weighing, errors_of};
use super::noise::Summarised;
use super::search::Simple;

/// Growths of the error that are tried beside the one that the repetitions show.
const OTHERS: [f64; 2] = [0.5, 0.0];
/// How alike errors one step apart may be.
const ALIKE: [f64; 4] = [0.4, 0.7, 0.9, 0.97];
/// How alike they are thought to be where they go on as they went.
const GOING_ON: f64 = 0.9;
/// That they go on is believed unless it leaves more than this share of what is left otherwise.
const NO_WORSE: f64 = 2.0;
/// The errors of neighbours are used if that leaves less than this share of the errors.
const BETTER: f64 = 0.8;
/// A polynomial is considered if it leaves less than this share of the errors.
const MUCH_BETTER: f64 = 0.4;
/// The fewest points of one parameter whose errors can have a pattern: one off is none.
const ENOUGH_FOR_PATTERN: usize = 6;
/// What noise alone leaves less often than this is a pattern of the errors.
const CHANCE: f64 = 0.001;
/// How much more than chance errors must have in common to be a pattern.
const PATTERN: f64 = 5.0;
/// With more noise than this, the weights of points follow a first fit instead of the values themselves.
const NOISY: f64 = 0.05;
/// How many points are enough to try a form on those held out.
const ENOUGH_TO_TRY: usize = 200;
/// The fewest values of a parameter that say how it goes on: one more than a constant, a coefficient and an exponent.
const FEWEST_BEYOND: usize = 4;
/// More points than this are not corrected: the work grows with their cube.
const MOST_CORRECTED: usize = 150;

/// What holding out the largest points has settled.
pub struct Settled {
    pub explained: Explained,
    /// The mean relative error at the points held out, for each parameter whose largest value was.
    pub errors: Vec<(usize, f64)>,
    /// The parameter along which the errors have a pattern that no form explains.
    pub pattern: Option<usize>,
    /// How alike neighbouring errors are, if that helps to predict.
    pub likeness: Option<Likeness>,
}

impl Settled {
    /// The mean relative error at the points held out.
    pub fn error(&self) -> Option<f64> {
        (!self.errors.is_empty()).then(|| self.errors.iter().map(|e| e.1).sum::<f64>() / self.errors.len() as f64)
    }
}

/// Chooses how errors grow with the value, and finds out whether they have a pattern.
pub fn settle(design: &Design, summary: &Summarised) -> Settled {
    let growth = summary.growth.unwrap_or(1.0);
    let usual = Forms::search(design, summary, Weighing { growth, alike: 1.0 });
    if usual.spread() > NOISY {
        let again = summary.thought_again(&usual.errors(design));
        settle_weights(design, &again, usual.again(design, &again, usual.weighing))
    } else {
        settle_weights(design, summary, usual)
    }
}

fn settle_weights(design: &Design, summary: &Summarised, usual: Forms) -> Settled {
    let folds = folds(design);
    let polynomials = polynomials(design, summary, &usual);
    let pattern = if polynomials.is_empty() { pattern(design, summary, &usual) } else { None };
    let Some(Pattern { axis, alike }) = pattern else {
        let errors = errors(design, &hold_out(design, summary, &usual, &folds), &None);
        return Settled { errors, explained: usual.explain(design, &polynomials), pattern: None, likeness: None };
    };
    let growth = usual.weighing.growth;
    let growths = std::iter::once(growth).chain(OTHERS.into_iter().filter(|g| *g < growth));
    let tried = growths.map(|growth| {
        let forms = usual.again(design, summary, Weighing { growth, alike });
        let held_out = hold_out(design, summary, &forms, &folds);
        (errors(design, &held_out, &None).iter().map(|e| e.1).sum::<f64>(), forms, held_out)
    });
    let (_, forms, held_out) = tried.min_by(|a, b| a.0.total_cmp(&b.0)).expect("the usual growth is among those tried");
    let explained = forms.explain(design, &[]);
    let likeness = likeness(design, summary, &explained, &held_out);
    Settled { errors: errors(design, &held_out, &likeness), explained, pattern: Some(axis), likeness }
}

/// The first value of a single parameter from which on one form explains the measurements, if there is one that is not the first.
pub fn changed_at(design: &Design, summary: &Summarised, settled: &Settled) -> Option<usize> {
    let ([axis], Some(_)) = (design.axes.as_slice(), settled.pattern) else { return None };
    let stretch = |first: usize| (0..design.points).filter(|i| axis.place[*i] as usize >= first).collect::<Vec<usize>>();
    let mut starts = 2..(axis.len() + 1).saturating_sub(FEWEST_BEYOND);
    starts.find(|first| settled.explained.forms.explain_some(design, summary, &stretch(*first), CHANCE))
}

/// The polynomials that follow all points as closely as noise allows, and predict the two largest points better than all forms do.
///
/// With terms of any sign they follow much of what is measured, and go astray soon after: so they must show that they do not.
fn polynomials(design: &Design, summary: &Summarised, usual: &Forms) -> Vec<Simple> {
    let [axis] = design.axes.as_slice() else { return Vec::new() };
    let beyond = axis.len().saturating_sub(2);
    let (held, kept): (Vec<usize>, Vec<usize>) = (0..design.points).partition(|i| axis.place[*i] as usize >= beyond);
    let sum = |errors: Vec<f64>| held.iter().map(|&i| errors[i].abs()).sum::<f64>();
    let candidates: Vec<(Simple, f64)> = (2..=3)
        .map(Simple::polynomial)
        .filter(|p| usual.times_noise_of(design, p).is_some_and(|(times, freedom)| summary.chance(times, freedom) >= CHANCE))
        .filter_map(|p| errors_of(design, summary, usual.weighing, &p, &kept).map(|errors| (p, sum(errors))))
        .collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let Some(forms) = usual.with_only(design, summary, &kept).map(sum) else { return Vec::new() };
    candidates.into_iter().filter(|(_, error)| *error < MUCH_BETTER * forms).map(|(p, _)| p).collect()
}

/// The relative errors at all points when those of a fold are held out.
struct HeldOut<'a> {
    fold: &'a Fold,
    errors: Vec<f64>,
}

fn hold_out<'a>(design: &Design, summary: &Summarised, forms: &Forms, folds: &'a [Fold]) -> Vec<HeldOut<'a>> {
    folds.iter().filter_map(|fold| Some(HeldOut { fold, errors: forms.with_only(design, summary, &fold.fitted)? })).collect()
}

/// The mean error at the points held out, for each parameter whose largest value was.
fn errors(design: &Design, held_out: &[HeldOut], likeness: &Option<Likeness>) -> Vec<(usize, f64)> {
    held_out.iter().map(|h| (h.fold.axis, h.left(design, likeness) / h.fold.held.len() as f64)).collect()
}

/// How alike neighbouring errors are along each axis, and whether they go on as they went: what predicts its largest value best.
fn likeness(design: &Design, summary: &Summarised, explained: &Explained, held_out: &[HeldOut]) -> Option<Likeness> {
    if design.points > MOST_CORRECTED {
        return None;
    }
    let square = explained.errors.iter().map(|e| e * e).sum::<f64>() / explained.errors.len() as f64;
    let noise = summary.known(&summary.root_weights(1.0)).variance;
    let axes = design.axes.len();
    let none = Likeness { along: vec![0.0; axes], goes_on: vec![false; axes], own: (noise / square).clamp(0.01, 0.5) };
    let mut likeness = none.clone();
    for held_out in held_out {
        let axis = held_out.fold.axis;
        let left = |alike: f64, goes_on: bool| {
            let mut tried = none.clone();
            (tried.along[axis], tried.goes_on[axis]) = (alike, goes_on);
            held_out.left(design, &Some(tried))
        };
        let alone = held_out.left(design, &None);
        let best = ALIKE.map(|alike| (left(alike, false), alike)).into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let near = best.filter(|(left, _)| *left < BETTER * alone);
        let least = near.map_or(alone, |(left, _)| left);
        if left(GOING_ON, true) < NO_WORSE * least {
            (likeness.along[axis], likeness.goes_on[axis]) = (GOING_ON, true);
        } else if let Some((_, alike)) = near {
            likeness.along[axis] = alike;
        }
    }
    likeness.along.iter().any(|a| *a > 0.0).then_some(likeness)
}

impl HeldOut<'_> {
    /// The sum of the errors at the points held out that are left when the others' errors put them right.
    fn left(&self, design: &Design, likeness: &Option<Likeness>) -> f64 {
        let Some(likeness) = likeness else { return self.fold.held.iter().map(|&i| self.errors[i].abs()).sum() };
        let suggested = correction::suggested(design, &ratios(&self.errors), &self.fold.kept, &self.fold.held, likeness);
        self.fold.held.iter().zip(suggested).map(|(&i, s)| ((1.0 + self.errors[i]) * (-s).exp() - 1.0).abs()).sum()
    }
}

/// Relative errors as logarithms of ratios; what is far too low counts as a hundredth.
pub fn ratios(errors: &[f64]) -> Vec<f64> {
    errors.iter().map(|e| (1.0 + e).max(0.01).ln()).collect()
}

/// What errors have in common.
struct Pattern {
    /// The parameter at the same value of which they are alike.
    axis: usize,
    /// How many points are worth one.
    alike: f64,
}

/// Whether the errors of a fit have more in common than chance gives them.
fn pattern(design: &Design, summary: &Summarised, forms: &Forms) -> Option<Pattern> {
    if design.axes.len() > 1 {
        let errors = forms.errors(design);
        let found = design.axes.iter().enumerate().filter_map(|(axis, a)| Some(Pattern { axis, alike: in_common(a, &errors)? }));
        return found.max_by(|a, b| a.alike.total_cmp(&b.alike));
    }
    let (times, freedom) = forms.times_noise();
    let is_pattern = design.points >= ENOUGH_FOR_PATTERN && summary.chance(times, freedom) < CHANCE;
    is_pattern.then_some(Pattern { axis: 0, alike: 1.0 })
}

/// How many points are worth one if the errors at the same value of an axis are alike.
fn in_common(axis: &Axis, errors: &[f64]) -> Option<f64> {
    let mut sums = vec![(0.0, 0.0); axis.len()];
    for (error, place) in errors.iter().zip(&axis.place) {
        let (count, sum) = &mut sums[*place as usize];
        (*count, *sum) = (*count + 1.0, *sum + error);
    }
    let common: f64 = sums.iter().map(|(count, sum)| sum * sum / count).sum();
    let own = errors.iter().map(|e| e * e).sum::<f64>() - common;
    let (points, levels) = (errors.len() as f64, axis.len() as f64);
    let (common, own) = (common / levels, own.max(0.0) / (points - levels).max(1.0));
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
    /// Those of the others that are fitted to: if they are very many, some are enough.
    fitted: Vec<usize>,
}

/// A fold for each axis with enough values.
fn folds(design: &Design) -> Vec<Fold> {
    let enough = if design.axes.len() == 1 { 4 } else { 3 };
    (0..design.axes.len())
        .filter(|axis| design.axes[*axis].len() >= enough)
        .map(|axis| {
            let last = design.axes[axis].len() as u32 - 1;
            let (held, kept): (Vec<usize>, Vec<usize>) = (0..design.points).partition(|i| design.axes[axis].place[*i] == last);
            let fitted = design.of_points(&kept).thinned(ENOUGH_TO_TRY).into_iter().map(|i| kept[i]).collect();
            Fold { axis, held, kept, fitted }
        })
        .filter(|fold| fold.kept.len() >= 4)
        .collect()
}
