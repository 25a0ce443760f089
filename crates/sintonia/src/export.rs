//! `sintonia export`: writes a recording in the format of another tool.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use sintonia_formats::{
    ExportSummary, chrome, collapsed, csv, dimemas, firefox, goal, otf2, paraver, parquet, perfetto, pprof, smpi, speedscope,
};
use sintonia_recording::Recording;

use crate::error::usage_error;
use crate::progress::ProgressBar;
use crate::{Error, graph, help, output, text};

/// Arguments of `sintonia export`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia export hello.sin -o hello.pftrace"))]
pub(crate) struct ExportArgs {
    /// Recording
    #[arg(value_name = "NAME.sin")]
    recording: PathBuf,
    /// Output format [default: from the file extension]
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Option<ExportFormat>,
    /// Output file: .otf2, .prv, .prv.gz, .pftrace, .json (Chrome), .parquet, .csv, .goal, .dim, .ti (SMPI), .graph (METIS),
    /// .speedscope.json, .collapsed, .pb.gz (pprof) or .firefox.json [default: the name of the recording, with the extension of --to]
    #[arg(short, long, value_name = "PATH", required_unless_present = "to")]
    output: Option<PathBuf>,
    /// With --to collapsed: the rank is the outermost frame of each stack
    #[arg(long)]
    by_rank: bool,
    /// With --to otf2: leave out samples; calls are then ENTER and LEAVE events, not CALLING_CONTEXT_ENTER and _LEAVE
    #[arg(long)]
    no_samples: bool,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A trace or graph format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// For Score-P, Scalasca and Vampir
    Otf2,
    /// For Paraver and its tools
    Paraver,
    /// For ui.perfetto.dev
    Perfetto,
    /// For chrome://tracing, as JSON
    Chrome,
    /// Table for pandas, polars and DuckDB
    Parquet,
    /// Table as text
    Csv,
    /// Schedule for LogGOPSim and ATLAHS
    Goal,
    /// Trace for the Dimemas simulator
    Dimemas,
    /// Time-independent trace for SimGrid's SMPI
    Smpi,
    /// Communication graph, as from `sintonia graph`
    Metis,
    /// Sampled stacks, for speedscope.app
    Speedscope,
    /// Sampled stacks as text, for flamegraph.pl and inferno
    Collapsed,
    /// Sampled stacks, for `go tool pprof`
    Pprof,
    /// Sampled stacks, for profiler.firefox.com
    Firefox,
}

/// Formats by file extension. An extension that ends like another one comes before it; the first one of a format is its default.
const EXTENSIONS: &[(&str, ExportFormat)] = &[
    (".otf2", ExportFormat::Otf2),
    (".prv", ExportFormat::Paraver),
    (".prv.gz", ExportFormat::Paraver),
    (".pftrace", ExportFormat::Perfetto),
    (".perfetto-trace", ExportFormat::Perfetto),
    (".speedscope.json", ExportFormat::Speedscope),
    (".firefox.json", ExportFormat::Firefox),
    (".json", ExportFormat::Chrome),
    (".parquet", ExportFormat::Parquet),
    (".csv", ExportFormat::Csv),
    (".goal", ExportFormat::Goal),
    (".dim", ExportFormat::Dimemas),
    (".ti", ExportFormat::Smpi),
    (".graph", ExportFormat::Metis),
    (".metis", ExportFormat::Metis),
    (".collapsed", ExportFormat::Collapsed),
    (".folded", ExportFormat::Collapsed),
    (".pb.gz", ExportFormat::Pprof),
    (".pprof", ExportFormat::Pprof),
];

/// The maximum number of incomplete ranks that are named.
const MAX_NAMED_RANKS: usize = 8;

