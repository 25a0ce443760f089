//! Number and character literals of C, as plain decimal numbers.

use crate::ir::ScalarType;

/// A number literal without prefix and suffix, and its type; it may have a sign.
pub(super) fn number(text: &str) -> Option<(String, ScalarType)> {
    if let Some(positive) = text.strip_prefix('-') {
        return number(positive.trim_start()).map(|(value, scalar)| (format!("-{value}"), scalar));
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let text = text.replace('\'', "").to_ascii_lowercase();
    let hexadecimal = text.starts_with("0x");
    let has_fraction = text.contains('.') || (!hexadecimal && text.contains('e')) || (hexadecimal && text.contains('p'));
    if has_fraction { fraction(&text, hexadecimal) } else { whole(&text) }
}

fn fraction(text: &str, hexadecimal: bool) -> Option<(String, ScalarType)> {
    let scalar = if text.ends_with('f') { ScalarType::Float } else { ScalarType::Double };
    let digits = text.trim_end_matches(['f', 'l']);
    let value: f64 = if hexadecimal { binary_fraction(digits)? } else { digits.parse().ok()? };
    value.is_finite().then(|| (format!("{value}"), scalar))
}

/// `0x1.8p3`
fn binary_fraction(text: &str) -> Option<f64> {
    let (digits, exponent) = text.strip_prefix("0x")?.split_once('p')?;
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let mut value = 0.0;
    for digit in before.chars().chain(after.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let after = i32::try_from(after.len()).ok()?;
    Some(value * 2f64.powi(exponent.parse::<i32>().ok()?.checked_sub(after.checked_mul(4)?)?))
}

fn whole(text: &str) -> Option<(String, ScalarType)> {
    let digits = text.trim_end_matches(['u', 'l']);
    let value = match digits {
        "0" => 0,
        _ if digits.starts_with("0x") => u64::from_str_radix(&digits[2..], 16).ok()?,
        _ if digits.starts_with("0b") => u64::from_str_radix(&digits[2..], 2).ok()?,
        _ if digits.starts_with('0') => u64::from_str_radix(digits, 8).ok()?,
        _ => digits.parse().ok()?,
    };
    let is_long = text[digits.len()..].contains('l') || value > i32::MAX as u64;
    Some((value.to_string(), if is_long { ScalarType::Long } else { ScalarType::Int }))
}

/// The code of a character literal with its quotes.
pub(super) fn character(text: &str) -> Option<u32> {
    let inner = text.trim_start_matches(['L', 'u', 'U', '8']).strip_prefix('\'')?.strip_suffix('\'')?;
    let mut letters = inner.chars();
    let first = letters.next()?;
    if first != '\\' {
        return letters.next().is_none().then_some(first as u32);
    }
    let rest = letters.as_str();
    match rest {
        "n" => Some(10),
        "t" => Some(9),
        "r" => Some(13),
        "a" => Some(7),
        "b" => Some(8),
        "f" => Some(12),
        "v" => Some(11),
        "\\" | "'" | "\"" | "?" => rest.chars().next().map(u32::from),
        _ if rest.starts_with('x') => u32::from_str_radix(&rest[1..], 16).ok(),
        _ => u32::from_str_radix(rest, 8).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lose_their_prefixes_and_suffixes() {
        assert_eq!(number("0x1F"), Some(("31".into(), ScalarType::Int)));
        assert_eq!(number("010"), Some(("8".into(), ScalarType::Int)));
        assert_eq!(number("10UL"), Some(("10".into(), ScalarType::Long)));
        assert_eq!(number("5000000000"), Some(("5000000000".into(), ScalarType::Long)));
        assert_eq!(number("1.5f"), Some(("1.5".into(), ScalarType::Float)));
        assert_eq!(number("1e3"), Some(("1000".into(), ScalarType::Double)));
        assert_eq!(number("0x1.8p3"), Some(("12".into(), ScalarType::Double)));
        assert_eq!(number("-1"), Some(("-1".into(), ScalarType::Int)));
        assert_eq!(number("0x"), None);
        assert_eq!(number("09"), None);
    }

    #[test]
    fn characters_are_their_codes() {
        assert_eq!(character("'a'"), Some(97));
        assert_eq!(character("'\\n'"), Some(10));
        assert_eq!(character("'\\0'"), Some(0));
        assert_eq!(character("'\\x41'"), Some(65));
        assert_eq!(character("'"), None);
    }
}
