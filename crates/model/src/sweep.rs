//! Sweeps over one parameter: the fastest number of processes, and the largest efficient one.

use crate::model::PerformanceModel;
use crate::predict::{EstimateRange, Predictor};

/// The number of points of a sweep before refinement.
const SAMPLE_POINTS: usize = 96;
/// The number of points where each one evaluates all posterior samples.
const COARSE_POINTS: usize = 24;
/// Times that differ by less than this share are considered equal.
const TIME_TOLERANCE: f64 = 1e-3;

/// A sweep through the settings of a model: one parameter varies, the others are fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSweep {
    /// Index of the parameter in the model.
    pub parameter: usize,
    /// The values of all parameters; that of the varying one is ignored.
    pub base: Vec<f64>,
    /// The smallest value of the parameter.
    pub from: f64,
    /// The largest.
    pub to: f64,
}

/// Numbers of processes to choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestProcessCount {
    /// The smallest number of processes with minimum time, with the range of numbers that may be fastest.
    pub time: EstimateRange,
    /// Whether the time still decreases at the largest requested number.
    pub still_falls: bool,
    /// The largest number that is efficient enough: certain, estimated and possible; `None` if none is.
    pub efficiency: Option<EstimateRange>,
    /// Whether the largest requested number is efficient enough.
    pub still_enough: bool,
}

/// Repeated measurements with one value of the parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepMeasurement {
    /// The value of the parameter.
    pub at: f64,
    /// The median.
    pub median: f64,
    /// Minimum and maximum, if they differ.
    pub range: Option<(f64, f64)>,
}

impl SweepMeasurement {
    /// Of measurements with the same value of the parameter, in ascending order.
    fn from_repetitions(group: &[(f64, f64)]) -> SweepMeasurement {
        let (least, most) = (group[0].1, group[group.len() - 1].1);
        let median = f64::midpoint(group[(group.len() - 1) / 2].1, group[group.len() / 2].1);
        SweepMeasurement { at: group[0].0, median, range: (least < most).then_some((least, most)) }
    }
}

/// The same from point estimates only.
struct PointBest {
    time: f64,
    still_falls: bool,
    efficiency: Option<f64>,
}

impl ParameterSweep {
    /// The setting at a value of the parameter.
    pub fn setting_at(&self, value: f64) -> Vec<f64> {
        let mut setting = self.base.clone();
        if let Some(own) = setting.get_mut(self.parameter) {
            *own = value;
        }
        setting
    }

    /// The measurements on the sweep, by value of the parameter. None on another machine.
    pub fn measurements(&self, model: &PerformanceModel) -> Vec<SweepMeasurement> {
        let is_on = |setting: &[f64]| setting.iter().zip(&self.base).enumerate().all(|(index, (a, b))| index == self.parameter || a == b);
        let here = model.points.iter().filter(|point| !model.is_on_other_machine() && is_on(&point.at));
        let mut points: Vec<(f64, f64)> = here.map(|point| (point.at[self.parameter], point.value)).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        points.chunk_by(|a, b| a.0 == b.0).map(SweepMeasurement::from_repetitions).collect()
    }

    /// Geometrically spaced values.
    fn sample_points(&self) -> Vec<f64> {
        let share = |point: usize| point as f64 / (SAMPLE_POINTS - 1) as f64;
        (0..SAMPLE_POINTS).map(|point| self.from * (self.to / self.from).powf(share(point))).collect()
    }

    /// The same, rounded to integers.
    fn integer_points(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.sample_points().into_iter().map(f64::round).collect();
        values.dedup();
        values
    }
}

