//! The cost of a block of a model: its times and its demand for each resource.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_formula::Formula;

use super::resource::{ResourceDemand, ResourceKey};
use crate::bindings::{Bindings, CURRENT_COMPUTER};
use crate::bounds;
use crate::expression::{AllocationMetric, CostExpr, LoopRange, LoopReduction, PrimitiveCost};
use crate::model::{Computer, LoopOrder};

/// The cost of a block.
#[derive(Debug, Clone)]
pub(super) struct BlockCost {
    pub(super) contention_free: CostExpr,
    /// The time of serial execution.
    pub(super) serial: CostExpr,
    pub(super) lower: CostExpr,
    pub(super) upper: CostExpr,
    pub(super) demands: BTreeMap<ResourceKey, ResourceDemand>,
    /// The resources that two of its parts may need at the same time.
    pub(super) contended: BTreeSet<ResourceKey>,
    /// Whether it contains parallelism; otherwise its four times are equal.
    has_parallelism: bool,
}

/// The number of times of a block, in the order of `times`.
const N_TIMES: usize = 4;

impl BlockCost {
    pub(super) fn zero() -> BlockCost {
        BlockCost::from_time(CostExpr::zero(), None)
    }

    /// A block that takes a time and possibly needs a resource.
    pub(super) fn from_time(time: CostExpr, needs: Option<ResourceKey>) -> BlockCost {
        let demand = |needed: ResourceKey| (needed, ResourceDemand { lower: time.clone(), upper: time.clone() });
        let demands = needs.map(demand).into_iter().collect();
        let [contention_free, serial, lower, upper] = [(); N_TIMES].map(|()| time.clone());
        BlockCost { contention_free, serial, lower, upper, demands, contended: BTreeSet::new(), has_parallelism: false }
    }

    pub(super) fn from_cost(cost: PrimitiveCost, needs: Option<ResourceKey>) -> BlockCost {
        BlockCost::from_time(CostExpr::cost(cost), needs)
    }

    fn times(&self) -> [&CostExpr; N_TIMES] {
        [&self.contention_free, &self.serial, &self.lower, &self.upper]
    }

    /// The nesting depth.
    pub(super) fn depth(&self) -> u32 {
        self.times().into_iter().map(CostExpr::depth).max().unwrap_or(0)
    }

    /// Applies a function to all times and demands.
    fn map_times(self, change: impl Fn(&CostExpr) -> CostExpr) -> BlockCost {
        let demands = self.demands.iter().map(|(needed, demand)| (needed.clone(), demand.map(&change))).collect();
        let [free, serial, lower, upper] = if self.has_parallelism {
            self.times().map(&change)
        } else {
            let one = change(&self.contention_free);
            [one.clone(), one.clone(), one.clone(), one]
        };
        BlockCost { contention_free: free, serial, lower, upper, demands, ..self }
    }

    /// Parts that run one after the other.
    pub(super) fn sequence(parts: Vec<BlockCost>) -> BlockCost {
        let has_parallelism = parts.iter().any(|part| part.has_parallelism);
        let of = |time: usize| CostExpr::sum(parts.iter().map(|part| part.times()[time].clone()).collect());
        let [contention_free, serial, lower, upper] = if has_parallelism {
            [of(0), of(1), of(2), of(3)]
        } else {
            let one = of(0);
            [one.clone(), one.clone(), one.clone(), one]
        };
        let contended = parts.iter().flat_map(|part| part.contended.iter().cloned()).collect();
        BlockCost { contention_free, serial, lower, upper, demands: merge_demands(&parts), contended, has_parallelism }
    }

    /// Parts that run at the same time.
    pub(super) fn parallel(mut parts: Vec<BlockCost>, multiplicity: &BTreeMap<String, Formula>) -> BlockCost {
        parts.retain(|part| !part.contention_free.is_zero());
        if parts.len() < 2 {
            return parts.pop().unwrap_or_else(BlockCost::zero);
        }
        let all = |time: usize| parts.iter().map(|part| part.times()[time].clone()).collect::<Vec<_>>();
        let mut users: BTreeMap<&ResourceKey, usize> = BTreeMap::new();
        parts.iter().flat_map(|part| part.demands.keys()).for_each(|needed| *users.entry(needed).or_default() += 1);
        let several = users.into_iter().filter(|(_, users)| *users > 1).map(|(needed, _)| needed.clone());
        let contended = several.chain(parts.iter().flat_map(|part| part.contended.iter().cloned())).collect();
        let together = BlockCost {
            contention_free: CostExpr::max(all(0)),
            serial: CostExpr::sum(all(1)),
            lower: CostExpr::max(all(2)),
            upper: CostExpr::zero(),
            demands: merge_demands(&parts),
            contended,
            has_parallelism: true,
        };
        together.with_bounds(multiplicity)
    }

