//! The layout common to both renderers: axes with ticks and captions, legend entries, and clipped lines.

use super::axis_scale::{AxisScale, AxisValues};
use super::ticks::MAX_TICKS;
use super::unit::AxisUnit;
use super::{AxisSpec, Plot, PlotSeries, Point, SeriesMark, SeriesStyle};

/// A plot with its axes laid out.
pub(super) struct PlotLayout<'a> {
    pub x: AxisLayout,
    /// The main panel, and the one with residuals.
    pub panels: Vec<PlotPanel<'a>>,
}

/// A panel: one y axis with its series.
pub(super) struct PlotPanel<'a> {
    pub y: AxisLayout,
    pub series: &'a [PlotSeries],
}

/// An axis to be drawn.
pub(super) struct AxisLayout {
    pub scale: AxisScale,
    pub ticks: Vec<AxisTick>,
    /// The label with the unit of the ticks.
    pub caption: String,
    pub unit: AxisUnit,
}

/// A labelled tick.
pub(super) struct AxisTick {
    pub position: f64,
    pub label: String,
}

/// A legend entry: all series with one name and style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LegendEntry<'a> {
    pub name: &'a str,
    pub style: SeriesStyle,
    pub points: bool,
    pub curve: bool,
    pub band: bool,
    pub vertical_lines: bool,
}

impl<'a> PlotLayout<'a> {
    /// Lays out a plot, with at most this many ticks on the y axes of the main panel and of the residuals.
    pub(super) fn new(plot: &'a Plot, [max_ticks, max_residual_ticks]: [usize; 2]) -> PlotLayout<'a> {
        let both = || plot.series.iter().chain(&plot.residuals);
        let x = AxisLayout::new(&plot.x, AxisScale::new(&plot.x, &collect_values(both(), project_x)), MAX_TICKS);
        let y = AxisLayout::new(&plot.y, AxisScale::new(&plot.y, &collect_values(plot.series.iter(), project_y)), max_ticks);
        let mut panels = vec![PlotPanel { y, series: &plot.series }];
        if !plot.residuals.is_empty() {
            let axis = AxisSpec::new("measured above the model", AxisUnit::Percent);
            let scale = AxisScale::around_zero(&collect_values(plot.residuals.iter(), project_y));
            panels.push(PlotPanel { y: AxisLayout::new(&axis, scale, max_residual_ticks), series: &plot.residuals });
        }
        PlotLayout { x, panels }
    }

    pub(super) fn axes_mut(&mut self) -> impl Iterator<Item = &mut AxisLayout> {
        std::iter::once(&mut self.x).chain(self.panels.iter_mut().map(|panel| &mut panel.y))
    }
}

impl AxisLayout {
    fn new(axis: &AxisSpec, scale: AxisScale, max_ticks: usize) -> AxisLayout {
        let (values, step) = scale.ticks(max_ticks);
        let unit = step.map(|_| axis.unit.scaled_for(scale.low.abs().max(scale.high.abs())));
        let label = |value: f64| match (&unit, step) {
            (Some(unit), Some(step)) => format!("{:.*}", decimals(step / unit.size), value / unit.size),
            _ => axis.unit.tick_label(value),
        };
        let ticks = values.iter().filter_map(|value| Some(AxisTick { position: scale.position(*value)?, label: label(*value) })).collect();
        let caption = match unit {
            Some(unit) if !unit.name.is_empty() && !axis.label.is_empty() => format!("{} ({})", axis.label, unit.name),
            Some(unit) if axis.label.is_empty() => unit.name,
            _ => axis.label.clone(),
        };
        AxisLayout { scale, ticks, caption, unit: axis.unit.clone() }
    }

