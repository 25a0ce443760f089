//! Text that fits on a screen.

/// Wraps text into lines of at most this many characters, between words.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
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

/// Truncates a text at its end.
pub fn truncate_end(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        None => text.into(),
        Some(_) => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

/// Truncates a text at its beginning: the end of a path is more telling.
pub fn truncate_start(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.into();
    }
    std::iter::once('…').chain(text.chars().skip(length + 1 - width)).collect()
}

/// A bar whose length shows a share; any positive share is visible.
pub fn share_bar(share: f64, width: usize) -> String {
    let length = (share * width as f64).round() as usize;
    "#".repeat(if share > 0.0 { length.clamp(1, width) } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_where_it_hurts_least() {
        assert_eq!((truncate_end("mpirun", 6), truncate_end("mpirun -n 2", 6)), ("mpirun".into(), "mpiru…".into()));
        assert_eq!((truncate_start("lu.c:1", 6), truncate_start("src/lu.c:1", 6)), ("lu.c:1".into(), "…u.c:1".into()));
    }

    #[test]
    fn a_bar_shows_that_there_is_something() {
        assert_eq!(
            (share_bar(0.0, 10), share_bar(0.001, 10), share_bar(0.5, 10), share_bar(1.0, 10)),
            ("".into(), "#".into(), "#####".into(), "#".repeat(10))
        );
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
        assert_eq!(wrap("longer-than-a-line is kept", 8), ["longer-than-a-line", "is kept"]);
        assert!(wrap("", 5).is_empty());
    }
}
