//! Several runs of one program: which parameters vary, and how long each part takes in each run.
//!
//! A part's share of the critical path is taken over all runs: seconds on the path over the mean seconds per rank. Multiplied by the mean per
//! rank in one run, it gives the part's contribution to that run. Which of two equally late ranks the path visits then does not matter, a part
//! has a time in every run that executes it, and over all runs the contributions add up exactly to the runs' times.

use std::collections::{BTreeMap, BTreeSet};

use crate::run::{MeasuredRun, PartTime, RANKS_PARAMETER, SiteTraffic};
use sintonia_insight::program_part::{OperationSite, ProgramPart};

/// Runs that share fewer operation sites than this, relative to the smaller set, are of different programs.
const MIN_COMMON_SHARE: f64 = 0.5;
/// Parts that together take less than this share of the time share one formula.
const REST_SHARE: f64 = 0.01;
/// The maximum number of parts; the smallest are merged into the rest.
const MAX_PARTS: usize = 24;
/// A part missing from some runs is reported if it takes more than this share of the time.
const MIN_NOTED_SHARE: f64 = 0.02;

/// Runs of one program.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The varying parameters, by name, with the number of ranks last.
    pub parameters: Vec<String>,
    /// The constant parameters.
    pub fixed: BTreeMap<String, f64>,
    /// The runs.
    pub runs: Vec<MeasuredRun>,
    /// The parameter values of each run.
    pub settings: Vec<Vec<f64>>,
    /// The parts, longest first, and the rest last.
    pub parts: Vec<PartSeries>,
    /// The roles that occur in every run.
    pub roles: Vec<RoleSeries>,
    /// Notes for the reader, one sentence each.
    pub notes: Vec<String>,
}

/// A part in all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct PartSeries {
    /// The part.
    pub part: ProgramPart,
    /// The function that takes most of it, where it is a computation with samples.
    pub function: Option<String>,
    /// Its contribution to each run in seconds; `None` where the run never executes it.
    pub seconds: Vec<Option<f64>>,
    /// Its share of the time of all runs.
    pub share: f64,
    /// The traffic in each run, if it is an operation.
    pub traffic: Option<Vec<SiteTraffic>>,
    /// The number of ranks that never execute it in any run, such as the master among workers. Work is divided among the others.
    pub idle_ranks: usize,
}

/// A role in all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleSeries {
    /// Its name.
    pub name: String,
    /// The busy time of its busiest rank in each run, in seconds.
    pub busy_s: Vec<f64>,
}

/// Why runs cannot be combined.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExperimentError {
    /// There is no run.
    #[error("no recording given")]
    NoRecordings,
    /// The runs are of different programs.
    #[error(
        "{first} and {other} are different programs: {first} calls {only_first}, {other} calls {only_other}; \
         fit the recordings of each program separately (if the program was changed in between, record it again)"
    )]
    DifferentPrograms {
        /// The run with most operation sites.
        first: String,
        /// The run that differs from it.
        other: String,
        /// What only the first one calls.
        only_first: String,
        /// What only the other one calls.
        only_other: String,
    },
    /// A run lacks the value of a parameter.
    #[error("{name} has no value of {parameter}, but {others} has: record it again with --param {parameter}=VALUE")]
    MissingParameter {
        /// The run.
        name: String,
        /// The parameter.
        parameter: String,
        /// A run that has it.
        others: String,
    },
    /// A requested parameter is in no run.
    #[error("no recording has a parameter {parameter}; the parameters are {known}")]
    UnknownParameter {
        /// The parameter.
        parameter: String,
        /// The parameters of the runs.
        known: String,
    },
    /// A requested parameter is the same in all runs.
    #[error("{parameter} is {value} in every recording: record runs with other values, for example with {}", doubled_value_hint(parameter, *value))]
    ConstantParameter {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: f64,
    },
    /// No parameter varies.
    #[error(
        "all recordings have the same parameters ({values}), so there is nothing to fit over: \
         record runs of other sizes with --param NAME=VALUE, or with another number of ranks"
    )]
    NoVaryingParameter {
        /// The parameters.
        values: String,
    },
    /// Two parameters are collinear.
    #[error(
        "{first} and {second} always vary together, so their effects cannot be separated: record runs in which only \
         one of them varies, or fit over one of them with --x {first}"
    )]
    CollinearParameters {
        /// One parameter.
        first: String,
        /// Another one.
        second: String,
    },
    /// Profiles and full recordings are mixed.
    #[error("{profile} is a profile (record --profile) and {full} has every call: fit one kind of recording at a time")]
    MixedProfiles {
        /// A profile.
        profile: String,
        /// A full recording.
        full: String,
    },
}

