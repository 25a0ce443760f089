//! The answer to a question: what runs take at the settings that were asked for, and which number of processes to choose.

use std::collections::BTreeMap;

use crate::made_of::{Reign, made_of, most, reigns};
use crate::model::Model;
use crate::predict::{Figure, Predictor};
use crate::run::RANKS;
use crate::sweep::{Best, Line};

/// Of more combinations of parameters than this, only the first are looked at along their lines.
pub const LOOKED_AT: usize = 16;
/// More settings than this are a mistake.
const MOST_SETTINGS: usize = 10_000;

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// The values of each parameter; every combination is predicted.
    pub parameters: BTreeMap<String, Vec<f64>>,
    /// The least efficiency that is enough.
    pub efficiency: f64,
    /// The number of processes that speed-ups are counted from, if it is not the fewest that were measured.
    pub base: Option<f64>,
}

/// The answer.
pub struct Forecast<'a> {
    /// The model that gave it.
    pub model: &'a Model,
    /// The model with its worlds.
    pub predictor: &'a Predictor<'a>,
    /// What runs take, in the order of the question, the number of processes changing first.
    pub rows: Vec<Row>,
    /// What can be said of each combination of the other parameters, of the first [`LOOKED_AT`] ones.
    pub sets: Vec<Set>,
    /// The number of processes that speed-ups are counted from, as if these had no losses; `None` if the model does not know of any.
    pub base: Option<f64>,
}

/// What a run takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The values of all parameters, in the order of the model's.
    pub setting: Vec<f64>,
    /// The number of processes, if it is known.
    pub processes: Option<f64>,
    /// Its time.
    pub seconds: Figure,
    /// How many times faster it is than one process.
    pub speedup: Option<Figure>,
    /// The speed-up as a share of the processes.
    pub efficiency: Option<Figure>,
    /// Processor seconds: its time on all processes.
    pub cost: Option<Figure>,
    /// What takes most of the time, and its share of it.
    pub most: Option<(String, f64)>,
    /// How many times beyond what was measured the farthest parameter is; 1 if none is.
    pub beyond: f64,
}

/// What can be said of all numbers of processes, or of all values of a parameter, together.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The line along which the number of processes, or else the parameter with most values, changes.
    pub line: Line,
    /// The numbers of processes to choose, if that is what changes.
    pub best: Option<Best>,
    /// What takes most of the time, one after the other.
    pub reigns: Vec<Reign>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoForecast {
    /// A parameter has no value.
    #[error("the time depends on {name}, which has no value: say -p {name}=NUMBER (it was measured from {from} to {to})")]
    Missing {
        /// The parameter.
        name: String,
        /// The least value measured.
        from: f64,
        /// The largest value measured.
        to: f64,
    },
    /// There is no such parameter.
    #[error("the model knows nothing of {name}; it depends on {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The parameters there are.
        known: String,
    },
    /// A parameter has another value than in all runs.
    #[error(
        "{name} was {value} in all runs, so the model does not say what happens at {asked}: record runs with other values of it{}",
        if name == RANKS { " (another number of processes)" } else { "" }
    )]
    Fixed {
        /// The parameter.
        name: String,
        /// Its value.
        value: f64,
        /// What was asked for.
        asked: f64,
    },
    /// A value that no run can have.
    #[error("{name} cannot be {value}: it is a positive number")]
    BadValue {
        /// The parameter.
        name: String,
        /// The value.
        value: f64,
    },
    /// Too many settings.
    #[error("these are {0} settings; ask for at most {MOST_SETTINGS} at a time")]
    TooMany(usize),
    /// A formula has no value.
    #[error("the formula has no value at {0}: ask for values nearer to those that were measured")]
    Undefined(String),
}

impl<'a> Forecast<'a> {
    /// Answers a question with a model and its worlds.
    pub fn of(model: &'a Model, predictor: &'a Predictor<'a>, question: &Question) -> Result<Forecast<'a>, NoForecast> {
        let values = values(model, question)?;
        let ranks = model.parameters.iter().position(|parameter| parameter.name == RANKS);
        let base = ranks.map(|ranks| question.base.unwrap_or(model.parameters[ranks].from));
        let settings = combinations(&values, ranks)?;
        let asking = Asking { model, predictor, ranks, base };
        let rows = settings.iter().map(|setting| asking.row(setting)).collect::<Result<Vec<Row>, NoForecast>>()?;
        let changing = ranks.filter(|ranks| values[*ranks].len() > 1).or_else(|| most_values(&values));
        let mut lines: Vec<Line> = Vec::new();
        for line in changing.iter().flat_map(|place| settings.iter().map(|setting| line(&values, *place, setting))) {
            if lines.len() < LOOKED_AT && !lines.contains(&line) {
                lines.push(line);
            }
        }
        let sets = lines.into_iter().map(|line| asking.set(line, question.efficiency)).collect();
        Ok(Forecast { model, predictor, rows, sets, base })
    }
}

struct Asking<'a> {
    model: &'a Model,
    predictor: &'a Predictor<'a>,
    ranks: Option<usize>,
    base: Option<f64>,
}

