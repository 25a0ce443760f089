//! Tables in Markdown, with columns lined up so that they read as well in a terminal.

/// Lines up a heading and rows; every column but the first to the right.
pub(crate) fn markdown(heading: &[String], rows: &[Vec<String>]) -> String {
    let widths: Vec<usize> = (0..heading.len())
        .map(|column| std::iter::once(heading).chain(rows.iter().map(Vec::as_slice)).map(|row| width(row, column)).max().unwrap_or(0))
        .collect();
    let rule: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| if column == 0 { "-".repeat(*width) } else { format!("{}:", "-".repeat(width - 1)) })
        .collect();
    let lines = std::iter::once(heading).chain(std::iter::once(rule.as_slice())).chain(rows.iter().map(Vec::as_slice));
    lines.map(|row| line(row, &widths)).collect()
}

/// Characters in a cell; at least the three that Markdown wants in a rule.
fn width(row: &[String], column: usize) -> usize {
    row.get(column).map_or(0, |cell| cell.chars().count()).max(3)
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = widths.iter().enumerate().map(|(column, width)| {
        let cell = row.get(column).map_or("", String::as_str);
        if column == 0 { format!("| {cell:<width$} ") } else { format!("| {cell:>width$} ") }
    });
    cells.collect::<String>() + "|\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let text = |cells: &[&str]| cells.iter().map(|cell| cell.to_string()).collect::<Vec<_>>();
        let table = markdown(&text(&["tool", "ns"]), &[text(&["a", "12"]), text(&["é", "1234"])]);
        assert_eq!(table, "| tool |   ns |\n| ---- | ---: |\n| a    |   12 |\n| é    | 1234 |\n");
    }
}