impl PartSeries {
    /// What the part is called: by its function, and by the operations around it.
    pub fn name(&self) -> String {
        match &self.function {
            Some(function) => format!("{} in {function}", self.part),
            None => self.part.to_string(),
        }
    }
}

impl Experiment {
    /// Combines runs, over the requested parameters or all that vary.
    pub fn from_runs(mut runs: Vec<MeasuredRun>, over: Option<&[String]>) -> Result<Experiment, ExperimentError> {
        check_same_program(&runs)?;
        let notes = core_wait_notes(&runs);
        drop_unknown_communication(&mut runs);
        let (parameters, fixed) = split_parameters(&runs, over)?;
        let settings: Vec<Vec<f64>> = runs.iter().map(|run| parameters.iter().map(|name| run.parameters[name]).collect()).collect();
        check_not_collinear(&parameters, &settings)?;
        let mut experiment = Experiment { parameters, fixed, settings, parts: Vec::new(), roles: common_roles(&runs), notes, runs };
        experiment.find_parts();
        Ok(experiment)
    }

    /// The time of each run in seconds.
    pub fn seconds(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.seconds).collect()
    }

    fn find_parts(&mut self) {
        let all: f64 = self.seconds().iter().sum();
        let names: BTreeSet<&ProgramPart> =
            self.runs.iter().flat_map(|run| run.parts.keys()).filter(|part| **part != ProgramPart::Start).collect();
        let mut rows: Vec<PartSeries> = names.into_iter().filter_map(|part| self.part_series(part, all)).collect();
        rows.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.part.cmp(&b.part)));
        let rest = rows.split_off(count_large_parts(&rows));
        let rest: Vec<PartSeries> = rest.into_iter().chain(self.part_series(&ProgramPart::Start, all)).collect();
        for row in &rows {
            self.notes.extend(self.note_missing(row));
        }
        rows.extend(self.merge_rest(&rest, all));
        self.parts = rows;
    }

    fn part_series(&self, part: &ProgramPart, all: f64) -> Option<PartSeries> {
        let times: Vec<Option<PartTime>> = self.runs.iter().map(|run| run.parts.get(part).copied()).collect();
        let sum = |of: fn(&PartTime) -> f64| times.iter().flatten().map(of).sum::<f64>();
        let (path, each) = (sum(|time| time.path_s), sum(|time| time.mean_rank_s));
        if path <= 0.0 || each <= 0.0 {
            return None;
        }
        let seconds: Vec<Option<f64>> =
            times.iter().map(|time| time.map(|time| time.mean_rank_s * path / each).filter(|s| *s > 0.0)).collect();
        let share = seconds.iter().flatten().sum::<f64>() / all;
        let traffic = match part {
            ProgramPart::Communication { at } => {
                Some(self.runs.iter().map(|run| run.traffic.get(at).copied().unwrap_or_default()).collect())
            }
            _ => None,
        };
        // The largest run has most samples.
        let longest = self.runs.iter().filter(|run| run.functions.contains_key(part)).max_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let function = longest.and_then(|run| run.functions.get(part).cloned());
        Some(PartSeries { part: part.clone(), function, seconds, share, traffic, idle_ranks: self.count_idle_ranks(&times) })
    }

    /// The number of ranks that never execute a part; 0 if that differs between runs.
    fn count_idle_ranks(&self, times: &[Option<PartTime>]) -> usize {
        let others = |(run, time): (&MeasuredRun, &Option<PartTime>)| {
            Some((*run.parameters.get(RANKS_PARAMETER)? as usize).saturating_sub(time.as_ref()?.ranks))
        };
        let mut counts = self.runs.iter().zip(times).filter_map(others);
        let first = counts.next().unwrap_or(0);
        if counts.all(|count| count == first) { first } else { 0 }
    }

    /// Merges small parts into one, which every run has to some extent.
    fn merge_rest(&self, rows: &[PartSeries], all: f64) -> Option<PartSeries> {
        let in_run = |run: usize| rows.iter().filter_map(|row| row.seconds[run]).sum::<f64>();
        let mut seconds: Vec<f64> = (0..self.runs.len()).map(in_run).collect();
        let largest = seconds.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            return None;
        }
        let share = seconds.iter().sum::<f64>() / all;
        seconds.iter_mut().for_each(|s| *s = s.max(1e-3 * largest));
        Some(PartSeries {
            part: ProgramPart::Rest,
            function: None,
            seconds: seconds.into_iter().map(Some).collect(),
            share,
            traffic: None,
            idle_ranks: 0,
        })
    }

    fn note_missing(&self, row: &PartSeries) -> Option<String> {
        let missing: Vec<usize> = (0..self.runs.len()).filter(|run| row.seconds[*run].is_none()).collect();
        if missing.is_empty() || row.share < MIN_NOTED_SHARE {
            return None;
        }
        let names: Vec<&str> = missing.iter().take(3).map(|run| self.runs[*run].name.as_str()).collect();
        let more = if missing.len() > names.len() { format!(" and {} more", missing.len() - names.len()) } else { String::new() };
        Some(format!("{} is missing from {}{more}: its formula is fitted to the other runs", row.part, names.join(", ")))
    }
}

