//! Hill climbing: applies improving swaps until there is none.
//!
//! Of two ranks that gain by a swap, at least one gains by its own move. So each rank is tried only in domains where it has neighbours and
//! would be nearer to them.

use super::slot_assignment::SlotAssignment;
use super::slot_codes::LevelDomains;
use std::collections::VecDeque;

/// Maximum number of domains tried per rank, best first.
const MAX_DOMAINS: usize = 12;
/// Maximum number of ranks tried per domain.
const MAX_PARTNERS: usize = 64;

/// Applies improving swaps; each rank is examined at most `looks` times on average.
pub(crate) fn hill_climb(assignment: &mut SlotAssignment, looks: usize) {
    let tree = assignment.tree;
    let Some(innermost) = tree.levels().last() else { return };
    let ranks = assignment.graph.len();
    let mut waiting: VecDeque<u32> = (0..ranks as u32).collect();
    let mut is_waiting = vec![true; ranks];
    let mut nearby = NeighbourDomains::default();
    for _ in 0..looks * ranks {
        let Some(rank) = waiting.pop_front() else { break };
        is_waiting[rank as usize] = false;
        let Some(other) = nearby.best_partner(assignment, rank, innermost) else { continue };
        assignment.swap(rank, other);
        for moved in [rank, other] {
            for woken in assignment.graph.arcs(moved).map(|(to, _)| to).chain([moved]) {
                if !std::mem::replace(&mut is_waiting[woken as usize], true) {
                    waiting.push_back(woken);
                }
            }
        }
    }
}

/// The domains of a rank's neighbours.
#[derive(Default)]
struct NeighbourDomains {
    /// Each domain with the traffic to it, and the code of one of its slots.
    domains: Vec<(u32, f64, u64)>,
    /// Domains in which the rank would be nearer, with the gain.
    better: Vec<(f64, u32)>,
}

impl NeighbourDomains {
    /// The rank with the largest gain of a swap.
    fn best_partner(&mut self, assignment: &SlotAssignment, rank: u32, innermost: &LevelDomains) -> Option<u32> {
        self.collect(assignment, rank, innermost);
        let least = self.better.first()?.0 * 1e-9;
        let mut best = (least, None);
        for (_, domain) in self.better.iter().take(MAX_DOMAINS) {
            for other in innermost.slots(*domain).take(MAX_PARTNERS).map(|slot| assignment.rank(slot)) {
                let gain = assignment.gain(rank, other);
                if gain > best.0 {
                    best = (gain, Some(other));
                }
            }
        }
        best.1
    }

    fn collect(&mut self, assignment: &SlotAssignment, rank: u32, innermost: &LevelDomains) {
        let domain = |rank: u32| innermost.domain_of_slot[assignment.slot(rank) as usize];
        self.better.clear();
        self.domains.clear();
        self.domains.extend(assignment.graph.arcs(rank).map(|(to, weight)| (domain(to), weight as f64, assignment.code(to))));
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
            let distance = |other: u32, to: u64| if other == at { inside } else { assignment.tree.distance(code, to) };
            self.domains.iter().map(|(other, weight, to)| weight * distance(*other, *to)).sum()
        };
        let now = cost(own, assignment.code(rank));
        for (domain, _, code) in self.domains.iter().filter(|(domain, ..)| *domain != own) {
            let gain = now - cost(*domain, *code);
            if gain > 0.0 {
                self.better.push((gain, *domain));
            }
        }
        self.better.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    }
}
