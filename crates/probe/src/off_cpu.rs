//! When a thread was off the processor: between two MPI calls, and inside one.
//!
//! Asking the kernel at every call would cost more than recording the call. So a word in memory is watched that the kernel changes when it
//! takes the processor away from the thread ([`tripwire`]); only then the kernel is asked for how long ([`counters`]), and an interval is
//! written to a file of the thread. Where the kernel allows it, a ring has every switch with its time ([`switch_ring`]);
//! otherwise there is one interval for the whole call or segment, with the sums.

mod counters;
mod switch_ring;
mod tripwire;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sintonia_recording::definitions::{DefinitionRecord, OffCpuDefinition};
use sintonia_recording::host::OffCpuSource;
use sintonia_recording::raw::off_cpu::{MAGIC, NO_THREAD, RECORD_WORDS, RawInterval};

use self::counters::{OffCpuSums, SHORTEST_NS, SchedulerChange, SchedulerCounters};
use self::switch_ring::{ContextSwitch, SwitchRing};
use self::tripwire::RseqTripwire;
use crate::cancellation::CancellationGuard;
use crate::clock::{self, nanoseconds, ticks};
use crate::process::{self, ProcessState};
use crate::record_stream::RecordStream;
use crate::settings::{OffCpuSetting, settings};

/// Without a tripwire, the kernel is asked after this many ticks: 0.1 to 0.4 ms, against the 0.3 µs of asking.
const POLL_TICKS: u64 = 400_000;

/// A word that never changes.
static UNCHANGED: AtomicU64 = AtomicU64::new(0);

/// More switches in one call or segment are summed up.
const MOST_SWITCHES: usize = 64;
/// Above this rate of context switches, the ring of a thread is closed and only sums are recorded: the thread yields in a loop, and the ring
/// makes each switch slower. The rate is checked in calls and segments with at least [`FEWEST_SWITCHES`] switches.
const MOST_SWITCHES_PER_SECOND: u64 = 10_000;
const FEWEST_SWITCHES: u64 = 200;

/// How the threads of this process are watched.
struct OffCpuMode {
    /// The tripwire, if there is one; otherwise the kernel is asked now and then.
    tripwire: Option<RseqTripwire>,
    /// Whether every switch is recorded.
    exact: bool,
}

/// `None`: not at all.
static MODE: OnceLock<Option<OffCpuMode>> = OnceLock::new();

/// Selects how threads are watched and defines it; call once, after the time source is selected.
pub(crate) fn start() {
    let mode = MODE.get_or_init(|| {
        let setting = settings().off_cpu;
        if settings().profile || setting == OffCpuSetting::Off || SchedulerCounters::open().map(SchedulerCounters::close).is_none() {
            return None;
        }
        let tripwire = RseqTripwire::find().filter(RseqTripwire::detects_blocking);
        let exact = setting != OffCpuSetting::Sums && SwitchRing::open().map(SwitchRing::close).is_some();
        if setting == OffCpuSetting::Exact && !exact {
            process::note("the kernel does not report context switches (see kernel.perf_event_paranoid): times off the processor are sums");
        }
        Some(OffCpuMode { tripwire, exact })
    });
    if mode.is_none() && !settings().profile && settings().off_cpu != OffCpuSetting::Off {
        process::note("the kernel does not tell when threads were off the processor");
    }
    define_source(match mode {
        None => OffCpuSource::Totals,
        Some(mode) if mode.exact => OffCpuSource::ContextSwitches,
        Some(_) => OffCpuSource::RunQueue,
    });
}

/// Set when the program was found to have replaced the tripwire: what came after that is not known.
static REPLACED: AtomicBool = AtomicBool::new(false);

fn define_source(source: OffCpuSource) {
    let source = if REPLACED.load(Ordering::Relaxed) { OffCpuSource::Totals } else { source };
    process::define(&DefinitionRecord::OffCpu(OffCpuDefinition { source }));
}

/// Watches one thread.
pub(crate) struct OffCpuMonitor {
    /// The word that changes when the thread loses its processor.
    word: *const AtomicU64,
    /// Its value until then.
    expected: u64,
    /// Return of the last call, in ticks; if polled, when the kernel was last asked.
    since: u64,
    /// When its last thread ended, in ticks; 0 if it had none.
    ended: u64,
    counters: Option<SchedulerCounters>,
    /// Every switch, if the kernel allows it.
    ring: Option<SwitchRing>,
    stream: RecordStream<RECORD_WORDS>,
}

impl OffCpuMonitor {
    /// The monitor of a thread number; it watches nothing before [`attach`](Self::attach).
    pub(crate) fn new(thread: u16) -> OffCpuMonitor {
        let content = format!("times off the processor of thread {thread}");
        let stream = RecordStream::new(&format!("t{thread}.offcpu"), MAGIC, content);
        OffCpuMonitor { word: &raw const UNCHANGED, expected: 0, since: 0, ended: 0, counters: None, ring: None, stream }
    }

