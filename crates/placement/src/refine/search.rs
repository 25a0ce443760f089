//! Exchanges that are a gain, as long as there are any.

use std::collections::VecDeque;

use sintonia_fit::Random;

use super::board::{Board, Exchange};
use super::partners::Partners;
use super::traffic::{Traffic, Weighing};

/// What an exchange should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Make busy links less busy; where it makes no difference to them, bring bytes nearer.
    Relieve,
    /// Bring bytes nearer, with no link busier than a limit.
    NearerWithin,
    /// Bring bytes nearer.
    Nearer,
    /// Bring bytes nearer; where it makes no difference to them, make busy links less busy.
    NearerThenRelieve,
}

/// What an exchange does.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// To what matters most; less is better.
    first: f64,
    /// To what matters where that stays the same.
    second: f64,
}

/// A placement that is made better.
pub struct Search<'a> {
    pub board: Board<'a>,
    /// Only where links matter.
    pub traffic: Option<Traffic>,
    pub aim: Aim,
    /// Its scale is also the limit of links.
    pub weighing: Weighing,
    /// How much longer than the mean a host may compute.
    pub most_excess: f64,
    /// Neighbours and links that may still be looked at.
    pub work_left: u64,
    pub random: Random,
    /// Exchanges that can be taken back.
    pub made: Vec<Exchange>,
    /// Differences of bytes times distance that are none.
    hair: f64,
    partners: Partners,
    waiting: Waiting,
}

/// Ranks that are to be looked at, each once.
#[derive(Default)]
struct Waiting {
    ranks: VecDeque<u32>,
    is_waiting: Vec<bool>,
}

/// At most so many neighbours of a rank that went elsewhere are looked at again.
const NEIGHBOURS: usize = 64;

/// Links that are busy for at least this part of the longest time are worth a look.
const HOT: f64 = 0.8;

impl Change {
    const NONE: Change = Change { first: 0.0, second: 0.0 };

    fn is_better(self, other: Change) -> bool {
        self.first < other.first || self.first == other.first && self.second < other.second
    }
}

