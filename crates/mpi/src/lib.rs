//! Every MPI, found at run time.
//!
//! A tool that wants to see any MPI program cannot be compiled against one MPI library. This crate holds what differs and what does not:
//! the list of MPI functions ([`FUNCTIONS`]), the names under which C and Fortran programs call them ([`Symbol`]), and the sizes and
//! constants of the three application binary interfaces in use ([`Abi`], [`Layout`]). On these stands what Sintonia itself does with MPI:
//! processes that a launcher started work together ([`World`]).

mod abi;
pub mod binomial;
mod function;
mod load;
mod symbol;
mod version;
mod world;

pub use abi::{Abi, Layout};
pub use function::{FUNCTIONS, Function, Mode, ObjectKind, Operation, Pattern, Role, Slots};
pub use load::{GetLibraryVersion, library_version, version_text};
pub use symbol::{Family, Symbol};
pub use version::short_name;
pub use world::{Collective, Group, Sending, Timed, World, WorldError};
