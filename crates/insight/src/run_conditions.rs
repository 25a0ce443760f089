//! Whether two runs did the same work, so that their times can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use serde::Serialize;
use sintonia_recording::Recording;
use sintonia_recording::program_name::program_name;
use sintonia_replay::Error;

use crate::gaps::RecordingGaps;
use crate::tally::CallTally;

/// How the problem size depends on the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalingMode {
    /// Constant in total.
    Strong,
    /// Constant per rank.
    Weak,
}

/// What a run was, as far as it matters for comparisons.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunConditions {
    /// The program.
    pub program: String,
    /// The MPI functions that it called, by their number.
    pub functions: BTreeSet<u16>,
    /// Values of `--param`.
    pub parameters: BTreeMap<String, f64>,
    /// Most OpenMP threads of a rank; 1 without OpenMP.
    pub threads: usize,
    /// Why the run is incomplete.
    pub cut: Option<String>,
}

/// How a run differs from the first one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RunDifferences {
    /// One sentence each.
    pub statements: Vec<String>,
    /// Whether its time can be compared.
    pub has_same_work: bool,
    /// Whether its computation can be compared, too.
    pub has_same_computation: bool,
}

impl RunConditions {
    pub(crate) fn of(recording: &Recording, gaps: &RecordingGaps, tally: &CallTally) -> Result<RunConditions, Error> {
        let header = &recording.header;
        let command: Vec<OsString> = header.command.iter().map(OsString::from).collect();
        let mut threads = 1;
        for rank in &header.ranks {
            let teams = recording.openmp_regions(rank.rank)?.into_iter().map(|region| region.threads.len());
            threads = threads.max(teams.max().unwrap_or(0));
        }
        let status = header.exit_status.filter(|status| *status != 0).map(|status| format!("it ended with status {status}"));
        let incomplete = gaps.incomplete.iter().next().map(|(rank, why)| format!("rank {rank}: {why}"));
        Ok(RunConditions {
            program: program_name(&command),
            functions: tally.sites.keys().map(|(function, _)| *function).collect(),
            parameters: header.parameters.clone(),
            threads,
            cut: incomplete.or(status),
        })
    }

    /// How this run differs from the first one.
    pub(crate) fn differences(&self, first: &RunConditions, growth: ScalingMode) -> RunDifferences {
        let cut = self.cut.as_ref().map(|why| format!("The run is incomplete ({why}): its times are not compared."));
        let first_cut = first.cut.as_ref().filter(|_| cut.is_none()).map(|_| "The first run is incomplete: times are not compared.".into());
        let sizes = self.changed_parameters(first).filter(|_| growth == ScalingMode::Strong);
        let sizes = sizes.map(|sizes| format!("Another size ({sizes}): times are not compared. With the same work per rank, use --weak."));
        let program = (self.program != first.program && !self.is_version_of(first))
            .then(|| format!("Another program ({}, not {}): no computation scalability.", self.program, first.program));
        let threads = (self.threads != first.threads)
            .then(|| format!("{} OpenMP threads in a rank instead of {}: no computation scalability.", self.threads, first.threads));
        let has_same_work = cut.is_none() && first_cut.is_none() && sizes.is_none();
        let has_same_computation = has_same_work && program.is_none() && threads.is_none();
        let statements = [cut, first_cut, sizes, program, threads].into_iter().flatten().collect();
        RunDifferences { statements, has_same_work, has_same_computation }
    }

    /// Whether both call mostly the same MPI functions: before and after a change, a program may have two names.
    fn is_version_of(&self, other: &RunConditions) -> bool {
        let common = self.functions.intersection(&other.functions).count();
        4 * common >= 3 * self.functions.union(&other.functions).count()
    }

    /// The parameters that differ, with both values.
    fn changed_parameters(&self, first: &RunConditions) -> Option<String> {
        let value = |run: &RunConditions, name: &str| run.parameters.get(name).map_or("none".to_owned(), f64::to_string);
        let mut names: Vec<&String> = self.parameters.keys().chain(first.parameters.keys()).collect();
        names.sort();
        names.dedup();
        let changed = names.into_iter().filter(|name| self.parameters.get(*name) != first.parameters.get(*name));
        let texts: Vec<String> = changed.map(|name| format!("{name} = {}, not {}", value(self, name), value(first, name))).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(program: &str, n: f64) -> RunConditions {
        RunConditions {
            program: program.into(),
            functions: [1, 2, 3, 4].into(),
            parameters: [("n".into(), n)].into(),
            threads: 1,
            cut: None,
        }
    }

    #[test]
    fn equal_runs_have_no_difference() {
        let same = run("app", 4.0).differences(&run("app", 4.0), ScalingMode::Strong);
        assert_eq!(same, RunDifferences { statements: vec![], has_same_work: true, has_same_computation: true });
    }

    #[test]
    fn a_larger_problem_is_compared_only_with_the_same_work_per_rank() {
        let (small, large) = (run("app", 4.0), run("app", 8.0));
        let strong = large.differences(&small, ScalingMode::Strong);
        assert_eq!((strong.has_same_work, strong.has_same_computation), (false, false));
        assert_eq!(strong.statements, ["Another size (n = 8, not 4): times are not compared. With the same work per rank, use --weak."]);
        assert!(large.differences(&small, ScalingMode::Weak).has_same_computation);
    }

    #[test]
    fn another_program_or_number_of_threads_is_compared_by_its_time_only() {
        let version = RunConditions { functions: [1, 2, 3].into(), ..run("new", 4.0) };
        assert!(version.differences(&run("old", 4.0), ScalingMode::Strong).has_same_computation);
        let other = RunConditions { functions: [1, 2, 7].into(), ..version }.differences(&run("old", 4.0), ScalingMode::Strong);
        assert_eq!((other.has_same_work, other.has_same_computation), (true, false));
        let threads = RunConditions { threads: 4, ..run("app", 4.0) }.differences(&run("app", 4.0), ScalingMode::Strong);
        assert_eq!((threads.has_same_work, threads.has_same_computation), (true, false));
        assert_eq!(threads.statements, ["4 OpenMP threads in a rank instead of 1: no computation scalability."]);
    }

    #[test]
    fn a_run_that_was_cut_is_compared_with_nothing() {
        let cut = RunConditions { cut: Some("rank 3: killed".into()), ..run("app", 4.0) };
        assert!(!cut.differences(&run("app", 4.0), ScalingMode::Strong).has_same_work);
        assert!(!run("app", 4.0).differences(&cut, ScalingMode::Strong).has_same_work);
    }
}
