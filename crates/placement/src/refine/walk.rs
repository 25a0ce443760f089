//! Where no exchange is a gain any more, some ranks are moved at random, and it goes on from there; what is not better is taken back.

use super::board::Board;
use super::search::{Aim, Search};
use super::traffic::Weighing;
use crate::cluster::Placement;
use crate::partition::Effort;

/// How long it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Tries {
    /// Neighbours and links that may be looked at.
    work: u64,
    /// How often the placement is disturbed.
    disturbances: usize,
}

impl Tries {
    pub fn of(effort: Effort, ranks: usize) -> Tries {
        let (work, disturbances) = match effort {
            Effort::Quick => (5_000_000, 20),
            Effort::Usual => (30_000_000, 200),
            Effort::Thorough => (500_000_000, 2000),
        };
        // Every rank is looked at, however many there are.
        Tries { work: work.max(100 * ranks as u64), disturbances }
    }
}

/// The powers to which times of links are taken, as doublings: first all busy links count, then the busiest.
const DOUBLINGS: [u32; 2] = [3, 5];

/// What is to be made better, and within which limits.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    pub tries: Tries,
    /// How much longer than the mean a host may compute.
    pub most_excess: f64,
    /// Whether each host has one slot, so that whole domains can change places.
    pub are_hosts: bool,
}

impl Walk {
    /// The best placement that is found if exchanges aim at one thing after the other.
    pub fn best(self, board: Board, aims: &[Aim]) -> Placement {
        let mut search = Search::new(board, self.most_excess);
        for aim in aims {
            search.begin(*aim, self.tries.work);
            if self.are_hosts {
                search.turn();
            }
            for doublings in DOUBLINGS.into_iter().take(if *aim == Aim::Relieve { DOUBLINGS.len() } else { 1 }) {
                search.weighing.doublings = doublings;
                search.descend();
            }
            search.walk(self.tries.disturbances);
        }
        search.board.placement()
    }
}

impl Search<'_> {
    /// Goes on from disturbed placements.
    fn walk(&mut self, disturbances: usize) {
        self.made.clear();
        let mut best = self.standing();
        let mut urgent = self.urgent();
        for _ in 0..disturbances {
            if self.work_left == 0 || urgent.is_empty() {
                break;
            }
            self.disturb(&urgent);
            let standing = self.standing();
            if standing > best {
                self.take_back();
                continue;
            }
            self.made.clear();
            if standing[0] < best[0] {
                urgent = self.urgent();
            }
            best = standing;
        }
    }

    /// Some exchanges at random, of ranks that matter, and all gains from there.
    fn disturb(&mut self, urgent: &[u32]) {
        let scale_s = self.weighing.scale_s;
        for _ in 0..1 + self.random.below(3) {
            let rank = urgent[self.random.below(urgent.len())];
            if let Some(exchange) = self.any_exchange(rank) {
                self.make(exchange);
            }
        }
        if self.aim == Aim::Relieve {
            self.weighing.doublings = DOUBLINGS[self.random.below(DOUBLINGS.len())];
            self.rescale();
        }
        self.settle();
        self.weighing.scale_s = scale_s;
    }

    /// How good it is, the most important first; less is better.
    fn standing(&mut self) -> [f64; 3] {
        let fabric = self.board.fabric;
        self.work_left = self.work_left.saturating_sub((2 * self.board.graph.edges() + fabric.s_per_byte().len()) as u64);
        let links = self.traffic.as_ref().map_or([0.0; 2], |traffic| {
            let weighing = Weighing { doublings: DOUBLINGS[0], ..self.weighing };
            [traffic.loads().busiest_s(fabric), traffic.weight(fabric, weighing)]
        });
        let distance = self.board.byte_distance();
        match self.aim {
            Aim::Relieve => [links[0], links[1], distance],
            Aim::NearerWithin => [links[0], distance, 0.0],
            Aim::Nearer | Aim::NearerThenRelieve => [distance, links[0], links[1]],
        }
    }
}
