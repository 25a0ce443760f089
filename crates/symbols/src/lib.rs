//! Functions and variables of a program by the names its users know: where they are in memory, what type they have, how a function gets its
//! arguments. Read from the files of code, outside the program: nothing is asked of the program itself.
//!
//! A name that leads nowhere is an answer too: whether the function was inlined away, the variable optimised away or kept per thread, the
//! program built without debug information, or the name misspelt ([`Problem`]). A tool that stays silent there reports nothing and looks right.

mod arguments;
mod callees;
mod debug;
mod function;
mod module;
mod names;
mod path;
mod problem;
mod types;
mod variable;

pub use arguments::{Parameter, Place};
pub use function::Function;
pub use module::{Files, Module, Program};
pub use problem::Problem;
pub use types::Type;
pub use variable::Variable;
