//! Pieces of work that a master sends to its workers, as the probe sees them in MPI calls, and how it sizes the next one.
//!
//! The analyzer is too far away to set the size of each piece: it sets the parameters of the chunking, and the process applies them at the
//! call that precedes a piece.

use serde::{Deserialize, Serialize};

use crate::value_location::ValueLocation;

/// A number in the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberLocation {
    /// Its location.
    pub location: ValueLocation,
    /// Whether it is a floating-point number; otherwise it is an integer.
    pub is_float: bool,
}

impl NumberLocation {
    /// The bits of a count; the largest possible one if the variable cannot hold it.
    pub fn encode(&self, count: u64) -> u64 {
        match (self.is_float, self.location.bits) {
            (true, 32) => u64::from((count as f32).to_bits()),
            (true, _) => (count as f64).to_bits(),
            // The sign bit stays clear, also where there is none.
            (false, bits) => count.min((1 << (u32::from(bits).clamp(2, 64) - 1)) - 1),
        }
    }

    /// The count with these bits; `None` if it is negative or not a number.
    pub fn decode(&self, bits: u64) -> Option<u64> {
        let float = |value: f64| (0.0..1e18).contains(&value).then_some(value as u64);
        match (self.is_float, self.location.bits) {
            (true, 32) => float(f32::from_bits(bits as u32).into()),
            (true, _) => float(f64::from_bits(bits)),
            (false, width) => Some(bits).filter(|bits| bits >> (u32::from(width).clamp(2, 64) - 1) == 0),
        }
    }
}

/// Where the number of tasks of a round is known from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PieceTotal {
    /// From earlier rounds.
    #[default]
    Observed,
    /// It is always the same.
    Number(u64),
    /// From a variable, read whenever a piece is sent or answered.
    Variable(NumberLocation),
}

/// When the size of the next piece is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum PieceMoment {
    /// When the master has received from a worker. The first piece of every worker in a round has the same size.
    #[default]
    Answer,
    /// Also when the master has sent a piece.
    Send,
    /// When a hooked function asks for it ([`PieceParameter::Next`]).
    Function,
}

/// How a process finds and sizes pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PieceSettings {
    /// The variable with the number of tasks of the next piece.
    pub variable: Option<NumberLocation>,
    /// The number of tasks of a round.
    pub total: PieceTotal,
    /// Tag of the messages with work; found if not given.
    pub tag: Option<i32>,
    /// When the variable is written.
    pub moment: PieceMoment,
    /// Whether this process is known to be the master; otherwise it is found by its messages.
    pub is_master: bool,
    /// Fewest tasks of a piece.
    pub least: u64,
}

/// A parameter of the chunking in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PieceParameter {
    /// Share of the remaining tasks in the first, the second and later batches.
    Factor(u8),
    /// Chunks per batch.
    Chunks,
    /// Tasks held back.
    Margin,
    /// Tasks of the first chunk, instead of batches.
    Chunk,
    /// Decrement of the chunk.
    Decrement,
    /// Relative chunk size of a worker, from 0.
    Weight(u32),
    /// 1: the variable is written. 0: it gets its initial value back.
    Enabled,
    /// The size of the next piece is written now.
    Next,
}

impl std::fmt::Display for PieceParameter {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PieceParameter::Factor(batch) => write!(out, "F{batch}"),
            PieceParameter::Chunks => out.write_str("chunks"),
            PieceParameter::Margin => out.write_str("margin"),
            PieceParameter::Chunk => out.write_str("first"),
            PieceParameter::Decrement => out.write_str("decrement"),
            PieceParameter::Weight(worker) => write!(out, "weight {}", worker + 1),
            PieceParameter::Enabled => out.write_str("enabled"),
            PieceParameter::Next => out.write_str("next"),
        }
    }
}

/// Event numbers, in place of an MPI function's index: a piece is sent (entry) and answered (exit).
///
/// Entry: tasks, worker, first task, round, bytes, number of tasks of the round (0 if unknown).
/// Exit: tasks, worker, 1 if the round is over, round, bytes, ticks of its sending.
pub const PIECE: u16 = u16::MAX;
/// A worker has computed: bytes of the message it received before, its peer, 0, 0, 0, and the ticks of the receive's end. Exit only.
pub const COMPUTATION: u16 = u16::MAX - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_encoded_as_the_variable_is() {
        let number = |bytes, is_float| NumberLocation { location: ValueLocation::at(0, bytes), is_float };
        for (bytes, is_float) in [(4, false), (8, false), (4, true), (8, true), (2, false)] {
            let number = number(bytes, is_float);
            assert_eq!(number.decode(number.encode(1000)), Some(1000), "{number:?}");
        }
        assert_eq!(number(1, false).encode(1000), 127);
        assert_eq!((number(4, false).decode(0xffff_ffff), number(8, true).decode(f64::NAN.to_bits())), (None, None));
    }
}
