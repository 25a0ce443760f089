//! Sums over the calls of a function: number of calls, total, squares and maximum of their durations. Each thread of the program keeps them in
//! shared memory behind its ring, so that they stay exact when single events are dropped, and need no event at all.
//!
//! The memory is a table of slots: a header, one slot per hook and one per MPI function. Numbers and totals only grow; the reader keeps what it
//! has seen and takes the differences. A maximum belongs to an interval: the reader writes the *generation* of the current interval into the
//! header, the thread stores it in the upper bits of the maximum, and uses two maxima in turn, so that the previous one can still be read.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::ring::{CHUNK_BYTES, HEADER_BYTES, MPI_FUNCTION};

/// Bytes of a slot.
pub const SLOT_BYTES: usize = 128;
/// Slots of hooks.
pub const HOOK_SLOTS: usize = 2048;
/// Slots of MPI functions.
pub const MPI_SLOTS: usize = 1024;
/// Bytes of the table of a thread, in whole chunks.
pub const TABLE_BYTES: usize = ((1 + HOOK_SLOTS + MPI_SLOTS) * SLOT_BYTES).next_multiple_of(CHUNK_BYTES);
/// Bits of a maximum; the generation is above them.
pub const MAXIMUM_BITS: u32 = 48;

const SLOT_WORDS: usize = SLOT_BYTES / 8;
const MAXIMUM_MASK: u64 = (1 << MAXIMUM_BITS) - 1;
const LAST_GENERATION: u64 = u64::MAX >> MAXIMUM_BITS;

/// Indices of the words of a slot.
pub struct SlotWords;

impl SlotWords {
    /// Calls entered.
    pub const ENTRIES: usize = 0;
    /// Calls that have returned. A call that was left by an exception or a jump has no exit.
    pub const EXITS: usize = 1;
    /// Words of the first quantity, the duration in ticks: total, squares in two words, and two maxima.
    pub const DURATION: usize = 2;
    /// Words of the second quantity: ticks in MPI functions; for an MPI function, bytes.
    pub const SECOND: usize = 7;
}

/// Offset of the table from the start of a ring with this many chunks; one more chunk takes dropped events.
pub const fn table_offset(chunks: usize) -> usize {
    HEADER_BYTES + (chunks + 1) * CHUNK_BYTES
}

/// Offset in the table of the slot of a hook or an MPI function; the header if there is none.
pub const fn slot_offset(hook: u32) -> usize {
    let (index, first, count) = match hook & MPI_FUNCTION {
        0 => (hook as usize, 1, HOOK_SLOTS),
        _ => ((hook & !MPI_FUNCTION) as usize, 1 + HOOK_SLOTS, MPI_SLOTS),
    };
    if index < count { (first + index) * SLOT_BYTES } else { 0 }
}

/// Sums of one quantity over calls that have returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuantitySums {
    /// Total.
    pub total: u64,
    /// Sum of the squares.
    pub squares: u128,
    /// Maximum, if it is known.
    pub maximum: Option<u64>,
}

impl QuantitySums {
    /// Adds the sums of other calls.
    fn add(&mut self, other: QuantitySums) {
        self.total = self.total.wrapping_add(other.total);
        self.squares = self.squares.wrapping_add(other.squares);
        self.maximum = self.maximum.max(other.maximum);
    }
}

/// Sums over the calls of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallSums {
    /// Calls entered.
    pub entries: u64,
    /// Calls that have returned.
    pub exits: u64,
    /// Their durations in ticks.
    pub duration: QuantitySums,
    /// Their ticks in MPI functions; for an MPI function, bytes.
    pub second: QuantitySums,
}

impl CallSums {
    /// Adds the sums of other calls.
    pub fn add(&mut self, other: CallSums) {
        self.entries = self.entries.wrapping_add(other.entries);
        self.exits = self.exits.wrapping_add(other.exits);
        self.duration.add(other.duration);
        self.second.add(other.second);
    }

    /// Whether there was no call.
    pub fn is_empty(&self) -> bool {
        self.entries == 0 && self.exits == 0
    }

    /// The difference between two states of a slot.
    fn between(before: &[u64; SLOT_WORDS], now: &[u64; SLOT_WORDS]) -> CallSums {
        let grown = |word: usize| now[word].wrapping_sub(before[word]);
        let wide = |words: &[u64; SLOT_WORDS], low: usize| u128::from(words[low]) | u128::from(words[low + 1]) << 64;
        let quantity = |first: usize| {
            // A maximum that has changed was reached since then. One that was stored late, for the interval before, counts too.
            let maxima = (first + 3..first + 5).filter(|word| now[*word] != before[*word]);
            QuantitySums {
                total: grown(first),
                squares: wide(now, first + 1).wrapping_sub(wide(before, first + 1)),
                maximum: maxima.map(|word| now[word] & MAXIMUM_MASK).max(),
            }
        };
        CallSums {
            entries: grown(SlotWords::ENTRIES),
            exits: grown(SlotWords::EXITS),
            duration: quantity(SlotWords::DURATION),
            second: quantity(SlotWords::SECOND),
        }
    }
}

/// Reads the table of one thread; used by the collector.
#[derive(Debug)]
pub struct SumsReader {
    file: File,
    /// Offset of the table in the file.
    base: u64,
    generation: u64,
    /// The latest state of each slot that was read.
    seen: HashMap<u32, [u64; SLOT_WORDS]>,
}

