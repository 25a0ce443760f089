//! Breakdown of a prediction into components, and which component dominates where.
//!
//! Components are the parts and roles, or the terms of the formula of the total where predictions use that.

use sintonia_formula::Formula;

use crate::curve::NORMAL_95_QUANTILE;
use crate::curve::{FittedCurve, PiecewiseCurve};
use crate::fitted_term::{FittedTerm, symbol_values};
use crate::model::{PerformanceModel, PredictionBasis};
use crate::predict::{EstimateRange, PartContribution, Predictor};
use crate::sweep::ParameterSweep;

/// The number of points along a sweep before bisection.
const SAMPLE_POINTS: usize = 64;

/// A component of the time: a summand or a lower bound.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeComponent {
    /// The part or role; empty for a term of a formula.
    pub name: String,
    /// Its formula.
    pub formula: String,
    /// Its value.
    pub value: EstimateRange,
    /// Whether it is the busy time of a role (a lower bound) and not a summand.
    pub is_role: bool,
}

impl TimeComponent {
    /// Its name, or the formula of a term.
    pub fn label(&self) -> &str {
        if self.name.is_empty() { &self.formula } else { &self.name }
    }
}

/// A range in which one component dominates.
#[derive(Clone, Debug, PartialEq)]
pub struct DominantRange {
    /// Its name.
    pub name: String,
    /// Its share of the time at the beginning and at the end of the range.
    pub shares: [f64; 2],
    /// Where another component takes over; none for the last range.
    pub crossover: Option<EstimateRange>,
}

/// The summands at a setting, largest first, followed by the roles.
pub fn breakdown(model: &PerformanceModel, predictor: &Predictor, setting: &[f64]) -> Vec<TimeComponent> {
    let terms = model.whole.as_ref().filter(|_| model.uses == PredictionBasis::Whole && !model.is_on_other_machine());
    if let Some(whole) = terms {
        let mut terms = whole_components(model, whole, setting);
        terms.sort_by(|a, b| b.value[1].total_cmp(&a.value[1]));
        return terms;
    }
    let contributions = predictor.contributions(setting).into_iter();
    let component = |one: PartContribution| TimeComponent {
        name: one.name.to_owned(),
        formula: one.term.formula.to_string(),
        value: one.seconds,
        is_role: !one.is_part,
    };
    contributions.map(component).collect()
}

/// The sum of the summands.
pub fn total(components: &[TimeComponent]) -> f64 {
    total_interval(components)[1]
}

/// The dominant component, and its share of the time: a role if it is busy longer than the sum of the parts.
pub fn dominant_component(components: &[TimeComponent]) -> Option<(&TimeComponent, f64)> {
    let sum = total(components);
    let role = components.iter().find(|one| one.is_role && one.value[1] > sum).map(|role| (role, 1.0));
    role.or_else(|| components.iter().find(|one| !one.is_role).map(|one| (one, one.value[1] / sum)))
}

/// The dominant components along a sweep, in order.
pub fn dominant_ranges(model: &PerformanceModel, predictor: &Predictor, line: &ParameterSweep) -> Vec<DominantRange> {
    let at = |x: f64| breakdown(model, predictor, &line.setting_at(x));
    let point_at = |i: usize| line.from * (line.to / line.from).powf(i as f64 / (SAMPLE_POINTS - 1) as f64);
    let points: Vec<(f64, Vec<TimeComponent>)> = (0..SAMPLE_POINTS).map(point_at).map(|x| (x, at(x))).collect();
    let mut ranges: Vec<DominantRange> = Vec::new();
    let mut before = line.from;
    for (x, components) in &points {
        let Some((largest, share)) = dominant_component(components) else { continue };
        match ranges.last_mut() {
            Some(last) if last.name == largest.label() => last.shares[1] = share,
            last => {
                if let Some(last) = last {
                    let crossing =
                        bisect(before, *x, |x| dominant_component(&at(x)).is_some_and(|(largest, _)| largest.label() == last.name));
                    last.crossover = Some(crossover_interval(&points, crossing, [&last.name, largest.label()]));
                }
                ranges.push(DominantRange { name: largest.label().to_owned(), shares: [share; 2], crossover: None });
            }
        }
        before = *x;
    }
    ranges
}

/// Where between two points a condition ceases to hold.
fn bisect(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..24 {
        let middle = (low * high).sqrt();
        if holds(middle) { low = middle } else { high = middle }
    }
    high
}

/// The range around a crossover in which either component may be larger.
fn crossover_interval(points: &[(f64, Vec<TimeComponent>)], crossing: f64, [below, above]: [&str; 2]) -> EstimateRange {
    let exceeds = |components: &[TimeComponent], larger: &str, smaller: &str| {
        let find = |name: &str| components.iter().find(|one| one.label() == name);
        let Some((larger, smaller)) = find(larger).zip(find(smaller)) else { return false };
        // A role competes with the sum of all summands.
        let value = |one: &TimeComponent, other: &TimeComponent| {
            if other.is_role && !one.is_role { total_interval(components) } else { one.value }
        };
        value(larger, smaller)[2] >= value(smaller, larger)[0]
    };
    let early = points.iter().rev().skip_while(|(x, _)| *x > crossing).take_while(|(_, at)| exceeds(at, above, below));
    let late = points.iter().skip_while(|(x, _)| *x < crossing).take_while(|(_, at)| exceeds(at, below, above));
    [early.last().map_or(crossing, |(x, _)| *x), crossing, late.last().map_or(crossing, |(x, _)| *x)]
}

/// The interval of the sum.
fn total_interval(components: &[TimeComponent]) -> EstimateRange {
    let parts = components.iter().filter(|one| !one.is_role);
    parts.fold([0.0; 3], |sum, one| [0, 1, 2].map(|end| sum[end] + one.value[end]))
}

