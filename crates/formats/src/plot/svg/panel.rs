//! One panel of a plot: its ground, its axes, and what lies over them.

use super::look::{SIZE, classes, marker};
use super::{MARGIN, TEXT};
use crate::plot::ruler::Ruler;
use crate::plot::view::{self, Panel, Side};
use crate::plot::{self, Ink, Mark, Measured, Series, Shape, Spread};
use crate::svg::{Canvas, Point, head, width};

const SIZE_OF_MANY: f64 = 2.4;
/// With more points than this in a series, its markers are small and curves are drawn over them.
const MANY: usize = 80;
/// With more points than this, they do not say their values when one points at them.
const TOO_MANY: usize = 2000;

/// Where a panel is.
pub struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Frame {
    pub fn wide(&self) -> f64 {
        self.right - self.left
    }

    fn x(&self, place: f64) -> f64 {
        self.left + place * self.wide()
    }

    fn y(&self, place: f64) -> f64 {
        self.bottom - place * (self.bottom - self.top)
    }

    fn point(&self, place: Point) -> Point {
        (self.x(place.0), self.y(place.1))
    }
}

/// A panel being drawn.
pub struct Drawing<'a> {
    pub canvas: &'a mut Canvas,
    pub frame: &'a Frame,
    pub x: &'a Side,
    pub y: &'a Side,
}

