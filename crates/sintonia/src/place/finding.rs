//! What was found: placements, what each costs, and what the one that was chosen is good for.

use sintonia_placement::gain::{Gain, WORTH};
use sintonia_placement::library::Library;
use sintonia_placement::objective::{self, Cost};
use sintonia_placement::search::{Candidate, MANY_RANKS, Search, Way};
use sintonia_placement::time::{Timed, Trial, climb};
use sintonia_placement::{Graph, Placement};

use super::room::Room;
use super::subject::Subject;
use super::{Arguments, Effort, Objective};
use crate::Error;
use crate::progress::Progress;

/// A placement with all that is known of it.
#[derive(Clone)]
pub struct Known {
    /// How it came about.
    pub way: Way,
    /// The placement.
    pub placement: Placement,
    /// What it costs, in the bytes of the recording.
    pub cost: Cost,
    /// The objective with all that counts of a message. That hosts compute evenly is not in it: where they are alike, nobody knows what it saves.
    weighed: f64,
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
    pub useless: Option<&'static str>,
    /// What should be known besides.
    pub notes: Vec<String>,
}

/// Looks for the best placement of a subject in a room.
pub fn find(arguments: &Arguments, subject: &Subject, room: &Room) -> Result<Found, Error> {
    Quest { arguments, subject, room, trial: trial(subject, room) }.find()
}

/// The run on the machine of the room, if both are there to be replayed.
fn trial<'a>(subject: &'a Subject, room: &Room) -> Option<Trial<'a>> {
    let recording = subject.recording.as_ref().filter(|recording| !recording.header.profile)?;
    Some(Trial::new(recording, room.machine.as_ref()?, &room.cluster))
}

/// What is looked for, and where.
struct Quest<'a> {
    arguments: &'a Arguments,
    subject: &'a Subject,
    room: &'a Room,
    trial: Option<Trial<'a>>,
}

