//! Swaps that make the cost smaller, until there is none.
//!
//! Of two ranks that gain by a swap, one gains by its own move. So each rank is tried only in the domains where its neighbours are and it would
//! have less far to them, with the ranks there.

use super::seats::Seats;
use super::tree::Domains;
use std::collections::VecDeque;

/// How many domains are tried for a rank, the best ones.
const DOMAINS: usize = 12;
/// How many ranks of a domain are tried.
const PARTNERS: usize = 64;

/// Swaps as long as that helps, each rank at most so many times looked at on average.
pub(crate) fn climb(seats: &mut Seats, looks: usize) {
    let tree = seats.tree;
    let Some(innermost) = tree.levels().last() else { return };
    let ranks = seats.net.len();
    let mut waiting: VecDeque<u32> = (0..ranks as u32).collect();
    let mut is_waiting = vec![true; ranks];
    let mut nearby = Nearby::default();
    for _ in 0..looks * ranks {
        let Some(rank) = waiting.pop_front() else { break };
        is_waiting[rank as usize] = false;
        let Some(other) = nearby.best_partner(seats, rank, innermost) else { continue };
        seats.swap(rank, other);
        for moved in [rank, other] {
            for woken in seats.net.arcs(moved).map(|(to, _)| to).chain([moved]) {
                if !std::mem::replace(&mut is_waiting[woken as usize], true) {
                    waiting.push_back(woken);
                }
            }
        }
    }
}

/// The domains where the neighbours of a rank are.
#[derive(Default)]
struct Nearby {
    /// Each one with what is exchanged with it, and the code of one of its slots.
    domains: Vec<(u32, f64, u64)>,
    /// Those where the rank has less far, and by how much less it costs.
    better: Vec<(f64, u32)>,
}

impl Nearby {
    /// The rank with which a swap gains most.
    fn best_partner(&mut self, seats: &Seats, rank: u32, innermost: &Domains) -> Option<u32> {
        self.look(seats, rank, innermost);
        let least = self.better.first()?.0 * 1e-9;
        let mut best = (least, None);
        for (_, domain) in self.better.iter().take(DOMAINS) {
            for other in innermost.slots(*domain).take(PARTNERS).map(|slot| seats.rank(slot)) {
                let gain = seats.gain(rank, other);
                if gain > best.0 {
                    best = (gain, Some(other));
                }
            }
        }
        best.1
    }

    fn look(&mut self, seats: &Seats, rank: u32, innermost: &Domains) {
        let domain = |rank: u32| innermost.of[seats.slot(rank) as usize];
        self.better.clear();
        self.domains.clear();
        self.domains.extend(seats.net.arcs(rank).map(|(to, weight)| (domain(to), weight as f64, seats.code(to))));
        self.domains.sort_unstable_by_key(|(domain, ..)| *domain);
        self.domains.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        let own = domain(rank);
        let inside = innermost.distance;
        let cost = |at: u32, code: u64| -> f64 {
            let distance = |other: u32, to: u64| if other == at { inside } else { seats.tree.distance(code, to) };
            self.domains.iter().map(|(other, weight, to)| weight * distance(*other, *to)).sum()
        };
        let now = cost(own, seats.code(rank));
        for (domain, _, code) in self.domains.iter().filter(|(domain, ..)| *domain != own) {
            let gain = now - cost(*domain, *code);
            if gain > 0.0 {
                self.better.push((gain, *domain));
            }
        }
        self.better.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
}
