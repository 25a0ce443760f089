//! Machine files that are there already: checked, shown, and written for other tools.

use std::path::Path;
use std::process::ExitCode;

use sintonia_machine::{Machine, dimemas, simgrid};

use super::{Arguments, may_write, show};
use crate::{Error, output};

/// A format of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Sintonia's own
    Toml,
    /// A platform with the keys of SMPI, for SimGrid
    Simgrid,
    /// A configuration for Dimemas
    Dimemas,
}

/// What the ends of file names stand for.
const ENDINGS: [(&str, Format); 3] = [(".toml", Format::Toml), (".xml", Format::Simgrid), (".cfg", Format::Dimemas)];

fn of_name(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_string_lossy().to_lowercase();
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| *format)
}

/// Reads a file, and writes it or shows it.
pub fn run(arguments: &Arguments, from: &Path) -> Result<ExitCode, Error> {
    let machine = read(from)?;
    let Some(path) = &arguments.output else { return show(&machine, from, arguments.json) };
    let format = arguments.to.or_else(|| of_name(path)).ok_or_else(|| {
        let endings: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
        Error::Other(format!("{} does not say the format: give --to, or one of the endings {}", path.display(), endings.join(", ")))
    })?;
    may_write(path, arguments.force)?;
    let text = match format {
        Format::Toml => machine.to_text(),
        Format::Simgrid => simgrid::text(&machine).map_err(|error| Error::Other(error.to_string()))?,
        Format::Dimemas => dimemas::text(&machine).map_err(|error| Error::Other(error.to_string()))?,
    };
    output::to_file(path, |out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a machine file, or one of another tool.
pub fn read(path: &Path) -> Result<Machine, Error> {
    let other = |error: sintonia_machine::Error| Error::Other(error.to_string());
    let text = || std::fs::read_to_string(path).map_err(|error| Error::Other(format!("{}: {error}", path.display())));
    match of_name(path) {
        Some(Format::Simgrid) => simgrid::parse(&text()?, path).map_err(other),
        Some(Format::Dimemas) => dimemas::parse(&text()?, path).map_err(other),
        Some(Format::Toml) | None => Machine::read(path).map_err(other),
    }
}
