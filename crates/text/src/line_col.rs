//! Conversion of byte ranges to line and column, with an excerpt that marks them.

use std::ops::Range;

/// Longest part of a line that is shown; longer lines would wrap and break the mark.
const MAX_WIDTH: usize = 120;

/// Characters shown before the mark if a line is too long to be shown completely.
const CONTEXT_BEFORE: usize = 40;

/// Position of a byte range in a text; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCol {
    /// The line.
    pub line: usize,
    /// The first character.
    pub column: usize,
    /// Column after the last marked character on this line; at least one character is marked.
    pub end_column: usize,
    /// The line with a mark below, to be appended to a message; empty if there is nothing to show.
    pub excerpt: String,
}

/// A text and the offsets of its lines.
pub struct LineTable<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> LineTable<'a> {
    /// Finds the lines of a text.
    pub fn new(text: &'a str) -> LineTable<'a> {
        let behind_newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        LineTable { text, line_starts: std::iter::once(0).chain(behind_newlines).collect() }
    }

    /// The position of a byte range. Offsets outside the text or within a character are moved back to the nearest character boundary.
    pub fn line_col(&self, bytes: &Range<usize>) -> LineCol {
        let start = self.char_boundary(bytes.start);
        let end = self.char_boundary(bytes.end.max(start));
        let line = self.line_starts.partition_point(|begin| *begin <= start);
        let begin = self.line_starts[line - 1];
        let shown = self.text[begin..].lines().next().unwrap_or_default();
        let column = self.text[begin..start].chars().count() + 1;
        let marked = self.text[start..end].lines().next().unwrap_or_default().chars().count().max(1);
        LineCol { line, column, end_column: column + marked, excerpt: excerpt(shown, column, marked) }
    }

    /// The start of the character that contains byte `at`, or the end of the text.
    fn char_boundary(&self, at: usize) -> usize {
        (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0)
    }
}

/// The line, or the part of it around the mark that fits, with the mark below; empty for a blank line.
pub fn excerpt(line: &str, column: usize, marked: usize) -> String {
    if line.trim().is_empty() {
        return String::new();
    }
    let before = column.saturating_sub(1);
    let skipped = if line.chars().nth(MAX_WIDTH).is_some() { before.saturating_sub(CONTEXT_BEFORE) } else { 0 };
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let shown: String = line.chars().skip(skipped).take(MAX_WIDTH).map(plain).collect();
    let before = before - skipped;
    let marks = marked.clamp(1, MAX_WIDTH + 1 - before.min(MAX_WIDTH));
    format!("\n    {}\n    {}{}", shown.trim_end(), " ".repeat(before), "^".repeat(marks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_by_line_and_column_in_characters() {
        let spot = LineTable::new("one\n\u{e9}\u{e9} wrong\n").line_col(&(9..14));
        assert_eq!((spot.line, spot.column, spot.end_column), (2, 4, 9));
        assert_eq!(spot.excerpt, "\n    \u{e9}\u{e9} wrong\n       ^^^^^");
    }

    #[test]
    fn bytes_behind_the_text_or_within_a_character_have_a_place_too() {
        let spot = LineTable::new("\u{e9}").line_col(&(1..90));
        assert_eq!((spot.line, spot.column, spot.end_column), (1, 1, 2));
        let spot = LineTable::new("a\n").line_col(&(70..90));
        assert_eq!((spot.line, spot.column, spot.excerpt.as_str()), (2, 1, ""));
    }

    #[test]
    fn a_mark_over_several_lines_ends_with_the_first() {
        assert_eq!(LineTable::new("ab cd\nef").line_col(&(3..8)).end_column, 6);
    }

    #[test]
    fn of_a_long_line_only_the_part_around_the_mark_is_shown_and_tabs_count_as_one() {
        let long = format!("{}X{}", "\t".repeat(500), "b".repeat(500));
        let shown = excerpt(&long, 501, 4);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1].chars().count(), 4 + MAX_WIDTH);
        assert_eq!(lines[1].find('X'), lines[2].find('^'));
        assert_eq!(lines[2].matches('^').count(), 4);
    }

    #[test]
    fn a_column_behind_the_line_is_marked_without_panic() {
        assert_eq!(excerpt("ab", 3, 1), "\n    ab\n      ^");
        assert_eq!(excerpt("ab", 0, 0), "\n    ab\n    ^");
    }
}
