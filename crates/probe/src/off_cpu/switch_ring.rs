//! Every context switch of a thread with its time, from a ring buffer that the kernel fills.
//!
//! A perf event that counts nothing records the context switches of the thread that opens it. Ordinary users may have it for their own
//! threads unless `kernel.perf_event_paranoid` is above 2 or a container forbids the system call. It costs about 0.5 µs per switch.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock;

/// Data pages of a ring: 512 switches. Small, because they are locked in memory.
const DATA_PAGES: usize = 4;
const PAGE_BYTES: usize = 4096;
const RING_BYTES: usize = (1 + DATA_PAGES) * PAGE_BYTES;
const DATA_WORDS: usize = DATA_PAGES * PAGE_BYTES / 8;

/// Word indices in `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024 / 8;
const DATA_TAIL: usize = 1032 / 8;

/// Record types and flags of `struct perf_event_header`.
const RECORD_LOST: u32 = 2;
const RECORD_SWITCH: u32 = 14;
const SWITCH_OUT: u16 = 1 << 13;
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;

/// The thread was off the processor between these times of the monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContextSwitch {
    /// When it lost the processor.
    pub out: u64,
    /// When it got one again.
    pub back: u64,
    /// Whether it was ready to run all the time: it was preempted, or yielded.
    pub preempted: bool,
}

/// The ring of one thread.
pub(super) struct SwitchRing {
    memory: *const AtomicU64,
    /// Switches since the last drain; reused, so that draining allocates nothing.
    switches: Vec<ContextSwitch>,
}

impl SwitchRing {
    /// Opens the ring of the calling thread; `None` if the kernel does not allow it.
    pub(super) fn open() -> Option<SwitchRing> {
        let attributes = attributes();
        let (this_thread, any_processor, no_group) = (0, -1, -1);
        const CLOSE_ON_EXEC: libc::c_ulong = 8;
        // SAFETY: the attributes are valid for reads and state their size.
        let file =
            unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), this_thread, any_processor, no_group, CLOSE_ON_EXEC) };
        if file < 0 {
            return None;
        }
        let memory = crate::block_region::map(RING_BYTES, libc::MAP_SHARED, file as libc::c_int);
        // SAFETY: a file of our own. The mapping keeps the event.
        unsafe { libc::close(file as libc::c_int) };
        Some(SwitchRing { memory: memory?.cast(), switches: Vec::with_capacity(DATA_WORDS / 4) })
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < RING_BYTES / 8);
        // SAFETY: `index` is inside the mapping.
        unsafe { &*self.memory.add(index) }
    }

    /// The word that changes with every switch, and its value now.
    pub(super) fn tripwire(&self) -> (*const AtomicU64, u64) {
        let head = self.word(DATA_HEAD);
        (&raw const *head, head.load(Ordering::Acquire))
    }

    /// Takes all switches out of the ring; `None` if the ring was full, so that some are missing.
    pub(super) fn drain(&mut self) -> Option<&[ContextSwitch]> {
        let mut switches = std::mem::take(&mut self.switches);
        switches.clear();
        let (head, tail) = (self.word(DATA_HEAD).load(Ordering::Acquire), self.word(DATA_TAIL).load(Ordering::Relaxed));
        let data = |byte: u64| self.word(PAGE_BYTES / 8 + (byte / 8) as usize % DATA_WORDS).load(Ordering::Relaxed);
        let complete = parse(data, tail, head, &mut switches);
        self.word(DATA_TAIL).store(head, Ordering::Release);
        self.switches = switches;
        complete.then_some(&self.switches[..])
    }

    /// The switches of the last drain.
    pub(super) fn drained(&self) -> &[ContextSwitch] {
        &self.switches
    }

    /// Closes the ring. In a forked child it is not mapped, so it must not be closed there.
    pub(super) fn close(self) {
        // SAFETY: the mapping of `open`, which nothing else refers to.
        unsafe { libc::munmap(self.memory.cast_mut().cast(), RING_BYTES) };
    }
}

/// Parses the records between two positions in bytes; `false` if switches were lost.
fn parse(data: impl Fn(u64) -> u64, tail: u64, head: u64, switches: &mut Vec<ContextSwitch>) -> bool {
    // When there is no room for another record, the kernel drops it. It says so only in the next record that it writes.
    const LARGEST_RECORD: u64 = 64;
    let mut complete = head.wrapping_sub(tail) + LARGEST_RECORD <= 8 * DATA_WORDS as u64;
    let (mut at, mut out) = (tail, None);
    while at < head {
        let header = data(at);
        let (kind, flags, bytes) = (header as u32, (header >> 32) as u16, header >> 48);
        if kind == RECORD_LOST && at != tail {
            complete = false;
        }
        if kind == RECORD_SWITCH {
            let time = data(at + 8);
            if flags & SWITCH_OUT != 0 {
                out = Some((time, flags & SWITCH_OUT_PREEMPT != 0));
            } else if let Some((out, preempted)) = out.take()
                && switches.len() < switches.capacity()
            {
                switches.push(ContextSwitch { out, back: time.max(out), preempted });
            }
        }
        at += bytes.max(8);
    }
    complete
}

