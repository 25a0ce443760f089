//! Refines a placement by swaps of two ranks and moves to empty slots, on the actual objective.
//!
//! The most loaded link alone does not guide the search: most swaps do not change it, and only prepare one that does. So links are weighted
//! by a high power of their busy time, which decreases with every relieved link, most for the busiest ([`link_traffic`]). Ranks with
//! traffic over the busiest links are tried first, with promising partners ([`swap_partners`]). In a local optimum, some ranks are moved at
//! random and the search continues from there ([`perturbed_search`]). The result is deterministic.

mod balance;
mod domain_swaps;
mod link_traffic;
mod perturbed_search;
mod swap_partners;
mod swap_search;
#[cfg(test)]
mod tests;
mod whole_hosts;
mod working_placement;

use crate::cluster::Placement;
use crate::fabric::Fabric;
use crate::graph::RankGraph;
use crate::objective::{PlacementObjective, TOLERATED_IMBALANCE, placement_cost};
use crate::partition::SearchEffort;
use perturbed_search::{PerturbedSearch, SearchBudget};
use swap_search::SwapGoal;
use whole_hosts::WholeHosts;
use working_placement::WorkingPlacement;

/// A placement that is not worse than the initial one, and better if swaps can improve it.
///
/// No host exceeds the mean computation by more than 5 %, or by more than the slowest host did before. If that was more, hosts are balanced
/// first, and the result is taken if it is better by [`PlacementCost::is_better`](crate::objective::PlacementCost::is_better).
pub fn refine(graph: &RankGraph, fabric: &Fabric, start: &Placement, objective: PlacementObjective, effort: SearchEffort) -> Placement {
    let job = RefinementJob { graph, fabric, objective, effort };
    let evened = balance::balance_hosts(graph, fabric, start);
    let (refined, even) = rayon::join(|| job.refined(start), || evened.map(|evened| job.refined(&evened)));
    let found = [Some(refined), even].into_iter().flatten();
    found.fold(start.clone(), |best, placement| job.better(best, placement))
}

/// A refinement problem.
#[derive(Clone, Copy)]
struct RefinementJob<'a> {
    graph: &'a RankGraph,
    fabric: &'a Fabric,
    objective: PlacementObjective,
    effort: SearchEffort,
}

impl RefinementJob<'_> {
    /// Swaps whole hosts first, then ranks.
    fn refined(&self, start: &Placement) -> Placement {
        let hosts = WholeHosts::from_placement(self.graph, self.fabric, start).map(|hosts| {
            let job = RefinementJob { graph: &hosts.graph, fabric: &hosts.fabric, ..*self };
            hosts.expand(self.fabric, start, &job.searched(&hosts.start(), true))
        });
        self.searched(hosts.as_ref().unwrap_or(start), false)
    }

    fn searched(&self, start: &Placement, are_hosts: bool) -> Placement {
        let placement = WorkingPlacement::new(self.graph, self.fabric, start);
        let most_excess = placement.compute_balance().imbalance().max(TOLERATED_IMBALANCE);
        let search =
            PerturbedSearch { budget: SearchBudget::from_effort(self.effort, self.graph.rank_count()), max_excess: most_excess, are_hosts };
        match self.objective {
            PlacementObjective::ByteDistance => search.best(placement, &[SwapGoal::Nearer, SwapGoal::NearerThenRelieve]),
            PlacementObjective::Congestion => {
                // With short distances fewer links are busy; but from a good initial placement this may lead away from the optimum.
                let (nearer_first, at_once) = rayon::join(
                    || search.best(placement.clone(), &[SwapGoal::Nearer, SwapGoal::Relieve, SwapGoal::NearerWithin]),
                    || search.best(placement.clone(), &[SwapGoal::Relieve, SwapGoal::NearerWithin]),
                );
                self.better(nearer_first, at_once)
            }
        }
    }

    fn better(&self, one: Placement, other: Placement) -> Placement {
        let [first, second] = [&one, &other].map(|placement| placement_cost(self.graph, self.fabric, placement));
        if second.is_better(&first, self.objective) { other } else { one }
    }
}