    /// The body of a loop, repeated.
    pub(super) fn looped(mut self, order: LoopOrder, range: &LoopRange, multiplicity: &BTreeMap<String, Formula>) -> BlockCost {
        // A computer named by the index is a different one in each iteration, so iterations neither add up on it nor compete for it.
        let own = ResourceKey::computer(&range.index);
        let (demand, is_contended) = (self.demands.remove(&own), self.contended.remove(&own));
        let together = match order {
            LoopOrder::Sequential => self.map_times(|time| time.clone().looped(LoopReduction::Sum, range)),
            LoopOrder::Parallel => self.parallel_iterations(range),
        };
        let closed = together.close_index(range, demand, is_contended);
        if order == LoopOrder::Parallel { closed.with_bounds(multiplicity) } else { closed }
    }

    /// The iterations of a parallel loop, before its bounds are computed.
    fn parallel_iterations(self, range: &LoopRange) -> BlockCost {
        let among_rounds = self.demands.keys().filter(|needed| **needed != ResourceKey::CurrentComputer).cloned();
        let contended = among_rounds.chain(self.contended.iter().cloned()).collect();
        let added =
            |(needed, demand): (&ResourceKey, &ResourceDemand)| (needed.clone(), demand.map(|time| time.clone().summed_over(range)));
        BlockCost {
            demands: self.demands.iter().map(added).collect(),
            contention_free: self.contention_free.looped(LoopReduction::Max, range),
            serial: self.serial.summed_over(range),
            lower: self.lower.looped(LoopReduction::Max, range),
            upper: CostExpr::zero(),
            contended,
            has_parallelism: true,
        }
    }

    /// A task set allocated to workers.
    pub(super) fn allocated(self, range: &LoopRange, computer: &Computer, multiplicity: &BTreeMap<String, Formula>) -> BlockCost {
        let own = ResourceKey::computer(&computer.0);
        let dealt = |time: &CostExpr, how: AllocationMetric| time.clone().allocated(how, range, computer);
        let mut demands: BTreeMap<ResourceKey, ResourceDemand> = BTreeMap::new();
        let others = self.demands.iter().filter(|(needed, _)| **needed != own && !depends_on(needed, &range.index));
        demands.extend(others.map(|(needed, demand)| (needed.clone(), demand.map(|time| dealt(time, AllocationMetric::TotalWork)))));
        let mut contended: BTreeSet<ResourceKey> = demands.keys().cloned().collect();
        contended.remove(&ResourceKey::Workers);
        if let Some(ResourceDemand { lower: least, upper: most }) = self.demands.get(&own) {
            demands.insert(
                ResourceKey::Workers,
                ResourceDemand { lower: dealt(least, AllocationMetric::Balanced), upper: dealt(most, AllocationMetric::Makespan) },
            );
        }
        contended.extend(self.contended.iter().filter(|needed| demands.contains_key(needed)).cloned());
        let together = BlockCost {
            contention_free: dealt(&self.contention_free, AllocationMetric::Makespan),
            serial: dealt(&self.serial, AllocationMetric::TotalWork),
            lower: dealt(&self.lower, AllocationMetric::Makespan),
            upper: CostExpr::zero(),
            demands,
            contended,
            has_parallelism: true,
        };
        together.with_bounds(multiplicity)
    }

    /// The block while it holds a resource.
    pub(super) fn using(mut self, resource: &str) -> BlockCost {
        let demand = ResourceDemand { lower: self.contention_free.clone(), upper: self.serial.clone() };
        let needed = ResourceKey::Named(resource.to_owned());
        self.contended.remove(&needed);
        self.demands.insert(needed, demand);
        self
    }

    /// The block weighted by a branch share.
    pub(super) fn scaled(self, share: &Formula) -> BlockCost {
        if share.is_zero() {
            return BlockCost::zero();
        }
        self.map_times(|time| time.clone().times(share))
    }

