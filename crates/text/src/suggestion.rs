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
    strsim::osa_distance(&a.to_lowercase(), &b.to_lowercase())
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
