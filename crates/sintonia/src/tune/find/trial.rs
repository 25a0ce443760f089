//! Runs of the program in a search: each is recorded, timed, and checked.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use regex::Regex;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use sintonia_autotune::{
    MainLoop, OutputComparison, OutputDifference, RunFacts, SearchEvent, SystemFacts, TrialOutcome, TrialRun, TrialRunner, TrialSettings,
};
use sintonia_recording::Recording;
use sintonia_recording::program_name::find_executable;
use sintonia_tune::tunlets;

use super::super::use_settings::exporting_command;
use super::live::{self, LiveVerdict};
use super::process_sampler::ProcessSampler;
use super::program_variables;
use super::trial_measure::{TrialMeasure, parse_expression};
use crate::Error;
use crate::record::{self, SignalForwarder};
use crate::text::{format_seconds, truncate_end};

/// A run may take this many times the longest reference run,
const MAX_SLOWDOWN: f64 = 3.0;
/// and this much more.
const GRACE: Duration = Duration::from_secs(3);
/// After being asked to end, a run has this long.
const END_GRACE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);
/// With fewer reference outputs, numbers that look different may still be times that were equal by chance.
const ENOUGH_REFERENCES: usize = 5;

/// How a run is checked.
pub(super) enum OutputCheck {
    /// Its output is compared with that of the unchanged program.
    Comparison,
    /// A shell command gets its output.
    Command(String),
    /// Its output matches an expression.
    Expression(Regex),
}

impl OutputCheck {
    pub(super) fn new(command: Option<&str>, expression: Option<&str>) -> Result<OutputCheck, Error> {
        match (command, expression) {
            (Some(command), _) => Ok(OutputCheck::Command(command.to_owned())),
            (None, Some(expression)) => Ok(OutputCheck::Expression(parse_expression(expression)?)),
            (None, None) => Ok(OutputCheck::Comparison),
        }
    }
}

/// The first run.
pub(super) struct FirstRun {
    pub(super) exit_code: i32,
    pub(super) recording: PathBuf,
    pub(super) elapsed_s: f64,
    pub(super) system: SystemFacts,
}

/// The program under search.
pub(super) struct TrialProgram<'a> {
    command: &'a [OsString],
    folder: &'a Path,
    check: OutputCheck,
    outputs: OutputComparison,
    references: usize,
    longest_reference: Duration,
    was_interrupted: Arc<AtomicBool>,
    /// What is measured.
    pub(super) measure: TrialMeasure,
    /// Whether nothing is printed about runs.
    pub(super) is_quiet: bool,
}

/// A run that has ended.
struct EndedRun {
    status: Option<ExitStatus>,
    elapsed: Duration,
    output: String,
    errors: String,
    /// What `sintonia tune --json` prints at the end.
    summary: Option<String>,
}

