//! Memory for code near a function: a jump of five bytes reaches two gigabytes.

use std::io;
use std::sync::Mutex;

/// So much is taken at once.
const ARENA: usize = 1 << 16;
/// Farther away nothing is placed, though a jump would reach a little more.
const REACH: u64 = 0x7000_0000;
/// Below, the system gives no memory.
const LOWEST: u64 = 1 << 16;

/// Memory that was taken, and how much of it is used. Nothing is ever given back: a thread may return into it at any time.
struct Arena {
    begin: u64,
    used: usize,
}

static ARENAS: Mutex<Vec<Arena>> = Mutex::new(Vec::new());

/// Room for so many bytes of code near an address; `None` if everything near is taken.
pub fn room(address: u64, bytes: usize) -> Option<u64> {
    let bytes = bytes.next_multiple_of(16);
    let mut arenas = ARENAS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let fits = |arena: &&mut Arena| arena.begin.abs_diff(address) < REACH && arena.used + bytes <= ARENA;
    if let Some(arena) = arenas.iter_mut().find(fits) {
        arena.used += bytes;
        return Some(arena.begin + (arena.used - bytes) as u64);
    }
    let begin = take(address)?;
    arenas.push(Arena { begin, used: bytes });
    Some(begin)
}

/// Takes memory in the nearest gap between what is mapped.
fn take(address: u64) -> Option<u64> {
    let mut places = gaps(&std::fs::read_to_string("/proc/self/maps").ok()?);
    places.sort_by_key(|place| place.abs_diff(address));
    places.into_iter().take_while(|place| place.abs_diff(address) < REACH - ARENA as u64).find(|place| map(*place).is_ok())
}

/// Where gaps begin and end that are large enough.
fn gaps(maps: &str) -> Vec<u64> {
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    let mapped = maps.lines().filter_map(|line| {
        let (begin, end) = line.split_once(' ')?.0.split_once('-')?;
        Some((hexadecimal(begin)?, hexadecimal(end)?))
    });
    let (mut before, mut places) = (LOWEST, Vec::new());
    for (begin, end) in mapped {
        if begin.saturating_sub(before) >= ARENA as u64 {
            places.extend([before, begin - ARENA as u64]);
        }
        before = end.max(LOWEST);
    }
    places
}

fn map(place: u64) -> io::Result<()> {
    let rights = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: new memory, only where nothing is mapped.
    let memory = unsafe { libc::mmap(place as *mut _, ARENA, rights, flags, -1, 0) };
    match memory {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        memory if memory as u64 == place => Ok(()),
        // An older system takes the place as a wish.
        elsewhere => {
            // SAFETY: the memory that was just given, and nobody knows of.
            unsafe { libc::munmap(elsewhere, ARENA) };
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
        let places: Vec<u64> = (0..2000).map(|_| room(here, 100).expect("there is room")).collect();
        assert!(places.iter().all(|place| place.abs_diff(here) < REACH && place % 16 == 0));
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 112));
    }

    #[test]
    fn gaps_lie_between_what_is_mapped() {
        let maps = "00400000-00500000 r-xp 0 0:0 0 a\n00500000-00501000 rw-p 0 0:0 0 a\n7f0000000000-7f0000001000 r--p 0 0:0 0 b\n";
        assert_eq!(gaps(maps), [0x1_0000, 0x40_0000 - 0x1_0000, 0x50_1000, 0x7f00_0000_0000 - 0x1_0000]);
    }
}
