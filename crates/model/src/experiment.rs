//! Runs of one program put side by side: which parameters changed, and what each part of the program took in each run.
//!
//! A part's share of the critical path is taken over all runs together: seconds on the path over seconds that a rank spent in it. Times
//! that times what a rank spent in the part in one run is what the part contributes to that run. So chance does not matter which of two
//! equal ranks the path went by, a part has a time in every run that came by it, and over all runs the contributions still add up to
//! exactly what the runs took.

use std::collections::{BTreeMap, BTreeSet};

use crate::part::{Part, Spot};
use crate::run::{PartTime, RANKS, Run, Traffic};

/// Runs that have fewer spots in common than this share of the smaller of them are of different programs.
const SAME_PROGRAM: f64 = 0.5;
/// Parts that together take less than this share of the time have one formula.
const REST: f64 = 0.01;
/// More parts than this nobody reads; the smallest are the rest then.
const MOST_PARTS: usize = 24;
/// A part that is missing in some runs is worth a word when it takes more than this share of the time.
const WORTH_A_WORD: f64 = 0.02;

/// Runs of one program.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The parameters that change, in the order of their names with the number of ranks last.
    pub parameters: Vec<String>,
    /// The parameters that do not.
    pub fixed: BTreeMap<String, f64>,
    /// The runs.
    pub runs: Vec<Run>,
    /// The values of the parameters in each run.
    pub settings: Vec<Vec<f64>>,
    /// The parts, those that take most time first, and the rest last.
    pub parts: Vec<PartRow>,
    /// The roles that are in every run.
    pub roles: Vec<RoleRow>,
    /// What a reader should know, one sentence each.
    pub notes: Vec<String>,
}

/// A part in all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct PartRow {
    /// The part.
    pub part: Part,
    /// Seconds that it contributes to each run; `None` where the run never came by it.
    pub seconds: Vec<Option<f64>>,
    /// Its share of the time of all runs.
    pub share: f64,
    /// What was called there in each run, if it is an operation.
    pub traffic: Option<Vec<Traffic>>,
    /// How many ranks never come by, in whichever run: the master of workers, say. Work is divided among the others.
    pub left_out: usize,
}

/// A role in all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleRow {
    /// What it is called.
    pub name: String,
    /// Seconds that its busiest rank was busy in each run.
    pub busy_s: Vec<f64>,
}

/// Why runs cannot be put side by side.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unlike {
    /// There is no run.
    #[error("no recording is given")]
    Nothing,
    /// They are of different programs.
    #[error(
        "{first} and {other} are not of the same program: {first} calls {only_first}, {other} calls {only_other}; \
         fit the recordings of each program by themselves (or was it changed in between? then record it again)"
    )]
    Mixed {
        /// The run that has most in common with the others.
        first: String,
        /// The one that has not.
        other: String,
        /// What only the first one calls.
        only_first: String,
        /// What only the other one calls.
        only_other: String,
    },
    /// A run does not say the value of a parameter.
    #[error("{name} does not say what {parameter} was, as {others} does: record it again with --param {parameter}=VALUE")]
    Missing {
        /// The run.
        name: String,
        /// The parameter.
        parameter: String,
        /// A run that says it.
        others: String,
    },
    /// A parameter was asked for that no run has.
    #[error("no recording has a parameter {parameter}; they have {known}")]
    Unknown {
        /// The parameter.
        parameter: String,
        /// Those there are.
        known: String,
    },
    /// A parameter was asked for that is the same in all runs.
    #[error("{parameter} is {value} in every recording: record runs with other values of it, as with {}", other(parameter, *value))]
    Same {
        /// The parameter.
        parameter: String,
        /// Its value.
        value: f64,
    },
    /// No parameter changes.
    #[error(
        "every recording has the same parameters ({values}), so there is nothing that the time could depend on: \
         record runs of other sizes with --param NAME=VALUE, or with other numbers of ranks"
    )]
    NothingChanges {
        /// The parameters.
        values: String,
    },
    /// Two parameters cannot be told apart.
    #[error(
        "{first} and {second} always change together, so it cannot be told which of them the time depends on: record runs in which only \
         one of them changes, or fit over one of them alone with --x {first}"
    )]
    Together {
        /// One parameter.
        first: String,
        /// Another one.
        second: String,
    },
    /// Some recordings hold only sums.
    #[error("{profile} holds only sums (record --profile) and {full} every call: fit one kind of recording at a time")]
    ProfilesToo {
        /// A recording that holds only sums.
        profile: String,
        /// One that holds calls.
        full: String,
    },
}

