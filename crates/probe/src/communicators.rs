//! Communicators, windows and files: local ids and members.
//!
//! No messages are needed to identify communicators across processes: a communicator is created by all members of its parent together, so
//! parent, creation order and members identify it. All of that is local knowledge.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use sintonia_mpi::FunctionId;
use sintonia_recording::definitions::{DefinitionRecord, LocalCommunicator, LocalGroup, LocalNeighbours, LocalObject, format_ranks};
use sintonia_recording::raw::{EXTERNAL, NO_OBJECT, PROC_NULL};

use crate::breakable_lock::BreakableLock;
use crate::clock;
use crate::library::{CommNeighbors, Handle, ProgramMpi};
use crate::process;

/// Properties of a communicator needed to record a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownCommunicator {
    handle: Handle,
    /// Its id in this process.
    pub id: u32,
    /// The rank of this process in it.
    pub rank: i32,
    /// Size of its (local) group.
    pub size: i32,
    /// Number of peers of its operations: its size, or that of the remote group of an intercommunicator.
    pub peers: i32,
    /// Whether it is an intercommunicator.
    pub is_inter: bool,
    /// Neighbours in its topology that send to this process.
    pub sources: NeighborSlots,
    /// Neighbours that this process sends to.
    pub destinations: NeighborSlots,
}

const UNKNOWN: KnownCommunicator = KnownCommunicator {
    handle: 0,
    id: NO_OBJECT,
    rank: 0,
    size: 0,
    peers: 0,
    is_inter: false,
    sources: NeighborSlots::NONE,
    destinations: NeighborSlots::NONE,
};

/// The neighbours of a process in one direction. At an edge of a grid there is no neighbour, but the arguments still have an element for
/// it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeighborSlots {
    count: usize,
    /// Bit mask of slots without a neighbour; only grids have such slots, and grids have few slots.
    nobody: u64,
}

impl NeighborSlots {
    const NONE: NeighborSlots = NeighborSlots { count: 0, nobody: 0 };

    fn new(neighbors: &[i32], proc_null: i32) -> NeighborSlots {
        let empty = neighbors.iter().take(u64::BITS as usize).enumerate().filter(|(_, neighbor)| **neighbor == proc_null);
        NeighborSlots { count: neighbors.len(), nobody: empty.fold(0, |nobody, (place, _)| nobody | 1 << place) }
    }

    /// Indices of the slots with a neighbour.
    pub(crate) fn occupied(self) -> impl Iterator<Item = usize> {
        (0..self.count).filter(move |place| *place >= u64::BITS as usize || self.nobody >> place & 1 == 0)
    }
}

/// Incremented when a communicator is freed: its handle may be reused.
static FREED: AtomicU32 = AtomicU32::new(0);

const CACHE_SLOTS: usize = 16;

/// Per-thread cache of recently used communicators.
pub(crate) struct CommunicatorCache {
    freed: u32,
    slots: [KnownCommunicator; CACHE_SLOTS],
}

impl Default for CommunicatorCache {
    fn default() -> Self {
        Self { freed: 0, slots: [UNKNOWN; CACHE_SLOTS] }
    }
}

impl CommunicatorCache {
    #[inline(always)]
    fn slot_index(handle: Handle) -> usize {
        (handle ^ handle >> 4 ^ handle >> 8) % CACHE_SLOTS
    }

    /// The communicator with this handle, if this thread has used it since the last free.
    #[inline(always)]
    pub(crate) fn known(&mut self, handle: Handle) -> Option<KnownCommunicator> {
        let freed = FREED.load(Ordering::Acquire);
        if freed != self.freed {
            *self = Self { freed, ..Self::default() };
        }
        let known = self.slots[Self::slot_index(handle)];
        (known.handle == handle && handle != 0).then_some(known)
    }

