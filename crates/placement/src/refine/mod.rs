//! Swaps of two ranks, and moves of a rank to an empty slot, as long as they make the real objective better.
//!
//! The busiest link alone says little of which swap is good: most change nothing about it, and only prepare what does. So links are weighed by
//! a high power of their time, which falls with every busy link that becomes less busy, and most with the busiest ([`traffic`]). Ranks whose
//! bytes go over the busiest links are tried first, against those that could do with their place ([`partners`]). Where nothing helps any more,
//! some ranks are moved at random and the search goes on from there ([`walk`]). All of it is determined by the input.

mod balance;
mod board;
mod hosts;
mod partners;
mod search;
#[cfg(test)]
mod tests;
mod traffic;
mod turn;
mod walk;

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::Graph;
use crate::objective::{Objective, TOLERATED_IMBALANCE, cost};
use crate::partition::Effort;
use board::Board;
use hosts::WholeHosts;
use search::Aim;
use walk::{Tries, Walk};

/// A placement that is no worse than the one it begins with, and better where swaps can make it so.
///
/// No host computes longer for it than 5 % above the mean, or than the slowest did before. If that was more, hosts are evened out first, and
/// the outcome is taken if it is better by [`Cost::is_better`](crate::objective::Cost::is_better).
pub fn refine(graph: &Graph, fabric: &Fabric, start: &Placement, objective: Objective, effort: Effort) -> Placement {
    let job = Job { graph, fabric, objective, effort };
    let evened = balance::evened(graph, fabric, start);
    let (refined, even) = rayon::join(|| job.refined(start), || evened.map(|evened| job.refined(&evened)));
    let found = [Some(refined), even].into_iter().flatten();
    found.fold(start.clone(), |best, placement| job.better(best, placement))
}

/// What is refined for what.
#[derive(Clone, Copy)]
struct Job<'a> {
    graph: &'a Graph,
    fabric: &'a Fabric,
    objective: Objective,
    effort: Effort,
}

impl Job<'_> {
    /// First whole hosts change places, then ranks.
    fn refined(&self, start: &Placement) -> Placement {
        let hosts = WholeHosts::of(self.graph, self.fabric, start).map(|hosts| {
            let job = Job { graph: &hosts.graph, fabric: &hosts.fabric, ..*self };
            hosts.unfolded(self.fabric, start, &job.searched(&hosts.start(), true))
        });
        self.searched(hosts.as_ref().unwrap_or(start), false)
    }

    fn searched(&self, start: &Placement, are_hosts: bool) -> Placement {
        let board = Board::new(self.graph, self.fabric, start);
        let most_excess = board.computing().imbalance().max(TOLERATED_IMBALANCE);
        let walk = Walk { tries: Tries::of(self.effort, self.graph.ranks()), most_excess, are_hosts };
        match self.objective {
            Objective::ByteDistance => walk.best(board, &[Aim::Nearer, Aim::NearerThenRelieve]),
            Objective::Congestion => {
                // Where bytes are near, fewer links are busy at all; but from a good placement that leads away from what relieves the busiest.
                let (nearer_first, at_once) = rayon::join(
                    || walk.best(board.clone(), &[Aim::Nearer, Aim::Relieve, Aim::NearerWithin]),
                    || walk.best(board.clone(), &[Aim::Relieve, Aim::NearerWithin]),
                );
                self.better(nearer_first, at_once)
            }
        }
    }

    fn better(&self, one: Placement, other: Placement) -> Placement {
        let [first, second] = [&one, &other].map(|placement| cost(self.graph, self.fabric, placement));
        if second.is_better(&first, self.objective) { other } else { one }
    }
}
