//! Roles: ranges of ranks whose processes take the same way through the program.

use sintonia_formula::{Domain, Formula, Interval};

use crate::analysis::{Facts, Line};

/// The processes of a role.
#[derive(Debug, Clone, PartialEq)]
pub struct Role {
    /// The least rank.
    pub low: Formula,
    /// The greatest.
    pub high: Formula,
    /// What a rank among them is called in formulas.
    pub index: String,
}

impl Role {
    /// All processes.
    pub fn everyone(index: &str) -> Role {
        Role { low: Formula::zero(), high: Formula::symbol("p") - Formula::one(), index: index.to_owned() }
    }

    /// Whether it has one process only.
    pub fn is_single(&self) -> bool {
        self.low == self.high
    }

    /// The rank of a process of this role.
    pub fn rank(&self) -> Formula {
        if self.is_single() { self.low.clone() } else { Formula::symbol(&self.index) }
    }

    /// The number of its processes.
    pub fn count(&self) -> Formula {
        &self.high - &self.low + Formula::one()
    }

    /// The name of its computer: a number where that is known, else that of the index.
    pub fn computer(&self) -> String {
        match self.low.as_exact().and_then(|rank| rank.to_i64()) {
            Some(rank) if self.is_single() => rank.to_string(),
            _ => self.index.clone(),
        }
    }

    /// What is known of the number of processes: where there are several roles, there are several processes.
    pub fn facts(&self) -> Facts {
        let is_everyone = self.low.is_zero() && !self.is_single();
        let mut facts = Facts::default();
        facts.domain = Domain::new().with("p", Interval::new(if is_everyone { 1.0 } else { 2.0 }, f64::INFINITY).expect("a range"));
        facts
    }

    /// Whether a formula is not negative for any process of the role.
    pub fn is_nonnegative(&self, formula: &Formula, facts: &Facts) -> bool {
        let Some(line) = Line::of(formula, &self.index) else { return facts.is_nonnegative(formula) };
        let is_so_at = |rank: &Formula| facts.is_nonnegative(&line.at(rank));
        match line.slope.as_exact() {
            Some(slope) if slope.is_negative() => is_so_at(&self.high),
            Some(_) => is_so_at(&self.low),
            None => is_so_at(&self.low) && is_so_at(&self.high),
        }
    }

    /// The roles on both sides of ranks at which something changes; nothing if nothing changes inside.
    pub fn divided(&self, at: &[Formula], facts: &Facts) -> Option<Vec<Role>> {
        let mut roles = vec![self.clone()];
        for bound in at {
            let last = roles.pop()?;
            let inside = !facts.is_nonnegative(&(&last.low - bound)) && !facts.is_nonnegative(&(bound - &last.high - Formula::one()));
            if inside {
                roles.push(Role { high: bound - &Formula::one(), ..last.clone() });
                roles.push(Role { low: bound.clone(), ..last });
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

    fn ranges(roles: &[Role]) -> Vec<String> {
        roles.iter().map(|role| format!("{}..{}", role.low, role.high)).collect()
    }

    #[test]
    fn a_role_is_divided_where_something_changes() {
        let facts = Facts::default();
        let everyone = Role::everyone("r");
        let at = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a formula")).collect::<Vec<Formula>>();
        assert_eq!(ranges(&everyone.divided(&at(&["0", "1"]), &facts).expect("two")), ["0..0", "1..p - 1"]);
        assert_eq!(ranges(&everyone.divided(&at(&["1", "p - 1"]), &facts).expect("three")), ["0..0", "1..p - 2", "p - 1..p - 1"]);
        assert!(everyone.divided(&at(&["0"]), &facts).is_none());
        assert!(everyone.divided(&at(&["p"]), &facts).is_none());
    }
}
