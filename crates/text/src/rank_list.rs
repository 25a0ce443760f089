//! Lists of ranks as people write them: `0, 2`, `0-7`, `0, 4, 8, …, 60`.

/// Shortest list of equally spaced ranks that is abbreviated.
const MIN_ABBREVIATED: usize = 5;
/// Ranks shown of such a list before the dots.
const SHOWN: usize = 3;

/// Ranks with their noun: `rank 3`, `ranks 0-7`.
pub fn format_ranks(ranks: &[u32]) -> String {
    format!("rank{} {}", if ranks.len() == 1 { "" } else { "s" }, format_rank_list(ranks))
}

/// Ranks in increasing order: neighbours as a range, five or more with equal distances abbreviated.
pub fn format_rank_list(ranks: &[u32]) -> String {
    let mut parts = Vec::new();
    let mut rest = ranks;
    while let Some((first, others)) = rest.split_first() {
        let step = others.first().map_or(1, |second| second.saturating_sub(*first));
        let length = 1 + rest.windows(2).take_while(|pair| step > 0 && pair[1].checked_sub(pair[0]) == Some(step)).count();
        let taken = match (step, length) {
            (1, 2..) => {
                parts.push(format!("{first}-{}", rest[length - 1]));
                length
            }
            (_, MIN_ABBREVIATED..) => {
                parts.extend(rest[..SHOWN].iter().map(u32::to_string));
                parts.extend(["…".to_owned(), rest[length - 1].to_string()]);
                length
            }
            // The next one may begin a range.
            _ => {
                parts.push(first.to_string());
                1
            }
        };
        rest = &rest[taken..];
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_people_write_them() {
        let every = |step: usize, end: u32| (0..=end).step_by(step).collect::<Vec<u32>>();
        for (ranks, text) in [
            (vec![], ""),
            (vec![3], "3"),
            (vec![0, 2], "0, 2"),
            (vec![0, 1], "0-1"),
            (every(1, 7), "0-7"),
            (every(4, 60), "0, 4, 8, …, 60"),
            (every(2, 6), "0, 2, 4, 6"),
            (every(2, 8), "0, 2, 4, …, 8"),
            (vec![0, 2, 4, 5, 6, 9], "0, 2, 4-6, 9"),
            (vec![1, 3, 5, 7, 9, 10, 11, 40], "1, 3, 5, …, 9, 10-11, 40"),
            (vec![7, 3, 3], "7, 3, 3"),
        ] {
            assert_eq!(format_rank_list(&ranks), text);
        }
    }

    #[test]
    fn one_rank_is_a_rank_and_several_are_ranks() {
        assert_eq!([format_ranks(&[3]), format_ranks(&[0, 2, 4, 7])], ["rank 3", "ranks 0, 2, 4, 7"]);
    }
}
