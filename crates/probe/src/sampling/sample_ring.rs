//! Samples of one thread, from a ring buffer that the kernel fills while the thread runs: registers, and a copy of the inner part of the
//! stack.
//!
//! The event counts the time of the thread on the processor. Nothing interrupts the program: no signal, no system call that ends early.

use crate::counters::{EventGroup, GROUP_HEADER_WORDS, GroupReading};
use crate::perf_event::{EventAttributes, EventRing, RecordHeader, TASK_CLOCK, flag, read_format, sample_type};
use crate::python::SampledPythonFrame;
use crate::unwinder::{CodeAddress, StackRegisters};

/// Bytes of the stack in a sample, and pages of the ring. Pages are locked in memory: an ordinary user has some 500 KiB for each processor.
/// Where that is used up, less of the stack is recorded.
const SIZES: [(u32, usize); 4] = [(16 << 10, 64), (8 << 10, 32), (4 << 10, 16), (0, 4)];

/// Bits of `PERF_SAMPLE_REGS_USER`, which has the registers in this order.
const BP_SP_IP: u64 = 0b1_1100_0000;

/// Words of a sample before its registers: header, instruction pointer, time, which registers there are. Counters, if there are any, come
/// before the last of these.
pub(super) const SAMPLE_HEADER_WORDS: u64 = 4;
/// Words of its registers.
pub(super) const BP_SP_IP_WORDS: u64 = 3;

/// The part of `misc` that says where the thread was.
const CPU_MODE: u16 = 7;
const CPU_MODE_KERNEL: u16 = 1;

/// What samples of the calling process have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleMode {
    pub period_ns: u64,
    /// Whether samples are taken in the kernel, too.
    pub kernel: bool,
}

/// The ring of one thread.
pub(super) struct SampleRing {
    ring: EventRing,
    has_stacks: bool,
    /// Events that are counted with each sample.
    events: usize,
    /// Whether it is written by a handler of signals.
    is_of_handler: bool,
}

/// A thread at a point in time.
pub(super) struct StackSnapshot<'a> {
    /// Of the monotonic clock.
    pub time_ns: u64,
    pub in_kernel: bool,
    /// The counters of the thread.
    pub counters: Option<GroupReading>,
    /// Of the program; in the kernel, where the program called it.
    pub registers: StackRegisters,
    ring: &'a EventRing,
    /// Where the copy of the stack lies in the ring, and its size.
    stack_position: u64,
    stack_bytes: u64,
    /// Where the frames of Python lie in the ring.
    python: std::ops::Range<u64>,
}

impl StackSnapshot<'_> {
    /// A word of the stack; `None` outside of the copy.
    pub(super) fn read_stack(&self, address: u64) -> Option<u64> {
        let offset = address.checked_sub(self.registers.stack_pointer)?;
        let is_inside = offset.is_multiple_of(8) && offset.checked_add(8)? <= self.stack_bytes;
        is_inside.then(|| self.ring.data(self.stack_position + offset))
    }
}

impl StackSnapshot<'_> {
    /// The frames of Python, innermost first.
    pub(super) fn python_frames(&self) -> impl Iterator<Item = SampledPythonFrame> {
        let frame = |at: u64| SampledPythonFrame { code: self.ring.data(at), line: self.ring.data(at + 8) as i32 };
        self.python.clone().step_by(16).map(frame)
    }
}

impl SampleMode {
    /// What the kernel allows; `None` if it allows no samples.
    pub(super) fn find(period_ns: u64) -> Option<SampleMode> {
        let modes = [true, false].map(|kernel| SampleMode { period_ns, kernel });
        let (_, smallest) = SIZES[SIZES.len() - 1];
        modes.into_iter().find(|mode| EventRing::open(&mode.attributes(0, false), 0, None, smallest).map(EventRing::close).is_some())
    }

    fn attributes(&self, stack_bytes: u32, with_counters: bool) -> EventAttributes {
        let stack = if stack_bytes > 0 { sample_type::USER_STACK } else { 0 };
        let (counters, read_format) = if with_counters { (sample_type::READ, read_format::GROUP_WITH_TIMES) } else { (0, 0) };
        EventAttributes {
            event: TASK_CLOCK,
            sample_period: self.period_ns,
            sample_type: sample_type::INSTRUCTION_POINTER | sample_type::TIME | sample_type::USER_REGISTERS | stack | counters,
            read_format,
            flags: flag::EXCLUDE_HYPERVISOR | if self.kernel { 0 } else { flag::EXCLUDE_KERNEL },
            user_registers: BP_SP_IP,
            user_stack_bytes: stack_bytes,
        }
    }
}

impl SampleRing {
    /// Opens the ring of a thread of this process, with as much of the stack as the kernel allows, and with its counters if there are any.
    pub(super) fn open(mode: SampleMode, thread: libc::pid_t, counters: Option<&EventGroup>) -> Option<SampleRing> {
        let leader = counters.and_then(EventGroup::leader);
        let events = leader.and(counters).map_or(0, EventGroup::len);
        SIZES.into_iter().find_map(|(stack_bytes, pages)| {
            let ring = EventRing::open(&mode.attributes(stack_bytes, events > 0), thread, leader, pages)?;
            Some(SampleRing { ring, has_stacks: stack_bytes > 0, events, is_of_handler: false })
        })
    }

    /// A ring whose samples are written by a handler of signals.
    pub(super) fn of_handler(ring: EventRing) -> SampleRing {
        SampleRing { ring, has_stacks: true, events: 0, is_of_handler: true }
    }

    /// Whether samples have a stack.
    pub(super) fn has_stacks(&self) -> bool {
        self.has_stacks
    }