    /// The communicator with this handle. Only for handles that MPI has just accepted.
    #[inline(always)]
    pub(crate) fn get(&mut self, library: &ProgramMpi, handle: Handle) -> Option<KnownCommunicator> {
        if let Some(known) = self.known(handle) {
            return Some(known);
        }
        let communicator = with_registry(|registry| registry.get(library, handle)).flatten()?;
        self.slots[Self::slot_index(handle)] = communicator;
        Some(communicator)
    }
}

/// How a communicator was created.
#[derive(Clone, Copy)]
struct CommunicatorOrigin {
    parent: Option<u32>,
    created_by: FunctionId,
    sequence: u32,
}

#[derive(Default)]
struct HandleRegistry {
    next: u32,
    communicators: HashMap<Handle, KnownCommunicator>,
    /// Communicators being created by nonblocking calls: their members may not be queried yet.
    pending: HashMap<Handle, CommunicatorOrigin>,
    /// Number of communicators created from each.
    children: HashMap<u32, u32>,
    windows: HashMap<Handle, u32>,
    files: HashMap<Handle, u32>,
    messages: HashMap<Handle, u32>,
    /// Groups named by calls, by their members.
    groups: HashMap<Vec<i32>, u32>,
    /// The group of world ranks, to which members are translated.
    world_group: Option<Handle>,
    /// Definitions that are not written yet.
    definitions: Vec<DefinitionRecord>,
}

static REGISTRY: BreakableLock<Option<HandleRegistry>> = BreakableLock::new(None);

/// Calls a function with the registry, and writes what it has defined. `None` if the registry is locked for ever.
fn with_registry<R>(action: impl FnOnce(&mut HandleRegistry) -> R) -> Option<R> {
    let mut locked = REGISTRY.lock()?;
    let registry = locked.get_or_insert_default();
    let result = action(registry);
    let definitions = std::mem::take(&mut registry.definitions);
    // Writing takes long, and a signal handler may jump out of it: the lock would never be released.
    drop(locked);
    definitions.iter().for_each(process::define);
    Some(result)
}

/// Registers the predefined communicators: 0 is the world, 1 is `MPI_COMM_SELF`.
pub(crate) fn register_predefined(library: &ProgramMpi) {
    with_registry(|registry| {
        if registry.world_group.is_none() {
            registry.world_group = library.group(library.comm_world, false);
        }
        registry.define(library, library.comm_world, "MPI_COMM_WORLD", None, 0);
        registry.define(library, library.comm_self, "MPI_COMM_SELF", None, 0);
    });
}

/// Forgets all handles: the program may have freed and created others while its calls were not observed.
pub(crate) fn forget_handles() {
    with_registry(|registry| *registry = HandleRegistry { world_group: registry.world_group, ..HandleRegistry::default() });
    FREED.fetch_add(1, Ordering::Release);
}

/// Starts without `MPI_COMM_WORLD`: the program uses sessions.
pub(crate) fn register_session(library: &ProgramMpi, session: Handle) {
    with_registry(|registry| {
        if registry.world_group.is_none() {
            registry.world_group = library.session_group(session);
            registry.next = registry.next.max(2);
        }
    });
}

/// Size of the world and rank of this process, from its group.
pub(crate) fn world_from_group(library: &ProgramMpi) -> Option<(i32, i32)> {
    let group = with_registry(|registry| registry.world_group)??;
    library.group_size_and_rank(group)
}

/// A call has created a communicator: returns its id.
pub(crate) fn created(library: &ProgramMpi, handle: Handle, parent: Option<u32>, made_by: FunctionId) -> u32 {
    let id = with_registry(|registry| {
        let sequence = registry.next_child(parent);
        if handle == library.comm_null || handle == 0 {
            return None;
        }
        registry.define(library, handle, made_by.name(), parent, sequence).map(|communicator| communicator.id)
    });
    id.flatten().unwrap_or(NO_OBJECT)
}

