//! Page faults of the calling thread where the kernel gives no events: `getrusage` is allowed everywhere.
//!
//! It counts those in system calls of the thread as well.

use sintonia_recording::counter_event::MAX_EVENTS;

use super::event_group::GroupReading;

/// What is counted, in the order of the values.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UsageCounters(Vec<FaultKind>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultKind {
    All,
    Minor,
    Major,
}

impl UsageCounters {
    /// Counters for those of these events that are page faults, and their names; `None` if none is.
    pub(super) fn find(names: &[&str]) -> Option<(UsageCounters, Vec<String>)> {
        let kind = |name: &str| match name {
            "page-faults" => Some(FaultKind::All),
            "minor-faults" => Some(FaultKind::Minor),
            "major-faults" => Some(FaultKind::Major),
            _ => None,
        };
        let (kinds, names): (Vec<FaultKind>, Vec<String>) =
            names.iter().filter_map(|name| Some((kind(name)?, String::from(*name)))).take(MAX_EVENTS).unzip();
        (!kinds.is_empty()).then_some((UsageCounters(kinds), names))
    }

    /// The counters of the calling thread.
    pub(super) fn read(&self) -> GroupReading {
        // SAFETY: all bits zero are a valid `rusage`.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is valid for writes.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        let (minor, major) = (usage.ru_minflt as u64, usage.ru_majflt as u64);
        let mut values = [0; MAX_EVENTS];
        for (value, kind) in values.iter_mut().zip(&self.0) {
            *value = match kind {
                FaultKind::All => minor + major,
                FaultKind::Minor => minor,
                FaultKind::Major => major,
            };
        }
        GroupReading { values, not_counted_ns: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_pages_are_counted_and_only_page_faults_are() {
        assert_eq!(UsageCounters::find(&["cycles"]), None);
        let (counters, names) = UsageCounters::find(&["cycles", "page-faults", "major-faults", "minor-faults"]).unwrap();
        assert_eq!(names, ["page-faults", "major-faults", "minor-faults"]);
        let begin = counters.read();
        super::super::event_group::touch(100);
        let [faults, major, minor, none] = counters.read().since(&begin).unwrap();
        assert!(faults >= 100 && minor + major == faults && none == 0, "{faults} {minor} {major} {none}");
    }
}
