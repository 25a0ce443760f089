//! What a prediction is made of, and what takes most of it where.
//!
//! It speaks of what the prediction is made with: parts and roles, or the terms of the formula of the whole where that is used.

use sintonia_formula::Formula;

use crate::curve::{Curve, Lines};
use crate::model::{Model, Uses};
use crate::predict::{Contribution, Figure, Predictor};
use crate::sweep::Line;
use crate::term::{Term, values};

/// Along a line, so many places are looked at before looking closer.
const PLACES: usize = 64;
/// How many standard deviations a 95 % interval reaches to both sides.
const REACH: f64 = 1.96;

/// Something that adds to the time, or that it is never less than.
#[derive(Clone, Debug, PartialEq)]
pub struct Ingredient {
    /// The part, the role, or nothing for a term of a formula.
    pub name: String,
    /// Its formula.
    pub formula: String,
    /// Its value.
    pub value: Figure,
    /// Whether it is a role that is busy, and nothing that is added.
    pub is_role: bool,
}

impl Ingredient {
    /// What it is called: a term by its formula.
    pub fn called(&self) -> &str {
        if self.name.is_empty() { &self.formula } else { &self.name }
    }
}

/// What takes most of the time over a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Reign {
    /// What it is.
    pub name: String,
    /// Its share of the time where the range begins, and where it ends.
    pub shares: [f64; 2],
    /// Where something else takes over; the last one stays.
    pub until: Option<Figure>,
}

/// What is added up at a setting, the largest first, and then the roles that are busy.
pub fn made_of(model: &Model, predictor: &Predictor, setting: &[f64]) -> Vec<Ingredient> {
    let terms = model.whole.as_ref().filter(|_| model.uses == Uses::Whole && !model.is_exchanged());
    if let Some(whole) = terms {
        let mut terms = terms_of(model, whole, setting);
        terms.sort_by(|a, b| b.value[1].total_cmp(&a.value[1]));
        return terms;
    }
    let contributions = predictor.contributions(setting).into_iter();
    let ingredient = |one: Contribution| Ingredient {
        name: one.name.to_owned(),
        formula: one.term.formula.to_string(),
        value: one.seconds,
        is_role: !one.is_part,
    };
    contributions.map(ingredient).collect()
}

/// The sum of what is added up.
pub fn sum(ingredients: &[Ingredient]) -> f64 {
    together(ingredients)[1]
}

/// What takes most of the time, and its share of it: a role if it is busy longer than everything else takes together.
pub fn most(ingredients: &[Ingredient]) -> Option<(&Ingredient, f64)> {
    let sum = sum(ingredients);
    let role = ingredients.iter().find(|one| one.is_role && one.value[1] > sum).map(|role| (role, 1.0));
    role.or_else(|| ingredients.iter().find(|one| !one.is_role).map(|one| (one, one.value[1] / sum)))
}

/// What takes most of the time along a line, one after the other.
pub fn reigns(model: &Model, predictor: &Predictor, line: &Line) -> Vec<Reign> {
    let at = |x: f64| made_of(model, predictor, &line.at(x));
    let place = |i: usize| line.from * (line.to / line.from).powf(i as f64 / (PLACES - 1) as f64);
    let places: Vec<(f64, Vec<Ingredient>)> = (0..PLACES).map(place).map(|x| (x, at(x))).collect();
    let mut reigns: Vec<Reign> = Vec::new();
    let mut before = line.from;
    for (x, ingredients) in &places {
        let Some((largest, share)) = most(ingredients) else { continue };
        match reigns.last_mut() {
            Some(last) if last.name == largest.called() => last.shares[1] = share,
            last => {
                if let Some(last) = last {
                    let crossing = closer(before, *x, |x| most(&at(x)).is_some_and(|(largest, _)| largest.called() == last.name));
                    last.until = Some(in_doubt(&places, crossing, [&last.name, largest.called()]));
                }
                reigns.push(Reign { name: largest.called().to_owned(), shares: [share; 2], until: None });
            }
        }
        before = *x;
    }
    reigns
}

/// Where between two places something ceases to hold.
fn closer(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..24 {
        let middle = (low * high).sqrt();
        if holds(middle) { low = middle } else { high = middle }
    }
    high
}

/// Around the place where one thing overtakes another: the range in which either may be larger.
fn in_doubt(places: &[(f64, Vec<Ingredient>)], crossing: f64, [below, above]: [&str; 2]) -> Figure {
    let exceeds = |ingredients: &[Ingredient], larger: &str, smaller: &str| {
        let find = |name: &str| ingredients.iter().find(|one| one.called() == name);
        let Some((larger, smaller)) = find(larger).zip(find(smaller)) else { return false };
        // A role competes with everything that is added up together.
        let value = |one: &Ingredient, other: &Ingredient| if other.is_role && !one.is_role { together(ingredients) } else { one.value };
        value(larger, smaller)[2] >= value(smaller, larger)[0]
    };
    let early = places.iter().rev().skip_while(|(x, _)| *x > crossing).take_while(|(_, at)| exceeds(at, above, below));
    let late = places.iter().skip_while(|(x, _)| *x < crossing).take_while(|(_, at)| exceeds(at, below, above));
    [early.last().map_or(crossing, |(x, _)| *x), crossing, late.last().map_or(crossing, |(x, _)| *x)]
}

