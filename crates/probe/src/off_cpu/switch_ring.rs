//! Every context switch of a thread with its time, from a ring buffer that the kernel fills.
//!
//! A perf event that counts nothing records the context switches of the thread that opens it. It costs about 0.5 µs per switch.

use std::sync::atomic::AtomicU64;

use crate::perf_event::{DUMMY, EventAttributes, EventRing, PAGE_BYTES, RecordHeader, flag, sample_type};

/// Data pages of a ring: 512 switches. Small, because they are locked in memory.
const DATA_PAGES: usize = 4;
/// Most switches in a ring: each has two records of two words.
const MOST_SWITCHES: usize = DATA_PAGES * PAGE_BYTES / 32;

/// Flags of a switch.
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
    ring: EventRing,
    /// Switches since the last drain; reused, so that draining allocates nothing.
    switches: Vec<ContextSwitch>,
}

impl SwitchRing {
    /// Opens the ring of the calling thread; `None` if the kernel does not allow it.
    pub(super) fn open() -> Option<SwitchRing> {
        let attributes = EventAttributes {
            event: DUMMY,
            sample_period: 0,
            sample_type: sample_type::TIME,
            read_format: 0,
            flags: flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR | flag::SAMPLE_ID_ALL | flag::CONTEXT_SWITCH,
            user_registers: 0,
            user_stack_bytes: 0,
        };
        let ring = EventRing::open(&attributes, 0, None, DATA_PAGES)?;
        Some(SwitchRing { ring, switches: Vec::with_capacity(MOST_SWITCHES) })
    }

    /// The word that changes with every switch, and its value now.
    pub(super) fn tripwire(&self) -> (*const AtomicU64, u64) {
        (&raw const *self.ring.head_word(), self.ring.head())
    }

    /// Takes all switches out of the ring; `None` if the ring was full, so that some are missing.
    pub(super) fn drain(&mut self) -> Option<&[ContextSwitch]> {
        let (head, tail) = (self.ring.head(), self.ring.tail());
        self.switches.clear();
        let complete = parse(|position| self.ring.data(position), tail, head, self.ring.data_bytes(), &mut self.switches);
        self.ring.release_until(head);
        complete.then_some(&self.switches[..])
    }

    /// The switches of the last drain.
    pub(super) fn drained(&self) -> &[ContextSwitch] {
        &self.switches
    }

    /// Closes the ring. In a forked child it is not mapped, so it must not be closed there.
    pub(super) fn close(self) {
        self.ring.close();
    }
}

/// Parses the records between two positions in bytes; `false` if switches were lost.
fn parse(data: impl Fn(u64) -> u64, tail: u64, head: u64, ring_bytes: u64, switches: &mut Vec<ContextSwitch>) -> bool {
    // When there is no room for another record, the kernel drops it. It says so only in the next record that it writes.
    const LARGEST_RECORD: u64 = 64;
    let mut complete = head.wrapping_sub(tail) + LARGEST_RECORD <= ring_bytes;
    let (mut at, mut out) = (tail, None);
    while at < head {
        let RecordHeader { kind, flags, bytes } = RecordHeader::from_word(data(at));
        if kind == RecordHeader::LOST && at != tail {
            complete = false;
        }
        if kind == RecordHeader::SWITCH {
            let time = data(at + 8);
            if flags & SWITCH_OUT != 0 {
                out = Some((time, flags & SWITCH_OUT_PREEMPT != 0));
            } else if let Some((out, preempted)) = out.take()
                && switches.len() < switches.capacity()
            {
                switches.push(ContextSwitch { out, back: time.max(out), preempted });
            }
        }
        at += bytes;
    }
    complete
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    const DATA_WORDS: usize = DATA_PAGES * PAGE_BYTES / 8;
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
                [header(RecordHeader::LOST, 0, 32), 1, 7, *time].into_iter().for_each(&mut put);
            }
            [header(RecordHeader::SWITCH, *flags, 16), *time].into_iter().for_each(&mut put);
        }
        let mut switches = Vec::with_capacity(MOST_SWITCHES);
        let complete = parse(|byte| ring[(byte / 8) as usize % DATA_WORDS], tail, at, 8 * DATA_WORDS as u64, &mut switches);
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
