//! Which forms are worth believing in.
//!
//! With one parameter all exponents are scanned. With more, the ways to split the parameters into products that are added up come first,
//! without logarithms; the best of them are then varied: other powers of logarithms, a parameter left out, a further term, no constant.

use super::design::{Axis, Design};
use super::family::{Family, Log, Product};
use super::judge::Judge;
use super::prior;
use super::refine::{Exponents, Fitted, Known, refine};
use super::solve::{Solver, Target, back_substitute, normalise, take_away};

/// Forms further behind the best than this (as a logarithm of belief) are not looked at again.
const HOPELESS: f64 = 9.0;

/// The step between exponents where a single one is scanned; the best is refined afterwards.
const SCAN_STEP: f64 = 0.5;
/// With more parameters than this, not all ways to split them into products are tried.
const MOST_SPLIT: usize = 4;

/// How many of those ways are refined.
const MOST_REFINED: usize = 4;

/// The fewest points that can tell two terms of one parameter apart.
const ENOUGH_FOR_PAIRS: usize = 6;

/// The fewest values of a parameter for a further term of its own: a constant, and a coefficient and an exponent in each of two terms.
const ENOUGH_FOR_OWN_TERM: usize = 5;

/// The terms that are tried in pairs.
const PAIRED: [(f64, Log); 12] = [
    (-1.0, Log::None),
    (-0.5, Log::None),
    (0.0, Log::Once),
    (0.0, Log::Twice),
    (0.5, Log::None),
    (1.0, Log::None),
    (1.0, Log::Once),
    (1.5, Log::None),
    (2.0, Log::None),
    (2.0, Log::Once),
    (2.5, Log::None),
    (3.0, Log::None),
];

/// A form that was looked at.
#[derive(Debug, Clone)]
pub struct Found {
    pub fitted: Fitted,
    /// The belief in it as a logarithm.
    pub belief: f64,
}

impl Found {
    /// Judges the form that a solver was last asked for; it may have negative terms if nothing else fits, which is believed less.
    pub fn judged(mut fitted: Fitted, solver: &Solver, judge: &Judge) -> Self {
        fitted.family.signed = false;
        let signs = judge.of_signs(solver, &fitted.family, fitted.residual);
        fitted.family.signed = signs < judge.signed();
        Self { belief: judge.of_continuous(&fitted) + signs.max(judge.signed()), fitted }
    }
}

/// A sum of simple terms of one parameter, with its exponents given.
#[derive(Debug, Clone, Copy)]
pub struct Simple {
    pub family: Family,
    pub exponents: Exponents,
    /// The belief in it before measuring, as a logarithm.
    pub prior: f64,
}

/// A search and what it has found so far.
pub struct Search<'s, 'd> {
    solver: &'s mut Solver<'d>,
    design: &'d Design,
    judge: Judge,
    slopes: Vec<f64>,
    pub found: Vec<Found>,
    /// Sums of simple terms of one parameter.
    pub simple: Vec<Simple>,
}

impl Simple {
    /// A polynomial of one parameter, whose terms may be negative.
    pub fn polynomial(degree: usize) -> Self {
        let family = (0..degree).fold(Family::constant(), |family, _| family.with_own_term(&[0]));
        Self { family: Family { signed: true, ..family }, exponents: (1..=degree).map(|e| e as f64).collect(), prior: prior::POLYNOMIAL }
    }
}

impl<'s, 'd> Search<'s, 'd> {
    pub fn new(solver: &'s mut Solver<'d>, design: &'d Design, target: &Target, judge: Judge) -> Self {
        Self { solver, design, judge, slopes: slopes(design, target), found: Vec::new(), simple: Vec::new() }
    }

    /// Looks for forms.
    pub fn run(&mut self) {
        self.try_form(Family::constant(), &[]);
        if self.design.axes.len() == 1 {
            self.scan_single(true);
            self.scan_single(false);
            self.pair_up();
        } else {
            self.split();
            self.leave_out();
            self.vary_logs();
            self.share_factors();
            self.drop_constants();
            self.extend();
        }
    }

