//! Writes to the program's code through `/proc/self/mem`, so that no page is ever writable and executable at once, and no thread finds a
//! page without execute permission.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Writes bytes over code.
pub(crate) fn write(address: u64, bytes: &[u8]) -> io::Result<()> {
    File::options().write(true).open("/proc/self/mem")?.write_all_at(bytes, address)
}

/// Reads bytes that may be unmapped.
pub(crate) fn read(address: u64, bytes: &mut [u8]) -> io::Result<()> {
    File::open("/proc/self/mem")?.read_exact_at(bytes, address)
}
