//! Access to the memory of another process, whatever the means.

/// Memory of another process.
pub(crate) trait RemoteMemory {
    /// Reads bytes.
    fn read(&self, address: u64, bytes: &mut [u8]) -> std::io::Result<()>;
    /// Writes bytes.
    fn write(&self, address: u64, bytes: &[u8]) -> std::io::Result<()>;
}
