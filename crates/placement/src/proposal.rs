//! Judges placements: evaluates the current one and the best one found, and says what the change would gain.

use sintonia_recording::Recording;

use crate::available_hosts::AvailableHosts;
use crate::external_partitioner::ExternalPartitioner;
use crate::gain::{MIN_GAIN, PlacementGain};
use crate::input::{CriticalMessages, PlacementInput};
use crate::objective::{self, PlacementCost, PlacementObjective};
use crate::partition::SearchEffort;
use crate::replay_time::{ReplayTrial, TimedPlacement, hill_climb};
use crate::search::{MANY_RANKS, PlacementCandidate, PlacementMethod, PlacementSearch};
use crate::{Error, Placement, RankGraph};

/// What a placement is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementGoal {
    /// Time the most loaded link is busy.
    Congestion,
    /// Bytes times distance.
    Bytes,
    /// Replayed time of the run.
    Time,
}

impl PlacementGoal {
    /// The objective of the search before any replay.
    fn search_objective(self) -> PlacementObjective {
        match self {
            PlacementGoal::Congestion | PlacementGoal::Time => PlacementObjective::Congestion,
            PlacementGoal::Bytes => PlacementObjective::ByteDistance,
        }
    }

    /// Its value for a placement, without a replay.
    pub(crate) fn cost_value(self, cost: &PlacementCost) -> f64 {
        match self {
            PlacementGoal::Congestion | PlacementGoal::Time => cost.busiest_link_s,
            PlacementGoal::Bytes => cost.byte_distance,
        }
    }
}

/// What to search for, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementRequest {
    /// What to minimise.
    pub goal: PlacementGoal,
    /// Search effort.
    pub effort: SearchEffort,
    /// Also evaluate other placements.
    pub compare: bool,
    /// Run no external partitioner.
    pub built_in: bool,
}

/// A placement with its evaluation.
#[derive(Clone)]
pub struct EvaluatedPlacement {
    /// How it was found.
    pub origin: PlacementMethod,
    /// The placement.
    pub placement: Placement,
    /// Its cost, in the bytes of the recording.
    pub cost: PlacementCost,
    /// The objective with all weights of a message. Computation balance is not included: where hosts are equal, its effect is unknown.
    weighted_cost: f64,
    /// Replayed time in seconds, if there is a machine.
    pub seconds: Option<[f64; 3]>,
}

/// What the estimated gain is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GainBasis {
    /// Replays on the machine.
    Replays,
    /// Distances of bytes: ranks only move within hosts, which a replay does not model.
    Distances,
    /// The objective: the network is unknown.
    Cost,
}

impl GainBasis {
    fn choose(room: &AvailableHosts, now: &EvaluatedPlacement, placed: &EvaluatedPlacement) -> GainBasis {
        let hosts =
            |known: &EvaluatedPlacement| known.placement.host_slots(&room.cluster).into_iter().map(|slot| slot.host).collect::<Vec<_>>();
        match now.seconds {
            _ if hosts(now) == hosts(placed) => GainBasis::Distances,
            Some(_) => GainBasis::Replays,
            None => GainBasis::Cost,
        }
    }
}

/// The result of a search.
pub struct PlacementProposal {
    /// The current placement, or a launcher's default if that is unknown on these hosts.
    pub current: EvaluatedPlacement,
    /// The proposed placement.
    pub proposed: EvaluatedPlacement,
    /// Other placements, for comparison.
    pub alternatives: Vec<EvaluatedPlacement>,
    /// The estimated gain.
    pub gain: PlacementGain,
    /// What the gain is based on.
    pub basis: GainBasis,
    /// Why placement does not help, if it does not.
    pub no_gain_reason: Option<&'static str>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// A search for a better placement than the current one.
pub struct ProposalSearch<'a> {
    request: &'a PlacementRequest,
    input: &'a PlacementInput,
    hosts: &'a AvailableHosts,
    /// A replay on the target machine, if there are a recording with calls and a machine.
    trial: Option<ReplayTrial<'a>>,
}