impl Drawing<'_> {
    pub fn panel(mut self, panel: &Panel, above: f64, is_last: bool) {
        self.ground(above);
        for series in panel.series {
            match &series.shape {
                Shape::Band(spreads) => self.band(series, spreads),
                Shape::Marks(marks) => marks.iter().for_each(|mark| self.mark(series.ink, mark)),
                _ => {}
            }
        }
        let counts = || panel.series.iter().map(|series| if let Shape::Points(points) = &series.shape { points.len() } else { 0 });
        let (points, curves_last) = (counts().sum(), counts().any(|count| count > MANY));
        for curves in [!curves_last, curves_last] {
            for series in panel.series {
                match &series.shape {
                    Shape::Curve(curve) if curves => self.curve(series, curve),
                    Shape::Points(measured) if !curves => self.points(series, measured, points),
                    _ => {}
                }
            }
        }
        self.axes(is_last);
    }

    fn ground(&mut self, above: f64) {
        let Frame { left, right, top, bottom } = *self.frame;
        self.canvas.polygon("panel", &[(left, top), (right, top), (right, bottom), (left, bottom)]);
        for tick in &self.x.ticks {
            let x = self.frame.x(tick.place);
            self.canvas.line("grid", 1.0, &[(x, top), (x, bottom)]);
        }
        for tick in &self.y.ticks {
            let y = self.frame.y(tick.place);
            self.canvas.line("grid", 1.0, &[(left, y), (right, y)]);
        }
        self.canvas.text("caption-y", (MARGIN, top - above), &head(&self.y.caption, TEXT, right - MARGIN));
    }

    fn axes(&mut self, with_numbers: bool) {
        let Frame { left, right, top, bottom } = *self.frame;
        for (place, lesser) in self.x.marks() {
            let x = self.frame.x(place);
            self.canvas.line(if lesser { "lesser" } else { "axis" }, 1.0, &[(x, bottom), (x, bottom + if lesser { 3.0 } else { 5.0 })]);
        }
        for (place, lesser) in self.y.marks() {
            let y = self.frame.y(place);
            self.canvas.line(if lesser { "lesser" } else { "axis" }, 1.0, &[(left, y), (left - if lesser { 3.0 } else { 5.0 }, y)]);
        }
        self.canvas.line("axis", 1.0, &[(left, top), (left, bottom), (right, bottom)]);
        if let Some(zero) = self.y.ruler.place(0.0).filter(|place| !self.y.ruler.log && *place > 0.0) {
            self.canvas.line("axis", 1.0, &[(left, self.frame.y(zero)), (right, self.frame.y(zero))]);
        }
        self.breaks();
        let mut free = f64::NEG_INFINITY;
        for tick in self.x.ticks.iter().filter(|_| with_numbers) {
            let (x, half) = (self.frame.x(tick.place), width(&tick.label, 10.5) / 2.0);
            if x - half > free {
                self.canvas.text("tick-x", (x, bottom + 18.0), &tick.label);
                free = x + half + 4.0;
            }
        }
        for tick in &self.y.ticks {
            self.canvas.text_before("tick-y", (left - 8.0, self.frame.y(tick.place) + 3.8), &tick.label);
        }
    }

    /// Two strokes across the axis between zero and the powers.
    fn breaks(&mut self) {
        let Frame { left, bottom, .. } = *self.frame;
        if self.x.ruler.zero {
            let x = self.frame.x(self.x.ruler.begin() * 0.62);
            self.canvas.line("break", 3.0, &[(x - 2.0, bottom), (x + 2.0, bottom)]);
            for x in [x - 2.5, x + 2.5] {
                self.canvas.line("axis", 1.0, &[(x - 2.0, bottom + 5.0), (x + 2.0, bottom - 5.0)]);
            }
        }
        if self.y.ruler.zero {
            let y = self.frame.y(self.y.ruler.begin() * 0.62);
            self.canvas.line("break", 3.0, &[(left, y - 2.0), (left, y + 2.0)]);
            for y in [y - 2.5, y + 2.5] {
                self.canvas.line("axis", 1.0, &[(left - 5.0, y + 2.0), (left + 5.0, y - 2.0)]);
            }
        }
    }

    fn band(&mut self, series: &Series, spreads: &[Spread]) {
        let class = format!("band {}", classes(series.ink).1);
        for area in view::areas(spreads, &self.x.ruler, &self.y.ruler) {
            let upper = area.iter().map(|(x, _, high)| self.frame.point((*x, *high)));
            let lower = area.iter().rev().map(|(x, low, _)| self.frame.point((*x, *low)));
            let outline: Vec<Point> = upper.chain(lower).collect();
            self.canvas.explained(&series.name, |canvas| canvas.polygon(&class, &outline));
        }
    }

    fn mark(&mut self, ink: Ink, mark: &Mark) {
        let Frame { top, bottom, .. } = *self.frame;
        let (line, fill) = classes(ink);
        let inside = |ruler: &Ruler, value: f64| ruler.place(value).map(|place| place.clamp(0.0, 1.0));
        let Some(x) = inside(&self.x.ruler, mark.at).map(|place| self.frame.x(place)) else { return };
        let between = mark.between.and_then(|(low, high)| Some((inside(&self.x.ruler, low)?, inside(&self.x.ruler, high)?)));
        let between = between.map(|(low, high)| (self.frame.x(low), self.frame.x(high)));
        self.canvas.explained(&format!("{} at {}", mark.name, self.x.unit.tell(mark.at, 5)), |canvas| {
            if let Some((low, high)) = between.filter(|(low, high)| high - low > 2.0) {
                canvas.polygon(&format!("band {fill}"), &[(low, top), (high, top), (high, bottom), (low, bottom)]);
            }
            canvas.line(&format!("mark {line}"), 1.2, &[(x, top), (x, bottom)]);
        });
    }

    fn curve(&mut self, series: &Series, curve: &[plot::Point]) {
        let (class, thickness) = (format!("curve {}", classes(series.ink).0), if series.ink == Ink::Reference { 1.2 } else { 1.8 });
        let pieces = view::cut(curve, &self.x.ruler, &self.y.ruler);
        self.canvas.explained(&series.name, |canvas| {
            for piece in pieces {
                let line: Vec<Point> = piece.into_iter().map(|place| self.frame.point(place)).collect();
                canvas.line(&class, thickness, &line);
            }
        });
    }

    fn points(&mut self, series: &Series, points: &[Measured], all: usize) {
        let many = points.len() > MANY;
        let size = if many { SIZE_OF_MANY } else { SIZE };
        let bar = format!("bar {}", classes(series.ink).0);
        for point in points {
            let (Some(x), Some(y)) = (self.x.ruler.place(point.x), self.y.ruler.place(point.y)) else { continue };
            let at = self.frame.point((x, y));
            let ends = point.between.and_then(|(low, high)| Some([self.y.ruler.lower_end(low)?, self.y.ruler.upper_end(high)?]));
            let ends = ends.map(|ends| ends.map(|end| self.frame.y(end)));
            let draw = |canvas: &mut Canvas| {
                if let Some([low, high]) = ends {
                    error_bar(canvas, &bar, at.0, low, high, size);
                }
                marker(canvas, series.ink, at, size, many);
            };
            if all > TOO_MANY {
                draw(self.canvas);
            } else {
                let details = self.told(series, point);
                self.canvas.explained(&details, draw);
            }
        }
    }

    /// A point in words.
    fn told(&self, series: &Series, point: &Measured) -> String {
        let [x, y] = [self.x.unit.tell(point.x, 6), self.y.unit.tell(point.y, 4)];
        let between = point.between.map(|ends| <[f64; 2]>::from(ends).map(|end| self.y.unit.tell(end, 4)));
        let between = between.map_or(String::new(), |[low, high]| format!(" [{low}, {high}]"));
        format!("{}\n{x}: {y}{between}", series.name)
    }
}

/// A line from the lowest to the highest value, with caps where it is longer than its marker.
fn error_bar(canvas: &mut Canvas, class: &str, x: f64, low: f64, high: f64, size: f64) {
    if low - high < 1.0 {
        return;
    }
    canvas.line(class, 1.2, &[(x, low), (x, high)]);
    if size > 3.0 {
        for end in [low, high] {
            canvas.line(class, 1.2, &[(x - size, end), (x + size, end)]);
        }
    }
}

impl Side {
    /// Where the axis has a stroke, and whether it is a lesser one.
    fn marks(&self) -> Vec<(f64, bool)> {
        let lesser = self.ruler.lesser_ticks().into_iter().filter_map(|value| Some((self.ruler.place(value)?, true)));
        lesser.chain(self.ticks.iter().map(|tick| (tick.place, false))).collect()
    }
}