/// Notes about runs whose ranks waited for a core.
fn core_wait_notes(runs: &[MeasuredRun]) -> Vec<String> {
    let note = |run: &MeasuredRun| {
        let waits = run.core_waits.as_ref()?;
        let how = match (waits.is_removed, waits.has_communication) {
            (true, true) => format!("It is fitted without that time: {:.4} s instead of {:.4} s", run.seconds, waits.recorded_s),
            (true, false) => format!(
                "It is fitted without that time: {:.4} s instead of {:.4} s; only a lower bound of its communication is known",
                run.seconds, waits.recorded_s
            ),
            (false, _) => "When that was is not recorded, so its times contain it".to_owned(),
        };
        Some(format!("warning: {}: {} {how}. Record it again where each rank has a core of its own", run.name, waits.statement))
    };
    runs.iter().filter_map(note).collect()
}

/// Lower bounds of communication times are not mixed with known ones.
fn drop_unknown_communication(runs: &mut [MeasuredRun]) {
    let is_known = |run: &MeasuredRun| run.core_waits.as_ref().is_none_or(|waits| waits.has_communication);
    if !runs.iter().any(is_known) {
        return;
    }
    for run in runs.iter_mut().filter(|run| !is_known(run)) {
        run.parts.retain(|part, _| !matches!(part, ProgramPart::Communication { .. }));
    }
}

/// The number of parts, largest first, that are not merged into the rest.
fn count_large_parts(rows: &[PartSeries]) -> usize {
    let mut left = 0.0;
    let small = rows.iter().rev().take_while(|row| {
        left += row.share;
        left < REST_SHARE
    });
    (rows.len() - small.count()).min(MAX_PARTS)
}

