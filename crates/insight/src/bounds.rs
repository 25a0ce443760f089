//! Where MPI begins and ends on a line: what a program does before and after is no part of the run that is judged.

use sintonia_mpi::Role;
use sintonia_program::history::Line;

/// Before MPI is started and after it is ended only few calls are allowed, so that is how far it is looked for.
const FEW: usize = 16;

/// The row of the call that starts MPI, if it is one of the line's.
pub fn begin(line: &Line) -> Option<usize> {
    (0..line.len().min(FEW)).find(|row| line.role(*row) == Role::Init)
}

/// The row of the call that ends MPI, if it is one of the line's.
pub fn end(line: &Line) -> Option<usize> {
    (0..line.len()).rev().take(FEW).find(|row| line.role(*row) == Role::Finalize)
}
