//! What happens along one parameter: where the time is least, and up to where it pays to go.

use crate::model::Model;
use crate::predict::{Figure, Predictor};

/// Along a parameter so many places are looked at before looking closer.
const PLACES: usize = 96;
/// Where every place takes a thousand worlds, so many are enough.
const FEW_PLACES: usize = 24;
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

/// A number of processes to choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The smallest number that no other is faster than, between those of which the same may be true.
    pub time: Figure,
    /// Whether the time still falls at the largest number that was asked for.
    pub still_falls: bool,
    /// The largest number that is efficient enough, between what it surely is and what it may be; `None` if none is.
    pub efficiency: Option<Figure>,
    /// Whether the largest number that was asked for is efficient enough.
    pub still_enough: bool,
}

/// The same, by the likeliest formulas alone.
struct Likeliest {
    time: f64,
    still_falls: bool,
    efficiency: Option<f64>,
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

impl Best {
    /// The numbers of processes to choose along a line; the efficiency is that over `base` processes.
    pub fn of(model: &Model, predictor: &Predictor, line: &Line, base: f64, enough: f64) -> Option<Best> {
        let best = model.likeliest_best(line, base, enough)?;
        let places = places(line, best.time);
        let alone = line.at(base);
        let may_be_fastest = |p: f64| {
            let over_best = predictor.compare(&line.at(best.time), &line.at(p), |best, own| own / best);
            over_best.is_some_and(|[least, ..]| least <= 1.0)
        };
        let (fewer, more): (Vec<f64>, Vec<f64>) = places.iter().partition(|place| **place < best.time);
        let fewer: Vec<f64> = fewer.into_iter().rev().collect();
        let time = [reach(best.time, &fewer, may_be_fastest), best.time, reach(best.time, &more, may_be_fastest)];
        let efficient = |p: f64, end: usize| {
            let speedup = predictor.speedup(&alone, base, &line.at(p));
            speedup.is_some_and(|speedup| speedup[end] / p >= enough * (1.0 - 1e-9))
        };
        let last = |end: usize| {
            let place = places.iter().rposition(|place| efficient(*place, end))?;
            Some(reach(places[place], &places[place + 1..], |p| efficient(p, end)))
        };
        let efficiency = best.efficiency.map(|most| [last(0).unwrap_or(line.from).min(most), most, last(2).unwrap_or(most).max(most)]);
        Some(Best { time, still_falls: best.still_falls, efficiency, still_enough: efficiency.is_some_and(|[_, most, _]| most >= line.to) })
    }
}

/// Whole numbers of processes from the least to the largest, closer together where they are small, and one that must be among them.
fn places(line: &Line, one: f64) -> Vec<f64> {
    let share = |place: usize| place as f64 / (FEW_PLACES - 1) as f64;
    let mut places: Vec<f64> =
        (0..FEW_PLACES).map(|place| (line.from * (line.to / line.from).powf(share(place))).round()).chain([one]).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// How far from a number something still holds, on the way along places: it is looked for closely before the first where it does not.
fn reach(from: f64, places: &[f64], holds: impl Fn(f64) -> bool) -> f64 {
    let mut inside = from;
    for place in places {
        if holds(*place) {
            inside = *place;
            continue;
        }
        let mut outside = *place;
        while (outside - inside).abs() > 1.0 {
            let middle = f64::midpoint(inside, outside).floor();
            if holds(middle) { inside = middle } else { outside = middle }
        }
        break;
    }
    inside
}

impl Model {
    /// The numbers of processes to choose along a line by the likeliest formulas; the efficiency is that over `base` processes.
    fn likeliest_best(&self, line: &Line, base: f64, efficiency: f64) -> Option<Likeliest> {
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
        Some(Likeliest { time: best, still_falls: best >= line.to, efficiency: last })
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
    pub fn speedup(&self, alone: &[f64], base: f64, setting: &[f64]) -> Option<Figure> {
        self.compare(alone, setting, |alone, time| base * alone / time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelPart, Parameter, Quantity, Uses};
    use crate::part::Kind;
    use crate::term::Term;

    fn model(parts: &[&str], error_percent: f64) -> Model {
        let term = |formula: &&str| Term::by_hand(formula.parse().unwrap(), Some(error_percent));
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
            limits: vec![],
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

    fn best(model: &Model, line: &Line, enough: f64) -> Best {
        let names = model.names();
        Best::of(model, &Predictor::new(model, &names), line, 1.0, enough).unwrap()
    }

    #[test]
    fn the_best_number_of_processes_is_where_the_time_is_least() {
        let best = best(&model(&["100/p", "p/100"], 0.0), &line(1000.0), 0.5);
        assert!((90.0..=110.0).contains(&best.time[1]), "{best:?}");
        assert_eq!(best.efficiency, Some([100.0; 3]), "100/(p*(100/p + p/100)) is a half at 100");
        assert!(!best.still_falls && !best.still_enough);
    }

    #[test]
    fn where_the_time_falls_to_the_end_that_is_said() {
        let best = best(&model(&["100/p"], 0.0), &line(64.0), 0.9);
        assert_eq!(best, Best { time: [64.0; 3], still_falls: true, efficiency: Some([64.0; 3]), still_enough: true });
    }

    #[test]
    fn the_best_numbers_of_processes_are_as_sure_as_the_formulas() {
        let Best { time, efficiency, .. } = best(&model(&["100/p", "p/100"], 10.0), &line(1000.0), 0.5);
        assert!(time[0] < 95.0 && time[2] > 105.0 && time[0] > 50.0 && time[2] < 200.0, "{time:?}");
        let [least, middle, most] = efficiency.unwrap();
        assert!(least < 100.0 && middle == 100.0 && most > 100.0, "{efficiency:?}");
    }

    #[test]
    fn how_far_something_holds_is_found_between_places() {
        assert_eq!(reach(1.0, &[10.0, 100.0], |p| p <= 37.0), 37.0);
        assert_eq!(reach(50.0, &[20.0, 4.0], |p| p >= 7.0), 7.0);
        assert_eq!((reach(1.0, &[10.0], |_| true), reach(1.0, &[10.0], |_| false), reach(1.0, &[], |_| true)), (10.0, 1.0, 1.0));
    }
}
