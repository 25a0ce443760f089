//! Formats quantities for users, the same in advice, tables and drawings.

/// A time with its unit.
pub fn format_seconds(seconds: f64) -> String {
    match seconds.abs() {
        s if s >= 1.0 => format!("{} s", format_three_digits(seconds)),
        s if s >= 1e-3 => format!("{} ms", format_three_digits(seconds * 1e3)),
        s if s >= 1e-6 => format!("{} us", format_three_digits(seconds * 1e6)),
        0.0 => "0 s".into(),
        _ => format!("{} ns", format_three_digits(seconds * 1e9)),
    }
}

/// An amount of data with its unit.
pub fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let mut amount = bytes as f64;
    let mut unit = "B";
    for larger in UNITS {
        // 999.5 and more would be written with four digits.
        if amount < 999.5 {
            break;
        }
        (amount, unit) = (amount / 1000.0, larger);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{} {unit}", format_three_digits(amount)) }
}

/// A count with thousands separators.
pub fn format_count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun.
pub fn format_plural(number: u64, one: &str) -> String {
    format!("{} {one}{}", format_count(number), if number == 1 { "" } else { "s" })
}

/// A percentage; small values are not rounded to zero.
pub fn format_percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.5 => "<1 %".into(),
        percent => format!("{percent:.0} %"),
    }
}

/// A range of times, with one unit if both ends have the same: 3.10 to 3.62 s.
pub fn format_seconds_range(from: f64, to: f64) -> String {
    join_range(&format_seconds(from), &format_seconds(to))
}

/// A range of shares: 38 to 45 %.
pub fn format_percent_range(from: f64, to: f64) -> String {
    join_range(&format_percent(from), &format_percent(to))
}

/// Both ends of a range, or one if they read the same.
fn join_range(from: &str, to: &str) -> String {
    if from == to {
        return to.to_owned();
    }
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((figure, unit)), Some((_, other))) if unit == other => format!("{figure} to {to}"),
        _ => format!("{from} to {to}"),
    }
}

/// A power of two as an amount of data.
pub fn binary_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10).min(6);
    format!("{} {}", bytes >> (10 * power), UNITS[power as usize])
}

/// A number with three digits and the prefix of its power of a thousand: 1.23 G.
pub fn format_quantity(number: f64) -> String {
    const PREFIXES: [&str; 6] = ["", " k", " M", " G", " T", " P"];
    let mut scaled = number;
    let mut prefixes = PREFIXES.iter();
    let mut prefix = prefixes.next().unwrap_or(&"");
    while scaled.abs() >= 999.5 {
        let Some(next) = prefixes.next() else { break };
        (scaled, prefix) = (scaled / 1000.0, next);
    }
    if prefix.is_empty() && scaled.fract() == 0.0 { format!("{scaled}") } else { format!("{}{prefix}", format_three_digits(scaled)) }
}

fn format_three_digits(number: f64) -> String {
    match number.abs() {
        n if n >= 99.95 => format!("{number:.0}"),
        n if n >= 9.995 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (value, text) in [
            (0.0, "0 s"),
            (2e-9, "2.00 ns"),
            (1.234e-6, "1.23 us"),
            (0.0456, "45.6 ms"),
            (1.0, "1.00 s"),
            (99.96, "100 s"),
            (1234.5, "1234 s"),
        ] {
            assert_eq!(format_seconds(value), text);
        }
    }

    #[test]
    fn ranges_name_a_common_unit_once() {
        assert_eq!(format_seconds_range(3.1, 3.62), "3.10 to 3.62 s");
        assert_eq!(format_seconds_range(0.95, 1.02), "950 ms to 1.02 s");
        assert_eq!(format_percent_range(0.38, 0.45), "38 to 45 %");
        assert_eq!(format_percent_range(0.003, 0.03), "<1 to 3 %");
        assert_eq!(format_percent_range(0.451, 0.453), "45 %");
    }

    #[test]
    fn bytes_have_a_unit_that_suits_them() {
        for (value, text) in
            [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (123_456, "123 kB"), (999_900, "1.00 MB"), (u64::MAX, "18.4 EB")]
        {
            assert_eq!(format_bytes(value), text);
        }
    }

    #[test]
    fn large_numbers_have_a_prefix() {
        let numbers = [0.0, 7.0, 999.0, 999.6, 1234.0, 2e9, 3.5e16, 0.25];
        assert_eq!(numbers.map(format_quantity), ["0", "7", "999", "1.00 k", "1.23 k", "2.00 G", "35.0 P", "0.25"]);
    }

    #[test]
    fn thousands_are_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(format_count(value), text);
        }
        assert_eq!((format_plural(1, "host"), format_plural(2000, "rank")), ("1 host".into(), "2,000 ranks".into()));
    }

    #[test]
    fn something_is_never_shown_as_nothing() {
        assert_eq!((format_percent(0.0), format_percent(0.001), format_percent(0.994)), ("0 %".into(), "<1 %".into(), "99 %".into()));
    }

    #[test]
    fn powers_of_two_have_their_own_units() {
        assert_eq!((binary_bytes(8), binary_bytes(4096), binary_bytes(1 << 33)), ("8 B".into(), "4 KiB".into(), "8 GiB".into()));
        assert_eq!(binary_bytes(0), "0 B");
    }
}
