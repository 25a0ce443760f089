//! `sintonia export`: a recording for the tools that people already use.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sintonia_formats::{Written, chrome, csv, dimemas, goal, otf2, paraver, parquet, perfetto, smpi};
use sintonia_recording::Recording;

use crate::error::wrong_usage;
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
    /// The file to write: .otf2, .prv, .prv.gz, .pftrace, .json (Chrome), .parquet, .csv, .goal, .dim, .ti (SMPI) or .graph (METIS)
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
    /// A trace that Dimemas simulates
    Dimemas,
    /// A time-independent trace for SimGrid's SMPI
    Smpi,
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
    (".dim", Format::Dimemas),
    (".ti", Format::Smpi),
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
        wrong_usage(message)
    });
    let device = check(path, format, arguments.force)?;
    let recording = Recording::open(&arguments.recording)?;
    let mut written = match write(&arguments, format, &recording) {
        Err(error) if device && error.is_end_of_reading() => return Ok(ExitCode::SUCCESS),
        written => written?,
    };
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

/// Whether the path is a device or a pipe; an error if something is there, or beside it, that must stay.
fn check(path: &Path, format: Format, force: bool) -> Result<bool, Error> {
    let refused = |path: &Path, why: &str| Err(Error::Other(format!("{} {why}", path.display())));
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => return refused(path, "is a folder: give the name of a file"),
        Ok(there) if there.is_file() => {}
        Ok(_) if matches!(format, Format::Otf2 | Format::Paraver | Format::Dimemas | Format::Smpi) => {
            return refused(path, "is no place for a format of several files, or one that is not written in one go");
        }
        Ok(_) => return Ok(true),
        Err(_) => {}
    }
    let files = match format {
        Format::Otf2 => otf2::files(path)?.to_vec(),
        Format::Paraver => paraver::files(path)?.to_vec(),
        Format::Smpi => smpi::files(path)?.to_vec(),
        _ => vec![path.to_owned()],
    };
    match files.iter().find(|file| file.exists()) {
        Some(file) if !force => refused(file, "is there already: --force replaces it"),
        _ => Ok(false),
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
        Format::Dimemas => dimemas::write,
        Format::Smpi => smpi::write,
        Format::Metis => return write_graph(arguments, recording),
    };
    let progress = Progress::new("writing ranks", recording.header.ranks.len());
    Ok(write(recording, path, &|| progress.step())?)
}

/// Writes the communication graph as the verb for graphs does, which needs no calls: sums have one too.
fn write_graph(arguments: &Arguments, recording: &Recording) -> Result<Written, Error> {
    let path = &arguments.output;
    graph::write_metis(&arguments.recording, recording, path)?;
    let bytes = fs::metadata(path).map_or(0, |file| file.len());
    Ok(Written { files: vec![path.clone()], bytes, notes: Vec::new() })
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

    #[test]
    fn what_is_there_beside_it_stays_too() {
        let folder = tempfile::tempdir().unwrap();
        for (file, format, beside) in
            [("a.otf2", Format::Otf2, "a.def"), ("b.prv.gz", Format::Paraver, "b.row"), ("c.ti", Format::Smpi, "c.ti_files")]
        {
            let (file, beside) = (folder.path().join(file), folder.path().join(beside));
            assert!(!check(&file, format, false).unwrap());
            fs::write(&beside, "mine").unwrap();
            let refused = check(&file, format, false).unwrap_err().to_string();
            assert_eq!(refused, format!("{} is there already: --force replaces it", beside.display()));
            assert!(!check(&file, format, true).unwrap());
        }
    }
}
