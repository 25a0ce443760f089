//! A case: a schedule, a machine, and what should be different. Replayed as often as it takes to say how long, how certain, and why.

use sintonia_machine::{Figure, Machine, Message, PairClass};

use crate::Error;
use crate::changes::{Balance, Changes, Noise, SegmentChange};
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

impl Case<'_> {
    /// Replays it.
    pub fn run(&self) -> Result<Findings, Error> {
        match &self.machine {
            Some(machine) => self.run_on(machine),
            None => self.run_as_recorded(),
        }
    }

    /// The middle of the seconds alone.
    pub fn middle(&self) -> Result<f64, Error> {
        let costs = match &self.machine {
            Some(machine) => self.costs_on(machine, End::Middle, &self.what_ifs)?,
            None => Costs::Recorded(self.recorded_network(self.seen()?)?),
        };
        Ok(replay(self.schedule, &costs, &self.changes(&self.what_ifs)?, None)?.seconds)
    }

    /// What the network of the recording seems to be like.
    fn seen(&self) -> Result<RecordedNetwork, Error> {
        Ok(replay(self.schedule, &Costs::Recorded(RecordedNetwork::default()), &Changes::default(), None)?.network)
    }

    fn run_on(&self, machine: &Machine) -> Result<Findings, Error> {
        let at = |end| self.costs_on(machine, end, &self.what_ifs);
        let changes = self.changes(&self.what_ifs)?;
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
            false => Some(replay(self.schedule, &self.costs_on(machine, End::Middle, &[])?, &Changes::default(), None)?),
        };
        Ok(Findings { seconds, outcome, before, recorded: None })
    }

    fn run_as_recorded(&self) -> Result<Findings, Error> {
        let same = Costs::Recorded(RecordedNetwork::default());
        let before = replay(self.schedule, &same, &Changes::default(), None)?;
        let network = before.network;
        if self.what_ifs.is_empty() {
            return Ok(Findings { seconds: [before.seconds; 3], outcome: before, before: None, recorded: Some(network) });
        }
        let network = self.recorded_network(network)?;
        let outcome = replay(self.schedule, &Costs::Recorded(network), &self.changes(&self.what_ifs)?, None)?;
        Ok(Findings { seconds: [outcome.seconds; 3], outcome, before: Some(before), recorded: Some(network) })
    }

    /// Replays it once more and tells a sink of every call.
    pub fn write(&self, sink: &mut dyn Sink) -> Result<Outcome, Error> {
        let changes = self.changes(&self.what_ifs)?;
        let costs = match &self.machine {
            Some(machine) => self.costs_on(machine, End::Middle, &self.what_ifs)?,
            None => Costs::Recorded(self.recorded_network(self.seen()?)?),
        };
        replay(self.schedule, &costs, &changes, Some(sink))
    }

    /// What a little more latency and a little less bandwidth do.
    pub fn sensitivity(&self) -> Result<Sensitivity, Error> {
        let changes = self.changes(&self.what_ifs)?;
        let time = |latency: f64, per_byte: f64| -> Result<(f64, f64, f64), Error> {
            let (costs, unit) = self.nudged(latency, per_byte)?;
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
    fn nudged(&self, latency: f64, per_byte: f64) -> Result<(Costs, (f64, f64)), Error> {
        match &self.machine {
            Some(machine) => {
                let Costs::Machine(mut platform) = self.costs_on(machine, End::Middle, &self.what_ifs)? else {
                    return Ok((Costs::Recorded(RecordedNetwork::default()), (0.0, 0.0)));
                };
                let unit = platform.unit();
                platform.adjust.latency *= latency;
                platform.adjust.per_byte *= per_byte;
                Ok((Costs::Machine(platform), unit))
            }
            None => {
                let mut network = self.recorded_network(self.seen()?)?;
                let unit = (network.latency_s * network.latency_times, network.s_per_byte * network.per_byte_times);
                network.latency_times *= latency;
                network.per_byte_times *= per_byte;
                Ok((Costs::Recorded(network), unit))
            }
        }
    }

    fn costs_on(&self, machine: &Machine, end: End, what_ifs: &[WhatIf]) -> Result<Costs, Error> {
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
        let (latency_s, s_per_byte) = platform.unit();
        for what_if in what_ifs {
            match what_if {
                WhatIf::Latency(amount) => platform.adjust.latency = factor(*amount, latency_s).ok_or(Error::NothingToChange("latency"))?,
                WhatIf::Bandwidth(amount) => {
                    platform.adjust.per_byte = per_byte(*amount, s_per_byte).ok_or(Error::NothingToChange("bandwidth"))?;
                }
                WhatIf::Eager(bytes) => platform.adjust.eager_bytes = Some(*bytes),
                _ => {}
            }
        }
        Ok(Costs::Machine(Box::new(platform)))
    }

    /// The network of the recording with what should be different; what needs a machine is an error.
    fn recorded_network(&self, seen: RecordedNetwork) -> Result<RecordedNetwork, Error> {
        let mut network = seen;
        for what_if in &self.what_ifs {
            match what_if {
                WhatIf::Latency(amount) => {
                    network.latency_times = factor(*amount, seen.latency_s).ok_or(Error::NothingToChange("latency"))?;
                }
                WhatIf::Bandwidth(amount) => {
                    network.per_byte_times = per_byte(*amount, seen.s_per_byte).ok_or(Error::NothingToChange("bandwidth"))?;
                }
                WhatIf::Eager(_) => return Err(Error::NeedsMachine("eager")),
                WhatIf::Algorithm(..) => return Err(Error::NeedsMachine("algorithm")),
                WhatIf::Placement(_) => return Err(Error::NeedsMachine("placement")),
                WhatIf::Nodes(_) => return Err(Error::NeedsMachine("nodes")),
                _ => {}
            }
        }
        Ok(network)
    }

    fn changes(&self, what_ifs: &[WhatIf]) -> Result<Changes, Error> {
        let mut changes = Changes::default();
        for what_if in what_ifs {
            match what_if {
                WhatIf::NoContention => changes.no_contention = true,
                WhatIf::WildcardsByArrival => changes.wildcards_by_arrival = true,
                WhatIf::Balance => changes.balance = Some(Balance::of(self.schedule)?),
                WhatIf::Noise(share) => changes.noise = Some(Noise { share: *share, seed: 1 }),
                WhatIf::Compute(times) => changes.computation = Some(changes.computation.unwrap_or(1.0) * times),
                WhatIf::Segment { from, to, takes } => {
                    let from = from.as_deref().map(|name| self.sites(name)).transpose()?;
                    changes.segments.push(SegmentChange { from, to: self.sites(to)?, takes: *takes });
                }
                WhatIf::Algorithm(Some(collective), built) => _ = changes.algorithms.insert(*collective, *built),
                WhatIf::Algorithm(None, built) => changes.all_algorithms = Some(*built),
                WhatIf::Latency(_) | WhatIf::Bandwidth(_) | WhatIf::Eager(_) | WhatIf::Placement(_) | WhatIf::Nodes(_) => {}
            }
        }
        Ok(changes)
    }

    /// The call sites of that name: a file and line, or a function.
    fn sites(&self, name: &str) -> Result<std::collections::HashSet<u32>, Error> {
        let names: Vec<String> = (0..self.schedule.sites()).map(|site| self.schedule.site(site)).collect();
        let found: std::collections::HashSet<u32> =
            (0u32..).zip(&names).filter(|(_, known)| *known == name).map(|(site, _)| site).collect();
        if found.is_empty() {
            let near = sintonia_text::near::nearest(name, names.iter().map(String::as_str)).map(str::to_owned);
            return Err(Error::NoSuchSite { name: name.into(), near });
        }
        Ok(found)
    }
}

/// How many times as much an amount is; `None` if a value is asked for where there was nothing.
fn factor(amount: Amount, now: f64) -> Option<f64> {
    match amount {
        Amount::Times(times) => Some(times),
        Amount::Is(0.0) => Some(0.0),
        Amount::Is(value) => (now > 0.0).then_some(value / now),
    }
}

/// How many times as long each byte takes with a bandwidth.
fn per_byte(amount: Amount, now: f64) -> Option<f64> {
    match amount {
        Amount::Times(times) => Some(1.0 / times),
        Amount::Is(f64::INFINITY) => Some(0.0),
        Amount::Is(value) => (now > 0.0).then_some(1.0 / value / now),
    }
}

/// As many nodes as this, of the first kind.
fn set_nodes(machine: &mut Machine, nodes: u64) {
    machine.nodes.truncate(1);
    machine.nodes.iter_mut().for_each(|node| node.count = nodes);
}

/// Whether all figures that a replay asks for are points.
fn is_exact(machine: &Machine) -> bool {
    let exact = |figure: &Figure| figure.is_exact();
    let messages = [Message::Send, Message::StartSend, Message::WaitSend, Message::Receive, Message::Transfer, Message::Gap];
    let networks = machine.networks.values().flat_map(|network| messages.iter().filter_map(|message| network.messages.get(message)));
    let groups = machine.groups.values().flat_map(|group| group.at.iter().map(|at| &at.timing));
    let mut lines = networks.chain(groups).flat_map(|timing| timing.pieces.iter().map(|(_, line)| *line).collect::<Vec<_>>());
    lines.all(|line| exact(&line.intercept) && exact(&line.slope))
        && machine.nodes.iter().all(|node| exact(&node.speed))
        && machine.topology.is_none()
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
