//! Measurements and formulas as plots.
//!
//! A fit, a prediction or a benchmark is believed when it is seen beside what was measured. A [`Plot`] says what is to be seen, as data;
//! [`svg`] draws it for documents and [`text`] for a terminal, and both show the same.

mod ruler;
mod svg;
mod terminal;
mod ticks;
mod unit;
mod view;

pub use ruler::Scale;
pub use svg::svg;
pub use terminal::{Letters, Screen, text};
pub use unit::Unit;

/// A place in a plot: along the x axis, and along the y axis.
pub type Point = (f64, f64);

/// The place that interrupts a curve or a band.
pub const GAP: Point = (f64::NAN, f64::NAN);

/// What is to be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What a reader should know, one line each.
    pub notes: Vec<String>,
    /// What runs to the right.
    pub x: Axis,
    /// What runs up.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
    /// What is drawn below, in percent over the same x axis; without any, there is no panel below.
    pub residuals: Vec<Series>,
}

/// One direction of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, without the unit.
    pub label: String,
    /// What its values count.
    pub unit: Unit,
    /// How its values are spread.
    pub scale: Scale,
}

impl Axis {
    /// An axis that spreads its values as suits them.
    pub fn new(label: impl Into<String>, unit: Unit) -> Axis {
        Axis { label: label.into(), unit, scale: Scale::Suited }
    }
}

/// One thing that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is; what has the same name and ink has one entry in the legend.
    pub name: String,
    /// What it looks like.
    pub ink: Ink,
    /// What is drawn.
    pub shape: Shape,
}

impl Series {
    /// A series.
    pub fn new(name: impl Into<String>, ink: Ink, shape: Shape) -> Series {
        Series { name: name.into(), ink, shape }
    }
}

/// What a series looks like: colour, marker and dashes go together, so that nothing is said by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The look with this number; what belongs together, as points and the curve through them, has the same.
    Number(usize),
    /// The look of what others are compared with; it does not stretch the axes.
    Reference,
}

/// What is drawn. A value that is not finite is left out; in a curve and in a band it leaves a gap.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Measured values.
    Points(Vec<Measured>),
    /// A line from point to point.
    Curve(Vec<Point>),
    /// An area between two values at each place.
    Band(Vec<Spread>),
    /// Places on the x axis.
    Marks(Vec<Mark>),
}

/// A value with what is known of its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Where it was measured.
    pub x: f64,
    /// What was measured.
    pub y: f64,
    /// The lowest and the highest it may be; without, there is no error bar.
    pub between: Option<(f64, f64)>,
}

/// What a band covers at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The place.
    pub x: f64,
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
}

/// A place on the x axis, as the one where one formula ends and the next begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The place.
    pub at: f64,
    /// Where it may be instead.
    pub between: Option<(f64, f64)>,
    /// What is written beside it.
    pub name: String,
}

/// A curve through a function, close enough on any scale.
pub fn sampled(low: f64, high: f64, function: impl Fn(f64) -> f64) -> Vec<Point> {
    const STEPS: i32 = 240;
    let share = |step: i32| f64::from(step) / f64::from(STEPS);
    let mut places: Vec<f64> = (1..STEPS).map(|step| low + (high - low) * share(step)).collect();
    if low > 0.0 {
        places.extend((1..STEPS).map(|step| low * (high / low).powf(share(step))));
    }
    places.extend([low, high]);
    places.sort_by(f64::total_cmp);
    places.dedup();
    places.into_iter().map(|x| (x, function(x))).collect()
}

/// By how many percent measured values lie above a function.
pub fn residuals(points: &[Measured], function: impl Fn(f64) -> f64) -> Vec<Measured> {
    let residual = |point: &Measured| {
        let expected = function(point.x);
        let percent = |value: f64| (value / expected - 1.0) * 100.0;
        let between = point.between.map(|(low, high)| (percent(low), percent(high)));
        Measured { x: point.x, y: percent(point.y), between }
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
        let points = [Measured { x: 2.0, y: 5.0, between: Some((4.0, 6.0)) }];
        assert_eq!(residuals(&points, |x| 2.0 * x), [Measured { x: 2.0, y: 25.0, between: Some((0.0, 50.0)) }]);
    }

    #[test]
    fn a_sampled_curve_goes_from_end_to_end_in_order_and_closely_on_both_scales() {
        let curve = sampled(1.0, 1e6, |x| x);
        assert_eq!((curve[0], curve[curve.len() - 1]), ((1.0, 1.0), (1e6, 1e6)));
        assert!(curve.windows(2).all(|two| two[0].0 < two[1].0));
        assert!(curve.windows(2).all(|two| two[1].0 - two[0].0 < 1e4 && two[1].0 / two[0].0 < 1.1));
        assert_eq!(sampled(3.0, 3.0, |x| x), [(3.0, 3.0)]);
        assert!(sampled(0.0, 1.0, |x| x).iter().all(|(x, _)| x.is_finite()));
    }
}
