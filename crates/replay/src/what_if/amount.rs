//! Times, rates and sizes as people write them.

/// A value, or a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So much.
    Is(f64),
    /// So many times as much.
    Times(f64),
}

/// Units and what they are worth, smallest first.
pub type Units = &'static [(&'static str, f64)];

/// Of times, in seconds.
pub const TIMES: Units = &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
/// Of rates and sizes in bits, in bytes.
pub const BITS: Units = &[("b", 0.125), ("kb", 125.0), ("Mb", 125e3), ("Gb", 125e6), ("Tb", 125e9)];
/// Of rates and sizes in bytes.
pub const BYTES: Units = &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
/// Of sizes in powers of two.
pub const SIZES: Units = &[("KiB", 1024.0), ("MiB", 1048576.0), ("GiB", 1073741824.0)];
/// Of plain numbers.
pub const PLAIN: Units = &[("", 1.0)];

/// A time such as `10us`, or a factor such as `x2`.
pub fn seconds(text: &str) -> Option<Amount> {
    amount(text, &[TIMES])
}

/// Bytes per second from `100Mb` (bits) or `12.5MB` (bytes), or a factor.
pub fn bandwidth(text: &str) -> Option<Amount> {
    let text = text.strip_suffix("/s").or_else(|| text.strip_suffix("ps")).unwrap_or(text);
    if text == "inf" {
        return Some(Amount::Is(f64::INFINITY));
    }
    amount(text, &[BITS, BYTES]).filter(|amount| *amount != Amount::Is(0.0) && *amount != Amount::Times(0.0))
}

/// A number of bytes such as `64KiB`.
pub fn bytes(text: &str) -> Option<u64> {
    if text == "inf" {
        return Some(u64::MAX);
    }
    match amount(text, &[SIZES, BYTES, &[("KB", 1e3)], PLAIN])? {
        Amount::Is(bytes) => Some(bytes as u64),
        Amount::Times(_) => None,
    }
}

/// A share such as `5%` or `0.05`.
pub fn share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (share.is_finite() && share >= 0.0).then_some(share)
}

/// A factor such as `x0.5`.
pub fn times(text: &str) -> Option<f64> {
    let factor: f64 = text.strip_prefix('x')?.trim().parse().ok()?;
    (factor.is_finite() && factor >= 0.0).then_some(factor)
}

fn amount(text: &str, units: &[Units]) -> Option<Amount> {
    if let Some(times) = times(text) {
        return Some(Amount::Times(times));
    }
    if text == "0" {
        return Some(Amount::Is(0.0));
    }
    let found = units.iter().copied().flatten().find_map(|(unit, worth)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * worth)
    });
    found.filter(|number| number.is_finite() && *number >= 0.0).map(Amount::Is)
}
