//! What the kernel and the processor count for each thread: instructions, cycles, cache misses, page faults.
//!
//! The counters of a thread are read at both ends of a segment between two MPI calls, and recorded if the segment is long. Whether the next
//! segment will be long is not known when a call returns, so it is predicted from the last ones behind the same call path: in a program
//! whose segments are all short, nothing is read. Samples have the counters as well ([`crate::sampling`]), by the same group of events.

mod event_group;
mod resource_usage;
mod user_page;

use std::sync::{Arc, OnceLock, Weak};

use sintonia_recording::counter_event::{CounterEvent, DEFAULT_HARDWARE, DEFAULT_SOFTWARE, EventSource, MAX_EVENTS};
use sintonia_recording::definitions::{CountersDefinition, DefinitionRecord};
use sintonia_recording::raw::counters::{MAGIC, RECORD_WORDS, RawCounts};

use self::event_group::NotCounted;
pub(crate) use self::event_group::{EventGroup, GROUP_HEADER_WORDS, GroupReading};
use self::resource_usage::UsageCounters;
use crate::breakable_lock::BreakableLock;
use crate::cancellation::CancellationGuard;
use crate::clock::{nanoseconds, ticks, to_ticks};
use crate::process::{self, ProcessState};
use crate::record_stream::RecordStream;
use crate::settings::{self, CounterSetting, settings};

/// Shortest segment that is recorded: some two hundred times what two readings take.
const SHORTEST_USER_READ_NS: u64 = 20_000;
const SHORTEST_SYSTEM_CALL_NS: u64 = 200_000;

/// What is counted for each thread of this process.
struct SelectedCounters {
    names: Vec<String>,
    source: CounterSource,
    /// Shortest segment that is recorded.
    shortest_ns: u64,
}

/// Where counters are read.
enum CounterSource {
    /// Events of the kernel.
    Events(Vec<CounterEvent>),
    /// What the kernel counts for each thread anyway.
    Usage(UsageCounters),
}

/// `None`: nothing.
static SELECTED: OnceLock<Option<SelectedCounters>> = OnceLock::new();

/// The groups of threads that are in use.
static GROUPS: BreakableLock<Vec<(libc::pid_t, Weak<EventGroup>)>> = BreakableLock::new(Vec::new());

/// Selects what is counted and defines it; call once.
pub(crate) fn start() {
    SELECTED.get_or_init(|| {
        let selected = match &settings().counters {
            _ if settings().profile => None,
            CounterSetting::Off => None,
            // Tuning compares times of the program: nothing is added to them without being asked for.
            CounterSetting::Automatic if settings::is_tuned() => None,
            CounterSetting::Automatic => default_counters(),
            CounterSetting::Named(names) => named_counters(names),
        }?;
        let SelectedCounters { names, shortest_ns, .. } = &selected;
        process::define(&DefinitionRecord::Counters(CountersDefinition { events: names.clone(), shortest_ns: *shortest_ns }));
        Some(selected)
    });
}

impl SelectedCounters {
    fn events(names: &[&str]) -> SelectedCounters {
        let events: Vec<CounterEvent> = names.iter().filter_map(|name| CounterEvent::from_name(name)).collect();
        let is_user_readable = EventGroup::open(&events, 0).is_ok_and(|group| group.is_user_readable());
        SelectedCounters {
            names: names.iter().map(|name| String::from(*name)).collect(),
            source: CounterSource::Events(events),
            shortest_ns: if is_user_readable { SHORTEST_USER_READ_NS } else { SHORTEST_SYSTEM_CALL_NS },
        }
    }

    fn usage(names: &[&str]) -> Option<SelectedCounters> {
        let (counters, names) = UsageCounters::find(names)?;
        Some(SelectedCounters { names, source: CounterSource::Usage(counters), shortest_ns: SHORTEST_SYSTEM_CALL_NS })
    }
}

/// The first list of events that can be counted.
fn default_counters() -> Option<SelectedCounters> {
    let [instructions, cycles, _] = DEFAULT_HARDWARE;
    let lists: [&[&str]; 3] = [&DEFAULT_HARDWARE, &[instructions, cycles], &DEFAULT_SOFTWARE];
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let is_left_to_program = counting_library(&maps).inspect(|library| {
        process::note(&format!(
            "counters of the processor are left to the program, which has loaded {library} (--counters instructions,cycles counts them)"
        ));
    });
    let lists = if is_left_to_program.is_some() { &lists[2..] } else { &lists[..] };
    if let Some(names) = lists.iter().find(|names| check_counted(names).is_ok()) {
        return Some(SelectedCounters::events(names));
    }
    let why = check_counted(&DEFAULT_SOFTWARE).err()?;
    process::note(&format!("of the counters only page faults were recorded, and not with samples: {why}"));
    SelectedCounters::usage(&DEFAULT_SOFTWARE)
}

