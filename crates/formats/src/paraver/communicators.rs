//! The communicators of a trace: each application numbers its own, and messages have none.

use std::collections::HashMap;
use std::sync::Arc;

use sintonia_recording::definitions::format_ranks;
use sintonia_recording::header;

/// Limit of all members of intercommunicators together. A short line can define one with long groups; more than this is corruption.
const MAX_INTERCOMM_MEMBERS: usize = 1 << 24;

/// The communicators of the recording. The first one has all processes and is used for messages.
pub(super) struct CommunicatorTable {
    list: Vec<TraceCommunicator>,
    /// Index of each application's world.
    worlds: Vec<u32>,
    /// Index of each communicator, by application and id.
    by_id: HashMap<(usize, u64), u32>,
    /// Index of each intercommunicator, by application and the leaders of its groups.
    intercommunicators: HashMap<(usize, u64, u64), u32>,
    /// Remaining limit of intercommunicator members.
    member_budget: usize,
}

struct TraceCommunicator {
    made_by: &'static str,
    members: Arc<[i32]>,
    remote: Option<Arc<[i32]>>,
}

impl CommunicatorTable {
    /// The predefined communicators, given the number of tasks of each application.
    pub(super) fn new(tasks: impl Iterator<Item = usize>) -> CommunicatorTable {
        let mut first = 0;
        let worlds: Vec<Arc<[i32]>> = tasks
            .map(|tasks| {
                let world = (first..first + tasks as i32).collect();
                first += tasks as i32;
                world
            })
            .collect();
        let (by_id, intercommunicators) = (HashMap::new(), HashMap::new());
        let mut communicators =
            CommunicatorTable { list: Vec::new(), worlds: Vec::new(), by_id, intercommunicators, member_budget: MAX_INTERCOMM_MEMBERS };
        let all = communicators.push("MPI_COMM_WORLD", (0..first).collect(), None);
        communicators.worlds = match worlds.len() {
            1 => vec![all],
            _ => worlds.into_iter().map(|world| communicators.push("MPI_COMM_WORLD", world, None)).collect(),
        };
        communicators
    }

    /// Adds a communicator defined by the trace.
    pub(super) fn define(&mut self, application: usize, id: u64, members: Vec<i32>) {
        let world = self.worlds[application];
        let index = match members.len() {
            _ if members == *self.list[world as usize].members && !self.by_id.values().any(|index| *index == world) => world,
            1 => self.push("MPI_COMM_SELF", members.into(), None),
            _ => self.push("", members.into(), None),
        };
        self.by_id.insert((application, id), index);
    }

    /// Adds an intercommunicator between two groups, each given by a communicator and its leader.
    ///
    /// Extrae writes it twice, once from each side; the communicator of the remote side then has the members of both.
    pub(super) fn define_intercommunicator(&mut self, application: usize, id: u64, sides: [(u64, u64); 2]) {
        let [Some(members), Some(remote)] = sides.map(|(group, _)| self.by_id.get(&(application, group)).copied()) else { return };
        let [members, remote] = [members, remote].map(|group| self.list[group as usize].members.clone());
        let Some(room) = self.member_budget.checked_sub(members.len() + remote.len()) else { return };
        self.member_budget = room;
        let [leader, other] = sides.map(|(_, leader)| leader);
        let index = match self.intercommunicators.get(&(application, other, leader)).copied() {
            Some(index) => {
                self.list[index as usize].remote = Some(members);
                index
            }
            None => self.push("", members, Some(remote)),
        };
        self.intercommunicators.insert((application, leader, other), index);
        self.by_id.insert((application, id), index);
    }

    /// The index of a communicator; the application's world if unknown.
    pub(super) fn index_of(&self, application: usize, id: Option<u64>) -> u32 {
        id.and_then(|id| self.by_id.get(&(application, id))).copied().unwrap_or(self.worlds[application])
    }

