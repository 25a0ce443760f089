//! A process that follows the leader's commands.

use std::time::Duration;

use serde::Serialize;
use sintonia_mpi::{BenchmarkCalls, TimedGroup};

use super::command::{BenchAnswer, BenchCommand, CollectiveTask};
use super::core_wait::{CoreWaitTimer, processor_share};
use super::host_use::HostTicks;
use super::message_timer::MessageTimer;
use super::page_aligned::PageAlignedBuffer;
use super::repetitions::TimedRound;
use super::{BenchError, ProcessBinding, compute, memory};
use crate::CollectiveKind;

/// Reports the binding of this process, then executes commands until the leader ends the launch.
pub(super) fn follow_leader(timed: &BenchmarkCalls) -> Result<(), BenchError> {
    let start_ticks = HostTicks::now();
    send_answer(timed, &ProcessBinding::measured())?;
    let mut side = MessageTimer::new(timed);
    let mut group = None;
    loop {
        let (_, message) = timed.wait_for_message()?;
        match serde_json::from_slice(&message)? {
            BenchCommand::Measure(task, other) => send_answer(timed, &BenchAnswer::Round(side.measure(&task, other)?))?,
            BenchCommand::Assist(task, other) => send_answer(timed, &BenchAnswer::Assisted(side.assist(&task, other)?))?,
            BenchCommand::Gather(size) => group = timed.first_ranks(size)?,
            BenchCommand::Join(round) => {
                if let Some(group) = &group {
                    send_answer(timed, &BenchAnswer::Round(run_collective(group, &side, &round)?))?;
                }
            }
            BenchCommand::Dissolve => group.take().map_or(Ok(()), TimedGroup::free)?,
            BenchCommand::Compute(node, seed, seconds) => {
                let time = Duration::from_secs_f64(seconds);
                send_answer(timed, &BenchAnswer::Samples(collect(|tell| compute::measure(node, seed, time, tell))))?;
            }
            BenchCommand::Memory(node, amount, seed, seconds) => {
                let time = Duration::from_secs_f64(seconds);
                send_answer(timed, &BenchAnswer::Samples(collect(|tell| memory::measure(node, amount, seed, time, tell))))?;
            }
            BenchCommand::ProcessorShare => send_answer(timed, &BenchAnswer::ProcessorShare(processor_share()))?,
            BenchCommand::Leave => return send_answer(timed, &BenchAnswer::HostTicks(HostTicks::now().since(&start_ticks))),
        }
    }
}

fn send_answer(timed: &BenchmarkCalls, what: &impl Serialize) -> Result<(), BenchError> {
    Ok(timed.world().send(0, &serde_json::to_vec(what)?)?)
}

fn collect<T>(work: impl FnOnce(&mut dyn FnMut(T))) -> Vec<T> {
    let mut all = Vec::new();
    work(&mut |one| all.push(one));
    all
}

/// Times a collective in the communicator, after warm-up: seconds that this process spent in it.
pub(super) fn run_collective(group: &TimedGroup, side: &MessageTimer, round: &CollectiveTask) -> Result<TimedRound, BenchError> {
    let CollectiveTask { what, bytes, first, times } = *round;
    let room = || PageAlignedBuffer::new(group.buffer_len(bytes), 1.0);
    let (given, mut taken) = (room(), room());
    let operation = mpi_collective(what);
    let mut values = Vec::with_capacity(times);
    let mut timer = CoreWaitTimer::start();
    for time in 0..first + times {
        if time == first {
            timer = CoreWaitTimer::start();
        }
        group.run_collective(sintonia_mpi::TimedCollective::Barrier, 0, &[], &mut [])?;
        let seconds = side.clock.time(|| group.run_collective(operation, bytes, &given, &mut taken))?;
        if time >= first {
            values.push(seconds);
        }
    }
    Ok(TimedRound { values: vec![values], core_wait: timer.share() })
}

pub(super) fn mpi_collective(what: CollectiveKind) -> sintonia_mpi::TimedCollective {
    match what {
        CollectiveKind::Barrier => sintonia_mpi::TimedCollective::Barrier,
        CollectiveKind::Bcast => sintonia_mpi::TimedCollective::Bcast,
        CollectiveKind::Reduce => sintonia_mpi::TimedCollective::Reduce,
        CollectiveKind::Allreduce => sintonia_mpi::TimedCollective::Allreduce,
        CollectiveKind::Gather => sintonia_mpi::TimedCollective::Gather,
        CollectiveKind::Scatter => sintonia_mpi::TimedCollective::Scatter,
        CollectiveKind::Allgather => sintonia_mpi::TimedCollective::Allgather,
        CollectiveKind::Alltoall => sintonia_mpi::TimedCollective::Alltoall,
        CollectiveKind::ReduceScatterBlock => sintonia_mpi::TimedCollective::ReduceScatterBlock,
        CollectiveKind::Scan => sintonia_mpi::TimedCollective::Scan,
    }
}
