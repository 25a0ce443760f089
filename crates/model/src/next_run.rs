//! Suggests the most informative next run, and how to record it.

use sintonia_fit::scaling::{InsufficientData, next_value};
use sintonia_text::shell::shell_command;

use crate::curve::FitError;
use crate::experiment::Experiment;
use crate::model::PerformanceModel;
use crate::predict::Predictor;
use crate::run::{MeasuredRun, RANKS_PARAMETER};

/// A suggested run.
#[derive(Clone, Debug, PartialEq)]
pub struct NextRun {
    /// Its parameter values, including the number of ranks.
    pub parameters: Vec<(String, f64)>,
    /// The command, with new parameter values inserted where their position is known.
    pub command: Vec<String>,
}

impl NextRun {
    /// The most informative run: one step beyond the measurements, where the model is least certain.
    pub fn most_informative(model: &PerformanceModel, experiment: &Experiment) -> Option<NextRun> {
        let names = model.parameter_names();
        let predictor = Predictor::new(model, &names);
        let doubt = |parameter: &String| {
            let setting = one_step_beyond(experiment, parameter);
            let at: Vec<f64> = names.iter().filter_map(|name| value(&setting, name)).collect();
            let [low, middle, high] = predictor.predict_seconds(&at)?;
            Some(((high - low) / middle, setting))
        };
        let (_, parameters) = names.iter().filter_map(doubt).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(NextRun::new(experiment, parameters))
    }

    /// The run that is missing for a formula.
    pub fn for_insufficient_data(reason: &FitError, experiment: &Experiment) -> Option<NextRun> {
        let next = match reason {
            FitError::NotEnough(
                InsufficientData::ConstantParameter { parameter, next, .. } | InsufficientData::TooFewValues { parameter, next, .. },
            ) => {
                vec![(parameter.clone(), *next)]
            }
            FitError::NotEnough(InsufficientData::TooFewPoints { next, .. } | InsufficientData::CollinearParameter { next, .. }) => {
                next.clone()
            }
            _ => return None,
        };
        Some(NextRun::new(experiment, longest_run_with(experiment, &next)))
    }

    fn new(experiment: &Experiment, parameters: Vec<(String, f64)>) -> NextRun {
        let command = adapt_command(&experiment.runs, &parameters);
        NextRun { parameters, command }
    }

    /// The command to record it.
    pub fn record_command(&self) -> String {
        let parameters: String = self.explicit_parameters().map(|(name, value)| format!(" --param {name}={value}")).collect();
        format!("sintonia record{parameters} -- {}", shell_command(&self.command))
    }

    /// Its parameters without the number of ranks, which is implied by the command.
    fn explicit_parameters(&self) -> impl Iterator<Item = &(String, f64)> {
        self.parameters.iter().filter(|(name, _)| name != RANKS_PARAMETER)
    }
}

fn value(parameters: &[(String, f64)], name: &str) -> Option<f64> {
    parameters.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
}

/// The setting of the longest run, with other values of some parameters.
fn longest_run_with(experiment: &Experiment, others: &[(String, f64)]) -> Vec<(String, f64)> {
    let longest = experiment.runs.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let own = longest.into_iter().flat_map(|run| &run.parameters);
    own.map(|(name, own)| (name.clone(), value(others, name).unwrap_or(*own))).collect()
}

/// The setting of the longest run, with the next value of one parameter.
fn one_step_beyond(experiment: &Experiment, parameter: &str) -> Vec<(String, f64)> {
    let mut values: Vec<f64> = experiment.runs.iter().filter_map(|run| run.parameters.get(parameter).copied()).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    longest_run_with(experiment, &[(parameter.to_owned(), next_value(&values))])
}

/// The command of a run with these parameters: words equal to a parameter's value in every run get the new value.
fn adapt_command(runs: &[MeasuredRun], parameters: &[(String, f64)]) -> Vec<String> {
    let Some(longest) = runs.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)) else { return Vec::new() };
    let mut command = longest.command.clone();
    for (index, word) in command.iter_mut().enumerate() {
        let follows = |name: &String| {
            let is_value =
                |run: &MeasuredRun| run.command.get(index).and_then(|word| word.parse::<f64>().ok()) == run.parameters.get(name).copied();
            runs.iter().all(|run| run.command.len() == longest.command.len() && is_value(run))
        };
        // A parameter with the same value in all runs could match any word, but then nothing changes either.
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

    fn run(n: f64, p: f64) -> MeasuredRun {
        MeasuredRun {
            name: format!("{n}"),
            command: ["mpirun", "-n", &p.to_string(), "./lu", &n.to_string()].map(String::from).into(),
            hosts: 1,
            parameters: [("n".to_owned(), n), ("p".to_owned(), p)].into(),
            seconds: n,
            ..MeasuredRun::default()
        }
    }

    #[test]
    fn the_missing_run_is_the_longest_with_the_next_value() {
        let experiment = Experiment::from_runs(vec![run(100.0, 4.0), run(200.0, 4.0)], None).unwrap();
        let reason = FitError::NotEnough(InsufficientData::TooFewValues { parameter: "n".into(), have: 2, need: 3, next: 400.0 });
        let next = NextRun::for_insufficient_data(&reason, &experiment).unwrap();
        assert_eq!(next.command.join(" "), "mpirun -n 4 ./lu 400");
        assert_eq!(next.explicit_parameters().collect::<Vec<_>>(), [&("n".to_owned(), 400.0)]);
    }

    #[test]
    fn the_next_run_goes_beyond_what_was_measured() {
        let runs: Vec<MeasuredRun> = [100.0, 200.0, 400.0].iter().flat_map(|n| [2.0, 4.0, 8.0].map(|p| run(*n, p))).collect();
        let experiment = Experiment::from_runs(runs, None).unwrap();
        let model = PerformanceModel::from_experiment("lu", &experiment).unwrap();
        let next = NextRun::most_informative(&model, &experiment).unwrap();
        assert!(["mpirun -n 8 ./lu 800", "mpirun -n 16 ./lu 400"].contains(&next.command.join(" ").as_str()), "{next:?}");
    }
}
