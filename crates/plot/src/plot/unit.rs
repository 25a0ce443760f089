//! Units of axis values, and how values are formatted.

/// The unit of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisUnit {
    /// No unit.
    Number,
    /// Integers, as numbers of processes.
    Count,
    /// Seconds.
    Seconds,
    /// Bytes, with binary prefixes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Percent.
    Percent,
    /// Any other unit.
    Other(String),
}

/// A unit with its size in base units.
pub(super) struct ScaledUnit {
    pub size: f64,
    pub name: String,
}

const SECONDS: [(f64, &str); 6] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"), (1e-15, "fs")];
const RATES: [(f64, &str); 7] = [(1e18, "EB/s"), (1e15, "PB/s"), (1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")];
const BYTES: [(f64, &str); 7] = [
    ((1u64 << 60) as f64, "EiB"),
    ((1u64 << 50) as f64, "PiB"),
    ((1u64 << 40) as f64, "TiB"),
    ((1u64 << 30) as f64, "GiB"),
    ((1u64 << 20) as f64, "MiB"),
    (1024.0, "KiB"),
    (1.0, "B"),
];

/// A value that can be drawn: sums and differences stay finite, and tiny values become zero.
pub(super) fn drawable(value: f64) -> Option<f64> {
    match value.abs() {
        size if size < 1e-290 => Some(0.0),
        size if size < 1e290 => Some(value),
        _ => None,
    }
}

impl AxisUnit {
    /// The unit in which values of this size have few digits.
    pub(super) fn scaled_for(&self, largest: f64) -> ScaledUnit {
        let largest = largest.abs();
        // Round up to the next unit if it is almost reached.
        let of = |units: &[(f64, &str)]| {
            let fitting = units.iter().find(|(size, _)| largest * 1.000_000_1 >= *size).or(units.last());
            let nothing = units.iter().find(|(size, _)| *size == 1.0);
            if largest == 0.0 { nothing } else { fitting }.map_or((1.0, String::new()), |(size, name)| (*size, (*name).to_owned()))
        };
        let (size, name) = match self {
            AxisUnit::Seconds => of(&SECONDS),
            AxisUnit::BytesPerSecond => of(&RATES),
            AxisUnit::Bytes => of(&BYTES),
            AxisUnit::Percent => (1.0, "%".to_owned()),
            AxisUnit::Number | AxisUnit::Count => (1.0, String::new()),
            AxisUnit::Other(name) => (1.0, name.clone()),
        };
        let amount = largest / size;
        if amount == 0.0 || (1e-3..1e6).contains(&amount) {
            return ScaledUnit { size, name };
        }
        let power = (amount.log10() / 3.0).floor() as i32 * 3;
        let name = format!("10{} {name}", superscript(power));
        ScaledUnit { size: size * 10f64.powi(power), name: name.trim_end().to_owned() }
    }

    /// Formats a value with its unit and at most `digits` digits.
    pub(super) fn format_value(&self, value: f64, digits: usize) -> String {
        let Some(value) = drawable(value) else {
            return if value.is_nan() {
                "unknown"
            } else if value > 0.0 {
                "∞"
            } else {
                "-∞"
            }
            .to_owned();
        };
        if *self == AxisUnit::Bytes && value.fract() == 0.0 && value % 1024.0 != 0.0 && value.abs() < 100_000.0 {
            return format!("{value} B");
        }
        let (amount, unit) = match self {
            // Integers are exact.
            AxisUnit::Count | AxisUnit::Number if value.fract() == 0.0 && value.abs() < 1e9 => return format!("{value}"),
            _ => (value, self.scaled_for(value)),
        };
        let amount = round_to_digits(amount / unit.size, digits);
        match unit.name.split_once(' ') {
            _ if unit.name.is_empty() => amount,
            Some((power, name)) if power.starts_with("10") => format!("{amount}×{power} {name}"),
            _ if unit.name.starts_with("10") => format!("{amount}×{}", unit.name),
            _ => format!("{amount} {}", unit.name),
        }
    }

    /// The label of a tick on a logarithmic axis.
    pub(super) fn tick_label(&self, value: f64) -> String {
        let power = value.abs().log10().floor();
        let digit = value / 10f64.powf(power);
        match self {
            AxisUnit::Number | AxisUnit::Count if power >= 4.0 && (digit - digit.round()).abs() < 1e-9 => {
                let power = superscript(power as i32);
                if digit.round() == 1.0 { format!("10{power}") } else { format!("{}×10{power}", digit.round()) }
            }
            _ => self.format_value(value, 3),
        }
    }
}

/// Formats a number with at most `digits` digits, without trailing zeros.
fn round_to_digits(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let before = number.abs().log10().floor() as i32 + 1;
    let after = (digits as i32 - before).clamp(0, 12) as usize;
    let text = format!("{number:.after$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn superscript(power: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    power.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_formatted_in_a_suitable_unit() {
        for (unit, value, text) in [
            (AxisUnit::Seconds, 5.4028e-4, "540.3 µs"),
            (AxisUnit::Seconds, 1e-3, "1 ms"),
            (AxisUnit::Seconds, 0.0, "0 s"),
            (AxisUnit::Seconds, 12345.0, "12345 s"),
            (AxisUnit::Seconds, 1e-20, "10×10⁻⁶ fs"),
            (AxisUnit::Bytes, 65536.0, "64 KiB"),
            (AxisUnit::Bytes, 13652.0, "13652 B"),
            (AxisUnit::Bytes, 1572864.0, "1.5 MiB"),
            (AxisUnit::BytesPerSecond, 1.1e10, "11 GB/s"),
            (AxisUnit::Percent, -2.854, "-2.854 %"),
            (AxisUnit::Count, 1048576.0, "1048576"),
            (AxisUnit::Number, 2.5e12, "2.5×10¹²"),
            (AxisUnit::Seconds, f64::INFINITY, "∞"),
            (AxisUnit::Seconds, f64::NAN, "unknown"),
            (AxisUnit::Other("flop".into()), 2e9, "2×10⁹ flop"),
        ] {
            assert_eq!(unit.format_value(value, 4), text);
        }
    }

    #[test]
    fn a_power_of_ten_on_a_logarithmic_axis_has_no_factor() {
        assert_eq!((AxisUnit::Number.tick_label(1e12), AxisUnit::Number.tick_label(2e4)), ("10¹²".into(), "2×10⁴".into()));
        assert_eq!(
            (AxisUnit::Count.tick_label(1000.0), AxisUnit::Count.tick_label(65536.0), AxisUnit::Count.tick_label(0.0)),
            ("1000".into(), "65536".into(), "0".into())
        );
        assert_eq!((AxisUnit::Number.tick_label(0.001), AxisUnit::Seconds.tick_label(1e-5)), ("0.001".into(), "10 µs".into()));
    }

    #[test]
    fn an_axis_has_one_unit_and_a_power_of_ten_where_no_unit_fits() {
        let name = |unit: AxisUnit, largest: f64| unit.scaled_for(largest).name;
        assert_eq!(
            (name(AxisUnit::Seconds, 0.9), name(AxisUnit::Seconds, 1.0), name(AxisUnit::Seconds, 4e-7)),
            ("ms".into(), "s".into(), "ns".into())
        );
        assert_eq!((name(AxisUnit::Number, 5000.0), name(AxisUnit::Number, 5e7)), ("".into(), "10⁶".into()));
        assert_eq!(name(AxisUnit::Seconds, 3e8), "10⁶ s");
    }
}
