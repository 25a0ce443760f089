//! `sintonia place --apply`: records a command, places its ranks, runs it both ways in turn, and reports the gain.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use sintonia_insight::RunEfficiency;
use sintonia_placement::Host;
use sintonia_placement::available_hosts::{AvailableHosts, check_placed};
use sintonia_placement::cluster::total_slots;
use sintonia_placement::input::PlacementInput;
use sintonia_placement::launcher::{self, MpiLauncher, PlacementFormat};
use sintonia_placement::launcher_file::{self, WrittenPlacement};
use sintonia_placement::paired_runs::{ComparisonVerdict, PairedRuns};
use sintonia_placement::proposal::PlacementProposal;
use sintonia_placement::report::PlacementReport;
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::Recording;
use tempfile::TempDir;

use super::launcher_file::not_written;
use super::{BindArg, PlaceArgs, find_placement, read_ranks};
use crate::record::SignalForwarder;
use crate::text::{format_plural, format_seconds};
use crate::{Error, output};

/// The command with the original and the new placement.
struct CommandPair {
    original: Vec<String>,
    placed: launcher::LaunchCommand,
    /// The planned host of each rank.
    planned_hosts: Vec<String>,
}

/// Runs `sintonia place --apply`.
pub(super) fn run(args: &PlaceArgs) -> Result<ExitCode, Error> {
    let hosts = check_hosts(args)?;
    // In the current directory: other hosts are more likely to see it than a temporary one.
    let folder =
        tempfile::Builder::new().prefix(".sintonia-place-").tempdir_in(".").map_err(|source| Error::Write { path: ".".into(), source })?;
    let recording = folder.path().join("now.sin");
    let mut child = Command::new(own_executable()?).args(["record", "-o"]).arg(&recording).arg("--").args(&args.command).spawn()?;
    let signals = SignalForwarder::forward_to(&child);
    let status = child.wait()?;
    let code = signals.exit_code(status);
    drop(signals);
    if code != 0 {
        eprintln!("sintonia: the command failed while being recorded, so nothing is placed");
        return Ok(ExitCode::from(code as u8));
    }
    let mut input = read_ranks(&recording)?;
    (input.name, input.path) = (program_label(&args.command), None);
    input.check_connected()?;
    let hosts = AvailableHosts::find(args.read_machine()?, choose_hosts(hosts, args, input.rank_count()), &input)?;
    let proposal = find_placement(&args.request(), &input, &hosts)?;
    let is_wanted = proposal.no_gain_reason.is_none() || args.force;
    let (written, measured) = match is_wanted {
        true => {
            let (written, both) = write_placement(args, &input, &hosts, &proposal, &folder)?;
            (written, Some(measure_rounds(args, &both, &folder)))
        }
        false => (not_written(args), None),
    };
    let (measured, failure) = match measured.transpose() {
        Ok(measured) => (measured, None),
        Err(failure) => (None, Some(failure)),
    };
    let goal = args.objective.into();
    let status = args.print(&PlacementReport { goal, input: &input, hosts: &hosts, proposal: &proposal, written: &written, measured })?;
    // The placement is printed even if measuring it failed.
    failure.map_or(Ok(status), Err)
}

fn own_executable() -> Result<std::path::PathBuf, Error> {
    std::env::current_exe().map_err(|error| Error::Other(format!("cannot find the running executable: {error}")))
}

/// The command, shortened.
fn program_label(command: &[String]) -> String {
    crate::text::truncate_end(&crate::text::shell_command(command), 60)
}

/// The hosts that the launcher knows, and the requested ones; an error if it does not know them all.
fn check_hosts(args: &PlaceArgs) -> Result<[Option<Vec<Host>>; 2], Error> {
    let known = launcher::available_hosts(&args.command, &|name| std::env::var(name).ok()).map_err(sintonia_placement::Error::from)?;
    let given = args.parse_hosts_option()?;
    let unknown = match (&given, &known) {
        (Some(given), Some(known)) => launcher::missing_hosts(given, known),
        _ => Vec::new(),
    };
    match unknown.len() {
        0 => Ok([known, given]),
        count => {
            let (names, them) = (unknown.join(", "), if count == 1 { "it" } else { "them" });
            Err(Error::Other(format!(
                "the launcher does not know {names}: add {them} to its hosts in the command (--host, --hostfile or the allocation), or remove {them} \
                 from --hosts"
            )))
        }
    }
}

/// The hosts to use: the requested ones; else the launcher's own, unless there is a machine file or they have too few slots.
fn choose_hosts([known, given]: [Option<Vec<Host>>; 2], args: &PlaceArgs, ranks: u32) -> Option<Vec<Host>> {
    given.or_else(|| known.filter(|hosts| args.machine.is_none() && total_slots(hosts) >= ranks))
}