    /// The belief in the best form so far.
    fn best(&self) -> f64 {
        self.found.iter().map(|f| f.belief).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The best forms so far.
    fn leading(&self, most: usize) -> Vec<usize> {
        let limit = self.best() - HOPELESS;
        let mut leading: Vec<usize> = (0..self.found.len()).filter(|f| self.found[*f].belief > limit).collect();
        leading.sort_by(|a, b| self.found[*b].belief.total_cmp(&self.found[*a].belief));
        leading.truncate(most);
        leading
    }

    fn form(&self, found: usize) -> (Family, Exponents) {
        let fitted = &self.found[found].fitted;
        (fitted.family, fitted.exponents)
    }

    /// One parameter: every exponent with every logarithm.
    fn scan_single(&mut self, constant: bool) {
        for log in self.design.axes[0].logs() {
            let family = Family { constant, ..Family::of_blocks(&[[0]]).with_log(0, log) };
            let steps = ((prior::HIGHEST - prior::LOWEST) / SCAN_STEP) as usize;
            let mut best = (f64::INFINITY, 0.0);
            for e in (0..=steps).map(|i| prior::LOWEST + SCAN_STEP * i as f64).filter(|e| prior::allows(*e, log)) {
                let residual = self.solver.residual(&family, &[e]);
                if residual < best.0 && !self.solver.has_negative_term(&family) {
                    best = (residual, e);
                }
            }
            if best.0.is_finite() {
                self.try_form(family, &[best.1]);
            }
        }
    }

    /// One parameter: sums of two simple terms, where there are enough points to tell them apart.
    fn pair_up(&mut self) {
        if self.design.points < ENOUGH_FOR_PAIRS {
            return;
        }
        let offered: Vec<(f64, Log)> = PAIRED.into_iter().filter(|(_, log)| self.design.axes[0].logs().any(|l| l == *log)).collect();
        let limit = self.best() - HOPELESS;
        let mut best = (f64::INFINITY, None);
        for (i, (first, first_log)) in offered.iter().enumerate() {
            for (second, second_log) in &offered[..i] {
                let both = Family::of_blocks(&[[0], [0]]).with_log(0, *first_log).with_log(1, *second_log);
                for family in [both, both.without_constant()] {
                    let pair = Simple { family, exponents: [*first, *second].as_slice().into(), prior: prior::PAIR };
                    let residual = self.solver.residual(&family, &pair.exponents);
                    let likely = self.judge.of_residual(residual, family.columns()) + prior::PAIR > limit;
                    if likely && !self.solver.has_negative_term(&family) {
                        self.simple.push(pair);
                        if residual < best.0 {
                            best = (residual, Some(pair));
                        }
                    }
                }
            }
        }
        if let Some(pair) = best.1 {
            self.try_form(pair.family, &pair.exponents);
        }
    }

    /// Several parameters: the ways to split them into products, all of them while they are few.
    fn split(&mut self) {
        let parameters: Vec<usize> = (0..self.design.axes.len()).collect();
        if parameters.len() <= MOST_SPLIT {
            let mut screened: Vec<(f64, Vec<Vec<usize>>)> = partitions(&parameters).into_iter().map(|b| (self.screen(&b), b)).collect();
            screened.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, blocks) in screened.iter().take(MOST_REFINED) {
                self.try_blocks(blocks);
            }
            return;
        }
        let alone: Vec<Vec<usize>> = parameters.iter().map(|p| vec![*p]).collect();
        self.join_blocks(alone);
        self.try_blocks(&[parameters]);
    }

    /// What a sum of products leaves after two steps from the guess: enough to see which are hopeless.
    fn screen(&mut self, blocks: &[Vec<usize>]) -> f64 {
        let family = Family::of_blocks(blocks);
        let mut exponents = self.guess(&family);
        let mut least = self.solver.residual(&family, &exponents);
        for _ in 0..2 {
            if least.is_finite() {
                self.solver.improve(&family);
                for (exponent, step) in exponents.iter_mut().zip(&self.solver.step) {
                    *exponent = (*exponent + step.clamp(-1.0, 1.0)).clamp(prior::LOWEST, prior::HIGHEST);
                }
                least = least.min(self.solver.residual(&family, &exponents));
            }
        }
        least
    }