    /// Begins to watch the calling thread.
    pub(crate) fn attach(&mut self) {
        if self.ended != 0 {
            self.record_absence(self.ended, ticks());
        }
        let Some(Some(mode)) = MODE.get() else { return };
        self.counters = SchedulerCounters::open();
        if self.counters.is_none() {
            return;
        }
        if mode.exact {
            self.ring = SwitchRing::open();
        }
        (self.word, self.expected) = match (&mode.tripwire, &self.ring) {
            (Some(tripwire), _) => tripwire.of_this_thread().unwrap_or(Self::ALWAYS_CHANGED),
            (None, Some(ring)) => ring.tripwire(),
            (None, None) => Self::ALWAYS_CHANGED,
        };
        if mode.exact && self.ring.is_none() {
            define_source(OffCpuSource::RunQueue);
        }
        self.restart();
    }

    /// A word that always looks as if it had changed.
    const ALWAYS_CHANGED: (*const AtomicU64, u64) = (&raw const UNCHANGED, 1);

    /// Stops watching, when the thread ends.
    pub(crate) fn release(&mut self) {
        self.verify();
        self.ended = ticks();
        (self.word, self.expected) = (&raw const UNCHANGED, 0);
        if let Some(counters) = self.counters.take() {
            counters.close();
        }
        if let Some(ring) = self.ring.take() {
            ring.close();
        }
    }

    /// Checks that the tripwire of the calling thread, which this monitor watches, still works. A program may register restartable sequences
    /// of its own in place of the C library's: the kernel then leaves the word alone.
    pub(crate) fn verify(&self) {
        let Some(Some(OffCpuMode { tripwire: Some(tripwire), .. })) = MODE.get() else { return };
        let is_watched =
            process::state() == ProcessState::Recording && self.counters.is_some() && !std::ptr::eq(self.word, &raw const UNCHANGED);
        if is_watched && tripwire.of_this_thread().is_none() && !REPLACED.swap(true, Ordering::Relaxed) {
            process::note("the program's own rseq hides when threads were off the processor");
            define_source(OffCpuSource::Totals);
        }
    }

    /// Whether the kernel is asked now and then, because there is no tripwire.
    #[inline(always)]
    fn is_polled(&self) -> bool {
        self.expected == Self::ALWAYS_CHANGED.1
    }

    /// Begins anew: what came before was not the program's.
    pub(crate) fn restart(&mut self) {
        self.rearm();
        self.since = ticks();
        if let Some(ring) = &mut self.ring {
            ring.drain();
        }
        if let Some(counters) = &mut self.counters {
            counters.restart();
        }
    }

    /// Ends the segment before a call.
    #[inline(always)]
    pub(crate) fn enter(&mut self) {
        if self.is_disturbed() {
            self.record(self.since, ticks());
        }
    }

    /// Ends a call.
    #[inline(always)]
    pub(crate) fn leave(&mut self, enter: u64, leave: u64) {
        if self.is_disturbed() {
            self.record(enter, leave);
        }
        if !self.is_polled() {
            self.since = leave;
        }
    }

    #[inline(always)]
    fn is_disturbed(&self) -> bool {
        // SAFETY: a static word, or one of this thread that exists until the thread ends.
        unsafe { (*self.word).load(Ordering::Relaxed) != self.expected }
    }

    fn rearm(&mut self) {
        match &self.ring {
            _ if std::ptr::eq(self.word, &raw const UNCHANGED) => {}
            Some(ring) if std::ptr::eq(self.word, ring.tripwire().0) => self.expected = ring.tripwire().1,
            // SAFETY: as in `is_disturbed`.
            _ => unsafe { (*self.word).store(self.expected, Ordering::Relaxed) },
        }
    }

    #[cold]
    fn record(&mut self, begin: u64, end: u64) {
        // Reading and writing files are cancellation points.
        let _guard = CancellationGuard::new();
        let begin = if self.is_polled() { self.since } else { begin };
        if self.is_polled() {
            if end.saturating_sub(begin) < POLL_TICKS {
                return;
            }
            self.since = end;
        }
        // First, so that what happens from here on is found at the next call.
        self.rearm();
        let Some(change) = self.counters.as_mut().and_then(SchedulerCounters::read_change) else { return };
        if !self.record_switches(&change, begin, end)
            && let Some(counters) = &mut self.counters
        {
            let time = counters.read_sums(change.waiting_ns, begin, end);
            self.append(begin, end, &time);
        }
        self.stop_ring_if_flooded(&change, begin, end);
    }

    /// Records the switches in the ring; `false` if there is none, or if some are missing.
    fn record_switches(&mut self, change: &SchedulerChange, begin: u64, end: u64) -> bool {
        let (Some(ring), Some(counters)) = (&mut self.ring, &mut self.counters) else { return false };
        let Some(switches) = ring.drain() else { return false };
        let (now_ns, now_ticks) = (nanoseconds(libc::CLOCK_MONOTONIC), ticks());
        let total = SwitchTotals::new(switches, change.waiting_ns);
        counters.account(total.off_ns);
        if switches.len() > MOST_SWITCHES {
            let time = OffCpuSums { waiting_ns: total.waiting_ns, blocked_ns: total.off_ns - total.waiting_ns };
            self.append(begin, end, &time);
            return true;
        }
        for index in 0..switches.len() {
            let Some(switch) = self.ring.as_ref().and_then(|ring| ring.drained().get(index).copied()) else { break };
            let at = |time_ns| clock::ticks_at(time_ns, now_ns, now_ticks);
            self.append(at(switch.out), at(switch.back), &total.split(&switch));
        }
        true
    }

