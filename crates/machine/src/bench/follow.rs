//! A process that does as it is told.

use std::time::Duration;

use serde::Serialize;
use sintonia_mpi::{Group, Timed};

use super::order::{Answer, Order, Round};
use super::pair::Side;
use super::room::Room;
use super::{Failure, Place, compute, memory};
use crate::Collective;

/// Says where this process runs, then follows the orders of the first process until it is told to leave.
pub fn follow(timed: &Timed) -> Result<(), Failure> {
    tell(timed, &Place::here())?;
    let mut side = Side::new(timed);
    let mut group = None;
    loop {
        let (_, letter) = timed.await_letter()?;
        match serde_json::from_slice(&letter)? {
            Order::Measure(task, other) => tell(timed, &Answer::Values(side.measure(&task, other)?))?,
            Order::Assist(task, other) => side.assist(&task, other)?,
            Order::Gather(size) => group = timed.group(size)?,
            Order::Join(round) => {
                if let Some(group) = &group {
                    tell(timed, &Answer::Values(vec![join(group, &side, &round)?]))?;
                }
            }
            Order::Dissolve => group.take().map_or(Ok(()), Group::dissolve)?,
            Order::Compute(node, seed) => tell(timed, &Answer::Samples(collected(|tell| compute::measure(node, seed, tell))))?,
            Order::Memory(node, amount, seed, seconds) => {
                let time = Duration::from_secs_f64(seconds);
                tell(timed, &Answer::Samples(collected(|tell| memory::measure(node, amount, seed, time, tell))))?;
            }
            Order::Leave => return Ok(()),
        }
    }
}

fn tell(timed: &Timed, what: &impl Serialize) -> Result<(), Failure> {
    Ok(timed.world().send(0, &serde_json::to_vec(what)?)?)
}

fn collected<T>(work: impl FnOnce(&mut dyn FnMut(T))) -> Vec<T> {
    let mut all = Vec::new();
    work(&mut |one| all.push(one));
    all
}

/// Does something with the group so often, after some first times that do not count: the seconds that this process was in it.
pub fn join(group: &Group, side: &Side, round: &Round) -> Result<Vec<f64>, Failure> {
    let Round { what, bytes, first, times } = *round;
    let room = || Room::new(group.room(bytes), 1.0);
    let (given, mut taken) = (room(), room());
    let operation = operation(what);
    let mut values = Vec::with_capacity(times);
    for time in 0..first + times {
        group.run(sintonia_mpi::Collective::Barrier, 0, &[], &mut [])?;
        let seconds = side.clock.time(|| group.run(operation, bytes, &given, &mut taken))?;
        if time >= first {
            values.push(seconds);
        }
    }
    Ok(values)
}

/// The call of MPI.
pub fn operation(what: Collective) -> sintonia_mpi::Collective {
    match what {
        Collective::Barrier => sintonia_mpi::Collective::Barrier,
        Collective::Bcast => sintonia_mpi::Collective::Bcast,
        Collective::Reduce => sintonia_mpi::Collective::Reduce,
        Collective::Allreduce => sintonia_mpi::Collective::Allreduce,
        Collective::Gather => sintonia_mpi::Collective::Gather,
        Collective::Scatter => sintonia_mpi::Collective::Scatter,
        Collective::Allgather => sintonia_mpi::Collective::Allgather,
        Collective::Alltoall => sintonia_mpi::Collective::Alltoall,
        Collective::ReduceScatterBlock => sintonia_mpi::Collective::ReduceScatterBlock,
        Collective::Scan => sintonia_mpi::Collective::Scan,
    }
}
