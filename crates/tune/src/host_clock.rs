//! The clock of a host that all its processes share.

/// Now, in nanoseconds of this host's clock.
pub fn now_ns() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}
