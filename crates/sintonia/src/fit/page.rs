//! What the screens of `fit` and `predict` share: paragraphs, columns that line up, figures with their intervals, and drawings.

use sintonia_formats::plot::{self, Letters, Plot};
use sintonia_model::predict::Figure;

use crate::text::{seconds, wrapped};

/// How wide a screen is taken to be.
pub const COLUMNS: usize = 100;

/// Sections with an empty line between them; those without lines are left out.
pub fn page(sections: impl IntoIterator<Item = Vec<String>>) -> String {
    let lines = |section: Vec<String>| section.iter().map(|line| format!("{}\n", line.trim_end())).collect::<String>();
    sections.into_iter().filter(|section| !section.is_empty()).map(lines).collect::<Vec<_>>().join("\n")
}

/// A text over as many lines as it needs, a little to the right, and all but the first further so.
pub fn hanging(text: &str, by: usize) -> Vec<String> {
    let lines = wrapped(text, COLUMNS - 2 - by).into_iter().enumerate();
    lines.map(|(place, line)| format!("  {}{line}", " ".repeat(if place > 0 { by } else { 0 }))).collect()
}

/// What a reader should know, under its own title.
pub fn remarks<'a>(remarks: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let lines: Vec<String> = remarks.into_iter().flat_map(|remark| hanging(remark, 2)).collect();
    if lines.is_empty() { lines } else { [vec!["Keep in mind".to_owned()], lines].concat() }
}

/// A plot in lines of text, without its residuals.
pub fn drawing(plot: Plot) -> Vec<String> {
    let screen = plot::Screen { rows: 10, ..plot::Screen::new(COLUMNS, letters()) };
    plot::text(&Plot { residuals: Vec::new(), ..plot }, screen).lines().map(str::to_owned).collect()
}

/// What the terminal can show, by the language it is set to.
fn letters() -> Letters {
    let language = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    let is_unicode = language.is_some_and(|language| language.to_ascii_lowercase().replace('-', "").contains("utf8"));
    if is_unicode { Letters::Braille } else { Letters::Ascii }
}

/// A value in its unit.
pub fn amount(value: f64, unit: &str) -> String {
    match unit {
        "s" => seconds(value),
        unit => format!("{} {unit}", number(value)).trim_end().to_owned(),
    }
}

/// A number with as many digits as anybody reads: whole ones exactly, others with four.
pub fn number(value: f64) -> String {
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

/// The interval of a figure: nothing for one that is exact, and no unit where it is that of the figure itself.
fn interval([low, middle, high]: Figure, show: &dyn Fn(f64) -> String) -> String {
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
pub fn figure(figure: Figure, show: &dyn Fn(f64) -> String) -> String {
    format!("{} {}", show(figure[1]), interval(figure, show)).trim_end().to_owned()
}

/// A column of a table.
pub struct Column {
    head: String,
    cells: Vec<String>,
    is_right: bool,
}

impl Column {
    /// Texts, which begin below each other.
    pub fn texts(head: impl Into<String>, cells: Vec<String>) -> Column {
        Column { head: head.into(), cells, is_right: false }
    }

    /// Numbers, which end below each other.
    pub fn numbers(head: impl Into<String>, cells: Vec<String>) -> Column {
        Column { head: head.into(), cells, is_right: true }
    }

    /// Figures, which end below each other, each before its interval.
    pub fn figures(head: impl Into<String>, figures: &[Option<Figure>], show: &dyn Fn(f64) -> String) -> Column {
        let middles: Vec<String> = figures.iter().map(|figure| figure.map(|figure| show(figure[1])).unwrap_or_default()).collect();
        let wide = widest(&middles);
        let both = |(figure, middle): (&Option<Figure>, &String)| match figure {
            Some(figure) => format!("{middle:>wide$} {}", interval(*figure, show)).trim_end().to_owned(),
            None => String::new(),
        };
        Column::texts(head, figures.iter().zip(&middles).map(both).collect())
    }
}

/// Columns side by side, under their heads; those in which nothing stands are left out.
pub fn table(columns: impl IntoIterator<Item = Column>) -> Vec<String> {
    let columns: Vec<Column> = columns.into_iter().filter(|column| column.cells.iter().any(|cell| !cell.is_empty())).collect();
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let cell = |column: &Column, row: Option<usize>| {
        let text = row.map_or(Some(&column.head), |row| column.cells.get(row)).map_or("", String::as_str);
        let wide = widest(&column.cells).max(column.head.chars().count());
        if column.is_right { format!("  {text:>wide$}") } else { format!("  {text:<wide$}") }
    };
    let line = |row: Option<usize>| columns.iter().map(|column| cell(column, row)).collect::<String>();
    if columns.is_empty() { Vec::new() } else { [None].into_iter().chain((0..rows).map(Some)).map(line).collect() }
}

fn widest(texts: &[String]) -> usize {
    texts.iter().map(|text| text.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_says_its_unit_once_where_it_can() {
        let time = |value: f64| amount(value, "s");
        assert_eq!(figure([0.205, 0.371, 0.654], &time), "371 ms [205, 654]");
        assert_eq!(figure([0.9, 1.1, 1.3], &time), "1.10 s [900 ms, 1.30 s]");
        assert_eq!(figure([2.0, 2.0, 2.0], &time), "2.00 s");
        assert_eq!(figure([1.5, 2.5, 3.5], &number), "2.5 [1.5, 3.5]");
    }

    #[test]
    fn numbers_have_the_digits_that_are_read() {
        let texts = [2000.0, 7.3228, 0.12345678, 123456.78, 1.5e9, 2.5e-7].map(number);
        assert_eq!(texts, ["2000", "7.323", "0.1235", "123457", "1.500e9", "2.500e-7"]);
        assert_eq!((amount(-0.002, "s"), amount(5.5, "flop"), amount(3.0, "")), ("-2.00 ms".into(), "5.5 flop".into(), "3".into()));
    }

    #[test]
    fn columns_line_up_and_empty_ones_are_left_out() {
        let words = |words: [&str; 2]| words.map(String::from).to_vec();
        let lines = table([
            Column::numbers("p", words(["2", "16"])),
            Column::texts("nothing", words(["", ""])),
            Column::figures("time", &[Some([1.0, 2.0, 3.0]), Some([10.0; 3])], &number),
        ]);
        assert_eq!(lines, ["   p  time     ", "   2   2 [1, 3]", "  16  10       "]);
    }

    #[test]
    fn sections_without_lines_leave_no_gap() {
        assert_eq!(page([vec!["a ".into()], vec![], vec!["b".into(), "c".into()]]), "a\n\nb\nc\n");
        assert!(remarks([]).is_empty());
    }
}
