//! `sintonia replay`: a recorded run on another machine, or with something changed.

mod foreign;
pub mod json;
mod ranks;
mod screen;
mod sweeps;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_recording::header::Header;
use sintonia_replay::Written;
use sintonia_replay::case::{Case, Findings, Sensitivity};
use sintonia_replay::sweep::Sweep;
use sintonia_replay::what_if::WhatIf;

use crate::error::wrong_usage;
use crate::{Error, help, output};

/// What `sintonia replay` is told.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia replay hello.sin --what-if latency=0,bandwidth=inf"))]
pub struct Arguments {
    /// The recording, or a file of another tool: .goal or .bin (LogGOPSim), .dim (Dimemas), a list of SMPI traces; with --ranks, several of the same program with other numbers of ranks
    #[arg(value_name = "NAME.sin", required = true)]
    recordings: Vec<PathBuf>,
    /// The machine to replay it on; without one, the network as it was recorded
    #[arg(short, long, value_name = "NAME.machine.toml")]
    machine: Option<PathBuf>,
    /// What should be different: latency=10us, bandwidth=x2, balance=perfect, "segment lu.f:310 x0.5", contention=off, eager=64KiB,
    /// algorithm.allreduce=ring, placement=cyclic, nodes=4, noise=5%, compute=x0.5; several with commas or given again
    #[arg(short, long, value_name = "CHANGE")]
    what_if: Vec<String>,
    /// A change over a range: latency=1us..1ms; given twice, a map of both
    #[arg(long, value_name = "NAME=FIRST..LAST")]
    sweep: Vec<String>,
    /// Replay the same program with so many ranks, on a machine
    #[arg(long, value_name = "N", requires = "machine")]
    ranks: Option<u32>,
    /// With --ranks: each rank has as much to do whatever their number (weak), or all together have (strong)
    #[arg(long, value_enum, value_name = "KIND", requires = "ranks")]
    scaling: Option<ranks::Scaling>,
    /// With --ranks: the sides of the grid of ranks, where they are to be others than those that follow from the recordings
    #[arg(long, value_name = "AxB", requires = "ranks", value_parser = ranks::sides)]
    grid: Option<ranks::Sides>,
    /// With --ranks: let single times scatter as they were recorded to, instead of all being the mean
    #[arg(long, requires = "ranks")]
    scatter: bool,
    /// Write the replayed run as a recording
    #[arg(short, long, value_name = "NAME.sin")]
    output: Option<PathBuf>,
    /// Replace a recording that is there already
    #[arg(long)]
    force: bool,
    /// Also say how much the time depends on latency and bandwidth
    #[arg(long)]
    sensitivity: bool,
    /// For SMPI traces: floating point operations per second of the machine that computes
    #[arg(long, value_name = "FLOPS", default_value_t = 1e9)]
    flops: f64,
    /// Draw the sweep
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Say it as one JSON object
    #[arg(long)]
    json: bool,
}

/// What is replayed, for those who read of it.
struct Subject<'a> {
    name: String,
    /// Whether somebody has run it, so that it has times of its own.
    was_run: bool,
    notes: Vec<String>,
    /// The header of a recording that is written of it.
    header: &'a dyn Fn() -> Header,
}

/// What was replayed and found.
pub struct Shown<'a> {
    /// The recording or file.
    pub name: String,
    /// Whether somebody has run it, so that it has times of its own.
    pub was_run: bool,
    /// How many ranks there are.
    pub ranks: u32,
    /// The machine; none for the network as it was recorded.
    pub machine: Option<&'a Machine>,
    /// What is different, as it was told.
    pub changes: &'a [String],
    /// What came of it.
    pub findings: Findings,
    /// What a little more latency and a little less bandwidth do, if that was asked for.
    pub sensitivity: Option<Sensitivity>,
    /// The recording that was written of it.
    pub written: Option<&'a Path>,
    /// What should be known besides.
    pub notes: Vec<String>,
}

/// Replays a recording.
pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let what_ifs: Vec<WhatIf> =
        arguments.what_if.iter().flat_map(|text| WhatIf::parse(text).unwrap_or_else(|error| wrong_usage(error))).collect();
    let sweeps: Vec<Sweep> = arguments.sweep.iter().map(|text| Sweep::parse(text).unwrap_or_else(|error| wrong_usage(error))).collect();
    if sweeps.len() > 2 {
        wrong_usage("a map has two sides: give --sweep at most twice");
    }
    if !sweeps.is_empty() && (arguments.output.is_some() || arguments.sensitivity) {
        wrong_usage("--sweep makes a table of many replays: -o and --sensitivity are for one");
    }
    if arguments.svg.is_some() && sweeps.is_empty() {
        wrong_usage("--svg draws a sweep: give --sweep as well");
    }
    if let Some(path) = &arguments.output {
        output::may_replace(path, arguments.force)?;
    }
    let machine = arguments.machine.as_deref().map(Machine::read).transpose().map_err(|error| Error::Other(format!("{error}")))?;
    if let (Some(count), Some(machine)) = (arguments.ranks, &machine) {
        return ranks::run(&arguments, count, machine, what_ifs, &sweeps);
    }
    let [path] = &arguments.recordings[..] else { wrong_usage("one recording is replayed at a time") };
    if path.is_file() {
        return foreign::run(&arguments, path, machine, what_ifs, &sweeps);
    }
    let recording = Recording::open(path)?;
    if recording.header.profile {
        return Err(Error::Other(format!(
            "{}: only sums were kept of this run (--profile): record it again without, to replay it",
            path.display()
        )));
    }
    let case = Case { schedule: &recording, ends: None, machine, what_ifs };
    let header = || recording.header.clone();
    show(&arguments, &case, &sweeps, Subject { name: path.display().to_string(), was_run: true, notes: Vec::new(), header: &header })
}

/// Replays a case, and shows what came of it.
fn show(arguments: &Arguments, case: &Case, sweeps: &[Sweep], subject: Subject) -> Result<ExitCode, Error> {
    let Subject { name, was_run, notes, header } = subject;
    if let [first, others @ ..] = sweeps {
        return sweeps::run(arguments, case, first, others.first(), &notes);
    }
    let findings = case.run()?;
    let sensitivity = arguments.sensitivity.then(|| case.sensitivity()).transpose()?;
    if let Some(into) = &arguments.output {
        write(case, header(), into)?;
    }
    let shown = Shown {
        name,
        was_run,
        ranks: case.schedule.ranks(),
        machine: case.machine.as_ref(),
        changes: &arguments.what_if,
        findings,
        sensitivity,
        written: arguments.output.as_deref(),
        notes,
    };
    output::to_stdout(|out| match arguments.json {
        true => output::json_line(out, &json::value(&shown)),
        false => write!(out, "{}", screen::show(&shown)),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the replayed run as a recording.
pub fn write(case: &Case, header: Header, into: &Path) -> Result<(), Error> {
    allow_many_files();
    let mut written = Written::begin(into, case.schedule.lines()?)?;
    case.write(&mut written)?;
    let mut header = header;
    header.notes.push("this run was not recorded but replayed".into());
    written.finish(header)?;
    Ok(())
}

/// Every rank has a file: as many may be open as the system lets us.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, opening the file that is one too many says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
