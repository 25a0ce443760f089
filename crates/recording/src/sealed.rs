//! Files of a sealed recording: compact, fast to read, and readable up to the point where they are truncated.
//!
//! Each rank has one file, `rank-00000.calls`: a file header followed by blocks. A block belongs to one thread and can be decoded
//! independently. All numbers are little endian.
//!
//! ```text
//! file header   8 bytes "SINCALLS" | format u32 | rank u32
//! block header  4 bytes "SBLK" | CRC-32 of the rest of this header | CRC-32 of the body | bytes of the body u32
//!               | calls u32 | descriptors u32 | bytes of the dictionary u32 | thread u16 | kind u8 | width u8
//!               | number of the first request u64 | enter ticks of the first call u64
//! body, kind 0  dictionary | descriptor index of each call, `width` bytes each | one control byte per call | bytes of the times
//! body, kind 1  dictionary | six u64 per descriptor: calls, ticks, shortest, longest, bytes sent, bytes received
//! ```
//!
//! * The dictionary holds every descriptor of the block once, delta-encoded against a similar one.
//! * Width 0 means that every call has its own descriptor, in order.
//! * The low half of a control byte is the length in bytes (0 to 8) of the ticks since the previous call returned, the high half that of
//!   the call's duration in ticks. The two numbers follow each other in the bytes of the times.
//! * Kind 1 replaces kind 0 where only totals were recorded.
//!
//! The two checksums limit damage: a block with a damaged body is skipped; a damaged header ends the file.

mod block;
mod dictionary;
mod reader;
pub mod varint;
mod writer;

pub use block::TickTotals;
pub(crate) use block::{BlockHeader, BlockRows, HEADER_BYTES as BLOCK_HEADER_BYTES, RowPosition, SLACK, SealedBlock};
pub(crate) use dictionary::{FunctionTable, decode as decode_descriptors};
pub(crate) use reader::{BlockReader, FileFault, TableBuilder};
pub use writer::{RankFileWriter, WriteStats};

/// File name of a rank inside a recording.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.calls")
}
