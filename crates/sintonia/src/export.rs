//! `sintonia export`: a recording for the tools that people already use.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use serde_json::json;
use sintonia_formats::{Written, chrome, csv, goal, otf2, paraver, parquet, perfetto};
use sintonia_recording::Recording;

use crate::progress::Progress;
use crate::{Error, graph, help, output, text};

/// What `sintonia export` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia export hello.sin -o hello.pftrace"))]
pub struct Arguments {
    /// The recording
    #[arg(value_name = "NAME.sin")]
    recording: PathBuf,
    /// The format; else the ending of PATH says it
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<Format>,
    /// The file to write: .otf2, .prv, .prv.gz, .pftrace, .json (Chrome), .parquet, .csv, .goal or .graph (METIS)
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    /// Say what was written as one JSON object
    #[arg(long)]
    json: bool,
}

/// A format of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Score-P, Scalasca, Vampir
    Otf2,
    /// Paraver and its relatives
    Paraver,
    /// ui.perfetto.dev
    Perfetto,
    /// chrome://tracing, in JSON
    Chrome,
    /// A table for pandas, polars, DuckDB
    Parquet,
    /// A table as text
    Csv,
    /// A schedule for LogGOPSim and ATLAHS
    Goal,
    /// The communication graph, as `sintonia graph` writes it
    Metis,
}

/// What the ends of file names stand for.
const ENDINGS: &[(&str, Format)] = &[
    (".otf2", Format::Otf2),
    (".prv", Format::Paraver),
    (".prv.gz", Format::Paraver),
    (".pftrace", Format::Perfetto),
    (".perfetto-trace", Format::Perfetto),
    (".json", Format::Chrome),
    (".parquet", Format::Parquet),
    (".csv", Format::Csv),
    (".goal", Format::Goal),
    (".graph", Format::Metis),
    (".metis", Format::Metis),
];

/// Incomplete ranks that are named; of the others there is only the number.
const MOST_NAMED: usize = 8;

/// Writes the recording in the other format.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let path = &arguments.output;
    let format = arguments.format().unwrap_or_else(|| {
        let endings: Vec<&str> = ENDINGS.iter().map(|(ending, _)| *ending).collect();
        let message = format!("{} does not say the format: give --to, or one of the endings {}", path.display(), endings.join(", "));
        crate::Command::command().error(ErrorKind::MissingRequiredArgument, message).exit()
    });
    let device = check(path, format, arguments.force)?;
    let recording = Recording::open(&arguments.recording)?;
    let mut written = write(&arguments, format, &recording)?;
    written.notes.extend(incomplete(&recording));
    let say = |out: &mut dyn Write| if arguments.json { say_json(out, format, &written) } else { say(out, &written) };
    // Whoever writes to a device may well mean standard output.
    if device {
        say(&mut io::stderr())?
    } else {
        output::to_stdout(say)?
    }
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn format(&self) -> Option<Format> {
        let name = self.output.file_name()?.to_string_lossy().to_lowercase();
        self.to.or_else(|| ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| *format))
    }
}

/// Whether the path is a device or a pipe; an error if something is there that must stay.
fn check(path: &Path, format: Format, force: bool) -> Result<bool, Error> {
    let refused = |why: &str| Err(Error::Other(format!("{} {why}", path.display())));
    match fs::metadata(path) {
        Err(_) => Ok(false),
        Ok(there) if there.is_dir() => refused("is a folder: give the name of a file"),
        Ok(there) if there.is_file() && !force => refused("is there already: --force replaces it"),
        Ok(there) if there.is_file() => Ok(false),
        Ok(_) if matches!(format, Format::Otf2 | Format::Paraver) => refused("is no place for a format of several files"),
        Ok(_) => Ok(true),
    }
}

fn write(arguments: &Arguments, format: Format, recording: &Recording) -> Result<Written, Error> {
    let path = &arguments.output;
    let write = match format {
        Format::Otf2 => otf2::write,
        Format::Paraver => paraver::write,
        Format::Perfetto => perfetto::write,
        Format::Chrome => chrome::write,
        Format::Parquet => parquet::write,
        Format::Csv => csv::write,
        Format::Goal => goal::write,
        Format::Metis => return write_graph(arguments),
    };
    let progress = Progress::new("writing ranks", recording.header.ranks.len());
    write(recording, path, &|| progress.step()).map_err(|error| Error::Other(error.to_string()))
}

/// The verb that writes graphs, told in its own words.
#[derive(Parser)]
struct Graph {
    #[command(flatten)]
    arguments: graph::Arguments,
}

fn write_graph(arguments: &Arguments) -> Result<Written, Error> {
    let mut words: Vec<OsString> = ["graph", "--communication", "--format=metis", "--output"].map(OsString::from).to_vec();
    words.extend([&arguments.output, Path::new("--"), &arguments.recording].map(OsString::from));
    let graph = Graph::try_parse_from(words).map_err(|error| Error::Other(error.to_string()))?;
    graph::run(graph.arguments)?;
    let bytes = fs::metadata(&arguments.output).map_or(0, |file| file.len());
    Ok(Written { files: vec![arguments.output.clone()], bytes, notes: Vec::new() })
}

/// The ranks of which not everything is there, in one sentence.
fn incomplete(recording: &Recording) -> Option<String> {
    let ranks = recording.incomplete_ranks();
    let named: Vec<String> = ranks.iter().take(MOST_NAMED).map(|(rank, why)| format!("rank {rank} ({why})")).collect();
    let more = ranks.len().saturating_sub(MOST_NAMED);
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!ranks.is_empty()).then(|| format!("incomplete: {}{others}", named.join(", ")))
}

fn say(out: &mut dyn Write, written: &Written) -> io::Result<()> {
    writeln!(out, "wrote {}: {}", files(written).join(", "), text::bytes(written.bytes))?;
    written.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}

fn say_json(out: &mut dyn Write, format: Format, written: &Written) -> io::Result<()> {
    let name = clap::ValueEnum::to_possible_value(&format).map(|value| value.get_name().to_owned());
    output::json_line(out, &json!({"format": name, "files": files(written), "bytes": written.bytes, "notes": written.notes}))
}

/// The files as the user would name them.
fn files(written: &Written) -> Vec<String> {
    written.files.iter().map(|file| file.strip_prefix(".").unwrap_or(file).display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(path: &str, to: Option<Format>) -> Option<Format> {
        Arguments { recording: "a.sin".into(), to, output: path.into(), force: false, json: false }.format()
    }

    #[test]
    fn the_ending_says_the_format_unless_told() {
        for (ending, expected) in ENDINGS {
            assert_eq!(format(&format!("folder.d/a{ending}"), None), Some(*expected));
        }
        assert_eq!(format("a.PRV.GZ", None), Some(Format::Paraver));
        assert_eq!(format("a.json", Some(Format::Csv)), Some(Format::Csv));
        assert_eq!(format("a.txt", None), None);
    }

    #[test]
    fn what_is_there_stays_unless_forced_and_folders_always() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        assert!(!check(&file, Format::Csv, false).unwrap());
        fs::write(&file, "old").unwrap();
        assert!(check(&file, Format::Csv, false).unwrap_err().to_string().ends_with("is there already: --force replaces it"));
        assert!(!check(&file, Format::Csv, true).unwrap());
        assert!(check(folder.path(), Format::Csv, true).is_err());
        assert!(check(Path::new("/dev/null"), Format::Csv, false).unwrap());
        assert!(check(Path::new("/dev/null"), Format::Otf2, false).is_err());
    }
}
