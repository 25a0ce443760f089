//! Raw file of the OpenMP regions of a process: records of four words, the first of which is [`MAGIC`] and zeros.
//!
//! A region takes one record, and one more for each of its threads, in the order of their numbers. Short regions of the same call site are
//! summed up: then there is one record for several executions, and one more with [`RawSummary`]. Records of the locks follow, if threads
//! got some.
//!
//! ```text
//! begin ticks | duration ticks | call site, (calling thread + 1) << 48 | threads, level << 16, flags << 20, executions << 24, check << 48
//! thread number, check << 16 | seven durations in ticks, as numbers of 32 bits with a floating point
//! thread number, check << 16, ticks waited << 32 | call site | ticks held, acquisitions << 32 | bytes `OMP LOCK`
//! ```
//!
//! The check shows a record that was not written completely. Zeros follow the last record.

/// The first word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"SINOMP01");
/// Words of a record.
pub const RECORD_WORDS: usize = 4;
/// Number of durations of a thread.
pub const DURATIONS: usize = 7;
/// Most executions in one record.
pub const MAX_EXECUTIONS: u32 = (1 << 24) - 1;
/// Most threads of a team that are recorded.
pub const MAX_THREADS: usize = SUMMARY as usize;

/// In place of a thread number: the record is a [`RawSummary`].
const SUMMARY: u16 = u16::MAX;
/// Last word of a [`RawLock`]. Any record may follow a region, so the check alone would take one of 65,536 for that of a lock.
const LOCK_WORD: u64 = u64::from_le_bytes(*b"OMP LOCK");
/// Flag: the region was in progress when the recording ended.
const UNFINISHED: u64 = 1;
/// Flag: a [`RawSummary`] follows.
const SUMMED: u64 = 2;
/// Bits of the word of the call site that belong to the calling thread.
const CALLER_BITS: u64 = 0x7fff << 48;

/// What a thread of a team does, and the index of its duration. What is left of the time of the region it waits at the end of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum ThreadActivity {
    /// It has not begun yet.
    Start = 0,
    /// Computes.
    Useful = 1,
    /// Waits at a barrier inside the region.
    Barrier = 2,
    /// Waits for a critical section or a lock.
    Lock = 3,
    /// Other synchronisation and work of the runtime: `taskwait`, `taskgroup`, `ordered`, `single copyprivate`, creation of tasks.
    Other = 4,
    /// Is inside MPI calls.
    Mpi = 5,
}

/// Index of the time inside critical sections and with locks held: a part of the time in which the thread computes.
pub const LOCK_HELD: usize = 6;

/// A region, once or several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRegion {
    /// Begin of the first execution, in ticks.
    pub begin: u64,
    /// Duration, in ticks; of several executions the sum.
    pub duration: u64,
    /// Call site, as in a call.
    pub site: u64,
    /// The calling thread, if it calls MPI.
    pub caller: Option<u16>,
    /// Threads of the team.
    pub threads: u16,
    /// Number of regions around it.
    pub level: u8,
    /// Whether it was in progress when the recording ended.
    pub is_unfinished: bool,
    /// Number of executions.
    pub executions: u32,
    /// Whether a [`RawSummary`] follows the threads.
    pub has_summary: bool,
}

impl RawRegion {
    /// Encodes the record.
    pub fn to_words(self) -> [u64; RECORD_WORDS] {
        let caller = self.caller.map_or(0, |caller| u64::from(caller) + 1) << 48 & CALLER_BITS;
        let flags = (u64::from(self.is_unfinished) * UNFINISHED) | (u64::from(self.has_summary) * SUMMED);
        let executions = u64::from(self.executions.min(MAX_EXECUTIONS));
        let meta = u64::from(self.threads) | u64::from(self.level.min(15)) << 16 | flags << 20 | executions << 24;
        let words = [self.begin, self.duration, self.site & !CALLER_BITS | caller, meta];
        [words[0], words[1], words[2], meta | check(1, words) << 48]
    }

    /// Decodes a record; `None` if it is not that of a region, was not written completely, or is damaged.
    pub fn from_words([begin, duration, third, last]: [u64; RECORD_WORDS]) -> Option<RawRegion> {
        let meta = last & !(0xffff << 48);
        let caller = ((third & CALLER_BITS) >> 48).checked_sub(1).map(|caller| caller as u16);
        let valid = last >> 48 == check(1, [begin, duration, third, meta]) && meta >> 24 > 0;
        valid.then_some(RawRegion {
            begin,
            duration,
            site: third & !CALLER_BITS,
            caller,
            threads: meta as u16,
            level: (meta >> 16) as u8 & 15,
            is_unfinished: meta >> 20 & UNFINISHED != 0,
            executions: (meta >> 24) as u32,
            has_summary: meta >> 20 & SUMMED != 0,
        })
    }
}

/// What a thread of the team did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawThread {
    /// Its number in the team.
    pub number: u16,
    /// Durations in ticks: those of [`ThreadActivity`], and [`LOCK_HELD`].
    pub durations: [f32; DURATIONS],
}