impl Experiment {
    /// Puts runs side by side, over the parameters asked for or all that change.
    pub fn of(runs: Vec<Run>, over: Option<&[String]>) -> Result<Experiment, Unlike> {
        same_program(&runs)?;
        let (parameters, fixed) = parameters(&runs, over)?;
        let settings: Vec<Vec<f64>> = runs.iter().map(|run| parameters.iter().map(|name| run.parameters[name]).collect()).collect();
        apart(&parameters, &settings)?;
        let mut experiment = Experiment { parameters, fixed, settings, parts: Vec::new(), roles: roles(&runs), notes: Vec::new(), runs };
        experiment.find_parts();
        Ok(experiment)
    }

    /// Seconds that each run took.
    pub fn seconds(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.seconds).collect()
    }

    fn find_parts(&mut self) {
        let all: f64 = self.seconds().iter().sum();
        let names: BTreeSet<&Part> = self.runs.iter().flat_map(|run| run.parts.keys()).filter(|part| **part != Part::Start).collect();
        let mut rows: Vec<PartRow> = names.into_iter().filter_map(|part| self.row(part, all)).collect();
        rows.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.part.cmp(&b.part)));
        let rest = rows.split_off(large(&rows));
        let rest: Vec<PartRow> = rest.into_iter().chain(self.row(&Part::Start, all)).collect();
        for row in &rows {
            self.notes.extend(self.note_missing(row));
        }
        rows.extend(self.rest(&rest, all));
        self.parts = rows;
    }

    fn row(&self, part: &Part, all: f64) -> Option<PartRow> {
        let times: Vec<Option<PartTime>> = self.runs.iter().map(|run| run.parts.get(part).copied()).collect();
        let sum = |of: fn(&PartTime) -> f64| times.iter().flatten().map(of).sum::<f64>();
        let (path, each) = (sum(|time| time.path_s), sum(|time| time.each_s));
        if path <= 0.0 || each <= 0.0 {
            return None;
        }
        let seconds: Vec<Option<f64>> = times.iter().map(|time| time.map(|time| time.each_s * path / each).filter(|s| *s > 0.0)).collect();
        let share = seconds.iter().flatten().sum::<f64>() / all;
        let traffic = match part {
            Part::Communication { at } => Some(self.runs.iter().map(|run| run.traffic.get(at).copied().unwrap_or_default()).collect()),
            _ => None,
        };
        Some(PartRow { part: part.clone(), seconds, share, traffic, left_out: self.left_out(&times) })
    }

    /// How many ranks never come by a part; none if that changes from run to run.
    fn left_out(&self, times: &[Option<PartTime>]) -> usize {
        let others =
            |(run, time): (&Run, &Option<PartTime>)| Some((*run.parameters.get(RANKS)? as usize).saturating_sub(time.as_ref()?.ranks));
        let mut counts = self.runs.iter().zip(times).filter_map(others);
        let first = counts.next().unwrap_or(0);
        if counts.all(|count| count == first) { first } else { 0 }
    }

    /// Many small parts as one, which is in every run: a little of it everywhere.
    fn rest(&self, rows: &[PartRow], all: f64) -> Option<PartRow> {
        let in_run = |run: usize| rows.iter().filter_map(|row| row.seconds[run]).sum::<f64>();
        let mut seconds: Vec<f64> = (0..self.runs.len()).map(in_run).collect();
        let largest = seconds.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            return None;
        }
        let share = seconds.iter().sum::<f64>() / all;
        seconds.iter_mut().for_each(|s| *s = s.max(1e-3 * largest));
        Some(PartRow { part: Part::Rest, seconds: seconds.into_iter().map(Some).collect(), share, traffic: None, left_out: 0 })
    }

    fn note_missing(&self, row: &PartRow) -> Option<String> {
        let missing: Vec<usize> = (0..self.runs.len()).filter(|run| row.seconds[*run].is_none()).collect();
        if missing.is_empty() || row.share < WORTH_A_WORD {
            return None;
        }
        let names: Vec<&str> = missing.iter().take(3).map(|run| self.runs[*run].name.as_str()).collect();
        let more = if missing.len() > names.len() { format!(" and {} more", missing.len() - names.len()) } else { String::new() };
        Some(format!("{} is not in {}{more}: its formula comes from the other runs", row.part, names.join(", ")))
    }
}

/// How many of the parts, largest first, are more than the rest.
fn large(rows: &[PartRow]) -> usize {
    let mut left = 0.0;
    let small = rows.iter().rev().take_while(|row| {
        left += row.share;
        left < REST
    });
    (rows.len() - small.count()).min(MOST_PARTS)
}

