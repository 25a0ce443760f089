//! Answers a query: predicted times at the requested settings, and which number of processes to choose.

pub mod json;

use std::collections::BTreeMap;

use sintonia_fit::measurements::VALID_RANGE;
use sintonia_fit::quantity_kind::QuantityKind;

use crate::breakdown::{DominantRange, breakdown, dominant_component, dominant_ranges};
use crate::model::PerformanceModel;
use crate::predict::{EstimateRange, Predictor};
use crate::run::RANKS_PARAMETER;
use crate::sweep::{BestProcessCount, ParameterSweep};
use crate::working_set::CacheCrossing;

/// With more combinations of the other parameters than this, only the first ones get a sweep.
pub const MAX_SWEEPS: usize = 16;
/// More settings than this are refused.
const MAX_SETTINGS: usize = 10_000;

/// What to predict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PredictionQuery {
    /// The values of each parameter; every combination is predicted.
    pub parameters: BTreeMap<String, Vec<f64>>,
    /// The minimum acceptable efficiency.
    pub efficiency: f64,
    /// The number of processes that speed-ups are relative to [default: the fewest measured].
    pub speedup_base: Option<f64>,
}

/// Predictions for a query.
pub struct Forecast<'a> {
    /// The model.
    pub model: &'a PerformanceModel,
    /// The predictor of the model.
    pub predictor: &'a Predictor<'a>,
    /// The predictions, in the order of the query; the number of processes varies fastest.
    pub rows: Vec<PredictionRow>,
    /// Results for each combination of the other parameters, of the first [`MAX_SWEEPS`].
    pub sweeps: Vec<SweepForecast>,
    /// The number of processes that speed-ups are relative to, taken as fully efficient; `None` if the model does not depend on it.
    pub speedup_base: Option<f64>,
}

/// The prediction at one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionRow {
    /// The values of all parameters, in the model's order.
    pub setting: Vec<f64>,
    /// The number of processes, if known.
    pub processes: Option<f64>,
    /// The time.
    pub seconds: EstimateRange,
    /// The speed-up over one process.
    pub speedup: Option<EstimateRange>,
    /// The parallel efficiency: speed-up over processes.
    pub efficiency: Option<EstimateRange>,
    /// The cost in CPU seconds: time on all processes.
    pub cost: Option<EstimateRange>,
    /// The dominant component, and its share of the time.
    pub dominant: Option<(String, f64)>,
    /// The largest factor by which a parameter lies outside the measured range, above or below; 1 if none does.
    pub extrapolation: f64,
    /// The caches that the data of a rank leaves or enters on the way from the runs.
    pub cache_crossings: Vec<CacheCrossing>,
}

/// Results along a sweep over the number of processes or another parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepForecast {
    /// The sweep over the number of processes, or else over the parameter with most values.
    pub sweep: ParameterSweep,
    /// The numbers of processes to choose, if those vary.
    pub best: Option<BestProcessCount>,
    /// The dominant components along the sweep, in order.
    pub dominant_ranges: Vec<DominantRange>,
}

/// Why there is no prediction.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ForecastError {
    /// A parameter has no value.
    #[error("the time depends on {name}, which has no value: use -p {name}=NUMBER (measured from {from} to {to})")]
    MissingValue {
        /// The parameter.
        name: String,
        /// The smallest measured value.
        from: f64,
        /// The largest measured value.
        to: f64,
    },
    /// There is no such parameter.
    #[error("the model does not depend on {name}, only on {known}")]
    UnknownParameter {
        /// The requested parameter.
        name: String,
        /// The parameters of the model.
        known: String,
    },
    /// A requested value differs from that in all runs.
    #[error(
        "{name} was {value} in all runs, so the model cannot predict {asked}: record runs with other values{}",
        if name == RANKS_PARAMETER { " (other numbers of processes)" } else { "" }
    )]
    FixedParameter {
        /// The parameter.
        name: String,
        /// Its value.
        value: f64,
        /// The requested value.
        asked: f64,
    },
    /// A value out of range.
    #[error("{name} cannot be {value}: it must be a positive number")]
    InvalidValue {
        /// The parameter.
        name: String,
        /// The value.
        value: f64,
    },
    /// A value that is far from any measurement.
    #[error("{name} cannot be {value:e}: it must be between {:e} and {:e}", VALID_RANGE.start(), VALID_RANGE.end())]
    OutOfRange {
        /// The parameter.
        name: String,
        /// The value.
        value: f64,
    },
    /// A fraction of a process.
    #[error("{name} cannot be {value}: it is a number of processes, which must be a positive integer")]
    NotAnInteger {
        /// The parameter.
        name: String,
        /// The value.
        value: f64,
    },
    /// Too many settings.
    #[error("these are {0} settings; request at most {MAX_SETTINGS} at a time")]
    TooManySettings(usize),
    /// A formula has no value.
    #[error("the formula has no value at {0}: use values closer to the measured range")]
    Undefined(String),
}

