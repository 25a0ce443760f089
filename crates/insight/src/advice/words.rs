//! What advice is worded with, besides the words that every report uses.

pub use crate::words::{bytes, ranks};
use crate::words::{percent, seconds};

/// A time in its natural unit.
pub fn time(ns: i64) -> String {
    seconds(ns as f64 / 1e9)
}

/// A part of the run.
pub fn share(ns: i64, run_ns: i64) -> String {
    format!("{} of the run", percent(ns as f64 / run_ns.max(1) as f64))
}

/// The verb that goes with so many of something.
pub fn verb<'a>(many: usize, one: &'a str, several: &'a str) -> &'a str {
    if many == 1 { one } else { several }
}

/// One amount as a multiple of another.
pub fn times(ns: i64, of: i64) -> String {
    format!("{:.1} times", ns as f64 / of.max(1) as f64)
}

/// The same sentence with a capital letter.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_has_the_digits_of_every_table() {
        assert_eq!([900, 60_000, 1_500_000, 35_000_000].map(time), ["900 ns", "60.0 us", "1.50 ms", "35.0 ms"]);
        assert_eq!([share(1, 1000), share(500, 1000)], ["<1 % of the run", "50 % of the run"]);
    }

    #[test]
    fn a_sentence_begins_with_a_capital() {
        assert_eq!(sentence(&ranks(&[1, 2])), "Ranks 1-2");
    }
}
