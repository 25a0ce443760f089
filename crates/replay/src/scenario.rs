//! A replay scenario: schedule, machine and what-if changes. Runs as many replays as the predicted interval, the baseline and the
//! sensitivity need.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use sintonia_machine::{Machine, MessageMetric, Named, OperationTiming, PairClass};
use sintonia_program::history::CollectiveDependencies;

use crate::Error;
use crate::changes::{ComputeNoise, DurationChange, RankLoads, ReplayChanges, SegmentChange};
use crate::collective_plan::{op_of_collective, parse_global_model, parse_model};
use crate::core_waits::{CROWDED_SHARE, CoreWaitRemoval};
use crate::engine::{RecordedNetwork, ReplayCosts, ReplayResult, ReplaySink, replay};
use crate::platform::{IntervalBound, Platform, RankPlacement};
use crate::schedule::Schedule;
use crate::what_if::{ChangedValue, WhatIf};

/// What to replay, on which machine, with which changes.
pub struct ReplayScenario<'a> {
    /// The run to replay.
    pub schedule: &'a dyn Schedule,
    /// Lower and upper bound of the schedule, where its times are uncertain.
    pub bounds: Option<[&'a dyn Schedule; 2]>,
    /// The machine; `None` for the recorded one.
    pub machine: Option<Machine>,
    /// What-if changes.
    pub what_ifs: Vec<WhatIf>,
}

/// Result of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    /// Lower bound, middle and upper bound in seconds.
    pub seconds: [f64; 3],
    /// The replay at the middle of all intervals.
    pub outcome: ReplayResult,
    /// The same machine without the what-if changes; `None` if there are none.
    pub baseline: Option<ReplayResult>,
    /// The estimated recorded network, if that was replayed.
    pub recorded_network: Option<RecordedNetwork>,
    /// The recorded run without waiting for a core, where it is not the baseline and that waiting matters.
    pub undisturbed_s: Option<f64>,
}

/// First-order sensitivity of the run time to latency and bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkSensitivity {
    /// d(run time) / d(latency): the number of messages in a row on the critical path.
    pub per_latency_second: f64,
    /// d(run time) / d(seconds per byte): the number of bytes on the critical path.
    pub per_second_per_byte: f64,
    /// Share of the run time that vanishes with all latency (linear extrapolation).
    pub latency_share: f64,
    /// Share of the run time that vanishes with all per-byte cost (linear extrapolation).
    pub bandwidth_share: f64,
}

/// Relative perturbation for the sensitivity analysis.
const PERTURBATION: f64 = 0.01;

/// Inputs computed before the replays. They do not depend on the values of the what-if changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScenarioInputs {
    /// The estimated recorded network; unused with a machine.
    network: RecordedNetwork,
    /// Balanced compute times, if asked for.
    loads: RankLoads,
    /// What members of collectives waited for; unused with a machine.
    dependencies: Option<Arc<CollectiveDependencies>>,
}

