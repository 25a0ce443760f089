//! The least and the most that a parallel block can take.
//!
//! The papers' T takes the largest of what the program takes without contention and of what each resource is busy for, both over the whole
//! program. Inside a parallel block both are known too, and blocks follow each other; adding up per block can only give more, and is still
//! no more than any schedule takes. From above, whoever ends last in a block has always either worked, or waited for a resource all of which
//! was at work for others. `docs/pamela-theory.md` has the proofs.

use crate::expression::Expression;

/// The least: the longest branch, or what a contended resource is busy for.
pub(crate) fn lower(longest: Expression, loads: Vec<Expression>) -> Expression {
    Expression::max(std::iter::once(longest).chain(loads).collect())
}

/// The most: the longest chain and what it can wait for; and never more than everything one after the other.
pub(crate) fn upper(free: &Expression, serial: &Expression, waits: Vec<Expression>) -> Expression {
    if waits.is_empty() {
        return free.clone();
    }
    let waiting = Expression::sum(std::iter::once(free.clone()).chain(waits).collect());
    Expression::min(vec![waiting, serial.clone()])
}
