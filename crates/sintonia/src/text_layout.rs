//! Text layout for terminal output: paragraphs, aligned columns, figures with intervals, and plots.

use sintonia_model::predict::EstimateRange;
use sintonia_plot::{CharSet, Plot, TerminalOptions, render_text};

use crate::text::{format_seconds, wrap};

/// The assumed width of a terminal.
pub(crate) const SCREEN_COLUMNS: usize = 100;

/// Joins sections with an empty line between them; empty sections are left out.
pub(crate) fn join_sections(sections: impl IntoIterator<Item = Vec<String>>) -> String {
    let lines = |section: Vec<String>| section.iter().map(|line| format!("{}\n", line.trim_end())).collect::<String>();
    sections.into_iter().filter(|section| !section.is_empty()).map(lines).collect::<Vec<_>>().join("\n")
}

/// Wraps a text with indentation; all but the first line are indented further.
pub(crate) fn hanging_indent(text: &str, by: usize) -> Vec<String> {
    let lines = wrap(text, SCREEN_COLUMNS - 2 - by).into_iter().enumerate();
    lines.map(|(index, line)| format!("  {}{line}", " ".repeat(if index > 0 { by } else { 0 }))).collect()
}

/// Remarks under a common title.
pub(crate) fn remarks<'a>(remarks: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let lines: Vec<String> = remarks.into_iter().flat_map(|remark| hanging_indent(remark, 2)).collect();
    if lines.is_empty() { lines } else { [vec!["Keep in mind".to_owned()], lines].concat() }
}

/// A plot as text, without its residuals.
pub(crate) fn render_plot(plot: Plot) -> Vec<String> {
    let screen = TerminalOptions { rows: 10, ..TerminalOptions::new(SCREEN_COLUMNS, terminal_glyphs()) };
    render_text(&Plot { residuals: Vec::new(), ..plot }, screen).lines().map(str::to_owned).collect()
}

/// The glyphs that the terminal can display, by its locale.
fn terminal_glyphs() -> CharSet {
    let language = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let is_unicode = language.is_some_and(|language| language.to_ascii_lowercase().replace('-', "").contains("utf8"));
    if is_unicode { CharSet::Braille } else { CharSet::Ascii }
}

/// A value with its unit.
pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "s" => format_seconds(value),
        unit => format!("{} {unit}", short_number(value)).trim_end().to_owned(),
    }
}

/// A number with four significant digits; integers exactly.
pub(crate) fn short_number(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 && size < 1e9 {
        return format!("{value}");
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = format!("{value:.*}", (3 - size.log10().floor() as i32).max(0) as usize);
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_owned() } else { digits }
}

/// The interval of a figure; empty if it is exact, and without the unit if all parts have the same.
fn interval_text([low, middle, high]: EstimateRange, show: &dyn Fn(f64) -> String) -> String {
    if high - low <= 1e-9 * high.abs() {
        return String::new();
    }
    let [low, middle, high] = [low, middle, high].map(show);
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    let bare = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    match unit(&middle) {
        own if unit(&low) == own && unit(&high) == own => format!("[{}, {}]", bare(&low), bare(&high)),
        _ => format!("[{low}, {high}]"),
    }
}

/// A figure with its interval.
pub(crate) fn estimate_text(figure: EstimateRange, show: &dyn Fn(f64) -> String) -> String {
    format!("{} {}", show(figure[1]), interval_text(figure, show)).trim_end().to_owned()
}

/// A column of a table.
pub(crate) struct TextColumn {
    heading: String,
    cells: Vec<String>,
    right_aligned: bool,
}

impl TextColumn {
    /// A left-aligned column.
    pub(crate) fn left(head: impl Into<String>, cells: Vec<String>) -> TextColumn {
        TextColumn { heading: head.into(), cells, right_aligned: false }
    }

    /// A right-aligned column.
    pub(crate) fn right(head: impl Into<String>, cells: Vec<String>) -> TextColumn {
        TextColumn { heading: head.into(), cells, right_aligned: true }
    }

    /// Right-aligned figures, each followed by its interval.
    pub(crate) fn estimates(head: impl Into<String>, figures: &[Option<EstimateRange>], show: &dyn Fn(f64) -> String) -> TextColumn {
        let middles: Vec<String> = figures.iter().map(|figure| figure.map(|figure| show(figure[1])).unwrap_or_default()).collect();
        let wide = max_width(&middles);
        let both = |(figure, middle): (&Option<EstimateRange>, &String)| match figure {
            Some(figure) => format!("{middle:>wide$} {}", interval_text(*figure, show)).trim_end().to_owned(),
            None => String::new(),
        };
        TextColumn::left(head, figures.iter().zip(&middles).map(both).collect())
    }
}

/// Columns side by side under their headings; empty columns are left out.
pub(crate) fn render_table(columns: impl IntoIterator<Item = TextColumn>) -> Vec<String> {
    let columns: Vec<TextColumn> = columns.into_iter().filter(|column| column.cells.iter().any(|cell| !cell.is_empty())).collect();
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let cell = |column: &TextColumn, row: Option<usize>| {
        let text = row.map_or(Some(&column.heading), |row| column.cells.get(row)).map_or("", String::as_str);
        let wide = max_width(&column.cells).max(column.heading.chars().count());
        if column.right_aligned { format!("  {text:>wide$}") } else { format!("  {text:<wide$}") }
    };
    let line = |row: Option<usize>| columns.iter().map(|column| cell(column, row)).collect::<String>();
    if columns.is_empty() { Vec::new() } else { [None].into_iter().chain((0..rows).map(Some)).map(line).collect() }
}

fn max_width(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_says_its_unit_once_where_it_can() {
        let time = |value: f64| with_unit(value, "s");
        assert_eq!(estimate_text([0.205, 0.371, 0.654], &time), "371 ms [205, 654]");
        assert_eq!(estimate_text([0.9, 1.1, 1.3], &time), "1.10 s [900 ms, 1.30 s]");
        assert_eq!(estimate_text([2.0, 2.0, 2.0], &time), "2.00 s");
        assert_eq!(estimate_text([1.5, 2.5, 3.5], &short_number), "2.5 [1.5, 3.5]");
    }

    #[test]
    fn numbers_have_the_digits_that_are_read() {
        let texts = [2000.0, 7.3228, 0.12345678, 123456.78, 1.5e9, 2.5e-7].map(short_number);
        assert_eq!(texts, ["2000", "7.323", "0.1235", "123457", "1.500e9", "2.500e-7"]);
        assert_eq!(
            (with_unit(-0.002, "s"), with_unit(5.5, "flop"), with_unit(3.0, "")),
            ("-2.00 ms".into(), "5.5 flop".into(), "3".into())
        );
    }

    #[test]
    fn columns_line_up_and_empty_ones_are_left_out() {
        let words = |words: [&str; 2]| words.map(String::from).to_vec();
        let lines = render_table([
            TextColumn::right("p", words(["2", "16"])),
            TextColumn::left("nothing", words(["", ""])),
            TextColumn::estimates("time", &[Some([1.0, 2.0, 3.0]), Some([10.0; 3])], &short_number),
        ]);
        assert_eq!(lines, ["   p  time     ", "   2   2 [1, 3]", "  16  10       "]);
    }

    #[test]
    fn sections_without_lines_leave_no_gap() {
        assert_eq!(join_sections([vec!["a ".into()], vec![], vec!["b".into(), "c".into()]]), "a\n\nb\nc\n");
        assert!(remarks([]).is_empty());
    }
}