impl ReplayScenario<'_> {
    /// Replays the scenario.
    pub fn run(&self) -> Result<ScenarioResult, Error> {
        match &self.machine {
            Some(machine) => self.run_on_machine(machine),
            None => self.run_as_recorded(),
        }
    }

    /// Computes what replays need in advance.
    pub(crate) fn prepare(&self) -> Result<ScenarioInputs, Error> {
        let seen = match self.machine {
            Some(_) => RecordedNetwork::default(),
            None => replay(self.schedule, &recorded_costs(), &ReplayChanges::default(), None)?.network,
        };
        Ok(ScenarioInputs { network: seen, loads: self.balanced_loads()?, dependencies: self.dependencies()? })
    }

    /// What members of collectives waited for. Unchanged calls end as recorded, whatever they waited for.
    fn dependencies(&self) -> Result<Option<Arc<CollectiveDependencies>>, Error> {
        if self.machine.is_some() || self.what_ifs.is_empty() { Ok(None) } else { self.schedule.collective_dependencies() }
    }

    fn balanced_loads(&self) -> Result<RankLoads, Error> {
        if self.what_ifs.contains(&WhatIf::Balance) { RankLoads::balanced(self.schedule) } else { Ok(RankLoads::default()) }
    }

    /// Only the middle of the predicted interval.
    pub(crate) fn middle_seconds(&self, inputs: &ScenarioInputs) -> Result<f64, Error> {
        Ok(replay(self.schedule, &self.replay_costs(inputs)?, &self.changes(inputs)?, None)?.replayed_s)
    }

    /// Replays once more and reports every call to a sink.
    pub fn run_with_sink(&self, sink: &mut dyn ReplaySink) -> Result<ReplayResult, Error> {
        let inputs = self.prepare()?;
        replay(self.schedule, &self.replay_costs(&inputs)?, &self.changes(&inputs)?, Some(sink))
    }

    fn run_on_machine(&self, machine: &Machine) -> Result<ScenarioResult, Error> {
        let at = |end| -> Result<ReplayCosts, Error> { Ok(ReplayCosts::Machine(Box::new(self.platform(machine, end, &self.what_ifs)?))) };
        let changes = self.changes(&self.prepare()?)?;
        let outcome = replay(self.schedule, &at(IntervalBound::Middle)?, &changes, None)?;
        let middle = outcome.replayed_s;
        let seconds = match self.bounds.is_none() && is_exact(machine) {
            true => [middle; 3],
            false => {
                let [low, high] = self.bounds.unwrap_or([self.schedule; 2]);
                let ends = rayon::join(
                    || replay(low, &at(IntervalBound::Low)?, &changes, None),
                    || replay(high, &at(IntervalBound::High)?, &changes, None),
                );
                [ends.0?.replayed_s.min(middle), middle, ends.1?.replayed_s.max(middle)]
            }
        };
        let before = match self.what_ifs.is_empty() {
            true => None,
            false => {
                let unchanged = ReplayCosts::Machine(Box::new(self.platform(machine, IntervalBound::Middle, &[])?));
                Some(replay(self.schedule, &unchanged, &ReplayChanges::default(), None)?)
            }
        };
        let undisturbed_s = match outcome.core_waits.share >= CROWDED_SHARE {
            true => Some(replay_undisturbed(self.schedule)?.replayed_s),
            false => None,
        };
        Ok(ScenarioResult { seconds, outcome, baseline: before, recorded_network: None, undisturbed_s })
    }

    fn run_as_recorded(&self) -> Result<ScenarioResult, Error> {
        let dependencies = self.dependencies()?;
        let unchanged = ReplayChanges { collective_dependencies: dependencies.clone(), ..ReplayChanges::default() };
        let before = replay_without_core_waits(self.schedule, &unchanged)?;
        let seen = before.network;
        if self.what_ifs.is_empty() {
            let seconds = self.disturbed_interval(&before, seen, &unchanged)?;
            let undisturbed_s = None;
            return Ok(ScenarioResult { seconds, outcome: before, baseline: None, recorded_network: Some(seen), undisturbed_s });
        }
        let network = self.recorded_network(seen)?;
        let changes = self.changes(&ScenarioInputs { network: seen, loads: self.balanced_loads()?, dependencies })?;
        let outcome = replay(self.schedule, &ReplayCosts::Recorded(network), &changes, None)?;
        let seconds = self.disturbed_interval(&outcome, network, &changes)?;
        Ok(ScenarioResult { seconds, outcome, baseline: Some(before), recorded_network: Some(network), undisturbed_s: None })
    }

    /// How far the time can be above that of a replay in which the waiting of communication partners for a core was removed: what such a
    /// call had taken without it is not known exactly. The upper bound keeps it.
    fn disturbed_interval(&self, outcome: &ReplayResult, network: RecordedNetwork, changes: &ReplayChanges) -> Result<[f64; 3], Error> {
        let middle = outcome.replayed_s;
        if outcome.core_waits.disturbed_calls == 0 {
            return Ok([middle; 3]);
        }
        let changes = ReplayChanges { core_waits: CoreWaitRemoval::Own, ..changes.clone() };
        let high = replay(self.schedule, &ReplayCosts::Recorded(network), &changes, None)?.replayed_s;
        Ok([middle, middle, high.max(middle)])
    }

    /// Replays with slightly more latency and slightly less bandwidth.
    pub fn sensitivity(&self) -> Result<NetworkSensitivity, Error> {
        let inputs = self.prepare()?;
        if inputs.network.transfers.are_too_few() {
            return Err(Error::NetworkUnknown(inputs.network.transfers));
        }
        let changes = self.changes(&inputs)?;
        let time = |latency: f64, per_byte: f64| -> Result<(f64, f64, f64), Error> {
            let (costs, unit) = self.perturbed_costs(&inputs, latency, per_byte)?;
            Ok((replay(self.schedule, &costs, &changes, None)?.replayed_s, unit.0, unit.1))
        };
        let (now, latency_s, s_per_byte) = time(1.0, 1.0)?;
        let (latency, bandwidth) = rayon::join(|| time(1.0 + PERTURBATION, 1.0), || time(1.0, 1.0 + PERTURBATION));
        let slope = |then: f64| (then - now) / PERTURBATION;
        let (by_latency, by_byte) = (slope(latency?.0), slope(bandwidth?.0));
        let per = |slope: f64, unit: f64| if unit > 0.0 { slope / unit } else { 0.0 };
        Ok(NetworkSensitivity {
            per_latency_second: per(by_latency, latency_s),
            per_second_per_byte: per(by_byte, s_per_byte),
            latency_share: per(by_latency, now),
            bandwidth_share: per(by_byte, now),
        })
    }

    /// The costs with scaled latency and per-byte cost, and their values before scaling.
    fn perturbed_costs(&self, inputs: &ScenarioInputs, latency: f64, per_byte: f64) -> Result<(ReplayCosts, (f64, f64)), Error> {
        let mut costs = self.replay_costs(inputs)?;
        let unit = match &mut costs {
            ReplayCosts::Machine(platform) => {
                let unit = platform.latency_and_byte_cost();
                platform.adjustment.latency_factor *= latency;
                platform.adjustment.per_byte_factor *= per_byte;
                unit
            }
            ReplayCosts::Recorded(network) => {
                let unit = (network.latency_s * network.latency_factor, network.s_per_byte * network.per_byte_factor);
                network.latency_factor *= latency;
                network.per_byte_factor *= per_byte;
                unit
            }
        };
        Ok((costs, unit))
    }

    /// Costs with the what-if changes applied.
    fn replay_costs(&self, inputs: &ScenarioInputs) -> Result<ReplayCosts, Error> {
        Ok(match &self.machine {
            Some(machine) => ReplayCosts::Machine(Box::new(self.platform(machine, IntervalBound::Middle, &self.what_ifs)?)),
            None => ReplayCosts::Recorded(self.recorded_network(inputs.network)?),
        })
    }

    /// The machine with placed ranks and the what-if changes applied.
    fn platform(&self, machine: &Machine, end: IntervalBound, what_ifs: &[WhatIf]) -> Result<Platform, Error> {
        check_collectives(machine)?;
        let mut machine = machine.clone();
        let mut placement = RankPlacement::Block;
        for what_if in what_ifs {
            match what_if {
                WhatIf::Nodes(nodes) => set_nodes(&mut machine, *nodes),
                WhatIf::Placement(wanted) => placement = wanted.clone(),
                _ => {}
            }
        }
        let mut platform = Platform::new(&machine, self.schedule.ranks(), &placement, end)?;
        let unit = platform.latency_and_byte_cost();
        for what_if in what_ifs {
            let adjust = &mut platform.adjustment;
            match what_if {
                WhatIf::Latency(amount) => adjust.latency_factor = latency_factor(*amount, adjust.latency_factor, unit.0)?,
                WhatIf::Bandwidth(amount) => adjust.per_byte_factor = byte_cost_factor(*amount, adjust.per_byte_factor, unit.1)?,
                WhatIf::Eager(bytes) => adjust.eager_bytes = Some(*bytes),
                _ => {}
            }
        }
        Ok(platform)
    }

    /// The recorded network with the what-if changes applied; changes that need a machine are an error.
    fn recorded_network(&self, seen: RecordedNetwork) -> Result<RecordedNetwork, Error> {
        let mut network = seen;
        for what_if in &self.what_ifs {
            match what_if {
                WhatIf::Latency(ChangedValue::Absolute(seconds)) if *seconds > 0.0 && seen.transfers.are_too_few() => {
                    return Err(Error::NetworkUnknown(seen.transfers));
                }
                WhatIf::Bandwidth(ChangedValue::Absolute(rate)) if rate.is_finite() && seen.transfers.are_too_few() => {
                    return Err(Error::NetworkUnknown(seen.transfers));
                }
                WhatIf::Latency(amount) => network.latency_factor = latency_factor(*amount, network.latency_factor, seen.latency_s)?,
                WhatIf::Bandwidth(amount) => network.per_byte_factor = byte_cost_factor(*amount, network.per_byte_factor, seen.s_per_byte)?,
                WhatIf::Eager(_) => return Err(Error::NeedsMachine("eager")),
                WhatIf::NoContention => return Err(Error::NeedsMachine("contention")),
                WhatIf::WildcardsByArrival => return Err(Error::NeedsMachine("wildcards")),
                WhatIf::Algorithm(..) => return Err(Error::NeedsMachine("algorithm")),
                WhatIf::Placement(_) => return Err(Error::NeedsMachine("placement")),
                WhatIf::Nodes(_) => return Err(Error::NeedsMachine("nodes")),
                WhatIf::Balance | WhatIf::Noise(_) | WhatIf::Compute(_) | WhatIf::Segment { .. } | WhatIf::RecordedCores => {}
            }
        }
        let is_changed = (network.latency_factor, network.per_byte_factor) != (seen.latency_factor, seen.per_byte_factor);
        if is_changed && seen.transfers.are_too_few() && !network.is_ideal() {
            return Err(Error::NetworkUnknown(seen.transfers));
        }
        Ok(network)
    }

    fn changes(&self, inputs: &ScenarioInputs) -> Result<ReplayChanges, Error> {
        let mut changes =
            ReplayChanges { loads: inputs.loads.clone(), collective_dependencies: inputs.dependencies.clone(), ..ReplayChanges::default() };
        for what_if in &self.what_ifs {
            match what_if {
                WhatIf::NoContention => changes.no_contention = true,
                WhatIf::RecordedCores => changes.core_waits = CoreWaitRemoval::Nothing,
                WhatIf::WildcardsByArrival => changes.wildcards_by_arrival = true,
                WhatIf::Noise(share) => changes.noise = Some(ComputeNoise { share: *share, seed: 1 }),
                WhatIf::Compute(factor) => {
                    changes.segments.push(SegmentChange { from: None, to: None, duration: DurationChange::Scale(*factor) })
                }
                WhatIf::Segment { from, to, duration } => {
                    let from = from.as_deref().map(|name| self.find_sites(name)).transpose()?;
                    changes.segments.push(SegmentChange { from, to: Some(self.find_sites(to)?), duration: *duration });
                }
                WhatIf::Algorithm(Some(collective), model) => _ = changes.algorithms.insert(*collective, *model),
                WhatIf::Algorithm(None, model) => changes.default_algorithm = Some(*model),
                WhatIf::Balance | WhatIf::Latency(_) | WhatIf::Bandwidth(_) | WhatIf::Eager(_) => {}
                WhatIf::Placement(_) | WhatIf::Nodes(_) => {}
            }
        }
        let shares_links = self.machine.as_ref().is_some_and(|machine| machine.topology.is_some()) && !changes.no_contention;
        if changes.wildcards_by_arrival && shares_links {
            return Err(Error::ArrivalNotKnown);
        }
        Ok(changes)
    }

    /// Call sites of this name: file and line, or a function. Directories before the file are ignored.
    fn find_sites(&self, name: &str) -> Result<FxHashSet<u32>, Error> {
        let names: Vec<String> = (0..self.schedule.site_count()).map(|site| self.schedule.site_name(site)).collect();
        let file = name.rsplit('/').next().unwrap_or(name);
        let is_meant = |(_, known): &(u32, &String)| *known == name || *known == file;
        let found: FxHashSet<u32> = (0u32..).zip(&names).filter(is_meant).map(|(site, _)| site).collect();
        if found.is_empty() {
            let near = sintonia_text::suggestion::nearest_name(name, names.iter().map(String::as_str)).map(str::to_owned);
            return Err(Error::NoSuchSite { name: name.into(), near });
        }
        Ok(found)
    }
}

