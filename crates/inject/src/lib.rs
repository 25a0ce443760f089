//! Loads the probe into a running process.
//!
//! One thread of the process is stopped briefly and made to call `pthread_create`, nothing else. The new thread does everything that takes
//! long (loading the probe, connecting to the collector) while the program runs. This is also what makes it safe: loading a library takes
//! locks of the dynamic linker and of library constructors, and a borrowed thread that already holds one of them would deadlock; a thread
//! of its own just waits. `pthread_create` needs only a few locks of the C library, so [`safe_point`] accepts a thread only where it cannot
//! hold those.
//!
//! - [`process`]: process data from `/proc`.
//! - [`libc_symbols`]: addresses of the functions of its C library.
//! - [`safe_point`]: whether a stopped thread can be borrowed.
//! - [`tracee`]: stopping a thread, its registers and memory (ptrace).
//! - [`frame`]: restores a borrowed thread before it has memory of its own.
//! - [`payload`]: the code of the new thread, in assembly, and the memory it shares with this side.
//! - [`attach`]: the whole procedure.
//!
//! Nothing of the program is overwritten. If this side is killed at any time, the borrowed thread restores itself.

mod attach;
mod error;
mod frame;
mod libc_symbols;
mod payload;
mod process;
mod remote_memory;
mod safe_point;
mod tracee;

pub use attach::{AttachReport, AttachRequest, attach};
pub use error::InjectError;
pub use process::{all_processes, children, environment, has_mpi, is_alive, name, network_namespace, owner, process_tree, rank_and_size};
