//! What the values of an axis count, and how they are written.

use super::ruler::usable;

/// What the values of an axis count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing in particular.
    Number,
    /// Things that cannot be halved, as processes.
    Whole,
    /// Seconds.
    Seconds,
    /// Bytes; they are counted in powers of two.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Hundredths.
    Percent,
    /// Any other unit, by its name.
    Named(String),
}

/// A unit with its size.
pub(super) struct Sized {
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

impl Unit {
    /// The unit in which values of this size have few digits.
    pub(super) fn suited(&self, largest: f64) -> Sized {
        let largest = largest.abs();
        // What is almost the next unit is rounded to it.
        let of = |units: &[(f64, &str)]| {
            let fitting = units.iter().find(|(size, _)| largest * 1.000_000_1 >= *size).or(units.last());
            let nothing = units.iter().find(|(size, _)| *size == 1.0);
            if largest == 0.0 { nothing } else { fitting }.map_or((1.0, String::new()), |(size, name)| (*size, (*name).to_owned()))
        };
        let (size, name) = match self {
            Unit::Seconds => of(&SECONDS),
            Unit::BytesPerSecond => of(&RATES),
            Unit::Bytes => of(&BYTES),
            Unit::Percent => (1.0, "%".to_owned()),
            Unit::Number | Unit::Whole => (1.0, String::new()),
            Unit::Named(name) => (1.0, name.clone()),
        };
        let amount = largest / size;
        if amount == 0.0 || (1e-3..1e6).contains(&amount) {
            return Sized { size, name };
        }
        let power = (amount.log10() / 3.0).floor() as i32 * 3;
        let name = format!("10{} {name}", superscript(power));
        Sized { size: size * 10f64.powi(power), name: name.trim_end().to_owned() }
    }

    /// A value with its unit, with at most so many digits.
    pub(super) fn tell(&self, value: f64, digits: usize) -> String {
        let Some(value) = usable(value) else {
            return if value.is_nan() {
                "unknown"
            } else if value > 0.0 {
                "∞"
            } else {
                "-∞"
            }
            .to_owned();
        };
        if *self == Unit::Bytes && value.fract() == 0.0 && value % 1024.0 != 0.0 && value.abs() < 100_000.0 {
            return format!("{value} B");
        }
        let (amount, unit) = match self {
            // What is counted is told exactly.
            Unit::Whole | Unit::Number if value.fract() == 0.0 && value.abs() < 1e9 => return format!("{value}"),
            _ => (value, self.suited(value)),
        };
        let amount = rounded(amount / unit.size, digits);
        match unit.name.split_once(' ') {
            _ if unit.name.is_empty() => amount,
            Some((power, name)) if power.starts_with("10") => format!("{amount}×{power} {name}"),
            _ if unit.name.starts_with("10") => format!("{amount}×{}", unit.name),
            _ => format!("{amount} {}", unit.name),
        }
    }

    /// What is written at a tick of a logarithmic axis.
    pub(super) fn label(&self, value: f64) -> String {
        let power = value.abs().log10().floor();
        let digit = value / 10f64.powf(power);
        match self {
            Unit::Number | Unit::Whole if power >= 4.0 && (digit - digit.round()).abs() < 1e-9 => {
                let power = superscript(power as i32);
                if digit.round() == 1.0 { format!("10{power}") } else { format!("{}×10{power}", digit.round()) }
            }
            _ => self.tell(value, 3),
        }
    }
}

/// A number with at most so many digits, without zeros at its end.
fn rounded(number: f64, digits: usize) -> String {
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
    fn a_value_is_told_in_the_unit_that_suits_it() {
        for (unit, value, text) in [
            (Unit::Seconds, 5.4028e-4, "540.3 µs"),
            (Unit::Seconds, 1e-3, "1 ms"),
            (Unit::Seconds, 0.0, "0 s"),
            (Unit::Seconds, 12345.0, "12345 s"),
            (Unit::Seconds, 1e-20, "10×10⁻⁶ fs"),
            (Unit::Bytes, 65536.0, "64 KiB"),
            (Unit::Bytes, 13652.0, "13652 B"),
            (Unit::Bytes, 1572864.0, "1.5 MiB"),
            (Unit::BytesPerSecond, 1.1e10, "11 GB/s"),
            (Unit::Percent, -2.854, "-2.854 %"),
            (Unit::Whole, 1048576.0, "1048576"),
            (Unit::Number, 2.5e12, "2.5×10¹²"),
            (Unit::Seconds, f64::INFINITY, "∞"),
            (Unit::Seconds, f64::NAN, "unknown"),
            (Unit::Named("flop".into()), 2e9, "2×10⁹ flop"),
        ] {
            assert_eq!(unit.tell(value, 4), text);
        }
    }

    #[test]
    fn a_power_of_ten_on_a_logarithmic_axis_stands_alone() {
        assert_eq!((Unit::Number.label(1e12), Unit::Number.label(2e4)), ("10¹²".into(), "2×10⁴".into()));
        assert_eq!(
            (Unit::Whole.label(1000.0), Unit::Whole.label(65536.0), Unit::Whole.label(0.0)),
            ("1000".into(), "65536".into(), "0".into())
        );
        assert_eq!((Unit::Number.label(0.001), Unit::Seconds.label(1e-5)), ("0.001".into(), "10 µs".into()));
    }

    #[test]
    fn an_axis_has_one_unit_and_a_power_of_ten_where_no_unit_fits() {
        let name = |unit: Unit, largest: f64| unit.suited(largest).name;
        assert_eq!((name(Unit::Seconds, 0.9), name(Unit::Seconds, 1.0), name(Unit::Seconds, 4e-7)), ("ms".into(), "s".into(), "ns".into()));
        assert_eq!((name(Unit::Number, 5000.0), name(Unit::Number, 5e7)), ("".into(), "10⁶".into()));
        assert_eq!(name(Unit::Seconds, 3e8), "10⁶ s");
    }
}
