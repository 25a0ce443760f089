//! Heat maps of times over two parameters.

use crate::svg::{AltText, SvgCanvas, TitleBlock, text_width};

/// A table of times.
pub struct HeatMap<'a> {
    /// The title.
    pub title: &'a str,
    /// Notes below the title, one line each.
    pub notes: &'a [String],
    /// Name and values of the horizontal parameter.
    pub columns: (&'a str, &'a [String]),
    /// Name and values of the vertical parameter; one row without a value if there is none.
    pub rows: (&'a str, &'a [String]),
    /// The times, by row.
    pub cells: &'a [Vec<f64>],
    /// Formats a time.
    pub format_value: &'a dyn Fn(f64) -> String,
}

const CELL_SIZE: (f64, f64) = (74.0, 30.0);
const FONT_SIZE: f64 = 11.0;
const GAP: f64 = 10.0;
const MARGIN: f64 = 24.0;
const STYLE: &str = "\
.cell { stroke: #ffffff; stroke-width: 1; }
.dark { fill: #ffffff; }
.side { font-weight: bold; }
";

/// Colour scale from short to long, readable with colour vision deficiency (after viridis).
const COLOUR_STOPS: [(f64, f64, f64); 5] =
    [(253.0, 231.0, 37.0), (94.0, 201.0, 98.0), (33.0, 145.0, 140.0), (59.0, 82.0, 139.0), (68.0, 1.0, 84.0)];

impl HeatMap<'_> {
    /// The SVG file.
    pub fn to_svg(&self) -> String {
        let heading = TitleBlock { title: self.title, notes: self.notes };
        let labels = self.rows.1.iter().map(|label| text_width(label, FONT_SIZE)).fold(text_width(self.rows.0, FONT_SIZE), f64::max);
        let (left, top) = (MARGIN + labels + GAP, heading.size().1 + 46.0);
        let right = left + CELL_SIZE.0 * self.columns.1.len() as f64;
        let size = ((right + MARGIN).max(heading.size().0), top + CELL_SIZE.1 * self.cells.len() as f64 + MARGIN);
        let mut canvas = SvgCanvas::default();
        heading.draw(&mut canvas, size.0);
        canvas.text("side", (left, top - 26.0), self.columns.0);
        canvas.right_aligned_text("side", (left - GAP, top - 10.0), self.rows.0);
        for (column, label) in self.columns.1.iter().enumerate() {
            canvas.text("note", (left + CELL_SIZE.0 * column as f64 + 6.0, top - 10.0), label);
        }
        let range = self.time_range();
        for (row, cells) in self.cells.iter().enumerate() {
            let y = top + CELL_SIZE.1 * row as f64;
            if let Some(label) = self.rows.1.get(row) {
                canvas.right_aligned_text("note", (left - GAP, y + 19.0), label);
            }
            for (column, seconds) in cells.iter().enumerate() {
                self.draw_cell(&mut canvas, (left + CELL_SIZE.0 * column as f64, y), (row, column), *seconds, range);
            }
        }
        let description = format!("times by {} and {}", self.columns.0, self.rows.0);
        canvas.finish(size, STYLE, AltText { title: self.title, description: &description })
    }

    /// The shortest and the longest positive time.
    fn time_range(&self) -> (f64, f64) {
        let all = || self.cells.iter().flatten().copied().filter(|seconds| *seconds > 0.0);
        (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    }

    fn draw_cell(&self, canvas: &mut SvgCanvas, at: (f64, f64), (row, column): (usize, usize), seconds: f64, (least, most): (f64, f64)) {
        // Logarithmic: equal factors get equal colour distances.
        let position = if most > least && seconds > 0.0 { ((seconds / least).ln() / (most / least).ln()).clamp(0.0, 1.0) } else { 0.0 };
        let text = (self.format_value)(seconds);
        let name =
            |side: &(&str, &[String]), position: usize| side.1.get(position).map(|value| format!("{} {value}", side.0)).unwrap_or_default();
        let details = format!("{} {}: {text}", name(&self.columns, column), name(&self.rows, row));
        canvas.with_tooltip(&details, |canvas| {
            canvas.filled_rectangle("cell", &colour_at(position), at, CELL_SIZE);
            canvas.text(if position > 0.45 { "dark" } else { "" }, (at.0 + 6.0, at.1 + 19.0), &text);
        });
    }
}

/// Colour at a position from 0 to 1.
fn colour_at(position: f64) -> String {
    let along = position * (COLOUR_STOPS.len() - 1) as f64;
    let first = (along as usize).min(COLOUR_STOPS.len() - 2);
    let (a, b, share) = (COLOUR_STOPS[first], COLOUR_STOPS[first + 1], along - first as f64);
    let mix = |a: f64, b: f64| (a + (b - a) * share).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_drawn_in_a_colour_between_those_of_the_ends() {
        let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (columns, rows) = (labels(&["1us", "10us"]), labels(&["100Mb", "<1Gb>"]));
        let cells = [vec![1.0, 2.0], vec![4.0, 0.0]];
        let map = HeatMap {
            title: "times",
            notes: &[],
            columns: ("latency", &columns),
            rows: ("bandwidth", &rows),
            cells: &cells,
            format_value: &|seconds| format!("{seconds} s"),
        };
        let svg = map.to_svg();
        assert_eq!(svg.matches("class=\"cell\"").count(), 4);
        assert!(svg.contains("#fde725") && svg.contains("#440154") && svg.contains("#21918c"), "{svg}");
        assert!(svg.contains("latency 10us bandwidth 100Mb: 2 s") && svg.contains("&lt;1Gb&gt;"), "{svg}");
    }
}
