//! How an operation of a group is done on a machine: as it says, as the user wants, as its library would.

use sintonia_machine::Collective;
use sintonia_mpi::Pattern;
use sintonia_recording::deed::Purpose;

use super::{Algorithm, Library, NameError, Party, UnknownLibrary, choose};
use crate::changes::{Built, Changes};
use crate::engine::Members;
use crate::platform::{self, Platform};
use crate::schedule::{Join, SendMode};

/// How an operation of a group is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// It takes so many seconds once those it needs are there.
    Takes(f64),
    /// By rounds of messages.
    Rounds(Algorithm, Pattern),
}

/// How an operation of these ranks is done.
pub fn way(platform: &Platform, changes: &Changes, join: &Join, group: &Members, rank: u32) -> Way {
    let ranks = &group.ranks;
    let members = ranks.len() as u32;
    let Purpose::Collective(pattern) = join.purpose else { return Way::Takes(gathering(platform, join.purpose, ranks, rank)) };
    if members < 2 {
        return Way::Takes(0.0);
    }
    if pattern.is_among_neighbours() {
        return Way::Rounds(Algorithm::Pairwise, pattern);
    }
    let bytes = unit(pattern, members, join.sent, join.received);
    let collective = platform::collective(join.purpose);
    let built = collective.and_then(|collective| changes.algorithms.get(&collective)).or(changes.all_algorithms.as_ref());
    match built.copied().unwrap_or_else(|| asked(platform, collective, pattern, members)) {
        _ if group.between_groups => Way::Takes(closed(platform, join.purpose, ranks, rank, bytes)),
        Built::Closed => Way::Takes(closed(platform, join.purpose, ranks, rank, bytes)),
        Built::By(algorithm) if algorithm.fits(pattern) => Way::Rounds(algorithm, pattern),
        // Asked for by an operation that is like this one, but cannot build it.
        Built::By(_) => chosen(library(platform), pattern, members, bytes),
        Built::Library(library) => chosen(library, pattern, members, bytes),
    }
}

fn chosen(library: Library, pattern: Pattern, members: u32, bytes: u64) -> Way {
    choose(library, pattern, members, bytes).map_or(Way::Takes(0.0), |algorithm| Way::Rounds(algorithm, pattern))
}

/// The library that the machine was measured with.
fn library(platform: &Platform) -> Library {
    platform.machine().about.mpi.as_deref().map_or(Library::OpenMpi, Library::of_version)
}

/// What the machine file asks for; where it says nothing, what it has measured, or else what its library chooses.
fn asked(platform: &Platform, collective: Option<Collective>, pattern: Pattern, members: u32) -> Built {
    let machine = platform.machine();
    let named = collective.and_then(|collective| machine.collectives.algorithms.get(&collective));
    if let Some(built) = named.and_then(|name| built(name, pattern).ok()) {
        return built;
    }
    if let Some(built) = machine.collectives.library.as_deref().and_then(|name| built_all(name).ok()) {
        return built;
    }
    let measured = collective.and_then(|collective| machine.group(collective)).is_some_and(|group| {
        // Far beyond what was measured the messages themselves tell more.
        group.at.last().is_some_and(|at| at.processes * 2 >= u64::from(members))
    });
    if measured && !platform.is_shared() { Built::Closed } else { Built::Library(library(platform)) }
}

/// What a name stands for: `closed`, a library, or an algorithm that builds the operation.
pub fn built(name: &str, pattern: Pattern) -> Result<Built, NameError> {
    built_all(name).or_else(|_| Algorithm::named(name, pattern).map(Built::By))
}

/// What a name stands for that builds all operations: `closed`, or a library.
pub fn built_all(name: &str) -> Result<Built, UnknownLibrary> {
    if name == "closed" { Ok(Built::Closed) } else { Library::named(name).map(Built::Library) }
}

/// The operation of MPI that one of a machine file is.
pub fn pattern(collective: Collective) -> Pattern {
    match collective {
        Collective::Barrier => Pattern::Barrier,
        Collective::Bcast => Pattern::Broadcast,
        Collective::Reduce => Pattern::Reduce,
        Collective::Allreduce => Pattern::Allreduce,
        Collective::Gather => Pattern::Gather,
        Collective::Scatter => Pattern::Scatter,
        Collective::Allgather => Pattern::Allgather,
        Collective::Alltoall => Pattern::Alltoall,
        Collective::ReduceScatterBlock => Pattern::ReduceScatterBlock,
        Collective::Scan => Pattern::Scan,
    }
}

/// What was measured, or a formula of the messages of a good tree.
fn closed(platform: &Platform, purpose: Purpose, ranks: &[u32], rank: u32, bytes: u64) -> f64 {
    let members = ranks.len() as u32;
    if let Some(seconds) = platform.measured(purpose, members, bytes) {
        return seconds;
    }
    let rounds = f64::from(u32::BITS - members.saturating_sub(1).leading_zeros());
    let far = ranks.iter().copied().find(|other| platform.leaves_node(rank, *other));
    let to = far.or_else(|| ranks.iter().copied().find(|other| *other != rank)).unwrap_or(rank);
    let message = |bytes: u64| {
        let price = platform.price(rank, to, bytes, SendMode::Standard);
        price.wire() + price.receive
    };
    use Pattern::*;
    match purpose {
        Purpose::Collective(Alltoall | Alltoallv | Alltoallw) => f64::from(members - 1) * message(bytes),
        Purpose::Collective(Allgather | Allgatherv | Gather | Gatherv | Scatter | Scatterv | ReduceScatter | ReduceScatterBlock) => {
            rounds * message(0) + (message(bytes.saturating_mul(u64::from(members) - 1)) - message(0)).max(0.0)
        }
        _ => rounds * message(bytes),
    }
}

/// Making communicators and windows, opening files: about as long as a barrier.
fn gathering(platform: &Platform, purpose: Purpose, ranks: &[u32], rank: u32) -> f64 {
    match purpose {
        Purpose::File | Purpose::Init | Purpose::Finalize => 0.0,
        _ if ranks.len() < 2 => 0.0,
        _ => closed(platform, Purpose::Collective(Pattern::Barrier), ranks, rank, 0),
    }
}

/// Whether one member's data is that of all, or all data goes to one.
pub fn has_root(purpose: Purpose) -> bool {
    use Pattern::*;
    matches!(purpose, Purpose::Collective(Broadcast | Reduce | Gather | Gatherv | Scatter | Scatterv))
}

/// Bytes of one unit of an operation, of what a member gives and gets.
fn unit(pattern: Pattern, members: u32, sent: u64, received: u64) -> u64 {
    use Pattern::*;
    let members = u64::from(members.max(1));
    let block_of = |own: u64, all: u64| if own > 0 { own } else { all / members };
    match pattern {
        Barrier => 0,
        Broadcast | Reduce | Allreduce | Scan | Exscan => sent.max(received),
        Gather | Gatherv | Allgather => block_of(sent, received),
        Scatter | Scatterv | ReduceScatterBlock => block_of(received, sent),
        Allgatherv => received / members,
        Alltoall | Alltoallv | Alltoallw | ReduceScatter => sent.max(received) / members,
        NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw => sent,
    }
}

impl Party {
    /// What a member knows of an operation, from its call.
    pub fn new(pattern: Pattern, size: u32, here: u32, root: u32, sent: u64, received: u64) -> Party {
        Party { size, here, root, bytes: unit(pattern, size, sent, received) }
    }
}
