//! Searches for a placement: several initial placements are refined by swaps, and the best one is taken.
//!
//! No single initial placement is best everywhere: filling hosts in order is optimal for many grids, METIS and Scotch have their strengths,
//! and the recorded placement may be hard to beat. All of them are cheap compared with a run.

use crate::external_partitioner::ExternalPartitioner;
use crate::fabric::{Fabric, LeafMapping};
use crate::mapping::map_onto_hierarchy;
use crate::objective::{PlacementCost, PlacementObjective, placement_cost};
use crate::partition::SearchEffort;
use crate::refine::refine;
use crate::{Cluster, Placement, RankGraph, fabric};

/// With this many ranks or more, only the best initial placement is refined.
pub const MANY_RANKS: usize = 10_000;

/// Minimum relative improvement that justifies a worse secondary objective.
const MIN_COST_CHANGE: f64 = 0.005;

/// How a placement was obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlacementMethod {
    /// As recorded.
    Recorded,
    /// Hosts filled one after the other.
    ByCore,
    /// Ranks distributed over the hosts round-robin.
    ByHost,
    /// By an external partitioner.
    External(ExternalPartitioner),
    /// The best one found.
    Sintonia,
}

impl PlacementMethod {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            PlacementMethod::Recorded => "now",
            PlacementMethod::ByCore => "by core",
            PlacementMethod::ByHost => "by node",
            PlacementMethod::External(library) => library.name(),
            PlacementMethod::Sintonia => "Sintonia",
        }
    }
}

/// A placement and its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementCandidate {
    /// How it was obtained.
    pub method: PlacementMethod,
    /// The placement.
    pub placement: Placement,
    /// Its cost.
    pub cost: PlacementCost,
}

/// A placement problem.
pub struct PlacementSearch<'a> {
    graph: &'a RankGraph,
    cluster: &'a Cluster,
    fabric: Fabric,
    leaves: LeafMapping,
    objective: PlacementObjective,
    effort: SearchEffort,
}