impl RawThread {
    /// Encodes the record.
    pub fn to_words(self) -> [u64; RECORD_WORDS] {
        let bits = self.durations.map(|duration| u64::from(duration.to_bits()));
        let words = [u64::from(self.number) | bits[0] << 32, bits[1] | bits[2] << 32, bits[3] | bits[4] << 32, bits[5] | bits[6] << 32];
        [words[0] | check(2, words) << 16, words[1], words[2], words[3]]
    }

    /// Decodes a record; `None` if it was not written completely, or is damaged.
    pub fn from_words(words: [u64; RECORD_WORDS]) -> Option<RawThread> {
        let first = words[0] & !(0xffff << 16);
        let valid = words[0] >> 16 & 0xffff == check(2, [first, words[1], words[2], words[3]]);
        let half = |index: usize| f32::from_bits((words[index / 2] >> (32 * (index % 2))) as u32);
        let durations = std::array::from_fn(|index| half(index + 1));
        (valid && durations.iter().all(|duration: &f32| *duration >= 0.0)).then_some(RawThread { number: first as u16, durations })
    }
}

/// What cannot be told from the sums of several executions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawSummary {
    /// Of each execution the time of the thread that computed longest, summed up, in ticks.
    pub longest: f32,
    /// From the begin of the first execution to the end of the last, in ticks.
    pub span: f32,
}

impl RawSummary {
    /// Encodes the record.
    pub fn to_words(self) -> [u64; RECORD_WORDS] {
        RawThread { number: SUMMARY, durations: [self.longest, self.span, 0.0, 0.0, 0.0, 0.0, 0.0] }.to_words()
    }

    /// Decodes a record.
    pub fn from_words(words: [u64; RECORD_WORDS]) -> Option<RawSummary> {
        let record = RawThread::from_words(words).filter(|record| record.number == SUMMARY)?;
        Some(RawSummary { longest: record.durations[0], span: record.durations[1] })
    }
}

/// What a thread did at one place where it gets a lock, or enters a critical section.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RawLock {
    /// Number of the thread in the team.
    pub thread: u16,
    /// Call site.
    pub site: u64,
    /// How often it got the lock.
    pub acquisitions: u32,
    /// Ticks it waited.
    pub waited: f32,
    /// Ticks it had the lock.
    pub held: f32,
}

impl RawLock {
    /// Encodes the record.
    pub fn to_words(self) -> [u64; RECORD_WORDS] {
        let first = u64::from(self.thread) | u64::from(self.waited.to_bits()) << 32;
        let words = [first, self.site, u64::from(self.held.to_bits()) | u64::from(self.acquisitions) << 32, LOCK_WORD];
        [first | check(3, words) << 16, words[1], words[2], words[3]]
    }

    /// Decodes a record; `None` if it is another one, was not written completely, or is damaged.
    pub fn from_words(words: [u64; RECORD_WORDS]) -> Option<RawLock> {
        let first = words[0] & !(0xffff << 16);
        let valid = words[3] == LOCK_WORD && words[0] >> 16 & 0xffff == check(3, [first, words[1], words[2], words[3]]);
        let (waited, held) = (f32::from_bits((first >> 32) as u32), f32::from_bits(words[2] as u32));
        let lock = RawLock { thread: first as u16, site: words[1], acquisitions: (words[2] >> 32) as u32, waited, held };
        (valid && waited >= 0.0 && held >= 0.0 && lock.acquisitions > 0).then_some(lock)
    }
}

/// 16 bits that depend on all others of a record.
fn check(seed: u64, words: [u64; RECORD_WORDS]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let mixed = words.into_iter().fold(seed, mix);
    // Without this the upper bits of the last word would not reach the result.
    (mixed ^ mixed >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 48
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region() -> RawRegion {
        RawRegion {
            begin: 7,
            duration: 1 << 60,
            site: crate::raw::path_word(77),
            caller: Some(3),
            threads: 64,
            level: 2,
            is_unfinished: true,
            executions: MAX_EXECUTIONS,
            has_summary: true,
        }
    }

    #[test]
    fn records_survive_their_words_and_a_changed_bit_is_found() {
        let thread = RawThread { number: 9, durations: [1.0, 2.5e15, 0.0, 3.0, 4.0, 5.0, 6.0] };
        let plain = RawRegion { caller: None, site: 0x7fff_1234_5678, is_unfinished: false, has_summary: false, executions: 1, ..region() };
        for region in [region(), plain] {
            assert_eq!(RawRegion::from_words(region.to_words()), Some(region));
        }
        assert_eq!(RawThread::from_words(thread.to_words()), Some(thread));
        for bit in 0..256 {
            let damage = |mut words: [u64; RECORD_WORDS]| {
                words[bit / 64] ^= 1 << (bit % 64);
                words
            };
            assert_eq!(RawRegion::from_words(damage(region().to_words())), None, "bit {bit}");
            assert_eq!(RawThread::from_words(damage(thread.to_words())), None, "bit {bit}");
        }
        assert_eq!((RawRegion::from_words([0; 4]), RawRegion::from_words([MAGIC, 0, 0, 0])), (None, None));
    }

    #[test]
    fn a_summary_is_not_a_thread() {
        let summary = RawSummary { longest: 5.0, span: 9.0 };
        assert_eq!(RawSummary::from_words(summary.to_words()), Some(summary));
        assert_eq!(RawSummary::from_words(RawThread { number: 1, durations: [0.0; 7] }.to_words()), None);
    }
}
