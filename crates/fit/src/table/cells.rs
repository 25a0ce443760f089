//! The lines of a table with a header: which of them count, and their cells.

use std::ops::Range;

/// A cell: its byte range within the line, and its text without quotes.
pub(super) struct CsvCell {
    pub span: Range<usize>,
    pub text: String,
}

/// A quote that is not closed, by the offset of its cell.
#[derive(Debug)]
pub(super) struct UnclosedQuote(pub usize);

/// Whether a line is neither empty nor a comment.
pub(super) fn is_data(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// The cell separator of a table with this header.
pub(super) fn find_separator(header: &str) -> char {
    [';', '\t', ','].into_iter().find(|separator| header.contains(*separator)).unwrap_or(',')
}

/// Splits a line into cells; quotes protect separators, and a doubled quote stands for one.
pub(super) fn split_cells(line: &str, separator: char) -> Result<Vec<CsvCell>, UnclosedQuote> {
    let mut cells = Vec::new();
    let (mut begin, mut text, mut quoted) = (0, String::new(), false);
    let mut characters = line.char_indices().peekable();
    while let Some((end, c)) = characters.next() {
        match c {
            '"' if quoted && characters.next_if(|(_, next)| *next == '"').is_some() => text.push('"'),
            '"' => quoted = !quoted,
            c if c == separator && !quoted => {
                cells.push(CsvCell { span: begin..end, text: std::mem::take(&mut text) });
                begin = end + c.len_utf8();
            }
            c => text.push(c),
        }
    }
    if quoted {
        return Err(UnclosedQuote(begin));
    }
    cells.push(CsvCell { span: begin..line.len(), text });
    Ok(cells)
}
