//! Collectives of several numbers of processes.

use std::time::Instant;

use sintonia_mpi::TimedGroup;

use super::command::{BenchCommand, CollectiveTask};
use super::follower::run_collective;
use super::leader::{BenchLeader, PlannedPoint, RoundCounts, share_end, with_answer};
use super::repetitions::TimedRound;
use super::{BenchError, BenchQuantity, BenchSettings};
use crate::{CollectiveKind, Named};

/// Measures all collectives with the first 2, 4, 8 … and all processes.
pub(super) fn measure(leader: &mut BenchLeader, until: Instant) -> Result<(), BenchError> {
    let timed = leader.timed;
    let sizes = communicator_sizes(leader.bindings.len());
    for (index, &size) in sizes.iter().enumerate() {
        leader.send_to_all(&BenchCommand::Gather(size))?;
        let Some(group) = timed.first_ranks(size)? else { continue };
        let end = share_end(until, sizes.len() - index);
        let points = collective_points(size, &leader.settings).into_iter().map(|point| plan_point(leader, size, point)).collect();
        leader.measure_in_passes(points, end, |leader, (what, bytes), rounds| time_collective(leader, &group, *what, *bytes, rounds))?;
        leader.send_to_all(&BenchCommand::Dissolve)?;
        group.free()?;
    }
    Ok(())
}

fn plan_point(leader: &BenchLeader, size: usize, (what, bytes): (CollectiveKind, u64)) -> PlannedPoint<(CollectiveKind, u64)> {
    let quantities = vec![BenchQuantity::Group { what, processes: size as u64 }];
    // A barrier before it, and at worst a message to each of the others.
    let repetition_s = size as f64 * leader.transfer_estimate.at(bytes);
    PlannedPoint { key: (what, bytes), quantities, bytes, repetition_s, warmups: leader.warmup_count(bytes) }
}

/// Times a collective: for each repetition the time of the slowest process.
fn time_collective(
    leader: &mut BenchLeader,
    group: &TimedGroup,
    what: CollectiveKind,
    bytes: u64,
    rounds: RoundCounts,
) -> Result<TimedRound, BenchError> {
    let round = CollectiveTask { what, bytes: bytes as usize, first: rounds.first, times: rounds.times };
    (1..group.size()).try_for_each(|rank| leader.send_command(rank, &BenchCommand::Join(round)))?;
    let own = run_collective(group, &leader.side, &round)?;
    (1..group.size()).try_fold(own, |slowest, _| Ok(with_answer(slowest, leader.receive_answer()?)))
}

/// Sizes of the communicators: powers of two, and all processes.
fn communicator_sizes(processes: usize) -> Vec<usize> {
    (1..usize::BITS).map(|exponent| 1 << exponent).take_while(|power| *power < processes).chain([processes]).collect()
}

/// Collectives and sizes measured in a communicator of `size` processes.
fn collective_points(size: usize, settings: &BenchSettings) -> Vec<(CollectiveKind, u64)> {
    // Limit of the memory per process, for collectives in which every process has data for every other.
    const MEMORY: u64 = 64 << 20;
    let most = settings.max_bytes.min(MEMORY / size as u64);
    let powers = (3..u64::BITS).map(|exponent| 1u64 << exponent).take_while(|bytes| *bytes <= most);
    let between = |power: u64| if settings.quick { power } else { power + power / 2 };
    let mut bytes: Vec<u64> = powers.flat_map(|power| [power, between(power)]).filter(|bytes| *bytes <= most && bytes % 8 == 0).collect();
    bytes.dedup();
    let of = |what: &CollectiveKind| match what {
        CollectiveKind::Barrier => vec![(*what, 0)],
        _ => bytes.iter().map(|bytes| (*what, *bytes)).collect(),
    };
    CollectiveKind::ALL.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communicators_double_up_to_all() {
        assert_eq!(communicator_sizes(2), [2]);
        assert_eq!(communicator_sizes(6), [2, 4, 6]);
        assert_eq!(communicator_sizes(8), [2, 4, 8]);
    }
}