    /// Joins the two blocks whose product explains most, again and again while that helps.
    fn join_blocks(&mut self, mut blocks: Vec<Vec<usize>>) {
        let mut belief = self.try_blocks(&blocks);
        while blocks.len() > 1 {
            let joined = |i: usize, j: usize| {
                let mut joined = blocks.clone();
                let second = joined.remove(j);
                joined[i].extend(second);
                joined
            };
            let pairs = (0..blocks.len()).flat_map(|j| (0..j).map(move |i| (i, j)));
            let tried = pairs.map(|(i, j)| joined(i, j)).map(|blocks| (self.try_blocks(&blocks), blocks));
            let Some(best) = tried.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| best.0 > belief) else { return };
            (belief, blocks) = best;
        }
    }

    /// Tries a sum of products, with and without a constant, and says how good the better one is.
    fn try_blocks(&mut self, blocks: &[Vec<usize>]) -> f64 {
        let family = Family::of_blocks(blocks);
        let guess = self.guess(&family);
        let with = self.try_form(family, &guess);
        let exponents = with.map_or(guess, |f| self.found[f].fitted.exponents);
        let without = self.try_form(family.without_constant(), &exponents);
        with.into_iter().chain(without).map(|f| self.found[f].belief).fold(f64::NEG_INFINITY, f64::max)
    }

    /// A guess of exponents from the slopes of the logarithms: a constant or other terms make the true ones steeper.
    fn guess(&self, family: &Family) -> Exponents {
        let (steeper, least, most) = if family.terms.len() == 1 { (1.2, 0.3, 3.0) } else { (1.5, 1.0, 2.5) };
        let guess = |slope: f64| (steeper * slope.abs()).clamp(least, most).copysign(slope);
        family.slots.iter().map(|slot| guess(self.slopes[slot.axis()])).collect()
    }

    /// One parameter after the other is left out of the best form.
    fn leave_out(&mut self) {
        for lead in self.leading(1) {
            for parameter in 0..self.design.axes.len() {
                let (family, guess) = without(&self.found[lead].fitted, parameter);
                self.try_form(family, &guess);
            }
        }
    }

    /// Other logarithms, one factor at a time, from the best forms on until nothing gets better.
    fn vary_logs(&mut self) {
        for lead in self.leading(3) {
            let mut current = lead;
            for _ in 0..3 {
                let before = current;
                for slot in 0..self.found[current].fitted.family.slots.len() {
                    current = self.vary_log(current, slot);
                }
                if current == before {
                    break;
                }
            }
        }
    }

    fn vary_log(&mut self, current: usize, slot: usize) -> usize {
        let (family, exponents) = self.form(current);
        let (parameter, now) = (family.slots[slot].axis(), family.slots[slot].log);
        let mut best = current;
        for log in self.design.axes[parameter].logs().filter(|l| *l != now) {
            let mut guess = exponents;
            guess[slot] = self.exchange(parameter, guess[slot], now.powers() - log.powers());
            if let Some(found) = self.try_form(family.with_log(slot, log), &guess)
                && self.found[found].belief > self.found[best].belief
            {
                best = found;
            }
        }
        best
    }

    /// The exponent that makes up for `logs` powers of a logarithm, in the upper part of the axis; the sign stays.
    fn exchange(&self, parameter: usize, exponent: f64, logs: f64) -> f64 {
        let axis = &self.design.axes[parameter];
        let middle = (axis.reference.ln() + 0.35 * axis.ln[0]).max(0.7);
        let moved = exponent + logs / middle;
        if exponent < 0.0 { moved.min(-prior::LEAST) } else { moved.max(0.0) }
    }

    /// Terms made of factors that are there already: a part of a product, or the product of two terms.
    fn share_factors(&mut self) {
        for lead in self.leading(2) {
            let (family, exponents) = self.form(lead);
            let parts = family.terms.iter().filter(|t| t.len() > 1).flat_map(|t| t.slots().map(|slot| Product::of([slot])));
            let mut extra: Vec<Product> = parts.collect();
            if let [first, second] = *family.terms {
                extra.push(first.times(second));
            }
            for term in extra.into_iter().filter(|t| !family.terms.contains(t) && family.has_room(0)) {
                self.try_form(family.with_term(term), &exponents);
            }
        }
    }

    fn drop_constants(&mut self) {
        for lead in self.leading(3) {
            let (family, exponents) = self.form(lead);
            if family.constant && !family.terms.is_empty() {
                self.try_form(family.without_constant(), &exponents);
            }
        }
    }

    /// One more term of its own for the best form, if the noise alone does not explain what it leaves.
    fn extend(&mut self) {
        for lead in self.leading(1) {
            let (family, exponents) = self.form(lead);
            let variance = self.judge.variance(self.found[lead].fitted.residual, family.unknowns());
            if self.judge.knows_noise() && variance < 2.0 * self.judge.noise_variance || !family.has_room(1) {
                continue;
            }
            for parameter in (0..self.design.axes.len()).filter(|p| self.design.axes[*p].len() >= ENOUGH_FOR_OWN_TERM) {
                let extended = family.with_own_term(&[parameter]);
                let guess = |e: f64| exponents.iter().copied().chain([e]).collect::<Exponents>();
                let tried = [-1.0, 0.5, 1.0, 2.0, 3.0].map(|e| (self.solver.residual(&extended, &guess(e)), e));
                if let Some((_, best)) = tried.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
                    && let Some(found) = self.try_form(extended, &guess(best))
                    && self.found[found].fitted.exponents.last().is_some_and(|e| *e <= prior::LOWEST || *e >= prior::HIGHEST)
                {
                    // What runs to the edge of all exponents has found nothing.
                    self.found[found].belief = f64::NEG_INFINITY;
                }
            }
        }
    }

    /// Fits a form from a guess, unless it was looked at before or there are too few points for it.
    fn try_form(&mut self, family: Family, guess: &[f64]) -> Option<usize> {
        if let Some(known) = self.found.iter().position(|f| f.fitted.family.is_like(&family)) {
            return Some(known);
        }
        if family.unknowns() > self.design.points {
            return None;
        }
        let least = self.found.iter().map(|f| f.fitted.residual).fold(f64::INFINITY, f64::min);
        let known = Known { floor: self.judge.floor(), least };
        let fitted = refine(self.solver, &family, guess, known)?;
        self.found.push(Found::judged(fitted, self.solver, &self.judge));
        Some(self.found.len() - 1)
    }
}

