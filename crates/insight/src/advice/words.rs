//! Amounts and ranks in the words of a report.

use sintonia_recording::definitions::write_ranks;

/// A time in its natural unit.
pub fn time(ns: i64) -> String {
    let seconds = ns as f64 / 1e9;
    match ns {
        ..10_000 => format!("{:.1} µs", seconds * 1e6),
        10_000..1_000_000 => format!("{:.0} µs", seconds * 1e6),
        1_000_000..10_000_000 => format!("{:.2} ms", seconds * 1e3),
        10_000_000..1_000_000_000 => format!("{:.0} ms", seconds * 1e3),
        1_000_000_000.. => format!("{seconds:.2} s"),
    }
}

/// A part of the run.
pub fn share(ns: i64, run_ns: i64) -> String {
    format!("{:.0} % of the run", 100.0 * ns as f64 / run_ns.max(1) as f64)
}

/// Ranks at the beginning of a sentence or in it: `rank 3`, `ranks 0-6:2`.
pub fn ranks(ranks: &[u32]) -> String {
    let plain: Vec<i32> = ranks.iter().filter_map(|rank| i32::try_from(*rank).ok()).collect();
    format!("{} {}", if ranks.len() == 1 { "rank" } else { "ranks" }, write_ranks(&plain))
}

/// The verb that goes with so many of something.
pub fn verb<'a>(many: usize, one: &'a str, several: &'a str) -> &'a str {
    if many == 1 { one } else { several }
}

/// Bytes in the unit that suits them.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        ..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.0} MB", bytes as f64 / 1e6),
        10_000_000_000.. => format!("{:.0} GB", bytes as f64 / 1e9),
    }
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
    fn times_have_their_natural_unit() {
        assert_eq!([900, 60_000, 1_500_000, 35_000_000, 1_200_000_000].map(time), ["0.9 µs", "60 µs", "1.50 ms", "35 ms", "1.20 s"]);
    }

    #[test]
    fn one_rank_is_a_rank_and_several_are_ranks() {
        assert_eq!((ranks(&[3]), ranks(&[0, 2, 4])), ("rank 3".into(), "ranks 0-4:2".into()));
        assert_eq!(sentence(&ranks(&[1, 2])), "Ranks 1-2");
    }
}