/// All that is added up.
fn together(ingredients: &[Ingredient]) -> Figure {
    let parts = ingredients.iter().filter(|one| !one.is_role);
    parts.fold([0.0; 3], |sum, one| [0, 1, 2].map(|end| sum[end] + one.value[end]))
}

fn terms_of(model: &Model, whole: &Term, setting: &[f64]) -> Vec<Ingredient> {
    let names = model.names();
    let value = |formula: &Formula| formula.evaluate(&values(&names, setting)).ok();
    let term = |formula: &Formula, value: Figure| {
        let mut value = value;
        value.sort_by(f64::total_cmp);
        Ingredient { name: String::new(), formula: formula.to_string(), value, is_role: false }
    };
    let product = |coefficient: Figure, factor: &Formula| {
        let formula = Formula::decimal(seven_digits(coefficient[1])) * factor;
        value(factor).map(|value| term(&formula, coefficient.map(|coefficient| coefficient * value)))
    };
    match &whole.curve {
        Some(Curve::Pieces(lines)) => line_at(lines, setting).into_iter().filter_map(|(figure, factor)| product(figure, &factor)).collect(),
        Some(curve) => curve.terms_at(setting).iter().filter_map(|summand| product(summand.coefficient, &summand.term)).collect(),
        None => {
            let off = REACH * whole.error_percent.unwrap_or(0.0) / 100.0;
            let around = |value: f64| [value * (1.0 - off), value, value * (1.0 + off)];
            let by_hand = |formula: &Formula| value(formula).map(|value| term(formula, around(value)));
            summands(&whole.formula).iter().filter_map(by_hand).collect()
        }
    }
}

/// The two terms of the straight line that holds at a setting.
fn line_at(Lines { parameter, lines }: &Lines, setting: &[f64]) -> Vec<(Figure, Formula)> {
    let x = setting.first().copied().unwrap_or_default();
    let piece = lines.pieces.iter().find(|piece| x <= piece.to).or(lines.pieces.last());
    piece.map_or_else(Vec::new, |piece| {
        let figure = |estimate: &sintonia_fit::pieces::Estimate| [estimate.low, estimate.value, estimate.high];
        vec![(figure(&piece.slope), Formula::symbol(parameter)), (figure(&piece.intercept), Formula::one())]
    })
}

/// What a formula adds up.
fn summands(formula: &Formula) -> Vec<Formula> {
    let tree = formula.to_json();
    let terms = tree.get("add").and_then(|terms| terms.as_array());
    let terms = terms.and_then(|terms| terms.iter().map(|term| Formula::from_json(term).ok()).collect::<Option<Vec<_>>>());
    terms.unwrap_or_else(|| vec![formula.clone()])
}

/// A number with the digits that formulas are shown with.
fn seven_digits(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn model(text: &str) -> Model {
        let head = "format = 1\n[model]\nname = \"lu\"\n";
        let parameters = "[[parameter]]\nname = \"n\"\nfrom = 1\nto = 100\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
        Model::parse(&format!("{head}{text}{parameters}"), Path::new("lu")).unwrap()
    }

    fn line() -> Line {
        Line { parameter: 1, base: vec![20.0, 1.0], from: 1.0, to: 100.0 }
    }

    #[test]
    fn a_formula_by_hand_is_explained_term_by_term() {
        let model = model("formula = \"n^2/p + p - 1\"\n");
        let names = model.names();
        let found = made_of(&model, &Predictor::new(&model, &names), &[10.0, 5.0]);
        let shown: Vec<(&str, f64)> = found.iter().map(|one| (one.called(), one.value[1])).collect();
        assert_eq!(shown, [("n^2/p", 20.0), ("p", 5.0), ("-1", -1.0)]);
        assert_eq!(sum(&found), 24.0);
    }

    #[test]
    fn terms_of_a_formula_take_turns_where_they_cross() {
        let model = model("formula = \"n^2/p + p\"\n");
        let names = model.names();
        let reigns = reigns(&model, &Predictor::new(&model, &names), &line());
        assert_eq!(reigns.iter().map(|reign| reign.name.as_str()).collect::<Vec<_>>(), ["n^2/p", "p"]);
        let [low, crossing, high] = reigns[0].until.unwrap();
        assert!(
            (crossing - 20.0).abs() < 1e-4 && low == crossing && high == crossing,
            "what is exact has no doubt: {low} {crossing} {high}"
        );
        assert!(reigns[1].until.is_none() && (reigns[1].shares[1] - 100.0 / 104.0).abs() < 1e-9);
    }

    #[test]
    fn where_terms_are_not_exact_the_crossing_is_in_doubt() {
        let parts = "[[part]]\nname = \"a\"\nkind = \"computation\"\nformula = \"400/p\"\nerror_percent = 10\n\
                     [[part]]\nname = \"b\"\nkind = \"communication\"\nformula = \"p\"\nerror_percent = 10\n\
                     [[limit]]\nrole = \"master\"\nformula = \"50\"\n";
        let model = model(parts);
        let names = model.names();
        let predictor = Predictor::new(&model, &names);
        let reigns = reigns(&model, &predictor, &line());
        assert_eq!(reigns.iter().map(|reign| reign.name.as_str()).collect::<Vec<_>>(), ["a", "master", "b"]);
        let parts = Line { from: 45.0, ..line() };
        assert_eq!(super::reigns(&model, &predictor, &parts).len(), 1);
        assert!(most(&made_of(&model, &predictor, &[1.0, 20.0])).is_some_and(|(one, share)| one.is_role && share == 1.0));
    }
}
