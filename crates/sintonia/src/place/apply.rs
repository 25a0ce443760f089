//! `sintonia place --apply`: records a command, places its ranks, runs it both ways in turn, and says what was gained.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use sintonia_insight::Run;
use sintonia_placement::Host;
use sintonia_placement::cluster::slots;
use sintonia_placement::launcher::{self, Form, Launcher};
use sintonia_placement::measured::{Measured, Verdict};
use sintonia_program::company::Alone;
use sintonia_recording::Recording;
use tempfile::TempDir;

use super::finding::{self, Found};
use super::launch::{self, Written, refused};
use super::room::Room;
use super::subject::Subject;
use super::{Arguments, Bind, Shown};
use crate::record::Signalled;
use crate::text::{plural, seconds};
use crate::{Error, output};

/// The command both ways.
struct Both {
    now: Vec<String>,
    placed: launcher::Command,
    /// The host that each rank should be on.
    hosts: Vec<String>,
}

/// Runs the verb.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let hosts = hosts(arguments)?;
    // Beside the program: other hosts are more likely to see this folder than a temporary one.
    let folder =
        tempfile::Builder::new().prefix(".sintonia-place-").tempdir_in(".").map_err(|source| Error::Write { path: ".".into(), source })?;
    let recording = folder.path().join("now.sin");
    let mut child = Command::new(own()?).args(["record", "-o"]).arg(&recording).arg("--").args(&arguments.command).spawn()?;
    let signals = Signalled::passes_on(&child);
    let status = child.wait()?;
    let code = signals.code(status);
    drop(signals);
    if code != 0 {
        eprintln!("sintonia: the command failed while it was recorded, so nothing is placed");
        return Ok(ExitCode::from(code as u8));
    }
    let mut subject = Subject::of_recording(&recording)?;
    (subject.name, subject.path) = (program(&arguments.command), None);
    subject.is_connected()?;
    let room = Room::find(arguments.told_machine()?, chosen(hosts, arguments, subject.ranks()), &subject)?;
    let found = finding::find(arguments, &subject, &room)?;
    let is_wanted = found.useless.is_none() || arguments.force;
    let (written, measured) = match is_wanted {
        true => {
            let (written, both) = prepare(arguments, &subject, &room, &found, &folder)?;
            (written, Some(measure(arguments, &both, &folder)))
        }
        false => (Written::none(arguments), None),
    };
    let (measured, failure) = match measured.transpose() {
        Ok(measured) => (measured, None),
        Err(failure) => (None, Some(failure)),
    };
    let shown = Shown { arguments, subject: &subject, room: &room, found: &found, written: &written, measured };
    let status = shown.show()?;
    // What was found is worth having even where it could not be measured.
    failure.map_or(Ok(status), Err)
}

fn own() -> Result<std::path::PathBuf, Error> {
    std::env::current_exe().map_err(|error| Error::Other(format!("cannot find the command that is running: {error}")))
}

/// What the command runs, in few words.
fn program(command: &[String]) -> String {
    crate::text::head(&crate::text::command(command), 60)
}

/// Hosts that the launcher knows, and those that should be used; an error if it does not know them all.
fn hosts(arguments: &Arguments) -> Result<[Option<Vec<Host>>; 2], Error> {
    let known = launcher::hosts(&arguments.command, &|name| std::env::var(name).ok()).map_err(refused)?;
    let told = arguments.told_hosts()?;
    let strangers = match (&told, &known) {
        (Some(told), Some(known)) => launcher::unknown(told, known),
        _ => Vec::new(),
    };
    match strangers.len() {
        0 => Ok([known, told]),
        count => {
            let (names, them) = (strangers.join(", "), if count == 1 { "it" } else { "them" });
            Err(Error::Other(format!(
                "the launcher does not know {names}: add {them} to its hosts in the command (--host, --hostfile or the allocation), or leave {them} \
                 out of --hosts"
            )))
        }
    }
}

/// The hosts to use: those that are told; else the launcher's own, unless a machine file has them or they are too small to be all of them.
fn chosen([known, told]: [Option<Vec<Host>>; 2], arguments: &Arguments, ranks: u32) -> Option<Vec<Host>> {
    told.or_else(|| known.filter(|hosts| arguments.machine.is_none() && slots(hosts) >= ranks))
}