impl BestProcessCount {
    /// Numbers of processes to choose along a sweep; the efficiency is relative to `base` processes.
    pub fn new(
        model: &PerformanceModel,
        predictor: &Predictor,
        sweep: &ParameterSweep,
        base: f64,
        enough: f64,
    ) -> Option<BestProcessCount> {
        let best = model.point_best(sweep, base, enough)?;
        let points = candidate_counts(sweep, best.time);
        let alone = sweep.setting_at(base);
        let may_be_fastest = |p: f64| {
            let over_best = predictor.compare_settings(&sweep.setting_at(best.time), &sweep.setting_at(p), |best, own| own / best);
            over_best.is_some_and(|[least, ..]| least <= 1.0)
        };
        let (fewer, more): (Vec<f64>, Vec<f64>) = points.iter().partition(|point| **point < best.time);
        let fewer: Vec<f64> = fewer.into_iter().rev().collect();
        let time = [last_holding(best.time, &fewer, may_be_fastest), best.time, last_holding(best.time, &more, may_be_fastest)];
        let efficient = |p: f64, end: usize| {
            let speedup = predictor.speedup(&alone, base, &sweep.setting_at(p));
            speedup.is_some_and(|speedup| speedup[end] / p >= enough * (1.0 - 1e-9))
        };
        let last = |end: usize| {
            let point = points.iter().rposition(|point| efficient(*point, end))?;
            Some(last_holding(points[point], &points[point + 1..], |p| efficient(p, end)))
        };
        let efficiency = best.efficiency.map(|most| [last(0).unwrap_or(sweep.from).min(most), most, last(2).unwrap_or(most).max(most)]);
        Some(BestProcessCount {
            time,
            still_falls: best.still_falls,
            efficiency,
            still_enough: efficiency.is_some_and(|[_, most, _]| most >= sweep.to),
        })
    }
}

/// Geometrically spaced integers, including `one`.
fn candidate_counts(sweep: &ParameterSweep, one: f64) -> Vec<f64> {
    let share = |point: usize| point as f64 / (COARSE_POINTS - 1) as f64;
    let mut points: Vec<f64> =
        (0..COARSE_POINTS).map(|point| (sweep.from * (sweep.to / sweep.from).powf(share(point))).round()).chain([one]).collect();
    points.sort_by(f64::total_cmp);
    points.dedup();
    points
}

/// The last point, walking along `points`, where a condition holds; the first failure is bracketed by bisection.
fn last_holding(from: f64, points: &[f64], holds: impl Fn(f64) -> bool) -> f64 {
    let mut inside = from;
    for point in points {
        if holds(*point) {
            inside = *point;
            continue;
        }
        let mut outside = *point;
        while (outside - inside).abs() > 1.0 {
            let middle = f64::midpoint(inside, outside).floor();
            if holds(middle) { inside = middle } else { outside = middle }
        }
        break;
    }
    inside
}

impl PerformanceModel {
    /// Numbers of processes to choose by point estimates; the efficiency is relative to `base` processes.
    fn point_best(&self, sweep: &ParameterSweep, base: f64, efficiency: f64) -> Option<PointBest> {
        let time = |processes: f64| self.point_estimate(&sweep.setting_at(processes)).filter(|time| time.is_finite());
        let alone = time(base)? * base;
        let enough = |processes: f64| time(processes).is_some_and(|time| alone / (time * processes) >= efficiency * (1.0 - 1e-9));
        let values = sweep.integer_points();
        let times: Vec<(f64, f64)> = values.iter().filter_map(|value| Some((*value, time(*value)?))).collect();
        let (coarse, _) = first_minimum(&times)?;
        let around: Vec<(f64, f64)> = neighbouring_integers(&values, coarse).filter_map(|value| Some((value, time(value)?))).collect();
        let (best, _) = first_minimum(&around)?;
        let last = values.iter().rev().copied().find(|value| enough(*value));
        let last = last.map(|value| {
            neighbouring_integers(&values, value).filter(|close| *close >= value).take_while(|close| enough(*close)).last().unwrap_or(value)
        });
        Some(PointBest { time: best, still_falls: best >= sweep.to, efficiency: last })
    }
}

/// The minimum time; the first of those that are almost equal.
fn first_minimum(times: &[(f64, f64)]) -> Option<(f64, f64)> {
    let shortest = times.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    times.iter().copied().find(|(_, time)| *time <= shortest * (1.0 + TIME_TOLERANCE))
}

