//! Parsers for times, rates and sizes.

/// An absolute value or a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangedValue {
    /// Absolute.
    Absolute(f64),
    /// Factor.
    Factor(f64),
}

/// Units with their scale, ascending.
pub(crate) type UnitTable = &'static [(&'static str, f64)];

/// Time units, in seconds.
pub(crate) const TIME_UNITS: UnitTable = &[("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
/// Units in bits, in bytes.
pub(crate) const BIT_UNITS: UnitTable = &[("b", 0.125), ("kb", 125.0), ("Mb", 125e3), ("Gb", 125e6), ("Tb", 125e9)];
/// Units in bytes.
pub(crate) const BYTE_UNITS: UnitTable = &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12)];
/// Binary units, in bytes.
pub(crate) const BINARY_UNITS: UnitTable = &[("KiB", 1024.0), ("MiB", 1048576.0), ("GiB", 1073741824.0)];
/// Plain numbers.
pub(crate) const NO_UNIT: UnitTable = &[("", 1.0)];

/// A time such as `10us`, or a factor such as `x2`.
pub(crate) fn parse_seconds(text: &str) -> Option<ChangedValue> {
    parse_value(text, &[TIME_UNITS])
}

/// Bytes per second from `100Mb` (bits) or `12.5MB` (bytes), or a factor.
pub(crate) fn parse_bandwidth(text: &str) -> Option<ChangedValue> {
    let text = text.strip_suffix("/s").or_else(|| text.strip_suffix("ps")).unwrap_or(text);
    if text == "inf" {
        return Some(ChangedValue::Absolute(f64::INFINITY));
    }
    parse_value(text, &[BIT_UNITS, BYTE_UNITS])
        .filter(|amount| *amount != ChangedValue::Absolute(0.0) && *amount != ChangedValue::Factor(0.0))
}

/// A number of bytes such as `64KiB`.
pub(crate) fn parse_bytes(text: &str) -> Option<u64> {
    if text == "inf" {
        return Some(u64::MAX);
    }
    match parse_value(text, &[BINARY_UNITS, BYTE_UNITS, &[("KB", 1e3)], NO_UNIT])? {
        ChangedValue::Absolute(bytes) => Some(bytes as u64),
        ChangedValue::Factor(_) => None,
    }
}

/// A share such as `5%` or `0.05`.
pub(crate) fn parse_share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (share.is_finite() && share >= 0.0).then_some(share)
}

/// A factor such as `x0.5`.
pub(crate) fn parse_factor(text: &str) -> Option<f64> {
    let factor: f64 = text.strip_prefix('x')?.trim().parse().ok()?;
    (factor.is_finite() && factor >= 0.0).then_some(factor)
}

fn parse_value(text: &str, units: &[UnitTable]) -> Option<ChangedValue> {
    if let Some(times) = parse_factor(text) {
        return Some(ChangedValue::Factor(times));
    }
    if text == "0" {
        return Some(ChangedValue::Absolute(0.0));
    }
    let found = units.iter().copied().flatten().find_map(|(unit, worth)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * worth)
    });
    found.filter(|number| number.is_finite() && *number >= 0.0).map(ChangedValue::Absolute)
}
