//! Input of a replay: computation and communication of each location in order.
//!
//! Recordings, traces of other tools and extrapolated runs are schedules. A schedule is never in memory as a whole: each location is read
//! one [`CallChunk`] at a time. Programs loop, so a chunk lists each distinct [`ReplayAction`] once, and its calls refer to them.

mod action;
mod call_writer;
mod dimemas;
mod goal;
mod recording;
mod simulator_trace;
mod smpi;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use crate::send_mode::SendMode;
pub use action::{
    CallCompletion, CollectiveAction, PeerEnvelope, ReceiveAction, ReplayAction, Request, SendAction, WildcardMatch, WindowSync,
};
pub use goal::OrderedGoal;
pub use recording::action_of_call;
use sintonia_program::history::CollectiveDependencies;
use sintonia_recording::call_table::CallDescriptor;

use crate::Error;
use crate::core_waits::LocationCoreWaits;
use crate::costs::ReplayCosts;

/// A location: a thread of a rank that calls MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId {
    /// The rank.
    pub rank: u32,
    /// Thread number in its process.
    pub thread: u16,
}

/// Input of a replay. Several replays can read it concurrently.
pub trait Schedule: std::marker::Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// All locations, sorted by rank and thread.
    fn locations(&self) -> Result<Vec<LocationId>, Error>;

    /// The schedule with its calls in the order that these costs lead to; `None` if their order is fixed, as in everything recorded.
    fn reordered(&self, costs: &ReplayCosts) -> Result<Option<Box<dyn Schedule + '_>>, Error> {
        let _ = costs;
        Ok(None)
    }

    /// Whether the locations of a rank send through one network port instead of one each.
    fn shares_ports(&self) -> bool {
        false
    }

    /// Opens a location at its start.
    fn open(&self, location: LocationId) -> Result<Box<dyn CallReader + '_>, Error>;

    /// When a location waited for a core while it was recorded; `None` if it never did, or if that is unknown.
    fn core_waits(&self, location: LocationId) -> Result<Option<LocationCoreWaits>, Error> {
        let _ = location;
        Ok(None)
    }

    /// World ranks of the members of a communicator, in order; empty if unknown. For an intercommunicator, both groups.
    fn members(&self, communicator: u32) -> Vec<u32>;

    /// Whether a communicator is an intercommunicator.
    fn is_intercommunicator(&self, communicator: u32) -> bool {
        let _ = communicator;
        false
    }

    /// The communicator of a window or file.
    fn object_communicator(&self, object: u32) -> Option<u32> {
        let _ = object;
        None
    }

    /// Sources and destinations of a rank in neighbourhood collectives.
    fn neighbours(&self, communicator: u32, rank: u32) -> NeighbourRanks {
        let _ = (communicator, rank);
        NeighbourRanks::default()
    }

    /// Which ranks made members of collectives wait, beyond what MPI requires; `None` if that is unknown.
    fn collective_dependencies(&self) -> Result<Option<Arc<CollectiveDependencies>>, Error> {
        Ok(None)
    }

    /// Number of call sites.
    fn site_count(&self) -> u32;

    /// Call site as text: `lu.f:310`.
    fn site_name(&self, site: u32) -> String;
}

/// Neighbours of a rank in a topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeighbourRanks {
    /// Ranks it receives from.
    pub sources: Vec<u32>,
    /// Ranks it sends to.
    pub destinations: Vec<u32>,
}

/// Sequential reader of a location.
pub trait CallReader {
    /// Reads the next calls into `chunk`. The actions are only replaced if they differ from the previous ones; `chunk` may hold calls of
    /// another location.
    fn read_chunk(&mut self, chunk: &mut CallChunk) -> Result<ChunkStatus, Error>;

    /// The match of the next receive whose [`ReceiveAction::from`] is `None`, in posting order.
    fn next_wildcard_match(&mut self) -> Result<WildcardMatch, Error> {
        Ok(WildcardMatch::Never)
    }
}

/// Result of reading a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkStatus {
    /// Calls with the same actions as before.
    SameActions,
    /// Calls and new actions.
    NewActions,
    /// End of the location.
    End,
}

/// Consecutive calls of a location.
#[derive(Clone, Debug, Default)]
pub struct CallChunk {
    /// Distinct actions; calls refer to them by index.
    pub actions: Vec<DescribedAction>,
    /// The calls.
    pub calls: Vec<ScheduledCall>,
    /// Enter time of the first call in nanoseconds since the start of the recording.
    pub enter_ns: i64,
    /// Number of the first request created in this chunk; `None` if it follows the previous chunk.
    pub first_request: Option<u64>,
}

/// An action and its call.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedAction {
    /// The action.
    pub action: ReplayAction,
    /// The call as recorded.
    pub call: CallDescriptor,
}

/// A call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScheduledCall {
    /// Computation since the previous call, or since the start, in nanoseconds.
    pub compute_ns: i64,
    /// Additional time for which the location waited for a core since the previous call, in nanoseconds.
    pub core_wait_ns: i64,
    /// Additional time spent polling, in nanoseconds.
    pub idle_ns: u32,
    /// Recorded duration in nanoseconds; 0 if unknown.
    pub duration_ns: i64,
    /// Index in [`CallChunk::actions`].
    pub action: u32,
}