/// Replays a schedule without waiting for a core. Calls that such waiting disturbed take what undisturbed messages take, which a first
/// replay finds out.
pub fn replay_undisturbed(schedule: &dyn Schedule) -> Result<ReplayResult, Error> {
    replay_without_core_waits(schedule, &ReplayChanges::default())
}

fn replay_without_core_waits(schedule: &dyn Schedule, changes: &ReplayChanges) -> Result<ReplayResult, Error> {
    let first = replay(schedule, &recorded_costs(), changes, None)?;
    match first.core_waits.disturbed_calls {
        0 => Ok(first),
        _ => replay(schedule, &ReplayCosts::Recorded(first.network), changes, None),
    }
}

/// Costs as recorded.
fn recorded_costs() -> ReplayCosts {
    ReplayCosts::Recorded(RecordedNetwork::default())
}

/// The new latency factor, from the current factor and the unscaled latency.
fn latency_factor(amount: ChangedValue, before: f64, was: f64) -> Result<f64, Error> {
    match amount {
        ChangedValue::Factor(factor) => Ok(before * factor),
        ChangedValue::Absolute(0.0) => Ok(0.0),
        ChangedValue::Absolute(seconds) if was > 0.0 => Ok(seconds / was),
        ChangedValue::Absolute(_) => Err(Error::NothingToChange("latency")),
    }
}

