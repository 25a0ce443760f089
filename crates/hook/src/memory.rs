//! Writing into the program's code. Code cannot be written to; the system does it for us through a file, so that no page is ever both
//! writable and executable, and no thread ever finds a page without the right to execute.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Writes bytes over code.
pub fn write(address: u64, bytes: &[u8]) -> io::Result<()> {
    File::options().write(true).open("/proc/self/mem")?.write_all_at(bytes, address)
}

/// Reads bytes that may not be there.
pub fn read(address: u64, bytes: &mut [u8]) -> io::Result<()> {
    File::open("/proc/self/mem")?.read_exact_at(bytes, address)
}
