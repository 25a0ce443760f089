//! Suggestions for misspelt names.

/// The name most similar to `name`, if any is similar enough.
pub fn nearest_name<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Maximum number of names compared; a hint is not worth more time.
    const MOST_NAMES: usize = 2_000;
    const LONGEST: usize = 64;
    let letters: String = name.chars().take(LONGEST).collect();
    let farthest = (letters.chars().count() / 2).clamp(1, 3);
    let near = names.into_iter().take(MOST_NAMES).filter(|other| other.len().abs_diff(name.len()) <= 4 * farthest);
    let distances = near.map(|other| (edit_distance(&letters, other), other));
    distances.filter(|(distance, _)| *distance <= farthest).min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// The end of a sentence that suggests the most similar name, if any is similar enough.
pub fn did_you_mean<'a>(name: &str, names: impl IntoIterator<Item = &'a &'a str>) -> String {
    nearest_name(name, names.into_iter().copied()).map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}

/// Edit distance: changed, added, removed letters, and swaps of neighbours (optimal string alignment). Case does not count.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).collect();
    let (mut before, mut last) = (Vec::new(), (0..=a.len()).collect::<Vec<usize>>());
    let mut previous = None;
    for (row, b) in b.chars().flat_map(char::to_lowercase).enumerate() {
        let mut this = vec![row + 1];
        for (column, a_here) in a.iter().enumerate() {
            let changed = last[column] + usize::from(*a_here != b);
            let mut least = changed.min(last[column + 1] + 1).min(this[column] + 1);
            if column > 0 && previous == Some(*a_here) && a[column - 1] == b {
                least = least.min(before[column - 1] + 1);
            }
            this.push(least);
        }
        (before, last, previous) = (last, this, Some(b));
    }
    last[a.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_one_that_was_meant() {
        assert_eq!(nearest_name("serach", ["search", "total"]), Some("search"));
        assert_eq!(nearest_name("Search", ["total", "search"]), Some("search"));
        assert_eq!(nearest_name("upto", ["tasks", "limit"]), None);
    }
}
