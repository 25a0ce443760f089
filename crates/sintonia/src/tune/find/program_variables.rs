//! Integer variables of the program as settings: those that the user names, and with `--allow-variables` those that look like the size of a
//! block and that the program's loops read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use sintonia_autotune::{TrialSettings, TuningCandidate};
use sintonia_recording::program_name::{executables, program_name};
use sintonia_tune::program_list::{ProgramList, SizeVariable};

use crate::Error;

/// A variable and values to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableTrial {
    name: String,
    /// None yet if they follow from its value in the program.
    values: Vec<i64>,
    /// Whether the user gave the values: then no others are tried.
    are_given: bool,
    is_named: bool,
}

/// Parses `block`, or `block=16,32,64`.
pub(super) fn parse_variable(text: &str) -> Result<VariableTrial, String> {
    let wrong = || format!("'{text}' is not a variable with values; expected NAME or NAME=VALUE,VALUE with integers, such as block=16,32");
    let (name, values) = text.split_once('=').unwrap_or((text, ""));
    let values = match text.contains('=') {
        true => values.split(',').map(|value| value.trim().parse().map_err(|_| wrong())).collect::<Result<Vec<i64>, String>>()?,
        false => Vec::new(),
    };
    let name = name.trim().to_owned();
    if name.is_empty() { Err(wrong()) } else { Ok(VariableTrial { are_given: !values.is_empty(), name, values, is_named: true }) }
}

/// The variables to try in the program of a command.
pub(super) fn find_trials(named: &[VariableTrial], is_allowed: bool, command: &[OsString]) -> Result<Vec<VariableTrial>, Error> {
    let mut trials = named.to_vec();
    if trials.iter().any(|trial| trial.values.is_empty()) {
        let program = program_file(command)?;
        let list = ProgramList::from_file(&program).map_err(|problem| Error::Other(problem.to_string()))?;
        for trial in trials.iter_mut().filter(|trial| trial.values.is_empty()) {
            let line = list.variables.iter().find(|line| line.name == trial.name && line.can_be_set);
            let value = line.and_then(|line| line.value).filter(|value| *value >= 1.0).ok_or_else(|| {
                let name = &trial.name;
                Error::Other(format!(
                    "{}: the value of `{name}` is not known before the program runs: give values to try, as in --variable {name}=16,32,64 \
                     (`sintonia tune --list {}` lists variables)",
                    program.display(),
                    program.display()
                ))
            })?;
            trial.values = SizeVariable { name: trial.name.clone(), value: value as i64 }.other_values();
        }
    }
    if is_allowed {
        let found = SizeVariable::find_in(&program_file(command)?).map_err(|problem| Error::Other(problem.to_string()))?;
        let is_new = |size: &SizeVariable| named.iter().all(|trial| trial.name != size.name);
        let trial = |size: SizeVariable| VariableTrial { values: size.other_values(), are_given: false, name: size.name, is_named: false };
        trials.extend(found.into_iter().filter(is_new).map(trial));
    }
    Ok(trials)
}

/// The file of the program that a command runs in the end.
fn program_file(command: &[OsString]) -> Result<PathBuf, Error> {
    let name = program_name(command);
    let found = executables(command).find(|path| path.file_name().is_some_and(|file| file.to_string_lossy() == name));
    found.ok_or_else(|| Error::Other(format!("the file of the program {name} is not in the command, so its variables are not known")))
}

/// A candidate for each value.
pub(super) fn candidates(trials: &[VariableTrial]) -> Vec<TuningCandidate> {
    let candidate = |trial: &VariableTrial, value: i64| TuningCandidate {
        name: format!("{} = {value}", trial.name),
        group: format!("variable {}", trial.name),
        settings: TrialSettings::from_variable(&trial.name, value),
        reason: if trial.is_named { "given with --variable" } else { "it looks like the size of a block, and loops read it" }.into(),
        relevance: if trial.is_named { 1.0 } else { 0.5 },
    };
    trials.iter().flat_map(|trial| trial.values.iter().map(move |value| candidate(trial, *value))).collect()
}

