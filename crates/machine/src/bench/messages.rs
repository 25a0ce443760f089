//! Messages between two processes: thresholds first, then the transfer time, which paces everything else, then the rest.

use std::time::Instant;

use sintonia_fit::sample::median;

use super::command::{ExchangeTask, MessageExchange};
use super::contradiction::{MedianTimes, contradictions};
use super::leader::{BenchLeader, PlannedPoint, TransferEstimate, share_end};
use super::message_sizes::{message_sizes, refinement_sizes};
use super::protocol_threshold::{ProtocolThresholds, SizeLimit, largest_size, majority_of_three};
use super::{BenchError, BenchQuantity, BenchRecord, BenchSettings, ProcessBinding};
use crate::{MessageMetric, Named, PairClass};

/// Metrics that are requested; starting a send and waiting for it are measured together.
const MEASURED_METRICS: [MessageMetric; 6] = [
    MessageMetric::Send,
    MessageMetric::SynchronousSend,
    MessageMetric::BufferedSend,
    MessageMetric::ReadySend,
    MessageMetric::StartSend,
    MessageMetric::Receive,
];

/// One pair of ranks for each class that occurs: the first that is found.
pub(super) fn representative_pairs(bindings: &[ProcessBinding]) -> Vec<(PairClass, [usize; 2])> {
    let all = || (0..bindings.len()).flat_map(|first| (first + 1..bindings.len()).map(move |second| [first, second]));
    let first = |class: &PairClass| all().find(|[a, b]| bindings[*a].pair_class(&bindings[*b]) == *class).map(|pair| (*class, pair));
    PairClass::ALL.iter().filter_map(first).collect()
}

/// Number of back-to-back round trips of `seconds` one way that makes the cost of the clock negligible; other benchmarks also time messages
/// back to back.
fn train_length(seconds: f64) -> usize {
    const LONG: f64 = 20e-6;
    const MOST: f64 = 32.0;
    (LONG / (2.0 * seconds)).clamp(1.0, MOST) as usize
}

fn overlap_sizes(settings: &BenchSettings) -> Vec<u64> {
    (5..).map(|exponent| 4u64 << (2 * exponent)).take_while(|bytes| *bytes <= settings.max_bytes).step_by(2).collect()
}

/// Measures all metrics between the two processes of a pair.
pub(super) fn measure_pair(leader: &mut BenchLeader, class: PairClass, ranks: [usize; 2], until: Instant) -> Result<(), BenchError> {
    let mut pair =
        PairBench { leader, class, ranks, thresholds: ProtocolThresholds::default(), rough: Vec::new(), known: MedianTimes::new() };
    pair.estimate_transfers(share_end(until, 10))?;
    pair.find_thresholds(share_end(until, 3))?;
    let settings = pair.leader.settings;
    let sizes = message_sizes(settings.max_bytes, settings.quick, &pair.thresholds.known_values());
    let of = |what: MessageMetric| sizes.iter().map(move |bytes| (MessageExchange::Time(what), *bytes));
    pair.measure_all(of(MessageMetric::Transfer).collect(), share_end(until, 4))?;
    let overlap = overlap_sizes(&settings).into_iter().map(|bytes| (MessageExchange::Overlap, bytes));
    // Some time is reserved for sizes that turn out to be needed.
    let main = until.checked_sub(until.saturating_duration_since(Instant::now()) / 8).unwrap_or(until);
    pair.measure_all(MEASURED_METRICS.iter().flat_map(|what| of(*what)).chain(overlap).collect(), main)?;
    pair.measure_again(until)
}

/// Two processes, and what is known of messages between them.
struct PairBench<'l, 't, 'o> {
    leader: &'l mut BenchLeader<'t, 'o>,
    class: PairClass,
    ranks: [usize; 2],
    thresholds: ProtocolThresholds,
    /// Approximate transfer times of a few sizes, ascending.
    rough: Vec<(u64, f64)>,
    /// Median times that have been measured.
    known: MedianTimes,
}

