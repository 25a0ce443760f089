//! Messages between hosts as bytes.

use std::io;

use serde::{Deserialize, Serialize};

/// Encodes a message.
pub(super) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_allocvec(message).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Decodes a message.
pub(super) fn decode<'bytes, T: Deserialize<'bytes>>(bytes: &'bytes [u8]) -> io::Result<T> {
    postcard::from_bytes(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}
