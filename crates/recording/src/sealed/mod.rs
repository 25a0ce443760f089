//! The files of a sealed recording: small on disk, quick to read, and readable up to where they were cut.
//!
//! Each rank has one file, `rank-00000.calls`: a file header, then blocks. A block belongs to one thread and can be read without any other.
//! All numbers are little endian.
//!
//! ```text
//! file header   8 bytes "SINCALLS" | format u32 | rank u32
//! block header  4 bytes "SBLK" | CRC-32 of the rest of this header | CRC-32 of the body | bytes of the body u32
//!               | calls u32 | shapes u32 | bytes of the dictionary u32 | thread u16 | kind u8 | width u8
//!               | number of the first request u64 | ticks at which the first call was entered u64
//! body, kind 0  dictionary | number of each call's shape, `width` bytes each | one control byte per call | bytes of the times
//! body, kind 1  dictionary | six u64 per shape: calls, ticks, least ticks, most ticks, bytes sent, bytes received
//! ```
//!
//! * The dictionary holds every shape of the block once, written as the difference from a similar one.
//! * A width of 0 means that every call has a shape of its own, in order.
//! * The low half of a control byte is the length in bytes (0 to 8) of the ticks since the call before was left, the high half that of the
//!   ticks the call took. Both numbers stand one after the other in the bytes of the times.
//! * Kind 1 is written instead of kind 0 where only sums were recorded.
//!
//! The two checksums keep damage small: where the body is damaged the block is skipped, where the header is, the file ends.

mod block;
mod dictionary;
mod reader;
pub mod varint;
mod writer;

pub use block::Sums;
pub(crate) use block::{Block, HEADER_BYTES as BLOCK_HEADER_BYTES, Header as BlockHeader, Place, Rows, SLACK};
pub(crate) use dictionary::{Operations, decode as read_shapes};
pub(crate) use reader::{Blocks, Fault, Merge};
pub use writer::{Writer, Written};

/// The name of a rank's file inside a recording.
pub fn file_name(rank: u32) -> String {
    format!("rank-{rank:05}.calls")
}
