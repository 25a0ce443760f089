//! A function symbol with its name in the source.

use crate::debug::DieRef;
use crate::function_name::FunctionName;

/// A function symbol with its name in the source.
pub(crate) struct NamedFunction {
    /// Index of its symbol.
    pub symbol: usize,
    pub name: FunctionName,
    /// The name to show: full, and with the source file if others have the same.
    pub display: String,
    pub identity: FunctionIdentity,
}

/// What the clones and other copies of a function have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum FunctionIdentity {
    /// The entry of the debug information.
    Entry(DieRef),
    /// Without debug information, the name.
    Name(String),
}
