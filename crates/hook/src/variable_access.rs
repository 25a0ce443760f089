//! Reads and writes variables of the program without ever faulting: a pointer may dangle, an array may not be allocated, a constant is in
//! read-only memory. The kernel is asked to copy or to test the memory, and answers with an error where an access would raise a signal.

use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use sintonia_link::value_location::{AccessError, ValueLocation};

use crate::checked_memory::{self, CopyFailure, preserving_errno};
use crate::memory;

/// Bytes that a value of 64 bits may touch if it does not start at a byte.
const MOST_BYTES: usize = 9;

/// Recorded for a value behind a null pointer, also by the stub.
pub(crate) const NULL_POINTER: u64 = AccessError::NullPointer.marker();

/// Called by the stub for a computed location: the value, or the marker of the reason why there is none.
///
/// # Safety
/// `location` must be one that a list of values to read holds.
pub(crate) unsafe extern "C" fn compute(_cursor: *mut c_void, location: *const ValueLocation, _moment: u32) -> u64 {
    // SAFETY: as the caller promises; it is never freed.
    read(unsafe { &*location }).unwrap_or_else(AccessError::marker)
}

/// Reads a value without ever faulting.
pub fn read(location: &ValueLocation) -> Result<u64, AccessError> {
    preserving_errno(|| {
        let address = location.address(thread_pointer(), load_word)?;
        let mut bytes = [0; 16];
        let touched = (usize::from(location.first_bit) + usize::from(location.bits)).div_ceil(8).min(MOST_BYTES);
        read_bytes(address, &mut bytes[..touched]).map_err(|_| AccessError::Unmapped)?;
        Ok((u128::from_le_bytes(bytes) >> location.first_bit) as u64 & location.mask())
    })
}

/// Writes a value and returns the old one. Other bits of the same word are not changed, whichever thread writes them meanwhile.
///
/// # Safety
/// The location must be that of a value that the program tolerates to be changed.
pub(crate) unsafe fn write(location: &ValueLocation, bits: u64) -> Result<u64, AccessError> {
    let (word, shift) = preserving_errno(|| writable_word(location))?;
    let mask = location.mask() << shift;
    // SAFETY: aligned, mapped and writable, as was just tested. The program accesses it concurrently, which an atomic access tolerates.
    let word = unsafe { &*(word as *const AtomicU64) };
    let old = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| Some(now & !mask | bits << shift & mask));
    let old = old.expect("the update always has a value");
    Ok(old >> shift & location.mask())
}

/// Address of the aligned word that holds a value, and the value's first bit there.
fn writable_word(location: &ValueLocation) -> Result<(u64, u32), AccessError> {
    let address = location.address(thread_pointer(), load_word)?;
    let word = address & !7;
    let shift = 8 * (address - word) as u32 + u32::from(location.first_bit);
    if shift + u32::from(location.bits) > u64::BITS {
        return Err(AccessError::Unaligned);
    }
    load_word(word).ok_or(AccessError::Unmapped)?;
    if !is_writable(word) {
        return Err(AccessError::ReadOnly);
    }
    Ok((word, shift))
}

/// Whether an aligned word may be written: the kernel adds 0 to it, atomically.
fn is_writable(word: u64) -> bool {
    const ADD_ZERO: u64 = (libc::FUTEX_OP_ADD as u64) << 28;
    /// Nobody waits here.
    static UNUSED: AtomicU64 = AtomicU64::new(0);
    // SAFETY: changes nothing; memory that may not be written is an error. It may wake a thread that waits for a change of this word, which
    // must expect that.
    let result =
        unsafe { libc::syscall(libc::SYS_futex, UNUSED.as_ptr(), libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG, 0, 0, word, ADD_ZERO) };
    result >= 0
}

/// The word at an address, if it can be read.
fn load_word(address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    read_bytes(address, &mut bytes).ok().map(|()| u64::from_le_bytes(bytes))
}

