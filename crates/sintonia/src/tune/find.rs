//! `sintonia tune --find`: finds settings under which a program runs faster, by runs in turn.

mod display;
mod live;
mod placement;
mod process_sampler;
mod program_variables;
mod trial;
mod trial_measure;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sintonia_autotune::{
    ConfirmedGain, Environment, MainLoop, RunFacts, RunIdentity, SearchLimits, SearchResult, SystemFacts, TrialSettings, TunedSettings,
    TuningCandidate, TuningMemory, find_candidates, search,
};
use sintonia_recording::Recording;
use sintonia_recording::program_name::{executables, program_name};

use crate::record::RecordArgs;
use crate::text::{format_plural, format_seconds};
use crate::{Error, output};
use display::{print_facts, print_result};
use placement::PlacementTrial;
use program_variables::{VariableTrial, parse_variable};
use trial::{OutputCheck, TrialProgram};
use trial_measure::{PrintedNumber, TrialMeasure};

/// A gain below this is not claimed.
const FLOOR: f64 = 0.01;
/// The default budget: this many times the first run,
const DEFAULT_RUNS: f64 = 50.0;
/// but not less than this, in seconds.
const MIN_BUDGET_S: f64 = 60.0;
/// Recordings with more calls are read too slowly to find the main loop in every run.
const MAX_LOOP_CALLS: u64 = 1_000_000;

/// Options of `sintonia tune --find`.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct FindArgs {
    /// Run the command repeatedly, and find settings of the MPI library, the launcher, OpenMP and the allocator under which it is faster
    #[arg(long, conflicts_with_all = ["attach", "watch", "fan_out", "tunlet", "profile"])]
    pub find: bool,
    /// With --find: time for all runs, such as 10m, or a number of runs, such as 80runs [default: 50 times the first run, at least a minute]
    #[arg(long, value_name = "TIME", requires = "find", value_parser = parse_budget)]
    budget: Option<FindBudget>,
    /// With --find: a run counts only if this shell command, which gets its standard output, succeeds [default: the output is compared with
    /// that of the unchanged program, times left out]
    #[arg(long, value_name = "COMMAND", requires = "find")]
    verify: Option<String>,
    /// With --find: a run counts only if its standard output matches this regular expression, instead of being compared
    #[arg(long, value_name = "REGEX", requires = "find", conflicts_with = "verify")]
    expect: Option<String>,
    /// With --find: measure the time that the program prints: the number in the parentheses of this regular expression [default: the time in
    /// the main loop, or from MPI_Init to MPI_Finalize]
    #[arg(long, value_name = "REGEX", requires = "find")]
    time: Option<String>,
    /// With --find: measure a rate that the program prints, as --time does; more is better
    #[arg(long, value_name = "REGEX", requires = "find", conflicts_with = "time")]
    rate: Option<String>,
    /// With --find: write the settings here [default: the program's name with .tuned.toml], and next to it a file for shells
    #[arg(long, value_name = "FILE", requires = "find")]
    save: Option<PathBuf>,
    /// With --find: do not use or store what is known from earlier searches
    #[arg(long, requires = "find")]
    fresh: bool,
    /// With --find: environment variable and values to try besides, such as BLOCK=16,32,64; may be repeated
    #[arg(long = "try", value_name = "NAME=VALUES", requires = "find", value_parser = parse_trial)]
    tries: Vec<(String, Vec<String>)>,
    /// With --find: integer variable of the program and values to try, such as block=16,32,64; without values, a quarter to four times its
    /// own; may be repeated
    #[arg(long = "variable", value_name = "NAME[=VALUES]", requires = "find", value_parser = parse_variable)]
    variables: Vec<VariableTrial>,
    /// With --find: also try variables of the program that look like the size of a block and that its loops read
    #[arg(long, requires = "find")]
    allow_variables: bool,
    /// With --find: list what would be tried, and why, after the first run
    #[arg(long, requires = "find")]
    dry_run: bool,
}