impl<'a> Forecast<'a> {
    /// Answers a query.
    pub fn new(
        model: &'a PerformanceModel,
        predictor: &'a Predictor<'a>,
        question: &PredictionQuery,
    ) -> Result<Forecast<'a>, ForecastError> {
        let values = query_values(model, question)?;
        let ranks = model.parameters.iter().position(|parameter| parameter.name == RANKS_PARAMETER);
        let base = ranks.map(|ranks| question.speedup_base.unwrap_or(model.parameters[ranks].from));
        let settings = combinations(&values, ranks)?;
        let asking = ForecastContext { model, predictor, ranks, speedup_base: base };
        let rows = settings.iter().map(|setting| asking.predict_row(setting)).collect::<Result<Vec<PredictionRow>, ForecastError>>()?;
        let changing = ranks.filter(|ranks| values[*ranks].len() > 1).or_else(|| most_varied_parameter(&values));
        let mut lines: Vec<ParameterSweep> = Vec::new();
        for line in changing.iter().flat_map(|index| settings.iter().map(|setting| sweep_through(&values, *index, setting))) {
            if lines.len() < MAX_SWEEPS && !lines.contains(&line) {
                lines.push(line);
            }
        }
        let sets = lines.into_iter().map(|line| asking.forecast_sweep(line, question.efficiency)).collect();
        Ok(Forecast { model, predictor, rows, sweeps: sets, speedup_base: base })
    }
}

struct ForecastContext<'a> {
    model: &'a PerformanceModel,
    predictor: &'a Predictor<'a>,
    ranks: Option<usize>,
    speedup_base: Option<f64>,
}

impl ForecastContext<'_> {
    fn predict_row(&self, setting: &[f64]) -> Result<PredictionRow, ForecastError> {
        let seconds = self.predictor.predict_seconds(setting).filter(|figure| figure.iter().all(|value| value.is_finite()));
        let seconds = seconds.ok_or_else(|| ForecastError::Undefined(format_setting(self.model, setting)))?;
        let processes = self.ranks.map(|ranks| setting[ranks]).or_else(|| self.model.fixed.get(RANKS_PARAMETER).copied());
        let speedup = self.ranks.zip(self.speedup_base).and_then(|(ranks, base)| {
            let mut alone = setting.to_vec();
            alone[ranks] = base;
            // Without a base time, as for a master without workers, there is no speed-up.
            self.model.point_estimate(&alone).filter(|time| time.is_finite())?;
            Some(self.with_caches(self.predictor.speedup(&alone, base, setting)?, &alone, setting))
        });
        let per_process = |figure: EstimateRange| processes.map(|processes| figure.map(|value| value / processes));
        Ok(PredictionRow {
            setting: setting.to_vec(),
            processes,
            seconds,
            speedup,
            efficiency: speedup.and_then(per_process),
            cost: processes.map(|processes| seconds.map(|value| value * processes)),
            dominant: self.dominant_component(setting),
            extrapolation: self.extrapolation_factor(setting),
            cache_crossings: self.predictor.cache_crossings(setting),
        })
    }

    /// The speed-up from one setting to another, with the intervals of both times widened by the caches that are crossed.
    fn with_caches(&self, [low, middle, high]: EstimateRange, alone: &[f64], setting: &[f64]) -> EstimateRange {
        let [[base_below, base_above], [below, above]] = [alone, setting].map(|at| self.predictor.cache_factors(at));
        [low * base_below / above, middle, high * base_above / below]
    }

    fn forecast_sweep(&self, line: ParameterSweep, efficiency: f64) -> SweepForecast {
        let base = self.speedup_base.filter(|_| Some(line.parameter) == self.ranks);
        let best = base.and_then(|base| BestProcessCount::new(self.model, self.predictor, &line, base, efficiency));
        SweepForecast { best, dominant_ranges: dominant_ranges(self.model, self.predictor, &line), sweep: line }
    }

    /// The dominant component, and its share of the time.
    fn dominant_component(&self, setting: &[f64]) -> Option<(String, f64)> {
        let ingredients = breakdown(self.model, self.predictor, setting);
        dominant_component(&ingredients).map(|(one, share)| (one.label().to_owned(), share))
    }

    fn extrapolation_factor(&self, setting: &[f64]) -> f64 {
        let times = self.model.parameters.iter().zip(setting).map(|(parameter, value)| (value / parameter.to).max(parameter.from / value));
        times.fold(1.0, f64::max)
    }
}

/// A setting as text.
fn format_setting(model: &PerformanceModel, setting: &[f64]) -> String {
    model.parameters.iter().zip(setting).map(|(p, value)| format!("{} = {value}", p.name)).collect::<Vec<_>>().join(", ")
}

