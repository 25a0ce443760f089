//! Formats ranks for users, the same in advice and tables.

use sintonia_recording::definitions;

/// A list of ranks: `rank 3`, `ranks 0-6:2, 9`.
pub fn format_ranks(ranks: &[u32]) -> String {
    let plain: Vec<i32> = ranks.iter().filter_map(|rank| i32::try_from(*rank).ok()).collect();
    format!("rank{} {}", if ranks.len() == 1 { "" } else { "s" }, definitions::format_ranks(&plain).replace(',', ", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_is_a_rank_and_several_are_ranks() {
        assert_eq!([format_ranks(&[3]), format_ranks(&[0, 2, 4, 7])], ["rank 3", "ranks 0-4:2, 7"]);
    }
}
