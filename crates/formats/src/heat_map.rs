//! A map of two things that change: each cell a time, in a colour that says how long.

use crate::svg::{Canvas, Heading, Words, width};

/// A table of times to be drawn.
pub struct HeatMap<'a> {
    /// What it shows.
    pub title: &'a str,
    /// What a reader should know, one line each.
    pub notes: &'a [String],
    /// What changes from left to right, and its values.
    pub columns: (&'a str, &'a [String]),
    /// What changes from top to bottom, and its values; one row without a value where nothing does.
    pub rows: (&'a str, &'a [String]),
    /// The times: rows of as many as there are columns.
    pub cells: &'a [Vec<f64>],
    /// How a time is written.
    pub write: &'a dyn Fn(f64) -> String,
}

const CELL: (f64, f64) = (74.0, 30.0);
const LETTER: f64 = 11.0;
const GAP: f64 = 10.0;
const MARGIN: f64 = 24.0;
const STYLE: &str = "\
.cell { stroke: #ffffff; stroke-width: 1; }
.dark { fill: #ffffff; }
.side { font-weight: bold; }
";

/// From short to long: the ends and the middles of the colours between them, told apart by those too who see few colours (after viridis).
const COLOURS: [(f64, f64, f64); 5] =
    [(253.0, 231.0, 37.0), (94.0, 201.0, 98.0), (33.0, 145.0, 140.0), (59.0, 82.0, 139.0), (68.0, 1.0, 84.0)];

impl HeatMap<'_> {
    /// The drawing as a file.
    pub fn svg(&self) -> String {
        let heading = Heading { title: self.title, notes: self.notes };
        let labels = self.rows.1.iter().map(|label| width(label, LETTER)).fold(width(self.rows.0, LETTER), f64::max);
        let (left, top) = (MARGIN + labels + GAP, heading.size().1 + 46.0);
        let right = left + CELL.0 * self.columns.1.len() as f64;
        let size = ((right + MARGIN).max(heading.size().0), top + CELL.1 * self.cells.len() as f64 + MARGIN);
        let mut canvas = Canvas::default();
        heading.draw(&mut canvas, size.0);
        canvas.text("side", (left, top - 26.0), self.columns.0);
        canvas.text_before("side", (left - GAP, top - 10.0), self.rows.0);
        for (column, label) in self.columns.1.iter().enumerate() {
            canvas.text("note", (left + CELL.0 * column as f64 + 6.0, top - 10.0), label);
        }
        let range = self.range();
        for (row, cells) in self.cells.iter().enumerate() {
            let y = top + CELL.1 * row as f64;
            if let Some(label) = self.rows.1.get(row) {
                canvas.text_before("note", (left - GAP, y + 19.0), label);
            }
            for (column, seconds) in cells.iter().enumerate() {
                self.cell(&mut canvas, (left + CELL.0 * column as f64, y), (row, column), *seconds, range);
            }
        }
        let description = format!("times by {} and {}", self.columns.0, self.rows.0);
        canvas.finish(size, STYLE, Words { title: self.title, description: &description })
    }

    /// The shortest and the longest time.
    fn range(&self) -> (f64, f64) {
        let all = || self.cells.iter().flatten().copied().filter(|seconds| *seconds > 0.0);
        (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    }

    fn cell(&self, canvas: &mut Canvas, at: (f64, f64), (row, column): (usize, usize), seconds: f64, (least, most): (f64, f64)) {
        // As factors: twice as long looks the same everywhere.
        let place = if most > least && seconds > 0.0 { ((seconds / least).ln() / (most / least).ln()).clamp(0.0, 1.0) } else { 0.0 };
        let text = (self.write)(seconds);
        let name =
            |side: &(&str, &[String]), place: usize| side.1.get(place).map(|value| format!("{} {value}", side.0)).unwrap_or_default();
        let details = format!("{} {}: {text}", name(&self.columns, column), name(&self.rows, row));
        canvas.explained(&details, |canvas| {
            canvas.filled("cell", &colour(place), at, CELL);
            canvas.text(if place > 0.45 { "dark" } else { "" }, (at.0 + 6.0, at.1 + 19.0), &text);
        });
    }
}

/// The colour of a place between the ends.
fn colour(place: f64) -> String {
    let along = place * (COLOURS.len() - 1) as f64;
    let first = (along as usize).min(COLOURS.len() - 2);
    let (a, b, share) = (COLOURS[first], COLOURS[first + 1], along - first as f64);
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
            write: &|seconds| format!("{seconds} s"),
        };
        let svg = map.svg();
        assert_eq!(svg.matches("class=\"cell\"").count(), 4);
        assert!(svg.contains("#fde725") && svg.contains("#440154") && svg.contains("#21918c"), "{svg}");
        assert!(svg.contains("latency 10us bandwidth 100Mb: 2 s") && svg.contains("&lt;1Gb&gt;"), "{svg}");
    }
}
