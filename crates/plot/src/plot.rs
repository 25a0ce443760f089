//! Plots of measurements and formulas.
//!
//! A [`Plot`] describes the content as data; [`render_svg`] draws it for documents and [`render_text`] for a terminal.

mod axis_scale;
mod plot_layout;
mod svg;
mod terminal;
mod ticks;
mod unit;

pub use axis_scale::ScaleType;
pub use svg::render_svg;
pub use terminal::{CharSet, TerminalOptions, render_text};
pub use unit::AxisUnit;

/// x and y coordinates.
pub type Point = (f64, f64);

/// Interrupts a curve or band.
pub const GAP: Point = (f64::NAN, f64::NAN);

/// The content of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The title.
    pub title: String,
    /// Notes below the title, one line each.
    pub notes: Vec<String>,
    /// The x axis.
    pub x: AxisSpec,
    /// The y axis.
    pub y: AxisSpec,
    /// The series of the main panel.
    pub series: Vec<PlotSeries>,
    /// Residuals in percent over the same x axis; if empty, there is no panel below.
    pub residuals: Vec<PlotSeries>,
}

/// Specification of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisSpec {
    /// The label, without unit.
    pub label: String,
    /// The unit of its values.
    pub unit: AxisUnit,
    /// The scale type.
    pub scale: ScaleType,
}

impl AxisSpec {
    /// An axis with automatic scale.
    pub fn new(label: impl Into<String>, unit: AxisUnit) -> AxisSpec {
        AxisSpec { label: label.into(), unit, scale: ScaleType::Auto }
    }
}

/// A data series.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotSeries {
    /// The name; series with the same name and style share a legend entry.
    pub name: String,
    /// The style.
    pub style: SeriesStyle,
    /// The mark with its data.
    pub mark: SeriesMark,
}

impl PlotSeries {
    /// A series with this name, style and mark.
    pub fn new(name: impl Into<String>, style: SeriesStyle, mark: SeriesMark) -> PlotSeries {
        PlotSeries { name: name.into(), style, mark }
    }
}

/// Colour, marker and dashes of a series, which always go together so that nothing depends on colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesStyle {
    /// The style with this number; points and the curve through them share one.
    Indexed(usize),
    /// The style of a reference, which does not extend the axes.
    Reference,
}

/// The mark and data of a series. Non-finite values are skipped; in curves and bands they leave a gap.
#[derive(Clone, Debug, PartialEq)]
pub enum SeriesMark {
    /// Points with error bars.
    Points(Vec<MeasuredPoint>),
    /// A polyline.
    Curve(Vec<Point>),
    /// An area between two values at each x.
    Band(Vec<BandPoint>),
    /// Vertical lines.
    VerticalLines(Vec<VerticalLine>),
}

/// A measured value with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredPoint {
    /// The x coordinate.
    pub x: f64,
    /// The y coordinate.
    pub y: f64,
    /// Lower and upper end of the error bar, if any.
    pub error_bar: Option<(f64, f64)>,
}

/// A band at one x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    /// The x coordinate.
    pub x: f64,
    /// The lower value.
    pub low: f64,
    /// The upper value.
    pub high: f64,
}

/// A vertical line, as where one formula ends and the next begins.
#[derive(Clone, Debug, PartialEq)]
pub struct VerticalLine {
    /// The x coordinate.
    pub x: f64,
    /// Its uncertainty, if any.
    pub interval: Option<(f64, f64)>,
    /// The label beside it.
    pub label: String,
}

/// Samples a function densely enough for any scale.
pub fn sample_curve(low: f64, high: f64, function: impl Fn(f64) -> f64) -> Vec<Point> {
    const STEPS: i32 = 240;
    let share = |step: i32| f64::from(step) / f64::from(STEPS);
    let mut xs: Vec<f64> = (1..STEPS).map(|step| low + (high - low) * share(step)).collect();
    if low > 0.0 {
        xs.extend((1..STEPS).map(|step| low * (high / low).powf(share(step))));
    }
    xs.extend([low, high]);
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs.into_iter().map(|x| (x, function(x))).collect()
}

/// Residuals of measured values over a function, in percent.
pub fn residuals(points: &[MeasuredPoint], function: impl Fn(f64) -> f64) -> Vec<MeasuredPoint> {
    let residual = |point: &MeasuredPoint| {
        let expected = function(point.x);
        let percent = |value: f64| (value / expected - 1.0) * 100.0;
        let error_bar = point.error_bar.map(|(low, high)| (percent(low), percent(high)));
        MeasuredPoint { x: point.x, y: percent(point.y), error_bar }
    };
    points.iter().map(residual).collect()
}

#[cfg(test)]
mod sample;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residual_is_percent_above_the_function_with_its_error_bar() {
        let points = [MeasuredPoint { x: 2.0, y: 5.0, error_bar: Some((4.0, 6.0)) }];
        assert_eq!(residuals(&points, |x| 2.0 * x), [MeasuredPoint { x: 2.0, y: 25.0, error_bar: Some((0.0, 50.0)) }]);
    }

    #[test]
    fn a_sampled_curve_goes_from_end_to_end_in_order_and_closely_on_both_scales() {
        let curve = sample_curve(1.0, 1e6, |x| x);
        assert_eq!((curve[0], curve[curve.len() - 1]), ((1.0, 1.0), (1e6, 1e6)));
        assert!(curve.windows(2).all(|two| two[0].0 < two[1].0));
        assert!(curve.windows(2).all(|two| two[1].0 - two[0].0 < 1e4 && two[1].0 / two[0].0 < 1.1));
        assert_eq!(sample_curve(3.0, 3.0, |x| x), [(3.0, 3.0)]);
        assert!(sample_curve(0.0, 1.0, |x| x).iter().all(|(x, _)| x.is_finite()));
    }
}
