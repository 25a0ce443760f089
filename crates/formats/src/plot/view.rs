//! What both drawings of a plot share: the axes with their ticks and captions, the entries of the legend, and lines cut at the frame.

use super::ruler::{Ruler, Values};
use super::ticks::MOST;
use super::unit::Unit;
use super::{Axis, Ink, Plot, Point, Series, Shape};

/// A plot with all its values in place.
pub struct View<'a> {
    pub x: Side,
    /// The upper panel, and the one with residuals.
    pub panels: Vec<Panel<'a>>,
}

/// What is drawn over one y axis.
pub struct Panel<'a> {
    pub y: Side,
    pub series: &'a [Series],
}

/// An axis to be drawn.
pub struct Side {
    pub ruler: Ruler,
    pub ticks: Vec<Tick>,
    /// The label with the unit in which ticks are written.
    pub caption: String,
    pub unit: Unit,
}

/// A place on an axis that has a number.
pub struct Tick {
    pub place: f64,
    pub label: String,
}

/// A line of the legend: what one name and ink stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    pub name: &'a str,
    pub ink: Ink,
    pub points: bool,
    pub curve: bool,
    pub band: bool,
    pub marks: bool,
}

impl<'a> View<'a> {
    /// The plot as it is seen; at most so many ticks stand beside the upper panel, and beside the residuals.
    pub fn new(plot: &'a Plot, [most, most_beside_residuals]: [usize; 2]) -> View<'a> {
        let both = || plot.series.iter().chain(&plot.residuals);
        let x = Side::new(&plot.x, Ruler::new(&plot.x, &collected(both(), along_x)), MOST);
        let y = Side::new(&plot.y, Ruler::new(&plot.y, &collected(plot.series.iter(), along_y)), most);
        let mut panels = vec![Panel { y, series: &plot.series }];
        if !plot.residuals.is_empty() {
            let axis = Axis::new("measured above the model", Unit::Percent);
            let ruler = Ruler::around_zero(&collected(plot.residuals.iter(), along_y));
            panels.push(Panel { y: Side::new(&axis, ruler, most_beside_residuals), series: &plot.residuals });
        }
        View { x, panels }
    }

    /// All axes.
    pub fn sides(&mut self) -> impl Iterator<Item = &mut Side> {
        std::iter::once(&mut self.x).chain(self.panels.iter_mut().map(|panel| &mut panel.y))
    }
}

impl Side {
    fn new(axis: &Axis, ruler: Ruler, most: usize) -> Side {
        let (values, step) = ruler.ticks(most);
        let unit = step.map(|_| axis.unit.suited(ruler.low.abs().max(ruler.high.abs())));
        let label = |value: f64| match (&unit, step) {
            (Some(unit), Some(step)) => format!("{:.*}", decimals(step / unit.size), value / unit.size),
            _ => axis.unit.label(value),
        };
        let ticks = values.iter().filter_map(|value| Some(Tick { place: ruler.place(*value)?, label: label(*value) })).collect();
        let caption = match unit {
            Some(unit) if !unit.name.is_empty() && !axis.label.is_empty() => format!("{} ({})", axis.label, unit.name),
            Some(unit) if axis.label.is_empty() => unit.name,
            _ => axis.label.clone(),
        };
        Side { ruler, ticks, caption, unit: axis.unit.clone() }
    }

    /// What runs along this axis, in words.
    pub fn describe(&self) -> String {
        let spread = if self.ruler.log { "logarithmic" } else { "linear" };
        let [low, high] = [self.ruler.low, self.ruler.high].map(|value| self.unit.tell(value, 3));
        format!("{} from {low} to {high}, {spread}", self.caption)
    }
}

/// How many digits after the point a multiple of this step needs.
fn decimals(step: f64) -> usize {
    (0..15).find(|digits| ((step * 10f64.powi(*digits)).round() - step * 10f64.powi(*digits)).abs() < 1e-6).unwrap_or(15) as usize
}

/// The values of one series along an axis: middles, and ends of bars and bands.
type Along = fn(&Series) -> (Vec<f64>, Vec<f64>);

fn along_x(series: &Series) -> (Vec<f64>, Vec<f64>) {
    let middles = match &series.shape {
        Shape::Points(points) => points.iter().map(|point| point.x).collect(),
        Shape::Curve(points) => points.iter().map(|point| point.0).collect(),
        Shape::Band(spreads) => spreads.iter().map(|spread| spread.x).collect(),
        Shape::Marks(marks) => marks.iter().map(|mark| mark.at).collect(),
    };
    (middles, Vec::new())
}

fn along_y(series: &Series) -> (Vec<f64>, Vec<f64>) {
    match &series.shape {
        Shape::Points(points) => (
            points.iter().map(|point| point.y).collect(),
            points.iter().filter_map(|point| point.between).flat_map(<[f64; 2]>::from).collect(),
        ),
        Shape::Curve(points) => (points.iter().map(|point| point.1).collect(), Vec::new()),
        Shape::Band(spreads) => (Vec::new(), spreads.iter().flat_map(|spread| [spread.low, spread.high]).collect()),
        Shape::Marks(_) => (Vec::new(), Vec::new()),
    }
}

/// The values of all series along an axis. What others are compared with stretches it only if there is nothing else.
fn collected<'a>(all: impl Iterator<Item = &'a Series> + Clone, along: Along) -> Values {
    let own: Vec<&Series> = all.clone().filter(|series| series.ink != Ink::Reference).collect();
    let chosen = if own.iter().all(|series| along(series).0.is_empty()) { all.collect() } else { own };
    let mut values = Values::default();
    for series in &chosen {
        let (middles, ends) = along(series);
        values.middles.extend(middles);
        values.ends.extend(ends);
    }
    let measured = |series: &&&Series| matches!(series.shape, Shape::Points(_));
    values.deciding = chosen.iter().filter(measured).flat_map(|series| along(series).0).collect();
    if values.deciding.is_empty() {
        values.deciding = values.middles.clone();
    }
    if values.middles.is_empty() {
        (values.middles, values.deciding) = (values.ends.clone(), values.ends.clone());
    }
    values
}