/// The tunlet that searches values of the variables while the program runs: between the least and the greatest of each. It tries values between
/// them as well, so variables whose values were given are left out.
pub(super) fn search_tunlet(trials: &[VariableTrial]) -> Option<String> {
    let range = |trial: &VariableTrial| Some(format!("{:?}=[{},{}]", trial.name, trial.values.iter().min()?, trial.values.iter().max()?));
    let ranges: Vec<String> = trials.iter().filter(|trial| !trial.are_given).filter_map(range).collect();
    (!ranges.is_empty()).then(|| format!("search:variables={{{}}}", ranges.join(",")))
}

/// Why variables could not be set in a run, from the summary of `sintonia tune --json`; `None` if all of them were, in all processes.
pub(super) fn why_not_set(summary: Option<&str>, variables: &BTreeMap<String, i64>) -> Option<String> {
    let summary: Option<serde_json::Value> = summary.and_then(|line| serde_json::from_str(line).ok());
    let decisions = summary.as_ref().and_then(|summary| summary["decisions"].as_array()).map_or(&[][..], Vec::as_slice);
    variables.keys().find_map(|name| {
        let own = || decisions.iter().filter(|decision| decision["action"] == **name);
        match own().find_map(|decision| decision["refused"].as_str()) {
            Some(why) => Some(format!("{name} cannot be set: {why}")),
            None if own().next().is_none() => Some(format!("{name} was not set")),
            None => None,
        }
    })
}

/// The values that a search while the program ran has found to pay, from the summary of `sintonia tune --json`.
pub(super) fn paying_values(summary: &str) -> Option<TrialSettings> {
    let summary: serde_json::Value = serde_json::from_str(summary).ok()?;
    let verdict = summary["verdicts"].as_array()?.iter().rfind(|verdict| verdict["tunlet"] == "search")?;
    let values = verdict["values"].as_array().filter(|_| verdict["result"] == "pays")?;
    let value = |one: &serde_json::Value| Some((one["action"].as_str()?.to_owned(), one["changed"].as_f64()? as i64));
    let variables = values.iter().filter_map(value).collect::<BTreeMap<_, _>>();
    (!variables.is_empty()).then(|| TrialSettings { variables, ..TrialSettings::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_parsed_with_values_or_without() {
        let named = |name: &str, values: &[i64]| {
            Ok(VariableTrial { name: name.into(), values: values.to_vec(), are_given: !values.is_empty(), is_named: true })
        };
        assert_eq!(parse_variable("block"), named("block", &[]));
        assert_eq!(parse_variable("cfg->block=16, 32"), named("cfg->block", &[16, 32]));
        for wrong in ["", "=1", "a=", "a=1,x", "a=1.5"] {
            assert!(parse_variable(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_tunlet_is_written_as_its_settings_are_read() {
        let free = VariableTrial { name: "p->q".into(), values: vec![16, 4, 64], are_given: false, is_named: true };
        let search = search_tunlet(&[parse_variable("a=16,4,64").unwrap(), free]).unwrap();
        assert_eq!(search, r#"search:variables={"p->q"=[4,64]}"#);
        assert!(sintonia_tune::tunlets::open_tunlet(&search).is_ok());
        assert_eq!(search_tunlet(&[]), None);
    }

    #[test]
    fn a_variable_that_one_process_refuses_was_not_set() {
        let variables = BTreeMap::from([("a".to_owned(), 1)]);
        let summary = r#"{"decisions":[{"action":"a","new":1.0},{"action":"a","new":1.0,"refused":"it is constant"}]}"#;
        assert_eq!(why_not_set(Some(summary), &variables).as_deref(), Some("a cannot be set: it is constant"));
        assert_eq!(why_not_set(Some(r#"{"decisions":[]}"#), &variables).as_deref(), Some("a was not set"));
        assert_eq!(why_not_set(None, &variables).as_deref(), Some("a was not set"));
        assert_eq!(why_not_set(Some(r#"{"decisions":[{"action":"a","new":1.0}]}"#), &variables), None);
    }

    #[test]
    fn only_values_that_pay_are_taken_from_a_search() {
        let verdict = |result: &str| {
            format!(r#"{{"verdicts":[{{"tunlet":"search","result":"{result}","values":[{{"action":"a","initial":1.0,"changed":8.0}}]}}]}}"#)
        };
        assert_eq!(paying_values(&verdict("pays")), Some(TrialSettings::from_variable("a", 8)));
        assert_eq!(paying_values(&verdict("no_gain")), None);
        assert_eq!(paying_values("{}"), None);
    }
}
