//! Perf events of threads, and their ring buffers: what the kernel writes about a thread, without a system call or a signal.
//!
//! Ordinary users may have events of their own threads unless `kernel.perf_event_paranoid` is above 2 or a container forbids the system
//! call.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use sintonia_recording::counter_event::{CounterEvent, EventSource};

pub(crate) const PAGE_BYTES: usize = 4096;

/// Word indices in `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024 / 8;
const DATA_TAIL: usize = 1032 / 8;

/// `struct perf_event_attr`, in words.
pub(crate) struct EventAttributes {
    pub event: CounterEvent,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub user_registers: u64,
    pub user_stack_bytes: u32,
}

/// Time on the processor, in nanoseconds.
pub(crate) const TASK_CLOCK: CounterEvent = CounterEvent { source: EventSource::Software, config: 1 };
/// Counts nothing.
pub(crate) const DUMMY: CounterEvent = CounterEvent { source: EventSource::Software, config: 9 };

/// Bits of `sample_type`.
pub(crate) mod sample_type {
    pub(crate) const INSTRUCTION_POINTER: u64 = 1 << 0;
    pub(crate) const TIME: u64 = 1 << 2;
    pub(crate) const READ: u64 = 1 << 4;
    pub(crate) const USER_REGISTERS: u64 = 1 << 12;
    pub(crate) const USER_STACK: u64 = 1 << 13;
}

/// Bits of `read_format`.
pub(crate) mod read_format {
    /// All values of a group, with the times enabled and running.
    pub(crate) const GROUP_WITH_TIMES: u64 = 1 << 0 | 1 << 1 | 1 << 3;
}

/// Bits of the flags.
pub(crate) mod flag {
    pub(crate) const EXCLUDE_KERNEL: u64 = 1 << 5;
    pub(crate) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    pub(crate) const WATERMARK: u64 = 1 << 14;
    pub(crate) const SAMPLE_ID_ALL: u64 = 1 << 18;
    pub(crate) const USE_CLOCK_ID: u64 = 1 << 25;
    pub(crate) const CONTEXT_SWITCH: u64 = 1 << 26;
}

impl EventAttributes {
    /// As the kernel reads them. Times are those of the monotonic clock. Nobody is woken: the watermark is never reached.
    fn to_words(&self) -> [u64; 14] {
        let mut words = [0; 14];
        words[0] = self.event.source as u64 | (size_of_val(&words) as u64) << 32;
        words[1] = self.event.config;
        words[2] = self.sample_period;
        words[3] = self.sample_type;
        words[4] = self.read_format;
        words[5] = self.flags | flag::WATERMARK | flag::USE_CLOCK_ID;
        words[6] = 1 << 30;
        words[10] = self.user_registers;
        words[11] = u64::from(self.user_stack_bytes) | (libc::CLOCK_MONOTONIC as u64) << 32;
        words
    }
}

/// Opens an event of a thread of this process (0: the calling one), in the group of a leader if that is given. `None` if the kernel does
/// not allow it.
pub(crate) fn open_event(attributes: &EventAttributes, thread: libc::pid_t, leader: Option<RawFd>) -> Option<OwnedFd> {
    let words = attributes.to_words();
    let any_processor = -1;
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    // SAFETY: the attributes are valid for reads and state their size.
    let file =
        unsafe { libc::syscall(libc::SYS_perf_event_open, words.as_ptr(), thread, any_processor, leader.unwrap_or(-1), CLOSE_ON_EXEC) };
    if file < 0 {
        return None;
    }
    leader.into_iter().for_each(restart_group);
    // SAFETY: a new descriptor, which nothing else owns.
    Some(unsafe { OwnedFd::from_raw_fd(file as RawFd) })
}

/// Stops a group and starts it again. An event that joins a running group whose leader belongs to another PMU (the task clock, and page
/// faults) is otherwise not counted before the next context switch (seen with Linux 6.18).
fn restart_group(leader: RawFd) {
    /// `PERF_EVENT_IOC_DISABLE`, `PERF_EVENT_IOC_ENABLE`.
    const REQUESTS: [libc::c_ulong; 2] = [0x2401, 0x2400];
    for request in REQUESTS {
        // SAFETY: no pointers; other files refuse the requests.
        unsafe { libc::ioctl(leader, request, 0) };
    }
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub kind: u32,
    pub flags: u16,
    pub bytes: u64,
}