    /// A description for the text alternative.
    pub(super) fn describe(&self) -> String {
        let spread = if self.scale.is_log { "logarithmic" } else { "linear" };
        let [low, high] = [self.scale.low, self.scale.high].map(|value| self.unit.format_value(value, 3));
        format!("{} from {low} to {high}, {spread}", self.caption)
    }
}

/// Number of decimals that multiples of this step need.
fn decimals(step: f64) -> usize {
    (0..15).find(|digits| ((step * 10f64.powi(*digits)).round() - step * 10f64.powi(*digits)).abs() < 1e-6).unwrap_or(15) as usize
}

/// The values of one series along an axis, and the ends of its bars and bands.
type AxisProjection = fn(&PlotSeries) -> (Vec<f64>, Vec<f64>);

fn project_x(series: &PlotSeries) -> (Vec<f64>, Vec<f64>) {
    let middles = match &series.mark {
        SeriesMark::Points(points) => points.iter().map(|point| point.x).collect(),
        SeriesMark::Curve(points) => points.iter().map(|point| point.0).collect(),
        SeriesMark::Band(spreads) => spreads.iter().map(|spread| spread.x).collect(),
        SeriesMark::VerticalLines(marks) => marks.iter().map(|mark| mark.x).collect(),
    };
    (middles, Vec::new())
}

fn project_y(series: &PlotSeries) -> (Vec<f64>, Vec<f64>) {
    match &series.mark {
        SeriesMark::Points(points) => (
            points.iter().map(|point| point.y).collect(),
            points.iter().filter_map(|point| point.error_bar).flat_map(<[f64; 2]>::from).collect(),
        ),
        SeriesMark::Curve(points) => (points.iter().map(|point| point.1).collect(), Vec::new()),
        SeriesMark::Band(spreads) => (Vec::new(), spreads.iter().flat_map(|spread| [spread.low, spread.high]).collect()),
        SeriesMark::VerticalLines(_) => (Vec::new(), Vec::new()),
    }
}

/// The values of all series along an axis. References extend it only if there is nothing else.
fn collect_values<'a>(all: impl Iterator<Item = &'a PlotSeries> + Clone, along: AxisProjection) -> AxisValues {
    let own: Vec<&PlotSeries> = all.clone().filter(|series| series.style != SeriesStyle::Reference).collect();
    let chosen = if own.iter().all(|series| along(series).0.is_empty()) { all.collect() } else { own };
    let mut values = AxisValues::default();
    for series in &chosen {
        let (middles, ends) = along(series);
        values.values.extend(middles);
        values.bounds.extend(ends);
    }
    let measured = |series: &&&PlotSeries| matches!(series.mark, SeriesMark::Points(_));
    values.scale_values = chosen.iter().filter(measured).flat_map(|series| along(series).0).collect();
    if values.scale_values.is_empty() {
        values.scale_values = values.values.clone();
    }
    if values.values.is_empty() {
        (values.values, values.scale_values) = (values.bounds.clone(), values.bounds.clone());
    }
    values
}

/// The legend entries in drawing order.
pub(super) fn legend_entries(plot: &Plot) -> Vec<LegendEntry<'_>> {
    let mut entries: Vec<LegendEntry> = Vec::new();
    for series in plot.series.iter().filter(|series| !series.name.is_empty()) {
        let known = entries.iter().position(|entry| entry.name == series.name && entry.style == series.style);
        let position = known.unwrap_or_else(|| {
            entries.push(LegendEntry {
                name: &series.name,
                style: series.style,
                points: false,
                curve: false,
                band: false,
                vertical_lines: false,
            });
            entries.len() - 1
        });
        match series.mark {
            SeriesMark::Points(_) => entries[position].points = true,
            SeriesMark::Curve(_) => entries[position].curve = true,
            SeriesMark::Band(_) => entries[position].band = true,
            SeriesMark::VerticalLines(_) => entries[position].vertical_lines = true,
        }
    }
    entries
}

