//! What has to be decided in the order of time: when messages begin to share links, and who gets a lock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::letters::{LetterId, UNKNOWN};
use super::line::{Line, Stage};
use super::world::World;
use crate::network::Transfer;

/// Something to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// A message begins its way through the network.
    Begin(LetterId),
    /// A line asks for a lock.
    Lock(u32),
    /// A line asks which message a receive from anyone gets.
    Anyone {
        /// The line.
        line: u32,
        /// The call it is in, by number.
        call: u64,
    },
}

/// Moments in order: those of the replay are never negative, and such numbers have the order of their bits.
type Moment = u64;

/// What has to be decided, the earliest first; of one moment, what was asked first.
#[derive(Default)]
pub struct Decisions {
    heap: BinaryHeap<Reverse<(Moment, u64, Decision)>>,
    asked: u64,
}

impl Decisions {
    /// A message would begin at this moment.
    pub fn begin(&mut self, at: f64, letter: LetterId) {
        self.ask(at, Decision::Begin(letter));
    }

    /// Something is to be decided at this moment.
    pub fn ask(&mut self, at: f64, decision: Decision) {
        self.asked += 1;
        self.heap.push(Reverse((at.max(0.0).to_bits(), self.asked, decision)));
    }

    fn next(&self) -> f64 {
        self.heap.peek().map_or(UNKNOWN, |Reverse((at, ..))| f64::from_bits(*at))
    }
}

impl World<'_> {
    /// Makes the earliest decision, now that no line can go on without it; `false` if there is none.
    pub fn decide(&mut self, lines: &mut [Line]) -> bool {
        let own = self.decisions.next();
        let network = self.network.as_ref().and_then(|network| network.next()).unwrap_or(UNKNOWN);
        if own == UNKNOWN && network == UNKNOWN {
            return self.release_perhaps();
        }
        // What begins at the same moment shares from then on.
        if network < own {
            self.advance_network(network);
        } else if let Some(Reverse((at, _, decision))) = self.decisions.heap.pop() {
            self.make_decision(f64::from_bits(at), decision, lines);
        }
        true
    }

    fn make_decision(&mut self, at: f64, decision: Decision, lines: &mut [Line]) {
        match decision {
            Decision::Begin(id) => self.begin_transfer(at, id),
            Decision::Lock(line) => self.grant(at, line),
            Decision::Anyone { line: place, call } => {
                let line = &mut lines[place as usize];
                // A message that was sent since may come before the one that was waited for.
                if line.stage == Stage::Asks && line.calls == call {
                    self.decide_anyone(line);
                    line.stage = Stage::Decided;
                    self.wake(place);
                }
            }
        }
    }

    fn begin_transfer(&mut self, at: f64, id: LetterId) {
        let letter = self.letters.get_mut(id);
        letter.left = at;
        let price = self.prices[letter.price as usize];
        let (from, to) = (self.ranks[letter.sender as usize], letter.to);
        let node = |rank: u32| self.platform().and_then(|platform| platform.nodes.get(rank as usize).copied()).unwrap_or(rank);
        let transfer =
            Transfer { from: node(from), to: node(to), bytes: price.bytes, latency_s: price.latency, least_s_per_byte: price.per_byte };
        if let Some(network) = &mut self.network {
            network.begin(at, id, transfer);
        }
    }

    fn advance_network(&mut self, at: f64) {
        let mut arrived = Vec::new();
        if let Some(network) = &mut self.network {
            network.advance(&mut arrived);
        }
        for id in arrived {
            let left = self.letters.get(id).left;
            self.arrive(id, left, at);
        }
    }

    /// A send may have waited for its receive.
    pub fn note_perhaps(&mut self, line: u32, letter: LetterId) {
        if self.perhaps.len() > 2 * self.ranks.len() {
            self.tidy_perhaps();
        }
        self.perhaps.push((line, letter));
    }

    /// Keeps only those that still wait.
    fn tidy_perhaps(&mut self) {
        let letters = &self.letters;
        self.perhaps.retain(|(line, id)| {
            let letter = letters.get(*id);
            letter.sender_waits == *line && letter.posted.now == UNKNOWN
        });
    }

    /// Of sends that may have waited for their receives, and block the replay if they did, the earliest did not.
    fn release_perhaps(&mut self) -> bool {
        self.tidy_perhaps();
        let letters = &self.letters;
        let earliest = self.perhaps.iter().enumerate().min_by(|a, b| {
            let sent = |id: LetterId| letters.get(id).sent.now;
            sent(a.1.1).total_cmp(&sent(b.1.1))
        });
        let Some((place, (line, id))) = earliest.map(|(place, both)| (place, *both)) else { return false };
        self.perhaps.swap_remove(place);
        self.letters.get_mut(id).sender_waits = super::letters::NONE;
        self.wake(line);
        true
    }
}