/// The integers between the neighbours of one of these values, thinned if there are many.
fn neighbouring_integers(values: &[f64], value: f64) -> impl Iterator<Item = f64> {
    let point = values.iter().position(|other| *other == value).unwrap_or(0);
    let (low, high) = (values[point.saturating_sub(1)], values[(point + 1).min(values.len() - 1)]);
    let step = ((high - low) / 400.0).ceil().max(1.0);
    (0..).map(move |i| low + step * i as f64).take_while(move |x| *x <= high)
}

impl Predictor<'_> {
    /// The speed-up over `base` processes, which count as fully efficient.
    pub fn speedup(&self, alone: &[f64], base: f64, setting: &[f64]) -> Option<EstimateRange> {
        self.compare_settings(alone, setting, |alone, time| base * alone / time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fitted_term::FittedTerm;
    use crate::model::{MeasuredParameter, ModelPart, ModelledQuantity, PredictionBasis};
    use sintonia_insight::program_part::PartKind;

    fn model(parts: &[&str], error_percent: f64) -> PerformanceModel {
        let term = |formula: &&str| FittedTerm::from_formula(formula.parse().unwrap(), Some(error_percent));
        let part = |formula: &&str| ModelPart {
            name: formula.to_string(),
            kind: PartKind::Other,
            share: 0.0,
            term: term(formula),
            calls: None,
            reference_cost: None,
        };
        PerformanceModel {
            name: "test".into(),
            region: None,
            quantity: ModelledQuantity { name: "time".into(), unit: "s".into() },
            parameters: vec![MeasuredParameter { name: "p".into(), from: 1.0, to: 8.0, kind: Default::default() }],
            fixed: Default::default(),
            parts: parts.iter().map(part).collect(),
            limits: vec![],
            whole: None,
            uses: PredictionBasis::Parts,
            reference_machine: None,
            host_effects: Default::default(),
            noise_percent: 0.0,
            validation: None,
            points: vec![],
            notes: vec![],
        }
    }

    fn sweep(to: f64) -> ParameterSweep {
        ParameterSweep { parameter: 0, base: vec![1.0], from: 1.0, to }
    }

    fn best(model: &PerformanceModel, sweep: &ParameterSweep, enough: f64) -> BestProcessCount {
        let names = model.parameter_names();
        BestProcessCount::new(model, &Predictor::new(model, &names), sweep, 1.0, enough).unwrap()
    }

    #[test]
    fn the_best_number_of_processes_is_where_the_time_is_least() {
        let best = best(&model(&["100/p", "p/100"], 0.0), &sweep(1000.0), 0.5);
        assert!((90.0..=110.0).contains(&best.time[1]), "{best:?}");
        assert_eq!(best.efficiency, Some([100.0; 3]), "100/(p*(100/p + p/100)) is a half at 100");
        assert!(!best.still_falls && !best.still_enough);
    }

    #[test]
    fn where_the_time_falls_to_the_end_that_is_said() {
        let best = best(&model(&["100/p"], 0.0), &sweep(64.0), 0.9);
        assert_eq!(best, BestProcessCount { time: [64.0; 3], still_falls: true, efficiency: Some([64.0; 3]), still_enough: true });
    }

    #[test]
    fn the_best_numbers_of_processes_are_as_sure_as_the_formulas() {
        let BestProcessCount { time, efficiency, .. } = best(&model(&["100/p", "p/100"], 10.0), &sweep(1000.0), 0.5);
        assert!(time[0] < 95.0 && time[2] > 105.0 && time[0] > 50.0 && time[2] < 200.0, "{time:?}");
        let [least, middle, most] = efficiency.unwrap();
        assert!(least < 100.0 && middle == 100.0 && most > 100.0, "{efficiency:?}");
    }

    #[test]
    fn how_far_something_holds_is_found_between_places() {
        assert_eq!(last_holding(1.0, &[10.0, 100.0], |p| p <= 37.0), 37.0);
        assert_eq!(last_holding(50.0, &[20.0, 4.0], |p| p >= 7.0), 7.0);
        assert_eq!(
            (last_holding(1.0, &[10.0], |_| true), last_holding(1.0, &[10.0], |_| false), last_holding(1.0, &[], |_| true)),
            (10.0, 1.0, 1.0)
        );
    }
}