/// Writes the file, and builds the command that uses it.
fn write_placement(
    args: &PlaceArgs,
    input: &PlacementInput,
    hosts: &AvailableHosts,
    proposal: &PlacementProposal,
    folder: &TempDir,
) -> Result<(WrittenPlacement, CommandPair), Error> {
    let library = input.recording.as_ref().map_or("", |recording| &recording.header.mpi.library);
    let launcher = match args.launcher {
        Some(PlacementFormat::Launcher(launcher)) => Some(launcher),
        _ => MpiLauncher::detect(&args.command, library),
    };
    let launcher = launcher.ok_or_else(|| {
        Error::Other("unknown launcher in the command: name it with --launcher, or place a recording and run it by hand".into())
    })?;
    let bind = args.bind.unwrap_or(if hosts.is_flat() { BindArg::Hosts } else { BindArg::Cores });
    let launch = launcher_file::launcher_output(PlacementFormat::Launcher(launcher), bind.into(), hosts, proposal)?;
    let path = args.output.clone().unwrap_or_else(|| folder.path().join("placement"));
    let text = launch.render().map_err(sintonia_placement::Error::from)?;
    output::write_file(&path, |out| out.write_all(text.as_bytes()))?;
    let placed = launch.command(&args.command, &path).map_err(sintonia_placement::Error::from)?;
    let cluster = &hosts.cluster;
    let host = |slot: sintonia_placement::HostSlot| cluster.hosts[slot.host as usize].name.clone();
    let planned_hosts = proposal.proposed.placement.host_slots(cluster).into_iter().map(host).collect();
    let written = match &args.output {
        Some(path) => launcher_file::describe_written(path, PlacementFormat::Launcher(launcher), &launch, input),
        None => WrittenPlacement::default(),
    };
    Ok((written, CommandPair { original: args.command.clone(), placed, planned_hosts }))
}

/// Runs the command both ways in turn, alternating which is first.
fn measure_rounds(args: &PlaceArgs, both: &CommandPair, folder: &TempDir) -> Result<PairedRuns, Error> {
    let mut pairs = Vec::new();
    for round in 0..args.rounds {
        let mut times = [0.0; 2];
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for way in order {
            times[way] = match way {
                0 => run_timed(&both.original, &[], None, folder.path())?,
                _ => run_timed(&both.placed.words, &both.placed.environment, Some(&both.planned_hosts), folder.path())?,
            };
        }
        let [now, placed] = times;
        eprintln!("sintonia: round {} of {}: {} now, {} placed", round + 1, args.rounds, format_seconds(now), format_seconds(placed));
        pairs.push(times);
    }
    PairedRuns::from_pairs(&pairs)
        .ok_or_else(|| Error::Other("the runs took no time between MPI_Init and MPI_Finalize, so there is no result".into()))
}

/// Runs a command, and returns the time from MPI_Init to MPI_Finalize; an error if ranks are misplaced.
fn run_timed(command: &[String], environment: &[(String, String)], hosts: Option<&[String]>, folder: &Path) -> Result<f64, Error> {
    let recording = folder.join("round.sin");
    let child = Command::new(own_executable()?)
        .args(["record", "--profile", "--force", "-o"])
        .arg(&recording)
        .arg("--")
        .args(command)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let signals = SignalForwarder::forward_to(&child);
    let output = child.wait_with_output()?;
    let code = signals.exit_code(output.status);
    drop(signals);
    if code != 0 {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = stderr.lines().rev().take(8).collect();
        let last = last.into_iter().rev().collect::<Vec<_>>().join("\n  ");
        return Err(Error::Other(format!("this command failed: {}\n  {last}", crate::text::shell_command(command))));
    }
    let recording = Recording::open(&recording)?;
    if let Some(hosts) = hosts {
        check_placed(&recording.header, hosts)?;
    }
    let run = RunEfficiency::from_recording("round", &recording, &SingleProcess, &|| ())?;
    Ok(run.work_s)
}

/// The measurements as text.
pub(super) fn measurement_lines(measured: &PairedRuns) -> Vec<String> {
    let [low, middle, high] = measured.speed_up;
    let verdict = match measured.verdict() {
        ComparisonVerdict::Faster => "The placement makes it faster.",
        ComparisonVerdict::Slower => "The placement makes it slower: keep the current one.",
        ComparisonVerdict::Unsure => "The difference is within the noise; use more --rounds.",
    };
    vec![
        format!("Medians of {} each, from MPI_Init to MPI_Finalize", format_plural(measured.rounds as u64, "round")),
        format!("  now     {}", format_seconds(measured.now_s)),
        format!("  placed  {}", format_seconds(measured.placed_s)),
        format!("  {middle:.3} times as fast, with 95 % confidence {low:.3} to {high:.3}. {verdict}"),
    ]
}
