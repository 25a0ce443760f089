//! Links that the processes of a node share: several of them send to another node at the same time.
//!
//! All send in the same direction, so they compete for the same link; in round trips they could take turns. Each message is answered by an empty
//! one: a send alone may end while most of the message is still in a buffer of the kernel.

use std::time::Instant;

use super::command::{ExchangeTask, MessageExchange};
use super::leader::{BenchLeader, FIRST_PASS_REPETITIONS};
use super::repetitions::{Repetitions, TimedRound};
use super::{BenchError, BenchQuantity, BenchRecord, BenchSample, ProcessBinding};

/// Measures messages of 1, 2, 4 … and all pairs of processes of two nodes at once, if each node has several processes.
pub(super) fn measure(leader: &mut BenchLeader, until: Instant) -> Result<(), BenchError> {
    let pairs = pairs_between_hosts(&leader.bindings);
    if pairs.len() < 2 {
        return Ok(());
    }
    let counts = pair_counts(pairs.len());
    let bytes = message_size(leader, &counts, until);
    for count in counts {
        let quantity = BenchQuantity::SharedLink { pairs: count as u64 };
        let Some(bytes) = bytes else {
            BenchRecord::LeftOut(quantity, leader.settings.max_bytes).write(leader.out)?;
            continue;
        };
        let (exchange, bytes_sent) = (MessageExchange::Answered, bytes as usize);
        let task = ExchangeTask { exchange, bytes: bytes_sent, first: 1, times: FIRST_PASS_REPETITIONS, train: 1, settle: 0.0 };
        let rounds = leader.run_exchanges(&pairs[..count], task)?;
        let mut repetitions = Repetitions::default();
        rounds.into_iter().for_each(|round: TimedRound| repetitions.add(round));
        for counted in repetitions.counted() {
            // Pairs that get unequal parts of a link are not disturbed, so that is not recorded.
            let Ok(sample) = BenchSample::from_values(quantity, bytes, &counted.values) else { continue };
            BenchRecord::Sample(sample).write(leader.out)?;
        }
        leader.report_progress()?;
    }
    Ok(())
}

/// The size of the messages: large enough for the bandwidth to count, small enough for the time; none if there is no such size.
fn message_size(leader: &BenchLeader, counts: &[usize], until: Instant) -> Option<u64> {
    const LEAST: u64 = 16 << 10;
    let messages: usize = counts.iter().map(|count| count * (FIRST_PASS_REPETITIONS + 1)).sum();
    let left = until.saturating_duration_since(Instant::now()).as_secs_f64();
    let estimate = leader.transfer_estimate;
    let fits = |bytes: &u64| messages as f64 * (estimate.at(*bytes) + estimate.empty_s) < left;
    let sizes = std::iter::successors(Some(leader.settings.max_bytes), |bytes| Some(bytes / 2)).take_while(|bytes| *bytes >= LEAST);
    sizes.into_iter().find(fits)
}

/// 1, 2, 4 … and all.
fn pair_counts(pairs: usize) -> Vec<usize> {
    (0..usize::BITS).map(|exponent| 1 << exponent).take_while(|power| *power < pairs).chain([pairs]).collect()
}

/// Pairs of ranks of the host of rank 0 and of the other host with most ranks.
fn pairs_between_hosts(bindings: &[ProcessBinding]) -> Vec<[usize; 2]> {
    let ranks_on = |host: &str| (0..bindings.len()).filter(|rank| bindings[*rank].host == host).collect::<Vec<usize>>();
    let Some(first) = bindings.first() else { return Vec::new() };
    let others = bindings.iter().filter(|binding| binding.host != first.host).map(|binding| ranks_on(&binding.host));
    let other = others.rev().max_by_key(Vec::len).unwrap_or_default();
    ranks_on(&first.host).into_iter().zip(other).map(|(here, there)| [here, there]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_of_a_host_has_one_of_another() {
        let on = |host: &str| ProcessBinding {
            host: host.into(),
            processor: "x".into(),
            cores: 1,
            allowed: vec![],
            caches: vec![],
            processor_share: 1.0,
        };
        let pairs = |hosts: &[&str]| pairs_between_hosts(&hosts.iter().map(|host| on(host)).collect::<Vec<_>>());
        assert_eq!(pairs(&["a", "a", "b", "c", "c"]), [[0, 3], [1, 4]]);
        assert_eq!(pairs(&["a", "b", "a", "b", "a"]), [[0, 1], [2, 3]]);
        assert!(pairs(&["a", "a"]).is_empty());
    }

    #[test]
    fn pairs_double_up_to_all() {
        assert_eq!((pair_counts(2), pair_counts(3), pair_counts(4)), (vec![1, 2], vec![1, 2, 3], vec![1, 2, 4]));
    }
}