/// A nonblocking call will have created a communicator when its request completes.
pub(crate) fn creation_started(handle: Handle, parent: Option<u32>, made_by: FunctionId) {
    with_registry(|registry| {
        let sequence = registry.next_child(parent);
        registry.pending.insert(handle, CommunicatorOrigin { parent, created_by: made_by, sequence });
    });
}

/// The id of a communicator that is about to be freed, if any call has used it.
pub(crate) fn communicator_id(handle: Handle) -> u32 {
    with_registry(|registry| registry.communicators.get(&handle).map(|known| known.id)).flatten().unwrap_or(NO_OBJECT)
}

/// A communicator has been freed: removes it, unless another thread already got the same handle for a new one.
pub(crate) fn communicator_freed(handle: Handle, id: u32) {
    with_registry(|registry| {
        if registry.communicators.get(&handle).is_some_and(|communicator| communicator.id == id) {
            registry.communicators.remove(&handle);
            FREED.fetch_add(1, Ordering::Release);
        }
    });
}

/// A matched probe has returned a message: stores its communicator.
pub(crate) fn message_taken(message: Handle, communicator: u32) {
    with_registry(|registry| registry.messages.insert(message, communicator));
}

/// A matched message is about to be received: returns the id of its communicator and removes it.
pub(crate) fn message_received(message: Handle) -> u32 {
    with_registry(|registry| registry.messages.remove(&message)).flatten().unwrap_or(NO_OBJECT)
}

/// A window or file was created on a communicator: returns its id.
pub(crate) fn object_created(kind: &'static str, handle: Handle, communicator: Option<u32>, path: Option<String>) -> u32 {
    let id = with_registry(|registry| {
        let id = registry.next_id();
        registry.objects(kind).insert(handle, id);
        registry.definitions.push(DefinitionRecord::Object(LocalObject { id, kind: kind.into(), communicator, path }));
        id
    });
    id.unwrap_or(NO_OBJECT)
}

/// The id of a window or file.
pub(crate) fn object(kind: &'static str, handle: Handle) -> u32 {
    with_registry(|registry| registry.objects(kind).get(&handle).copied()).flatten().unwrap_or(NO_OBJECT)
}

/// A window or file has been freed: removes it, unless another thread already got the same handle for a new one.
pub(crate) fn object_freed(kind: &'static str, handle: Handle, id: u32) {
    with_registry(|registry| {
        let objects = registry.objects(kind);
        if objects.get(&handle) == Some(&id) {
            objects.remove(&handle);
        }
    });
}

/// The id of a group that MPI has just accepted. Handles may be reused after a free, so groups are identified by their members.
pub(crate) fn group(library: &ProgramMpi, handle: Handle) -> Option<u32> {
    with_registry(|registry| {
        let members = registry.to_world_ranks(library, handle)?;
        Some(registry.group(members))
    })?
}