    /// The block on a computer, for everything that does not specify one.
    pub(super) fn on_computer(&self, computer: &str) -> BlockCost {
        self.with_bindings(&vec![(CURRENT_COMPUTER.to_owned(), Formula::symbol(computer))])
    }

    /// Substitutes names.
    pub(super) fn with_bindings(&self, bindings: &Bindings) -> BlockCost {
        let mut changed = self.clone().map_times(|time| time.clone().with_bindings(bindings));
        let mut demands: BTreeMap<ResourceKey, Vec<ResourceDemand>> = BTreeMap::new();
        for (needed, demand) in std::mem::take(&mut changed.demands) {
            demands.entry(needed.with_bindings(bindings)).or_default().push(demand);
        }
        changed.demands = demands.into_iter().map(|(needed, all)| (needed, sum_demands(&all))).collect();
        changed.contended = changed.contended.iter().map(|needed| needed.with_bindings(bindings)).collect();
        changed
    }

    /// Closes the scope of an index: the demand on the computer named by it becomes the demand on each computer of the range; demands that
    /// cannot be expressed without the index are dropped.
    fn close_index(mut self, range: &LoopRange, own: Option<ResourceDemand>, is_contended: bool) -> BlockCost {
        self.demands.retain(|needed, _| !depends_on(needed, &range.index));
        self.contended.retain(|needed| !depends_on(needed, &range.index));
        let Some(own) = own else { return self };
        let each = ResourceKey::EachComputer(range.from.clone(), range.to.clone());
        let named: Bindings = vec![(range.index.clone(), Formula::symbol(super::EACH_COMPUTER))];
        let own = own.map(|time| time.clone().with_bindings(&named));
        let both: Vec<ResourceDemand> = self.demands.remove(&each).into_iter().chain([own]).collect();
        self.demands.insert(each.clone(), sum_demands(&both));
        if is_contended {
            self.contended.insert(each);
        }
        self
    }

    /// Computes the two bounds of a parallel block.
    fn with_bounds(mut self, multiplicity: &BTreeMap<String, Formula>) -> BlockCost {
        let contended = || self.contended.iter().filter_map(|needed| Some((needed, self.demands.get(needed)?)));
        let loads = contended().map(|(needed, demand)| needed.load(demand, multiplicity)).collect();
        let waits = contended().map(|(needed, demand)| needed.wait(demand, multiplicity)).collect();
        let lower = bounds::lower_bound(self.lower.clone(), loads);
        self.upper = bounds::upper_bound(&self.contention_free, &self.serial, waits);
        self.lower = lower;
        self
    }
}

impl ResourceDemand {
    fn map(&self, change: impl Fn(&CostExpr) -> CostExpr) -> ResourceDemand {
        let least = change(&self.lower);
        let most = if is_same_node(&self.lower, &self.upper) { least.clone() } else { change(&self.upper) };
        ResourceDemand { lower: least, upper: most }
    }
}

fn is_same_node(a: &CostExpr, b: &CostExpr) -> bool {
    a.address() == b.address()
}

fn sum_demands(demands: &[ResourceDemand]) -> ResourceDemand {
    match demands {
        [one] => one.clone(),
        several => {
            let of = |pick: fn(&ResourceDemand) -> &CostExpr| CostExpr::sum(several.iter().map(|demand| pick(demand).clone()).collect());
            ResourceDemand { lower: of(|demand| &demand.lower), upper: of(|demand| &demand.upper) }
        }
    }
}

/// The demands of several parts together.
fn merge_demands(parts: &[BlockCost]) -> BTreeMap<ResourceKey, ResourceDemand> {
    let mut all: BTreeMap<&ResourceKey, Vec<ResourceDemand>> = BTreeMap::new();
    for (needed, demand) in parts.iter().flat_map(|part| &part.demands) {
        all.entry(needed).or_default().push(demand.clone());
    }
    all.into_iter().map(|(needed, demands)| (needed.clone(), sum_demands(&demands))).collect()
}

fn depends_on(needed: &ResourceKey, index: &str) -> bool {
    match needed {
        ResourceKey::EachComputer(from, to) => from.symbols().contains(index) || to.symbols().contains(index),
        ResourceKey::CurrentComputer | ResourceKey::Named(_) | ResourceKey::Workers => false,
    }
}
