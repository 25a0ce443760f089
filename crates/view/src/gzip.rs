//! Compression, for the server and the standalone file.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compresses bytes with gzip.
pub(crate) fn compress(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}
