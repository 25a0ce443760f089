//! Everything that lines share: messages, operations of groups, prices, and who is to go on.

use sintonia_recording::QuickMap;

use super::code::{Code, Codes};
use super::decisions::Decisions;
use super::letters::{Lane, LetterId, Letters, Moment, NONE, UNKNOWN, Waiter};
use super::line::{About, Beat, Line, Requests, Stage};
use super::manners::Mannered;
use super::meetings::{ErrandId, Meetings};
use super::outcome::Tally;
use super::samples::Samples;
use super::windows::Locks;
use super::{Costs, RecordedNetwork};
use crate::Error;
use crate::changes::Changes;
use crate::collective::Round;
use crate::network::{self, Network};
use crate::platform::{Platform, Price};
use crate::schedule::{LineId, Schedule, SendMode};

/// What lines share.
pub struct World<'a> {
    pub schedule: &'a dyn Schedule,
    pub costs: &'a Costs,
    pub changes: &'a Changes,
    pub letters: Letters,
    pub meetings: Meetings,
    /// What lines do.
    pub codes: Codes,
    /// What is being looked up.
    pub draft: Code,
    /// The seats that each line has in groups.
    pub seats: QuickMap<(u32, sintonia_recording::deed::Group), u32>,
    /// How many persistent operations each line has described on each communicator.
    pub persistent: QuickMap<(u32, u32), u32>,
    pub requests: Vec<Requests>,
    pub prices: Vec<Price>,
    /// Whether there are messages that only go on while both ends are in MPI.
    pub any_attended: bool,
    pub price_numbers: QuickMap<(bool, u64, u8), u32>,
    /// Who can go on.
    pub ready: Vec<Waiter>,
    /// Lines that wait for a request that another thread of their rank will make, by that line.
    pub awaited: QuickMap<u32, Vec<u32>>,
    pub decisions: Decisions,
    pub network: Option<Box<dyn Network>>,
    /// When the way of each line onto the network is free again, and that from it.
    pub out_free: Vec<f64>,
    /// See `out_free`.
    pub in_free: Vec<f64>,
    pub locks: Locks,
    pub samples: Samples,
    pub tallies: Vec<Tally>,
    pub tally_numbers: QuickMap<(u32, u16), u32>,
    /// Sends of which it is open whether they waited for their receive.
    pub perhaps: Vec<(u32, LetterId)>,
    /// When MPI was started, in the recording.
    pub began: f64,
    pub calls: u64,
    /// The rank of each line.
    pub ranks: Vec<u32>,
    /// The first line of each rank.
    pub firsts: Vec<u32>,
    /// Lines by rank and thread.
    pub places: QuickMap<(u32, u16), u32>,
    pub round: Round,
    pub over: Vec<ErrandId>,
    pub scratch: Vec<(f64, LetterId)>,
    /// How far calls have come that are made in other ways, if any are.
    pub mannered: Option<Mannered<'a>>,
    /// How many calls had to go on without what they needed.
    pub forced: u64,
}

impl<'a> World<'a> {
    pub fn new(schedule: &'a dyn Schedule, costs: &'a Costs, changes: &'a Changes, lines: &[LineId]) -> Result<World<'a>, Error> {
        let network = match costs {
            Costs::Machine(platform) if !changes.no_contention => shared_network(platform)?,
            _ => None,
        };
        Ok(World {
            schedule,
            costs,
            changes,
            letters: Letters::default(),
            meetings: Meetings::default(),
            codes: Codes::default(),
            draft: Code::default(),
            seats: QuickMap::default(),
            persistent: QuickMap::default(),
            requests: lines.iter().map(|_| Requests::default()).collect(),
            prices: Vec::new(),
            any_attended: false,
            price_numbers: QuickMap::default(),
            ready: Vec::new(),
            awaited: QuickMap::default(),
            decisions: Decisions::default(),
            network,
            out_free: vec![0.0; lines.len()],
            in_free: vec![0.0; lines.len()],
            locks: Locks::default(),
            samples: Samples::default(),
            tallies: Vec::new(),
            tally_numbers: QuickMap::default(),
            perhaps: Vec::new(),
            began: 0.0,
            calls: 0,
            firsts: firsts(lines),
            ranks: lines.iter().map(|line| line.rank).collect(),
            places: lines.iter().zip(0..).map(|(line, place)| ((line.rank, line.thread), place)).collect(),
            round: Round::default(),
            over: Vec::new(),
            scratch: Vec::new(),
            mannered: changes.manners.as_ref().map(|manners| Mannered::new(manners, schedule.ranks(), lines.len())),
            forced: 0,
        })
    }

    /// The machine, if there is one.
    pub fn platform(&self) -> Option<&'a Platform> {
        match self.costs {
            Costs::Machine(platform) => Some(platform),
            Costs::Recorded(_) => None,
        }
    }

