//! `sintonia replay`: replays a recorded run on another machine, or with changes.

mod display;
mod foreign_trace;
mod scaled_ranks;
mod sweeps;

use std::path::PathBuf;
use std::process::ExitCode;

use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_recording::header::RecordingHeader;
use sintonia_replay::core_shortage_note::KnownCoreWaits;
use sintonia_replay::report::ReplayReport;
use sintonia_replay::scenario::ReplayScenario;
use sintonia_replay::sweep::Sweep;
use sintonia_replay::what_if::WhatIf;

use crate::error::usage_error;
use crate::{Error, help, output};

/// Arguments of `sintonia replay`.
#[derive(clap::Args)]
#[command(after_help = help::example!("sintonia replay hello.sin --what-if latency=0,bandwidth=inf"))]
pub(crate) struct ReplayArgs {
    /// Recording, or a file of another tool: .goal or .bin (LogGOPSim), .dim (Dimemas), a list of SMPI traces; with --ranks, several
    /// recordings of one program with different numbers of ranks
    #[arg(value_name = "NAME.sin", required = true)]
    recordings: Vec<PathBuf>,
    /// Machine to replay on [default: the network as recorded]
    #[arg(short, long, value_name = "NAME.machine.toml")]
    machine: Option<PathBuf>,
    /// Changes: latency=10us, bandwidth=x2, balance=perfect, "segment lu.f:310 x0.5", contention=off, eager=64KiB, algorithm.allreduce=ring,
    /// placement=cyclic, nodes=4, noise=5%, compute=x0.5, cores=recorded; separate several with commas or repeat the option
    #[arg(short, long, value_name = "CHANGE")]
    what_if: Vec<String>,
    /// Sweep a change over a range: latency=1us..1ms; given twice, a two-dimensional map
    #[arg(long, value_name = "NAME=FIRST..LAST")]
    sweep: Vec<String>,
    /// Replay the program with N ranks, on a machine
    #[arg(long, value_name = "N", requires = "machine")]
    ranks: Option<u32>,
    /// With --ranks: the work per rank is constant (weak), or the total work is (strong)
    #[arg(long, value_enum, value_name = "KIND", requires = "ranks")]
    scaling: Option<scaled_ranks::ScalingArg>,
    /// With --ranks: override the process grid inferred from the recordings, for example 16x64
    #[arg(long, value_name = "AxB", requires = "ranks", value_parser = scaled_ranks::parse_grid)]
    grid: Option<scaled_ranks::GridSides>,
    /// With --ranks: sample computation times from their recorded distribution instead of using the mean
    #[arg(long, requires = "ranks")]
    scatter: bool,
    /// Write the replayed run as a recording
    #[arg(short, long, value_name = "NAME.sin")]
    output: Option<PathBuf>,
    /// Replace an existing recording
    #[arg(long)]
    force: bool,
    /// Also report the sensitivity to latency and bandwidth
    #[arg(long)]
    sensitivity: bool,
    /// GOAL schedules: how they are simulated [default: engine if a change, a sweep, a topology, -o or --sensitivity needs it, else loggops]
    #[arg(long, value_enum, value_name = "KIND")]
    simulator: Option<foreign_trace::GoalSimulatorArg>,
    /// SMPI traces: speed of the machine in floating point operations per second
    #[arg(long, value_name = "FLOPS", default_value_t = 1e9)]
    flops: f64,
    /// Plot the sweep
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is replayed, with its metadata.
struct ReplaySubject<'a> {
    name: String,
    /// Whether it was actually executed, and has recorded times.
    was_executed: bool,
    notes: Vec<String>,
    /// Share of the recorded time in which ranks waited for a core, where that cannot be removed because it is not known when.
    kept_core_wait_share: f64,
    /// The header of a recording written from it.
    header: &'a dyn Fn() -> RecordingHeader,
}

/// Runs `sintonia replay`.
pub(crate) fn run(args: ReplayArgs) -> Result<ExitCode, Error> {
    let what_ifs: Vec<WhatIf> =
        args.what_if.iter().flat_map(|text| WhatIf::parse(text).unwrap_or_else(|error| usage_error(error))).collect();
    let sweeps: Vec<Sweep> = args.sweep.iter().map(|text| Sweep::parse(text).unwrap_or_else(|error| usage_error(error))).collect();
    if sweeps.len() > 2 {
        usage_error("--sweep can be given at most twice");
    }
    if !sweeps.is_empty() && (args.output.is_some() || args.sensitivity) {
        usage_error("-o and --sensitivity cannot be combined with --sweep");
    }
    if args.svg.is_some() && sweeps.is_empty() {
        usage_error("--svg requires --sweep");
    }
    if let Some(path) = &args.output {
        output::check_replaceable(path, args.force)?;
    }
    let machine = args.machine.as_deref().map(Machine::read_widened).transpose().map_err(|error| Error::Other(format!("{error}")))?;
    if let (Some(count), Some(machine)) = (args.ranks, &machine) {
        return scaled_ranks::run(&args, count, machine, what_ifs, &sweeps);
    }
    let [path] = &args.recordings[..] else { usage_error("only one recording can be replayed at a time") };
    if path.is_file() {
        return foreign_trace::run(&args, path, machine, what_ifs, &sweeps);
    }
    let recording = Recording::open(path)?;
    if recording.header.profile {
        return Err(Error::Other(format!(
            "{} is a profile (record --profile): to replay it, record it again without --profile",
            path.display()
        )));
    }
    let case = ReplayScenario { schedule: &recording, bounds: None, machine, what_ifs };
    let header = || recording.header.clone();
    let core_waits = KnownCoreWaits::from_recording(&recording, &case.what_ifs)?;
    let subject = ReplaySubject {
        name: path.display().to_string(),
        was_executed: true,
        notes: core_waits.notes,
        kept_core_wait_share: core_waits.kept_share,
        header: &header,
    };
    replay_and_print(&args, &case, &sweeps, subject)
}

/// Replays a case, and prints the result.
fn replay_and_print(args: &ReplayArgs, case: &ReplayScenario, sweeps: &[Sweep], subject: ReplaySubject) -> Result<ExitCode, Error> {
    let ReplaySubject { name, was_executed: was_run, notes, kept_core_wait_share, header } = subject;
    if let [first, others @ ..] = sweeps {
        return sweeps::run(args, case, first, others.first(), &notes);
    }
    let mut findings = case.run()?;
    findings.seconds[0] *= 1.0 - kept_core_wait_share;
    let sensitivity = args.sensitivity.then(|| case.sensitivity()).transpose()?;
    if let Some(into) = &args.output {
        case.write_recording(header(), into)?;
    }
    let shown = ReplayReport {
        name,
        was_executed: was_run,
        ranks: case.schedule.ranks(),
        machine: case.machine.as_ref(),
        changes: &args.what_if,
        findings,
        sensitivity,
        written: args.output.as_deref(),
        notes,
    };
    output::write_stdout(|out| match args.json {
        true => output::write_json_line(out, &shown.to_json()),
        false => write!(out, "{}", display::render(&shown)),
    })?;
    Ok(ExitCode::SUCCESS)
}
