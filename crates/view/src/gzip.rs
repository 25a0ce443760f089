//! Packing, for both homes of the page.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Some bytes, packed.
pub fn packed(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), level);
    // Memory takes everything that is written to it.
    let _ = packer.write_all(bytes);
    packer.finish().unwrap_or_default()
}