    fn append(&mut self, begin: u64, end: u64, time: &OffCpuSums) {
        let worth_noting = time.waiting_ns.max(time.blocked_ns) >= SHORTEST_NS;
        if end > begin && worth_noting && is_recording() {
            // SAFETY: only queries the processor.
            let processor = u32::try_from(unsafe { libc::sched_getcpu() }).ok();
            self.stream.append(RawInterval { begin, end, waiting_ns: time.waiting_ns, blocked_ns: time.blocked_ns, processor }.to_words());
        }
    }

    /// No thread had this number meanwhile: a recording that does not tell when threads were off the processor has that, too.
    fn record_absence(&mut self, begin: u64, end: u64) {
        if end > begin && !settings().profile && process::state() == ProcessState::Recording {
            let blocked_ns = clock::elapsed_ns(begin, end, nanoseconds(libc::CLOCK_MONOTONIC));
            self.stream.append(RawInterval { begin, end, waiting_ns: 0, blocked_ns, processor: Some(NO_THREAD) }.to_words());
        }
    }

    /// Goes on with sums if the thread switches too often.
    fn stop_ring_if_flooded(&mut self, change: &SchedulerChange, begin: u64, end: u64) {
        if self.ring.is_none() || change.time_slices < FEWEST_SWITCHES {
            return;
        }
        let length_ns = clock::elapsed_ns(begin, end, nanoseconds(libc::CLOCK_MONOTONIC)).max(1);
        if change.time_slices.saturating_mul(1_000_000_000) / length_ns < MOST_SWITCHES_PER_SECOND {
            return;
        }
        if let Some(ring) = self.ring.take() {
            if std::ptr::eq(self.word, ring.tripwire().0) {
                (self.word, self.expected) = Self::ALWAYS_CHANGED;
            }
            ring.close();
            define_source(OffCpuSource::RunQueue);
        }
    }

    /// Writes what would be lost with the process.
    pub(crate) fn finish(&mut self) {
        self.stream.finish();
    }
}

/// Whether intervals are recorded. When recording has ended, the files may have been sent to another host and removed.
fn is_recording() -> bool {
    process::state() == ProcessState::Recording && !process::is_recording_off()
}

/// Sums over the switches of a call or segment.
struct SwitchTotals {
    /// All time off the processor.
    off_ns: u64,
    /// Of that, ready to run.
    waiting_ns: u64,
    /// Length of the switches at which the thread blocked ...
    blocking_ns: u64,
    /// ... and how long it was ready to run at the end of these.
    woken_ns: u64,
}

impl SwitchTotals {
    /// `waiting_ns` is the time in the run queue by the kernel's count.
    fn new(switches: &[ContextSwitch], waiting_ns: u64) -> SwitchTotals {
        let sum = |preempted: bool| switches.iter().filter(|s| s.preempted == preempted).map(|s| s.back - s.out).sum::<u64>();
        let (preempted_ns, blocking_ns) = (sum(true), sum(false));
        let woken_ns = waiting_ns.saturating_sub(preempted_ns).min(blocking_ns);
        SwitchTotals { off_ns: preempted_ns + blocking_ns, waiting_ns: preempted_ns + woken_ns, blocking_ns, woken_ns }
    }

    /// Time waiting and blocked in one switch. When a blocked thread was woken is not recorded, so that time is shared by length.
    fn split(&self, switch: &ContextSwitch) -> OffCpuSums {
        let off = switch.back - switch.out;
        if switch.preempted {
            return OffCpuSums { waiting_ns: off, blocked_ns: 0 };
        }
        let waiting_ns = (u128::from(off) * u128::from(self.woken_ns) / u128::from(self.blocking_ns.max(1))) as u64;
        OffCpuSums { waiting_ns, blocked_ns: off - waiting_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_queue_time_beyond_preemption_is_that_after_being_woken() {
        let switch = |out, back, preempted| ContextSwitch { out, back, preempted };
        let switches = [switch(0, 100, true), switch(200, 500, false), switch(600, 700, false)];
        let split = |waiting_ns| {
            let total = SwitchTotals::new(&switches, waiting_ns);
            switches.map(|switch| total.split(&switch)).map(|time| (time.waiting_ns, time.blocked_ns))
        };
        assert_eq!(split(100), [(100, 0), (0, 300), (0, 100)]);
        assert_eq!(split(140), [(100, 0), (30, 270), (10, 90)]);
        assert_eq!(split(90), [(100, 0), (0, 300), (0, 100)], "clocks that differ by a little");
        assert_eq!(split(9999), [(100, 0), (300, 0), (100, 0)]);
    }
}