    /// Whether there is anything to drain.
    pub(super) fn is_empty(&self) -> bool {
        self.ring.head() == self.ring.tail()
    }

    /// Takes all samples out; returns how many the kernel could not keep.
    pub(super) fn drain(&mut self, mut use_sample: impl FnMut(&StackSnapshot)) -> u64 {
        let (head, mut at) = (self.ring.head(), self.ring.tail());
        let mut lost = 0;
        while at < head {
            let header = RecordHeader::from_word(self.ring.data(at));
            match header.kind {
                RecordHeader::LOST => lost += self.ring.data(at + 16),
                RecordHeader::SAMPLE => {
                    if let Some(sample) = self.parse(at, header) {
                        use_sample(&sample);
                    }
                }
                _ => {}
            }
            at += header.bytes;
        }
        self.ring.release_until(head);
        lost
    }

    /// Parses a sample: header, instruction pointer, time, counters, which registers there are, registers, size of the stack, stack, its
    /// valid size.
    fn parse(&self, at: u64, header: RecordHeader) -> Option<StackSnapshot<'_>> {
        // The group has the event of the samples as well. It would fall apart with its first event.
        let values = if self.events > 0 { self.ring.data(at + 24).min(header.bytes / 8) } else { 0 };
        let read_word = |index: usize| self.ring.data(at + 8 * (3 + index as u64));
        let is_whole = self.events > 0 && values == self.events as u64 + 1;
        let counters = is_whole.then(|| GroupReading::from_words(self.events, read_word));
        let counter_words = if self.events > 0 { GROUP_HEADER_WORDS as u64 + values } else { 0 };
        let time_ns = self.ring.data(at + 16);
        let (at, end) = (at + 8 * counter_words, at + header.bytes);
        let word = |index: u64| self.ring.data(at + 8 * index);
        const NO_REGISTERS: u64 = 0;
        // A thread of the kernel, or one that is exiting.
        if word(3) == NO_REGISTERS {
            return None;
        }
        let size_word = SAMPLE_HEADER_WORDS + BP_SP_IP_WORDS;
        let (stack_position, size) = (at + 8 * (size_word + 1), if self.has_stacks { word(size_word) } else { 0 });
        // The valid size follows if the size is not zero.
        let fits = size > 0 && stack_position + size + 8 <= end;
        let stack_bytes = if fits { self.ring.data(stack_position + size).min(size) } else { 0 };
        let registers = StackRegisters { code: CodeAddress::Instruction(word(6)), stack_pointer: word(5), frame_pointer: word(4) };
        let in_kernel = header.flags & CPU_MODE == CPU_MODE_KERNEL;
        let behind_stack = stack_position + if size > 0 { size + 8 } else { 0 };
        let python = if self.is_of_handler { behind_stack..end } else { end..end };
        Some(StackSnapshot { time_ns, in_kernel, counters, registers, ring: &self.ring, stack_position, stack_bytes, python })
    }

    /// Closes the ring. In a forked child it is not mapped, so it must not be closed there.
    pub(super) fn close(self) {
        self.ring.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::nanoseconds;
    use sintonia_recording::counter_event::CounterEvent;

    #[inline(never)]
    fn spin(nanoseconds_of_thread: u64) -> u64 {
        let begin = nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
        let mut rounds = 0;
        while nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID) - begin < nanoseconds_of_thread {
            rounds += (0..2000).fold(0, |sum, number| std::hint::black_box(sum ^ number)) | 1;
        }
        rounds
    }

    #[test]
    fn samples_come_with_the_time_on_the_processor() {
        let Some(mode) = SampleMode::find(1_000_000) else { return };
        let mut ring = SampleRing::open(mode, 0, None).expect("the kernel allows samples");
        let (mut samples, mut lost) = (0, 0);
        for _ in 0..20 {
            std::hint::black_box(spin(10_000_000));
            lost += ring.drain(|sample| {
                samples += 1;
                assert_eq!(sample.read_stack(sample.registers.stack_pointer).is_some(), sample.stack_bytes > 0);
                assert_eq!(sample.read_stack(sample.registers.stack_pointer - 8), None);
                assert_eq!(sample.read_stack(sample.registers.stack_pointer + sample.stack_bytes), None);
            });
        }
        ring.close();
        // Some 200, less those in the kernel where these are not seen.
        assert!((100..300).contains(&(samples + lost)), "{samples} {lost}");
    }

    #[test]
    fn samples_have_the_counters_of_their_thread() {
        let faults = CounterEvent::from_name("page-faults").unwrap();
        let (Some(mode), Some(group)) = (SampleMode::find(1_000_000), EventGroup::open(&[faults, TASK_CLOCK], 0).ok()) else { return };
        let mut ring = SampleRing::open(mode, 0, Some(&group)).expect("the kernel allows samples");
        let before = group.read().unwrap();
        std::hint::black_box(spin(20_000_000));
        let mut readings = Vec::new();
        ring.drain(|sample| {
            assert_eq!(sample.read_stack(sample.registers.stack_pointer).is_some(), sample.stack_bytes > 0);
            readings.extend(sample.counters);
        });
        let after = group.read().unwrap();
        ring.close();
        assert!(readings.len() > 5, "{}", readings.len());
        let order = |reading: &GroupReading| reading.values[1];
        assert!(readings.iter().chain([&after]).map(order).is_sorted() && order(&before) < order(&readings[0]), "{readings:?}");
        assert!(readings.iter().all(|reading| reading.values[2..] == [0, 0] && reading.since(&readings[0]).is_some()), "{readings:?}");
    }
}