impl RecordHeader {
    pub(crate) const LOST: u32 = 2;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const SWITCH: u32 = 14;

    pub(crate) fn to_word(self) -> u64 {
        u64::from(self.kind) | u64::from(self.flags) << 32 | self.bytes << 48
    }

    pub(crate) fn from_word(word: u64) -> RecordHeader {
        RecordHeader { kind: word as u32, flags: (word >> 32) as u16, bytes: (word >> 48).max(8) }
    }
}

/// The ring of an event.
pub(crate) struct EventRing {
    memory: *const AtomicU64,
    data_words: usize,
}

// SAFETY: the memory is accessed with atomic operations, and unmapped only by the owner.
unsafe impl Send for EventRing {}

impl EventRing {
    /// Opens an event as [`open_event`] does, with a ring of this many pages, a power of two.
    pub(crate) fn open(attributes: &EventAttributes, thread: libc::pid_t, group: Option<RawFd>, data_pages: usize) -> Option<EventRing> {
        // The mapping keeps the event.
        let event = open_event(attributes, thread, group)?;
        let memory = crate::block_region::map((1 + data_pages) * PAGE_BYTES, libc::MAP_SHARED, event.as_raw_fd())?;
        Some(EventRing { memory: memory.cast(), data_words: data_pages * PAGE_BYTES / 8 })
    }

    /// A ring of the same layout that the program itself writes to.
    pub(crate) fn anonymous(data_pages: usize) -> Option<EventRing> {
        let memory = crate::block_region::map((1 + data_pages) * PAGE_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        Some(EventRing { memory: memory.cast(), data_words: data_pages * PAGE_BYTES / 8 })
    }

    /// The same ring for its writer, who must not use it any more when it is closed.
    pub(crate) fn alias(&self) -> EventRing {
        EventRing { memory: self.memory, data_words: self.data_words }
    }

    /// Writes a word of the data, behind the head.
    pub(crate) fn store(&self, position: u64, word: u64) {
        self.word(PAGE_BYTES / 8 + (position / 8) as usize % self.data_words).store(word, Ordering::Relaxed);
    }

    /// Makes everything that was written before a position visible to the reader.
    pub(crate) fn publish(&self, position: u64) {
        self.head_word().store(position, Ordering::Release);
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < self.data_words + PAGE_BYTES / 8);
        // SAFETY: `index` is inside the mapping.
        unsafe { &*self.memory.add(index) }
    }

    /// Size of the data, in bytes.
    pub(crate) fn data_bytes(&self) -> u64 {
        8 * self.data_words as u64
    }

    /// The word that changes with every record: the position behind the last one, in bytes.
    pub(crate) fn head_word(&self) -> &AtomicU64 {
        self.word(DATA_HEAD)
    }

    /// The position behind the last record.
    pub(crate) fn head(&self) -> u64 {
        self.head_word().load(Ordering::Acquire)
    }

    /// The position of the first record that was not taken out.
    pub(crate) fn tail(&self) -> u64 {
        self.word(DATA_TAIL).load(Ordering::Acquire)
    }

    /// The word of the data at a position in bytes.
    #[inline]
    pub(crate) fn data(&self, position: u64) -> u64 {
        self.word(PAGE_BYTES / 8 + (position / 8) as usize % self.data_words).load(Ordering::Relaxed)
    }

    /// Takes all records before a position out.
    pub(crate) fn release_until(&self, position: u64) {
        self.word(DATA_TAIL).store(position, Ordering::Release);
    }

    /// Closes the event. In a forked child the ring is not mapped, so it must not be closed there.
    pub(crate) fn close(self) {
        // SAFETY: the mapping of `open`, which nothing else refers to.
        unsafe { libc::munmap(self.memory.cast_mut().cast(), PAGE_BYTES + 8 * self.data_words) };
    }
}
