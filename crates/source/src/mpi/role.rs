//! Roles: ranges of ranks that take the same path through the program.

use sintonia_formula::{Domain, Formula, Interval};

use crate::analysis::{AffineForm, Assumptions};

/// A range of ranks that take the same path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ProcessRole {
    /// The lowest rank.
    pub low: Formula,
    /// The highest rank.
    pub high: Formula,
    /// The symbol of a rank of this role.
    pub index: String,
}

impl ProcessRole {
    /// The role of all ranks.
    pub(super) fn all_ranks(index: &str) -> ProcessRole {
        ProcessRole { low: Formula::zero(), high: Formula::symbol("p") - Formula::one(), index: index.to_owned() }
    }

    /// Whether it has a single rank.
    pub(super) fn is_single(&self) -> bool {
        self.low == self.high
    }

    /// The rank of a process of this role.
    pub(super) fn rank(&self) -> Formula {
        if self.is_single() { self.low.clone() } else { Formula::symbol(&self.index) }
    }

    /// The number of its processes.
    pub(super) fn n_processes(&self) -> Formula {
        &self.high - &self.low + Formula::one()
    }

    /// The name of its computer: the rank if it is a number, else the index.
    pub(super) fn computer(&self) -> String {
        match self.low.as_exact().and_then(|rank| rank.to_i64()) {
            Some(rank) if self.is_single() => rank.to_string(),
            _ => self.index.clone(),
        }
    }

    /// Assumptions about the number of processes: several roles imply several processes.
    pub(super) fn assumptions(&self) -> Assumptions {
        let is_everyone = self.low.is_zero() && !self.is_single();
        let mut facts = Assumptions::default();
        facts.domain = Domain::new().with_range("p", Interval::new(if is_everyone { 1.0 } else { 2.0 }, f64::INFINITY).expect("a range"));
        facts
    }

    /// Whether a formula is nonnegative for all ranks of the role.
    pub(super) fn is_nonnegative(&self, formula: &Formula, facts: &Assumptions) -> bool {
        let Some(line) = AffineForm::from_formula(formula, &self.index) else { return facts.is_nonnegative(formula) };
        let is_so_at = |rank: &Formula| facts.is_nonnegative(&line.at(rank));
        match line.slope.as_exact() {
            Some(slope) if slope.is_negative() => is_so_at(&self.high),
            Some(_) => is_so_at(&self.low),
            None => is_so_at(&self.low) && is_so_at(&self.high),
        }
    }

    /// The roles below and above the given ranks; `None` if none of them is inside.
    pub(super) fn split_at(&self, at: &[Formula], facts: &Assumptions) -> Option<Vec<ProcessRole>> {
        let mut roles = vec![self.clone()];
        for bound in at {
            let last = roles.pop()?;
            let inside = !facts.is_nonnegative(&(&last.low - bound)) && !facts.is_nonnegative(&(bound - &last.high - Formula::one()));
            if inside {
                roles.push(ProcessRole { high: bound - &Formula::one(), ..last.clone() });
                roles.push(ProcessRole { low: bound.clone(), ..last });
            } else {
                roles.push(last);
            }
        }
        (roles.len() > 1).then_some(roles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(roles: &[ProcessRole]) -> Vec<String> {
        roles.iter().map(|role| format!("{}..{}", role.low, role.high)).collect()
    }

    #[test]
    fn a_role_is_divided_where_something_changes() {
        let facts = Assumptions::default();
        let everyone = ProcessRole::all_ranks("r");
        let at = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a formula")).collect::<Vec<Formula>>();
        assert_eq!(ranges(&everyone.split_at(&at(&["0", "1"]), &facts).expect("two")), ["0..0", "1..p - 1"]);
        assert_eq!(ranges(&everyone.split_at(&at(&["1", "p - 1"]), &facts).expect("three")), ["0..0", "1..p - 2", "p - 1..p - 1"]);
        assert!(everyone.split_at(&at(&["0"]), &facts).is_none());
        assert!(everyone.split_at(&at(&["p"]), &facts).is_none());
    }
}
