//! One full explanation of the measurements with given weights: forms searched, members collected.

use super::design::Design;
use super::family::{Family, Product, Slot};
use super::judge::Judge;
use super::member::{Factor, Member};
use super::noise::Summarised;
use super::posterior::{Possible, Posterior};
use super::refine::{Exponents, Fitted, Known, refine};
use super::search::{Found, Search, Simple};
use super::solve::{Solver, Target};

/// Forms further behind the best than this (as a logarithm of belief) have no members.
const HOPELESS: f64 = 9.0;
/// The most forms that have members.
const MOST_FORMS: usize = 20;
/// More points than this for each parameter are thinned before forms are searched for.
const MOST_SEARCHED: usize = 30;
/// More points than this leave little doubt about exponents, so that fewer are drawn.
const MANY: usize = 100;
/// Forms further behind the best than this on some of the points are not tried on all of them.
const HOPELESS_OF_SOME: f64 = 12.0;
/// What better exponents may add to the belief in a form, for each of them.
const GAIN_OF_EXPONENT: f64 = 4.0;
/// How many members together are compared with the measured values.
const LIKELIEST: usize = 8;
/// How many forms are tried on points held out.
const TRIED_AGAIN: usize = 3;

/// How much points count.
#[derive(Debug, Clone, Copy)]
pub struct Weighing {
    /// The power of the value that errors grow with.
    pub growth: f64,
    /// How many points count as one, because their errors are alike.
    pub alike: f64,
}

/// Forms with the numbers that explain a target best.
#[derive(Debug, Clone)]
pub struct Forms {
    pub weighing: Weighing,
    pub target: Target,
    pub judge: Judge,
    /// Likeliest first.
    found: Vec<Found>,
    /// Sums of simple terms that were likely enough.
    simple: Vec<Simple>,
}

/// Forms and the members that they stand for.
pub struct Explained {
    pub forms: Forms,
    /// Likeliest first; their weights add up to one.
    pub possible: Vec<Possible>,
    /// How far the likeliest members together are from each point, relative to its value.
    pub errors: Vec<f64>,
}

/// Values and weights for fitting all points, and what is known of the noise.
fn prepare(summary: &Summarised, weighing: Weighing) -> (Target, Judge) {
    let mut root_weights = summary.root_weights(weighing.growth);
    let known = summary.known(&root_weights);
    root_weights.iter_mut().for_each(|w| *w /= weighing.alike.sqrt());
    let judge = Judge {
        noise_freedom: known.freedom,
        noise_variance: known.variance,
        points: root_weights.len() as f64 / weighing.alike,
        natures: summary.natures,
    };
    (Target { values: summary.values.clone(), root_weights }, judge)
}

/// The same for some of the points.
fn prepare_some(summary: &Summarised, weighing: Weighing, kept: &[usize]) -> (Target, Judge) {
    let (all, judge) = prepare(summary, weighing);
    let of = |values: &[f64]| kept.iter().map(|i| values[*i]).collect();
    let target = Target { values: of(&all.values), root_weights: of(&all.root_weights) };
    (target, Judge { points: kept.len() as f64 / weighing.alike, ..judge })
}

impl Forms {
    /// The forms that a search finds; of many points, some are enough to see which forms are worth trying on all.
    pub fn search(design: &Design, summary: &Summarised, weighing: Weighing) -> Self {
        let most = MOST_SEARCHED * design.axes.len();
        if design.points <= most {
            let (target, judge) = prepare(summary, weighing);
            let (found, simple) = search(design, &target, judge);
            return Self::sorted(weighing, target, judge, found, simple);
        }
        let kept = design.thinned(most);
        let (target, judge) = prepare_some(summary, weighing, &kept);
        let (mut found, simple) = search(&design.of_points(&kept), &target, judge);
        let best = found.iter().map(|f| f.belief).fold(f64::NEG_INFINITY, f64::max);
        found.retain(|f| f.belief > best - HOPELESS_OF_SOME);
        Self::sorted(weighing, target, judge, found, simple).on_all(design, summary)
    }

    /// Forms found on some points, on all of them: only those that are not hopeless with the exponents that they have already.
    fn on_all(mut self, design: &Design, summary: &Summarised) -> Self {
        let (target, judge) = prepare(summary, self.weighing);
        let mut solver = Solver::new(design, &target);
        let mut best = f64::NEG_INFINITY;
        self.found.retain(|form| {
            let residual = solver.residual(&form.fitted.family, &form.fitted.exponents);
            let belief = judge.of_residual(residual, form.fitted.family.columns());
            best = best.max(belief);
            belief > best - HOPELESS - GAIN_OF_EXPONENT * form.fitted.exponents.len() as f64
        });
        self.again(design, summary, self.weighing)
    }