impl<'a> Search<'a> {
    pub fn new(board: Board<'a>, most_excess: f64) -> Search<'a> {
        Search {
            traffic: None,
            aim: Aim::Nearer,
            weighing: Weighing { doublings: 0, scale_s: 1.0 },
            most_excess,
            work_left: 0,
            random: Random::new(1),
            made: Vec::new(),
            hair: 1e-12 * board.byte_distance(),
            partners: Partners::new(&board),
            waiting: Waiting { ranks: VecDeque::new(), is_waiting: vec![false; board.graph.ranks()] },
            board,
        }
    }

    /// From now on exchanges should do that, and so much may be looked at for it.
    pub fn begin(&mut self, aim: Aim, work: u64) {
        self.aim = aim;
        self.work_left = work;
        if aim != Aim::Nearer {
            self.traffic.get_or_insert_with(|| Traffic::new(&self.board));
        } else {
            self.traffic = None;
        }
        self.rescale();
    }

    /// Looks at the ranks that matter until none of them has a gain any more.
    pub fn descend(&mut self) {
        while self.work_left > 0 {
            self.rescale();
            let ranks = self.urgent();
            self.waiting.extend(ranks);
            if self.settle() == 0 {
                break;
            }
        }
    }

    /// The busiest link is the scale of all.
    pub fn rescale(&mut self) {
        let Some(traffic) = &self.traffic else { return };
        let busiest_s = traffic.loads().busiest_s(self.board.fabric);
        self.weighing.scale_s = if busiest_s > 0.0 { busiest_s } else { 1.0 };
    }

    /// The ranks whose bytes go over the busiest links, most bytes first; all where it is about distance.
    pub fn urgent(&mut self) -> Vec<u32> {
        match &mut self.traffic {
            Some(traffic) if self.aim == Aim::Relieve => {
                let ranks = traffic.busy_ranks(&self.board, HOT * self.weighing.scale_s);
                self.work_left = self.work_left.saturating_sub(traffic.work_done());
                ranks
            }
            _ => (0..self.board.graph.ranks() as u32).collect(),
        }
    }

    /// Makes gains until no rank that is waiting has one; how many.
    pub fn settle(&mut self) -> usize {
        let mut gains = 0;
        while let Some(rank) = self.waiting.pop() {
            let gain = if self.work_left > 0 { self.best_exchange(rank) } else { None };
            if let Some(exchange) = gain {
                self.make(exchange);
                gains += 1;
            }
        }
        gains
    }

    /// Lets two change places; those whose situation that changes are looked at again.
    pub fn make(&mut self, exchange: Exchange) {
        self.exchange(exchange);
        self.made.push(exchange);
        for rank in exchange.into_iter().filter_map(|slot| self.board.rank(slot)) {
            let neighbours = self.board.graph.arcs(rank).iter().take(NEIGHBOURS).map(|arc| arc.to);
            self.waiting.extend([rank].into_iter().chain(neighbours));
        }
    }

    /// Makes some exchanges one after the other if all together are a gain.
    pub fn make_together(&mut self, exchanges: &[Exchange]) -> bool {
        let mut farther = 0.0;
        for exchange in exchanges {
            farther += self.farther(*exchange);
            match &mut self.traffic {
                Some(traffic) => traffic.think(&mut self.board, *exchange),
                None => self.board.exchange(*exchange),
            }
        }
        let fabric = self.board.fabric;
        let heavier = self.traffic.as_ref().map_or(Some(0.0), |traffic| traffic.heavier(fabric, self.weighing));
        let (first, second) = if self.aim == Aim::Relieve { (heavier, Some(farther)) } else { (Some(farther), heavier) };
        let is_gain = first.zip(second).is_some_and(|(first, second)| Change { first, second }.is_better(Change::NONE));
        if let Some(traffic) = &mut self.traffic {
            let conclude = if is_gain { Traffic::keep } else { Traffic::forget };
            conclude(traffic);
            self.work_left = self.work_left.saturating_sub(traffic.work_done());
        }
        if !is_gain {
            exchanges.iter().rev().for_each(|exchange| self.board.exchange(*exchange));
        }
        is_gain
    }

    /// Takes back all that was made.
    pub fn take_back(&mut self) {
        while let Some(exchange) = self.made.pop() {
            self.exchange(exchange);
        }
    }

    fn exchange(&mut self, exchange: Exchange) {
        match &mut self.traffic {
            None => self.board.exchange(exchange),
            Some(traffic) => {
                traffic.think(&mut self.board, exchange);
                traffic.keep();
            }
        }
    }

    /// Some exchange of a rank that may be made.
    pub fn any_exchange(&mut self, rank: u32) -> Option<Exchange> {
        let slots = self.partners.of(rank, &self.board, &mut self.random);
        let slot = (!slots.is_empty()).then(|| slots[self.random.below(slots.len())]);
        self.partners.give_back(slots);
        slot.map(|slot| [self.board.slot(rank), slot]).filter(|exchange| self.is_allowed(*exchange))
    }

    /// The greatest gain of a rank.
    fn best_exchange(&mut self, rank: u32) -> Option<Exchange> {
        let own = self.board.slot(rank);
        let slots = self.partners.of(rank, &self.board, &mut self.random);
        self.work_left = self.work_left.saturating_sub(slots.len() as u64);
        let mut best = (Change::NONE, None);
        for other in &slots {
            if let Some(change) = self.change([own, *other]).filter(|change| change.is_better(best.0)) {
                best = (change, Some([own, *other]));
            }
        }
        self.partners.give_back(slots);
        best.1
    }

    /// What an exchange does; nothing if it may not be made.
    fn change(&mut self, exchange: Exchange) -> Option<Change> {
        if !self.is_allowed(exchange) {
            return None;
        }
        let (first, second) = match self.aim {
            Aim::Relieve => {
                let heavier = self.heavier(exchange)?;
                (heavier, if heavier == 0.0 { self.farther(exchange) } else { 0.0 })
            }
            Aim::NearerWithin => {
                let farther = self.farther(exchange);
                (farther, if farther < 0.0 { self.heavier(exchange)? } else { 0.0 })
            }
            Aim::Nearer => (self.farther(exchange), 0.0),
            Aim::NearerThenRelieve => {
                let farther = self.farther(exchange);
                (farther, if farther == 0.0 { self.heavier(exchange)? } else { 0.0 })
            }
        };
        Some(Change { first, second })
    }

    fn is_allowed(&self, exchange: Exchange) -> bool {
        let hosts = exchange.map(|slot| self.board.fabric.host(slot));
        hosts[0] == hosts[1] || self.board.excess_after(exchange) <= self.most_excess + 1e-9
    }

    /// How much heavier links weigh after an exchange; none if one would be beyond the limit.
    fn heavier(&mut self, exchange: Exchange) -> Option<f64> {
        let Some(traffic) = &mut self.traffic else { return Some(0.0) };
        traffic.think(&mut self.board, exchange);
        let heavier = traffic.heavier(self.board.fabric, self.weighing);
        traffic.forget();
        self.board.exchange(exchange);
        self.work_left = self.work_left.saturating_sub(traffic.work_done());
        heavier
    }

    /// How much farther bytes go after an exchange.
    fn farther(&mut self, exchange: Exchange) -> f64 {
        let degree = |slot: u32| self.board.rank(slot).map_or(0, |rank| self.board.graph.arcs(rank).len());
        // Each neighbour is looked at from both slots.
        self.work_left = self.work_left.saturating_sub(2 * exchange.map(degree).iter().sum::<usize>() as u64);
        let farther = self.board.farther(exchange);
        if farther.abs() <= self.hair { 0.0 } else { farther }
    }
}

impl Waiting {
    fn extend(&mut self, ranks: impl IntoIterator<Item = u32>) {
        for rank in ranks {
            if !std::mem::replace(&mut self.is_waiting[rank as usize], true) {
                self.ranks.push_back(rank);
            }
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let rank = self.ranks.pop_front()?;
        self.is_waiting[rank as usize] = false;
        Some(rank)
    }
}
