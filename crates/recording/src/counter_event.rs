//! Events that the kernel counts for a thread, by the names that `perf list` has for them.

/// Most events that are counted at a time. Processors have four to eight counters for all; one of them is often taken.
pub const MAX_EVENTS: usize = 4;

/// Where the kernel finds an event: `type` of `struct perf_event_attr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EventSource {
    /// A counter of the processor, by a name that all processors share.
    Hardware = 0,
    /// The kernel itself.
    Software = 1,
    /// A counter of the processor, by the number of the manufacturer.
    Raw = 4,
}

/// An event that can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterEvent {
    /// Where it is found.
    pub source: EventSource,
    /// Its number there.
    pub config: u64,
}

/// What is counted by default where the processor's counters can be used.
pub const DEFAULT_HARDWARE: [&str; 3] = ["instructions", "cycles", "cache-misses"];
/// What is counted by default elsewhere.
pub const DEFAULT_SOFTWARE: [&str; 2] = ["page-faults", "major-faults"];

/// Events that happen in the kernel only are left out: ordinary users may count what happens in their programs.
const NAMED: [(&str, EventSource, u64); 12] = [
    ("cycles", EventSource::Hardware, 0),
    ("instructions", EventSource::Hardware, 1),
    ("cache-references", EventSource::Hardware, 2),
    ("cache-misses", EventSource::Hardware, 3),
    ("branches", EventSource::Hardware, 4),
    ("branch-misses", EventSource::Hardware, 5),
    ("stalled-cycles-frontend", EventSource::Hardware, 7),
    ("stalled-cycles-backend", EventSource::Hardware, 8),
    ("ref-cycles", EventSource::Hardware, 9),
    ("page-faults", EventSource::Software, 2),
    ("minor-faults", EventSource::Software, 5),
    ("major-faults", EventSource::Software, 6),
];

impl CounterEvent {
    /// The event with a name; `rNNN` is the event with that hexadecimal number.
    pub fn from_name(name: &str) -> Option<CounterEvent> {
        if let Some((_, source, config)) = NAMED.into_iter().find(|(known, ..)| *known == name) {
            return Some(CounterEvent { source, config });
        }
        let digits = name.strip_prefix('r').filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        u64::from_str_radix(digits, 16).ok().map(|config| CounterEvent { source: EventSource::Raw, config })
    }

    /// The names of all events but those with a number.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.into_iter().map(|(name, ..)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_numbers_of_the_kernel_header() {
        let number = |name| CounterEvent::from_name(name).map(|event| (event.source as u32, event.config));
        assert_eq!(number("instructions"), Some((0, 1)));
        assert_eq!(number("page-faults"), Some((1, 2)));
        assert_eq!(number("r01c2"), Some((4, 0x1c2)));
        assert_eq!([number("r"), number("rxyz"), number("PAPI_TOT_INS"), number("")], [None; 4]);
        let defaults = DEFAULT_HARDWARE.iter().chain(&DEFAULT_SOFTWARE);
        assert!(defaults.clone().all(|name| number(name).is_some()) && DEFAULT_HARDWARE.len() <= MAX_EVENTS);
    }
}