impl Asking<'_> {
    fn row(&self, setting: &[f64]) -> Result<Row, NoForecast> {
        let seconds = self.predictor.seconds(setting).filter(|figure| figure[1].is_finite());
        let seconds = seconds.ok_or_else(|| NoForecast::Undefined(shown(self.model, setting)))?;
        let processes = self.ranks.map(|ranks| setting[ranks]).or_else(|| self.model.fixed.get(RANKS).copied());
        let speedup = self.ranks.zip(self.base).and_then(|(ranks, base)| {
            let mut alone = setting.to_vec();
            alone[ranks] = base;
            // Without a time to count from, as that of a master without workers, there is no speed-up.
            self.model.value(&alone).filter(|time| time.is_finite())?;
            self.predictor.speedup(&alone, base, setting)
        });
        let per_process = |figure: Figure| processes.map(|processes| figure.map(|value| value / processes));
        Ok(Row {
            setting: setting.to_vec(),
            processes,
            seconds,
            speedup,
            efficiency: speedup.and_then(per_process),
            cost: processes.map(|processes| seconds.map(|value| value * processes)),
            most: self.most(setting),
            beyond: self.beyond(setting),
        })
    }

    fn set(&self, line: Line, efficiency: f64) -> Set {
        let base = self.base.filter(|_| Some(line.parameter) == self.ranks);
        let best = base.and_then(|base| Best::of(self.model, self.predictor, &line, base, efficiency));
        Set { best, reigns: reigns(self.model, self.predictor, &line), line }
    }

    /// What takes most of the time, and its share of it.
    fn most(&self, setting: &[f64]) -> Option<(String, f64)> {
        let ingredients = made_of(self.model, self.predictor, setting);
        most(&ingredients).map(|(one, share)| (one.called().to_owned(), share))
    }

    fn beyond(&self, setting: &[f64]) -> f64 {
        let times = self.model.parameters.iter().zip(setting).map(|(parameter, value)| (value / parameter.to).max(parameter.from / value));
        times.fold(1.0, f64::max)
    }
}

/// A setting in words.
fn shown(model: &Model, setting: &[f64]) -> String {
    model.parameters.iter().zip(setting).map(|(p, value)| format!("{} = {value}", p.name)).collect::<Vec<_>>().join(", ")
}

/// The values of each parameter of the model.
fn values(model: &Model, question: &Question) -> Result<Vec<Vec<f64>>, NoForecast> {
    for (name, values) in &question.parameters {
        if let Some(value) = values.iter().find(|value| !(**value > 0.0 && value.is_finite())) {
            return Err(NoForecast::BadValue { name: name.clone(), value: *value });
        }
        if model.parameters.iter().any(|parameter| parameter.name == *name) {
            continue;
        }
        let Some(fixed) = model.fixed.get(name) else {
            return Err(NoForecast::Unknown { name: name.clone(), known: model.names().join(", ") });
        };
        if let Some(asked) = values.iter().find(|value| *value != fixed) {
            return Err(NoForecast::Fixed { name: name.clone(), value: *fixed, asked: *asked });
        }
    }
    let of = |parameter: &crate::model::Parameter| match question.parameters.get(&parameter.name) {
        Some(values) if !values.is_empty() => Ok(values.clone()),
        _ if parameter.name == RANKS => Ok(doubled(parameter.from, 4.0 * parameter.to)),
        _ => Err(NoForecast::Missing { name: parameter.name.clone(), from: parameter.from, to: parameter.to }),
    };
    model.parameters.iter().map(of).collect()
}

/// A number, twice that, and so on up to another.
fn doubled(from: f64, to: f64) -> Vec<f64> {
    std::iter::successors(Some(from), |value| Some(value * 2.0)).take_while(|value| *value <= to).collect()
}

