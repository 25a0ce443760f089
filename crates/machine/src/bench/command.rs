//! Commands of the leading process, and the answers to them.

use serde::{Deserialize, Serialize};

use super::host_use::HostTicks;
use super::repetitions::TimedRound;
use super::sample::BenchSample;
use crate::{CollectiveKind, MessageMetric};

/// What two processes do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum MessageExchange {
    /// Time it.
    Time(MessageMetric),
    /// Time it until an empty answer arrives.
    Answered,
    /// Measure how much of it computation hides.
    Overlap,
    /// Test whether it is sent before it is received; the receiver waits in MPI for this many seconds first.
    Eager(f64),
    /// The same, while the receiver does not call MPI.
    Unattended(f64),
    /// Test whether it is copied at once.
    Detached(f64),
}

/// An exchange with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct ExchangeTask {
    /// The exchange.
    pub exchange: MessageExchange,
    /// Message size.
    pub bytes: usize,
    /// Warm-up rounds.
    pub first: usize,
    /// Measured rounds.
    pub times: usize,
    /// For transfers: round trips between two readings of the clock.
    pub train: usize,
    /// Seconds until the other process is surely waiting.
    pub settle: f64,
}

/// A collective with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct CollectiveTask {
    /// The collective.
    pub what: CollectiveKind,
    /// Message size.
    pub bytes: usize,
    /// Warm-up rounds.
    pub first: usize,
    /// Measured rounds.
    pub times: usize,
}

/// Number of warm-up rounds. Processes were asleep, and libraries cycle through internal buffers; short messages are slow until both effects
/// are over.
pub(super) fn default_warmup_count(bytes: u64) -> usize {
    const MOST: usize = 32;
    const ENOUGH: u64 = 128 << 10;
    ENOUGH.checked_div(bytes).map_or(MOST, |times| times.clamp(1, MOST as u64) as usize)
}

/// A command to a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum BenchCommand {
    /// Measure a message exchange with the other rank.
    Measure(ExchangeTask, usize),
    /// Take part in the other rank's measurement.
    Assist(ExchangeTask, usize),
    /// Create a communicator of the first N processes.
    Gather(usize),
    /// Run a collective in the communicator.
    Join(CollectiveTask),
    /// Free the communicator.
    Dissolve,
    /// Measure computation on this node type, with a seed, within this many seconds.
    Compute(usize, u64, f64),
    /// Measure memory: node type, working set size, seed, seconds.
    Memory(usize, u64, u64, f64),
    /// Be busy, and tell the share of a processor that a quota leaves.
    ProcessorShare,
    /// End of the launch; answered with the use of the host.
    Leave,
}

/// Answer to a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum BenchAnswer {
    /// Timed values.
    Round(TimedRound),
    /// The share of the other rank's measurement that this one waited for a core.
    Assisted(f64),
    /// Samples.
    Samples(Vec<BenchSample>),
    /// The share of a processor.
    ProcessorShare(f64),
    /// The use of the host since the start.
    HostTicks(HostTicks),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_get_more_warmup() {
        assert_eq!([0, 8, 4096, 16 << 10, 128 << 10, 4 << 20].map(default_warmup_count), [32, 32, 32, 8, 1, 1]);
    }
}
