//! Event types, values and states of MPI in Paraver traces.
//!
//! They are Extrae's, so that configuration files for its traces apply. What Extrae lacks has numbers of our own.

use std::collections::HashMap;
use std::sync::LazyLock;

use sintonia_mpi::{FunctionId, FunctionRole};

/// Begin and end of a process.
pub(super) const APPLICATION: u64 = 40_000_001;
/// Bytes of a file operation.
pub(super) const FILE_BYTES: u64 = 50_000_110;
/// Bytes of a one-sided operation.
pub(super) const ONE_SIDED_BYTES: u64 = 50_001_000;
/// Target rank of a one-sided operation, from 0.
pub(super) const ONE_SIDED_TARGET: u64 = 50_001_001;
/// Bytes sent in a collective.
pub(super) const COLLECTIVE_SENT: u64 = 50_100_001;
/// Bytes received in a collective.
pub(super) const COLLECTIVE_RECEIVED: u64 = 50_100_002;
/// 1 at the root of a collective.
pub(super) const COLLECTIVE_ROOT: u64 = 50_100_003;
/// Communicator of a collective.
pub(super) const COLLECTIVE_COMMUNICATOR: u64 = 50_100_004;
/// 1 for an unsuccessful test or probe. This type and the next two are Sintonia's own.
pub(super) const FOUND_NOTHING: u64 = 50_009_001;
/// Communicator of other calls; for messages only if it is not MPI_COMM_WORLD.
pub(super) const COMMUNICATOR: u64 = 50_009_002;
/// Communicator that a call created or freed.
pub(super) const COMMUNICATOR_CREATED: u64 = 50_009_003;
/// The function that made the call; the next level is one more, and so on.
pub(super) const CALLER: u64 = 70_000_000;
/// The line that made the call; the next level is one more.
pub(super) const CALLER_LINE: u64 = 80_000_000;
/// Limit of caller levels that are read.
pub(super) const MAX_CALLERS: u64 = 100;
/// Caller levels that are written: each takes some 40 bytes of every call.
pub(super) const WRITTEN_CALLERS: usize = 10;
/// First value with a label: 1 is unresolved, 2 not found.
pub(super) const FIRST_CALLER_VALUE: u64 = 3;

/// State of a computing process.
pub(super) const STATE_RUNNING: u64 = 1;
/// State before start and after end.
pub(super) const STATE_NOT_CREATED: u64 = 2;

/// The event types of MPI calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum MpiEventType {
    PointToPoint,
    Collective,
    /// Everything else.
    Other,
    /// One-sided communication.
    OneSided,
    /// MPI-IO.
    Io,
}

impl MpiEventType {
    pub(super) const ALL: [MpiEventType; 5] =
        [MpiEventType::PointToPoint, MpiEventType::Collective, MpiEventType::Other, MpiEventType::OneSided, MpiEventType::Io];

    /// The number of the type; its value is the function at the begin of a call and 0 at its end.
    pub(super) fn type_id(self) -> u64 {
        50_000_001 + self as u64
    }

    /// The type with this number.
    pub(super) fn from_type_id(event_type: u64) -> Option<MpiEventType> {
        MpiEventType::ALL.into_iter().find(|mpi_type| mpi_type.type_id() == event_type)
    }

    /// Its label in Paraver.
    pub(super) fn label(self) -> &'static str {
        match self {
            MpiEventType::PointToPoint => "MPI Point-to-point",
            MpiEventType::Collective => "MPI Collective Comm",
            MpiEventType::Other => "MPI Other",
            MpiEventType::OneSided => "MPI One-sided",
            MpiEventType::Io => "MPI I/O",
        }
    }

    fn from_name(name: &str) -> Option<MpiEventType> {
        Some(match name {
            "messages" => MpiEventType::PointToPoint,
            "collective" => MpiEventType::Collective,
            "other" => MpiEventType::Other,
            "one-sided" => MpiEventType::OneSided,
            "files" => MpiEventType::Io,
            _ => return None,
        })
    }
}

/// Event and state of the calls of one function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallEventCode {
    pub event_type: MpiEventType,
    /// Value at the begin.
    pub value: u64,
    /// State during the call.
    pub state: u64,
}