impl<'a> TrialProgram<'a> {
    pub(super) fn new(command: &'a [OsString], folder: &'a Path, check: OutputCheck) -> Result<TrialProgram<'a>, Error> {
        find_executable(&command[0])?;
        let was_interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let _ = signal_hook::flag::register(signal, Arc::clone(&was_interrupted));
        }
        let (outputs, measure) = (OutputComparison::default(), TrialMeasure::Run);
        let longest_reference = Duration::ZERO;
        Ok(TrialProgram { command, folder, check, outputs, references: 0, longest_reference, was_interrupted, measure, is_quiet: false })
    }

    /// The first run: with a whole recording, its output shown, its processes sampled.
    pub(super) fn run_first(&mut self, output: Option<&Path>) -> Result<FirstRun, Error> {
        let recording = output.map_or_else(|| self.folder.join("first.sin"), Path::to_owned);
        let mut sampler = None;
        let ended = self.run_recorded(&recording, &TrialSettings::default(), false, None, &mut |child| {
            sampler = Some(ProcessSampler::start(child.id()));
        })?;
        let system = sampler.map(ProcessSampler::finish).unwrap_or_default();
        let _ = std::io::stdout().write_all(ended.output.as_bytes());
        let _ = std::io::stdout().flush();
        let _ = std::io::stderr().write_all(ended.errors.as_bytes());
        let exit_code = ended.status.map_or(1, record::exit_code);
        if exit_code == 0
            && let Some(reason) = self.failed_check(&ended.output)?
        {
            return Err(Error::Other(format!("the program without any change does not pass the check: {reason}")));
        }
        if exit_code == 0
            && let TrialMeasure::Printed(number) = &self.measure
        {
            number.seconds(&ended.output).map_err(Error::Other)?;
        }
        self.add_reference(&ended);
        Ok(FirstRun { exit_code, recording, elapsed_s: ended.elapsed.as_secs_f64(), system })
    }

    fn add_reference(&mut self, ended: &EndedRun) {
        self.outputs.add_reference(&ended.output);
        self.references += 1;
        self.longest_reference = self.longest_reference.max(ended.elapsed);
    }

    /// Runs and records the program; a run that takes too long is ended, and has no status.
    fn run_recorded(
        &self,
        recording: &Path,
        settings: &TrialSettings,
        is_profile: bool,
        limit: Option<Duration>,
        started: &mut dyn FnMut(&Child),
    ) -> Result<EndedRun, Error> {
        let environment = settings.environment.appended_to(|name| std::env::var(name).ok());
        let placed: Option<Vec<OsString>> = settings.placed_command.as_ref().map(|words| words.iter().map(OsString::from).collect());
        let mut command = own_command()?;
        if settings.variables.is_empty() {
            command.arg("record");
        } else {
            command.args(["tune", "--tunlet", &tunlets::set::tunlet_text(&settings.variables)]);
        }
        command.args(["--force", "--json", "-o"]).arg(recording);
        if is_profile {
            command.arg("--profile");
        }
        let words = exporting_command(placed.as_deref().unwrap_or(self.command), &environment)?;
        command.arg("--").args(words).envs(environment.iter());
        self.run_checked(command, limit, started)
    }

    /// Runs a command with the program's input, and keeps what it prints.
    fn run_checked(&self, mut command: Command, limit: Option<Duration>, started: &mut dyn FnMut(&Child)) -> Result<EndedRun, Error> {
        let began = Instant::now();
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| self.folder.join(name));
        let create = |path: &Path| File::create(path).map_err(|source| Error::Write { path: path.to_owned(), source });
        let mut child = command.stdin(standard_input()).stdout(create(&stdout)?).stderr(create(&stderr)?).spawn()?;
        started(&child);
        let signals = SignalForwarder::forward_to(&child);
        let status = wait_with_limit(&mut child, limit)?;
        drop(signals);
        let read = |path: &Path| {
            let mut bytes = Vec::new();
            File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)).map(|_| String::from_utf8_lossy(&bytes).into_owned())
        };
        let (summary, errors) = split_summary(&read(&stderr)?);
        let ended = EndedRun { status, elapsed: began.elapsed(), output: read(&stdout)?, errors, summary };
        match self.was_interrupted.load(Ordering::Acquire) {
            true => Err(Error::Other("interrupted: no settings are written".into())),
            false => Ok(ended),
        }
    }

    /// A run with changes may take this long.
    fn time_limit(&self) -> Duration {
        self.longest_reference.mul_f64(MAX_SLOWDOWN) + GRACE
    }

    /// Tries algorithms of a collective in one run; returns what came of it, and the seconds it took.
    pub(super) fn run_live(&self, control: &str) -> Result<(LiveVerdict, f64), Error> {
        let (ended, is_same) = self.run_tuned("collectives")?;
        let verdict =
            ended.summary.as_deref().filter(|_| is_same).map_or(LiveVerdict::Unknown, |summary| live::read_verdict(summary, control));
        if !self.is_quiet {
            super::display::print_live(verdict, control);
        }
        Ok((verdict, ended.elapsed.as_secs_f64()))
    }

    /// Searches values of variables in one run; returns those that pay, and the seconds it took.
    pub(super) fn run_live_search(&self, tunlet: &str) -> Result<(Option<TrialSettings>, f64), Error> {
        let (ended, is_same) = self.run_tuned(tunlet)?;
        let found = ended.summary.as_deref().filter(|_| is_same).and_then(program_variables::paying_values);
        if !self.is_quiet {
            super::display::print_live_search(found.as_ref(), is_same);
        }
        Ok((found, ended.elapsed.as_secs_f64()))
    }

    /// Runs the program under a tunlet; also returns whether its output is that of the unchanged program.
    fn run_tuned(&self, tunlet: &str) -> Result<(EndedRun, bool), Error> {
        let mut command = own_command()?;
        command.args(["tune", "--tunlet", tunlet, "--force", "--json", "-o"]).arg(self.folder.join("live.sin"));
        command.arg("--").args(self.command);
        let ended = self.run_checked(command, Some(self.time_limit()), &mut |_| {})?;
        let is_same = ended.status.is_some_and(|status| status.success()) && self.failed_check(&ended.output)?.is_none();
        Ok((ended, is_same))
    }

    /// The measured time of a run.
    fn measured_s(&self, path: &Path, output: &str) -> Result<Result<f64, String>, Error> {
        let recording = Recording::open(path)?;
        Ok(match &self.measure {
            TrialMeasure::Printed(number) => number.seconds(output),
            TrialMeasure::Run => Ok(RunFacts::from_recording(&recording)?.work_s),
            TrialMeasure::MainLoop(name) => match MainLoop::find_named(&recording, name)? {
                Some(found) => Ok(found.seconds),
                None => Err(format!("the main loop {name} was not found in it")),
            },
        })
    }

    /// Why a run's output is not right; `None` if it is.
    fn failed_check(&self, output: &str) -> Result<Option<String>, Error> {
        Ok(match &self.check {
            OutputCheck::Comparison => self.outputs.difference(output).map(|difference| describe_difference(&difference)),
            OutputCheck::Expression(expression) => {
                (!expression.is_match(output)).then(|| format!("its output does not match '{expression}'"))
            }
            OutputCheck::Command(command) => (!run_check(command, output)?).then(|| format!("'{command}' failed")),
        })
    }

    /// Why a run does not count; `None` if it does.
    fn rejection(&mut self, ended: &EndedRun) -> Result<Option<String>, Error> {
        let Some(status) = ended.status else {
            return Ok(Some(format!("it was stopped after {}", format_seconds(ended.elapsed.as_secs_f64()))));
        };
        match record::exit_code(status) {
            0 => self.failed_check(&ended.output),
            code => {
                let last = ended.errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
                Ok(Some(format!("it ended with status {code}: {}", truncate_end(last.trim(), 80))))
            }
        }
    }

    /// Runs the unchanged program.
    fn run_reference(&mut self) -> Result<(EndedRun, TrialOutcome), Error> {
        let recording = self.folder.join("reference.sin");
        let ended = self.run_recorded(&recording, &TrialSettings::default(), self.is_profile(), None, &mut |_| {})?;
        let exit_code = ended.status.map_or(1, record::exit_code);
        if exit_code != 0 {
            return Err(Error::Other(format!("the unchanged program failed with status {exit_code}, so the search ends")));
        }
        let failed = match &self.check {
            OutputCheck::Comparison => None,
            _ => self.failed_check(&ended.output)?,
        };
        if let Some(reason) = failed {
            return Err(Error::Other(format!("the unchanged program does not pass the check any more: {reason}")));
        }
        self.add_reference(&ended);
        let outcome = match self.measured_s(&recording, &ended.output)? {
            Ok(seconds) => TrialOutcome::Measured(seconds),
            Err(reason) => TrialOutcome::Rejected(reason),
        };
        Ok((ended, outcome))
    }

    /// Whether outputs were compared or checked: the unchanged program may print something else each time.
    pub(super) fn is_output_checked(&self) -> bool {
        !matches!(self.check, OutputCheck::Comparison) || !self.outputs.is_irregular()
    }

    fn is_profile(&self) -> bool {
        !matches!(self.measure, TrialMeasure::MainLoop(_))
    }
}

