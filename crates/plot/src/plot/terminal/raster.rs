//! A panel of characters. A Braille character has 2 x 4 dots, so lines are finer than characters.

use super::CharSet;
use crate::plot::Point;

/// The content of one character; earlier fields hide later ones.
#[derive(Clone, Copy, Default)]
struct RasterCell {
    glyph: Option<char>,
    /// Braille dots, as bits.
    dots: u8,
    /// The character of a line without Braille.
    stroke: Option<char>,
    vertical_line: Option<char>,
    shade: bool,
}

/// A panel being drawn; positions run from 0 to 1, upwards.
pub(super) struct CharRaster {
    columns: usize,
    rows: usize,
    cells: Vec<RasterCell>,
    charset: CharSet,
}

impl CharRaster {
    pub(super) fn new(columns: usize, rows: usize, charset: CharSet) -> CharRaster {
        CharRaster { columns, rows, cells: vec![RasterCell::default(); columns * rows], charset }
    }

    pub(super) fn put_glyph(&mut self, position: Point, glyph: char) {
        if let Some(cell) = self.cell_mut(position) {
            cell.glyph = Some(glyph);
        }
    }

    /// Draws a line; with a `gap`, only every n-th dot.
    pub(super) fn draw_line(&mut self, from: Point, to: Point, stroke: char, gap: usize) {
        let [columns, rows] = [self.columns as f64 * 2.0, self.rows as f64 * 4.0];
        let steps = ((to.0 - from.0).abs() * columns).max((to.1 - from.1).abs() * rows).ceil().max(1.0);
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let position = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            // Gaps are at fixed positions, so that joined short lines look like one long line.
            if gap < 2 || ((position.0 * columns).floor() as usize).is_multiple_of(gap) {
                self.put_dot(position, stroke);
            }
        }
    }

    /// A vertical line behind everything else.
    pub(super) fn draw_vertical_line(&mut self, x: f64, mark: char) {
        for row in 0..self.rows {
            if let Some(cell) = self.cell_mut((x, (row as f64 + 0.5) / self.rows as f64)) {
                cell.vertical_line = Some(mark);
            }
        }
    }

    /// A column of an area, behind everything else.
    pub(super) fn shade_column(&mut self, x: f64, low: f64, high: f64) {
        let [low, high] = [low, high].map(|position| (position * self.rows as f64).clamp(0.0, self.rows as f64 - 1.0) as usize);
        for row in low..=high {
            if let Some(cell) = self.cell_mut((x, (row as f64 + 0.5) / self.rows as f64)) {
                cell.shade = true;
            }
        }
    }

    /// The rows from the top.
    pub(super) fn rows(&self) -> impl Iterator<Item = String> {
        self.cells.chunks(self.columns).map(|row| row.iter().map(|cell| self.to_char(*cell)).collect())
    }

    /// The row of a position, from the top.
    pub(super) fn row(&self, position: f64) -> usize {
        let from_below = (position.clamp(0.0, 1.0) * self.rows as f64).floor() as usize;
        self.rows - 1 - from_below.min(self.rows - 1)
    }

    pub(super) fn column(&self, position: f64) -> usize {
        ((position.clamp(0.0, 1.0) * self.columns as f64).floor() as usize).min(self.columns - 1)
    }

    fn put_dot(&mut self, position: Point, stroke: char) {
        let within =
            |share: f64, cells: usize, parts: usize| ((share * (cells * parts) as f64).floor() as usize).min(cells * parts - 1) % parts;
        let (right, up) = (within(position.0.clamp(0.0, 1.0), self.columns, 2), within(position.1.clamp(0.0, 1.0), self.rows, 4));
        if let Some(cell) = self.cell_mut(position) {
            // Bit order of Unicode: three rows of each column, then the lowest row.
            cell.dots |= [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]][right][up];
            cell.stroke = Some(stroke);
        }
    }

    fn cell_mut(&mut self, (x, y): Point) -> Option<&mut RasterCell> {
        if !(x.is_finite() && y.is_finite()) {
            return None;
        }
        let position = self.row(y) * self.columns + self.column(x);
        self.cells.get_mut(position)
    }

    fn to_char(&self, cell: RasterCell) -> char {
        let dots = || match self.charset {
            CharSet::Braille if cell.dots > 0 => char::from_u32(0x2800 + u32::from(cell.dots)),
            CharSet::Braille => None,
            CharSet::Ascii => cell.stroke,
        };
        let shade = || cell.shade.then_some(if self.charset == CharSet::Braille { '░' } else { ':' });
        cell.glyph.or_else(dots).or(cell.vertical_line).or_else(shade).unwrap_or(' ')
    }
}
