//! What calls are added up by: call site and function.

use serde::{Deserialize, Serialize};
use sintonia_mpi::FunctionId;
use sintonia_recording::call_table::CallDescriptor;

/// An MPI function at a call site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct SiteFunction {
    /// Index of the call site.
    pub site: u32,
    /// Id of the MPI function.
    pub function: u16,
}

impl SiteFunction {
    /// The function, if there is one with this id: files may be damaged.
    pub(crate) fn function(self) -> Option<FunctionId> {
        FunctionId::from_index(self.function)
    }
}

impl From<&CallDescriptor> for SiteFunction {
    fn from(descriptor: &CallDescriptor) -> SiteFunction {
        SiteFunction { site: descriptor.site, function: descriptor.function.0 }
    }
}
