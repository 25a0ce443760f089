//! Time source in the program: the time stamp counter if it is invariant, otherwise the monotonic clock.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sintonia_recording::definitions::ClockReading;

static USES_TSC: AtomicBool = AtomicBool::new(false);
/// Ticks and monotonic clock when the source was selected.
static START_TICKS: AtomicU64 = AtomicU64::new(0);
static START_NS: AtomicU64 = AtomicU64::new(0);

/// Selects the time source; call once before [`ticks`].
pub(crate) fn select_source() {
    // The kernel drops the TSC as its clock source if it drifts or differs between processors, so trust its choice.
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default();
    USES_TSC.store(has_invariant_tsc() && matches!(source.trim(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page"), Ordering::Relaxed);
    START_NS.store(nanoseconds(libc::CLOCK_MONOTONIC), Ordering::Relaxed);
    START_TICKS.store(ticks(), Ordering::Relaxed);
}

fn has_invariant_tsc() -> bool {
    // SAFETY: every x86-64 processor has CPUID.
    #[allow(unused_unsafe, reason = "safe in newer toolchains")]
    let (most, power) = unsafe { (core::arch::x86_64::__cpuid(0x8000_0000).eax, core::arch::x86_64::__cpuid(0x8000_0007).edx) };
    most >= 0x8000_0007 && power >> 8 & 1 == 1
}

/// Whether ticks are those of the time stamp counter.
pub(crate) fn uses_tsc() -> bool {
    USES_TSC.load(Ordering::Relaxed)
}

/// Current time in ticks.
#[inline(always)]
pub(crate) fn ticks() -> u64 {
    if uses_tsc() {
        // SAFETY: every x86-64 processor has RDTSC, and the kernel uses it as its own clock.
        unsafe { core::arch::x86_64::_rdtsc() }
    } else {
        nanoseconds(libc::CLOCK_MONOTONIC)
    }
}

/// Current time of a system clock, in nanoseconds.
pub(crate) fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds between two points in ticks, the second of which was just now: at `now_ns` of the monotonic clock. The rate of the ticks is
/// taken from all of the time since the start.
pub(crate) fn elapsed_ns(begin: u64, end: u64, now_ns: u64) -> u64 {
    let ticks = end.saturating_sub(begin);
    if !uses_tsc() {
        return ticks;
    }
    let total_ns = now_ns.saturating_sub(START_NS.load(Ordering::Relaxed)) as f64;
    let total_ticks = end.saturating_sub(START_TICKS.load(Ordering::Relaxed)).max(1) as f64;
    (ticks as f64 * total_ns / total_ticks) as u64
}

/// The same for a duration in nanoseconds: its ticks.
pub(crate) fn to_ticks(duration_ns: u64, now_ns: u64, now_ticks: u64) -> u64 {
    if !uses_tsc() {
        return duration_ns;
    }
    let total_ns = now_ns.saturating_sub(START_NS.load(Ordering::Relaxed)).max(1) as f64;
    let total_ticks = now_ticks.saturating_sub(START_TICKS.load(Ordering::Relaxed)) as f64;
    (duration_ns as f64 * total_ticks / total_ns) as u64
}

/// Ticks at an earlier time of the monotonic clock, from a simultaneous reading of both.
pub(crate) fn ticks_at(time_ns: u64, now_ns: u64, now_ticks: u64) -> u64 {
    now_ticks.saturating_sub(to_ticks(now_ns.saturating_sub(time_ns), now_ns, now_ticks))
}

/// Simultaneous readings of all clocks: the best of several attempts, with the least time between two reads of the ticks.
pub(crate) fn reading() -> ClockReading {
    let mut best: Option<(u64, ClockReading)> = None;
    for _ in 0..5 {
        let before = ticks();
        let monotonic_ns = nanoseconds(libc::CLOCK_MONOTONIC);
        let after = ticks();
        let realtime_ns = nanoseconds(libc::CLOCK_REALTIME);
        let width = after.wrapping_sub(before);
        if best.is_none_or(|(least, _)| width < least) {
            best = Some((width, ClockReading { ticks: before + width / 2, monotonic_ns, realtime_ns }));
        }
    }
    best.expect("tried more than once").1
}