impl PairBench<'_, '_, '_> {
    /// Approximate transfer times of growing sizes, as long as one takes a small part of the time.
    fn estimate_transfers(&mut self, until: Instant) -> Result<(), BenchError> {
        const FACTOR: u64 = 16;
        const TIMES: usize = 3;
        let most = self.leader.settings.max_bytes;
        let sizes = std::iter::successors(Some(1024), |bytes| Some(bytes * FACTOR)).take_while(|bytes| *bytes < most);
        for bytes in [0].into_iter().chain(sizes).chain([most]) {
            let times = if bytes == 0 { 20 } else { TIMES };
            let expected = 2.0 * times as f64 * self.estimated_time(bytes);
            if bytes > 0 && expected > until.saturating_duration_since(Instant::now()).as_secs_f64() {
                break;
            }
            let task = self.exchange_task(MessageExchange::Time(MessageMetric::Transfer), bytes);
            let round = self.leader.run_exchange(self.ranks, ExchangeTask { times, first: 1, train: 1, ..task })?;
            // The least, since waiting for a core is not proportional to the size.
            let seconds = round.values.first().and_then(|values| values.iter().copied().min_by(f64::total_cmp)).unwrap_or(0.0);
            self.rough.push((bytes, seconds));
        }
        let [empty_s, most_s] = [0, most].map(|bytes| self.estimated_time(bytes));
        let known = self.leader.transfer_estimate;
        let byte_s = ((most_s - empty_s) / most as f64).max(0.0);
        self.leader.transfer_estimate = TransferEstimate { empty_s: empty_s.max(known.empty_s), byte_s: byte_s.max(known.byte_s) };
        Ok(())
    }

    /// The result of one exchange: 1 for yes, or a time in seconds.
    fn probe_once(&mut self, exchange: MessageExchange, bytes: u64) -> Result<f64, BenchError> {
        let task = self.exchange_task(exchange, bytes);
        let round = self.leader.run_exchange(self.ranks, task)?;
        Ok(round.values.first().and_then(|values| values.first().copied()).unwrap_or(f64::INFINITY))
    }

    fn exchange_task(&self, exchange: MessageExchange, bytes: u64) -> ExchangeTask {
        // Time after which the other process surely waits.
        let settle = 2e-6 + 4.0 * self.estimated_time(0);
        let settle = match exchange {
            // Only eager messages arrive without the receiver.
            MessageExchange::Time(MessageMetric::Receive) if self.thresholds.eager.bytes().is_none_or(|eager| bytes <= eager) => {
                settle + 2.0 * self.estimated_time(bytes)
            }
            _ => settle,
        };
        let train = if exchange == MessageExchange::Time(MessageMetric::Transfer) { train_length(self.estimated_time(bytes)) } else { 1 };
        let first = self.leader.warmup_count(bytes).div_ceil(train);
        ExchangeTask { exchange, bytes: bytes as usize, first, times: 1, train, settle }
    }

    /// Approximate transfer time: as measured, else on the line through the nearest sizes.
    fn estimated_time(&self, bytes: u64) -> f64 {
        if let Some(seconds) = self.known.get(&MessageMetric::Transfer).and_then(|sizes| sizes.get(&bytes)) {
            return *seconds;
        }
        // The two sizes around this one, or the last two.
        let above = self.rough.partition_point(|(size, _)| *size < bytes).clamp(1, self.rough.len().max(2) - 1);
        match (self.rough.get(above - 1), self.rough.get(above)) {
            (Some((from, low)), Some((to, high))) => low + (high - low) * (bytes as f64 - *from as f64) / (to - from) as f64,
            (Some((_, seconds)), None) => *seconds,
            (None, _) => 0.0,
        }
        .max(0.0)
    }

    fn find_thresholds(&mut self, until: Instant) -> Result<(), BenchError> {
        let most = self.leader.settings.max_bytes;
        let patience = if self.leader.oversubscribed { 0.05 } else { 0.02 };
        let wait = |pair: &Self, bytes: u64| patience + 2.0 * pair.estimated_time(bytes);
        let is_over = |wait: f64| wait > until.saturating_duration_since(Instant::now()).as_secs_f64();
        // A late notification may have other causes, but a notification is certain; so a no is repeated with a longer wait.
        self.thresholds.eager = largest_size(most, |bytes| {
            for patience in [1.0, 2.0, 4.0] {
                let wait = patience * wait(self, bytes);
                if is_over(wait) {
                    return Ok(None);
                }
                if self.probe_once(MessageExchange::Eager(wait), bytes)? == 1.0 {
                    return Ok(Some(true));
                }
            }
            Ok::<_, BenchError>(Some(false))
        })?;
        let of_three = |pair: &mut Self, bytes: u64, test: fn(&mut Self, u64, f64) -> Result<bool, BenchError>| {
            let wait = wait(pair, bytes);
            majority_of_three(|| if is_over(2.0 * wait) { Ok(None) } else { test(pair, bytes, wait).map(Some) })
        };
        // A message that was sent only when the receiver called MPI again took as long as that.
        let is_unattended =
            |pair: &mut Self, bytes: u64, wait: f64| Ok(pair.probe_once(MessageExchange::Unattended(wait), bytes)? < wait / 2.0);
        let found = largest_size(self.thresholds.eager.bytes().unwrap_or(most), |bytes| of_three(self, bytes, is_unattended))?;
        self.thresholds.unattended = if found == SizeLimit::AboveAll { self.thresholds.eager } else { found };
        let is_detached = |pair: &mut Self, bytes: u64, wait: f64| Ok(pair.probe_once(MessageExchange::Detached(wait), bytes)? == 1.0);
        self.thresholds.detached = largest_size(most, |bytes| of_three(self, bytes, is_detached))?;
        Ok(BenchRecord::Thresholds(self.class, self.thresholds).write(self.leader.out)?)
    }

    fn measure_all(&mut self, todo: Vec<(MessageExchange, u64)>, until: Instant) -> Result<(), BenchError> {
        let ranks = self.ranks;
        let points = todo.into_iter().map(|(exchange, bytes)| self.plan_point(exchange, bytes)).collect();
        let measured = self.leader.measure_in_passes(points, until, |leader, task: &ExchangeTask, rounds| {
            leader.run_exchange(ranks, ExchangeTask { first: rounds.first, times: rounds.times, ..*task })
        })?;
        for (point, repetitions) in measured {
            for (quantity, counted) in point.quantities.iter().zip(repetitions.counted()) {
                if let (BenchQuantity::Message { what, .. }, Ok(seconds)) = (quantity, median(&counted.values)) {
                    self.known.entry(*what).or_default().insert(point.bytes, seconds);
                }
            }
        }
        Ok(())
    }

    fn plan_point(&self, exchange: MessageExchange, bytes: u64) -> PlannedPoint<ExchangeTask> {
        let (class, task) = (self.class, self.exchange_task(exchange, bytes));
        let message = |what: MessageMetric| BenchQuantity::Message { class, what };
        let (quantities, transfers) = match exchange {
            MessageExchange::Time(MessageMetric::Transfer) => (vec![message(MessageMetric::Transfer)], 2 * task.train),
            MessageExchange::Time(MessageMetric::StartSend) => {
                (vec![message(MessageMetric::StartSend), message(MessageMetric::WaitSend)], 1)
            }
            MessageExchange::Time(what) => (vec![message(what)], 1),
            // One message alone, and one with computation of twice its time.
            _ => (vec![BenchQuantity::Overlap { class }], 4),
        };
        // Before each message there is a notification, and time to settle.
        let notified_s =
            if exchange == MessageExchange::Time(MessageMetric::Transfer) { 0.0 } else { self.estimated_time(0) + task.settle };
        let repetition_s = transfers as f64 * self.estimated_time(bytes) + notified_s;
        PlannedPoint { key: task, quantities, bytes, repetition_s, warmups: task.first }
    }

    /// Measures again what other measurements contradict, and more sizes where the times are far from linear.
    fn measure_again(&mut self, until: Instant) -> Result<(), BenchError> {
        let most = if self.leader.settings.quick { 4 } else { 12 };
        let task = |what: MessageMetric| match what {
            MessageMetric::WaitSend => MessageExchange::Time(MessageMetric::StartSend),
            what => MessageExchange::Time(what),
        };
        let mut todo: Vec<(MessageExchange, u64)> =
            contradictions(&self.known, &self.thresholds.known_values()).iter().map(|time| (task(time.what), time.bytes)).collect();
        // Waiting for a send that was copied takes less than the clock resolves: no line goes through that.
        for (what, sizes) in self.known.iter().filter(|(what, _)| **what != MessageMetric::WaitSend) {
            let points: Vec<(u64, f64)> = sizes.iter().map(|(bytes, seconds)| (*bytes, *seconds)).collect();
            todo.extend(refinement_sizes(&points, most).into_iter().map(|bytes| (task(*what), bytes)));
        }
        let mut different: Vec<(MessageExchange, u64)> = Vec::with_capacity(todo.len());
        todo.into_iter().for_each(|point| {
            if !different.contains(&point) {
                different.push(point)
            }
        });
        self.measure_all(different, until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn binding(host: &str) -> ProcessBinding {
        ProcessBinding { host: host.into(), processor: "x".into(), cores: 1, allowed: vec![], caches: vec![], processor_share: 1.0 }
    }

    #[test]
    fn each_class_has_one_pair() {
        let bindings = ["a", "b", "b"].map(binding);
        assert_eq!(representative_pairs(&bindings), [(PairClass::SameNode, [1, 2]), (PairClass::OtherNode, [0, 1])]);
    }

    #[test]
    fn short_messages_are_timed_many_at_a_time() {
        assert_eq!([0.4e-6, 5e-6, 1e-3, 0.0].map(train_length), [25, 2, 1, 32]);
    }

    #[test]
    fn overlap_is_measured_at_a_few_sizes() {
        let settings = BenchSettings { seed: 1, max_bytes: 4 << 20, budget: Duration::ZERO, ends: Duration::ZERO, quick: false };
        assert_eq!(overlap_sizes(&settings), [4 << 10, 64 << 10, 1 << 20]);
    }
}
