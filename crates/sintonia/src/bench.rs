//! `sintonia bench`: measures the cost of computation and communication and writes a machine file; also checks, prints and converts machine
//! files.

mod convert;
mod display;
mod java;
mod launch;
mod measured_process;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sintonia_machine::bench::{BenchSettings, LaunchMeasurements, assemble, today};
use sintonia_machine::{Machine, MachineMetadata};
use sintonia_mpi::BenchmarkCalls;

use self::launch::BenchPlan;
use crate::error::usage_error;
use crate::{Error, output, text};

/// Arguments of `sintonia bench`.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    sintonia bench --quick                                      # this machine, in half a minute\n  \
    sintonia bench -o two.machine.toml -- mpirun -n 2 --map-by node\n  \
    sintonia bench --from two.machine.toml --to simgrid -o two.xml\n  \
    sintonia bench --java --from two.machine.toml               # adds Java costs")]
pub(crate) struct BenchArgs {
    /// Machine file to write [default: HOSTNAME.machine.toml]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Quick run: one launch, fewer sizes, messages up to 256 KiB; takes less than 30 seconds
    #[arg(long)]
    quick: bool,
    /// Time for everything, the start of the launcher included [default: 180, or 20 with --quick]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    budget: Option<u64>,
    /// How often to start the launcher [default: 3, or 1 with --quick]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..=100))]
    launches: Option<u64>,
    /// Largest message size [default: 4 MiB, or 256 KiB with --quick]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(64..=BenchmarkCalls::MAX_BYTES as u64))]
    max_bytes: Option<u64>,
    /// Seed of the random order of measurements
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64))]
    seed: u64,
    /// Write the file even if the measurement was too disturbed to be of use
    #[arg(long, conflicts_with_all = ["from", "java"])]
    allow_disturbed: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Measure nothing: check and print this machine file, which may be in another tool's format. With --java: the machine file to extend
    #[arg(long, value_name = "FILE", conflicts_with_all = ["budget", "max_bytes", "seed", "launcher"])]
    from: Option<PathBuf>,
    /// Measure the cost of operations in a Java virtual machine, and of sending a `run-tasks` task to a worker
    #[arg(long, conflicts_with_all = ["budget", "max_bytes", "to", "launcher"])]
    java: bool,
    /// Output format [default: from the file extension]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "from")]
    to: Option<convert::MachineFormat>,
    /// Run as one of the measured processes
    #[arg(long, hide = true, value_name = "SETTINGS")]
    inside: Option<BenchSettings>,
    /// Run as the only measured process
    #[arg(long, hide = true)]
    alone: bool,
    /// Launcher command for the measured processes, without a program (mpirun, srun, ...) [default: mpirun -n 2, if available]
    #[arg(last = true, value_name = "LAUNCHER")]
    launcher: Vec<OsString>,
}

/// Runs `sintonia bench`.
pub(crate) fn run(args: BenchArgs) -> Result<ExitCode, Error> {
    if let Some(settings) = &args.inside {
        return measured_process::run(settings, args.alone);
    }
    if args.java {
        return java::run(&args);
    }
    if let Some(from) = &args.from {
        if args.quick || args.launches.is_some() {
            usage_error("--quick and --launches have no effect with --from, unless with --java");
        }
        return convert::run(&args, from);
    }
    let path = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.machine.toml", host_file_name())));
    check_output(&path, args.force)?;
    let machine = measure(&args, &path)?;
    if !args.allow_disturbed {
        check_disturbance(&machine, &path)?;
    }
    write_machine(&machine, &path)?;
    if let Some(disturbance) = machine.metadata.disturbance.filter(|disturbance| *disturbance >= NOTED_DISTURBANCE) {
        eprintln!("sintonia: the measurement was disturbed, so costs may be {}", display::disturbance_text(disturbance));
    }
    print_machine(&machine, &path, args.json)
}

/// A disturbance that is worth a warning.
const NOTED_DISTURBANCE: f64 = 0.1;

/// With a larger disturbance there is no file: intervals of five times less to five times more say nothing. On a machine that others use,
/// it is below 1.
const MAX_DISTURBANCE: f64 = 4.0;

/// Refuses a machine whose measurement was too disturbed. Where processes shared cores, waiting for each other is what was measured.
fn check_disturbance(machine: &Machine, path: &Path) -> Result<(), Error> {
    let about = &machine.metadata;
    match about.disturbance.filter(|disturbance| *disturbance > MAX_DISTURBANCE && !about.oversubscribed) {
        None => Ok(()),
        Some(disturbance) => Err(Error::Other(format!(
            "{}: not written, since the measurement was disturbed: costs may be {}, \
             or write the file all the same with --allow-disturbed{}",
            path.display(),
            display::disturbance_text(disturbance),
            about.notes.iter().map(|note| format!("\n  {note}")).collect::<String>()
        ))),
    }
}