/// Every combination of values; those of one parameter change first.
fn combinations(values: &[Vec<f64>], first: Option<usize>) -> Result<Vec<Vec<f64>>, NoForecast> {
    let count = values.iter().map(Vec::len).fold(1_usize, usize::saturating_mul);
    if count > MOST_SETTINGS {
        return Err(NoForecast::TooMany(count));
    }
    let mut order: Vec<usize> = (0..values.len()).filter(|place| Some(*place) != first).collect();
    order.extend(first);
    let mut all = vec![vec![0.0; values.len()]];
    for place in order {
        let with = |setting: &Vec<f64>, value: f64| {
            let mut setting = setting.clone();
            setting[place] = value;
            setting
        };
        all = all.iter().flat_map(|setting| values[place].iter().map(move |value| with(setting, *value))).collect();
    }
    Ok(all)
}

/// The parameter with most values, if it has several.
fn most_values(values: &[Vec<f64>]) -> Option<usize> {
    (0..values.len()).rev().max_by_key(|place| values[*place].len()).filter(|place| values[*place].len() > 1)
}

fn line(values: &[Vec<f64>], parameter: usize, setting: &[f64]) -> Line {
    let own = &values[parameter];
    let (from, to) = (own.iter().copied().fold(f64::INFINITY, f64::min), own.iter().copied().fold(0.0, f64::max));
    let mut base = setting.to_vec();
    base[parameter] = from;
    Line { parameter, base, from, to }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn model() -> Model {
        let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n^2/p + p\"\n[[parameter]]\nname = \"n\"\nfrom = 1\nto = 100\n\
                    [[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n[fixed]\nk = 5\n";
        Model::parse(text, Path::new("lu")).unwrap()
    }

    /// What is answered to a question about these parameters.
    fn asked<T>(model: &Model, parameters: &[(&str, &[f64])], base: Option<f64>, see: impl Fn(Result<Forecast, NoForecast>) -> T) -> T {
        let names = model.names();
        let predictor = Predictor::new(model, &names);
        let parameters = parameters.iter().map(|(name, values)| (name.to_string(), values.to_vec())).collect();
        see(Forecast::of(model, &predictor, &Question { parameters, efficiency: 0.5, base }))
    }

    fn rows(parameters: &[(&str, &[f64])], base: Option<f64>) -> Vec<Row> {
        asked(&model(), parameters, base, |forecast| forecast.unwrap().rows)
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
        let farm = Model::parse(text, Path::new("farm")).unwrap();
        let speedups = |base| asked(&farm, &[("p", &[5.0])], base, |forecast| forecast.unwrap().rows[0].speedup.map(|s| s[1]));
        assert_eq!((speedups(None), speedups(Some(1.0))), (Some(8.0), None));
        assert!(asked(&farm, &[("p", &[1.0])], None, |forecast| matches!(forecast, Err(NoForecast::Undefined(_)))));
    }

    #[test]
    fn the_best_number_of_processes_is_found_for_each_size() {
        asked(&model(), &[("n", &[8.0, 32.0]), ("p", &[1.0, 100.0])], None, |forecast| {
            let forecast = forecast.unwrap();
            let best: Vec<f64> = forecast.sets.iter().map(|set| set.best.unwrap().time[1]).collect();
            assert_eq!(best, [8.0, 31.0], "of times within 0.1 % the smaller number is better");
            assert_eq!(forecast.rows.len(), 4);
            assert_eq!(forecast.rows[1].setting, [8.0, 100.0], "processes change first");
            assert_eq!(forecast.base, Some(1.0));
        });
    }

    #[test]
    fn how_far_beyond_the_measurements_a_setting_is_is_known() {
        let rows = rows(&[("n", &[50.0, 400.0]), ("p", &[16.0])], None);
        assert_eq!(rows.iter().map(|row| row.beyond).collect::<Vec<_>>(), [1.0, 4.0]);
    }

    #[test]
    fn without_a_number_of_processes_those_near_the_measured_ones_are_predicted() {
        let rows = rows(&[("n", &[50.0])], None);
        assert_eq!(rows.iter().map(|row| row.processes.unwrap()).collect::<Vec<_>>(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    }

    #[test]
    fn questions_without_an_answer_say_why() {
        let ask = |parameters: &[(&str, &[f64])]| asked(&model(), parameters, None, |forecast| forecast.err().unwrap());
        assert!(matches!(ask(&[]), NoForecast::Missing { .. }));
        assert!(matches!(ask(&[("m", &[1.0])]), NoForecast::Unknown { .. }));
        assert!(matches!(ask(&[("n", &[1.0]), ("k", &[6.0])]), NoForecast::Fixed { .. }));
        assert!(matches!(ask(&[("n", &[0.0])]), NoForecast::BadValue { .. }));
        let many: Vec<f64> = (1..=200).map(f64::from).collect();
        assert!(matches!(ask(&[("n", &many), ("p", &many)]), NoForecast::TooMany(40_000)));
    }
}