/// The file name of a loaded library with which a program counts events itself. Counters of the processor are few: those that the probe
/// takes are missing there, and the program would fail, or print other numbers.
fn counting_library(maps: &str) -> Option<&str> {
    let file_name = |line: &'_ str| line.rfind('/').map(|slash| slash + 1);
    let names = maps.lines().filter_map(|line| Some(&line[file_name(line)?..]));
    names.into_iter().find(|name| ["libpapi.", "libpfm.", "liblikwid."].iter().any(|library| name.starts_with(library)))
}

/// Those of the events that can be counted together.
fn named_counters(names: &[String]) -> Option<SelectedCounters> {
    let mut found: Vec<&str> = Vec::new();
    let mut others: Vec<(&str, NotCounted)> = Vec::new();
    // Values of the processor's counters are only up to date in a group whose first event is one of them.
    let is_software = |name: &&str| CounterEvent::from_name(name).is_some_and(|event| event.source == EventSource::Software);
    let (software, hardware): (Vec<&str>, Vec<&str>) = names.iter().map(String::as_str).partition(is_software);
    for name in hardware.into_iter().chain(software) {
        let together: Vec<&str> = found.iter().copied().chain([name]).collect();
        match check_counted(&together) {
            Ok(()) => found.push(name),
            Err(why) => others.push((name, why)),
        }
    }
    let not_counted: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    let usage = if found.is_empty() { SelectedCounters::usage(&not_counted) } else { None };
    for (name, why) in others {
        let by_usage = usage.as_ref().is_some_and(|usage| usage.names.iter().any(|counted| counted == name));
        let what = if by_usage { "counted with samples" } else { "counted" };
        let together = if found.is_empty() { "" } else { ", or not together with the others" };
        process::note(&format!("{name} was not {what}: {why}{together}"));
    }
    if found.is_empty() { usage } else { Some(SelectedCounters::events(&found)) }
}

/// Whether events are counted, all of them at the same time.
fn check_counted(names: &[&str]) -> Result<(), NotCounted> {
    let events: Option<Vec<CounterEvent>> = names.iter().map(|name| CounterEvent::from_name(name)).collect();
    let events = events.filter(|events| events.len() <= MAX_EVENTS).ok_or(NotCounted::Event)?;
    let group = EventGroup::open(&events, 0)?;
    let before = group.read();
    std::hint::black_box((0..1000).fold(0, |sum, number| std::hint::black_box(sum ^ number)));
    before.zip(group.read()).and_then(|(before, after)| after.since(&before)).map(drop).ok_or(NotCounted::Counter)
}

/// The events of a thread of this process, which are opened if they are not in use yet.
pub(crate) fn open_group(thread: libc::pid_t) -> Option<Arc<EventGroup>> {
    let CounterSource::Events(events) = &SELECTED.get()?.as_ref()?.source else { return None };
    let mut groups = GROUPS.lock()?;
    groups.retain(|(_, group)| group.strong_count() > 0);
    if let Some(group) = groups.iter().find(|(known, _)| *known == thread).and_then(|(_, group)| group.upgrade()) {
        return Some(group);
    }
    let group = Arc::new(EventGroup::open(events, thread).ok()?);
    groups.push((thread, Arc::downgrade(&group)));
    Some(group)
}

/// The counters of one thread.
enum ThreadSource {
    Events(Arc<EventGroup>),
    Usage(&'static UsageCounters),
}

impl ThreadSource {
    /// Those of the calling thread.
    fn open() -> Option<ThreadSource> {
        match &SELECTED.get()?.as_ref()?.source {
            // SAFETY: only queries the thread id.
            CounterSource::Events(_) => open_group(unsafe { libc::gettid() }).map(ThreadSource::Events),
            CounterSource::Usage(counters) => Some(ThreadSource::Usage(counters)),
        }
    }
}

/// Records the counters of one thread between its calls.
pub(crate) struct SegmentCounters {
    source: Option<ThreadSource>,
    /// Shortest segment that is recorded, in ticks.
    shortest: u64,
    /// Return of the last call.
    since: u64,
    /// The counters at that time, if the segment is expected to be long.
    begin: Option<GroupReading>,
    /// The counters at the end of the segment.
    end: Option<GroupReading>,
    /// The call path of the last call.
    path: usize,
    /// For call paths, whether the segments behind them are long.
    expected: Box<[SegmentPredictor; 256]>,
    stream: RecordStream<RECORD_WORDS>,
}

/// Counts up with long segments and down with short ones. One that is long now and then is not forgotten at once.
#[derive(Clone, Copy, Default)]
struct SegmentPredictor(u8);

impl SegmentPredictor {
    const MOST: u8 = 4;