/// The new per-byte factor, from a bandwidth.
fn byte_cost_factor(amount: ChangedValue, before: f64, was: f64) -> Result<f64, Error> {
    match amount {
        ChangedValue::Factor(factor) => Ok(before / factor),
        ChangedValue::Absolute(f64::INFINITY) => Ok(0.0),
        ChangedValue::Absolute(bytes_per_s) if was > 0.0 => Ok(1.0 / bytes_per_s / was),
        ChangedValue::Absolute(_) => Err(Error::NothingToChange("bandwidth")),
    }
}

/// Sets the number of nodes; all are of the first kind.
fn set_nodes(machine: &mut Machine, nodes: u64) {
    machine.nodes.truncate(1);
    machine.nodes.iter_mut().for_each(|node| node.count = nodes);
}

/// Checks that the algorithms in the machine file exist and support their collectives.
fn check_collectives(machine: &Machine) -> Result<(), Error> {
    let wrong = |what: &str, name: &str, why: String| Error::Collectives { what: what.into(), name: name.into(), why };
    for (collective, name) in &machine.collective_algorithms.algorithms {
        parse_model(name, op_of_collective(*collective)).map_err(|error| wrong(collective.name(), name, error.to_string()))?;
    }
    if let Some(name) = &machine.collective_algorithms.library {
        parse_global_model(name).map_err(|error| wrong("library", name, error.to_string()))?;
    }
    Ok(())
}