fn whole_components(model: &PerformanceModel, whole: &FittedTerm, setting: &[f64]) -> Vec<TimeComponent> {
    let names = model.parameter_names();
    let value = |formula: &Formula| formula.evaluate(&symbol_values(&names, setting)).ok();
    let term = |formula: &Formula, value: EstimateRange| {
        let mut value = value;
        value.sort_by(f64::total_cmp);
        TimeComponent { name: String::new(), formula: formula.to_string(), value, is_role: false }
    };
    let product = |coefficient: EstimateRange, factor: &Formula| {
        let formula = Formula::decimal(round_for_display(coefficient[1])) * factor;
        value(factor).map(|value| term(&formula, coefficient.map(|coefficient| coefficient * value)))
    };
    match &whole.curve {
        Some(FittedCurve::Piecewise(lines)) => {
            active_line(lines, setting).into_iter().filter_map(|(figure, factor)| product(figure, &factor)).collect()
        }
        Some(curve) => curve.terms_at(setting).iter().filter_map(|summand| product(summand.coefficient, &summand.term)).collect(),
        None => {
            let off = NORMAL_95_QUANTILE * whole.error_percent.unwrap_or(0.0) / 100.0;
            let around = |value: f64| [value * (1.0 - off), value, value * (1.0 + off)];
            let by_hand = |formula: &Formula| value(formula).map(|value| term(formula, around(value)));
            additive_terms(&whole.formula).iter().filter_map(by_hand).collect()
        }
    }
}

/// The two terms of the line that applies at a setting.
fn active_line(PiecewiseCurve { parameter, lines }: &PiecewiseCurve, setting: &[f64]) -> Vec<(EstimateRange, Formula)> {
    let x = setting.first().copied().unwrap_or_default();
    let piece = lines.pieces.iter().find(|piece| x <= piece.to).or(lines.pieces.last());
    piece.map_or_else(Vec::new, |piece| {
        let figure = |estimate: &sintonia_fit::piecewise::IntervalEstimate| [estimate.low, estimate.value, estimate.high];
        vec![(figure(&piece.slope), Formula::symbol(parameter)), (figure(&piece.intercept), Formula::one())]
    })
}

/// The summands of a formula.
fn additive_terms(formula: &Formula) -> Vec<Formula> {
    let tree = formula.to_json();
    let terms = tree.get("add").and_then(|terms| terms.as_array());
    let terms = terms.and_then(|terms| terms.iter().map(|term| Formula::from_json(term).ok()).collect::<Option<Vec<_>>>());
    terms.unwrap_or_else(|| vec![formula.clone()])
}

/// Rounds to the digits that formulas are displayed with.
fn round_for_display(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn model(text: &str) -> PerformanceModel {
        let head = "format = 1\n[model]\nname = \"lu\"\n";
        let parameters = "[[parameter]]\nname = \"n\"\nfrom = 1\nto = 100\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
        PerformanceModel::parse(&format!("{head}{text}{parameters}"), Path::new("lu")).unwrap()
    }

    fn line() -> ParameterSweep {
        ParameterSweep { parameter: 1, base: vec![20.0, 1.0], from: 1.0, to: 100.0 }
    }

    #[test]
    fn a_formula_by_hand_is_explained_term_by_term() {
        let model = model("formula = \"n^2/p + p - 1\"\n");
        let names = model.parameter_names();
        let found = breakdown(&model, &Predictor::new(&model, &names), &[10.0, 5.0]);
        let shown: Vec<(&str, f64)> = found.iter().map(|one| (one.label(), one.value[1])).collect();
        assert_eq!(shown, [("n^2/p", 20.0), ("p", 5.0), ("-1", -1.0)]);
        assert_eq!(total(&found), 24.0);
    }

    #[test]
    fn terms_of_a_formula_take_turns_where_they_cross() {
        let model = model("formula = \"n^2/p + p\"\n");
        let names = model.parameter_names();
        let ranges = dominant_ranges(&model, &Predictor::new(&model, &names), &line());
        assert_eq!(ranges.iter().map(|reign| reign.name.as_str()).collect::<Vec<_>>(), ["n^2/p", "p"]);
        let [low, crossing, high] = ranges[0].crossover.unwrap();
        assert!(
            (crossing - 20.0).abs() < 1e-4 && low == crossing && high == crossing,
            "what is exact has no doubt: {low} {crossing} {high}"
        );
        assert!(ranges[1].crossover.is_none() && (ranges[1].shares[1] - 100.0 / 104.0).abs() < 1e-9);
    }

    #[test]
    fn where_terms_are_not_exact_the_crossing_is_in_doubt() {
        let parts = "[[part]]\nname = \"a\"\nkind = \"computation\"\nformula = \"400/p\"\nerror_percent = 10\n\
                     [[part]]\nname = \"b\"\nkind = \"communication\"\nformula = \"p\"\nerror_percent = 10\n\
                     [[limit]]\nrole = \"master\"\nformula = \"50\"\n";
        let model = model(parts);
        let names = model.parameter_names();
        let predictor = Predictor::new(&model, &names);
        let ranges = dominant_ranges(&model, &predictor, &line());
        assert_eq!(ranges.iter().map(|reign| reign.name.as_str()).collect::<Vec<_>>(), ["a", "master", "b"]);
        let parts = ParameterSweep { from: 45.0, ..line() };
        assert_eq!(super::dominant_ranges(&model, &predictor, &parts).len(), 1);
        assert!(dominant_component(&breakdown(&model, &predictor, &[1.0, 20.0])).is_some_and(|(one, share)| one.is_role && share == 1.0));
    }
}
