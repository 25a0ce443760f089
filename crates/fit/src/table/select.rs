//! What of a table is read: whether it has a header, and which of its rows count.

use super::cells::{find_separator, is_data, split_cells};
use super::decimal::decimal_point;
use std::path::Path;

/// A table has no such column.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{table}: no column `{column}`; the columns are {known}")]
pub struct UnknownColumn {
    table: String,
    column: String,
    known: String,
}

/// Whether it is a table with a header, by its extension or else by its first line.
pub fn is_csv(path: &Path, text: &str) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("csv" | "tsv") => true,
        Some("json" | "jsonl") => false,
        _ => {
            let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
            !first.starts_with('{')
                && !["PARAMETER", "POINTS", "METRIC", "REGION", "DATA", "EXPERIMENT"].iter().any(|word| first.starts_with(word))
        }
    }
}

/// Keeps only rows where a column has a value; others become empty, so that line numbers stay the same.
pub fn filter_rows(name: &str, text: &str, column: &str, value: &str) -> Result<String, UnknownColumn> {
    let (header, columns) = split_header(text);
    let named = |cell: &String| cell == column || cell.split(['[', '(']).next().map(str::trim) == Some(column);
    let Some(index) = columns.iter().position(named) else {
        return Err(UnknownColumn { table: name.to_owned(), column: column.to_owned(), known: columns.join(", ") });
    };
    let separator = find_separator(header);
    let number = |text: &str| decimal_point(text, separator).parse::<f64>().ok();
    let same = |cell: &str| cell == value || number(cell).zip(number(value)).is_some_and(|(a, b)| a == b);
    // A line that cannot be split stays, and is an error later.
    let has_value = |line: &str| cell_texts(line, separator).is_none_or(|cells| cells.get(index).is_some_and(|cell| same(cell)));
    let is_kept = |line: &str| line == header || !is_data(line) || has_value(line);
    Ok(text.lines().map(|line| if is_kept(line) { format!("{line}\n") } else { "\n".into() }).collect())
}

/// The columns of a table, by its header.
pub fn column_names(text: &str) -> Vec<String> {
    split_header(text).1
}

/// The header of a table, and its columns.
fn split_header(text: &str) -> (&str, Vec<String>) {
    let header = text.lines().find(|line| is_data(line)).unwrap_or_default();
    (header, cell_texts(header, find_separator(header)).unwrap_or_default())
}

/// The texts of a line's cells; `None` if a quote is not closed.
fn cell_texts(line: &str, separator: char) -> Option<Vec<String>> {
    Some(split_cells(line, separator).ok()?.into_iter().map(|cell| cell.text.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_other_values_are_left_out_and_keep_their_numbers() {
        let text = "# units\nop, n [B], t\nsend,1,5\nrecv,1,6\nsend, 2.0,7\n";
        assert_eq!(filter_rows("t", text, "op", "send").unwrap(), "# units\nop, n [B], t\nsend,1,5\n\nsend, 2.0,7\n");
        assert_eq!(filter_rows("t", text, "n", "2").unwrap(), "# units\nop, n [B], t\n\n\nsend, 2.0,7\n");
        let quoted = "where,n,t\n\"Oslo, north\",1,5\n\"Oslo, south\",2,6\n";
        assert_eq!(filter_rows("t", quoted, "n", "2").unwrap(), "where,n,t\n\n\"Oslo, south\",2,6\n");
        assert_eq!(filter_rows("t", quoted, "where", "Oslo, north").unwrap(), "where,n,t\n\"Oslo, north\",1,5\n\n");
        let doubled = "where,n\n\"a \"\"b\"\", c\",1\n";
        assert_eq!(filter_rows("t", doubled, "where", "a \"b\", c").unwrap(), doubled);
        let error = filter_rows("t", text, "size", "2").unwrap_err().to_string();
        assert!(error.contains("no column `size`"), "{error}");
    }

    #[test]
    fn a_table_is_known_by_its_name_or_its_first_words() {
        let is = |name: &str, text: &str| is_csv(Path::new(name), text);
        assert!(is("a.csv", "PARAMETER") && is("a.txt", "# note\nn,t\n") && !is("a.txt", "\nPARAMETER n\n"));
        assert!(!is("a.jsonl", "") && !is("a", "{\"params\": 1}"));
    }
}
