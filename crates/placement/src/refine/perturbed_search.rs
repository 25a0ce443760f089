//! Iterated local search: perturbs a local optimum at random, searches again, and keeps the result if it is better.

use super::link_traffic::LinkWeighting;
use super::swap_search::{SwapGoal, SwapSearch};
use super::working_placement::WorkingPlacement;
use crate::cluster::Placement;
use crate::partition::SearchEffort;

/// The budget of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchBudget {
    /// Maximum number of neighbours and links examined.
    work: u64,
    /// Number of perturbations.
    perturbations: usize,
}

impl SearchBudget {
    pub(super) fn from_effort(effort: SearchEffort, ranks: usize) -> SearchBudget {
        let (work, perturbations) = match effort {
            SearchEffort::Quick => (5_000_000, 20),
            SearchEffort::Usual => (30_000_000, 200),
            SearchEffort::Thorough => (500_000_000, 2000),
        };
        // Every rank is examined, however many there are.
        SearchBudget { work: work.max(100 * ranks as u64), perturbations }
    }
}

/// Exponents of link busy times, as powers of two: first all busy links count, then the busiest.
const DOUBLINGS: [u32; 2] = [3, 5];

/// Parameters of the search.
#[derive(Clone, Copy, Debug)]
pub(super) struct PerturbedSearch {
    pub budget: SearchBudget,
    /// Maximum relative excess of a host's computation over the mean.
    pub max_excess: f64,
    /// Whether each host has one slot, so that whole domains can be swapped.
    pub are_hosts: bool,
}

impl PerturbedSearch {
    /// The best placement found with these goals in sequence.
    pub(super) fn best(self, placement: WorkingPlacement, goals: &[SwapGoal]) -> Placement {
        let mut search = SwapSearch::new(placement, self.max_excess);
        for goal in goals {
            search.set_goal(*goal, self.budget.work);
            if self.are_hosts {
                search.swap_domains();
            }
            for doublings in DOUBLINGS.into_iter().take(if *goal == SwapGoal::Relieve { DOUBLINGS.len() } else { 1 }) {
                search.weighting.doublings = doublings;
                search.descend();
            }
            search.perturb_repeatedly(self.budget.perturbations);
        }
        search.placement.placement()
    }
}

impl SwapSearch<'_> {
    /// Perturbs repeatedly and keeps improvements.
    fn perturb_repeatedly(&mut self, disturbances: usize) {
        self.applied.clear();
        let mut best = self.objective_vector();
        let mut priority = self.priority_ranks();
        for _ in 0..disturbances {
            if self.work_budget == 0 || priority.is_empty() {
                break;
            }
            self.perturb(&priority);
            let objectives = self.objective_vector();
            if objectives > best {
                self.undo_all();
                continue;
            }
            self.applied.clear();
            if objectives[0] < best[0] {
                priority = self.priority_ranks();
            }
            best = objectives;
        }
    }

    /// Applies some random swaps of relevant ranks, then all improving swaps.
    fn perturb(&mut self, priority: &[u32]) {
        let scale_s = self.weighting.scale_s;
        for _ in 0..1 + self.random.index_below(3) {
            let rank = priority[self.random.index_below(priority.len())];
            if let Some(exchange) = self.random_swap(rank) {
                self.apply(exchange);
            }
        }
        if self.goal == SwapGoal::Relieve {
            self.weighting.doublings = DOUBLINGS[self.random.index_below(DOUBLINGS.len())];
            self.rescale();
        }
        self.process_queue();
        self.weighting.scale_s = scale_s;
    }

    /// The objectives, most important first; less is better.
    fn objective_vector(&mut self) -> [f64; 3] {
        let fabric = self.placement.fabric;
        self.work_budget = self.work_budget.saturating_sub((2 * self.placement.graph.edge_count() + fabric.s_per_byte().len()) as u64);
        let links = self.traffic.as_ref().map_or([0.0; 2], |traffic| {
            let weighting = LinkWeighting { doublings: DOUBLINGS[0], ..self.weighting };
            [traffic.loads().busiest_s(fabric), traffic.total_weight(fabric, weighting)]
        });
        let distance = self.placement.byte_distance();
        match self.goal {
            SwapGoal::Relieve => [links[0], links[1], distance],
            SwapGoal::NearerWithin => [links[0], distance, 0.0],
            SwapGoal::Nearer | SwapGoal::NearerThenRelieve => [distance, links[0], links[1]],
        }
    }
}
