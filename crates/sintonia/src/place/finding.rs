//! What was found: placements, what each costs, and what the one that was chosen is good for.

use sintonia_placement::gain::{Gain, WORTH};
use sintonia_placement::library::Library;
use sintonia_placement::objective::{self, Cost};
use sintonia_placement::partition::Effort;
use sintonia_placement::search::{Candidate, Search, Way};
use sintonia_placement::time::{Timed, Trial, climb};
use sintonia_placement::{Graph, Placement};
use sintonia_replay::schedule::Schedule;

use super::room::Room;
use super::subject::Subject;
use super::{Arguments, Objective};
use crate::Error;
use crate::progress::Progress;

/// A placement with all that is known of it.
pub struct Known {
    /// How it came about.
    pub way: Way,
    /// The placement.
    pub placement: Placement,
    /// What it costs, in the bytes of the recording.
    pub cost: Cost,
    /// Seconds of the replayed run, where there is a machine to replay it on.
    pub seconds: Option<[f64; 3]>,
}

/// What says how much a placement saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Replays on the machine.
    Replays,
    /// How far bytes go: ranks only change places within hosts, and a replay does not know cores.
    Distances,
    /// What is looked for: nothing is known of the network.
    Cost,
}

impl Basis {
    fn of(room: &Room, now: &Known, placed: &Known) -> Basis {
        let hosts = |known: &Known| known.placement.slots(&room.cluster).into_iter().map(|slot| slot.host).collect::<Vec<_>>();
        match now.seconds {
            _ if hosts(now) == hosts(placed) => Basis::Distances,
            Some(_) => Basis::Replays,
            None => Basis::Cost,
        }
    }
}

/// What was found.
pub struct Found {
    /// How ranks are now, or how a launcher places them if that is not known on these hosts.
    pub now: Known,
    /// How they should be.
    pub placed: Known,
    /// Others to compare with.
    pub others: Vec<Known>,
    /// What it saves.
    pub gain: Gain,
    /// What says so.
    pub basis: Basis,
    /// Why a placement is of no use here, if it is not.
    pub useless: Option<String>,
    /// What should be known besides.
    pub notes: Vec<String>,
}

/// Looks for the best placement of a subject in a room.
pub fn find(arguments: &Arguments, subject: &Subject, room: &Room) -> Result<Found, Error> {
    let mut notes = subject.notes.clone();
    let weighed = subject.weighed(room.machine.as_ref())?;
    let search = Search::new(&weighed, &room.cluster, arguments.objective.of_search(), arguments.effort.into())
        .map_err(|error| Error::Other(error.to_string()))?;
    let header = subject.recording.as_ref().map(|recording| &recording.header);
    let recorded = header.and_then(|header| room.recorded_placement(header));
    let usual = search.usual();
    let now = recorded.map_or_else(|| usual[0].placement.clone(), |recorded| recorded);
    let now = search.candidate(Way::Now, now);
    let mut beginnings: Vec<Candidate> = [now.clone()].into_iter().chain(usual).collect();
    for library in Library::find().into_iter().filter(|_| !arguments.built_in) {
        match search.by_library(library) {
            Ok(candidate) => beginnings.push(candidate),
            Err(error) => notes.push(format!("{} was left out: {error}", library.name())),
        }
    }
    let best = search.best(&beginnings);
    let trial = trial(subject, room);
    let best = match (arguments.objective, &trial) {
        (Objective::Time, Some(trial)) => by_time(trial, subject, room, &weighed, &beginnings, best, arguments.effort.into())?,
        (Objective::Time, None) => {
            return Err(Error::Other(
                "--objective time replays the run: that takes a machine file (--machine) and a recording with all its calls".into(),
            ));
        }
        _ => best.placement,
    };
    let compared = if arguments.compare { &beginnings[1..] } else { &[] };
    let known = |way: Way, placement: &Placement| -> Result<Known, Error> {
        let seconds = trial.as_ref().map(|trial| trial.seconds(placement)).transpose()?;
        let cost = objective::cost(&subject.bytes, search.fabric(), placement);
        Ok(Known { way, placement: placement.clone(), cost, seconds })
    };
    let (now, placed) = (known(Way::Now, &now.placement)?, known(Way::Sintonia, &best)?);
    let others = compared.iter().map(|other| known(other.way, &other.placement)).collect::<Result<_, Error>>()?;
    let basis = Basis::of(room, &now, &placed);
    let gain = gain(basis, arguments.objective, subject, &now, &placed);
    let useless = useless(basis, arguments.objective, subject, room, &now, &placed, gain);
    Ok(Found { now, placed, others, gain, basis, useless, notes })
}