struct EventCodeTable {
    events: HashMap<FunctionId, CallEventCode>,
    operations: HashMap<u64, FunctionId>,
}

static EVENT_CODES: LazyLock<EventCodeTable> = LazyLock::new(|| {
    let lines = include_str!("../../data/extrae-events.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut table = EventCodeTable { events: HashMap::new(), operations: HashMap::new() };
    for (event, name) in lines.filter_map(parse_row) {
        if let Some(operation) = FunctionId::from_name(name) {
            table.events.insert(operation, event);
            table.operations.insert(event.value, operation);
        }
    }
    let init = FunctionId::from_name("MPI_Init").and_then(|init| table.events.get(&init)).copied();
    if let Some((init, threaded)) = init.zip(FunctionId::from_name("MPI_Init_thread")) {
        table.events.insert(threaded, init);
    }
    table
});

fn parse_row(line: &str) -> Option<(CallEventCode, &str)> {
    let mut columns = line.split('\t');
    let value = columns.next()?.parse().ok()?;
    let mpi_type = MpiEventType::from_name(columns.next()?)?;
    let state = columns.next()?.parse().ok()?;
    Some((CallEventCode { event_type: mpi_type, value, state }, columns.next()?))
}

/// The event code of a function.
pub(super) fn event_code(operation: FunctionId) -> CallEventCode {
    // Functions that are never recorded, nor traced by Extrae.
    const UNKNOWN: CallEventCode = CallEventCode { event_type: MpiEventType::Other, value: 1000, state: 15 };
    EVENT_CODES.events.get(&operation).copied().unwrap_or(UNKNOWN)
}

/// The function of an Extrae value.
pub(super) fn operation_from_value(value: u64) -> Option<FunctionId> {
    EVENT_CODES.operations.get(&value).copied()
}

/// Whether the collective has a root.
pub(super) fn has_root(operation: FunctionId) -> bool {
    use sintonia_mpi::CollectiveOp::{Broadcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
    matches!(operation.role(), FunctionRole::Collective(Broadcast | Reduce | Gather | Gatherv | Scatter | Scatterv))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_mpi::FUNCTIONS;
    use std::collections::HashSet;

    fn event(name: &str) -> CallEventCode {
        event_code(FunctionId::from_name(name).unwrap())
    }

    #[test]
    fn the_numbers_are_those_of_extrae() {
        assert_eq!(event("MPI_Send"), CallEventCode { event_type: MpiEventType::PointToPoint, value: 1, state: 4 });
        assert_eq!(event("MPI_Allreduce"), CallEventCode { event_type: MpiEventType::Collective, value: 10, state: 13 });
        assert_eq!(event("MPI_Init_thread"), CallEventCode { event_type: MpiEventType::Other, value: 31, state: 15 });
        assert_eq!(event("MPI_Win_start").value, 69);
        assert_eq!(event("MPI_Iexscan").value, 215);
        assert_eq!(MpiEventType::Io.type_id(), 50_000_005);
        assert_eq!(operation_from_value(31).map(FunctionId::name), Some("MPI_Init"));
        assert_eq!(operation_from_value(0), None);
    }

    #[test]
    fn every_function_that_is_recorded_has_a_number_of_its_own() {
        let mut values = HashSet::new();
        for function in FUNCTIONS.iter().filter(|function| function.role != FunctionRole::Local && function.name != "MPI_Init_thread") {
            let event = event(function.name);
            assert_ne!(event.value, 1000, "{} needs a line in extrae-events.tsv", function.name);
            assert!(values.insert(event.value), "{} shares its number", function.name);
            assert_eq!(operation_from_value(event.value).map(FunctionId::name), Some(function.name));
        }
    }

    #[test]
    fn every_line_of_the_table_can_be_read() {
        let lines = include_str!("../../data/extrae-events.tsv").lines().filter(|line| !line.starts_with('#'));
        let read: Vec<_> = lines.map(|line| super::parse_row(line).expect(line)).collect();
        assert!(read.is_sorted_by_key(|(event, _)| event.value));
    }
}
