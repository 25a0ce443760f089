//! Draws one panel of a plot.

use super::series_style::{MARKER_SIZE, draw_marker, style_classes};
use super::{MARGIN, TEXT_SIZE};
use crate::plot::axis_scale::AxisScale;
use crate::plot::plot_layout::{self, AxisLayout, PlotPanel};
use crate::plot::{self, BandPoint, MeasuredPoint, PlotSeries, SeriesMark, SeriesStyle, VerticalLine};
use crate::svg::{Point, SvgCanvas, text_width, truncate_end};

const SMALL_MARKER_SIZE: f64 = 2.4;
/// With more points than this, the markers of a series are small and curves are drawn over them.
const MANY_POINTS: usize = 80;
/// With more points than this, points have no tooltips.
const MAX_TOOLTIPS: usize = 2000;

/// The rectangle of a panel.
pub(super) struct PanelFrame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl PanelFrame {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    fn x(&self, position: f64) -> f64 {
        self.left + position * self.width()
    }

    fn y(&self, position: f64) -> f64 {
        self.bottom - position * (self.bottom - self.top)
    }

    fn point(&self, position: Point) -> Point {
        (self.x(position.0), self.y(position.1))
    }
}

/// Draws a panel.
pub(super) struct PanelPainter<'a> {
    pub canvas: &'a mut SvgCanvas,
    pub frame: &'a PanelFrame,
    pub x: &'a AxisLayout,
    pub y: &'a AxisLayout,
}

