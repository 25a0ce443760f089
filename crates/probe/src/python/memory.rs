//! Reading memory by address: directly, or so that an address that is not mapped is no fault.

use std::ffi::c_void;

/// Addresses below are never mapped.
const FIRST_PAGE: u64 = 4096;

/// Reads memory of this process.
pub(super) trait ReadMemory {
    /// Fills `bytes` with what is at an address; `false` if it is not there.
    fn read_into(&self, address: u64, bytes: &mut [u8]) -> bool;

    /// A word.
    #[inline(always)]
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read_into(address, &mut bytes).then(|| u64::from_ne_bytes(bytes))
    }

    /// Four bytes.
    #[inline(always)]
    fn half_word(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read_into(address, &mut bytes).then(|| u32::from_ne_bytes(bytes))
    }

    /// One byte.
    #[inline(always)]
    fn byte(&self, address: u64) -> Option<u8> {
        let mut bytes = [0; 1];
        self.read_into(address, &mut bytes).then_some(bytes[0])
    }
}

/// Memory that belongs to this thread while it is inside a call: its Python frames, and the objects they refer to.
pub(super) struct OwnMemory;

impl ReadMemory for OwnMemory {
    #[inline(always)]
    fn read_into(&self, address: u64, bytes: &mut [u8]) -> bool {
        if address < FIRST_PAGE {
            return false;
        }
        // SAFETY: the address is one of an object that a frame of this thread refers to, and that was checked to be of its type.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        true
    }
}

/// Any memory: the kernel reads it.
pub(super) struct CheckedMemory;

impl CheckedMemory {
    /// Whether the kernel does that for this process.
    pub(super) fn is_available() -> bool {
        let known = 0x5a5a_1234_u64;
        CheckedMemory.word(&raw const known as u64) == Some(known)
    }
}

impl ReadMemory for CheckedMemory {
    fn read_into(&self, address: u64, bytes: &mut [u8]) -> bool {
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: bytes.len() };
        // SAFETY: the kernel checks the other address, and writes within `bytes`.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
        usize::try_from(read) == Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_no_fault() {
        let value = [7u64, 8];
        assert_eq!(CheckedMemory.word(&raw const value[1] as u64), Some(8));
        assert_eq!([0, 8, 1 << 46, u64::MAX - 3].map(|address| CheckedMemory.word(address)), [None; 4]);
        assert_eq!((OwnMemory.word(&raw const value[0] as u64), OwnMemory.word(16)), (Some(7), None));
    }
}
