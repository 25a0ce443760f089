//! Applies improving swaps until there is none.

use std::collections::VecDeque;

use sintonia_fit::SplitMix64;

use super::link_traffic::{LinkTraffic, LinkWeighting};
use super::swap_partners::SwapPartners;
use super::working_placement::{SlotSwap, WorkingPlacement};

/// The goal of swaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwapGoal {
    /// Relieve busy links; on a tie, reduce byte distance.
    Relieve,
    /// Reduce byte distance, with a limit on link load.
    NearerWithin,
    /// Reduce byte distance.
    Nearer,
    /// Reduce byte distance; on a tie, relieve busy links.
    NearerThenRelieve,
}

/// The effect of a swap; less is better.
#[derive(Clone, Copy, Debug)]
struct SwapEffect {
    /// On the primary objective.
    first: f64,
    /// On the secondary objective.
    second: f64,
}

/// A local search on a placement.
pub(super) struct SwapSearch<'a> {
    pub placement: WorkingPlacement<'a>,
    /// Only if links matter.
    pub traffic: Option<LinkTraffic>,
    pub goal: SwapGoal,
    /// Its scale is also the limit of link load.
    pub weighting: LinkWeighting,
    /// Maximum relative excess of a host's computation over the mean.
    pub max_excess: f64,
    /// Remaining budget of neighbours and links to examine.
    pub work_budget: u64,
    pub random: SplitMix64,
    /// Swaps that can be undone.
    pub applied: Vec<SlotSwap>,
    /// Changes of byte distance below this are zero.
    distance_tolerance: f64,
    partners: SwapPartners,
    queue: RankQueue,
}

/// Ranks to be examined, each once.
#[derive(Default)]
struct RankQueue {
    ranks: VecDeque<u32>,
    is_queued: Vec<bool>,
}

/// Maximum number of neighbours of a moved rank that are examined again.
const MAX_REQUEUED: usize = 64;

/// Links with at least this share of the maximum busy time are considered busy.
const BUSY_SHARE: f64 = 0.8;

impl SwapEffect {
    const NONE: SwapEffect = SwapEffect { first: 0.0, second: 0.0 };

    fn is_better(self, other: SwapEffect) -> bool {
        self.first < other.first || self.first == other.first && self.second < other.second
    }
}