/// Whether all figures that a replay uses are exact.
fn is_exact(machine: &Machine) -> bool {
    let messages = machine.networks.values().flat_map(|network| network.messages.values());
    let groups = machine.collective_costs.values().flat_map(|group| group.timings.iter().map(|at| &at.timing));
    let is_line = |timing: &OperationTiming| timing.pieces.iter().all(|(_, line)| line.is_exact());
    messages.chain(groups).all(is_line) && machine.nodes.iter().all(|node| node.speed.is_exact()) && machine.topology.is_none()
}

impl Platform {
    /// Latency of a small message between nodes and cost per byte of a large one, after adjustment.
    pub fn latency_and_byte_cost(&self) -> (f64, f64) {
        let machine = self.machine();
        let network = machine.network(PairClass::OtherNode);
        let timing = network
            .and_then(|network| network.messages.get(&MessageMetric::Transfer).or_else(|| network.messages.get(&MessageMetric::Send)));
        let end = self.bound() as usize;
        let Some(timing) = timing else {
            let link = machine.topology.as_ref().map(|topology| topology.link);
            return link.map_or((0.0, 0.0), |link| {
                (link.latency.middle() * self.adjustment.latency_factor, self.adjustment.per_byte_factor / link.bandwidth.middle())
            });
        };
        let (latency, _) = timing.pieces.line(timing.pieces.from_bytes()).bounds()[end];
        let (_, per_byte) = timing.pieces.last().bounds()[end];
        (latency.max(0.0) * self.adjustment.latency_factor, per_byte.max(0.0) * self.adjustment.per_byte_factor)
    }
}
