//! What a tunlet knows of a program: where something is measured, and what can be changed, by the names that stand in its source.

use sintonia_link::order::{Side, When};

/// Which processes of a program something is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Actor {
    /// Every one.
    All,
    /// The one that hands out work: rank 0, unless told.
    Master,
    /// All but the master.
    Workers,
    /// The one with this rank.
    Rank(u32),
}

impl Actor {
    /// Whether a process is meant.
    pub fn is(self, rank: u32, master: u32) -> bool {
        match self {
            Actor::All => true,
            Actor::Master => rank == master,
            Actor::Workers => rank != master,
            Actor::Rank(only) => rank == only,
        }
    }

    /// The actor with this name: `all`, `master`, `workers` or a rank.
    pub fn named(name: &str) -> Option<Actor> {
        match name {
            "all" => Some(Actor::All),
            "master" => Some(Actor::Master),
            "workers" => Some(Actor::Workers),
            rank => rank.parse().ok().map(Actor::Rank),
        }
    }
}

/// Something measured whenever a function is entered or left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasurePoint {
    /// Which processes.
    pub actor: Actor,
    /// The function.
    pub function: String,
    /// Before it or after it.
    pub side: Side,
    /// What is read: parameters by name at entry, `result` at exit, variables by their paths.
    pub values: Vec<String>,
}

/// Something that can be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct TuningPoint {
    /// Which processes.
    pub actor: Actor,
    /// The variable, by its path.
    pub variable: String,
    /// The values that it may have.
    pub range: (f64, f64),
    /// When it is changed.
    pub moment: Moment,
    /// Once for each decision, or at every such moment.
    pub when: When,
}

/// A moment at which a change is safe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// Any.
    AtOnce,
    /// When a function is entered or left.
    At(String, Side),
}

/// What a tunlet needs of a program.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Needs {
    /// Where it measures; events carry the place in this list.
    pub measures: Vec<MeasurePoint>,
    /// What it may change; changes carry the place in this list.
    pub tunes: Vec<TuningPoint>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_are_the_processes_they_name() {
        assert!(Actor::Master.is(0, 0) && !Actor::Master.is(1, 0) && Actor::Workers.is(0, 3));
        assert_eq!(Actor::named("workers"), Some(Actor::Workers));
        assert_eq!(Actor::named("5"), Some(Actor::Rank(5)));
        assert_eq!(Actor::named("boss"), None);
    }
}