/// Fails unless all runs call mostly the same operation sites.
fn check_same_program(runs: &[MeasuredRun]) -> Result<(), ExperimentError> {
    if let (Some(profile), Some(full)) = (runs.iter().find(|run| run.traffic.is_empty()), runs.iter().find(|run| !run.traffic.is_empty())) {
        return Err(ExperimentError::MixedProfiles { profile: profile.name.clone(), full: full.name.clone() });
    }
    // The run with most operation sites is the reference: what it lacks, the program does not have.
    let Some(first) = runs.iter().rev().max_by_key(|run| run.traffic.len()) else { return Err(ExperimentError::NoRecordings) };
    for other in runs {
        let common = other.traffic.keys().filter(|site| first.traffic.contains_key(site)).count();
        if (common as f64) < MIN_COMMON_SHARE * other.traffic.len() as f64 {
            return Err(ExperimentError::DifferentPrograms {
                first: first.name.clone(),
                other: other.name.clone(),
                only_first: only_in(first, other),
                only_other: only_in(other, first),
            });
        }
    }
    Ok(())
}

/// How to record a run with another value of a parameter.
fn doubled_value_hint(parameter: &str, value: f64) -> String {
    if parameter == RANKS_PARAMETER { format!("{} processes", 2.0 * value) } else { format!("--param {parameter}={}", 2.0 * value) }
}

/// What only one of two runs calls, as text.
fn only_in(one: &MeasuredRun, other: &MeasuredRun) -> String {
    let sites: Vec<&OperationSite> = one.traffic.keys().filter(|site| !other.traffic.contains_key(site)).collect();
    match &sites[..] {
        [] => "nothing else".into(),
        [site] => site.to_string(),
        [site, _] => format!("{site} and one more site"),
        [site, rest @ ..] => format!("{site} and {} more sites", rest.len()),
    }
}

/// The parameters to fit over, and the constant ones.
fn split_parameters(runs: &[MeasuredRun], over: Option<&[String]>) -> Result<(Vec<String>, BTreeMap<String, f64>), ExperimentError> {
    let all: BTreeSet<&String> = runs.iter().flat_map(|run| run.parameters.keys()).collect();
    if let Some(unknown) = over.unwrap_or_default().iter().find(|name| !all.contains(name)) {
        let known = all.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(ExperimentError::UnknownParameter { parameter: unknown.clone(), known });
    }
    let (mut changing, mut fixed) = (Vec::new(), BTreeMap::new());
    for name in all {
        if over.is_some_and(|over| !over.contains(name)) {
            continue;
        }
        let values = parameter_values(runs, name)?;
        match values.iter().find(|value| **value != values[0]) {
            Some(_) => changing.push(name.clone()),
            None if over.is_some() => return Err(ExperimentError::ConstantParameter { parameter: name.clone(), value: values[0] }),
            None => drop(fixed.insert(name.clone(), values[0])),
        }
    }
    if changing.is_empty() {
        let values = fixed.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ");
        return Err(ExperimentError::NoVaryingParameter { values });
    }
    changing.sort_by_key(|name| (name == crate::run::RANKS_PARAMETER, name.clone()));
    Ok((changing, fixed))
}

/// The values of a parameter in all runs.
fn parameter_values(runs: &[MeasuredRun], name: &str) -> Result<Vec<f64>, ExperimentError> {
    let value = |run: &MeasuredRun| {
        run.parameters.get(name).copied().ok_or_else(|| ExperimentError::MissingParameter {
            name: run.name.clone(),
            parameter: name.to_owned(),
            others: runs.iter().find(|run| run.parameters.contains_key(name)).map(|run| run.name.clone()).unwrap_or_default(),
        })
    };
    runs.iter().map(value).collect()
}

/// Fails if two parameters always vary together.
fn check_not_collinear(parameters: &[String], settings: &[Vec<f64>]) -> Result<(), ExperimentError> {
    let different = |of: &dyn Fn(&Vec<f64>) -> Vec<u64>| settings.iter().map(of).collect::<BTreeSet<_>>().len();
    for (a, first) in parameters.iter().enumerate() {
        for (b, second) in parameters.iter().enumerate().skip(a + 1) {
            let both = different(&|setting| vec![setting[a].to_bits(), setting[b].to_bits()]);
            if both == different(&|setting| vec![setting[a].to_bits()]) && both == different(&|setting| vec![setting[b].to_bits()]) {
                return Err(ExperimentError::CollinearParameters { first: first.clone(), second: second.clone() });
            }
        }
    }
    Ok(())
}

