//! What a tunlet knows of a program: where something is measured, and what can be changed, by the names that stand in its source.

use serde::{Deserialize, Serialize};
use sintonia_link::order::{Side, When};

/// Which processes of a program something is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Actor {
    /// Every one.
    All,
    /// The one that hands out work: rank 0, unless told.
    Master,
    /// All but the master.
    Workers,
    /// Those with these ranks.
    Ranks(Vec<u32>),
    /// Those that have called this function.
    Callers(String),
}

/// What is known of a process, to tell which actors it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Part {
    /// Its rank.
    pub rank: u32,
    /// The functions that were asked for by an actor and that it has called.
    pub called: Vec<String>,
}

/// The rank of the process that hands out work.
const MASTER: u32 = 0;

impl Actor {
    /// Whether a process is meant.
    pub fn is(&self, part: &Part) -> bool {
        match self {
            Actor::All => true,
            Actor::Master => part.rank == MASTER,
            Actor::Workers => part.rank != MASTER,
            Actor::Ranks(ranks) => ranks.contains(&part.rank),
            Actor::Callers(function) => part.called.contains(function),
        }
    }

    /// The actor with this name: `all`, `master`, `workers`, ranks as in `3` or `0,4-7`, or `calls FUNCTION`.
    pub fn named(name: &str) -> Option<Actor> {
        match name.trim() {
            "all" => Some(Actor::All),
            "master" => Some(Actor::Master),
            "workers" => Some(Actor::Workers),
            name => match name.strip_prefix("calls ") {
                Some(function) if !function.trim().is_empty() => Some(Actor::Callers(function.trim().to_owned())),
                Some(_) => None,
                None => name.split(',').map(ranks).collect::<Option<Vec<_>>>().map(|parts| Actor::Ranks(parts.concat())),
            },
        }
    }
}

/// The ranks of `3` or of `4-7`.
fn ranks(text: &str) -> Option<Vec<u32>> {
    /// More processes than any machine has; a bound for what a slip of the pen can ask for.
    const MOST: u32 = 1 << 24;
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|rank| *rank < MOST);
    match text.split_once('-') {
        Some((first, last)) => Some((number(first)?..=number(last)?).collect()),
        None => number(text).map(|rank| vec![rank]),
    }
}

/// Something measured whenever a function is entered or left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurePoint {
    /// Which processes.
    pub actor: Actor,
    /// The function. One of MPI, by its name in C, is measured without a hook.
    pub function: String,
    /// Before it or after it.
    pub side: Side,
    /// What is read: parameters by name at entry, `result`, `seconds` (how long it took) and `mpi_seconds` (how much of that in functions
    /// of MPI) at exit, variables by their paths. Of a function of MPI: `seconds`, `bytes`, `peer`, `tag`, `communicator`, at exit.
    pub values: Vec<String>,
    /// Whether events may be joined on the way to the tunlet.
    pub join: Join,
}

impl MeasurePoint {
    /// How a function of MPI returns in these processes; what happens in so many seconds is joined.
    pub fn of_mpi(actor: Actor, function: &str, values: &[&str], seconds: f64) -> MeasurePoint {
        let values = values.iter().map(ToString::to_string).collect();
        MeasurePoint { actor, function: function.into(), side: Side::Exit, values, join: Join::Over(seconds) }
    }
}

/// Whether events may be joined on the way to the tunlet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Join {
    /// The tunlet is told of each.
    Each,
    /// It is told count, mean, deviation, largest and sum of all that happen in so many seconds.
    Over(f64),
}

/// Something that can be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuningPoint {
    /// Which processes.
    pub actor: Actor,
    /// What.
    pub target: Target,
    /// The values that may be wished for.
    pub range: (f64, f64),
    /// When it is changed.
    pub moment: Moment,
    /// Once for each wish, or at every such moment.
    pub when: When,
}

/// What can be changed in a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// A variable, by its path.
    Variable(String),
    /// A variable that must be of a type.
    Typed {
        /// Its path.
        variable: String,
        /// Its type.
        kind: Kind,
    },
    /// A function is called.
    Call {
        /// Which.
        function: String,
        /// What it is passed, in the order of its parameters.
        arguments: Vec<Argument>,
    },
    /// A function is called in the place of another.
    Replace {
        /// Which is replaced.
        function: String,
        /// By which.
        by: String,
    },
    /// A library is loaded into the program.
    Library(String),
    /// A control variable of the MPI library, by its name in MPI_T.
    Control(String),
    /// A variable of the environment, for what the program or its libraries ask later.
    Environment(String),
}

/// A type that a tunlet declares a variable to have, by its name in C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A whole number of so many bytes.
    Whole {
        /// How many.
        bytes: u64,
        /// Whether it can be negative.
        signed: bool,
    },
    /// A floating number of so many bytes.
    Real {
        /// How many.
        bytes: u64,
    },
    /// True or false.
    Truth,
}

impl Kind {
    /// The types by their names.
    const NAMES: [(&'static str, Kind); 11] = [
        ("char", Kind::Whole { bytes: 1, signed: true }),
        ("short", Kind::Whole { bytes: 2, signed: true }),
        ("int", Kind::Whole { bytes: 4, signed: true }),
        ("long", Kind::Whole { bytes: 8, signed: true }),
        ("unsigned char", Kind::Whole { bytes: 1, signed: false }),
        ("unsigned short", Kind::Whole { bytes: 2, signed: false }),
        ("unsigned int", Kind::Whole { bytes: 4, signed: false }),
        ("unsigned long", Kind::Whole { bytes: 8, signed: false }),
        ("float", Kind::Real { bytes: 4 }),
        ("double", Kind::Real { bytes: 8 }),
        ("bool", Kind::Truth),
    ];

    /// The type with this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = Kind::NAMES.into_iter().find(|(_, kind)| kind == self).map_or("number", |(name, _)| name);
        out.write_str(name)
    }
}

/// What a function that is called is passed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Argument {
    /// The value that is wished for.
    Wished,
    /// Always the same.
    Number(f64),
}

impl std::fmt::Display for Target {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Variable(name) | Target::Control(name) | Target::Environment(name) => out.write_str(name),
            Target::Typed { variable, .. } => out.write_str(variable),
            Target::Call { function, .. } => write!(out, "{function}()"),
            Target::Replace { function, by } => write!(out, "{function} -> {by}"),
            Target::Library(path) => write!(out, "load {path}"),
        }
    }
}

/// A moment at which a change is safe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moment {
    /// Any.
    AtOnce,
    /// When a function is entered or left.
    At(String, Side),
    /// Before `MPI_Init`, for what the MPI library reads only there.
    BeforeMpi,
    /// Before the same collective call in all processes, for what must never differ between them.
    Together,
}

/// What a tunlet needs of a program.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
        let part = |rank, called: &[&str]| Part { rank, called: called.iter().map(ToString::to_string).collect() };
        let is = |name: &str, part: &Part| Actor::named(name).expect("an actor").is(part);
        assert!(is("master", &part(0, &[])) && !is("master", &part(1, &[])) && is("workers", &part(3, &[])));
        assert!(is("0,4-7", &part(5, &[])) && !is("0,4-7", &part(8, &[])));
        assert!(is("calls solve", &part(5, &["solve"])) && !is("calls solve", &part(5, &["setup"])));
        assert_eq!(Actor::named("5"), Some(Actor::Ranks(vec![5])));
        for nobody in ["boss", "calls ", "3-", "99999999999", ""] {
            assert_eq!(Actor::named(nobody), None, "{nobody}");
        }
    }
}