/// The requested values of each parameter of the model.
fn query_values(model: &PerformanceModel, question: &PredictionQuery) -> Result<Vec<Vec<f64>>, ForecastError> {
    for (name, values) in &question.parameters {
        if let Some(value) = values.iter().find(|value| !(**value > 0.0 && value.is_finite())) {
            return Err(ForecastError::InvalidValue { name: name.clone(), value: *value });
        }
        if let Some(value) = values.iter().find(|value| !VALID_RANGE.contains(*value)) {
            return Err(ForecastError::OutOfRange { name: name.clone(), value: *value });
        }
        if let Some(parameter) = model.parameters.iter().find(|parameter| parameter.name == *name) {
            let fraction = values.iter().find(|value| parameter.kind == QuantityKind::Processes && value.fract() != 0.0);
            match fraction {
                Some(value) => return Err(ForecastError::NotAnInteger { name: name.clone(), value: *value }),
                None => continue,
            }
        }
        let Some(fixed) = model.fixed.get(name) else {
            return Err(ForecastError::UnknownParameter { name: name.clone(), known: model.parameter_names().join(", ") });
        };
        if let Some(asked) = values.iter().find(|value| *value != fixed) {
            return Err(ForecastError::FixedParameter { name: name.clone(), value: *fixed, asked: *asked });
        }
    }
    let of = |parameter: &crate::model::MeasuredParameter| match question.parameters.get(&parameter.name) {
        Some(values) if !values.is_empty() => Ok(values.clone()),
        _ if parameter.name == RANKS_PARAMETER => Ok(powers_of_two_from(parameter.from, 4.0 * parameter.to)),
        _ => Err(ForecastError::MissingValue { name: parameter.name.clone(), from: parameter.from, to: parameter.to }),
    };
    model.parameters.iter().map(of).collect()
}

/// `from`, doubled repeatedly up to `to`.
fn powers_of_two_from(from: f64, to: f64) -> Vec<f64> {
    std::iter::successors(Some(from), |value| Some(value * 2.0)).take_while(|value| *value <= to).collect()
}

/// Every combination of values; those of `first` vary fastest.
fn combinations(values: &[Vec<f64>], first: Option<usize>) -> Result<Vec<Vec<f64>>, ForecastError> {
    let count = values.iter().map(Vec::len).fold(1_usize, usize::saturating_mul);
    if count > MAX_SETTINGS {
        return Err(ForecastError::TooManySettings(count));
    }
    let mut order: Vec<usize> = (0..values.len()).filter(|index| Some(*index) != first).collect();
    order.extend(first);
    let mut all = vec![vec![0.0; values.len()]];
    for index in order {
        let with = |setting: &Vec<f64>, value: f64| {
            let mut setting = setting.clone();
            setting[index] = value;
            setting
        };
        all = all.iter().flat_map(|setting| values[index].iter().map(move |value| with(setting, *value))).collect();
    }
    Ok(all)
}

/// The parameter with most values, if it has several.
fn most_varied_parameter(values: &[Vec<f64>]) -> Option<usize> {
    (0..values.len()).rev().max_by_key(|index| values[*index].len()).filter(|index| values[*index].len() > 1)
}