impl SumsReader {
    /// A reader of the table of the ring at offset `ring`, with this many chunks.
    pub fn new(file: File, ring: u64, chunks: u64) -> SumsReader {
        let mut reader = SumsReader { file, base: ring + table_offset(chunks as usize) as u64, generation: 0, seen: HashMap::new() };
        // An earlier reader may have left maxima of its generations.
        reader.generation = reader.read_words::<1>(0).map_or(0, |[word]| word >> MAXIMUM_BITS);
        reader
    }

    /// Sums of the calls since the last time.
    pub fn take(&mut self, hook: u32) -> io::Result<CallSums> {
        let before = self.seen.get(&hook).copied().unwrap_or([0; SLOT_WORDS]);
        // Most functions were not called since the last time.
        if self.read_words(slot_offset(hook))? == before {
            return Ok(CallSums::default());
        }
        let now = self.read_slot(hook)?;
        self.seen.insert(hook, now);
        Ok(CallSums::between(&before, &now))
    }

    /// The thread writes the words of a call one after the other: two equal reads are those of whole calls. A thread that was interrupted
    /// in between is not waited for; the rest of its call counts for the next time.
    fn read_slot(&self, hook: u32) -> io::Result<[u64; SLOT_WORDS]> {
        const ATTEMPTS: usize = 4;
        let offset = slot_offset(hook);
        let mut latest = self.read_words(offset)?;
        for _ in 0..ATTEMPTS {
            let again = self.read_words(offset)?;
            if again == latest {
                break;
            }
            latest = again;
        }
        Ok(latest)
    }

    fn read_words<const COUNT: usize>(&self, offset: usize) -> io::Result<[u64; COUNT]> {
        let mut bytes = [0; SLOT_BYTES];
        self.file.read_exact_at(&mut bytes[..8 * COUNT], self.base + offset as u64)?;
        Ok(std::array::from_fn(|word| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[8 * word + byte]))))
    }

    /// Begins another interval for the maxima.
    pub fn begin_interval(&mut self) -> io::Result<()> {
        if self.generation == LAST_GENERATION {
            self.generation = 0;
            for (hook, seen) in &mut self.seen {
                for word in [SlotWords::DURATION, SlotWords::SECOND].into_iter().flat_map(|first| first + 3..first + 5) {
                    seen[word] = 0;
                    self.file.write_all_at(&[0; 8], self.base + (slot_offset(*hook) + 8 * word) as u64)?;
                }
            }
        }
        self.generation += 1;
        self.file.write_all_at(&(self.generation << MAXIMUM_BITS).to_ne_bytes(), self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> File {
        let path = std::env::temp_dir().join(format!("sintonia-sums-{}-{:?}", std::process::id(), std::thread::current().id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
        std::fs::remove_file(path).expect("removed");
        file.set_len((table_offset(1) + TABLE_BYTES) as u64).expect("room");
        file
    }

    /// Writes words of a slot, as a thread of the program does.
    fn write(file: &File, hook: u32, words: &[(usize, u64)]) {
        for (word, value) in words {
            file.write_all_at(&value.to_ne_bytes(), (table_offset(1) + slot_offset(hook) + 8 * word) as u64).expect("written");
        }
    }

    #[test]
    fn differences_are_taken_even_when_a_total_wraps() {
        let file = table();
        let mut reader = SumsReader::new(file.try_clone().expect("a file"), 0, 1);
        write(&file, 7, &[(0, 3), (1, 2), (2, u64::MAX - 9), (3, u64::MAX), (4, 0), (5, 80)]);
        let first = reader.take(7).expect("read");
        assert_eq!((first.entries, first.exits, first.duration.maximum), (3, 2, Some(80)));
        write(&file, 7, &[(0, 4), (1, 4), (2, 10), (3, 4), (4, 1)]);
        let then = reader.take(7).expect("read");
        assert_eq!((then.entries, then.exits, then.duration.total, then.duration.squares), (1, 2, 20, 5));
        assert_eq!(then.duration.maximum, None, "no longer call than before in this interval");
        assert!(reader.take(7).expect("read").is_empty());
    }

    #[test]
    fn maxima_belong_to_intervals() {
        let file = table();
        let mut reader = SumsReader::new(file.try_clone().expect("a file"), 0, 1);
        let generation = || {
            let mut word = [0; 8];
            file.read_exact_at(&mut word, table_offset(1) as u64).expect("read");
            u64::from_ne_bytes(word)
        };
        let of_interval = |value: u64| (SlotWords::DURATION + 3 + (generation() >> MAXIMUM_BITS & 1) as usize, generation() | value);
        for interval in 0..70_000 {
            reader.begin_interval().expect("written");
            let (word, packed) = of_interval(1000 - interval % 1000);
            let mut known = [0; 8];
            file.read_exact_at(&mut known, (table_offset(1) + slot_offset(3) + 8 * word) as u64).expect("read");
            assert!(packed > u64::from_ne_bytes(known), "interval {interval}: a later generation is greater");
            write(&file, 3, &[(0, interval), (word, packed)]);
            assert_eq!(reader.take(3).expect("read").duration.maximum, Some(1000 - interval % 1000));
        }
        let again = SumsReader::new(file.try_clone().expect("a file"), 0, 1);
        assert_eq!(again.generation << MAXIMUM_BITS, generation());
    }
}