/// An error unless all runs call mostly the same.
fn same_program(runs: &[Run]) -> Result<(), Unlike> {
    if let (Some(profile), Some(full)) = (runs.iter().find(|run| run.traffic.is_empty()), runs.iter().find(|run| !run.traffic.is_empty())) {
        return Err(Unlike::ProfilesToo { profile: profile.name.clone(), full: full.name.clone() });
    }
    // The one that calls at most places is compared with the others: what it does not know, the program does not have.
    let Some(first) = runs.iter().rev().max_by_key(|run| run.traffic.len()) else { return Err(Unlike::Nothing) };
    for other in runs {
        let common = other.traffic.keys().filter(|spot| first.traffic.contains_key(spot)).count();
        if (common as f64) < SAME_PROGRAM * other.traffic.len() as f64 {
            return Err(Unlike::Mixed {
                first: first.name.clone(),
                other: other.name.clone(),
                only_first: only(first, other),
                only_other: only(other, first),
            });
        }
    }
    Ok(())
}

/// How a run with another value of a parameter is recorded.
fn other(parameter: &str, value: f64) -> String {
    if parameter == RANKS { format!("{} processes", 2.0 * value) } else { format!("--param {parameter}={}", 2.0 * value) }
}

/// What only one of two runs calls, in words.
fn only(one: &Run, other: &Run) -> String {
    let spots: Vec<&Spot> = one.traffic.keys().filter(|spot| !other.traffic.contains_key(spot)).collect();
    match &spots[..] {
        [] => "nothing else".into(),
        [spot] => spot.to_string(),
        [spot, _] => format!("{spot} and one more place"),
        [spot, rest @ ..] => format!("{spot} and {} more places", rest.len()),
    }
}

/// The parameters to fit over, and those that stay the same.
fn parameters(runs: &[Run], over: Option<&[String]>) -> Result<(Vec<String>, BTreeMap<String, f64>), Unlike> {
    let all: BTreeSet<&String> = runs.iter().flat_map(|run| run.parameters.keys()).collect();
    if let Some(unknown) = over.unwrap_or_default().iter().find(|name| !all.contains(name)) {
        let known = all.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Unlike::Unknown { parameter: unknown.clone(), known });
    }
    let (mut changing, mut fixed) = (Vec::new(), BTreeMap::new());
    for name in all {
        if over.is_some_and(|over| !over.contains(name)) {
            continue;
        }
        let values = values(runs, name)?;
        match values.iter().find(|value| **value != values[0]) {
            Some(_) => changing.push(name.clone()),
            None if over.is_some() => return Err(Unlike::Same { parameter: name.clone(), value: values[0] }),
            None => drop(fixed.insert(name.clone(), values[0])),
        }
    }
    if changing.is_empty() {
        let values = fixed.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ");
        return Err(Unlike::NothingChanges { values });
    }
    changing.sort_by_key(|name| (name == crate::run::RANKS, name.clone()));
    Ok((changing, fixed))
}

/// The values of a parameter in all runs.
fn values(runs: &[Run], name: &str) -> Result<Vec<f64>, Unlike> {
    let value = |run: &Run| {
        run.parameters.get(name).copied().ok_or_else(|| Unlike::Missing {
            name: run.name.clone(),
            parameter: name.to_owned(),
            others: runs.iter().find(|run| run.parameters.contains_key(name)).map(|run| run.name.clone()).unwrap_or_default(),
        })
    };
    runs.iter().map(value).collect()
}

/// An error if two parameters always change together.
fn apart(parameters: &[String], settings: &[Vec<f64>]) -> Result<(), Unlike> {
    let different = |of: &dyn Fn(&Vec<f64>) -> Vec<u64>| settings.iter().map(of).collect::<BTreeSet<_>>().len();
    for (a, first) in parameters.iter().enumerate() {
        for (b, second) in parameters.iter().enumerate().skip(a + 1) {
            let both = different(&|setting| vec![setting[a].to_bits(), setting[b].to_bits()]);
            if both == different(&|setting| vec![setting[a].to_bits()]) && both == different(&|setting| vec![setting[b].to_bits()]) {
                return Err(Unlike::Together { first: first.clone(), second: second.clone() });
            }
        }
    }
    Ok(())
}