fn sweep_through(values: &[Vec<f64>], parameter: usize, setting: &[f64]) -> ParameterSweep {
    let own = &values[parameter];
    let (from, to) = (own.iter().copied().fold(f64::INFINITY, f64::min), own.iter().copied().fold(0.0, f64::max));
    let mut base = setting.to_vec();
    base[parameter] = from;
    ParameterSweep { parameter, base, from, to }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn model() -> PerformanceModel {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n^2/p + p\"\n[[parameter]]\nname = \"n\"\nfrom = 1\nto = 100\n\
                    [[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n[fixed]\nk = 5\n";
        PerformanceModel::parse(text, Path::new("lu")).unwrap()
    }

    /// What is answered to a question about these parameters.
    fn asked<T>(
        model: &PerformanceModel,
        parameters: &[(&str, &[f64])],
        base: Option<f64>,
        see: impl Fn(Result<Forecast, ForecastError>) -> T,
    ) -> T {
        let names = model.parameter_names();
        let predictor = Predictor::new(model, &names);
        let parameters = parameters.iter().map(|(name, values)| (name.to_string(), values.to_vec())).collect();
        see(Forecast::new(model, &predictor, &PredictionQuery { parameters, efficiency: 0.5, speedup_base: base }))
    }

    fn rows(parameters: &[(&str, &[f64])], base: Option<f64>) -> Vec<PredictionRow> {
        asked(&model(), parameters, base, |forecast| forecast.unwrap().rows)
    }

    #[test]
    fn values_far_from_any_measurement_are_refused() {
        let model = model();
        let names = model.parameter_names();
        let predictor = Predictor::new(&model, &names);
        let refused = |n: f64| {
            let query = PredictionQuery { parameters: [("n".to_owned(), vec![n])].into(), ..PredictionQuery::default() };
            Forecast::new(&model, &predictor, &query).err().map(|error| error.to_string())
        };
        assert_eq!(refused(1e200).unwrap(), "n cannot be 1e200: it must be between 1e-60 and 1e60");
        assert_eq!(refused(1e50), None);
    }

    #[test]
    fn times_speed_ups_efficiencies_and_costs_follow_from_the_formula() {
        let row = &rows(&[("n", &[10.0]), ("p", &[1.0, 5.0])], None)[1];
        assert_eq!((row.seconds[1], row.cost.unwrap()[1]), (25.0, 125.0));
        assert!((row.speedup.unwrap()[1] - 101.0 / 25.0).abs() < 1e-12);
        assert!((row.efficiency.unwrap()[1] - 101.0 / 125.0).abs() < 1e-12);
    }

    #[test]
    fn speed_ups_are_counted_from_the_base_that_was_asked_for() {
        let row = &rows(&[("n", &[10.0]), ("p", &[5.0])], Some(2.0))[0];
        assert!((row.speedup.unwrap()[1] - 2.0 * 52.0 / 25.0).abs() < 1e-12, "two processes count as two times one");
        assert!((row.efficiency.unwrap()[1] - 2.0 * 52.0 / 125.0).abs() < 1e-12);
    }

    #[test]
    fn there_is_no_speed_up_over_what_never_ends() {
        let text = "format = 1\n[model]\nname = \"farm\"\nformula = \"8/(p - 1)\"\n[[parameter]]\nname = \"p\"\nfrom = 2\nto = 16\n";
        let farm = PerformanceModel::parse(text, Path::new("farm")).unwrap();
        let speedups = |base| asked(&farm, &[("p", &[5.0])], base, |forecast| forecast.unwrap().rows[0].speedup.map(|s| s[1]));
        assert_eq!((speedups(None), speedups(Some(1.0))), (Some(8.0), None));
        assert!(asked(&farm, &[("p", &[1.0])], None, |forecast| matches!(forecast, Err(ForecastError::Undefined(_)))));
    }

    #[test]
    fn the_best_number_of_processes_is_found_for_each_size() {
        asked(&model(), &[("n", &[8.0, 32.0]), ("p", &[1.0, 100.0])], None, |forecast| {
            let forecast = forecast.unwrap();
            let best: Vec<f64> = forecast.sweeps.iter().map(|set| set.best.unwrap().time[1]).collect();
            assert_eq!(best, [8.0, 31.0], "of times within 0.1 % the smaller number is better");
            assert_eq!(forecast.rows.len(), 4);
            assert_eq!(forecast.rows[1].setting, [8.0, 100.0], "processes change first");
            assert_eq!(forecast.speedup_base, Some(1.0));
        });
    }

    #[test]
    fn how_far_beyond_the_measurements_a_setting_is_is_known() {
        let rows = rows(&[("n", &[50.0, 400.0, 0.25]), ("p", &[16.0])], None);
        assert_eq!(rows.iter().map(|row| row.extrapolation).collect::<Vec<_>>(), [1.0, 4.0, 4.0], "above and below");
    }

    #[test]
    fn without_a_number_of_processes_those_near_the_measured_ones_are_predicted() {
        let rows = rows(&[("n", &[50.0])], None);
        assert_eq!(rows.iter().map(|row| row.processes.unwrap()).collect::<Vec<_>>(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    }

    #[test]
    fn questions_without_an_answer_say_why() {
        let ask = |parameters: &[(&str, &[f64])]| asked(&model(), parameters, None, |forecast| forecast.err().unwrap());
        assert!(matches!(ask(&[]), ForecastError::MissingValue { .. }));
        assert!(matches!(ask(&[("m", &[1.0])]), ForecastError::UnknownParameter { .. }));
        assert!(matches!(ask(&[("n", &[1.0]), ("k", &[6.0])]), ForecastError::FixedParameter { .. }));
        assert!(matches!(ask(&[("n", &[0.0])]), ForecastError::InvalidValue { .. }));
        let mut threads = model();
        threads.parameters[0].kind = QuantityKind::Processes;
        let fraction = asked(&threads, &[("n", &[2.0, 2.5])], None, |forecast| forecast.err().unwrap());
        assert_eq!(fraction, ForecastError::NotAnInteger { name: "n".into(), value: 2.5 });
        let many: Vec<f64> = (1..=200).map(f64::from).collect();
        assert!(matches!(ask(&[("n", &many), ("p", &many)]), ForecastError::TooManySettings(40_000)));
    }
}