impl TrialRunner for TrialProgram<'_> {
    type Error = Error;

    fn run(&mut self, settings: &TrialSettings) -> Result<TrialRun, Error> {
        if settings.is_empty() {
            let (ended, outcome) = self.run_reference()?;
            return Ok(TrialRun { elapsed_s: ended.elapsed.as_secs_f64(), outcome });
        }
        let recording = self.folder.join("trial.sin");
        let ended = self.run_recorded(&recording, settings, self.is_profile(), Some(self.time_limit()), &mut |_| {})?;
        let mut elapsed = ended.elapsed;
        let not_set = || program_variables::why_not_set(ended.summary.as_deref(), &settings.variables);
        let mut rejection = self.rejection(&ended)?.or_else(not_set);
        // A time that was equal in the few reference runs so far looks like a result.
        while rejection.is_some()
            && ended.status.is_some_and(|status| status.success())
            && matches!(self.check, OutputCheck::Comparison)
            && self.references < ENOUGH_REFERENCES
        {
            elapsed += self.run_reference()?.0.elapsed;
            rejection = self.rejection(&ended)?.or_else(not_set);
        }
        let outcome = match rejection {
            Some(reason) => TrialOutcome::Rejected(reason),
            None => match self.measured_s(&recording, &ended.output) {
                Ok(measured) => measured.map_or_else(TrialOutcome::Rejected, TrialOutcome::Measured),
                Err(error) => TrialOutcome::Rejected(format!("its recording cannot be read: {error}")),
            },
        };
        Ok(TrialRun { elapsed_s: elapsed.as_secs_f64(), outcome })
    }

    fn tell(&mut self, event: SearchEvent<'_>) {
        if !self.is_quiet {
            super::display::print_event(event, self.measure.name() != TrialMeasure::PRINTED);
        }
    }
}