    /// The network of the recording, if that is replayed.
    pub fn recorded(&self) -> Option<&'a RecordedNetwork> {
        match self.costs {
            Costs::Machine(_) => None,
            Costs::Recorded(network) => Some(network),
        }
    }

    /// Whether messages and operations of groups take no time at all.
    pub fn is_ideal(&self) -> bool {
        self.recorded().is_some_and(RecordedNetwork::is_ideal)
    }

    /// The number of the price of a message.
    pub fn price(&mut self, from: u32, to: u32, bytes: u64, mode: SendMode) -> u32 {
        let Some(platform) = self.platform() else {
            let rendezvous = mode == SendMode::Synchronous;
            return self.price_of((false, bytes, mode as u8), || Price { bytes: bytes as f64, rendezvous, ..Price::default() });
        };
        let key = (platform.leaves_node(from, to), bytes, mode as u8);
        self.price_of(key, || platform.price(from, to, bytes, mode))
    }

    fn price_of(&mut self, key: (bool, u64, u8), price: impl FnOnce() -> Price) -> u32 {
        let next = self.prices.len() as u32;
        let number = *self.price_numbers.entry(key).or_insert(next);
        if number == next {
            let price = price();
            self.any_attended |= price.attended;
            self.prices.push(price);
        }
        number
    }

    /// A line computes, and enters its next call.
    #[inline]
    pub fn compute(&mut self, line: &mut Line, row: &Beat) {
        let about = line.code.about[row.action as usize];
        let mut seconds = row.computed();
        if about.segment != NONE || self.changes.touches_everything() {
            seconds = self.changes.computes(about.segment, line.id.rank, (line.last_site, about.site), line.calls, seconds);
        }
        let looked = std::mem::take(&mut line.looked);
        if !row.only_waited() {
            seconds += looked;
        }
        line.now += seconds * line.slowness;
        if self.mannered.is_some() {
            line.now = self.ready(line);
        }
        line.recorded += row.before();
        (line.entered, line.entered_recorded) = (line.now, line.recorded);
        if !row.only_waited() {
            line.waits_since_recorded = line.recorded;
        }
        line.stage = Stage::Entered;
        line.done = 0;
    }

    /// A line leaves its call.
    #[inline]
    pub fn leave(&mut self, line: &mut Line, row: &Beat, about: About) {
        let took = row.took();
        line.recorded = line.entered_recorded + took;
        if self.mannered.is_some() {
            self.note_left(line, row);
        }
        let tally = &mut self.tallies[about.tally as usize];
        tally.calls += 1;
        tally.recorded += took;
        tally.replayed += line.now - line.entered;
        self.calls += 1;
        line.last_site = about.site;
        line.row += 1;
        line.calls += 1;
        line.stage = Stage::Before;
    }

    /// Wakes somebody.
    #[inline]
    pub fn wake(&mut self, waiter: Waiter) {
        if waiter != NONE {
            self.ready.push(waiter);
        }
    }

    /// A message is let go by its sender: the letter that it is in.
    #[inline]
    pub fn send(&mut self, sender: u32, lane: Lane, price: u32, to: u32, at: Moment, attended: bool) -> LetterId {
        let id = self.letters.send(lane);
        let letter = self.letters.get_mut(id);
        letter.sent = at;
        letter.price = price;
        letter.sender = sender;
        letter.to = to;
        if attended {
            letter.sender_ready = at.now;
        }
        let watcher = self.letters.take_watcher(lane);
        self.wake(watcher);
        self.dispatch(id);
        id
    }

    /// A receive is begun: the letter that it will get.
    #[inline]
    pub fn post(&mut self, lane: Lane, at: Moment, attended: bool) -> LetterId {
        let id = self.letters.post(lane);
        let letter = self.letters.get_mut(id);
        letter.posted = at;
        if attended {
            letter.receiver_ready = at.now;
        }
        // Whoever let go of a message and only waits to see it received.
        let waiter = if letter.arrived == UNKNOWN { NONE } else { std::mem::replace(&mut letter.sender_waits, NONE) };
        self.wake(waiter);
        self.dispatch(id);
        id
    }

    /// One end of a message gives it its attention.
    pub fn attend(&mut self, id: LetterId, sends: bool, at: f64) {
        let letter = self.letters.get_mut(id);
        let ready = if sends { &mut letter.sender_ready } else { &mut letter.receiver_ready };
        if *ready == UNKNOWN {
            *ready = at;
            self.dispatch(id);
        }
    }

    /// Lets a message go if nothing keeps it.
    #[inline]
    pub fn dispatch(&mut self, id: LetterId) {
        let letter = self.letters.get(id);
        if letter.sent.now == UNKNOWN || letter.left != UNKNOWN || letter.begun {
            return;
        }
        let price = self.prices[letter.price as usize];
        let start = if price.rendezvous {
            let both = letter.sender_ready.max(letter.receiver_ready);
            if both == UNKNOWN || letter.posted.now == UNKNOWN {
                return;
            }
            both
        } else {
            letter.sent.now
        };
        if self.network.is_some() && price.leaves_node {
            self.letters.get_mut(id).begun = true;
            self.decisions.begin(start, id);
            return;
        }
        let sender = letter.sender as usize;
        let left = start.max(if price.occupies > 0.0 { self.out_free[sender] } else { start });
        if price.occupies > 0.0 {
            self.out_free[sender] = left + price.occupies;
        }
        self.arrive(id, left, left + price.wire());
    }

    /// A message has come: whoever waits for it goes on.
    #[inline]
    pub fn arrive(&mut self, id: LetterId, left: f64, arrived: f64) {
        let letter = self.letters.get_mut(id);
        (letter.left, letter.arrived) = (left, arrived);
        let (sender, receiver) = (letter.sender_waits, letter.receiver_waits);
        (letter.sender_waits, letter.receiver_waits) = (NONE, NONE);
        self.wake(sender);
        self.wake(receiver);
    }

    /// When a receiver that looks at `from` has a message, which it then takes.
    #[inline]
    pub fn take(&mut self, receiver: u32, id: LetterId, from: f64) -> f64 {
        let letter = self.letters.get(id);
        let price = self.prices[letter.price as usize];
        let mut there = letter.arrived;
        if price.occupies > 0.0 && self.network.is_none() {
            let free = &mut self.in_free[receiver as usize];
            there = there.max(*free + price.occupies);
            *free = there;
        }
        self.letters.release(id);
        there.max(from) + price.receive
    }

    /// When the sender of a message that waited for its receive is done with it.
    #[inline]
    pub fn sent_away(&mut self, id: LetterId, from: f64, blocking: bool) -> f64 {
        let letter = self.letters.get(id);
        let price = self.prices[letter.price as usize];
        let away = if self.network.is_some() && price.leaves_node { letter.arrived } else { letter.left + price.send };
        self.letters.release(id);
        if blocking { away.max(from) } else { away.max(from) + price.wait }
    }
}

/// The first line of each rank.
fn firsts(lines: &[LineId]) -> Vec<u32> {
    let ranks = lines.iter().map(|line| line.rank as usize + 1).max().unwrap_or(0);
    let mut firsts = vec![NONE; ranks];
    for (place, line) in lines.iter().enumerate().rev() {
        firsts[line.rank as usize] = place as u32;
    }
    firsts
}

/// The network of a machine whose messages share links.
fn shared_network(platform: &Platform) -> Result<Option<Box<dyn Network>>, Error> {
    let Some(topology) = &platform.machine().topology else { return Ok(None) };
    let network = network::build(platform.machine(), platform.figures())?;
    let (used, nodes) = (platform.nodes.iter().max().map_or(0, |last| last.saturating_add(1)), topology.nodes());
    if used > nodes {
        return Err(Error::TopologyTooSmall { used, nodes });
    }
    Ok(Some(network))
}
