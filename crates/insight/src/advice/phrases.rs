//! Phrases for the text of advice, besides those of all reports.

pub(super) use sintonia_text::quantity::format_bytes;
use sintonia_text::quantity::{format_percent, format_seconds};
pub(super) use sintonia_text::rank_list::format_ranks;

/// A time in a suitable unit.
pub(super) fn format_ns(ns: i64) -> String {
    format_seconds(ns as f64 / 1e9)
}

/// A share of the run.
pub(super) fn format_share(ns: i64, run_ns: i64) -> String {
    format!("{} of the run", format_percent(ns as f64 / run_ns.max(1) as f64))
}

/// The verb form for a count.
pub(super) fn choose_verb<'a>(many: usize, one: &'a str, several: &'a str) -> &'a str {
    if many == 1 { one } else { several }
}

/// One amount as a multiple of another.
pub(super) fn format_ratio(ns: i64, of: i64) -> String {
    format!("{:.1} times", ns as f64 / of.max(1) as f64)
}

/// A number in a row: 1st, 2nd, 13th.
pub(super) fn format_ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// The sentence with its first letter capitalised.
pub(super) fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_has_the_digits_of_every_table() {
        assert_eq!([900, 60_000, 1_500_000, 35_000_000].map(format_ns), ["900 ns", "60.0 us", "1.50 ms", "35.0 ms"]);
        assert_eq!([format_share(1, 1000), format_share(500, 1000)], ["<1 % of the run", "50 % of the run"]);
    }

    #[test]
    fn ordinals_have_the_endings_of_english() {
        let ordinals = [1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(format_ordinal);
        assert_eq!(ordinals, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "113th"]);
    }

    #[test]
    fn a_sentence_begins_with_a_capital() {
        assert_eq!(capitalise(&format_ranks(&[1, 2])), "Ranks 1-2");
    }
}