impl Quest<'_> {
    fn find(&self) -> Result<Found, Error> {
        if self.arguments.objective == Objective::Time && self.trial.is_none() {
            return Err(Error::Other(
                "--objective time replays the run: that takes a machine file (--machine) and a recording with all its calls".into(),
            ));
        }
        let mut notes = self.subject.notes.clone();
        let weighed = self.subject.weighed(self.room.machine.as_ref())?;
        let search = Search::new(&weighed, &self.room.cluster, self.arguments.objective.of_search(), self.arguments.effort.into())
            .map_err(|error| Error::Other(error.to_string()))?;
        let beginnings = self.beginnings(&search, &mut notes);
        let best = search.best(&beginnings).placement;
        let best = if self.arguments.objective == Objective::Time { self.by_time(&weighed, &beginnings, best)? } else { best };
        let known = |way: Way, placement: &Placement| -> Result<Known, Error> {
            let seconds = self.trial.as_ref().map(|trial| trial.seconds(placement)).transpose()?;
            let cost = objective::cost(&self.subject.bytes, search.fabric(), placement);
            let weighed = self.arguments.objective.of(&search.candidate(way, placement.clone()).cost);
            Ok(Known { way, placement: placement.clone(), cost, weighed, seconds })
        };
        let (now, placed) = (known(Way::Now, &beginnings[0].placement)?, known(Way::Sintonia, &best)?);
        let compared = if self.arguments.compare { &beginnings[1..] } else { &[] };
        let others = compared.iter().map(|other| known(other.way, &other.placement)).collect::<Result<_, Error>>()?;
        let basis = Basis::of(self.room, &now, &placed);
        let gain = self.gain(basis, &now, &placed);
        let useless = self.useless(basis, &now, &placed, gain);
        // What is of no use and even worse by the objective (hosts may compute more evenly for it) is not shown as an answer.
        let placed = if useless.is_some() && self.left(&now, &placed) > 1.0 { now.clone() } else { placed };
        Ok(Found { now, placed, others, gain, basis, useless, notes })
    }

    /// The placement that is there, those that launchers make, and those of libraries.
    fn beginnings(&self, search: &Search, notes: &mut Vec<String>) -> Vec<Candidate> {
        let usual = search.usual();
        let header = self.subject.recording.as_ref().map(|recording| &recording.header);
        let recorded = header.and_then(|header| self.room.recorded_placement(header));
        if header.is_some() && recorded.is_none() {
            notes.push("now is how launchers place ranks by themselves, by core: the run was not recorded on these hosts".into());
        }
        let now = search.candidate(Way::Now, recorded.unwrap_or_else(|| usual[0].placement.clone()));
        let mut beginnings: Vec<Candidate> = [now].into_iter().chain(usual).collect();
        for library in self.libraries() {
            match search.by_library(library) {
                Ok(candidate) => beginnings.push(candidate),
                Err(error) => notes.push(format!("{} was left out: {error}", library.name())),
            }
        }
        beginnings
    }

    /// The libraries that are asked: with very many ranks they take longer than they help, unless somebody wants to see them or has time.
    fn libraries(&self) -> Vec<Library> {
        let has_time = self.arguments.compare || self.arguments.effort == Effort::Thorough;
        let is_worth_it = has_time || self.subject.bytes.ranks() < MANY_RANKS;
        if is_worth_it && !self.arguments.built_in { Library::find() } else { Vec::new() }
    }

    /// The best by replayed time: of all beginnings and the best so far, and what swaps make of it.
    fn by_time(&self, weighed: &Graph, beginnings: &[Candidate], best: Placement) -> Result<Placement, Error> {
        let Some(trial) = &self.trial else { return Ok(best) };
        let replays = self.replays();
        let progress = Progress::new("replaying placements", replays + beginnings.len());
        let mut first = Timed { seconds: trial.middle(&best)?, placement: best };
        for other in beginnings {
            let seconds = trial.middle(&other.placement)?;
            progress.step();
            if seconds < first.seconds {
                first = Timed { seconds, placement: other.placement.clone() };
            }
        }
        Ok(climb(trial, weighed, &self.room.cluster, first, replays, &|| progress.step())?.placement)
    }

    /// How many replays a search may take: fewer of long runs.
    fn replays(&self) -> usize {
        const CALLS: u64 = 400_000_000;
        let most = match self.arguments.effort {
            Effort::Quick => 20,
            Effort::Usual => 200,
            Effort::Thorough => 2000,
        };
        let ranks = self.subject.recording.iter().flat_map(|recording| &recording.header.ranks);
        let calls: u64 = ranks.map(|rank| rank.calls).sum();
        most.min((CALLS / calls.max(1)) as usize).max(10)
    }

    /// What is left of the objective: of bare bytes, or with all that counts of a message, whichever is more.
    fn left(&self, now: &Known, placed: &Known) -> f64 {
        let ratio = |before: f64, after: f64| if before > 0.0 { after / before } else { 1.0 };
        let bytes = |known: &Known| self.arguments.objective.of(&known.cost);
        ratio(now.weighed, placed.weighed).max(ratio(bytes(now), bytes(placed)))
    }

    fn gain(&self, basis: Basis, now: &Known, placed: &Known) -> Gain {
        let share = self.subject.share_in_mpi;
        match (basis, now.seconds, placed.seconds) {
            (Basis::Replays, Some(now), Some(placed)) => Gain::of_replays(now, placed),
            (Basis::Distances, ..) => Gain::of_cost(now.cost.byte_distance, placed.cost.byte_distance, share),
            _ => Gain::of_cost(1.0, self.left(now, placed), share),
        }
    }

    /// Why placement does not help, if it does not.
    fn useless(&self, basis: Basis, now: &Known, placed: &Known, gain: Gain) -> Option<&'static str> {
        let hosts = self.room.cluster.hosts.iter().filter(|host| host.slots > 0).count();
        if hosts < 2 && self.room.is_flat() {
            return Some("there is one host, and all its slots are alike");
        }
        if gain.is_worth_it() {
            return None;
        }
        let objective = self.arguments.objective;
        let is_as_good = objective != Objective::Time && self.left(now, placed) >= 1.0 - WORTH;
        Some(match basis {
            _ if is_as_good && self.subject.is_everyone_with_everyone() => {
                "every rank exchanges as much with every other, so wherever they are, as much goes from host to host"
            }
            _ if is_as_good => "no placement was found that is better than the one that is there",
            Basis::Replays if objective == Objective::Time => "however they are placed, the replayed run takes as long as before",
            Basis::Replays => {
                "replayed on the machine, the run takes as long as before; --objective time looks for what shortens the replay"
            }
            Basis::Distances | Basis::Cost => "so little of the time is in MPI that hardly anything can be saved",
        })
    }
}
