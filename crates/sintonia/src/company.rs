//! Working together: `mpirun -n 16 sintonia report big.sin` shares the ranks of a recording among sixteen processes.

use std::process::ExitCode;

use sintonia_mpi::World;
use sintonia_program::company::{Alone, Company};

use crate::Error;

/// Does something with the processes that a launcher started together, or alone; `work` is told the company.
pub fn with(work: impl FnOnce(&dyn Company) -> Result<ExitCode, Error>) -> Result<ExitCode, Error> {
    match World::join() {
        None => work(&Alone),
        Some(Err(error)) => {
            eprintln!("sintonia: {error}");
            World::give_up(1)
        }
        Some(Ok(world)) => {
            let company = Launched(world);
            match work(&company) {
                Ok(status) => {
                    company.0.leave().map_err(|error| Error::Other(error.to_string()))?;
                    Ok(status)
                }
                Err(error) => {
                    // What is wrong for all is said once, by the first process, whose end is the end of the others.
                    if company.here() > 0 {
                        std::thread::sleep(std::time::Duration::from_secs(1));
                    }
                    eprintln!("sintonia: {error}");
                    company.0.abort(1)
                }
            }
        }
    }
}

/// The processes that a launcher started.
struct Launched(World);

impl Company for Launched {
    fn size(&self) -> usize {
        self.0.size()
    }

    fn here(&self) -> usize {
        self.0.rank()
    }

    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.0.exchange(parcels).unwrap_or_else(|error| {
            eprintln!("sintonia: {error}");
            self.0.abort(1)
        })
    }
}
