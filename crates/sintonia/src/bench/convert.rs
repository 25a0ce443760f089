//! Checks and prints existing machine files, and converts them for other tools.

use std::path::Path;
use std::process::ExitCode;

use sintonia_machine::{Machine, dimemas, simgrid};

use super::{BenchArgs, check_output, print_machine, write_machine};
use crate::{Error, output};

/// A machine file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum MachineFormat {
    /// Sintonia's machine file
    Toml,
    /// Platform file with SMPI properties, for SimGrid
    Simgrid,
    /// Configuration file for Dimemas
    Dimemas,
}

/// Formats by file extension.
const EXTENSIONS: [(&str, MachineFormat); 3] =
    [(".toml", MachineFormat::Toml), (".xml", MachineFormat::Simgrid), (".cfg", MachineFormat::Dimemas)];

fn format_from_path(path: &Path) -> Option<MachineFormat> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    EXTENSIONS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| *format)
}

/// Reads a file, and converts or prints it.
pub(super) fn run(args: &BenchArgs, from: &Path) -> Result<ExitCode, Error> {
    let machine = read_machine(from)?;
    let Some(path) = &args.output else { return print_machine(&machine, from, args.json) };
    let format = args.to.or_else(|| format_from_path(path)).ok_or_else(|| {
        let endings: Vec<&str> = EXTENSIONS.iter().map(|(ending, _)| *ending).collect();
        Error::Other(format!("{}: unknown format: use --to, or one of the extensions {}", path.display(), endings.join(", ")))
    })?;
    check_output(path, args.force)?;
    let text = match format {
        MachineFormat::Toml => return write_machine(&machine, path).map(|()| ExitCode::SUCCESS),
        MachineFormat::Simgrid => simgrid::to_platform(&machine).map_err(|error| Error::Other(error.to_string()))?,
        MachineFormat::Dimemas => dimemas::to_config(&machine).map_err(|error| Error::Other(error.to_string()))?,
    };
    output::write_file(path, |out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a machine file, or one of another tool.
pub(super) fn read_machine(path: &Path) -> Result<Machine, Error> {
    let other = |error: sintonia_machine::Error| Error::Other(error.to_string());
    let text = || std::fs::read_to_string(path).map_err(|error| Error::Other(format!("{}: {error}", path.display())));
    match format_from_path(path) {
        Some(MachineFormat::Simgrid) => simgrid::parse(&text()?, path).map_err(other),
        Some(MachineFormat::Dimemas) => dimemas::parse(&text()?, path).map_err(other),
        Some(MachineFormat::Toml) | None => Machine::read(path).map_err(other),
    }
}