impl<'a> ProposalSearch<'a> {
    /// A search on the available hosts.
    pub fn new(request: &'a PlacementRequest, input: &'a PlacementInput, hosts: &'a AvailableHosts) -> Result<ProposalSearch<'a>, Error> {
        let replayed = |recording: &'a Recording| Some(ReplayTrial::new(recording, hosts.machine.as_ref()?, &hosts.cluster));
        let trial = input.recorded_calls().and_then(replayed);
        match trial.is_none() && request.goal == PlacementGoal::Time {
            true => Err(Error::NoReplay),
            false => Ok(ProposalSearch { request, input, hosts, trial }),
        }
    }

    /// The best placement found; `progress` is called after each replay of the search with the maximum number of replays.
    pub fn run(&self, critical: CriticalMessages, progress: &dyn Fn(usize)) -> Result<PlacementProposal, Error> {
        let mut notes = self.input.notes.clone();
        let weighed = self.input.weighted_graph(self.hosts.machine.as_ref(), critical);
        let search = PlacementSearch::new(&weighed, &self.hosts.cluster, self.request.goal.search_objective(), self.request.effort)?;
        let beginnings = self.initial_placements(&search, &mut notes);
        let best = search.best(&beginnings).placement;
        let is_by_time = self.request.goal == PlacementGoal::Time;
        let best = if is_by_time { self.optimise_by_time(&weighed, &beginnings, best, progress)? } else { best };
        let known = |way: PlacementMethod, placement: &Placement| -> Result<EvaluatedPlacement, Error> {
            let seconds = self.trial.as_ref().map(|trial| trial.seconds_interval(placement)).transpose()?;
            let cost = objective::placement_cost(&self.input.traffic, search.fabric(), placement);
            let weighed = self.request.goal.cost_value(&search.candidate(way, placement.clone()).cost);
            Ok(EvaluatedPlacement { origin: way, placement: placement.clone(), cost, weighted_cost: weighed, seconds })
        };
        let (now, placed) = (known(PlacementMethod::Recorded, &beginnings[0].placement)?, known(PlacementMethod::Sintonia, &best)?);
        let compared = if self.request.compare { &beginnings[1..] } else { &[] };
        let others = compared.iter().map(|other| known(other.method, &other.placement)).collect::<Result<_, Error>>()?;
        let basis = GainBasis::choose(self.hosts, &now, &placed);
        let gain = self.estimate_gain(basis, &now, &placed);
        let useless = self.no_gain_reason(basis, &now, &placed, gain);
        // A placement that does not help and has a higher cost (it may only balance computation) is not proposed.
        let placed = if useless.is_some() && self.remaining_cost(&now, &placed) > 1.0 { now.clone() } else { placed };
        Ok(PlacementProposal { current: now, proposed: placed, alternatives: others, gain, basis, no_gain_reason: useless, notes })
    }

    /// The current placement, launchers' defaults, and those of partitioners.
    fn initial_placements(&self, search: &PlacementSearch, notes: &mut Vec<String>) -> Vec<PlacementCandidate> {
        let usual = search.launcher_defaults();
        let header = self.input.recording.as_ref().map(|recording| &recording.header);
        let recorded = header.and_then(|header| self.hosts.recorded_placement(header));
        if header.is_some() && recorded.is_none() {
            notes.push("\"now\" is the default of launchers, by core: the run was not recorded on these hosts".into());
        }
        let now = search.candidate(PlacementMethod::Recorded, recorded.unwrap_or_else(|| usual[0].placement.clone()));
        let mut beginnings: Vec<PlacementCandidate> = [now].into_iter().chain(usual).collect();
        for library in self.partitioners() {
            match search.with_partitioner(library) {
                Ok(candidate) => beginnings.push(candidate),
                Err(error) => notes.push(format!("{} failed: {error}", library.name())),
            }
        }
        beginnings
    }

    /// The external partitioners to run: with very many ranks they take longer than they help, unless requested.
    fn partitioners(&self) -> Vec<ExternalPartitioner> {
        let has_time = self.request.compare || self.request.effort == SearchEffort::Thorough;
        let is_worth_it = has_time || self.input.traffic.rank_count() < MANY_RANKS;
        if is_worth_it && !self.request.built_in { ExternalPartitioner::installed() } else { Vec::new() }
    }

    /// The best placement by replayed time: of all initial placements and the best so far, improved by swaps.
    fn optimise_by_time(
        &self,
        weighed: &RankGraph,
        beginnings: &[PlacementCandidate],
        best: Placement,
        progress: &dyn Fn(usize),
    ) -> Result<Placement, Error> {
        let Some(trial) = &self.trial else { return Ok(best) };
        let replays = self.max_replays();
        let step = || progress(replays + beginnings.len());
        let mut first = TimedPlacement { seconds: trial.middle_s(&best)?, placement: best };
        for other in beginnings {
            let seconds = trial.middle_s(&other.placement)?;
            step();
            if seconds < first.seconds {
                first = TimedPlacement { seconds, placement: other.placement.clone() };
            }
        }
        Ok(hill_climb(trial, weighed, &self.hosts.cluster, first, replays, &step)?.placement)
    }

    /// The maximum number of replays: fewer for long runs.
    fn max_replays(&self) -> usize {
        const CALLS: u64 = 400_000_000;
        let most = match self.request.effort {
            SearchEffort::Quick => 20,
            SearchEffort::Usual => 200,
            SearchEffort::Thorough => 2000,
        };
        let ranks = self.input.recording.iter().flat_map(|recording| &recording.header.ranks);
        let calls: u64 = ranks.map(|rank| rank.calls).sum();
        most.min((CALLS / calls.max(1)) as usize).max(10)
    }

    /// The remaining share of the objective: in plain bytes or with all weights, whichever is more.
    fn remaining_cost(&self, now: &EvaluatedPlacement, placed: &EvaluatedPlacement) -> f64 {
        let ratio = |before: f64, after: f64| if before > 0.0 { after / before } else { 1.0 };
        let bytes = |known: &EvaluatedPlacement| self.request.goal.cost_value(&known.cost);
        ratio(now.weighted_cost, placed.weighted_cost).max(ratio(bytes(now), bytes(placed)))
    }

    fn estimate_gain(&self, basis: GainBasis, now: &EvaluatedPlacement, placed: &EvaluatedPlacement) -> PlacementGain {
        let share = self.input.share_in_mpi;
        match (basis, now.seconds, placed.seconds) {
            (GainBasis::Replays, Some(now), Some(placed)) => PlacementGain::from_replays(now, placed),
            (GainBasis::Distances, ..) => PlacementGain::from_cost(now.cost.byte_distance, placed.cost.byte_distance, share),
            _ => PlacementGain::from_cost(1.0, self.remaining_cost(now, placed), share),
        }
    }

    /// Why placement does not help, if it does not.
    fn no_gain_reason(
        &self,
        basis: GainBasis,
        now: &EvaluatedPlacement,
        placed: &EvaluatedPlacement,
        gain: PlacementGain,
    ) -> Option<&'static str> {
        let hosts = self.hosts.cluster.hosts.iter().filter(|host| host.slots > 0).count();
        if hosts < 2 && self.hosts.is_flat() {
            return Some("there is only one host, and all its slots are equal");
        }
        if gain.is_significant() {
            return None;
        }
        let goal = self.request.goal;
        let is_as_good = goal != PlacementGoal::Time && self.remaining_cost(now, placed) >= 1.0 - MIN_GAIN;
        Some(match basis {
            _ if is_as_good && self.input.is_uniform_all_to_all() => {
                "all pairs of ranks exchange equally much, so every placement has the same traffic between hosts"
            }
            _ if is_as_good => "no better placement than the current one was found",
            GainBasis::Replays if goal == PlacementGoal::Time => "the replayed run takes as long with every placement",
            GainBasis::Replays => "replayed on the machine, the run takes as long as before; --objective time minimises the replayed time",
            GainBasis::Distances | GainBasis::Cost => "too little time is spent in MPI to save anything",
        })
    }
}
