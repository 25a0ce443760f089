//! Parallel analysis: `mpirun -n 16 sintonia report big.sin` distributes the ranks of a recording over sixteen processes.

use std::process::ExitCode;

use sintonia_mpi::CommWorld;
use sintonia_program::process_group::{ProcessGroup, SingleProcess};

use crate::Error;

/// Runs `work` with the processes that a launcher started together, or alone.
pub(crate) fn run_in_group(work: impl FnOnce(&dyn ProcessGroup) -> Result<ExitCode, Error>) -> Result<ExitCode, Error> {
    match CommWorld::init() {
        None => work(&SingleProcess),
        Some(Err(error)) => {
            eprintln!("sintonia: {error}");
            CommWorld::abort_without_mpi(1)
        }
        Some(Ok(world)) => {
            let group = MpiProcessGroup(world);
            match work(&group) {
                Ok(status) => {
                    group.0.finalize().map_err(|error| Error::Other(error.to_string()))?;
                    Ok(status)
                }
                Err(error) => {
                    // An error common to all is printed once, by the first process, whose abort ends the others.
                    if group.own_index() > 0 {
                        std::thread::sleep(std::time::Duration::from_secs(1));
                    }
                    eprintln!("sintonia: {error}");
                    group.0.abort(1)
                }
            }
        }
    }
}

/// The processes that an MPI launcher started.
struct MpiProcessGroup(CommWorld);

impl ProcessGroup for MpiProcessGroup {
    fn size(&self) -> usize {
        self.0.size()
    }

    fn own_index(&self) -> usize {
        self.0.rank()
    }

    fn all_to_all_bytes(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.0.all_to_all(parcels).unwrap_or_else(|error| {
            eprintln!("sintonia: {error}");
            self.0.abort(1)
        })
    }
}
