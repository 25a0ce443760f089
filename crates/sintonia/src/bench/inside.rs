//! One of the processes that a launcher started to be measured: `mpirun -n 2 sintonia bench --inside …`.

use std::io;
use std::process::ExitCode;

use sintonia_machine::bench::{self, Failure, Line, Settings};
use sintonia_mpi::World;

use crate::Error;

/// Measures with the others, or by itself if it is meant to be alone.
pub fn run(settings: &Settings, alone: bool) -> Result<ExitCode, Error> {
    let mut out = io::stdout();
    let other = |error: Failure| Error::Other(error.to_string());
    if alone {
        bench::alone(settings, &mut out).map_err(other)?;
        return Ok(ExitCode::SUCCESS);
    }
    match World::join() {
        None => Line::Alone.write(&mut out)?,
        Some(Err(error)) => {
            eprintln!("sintonia: {error}");
            World::give_up(1);
        }
        Some(Ok(world)) => {
            if let Err(error) = bench::inside(&world, settings, &mut out) {
                eprintln!("sintonia: process {}: {error}", world.rank());
                world.abort(1);
            }
            world.leave().map_err(|error| Error::Other(error.to_string()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