/// Writes the file, and makes the command that uses it.
fn prepare(arguments: &Arguments, subject: &Subject, room: &Room, found: &Found, folder: &TempDir) -> Result<(Written, Both), Error> {
    let library = subject.recording.as_ref().map_or("", |recording| &recording.header.mpi.library);
    let launcher = match arguments.launcher {
        Some(Form::Launcher(launcher)) => Some(launcher),
        _ => Launcher::of(&arguments.command, library),
    };
    let launcher = launcher.ok_or_else(|| {
        Error::Other("the command's launcher is not known: name it with --launcher, or place a recording and run it by hand".into())
    })?;
    let bind = arguments.bind.unwrap_or(if room.is_flat() { Bind::Hosts } else { Bind::Cores });
    let launch = launch::launch(Form::Launcher(launcher), bind, room, found)?;
    let path = arguments.output.clone().unwrap_or_else(|| folder.path().join("placement"));
    let text = launch.text().map_err(refused)?;
    output::to_file(&path, |out| out.write_all(text.as_bytes()))?;
    let placed = launch.command(&arguments.command, &path).map_err(refused)?;
    let cluster = &room.cluster;
    let host = |slot: sintonia_placement::Slot| cluster.hosts[slot.host as usize].name.clone();
    let hosts = found.placed.placement.slots(cluster).into_iter().map(host).collect();
    let written = match &arguments.output {
        Some(path) => launch::told(path, Form::Launcher(launcher), &launch, subject),
        None => Written::default(),
    };
    Ok((written, Both { now: arguments.command.clone(), placed, hosts }))
}

/// Runs the command both ways in turn, the one first in one round and the other in the next.
fn measure(arguments: &Arguments, both: &Both, folder: &TempDir) -> Result<Measured, Error> {
    let mut pairs = Vec::new();
    for round in 0..arguments.rounds {
        let mut times = [0.0; 2];
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for way in order {
            times[way] = match way {
                0 => timed(&both.now, &[], None, folder.path())?,
                _ => timed(&both.placed.words, &both.placed.environment, Some(&both.hosts), folder.path())?,
            };
        }
        let [now, placed] = times;
        eprintln!("sintonia: round {} of {}: {} now, {} placed", round + 1, arguments.rounds, seconds(now), seconds(placed));
        pairs.push(times);
    }
    Measured::of(&pairs)
        .ok_or_else(|| Error::Other("the runs took no time between MPI_Init and MPI_Finalize, so nothing can be said".into()))
}

/// Runs a command, and says how long it took from MPI_Init to MPI_Finalize; an error if ranks are not where they should be.
fn timed(command: &[String], environment: &[(String, String)], hosts: Option<&[String]>, folder: &Path) -> Result<f64, Error> {
    let recording = folder.join("round.sin");
    let child = Command::new(own()?)
        .args(["record", "--profile", "--force", "-o"])
        .arg(&recording)
        .arg("--")
        .args(command)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let signals = Signalled::passes_on(&child);
    let output = child.wait_with_output()?;
    let code = signals.code(output.status);
    drop(signals);
    if code != 0 {
        let said = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = said.lines().rev().take(8).collect();
        let last = last.into_iter().rev().collect::<Vec<_>>().join("\n  ");
        return Err(Error::Other(format!("this command failed: {}\n  {last}", crate::text::command(command))));
    }
    let recording = Recording::open(&recording)?;
    if let Some(hosts) = hosts {
        is_placed(&recording, hosts)?;
    }
    let run = Run::of("round", &recording, &Alone, &|| ())?;
    Ok(run.work_s)
}

/// An error if the launcher has put a rank elsewhere.
fn is_placed(recording: &Recording, hosts: &[String]) -> Result<(), Error> {
    for (rank, planned) in (0..).zip(hosts) {
        let found = recording.header.rank(rank).and_then(|rank| recording.header.hosts.get(rank.host as usize));
        let found =
            found.ok_or_else(|| Error::Other(format!("rank {rank} of the placed run left no record, so nobody knows where it was")))?;
        if !launcher::is_same(found, planned) {
            return Err(Error::Other(format!(
                "the launcher has put rank {rank} on {found} instead of {planned}: the placement has no effect; is the name that of the host \
                 itself (hostname), and does another option or variable place ranks, too?"
            )));
        }
    }
    Ok(())
}

/// What the runs say, in words.
pub fn lines(measured: &Measured) -> Vec<String> {
    let [low, middle, high] = measured.speed_up;
    let verdict = match measured.verdict() {
        Verdict::Faster => "The placement makes it faster.",
        Verdict::Slower => "The placement makes it slower: keep it as it was.",
        Verdict::Unsure => "Runs differ more than the placement does; more of them may tell (--rounds).",
    };
    vec![
        format!("Measured in {} of both ways, from MPI_Init to MPI_Finalize, medians", plural(measured.rounds as u64, "round")),
        format!("  now     {}", seconds(measured.now_s)),
        format!("  placed  {}", seconds(measured.placed_s)),
        format!("  {middle:.3} times as fast, with 95 % confidence {low:.3} to {high:.3}. {verdict}"),
    ]
}