/// A curve as pieces of positions inside the frame.
pub(super) fn clip_curve(points: &[Point], x: &AxisScale, y: &AxisScale) -> Vec<Vec<Point>> {
    let frame = [(x.range_start(), 1.0), (y.range_start(), 1.0)];
    // Zero is separate on a log scale: no line leads there.
    let joins = |(at_x, at_y): &Point| !(x.is_log && *at_x == 0.0 || y.is_log && *at_y == 0.0);
    let positions: Vec<Option<Point>> =
        points.iter().map(|point| joins(point).then_some(()).and_then(|()| Some((x.position(point.0)?, y.position(point.1)?)))).collect();
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    for two in positions.windows(2) {
        let [Some(from), Some(to)] = two else { continue };
        let Some((from, to)) = clip_segment(*from, *to, frame) else { continue };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces
}

/// Clips a segment (Liang and Barsky).
fn clip_segment(from: Point, to: Point, frame: [(f64, f64); 2]) -> Option<(Point, Point)> {
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
    // Keep end points exact, so that pieces join.
    (begin < end).then(|| (if begin == 0.0 { from } else { at(begin) }, if end == 1.0 { to } else { at(end) }))
}

/// The visible areas of a band: position, lower and upper end.
pub(super) fn band_areas(spreads: &[super::BandPoint], x: &AxisScale, y: &AxisScale) -> Vec<Vec<(f64, f64, f64)>> {
    let position = |spread: &super::BandPoint| {
        let position = x.position(spread.x).filter(|position| (x.range_start()..=1.0).contains(position))?;
        Some((position, y.lower_position(spread.low)?, y.upper_position(spread.high)?))
    };
    let positions: Vec<_> = spreads.iter().map(position).collect();
    positions.split(Option::is_none).filter(|area| area.len() > 1).map(|area| area.iter().flatten().copied().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sample::{laine, speed_up};
    use super::*;

    #[test]
    fn points_and_curve_of_one_name_and_ink_have_one_entry() {
        let plot = laine();
        let entries = legend_entries(&plot);
        let both = entries.iter().filter(|entry| entry.points && entry.curve).count();
        assert_eq!((entries.len(), both), (3, 2));
    }

    #[test]
    fn what_others_are_compared_with_does_not_stretch_the_axes() {
        let plot = speed_up();
        let view = PlotLayout::new(&plot, [MAX_TICKS, 5]);
        assert!(view.panels[0].y.scale.high < 60.0, "{}", view.panels[0].y.scale.high);
    }

    #[test]
    fn a_linear_axis_says_its_unit_once_and_a_logarithmic_one_at_each_tick() {
        let mut plot = laine();
        let view = PlotLayout::new(&plot, [MAX_TICKS, 5]);
        assert_eq!((view.x.caption.as_str(), view.x.ticks[0].label.as_str()), ("message size", "16 KiB"));
        plot.x.scale = super::super::ScaleType::Linear;
        let view = PlotLayout::new(&plot, [MAX_TICKS, 5]);
        assert_eq!((view.x.caption.as_str(), view.x.ticks[1].label.as_str()), ("message size (MiB)", "1"));
    }

    #[test]
    fn a_curve_is_cut_at_the_frame_and_interrupted_where_there_is_no_number() {
        let scale = AxisScale::new(
            &AxisSpec::new("", AxisUnit::Number),
            &AxisValues { values: vec![-1.0, 1.0], scale_values: vec![-1.0, 1.0], bounds: Vec::new() },
        );
        let curve = [(-1.0, 0.0), (0.0, 0.0), (0.0, 9.0), super::super::GAP, (0.5, 0.5), (0.6, 0.6), (0.7, 0.7)];
        let pieces = clip_curve(&curve, &scale, &scale);
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(pieces[0][2].1, 1.0);
    }

    #[test]
    fn ticks_have_the_digits_their_step_needs() {
        assert_eq!((decimals(1.0), decimals(0.5), decimals(0.02), decimals(250.0), decimals(1.0 / 1024.0)), (0, 1, 2, 0, 10));
    }
}
