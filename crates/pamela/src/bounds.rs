//! Lower and upper bounds of the time of a parallel block.
//!
//! The papers' T is the maximum of the contention-free time and of the load of each resource, both over the whole program. Both are also
//! known inside each parallel block, and blocks follow each other; summing per block gives a larger value that is still a lower bound for
//! any schedule. For the upper bound: the branch that ends last has at any time either worked or waited for a resource that was fully busy.
//! `docs/pamela-theory.md` has the proofs.

use crate::expression::CostExpr;

/// The lower bound: the longest branch, or the load of a contended resource.
pub(crate) fn lower_bound(longest: CostExpr, loads: Vec<CostExpr>) -> CostExpr {
    CostExpr::max(std::iter::once(longest).chain(loads).collect())
}

/// The upper bound: the longest chain plus what it can wait for, but never more than serial execution.
pub(crate) fn upper_bound(free: &CostExpr, serial: &CostExpr, waits: Vec<CostExpr>) -> CostExpr {
    if waits.is_empty() {
        return free.clone();
    }
    let waiting = CostExpr::sum(std::iter::once(free.clone()).chain(waits).collect());
    CostExpr::min(vec![waiting, serial.clone()])
}
