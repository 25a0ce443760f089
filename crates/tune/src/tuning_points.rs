//! Measure points and tuning points of a tunlet, by names of the program's source.

use serde::{Deserialize, Serialize};
use sintonia_link::pieces::{PieceMoment, PieceParameter};
use sintonia_link::probe_protocol::{ActionRepeat, HookSide};

/// The processes that a point applies to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Actor {
    /// All of them.
    All,
    /// Rank 0, which hands out work.
    Master,
    /// All but the master.
    Workers,
    /// These ranks.
    Ranks(Vec<u32>),
    /// Those that have called this function.
    Callers(String),
}

/// What is known of a process, to match it with actors.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessIdentity {
    /// Its rank.
    pub rank: u32,
    /// Functions it has called, of those that identify an actor.
    pub called: Vec<String>,
}

/// Rank of the master.
const MASTER_RANK: u32 = 0;

impl Actor {
    /// Whether a process matches.
    pub fn matches(&self, process: &ProcessIdentity) -> bool {
        match self {
            Actor::Callers(function) => process.called.contains(function),
            _ => self.matches_rank(process.rank),
        }
    }

    /// Whether a rank matches; that of a caller of a function may.
    pub fn matches_rank(&self, rank: u32) -> bool {
        match self {
            Actor::All | Actor::Callers(_) => true,
            Actor::Master => rank == MASTER_RANK,
            Actor::Workers => rank != MASTER_RANK,
            Actor::Ranks(ranks) => ranks.contains(&rank),
        }
    }

    /// Parses `all`, `master`, `workers`, ranks as in `3` or `0,4-7`, or `calls FUNCTION`.
    pub fn from_name(name: &str) -> Option<Actor> {
        match name.trim() {
            "all" => Some(Actor::All),
            "master" => Some(Actor::Master),
            "workers" => Some(Actor::Workers),
            name => match name.strip_prefix("calls ") {
                Some(function) if !function.trim().is_empty() => Some(Actor::Callers(function.trim().to_owned())),
                Some(_) => None,
                None => name.split(',').map(parse_ranks).collect::<Option<Vec<_>>>().map(|parts| Actor::Ranks(parts.concat())),
            },
        }
    }
}

/// Parses `3` or `4-7`.
fn parse_ranks(text: &str) -> Option<Vec<u32>> {
    /// More than any machine has; limits the memory that a typing error can take.
    const MOST: u32 = 1 << 24;
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|rank| *rank < MOST);
    match text.split_once('-') {
        Some((first, last)) => Some((number(first)?..=number(last)?).collect()),
        None => number(text).map(|rank| vec![rank]),
    }
}

/// A measure point: values read whenever a function is entered or left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurePoint {
    /// The processes.
    pub actor: Actor,
    /// The function. An MPI function, by its C name, is measured without a hook.
    pub function: String,
    /// Entry or exit.
    pub side: HookSide,
    /// Values to read: parameters by name at entry; `result`, `seconds` (duration) and `mpi_seconds` (the part in MPI functions) at exit; variables
    /// by path. Of an MPI function: `seconds`, `bytes`, `peer`, `tag`, `communicator`, at exit.
    pub values: Vec<String>,
    /// Whether events may be aggregated on the way to the tunlet.
    pub join: EventJoin,
}

impl MeasurePoint {
    /// The exit of an MPI function, aggregated over an interval in seconds.
    pub fn mpi_exit(actor: Actor, function: &str, values: &[&str], seconds: f64) -> MeasurePoint {
        let values = values.iter().map(ToString::to_string).collect();
        MeasurePoint { actor, function: function.into(), side: HookSide::Exit, values, join: EventJoin::Over(seconds) }
    }
}

/// Whether events may be aggregated on the way to the tunlet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum EventJoin {
    /// Every event is delivered.
    Each,
    /// Count, mean, deviation, maximum and sum are delivered for each interval of this many seconds.
    Over(f64),
}

/// A tuning point: something that can be changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TuningPoint {
    /// The processes.
    pub actor: Actor,
    /// The target.
    pub target: TuningTarget,
    /// The range of values that may be requested.
    pub range: (f64, f64),
    /// When it is changed.
    pub moment: TuningMoment,
    /// Once for each request, or at every such moment.
    pub when: ActionRepeat,
}

/// What can be changed in a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum TuningTarget {
    /// A variable, by path.
    Variable(String),
    /// A variable of a declared type.
    Typed {
        /// Its path.
        variable: String,
        /// Its type.
        kind: DeclaredType,
    },
    /// A call of a function.
    Call {
        /// The function.
        function: String,
        /// Its arguments, in order.
        arguments: Vec<CallArgument>,
    },
    /// A replacement of a function.
    Replace {
        /// The replaced function.
        function: String,
        /// The replacement.
        by: String,
    },
    /// A library to load into the program.
    Library(String),
    /// A control variable of the MPI library, by its MPI_T name.
    Control(String),
    /// An environment variable that the program or its libraries read later.
    Environment(String),
    /// A parameter of how the probe sizes a master's pieces of work.
    Piece(PieceTarget),
}