impl<'a> SwapSearch<'a> {
    pub(super) fn new(placement: WorkingPlacement<'a>, max_excess: f64) -> SwapSearch<'a> {
        SwapSearch {
            traffic: None,
            goal: SwapGoal::Nearer,
            weighting: LinkWeighting { doublings: 0, scale_s: 1.0 },
            max_excess,
            work_budget: 0,
            random: SplitMix64::new(1),
            applied: Vec::new(),
            distance_tolerance: 1e-12 * placement.byte_distance(),
            partners: SwapPartners::new(&placement),
            queue: RankQueue { ranks: VecDeque::new(), is_queued: vec![false; placement.graph.rank_count()] },
            placement,
        }
    }

    /// Sets the goal and the budget.
    pub(super) fn set_goal(&mut self, goal: SwapGoal, work: u64) {
        self.goal = goal;
        self.work_budget = work;
        if goal != SwapGoal::Nearer {
            self.traffic.get_or_insert_with(|| LinkTraffic::new(&self.placement));
        } else {
            self.traffic = None;
        }
        self.rescale();
    }

    /// Examines the relevant ranks until none of them has an improving swap.
    pub(super) fn descend(&mut self) {
        while self.work_budget > 0 {
            self.rescale();
            let ranks = self.priority_ranks();
            self.queue.extend(ranks);
            if self.process_queue() == 0 {
                break;
            }
        }
    }

    /// Sets the weighting scale to the busiest link.
    pub(super) fn rescale(&mut self) {
        let Some(traffic) = &self.traffic else { return };
        let busiest_s = traffic.loads().busiest_s(self.placement.fabric);
        self.weighting.scale_s = if busiest_s > 0.0 { busiest_s } else { 1.0 };
    }

    /// The ranks with traffic over the busiest links, most bytes first; all ranks if the goal is distance.
    pub(super) fn priority_ranks(&mut self) -> Vec<u32> {
        match &mut self.traffic {
            Some(traffic) if self.goal == SwapGoal::Relieve => {
                let ranks = traffic.busy_ranks(&self.placement, BUSY_SHARE * self.weighting.scale_s);
                self.work_budget = self.work_budget.saturating_sub(traffic.work_done());
                ranks
            }
            _ => (0..self.placement.graph.rank_count() as u32).collect(),
        }
    }

    /// Applies improving swaps of queued ranks; returns their number.
    pub(super) fn process_queue(&mut self) -> usize {
        let mut gains = 0;
        while let Some(rank) = self.queue.pop() {
            let gain = if self.work_budget > 0 { self.best_swap(rank) } else { None };
            if let Some(exchange) = gain {
                self.apply(exchange);
                gains += 1;
            }
        }
        gains
    }

    /// Applies a swap and queues the affected ranks.
    pub(super) fn apply(&mut self, exchange: SlotSwap) {
        self.swap(exchange);
        self.applied.push(exchange);
        for rank in exchange.into_iter().filter_map(|slot| self.placement.rank(slot)) {
            let neighbours = self.placement.graph.arcs(rank).iter().take(MAX_REQUEUED).map(|arc| arc.to);
            self.queue.extend([rank].into_iter().chain(neighbours));
        }
    }

    /// Applies several swaps if they improve the placement together.
    pub(super) fn apply_batch(&mut self, exchanges: &[SlotSwap]) -> bool {
        let mut distance_change = 0.0;
        for exchange in exchanges {
            distance_change += self.distance_change(*exchange);
            match &mut self.traffic {
                Some(traffic) => traffic.stage(&mut self.placement, *exchange),
                None => self.placement.swap(*exchange),
            }
        }
        let fabric = self.placement.fabric;
        let link_change = self.traffic.as_ref().map_or(Some(0.0), |traffic| traffic.cost_change(fabric, self.weighting));
        let (first, second) =
            if self.goal == SwapGoal::Relieve { (link_change, Some(distance_change)) } else { (Some(distance_change), link_change) };
        let is_gain = first.zip(second).is_some_and(|(first, second)| SwapEffect { first, second }.is_better(SwapEffect::NONE));
        if let Some(traffic) = &mut self.traffic {
            let conclude = if is_gain { LinkTraffic::commit } else { LinkTraffic::discard };
            conclude(traffic);
            self.work_budget = self.work_budget.saturating_sub(traffic.work_done());
        }
        if !is_gain {
            exchanges.iter().rev().for_each(|exchange| self.placement.swap(*exchange));
        }
        is_gain
    }

    /// Undoes all applied swaps.
    pub(super) fn undo_all(&mut self) {
        while let Some(exchange) = self.applied.pop() {
            self.swap(exchange);
        }
    }

    fn swap(&mut self, exchange: SlotSwap) {
        match &mut self.traffic {
            None => self.placement.swap(exchange),
            Some(traffic) => {
                traffic.stage(&mut self.placement, exchange);
                traffic.commit();
            }
        }
    }

    /// A random admissible swap of a rank.
    pub(super) fn random_swap(&mut self, rank: u32) -> Option<SlotSwap> {
        let slots = self.partners.candidate_slots(rank, &self.placement, &mut self.random);
        let slot = (!slots.is_empty()).then(|| slots[self.random.index_below(slots.len())]);
        self.partners.recycle(slots);
        slot.map(|slot| [self.placement.slot(rank), slot]).filter(|exchange| self.is_allowed(*exchange))
    }

    /// The best improving swap of a rank.
    fn best_swap(&mut self, rank: u32) -> Option<SlotSwap> {
        let own = self.placement.slot(rank);
        let slots = self.partners.candidate_slots(rank, &self.placement, &mut self.random);
        self.work_budget = self.work_budget.saturating_sub(slots.len() as u64);
        let mut best = (SwapEffect::NONE, None);
        for other in &slots {
            if let Some(change) = self.effect([own, *other]).filter(|change| change.is_better(best.0)) {
                best = (change, Some([own, *other]));
            }
        }
        self.partners.recycle(slots);
        best.1
    }

    /// The effect of a swap; `None` if it is not admissible.
    fn effect(&mut self, exchange: SlotSwap) -> Option<SwapEffect> {
        if !self.is_allowed(exchange) {
            return None;
        }
        let (first, second) = match self.goal {
            SwapGoal::Relieve => {
                let link_change = self.link_cost_change(exchange)?;
                (link_change, if link_change == 0.0 { self.distance_change(exchange) } else { 0.0 })
            }
            SwapGoal::NearerWithin => {
                let distance_change = self.distance_change(exchange);
                (distance_change, if distance_change < 0.0 { self.link_cost_change(exchange)? } else { 0.0 })
            }
            SwapGoal::Nearer => (self.distance_change(exchange), 0.0),
            SwapGoal::NearerThenRelieve => {
                let distance_change = self.distance_change(exchange);
                (distance_change, if distance_change == 0.0 { self.link_cost_change(exchange)? } else { 0.0 })
            }
        };
        Some(SwapEffect { first, second })
    }

    fn is_allowed(&self, exchange: SlotSwap) -> bool {
        let hosts = exchange.map(|slot| self.placement.fabric.host(slot));
        hosts[0] == hosts[1] || self.placement.excess_after(exchange) <= self.max_excess + 1e-9
    }

    /// Change of the link cost by a swap; `None` if a link would exceed the limit.
    fn link_cost_change(&mut self, exchange: SlotSwap) -> Option<f64> {
        let Some(traffic) = &mut self.traffic else { return Some(0.0) };
        traffic.stage(&mut self.placement, exchange);
        let link_change = traffic.cost_change(self.placement.fabric, self.weighting);
        traffic.discard();
        self.placement.swap(exchange);
        self.work_budget = self.work_budget.saturating_sub(traffic.work_done());
        link_change
    }

    /// Change of byte distance by a swap.
    fn distance_change(&mut self, exchange: SlotSwap) -> f64 {
        let degree = |slot: u32| self.placement.rank(slot).map_or(0, |rank| self.placement.graph.arcs(rank).len());
        // Each neighbour is examined from both slots.
        self.work_budget = self.work_budget.saturating_sub(2 * exchange.map(degree).iter().sum::<usize>() as u64);
        let distance_change = self.placement.distance_change(exchange);
        if distance_change.abs() <= self.distance_tolerance { 0.0 } else { distance_change }
    }
}

impl RankQueue {
    fn extend(&mut self, ranks: impl IntoIterator<Item = u32>) {
        for rank in ranks {
            if !std::mem::replace(&mut self.is_queued[rank as usize], true) {
                self.ranks.push_back(rank);
            }
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let rank = self.ranks.pop_front()?;
        self.is_queued[rank as usize] = false;
        Some(rank)
    }
}
