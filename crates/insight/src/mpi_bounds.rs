//! Finds MPI_Init and MPI_Finalize on a location. What a program does before and after them is not part of the analysed run.

use sintonia_mpi::FunctionRole;
use sintonia_program::history::Location;

/// MPI allows only few calls before initialisation and after finalisation, so the search stops there.
const MAX_EDGE_CALLS: usize = 16;

/// The row of the initialising call, if this location made it.
pub(crate) fn init_row(location: &Location) -> Option<usize> {
    (0..location.len().min(MAX_EDGE_CALLS)).find(|row| location.role(*row) == FunctionRole::Init)
}

/// The row of the finalising call, if this location made it.
pub(crate) fn finalize_row(location: &Location) -> Option<usize> {
    (0..location.len()).rev().take(MAX_EDGE_CALLS).find(|row| location.role(*row) == FunctionRole::Finalize)
}
