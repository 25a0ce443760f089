//! The search for a placement: several ways to begin, each made better by swaps, and the best of them taken.
//!
//! No single way is best everywhere: filling hosts in order is optimal for many grids, METIS and Scotch have their strengths where they are
//! installed, and a placement that somebody chose before may be hard to beat. All of them are cheap beside a run.

use crate::fabric::{Fabric, Ordered};
use crate::library::Library;
use crate::mapping::onto_hierarchy;
use crate::objective::{Cost, Objective, cost};
use crate::partition::Effort;
use crate::refine::refine;
use crate::{Cluster, Graph, Placement, fabric};

/// From so many ranks on only the best beginning is made better.
pub const MANY_RANKS: usize = 10_000;

/// Less than this share of a cost is not paid for.
const LITTLE: f64 = 0.005;

/// How a placement came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// As the run was recorded.
    Now,
    /// Hosts are filled one after another.
    ByCore,
    /// Ranks are dealt out to the hosts in turn.
    ByHost,
    /// By a partitioner that is installed.
    Library(Library),
    /// The best that was found.
    Sintonia,
}

impl Way {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Way::Now => "now",
            Way::ByCore => "by core",
            Way::ByHost => "by node",
            Way::Library(library) => library.name(),
            Way::Sintonia => "Sintonia",
        }
    }
}

/// A placement, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// How it came about.
    pub way: Way,
    /// The placement.
    pub placement: Placement,
    /// What it costs.
    pub cost: Cost,
}

/// What is searched for.
pub struct Search<'a> {
    graph: &'a Graph,
    cluster: &'a Cluster,
    fabric: Fabric,
    ordered: Ordered,
    objective: Objective,
    effort: Effort,
}

