//! One full explanation of the measurements with given weights: forms searched, members collected.

use super::design::Design;
use super::family::{Family, Product, Slot};
use super::judge::Judge;
use super::member::{Factor, Member};
use super::noise::Summarised;
use super::posterior::{Possible, Posterior};
use super::prior;
use super::refine::{Exponents, Fitted, Known, refine};
use super::search::{Found, Search, Simple};
use super::solve::{Solver, Target};

/// Forms further behind the best than this (as a logarithm of belief) have no members.
const HOPELESS: f64 = 9.0;
/// The most forms that have members.
const MOST_FORMS: usize = 20;
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

/// Forms and members that explain a target.
pub struct Explained {
    pub weighing: Weighing,
    pub target: Target,
    pub judge: Judge,
    /// Likeliest first.
    pub forms: Vec<Found>,
    /// Likeliest first; their weights add up to one.
    pub possible: Vec<Possible>,
}

/// Values and weights for fitting, and what is known of the noise.
fn prepare(summary: &Summarised, weighing: Weighing, held_out: &[usize]) -> (Target, Judge) {
    let mut root_weights = summary.root_weights(weighing.growth);
    let known = summary.known(&root_weights);
    root_weights.iter_mut().for_each(|w| *w /= weighing.alike.sqrt());
    for &point in held_out {
        root_weights[point] = 0.0;
    }
    let target = Target { values: summary.values.clone(), root_weights };
    let judge = Judge { noise_freedom: known.freedom, noise_variance: known.variance, points: target.points() as f64 / weighing.alike };
    (target, judge)
}

impl Explained {
    /// Explains all points, by the forms that a search finds and by further ones that are known to be worth it.
    pub fn new(design: &Design, summary: &Summarised, weighing: Weighing, further: &[Simple]) -> Self {
        let (target, judge) = prepare(summary, weighing, &[]);
        let mut solver = Solver::new(design, &target);
        let mut search = Search::new(&mut solver, design, &target, judge);
        search.run();
        let (mut forms, simple) = (search.found, search.simple);
        forms.sort_by(|a, b| b.belief.total_cmp(&a.belief));
        let best = forms[0].belief;
        forms.retain(|f| f.belief > best - HOPELESS);
        forms.truncate(MOST_FORMS);
        let all: f64 = forms.iter().map(|f| (f.belief - best).exp()).sum();
        let mut posterior = Posterior::new(&mut solver, judge);
        for form in &forms {
            let share = (form.belief - best).exp() / all;
            posterior.add_form(&form.fitted, signs(&form.fitted), 4 + (28.0 * share) as usize);
        }
        for sum in simple.iter().chain(further) {
            posterior.add(&sum.family, &sum.exponents, sum.prior);
        }
        let possible = posterior.finish();
        Self { weighing, target, judge, forms, possible }
    }

    /// Explains all points by one form whose exponents are given; none if its terms depend on each other.
    pub fn of_form(design: &Design, summary: &Summarised, growth: f64, terms: &[Vec<Factor>]) -> Option<Self> {
        let weighing = Weighing { growth, alike: 1.0 };
        let (target, judge) = prepare(summary, weighing, &[]);
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
        (!possible.is_empty()).then_some(Self { weighing, target, judge, forms: Vec::new(), possible })
    }

    /// The relative spread of a typical point around the best member.
    pub fn spread(&self) -> f64 {
        let best = &self.possible[0];
        self.judge.variance(best.residual, best.family.unknowns()).sqrt()
    }

    /// How far all members together are from each point, relative to its value.
    pub fn relative_errors(&self, design: &Design) -> Vec<f64> {
        let said = |i| self.possible.iter().map(|p| p.member.weight * at_point(design, &p.member, i)).sum::<f64>();
        (0..design.points).map(|i| said(i) / self.target.values[i] - 1.0).collect()
    }

    /// The relative errors at all points when some of them are held out: the best forms stay, their numbers are found again.
    pub fn without(&self, design: &Design, summary: &Summarised, held_out: &[usize]) -> Option<Vec<f64>> {
        let (target, judge) = prepare(summary, self.weighing, held_out);
        let mut solver = Solver::new(design, &target);
        let known = Known { floor: judge.floor(), least: f64::INFINITY };
        let mut again: Vec<(f64, Member)> = Vec::new();
        for form in self.forms.iter().take(TRIED_AGAIN).filter(|f| f.fitted.family.unknowns() <= target.points()) {
            let family = &form.fitted.family;
            let Some(fitted) = refine(&mut solver, family, &form.fitted.exponents, known) else { continue };
            let belief = judge.of_continuous(&fitted) + judge.of_signs(&solver, family, fitted.residual) + signs(&fitted);
            if belief.is_finite() {
                again.push((belief, judge.member(&solver, family, &fitted.exponents, fitted.residual, 0.0)));
            }
        }
        let best = again.iter().map(|a| a.0).fold(f64::NEG_INFINITY, f64::max);
        let all: f64 = again.iter().map(|a| (a.0 - best).exp()).sum();
        let said = |point| again.iter().map(|(b, m)| (b - best).exp() / all * at_point(design, m, point)).sum::<f64>();
        (!again.is_empty()).then(|| (0..design.points).map(|i| said(i) / target.values[i] - 1.0).collect())
    }
}

/// The relative errors of one formula at all points when some of them are held out.
pub fn errors_without(design: &Design, summary: &Summarised, weighing: Weighing, formula: &Simple, held_out: &[usize]) -> Option<Vec<f64>> {
    let (target, judge) = prepare(summary, weighing, held_out);
    if target.points() <= formula.family.columns() {
        return None;
    }
    let mut solver = Solver::new(design, &target);
    let residual = solver.residual(&formula.family, &formula.exponents);
    let member = residual.is_finite().then(|| judge.member(&solver, &formula.family, &formula.exponents, residual, 1.0))?;
    Some((0..design.points).map(|i| at_point(design, &member, i) / target.values[i] - 1.0).collect())
}

fn signs(fitted: &Fitted) -> f64 {
    if fitted.family.signed { prior::SIGNED } else { 0.0 }
}

fn at_point(design: &Design, member: &Member, point: usize) -> f64 {
    let factor = |f: &Factor| {
        let axis = &design.axes[f.parameter];
        axis.factor(axis.place[point] as usize, f.exponent, f.log)
    };
    member.terms.iter().zip(&member.coefficients).map(|(t, c)| c * t.iter().map(factor).product::<f64>()).sum()
}
