//! The legend, and the labels of vertical lines.

use super::series_style::{MARKER_SIZE, draw_marker, style_classes};
use super::{MARGIN, TEXT_SIZE, WIDTH};
use crate::plot::plot_layout::{LegendEntry, PlotLayout};
use crate::plot::{Plot, SeriesMark};
use crate::svg::{SvgCanvas, text_width, truncate_end};

/// Limit of a name's width.
const MAX_NAME_WIDTH: f64 = 330.0;
const MAX_LABEL_ROWS: usize = 3;

/// The rows of the legend, with the x coordinate of each entry.
pub(super) fn legend_rows<'a>(entries: &[LegendEntry<'a>]) -> Vec<Vec<(f64, LegendEntry<'a>)>> {
    let mut rows: Vec<Vec<(f64, LegendEntry)>> = Vec::new();
    let mut x = f64::INFINITY;
    for entry in entries {
        let room = sample_width(entry) + 8.0 + text_width(entry.name, TEXT_SIZE).min(MAX_NAME_WIDTH) + 22.0;
        if x + room > WIDTH - MARGIN {
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

/// Width of an entry's sample: a marker alone needs less than a line.
fn sample_width(entry: &LegendEntry) -> f64 {
    if entry.curve || entry.band { 30.0 } else { 10.0 }
}

pub(super) fn draw_row(canvas: &mut SvgCanvas, row: &[(f64, LegendEntry)], y: f64) {
    for (x, entry) in row {
        let (line, fill) = style_classes(entry.style);
        let wide = sample_width(entry);
        let middle = x + wide / 2.0;
        if entry.band {
            canvas.polygon(&format!("band {fill}"), &[(*x, y - 6.0), (x + wide, y - 6.0), (x + wide, y + 6.0), (*x, y + 6.0)]);
        }
        if entry.curve {
            canvas.line(&format!("curve {line}"), 1.8, &[(*x, y), (x + wide, y)]);
        }
        if entry.vertical_lines {
            canvas.line(&format!("mark {line}"), 1.2, &[(middle, y - 7.0), (middle, y + 7.0)]);
        }
        if entry.points {
            draw_marker(canvas, entry.style, (middle, y), MARKER_SIZE, false);
        }
        canvas.with_tooltip(entry.name, |canvas| {
            canvas.text("", (x + wide + 8.0, y + 4.0), &truncate_end(entry.name, TEXT_SIZE, MAX_NAME_WIDTH))
        });
    }
}

/// The labels of vertical lines above the panel, in a few rows without overlap; labels without room are dropped.
pub(super) fn line_label_rows(plot: &Plot, layout: &PlotLayout, left: f64) -> Vec<Vec<(f64, String)>> {
    let mut rows: Vec<Vec<(f64, String)>> = Vec::new();
    for mark in plot.series.iter().flat_map(|series| if let SeriesMark::VerticalLines(marks) = &series.mark { &marks[..] } else { &[] }) {
        let Some(position) = layout.x.scale.position(mark.x) else { continue };
        let name = truncate_end(&mark.label, 10.0, 150.0);
        let half = text_width(&name, 10.0) / 2.0;
        let x = (left + position * (WIDTH - MARGIN - left)).clamp(left + half, (WIDTH - half - 4.0).max(left + half));
        let is_free =
            |row: &Vec<(f64, String)>| row.iter().all(|(other, name)| (x - other).abs() > half + text_width(name, 10.0) / 2.0 + 6.0);
        match rows.iter().position(is_free) {
            Some(row) => rows[row].push((x, name)),
            None if rows.len() < MAX_LABEL_ROWS && !name.is_empty() => rows.push(vec![(x, name)]),
            None => {}
        }
    }
    rows
}
