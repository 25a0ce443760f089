//! Time inside the program: the processor's time stamp counter where it runs at a constant rate, else the system's monotonic clock.

use std::sync::atomic::{AtomicBool, Ordering};

use sintonia_recording::definitions::ClockReading;

static COUNTER: AtomicBool = AtomicBool::new(false);

/// Finds out whether the time stamp counter can be used; to be called once before [`ticks`].
pub fn choose() {
    // The kernel drops the counter as its clock source as soon as it sees it drift or differ between processors: it knows best.
    let source = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").unwrap_or_default();
    COUNTER.store(invariant() && matches!(source.trim(), "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page"), Ordering::Relaxed);
}

fn invariant() -> bool {
    // SAFETY: every x86-64 processor has CPUID.
    #[allow(unused_unsafe, reason = "safe in newer toolchains")]
    let (most, power) = unsafe { (core::arch::x86_64::__cpuid(0x8000_0000).eax, core::arch::x86_64::__cpuid(0x8000_0007).edx) };
    most >= 0x8000_0007 && power >> 8 & 1 == 1
}

/// Whether ticks are those of the time stamp counter.
pub fn is_counter() -> bool {
    COUNTER.load(Ordering::Relaxed)
}

/// Now, in ticks.
#[inline(always)]
pub fn ticks() -> u64 {
    if is_counter() {
        // SAFETY: every x86-64 processor has RDTSC; the kernel uses it as its own clock, so user code may.
        unsafe { core::arch::x86_64::_rdtsc() }
    } else {
        nanoseconds(libc::CLOCK_MONOTONIC)
    }
}

/// Now on one of the system's clocks.
pub fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// One moment on all clocks: the best of a few tries, the one least disturbed between two looks at the ticks.
pub fn reading() -> ClockReading {
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
