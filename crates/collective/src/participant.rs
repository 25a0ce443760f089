//! A collective from the point of view of one rank, and rank arithmetic modulo the group size.

use sintonia_mpi::CollectiveOp;

/// A collective from the point of view of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Group size.
    pub size: u32,
    /// Rank in the group.
    pub rank: u32,
    /// Rank of the root; 0 if there is none.
    pub root: u32,
    /// Size of one unit: the whole vector (broadcast, reduce, allreduce, scan) or the block of one rank (gather, scatter, allgather,
    /// alltoall, reduce-scatter). Mean size if blocks differ.
    pub bytes: u64,
}

impl Participant {
    /// The participant, from the bytes in the send and receive buffers of its call.
    pub fn new(op: CollectiveOp, size: u32, rank: u32, root: u32, sent: u64, received: u64) -> Participant {
        Participant { size, rank, root, bytes: unit_bytes(op, size, sent, received) }
    }

    /// The rank `steps` further on; `steps` is less than the group size.
    pub(crate) const fn after(&self, rank: u32, steps: u32) -> u32 {
        let remaining = self.size - rank;
        if steps >= remaining { steps - remaining } else { rank + steps }
    }

    /// The rank `steps` further back; `steps` is less than the group size.
    pub(crate) const fn before(&self, rank: u32, steps: u32) -> u32 {
        if steps > rank { rank + (self.size - steps) } else { rank - steps }
    }

    /// Rank relative to the root.
    pub(crate) const fn relative_rank(&self) -> u32 {
        self.before(self.rank, self.root)
    }

    /// Rank in the group, from a rank relative to the root.
    pub(crate) const fn absolute_rank(&self, distance: u32) -> u32 {
        self.after(self.root, distance)
    }
}

/// Unit size as in [`Participant::bytes`], from the bytes in the send and receive buffers of a rank.
///
/// Where blocks may differ, a rank with a single block gives its size, one with several gives their mean; of an alltoall, those it sends.
pub fn unit_bytes(op: CollectiveOp, members: u32, sent: u64, received: u64) -> u64 {
    use CollectiveOp::*;
    let members = u64::from(members.max(1));
    let block_of = |own: u64, all: u64| if own > 0 { own } else { all / members };
    match op {
        Barrier => 0,
        Broadcast | Reduce | Allreduce | Scan | Exscan => sent.max(received),
        Gather | Allgather => block_of(sent, received),
        Scatter | ReduceScatterBlock => block_of(received, sent),
        // Only the root has more than its own block.
        Gatherv if received > 0 => received / members,
        Gatherv => sent,
        Scatterv if sent > 0 => sent / members,
        Scatterv => received,
        Allgatherv => received / members,
        Alltoall | ReduceScatter => sent.max(received) / members,
        Alltoallv | Alltoallw => sent / members,
        NeighborAllgather | NeighborAllgatherv | NeighborAlltoall | NeighborAlltoallv | NeighborAlltoallw => sent,
    }
}
