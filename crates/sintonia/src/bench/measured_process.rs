//! One of the measured processes that a launcher starts: `mpirun -n 2 sintonia bench --inside …`.

use std::io;
use std::process::ExitCode;

use sintonia_machine::bench::{self, BenchError, BenchRecord, BenchSettings};
use sintonia_mpi::CommWorld;

use crate::Error;

/// Measures together with the other processes, or alone.
pub(super) fn run(settings: &BenchSettings, alone: bool) -> Result<ExitCode, Error> {
    let mut out = io::stdout();
    let other = |error: BenchError| Error::Other(error.to_string());
    if alone {
        bench::run_without_mpi(settings, &mut out).map_err(other)?;
        return Ok(ExitCode::SUCCESS);
    }
    match CommWorld::init() {
        None => BenchRecord::Alone.write(&mut out)?,
        Some(Err(error)) => {
            eprintln!("sintonia: {error}");
            CommWorld::abort_without_mpi(1);
        }
        Some(Ok(world)) => {
            if let Err(error) = bench::run_in_launch(&world, settings, &mut out) {
                eprintln!("sintonia: process {}: {error}", world.rank());
                world.abort(1);
            }
            world.finalize().map_err(|error| Error::Other(error.to_string()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
