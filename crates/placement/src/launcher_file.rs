//! The placement as a file for a launcher, and the command line to use it with.

use std::path::{Path, PathBuf};

use sintonia_recording::header::RecordingHeader;
use sintonia_text::shell::shell_command;

use crate::Error;
use crate::available_hosts::AvailableHosts;
use crate::input::PlacementInput;
use crate::launcher::{CoreBinding, LaunchCommand, MpiLauncher, PlacementFormat, PlacementLaunch};
use crate::proposal::PlacementProposal;

/// The written file, and how to use it.
#[derive(Default)]
pub struct WrittenPlacement {
    /// The file.
    pub path: Option<PathBuf>,
    /// The command to run with it.
    pub command: Option<Vec<String>>,
    /// Its environment variables.
    pub environment: Vec<(String, String)>,
    /// Everything as text.
    pub lines: Vec<String>,
}

/// The launcher of the recording, else a table.
pub fn default_form(subject: &PlacementInput) -> PlacementFormat {
    let header = subject.recording.as_ref().map(|recording| &recording.header);
    header
        .and_then(|header| MpiLauncher::detect(&header.command, &header.mpi.library))
        .map_or(PlacementFormat::Table, PlacementFormat::Launcher)
}

/// The placement for a launcher; an error if it would not know the hosts.
pub fn launcher_output<'a>(
    form: PlacementFormat,
    binding: CoreBinding,
    room: &'a AvailableHosts,
    found: &'a PlacementProposal,
) -> Result<PlacementLaunch<'a>, Error> {
    let launcher = match form {
        PlacementFormat::Launcher(_) if !room.is_named => {
            return Err(Error::Hosts(
                "the machine file has no host names, so a launcher would not find them: add `hosts = [\"…\"]` to [[node]], \
                 or use --hosts NAME:SLOTS,…; --launcher table writes host numbers"
                    .into(),
            ));
        }
        PlacementFormat::Launcher(launcher) => launcher,
        PlacementFormat::Table | PlacementFormat::Json => MpiLauncher::OpenMpi4,
    };
    Ok(PlacementLaunch { launcher, binding, placement: &found.proposed.placement, cluster: &room.cluster })
}

/// The written file, with the command to use it.
pub fn describe_written(path: &Path, form: PlacementFormat, launch: &PlacementLaunch, subject: &PlacementInput) -> WrittenPlacement {
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
    let typed = |words: &[&str]| shell_command(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
    let variable = |(variable, value): &(String, String)| format!("{variable}={} ", typed(&[value]));
    let variables: String = command.environment.iter().map(variable).collect();
    let record = typed(&["sintonia", "record", "-o", &placed, "--"]);
    [format!("{variables}{record} {}", shell_command(&command.words)), typed(&["sintonia", "report", name, &placed])]
}
