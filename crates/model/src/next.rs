//! The run to make next: the one that would tell most, and how it is recorded.

use sintonia_fit::scaling::{NotEnough, next_value};

use crate::curve::NoCurve;
use crate::experiment::Experiment;
use crate::model::Model;
use crate::predict::Predictor;
use crate::run::{RANKS, Run};

/// A run that is not made yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NextRun {
    /// The values of its parameters, the number of ranks among them.
    pub parameters: Vec<(String, f64)>,
    /// The command, as far as it can be told how the parameters stand in it.
    pub command: Vec<String>,
}

impl NextRun {
    /// The run that would tell a model most: one step beyond what was measured, where it is least sure.
    pub fn after(model: &Model, experiment: &Experiment) -> Option<NextRun> {
        let names = model.names();
        let predictor = Predictor::new(model, &names);
        let doubt = |parameter: &String| {
            let setting = beyond(experiment, parameter);
            let at: Vec<f64> = names.iter().filter_map(|name| value(&setting, name)).collect();
            let [low, middle, high] = predictor.seconds(&at)?;
            Some(((high - low) / middle, setting))
        };
        let (_, parameters) = names.iter().filter_map(doubt).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(NextRun::new(experiment, parameters))
    }

    /// The run that is missing for a formula.
    pub fn missing(reason: &NoCurve, experiment: &Experiment) -> Option<NextRun> {
        let next = match reason {
            NoCurve::NotEnough(NotEnough::NeverChanges { parameter, next, .. } | NotEnough::TooFewValues { parameter, next, .. }) => {
                vec![(parameter.clone(), *next)]
            }
            NoCurve::NotEnough(NotEnough::TooFewPoints { next, .. } | NotEnough::OnlyTogether { next, .. }) => next.clone(),
            _ => return None,
        };
        Some(NextRun::new(experiment, with(experiment, &next)))
    }

    fn new(experiment: &Experiment, parameters: Vec<(String, f64)>) -> NextRun {
        let command = command(&experiment.runs, &parameters);
        NextRun { parameters, command }
    }

    /// Its parameters without the number of ranks, which nobody has to tell.
    pub fn told(&self) -> impl Iterator<Item = &(String, f64)> {
        self.parameters.iter().filter(|(name, _)| name != RANKS)
    }
}

fn value(parameters: &[(String, f64)], name: &str) -> Option<f64> {
    parameters.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
}

/// The setting of the longest run with other values of some parameters.
fn with(experiment: &Experiment, others: &[(String, f64)]) -> Vec<(String, f64)> {
    let longest = experiment.runs.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let own = longest.into_iter().flat_map(|run| &run.parameters);
    own.map(|(name, own)| (name.clone(), value(others, name).unwrap_or(*own))).collect()
}

/// The setting of the longest run with the next value of one parameter.
fn beyond(experiment: &Experiment, parameter: &str) -> Vec<(String, f64)> {
    let mut values: Vec<f64> = experiment.runs.iter().filter_map(|run| run.parameters.get(parameter).copied()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    with(experiment, &[(parameter.to_owned(), next_value(&values))])
}

/// The command of a run with these parameters: words that were the value of a parameter in every run get the new value.
fn command(runs: &[Run], parameters: &[(String, f64)]) -> Vec<String> {
    let Some(longest) = runs.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) else { return Vec::new() };
    let mut command = longest.command.clone();
    for (place, word) in command.iter_mut().enumerate() {
        let follows = |name: &String| {
            let is_value =
                |run: &Run| run.command.get(place).and_then(|word| word.parse::<f64>().ok()) == run.parameters.get(name).copied();
            runs.iter().all(|run| run.command.len() == longest.command.len() && is_value(run))
        };
        // Where all runs have the same value, any word with that number would do; then nothing has to be changed either.
        let changed = parameters.iter().find(|(name, value)| longest.parameters.get(name) != Some(value) && follows(name));
        if let Some((_, value)) = changed {
            *word = value.to_string();
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn run(n: f64, p: f64) -> Run {
        Run {
            name: format!("{n}"),
            command: ["mpirun", "-n", &p.to_string(), "./lu", &n.to_string()].map(String::from).into(),
            hosts: 1,
            parameters: [("n".to_owned(), n), ("p".to_owned(), p)].into(),
            seconds: n,
            around_s: 0.0,
            parts: BTreeMap::new(),
            roles: vec![],
            traffic: BTreeMap::new(),
        }
    }

    #[test]
    fn the_missing_run_is_the_longest_with_the_next_value() {
        let experiment = Experiment::of(vec![run(100.0, 4.0), run(200.0, 4.0)], None).unwrap();
        let reason = NoCurve::NotEnough(NotEnough::TooFewValues { parameter: "n".into(), have: 2, need: 3, next: 400.0 });
        let next = NextRun::missing(&reason, &experiment).unwrap();
        assert_eq!(next.command.join(" "), "mpirun -n 4 ./lu 400");
        assert_eq!(next.told().collect::<Vec<_>>(), [&("n".to_owned(), 400.0)]);
    }

    #[test]
    fn the_next_run_goes_beyond_what_was_measured() {
        let runs: Vec<Run> = [100.0, 200.0, 400.0].iter().flat_map(|n| [2.0, 4.0, 8.0].map(|p| run(*n, p))).collect();
        let experiment = Experiment::of(runs, None).unwrap();
        let model = Model::of("lu", &experiment).unwrap();
        let next = NextRun::after(&model, &experiment).unwrap();
        assert!(["mpirun -n 8 ./lu 800", "mpirun -n 16 ./lu 400"].contains(&next.command.join(" ").as_str()), "{next:?}");
    }
}
