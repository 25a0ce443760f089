//! Some of the processes as a group, and what a group does together.

use std::ffi::c_int;

use super::Timed;
use crate::world::WorldError;
use crate::world::library::{Handle, number};

/// An operation of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// `MPI_Barrier`
    Barrier,
    /// `MPI_Bcast`; the size is that of the message
    Bcast,
    /// `MPI_Reduce`; the size is that of one vector
    Reduce,
    /// `MPI_Allreduce`; the size is that of one vector
    Allreduce,
    /// `MPI_Gather`; the size is what each process gives
    Gather,
    /// `MPI_Scatter`; the size is what each process gets
    Scatter,
    /// `MPI_Allgather`; the size is what each process gives
    Allgather,
    /// `MPI_Alltoall`; the size is what each process gives to each
    Alltoall,
    /// `MPI_Reduce_scatter_block`; the size is what each process gets
    ReduceScatterBlock,
    /// `MPI_Scan`; the size is that of one vector
    Scan,
}

impl Collective {
    /// All of them.
    pub const ALL: [Collective; 10] = [
        Collective::Barrier,
        Collective::Bcast,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::Gather,
        Collective::Scatter,
        Collective::Allgather,
        Collective::Alltoall,
        Collective::ReduceScatterBlock,
        Collective::Scan,
    ];

    /// The function of MPI.
    pub fn function(self) -> &'static str {
        match self {
            Collective::Barrier => "MPI_Barrier",
            Collective::Bcast => "MPI_Bcast",
            Collective::Reduce => "MPI_Reduce",
            Collective::Allreduce => "MPI_Allreduce",
            Collective::Gather => "MPI_Gather",
            Collective::Scatter => "MPI_Scatter",
            Collective::Allgather => "MPI_Allgather",
            Collective::Alltoall => "MPI_Alltoall",
            Collective::ReduceScatterBlock => "MPI_Reduce_scatter_block",
            Collective::Scan => "MPI_Scan",
        }
    }

    /// Whether numbers are added up on the way; sizes are then multiples of eight.
    pub fn adds(self) -> bool {
        use Collective::{Allreduce, Reduce, ReduceScatterBlock, Scan};
        matches!(self, Reduce | Allreduce | ReduceScatterBlock | Scan)
    }
}

/// Some of the processes, this one among them.
pub struct Group<'t> {
    timed: &'t Timed<'t>,
    communicator: Handle,
    size: usize,
}

impl<'t> Timed<'t> {
    /// Makes the first `size` processes a group; all processes call it together, and those outside get none.
    pub fn group(&'t self, size: usize) -> Result<Option<Group<'t>>, WorldError> {
        let (library, world) = (self.library(), self.world);
        let colour = if world.rank() < size { 0 } else { library.layout().undefined };
        let mut communicator = 0;
        // SAFETY: there is room for a handle of any ABI.
        let result = unsafe { (self.functions.comm_split)(library.world(), colour, number(world.rank()), &mut communicator) };
        library.check("MPI_Comm_split", result)?;
        Ok((world.rank() < size).then_some(Group { timed: self, communicator, size: size.min(world.size()) }))
    }
}

impl Group<'_> {
    /// How many processes belong to it.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many numbers of eight bytes an operation of this size needs at most, to give and to take.
    pub fn room(&self, bytes: usize) -> usize {
        bytes.div_ceil(8) * self.size
    }

    /// Does one operation, all members together; the root, where there is one, is the first. `given` and `taken` have
    /// [`Group::room`] for its size.
    pub fn run(&self, what: Collective, bytes: usize, given: &[f64], taken: &mut [f64]) -> Result<(), WorldError> {
        const ROOT: c_int = 0;
        let room = self.room(bytes);
        assert!(given.len() >= room && taken.len() >= room && bytes <= Timed::LARGEST, "memory for {bytes} bytes of each process");
        let (timed, library) = (self.timed, self.timed.library());
        let (functions, group, byte, double, sum) = (&timed.functions, self.communicator, library.byte(), timed.double, timed.sum);
        let (from, to) = (given.as_ptr().cast(), taken.as_mut_ptr().cast());
        let (n, numbers) = (number(bytes), number(bytes / 8));
        // SAFETY (all): both places have room for `bytes` of every process, as checked above, and are not the same memory.
        let result = unsafe {
            match what {
                Collective::Barrier => (functions.barrier)(group),
                Collective::Bcast => (functions.bcast)(to, n, byte, ROOT, group),
                Collective::Reduce => (functions.reduce)(from, to, numbers, double, sum, ROOT, group),
                Collective::Allreduce => (functions.allreduce)(from, to, numbers, double, sum, group),
                Collective::Gather => (functions.gather)(from, n, byte, to, n, byte, ROOT, group),
                Collective::Scatter => (functions.scatter)(from, n, byte, to, n, byte, ROOT, group),
                Collective::Allgather => (functions.allgather)(from, n, byte, to, n, byte, group),
                Collective::Alltoall => (functions.alltoall)(from, n, byte, to, n, byte, group),
                Collective::ReduceScatterBlock => (functions.reduce_scatter_block)(from, to, numbers, double, sum, group),
                Collective::Scan => (functions.scan)(from, to, numbers, double, sum, group),
            }
        };
        library.check(what.function(), result)
    }

    /// Ends the group; all its members do so together.
    pub fn dissolve(mut self) -> Result<(), WorldError> {
        let timed = self.timed;
        // SAFETY: the communicator was made by `Timed::group` and is used no more.
        let result = unsafe { (timed.functions.comm_free)(&mut self.communicator) };
        timed.library().check("MPI_Comm_free", result)
    }
}
