//! How long the calling thread was off the processor, as the kernel counts it.
//!
//! `schedstat` has the time for which the thread was ready to run and had no processor, exact at the moment it gets one. Processor time
//! against elapsed time tells how long it was off the processor in all; the difference is the time it was blocked.

use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::clock::{self, nanoseconds};
use crate::process::to_spare_descriptor;

/// Shorter times off the processor are not recorded.
pub(super) const SHORTEST_NS: u64 = 1000;

/// Time off the processor.
pub(super) struct OffCpuSums {
    /// Ready to run without a processor.
    pub waiting_ns: u64,
    /// Blocked in the kernel.
    pub blocked_ns: u64,
}

/// What has changed in `schedstat` since the last reading.
pub(super) struct SchedulerChange {
    /// Time for which the thread was ready to run and had no processor.
    pub waiting_ns: u64,
    /// How often it was given a processor.
    pub time_slices: u64,
}

/// Counters of one thread, and their last readings.
pub(super) struct SchedulerCounters {
    /// `schedstat` of the thread.
    file: File,
    /// Device and inode of that file.
    identity: (u64, u64),
    waiting_ns: u64,
    time_slices: u64,
    /// Time off the processor since the clocks began: elapsed time without processor time.
    off_ns: u64,
    voluntary_switches: u64,
}

impl SchedulerCounters {
    /// Opens the counters of the calling thread. `None` if the kernel has none, or if the program may need the file descriptor.
    pub(super) fn open() -> Option<SchedulerCounters> {
        let file = File::open("/proc/thread-self/schedstat").ok().and_then(to_spare_descriptor)?;
        let identity = identity(&file)?;
        let (waiting_ns, time_slices) = read(&file)?;
        let mut counters = SchedulerCounters { file, identity, waiting_ns, time_slices, off_ns: 0, voluntary_switches: 0 };
        counters.restart();
        Some(counters)
    }

    /// Reads all counters anew.
    pub(super) fn restart(&mut self) {
        (self.waiting_ns, self.time_slices) = read(&self.file).unwrap_or((self.waiting_ns, self.time_slices));
        (self.off_ns, self.voluntary_switches) = (off_ns(nanoseconds(libc::CLOCK_MONOTONIC)), voluntary_switches());
    }

    /// What has changed since the last reading. `None` if the thread was on the processor.
    pub(super) fn read_change(&mut self) -> Option<SchedulerChange> {
        let (waiting_ns, time_slices) = read(&self.file)?;
        let (before, slices_before) =
            (std::mem::replace(&mut self.waiting_ns, waiting_ns), std::mem::replace(&mut self.time_slices, time_slices));
        let change =
            SchedulerChange { waiting_ns: waiting_ns.saturating_sub(before), time_slices: time_slices.saturating_sub(slices_before) };
        (change.time_slices > 0).then_some(change)
    }

    /// Time off the processor since the last reading, of which `waiting_ns` were waiting for one: all of it between `begin` and `end`, in
    /// ticks.
    pub(super) fn read_sums(&mut self, waiting_ns: u64, begin: u64, end: u64) -> OffCpuSums {
        let now_ns = nanoseconds(libc::CLOCK_MONOTONIC);
        let before = std::mem::replace(&mut self.off_ns, off_ns(now_ns));
        let length = clock::elapsed_ns(begin, end, now_ns);
        let waiting_ns = waiting_ns.min(length);
        let blocked_ns = self.off_ns.saturating_sub(before).min(length).saturating_sub(waiting_ns);
        let blocked_ns = if blocked_ns < SHORTEST_NS { 0 } else { self.verify_blocked(blocked_ns) };
        OffCpuSums { waiting_ns, blocked_ns }
    }

    /// Time off the processor that is known from elsewhere.
    pub(super) fn account(&mut self, off_ns: u64) {
        self.off_ns += off_ns;
    }

    /// Only a thread that has switched voluntarily was blocked: the difference may also be time that a hypervisor took.
    fn verify_blocked(&mut self, blocked: u64) -> u64 {
        let before = std::mem::replace(&mut self.voluntary_switches, voluntary_switches());
        if self.voluntary_switches == before { 0 } else { blocked }
    }

    /// Closes the file, unless the program has closed it and its descriptor is now another file.
    pub(super) fn close(self) {
        if identity(&self.file) != Some(self.identity) {
            let _ = self.file.into_raw_fd();
        }
    }
}

fn off_ns(now_ns: u64) -> u64 {
    now_ns.saturating_sub(nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID))
}

fn identity(file: &File) -> Option<(u64, u64)> {
    let metadata = file.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Time waiting for a processor in nanoseconds, and the number of time slices.
fn read(file: &File) -> Option<(u64, u64)> {
    let mut text = [0; 96];
    let length = file.read_at(&mut text, 0).ok()?;
    parse(&text[..length])
}

/// Parses `schedstat`: time on the processor, time waiting for one, number of time slices.
fn parse(text: &[u8]) -> Option<(u64, u64)> {
    let mut fields = text.trim_ascii_end().split(|byte| *byte == b' ').map(|field| {
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
        field.iter().try_fold(0_u64, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?))
    });
    let (_, waiting, time_slices) = (fields.next()??, fields.next()??, fields.next()??);
    Some((waiting, time_slices))
}

fn voluntary_switches() -> u64 {
    // SAFETY: a struct of integers, for which zero is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for writes.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_nvcsw as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn schedstat_has_three_numbers() {
        assert_eq!(parse(b"1514470335 1447718327 838\n"), Some((1_447_718_327, 838)));
        for other in [&b""[..], b"1 2\n", b"1 x 3\n", b"1 99999999999999999999 3\n", b"\x7fELF"] {
            assert_eq!(parse(other), None);
        }
    }

    #[test]
    fn sleeping_is_blocked_time_and_computing_is_none() {
        clock::select_source();
        let mut counters = SchedulerCounters::open().unwrap();
        let mut sums = |begin: u64| {
            let waiting_ns = counters.read_change().map_or(0, |change| change.waiting_ns);
            counters.read_sums(waiting_ns, begin, clock::ticks())
        };
        let begin = clock::ticks();
        std::thread::sleep(Duration::from_millis(20));
        let slept = sums(begin);
        assert!(slept.blocked_ns >= 19_900_000 && slept.blocked_ns < 40_000_000, "{}", slept.blocked_ns);
        let begin = clock::ticks();
        while clock::elapsed_ns(begin, clock::ticks(), nanoseconds(libc::CLOCK_MONOTONIC)) < 10_000_000 {}
        assert_eq!(sums(begin).blocked_ns, 0);
    }
}