/// Writes a machine file, if it can be read back.
fn write_machine(machine: &Machine, path: &Path) -> Result<(), Error> {
    let text = machine.to_text();
    match Machine::parse(&text, path) {
        Ok(read) if read == *machine => output::write_file(path, |out| out.write_all(text.as_bytes())),
        Ok(_) => Err(Error::Other(format!("{}: not written, since it would be read back with other figures", path.display()))),
        Err(error) => Err(Error::Other(format!("not written, since it could not be read back: {error}"))),
    }
}

fn print_machine(machine: &Machine, path: &Path, as_json: bool) -> Result<ExitCode, Error> {
    output::write_stdout(
        |out| {
            if as_json { output::write_json_line(out, &machine.to_json()) } else { display::render(out, machine, path) }
        },
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Checks that a file can be written, before minutes of measuring.
fn check_output(path: &Path, force: bool) -> Result<(), Error> {
    let refused = |why: &str| Err(Error::Other(format!("{} {why}", path.display())));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match path {
        path if path.is_dir() => refused("is a directory: give a file name"),
        path if path.is_file() && !force => refused("already exists: choose another name with -o, or replace it with --force"),
        _ if folder.is_some_and(|folder| !folder.is_dir()) => refused("cannot be written: its directory does not exist"),
        _ => Ok(()),
    }
}

fn measure(args: &BenchArgs, path: &Path) -> Result<Machine, Error> {
    let began = Instant::now();
    let count = args.launches.unwrap_or(if args.quick { 1 } else { 3 });
    let budget = Duration::from_secs(args.budget.unwrap_or(if args.quick { 20 } else { 180 }));
    let settings = BenchSettings {
        seed: args.seed,
        max_bytes: args.max_bytes.unwrap_or(if args.quick { 256 << 10 } else { 4 << 20 }),
        budget,
        ends: Duration::ZERO,
        quick: args.quick,
    };
    // Fitting and writing also take time.
    let reserve = (budget / 20).min(Duration::from_secs(3));
    let plan = BenchPlan { settings, launches: count, deadline: began + budget - reserve, has_fallback: false };
    let mut notes = Vec::new();
    let (launcher, launches) = run_launches(&args.launcher, &plan, &mut notes)?;
    notes.push(format!("measured in {}", text::format_seconds(began.elapsed().as_secs_f64())));
    let about = MachineMetadata {
        name: machine_name(path),
        date: Some(today()),
        launcher,
        seed: Some(args.seed),
        notes,
        ..MachineMetadata::default()
    };
    assemble(&launches, about).map_err(|error| Error::Other(error.to_string()))
}

/// Measures with the given launcher, with one found in PATH, or without.
fn run_launches(given: &[OsString], plan: &BenchPlan, notes: &mut Vec<String>) -> Result<(Vec<String>, Vec<LaunchMeasurements>), Error> {
    if !given.is_empty() {
        let launches = launch::run_all(given, plan, launch::StderrMode::Inherit, notes)?;
        return Ok((given.iter().map(|word| word.to_string_lossy().into_owned()).collect(), launches));
    }
    match launch::find_launcher() {
        None => notes.push("no mpirun found, so only computation and memory were measured".into()),
        Some(found) => match launch::run_all(&found, &BenchPlan { has_fallback: true, ..*plan }, launch::StderrMode::Capture, notes) {
            Ok(launches) => return Ok((found.iter().map(|word| word.to_string_lossy().into_owned()).collect(), launches)),
            Err(error) => {
                eprintln!("sintonia: {error}\nsintonia: measuring only computation and memory");
                notes.push("mpirun -n 2 failed, so only computation and memory were measured".into());
            }
        },
    }
    Ok((Vec::new(), launch::run_all(&[], plan, launch::StderrMode::Inherit, notes)?))
}

/// The name of this host, safe as a file name.
fn host_file_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name.trim().chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    if name.is_empty() { "here".into() } else { name }
}

/// The name of a machine, from that of its file.
fn machine_name(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.trim_end_matches(".toml").trim_end_matches(".machine").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_was_much_disturbed_is_refused_with_the_reason() {
        let check = |disturbance: f64, oversubscribed: bool| {
            let notes = vec!["a: other programs used 99 % of the processor time during the measurement".to_owned()];
            let metadata = MachineMetadata { disturbance: Some(disturbance), oversubscribed, notes, ..MachineMetadata::default() };
            check_disturbance(&Machine { metadata, ..Machine::default() }, Path::new("m.toml")).map_err(|error| error.to_string())
        };
        assert_eq!(check(0.9, false), Ok(()), "as on a machine that others use");
        assert_eq!(check(9.0, true), Ok(()), "processes that share cores wait for each other");
        let reason = "m.toml: not written, since the measurement was disturbed: costs may be 10 times smaller or larger: \
                      measure again when the machine is quieter, or write the file all the same with --allow-disturbed\n  \
                      a: other programs used 99 % of the processor time during the measurement";
        assert_eq!(check(9.0, false), Err(reason.to_owned()));
    }
}
