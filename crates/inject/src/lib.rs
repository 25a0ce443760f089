//! Brings the probe into a process that already runs.
//!
//! One thread of the process is stopped for a moment, and made to call `pthread_create`: nothing else. The new thread then does what takes
//! long (loading the probe, meeting the other end) while the program runs on. It also is why this is safe: loading a library takes locks of
//! the dynamic linker and of everything that runs when a library is loaded, and a borrowed thread that holds one of them would wait for
//! itself for ever; a thread of its own waits until they are free. `pthread_create` needs few locks, all of the C library, so
//! [`moment`] lends a thread only where it cannot hold those.
//!
//! - [`process`]: what the system tells of a process, and of its family.
//! - [`library`]: where the functions of its C library are.
//! - [`moment`]: whether a stopped thread can be borrowed.
//! - [`tracee`]: stopping a thread, its registers, its memory.
//! - [`frame`]: what puts a borrowed thread back before it has memory of its own.
//! - [`errand`]: what the new thread does, in assembly, and the memory it shares with this side.
//! - [`visit`]: all of it in order.
//!
//! Nothing of the program is written over. If this side is killed at any time, the borrowed thread puts itself back.

mod errand;
mod frame;
mod library;
mod moment;
mod problem;
mod process;
mod tracee;
mod visit;

pub use problem::Problem;
pub use process::{family, has_mpi, is_there, name, place, user};
pub use visit::{Message, Visit, enter};
