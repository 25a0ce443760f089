//! Communicators, windows and files: a small number for each, and who their members are.
//!
//! Nothing is sent to find out which communicators of different processes are one: a communicator is made by all members of its parent
//! together, so parent, position in the order of making and members say it. Those are local knowledge.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use sintonia_mpi::Operation;
use sintonia_recording::definitions::{Definition, LocalCommunicator, LocalGroup, LocalNeighbours, LocalObject, write_ranks};
use sintonia_recording::raw::{NO_OBJECT, OUTSIDE, PROC_NULL};

use crate::library::{Handle, Library, Neighbors};
use crate::process;

/// What a call needs to know of its communicator.
#[derive(Clone, Copy, Debug)]
pub struct Communicator {
    handle: Handle,
    /// Its number in this process.
    pub id: u32,
    /// The rank of this process in it.
    pub rank: i32,
    /// The size of its group (of the local one, where it joins two).
    pub size: i32,
    /// How many processes the operations on it reach: its size, or that of the other group of an intercommunicator.
    pub peers: i32,
    /// Whether it joins two groups.
    pub between: bool,
    /// Neighbours that send to this process in its topology.
    pub sources: Side,
    /// Neighbours that this process sends to.
    pub destinations: Side,
}

const UNKNOWN: Communicator =
    Communicator { handle: 0, id: NO_OBJECT, rank: 0, size: 0, peers: 0, between: false, sources: Side::NONE, destinations: Side::NONE };

/// The neighbours of a process on one side. Where a grid ends there is nobody, but calls have a place for each.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    places: usize,
    /// Bits for the places where nobody is: a grid, and nothing else has such places, has few.
    nobody: u64,
}

impl Side {
    const NONE: Side = Side { places: 0, nobody: 0 };

    fn new(neighbors: &[i32], proc_null: i32) -> Side {
        let empty = neighbors.iter().take(u64::BITS as usize).enumerate().filter(|(_, neighbor)| **neighbor == proc_null);
        Side { places: neighbors.len(), nobody: empty.fold(0, |nobody, (place, _)| nobody | 1 << place) }
    }

    /// The places where there is a neighbour.
    pub fn there(self) -> impl Iterator<Item = usize> {
        (0..self.places).filter(move |place| *place >= u64::BITS as usize || self.nobody >> place & 1 == 0)
    }
}

/// Counts freed communicators: a freed handle can come back as another communicator.
static FREED: AtomicU32 = AtomicU32::new(0);

const PLACES: usize = 16;

/// Communicators that a thread used lately.
pub struct CommunicatorCache {
    freed: u32,
    places: [Communicator; PLACES],
}

impl Default for CommunicatorCache {
    fn default() -> Self {
        Self { freed: 0, places: [UNKNOWN; PLACES] }
    }
}

impl CommunicatorCache {
    #[inline(always)]
    fn place(handle: Handle) -> usize {
        (handle ^ handle >> 4 ^ handle >> 8) % PLACES
    }

    /// The communicator with this handle, if this thread has used it since the last one was freed.
    #[inline(always)]
    pub fn known(&mut self, handle: Handle) -> Option<Communicator> {
        let freed = FREED.load(Ordering::Acquire);
        if freed != self.freed {
            *self = Self { freed, ..Self::default() };
        }
        let known = self.places[Self::place(handle)];
        (known.handle == handle && handle != 0).then_some(known)
    }

    /// The communicator with this handle. Only for handles that MPI has just accepted.
    #[inline(always)]
    pub fn get(&mut self, library: &Library, handle: Handle) -> Option<Communicator> {
        if let Some(known) = self.known(handle) {
            return Some(known);
        }
        let communicator = lock().get(library, handle)?;
        self.places[Self::place(handle)] = communicator;
        Some(communicator)
    }
}

/// How a communicator came to be.
#[derive(Clone, Copy)]
struct Origin {
    parent: Option<u32>,
    made_by: Operation,
    sequence: u32,
}

