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
const MANY_RANKS: usize = 10_000;

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
        let refined = |begin: &Candidate| {
            let placement = refine(self.graph, &self.fabric, &begin.placement, self.objective, self.effort);
            self.candidate(Way::Sintonia, placement)
        };
        if self.graph.ranks() >= MANY_RANKS {
            return refined(beginnings.iter().fold(&own, |best, one| self.better(best, one)));
        }
        let mut best = refined(&own);
        for begin in beginnings {
            let next = refined(begin);
            if next.cost.is_better(&best.cost, self.objective) {
                best = next;
            }
        }
        best
    }

    fn better<'c>(&self, one: &'c Candidate, other: &'c Candidate) -> &'c Candidate {
        if other.cost.is_better(&one.cost, self.objective) { other } else { one }
    }
}