impl PanelPainter<'_> {
    pub(super) fn draw(mut self, panel: &PlotPanel, above: f64, is_last: bool) {
        self.draw_background(above);
        for series in panel.series {
            match &series.mark {
                SeriesMark::Band(spreads) => self.draw_band(series, spreads),
                SeriesMark::VerticalLines(marks) => marks.iter().for_each(|mark| self.draw_vertical_line(series.style, mark)),
                _ => {}
            }
        }
        let counts = || panel.series.iter().map(|series| if let SeriesMark::Points(points) = &series.mark { points.len() } else { 0 });
        let (points, curves_last) = (counts().sum(), counts().any(|count| count > MANY_POINTS));
        for curves in [!curves_last, curves_last] {
            for series in panel.series {
                match &series.mark {
                    SeriesMark::Curve(curve) if curves => self.draw_curve(series, curve),
                    SeriesMark::Points(measured) if !curves => self.draw_points(series, measured, points),
                    _ => {}
                }
            }
        }
        self.draw_axes(is_last);
    }

    fn draw_background(&mut self, above: f64) {
        let PanelFrame { left, right, top, bottom } = *self.frame;
        self.canvas.polygon("panel", &[(left, top), (right, top), (right, bottom), (left, bottom)]);
        for tick in &self.x.ticks {
            let x = self.frame.x(tick.position);
            self.canvas.line("grid", 1.0, &[(x, top), (x, bottom)]);
        }
        for tick in &self.y.ticks {
            let y = self.frame.y(tick.position);
            self.canvas.line("grid", 1.0, &[(left, y), (right, y)]);
        }
        self.canvas.text("caption-y", (MARGIN, top - above), &truncate_end(&self.y.caption, TEXT_SIZE, right - MARGIN));
    }

    fn draw_axes(&mut self, with_numbers: bool) {
        let PanelFrame { left, right, top, bottom } = *self.frame;
        for (position, minor) in self.x.tick_positions() {
            let x = self.frame.x(position);
            self.canvas.line(if minor { "lesser" } else { "axis" }, 1.0, &[(x, bottom), (x, bottom + if minor { 3.0 } else { 5.0 })]);
        }
        for (position, minor) in self.y.tick_positions() {
            let y = self.frame.y(position);
            self.canvas.line(if minor { "lesser" } else { "axis" }, 1.0, &[(left, y), (left - if minor { 3.0 } else { 5.0 }, y)]);
        }
        self.canvas.line("axis", 1.0, &[(left, top), (left, bottom), (right, bottom)]);
        if let Some(zero) = self.y.scale.position(0.0).filter(|position| !self.y.scale.is_log && *position > 0.0) {
            self.canvas.line("axis", 1.0, &[(left, self.frame.y(zero)), (right, self.frame.y(zero))]);
        }
        self.draw_axis_breaks();
        let mut free = f64::NEG_INFINITY;
        for tick in self.x.ticks.iter().filter(|_| with_numbers) {
            let (x, half) = (self.frame.x(tick.position), text_width(&tick.label, 10.5) / 2.0);
            if x - half > free {
                self.canvas.text("tick-x", (x, bottom + 18.0), &tick.label);
                free = x + half + 4.0;
            }
        }
        for tick in &self.y.ticks {
            self.canvas.right_aligned_text("tick-y", (left - 8.0, self.frame.y(tick.position) + 3.8), &tick.label);
        }
    }

    /// Two strokes across the axis between zero and the logarithmic part.
    fn draw_axis_breaks(&mut self) {
        let PanelFrame { left, bottom, .. } = *self.frame;
        if self.x.scale.has_zero {
            let x = self.frame.x(self.x.scale.range_start() * 0.62);
            self.canvas.line("break", 3.0, &[(x - 2.0, bottom), (x + 2.0, bottom)]);
            for x in [x - 2.5, x + 2.5] {
                self.canvas.line("axis", 1.0, &[(x - 2.0, bottom + 5.0), (x + 2.0, bottom - 5.0)]);
            }
        }
        if self.y.scale.has_zero {
            let y = self.frame.y(self.y.scale.range_start() * 0.62);
            self.canvas.line("break", 3.0, &[(left, y - 2.0), (left, y + 2.0)]);
            for y in [y - 2.5, y + 2.5] {
                self.canvas.line("axis", 1.0, &[(left - 5.0, y + 2.0), (left + 5.0, y - 2.0)]);
            }
        }
    }

    fn draw_band(&mut self, series: &PlotSeries, spreads: &[BandPoint]) {
        let class = format!("band {}", style_classes(series.style).1);
        for area in plot_layout::band_areas(spreads, &self.x.scale, &self.y.scale) {
            let upper = area.iter().map(|(x, _, high)| self.frame.point((*x, *high)));
            let lower = area.iter().rev().map(|(x, low, _)| self.frame.point((*x, *low)));
            let outline: Vec<Point> = upper.chain(lower).collect();
            self.canvas.with_tooltip(&series.name, |canvas| canvas.polygon(&class, &outline));
        }
    }

    fn draw_vertical_line(&mut self, style: SeriesStyle, mark: &VerticalLine) {
        let PanelFrame { top, bottom, .. } = *self.frame;
        let (line, fill) = style_classes(style);
        let inside = |scale: &AxisScale, value: f64| scale.position(value).map(|position| position.clamp(0.0, 1.0));
        let Some(x) = inside(&self.x.scale, mark.x).map(|position| self.frame.x(position)) else { return };
        let between = mark.interval.and_then(|(low, high)| Some((inside(&self.x.scale, low)?, inside(&self.x.scale, high)?)));
        let between = between.map(|(low, high)| (self.frame.x(low), self.frame.x(high)));
        self.canvas.with_tooltip(&format!("{} at {}", mark.label, self.x.unit.format_value(mark.x, 5)), |canvas| {
            if let Some((low, high)) = between.filter(|(low, high)| high - low > 2.0) {
                canvas.polygon(&format!("band {fill}"), &[(low, top), (high, top), (high, bottom), (low, bottom)]);
            }
            canvas.line(&format!("mark {line}"), 1.2, &[(x, top), (x, bottom)]);
        });
    }

    fn draw_curve(&mut self, series: &PlotSeries, curve: &[plot::Point]) {
        let (class, thickness) =
            (format!("curve {}", style_classes(series.style).0), if series.style == SeriesStyle::Reference { 1.2 } else { 1.8 });
        let pieces = plot_layout::clip_curve(curve, &self.x.scale, &self.y.scale);
        self.canvas.with_tooltip(&series.name, |canvas| {
            for piece in pieces {
                let line: Vec<Point> = piece.into_iter().map(|position| self.frame.point(position)).collect();
                canvas.line(&class, thickness, &line);
            }
        });
    }

    fn draw_points(&mut self, series: &PlotSeries, points: &[MeasuredPoint], all: usize) {
        let many = points.len() > MANY_POINTS;
        let size = if many { SMALL_MARKER_SIZE } else { MARKER_SIZE };
        let bar = format!("bar {}", style_classes(series.style).0);
        for point in points {
            let (Some(x), Some(y)) = (self.x.scale.position(point.x), self.y.scale.position(point.y)) else { continue };
            let at = self.frame.point((x, y));
            let ends =
                point.error_bar.and_then(|(low, high)| Some([self.y.scale.lower_position(low)?, self.y.scale.upper_position(high)?]));
            let ends = ends.map(|ends| ends.map(|end| self.frame.y(end)));
            let draw = |canvas: &mut SvgCanvas| {
                if let Some([low, high]) = ends {
                    draw_error_bar(canvas, &bar, at.0, low, high, size);
                }
                draw_marker(canvas, series.style, at, size, many);
            };
            if all > MAX_TOOLTIPS {
                draw(self.canvas);
            } else {
                let details = self.point_tooltip(series, point);
                self.canvas.with_tooltip(&details, draw);
            }
        }
    }

    fn point_tooltip(&self, series: &PlotSeries, point: &MeasuredPoint) -> String {
        let [x, y] = [self.x.unit.format_value(point.x, 6), self.y.unit.format_value(point.y, 4)];
        let between = point.error_bar.map(|ends| <[f64; 2]>::from(ends).map(|end| self.y.unit.format_value(end, 4)));
        let between = between.map_or(String::new(), |[low, high]| format!(" [{low}, {high}]"));
        format!("{}\n{x}: {y}{between}", series.name)
    }
}

/// A vertical line, with caps if it is longer than its marker.
fn draw_error_bar(canvas: &mut SvgCanvas, class: &str, x: f64, low: f64, high: f64, size: f64) {
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

impl AxisLayout {
    /// Positions of all ticks, and whether they are minor.
    fn tick_positions(&self) -> Vec<(f64, bool)> {
        let minor = self.scale.minor_ticks().into_iter().filter_map(|value| Some((self.scale.position(value)?, true)));
        minor.chain(self.ticks.iter().map(|tick| (tick.position, false))).collect()
    }
}
