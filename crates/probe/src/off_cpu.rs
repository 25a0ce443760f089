//! When a thread was off the processor: between two MPI calls, and inside one.
//!
//! Asking the kernel at every call would cost more than recording the call. So a word in memory is watched that the kernel changes when it
//! takes the processor away from the thread ([`tripwire`]); only then the kernel is asked for how long ([`counters`]), and an interval is
//! written to a file of the thread ([`stream`]).

mod counters;
mod stream;
mod tripwire;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use sintonia_recording::definitions::{DefinitionRecord, OffCpuDefinition};
use sintonia_recording::host::OffCpuSource;
use sintonia_recording::raw::off_cpu::RawInterval;

use self::counters::SchedulerCounters;
use self::stream::OffCpuStream;
use self::tripwire::RseqTripwire;
use crate::clock::ticks;
use crate::process::{self, ProcessState};
use crate::settings::settings;

/// Shorter times off the processor are not recorded.
const SHORTEST_NS: u64 = 1000;
/// Without a tripwire, the kernel is asked after this many ticks: 0.1 to 0.4 ms, against the 0.3 µs of asking.
const POLL_TICKS: u64 = 400_000;

/// A word that never changes.
static UNCHANGED: AtomicU64 = AtomicU64::new(0);

/// How the threads of this process are watched.
enum OffCpuMode {
    /// Not at all.
    Off,
    /// With the tripwire.
    Tripwire(RseqTripwire),
    /// By asking now and then.
    Polled,
}

static MODE: OnceLock<OffCpuMode> = OnceLock::new();

/// Selects how threads are watched and defines it; call once, after the time source is selected.
pub(crate) fn start() {
    let mode = MODE.get_or_init(|| {
        if settings().profile || SchedulerCounters::open().is_none() {
            return OffCpuMode::Off;
        }
        RseqTripwire::find().filter(RseqTripwire::detects_blocking).map_or(OffCpuMode::Polled, OffCpuMode::Tripwire)
    });
    let source = if matches!(mode, OffCpuMode::Off) { OffCpuSource::Totals } else { OffCpuSource::RunQueue };
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
    polled: bool,
    counters: Option<SchedulerCounters>,
    stream: OffCpuStream,
}

impl OffCpuMonitor {
    /// The monitor of a thread number; it watches nothing before [`attach`](Self::attach).
    pub(crate) fn new(thread: u16) -> OffCpuMonitor {
        let stream = OffCpuStream::new(thread);
        OffCpuMonitor { word: &raw const UNCHANGED, expected: 0, since: 0, polled: false, counters: None, stream }
    }

    /// Begins to watch the calling thread.
    pub(crate) fn attach(&mut self) {
        self.release();
        let (word, expected) = match MODE.get() {
            Some(OffCpuMode::Tripwire(tripwire)) => tripwire.of_this_thread().unwrap_or(Self::ALWAYS_CHANGED),
            Some(OffCpuMode::Polled) => Self::ALWAYS_CHANGED,
            Some(OffCpuMode::Off) | None => return,
        };
        self.counters = SchedulerCounters::open();
        if self.counters.is_some() {
            (self.word, self.expected) = (word, expected);
            self.polled = expected == Self::ALWAYS_CHANGED.1;
        }
        self.restart();
    }

    /// A word that always looks as if it had changed.
    const ALWAYS_CHANGED: (*const AtomicU64, u64) = (&raw const UNCHANGED, 1);

    /// Stops watching, when the thread ends.
    pub(crate) fn release(&mut self) {
        (self.word, self.expected, self.polled) = (&raw const UNCHANGED, 0, false);
        if let Some(counters) = self.counters.take() {
            counters.close();
        }
    }

    /// Begins anew: what came before was not the program's.
    pub(crate) fn restart(&mut self) {
        self.rearm();
        self.since = ticks();
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
        if !self.polled {
            self.since = leave;
        }
    }

    #[inline(always)]
    fn is_disturbed(&self) -> bool {
        // SAFETY: a static word, or one of this thread that exists until the thread ends.
        unsafe { (*self.word).load(Ordering::Relaxed) != self.expected }
    }

    fn rearm(&mut self) {
        if !self.polled && !std::ptr::eq(self.word, &raw const UNCHANGED) {
            // SAFETY: as in `is_disturbed`.
            unsafe { (*self.word).store(self.expected, Ordering::Relaxed) };
        }
    }

    #[cold]
    fn record(&mut self, begin: u64, end: u64) {
        let begin = if self.polled { self.since } else { begin };
        if self.polled {
            if end.saturating_sub(begin) < POLL_TICKS {
                return;
            }
            self.since = end;
        }
        // First, so that what happens from here on is found at the next call.
        self.rearm();
        let Some(counters) = &mut self.counters else { return };
        let Some(time) = counters.since_last(begin, end) else { return };
        let worth_noting = time.waiting_ns.max(time.blocked_ns) >= SHORTEST_NS;
        if end > begin && worth_noting && is_recording() {
            // SAFETY: only queries the processor.
            let processor = u32::try_from(unsafe { libc::sched_getcpu() }).ok();
            self.stream.append(RawInterval { begin, end, waiting_ns: time.waiting_ns, blocked_ns: time.blocked_ns, processor });
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
