//! Copies memory that may not be mapped: the kernel answers with an error where an access would raise a signal.

use std::io;

/// Why memory was not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyFailure {
    /// It cannot be read.
    Unmapped,
    /// The kernel does not copy here, as in some containers.
    NotPermitted,
}

/// Copies the memory at an address.
pub(crate) fn copy(address: u64, bytes: &mut [u8]) -> Result<(), CopyFailure> {
    let own = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let other = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
    // SAFETY: the kernel copies into our buffer; memory that cannot be read is an error.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &own, 1, &other, 1, 0) };
    match copied {
        copied if copied == bytes.len() as isize => Ok(()),
        -1 if io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT) => Err(CopyFailure::NotPermitted),
        _ => Err(CopyFailure::Unmapped),
    }
}

/// Keeps the program's `errno`: it must not see the errors of our calls.
pub(crate) fn preserving_errno<T>(access: impl FnOnce() -> T) -> T {
    // SAFETY: this thread's errno.
    let before = unsafe { *libc::__errno_location() };
    let result = access();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = before };
    result
}