impl<'a> PlacementSearch<'a> {
    /// A search for the ranks of a graph; there must be a slot for each.
    pub fn new(
        graph: &'a RankGraph,
        cluster: &'a Cluster,
        objective: PlacementObjective,
        effort: SearchEffort,
    ) -> Result<PlacementSearch<'a>, fabric::Error> {
        let fabric = Fabric::from_cluster(cluster)?;
        let ordered = fabric.hierarchy(cluster);
        Ok(PlacementSearch { graph, cluster, fabric, leaves: ordered, objective, effort })
    }

    /// The links of the cluster.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// Evaluates a placement.
    pub fn candidate(&self, method: PlacementMethod, placement: Placement) -> PlacementCandidate {
        let cost = placement_cost(self.graph, &self.fabric, &placement);
        PlacementCandidate { method, placement, cost }
    }

    /// The default placements of launchers.
    pub fn launcher_defaults(&self) -> [PlacementCandidate; 2] {
        let ranks = self.graph.rank_count() as u32;
        [(PlacementMethod::ByCore, Placement::by_core(ranks)), (PlacementMethod::ByHost, Placement::by_host(ranks, self.cluster))]
            .map(|(method, placement)| self.candidate(method, placement))
    }

    /// The placement of an external partitioner.
    pub fn with_partitioner(&self, library: ExternalPartitioner) -> Result<PlacementCandidate, crate::external_partitioner::Error> {
        let on_leaves = library.place(self.graph, &self.leaves.hierarchy)?;
        Ok(self.candidate(PlacementMethod::External(library), self.leaves.to_slots(&on_leaves)))
    }

    /// The best placement found, from these initial placements and the built-in one.
    pub fn best(&self, beginnings: &[PlacementCandidate]) -> PlacementCandidate {
        let on_leaves = map_onto_hierarchy(self.graph, &self.leaves.hierarchy, &self.leaves.speeds(&self.fabric), self.effort);
        let own = self.candidate(PlacementMethod::Sintonia, self.leaves.to_slots(&on_leaves));
        if self.graph.rank_count() >= MANY_RANKS {
            return self.refined(beginnings.iter().cloned().fold(own, |best, next| self.better(best, next)));
        }
        // On a tie the first is kept, which is the existing one.
        let refined = beginnings.iter().chain([&own]).map(|begin| self.refined(begin.clone()));
        refined.reduce(|best, next| self.better(best, next)).unwrap_or(own)
    }

    fn refined(&self, begin: PlacementCandidate) -> PlacementCandidate {
        let placement = refine(self.graph, &self.fabric, &begin.placement, self.objective, self.effort);
        let refined = self.candidate(PlacementMethod::Sintonia, placement);
        self.better(PlacementCandidate { method: PlacementMethod::Sintonia, ..begin }, refined)
    }

    /// The next one if it is better, but not if it relieves the most loaded link only slightly and increases byte distance.
    fn better(&self, best: PlacementCandidate, next: PlacementCandidate) -> PlacementCandidate {
        let has_gained = next.cost.total(self.objective) <= best.cost.total(self.objective) * (1.0 - MIN_COST_CHANGE);
        let has_lost = next.cost.byte_distance > best.cost.byte_distance * (1.0 + MIN_COST_CHANGE);
        let is_bad_bargain = self.objective == PlacementObjective::Congestion && !has_gained && has_lost;
        if next.cost.is_better(&best.cost, self.objective) && !is_bad_bargain { next } else { best }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExchangeEdge, Host};

    fn cluster(slots: &[u32]) -> Cluster {
        let hosts = slots.iter().zip('a'..).map(|(slots, name)| Host::new(name, *slots)).collect();
        Cluster::new(hosts)
    }

    fn edge(a: u32, b: u32, bytes: u64) -> ExchangeEdge {
        ExchangeEdge { ranks: [a, b], forward: bytes, backward: bytes }
    }

    /// The host of each rank in the best placement.
    fn hosts(graph: &RankGraph, cluster: &Cluster, objective: PlacementObjective) -> Vec<u32> {
        let search = PlacementSearch::new(graph, cluster, objective, SearchEffort::Usual).unwrap();
        let best = search.best(&search.launcher_defaults());
        best.placement.host_slots(cluster).iter().map(|slot| slot.host).collect()
    }

    #[test]
    fn who_exchanges_most_comes_together_on_hosts_of_any_size() {
        // A group of three and two pairs that communicate, numbered so that filling hosts in order separates all of them.
        let edges = [edge(0, 3, 90), edge(3, 6, 90), edge(0, 6, 90), edge(1, 4, 50), edge(2, 5, 50), edge(0, 1, 1), edge(4, 5, 1)];
        let graph = RankGraph::new(vec![1; 7], &edges);
        for objective in [PlacementObjective::Congestion, PlacementObjective::ByteDistance] {
            let hosts = hosts(&graph, &cluster(&[2, 3, 2]), objective);
            assert_eq!([hosts[0], hosts[3], hosts[6]], [1; 3], "{objective:?}: {hosts:?}");
            assert!(hosts[1] == hosts[4] && hosts[2] == hosts[5], "{objective:?}: {hosts:?}");
        }
    }

    #[test]
    fn ranks_with_much_to_do_are_not_put_together() {
        // A ring, in which any four neighbours fit on a host.
        let edges: Vec<ExchangeEdge> = (0..8).map(|rank| edge(rank, (rank + 1) % 8, 100)).collect();
        let mut compute = vec![10; 8];
        (compute[0], compute[1]) = (100, 100);
        let hosts = hosts(&RankGraph::new(compute, &edges), &cluster(&[4, 4]), PlacementObjective::Congestion);
        assert_ne!(hosts[0], hosts[1], "{hosts:?}");
    }

    #[test]
    fn ranks_with_much_to_do_are_parted_even_if_bytes_go_farther_for_it() {
        // Two pairs on two hosts: those with much computation exchange a little with each other.
        let graph = RankGraph::new(vec![100, 100, 1, 1], &[edge(0, 1, 20), edge(2, 3, 20), edge(0, 2, 18), edge(1, 3, 18)]);
        let hosts = hosts(&graph, &cluster(&[2, 2]), PlacementObjective::Congestion);
        assert_ne!(hosts[0], hosts[1], "{hosts:?}");
    }

    #[test]
    fn a_little_less_on_the_busiest_link_is_not_worth_longer_ways() {
        let graph = RankGraph::new(vec![1; 2], &[edge(0, 1, 1)]);
        let cluster = cluster(&[1, 1]);
        let search = PlacementSearch::new(&graph, &cluster, PlacementObjective::Congestion, SearchEffort::Quick).unwrap();
        let [begin, _] = search.launcher_defaults();
        let with = |busiest_link_s: f64, byte_distance: f64| PlacementCandidate {
            cost: PlacementCost { busiest_link_s, byte_distance, ..begin.cost },
            ..begin.clone()
        };
        let best = with(1.0, 100.0);
        for (next, is_taken) in
            [(with(0.999, 118.0), false), (with(0.99, 118.0), true), (with(0.999, 100.0), true), (with(1.0, 99.0), true)]
        {
            assert_eq!(search.better(best.clone(), next.clone()) == next, is_taken, "{:?}", next.cost);
        }
    }
}
