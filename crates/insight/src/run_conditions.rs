//! Whether two runs did the same work, so that their times can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use serde::Serialize;
use sintonia_program::CoreShortage;
use sintonia_recording::Recording;
use sintonia_recording::header::CallSiteDefinition;
use sintonia_recording::program_name::program_name;
use sintonia_replay::Error;
use sintonia_text::path::short_file_name;

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
    /// The source file and function of each call site, as far as they are known.
    pub call_sites: BTreeSet<(String, String)>,
    /// Values of `--param`.
    pub parameters: BTreeMap<String, f64>,
    /// Most OpenMP threads of a rank; 1 without OpenMP.
    pub threads: usize,
    /// Whether ranks had no core for a part of the time.
    pub lacks_cores: bool,
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
    pub(crate) fn read(
        recording: &Recording,
        gaps: &RecordingGaps,
        tally: &CallTally,
        cores: Option<&CoreShortage>,
    ) -> Result<RunConditions, Error> {
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
            call_sites: tally.sites.keys().filter_map(|(_, site)| file_and_function(recording.site(*site))).collect(),
            parameters: header.parameters.clone(),
            threads,
            lacks_cores: cores.is_some(),
            cut: incomplete.or(status),
        })
    }

    /// How this run differs from the first one.
    pub(crate) fn differences(&self, first: &RunConditions, growth: ScalingMode) -> RunDifferences {
        let cut = self.cut.as_ref().map(|why| format!("The run is incomplete ({why}): its times are not compared."));
        let first_cut = first.cut.as_ref().filter(|_| cut.is_none()).map(|_| "The first run is incomplete: times are not compared.".into());
        let sizes = self.changed_parameters(first).filter(|_| growth == ScalingMode::Strong);
        let sizes = sizes.map(|sizes| format!("Another size ({sizes}): times are not compared. With the same work per rank, use --weak."));
        let has_same_name = self.program == first.program;
        let is_version = !has_same_name && self.is_version_of(first);
        let program = (!has_same_name).then(|| match is_version {
            true => {
                format!("Another version of the program ({}, not {}), with most calls in the same functions.", self.program, first.program)
            }
            false => format!("Another program ({}, not {}): times are not compared.", self.program, first.program),
        });
        let threads = (self.threads != first.threads)
            .then(|| format!("{} OpenMP threads in a rank instead of {}: no computation scalability.", self.threads, first.threads));
        let cores = match (self.lacks_cores, first.lacks_cores) {
            (true, _) => Some("Ranks had no core for a part of the time: no computation scalability.".to_owned()),
            (false, true) => Some("In the first run, ranks had no core for a part of the time: no computation scalability.".into()),
            (false, false) => None,
        };
        let has_same_work = cut.is_none() && first_cut.is_none() && sizes.is_none() && (has_same_name || is_version);
        let has_same_computation = has_same_work && threads.is_none() && cores.is_none();
        let statements = [cut, first_cut, sizes, program, threads, cores].into_iter().flatten().collect();
        RunDifferences { statements, has_same_work, has_same_computation }
    }

    /// Whether both make most of their calls in the same functions: before and after a change, a program may have two names.
    fn is_version_of(&self, other: &RunConditions) -> bool {
        let common = self.call_sites.intersection(&other.call_sites).count();
        common > 0 && 4 * common >= 3 * self.call_sites.union(&other.call_sites).count()
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

/// The file, without its folder, and the function of a call site. Two versions of a program are in different folders.
fn file_and_function(site: &CallSiteDefinition) -> Option<(String, String)> {
    let frame = site.frames.first()?;
    Some((short_file_name(frame.file.as_deref()?).to_owned(), frame.function.clone()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(function: &str) -> (String, String) {
        ("app.c".into(), function.into())
    }

    fn run(program: &str, n: f64) -> RunConditions {
        RunConditions {
            program: program.into(),
            call_sites: ["start", "exchange", "reduce", "end"].map(site).into(),
            parameters: [("n".into(), n)].into(),
            threads: 1,
            lacks_cores: false,
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
    fn another_number_of_threads_is_compared_by_its_time_only() {
        let threads = RunConditions { threads: 4, ..run("app", 4.0) }.differences(&run("app", 4.0), ScalingMode::Strong);
        assert_eq!((threads.has_same_work, threads.has_same_computation), (true, false));
        assert_eq!(threads.statements, ["4 OpenMP threads in a rank instead of 1: no computation scalability."]);
    }

    #[test]
    fn another_program_is_compared_only_if_it_is_a_version_with_calls_in_the_same_functions() {
        let version = RunConditions { call_sites: ["start", "exchange", "reduce"].map(site).into(), ..run("new", 4.0) };
        let of_version = version.differences(&run("old", 4.0), ScalingMode::Strong);
        assert!(of_version.has_same_computation);
        assert_eq!(of_version.statements, ["Another version of the program (new, not old), with most calls in the same functions."]);
        let other = RunConditions { call_sites: ["start", "solve"].map(site).into(), ..version };
        let of_other = other.differences(&run("old", 4.0), ScalingMode::Strong);
        assert_eq!((of_other.has_same_work, of_other.has_same_computation), (false, false));
        assert_eq!(of_other.statements, ["Another program (new, not old): times are not compared."]);
        let unknown = |name: &str| RunConditions { call_sites: BTreeSet::new(), ..run(name, 4.0) };
        assert!(!unknown("new").differences(&unknown("old"), ScalingMode::Strong).has_same_work);
    }

    #[test]
    fn ranks_without_a_core_do_not_tell_how_computation_scales() {
        let lacking = RunConditions { lacks_cores: true, ..run("app", 4.0) };
        for (this, first) in [(&lacking, &run("app", 4.0)), (&run("app", 4.0), &lacking)] {
            let differences = this.differences(first, ScalingMode::Strong);
            assert_eq!((differences.has_same_work, differences.has_same_computation), (true, false));
            assert_eq!(differences.statements.len(), 1);
        }
    }

    #[test]
    fn a_run_that_was_cut_is_compared_with_nothing() {
        let cut = RunConditions { cut: Some("rank 3: killed".into()), ..run("app", 4.0) };
        assert!(!cut.differences(&run("app", 4.0), ScalingMode::Strong).has_same_work);
        assert!(!run("app", 4.0).differences(&cut, ScalingMode::Strong).has_same_work);
    }
}
