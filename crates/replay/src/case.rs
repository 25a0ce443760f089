//! A case: a schedule, a machine, and what should be different. Replayed as often as it takes to say how long, how certain, and why.

use std::collections::HashSet;

use sintonia_machine::{Machine, Message, Named, PairClass, Timing};

use crate::Error;
use crate::changes::{Changes, Loads, Noise, SegmentChange, Takes};
use crate::collective::{built, built_all, pattern};
use crate::engine::{Costs, Outcome, RecordedNetwork, Sink, replay};
use crate::platform::{End, Placement, Platform};
use crate::schedule::Schedule;
use crate::what_if::{Amount, WhatIf};

/// What is to be replayed, where, and what is different.
pub struct Case<'a> {
    /// What is replayed.
    pub schedule: &'a dyn Schedule,
    /// The same if everything in it is as quick, and as slow, as it may be, where that is open.
    pub ends: Option<[&'a dyn Schedule; 2]>,
    /// The machine; none for that of the recording.
    pub machine: Option<Machine>,
    /// What is different.
    pub what_ifs: Vec<WhatIf>,
}

/// What came of a case.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Lowest, middle and highest seconds.
    pub seconds: [f64; 3],
    /// Everything about the middle.
    pub outcome: Outcome,
    /// The same machine without what is different; `None` if nothing is.
    pub before: Option<Outcome>,
    /// Where the network of the recording was taken: what it seems to be like.
    pub recorded: Option<RecordedNetwork>,
}

/// What a little more of something does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// Seconds that the run gets longer for each second of latency: so many messages are in its way one after another.
    pub per_latency_second: f64,
    /// Seconds that the run gets longer for each second per byte: so many bytes are in its way.
    pub per_second_per_byte: f64,
    /// The share of the time that goes away with all latency, if it went on like this.
    pub latency_share: f64,
    /// The share of the time that goes away with all transfer of bytes, if it went on like this.
    pub bandwidth_share: f64,
}

/// How much latency and bandwidth are changed to see what that does.
const LITTLE: f64 = 0.01;

/// What a replay has to know before it begins. It is the same whatever amounts are asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ground {
    /// What the network of the recording seems to be like; not looked at where there is a machine.
    seen: RecordedNetwork,
    /// How long ranks compute, if that is to be balanced.
    loads: Loads,
}

