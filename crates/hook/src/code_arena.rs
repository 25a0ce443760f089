//! Code memory near a function: a near jump reaches two gigabytes.

use std::io;
use std::sync::Mutex;

/// Size of an arena.
const ARENA_BYTES: usize = 1 << 16;
/// Maximum distance; a little less than a jump reaches.
const MAX_DISTANCE: u64 = 0x7000_0000;
/// The system maps nothing below this address.
const MIN_ADDRESS: u64 = 1 << 16;

/// Mapped memory and how much of it is used. Never freed, because a thread may return into it at any time.
struct CodeArena {
    begin: u64,
    used: usize,
}

static ARENAS: Mutex<Vec<CodeArena>> = Mutex::new(Vec::new());

/// Allocates code memory near an address; `None` if there is no free space nearby.
pub(crate) fn allocate(address: u64, bytes: usize) -> Option<u64> {
    let bytes = bytes.next_multiple_of(16);
    let mut arenas = ARENAS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let fits = |arena: &&mut CodeArena| arena.begin.abs_diff(address) < MAX_DISTANCE && arena.used + bytes <= ARENA_BYTES;
    if let Some(arena) = arenas.iter_mut().find(fits) {
        arena.used += bytes;
        return Some(arena.begin + (arena.used - bytes) as u64);
    }
    let begin = map_nearest_gap(address)?;
    arenas.push(CodeArena { begin, used: bytes });
    Some(begin)
}

/// Maps an arena in the nearest gap of the address space.
fn map_nearest_gap(address: u64) -> Option<u64> {
    let mut addresses = gap_edges(&std::fs::read_to_string("/proc/self/maps").ok()?);
    addresses.sort_by_key(|candidate| candidate.abs_diff(address));
    addresses
        .into_iter()
        .take_while(|candidate| candidate.abs_diff(address) < MAX_DISTANCE - ARENA_BYTES as u64)
        .find(|candidate| map(*candidate).is_ok())
}

/// Start and end of sufficiently large gaps.
fn gap_edges(maps: &str) -> Vec<u64> {
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let mapped = maps.lines().filter_map(|line| {
        let (begin, end) = line.split_once(' ')?.0.split_once('-')?;
        Some((hexadecimal(begin)?, hexadecimal(end)?))
    });
    let (mut before, mut addresses) = (MIN_ADDRESS, Vec::new());
    for (begin, end) in mapped {
        if begin.saturating_sub(before) >= ARENA_BYTES as u64 {
            addresses.extend([before, begin - ARENA_BYTES as u64]);
        }
        before = end.max(MIN_ADDRESS);
    }
    addresses
}

fn map(address: u64) -> io::Result<()> {
    let rights = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces no other.
    let memory = unsafe { libc::mmap(address as *mut _, ARENA_BYTES, rights, flags, -1, 0) };
    match memory {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        memory if memory as u64 == address => Ok(()),
        // Older kernels ignore MAP_FIXED_NOREPLACE and treat the address as a hint.
        elsewhere => {
            // SAFETY: the memory was just mapped, and nothing refers to it.
            unsafe { libc::munmap(elsewhere, ARENA_BYTES) };
            Err(io::ErrorKind::AlreadyExists.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_near_and_never_given_twice() {
        let here = room_is_near_and_never_given_twice as *const () as u64;
        let addresses: Vec<u64> = (0..2000).map(|_| allocate(here, 100).expect("there is room")).collect();
        assert!(addresses.iter().all(|address| address.abs_diff(here) < MAX_DISTANCE && address % 16 == 0));
        let mut sorted = addresses.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 112));
    }

    #[test]
    fn gaps_lie_between_what_is_mapped() {
        let maps = "00400000-00500000 r-xp 0 0:0 0 a\n00500000-00501000 rw-p 0 0:0 0 a\n7f0000000000-7f0000001000 r--p 0 0:0 0 b\n";
        assert_eq!(gap_edges(maps), [0x1_0000, 0x40_0000 - 0x1_0000, 0x50_1000, 0x7f00_0000_0000 - 0x1_0000]);
    }
}
