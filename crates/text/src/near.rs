//! Which known name a misspelt one is near to, for hints.

/// The one of some names that is most like this one, if any is.
pub fn nearest<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// So many are compared at most: a hint is not worth more.
    const MOST_NAMES: usize = 2_000;
    const LONGEST: usize = 64;
    let letters: Vec<char> = name.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let farthest = (letters.len() / 2).clamp(1, 3);
    let near = names.into_iter().take(MOST_NAMES).filter(|other| other.len().abs_diff(name.len()) <= 4 * farthest);
    let distances = near.map(|other| (distance(&letters, other), other));
    distances.filter(|(distance, _)| *distance <= farthest).min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// How many letters must be changed, added, left away or swapped with their neighbour to make one name of the other.
fn distance(a: &[char], b: &str) -> usize {
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
        assert_eq!(nearest("serach", ["search", "total"]), Some("search"));
        assert_eq!(nearest("Search", ["total", "search"]), Some("search"));
        assert_eq!(nearest("upto", ["tasks", "limit"]), None);
    }
}