impl HandleRegistry {
    fn group(&mut self, members: Vec<i32>) -> u32 {
        if let Some(known) = self.groups.get(&members) {
            return *known;
        }
        let id = self.groups.len() as u32;
        self.definitions.push(DefinitionRecord::Group(LocalGroup { id, members: format_ranks(&members) }));
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

    fn get(&mut self, library: &ProgramMpi, handle: Handle) -> Option<KnownCommunicator> {
        if let Some(known) = self.communicators.get(&handle) {
            return Some(*known);
        }
        match self.pending.remove(&handle) {
            Some(origin) => self.define(library, handle, origin.created_by.name(), origin.parent, origin.sequence),
            // Created where the probe could not see it, e.g. the parent intercommunicator of spawned processes.
            None => self.define(library, handle, "unseen", None, 0),
        }
    }

    fn define(
        &mut self,
        library: &ProgramMpi,
        handle: Handle,
        made_by: &str,
        parent: Option<u32>,
        sequence: u32,
    ) -> Option<KnownCommunicator> {
        let rank = library.rank(handle)?;
        let size = library.size(handle)?;
        let remote_size = library.remote_size(handle);
        let members = self.world_ranks(library, handle, false);
        let remote = remote_size.map(|_| format_ranks(&self.world_ranks(library, handle, true)));
        let id = self.next_id();
        let between = remote_size.is_some();
        let neighbors = if between { None } else { library.neighbors(handle, rank) };
        let side = |pick: fn(&CommNeighbors) -> &Vec<i32>| {
            neighbors.as_ref().map_or(NeighborSlots::NONE, |n| NeighborSlots::new(pick(n), library.layout.proc_null))
        };
        let (sources, destinations) = (side(|n| &n.sources), side(|n| &n.destinations));
        let communicator =
            KnownCommunicator { handle, id, rank, size, peers: remote_size.unwrap_or(size), is_inter: between, sources, destinations };
        if self.communicators.insert(handle, communicator).is_some() {
            // The handle belonged to another communicator, which a thread is just about to remove.
            FREED.fetch_add(1, Ordering::Release);
        }
        self.definitions.push(DefinitionRecord::Communicator(LocalCommunicator {
            id,
            parent,
            made_by: made_by.into(),
            sequence,
            ticks: clock::ticks(),
            members: format_ranks(&members),
            remote,
            neighbours: neighbors.map(|neighbors| to_local_neighbours(library, &neighbors, &members)),
        }));
        Some(communicator)
    }

    fn world_ranks(&self, library: &ProgramMpi, handle: Handle, remote: bool) -> Vec<i32> {
        let ranks = library.group(handle, remote).and_then(|group| {
            let ranks = self.to_world_ranks(library, group);
            library.free_group(group);
            ranks
        });
        ranks.unwrap_or_default()
    }

    /// The members of a group as world ranks.
    fn to_world_ranks(&self, library: &ProgramMpi, group: Handle) -> Option<Vec<i32>> {
        let mut ranks = library.translate(group, self.world_group?)?;
        ranks.iter_mut().filter(|rank| **rank == library.layout.undefined).for_each(|rank| *rank = EXTERNAL);
        Some(ranks)
    }
}

/// Converts neighbours from ranks of a communicator with these members to world ranks.
fn to_local_neighbours(library: &ProgramMpi, neighbors: &CommNeighbors, members: &[i32]) -> LocalNeighbours {
    let rank = |neighbor: &i32| match usize::try_from(*neighbor) {
        Ok(place) => members.get(place).copied().unwrap_or(EXTERNAL),
        Err(_) if *neighbor == library.layout.proc_null => PROC_NULL,
        Err(_) => EXTERNAL,
    };
    let ranks = |neighbors: &[i32]| format_ranks(&neighbors.iter().map(rank).collect::<Vec<_>>());
    LocalNeighbours { sources: ranks(&neighbors.sources), destinations: ranks(&neighbors.destinations) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_that_is_used_again_while_its_first_owner_is_forgotten_stays_known() {
        let first = object_created("window", 70, None, None);
        let second = object_created("window", 70, None, None);
        object_freed("window", 70, first);
        assert_eq!(object("window", 70), second);
        object_freed("window", 70, second);
        assert_eq!(object("window", 70), NO_OBJECT);
        // Not in a test of its own: there is one registry for all.
        let locked = REGISTRY.lock();
        let unknown = std::thread::spawn(|| (object_created("window", 71, None, None), object("window", 71)));
        assert_eq!(unknown.join().unwrap(), (NO_OBJECT, NO_OBJECT), "nobody waits for ever");
        drop(locked);
        assert_ne!(object_created("window", 71, None, None), NO_OBJECT);
    }

    #[test]
    fn nobody_is_where_a_grid_ends() {
        const PROC_NULL: i32 = -2;
        assert_eq!(NeighborSlots::new(&[PROC_NULL, 4, 0, PROC_NULL], PROC_NULL).occupied().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(NeighborSlots::new(&[3; 100], PROC_NULL).occupied().count(), 100);
    }
}