/// The same form without a parameter.
fn without(fitted: &Fitted, parameter: usize) -> (Family, Exponents) {
    let family = &fitted.family;
    let kept: Vec<usize> = (0..family.slots.len()).filter(|i| family.slots[*i].axis() != parameter).collect();
    let mut less = Family { constant: family.constant, slots: kept.iter().map(|i| family.slots[*i]).collect(), ..Family::default() };
    for term in family.terms.iter() {
        let product = Product::of(term.slots().filter_map(|slot| kept.iter().position(|k| *k == slot)));
        if product.len() > 0 && !less.terms.contains(&product) {
            less.terms.push(product);
        }
    }
    (less, kept.iter().map(|i| fitted.exponents[*i]).collect())
}

/// All ways to split a list into groups.
fn partitions(items: &[usize]) -> Vec<Vec<Vec<usize>>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for partition in partitions(rest) {
        for block in 0..partition.len() {
            let mut joined = partition.clone();
            joined[block].insert(0, *first);
            all.push(joined);
        }
        let mut alone = vec![vec![*first]];
        alone.extend(partition);
        all.push(alone);
    }
    all
}

/// How the logarithm of the value grows with the logarithm of each parameter.
fn slopes(design: &Design, target: &Target) -> Vec<f64> {
    let logarithm = |axis: &Axis| axis.place.iter().map(|place| axis.ln[*place as usize]).collect::<Vec<f64>>();
    let mut columns: Vec<Vec<f64>> = std::iter::once(vec![1.0; design.points]).chain(design.axes.iter().map(logarithm)).collect();
    let mut rest: Vec<f64> = target.values.iter().map(|y| y.ln()).collect();
    let size = columns.len();
    let (mut triangle, mut right, mut solution) = (vec![0.0; size * size], vec![0.0; size], vec![0.0; size]);
    for j in 0..size {
        let (done, after) = columns.split_at_mut(j + 1);
        let length = normalise(&mut done[j]).max(1e-12);
        triangle[j * size + j] = length;
        for (l, other) in after.iter_mut().enumerate() {
            triangle[j * size + j + 1 + l] = take_away(other, &done[j]);
        }
        right[j] = take_away(&mut rest, &done[j]);
    }
    back_substitute(&triangle, size, &right, &mut solution);
    solution.split_off(1)
}