impl FindArgs {
    fn printed_number(&self) -> Result<Option<PrintedNumber>, Error> {
        let expressions = [(&self.time, false), (&self.rate, true)];
        let given = expressions.into_iter().find_map(|(expression, is_rate)| Some((expression.as_ref()?, is_rate)));
        given.map(|(expression, is_rate)| PrintedNumber::new(expression, is_rate)).transpose()
    }
}

/// How much may be spent.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FindBudget {
    Seconds(f64),
    Runs(f64),
}

/// Runs `sintonia tune --find`.
pub(crate) fn run(args: &FindArgs, record: &RecordArgs) -> Result<ExitCode, Error> {
    let check = OutputCheck::new(args.verify.as_deref(), args.expect.as_deref())?;
    let variables = program_variables::find_trials(&args.variables, args.allow_variables, &record.command)?;
    let words: Vec<String> = record.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let file = args.save.clone().unwrap_or_else(|| PathBuf::from(format!("{}.tuned.toml", program_name(&record.command))));
    output::check_writable(&file)?;
    // In the current directory: other hosts are more likely to see it than a temporary one.
    let folder =
        tempfile::Builder::new().prefix(".sintonia-find-").tempdir_in(".").map_err(|source| Error::Write { path: ".".into(), source })?;
    let mut program = TrialProgram::new(&record.command, folder.path(), check)?;
    let printed = args.printed_number()?;
    let is_printed = printed.is_some();
    if let Some(number) = printed {
        program.measure = TrialMeasure::Printed(number);
    }
    let first = program.run_first(record.output.as_deref())?;
    if first.exit_code != 0 {
        eprintln!("sintonia: the command failed without any change, so no settings are tried");
        return Ok(ExitCode::from(first.exit_code as u8));
    }
    let recording = Recording::open(&first.recording)?;
    let facts = RunFacts::from_recording(&recording)?;
    if facts.work_s <= 0.0 {
        return Err(Error::Other("no time between MPI_Init and MPI_Finalize was recorded, so there is nothing to compare".into()));
    }
    let main_loop = if !is_printed && facts.calls <= MAX_LOOP_CALLS { MainLoop::find(&recording)? } else { None };
    let system = system_facts(first.system, &words);
    let identity = identity(&recording, record);
    drop(recording);
    let memory = (!args.fresh).then(|| TuningMemory::of_user(|name| std::env::var(name).ok())).flatten();
    let known = memory.as_ref().and_then(|memory| memory.recall(&identity));
    let mut candidates = all_candidates(args, &facts, &system, known.as_ref());
    candidates.extend(program_variables::candidates(&variables));
    let placement = placement_trial(&facts, &first.recording, &words, folder.path());
    candidates.extend(placement.iter().map(|placement| placement.candidate.clone()));
    let limits = limits(args.budget, first.elapsed_s);
    if !record.json {
        let expression = args.time.as_deref().or(args.rate.as_deref());
        print_facts(&facts, main_loop.as_ref(), &candidates, known.as_ref(), limits, expression);
    }
    if args.dry_run {
        return print_dry_run(&candidates, record.json);
    }
    if let Some(found) = &main_loop {
        program.measure = TrialMeasure::MainLoop(found.name.clone());
    }
    program.is_quiet = record.json;
    let mut limits = limits;
    if let Some(control) = live::live_control(&facts) {
        let (verdict, elapsed_s) = program.run_live(&control)?;
        live::apply_verdict(verdict, &control, &mut candidates);
        limits.budget_s -= elapsed_s;
    }
    if let Some(tunlet) = program_variables::search_tunlet(&variables) {
        let (found, elapsed_s) = program.run_live_search(&tunlet)?;
        candidates.extend(found.map(live_candidate));
        limits.budget_s -= elapsed_s;
    }
    let result = search(&candidates, limits, &mut program)?;
    let mut settings = tuned_settings(&result, &identity, record, program.measure.name());
    if let Some(placement) = placement.filter(|_| result.is_claimed) {
        placement.keep_file(&file.with_extension("rankfile"), &mut settings.settings)?;
    }
    let outcome = FindOutcome {
        facts: &facts,
        main_loop: main_loop.as_ref(),
        result: &result,
        settings: &settings,
        file: &file,
        measure: program.measure.name(),
        is_output_checked: program.is_output_checked(),
    };
    if result.is_claimed {
        write_settings(&file, &settings)?;
    }
    if let Some(Err(error)) = memory.map(|memory| memory.store(&identity, &settings)) {
        eprintln!("sintonia: the result could not be stored for later searches: {error}");
    }
    print_result(&outcome, record.json);
    Ok(ExitCode::SUCCESS)
}