    fn expects_long(self) -> bool {
        self.0 > 0
    }

    fn update(&mut self, is_long: bool) {
        self.0 = if is_long { Self::MOST } else { self.0.saturating_sub(1) };
    }
}

impl SegmentCounters {
    /// The counters of a thread number; nothing is read before [`attach`](Self::attach).
    pub(crate) fn new(thread: u16) -> SegmentCounters {
        let stream = RecordStream::new(&format!("t{thread}.counters"), MAGIC, format!("counters of thread {thread}"));
        let expected = Box::new([SegmentPredictor::default(); 256]);
        SegmentCounters { source: None, shortest: u64::MAX, since: 0, begin: None, end: None, path: 0, expected, stream }
    }

    /// Begins to read the counters of the calling thread.
    pub(crate) fn attach(&mut self) {
        let Some(Some(selected)) = SELECTED.get() else { return };
        self.source = ThreadSource::open();
        if self.source.is_some() {
            (self.since, self.begin) = (ticks(), None);
            self.shortest = to_ticks(selected.shortest_ns, nanoseconds(libc::CLOCK_MONOTONIC), self.since);
        }
    }

    /// Ends with the thread.
    pub(crate) fn release(&mut self) {
        // In a forked child nothing of it is there.
        if process::state() == ProcessState::Recording {
            self.source = None;
        }
        (self.shortest, self.begin) = (u64::MAX, None);
    }

    /// Reads the counters as soon as the program has called MPI, so that nothing of the probe is counted.
    #[inline(always)]
    pub(crate) fn end_segment(&mut self) {
        if self.begin.is_some() {
            self.end = self.read();
        }
    }

    /// Records the segment before a call with this path.
    #[inline(always)]
    pub(crate) fn enter(&mut self, now: u64, path: usize) {
        if self.begin.is_some() || now.wrapping_sub(self.since) >= self.shortest {
            self.record(now);
        }
        self.path = path;
    }

    /// Begins a segment; the last thing that is done in a call.
    #[inline(always)]
    pub(crate) fn leave(&mut self, now: u64) {
        self.since = now;
        if self.expected[slot(self.path)].expects_long() {
            self.begin = self.read();
        }
    }

    #[cold]
    #[inline(never)]
    fn read(&self) -> Option<GroupReading> {
        // Reading a file is a cancellation point.
        let _guard = CancellationGuard::new();
        match self.source.as_ref()? {
            ThreadSource::Events(group) => group.read(),
            ThreadSource::Usage(counters) => Some(counters.read()),
        }
    }

    #[cold]
    #[inline(never)]
    fn record(&mut self, now: u64) {
        // Writing a file is a cancellation point.
        let _guard = CancellationGuard::new();
        let is_long = now.saturating_sub(self.since) >= self.shortest;
        self.expected[slot(self.path)].update(is_long && self.source.is_some());
        let (Some(begin), Some(end)) = (self.begin.take(), self.end.take()) else { return };
        let is_recording = process::state() == ProcessState::Recording && !process::is_recording_off();
        if let Some(counts) = end.since(&begin).filter(|_| is_long && is_recording) {
            self.stream.append(RawCounts { begin: self.since, end: now, counts }.to_words());
        }
    }

    /// Writes what would be lost with the process.
    pub(crate) fn finish(&mut self) {
        self.stream.finish();
    }
}

/// Where the prediction for a call path is.
#[inline(always)]
fn slot(path: usize) -> usize {
    (path as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_segment_is_expected_until_four_were_short() {
        let mut predictor = SegmentPredictor::default();
        let mut after = |is_long| {
            predictor.update(is_long);
            predictor.expects_long()
        };
        assert_eq!([false, true, false, false, false, false, true].map(&mut after), [false, true, true, true, true, false, true]);
    }

    #[test]
    fn names_without_an_event_are_left_out() {
        assert_eq!(check_counted(&["nonsense"]), Err(NotCounted::Event));
    }

    #[test]
    fn a_program_that_counts_itself_is_known_by_its_libraries() {
        let maps = |path: &str| {
            format!("7f00-7f10 r-xp 00001000 08:01 1 /usr/lib/libmpi.so.40\n7f20-7f30 r--p 0 08:01 2 {path}\n7f40-7f50 rw-p 0 0 0\n")
        };
        assert_eq!(counting_library(&maps("/opt/papi/lib/libpapi.so.7.1")), Some("libpapi.so.7.1"));
        assert_eq!(counting_library(&maps("/usr/lib/liblikwid.so.5")), Some("liblikwid.so.5"));
        assert_eq!(counting_library(&maps("/home/libpapi.d/libother.so")), None);
    }
}
