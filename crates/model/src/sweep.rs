//! What happens along one parameter: where the time is least, up to where it pays to go, and where one thing overtakes another.

use crate::model::Model;
use crate::predict::Predictor;
use crate::term::Term;

/// Along a parameter so many places are looked at before looking closer.
const PLACES: usize = 96;
/// Times that differ by less than this share are the same.
const SAME: f64 = 1e-3;

/// A line through the settings of a model: one parameter changes, the others stay.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The place of the parameter among those of the model.
    pub parameter: usize,
    /// The values of all parameters; that of the changing one does not matter.
    pub base: Vec<f64>,
    /// The least value of the parameter.
    pub from: f64,
    /// The largest.
    pub to: f64,
}

/// Where something begins to take more time than what took most before.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// The value of the parameter.
    pub at: f64,
    /// What takes most below it.
    pub below: String,
    /// What takes most above it.
    pub above: String,
}

/// A number of processes to choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The number at which the time is least; of several, the smallest.
    pub time: f64,
    /// Whether the time still falls at the largest number that was asked for.
    pub still_falls: bool,
    /// The largest number that is efficient enough; `None` if none is.
    pub efficiency: Option<f64>,
}

impl Line {
    /// The setting at a value of the parameter.
    pub fn at(&self, value: f64) -> Vec<f64> {
        let mut setting = self.base.clone();
        if let Some(own) = setting.get_mut(self.parameter) {
            *own = value;
        }
        setting
    }

    /// Values from the least to the largest, closer together where they are small.
    fn values(&self) -> Vec<f64> {
        let share = |place: usize| place as f64 / (PLACES - 1) as f64;
        (0..PLACES).map(|place| self.from * (self.to / self.from).powf(share(place))).collect()
    }

    /// The same for what cannot be halved.
    fn whole_values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.values().into_iter().map(f64::round).collect();
        values.dedup();
        values
    }
}

impl Model {
    /// The numbers of processes to choose along a line; the efficiency is that over `base` processes.
    pub fn best(&self, line: &Line, base: f64, efficiency: f64) -> Option<Best> {
        let time = |processes: f64| self.value(&line.at(processes)).filter(|time| time.is_finite());
        let alone = time(base)? * base;
        let enough = |processes: f64| time(processes).is_some_and(|time| alone / (time * processes) >= efficiency * (1.0 - 1e-9));
        let values = line.whole_values();
        let times: Vec<(f64, f64)> = values.iter().filter_map(|value| Some((*value, time(*value)?))).collect();
        let (coarse, _) = least(&times)?;
        let around: Vec<(f64, f64)> = close(&values, coarse).filter_map(|value| Some((value, time(value)?))).collect();
        let (best, _) = least(&around)?;
        let last = values.iter().rev().copied().find(|value| enough(*value));
        let last = last
            .map(|value| close(&values, value).filter(|close| *close >= value).take_while(|close| enough(*close)).last().unwrap_or(value));
        Some(Best { time: best, still_falls: best >= line.to, efficiency: last })
    }

    /// Where along a line something else begins to take most of the time: a part or a role, or a term of the whole if there are no parts.
    pub fn crossings(&self, line: &Line) -> Vec<Crossing> {
        let rivals = self.rivals();
        let largest = |value: f64| {
            let setting = line.at(value);
            let times = rivals.iter().map(|rival| rival.at(self, &setting));
            times.enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(place, _)| place)
        };
        let mut crossings = Vec::new();
        let values = line.values();
        for two in values.windows(2) {
            if let (Some(below), Some(above)) = (largest(two[0]), largest(two[1]))
                && below != above
            {
                let (mut low, mut high) = (two[0], two[1]);
                for _ in 0..30 {
                    let middle = (low * high).sqrt();
                    if largest(middle) == Some(below) { low = middle } else { high = middle }
                }
                crossings.push(Crossing { at: high, below: rivals[below].name.clone(), above: rivals[above].name.clone() });
            }
        }
        crossings
    }

    fn rivals(&self) -> Vec<Rival<'_>> {
        let parts = self.parts.iter().map(|part| Rival { name: part.name.clone(), what: What::Term(&part.term) });
        let limits = self.limits.iter().map(|limit| Rival { name: limit.role.clone(), what: What::Limit(&limit.term) });
        if !self.parts.is_empty() {
            return parts.chain(limits).collect();
        }
        let summands = self.whole.as_ref().and_then(|whole| whole.curve.as_ref()).map(|curve| curve.terms()).unwrap_or_default();
        let term = |summand: crate::curve::Summand| {
            let formula = sintonia_formula::Formula::decimal(summand.coefficient[1]) * summand.term;
            Rival { name: formula.to_string(), what: What::Own(Term::by_hand(formula, None)) }
        };
        summands.into_iter().map(term).collect()
    }
}