#[derive(Default)]
struct Registry {
    next: u32,
    communicators: HashMap<Handle, Communicator>,
    /// Communicators that are being made by nonblocking calls: they may not be asked for their members yet.
    promised: HashMap<Handle, Origin>,
    /// How many communicators were made from each.
    children: HashMap<u32, u32>,
    windows: HashMap<Handle, u32>,
    files: HashMap<Handle, u32>,
    messages: HashMap<Handle, u32>,
    /// Groups that calls named, by their members.
    groups: HashMap<Vec<i32>, u32>,
    /// The group to whose ranks members are translated.
    world_group: Option<Handle>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

struct Locked(MutexGuard<'static, Option<Registry>>);

impl std::ops::Deref for Locked {
    type Target = Registry;
    fn deref(&self) -> &Registry {
        self.0.as_ref().expect("made by lock()")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Registry {
        self.0.as_mut().expect("made by lock()")
    }
}

fn lock() -> Locked {
    let mut guard = REGISTRY.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    guard.get_or_insert_default();
    Locked(guard)
}

/// Numbers the communicators that exist from the start: 0 is the world, 1 is the process alone.
pub fn begin(library: &Library) {
    let mut registry = lock();
    registry.world_group = library.group(library.world, false);
    registry.define(library, library.world, "MPI_COMM_WORLD", None, 0);
    registry.define(library, library.own, "MPI_COMM_SELF", None, 0);
}

/// Begins without `MPI_COMM_WORLD`: the program uses sessions.
pub fn begin_with_session(library: &Library, session: Handle) {
    let mut registry = lock();
    if registry.world_group.is_none() {
        registry.world_group = library.session_group(session);
        registry.next = registry.next.max(2);
    }
}

/// The size of the world and the rank of this process in it, as its group says.
pub fn world_from_group(library: &Library) -> Option<(i32, i32)> {
    let group = lock().world_group?;
    library.place_in_group(group)
}

/// A call has made a communicator: gives its number.
pub fn made(library: &Library, handle: Handle, parent: Option<u32>, made_by: Operation) -> u32 {
    let mut registry = lock();
    let sequence = registry.next_child(parent);
    if handle == library.null_communicator || handle == 0 {
        return NO_OBJECT;
    }
    registry.define(library, handle, made_by.name(), parent, sequence).map_or(NO_OBJECT, |c| c.id)
}

/// A nonblocking call will have made a communicator when its request completes.
pub fn promised(handle: Handle, parent: Option<u32>, made_by: Operation) {
    let mut registry = lock();
    let sequence = registry.next_child(parent);
    registry.promised.insert(handle, Origin { parent, made_by, sequence });
}

/// The number of a communicator that is about to be freed, if any call has used it.
pub fn number(handle: Handle) -> u32 {
    lock().communicators.get(&handle).map_or(NO_OBJECT, |communicator| communicator.id)
}

/// A communicator has been freed: forgets it, unless another thread has got the same handle for another one since.
pub fn freed(handle: Handle, id: u32) {
    let mut registry = lock();
    if registry.communicators.get(&handle).is_some_and(|communicator| communicator.id == id) {
        registry.communicators.remove(&handle);
        FREED.fetch_add(1, Ordering::Release);
    }
}

/// A matched probe took a message: remembers on which communicator.
pub fn message_taken(message: Handle, communicator: u32) {
    lock().messages.insert(message, communicator);
}

/// A taken message is about to be received: gives the number of its communicator, and forgets it.
pub fn message_received(message: Handle) -> u32 {
    lock().messages.remove(&message).unwrap_or(NO_OBJECT)
}

/// A window or a file was made on a communicator: gives its number.
pub fn object_made(kind: &'static str, handle: Handle, communicator: Option<u32>) -> u32 {
    let mut registry = lock();
    let id = registry.next_id();
    registry.objects(kind).insert(handle, id);
    process::define(&Definition::Object(LocalObject { id, kind: kind.into(), communicator }));
    id
}

/// The number of a window or a file.
pub fn object(kind: &'static str, handle: Handle) -> u32 {
    lock().objects(kind).get(&handle).copied().unwrap_or(NO_OBJECT)
}

/// A window or a file has been freed: forgets it, unless another thread has got the same handle for another one since.
pub fn object_freed(kind: &'static str, handle: Handle, id: u32) {
    let mut registry = lock();
    let objects = registry.objects(kind);
    if objects.get(&handle) == Some(&id) {
        objects.remove(&handle);
    }
}

/// The number of a group that MPI has just accepted. A program may free a group and get its handle for another, so the members say which
/// one it is.
pub fn group(library: &Library, handle: Handle) -> Option<u32> {
    let mut registry = lock();
    let members = registry.in_world(library, handle)?;
    Some(registry.group(members))
}

impl Registry {
    fn group(&mut self, members: Vec<i32>) -> u32 {
        if let Some(known) = self.groups.get(&members) {
            return *known;
        }
        let id = self.groups.len() as u32;
        process::define(&Definition::Group(LocalGroup { id, members: write_ranks(&members) }));
        self.groups.insert(members, id);
        id
    }

    fn objects(&mut self, kind: &str) -> &mut HashMap<Handle, u32> {
        if kind == "window" { &mut self.windows } else { &mut self.files }
    }

    fn next_id(&mut self) -> u32 {
        let id = self.next;
        self.next += 1;
        id
    }

    fn next_child(&mut self, parent: Option<u32>) -> u32 {
        let Some(parent) = parent else { return 0 };
        let children = self.children.entry(parent).or_insert(0);
        *children += 1;
        *children - 1
    }

    fn get(&mut self, library: &Library, handle: Handle) -> Option<Communicator> {
        if let Some(known) = self.communicators.get(&handle) {
            return Some(*known);
        }
        match self.promised.remove(&handle) {
            Some(origin) => self.define(library, handle, origin.made_by.name(), origin.parent, origin.sequence),
            // Made where the probe could not see it, such as the parent of spawned processes.
            None => self.define(library, handle, "unseen", None, 0),
        }
    }

    fn define(&mut self, library: &Library, handle: Handle, made_by: &str, parent: Option<u32>, sequence: u32) -> Option<Communicator> {
        let rank = library.rank(handle)?;
        let size = library.size(handle)?;
        let remote_size = library.remote_size(handle);
        let members = self.world_ranks(library, handle, false);
        let remote = remote_size.map(|_| write_ranks(&self.world_ranks(library, handle, true)));
        let id = self.next_id();
        let between = remote_size.is_some();
        let neighbors = if between { None } else { library.neighbors(handle, rank) };
        let side =
            |pick: fn(&Neighbors) -> &Vec<i32>| neighbors.as_ref().map_or(Side::NONE, |n| Side::new(pick(n), library.layout.proc_null));
        let (sources, destinations) = (side(|n| &n.sources), side(|n| &n.destinations));
        let communicator = Communicator { handle, id, rank, size, peers: remote_size.unwrap_or(size), between, sources, destinations };
        if self.communicators.insert(handle, communicator).is_some() {
            // The handle was that of another one, which a thread is just about to forget.
            FREED.fetch_add(1, Ordering::Release);
        }
        process::define(&Definition::Communicator(LocalCommunicator {
            id,
            parent,
            made_by: made_by.into(),
            sequence,
            members: write_ranks(&members),
            remote,
            neighbours: neighbors.map(|neighbors| in_the_world(library, &neighbors, &members)),
        }));
        Some(communicator)
    }

    fn world_ranks(&self, library: &Library, handle: Handle, remote: bool) -> Vec<i32> {
        let ranks = library.group(handle, remote).and_then(|group| {
            let ranks = self.in_world(library, group);
            library.free_group(group);
            ranks
        });
        ranks.unwrap_or_default()
    }

    /// The members of a group as ranks of the world.
    fn in_world(&self, library: &Library, group: Handle) -> Option<Vec<i32>> {
        let mut ranks = library.translate(group, self.world_group?)?;
        ranks.iter_mut().filter(|rank| **rank == library.layout.undefined).for_each(|rank| *rank = OUTSIDE);
        Some(ranks)
    }
}

/// Neighbours as ranks of the world, from their ranks in a communicator with these members.
fn in_the_world(library: &Library, neighbors: &Neighbors, members: &[i32]) -> LocalNeighbours {
    let rank = |neighbor: &i32| match usize::try_from(*neighbor) {
        Ok(place) => members.get(place).copied().unwrap_or(OUTSIDE),
        Err(_) if *neighbor == library.layout.proc_null => PROC_NULL,
        Err(_) => OUTSIDE,
    };
    let ranks = |neighbors: &[i32]| write_ranks(&neighbors.iter().map(rank).collect::<Vec<_>>());
    LocalNeighbours { sources: ranks(&neighbors.sources), destinations: ranks(&neighbors.destinations) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_that_is_used_again_while_its_first_owner_is_forgotten_stays_known() {
        let first = object_made("window", 70, None);
        let second = object_made("window", 70, None);
        object_freed("window", 70, first);
        assert_eq!(object("window", 70), second);
        object_freed("window", 70, second);
        assert_eq!(object("window", 70), NO_OBJECT);
    }

    #[test]
    fn nobody_is_where_a_grid_ends() {
        const PROC_NULL: i32 = -2;
        assert_eq!(Side::new(&[PROC_NULL, 4, 0, PROC_NULL], PROC_NULL).there().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(Side::new(&[3; 100], PROC_NULL).there().count(), 100);
    }
}