/// The roles that are in every run, known by what they call.
fn roles(runs: &[Run]) -> Vec<RoleRow> {
    let Some(first) = runs.first() else { return Vec::new() };
    let row = |place: usize| {
        let busy = runs.iter().map(|run| {
            let same = run.roles.iter().filter(|role| role.spots == first.roles[place].spots);
            same.map(|role| role.busy_s).reduce(f64::max)
        });
        Some(RoleRow { name: first.roles[place].name.clone(), busy_s: busy.collect::<Option<Vec<f64>>>()? })
    };
    (0..first.roles.len()).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(operation: &str, line: u32) -> Spot {
        Spot { operation: operation.into(), place: format!("a.c:{line}") }
    }

    /// A run of a program that calls at these lines.
    fn run(name: &str, parameters: &[(&str, f64)], seconds: f64, lines: &[u32]) -> Run {
        let traffic = Traffic { ranks: 2, calls: 4, bytes: 80 };
        Run {
            name: name.into(),
            command: vec![],
            hosts: 1,
            parameters: parameters.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
            seconds,
            around_s: 0.0,
            parts: BTreeMap::new(),
            roles: vec![],
            traffic: lines.iter().map(|line| (spot("MPI_Send", *line), traffic)).collect(),
        }
    }

    fn computation(from: u32, to: u32) -> Part {
        Part::Computation { from: spot("MPI_Recv", from), to: spot("MPI_Send", to) }
    }

    fn with_part(mut run: Run, part: Part, path_s: f64, each_s: f64) -> Run {
        run.parts.insert(part, PartTime { path_s, each_s, ranks: 1 });
        run
    }

    #[test]
    fn contributions_add_up_to_the_time_of_all_runs_whichever_rank_the_path_went_by() {
        let runs = vec![
            with_part(with_part(run("a", &[("n", 1.0)], 10.0, &[1]), computation(1, 2), 0.0, 4.0), computation(3, 4), 10.0, 5.0),
            with_part(with_part(run("b", &[("n", 2.0)], 30.0, &[1]), computation(1, 2), 20.0, 8.0), computation(3, 4), 10.0, 5.0),
        ];
        let experiment = Experiment::of(runs, None).unwrap();
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
            Experiment::of(runs.into(), None).unwrap().parts[0].left_out
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
        let experiment = Experiment::of(vec![a, b], None).unwrap();
        assert_eq!(experiment.parts.len(), 3);
        let rest = experiment.parts.last().unwrap();
        assert_eq!(rest.part, Part::Rest);
        assert!((rest.seconds[0].unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(experiment.notes, ["computation a.c:7 to 8 is not in a: its formula comes from the other runs"]);
    }

    #[test]
    fn recordings_of_different_programs_are_refused_by_what_differs() {
        let runs = vec![run("a.sin", &[("n", 1.0)], 1.0, &[1, 2, 3]), run("b.sin", &[("n", 2.0)], 1.0, &[1, 8, 9])];
        let error = Experiment::of(runs, None).unwrap_err().to_string();
        assert!(error.contains("a.sin calls MPI_Send at a.c:2 and one more place, b.sin calls MPI_Send at a.c:8"), "{error}");
    }

    #[test]
    fn a_run_that_leaves_something_out_is_still_of_the_same_program() {
        let runs = vec![run("a", &[("p", 1.0)], 1.0, &[1]), run("b", &[("p", 2.0)], 1.0, &[1, 2, 3, 4])];
        assert!(Experiment::of(runs, None).is_ok());
    }

    #[test]
    fn what_is_wrong_with_parameters_has_errors_of_its_own() {
        let of = |parameters: &[&[(&str, f64)]], over: Option<&[&str]>| {
            let runs = parameters.iter().enumerate().map(|(i, p)| run(&format!("r{i}"), p, 1.0, &[1])).collect();
            let over = over.map(|over| over.iter().map(|name| name.to_string()).collect::<Vec<_>>());
            Experiment::of(runs, over.as_deref()).unwrap_err()
        };
        let n = |n| [("n", n), ("p", 4.0)];
        assert!(matches!(of(&[], None), Unlike::Nothing));
        assert!(matches!(of(&[&n(1.0), &n(1.0)], None), Unlike::NothingChanges { .. }));
        assert!(matches!(of(&[&n(1.0), &n(2.0)], Some(&["p"])), Unlike::Same { .. }));
        assert!(matches!(of(&[&n(1.0), &n(2.0)], Some(&["m"])), Unlike::Unknown { .. }));
        assert!(matches!(of(&[&n(1.0), &[("p", 4.0)]], None), Unlike::Missing { .. }));
        assert!(matches!(of(&[&[("n", 1.0), ("p", 2.0)], &[("n", 2.0), ("p", 4.0)]], None), Unlike::Together { .. }));
    }

    #[test]
    fn parameters_that_change_are_fitted_over_with_the_ranks_last() {
        let runs = vec![
            run("a", &[("p", 2.0), ("z", 1.0), ("k", 5.0)], 1.0, &[1]),
            run("b", &[("p", 4.0), ("z", 1.0), ("k", 5.0)], 1.0, &[1]),
            run("c", &[("p", 4.0), ("z", 2.0), ("k", 5.0)], 1.0, &[1]),
        ];
        let experiment = Experiment::of(runs, None).unwrap();
        assert_eq!(experiment.parameters, ["z", "p"]);
        assert_eq!(experiment.fixed, BTreeMap::from([("k".to_owned(), 5.0)]));
        assert_eq!(experiment.settings[2], [2.0, 4.0]);
    }
}