/// The run on the machine of the room, if both are there to be replayed.
fn trial<'a>(subject: &'a Subject, room: &Room) -> Option<Trial<'a>> {
    let recording = subject.recording.as_ref().filter(|recording| !recording.header.profile)?;
    Some(Trial::new(recording, room.machine.as_ref()?, &room.cluster))
}

/// The best by replayed time: of all beginnings, and what swaps make of it.
fn by_time(
    trial: &Trial,
    subject: &Subject,
    room: &Room,
    weighed: &Graph,
    beginnings: &[Candidate],
    best: Candidate,
    effort: Effort,
) -> Result<Placement, Error> {
    let replays = replays(subject, effort);
    let progress = Progress::new("replaying placements", replays + beginnings.len() + 1);
    let mut first = Timed { seconds: trial.middle(&best.placement)?, placement: best.placement };
    for other in beginnings {
        let seconds = trial.middle(&other.placement)?;
        progress.step();
        if seconds < first.seconds {
            first = Timed { seconds, placement: other.placement.clone() };
        }
    }
    Ok(climb(trial, weighed, &room.cluster, first, replays, &|| progress.step())?.placement)
}

/// How many replays a search may take: fewer of long runs.
fn replays(subject: &Subject, effort: Effort) -> usize {
    const CALLS: u64 = 400_000_000;
    let most = match effort {
        Effort::Quick => 20,
        Effort::Usual => 200,
        Effort::Thorough => 2000,
    };
    let calls = subject.recording.as_ref().map_or(0, |recording| (0..recording.ranks()).filter_map(|rank| recording.header.rank(rank)).map(|rank| rank.calls).sum::<u64>());
    most.min((CALLS / calls.max(1)) as usize).max(10)
}

fn gain(basis: Basis, objective: Objective, subject: &Subject, now: &Known, placed: &Known) -> Gain {
    match (basis, now.seconds, placed.seconds) {
        (Basis::Replays, Some(now), Some(placed)) => Gain::of_replays(now, placed),
        (Basis::Distances, ..) => Gain::of_cost(now.cost.byte_distance, placed.cost.byte_distance, subject.share_in_mpi),
        _ => Gain::of_cost(objective.of(&now.cost), objective.of(&placed.cost), subject.share_in_mpi),
    }
}

/// Why placement does not help, if it does not.
fn useless(
    basis: Basis,
    objective: Objective,
    subject: &Subject,
    room: &Room,
    now: &Known,
    placed: &Known,
    gain: Gain,
) -> Option<String> {
    let hosts = room.cluster.hosts.iter().filter(|host| host.slots > 0).count();
    if hosts < 2 && room.is_flat() {
        return Some("there is one host, and all its slots are alike".into());
    }
    if gain.is_worth_it() {
        return None;
    }
    let is_as_good = objective != Objective::Time && objective.of(&placed.cost) >= objective.of(&now.cost) * (1.0 - WORTH);
    let why = match basis {
        _ if is_as_good && subject.bytes.edges() >= all_pairs(subject.ranks()) => {
            "every rank exchanges something with every other, so wherever they are, as much goes from host to host"
        }
        _ if is_as_good => "no placement was found that is better than the one that is there",
        Basis::Replays if objective == Objective::Time => "however they are placed, the replayed run takes as long as before",
        Basis::Replays => "replayed on the machine, the run takes as long as before; --objective time looks for what shortens the replay",
        Basis::Distances | Basis::Cost => "the ranks are hardly ever in MPI, so there is nothing to save",
    };
    Some(why.into())
}

fn all_pairs(ranks: u32) -> usize {
    ranks as usize * (ranks as usize).saturating_sub(1) / 2
}