/// Runs `sintonia export`.
pub(crate) fn run(args: ExportArgs) -> Result<ExitCode, Error> {
    let format = args.chosen_format().unwrap_or_else(|| {
        let endings: Vec<&str> = EXTENSIONS.iter().map(|(ending, _)| *ending).collect();
        let path = args.output.as_deref().unwrap_or(Path::new(""));
        let message = format!("{}: unknown format: use --to, or one of the extensions {}", path.display(), endings.join(", "));
        usage_error(message)
    });
    if args.by_rank && format != ExportFormat::Collapsed {
        usage_error("--by-rank is for --to collapsed")
    }
    if args.no_samples && format != ExportFormat::Otf2 {
        usage_error("--no-samples is for --to otf2")
    }
    let path = args.output_path(format);
    let device = check_output(&path, format, args.force)?;
    let recording = Recording::open(&args.recording)?;
    let mut written = match write_recording(&args, format, &recording, &path) {
        Err(error) if device && error.is_broken_pipe() => return Ok(ExitCode::SUCCESS),
        written => written?,
    };
    written.notes.extend(incomplete_note(&recording));
    let say = |out: &mut dyn Write| if args.json { print_written_json(out, format, &written) } else { print_written(out, &written) };
    // Writing to a device may mean standard output.
    if device {
        say(&mut io::stderr())?
    } else {
        output::write_stdout(say)?
    }
    Ok(ExitCode::SUCCESS)
}

impl ExportArgs {
    fn chosen_format(&self) -> Option<ExportFormat> {
        let by_extension = || {
            let name = self.output.as_deref()?.file_name()?.to_string_lossy().to_lowercase();
            EXTENSIONS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, format)| *format)
        };
        self.to.or_else(by_extension)
    }

    /// Where to write; by default in the current folder, under the name of the recording.
    fn output_path(&self, format: ExportFormat) -> PathBuf {
        let default_path = || {
            let name = self.recording.file_stem().unwrap_or_default().to_string_lossy();
            let ending = EXTENSIONS.iter().find(|(_, known)| *known == format).map_or("", |(ending, _)| ending);
            PathBuf::from(format!("{name}{ending}"))
        };
        self.output.clone().unwrap_or_else(default_path)
    }
}

/// Whether the path is a device or a pipe; an error if an existing file would be overwritten.
fn check_output(path: &Path, format: ExportFormat, force: bool) -> Result<bool, Error> {
    let refused = |path: &Path, why: &str| Err(Error::Other(format!("{} {why}", path.display())));
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => return refused(path, "is a directory: give a file name"),
        Ok(there) if there.is_file() => {}
        Ok(_) if matches!(format, ExportFormat::Otf2 | ExportFormat::Paraver | ExportFormat::Dimemas | ExportFormat::Smpi) => {
            return refused(path, "is not a regular file, which this format needs");
        }
        Ok(_) => return Ok(true),
        Err(_) => {}
    }
    let files = match format {
        ExportFormat::Otf2 => otf2::output_paths(path)?.to_vec(),
        ExportFormat::Paraver => paraver::output_paths(path)?.to_vec(),
        ExportFormat::Smpi => smpi::output_paths(path)?.to_vec(),
        _ => vec![path.to_owned()],
    };
    match files.iter().find(|file| file.exists()) {
        Some(file) if !force => refused(file, "already exists: replace it with --force"),
        _ => Ok(false),
    }
}

fn write_recording(args: &ExportArgs, format: ExportFormat, recording: &Recording, path: &Path) -> Result<ExportSummary, Error> {
    let write = match format {
        ExportFormat::Otf2 if args.no_samples => otf2::write_without_samples,
        ExportFormat::Otf2 => otf2::write,
        ExportFormat::Paraver => paraver::write,
        ExportFormat::Perfetto => perfetto::write,
        ExportFormat::Chrome => chrome::write,
        ExportFormat::Parquet => parquet::write,
        ExportFormat::Csv => csv::write,
        ExportFormat::Goal => goal::write,
        ExportFormat::Dimemas => dimemas::write,
        ExportFormat::Smpi => smpi::write,
        ExportFormat::Metis => return write_metis_graph(args, recording, path),
        ExportFormat::Speedscope => speedscope::write,
        ExportFormat::Collapsed if args.by_rank => collapsed::write_by_rank,
        ExportFormat::Collapsed => collapsed::write,
        ExportFormat::Pprof => pprof::write,
        ExportFormat::Firefox => firefox::write,
    };
    let progress = ProgressBar::new("writing ranks", recording.header.ranks.len());
    Ok(write(recording, path, &|| progress.step())?)
}

/// Writes the communication graph like `sintonia graph`, which also works for profiles.
fn write_metis_graph(args: &ExportArgs, recording: &Recording, path: &Path) -> Result<ExportSummary, Error> {
    graph::write_metis(&args.recording, recording, path)?;
    let bytes = fs::metadata(path).map_or(0, |file| file.len());
    Ok(ExportSummary { files: vec![path.to_owned()], bytes, notes: Vec::new() })
}

