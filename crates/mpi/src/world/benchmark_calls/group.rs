//! Timed collectives on a subset of the processes.

use std::ffi::c_int;

use super::BenchmarkCalls;
use crate::world::WorldError;
use crate::world::library::{Handle, rank_to_int};

/// A collective that can be timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedCollective {
    /// `MPI_Barrier`
    Barrier,
    /// `MPI_Bcast`; the size is that of the message
    Bcast,
    /// `MPI_Reduce`; the size is that of one vector
    Reduce,
    /// `MPI_Allreduce`; the size is that of one vector
    Allreduce,
    /// `MPI_Gather`; the size is what each process sends
    Gather,
    /// `MPI_Scatter`; the size is what each process receives
    Scatter,
    /// `MPI_Allgather`; the size is what each process sends
    Allgather,
    /// `MPI_Alltoall`; the size is what each process sends to each
    Alltoall,
    /// `MPI_Reduce_scatter_block`; the size is what each process receives
    ReduceScatterBlock,
    /// `MPI_Scan`; the size is that of one vector
    Scan,
}

impl TimedCollective {
    /// All of them.
    pub const ALL: [TimedCollective; 10] = [
        TimedCollective::Barrier,
        TimedCollective::Bcast,
        TimedCollective::Reduce,
        TimedCollective::Allreduce,
        TimedCollective::Gather,
        TimedCollective::Scatter,
        TimedCollective::Allgather,
        TimedCollective::Alltoall,
        TimedCollective::ReduceScatterBlock,
        TimedCollective::Scan,
    ];

    /// The MPI function.
    pub fn function(self) -> &'static str {
        match self {
            TimedCollective::Barrier => "MPI_Barrier",
            TimedCollective::Bcast => "MPI_Bcast",
            TimedCollective::Reduce => "MPI_Reduce",
            TimedCollective::Allreduce => "MPI_Allreduce",
            TimedCollective::Gather => "MPI_Gather",
            TimedCollective::Scatter => "MPI_Scatter",
            TimedCollective::Allgather => "MPI_Allgather",
            TimedCollective::Alltoall => "MPI_Alltoall",
            TimedCollective::ReduceScatterBlock => "MPI_Reduce_scatter_block",
            TimedCollective::Scan => "MPI_Scan",
        }
    }

    /// Whether it is a reduction; sizes are then multiples of eight.
    pub fn is_reduction(self) -> bool {
        use TimedCollective::{Allreduce, Reduce, ReduceScatterBlock, Scan};
        matches!(self, Reduce | Allreduce | ReduceScatterBlock | Scan)
    }
}

/// A communicator of some processes, including this one.
pub struct TimedGroup<'t> {
    timed: &'t BenchmarkCalls<'t>,
    communicator: Handle,
    size: usize,
}

impl<'t> BenchmarkCalls<'t> {
    /// Creates a communicator of the first `size` processes. Collective over all processes; `None` on the others.
    pub fn first_ranks(&'t self, size: usize) -> Result<Option<TimedGroup<'t>>, WorldError> {
        let (library, world) = (self.library(), self.world);
        let colour = if world.rank() < size { 0 } else { library.layout().undefined };
        let mut communicator = 0;
        // SAFETY: a handle of any ABI fits.
        let result = unsafe { (self.functions.comm_split)(library.world(), colour, rank_to_int(world.rank()), &mut communicator) };
        library.check("MPI_Comm_split", result)?;
        Ok((world.rank() < size).then_some(TimedGroup { timed: self, communicator, size: size.min(world.size()) }))
    }
}

impl TimedGroup<'_> {
    /// Number of processes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Buffer length, in doubles, that any collective of this message size needs.
    pub fn buffer_len(&self, bytes: usize) -> usize {
        bytes.div_ceil(8) * self.size
    }

    /// Runs one collective with root 0. Both buffers have at least [`TimedGroup::buffer_len`] elements.
    pub fn run_collective(&self, collective: TimedCollective, bytes: usize, send: &[f64], receive: &mut [f64]) -> Result<(), WorldError> {
        const ROOT: c_int = 0;
        let length = self.buffer_len(bytes);
        assert!(
            send.len() >= length && receive.len() >= length && bytes <= BenchmarkCalls::MAX_BYTES,
            "memory for {bytes} bytes of each process"
        );
        let (timed, library) = (self.timed, self.timed.library());
        let (functions, group, byte, double, sum) = (&timed.functions, self.communicator, library.byte(), timed.double, timed.sum);
        let (from, to) = (send.as_ptr().cast(), receive.as_mut_ptr().cast());
        let (n, numbers) = (rank_to_int(bytes), rank_to_int(bytes / 8));
        // SAFETY: both buffers have room for `bytes` of every process, as checked above, and do not overlap.
        let result = unsafe {
            match collective {
                TimedCollective::Barrier => (functions.barrier)(group),
                TimedCollective::Bcast => (functions.bcast)(to, n, byte, ROOT, group),
                TimedCollective::Reduce => (functions.reduce)(from, to, numbers, double, sum, ROOT, group),
                TimedCollective::Allreduce => (functions.allreduce)(from, to, numbers, double, sum, group),
                TimedCollective::Gather => (functions.gather)(from, n, byte, to, n, byte, ROOT, group),
                TimedCollective::Scatter => (functions.scatter)(from, n, byte, to, n, byte, ROOT, group),
                TimedCollective::Allgather => (functions.allgather)(from, n, byte, to, n, byte, group),
                TimedCollective::Alltoall => (functions.alltoall)(from, n, byte, to, n, byte, group),
                TimedCollective::ReduceScatterBlock => (functions.reduce_scatter_block)(from, to, numbers, double, sum, group),
                TimedCollective::Scan => (functions.scan)(from, to, numbers, double, sum, group),
            }
        };
        library.check(collective.function(), result)
    }

    /// Frees the communicator. Collective over its members.
    pub fn free(mut self) -> Result<(), WorldError> {
        let timed = self.timed;
        // SAFETY: the communicator was created by `BenchmarkCalls::first_ranks` and is not used any more.
        let result = unsafe { (timed.functions.comm_free)(&mut self.communicator) };
        timed.library().check("MPI_Comm_free", result)
    }
}
