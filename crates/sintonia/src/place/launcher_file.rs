//! The placement as a file for a launcher, and the command line to use it with.

use std::path::{Path, PathBuf};

use sintonia_placement::launcher::{CoreBinding, LaunchCommand, MpiLauncher, PlacementFormat, PlacementLaunch};
use sintonia_recording::header::RecordingHeader;

use super::available_hosts::AvailableHosts;
use super::placement_input::PlacementInput;
use super::search::PlacementResult;
use super::{BindArg, PlaceArgs};
use crate::{Error, output, text};

/// The written file, and how to use it.
#[derive(Default)]
pub(super) struct WrittenPlacement {
    /// The file.
    pub path: Option<PathBuf>,
    /// The command to run with it.
    pub command: Option<Vec<String>>,
    /// Its environment variables.
    pub environment: Vec<(String, String)>,
    /// Everything as text.
    lines: Vec<String>,
}

impl WrittenPlacement {
    /// Nothing was written, because it would not help.
    pub(super) fn not_written(args: &PlaceArgs) -> WrittenPlacement {
        let line = |path: &PathBuf| format!("{} is not written; use --force to write it anyway.", path.display());
        WrittenPlacement { lines: args.output.iter().map(line).collect(), ..WrittenPlacement::default() }
    }

    /// The lines to print.
    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.clone()
    }
}

/// Parses a format name.
pub(super) fn parse_form(name: &str) -> Result<PlacementFormat, String> {
    let known = || MpiLauncher::ALL.map(MpiLauncher::name).into_iter().chain(["table", "json"]).collect::<Vec<_>>().join(", ");
    PlacementFormat::from_name(name).ok_or_else(|| format!("expected one of {}", known()))
}

/// Writes the placement if requested and useful.
pub(super) fn write_if_useful(
    args: &PlaceArgs,
    subject: &PlacementInput,
    room: &AvailableHosts,
    found: &PlacementResult,
) -> Result<WrittenPlacement, Error> {
    let form = args.launcher.unwrap_or_else(|| default_form(subject));
    let is_wanted = found.no_gain_reason.is_none() || args.force;
    let Some(path) = &args.output else {
        let lines = if is_wanted { output_hint(form) } else { Vec::new() };
        return Ok(WrittenPlacement { lines, ..WrittenPlacement::default() });
    };
    if !is_wanted {
        return Ok(WrittenPlacement::not_written(args));
    }
    let launch = launcher_output(form, args.bind.unwrap_or(BindArg::Cores), room, found)?;
    let text = launch.render_as(form).map_err(to_error)?;
    output::write_file(path, |out| out.write_all(text.as_bytes()))?;
    let mut written = describe_written(path, form, &launch, subject);
    if launch.binds_cores() && room.machine.is_none() && matches!(form, PlacementFormat::Launcher(_)) {
        written.lines.push("Each slot is taken as a core; use --bind hosts if hosts have fewer cores than slots.".into());
    }
    Ok(written)
}

/// The launcher of the recording, else a table.
pub(super) fn default_form(subject: &PlacementInput) -> PlacementFormat {
    let header = subject.recording.as_ref().map(|recording| &recording.header);
    header
        .and_then(|header| MpiLauncher::detect(&header.command, &header.mpi.library))
        .map_or(PlacementFormat::Table, PlacementFormat::Launcher)
}

/// The placement for a launcher; an error if it would not know the hosts.
pub(super) fn launcher_output<'a>(
    form: PlacementFormat,
    bind: BindArg,
    room: &'a AvailableHosts,
    found: &'a PlacementResult,
) -> Result<PlacementLaunch<'a>, Error> {
    let launcher = match form {
        PlacementFormat::Launcher(_) if !room.is_named => {
            return Err(Error::Other(
                "the machine file has no host names, so a launcher would not find them: add `hosts = [\"…\"]` to [[node]], \
                 or use --hosts NAME:SLOTS,…; --launcher table writes host numbers"
                    .into(),
            ));
        }
        PlacementFormat::Launcher(launcher) => launcher,
        PlacementFormat::Table | PlacementFormat::Json => MpiLauncher::OpenMpi4,
    };
    let cores = match bind {
        BindArg::Cores => CoreBinding::Bound,
        BindArg::Hosts => CoreBinding::Free,
    };
    Ok(PlacementLaunch { launcher, binding: cores, placement: &found.proposed.placement, cluster: &room.cluster })
}

/// Converts an error of the launcher formats.
pub(super) fn to_error(error: sintonia_placement::launcher::Error) -> Error {
    Error::Other(error.to_string())
}

/// How to get a file.
fn output_hint(form: PlacementFormat) -> Vec<String> {
    let what = match form {
        PlacementFormat::Launcher(launcher) => format!("for {}", launcher.name()),
        PlacementFormat::Table => "as a table (or for a launcher: --launcher openmpi4, openmpi5, mpich, intel, slurm or cray)".into(),
        PlacementFormat::Json => "as JSON".into(),
    };
    vec![format!("-o FILE writes it {what}.")]
}

/// The written file, with the command to use it.
pub(super) fn describe_written(path: &Path, form: PlacementFormat, launch: &PlacementLaunch, subject: &PlacementInput) -> WrittenPlacement {
    let mut written =
        WrittenPlacement { path: Some(path.to_owned()), lines: vec![format!("Wrote {}.", path.display())], ..WrittenPlacement::default() };
    let PlacementFormat::Launcher(launcher) = form else { return written };
    let header = subject.recording.as_ref().map(|recording| &recording.header);
    let is_its_own = |header: &&RecordingHeader| match MpiLauncher::detect(&header.command, &header.mpi.library) {
        Some(own) => own == launcher || launcher == MpiLauncher::Cray,
        None => false,
    };
    let original = header.filter(is_its_own).map(|header| header.command.clone());
    // Without a recorded command, the reader inserts the program.
    let original = original.unwrap_or_else(|| [launcher.command_name(), "PROGRAM"].map(str::to_owned).to_vec());
    if launch.binding == CoreBinding::Bound && !launch.binds_cores() {
        written.lines.push(format!("{} cannot bind to these cores, so ranks are only bound to hosts.", launcher.name()));
    }
    match launch.command(&original, path) {
        Ok(command) => written.add_command(&command, subject),
        Err(error) => written.lines.push(error.to_string()),
    }
    written
}

impl WrittenPlacement {
    fn add_command(&mut self, command: &LaunchCommand, subject: &PlacementInput) {
        self.lines.push("Run it with".into());
        self.lines.push(format!("  {command}"));
        self.lines.extend(command.removed.iter().map(|removed| format!("  without {removed}")));
        if let Some(path) = &subject.path {
            self.lines.push("and compare with".into());
            self.lines.extend(comparison_commands(&path.display().to_string(), command).map(|line| format!("  {line}")));
        }
        self.command = Some(command.words.clone());
        self.environment.clone_from(&command.environment);
    }
}

/// The commands that compare a placed run with a recording.
fn comparison_commands(name: &str, command: &LaunchCommand) -> [String; 2] {
    let placed = format!("{}-placed.sin", name.trim_end_matches('/').trim_end_matches(".sin"));
    let typed = |words: &[&str]| text::shell_command(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
    let variable = |(variable, value): &(String, String)| format!("{variable}={} ", typed(&[value]));
    let variables: String = command.environment.iter().map(variable).collect();
    let record = typed(&["sintonia", "record", "-o", &placed, "--"]);
    [format!("{variables}{record} {}", text::shell_command(&command.words)), typed(&["sintonia", "report", name, &placed])]
}
