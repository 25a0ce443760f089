//! Messages between two processes: thresholds first, then the transfer time, which paces everything else, then the rest.

use std::time::Instant;

use sintonia_fit::sample::median;

use super::command::{ExchangeTask, MessageExchange};
use super::leader::{BenchLeader, FIRST_PASS_SAMPLES, share_end};
use super::message_sizes::{message_sizes, refinement_sizes};
use super::protocol_threshold::{ProtocolThresholds, largest_size, majority_of_three};
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
pub(super) fn measure_pair(leader: &mut BenchLeader, class: PairClass, pair: [usize; 2], until: Instant) -> Result<(), BenchError> {
    let mut pair = PairBench::new(leader, class, pair)?;
    pair.find_thresholds()?;
    let settings = pair.leader.settings;
    let sizes = message_sizes(settings.max_bytes, settings.quick, &pair.thresholds.known_values());
    let of = |what: MessageMetric| sizes.iter().map(move |bytes| (MessageExchange::Time(what), *bytes));
    pair.measure_all(of(MessageMetric::Transfer).collect(), share_end(until, MEASURED_METRICS.len() + 2))?;
    let overlap = overlap_sizes(&settings).into_iter().map(|bytes| (MessageExchange::Overlap, bytes));
    // Some time is reserved for sizes that turn out to be needed.
    let main = until.checked_sub(until.saturating_duration_since(Instant::now()) / 8).unwrap_or(until);
    pair.measure_all(MEASURED_METRICS.iter().flat_map(|what| of(*what)).chain(overlap).collect(), main)?;
    pair.refine(until)
}

/// Two processes, and what is known of messages between them.
struct PairBench<'l, 't, 'o> {
    leader: &'l mut BenchLeader<'t, 'o>,
    class: PairClass,
    ranks: [usize; 2],
    thresholds: ProtocolThresholds,
    /// Approximate time of an empty message.
    empty_time: f64,
    /// Approximate time of the largest message.
    largest_time: f64,
    known_times: Vec<(MessageMetric, u64, f64)>,
}

impl<'l, 't, 'o> PairBench<'l, 't, 'o> {
    fn new(leader: &'l mut BenchLeader<'t, 'o>, class: PairClass, ranks: [usize; 2]) -> Result<Self, BenchError> {
        let thresholds = ProtocolThresholds::default();
        let mut pair = PairBench { leader, class, ranks, thresholds, empty_time: 0.0, largest_time: 0.0, known_times: Vec::new() };
        pair.empty_time = pair.quick_estimate(0, 20)?;
        pair.largest_time = pair.quick_estimate(pair.leader.settings.max_bytes, 3)?;
        Ok(pair)
    }

    /// A transfer time from a few samples.
    fn quick_estimate(&mut self, bytes: u64, times: usize) -> Result<f64, BenchError> {
        let task = self.exchange_task(MessageExchange::Time(MessageMetric::Transfer), bytes);
        let values = self.leader.run_exchange(self.ranks, ExchangeTask { times, train: 1, ..task })?;
        Ok(values.first().and_then(|values| median(values).ok()).unwrap_or(0.0))
    }

    /// The result of one exchange: 1 for yes, or a time in seconds.
    fn probe_once(&mut self, exchange: MessageExchange, bytes: u64) -> Result<f64, BenchError> {
        let task = self.exchange_task(exchange, bytes);
        let values = self.leader.run_exchange(self.ranks, task)?;
        Ok(values.first().and_then(|values| values.first().copied()).unwrap_or(f64::INFINITY))
    }

    fn exchange_task(&self, exchange: MessageExchange, bytes: u64) -> ExchangeTask {
        // Time after which the other process surely waits.
        let settle = 2e-6 + 4.0 * self.empty_time;
        let settle = match exchange {
            // Only eager messages arrive without the receiver.
            MessageExchange::Time(MessageMetric::Receive) if self.thresholds.eager.is_none_or(|eager| bytes <= eager) => {
                settle + 2.0 * self.estimated_time(bytes)
            }
            _ => settle,
        };
        let train = if exchange == MessageExchange::Time(MessageMetric::Transfer) { train_length(self.estimated_time(bytes)) } else { 1 };
        let first = self.leader.warmup_count(bytes).div_ceil(train);
        ExchangeTask { exchange, bytes: bytes as usize, first, times: 1, train, settle }
    }

    /// Approximate transfer time: as measured, else interpolated.
    fn estimated_time(&self, bytes: u64) -> f64 {
        let known = self.known_times.iter().find(|(what, size, _)| *what == MessageMetric::Transfer && *size == bytes);
        let share = bytes as f64 / self.leader.settings.max_bytes.max(1) as f64;
        known.map_or(self.empty_time + self.largest_time * share, |(_, _, seconds)| *seconds)
    }