impl Case<'_> {
    /// Replays it.
    pub fn run(&self) -> Result<Findings, Error> {
        match &self.machine {
            Some(machine) => self.run_on(machine),
            None => self.run_as_recorded(),
        }
    }

    /// Looks at what is replayed, as far as that is needed before.
    pub(crate) fn ground(&self) -> Result<Ground, Error> {
        let seen = match self.machine {
            Some(_) => RecordedNetwork::default(),
            None => replay(self.schedule, &as_it_was(), &Changes::default(), None)?.network,
        };
        Ok(Ground { seen, loads: self.loads()? })
    }

    fn loads(&self) -> Result<Loads, Error> {
        if self.what_ifs.contains(&WhatIf::Balance) { Loads::balanced(self.schedule) } else { Ok(Loads::default()) }
    }

    /// The middle of the seconds alone.
    pub(crate) fn middle(&self, ground: &Ground) -> Result<f64, Error> {
        Ok(replay(self.schedule, &self.costs(ground)?, &self.changes(ground)?, None)?.seconds)
    }

    /// Replays it once more and tells a sink of every call.
    pub fn write(&self, sink: &mut dyn Sink) -> Result<Outcome, Error> {
        let ground = self.ground()?;
        replay(self.schedule, &self.costs(&ground)?, &self.changes(&ground)?, Some(sink))
    }

    fn run_on(&self, machine: &Machine) -> Result<Findings, Error> {
        let at = |end| -> Result<Costs, Error> { Ok(Costs::Machine(Box::new(self.platform(machine, end, &self.what_ifs)?))) };
        let changes = self.changes(&self.ground()?)?;
        let outcome = replay(self.schedule, &at(End::Middle)?, &changes, None)?;
        let middle = outcome.seconds;
        let seconds = match self.ends.is_none() && is_exact(machine) {
            true => [middle; 3],
            false => {
                let [low, high] = self.ends.unwrap_or([self.schedule; 2]);
                let ends = rayon::join(|| replay(low, &at(End::Low)?, &changes, None), || replay(high, &at(End::High)?, &changes, None));
                [ends.0?.seconds.min(middle), middle, ends.1?.seconds.max(middle)]
            }
        };
        let before = match self.what_ifs.is_empty() {
            true => None,
            false => {
                let unchanged = Costs::Machine(Box::new(self.platform(machine, End::Middle, &[])?));
                Some(replay(self.schedule, &unchanged, &Changes::default(), None)?)
            }
        };
        Ok(Findings { seconds, outcome, before, recorded: None })
    }

    fn run_as_recorded(&self) -> Result<Findings, Error> {
        let before = replay(self.schedule, &as_it_was(), &Changes::default(), None)?;
        let seen = before.network;
        if self.what_ifs.is_empty() {
            return Ok(Findings { seconds: [before.seconds; 3], outcome: before, before: None, recorded: Some(seen) });
        }
        let network = self.recorded_network(seen)?;
        let changes = self.changes(&Ground { seen, loads: self.loads()? })?;
        let outcome = replay(self.schedule, &Costs::Recorded(network), &changes, None)?;
        Ok(Findings { seconds: [outcome.seconds; 3], outcome, before: Some(before), recorded: Some(network) })
    }

    /// What a little more latency and a little less bandwidth do.
    pub fn sensitivity(&self) -> Result<Sensitivity, Error> {
        let ground = self.ground()?;
        let changes = self.changes(&ground)?;
        let time = |latency: f64, per_byte: f64| -> Result<(f64, f64, f64), Error> {
            let (costs, unit) = self.nudged(&ground, latency, per_byte)?;
            Ok((replay(self.schedule, &costs, &changes, None)?.seconds, unit.0, unit.1))
        };
        let (now, latency_s, s_per_byte) = time(1.0, 1.0)?;
        let (latency, bandwidth) = rayon::join(|| time(1.0 + LITTLE, 1.0), || time(1.0, 1.0 + LITTLE));
        let slope = |then: f64| (then - now) / LITTLE;
        let (by_latency, by_byte) = (slope(latency?.0), slope(bandwidth?.0));
        let per = |slope: f64, unit: f64| if unit > 0.0 { slope / unit } else { 0.0 };
        Ok(Sensitivity {
            per_latency_second: per(by_latency, latency_s),
            per_second_per_byte: per(by_byte, s_per_byte),
            latency_share: per(by_latency, now),
            bandwidth_share: per(by_byte, now),
        })
    }

    /// The costs with latency and what each byte takes times these, and what they were before.
    fn nudged(&self, ground: &Ground, latency: f64, per_byte: f64) -> Result<(Costs, (f64, f64)), Error> {
        let mut costs = self.costs(ground)?;
        let unit = match &mut costs {
            Costs::Machine(platform) => {
                let unit = platform.unit();
                platform.adjust.latency *= latency;
                platform.adjust.per_byte *= per_byte;
                unit
            }
            Costs::Recorded(network) => {
                let unit = (network.latency_s * network.latency_times, network.s_per_byte * network.per_byte_times);
                network.latency_times *= latency;
                network.per_byte_times *= per_byte;
                unit
            }
        };
        Ok((costs, unit))
    }

    /// What everything costs, with what should be different.
    fn costs(&self, ground: &Ground) -> Result<Costs, Error> {
        Ok(match &self.machine {
            Some(machine) => Costs::Machine(Box::new(self.platform(machine, End::Middle, &self.what_ifs)?)),
            None => Costs::Recorded(self.recorded_network(ground.seen)?),
        })
    }

    /// The machine with the ranks on it, and with what should be different.
    fn platform(&self, machine: &Machine, end: End, what_ifs: &[WhatIf]) -> Result<Platform, Error> {
        check_collectives(machine)?;
        let mut machine = machine.clone();
        let mut placement = Placement::Block;
        for what_if in what_ifs {
            match what_if {
                WhatIf::Nodes(nodes) => set_nodes(&mut machine, *nodes),
                WhatIf::Placement(wanted) => placement = wanted.clone(),
                _ => {}
            }
        }
        let mut platform = Platform::new(&machine, self.schedule.ranks(), &placement, end)?;
        let unit = platform.unit();
        for what_if in what_ifs {
            let adjust = &mut platform.adjust;
            match what_if {
                WhatIf::Latency(amount) => adjust.latency = latency(*amount, adjust.latency, unit.0)?,
                WhatIf::Bandwidth(amount) => adjust.per_byte = bandwidth(*amount, adjust.per_byte, unit.1)?,
                WhatIf::Eager(bytes) => adjust.eager_bytes = Some(*bytes),
                _ => {}
            }
        }
        Ok(platform)
    }

    /// The network of the recording with what should be different; what needs a machine is an error.
    fn recorded_network(&self, seen: RecordedNetwork) -> Result<RecordedNetwork, Error> {
        let mut network = seen;
        for what_if in &self.what_ifs {
            match what_if {
                WhatIf::Latency(amount) => network.latency_times = latency(*amount, network.latency_times, seen.latency_s)?,
                WhatIf::Bandwidth(amount) => network.per_byte_times = bandwidth(*amount, network.per_byte_times, seen.s_per_byte)?,
                WhatIf::Eager(_) => return Err(Error::NeedsMachine("eager")),
                WhatIf::NoContention => return Err(Error::NeedsMachine("contention")),
                WhatIf::WildcardsByArrival => return Err(Error::NeedsMachine("wildcards")),
                WhatIf::Algorithm(..) => return Err(Error::NeedsMachine("algorithm")),
                WhatIf::Placement(_) => return Err(Error::NeedsMachine("placement")),
                WhatIf::Nodes(_) => return Err(Error::NeedsMachine("nodes")),
                WhatIf::Balance | WhatIf::Noise(_) | WhatIf::Compute(_) | WhatIf::Segment { .. } => {}
            }
        }
        Ok(network)
    }

    fn changes(&self, ground: &Ground) -> Result<Changes, Error> {
        let mut changes = Changes { loads: ground.loads.clone(), ..Changes::default() };
        for what_if in &self.what_ifs {
            match what_if {
                WhatIf::NoContention => changes.no_contention = true,
                WhatIf::WildcardsByArrival => changes.wildcards_by_arrival = true,
                WhatIf::Noise(share) => changes.noise = Some(Noise { share: *share, seed: 1 }),
                WhatIf::Compute(times) => changes.segments.push(SegmentChange { from: None, to: None, takes: Takes::Times(*times) }),
                WhatIf::Segment { from, to, takes } => {
                    let from = from.as_deref().map(|name| self.sites(name)).transpose()?;
                    changes.segments.push(SegmentChange { from, to: Some(self.sites(to)?), takes: *takes });
                }
                WhatIf::Algorithm(Some(collective), built) => _ = changes.algorithms.insert(*collective, *built),
                WhatIf::Algorithm(None, built) => changes.all_algorithms = Some(*built),
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

    /// The call sites of that name: a file and line, or a function. Folders before the file do not matter.
    fn sites(&self, name: &str) -> Result<HashSet<u32>, Error> {
        let names: Vec<String> = (0..self.schedule.sites()).map(|site| self.schedule.site(site)).collect();
        let file = name.rsplit('/').next().unwrap_or(name);
        let is_meant = |(_, known): &(u32, &String)| *known == name || *known == file;
        let found: HashSet<u32> = (0u32..).zip(&names).filter(is_meant).map(|(site, _)| site).collect();
        if found.is_empty() {
            let near = sintonia_text::near::nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
            return Err(Error::NoSuchSite { name: name.into(), near });
        }
        Ok(found)
    }
}

/// What the recording took.
fn as_it_was() -> Costs {
    Costs::Recorded(RecordedNetwork::default())
}

/// How many times as long as it was latency is now, where it was so many times as long before.
fn latency(amount: Amount, before: f64, was: f64) -> Result<f64, Error> {
    match amount {
        Amount::Times(times) => Ok(before * times),
        Amount::Is(0.0) => Ok(0.0),
        Amount::Is(seconds) if was > 0.0 => Ok(seconds / was),
        Amount::Is(_) => Err(Error::NothingToChange("latency")),
    }
}

/// The same for what each byte takes, with a bandwidth.
fn bandwidth(amount: Amount, before: f64, was: f64) -> Result<f64, Error> {
    match amount {
        Amount::Times(times) => Ok(before / times),
        Amount::Is(f64::INFINITY) => Ok(0.0),
        Amount::Is(bytes_per_s) if was > 0.0 => Ok(1.0 / bytes_per_s / was),
        Amount::Is(_) => Err(Error::NothingToChange("bandwidth")),
    }
}

/// As many nodes as this, of the first kind.
fn set_nodes(machine: &mut Machine, nodes: u64) {
    machine.nodes.truncate(1);
    machine.nodes.iter_mut().for_each(|node| node.count = nodes);
}

/// How the machine file wants operations of groups to be built must be possible.
fn check_collectives(machine: &Machine) -> Result<(), Error> {
    let wrong = |what: &str, name: &str, why: String| Error::Collectives { what: what.into(), name: name.into(), why };
    for (collective, name) in &machine.collectives.algorithms {
        built(name, pattern(*collective)).map_err(|error| wrong(collective.name(), name, error.to_string()))?;
    }
    if let Some(name) = &machine.collectives.library {
        built_all(name).map_err(|error| wrong("library", name, error.to_string()))?;
    }
    Ok(())
}

/// Whether all figures that a replay asks for are points.
fn is_exact(machine: &Machine) -> bool {
    let messages = machine.networks.values().flat_map(|network| network.messages.values());
    let groups = machine.groups.values().flat_map(|group| group.at.iter().map(|at| &at.timing));
    let is_line = |timing: &Timing| timing.pieces.iter().all(|(_, line)| line.intercept.is_exact() && line.slope.is_exact());
    messages.chain(groups).all(is_line) && machine.nodes.iter().all(|node| node.speed.is_exact()) && machine.topology.is_none()
}

impl Platform {
    /// What a small message takes between nodes and what each byte of a large one does, as they are now.
    pub fn unit(&self) -> (f64, f64) {
        let machine = self.machine();
        let network = machine.network(PairClass::OtherNode);
        let timing = network.and_then(|network| network.messages.get(&Message::Transfer).or_else(|| network.messages.get(&Message::Send)));
        let end = self.end() as usize;
        let Some(timing) = timing else {
            let link = machine.topology.as_ref().map(|topology| topology.link);
            return link
                .map_or((0.0, 0.0), |link| (link.latency.middle() * self.adjust.latency, self.adjust.per_byte / link.bandwidth.middle()));
        };
        let first: [f64; 3] = timing.pieces.line(timing.pieces.from_bytes()).intercept.into();
        let last: [f64; 3] = timing.pieces.last().slope.into();
        (first[end].max(0.0) * self.adjust.latency, last[end].max(0.0) * self.adjust.per_byte)
    }
}