/// Copies memory that may not be mapped.
fn read_bytes(address: u64, bytes: &mut [u8]) -> io::Result<()> {
    match checked_memory::copy(address, bytes) {
        Ok(()) => Ok(()),
        Err(CopyFailure::NotPermitted) => memory::read(address, bytes),
        Err(CopyFailure::Unmapped) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// This thread's pointer to its thread-local storage.
fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the first word there is the pointer itself (System V ABI for x86-64).
    unsafe { core::arch::asm!("mov {pointer}, qword ptr fs:0", pointer = out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

#[cfg(test)]
mod tests {
    use sintonia_link::value_location::AddressStep;

    use super::*;

    /// A page with these rights, filled with a pattern before.
    fn page(rights: i32) -> u64 {
        // SAFETY: a new mapping.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(page, libc::MAP_FAILED);
            page.cast::<u64>().write(0x1122_3344_5566_7788);
            page.cast::<u64>().add(1).write(0x99aa_bbcc_ddee_ff00);
            assert_eq!(libc::mprotect(page, 4096, rights), 0);
            page as u64
        }
    }

    #[test]
    fn bit_fields_are_read_and_written_beside_their_neighbours() {
        let address = page(libc::PROT_READ | libc::PROT_WRITE);
        let field = |offset, first_bit, bits| ValueLocation { steps: vec![AddressStep::Constant(address + offset)], first_bit, bits };
        assert_eq!(read(&field(0, 4, 8)), Ok(0x78), "bits 4 to 11 of 0x7788");
        // SAFETY: our own page.
        assert_eq!(unsafe { write(&field(1, 2, 3), 0b101) }, Ok(0x77 >> 2 & 7));
        let word = 0x1122_3344_5566_7788 & !(7 << 10) | 0b101 << 10;
        assert_eq!(read(&field(0, 0, 64)), Ok(word));
        assert_eq!(read(&field(8, 0, 64)), Ok(0x99aa_bbcc_ddee_ff00));
        assert_eq!(read(&field(4, 0, 64)), Ok(0xddee_ff00_1122_3344), "not aligned");
        // SAFETY: our own page.
        assert_eq!(unsafe { write(&field(4, 0, 64), 0) }, Err(AccessError::Unaligned));
    }

    #[test]
    fn memory_without_rights_is_refused() {
        let constant = ValueLocation::at(page(libc::PROT_READ), 4);
        assert_eq!(read(&constant), Ok(0x5566_7788));
        // SAFETY: it is refused.
        assert_eq!(unsafe { write(&constant, 1) }, Err(AccessError::ReadOnly));
        let forbidden = ValueLocation::at(page(libc::PROT_NONE), 4);
        assert_eq!(read(&forbidden), Err(AccessError::Unmapped));
        for address in [0x10, 0xdead_beef_dead_bee8, page(libc::PROT_READ) - (1 << 40)] {
            // SAFETY: it is refused.
            assert_eq!(unsafe { write(&ValueLocation::at(address, 8), 1) }, Err(AccessError::Unmapped), "{address:#x}");
        }
    }

    #[test]
    fn errno_stays() {
        // SAFETY: this thread's errno.
        unsafe { *libc::__errno_location() = libc::ENOTTY };
        assert_eq!(read(&ValueLocation::at(0x10, 8)), Err(AccessError::Unmapped));
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn each_thread_reads_its_own_thread_local_value() {
        std::thread_local!(static OWN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) });
        let location = |address: u64| {
            let offset = address.wrapping_sub(thread_pointer());
            ValueLocation {
                steps: vec![AddressStep::ThreadPointer, AddressStep::Constant(offset), AddressStep::Add],
                first_bit: 0,
                bits: 64,
            }
        };
        let location = location(OWN.with(|own| own.as_ptr() as u64));
        for value in [5, 6] {
            let location = location.clone();
            let seen = std::thread::spawn(move || {
                OWN.set(value);
                read(&location)
            });
            assert_eq!(seen.join().expect("ended"), Ok(value));
        }
    }
}