/// Something that can take most of the time.
struct Rival<'a> {
    name: String,
    what: What<'a>,
}

enum What<'a> {
    Term(&'a Term),
    /// A role takes part only where it is busy longer than all parts together.
    Limit(&'a Term),
    Own(Term),
}

impl Rival<'_> {
    fn at(&self, model: &Model, setting: &[f64]) -> f64 {
        let names = model.names();
        let value = |term: &Term| term.likeliest(&names, setting).unwrap_or(0.0);
        match &self.what {
            What::Term(term) => value(term),
            What::Own(term) => value(term),
            What::Limit(term) => {
                let parts: f64 = model.parts.iter().map(|part| value(&part.term)).sum();
                if value(term) > parts { f64::INFINITY } else { 0.0 }
            }
        }
    }
}

/// The least time; of those that are almost the same, the first.
fn least(times: &[(f64, f64)]) -> Option<(f64, f64)> {
    let shortest = times.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    times.iter().copied().find(|(_, time)| *time <= shortest * (1.0 + SAME))
}

/// The whole numbers between the neighbours of one of these values, not too many.
fn close(values: &[f64], value: f64) -> impl Iterator<Item = f64> {
    let place = values.iter().position(|other| *other == value).unwrap_or(0);
    let (low, high) = (values[place.saturating_sub(1)], values[(place + 1).min(values.len() - 1)]);
    let step = ((high - low) / 400.0).ceil().max(1.0);
    (0..).map(move |i| low + step * i as f64).take_while(move |x| *x <= high)
}

impl Predictor<'_> {
    /// The speed-up from `base` processes, which count as so many, to those of another setting.
    pub fn speedup(&self, alone: &[f64], base: f64, setting: &[f64]) -> Option<crate::predict::Figure> {
        self.compare(alone, setting, |alone, time| base * alone / time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Limit, ModelPart, Parameter, Quantity, Uses};
    use crate::part::Kind;

    fn model(parts: &[&str], limits: &[&str]) -> Model {
        let term = |formula: &&str| Term::by_hand(formula.parse().unwrap(), None);
        let part = |formula: &&str| ModelPart {
            name: formula.to_string(),
            kind: Kind::Other,
            share: 0.0,
            term: term(formula),
            calls: None,
            home_cost: None,
        };
        Model {
            name: "test".into(),
            quantity: Quantity { name: "time".into(), unit: "s".into() },
            parameters: vec![Parameter { name: "p".into(), from: 1.0, to: 8.0 }],
            fixed: Default::default(),
            parts: parts.iter().map(part).collect(),
            limits: limits.iter().map(|limit| Limit { role: "master".into(), term: term(limit) }).collect(),
            whole: None,
            uses: Uses::Parts,
            home: None,
            noise_percent: 0.0,
            validation: None,
            points: vec![],
            notes: vec![],
        }
    }

    fn line(to: f64) -> Line {
        Line { parameter: 0, base: vec![1.0], from: 1.0, to }
    }

    #[test]
    fn the_best_number_of_processes_is_where_the_time_is_least() {
        let best = model(&["100/p", "p/100"], &[]).best(&line(1000.0), 1.0, 0.5).unwrap();
        assert!((90.0..=110.0).contains(&best.time), "{best:?}");
        assert!(!best.still_falls);
        assert_eq!(best.efficiency, Some(100.0), "100/(p*(100/p + p/100)) is a half at 100");
    }

    #[test]
    fn where_the_time_falls_to_the_end_that_is_said() {
        let best = model(&["100/p"], &[]).best(&line(64.0), 1.0, 0.9).unwrap();
        assert_eq!(best, Best { time: 64.0, still_falls: true, efficiency: Some(64.0) });
    }

    #[test]
    fn parts_cross_where_they_are_equal() {
        let crossings = model(&["100/p", "p/4"], &[]).crossings(&line(1000.0));
        assert_eq!(crossings.len(), 1);
        assert!((crossings[0].at - 20.0).abs() < 1e-6, "{crossings:?}");
        assert_eq!((crossings[0].below.as_str(), crossings[0].above.as_str()), ("100/p", "p/4"));
    }

    #[test]
    fn a_role_overtakes_where_it_is_busy_longer_than_all_parts_together() {
        let model = model(&["100/p", "1"], &["5"]);
        let crossings = model.crossings(&line(1000.0));
        assert!((crossings[0].at - 25.0).abs() < 1e-6, "{crossings:?}");
        assert_eq!(crossings[0].above, "master");
        assert_eq!(model.value(&[50.0]), Some(5.0));
    }
}