/// The entries of the legend, in the order in which they are first drawn.
pub fn legend(plot: &Plot) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry> = Vec::new();
    for series in plot.series.iter().filter(|series| !series.name.is_empty()) {
        let known = entries.iter().position(|entry| entry.name == series.name && entry.ink == series.ink);
        let place = known.unwrap_or_else(|| {
            entries.push(Entry { name: &series.name, ink: series.ink, points: false, curve: false, band: false, marks: false });
            entries.len() - 1
        });
        match series.shape {
            Shape::Points(_) => entries[place].points = true,
            Shape::Curve(_) => entries[place].curve = true,
            Shape::Band(_) => entries[place].band = true,
            Shape::Marks(_) => entries[place].marks = true,
        }
    }
    entries
}

/// A curve in places along both axes, as the pieces that lie inside of the frame.
pub fn cut(points: &[Point], x: &Ruler, y: &Ruler) -> Vec<Vec<Point>> {
    let frame = [(x.begin(), 1.0), (y.begin(), 1.0)];
    // Zero stands apart on a logarithmic axis: no line leads there.
    let joins = |(at_x, at_y): &Point| !(x.log && *at_x == 0.0 || y.log && *at_y == 0.0);
    let places: Vec<Option<Point>> =
        points.iter().map(|point| joins(point).then_some(()).and_then(|()| Some((x.place(point.0)?, y.place(point.1)?)))).collect();
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    for two in places.windows(2) {
        let [Some(from), Some(to)] = two else { continue };
        let Some((from, to)) = clipped(*from, *to, frame) else { continue };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces
}

/// The part of a line inside of a frame (Liang and Barsky).
fn clipped(from: Point, to: Point, frame: [(f64, f64); 2]) -> Option<(Point, Point)> {
    let way = (to.0 - from.0, to.1 - from.1);
    let (mut begin, mut end) = (0.0f64, 1.0f64);
    for (at, along, (low, high)) in [(from.0, way.0, frame[0]), (from.1, way.1, frame[1])] {
        if along == 0.0 {
            if !(low..=high).contains(&at) {
                return None;
            }
            continue;
        }
        let [first, last] = if along > 0.0 { [low, high] } else { [high, low] }.map(|edge| (edge - at) / along);
        (begin, end) = (begin.max(first), end.min(last));
    }
    let at = |share: f64| (from.0 + way.0 * share, from.1 + way.1 * share);
    // The ends themselves are kept exactly, so that pieces join.
    (begin < end).then(|| (if begin == 0.0 { from } else { at(begin) }, if end == 1.0 { to } else { at(end) }))
}

/// A band as the areas of it that can be seen: for each place along x its lower and its upper end.
pub fn areas(spreads: &[super::Spread], x: &Ruler, y: &Ruler) -> Vec<Vec<(f64, f64, f64)>> {
    let place = |spread: &super::Spread| {
        let place = x.place(spread.x).filter(|place| (x.begin()..=1.0).contains(place))?;
        Some((place, y.lower_end(spread.low)?, y.upper_end(spread.high)?))
    };
    let places: Vec<_> = spreads.iter().map(place).collect();
    places.split(Option::is_none).filter(|area| area.len() > 1).map(|area| area.iter().flatten().copied().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::{laine, speed_up};
    use super::*;

    #[test]
    fn points_and_curve_of_one_name_and_ink_have_one_entry() {
        let plot = laine();
        let entries = legend(&plot);
        let both = entries.iter().filter(|entry| entry.points && entry.curve).count();
        assert_eq!((entries.len(), both), (3, 2));
    }

    #[test]
    fn what_others_are_compared_with_does_not_stretch_the_axes() {
        let plot = speed_up();
        let view = View::new(&plot, [MOST, 5]);
        assert!(view.panels[0].y.ruler.high < 60.0, "{}", view.panels[0].y.ruler.high);
    }

    #[test]
    fn a_linear_axis_says_its_unit_once_and_a_logarithmic_one_at_each_tick() {
        let mut plot = laine();
        let view = View::new(&plot, [MOST, 5]);
        assert_eq!((view.x.caption.as_str(), view.x.ticks[0].label.as_str()), ("message size", "16 KiB"));
        plot.x.scale = super::super::Scale::Linear;
        let view = View::new(&plot, [MOST, 5]);
        assert_eq!((view.x.caption.as_str(), view.x.ticks[1].label.as_str()), ("message size (MiB)", "1"));
    }

    #[test]
    fn a_curve_is_cut_at_the_frame_and_interrupted_where_there_is_no_number() {
        let ruler =
            Ruler::new(&Axis::new("", Unit::Number), &Values { middles: vec![-1.0, 1.0], deciding: vec![-1.0, 1.0], ends: Vec::new() });
        let curve = [(-1.0, 0.0), (0.0, 0.0), (0.0, 9.0), super::super::GAP, (0.5, 0.5), (0.6, 0.6), (0.7, 0.7)];
        let pieces = cut(&curve, &ruler, &ruler);
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(pieces[0][2].1, 1.0);
    }

    #[test]
    fn ticks_have_the_digits_their_step_needs() {
        assert_eq!((decimals(1.0), decimals(0.5), decimals(0.02), decimals(250.0), decimals(1.0 / 1024.0)), (0, 1, 2, 0, 10));
    }
}