    fn find_thresholds(&mut self) -> Result<(), BenchError> {
        let most = self.leader.settings.max_bytes;
        let patience = if self.leader.oversubscribed { 0.05 } else { 0.02 };
        let wait = |pair: &Self, bytes: u64| patience + 2.0 * pair.estimated_time(bytes);
        // A late notification may have other causes, but a notification is certain; so a no is repeated with a longer wait.
        self.thresholds.eager = largest_size(most, |bytes| {
            for patience in [1.0, 2.0, 4.0] {
                if self.probe_once(MessageExchange::Eager(patience * wait(self, bytes)), bytes)? == 1.0 {
                    return Ok(true);
                }
            }
            Ok::<_, BenchError>(false)
        })?;
        // A message that was sent only when the receiver called MPI again took as long as that.
        self.thresholds.unattended = largest_size(self.thresholds.eager.unwrap_or(most), |bytes| {
            let wait = wait(self, bytes);
            majority_of_three(|| Ok::<_, BenchError>(self.probe_once(MessageExchange::Unattended(wait), bytes)? < wait / 2.0))
        })?
        .or(self.thresholds.eager);
        self.thresholds.detached = largest_size(most, |bytes| {
            let exchange = MessageExchange::Detached(wait(self, bytes));
            majority_of_three(|| Ok::<_, BenchError>(self.probe_once(exchange, bytes)? == 1.0))
        })?;
        Ok(BenchRecord::Thresholds(self.class, self.thresholds).write(self.leader.out)?)
    }

    fn measure_all(&mut self, todo: Vec<(MessageExchange, u64)>, until: Instant) -> Result<(), BenchError> {
        // Slow points get few samples, and come first so that they get any.
        let (slow, quick): (Vec<_>, Vec<_>) =
            todo.into_iter().partition(|(_, bytes)| self.estimated_time(*bytes) * FIRST_PASS_SAMPLES as f64 > 0.1);
        let passes = [(slow, 2, share_end(until, 2)), (quick, FIRST_PASS_SAMPLES, until)];
        for (todo, times, until) in passes.into_iter().filter(|(todo, _, _)| !todo.is_empty()) {
            let ranks = self.ranks;
            let tasks = todo.into_iter().map(|(exchange, bytes)| self.exchange_task(exchange, bytes)).collect();
            let measured = self.leader.measure_in_passes(tasks, until, times, |leader, task: &ExchangeTask, times| {
                let first = task.first.min(leader.warmup_count(task.bytes as u64));
                leader.run_exchange(ranks, ExchangeTask { first, times, ..*task })
            })?;
            for (task, values) in measured {
                self.report(task.exchange, task.bytes as u64, &values)?;
            }
        }
        Ok(())
    }

    fn report(&mut self, exchange: MessageExchange, bytes: u64, values: &[Vec<f64>]) -> Result<(), BenchError> {
        let class = self.class;
        let what: &[MessageMetric] = match exchange {
            MessageExchange::Time(MessageMetric::StartSend) => &[MessageMetric::StartSend, MessageMetric::WaitSend],
            MessageExchange::Time(ref what) => std::slice::from_ref(what),
            _ => return values.iter().try_for_each(|values| self.leader.report_sample(BenchQuantity::Overlap { class }, bytes, values)),
        };
        for (what, values) in what.iter().zip(values) {
            self.leader.report_sample(BenchQuantity::Message { class, what: *what }, bytes, values)?;
            self.known_times.extend(median(values).ok().map(|middle| (*what, bytes, middle)));
        }
        Ok(())
    }

    /// Measures more sizes where the times are far from linear.
    fn refine(&mut self, until: Instant) -> Result<(), BenchError> {
        let most = if self.leader.settings.quick { 4 } else { 12 };
        let mut todo: Vec<(MessageExchange, u64)> = Vec::new();
        for what in MEASURED_METRICS.into_iter().chain([MessageMetric::Transfer]) {
            let mut points: Vec<(u64, f64)> =
                self.known_times.iter().filter(|known| known.0 == what).map(|(_, bytes, seconds)| (*bytes, *seconds)).collect();
            points.sort_unstable_by_key(|(bytes, _)| *bytes);
            todo.extend(refinement_sizes(&points, most).into_iter().map(|bytes| (MessageExchange::Time(what), bytes)));
        }
        self.measure_all(todo, until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binding(host: &str) -> ProcessBinding {
        ProcessBinding { host: host.into(), processor: "x".into(), cores: 1, allowed: vec![], caches: vec![] }
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
        let settings = BenchSettings { seed: 1, max_bytes: 4 << 20, budget: std::time::Duration::ZERO, quick: false };
        assert_eq!(overlap_sizes(&settings), [4 << 10, 64 << 10, 1 << 20]);
    }
}
