//! Updates the processes exchange during a causal walk: messages sent, collectives entered, and calls entered that other ranks depend on.

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;
use sintonia_recording::comm_event::CollectiveGroup;

use super::{CallId, CollectiveInstance, History};
use crate::process_group::ProcessGroup;

/// Outgoing updates, and messages announced by other processes.
pub(super) struct UpdateExchange {
    /// Whether there is only one process.
    pub is_single: bool,
    /// Send times of remote messages, by rank and thread of the sender and the index among its messages.
    pub received_sends: FxHashMap<(u32, u32, u32), i64>,
    /// Updates for each process.
    pub outgoing: Vec<Vec<ProgressUpdate>>,
    own_index: usize,
    /// The first instance of each group.
    first_instances: FxHashMap<CollectiveGroup, u32>,
}

impl UpdateExchange {
    /// An exchange without updates.
    pub(super) fn new(history: &History, comm: &dyn ProcessGroup) -> UpdateExchange {
        let first = history.collectives.iter().enumerate().rev().map(|(index, instance)| (instance.group, index as u32));
        UpdateExchange {
            is_single: comm.size() == 1,
            received_sends: FxHashMap::default(),
            outgoing: vec![Vec::new(); comm.size()],
            own_index: comm.own_index(),
            first_instances: first.collect(),
        }
    }

    /// Sends an update to the owner of a rank, unless that is this process.
    pub(super) fn send_to_owner(&mut self, history: &History, rank: u32, update: ProgressUpdate) {
        let owner = history.distribution.owner(rank);
        if !history.distribution.own_ranks().contains(&rank) {
            self.outgoing[owner].push(update);
        }
    }

    /// Sends an update to all other processes.
    pub(super) fn broadcast(&mut self, update: ProgressUpdate) {
        let local_call = self.own_index;
        self.outgoing.iter_mut().enumerate().filter(|(process, _)| *process != local_call).for_each(|(_, sent)| sent.push(update));
    }

    /// Index of the collective that an update is about; `None` if no rank of this process participated.
    pub(super) fn instance_index(&self, history: &History, update: &ProgressUpdate) -> Option<u32> {
        let group = CollectiveGroup::from_words([update.call.rank, update.call.thread, update.call.row])?;
        let index = *self.first_instances.get(&group)? as usize + usize::try_from(update.number).ok()?;
        let instance = history.collectives.get(index)?;
        ((instance.group, instance.number) == (group, update.number)).then_some(index as u32)
    }
}

/// An update for another process.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct ProgressUpdate {
    /// [`ProgressUpdate::SENT`], [`ProgressUpdate::ARRIVED`] at a collective, or [`ProgressUpdate::ENTERED`] a call that another rank
    /// depends on.
    pub kind: u32,
    /// The call; for a collective, the words of its group.
    pub call: CallId,
    /// Index among the messages of the location; for a collective, the rank in the communicator.
    pub index: u32,
    pub is_root: u32,
    /// Number of the collective.
    pub number: u64,
    pub value: i64,
}

impl ProgressUpdate {
    pub(super) const SENT: u32 = 0;
    pub(super) const ARRIVED: u32 = 1;
    pub(super) const ENTERED: u32 = 2;

    /// A message was sent.
    pub(super) fn sent(call: CallId, index: u32, value: i64) -> ProgressUpdate {
        ProgressUpdate { kind: ProgressUpdate::SENT, call, index, value, ..ProgressUpdate::zeroed() }
    }

    /// A call was entered.
    pub(super) fn entered(call: CallId, value: i64) -> ProgressUpdate {
        ProgressUpdate { kind: ProgressUpdate::ENTERED, call, value, ..ProgressUpdate::zeroed() }
    }

    /// A rank arrived at a collective.
    pub(super) fn arrived(instance: &CollectiveInstance, index: u32, is_root: bool, value: i64) -> ProgressUpdate {
        let [rank, thread, row] = instance.group.to_words();
        ProgressUpdate {
            kind: ProgressUpdate::ARRIVED,
            call: CallId { rank, thread, row },
            index,
            is_root: is_root.into(),
            number: instance.number,
            value,
        }
    }
}