/// What a search came to.
struct FindOutcome<'a> {
    facts: &'a RunFacts,
    main_loop: Option<&'a MainLoop>,
    result: &'a SearchResult,
    settings: &'a TunedSettings,
    file: &'a Path,
    measure: &'static str,
    is_output_checked: bool,
}

/// The candidates that follow from the run, those of the user, and what was found before.
fn all_candidates(args: &FindArgs, facts: &RunFacts, system: &SystemFacts, known: Option<&TunedSettings>) -> Vec<TuningCandidate> {
    let candidate = |name: String, group: &str, settings: TrialSettings, reason: &str| TuningCandidate {
        name,
        group: group.to_owned(),
        settings,
        reason: reason.to_owned(),
        relevance: 1.0,
    };
    let known = known.filter(|known| !known.settings.is_empty());
    let known =
        known.map(|known| candidate("what was found before".into(), "known", known.settings.clone(), "it paid in an earlier search"));
    let tries = args.tries.iter().flat_map(|(name, values)| {
        values.iter().map(move |value| {
            candidate(format!("{name}={value}"), name, Environment::new([(name.as_str(), value.as_str())]).into(), "given with --try")
        })
    });
    known.into_iter().chain(tries).chain(find_candidates(facts, system)).collect()
}

/// Values that were found while the program ran.
fn live_candidate(settings: TrialSettings) -> TuningCandidate {
    TuningCandidate {
        name: settings.to_line(),
        group: "variables found while the program ran".into(),
        settings,
        reason: "a search while the program ran found them".into(),
        relevance: 1.0,
    }
}

/// The placement to try, on several hosts. That none can be found is no reason not to search.
fn placement_trial(facts: &RunFacts, recording: &Path, command: &[String], folder: &Path) -> Option<PlacementTrial> {
    if facts.hosts < 2 {
        return None;
    }
    PlacementTrial::find(facts, recording, command, folder).unwrap_or_else(|error| {
        eprintln!("sintonia: no placement of ranks is tried: {error}");
        None
    })
}

fn limits(budget: Option<FindBudget>, run_s: f64) -> SearchLimits {
    let budget_s = match budget {
        Some(FindBudget::Seconds(seconds)) => seconds,
        Some(FindBudget::Runs(runs)) => runs * run_s,
        None => (DEFAULT_RUNS * run_s).max(MIN_BUDGET_S),
    };
    SearchLimits { budget_s, run_s, floor: FLOOR }
}

/// What is known about the host and the command besides the recording.
fn system_facts(sampled: SystemFacts, words: &[String]) -> SystemFacts {
    let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok();
    let chosen = |text: String| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned());
    let is_srun = |word: &String| Path::new(word).file_name().is_some_and(|name| name == "srun");
    let environment: BTreeMap<String, String> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    SystemFacts { huge_pages: enabled.and_then(chosen), is_started_by_srun: words.iter().any(is_srun), environment, ..sampled }
}

/// What the result is valid for.
fn identity(recording: &Recording, record: &RecordArgs) -> RunIdentity {
    let header = &recording.header;
    let describe = |host: &sintonia_recording::host::HostDescription| {
        let model = host.cpu_model.as_deref().unwrap_or("unknown processor");
        format!("{model}, processors {}, {} bytes", host.processors, host.memory_bytes.unwrap_or(0))
    };
    let mut machine: Vec<String> = header.host_descriptions.iter().map(describe).collect();
    machine.dedup();
    let hosts = format_plural(header.hosts.len() as u64, "host");
    RunIdentity {
        builds: executables(&record.command).filter_map(|path| RunIdentity::hash_file(&path)).collect(),
        command: header.command.clone(),
        machine: format!("{hosts}: {}", machine.join("; ")),
        library: header.mpi.library.clone(),
    }
}

