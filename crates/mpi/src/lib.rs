//! Every MPI, found at run time.
//!
//! A tool that wants to see any MPI program cannot be compiled against one MPI library. This crate holds what differs and what does not:
//! the list of MPI functions ([`FUNCTIONS`]), the names under which C and Fortran programs call them ([`Symbol`]), and the sizes and
//! constants of the three application binary interfaces in use ([`Abi`], [`Layout`]).

mod abi;
pub mod binomial;
mod function;
mod load;
mod symbol;
mod version;
mod world;

pub use abi::{Abi, Layout};
pub use function::{FUNCTIONS, Function, Mode, Operation, Pattern, Role, Slots};
pub use load::library_version;
pub use symbol::{Family, Symbol};
pub use version::short_name;
pub use world::{World, WorldError};
