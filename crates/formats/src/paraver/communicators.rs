//! The communicators of a trace: each application numbers its own, and messages belong to none.

use std::collections::HashMap;
use std::sync::Arc;

use sintonia_recording::definitions::write_ranks;
use sintonia_recording::header;

/// The most members that communicators between two groups have together. A short line defines one, however long its groups are; what goes
/// beyond this is damaged.
const MOST_BETWEEN: usize = 1 << 24;

/// The communicators that the recording will have. The first holds all processes: messages are counted to it.
pub struct Communicators {
    list: Vec<Communicator>,
    /// The place of the world of each application.
    worlds: Vec<u32>,
    /// The place of each communicator, by application and number there.
    known: HashMap<(usize, u64), u32>,
    /// The place of each communicator between two groups, by application and the leaders of the two.
    between: HashMap<(usize, u64, u64), u32>,
    /// How many members communicators between two groups may still have.
    room: usize,
}

struct Communicator {
    made_by: &'static str,
    members: Arc<[i32]>,
    remote: Option<Arc<[i32]>>,
}

impl Communicators {
    /// Those that every trace has, given the number of tasks of each application.
    pub fn new(tasks: impl Iterator<Item = usize>) -> Communicators {
        let mut first = 0;
        let worlds: Vec<Arc<[i32]>> = tasks
            .map(|tasks| {
                let world = (first..first + tasks as i32).collect();
                first += tasks as i32;
                world
            })
            .collect();
        let (known, between) = (HashMap::new(), HashMap::new());
        let mut communicators = Communicators { list: Vec::new(), worlds: Vec::new(), known, between, room: MOST_BETWEEN };
        let all = communicators.push("MPI_COMM_WORLD", (0..first).collect(), None);
        communicators.worlds = match worlds.len() {
            1 => vec![all],
            _ => worlds.into_iter().map(|world| communicators.push("MPI_COMM_WORLD", world, None)).collect(),
        };
        communicators
    }

    /// Adds one that the trace defines.
    pub fn define(&mut self, application: usize, id: u64, members: Vec<i32>) {
        let world = self.worlds[application];
        let place = match members.len() {
            _ if members == *self.list[world as usize].members && !self.known.values().any(|place| *place == world) => world,
            1 => self.push("MPI_COMM_SELF", members.into(), None),
            _ => self.push("", members.into(), None),
        };
        self.known.insert((application, id), place);
    }

    /// Adds one between two groups, each a communicator and the task that leads it.
    ///
    /// Extrae writes it twice, once as each side sees it, and then the other side's communicator is one that holds both.
    pub fn define_between(&mut self, application: usize, id: u64, sides: [(u64, u64); 2]) {
        let [Some(members), Some(remote)] = sides.map(|(group, _)| self.known.get(&(application, group)).copied()) else { return };
        let [members, remote] = [members, remote].map(|group| self.list[group as usize].members.clone());
        let Some(room) = self.room.checked_sub(members.len() + remote.len()) else { return };
        self.room = room;
        let [leader, other] = sides.map(|(_, leader)| leader);
        let place = match self.between.get(&(application, other, leader)).copied() {
            Some(place) => {
                self.list[place as usize].remote = Some(members);
                place
            }
            None => self.push("", members, Some(remote)),
        };
        self.between.insert((application, leader, other), place);
        self.known.insert((application, id), place);
    }

    /// The place of a communicator; that of the application's world if the trace does not say which.
    pub fn place(&self, application: usize, id: Option<u64>) -> u32 {
        id.and_then(|id| self.known.get(&(application, id))).copied().unwrap_or(self.worlds[application])
    }

    /// How many processes each member exchanges data with, itself included; and whether they are those of another group.
    pub fn peers(&self, place: u32) -> (usize, bool) {
        let communicator = &self.list[place as usize];
        communicator.remote.as_ref().map_or((communicator.members.len(), false), |remote| (remote.len(), true))
    }

    /// As they stand in the header of a recording.
    pub fn header(&self) -> Vec<header::Communicator> {
        let header = |communicator: &Communicator| header::Communicator {
            made_by: communicator.made_by.into(),
            members: write_ranks(&communicator.members),
            remote: communicator.remote.as_deref().map(write_ranks),
            ..header::Communicator::default()
        };
        self.list.iter().map(header).collect()
    }

    fn push(&mut self, made_by: &'static str, members: Arc<[i32]>, remote: Option<Arc<[i32]>>) -> u32 {
        self.list.push(Communicator { made_by, members, remote });
        self.list.len() as u32 - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_communicator_of_all_tasks_is_the_world() {
        let mut communicators = Communicators::new([4].into_iter());
        communicators.define(0, 1, vec![0, 1, 2, 3]);
        communicators.define(0, 2, vec![0, 1, 2, 3]);
        communicators.define(0, 3, vec![2]);
        communicators.define_between(0, 4, [(3, 3), (2, 1)]);
        communicators.define_between(0, 5, [(3, 3), (99, 1)]);
        let place = |id| communicators.place(0, Some(id));
        assert_eq!([place(1), place(2), place(3), place(4), place(99)], [0, 1, 2, 3, 0]);
        assert_eq!((communicators.peers(0), communicators.peers(3)), ((4, false), (4, true)));
        let made_by: Vec<String> = communicators.header().into_iter().map(|c| c.made_by).collect();
        assert_eq!(made_by, ["MPI_COMM_WORLD", "", "MPI_COMM_SELF", ""]);
    }

    #[test]
    fn the_two_sides_of_a_communicator_between_groups_are_one() {
        let mut communicators = Communicators::new([4].into_iter());
        for (id, members) in [(1, vec![0, 1, 2, 3]), (4, vec![0, 1]), (6, vec![2, 3])] {
            communicators.define(0, id, members);
        }
        communicators.define_between(0, 8, [(4, 1), (1, 3)]);
        communicators.define_between(0, 9, [(6, 3), (1, 1)]);
        assert_eq!((communicators.place(0, Some(8)), communicators.place(0, Some(9))), (3, 3));
        let header = communicators.header();
        assert_eq!((header[3].members.as_str(), header[3].remote.as_deref()), ("0-1", Some("2-3")));
    }

    #[test]
    fn short_lines_cannot_make_a_long_header() {
        let tasks = 1 << 16;
        let mut communicators = Communicators::new([tasks].into_iter());
        communicators.define(0, 1, (0..tasks as i32).collect());
        communicators.define(0, 2, (0..tasks as i32).rev().collect());
        (0..2000).for_each(|number| communicators.define_between(0, 10 + number, [(1, number), (2, number)]));
        let listed =
            communicators.list.iter().filter_map(|communicator| Some(communicator.members.len() + communicator.remote.as_ref()?.len()));
        assert_eq!(listed.sum::<usize>(), MOST_BETWEEN);
    }

    #[test]
    fn each_of_several_applications_has_its_own_world() {
        let mut communicators = Communicators::new([2, 3].into_iter());
        communicators.define(1, 1, vec![2, 3, 4]);
        let members: Vec<String> = communicators.header().into_iter().map(|c| c.members).collect();
        assert_eq!(members, ["0-4", "0-1", "2-4"]);
        assert_eq!([communicators.place(0, None), communicators.place(1, Some(1))], [1, 2]);
    }
}
