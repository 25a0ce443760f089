//! Resolves functions and variables of a program by name: addresses, types, and how a function gets its arguments. Reads executable files
//! and their debug information only; the program itself is not involved.
//!
//! A name that cannot be resolved gets an explanation ([`SymbolError`]): inlined, optimised away, thread-local, built without debug
//! information, or misspelt. A tool that is silent here would report nothing and look right.

#![forbid(unsafe_code)]

mod arguments;
mod arrays;
mod callees;
mod debug;
mod error;
mod function;
mod function_name;
mod inline_site;
mod inlining;
mod listing;
mod location;
mod loop_reads;
mod module;
mod named_function;
mod symbol_names;
mod type_names;
mod types;
mod variable;
mod variable_path;

pub use arguments::{ArgumentLocation, FunctionParameter};
pub use error::SymbolError;
pub use function::ResolvedFunction;
pub use inline_site::{InlineSite, display_sites};
pub use listing::{ListedFunction, ListedVariable};
pub use module::{LoadedModule, ModuleCache, ProgramImage, loaded_files};
pub use types::ValueType;
pub use variable::ResolvedVariable;
