//! `sintonia bench`: measures what computing and communicating cost here, and writes it to a machine file; also checks, shows and converts
//! such files.

mod convert;
mod date;
mod inside;
mod java;
pub mod json;
mod launch;
mod screen;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sintonia_machine::bench::{Launch, Settings, assemble};
use sintonia_machine::{About, Machine};
use sintonia_mpi::Timed;

use crate::error::wrong_usage;
use crate::{Error, output, text};

/// What `sintonia bench` is told.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sintonia bench --quick                                      # this machine, in half a minute\n  \
    sintonia bench -o two.machine.toml -- mpirun -n 2 --map-by node\n  \
    sintonia bench --from two.machine.toml --to simgrid -o two.xml\n  \
    sintonia bench --java --from two.machine.toml               # adds what Java costs here")]
pub struct Arguments {
    /// The machine file to write [default: the host's name with .machine.toml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
    /// One launch, fewer sizes, messages up to 256 KiB: under 30 seconds in all
    #[arg(long)]
    quick: bool,
    /// How long measuring may take in all [default: 180, or 20 with --quick]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    budget: Option<u64>,
    /// How many times the launcher is started [default: 3, or 1 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=100))]
    launches: Option<u64>,
    /// The largest message [default: 4 MiB, or 256 KiB with --quick]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(64..=Timed::LARGEST as u64))]
    max_bytes: Option<u64>,
    /// What the order of measurements is drawn from
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    seed: u64,
    /// Show what was measured, or is in the file, as one JSON object
    #[arg(long)]
    json: bool,
    /// Measure nothing: check and show this machine file, or that of another tool. With --java: the file to add to
    #[arg(long, value_name = "FILE", conflicts_with_all = ["budget", "max_bytes", "seed", "launcher"])]
    from: Option<PathBuf>,
    /// Measure what operations cost in a Java virtual machine, and what a task of `run-tasks` costs on its way to a worker
    #[arg(long, conflicts_with_all = ["budget", "max_bytes", "to", "launcher"])]
    java: bool,
    /// Write it in this format [default: what the ending of the output says]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "from")]
    to: Option<convert::Format>,
    /// Be one of the processes that are measured
    #[arg(long, hide = true, value_name = "SETTINGS")]
    inside: Option<Settings>,
    /// Be the only one
    #[arg(long, hide = true)]
    alone: bool,
    /// What starts the processes to measure between: mpirun, srun … without a program [default: mpirun -n 2, if there is one]
    #[arg(last = true, value_name = "LAUNCHER")]
    launcher: Vec<OsString>,
}

/// Runs the verb.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    if let Some(settings) = &arguments.inside {
        return inside::run(settings, arguments.alone);
    }
    if arguments.java {
        return java::run(&arguments);
    }
    if let Some(from) = &arguments.from {
        if arguments.quick || arguments.launches.is_some() {
            wrong_usage("--from measures nothing, so --quick and --launches say nothing; with --java they do");
        }
        return convert::run(&arguments, from);
    }
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.machine.toml", host())));
    may_write(&path, arguments.force)?;
    let machine = measure(&arguments, &path)?;
    output::to_file(&path, |out| out.write_all(machine.to_text().as_bytes()))?;
    show(&machine, &path, arguments.json)
}

fn show(machine: &Machine, path: &Path, as_json: bool) -> Result<ExitCode, Error> {
    output::to_stdout(|out| if as_json { output::json_line(out, &json::machine(machine)) } else { screen::show(out, machine, path) })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a file may be written there, asked before minutes of measuring: an error if something is there that must stay.
fn may_write(path: &Path, force: bool) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Other(format!("{} {why}", path.display())));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match path {
        path if path.is_dir() => refused("is a folder: give the name of a file"),
        path if path.is_file() && !force => refused("is there already: choose another name with -o, or replace it with --force"),
        _ if folder.is_some_and(|folder| !folder.is_dir()) => refused("cannot be written: there is no such folder"),
        _ => Ok(()),
    }
}

fn measure(arguments: &Arguments, path: &Path) -> Result<Machine, Error> {
    let began = Instant::now();
    let count = arguments.launches.unwrap_or(if arguments.quick { 1 } else { 3 });
    let budget = Duration::from_secs(arguments.budget.unwrap_or(if arguments.quick { 20 } else { 180 }));
    let settings = |launch: u64| Settings {
        // Every launch has an order of its own.
        seed: arguments.seed.wrapping_add(launch),
        max_bytes: arguments.max_bytes.unwrap_or(if arguments.quick { 256 << 10 } else { 4 << 20 }),
        budget: budget / count as u32,
        quick: arguments.quick,
    };
    let settings: Vec<Settings> = (0..count).map(settings).collect();
    let mut notes = Vec::new();
    let (launcher, launches) = launched(&arguments.launcher, &settings, &mut notes)?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    notes.push(format!("measured in {}", text::seconds(began.elapsed().as_secs_f64())));
    let about = About {
        name: name.trim_end_matches(".toml").trim_end_matches(".machine").to_owned(),
        date: Some(date::today()),
        launcher,
        seed: Some(arguments.seed),
        notes,
        ..About::default()
    };
    assemble(&launches, about).map_err(|error| Error::Other(error.to_string()))
}

/// Measures with the launcher that is given, or one that is found, or without.
fn launched(given: &[OsString], settings: &[Settings], notes: &mut Vec<String>) -> Result<(Vec<String>, Vec<Launch>), Error> {
    if !given.is_empty() {
        let launches = launch::all(given, settings, launch::Voice::Heard)?;
        return Ok((given.iter().map(|word| word.to_string_lossy().into_owned()).collect(), launches));
    }
    match launch::found() {
        None => notes.push("no mpirun was found, so only computation and memory were measured".into()),
        Some(found) => match launch::all(&found, settings, launch::Voice::Kept) {
            Ok(launches) => return Ok((found.iter().map(|word| word.to_string_lossy().into_owned()).collect(), launches)),
            Err(error) => {
                eprintln!("sintonia: {error}\nsintonia: only computation and memory are measured");
                notes.push("mpirun -n 2 did not work, so only computation and memory were measured".into());
            }
        },
    }
    Ok((Vec::new(), launch::all(&[], settings, launch::Voice::Heard)?))
}

/// The name of this host, as a file can be called.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name.trim().chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    if name.is_empty() { "here".into() } else { name }
}
