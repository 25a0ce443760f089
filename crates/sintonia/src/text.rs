//! Numbers and names as people read them.

/// A time with its unit.
pub fn seconds(seconds: f64) -> String {
    match seconds.abs() {
        s if s >= 1.0 => format!("{} s", three_digits(seconds)),
        s if s >= 1e-3 => format!("{} ms", three_digits(seconds * 1e3)),
        s if s >= 1e-6 => format!("{} us", three_digits(seconds * 1e6)),
        0.0 => "0 s".into(),
        _ => format!("{} ns", three_digits(seconds * 1e9)),
    }
}

/// An amount of data with its unit.
pub fn bytes(bytes: u64) -> String {
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
    if unit == "B" { format!("{bytes} B") } else { format!("{} {unit}", three_digits(amount)) }
}

/// A power of two as an amount of data.
pub fn binary_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10).min(6);
    format!("{} {}", bytes >> (10 * power), UNITS[power as usize])
}

/// A count with its thousands apart.
pub fn count(count: u64) -> String {
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

/// A count and the word for what is counted.
pub fn plural(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Text in lines of at most so many characters, broken between words.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// A share in percent; little is not shown as nothing.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent > 0.0 && percent < 0.5 => "<1 %".into(),
        percent => format!("{percent:.0} %"),
    }
}

/// The beginning of a text that is too long.
pub fn head(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.into(),
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// The end of a text that is too long: of a path, it says more than the beginning.
pub fn tail(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.into();
    }
    std::iter::once('…').chain(text.chars().skip(length + 1 - width)).collect()
}

/// A bar whose length shows a share; anything above nothing is seen.
pub fn bar(share: f64, width: usize) -> String {
    let length = (share * width as f64).round() as usize;
    "#".repeat(if share > 0.0 { length.clamp(1, width) } else { 0 })
}

/// A command as it could be typed, on one line.
pub fn command(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    let visible: String = word.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("'{}'", visible.replace('\'', "'\\''"))
}

fn three_digits(number: f64) -> String {
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
            assert_eq!(seconds(value), text);
        }
    }

    #[test]
    fn bytes_have_a_unit_that_suits_them() {
        for (value, text) in
            [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (123_456, "123 kB"), (999_900, "1.00 MB"), (u64::MAX, "18.4 EB")]
        {
            assert_eq!(bytes(value), text);
        }
        assert_eq!((binary_bytes(8), binary_bytes(4096), binary_bytes(1 << 33)), ("8 B".into(), "4 KiB".into(), "8 GiB".into()));
        assert_eq!(binary_bytes(0), "0 B");
    }

    #[test]
    fn thousands_are_apart() {
        for (value, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(value), text);
        }
        assert_eq!((plural(1, "host"), plural(2000, "rank")), ("1 host".into(), "2,000 ranks".into()));
    }

    #[test]
    fn long_texts_are_cut_where_it_hurts_least() {
        assert_eq!((head("mpirun", 6), head("mpirun -n 2", 6)), ("mpirun".into(), "mpiru…".into()));
        assert_eq!((tail("lu.c:1", 6), tail("src/lu.c:1", 6)), ("lu.c:1".into(), "…u.c:1".into()));
    }

    #[test]
    fn something_is_never_shown_as_nothing() {
        assert_eq!((percent(0.0), percent(0.001), percent(0.994)), ("0 %".into(), "<1 %".into(), "99 %".into()));
        assert_eq!((bar(0.0, 10), bar(0.001, 10), bar(0.5, 10), bar(1.0, 10)), ("".into(), "#".into(), "#####".into(), "#".repeat(10)));
    }

    #[test]
    fn a_command_can_be_pasted_again() {
        let words = ["mpirun", "-n", "4", "./my app", "it's", "", "two\nlines"].map(String::from);
        assert_eq!(command(&words), r"mpirun -n 4 './my app' 'it'\''s' '' 'two lines'");
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrapped("longer-than-a-line is kept", 8), ["longer-than-a-line", "is kept"]);
        assert!(wrapped("", 5).is_empty());
    }
}