    /// The same forms with other weights: nothing is searched again, only the numbers are.
    pub fn again(&self, design: &Design, summary: &Summarised, weighing: Weighing) -> Self {
        let (target, judge) = prepare(summary, weighing);
        let mut solver = Solver::new(design, &target);
        let mut known = Known { floor: judge.floor(), least: f64::INFINITY };
        let mut found = Vec::with_capacity(self.found.len());
        for form in &self.found {
            if let Some(fitted) = refine(&mut solver, &form.fitted.family, &form.fitted.exponents, known) {
                known.least = known.least.min(fitted.residual);
                found.push(Found::judged(fitted, &solver, &judge));
            }
        }
        // Columns may overflow at points that were not searched; a constant never does.
        if found.is_empty()
            && let Some(constant) = refine(&mut solver, &Family::constant(), &[], known)
        {
            found.push(Found::judged(constant, &solver, &judge));
        }
        Self::sorted(weighing, target, judge, found, self.simple.clone())
    }

    fn sorted(weighing: Weighing, target: Target, judge: Judge, mut found: Vec<Found>, simple: Vec<Simple>) -> Self {
        found.retain(|f| f.belief > f64::NEG_INFINITY);
        found.sort_by(|a, b| b.belief.total_cmp(&a.belief));
        Self { weighing, target, judge, found, simple }
    }

    /// The relative spread of a typical point around the best form.
    pub fn spread(&self) -> f64 {
        self.judge.variance(self.found[0].fitted.residual, self.found[0].fitted.family.unknowns()).sqrt()
    }

    /// How much more than noise the best form leaves, and with how many degrees of freedom.
    pub fn times_noise(&self) -> (f64, f64) {
        let best = &self.found[0].fitted;
        let freedom = (self.judge.points - best.family.unknowns() as f64).max(1.0);
        (best.residual / freedom / self.judge.noise_variance, freedom)
    }

    /// The same of a polynomial; none if it falls in the end, which no cost does.
    pub fn times_noise_of(&self, design: &Design, polynomial: &Simple) -> Option<(f64, f64)> {
        let mut solver = Solver::new(design, &self.target);
        let residual = solver.residual(&polynomial.family, &polynomial.exponents);
        let freedom = self.judge.points - polynomial.family.columns() as f64;
        let grows = solver.coefficients.last().is_some_and(|c| *c > 0.0);
        (residual.is_finite() && freedom > 0.0 && grows).then(|| (residual / freedom / self.judge.noise_variance, freedom))
    }

    /// How far the best forms together are from each point, relative to its value.
    pub fn errors(&self, design: &Design) -> Vec<f64> {
        let mut solver = Solver::new(design, &self.target);
        let members = self.best().map(|form| {
            let Fitted { family, exponents, residual, .. } = &form.fitted;
            solver.residual(family, exponents);
            (form.belief, self.judge.member(&solver, family, exponents, *residual, 0.0))
        });
        errors_by_belief(design, &self.target.values, &members.collect::<Vec<_>>())
    }

    fn best(&self) -> impl Iterator<Item = &Found> {
        let likely = self.found[0].belief - HOPELESS;
        self.found.iter().take_while(move |f| f.belief > likely).take(TRIED_AGAIN)
    }

    /// What the best of them and further sums stand for.
    pub fn explain(self, design: &Design, further: &[Simple]) -> Explained {
        let best = self.found[0].belief;
        let worth_it = || self.found.iter().take_while(|f| f.belief > best - HOPELESS).take(MOST_FORMS);
        let all: f64 = worth_it().map(|f| (f.belief - best).exp()).sum();
        let mut solver = Solver::new(design, &self.target);
        let draws = if design.points > MANY { 12.0 } else { 28.0 };
        let mut posterior = Posterior::new(&mut solver, self.judge);
        for form in worth_it() {
            let share = (form.belief - best).exp() / all;
            posterior.add_form(&form.fitted, signs(&self.judge, &form.fitted), 4 + (draws * share) as usize);
        }
        for sum in self.simple.iter().chain(further) {
            posterior.add(&sum.family, &sum.exponents, sum.prior);
        }
        let possible = posterior.finish();
        let errors = errors_together(design, &self.target.values, &possible);
        Explained { forms: self, possible, errors }
    }

    /// The relative errors at all points when only some of them are kept: the best forms stay, their numbers are found again.
    pub fn with_only(&self, design: &Design, summary: &Summarised, kept: &[usize]) -> Option<Vec<f64>> {
        let fewer = design.of_points(kept);
        let (target, judge) = prepare_some(summary, self.weighing, kept);
        let mut solver = Solver::new(&fewer, &target);
        let known = Known { floor: judge.floor(), least: f64::INFINITY };
        let mut again: Vec<(f64, Member)> = Vec::new();
        for form in self.best() {
            let family = &form.fitted.family;
            if family.unknowns() > kept.len() {
                continue;
            }
            let Some(fitted) = refine(&mut solver, family, &form.fitted.exponents, known) else { continue };
            let belief = judge.of_continuous(&fitted) + judge.of_signs(&solver, family, fitted.residual) + signs(&judge, &fitted);
            if belief.is_finite() {
                again.push((belief, judge.member(&solver, family, &fitted.exponents, fitted.residual, 0.0)));
            }
        }
        (!again.is_empty()).then(|| errors_by_belief(design, &self.target.values, &again))
    }