/// The incomplete ranks, in one sentence.
fn incomplete_note(recording: &Recording) -> Option<String> {
    let ranks = recording.incomplete_ranks();
    let named: Vec<String> = ranks.iter().take(MAX_NAMED_RANKS).map(|(rank, why)| format!("rank {rank} ({why})")).collect();
    let more = ranks.len().saturating_sub(MAX_NAMED_RANKS);
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!ranks.is_empty()).then(|| format!("incomplete: {}{others}", named.join(", ")))
}

fn print_written(out: &mut dyn Write, written: &ExportSummary) -> io::Result<()> {
    writeln!(out, "wrote {}: {}", file_names(written).join(", "), text::format_bytes(written.bytes))?;
    written.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}

fn print_written_json(out: &mut dyn Write, format: ExportFormat, written: &ExportSummary) -> io::Result<()> {
    let name = clap::ValueEnum::to_possible_value(&format).map(|value| value.get_name().to_owned());
    output::write_json_line(out, &json!({"format": name, "files": file_names(written), "bytes": written.bytes, "notes": written.notes}))
}

/// The files as the user would name them.
fn file_names(written: &ExportSummary) -> Vec<String> {
    written.files.iter().map(|file| file.strip_prefix(".").unwrap_or(file).display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(output: Option<&str>, to: Option<ExportFormat>) -> ExportArgs {
        ExportArgs {
            recording: "runs/a.sin".into(),
            to,
            output: output.map(Into::into),
            by_rank: false,
            no_samples: false,
            force: false,
            json: false,
        }
    }

    fn format(path: &str, to: Option<ExportFormat>) -> Option<ExportFormat> {
        args(Some(path), to).chosen_format()
    }

    #[test]
    fn the_default_output_is_named_after_the_recording() {
        let path = |output, format| args(output, Some(format)).output_path(format).display().to_string();
        assert_eq!(path(None, ExportFormat::Speedscope), "a.speedscope.json");
        assert_eq!(path(None, ExportFormat::Pprof), "a.pb.gz");
        assert_eq!(path(Some("b.x"), ExportFormat::Pprof), "b.x");
        for (_, format) in EXTENSIONS {
            assert_eq!(args(Some(&path(None, *format)), None).chosen_format(), Some(*format));
        }
    }

    #[test]
    fn the_ending_says_the_format_unless_told() {
        for (ending, expected) in EXTENSIONS {
            assert_eq!(format(&format!("folder.d/a{ending}"), None), Some(*expected));
        }
        assert_eq!(format("a.PRV.GZ", None), Some(ExportFormat::Paraver));
        assert_eq!(format("a.json", Some(ExportFormat::Csv)), Some(ExportFormat::Csv));
        assert_eq!(format("a.txt", None), None);
    }

    #[test]
    fn what_is_there_stays_unless_forced_and_folders_always() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.csv");
        assert!(!check_output(&file, ExportFormat::Csv, false).unwrap());
        fs::write(&file, "old").unwrap();
        assert!(
            check_output(&file, ExportFormat::Csv, false).unwrap_err().to_string().ends_with("already exists: replace it with --force")
        );
        assert!(!check_output(&file, ExportFormat::Csv, true).unwrap());
        assert!(check_output(folder.path(), ExportFormat::Csv, true).is_err());
        assert!(check_output(Path::new("/dev/null"), ExportFormat::Csv, false).unwrap());
        assert!(check_output(Path::new("/dev/null"), ExportFormat::Otf2, false).is_err());
    }

    #[test]
    fn what_is_there_beside_it_stays_too() {
        let folder = tempfile::tempdir().unwrap();
        for (file, format, beside) in [
            ("a.otf2", ExportFormat::Otf2, "a.def"),
            ("b.prv.gz", ExportFormat::Paraver, "b.row"),
            ("c.ti", ExportFormat::Smpi, "c.ti_files"),
        ] {
            let (file, beside) = (folder.path().join(file), folder.path().join(beside));
            assert!(!check_output(&file, format, false).unwrap());
            fs::write(&beside, "mine").unwrap();
            let refused = check_output(&file, format, false).unwrap_err().to_string();
            assert_eq!(refused, format!("{} already exists: replace it with --force", beside.display()));
            assert!(!check_output(&file, format, true).unwrap());
        }
    }
}
