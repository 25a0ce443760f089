//! The six numbers of the LogGOPS model, and where they stand in a machine file.

use sintonia_machine::{Machine, Message, Named, Network, PairClass};

use super::Error;
use crate::platform::End;

/// A machine of the LogGOPS model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loggps {
    /// `L`: what the first byte of a message takes from node to node.
    pub latency_s: f64,
    /// `o`: what a processor takes to send or to take in a message.
    pub overhead_s: f64,
    /// `g`: the least time between two messages of a network interface.
    pub gap_s: f64,
    /// `G`: what each byte but the first adds to that.
    pub gap_s_per_byte: f64,
    /// `O`: what each byte but the first adds to the work of the processor.
    pub overhead_s_per_byte: f64,
    /// `S`: the largest message that is sent though nobody receives it yet.
    pub eager_bytes: u64,
}

/// Seconds of one byte and of each further one.
#[derive(Clone, Copy)]
struct Cost {
    one: f64,
    further: f64,
}

impl Loggps {
    /// The machine between nodes of a machine file: `o` and `O` from `send` and `receive` (their mean), `g` and `G` from `gap`, `L` from
    /// `transfer`, which is `o + L + o` for one byte, and `S` from `eager_bytes`. Where a timing has several pieces, one byte is that of the
    /// first and a further one that of the last. Without `gap`, messages follow each other as the processor and `transfer` allow.
    pub fn from_machine(machine: &Machine, end: End) -> Result<Loggps, Error> {
        let network = machine.network(PairClass::OtherNode).ok_or(Error::NoNetwork)?;
        let needed = |message| cost(network, message, end).ok_or(Error::NoTiming { key: Message::name(message) });
        let (send, receive, transfer) = (needed(Message::Send)?, needed(Message::Receive)?, needed(Message::Transfer)?);
        let overhead_s = (send.one + receive.one) / 2.0;
        let gap = cost(network, Message::Gap, end).unwrap_or(Cost { one: overhead_s, further: transfer.further });
        Ok(Loggps {
            latency_s: (transfer.one - send.one - receive.one).max(0.0),
            overhead_s,
            gap_s: gap.one,
            gap_s_per_byte: gap.further,
            overhead_s_per_byte: (send.further + receive.further) / 2.0,
            eager_bytes: network.eager_bytes.unwrap_or(u64::MAX),
        })
    }
}

fn cost(network: &Network, message: Message, end: End) -> Option<Cost> {
    let pieces = &network.messages.get(&message)?.pieces;
    let which = |figures: [f64; 3]| figures[end as usize].max(0.0);
    Some(Cost { one: which(pieces.at(1.0)), further: which(pieces.last().slope.into()) })
}
