//! `sintonia tune --use`: runs a command with settings that a search has found.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sintonia_autotune::{Environment, TunedSettings};
use sintonia_recording::program_name::find_executable;

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
pub(crate) fn run(args: &UseArgs, file: &Path, command: &[OsString]) -> Result<ExitCode, Error> {
    let settings = TunedSettings::read(file).map_err(|error| Error::Other(error.to_string()))?;
    if args.print_env {
        output::write_stdout(|out| settings.environment.export_lines().iter().try_for_each(|line| writeln!(out, "{line}")))?;
        return Ok(ExitCode::SUCCESS);
    }
    let environment = settings.environment.appended_to(|name| std::env::var(name).ok());
    let words = exporting_command(command, &environment)?;
    // The program takes the place of this process, so signals, input, output and status are its own.
    let error = Command::new(find_executable(&words[0])?).args(&words[1..]).envs(environment.iter()).exec();
    Err(Error::Other(format!("cannot start {}: {error}", words[0].to_string_lossy())))
}

/// The command, with options for its launcher to export the settings to other hosts.
pub(super) fn exporting_command(command: &[OsString], settings: &Environment) -> Result<Vec<OsString>, Error> {
    let executable = find_executable(&command[0])?;
    let is_launchers = |name: &&str| LAUNCHER_VARIABLES.iter().any(|prefix| name.starts_with(prefix));
    let names: Vec<&str> = settings.names().filter(|name| !is_launchers(name)).collect();
    let arguments = if names.is_empty() { command[1..].to_vec() } else { record::launcher_arguments(&executable, &command[1..], &names) };
    Ok([&command[..1], &arguments].concat())
}
