//! LogGOPS parameters, and how they follow from a machine file.

use sintonia_machine::{Machine, MessageMetric, Named, NetworkCosts, PairClass};

use super::GoalError;
use crate::interval_bound::IntervalBound;
use crate::platform::{MessageCost, Platform};
use crate::send_mode::SendMode;

/// Parameters of the LogGOPS model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogGopsParameters {
    /// `L`: latency.
    pub latency_s: f64,
    /// `o`: CPU overhead of a send or receive.
    pub overhead_s: f64,
    /// `g`: gap between two messages of a NIC.
    pub gap_s: f64,
    /// `G`: gap per byte.
    pub gap_s_per_byte: f64,
    /// `O`: CPU overhead per byte.
    pub overhead_s_per_byte: f64,
    /// `S`: largest eager message.
    pub eager_bytes: u64,
}

/// Cost of the first byte and of each further one, in seconds.
#[derive(Clone, Copy)]
struct ByteCost {
    first_byte_s: f64,
    next_byte_s: f64,
}

impl LogGopsParameters {
    /// A network without costs.
    pub(crate) const IDEAL: LogGopsParameters = LogGopsParameters {
        latency_s: 0.0,
        overhead_s: 0.0,
        gap_s: 0.0,
        gap_s_per_byte: 0.0,
        overhead_s_per_byte: 0.0,
        eager_bytes: u64::MAX,
    };

    /// Parameters between nodes: `o` and `O` from `send` and `receive` (their mean), `g` and `G` from `gap`, `L` from `transfer`, which is
    /// `o + L + o` for one byte, and `S` from `eager_bytes`. Of a piecewise timing, the first byte is taken from the first piece and
    /// further ones from the last. Without `gap`, messages follow each other as the CPU and `transfer` allow.
    pub fn from_machine(machine: &Machine, end: IntervalBound) -> Result<LogGopsParameters, GoalError> {
        let network = machine.network(PairClass::OtherNode).ok_or(GoalError::NoNetwork)?;
        let needed = |message| byte_cost(network, message, end).ok_or(GoalError::NoTiming { key: MessageMetric::name(message) });
        let (send, receive, transfer) = (needed(MessageMetric::Send)?, needed(MessageMetric::Receive)?, needed(MessageMetric::Transfer)?);
        let overhead_s = (send.first_byte_s + receive.first_byte_s) / 2.0;
        let gap =
            byte_cost(network, MessageMetric::Gap, end).unwrap_or(ByteCost { first_byte_s: overhead_s, next_byte_s: transfer.next_byte_s });
        Ok(LogGopsParameters {
            latency_s: (transfer.first_byte_s - send.first_byte_s - receive.first_byte_s).max(0.0),
            overhead_s,
            gap_s: gap.first_byte_s,
            gap_s_per_byte: gap.next_byte_s,
            overhead_s_per_byte: (send.next_byte_s + receive.next_byte_s) / 2.0,
            eager_bytes: network.eager_bytes.unwrap_or(u64::MAX),
        })
    }

    /// Parameters with which the engine's messages between nodes agree best: what one byte costs, and each further one on average. Links of a
    /// topology count as if nobody else used them.
    pub(crate) fn from_platform(platform: &Platform) -> LogGopsParameters {
        let first_node = platform.nodes.first();
        let other = platform.nodes.iter().position(|node| Some(node) != first_node).unwrap_or(0) as u32;
        let [one, many] = [1, MANY_BYTES].map(|bytes| platform.message_cost(0, other, bytes, SendMode::Standard));
        let per_byte = |time: fn(&MessageCost) -> f64| ((time(&many) - time(&one)) / (MANY_BYTES - 1) as f64).max(0.0);
        let links = if platform.has_shared_links() { platform.latency_and_byte_cost() } else { (0.0, 0.0) };
        LogGopsParameters {
            latency_s: (one.transfer_time() - one.send).max(links.0),
            overhead_s: (one.send + one.receive) / 2.0,
            gap_s: one.occupancy,
            gap_s_per_byte: per_byte(MessageCost::transfer_time).max(links.1),
            overhead_s_per_byte: per_byte(|cost| cost.send),
            eager_bytes: platform.min_eager_bytes(),
        }
    }
}

/// A message so large that only its bytes count.
const MANY_BYTES: u64 = 1 << 30;

fn byte_cost(network: &NetworkCosts, message: MessageMetric, end: IntervalBound) -> Option<ByteCost> {
    let pieces = &network.messages.get(&message)?.pieces;
    let (_, per_byte) = pieces.last().bounds()[end as usize];
    Some(ByteCost { first_byte_s: pieces.at(1.0)[end as usize].max(0.0), next_byte_s: per_byte.max(0.0) })
}