/// This command, to be given a verb.
fn own_command() -> Result<Command, Error> {
    let own = std::env::current_exe().map_err(|error| Error::Other(format!("cannot find the running executable: {error}")))?;
    Ok(Command::new(own))
}

/// Every run reads the same input, if it comes from a file; otherwise none.
fn standard_input() -> Stdio {
    let is_file = std::fs::metadata("/proc/self/fd/0").is_ok_and(|input| input.is_file());
    let reopened = is_file.then(|| File::open("/proc/self/fd/0").ok()).flatten();
    reopened.map_or_else(Stdio::null, Stdio::from)
}

/// Waits for a run; one that takes longer is ended, and has no status.
fn wait_with_limit(child: &mut Child, limit: Option<Duration>) -> Result<Option<ExitStatus>, Error> {
    let Some(limit) = limit else { return Ok(Some(child.wait()?)) };
    let began = Instant::now();
    let mut is_asked = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((!is_asked).then_some(status));
        }
        if began.elapsed() > limit && !is_asked {
            is_asked = true;
            let _ = rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::TERM);
        }
        if began.elapsed() > limit + END_GRACE {
            child.kill()?;
        }
        std::thread::sleep(POLL);
    }
}

/// The summary of a tuning, if there was one, and what the program wrote to standard error.
fn split_summary(errors: &str) -> (Option<String>, String) {
    let is_tuning = |line: &&str| line.starts_with("{\"decisions\"");
    let is_recording = |line: &&str| line.starts_with("{\"bytes_on_disk\"");
    let own = errors.lines().filter(|line| !is_recording(line) && !is_tuning(line)).map(|line| format!("{line}\n")).collect();
    (errors.lines().rfind(is_tuning).map(str::to_owned), own)
}

fn run_check(command: &str, output: &str) -> Result<bool, Error> {
    let mut child = Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A check that does not read its input may still succeed.
        let _ = input.write_all(output.as_bytes());
    }
    Ok(child.wait()?.success())
}

fn describe_difference(difference: &OutputDifference) -> String {
    let shown = |line: &String| truncate_end(line.trim(), 60);
    match (&difference.unexpected, &difference.missing) {
        (Some(new), Some(old)) => format!("it prints '{}' and not '{}'", shown(new), shown(old)),
        (Some(new), None) => format!("it also prints '{}'", shown(new)),
        (None, Some(old)) => format!("it does not print '{}'", shown(old)),
        (None, None) => "its output differs".into(),
    }
}