/// The sizes of a master's pieces of work, and one of the parameters that determine them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PieceTarget {
    /// The variable with the number of tasks of the next piece.
    pub variable: String,
    /// The number of tasks of a round.
    pub total: Option<TaskTotal>,
    /// Tag of the messages with work.
    pub tag: Option<i32>,
    /// When the variable is written.
    pub moment: PieceMoment,
    /// Whether the process is known to be the master.
    pub is_master: bool,
    /// Fewest tasks of a piece.
    pub least: u64,
    /// The parameter.
    pub parameter: PieceParameter,
}

/// The number of tasks that a master hands out in a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskTotal {
    /// Always the same.
    Number(u64),
    /// The value of a variable.
    Variable(String),
}

/// In place of a function's name: pieces of work. Values at entry (a piece is sent): `tasks`, `worker`, `first`, `round`, `bytes`, `total`;
/// at exit (it is answered): `tasks`, `worker`, `over`, `round`, `bytes`, `seconds`.
pub const PIECES: &str = "pieces of work";
/// In place of a function's name: a worker's time between receiving and sending. Values, at exit: `bytes`, `peer`, `seconds`.
pub const COMPUTATIONS: &str = "computations of workers";

/// A type that a tunlet declares for a variable, by its C name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeclaredType {
    /// An integer.
    Whole {
        /// Its size.
        bytes: u64,
        /// Whether it is signed.
        signed: bool,
    },
    /// A floating-point number.
    Real {
        /// Its size.
        bytes: u64,
    },
    /// A truth value.
    Truth,
}

impl DeclaredType {
    /// All types with their names.
    const NAMES: [(&'static str, DeclaredType); 11] = [
        ("char", DeclaredType::Whole { bytes: 1, signed: true }),
        ("short", DeclaredType::Whole { bytes: 2, signed: true }),
        ("int", DeclaredType::Whole { bytes: 4, signed: true }),
        ("long", DeclaredType::Whole { bytes: 8, signed: true }),
        ("unsigned char", DeclaredType::Whole { bytes: 1, signed: false }),
        ("unsigned short", DeclaredType::Whole { bytes: 2, signed: false }),
        ("unsigned int", DeclaredType::Whole { bytes: 4, signed: false }),
        ("unsigned long", DeclaredType::Whole { bytes: 8, signed: false }),
        ("float", DeclaredType::Real { bytes: 4 }),
        ("double", DeclaredType::Real { bytes: 8 }),
        ("bool", DeclaredType::Truth),
    ];

    /// The type of this name.
    pub fn from_name(name: &str) -> Option<DeclaredType> {
        DeclaredType::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind)
    }
}

impl std::fmt::Display for DeclaredType {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = DeclaredType::NAMES.into_iter().find(|(_, kind)| kind == self).map_or("number", |(name, _)| name);
        out.write_str(name)
    }
}

/// An argument of a called function.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum CallArgument {
    /// The requested value.
    Wished,
    /// A constant.
    Number(f64),
}

impl std::fmt::Display for TuningTarget {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            TuningTarget::Variable(name) | TuningTarget::Control(name) | TuningTarget::Environment(name) => out.write_str(name),
            TuningTarget::Typed { variable, .. } => out.write_str(variable),
            TuningTarget::Call { function, .. } => write!(out, "{function}()"),
            TuningTarget::Replace { function, by } => write!(out, "{function} -> {by}"),
            TuningTarget::Library(path) => write!(out, "load {path}"),
            TuningTarget::Piece(target) => write!(out, "{} ({})", target.variable, target.parameter),
        }
    }
}

/// When a change is safe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TuningMoment {
    /// At any time.
    AtOnce,
    /// At entry or exit of a function.
    At(String, HookSide),
    /// Before `MPI_Init`, for settings that the MPI library reads only there.
    BeforeMpi,
    /// Before the same collective call in all processes, for values that must be the same in all of them.
    Together,
    /// When a master has received the last answer of a round.
    BetweenRounds,
}

/// What a tunlet requires of a program.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TunletRequirements {
    /// Its measure points; events carry the index in this list.
    pub measures: Vec<MeasurePoint>,
    /// Its tuning points; changes carry the index in this list.
    pub tunes: Vec<TuningPoint>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_match_processes() {
        let process = |rank, called: &[&str]| ProcessIdentity { rank, called: called.iter().map(ToString::to_string).collect() };
        let is = |name: &str, process: &ProcessIdentity| Actor::from_name(name).expect("an actor").matches(process);
        assert!(is("master", &process(0, &[])) && !is("master", &process(1, &[])) && is("workers", &process(3, &[])));
        assert!(is("0,4-7", &process(5, &[])) && !is("0,4-7", &process(8, &[])));
        assert!(is("calls solve", &process(5, &["solve"])) && !is("calls solve", &process(5, &["setup"])));
        assert_eq!(Actor::from_name("5"), Some(Actor::Ranks(vec![5])));
        for invalid in ["boss", "calls ", "3-", "99999999999", ""] {
            assert_eq!(Actor::from_name(invalid), None, "{invalid}");
        }
    }
}