    /// Whether one of the forms leaves of some points what noise leaves, unless it does so less often than `chance`.
    pub fn explain_some(&self, design: &Design, summary: &Summarised, kept: &[usize], chance: f64) -> bool {
        let fewer = design.of_points(kept);
        let (target, judge) = prepare_some(summary, self.weighing, kept);
        let mut solver = Solver::new(&fewer, &target);
        let known = Known { floor: judge.floor(), least: f64::INFINITY };
        let explains = |form: &Found| {
            let family = &form.fitted.family;
            let freedom = kept.len().saturating_sub(family.unknowns()) as f64;
            if freedom == 0.0 {
                return false;
            }
            let left = refine(&mut solver, family, &form.fitted.exponents, known).map(|fitted| fitted.residual);
            left.is_some_and(|residual| summary.chance(residual / freedom / judge.noise_variance, freedom) >= chance)
        };
        self.found.iter().any(explains)
    }
}

impl Explained {
    /// Explains all points by one form whose exponents are given; none if its terms depend on each other.
    pub fn of_form(design: &Design, summary: &Summarised, growth: f64, terms: &[Vec<Factor>]) -> Option<Self> {
        let weighing = Weighing { growth, alike: 1.0 };
        let (target, judge) = prepare(summary, weighing);
        let mut family = Family { signed: true, ..Family::default() };
        let mut exponents = Exponents::default();
        for term in terms {
            if term.is_empty() {
                family.constant = true;
                continue;
            }
            let first = family.slots.len();
            for factor in term {
                family.slots.push(Slot { parameter: factor.parameter as u8, log: factor.log });
                exponents.push(factor.exponent);
            }
            family.terms.push(Product::of(first..family.slots.len()));
        }
        let mut solver = Solver::new(design, &target);
        let mut posterior = Posterior::new(&mut solver, judge);
        posterior.add(&family, &exponents, 0.0);
        let possible = posterior.finish();
        if possible.is_empty() {
            return None;
        }
        let errors = errors_together(design, &target.values, &possible);
        let forms = Forms { weighing, target, judge, found: Vec::new(), simple: Vec::new() };
        Some(Self { forms, possible, errors })
    }

    /// The relative spread of a typical point around the best member.
    pub fn spread(&self) -> f64 {
        let best = &self.possible[0];
        self.forms.judge.variance(best.residual, best.family.unknowns()).sqrt()
    }
}

/// The relative errors of one formula at all points when only some of them are kept.
pub fn errors_of(design: &Design, summary: &Summarised, weighing: Weighing, formula: &Simple, kept: &[usize]) -> Option<Vec<f64>> {
    if kept.len() <= formula.family.columns() {
        return None;
    }
    let fewer = design.of_points(kept);
    let (target, judge) = prepare_some(summary, weighing, kept);
    let mut solver = Solver::new(&fewer, &target);
    let residual = solver.residual(&formula.family, &formula.exponents);
    let member = residual.is_finite().then(|| judge.member(&solver, &formula.family, &formula.exponents, residual, 1.0))?;
    Some(relative_errors(design, &summary.values, std::iter::once((1.0, &member))))
}

fn search(design: &Design, target: &Target, judge: Judge) -> (Vec<Found>, Vec<Simple>) {
    let mut solver = Solver::new(design, target);
    let mut search = Search::new(&mut solver, design, target, judge);
    search.run();
    (search.found, search.simple)
}

fn signs(judge: &Judge, fitted: &Fitted) -> f64 {
    if fitted.family.signed { judge.signed() } else { 0.0 }
}

/// How far the likeliest members together are from the values at all points.
fn errors_together(design: &Design, values: &[f64], possible: &[Possible]) -> Vec<f64> {
    let likeliest = &possible[..possible.len().min(LIKELIEST)];
    let all: f64 = likeliest.iter().map(|p| p.member.weight).sum();
    relative_errors(design, values, likeliest.iter().map(|p| (p.member.weight / all, &p.member)))
}

/// How far members with a belief in each are from the values at all points.
fn errors_by_belief(design: &Design, values: &[f64], members: &[(f64, Member)]) -> Vec<f64> {
    let best = members.iter().map(|m| m.0).fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = members.iter().map(|m| (m.0 - best).exp()).sum();
    relative_errors(design, values, members.iter().map(|(belief, member)| ((belief - best).exp() / all, member)))
}

/// How far weighed members together are from the values at all points.
fn relative_errors<'a>(design: &Design, values: &[f64], members: impl Iterator<Item = (f64, &'a Member)>) -> Vec<f64> {
    let mut said = vec![0.0; design.points];
    let mut product = vec![0.0; design.points];
    for (weight, member) in members {
        for (term, coefficient) in member.terms.iter().zip(&member.coefficients) {
            product.fill(weight * coefficient);
            for factor in term {
                let axis = &design.axes[factor.parameter];
                let powers: Vec<f64> = (0..axis.len()).map(|place| axis.factor(place, factor.exponent, factor.log)).collect();
                product.iter_mut().zip(&axis.place).for_each(|(value, place)| *value *= powers[*place as usize]);
            }
            said.iter_mut().zip(&product).for_each(|(sum, value)| *sum += value);
        }
    }
    said.iter().zip(values).map(|(said, value)| said / value - 1.0).collect()
}