/// `struct perf_event_attr`.
fn attributes() -> [u64; 14] {
    const SOFTWARE: u64 = 1;
    const DUMMY: u64 = 9;
    const SAMPLE_TIME: u64 = 1 << 2;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    const WATERMARK: u64 = 1 << 14;
    const SAMPLE_ID_ALL: u64 = 1 << 18;
    const USE_CLOCK_ID: u64 = 1 << 25;
    const CONTEXT_SWITCH: u64 = 1 << 26;
    let mut words = [0; 14];
    words[0] = SOFTWARE | (size_of_val(&words) as u64) << 32;
    words[1] = DUMMY;
    words[3] = SAMPLE_TIME;
    words[5] = EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | WATERMARK | SAMPLE_ID_ALL | USE_CLOCK_ID | CONTEXT_SWITCH;
    // Nobody is woken: the watermark is never reached.
    words[6] = 1 << 30;
    words[11] = (libc::CLOCK_MONOTONIC as u64) << 32;
    words
}

/// Ticks at a time of the monotonic clock, from a simultaneous reading of both.
pub(super) fn to_ticks(time_ns: u64, now_ns: u64, now_ticks: u64) -> u64 {
    now_ticks.saturating_sub(clock::to_ticks(now_ns.saturating_sub(time_ns), now_ns, now_ticks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const OUT: u16 = SWITCH_OUT;
    const PREEMPTED: u16 = SWITCH_OUT | SWITCH_OUT_PREEMPT;

    fn header(kind: u32, flags: u16, bytes: u64) -> u64 {
        u64::from(kind) | u64::from(flags) << 32 | bytes << 48
    }

    /// Parses records of switches, the first of which is at this position.
    fn parsed(tail: u64, records: &[(u16, u64)], lost_before: usize) -> (bool, Vec<ContextSwitch>) {
        let mut ring = vec![0; DATA_WORDS];
        let mut at = tail;
        let mut put = |word: u64| {
            ring[(at / 8) as usize % DATA_WORDS] = word;
            at += 8;
        };
        for (index, (flags, time)) in records.iter().enumerate() {
            if index == lost_before {
                [header(RECORD_LOST, 0, 32), 1, 7, *time].into_iter().for_each(&mut put);
            }
            [header(RECORD_SWITCH, *flags, 16), *time].into_iter().for_each(&mut put);
        }
        let mut switches = Vec::with_capacity(DATA_WORDS / 4);
        let complete = parse(|byte| ring[(byte / 8) as usize % DATA_WORDS], tail, at, &mut switches);
        (complete, switches)
    }

    #[test]
    fn switches_are_pairs_of_records_wherever_they_lie_in_the_ring() {
        let switch = |out, back, preempted| ContextSwitch { out, back, preempted };
        let expected = vec![switch(20, 30, false), switch(40, 45, true)];
        // Back on the processor without having left it: what came before is not known.
        let records = [(0, 10), (OUT, 20), (0, 30), (PREEMPTED, 40), (0, 45)];
        for tail in [0, 8 * DATA_WORDS as u64 - 24, 80 * DATA_WORDS as u64 - 8] {
            assert_eq!(parsed(tail, &records, usize::MAX), (true, expected.clone()), "{tail}");
        }
        assert!(!parsed(0, &records, 3).0, "records were lost");
        assert!(parsed(0, &records, 0).0, "what was lost before belongs to an earlier drain");
        let full: Vec<(u16, u64)> = (0..DATA_WORDS as u64 / 2 - 1).map(|time| (if time % 2 == 0 { OUT } else { 0 }, time)).collect();
        assert!(!parsed(0, &full, usize::MAX).0, "a full ring may miss some");
    }

    #[test]
    fn sleeping_is_recorded_with_its_time() {
        let Some(mut ring) = SwitchRing::open() else { return };
        let (word, before) = ring.tripwire();
        let begin = clock::nanoseconds(libc::CLOCK_MONOTONIC);
        (0..3).for_each(|_| std::thread::sleep(Duration::from_millis(3)));
        let end = clock::nanoseconds(libc::CLOCK_MONOTONIC);
        // SAFETY: the ring is still open.
        assert_ne!(unsafe { (*word).load(Ordering::Acquire) }, before);
        let switches = ring.drain().unwrap().to_vec();
        let slept: Vec<_> = switches.iter().filter(|switch| !switch.preempted && switch.back - switch.out >= 2_900_000).collect();
        assert_eq!(slept.len(), 3, "{switches:?}");
        assert!(switches.iter().all(|switch| switch.out >= begin && switch.back <= end), "{switches:?}");
        assert!(ring.drain().unwrap().iter().all(|switch| switch.out >= end));
        ring.close();
    }
}
