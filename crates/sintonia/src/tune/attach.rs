//! `sintonia tune --attach`: tunes a program that already runs. Nothing is recorded; when the command ends, the program goes on.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use sintonia_inject::{Message, Problem, Visit};
use sintonia_link::host_name;
use sintonia_link::session::Secret;
use sintonia_tune::analyzer::{Analyzer, Summary};
use sintonia_tune::collector::Collector;
use sintonia_tune::station::now_ns;
use sintonia_tune::tree::Tree;
use sintonia_tune::tunlet::Tunlet;

use super::{Tuning, door_folder, in_a_line, keep};
use crate::record::probe;
use crate::{Error, output};

/// It is looked so often whether the program has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// What is to be done.
pub struct Request<'words> {
    /// A process of the program, or the launcher that started it.
    pub process: u32,
    /// What to tune by.
    pub tunlets: Vec<Box<dyn Tunlet>>,
    /// Whether nothing is to be changed.
    pub watch: bool,
    /// Where to keep what was told; beside the command's folder, by the program's name, unless told.
    pub output: Option<&'words Path>,
    /// Whether the end is told in JSON.
    pub json: bool,
}

/// A process of the program.
struct Member {
    process: u32,
    rank: u32,
    size: u32,
}

/// Tunes until the program ends, or until this command is told to.
pub fn run(request: Request) -> Result<ExitCode, Error> {
    let members = members(request.process)?;
    let over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, over.clone())?;
    }
    let name = sintonia_inject::name(members[0].process);
    let log = request.output.map_or_else(|| PathBuf::from(format!("{name}-attached.jsonl")), Path::to_owned);
    let secret = Secret::new()?;
    let folder = door_folder();
    let collector = Collector::open(&folder, &secret)?;
    for member in &members {
        give_way(member.process, &folder)?;
    }
    let tuning = Tuning::begin(Analyzer::new(request.tunlets, Tree::new(collector, None, now_ns()), request.watch), request.json, None);
    let visits = match attach(&members, &folder, &secret) {
        Ok(visits) => visits,
        // The door goes with the tuning.
        Err(why) => return tuning.end().and(Err(why)),
    };
    if !request.json {
        tell_of_visits(&members, &visits);
    }
    while !over.load(Ordering::Relaxed) && visits.iter().any(|(member, _)| sintonia_inject::is_there(member.process)) {
        std::thread::sleep(PAUSE);
    }
    let summary = tuning.end()?;
    keep(&log, &summary)?;
    tell(&summary, &visits, &log, request.json)?;
    Ok(ExitCode::SUCCESS)
}

/// The processes that are meant: those with MPI in them among the process, what it has started, what these have started, and so on.
fn members(process: u32) -> Result<Vec<Member>, Error> {
    let family = sintonia_inject::family(process).map_err(in_words)?;
    let with_mpi = family.into_iter().filter(|one| match sintonia_inject::has_mpi(*one) {
        Ok(has_mpi) => has_mpi,
        // Whoever is not to be looked at is asked about only if nobody else is meant.
        Err(_) => *one == process,
    });
    let with_mpi: Vec<u32> = with_mpi.collect();
    if let [one] = with_mpi[..]
        && one == process
    {
        sintonia_inject::has_mpi(one).map_err(in_words)?;
    }
    let alone = with_mpi.len() == 1;
    let member = |process| {
        let place = sintonia_inject::place(process).or(alone.then_some((0, 1)));
        let unknown = || Error::Other(format!("the launcher did not tell process {process} its rank in any way that is known here"));
        place.map(|(rank, size)| Member { process, rank, size }).ok_or_else(unknown)
    };
    if with_mpi.is_empty() {
        let name = sintonia_inject::name(process);
        return Err(Error::Other(format!(
            "neither process {process} ({name}) nor any that it has started on this host has an MPI library in it; \
             some launchers leave that to another process: name one of the program's own"
        )));
    }
    with_mpi.into_iter().map(member).collect()
}

fn in_words(problem: Problem) -> Error {
    Error::Other(problem.to_string())
}

/// Lets a process of another user come to the door, and sees to it that the process can see it.
fn give_way(process: u32, folder: &Path) -> Result<(), Error> {
    let own = rustix::process::geteuid().as_raw();
    if let Some(user) = sintonia_inject::user(process).filter(|user| *user != own) {
        for path in [folder.to_owned(), folder.join(host_name())] {
            std::os::unix::fs::chown(&path, Some(user), None)?;
        }
    }
    let seen = PathBuf::from(format!("/proc/{process}/root")).join(folder.strip_prefix("/").unwrap_or(folder));
    if seen.join(host_name()).exists() {
        return Ok(());
    }
    let folder = folder.parent().unwrap_or(folder);
    Err(Error::Other(format!(
        "process {process} runs in a container that does not see {}: set XDG_RUNTIME_DIR to a folder that both see",
        folder.display()
    )))
}

/// Brings the probe into every process; an error if none takes it.
fn attach<'members>(members: &'members [Member], folder: &Path, secret: &Secret) -> Result<Vec<(&'members Member, Visit)>, Error> {
    let (probe, secret) = (probe::bytes()?, secret.to_text());
    let mut visits = Vec::new();
    let mut problems = Vec::new();
    for member in members {
        let message = Message { probe: &probe, door: folder, secret: &secret, place: (member.rank, member.size) };
        match sintonia_inject::enter(member.process, &message) {
            Ok(visit) => visits.push((member, visit)),
            Err(problem) => problems.push(problem),
        }
    }
    // If nobody was reached, the first reason is why the command fails.
    let why = if visits.is_empty() { problems.drain(..1).next() } else { None };
    problems.iter().for_each(|problem| eprintln!("sintonia: {problem}"));
    why.map_or(Ok(visits), |problem| Err(in_words(problem)))
}

fn tell_of_visits(members: &[Member], visits: &[(&Member, Visit)]) {
    let longest = visits.iter().map(|(_, visit)| visit.stopped).max().unwrap_or_default();
    let longest = 1e3 * longest.as_secs_f64();
    eprintln!("sintonia: attached to {} of {} processes, each was stopped for {longest:.1} ms at most", visits.len(), members.len());
    if let Some(member) = members.iter().find(|member| member.size as usize > members.len()) {
        eprintln!("sintonia: the program has {} processes; the others, and those on other hosts, are not tuned", member.size);
    }
}

fn tell(summary: &Summary, visits: &[(&Member, Visit)], log: &Path, json: bool) -> Result<(), Error> {
    if !json {
        eprintln!("sintonia: {}; told in {}", in_a_line(summary), log.display());
        return Ok(());
    }
    let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
    let attached: Vec<_> = visits
        .iter()
        .map(|(member, visit)| {
            serde_json::json!({
                "process": member.process, "rank": member.rank, "stopped_ms": milliseconds(visit.stopped),
                "stopping_ms": milliseconds(visit.stopping), "in_vain": visit.in_vain.0, "in_vain_ms": milliseconds(visit.in_vain.1),
                "loading_ms": milliseconds(visit.loading),
            })
        })
        .collect();
    let decisions: Vec<_> = summary.decisions().collect();
    let Summary { events, dropped, .. } = summary;
    let told = serde_json::json!({ "attached": attached, "decisions": decisions, "events": events, "dropped": dropped });
    Ok(output::json_line(&mut std::io::stderr(), &told)?)
}
