//! `sintonia tune --use`: runs a command with settings that a search has found.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sintonia_autotune::{Environment, TunedSettings};
use sintonia_recording::program_name::find_executable;
use sintonia_tune::tunlets;

use super::{DEFAULT_FAN_OUT, TuningSession, TuningThread};
use crate::record::RecordArgs;
use crate::{Error, output, record};

/// Variables that launchers read themselves.
const LAUNCHER_VARIABLES: [&str; 4] = ["OMPI_", "PRTE_", "HYDRA_", "SLURM_"];

/// Options of `sintonia tune --use`.
#[derive(clap::Args)]
#[group(skip)]
pub(crate) struct UseArgs {
    /// Run the command with the settings of this file, which --find has written; nothing is recorded
    #[arg(long = "use", value_name = "FILE", conflicts_with_all = ["find", "attach", "watch", "fan_out", "tunlet"])]
    pub file: Option<PathBuf>,
    /// With --use: print the settings as lines for a shell, and run nothing
    #[arg(long, requires = "file", conflicts_with = "command")]
    print_env: bool,
}

/// Runs `sintonia tune --use`.
pub(crate) fn run(args: &UseArgs, file: &Path, record: RecordArgs) -> Result<ExitCode, Error> {
    let command = &record.command[..];
    let settings = TunedSettings::read(file).map_err(|error| Error::Other(error.to_string()))?;
    if args.print_env {
        output::write_stdout(|out| settings.settings.environment.export_lines().iter().try_for_each(|line| writeln!(out, "{line}")))?;
        return Ok(ExitCode::SUCCESS);
    }
    let environment = settings.settings.environment.appended_to(|name| std::env::var(name).ok());
    let placed = placed_command(&settings, file, command);
    let words = exporting_command(placed.as_deref().unwrap_or(command), &environment)?;
    if !settings.settings.variables.is_empty() {
        return run_with_variables(&settings, &environment, words, record);
    }
    // The program takes the place of this process, so signals, input, output and status are its own.
    let error = Command::new(find_executable(&words[0])?).args(&words[1..]).envs(environment.iter()).exec();
    Err(Error::Other(format!("cannot start {}: {error}", words[0].to_string_lossy())))
}

/// The command that places the ranks, if the file has one for this command.
fn placed_command(settings: &TunedSettings, file: &Path, command: &[OsString]) -> Option<Vec<OsString>> {
    let placed = settings.settings.placed_command.as_ref()?;
    if command.iter().map(|word| word.to_string_lossy()).ne(settings.command.iter().map(String::as_str)) {
        eprintln!("sintonia: the placement of ranks in {} is for another command, and is not used", file.display());
        return None;
    }
    Some(placed.iter().map(OsString::from).collect())
}

/// Runs the command next to an analyzer that sets variables of the program when MPI starts; nothing is recorded.
fn run_with_variables(
    settings: &TunedSettings,
    environment: &Environment,
    words: Vec<OsString>,
    mut record: RecordArgs,
) -> Result<ExitCode, Error> {
    record.command = words;
    let tunlet = super::open_tunlet(&tunlets::set::tunlet_text(&settings.settings.variables))?;
    let session = TuningSession::open(DEFAULT_FAN_OUT)?;
    let variables = environment.iter().map(|(name, value)| (name, OsString::from(value)));
    let more: Vec<_> = session.environment()?.into_iter().chain(variables).collect();
    let tuning = TuningThread::start(session.analyzer(vec![tunlet], false), true, None);
    let status = record::run_without_recording(record, &more);
    let summary = tuning.finish()?;
    for refused in summary.decisions().filter_map(|decision| decision.refused.as_ref()) {
        eprintln!("sintonia: {refused}");
    }
    Ok(ExitCode::from(record::exit_code(status?) as u8))
}

/// The command, with options for its launcher to export the settings to other hosts.
pub(super) fn exporting_command(command: &[OsString], settings: &Environment) -> Result<Vec<OsString>, Error> {
    let executable = find_executable(&command[0])?;
    let is_launchers = |name: &&str| LAUNCHER_VARIABLES.iter().any(|prefix| name.starts_with(prefix));
    let names: Vec<&str> = settings.names().filter(|name| !is_launchers(name)).collect();
    let arguments = if names.is_empty() { command[1..].to_vec() } else { record::launcher_arguments(&executable, &command[1..], &names) };
    Ok([&command[..1], &arguments].concat())
}