/// The roles that occur in every run, identified by what they call.
fn common_roles(runs: &[MeasuredRun]) -> Vec<RoleSeries> {
    let Some(first) = runs.first() else { return Vec::new() };
    let row = |place: usize| {
        let busy = runs.iter().map(|run| {
            let same = run.roles.iter().filter(|role| role.sites == first.roles[place].sites);
            same.map(|role| role.busy_s).reduce(f64::max)
        });
        Some(RoleSeries { name: first.roles[place].name.clone(), busy_s: busy.collect::<Option<Vec<f64>>>()? })
    };
    (0..first.roles.len()).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(operation: &str, line: u32) -> OperationSite {
        OperationSite { operation: operation.into(), place: format!("a.c:{line}") }
    }

    /// A run of a program that calls at these lines.
    fn run(name: &str, parameters: &[(&str, f64)], seconds: f64, lines: &[u32]) -> MeasuredRun {
        let traffic = SiteTraffic { ranks: 2, calls: 4, bytes: 80 };
        MeasuredRun {
            name: name.into(),
            hosts: 1,
            parameters: parameters.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
            seconds,
            traffic: lines.iter().map(|line| (site("MPI_Send", *line), traffic)).collect(),
            ..MeasuredRun::default()
        }
    }

    fn computation(from: u32, to: u32) -> ProgramPart {
        ProgramPart::Computation { from: site("MPI_Recv", from), to: site("MPI_Send", to) }
    }

    fn with_part(mut run: MeasuredRun, part: ProgramPart, path_s: f64, each_s: f64) -> MeasuredRun {
        run.parts.insert(part, PartTime { path_s, mean_rank_s: each_s, ranks: 1 });
        run
    }

    #[test]
    fn contributions_add_up_to_the_time_of_all_runs_whichever_rank_the_path_went_by() {
        let runs = vec![
            with_part(with_part(run("a", &[("n", 1.0)], 10.0, &[1]), computation(1, 2), 0.0, 4.0), computation(3, 4), 10.0, 5.0),
            with_part(with_part(run("b", &[("n", 2.0)], 30.0, &[1]), computation(1, 2), 20.0, 8.0), computation(3, 4), 10.0, 5.0),
        ];
        let experiment = Experiment::from_runs(runs, None).unwrap();
        let sums: f64 = experiment.parts.iter().flat_map(|row| row.seconds.iter().flatten()).sum();
        assert!((sums - 40.0).abs() < 1e-9, "{sums}");
        assert!(experiment.parts.iter().all(|row| row.seconds.iter().all(Option::is_some)));
        assert_eq!(experiment.parts[0].part.to_string(), "computation a.c:1 to 2");
    }

    #[test]
    fn ranks_without_a_share_are_counted_where_their_number_stays() {
        let left_out = |ranks: [(f64, usize); 2]| {
            let runs = ranks.map(|(p, came_by)| {
                let mut run = with_part(run(&p.to_string(), &[("p", p)], 10.0, &[1]), computation(1, 2), 10.0, 5.0);
                run.parts.values_mut().for_each(|time| time.ranks = came_by);
                run
            });
            Experiment::from_runs(runs.into(), None).unwrap().parts[0].idle_ranks
        };
        assert_eq!(left_out([(2.0, 1), (4.0, 3)]), 1, "a master");
        assert_eq!(left_out([(2.0, 1), (4.0, 2)]), 0, "half of the ranks");
        assert_eq!(left_out([(2.0, 3), (4.0, 5)]), 0, "more than there were at the start");
    }

    #[test]
    fn small_parts_are_one_rest_and_missing_ones_are_told() {
        let mut a = with_part(run("a", &[("n", 1.0)], 100.0, &[1]), computation(1, 2), 95.0, 95.0);
        for line in 10..15 {
            a = with_part(a, computation(line, line), 0.1, 0.1);
        }
        let b = with_part(with_part(run("b", &[("n", 2.0)], 100.0, &[1]), computation(1, 2), 50.0, 50.0), computation(7, 8), 50.0, 50.0);
        let experiment = Experiment::from_runs(vec![a, b], None).unwrap();
        assert_eq!(experiment.parts.len(), 3);
        let rest = experiment.parts.last().unwrap();
        assert_eq!(rest.part, ProgramPart::Rest);
        assert!((rest.seconds[0].unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(experiment.notes, ["computation a.c:7 to 8 is missing from a: its formula is fitted to the other runs"]);
    }

    #[test]
    fn recordings_of_different_programs_are_refused_by_what_differs() {
        let runs = vec![run("a.sin", &[("n", 1.0)], 1.0, &[1, 2, 3]), run("b.sin", &[("n", 2.0)], 1.0, &[1, 8, 9])];
        let error = Experiment::from_runs(runs, None).unwrap_err().to_string();
        assert!(error.contains("a.sin calls MPI_Send at a.c:2 and one more site, b.sin calls MPI_Send at a.c:8"), "{error}");
    }

    #[test]
    fn a_run_that_leaves_something_out_is_still_of_the_same_program() {
        let runs = vec![run("a", &[("p", 1.0)], 1.0, &[1]), run("b", &[("p", 2.0)], 1.0, &[1, 2, 3, 4])];
        assert!(Experiment::from_runs(runs, None).is_ok());
    }

    #[test]
    fn what_is_wrong_with_parameters_has_errors_of_its_own() {
        let of = |parameters: &[&[(&str, f64)]], over: Option<&[&str]>| {
            let runs = parameters.iter().enumerate().map(|(i, p)| run(&format!("r{i}"), p, 1.0, &[1])).collect();
            let over = over.map(|over| over.iter().map(|name| name.to_string()).collect::<Vec<_>>());
            Experiment::from_runs(runs, over.as_deref()).unwrap_err()
        };
        let n = |n| [("n", n), ("p", 4.0)];
        assert!(matches!(of(&[], None), ExperimentError::NoRecordings));
        assert!(matches!(of(&[&n(1.0), &n(1.0)], None), ExperimentError::NoVaryingParameter { .. }));
        assert!(matches!(of(&[&n(1.0), &n(2.0)], Some(&["p"])), ExperimentError::ConstantParameter { .. }));
        assert!(matches!(of(&[&n(1.0), &n(2.0)], Some(&["m"])), ExperimentError::UnknownParameter { .. }));
        assert!(matches!(of(&[&n(1.0), &[("p", 4.0)]], None), ExperimentError::MissingParameter { .. }));
        assert!(matches!(of(&[&[("n", 1.0), ("p", 2.0)], &[("n", 2.0), ("p", 4.0)]], None), ExperimentError::CollinearParameters { .. }));
    }

    #[test]
    fn parameters_that_change_are_fitted_over_with_the_ranks_last() {
        let runs = vec![
            run("a", &[("p", 2.0), ("z", 1.0), ("k", 5.0)], 1.0, &[1]),
            run("b", &[("p", 4.0), ("z", 1.0), ("k", 5.0)], 1.0, &[1]),
            run("c", &[("p", 4.0), ("z", 2.0), ("k", 5.0)], 1.0, &[1]),
        ];
        let experiment = Experiment::from_runs(runs, None).unwrap();
        assert_eq!(experiment.parameters, ["z", "p"]);
        assert_eq!(experiment.fixed, BTreeMap::from([("k".to_owned(), 5.0)]));
        assert_eq!(experiment.settings[2], [2.0, 4.0]);
    }
}
