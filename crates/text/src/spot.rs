//! Where in a text some bytes are, as a reader finds them: line and column, and the line with a mark below.

use std::ops::Range;

/// No more of a line is shown: what is longer breaks the mark below on a screen.
const WIDEST: usize = 120;

/// So much is shown before the mark in a line that is too long to be shown whole.
const BEFORE: usize = 40;

/// Where some bytes of a text are; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The line.
    pub line: usize,
    /// The first character.
    pub column: usize,
    /// The character behind the last one on this line; at least one is marked.
    pub end_column: usize,
    /// The line with a mark below, ready to be put behind a message; empty where there is nothing to show.
    pub excerpt: String,
}

/// A text, and where its lines begin.
pub struct Lines<'a> {
    text: &'a str,
    begins: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of a text.
    pub fn of(text: &'a str) -> Lines<'a> {
        let behind_newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Lines { text, begins: std::iter::once(0).chain(behind_newlines).collect() }
    }

    /// Where these bytes are; what lies outside the text or within a character is moved to the nearest place before it.
    pub fn spot(&self, bytes: &Range<usize>) -> Spot {
        let start = self.boundary(bytes.start);
        let end = self.boundary(bytes.end.max(start));
        let line = self.begins.partition_point(|begin| *begin <= start);
        let begin = self.begins[line - 1];
        let shown = self.text[begin..].lines().next().unwrap_or_default();
        let column = self.text[begin..start].chars().count() + 1;
        let marked = self.text[start..end].lines().next().unwrap_or_default().chars().count().max(1);
        Spot { line, column, end_column: column + marked, excerpt: excerpt(shown, column, marked) }
    }

    /// The beginning of the character that byte `at` belongs to, or the end of the text.
    fn boundary(&self, at: usize) -> usize {
        (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0)
    }
}

/// A line, or what fits on a screen around the mark, and the mark below; nothing of a blank line.
pub fn excerpt(line: &str, column: usize, marked: usize) -> String {
    if line.trim().is_empty() {
        return String::new();
    }
    let before = column.saturating_sub(1);
    let skipped = if line.chars().nth(WIDEST).is_some() { before.saturating_sub(BEFORE) } else { 0 };
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let shown: String = line.chars().skip(skipped).take(WIDEST).map(plain).collect();
    let before = before - skipped;
    let marks = marked.clamp(1, WIDEST + 1 - before.min(WIDEST));
    format!("\n    {}\n    {}{}", shown.trim_end(), " ".repeat(before), "^".repeat(marks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_by_line_and_column_in_characters() {
        let spot = Lines::of("one\n\u{e9}\u{e9} wrong\n").spot(&(9..14));
        assert_eq!((spot.line, spot.column, spot.end_column), (2, 4, 9));
        assert_eq!(spot.excerpt, "\n    \u{e9}\u{e9} wrong\n       ^^^^^");
    }

    #[test]
    fn bytes_behind_the_text_or_within_a_character_have_a_place_too() {
        let spot = Lines::of("\u{e9}").spot(&(1..90));
        assert_eq!((spot.line, spot.column, spot.end_column), (1, 1, 2));
        let spot = Lines::of("a\n").spot(&(70..90));
        assert_eq!((spot.line, spot.column, spot.excerpt.as_str()), (2, 1, ""));
    }

    #[test]
    fn a_mark_over_several_lines_ends_with_the_first() {
        assert_eq!(Lines::of("ab cd\nef").spot(&(3..8)).end_column, 6);
    }

    #[test]
    fn of_a_long_line_only_the_part_around_the_mark_is_shown_and_tabs_count_as_one() {
        let long = format!("{}X{}", "\t".repeat(500), "b".repeat(500));
        let shown = excerpt(&long, 501, 4);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1].chars().count(), 4 + WIDEST);
        assert_eq!(lines[1].find('X'), lines[2].find('^'));
        assert_eq!(lines[2].matches('^').count(), 4);
    }

    #[test]
    fn a_column_behind_the_line_is_marked_without_panic() {
        assert_eq!(excerpt("ab", 3, 1), "\n    ab\n      ^");
        assert_eq!(excerpt("ab", 0, 0), "\n    ab\n    ^");
    }
}