    /// Number of processes that each member exchanges data with, itself included; and whether they are in a remote group.
    pub(super) fn peer_count(&self, index: u32) -> (usize, bool) {
        let communicator = &self.list[index as usize];
        communicator.remote.as_ref().map_or((communicator.members.len(), false), |remote| (remote.len(), true))
    }

    /// The communicators for the recording's header.
    pub(super) fn to_header(&self) -> Vec<header::CommunicatorDefinition> {
        let header = |communicator: &TraceCommunicator| header::CommunicatorDefinition {
            made_by: communicator.made_by.into(),
            members: format_ranks(&communicator.members),
            remote: communicator.remote.as_deref().map(format_ranks),
            ..header::CommunicatorDefinition::default()
        };
        self.list.iter().map(header).collect()
    }

    fn push(&mut self, made_by: &'static str, members: Arc<[i32]>, remote: Option<Arc<[i32]>>) -> u32 {
        self.list.push(TraceCommunicator { made_by, members, remote });
        self.list.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_communicator_of_all_tasks_is_the_world() {
        let mut communicators = CommunicatorTable::new([4].into_iter());
        communicators.define(0, 1, vec![0, 1, 2, 3]);
        communicators.define(0, 2, vec![0, 1, 2, 3]);
        communicators.define(0, 3, vec![2]);
        communicators.define_intercommunicator(0, 4, [(3, 3), (2, 1)]);
        communicators.define_intercommunicator(0, 5, [(3, 3), (99, 1)]);
        let index = |id| communicators.index_of(0, Some(id));
        assert_eq!([index(1), index(2), index(3), index(4), index(99)], [0, 1, 2, 3, 0]);
        assert_eq!((communicators.peer_count(0), communicators.peer_count(3)), ((4, false), (4, true)));
        let made_by: Vec<String> = communicators.to_header().into_iter().map(|c| c.made_by).collect();
        assert_eq!(made_by, ["MPI_COMM_WORLD", "", "MPI_COMM_SELF", ""]);
    }

    #[test]
    fn the_two_sides_of_a_communicator_between_groups_are_one() {
        let mut communicators = CommunicatorTable::new([4].into_iter());
        for (id, members) in [(1, vec![0, 1, 2, 3]), (4, vec![0, 1]), (6, vec![2, 3])] {
            communicators.define(0, id, members);
        }
        communicators.define_intercommunicator(0, 8, [(4, 1), (1, 3)]);
        communicators.define_intercommunicator(0, 9, [(6, 3), (1, 1)]);
        assert_eq!((communicators.index_of(0, Some(8)), communicators.index_of(0, Some(9))), (3, 3));
        let header = communicators.to_header();
        assert_eq!((header[3].members.as_str(), header[3].remote.as_deref()), ("0-1", Some("2-3")));
    }

    #[test]
    fn short_lines_cannot_make_a_long_header() {
        let tasks = 1 << 16;
        let mut communicators = CommunicatorTable::new([tasks].into_iter());
        communicators.define(0, 1, (0..tasks as i32).collect());
        communicators.define(0, 2, (0..tasks as i32).rev().collect());
        (0..2000).for_each(|number| communicators.define_intercommunicator(0, 10 + number, [(1, number), (2, number)]));
        let listed =
            communicators.list.iter().filter_map(|communicator| Some(communicator.members.len() + communicator.remote.as_ref()?.len()));
        assert_eq!(listed.sum::<usize>(), MAX_INTERCOMM_MEMBERS);
    }

    #[test]
    fn each_of_several_applications_has_its_own_world() {
        let mut communicators = CommunicatorTable::new([2, 3].into_iter());
        communicators.define(1, 1, vec![2, 3, 4]);
        let members: Vec<String> = communicators.to_header().into_iter().map(|c| c.members).collect();
        assert_eq!(members, ["0-4", "0-1", "2-4"]);
        assert_eq!([communicators.index_of(0, None), communicators.index_of(1, Some(1))], [1, 2]);
    }
}