impl<'a> Search<'a> {
    /// A search for places of the ranks of a graph; there must be a slot for each.
    pub fn new(graph: &'a Graph, cluster: &'a Cluster, objective: Objective, effort: Effort) -> Result<Search<'a>, fabric::Error> {
        let fabric = Fabric::of(cluster)?;
        let ordered = fabric.hierarchy(cluster);
        Ok(Search { graph, cluster, fabric, ordered, objective, effort })
    }

    /// The links of the cluster.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// What a placement costs.
    pub fn candidate(&self, way: Way, placement: Placement) -> Candidate {
        let cost = cost(self.graph, &self.fabric, &placement);
        Candidate { way, placement, cost }
    }

    /// What launchers do by themselves.
    pub fn usual(&self) -> [Candidate; 2] {
        let ranks = self.graph.ranks() as u32;
        [(Way::ByCore, Placement::by_core(ranks)), (Way::ByHost, Placement::by_host(ranks, self.cluster))]
            .map(|(way, placement)| self.candidate(way, placement))
    }

    /// What a partitioner that is installed makes of it.
    pub fn by_library(&self, library: Library) -> Result<Candidate, crate::library::Error> {
        let on_leaves = library.place(self.graph, &self.ordered.hierarchy)?;
        Ok(self.candidate(Way::Library(library), self.ordered.placement(&on_leaves)))
    }

    /// The best placement that is found, from these beginnings and an own one.
    pub fn best(&self, beginnings: &[Candidate]) -> Candidate {
        let on_leaves = onto_hierarchy(self.graph, &self.ordered.hierarchy, &self.ordered.speeds(&self.fabric), self.effort);
        let own = self.candidate(Way::Sintonia, self.ordered.placement(&on_leaves));
        if self.graph.ranks() >= MANY_RANKS {
            return self.refined(beginnings.iter().cloned().fold(own, |best, next| self.better(best, next)));
        }
        // Of those that are as good, the first is kept: that is the one that is there.
        let refined = beginnings.iter().chain([&own]).map(|begin| self.refined(begin.clone()));
        refined.reduce(|best, next| self.better(best, next)).unwrap_or(own)
    }

    fn refined(&self, begin: Candidate) -> Candidate {
        let placement = refine(self.graph, &self.fabric, &begin.placement, self.objective, self.effort);
        let refined = self.candidate(Way::Sintonia, placement);
        self.better(Candidate { way: Way::Sintonia, ..begin }, refined)
    }

    /// The next one if it is better, but not if it spares the busiest link very little and bytes go farther for that.
    fn better(&self, best: Candidate, next: Candidate) -> Candidate {
        let has_gained = next.cost.total(self.objective) <= best.cost.total(self.objective) * (1.0 - LITTLE);
        let has_lost = next.cost.byte_distance > best.cost.byte_distance * (1.0 + LITTLE);
        let is_bad_bargain = self.objective == Objective::Congestion && !has_gained && has_lost;
        if next.cost.is_better(&best.cost, self.objective) && !is_bad_bargain { next } else { best }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Host};

    fn cluster(slots: &[u32]) -> Cluster {
        let hosts = slots.iter().zip('a'..).map(|(slots, name)| Host::plain(name, *slots)).collect();
        Cluster::plain(hosts)
    }

    fn edge(a: u32, b: u32, bytes: u64) -> Edge {
        Edge { ranks: [a, b], there: bytes, back: bytes }
    }

    /// The host of each rank where they should be.
    fn hosts(graph: &Graph, cluster: &Cluster, objective: Objective) -> Vec<u32> {
        let search = Search::new(graph, cluster, objective, Effort::Usual).unwrap();
        let best = search.best(&search.usual());
        best.placement.slots(cluster).iter().map(|slot| slot.host).collect()
    }

    #[test]
    fn who_exchanges_most_comes_together_on_hosts_of_any_size() {
        // Three that are busy with each other and two pairs, numbered so that hosts filled in order part all of them.
        let edges = [edge(0, 3, 90), edge(3, 6, 90), edge(0, 6, 90), edge(1, 4, 50), edge(2, 5, 50), edge(0, 1, 1), edge(4, 5, 1)];
        let graph = Graph::new(vec![1; 7], &edges);
        for objective in [Objective::Congestion, Objective::ByteDistance] {
            let hosts = hosts(&graph, &cluster(&[2, 3, 2]), objective);
            assert_eq!([hosts[0], hosts[3], hosts[6]], [1; 3], "{objective:?}: {hosts:?}");
            assert!(hosts[1] == hosts[4] && hosts[2] == hosts[5], "{objective:?}: {hosts:?}");
        }
    }

    #[test]
    fn ranks_with_much_to_do_are_not_put_together() {
        // A ring, in which any four neighbours would do for a host.
        let edges: Vec<Edge> = (0..8).map(|rank| edge(rank, (rank + 1) % 8, 100)).collect();
        let mut compute = vec![10; 8];
        (compute[0], compute[1]) = (100, 100);
        let hosts = hosts(&Graph::new(compute, &edges), &cluster(&[4, 4]), Objective::Congestion);
        assert_ne!(hosts[0], hosts[1], "{hosts:?}");
    }

    #[test]
    fn ranks_with_much_to_do_are_parted_even_if_bytes_go_farther_for_it() {
        // Two pairs on two hosts: those with much to do exchange with each other, if little.
        let graph = Graph::new(vec![100, 100, 1, 1], &[edge(0, 1, 20), edge(2, 3, 20), edge(0, 2, 18), edge(1, 3, 18)]);
        let hosts = hosts(&graph, &cluster(&[2, 2]), Objective::Congestion);
        assert_ne!(hosts[0], hosts[1], "{hosts:?}");
    }

    #[test]
    fn a_little_less_on_the_busiest_link_is_not_worth_longer_ways() {
        let graph = Graph::new(vec![1; 2], &[edge(0, 1, 1)]);
        let cluster = cluster(&[1, 1]);
        let search = Search::new(&graph, &cluster, Objective::Congestion, Effort::Quick).unwrap();
        let [begin, _] = search.usual();
        let with = |busiest_link_s: f64, byte_distance: f64| Candidate {
            cost: Cost { busiest_link_s, byte_distance, ..begin.cost },
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
