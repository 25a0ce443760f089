//! The numbers by which Paraver traces know MPI: types of events, the value of each function, states.
//!
//! They are Extrae's, so that every configuration file made for its traces works on ours. What Extrae does not know has numbers of our own.

use std::collections::HashMap;
use std::sync::LazyLock;

use sintonia_mpi::{Operation, Role};

/// The begin and end of a process.
pub const APPLICATION: u64 = 40_000_001;
/// Bytes of a call on a file.
pub const FILE_BYTES: u64 = 50_000_110;
/// Bytes of a one-sided call.
pub const ONE_SIDED_BYTES: u64 = 50_001_000;
/// The target of a one-sided call: a rank counted from 0.
pub const ONE_SIDED_TARGET: u64 = 50_001_001;
/// Bytes that a process gives to a collective call.
pub const COLLECTIVE_SENT: u64 = 50_100_001;
/// Bytes that it gets.
pub const COLLECTIVE_RECEIVED: u64 = 50_100_002;
/// Is 1 at the root of a collective call.
pub const COLLECTIVE_ROOT: u64 = 50_100_003;
/// The communicator of a collective call.
pub const COLLECTIVE_COMMUNICATOR: u64 = 50_100_004;
/// Is 1 if a test or probe found nothing. This type and the two after it are Sintonia's own: Extrae does not tell as much.
pub const FOUND_NOTHING: u64 = 50_009_001;
/// The communicator of a call that is not collective; of one about a message only if it is not that of all processes.
pub const COMMUNICATOR: u64 = 50_009_002;
/// The communicator that a call made or freed.
pub const COMMUNICATOR_MADE: u64 = 50_009_003;
/// The function that made the call; its caller is one more, and so on.
pub const CALLER: u64 = 70_000_000;
/// The line from which it was made; that of its caller is one more.
pub const CALLER_LINE: u64 = 80_000_000;
/// How many callers a trace can tell of a call.
pub const MOST_CALLERS: u64 = 100;
/// Values of callers from which on they have names: 1 stands for one without a name, 2 for one that was not found.
pub const FIRST_CALLER: usize = 3;

/// A process that computes.
pub const RUNNING: u32 = 1;
/// A process that has not begun or has ended.
pub const NOT_CREATED: u32 = 2;

/// What kind of MPI function: each has its own type of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Messages between two processes.
    Messages,
    /// Operations of all members of a communicator.
    Collective,
    /// Everything else.
    Other,
    /// One-sided communication.
    OneSided,
    /// Files.
    Files,
}

impl Group {
    /// All of them.
    pub const ALL: [Group; 5] = [Group::Messages, Group::Collective, Group::Other, Group::OneSided, Group::Files];

    /// The type of the event that says that a call begins (its value is the function) or ends (its value is 0).
    pub fn event_type(self) -> u64 {
        50_000_001 + self as u64
    }

    /// The group whose calls have this type of event.
    pub fn of_type(event_type: u64) -> Option<Group> {
        Group::ALL.into_iter().find(|group| group.event_type() == event_type)
    }

    /// What Paraver calls it.
    pub fn label(self) -> &'static str {
        match self {
            Group::Messages => "MPI Point-to-point",
            Group::Collective => "MPI Collective Comm",
            Group::Other => "MPI Other",
            Group::OneSided => "MPI One-sided",
            Group::Files => "MPI I/O",
        }
    }

    fn named(name: &str) -> Option<Group> {
        Some(match name {
            "messages" => Group::Messages,
            "collective" => Group::Collective,
            "other" => Group::Other,
            "one-sided" => Group::OneSided,
            "files" => Group::Files,
            _ => return None,
        })
    }
}

/// How a call of one function stands in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which type of event.
    pub group: Group,
    /// Its value at the begin.
    pub value: u64,
    /// The state of the process during the call.
    pub state: u32,
}

struct Table {
    events: HashMap<Operation, Event>,
    operations: HashMap<u64, Operation>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let lines = include_str!("../../data/extrae-events.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut table = Table { events: HashMap::new(), operations: HashMap::new() };
    for (event, name) in lines.filter_map(read) {
        if let Some(operation) = Operation::named(name) {
            table.events.insert(operation, event);
            table.operations.insert(event.value, operation);
        }
    }
    let init = Operation::named("MPI_Init").and_then(|init| table.events.get(&init)).copied();
    if let Some((init, threaded)) = init.zip(Operation::named("MPI_Init_thread")) {
        table.events.insert(threaded, init);
    }
    table
});

fn read(line: &str) -> Option<(Event, &str)> {
    let mut columns = line.split('\t');
    let value = columns.next()?.parse().ok()?;
    let group = Group::named(columns.next()?)?;
    let state = columns.next()?.parse().ok()?;
    Some((Event { group, value, state }, columns.next()?))
}

/// How a call of this function stands in a trace.
pub fn of(operation: Operation) -> Event {
    // Functions that are never recorded and that Extrae does not trace either.
    const UNKNOWN: Event = Event { group: Group::Other, value: 1000, state: 15 };
    TABLE.events.get(&operation).copied().unwrap_or(UNKNOWN)
}

/// The function that a value stands for, if it is one of the numbers above.
pub fn operation(value: u64) -> Option<Operation> {
    TABLE.operations.get(&value).copied()
}

/// Whether one process is the source or the destination of the data of such a call.
pub fn has_root(operation: Operation) -> bool {
    use sintonia_mpi::Pattern::{Broadcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
    matches!(operation.role(), Role::Collective(Broadcast | Reduce | Gather | Gatherv | Scatter | Scatterv))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::FUNCTIONS;
    use std::collections::HashSet;

    fn event(name: &str) -> Event {
        of(Operation::named(name).unwrap())
    }

    #[test]
    fn the_numbers_are_those_of_extrae() {
        assert_eq!(event("MPI_Send"), Event { group: Group::Messages, value: 1, state: 4 });
        assert_eq!(event("MPI_Allreduce"), Event { group: Group::Collective, value: 10, state: 13 });
        assert_eq!(event("MPI_Init_thread"), Event { group: Group::Other, value: 31, state: 15 });
        assert_eq!(event("MPI_Win_start").value, 69);
        assert_eq!(event("MPI_Iexscan").value, 215);
        assert_eq!(Group::Files.event_type(), 50_000_005);
        assert_eq!(operation(31).map(Operation::name), Some("MPI_Init"));
        assert_eq!(operation(0), None);
    }

    #[test]
    fn every_function_that_is_recorded_has_a_number_of_its_own() {
        let mut values = HashSet::new();
        for function in FUNCTIONS.iter().filter(|function| function.role != Role::Local && function.name != "MPI_Init_thread") {
            let event = event(function.name);
            assert_ne!(event.value, 1000, "{} needs a line in extrae-events.tsv", function.name);
            assert!(values.insert(event.value), "{} shares its number", function.name);
            assert_eq!(operation(event.value).map(Operation::name), Some(function.name));
        }
    }

    #[test]
    fn every_line_of_the_table_can_be_read() {
        let lines = include_str!("../../data/extrae-events.tsv").lines().filter(|line| !line.starts_with('#'));
        let read: Vec<_> = lines.map(|line| super::read(line).expect(line)).collect();
        assert!(read.is_sorted_by_key(|(event, _)| event.value));
    }
}
