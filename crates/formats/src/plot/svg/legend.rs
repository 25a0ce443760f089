//! What a reader needs to know which line is which: the legend, and the names of marks.

use super::look::{SIZE, classes, marker};
use super::{MARGIN, TEXT, WIDE};
use crate::plot::view::{Entry, View};
use crate::plot::{Plot, Shape};
use crate::svg::{Canvas, head, width};

/// How much of the legend one name may take.
const LONGEST_NAME: f64 = 330.0;
const MARK_ROWS: usize = 3;

/// The lines of the legend, each entry with the place where it begins.
pub fn rows<'a>(entries: &[Entry<'a>]) -> Vec<Vec<(f64, Entry<'a>)>> {
    let mut rows: Vec<Vec<(f64, Entry)>> = Vec::new();
    let mut x = f64::INFINITY;
    for entry in entries {
        let room = sample_width(entry) + 8.0 + width(entry.name, TEXT).min(LONGEST_NAME) + 22.0;
        if x + room > WIDE - MARGIN {
            x = MARGIN;
            rows.push(Vec::new());
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, *entry));
        }
        x += room;
    }
    rows
}

/// How wide the sample of an entry is: a marker alone needs less than a line.
fn sample_width(entry: &Entry) -> f64 {
    if entry.curve || entry.band { 30.0 } else { 10.0 }
}

pub fn row(canvas: &mut Canvas, row: &[(f64, Entry)], y: f64) {
    for (x, entry) in row {
        let (line, fill) = classes(entry.ink);
        let wide = sample_width(entry);
        let middle = x + wide / 2.0;
        if entry.band {
            canvas.polygon(&format!("band {fill}"), &[(*x, y - 6.0), (x + wide, y - 6.0), (x + wide, y + 6.0), (*x, y + 6.0)]);
        }
        if entry.curve {
            canvas.line(&format!("curve {line}"), 1.8, &[(*x, y), (x + wide, y)]);
        }
        if entry.marks {
            canvas.line(&format!("mark {line}"), 1.2, &[(middle, y - 7.0), (middle, y + 7.0)]);
        }
        if entry.points {
            marker(canvas, entry.ink, (middle, y), SIZE, false);
        }
        canvas.explained(entry.name, |canvas| canvas.text("", (x + wide + 8.0, y + 4.0), &head(entry.name, TEXT, LONGEST_NAME)));
    }
}

/// The names of marks above the panel, in a few rows so that none hides another; those for which there is no room are left out.
pub fn mark_rows(plot: &Plot, view: &View, left: f64) -> Vec<Vec<(f64, String)>> {
    let mut rows: Vec<Vec<(f64, String)>> = Vec::new();
    for mark in plot.series.iter().flat_map(|series| if let Shape::Marks(marks) = &series.shape { &marks[..] } else { &[] }) {
        let Some(place) = view.x.ruler.place(mark.at) else { continue };
        let name = head(&mark.name, 10.0, 150.0);
        let half = width(&name, 10.0) / 2.0;
        let x = (left + place * (WIDE - MARGIN - left)).clamp(left + half, (WIDE - half - 4.0).max(left + half));
        let is_free = |row: &Vec<(f64, String)>| row.iter().all(|(other, name)| (x - other).abs() > half + width(name, 10.0) / 2.0 + 6.0);
        match rows.iter().position(is_free) {
            Some(row) => rows[row].push((x, name)),
            None if rows.len() < MARK_ROWS && !name.is_empty() => rows.push(vec![(x, name)]),
            None => {}
        }
    }
    rows
}
