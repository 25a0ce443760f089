//! A panel made of characters. A character of Braille has two by four dots, so lines are finer than letters.

use super::Letters;
use crate::plot::Point;

/// What one character shows; what is listed first hides what comes later.
#[derive(Clone, Copy, Default)]
struct Cell {
    glyph: Option<char>,
    /// The dots of Braille, as bits.
    dots: u8,
    /// What a line is drawn with where there are no dots.
    stroke: Option<char>,
    mark: Option<char>,
    shade: bool,
}

/// A panel under construction; places run from 0 to 1 in both directions, upwards.
pub struct Raster {
    columns: usize,
    rows: usize,
    cells: Vec<Cell>,
    letters: Letters,
}

impl Raster {
    pub fn new(columns: usize, rows: usize, letters: Letters) -> Raster {
        Raster { columns, rows, cells: vec![Cell::default(); columns * rows], letters }
    }

    /// A marker.
    pub fn glyph(&mut self, place: Point, glyph: char) {
        if let Some(cell) = self.at(place) {
            cell.glyph = Some(glyph);
        }
    }

    /// A line; with a gap, only every so many dots of it.
    pub fn line(&mut self, from: Point, to: Point, stroke: char, gap: usize) {
        let [columns, rows] = [self.columns as f64 * 2.0, self.rows as f64 * 4.0];
        let steps = ((to.0 - from.0).abs() * columns).max((to.1 - from.1).abs() * rows).ceil().max(1.0);
        for step in 0..=steps as usize {
            let share = step as f64 / steps;
            let place = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            // Gaps lie at fixed places, so that short lines joined have the same ones as a long line.
            if gap < 2 || ((place.0 * columns).floor() as usize).is_multiple_of(gap) {
                self.dot(place, stroke);
            }
        }
    }

    /// A vertical line behind everything.
    pub fn mark(&mut self, x: f64, mark: char) {
        for row in 0..self.rows {
            if let Some(cell) = self.at((x, (row as f64 + 0.5) / self.rows as f64)) {
                cell.mark = Some(mark);
            }
        }
    }

    /// An area of one column, behind everything.
    pub fn shade(&mut self, x: f64, low: f64, high: f64) {
        let [low, high] = [low, high].map(|place| (place * self.rows as f64).clamp(0.0, self.rows as f64 - 1.0) as usize);
        for row in low..=high {
            if let Some(cell) = self.at((x, (row as f64 + 0.5) / self.rows as f64)) {
                cell.shade = true;
            }
        }
    }

    /// The rows, from the top.
    pub fn rows(&self) -> impl Iterator<Item = String> {
        self.cells.chunks(self.columns).map(|row| row.iter().map(|cell| self.shown(*cell)).collect())
    }

    /// The row of a place, from the top.
    pub fn row(&self, place: f64) -> usize {
        let from_below = (place.clamp(0.0, 1.0) * self.rows as f64).floor() as usize;
        self.rows - 1 - from_below.min(self.rows - 1)
    }

    /// The column of a place.
    pub fn column(&self, place: f64) -> usize {
        ((place.clamp(0.0, 1.0) * self.columns as f64).floor() as usize).min(self.columns - 1)
    }

    fn dot(&mut self, place: Point, stroke: char) {
        let within =
            |share: f64, cells: usize, parts: usize| ((share * (cells * parts) as f64).floor() as usize).min(cells * parts - 1) % parts;
        let (right, up) = (within(place.0.clamp(0.0, 1.0), self.columns, 2), within(place.1.clamp(0.0, 1.0), self.rows, 4));
        if let Some(cell) = self.at(place) {
            // The order of the bits is that of Unicode: three rows of each column, then the lowest row.
            cell.dots |= [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]][right][up];
            cell.stroke = Some(stroke);
        }
    }

    fn at(&mut self, (x, y): Point) -> Option<&mut Cell> {
        if !(x.is_finite() && y.is_finite()) {
            return None;
        }
        let place = self.row(y) * self.columns + self.column(x);
        self.cells.get_mut(place)
    }

    fn shown(&self, cell: Cell) -> char {
        let dots = || match self.letters {
            Letters::Braille if cell.dots > 0 => char::from_u32(0x2800 + u32::from(cell.dots)),
            Letters::Braille => None,
            Letters::Ascii => cell.stroke,
        };
        let shade = || cell.shade.then_some(if self.letters == Letters::Braille { '░' } else { ':' });
        cell.glyph.or_else(dots).or(cell.mark).or_else(shade).unwrap_or(' ')
    }
}
