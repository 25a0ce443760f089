//! MPI function tables, symbols and ABIs, and access to the user's MPI library at run time.
//!
//! A tool for any MPI program cannot be compiled against one MPI library. This crate has the table of MPI functions ([`FUNCTIONS`]), the
//! names under which C and Fortran programs call them ([`MpiSymbol`]), and the sizes and constants of the three ABIs in use ([`Abi`],
//! [`AbiLayout`]). [`CommWorld`] lets Sintonia's own processes communicate with the MPI library of the launcher that started them.

mod abi;
mod function;
mod library_version;
mod symbol;
mod version;
mod world;

pub use abi::{Abi, AbiLayout};
pub use function::{ArgumentSlots, BlockingMode, CollectiveOp, FUNCTIONS, FunctionId, FunctionRole, MpiFunction, ObjectKind};
pub use library_version::{GetLibraryVersion, library_version, version_text};
pub use symbol::{LanguageBinding, MpiSymbol};
pub use version::short_name;
pub use world::{BenchmarkCalls, CommWorld, TimedCollective, TimedGroup, TimedSendMode, WorldError};