fn tuned_settings(result: &SearchResult, identity: &RunIdentity, record: &RecordArgs, measure: &str) -> TunedSettings {
    let median = |of: usize| {
        let mut times: Vec<f64> = result.pairs.iter().map(|pair| pair[of]).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(0.0)
    };
    let gain = result.gain.filter(|_| result.is_claimed);
    TunedSettings {
        program: program_name(&record.command),
        command: record.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        library: identity.library.clone(),
        machine: identity.machine.clone(),
        found_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        settings: if result.is_claimed { result.settings.clone() } else { TrialSettings::default() },
        gain: gain.map(|speedup| ConfirmedGain { speedup, reference_s: median(0), tuned_s: median(1), measure: measure.to_owned() }),
    }
}

/// Writes the file, and one for shells next to it.
fn write_settings(file: &Path, settings: &TunedSettings) -> Result<(), Error> {
    output::write_file(file, |out| out.write_all(settings.to_toml().as_bytes()))?;
    output::write_file(&shell_file(file), |out| out.write_all(settings.to_shell().as_bytes()))
}

/// `app.tuned.sh` for `app.tuned.toml`.
fn shell_file(file: &Path) -> PathBuf {
    file.with_extension("sh")
}

fn print_dry_run(candidates: &[TuningCandidate], json: bool) -> Result<ExitCode, Error> {
    if json {
        eprintln!("{}", serde_json::json!({ "candidates": candidates }));
    } else {
        candidates.iter().for_each(|one| eprintln!("  {:<42} {}\n      {}", one.name, one.reason, one.settings.to_line()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Parses `10m`, `90s`, `2h`, `600` or `80runs`.
fn parse_budget(text: &str) -> Result<FindBudget, String> {
    let wrong = || format!("'{text}' is not a budget; expected a time such as 10m, 90s or 2h, or a number of runs such as 80runs");
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()));
    let number = number.parse::<f64>().ok().filter(|number| *number > 0.0).ok_or_else(wrong)?;
    match unit.trim() {
        "" | "s" => Ok(FindBudget::Seconds(number)),
        "m" | "min" => Ok(FindBudget::Seconds(60.0 * number)),
        "h" => Ok(FindBudget::Seconds(3600.0 * number)),
        "run" | "runs" => Ok(FindBudget::Runs(number)),
        _ => Err(wrong()),
    }
}

fn parse_trial(text: &str) -> Result<(String, Vec<String>), String> {
    let wrong = || format!("'{text}' is not a variable with values; expected NAME=VALUE,VALUE, such as BLOCK=16,32");
    let (name, values) = text.split_once('=').filter(|(name, values)| !name.is_empty() && !values.is_empty()).ok_or_else(wrong)?;
    Ok((name.to_owned(), values.split(',').map(str::to_owned).collect()))
}

/// A time with its unit, from minutes on without fractions.
fn format_budget(seconds: f64) -> String {
    match Duration::from_secs_f64(seconds.max(0.0)).as_secs() {
        whole if whole >= 600 => format!("{} min", (seconds / 60.0).round()),
        _ => format_seconds(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_times_or_runs() {
        assert_eq!(parse_budget("10m"), Ok(FindBudget::Seconds(600.0)));
        assert_eq!(parse_budget("90"), Ok(FindBudget::Seconds(90.0)));
        assert_eq!(parse_budget("1.5h"), Ok(FindBudget::Seconds(5400.0)));
        assert_eq!(parse_budget("80runs"), Ok(FindBudget::Runs(80.0)));
        for wrong in ["", "m", "0", "-3", "10x", "ten"] {
            assert!(parse_budget(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn variables_to_try_have_values() {
        assert_eq!(parse_trial("B=1,2"), Ok(("B".into(), vec!["1".into(), "2".into()])));
        for wrong in ["B", "=1", "B="] {
            assert!(parse_trial(wrong).is_err(), "{wrong}");
        }
    }
}
