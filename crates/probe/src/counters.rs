//! What the kernel and the processor count for each thread: instructions, cycles, cache misses, page faults.
//!
//! The counters of a thread are read at both ends of a segment between two MPI calls, and recorded if the segment is long. Whether the next
//! segment will be long is not known when a call returns, so it is predicted from the last ones behind the same call path: in a program
//! whose segments are all short, nothing is read. Samples have the counters as well ([`crate::sampling`]), by the same group of events.

mod event_group;
mod user_page;

use std::sync::{Arc, OnceLock, Weak};

use sintonia_recording::counter_event::{CounterEvent, DEFAULT_HARDWARE, DEFAULT_SOFTWARE, EventSource, MAX_EVENTS};
use sintonia_recording::definitions::{CountersDefinition, DefinitionRecord};
use sintonia_recording::raw::counters::{MAGIC, RECORD_WORDS, RawCounts};

pub(crate) use self::event_group::{EventGroup, GROUP_HEADER_WORDS, GroupReading};
use crate::breakable_lock::BreakableLock;
use crate::clock::{nanoseconds, ticks, to_ticks};
use crate::process::{self, ProcessState};
use crate::record_stream::RecordStream;
use crate::settings::{self, CounterSetting, settings};

/// Shortest segment that is recorded: some two hundred times what two readings take.
const SHORTEST_USER_READ_NS: u64 = 20_000;
const SHORTEST_SYSTEM_CALL_NS: u64 = 200_000;

/// What is counted for each thread of this process.
struct SelectedEvents {
    events: Vec<CounterEvent>,
    shortest_ns: u64,
}

/// `None`: nothing.
static SELECTED: OnceLock<Option<SelectedEvents>> = OnceLock::new();

/// The groups of threads that are in use.
static GROUPS: BreakableLock<Vec<(libc::pid_t, Weak<EventGroup>)>> = BreakableLock::new(Vec::new());

/// Selects what is counted and defines it; call once.
pub(crate) fn start() {
    SELECTED.get_or_init(|| {
        let names = match &settings().counters {
            _ if settings().profile => return None,
            CounterSetting::Off => return None,
            // Tuning compares times of the program: nothing is added to them without being asked for.
            CounterSetting::Automatic if settings::is_tuned() => return None,
            CounterSetting::Automatic => available_defaults()?,
            CounterSetting::Named(names) => available(names),
        };
        let events: Vec<CounterEvent> = names.iter().filter_map(|name| CounterEvent::from_name(name)).collect();
        let group = EventGroup::open(&events, 0)?;
        let shortest_ns = if group.is_user_readable() { SHORTEST_USER_READ_NS } else { SHORTEST_SYSTEM_CALL_NS };
        process::define(&DefinitionRecord::Counters(CountersDefinition { events: names, shortest_ns }));
        Some(SelectedEvents { events, shortest_ns })
    });
}

/// The first list of events that can be counted.
fn available_defaults() -> Option<Vec<String>> {
    let [instructions, cycles, _] = DEFAULT_HARDWARE;
    let lists: [&[&str]; 3] = [&DEFAULT_HARDWARE, &[instructions, cycles], &DEFAULT_SOFTWARE];
    let found = lists.into_iter().find(|names| is_counted(names));
    if found.is_none() {
        process::note("nothing was counted: the kernel does not allow it (see kernel.perf_event_paranoid)");
    }
    found.map(|names| names.iter().map(|name| String::from(*name)).collect())
}

/// Those of the events that can be counted together.
fn available(names: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // Values of the processor's counters are only up to date in a group whose first event is one of them.
    let is_software = |name: &&String| CounterEvent::from_name(name).is_some_and(|event| event.source == EventSource::Software);
    let (software, hardware): (Vec<&String>, Vec<&String>) = names.iter().partition(is_software);
    for name in hardware.into_iter().chain(software) {
        let together: Vec<&str> = found.iter().map(String::as_str).chain([name.as_str()]).collect();
        if together.len() <= MAX_EVENTS && is_counted(&together) {
            found.push(name.clone());
        } else {
            process::note(&format!("{name} was not counted: this host does not count it, or not together with the others"));
        }
    }
    found
}

/// Whether events are counted, all of them at the same time.
fn is_counted(names: &[&str]) -> bool {
    let events: Option<Vec<CounterEvent>> = names.iter().map(|name| CounterEvent::from_name(name)).collect();
    let Some(group) = events.and_then(|events| EventGroup::open(&events, 0)) else { return false };
    let before = group.read();
    std::hint::black_box((0..1000).fold(0, |sum, number| std::hint::black_box(sum ^ number)));
    before.zip(group.read()).is_some_and(|(before, after)| after.since(&before).is_some())
}

/// The counters of a thread of this process, which are opened if they are not in use yet.
pub(crate) fn group_of(thread: libc::pid_t) -> Option<Arc<EventGroup>> {
    let selected = SELECTED.get()?.as_ref()?;
    let mut groups = GROUPS.lock()?;
    groups.retain(|(_, group)| group.strong_count() > 0);
    if let Some(group) = groups.iter().find(|(known, _)| *known == thread).and_then(|(_, group)| group.upgrade()) {
        return Some(group);
    }
    let group = Arc::new(EventGroup::open(&selected.events, thread)?);
    groups.push((thread, Arc::downgrade(&group)));
    Some(group)
}

/// Records the counters of one thread between its calls.
pub(crate) struct SegmentCounters {
    group: Option<Arc<EventGroup>>,
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
        SegmentCounters { group: None, shortest: u64::MAX, since: 0, begin: None, end: None, path: 0, expected, stream }
    }

    /// Begins to read the counters of the calling thread.
    pub(crate) fn attach(&mut self) {
        let Some(Some(selected)) = SELECTED.get() else { return };
        // SAFETY: only queries the thread id.
        self.group = group_of(unsafe { libc::gettid() });
        if self.group.is_some() {
            (self.since, self.begin) = (ticks(), None);
            self.shortest = to_ticks(selected.shortest_ns, nanoseconds(libc::CLOCK_MONOTONIC), self.since);
        }
    }

    /// Ends with the thread.
    pub(crate) fn release(&mut self) {
        // In a forked child nothing of it is there.
        if process::state() == ProcessState::Recording {
            self.group = None;
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
        self.group.as_ref().and_then(|group| group.read())
    }

    #[cold]
    #[inline(never)]
    fn record(&mut self, now: u64) {
        let is_long = now.saturating_sub(self.since) >= self.shortest;
        self.expected[slot(self.path)].update(is_long && self.group.is_some());
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
        assert!(!is_counted(&["nonsense"]));
    }
}
