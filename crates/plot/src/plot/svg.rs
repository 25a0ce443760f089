//! Renders a plot as SVG.
//!
//! The colours are distinguishable with colour vision deficiency, and each goes with its own marker and dashes. The legend is above the
//! panel, where it covers nothing. The picture follows the reader's light or dark colour scheme.

mod legend;
mod panel;
mod series_style;

use panel::{PanelFrame, PanelPainter};

use super::plot_layout::{self, PlotLayout};
use super::ticks::MAX_TICKS;
use super::{Plot, PlotSeries, SeriesMark};
use crate::svg::{AltText, SvgCanvas, TitleBlock, text_width, truncate_end};

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 24.0;
const PANEL_HEIGHT: f64 = 340.0;
const RESIDUALS_HEIGHT: f64 = 110.0;
const TEXT_SIZE: f64 = 11.0;
const LEGEND_ROW_HEIGHT: f64 = 18.0;
/// Bold letters are wider than others.
const TITLE_SIZE: f64 = 17.0;

const STYLE: &str = include_str!("svg/style.css");

/// The SVG file.
pub fn render_svg(plot: &Plot) -> String {
    let layout = PlotLayout::new(plot, [MAX_TICKS, 5]);
    let title = truncate_end(&plot.title, TITLE_SIZE, WIDTH - 2.0 * MARGIN);
    let heading = TitleBlock { title: &title, notes: &plot.notes };
    let entries = plot_layout::legend_entries(plot);
    let rows = legend::legend_rows(&entries);
    let marks = legend::line_label_rows(plot, &layout, left_margin(&layout));
    let legend_top = heading.size().1 + 6.0;
    let top = legend_top + LEGEND_ROW_HEIGHT * rows.len() as f64 + 30.0 + 13.0 * marks.len() as f64;
    let mut canvas = SvgCanvas::default();
    heading.draw(&mut canvas, WIDTH);
    for (number, row) in rows.iter().enumerate() {
        legend::draw_row(&mut canvas, row, legend_top + LEGEND_ROW_HEIGHT * number as f64 + 8.0);
    }
    for (number, row) in marks.iter().enumerate() {
        for (x, name) in row {
            canvas.text("mark-name", (*x, top - 5.0 - 13.0 * number as f64), name);
        }
    }
    let mut frame = PanelFrame { left: left_margin(&layout), right: WIDTH - MARGIN, top, bottom: top + PANEL_HEIGHT };
    let caption_room = 14.0 + 13.0 * marks.len() as f64;
    for (number, panel) in layout.panels.iter().enumerate() {
        if number > 0 {
            let top = frame.bottom + 38.0;
            frame = PanelFrame { top, bottom: top + RESIDUALS_HEIGHT, ..frame };
        }
        let above = if number == 0 { caption_room } else { 10.0 };
        let drawing = PanelPainter { canvas: &mut canvas, frame: &frame, x: &layout.x, y: &panel.y };
        drawing.draw(panel, above, number + 1 == layout.panels.len());
    }
    canvas.text(
        "caption-x",
        (f64::midpoint(frame.left, frame.right), frame.bottom + 37.0),
        &truncate_end(&layout.x.caption, TEXT_SIZE, frame.width()),
    );
    let words = AltText { title: &plot.title, description: &description(plot, &layout) };
    canvas.finish((WIDTH, frame.bottom + 52.0), STYLE, words)
}

/// Text alternative of the plot.
fn description(plot: &Plot, layout: &PlotLayout) -> String {
    let mut words = plot.notes.clone();
    words.push(format!("x axis: {}", layout.x.describe()));
    words.extend(layout.panels.iter().map(|panel| format!("y axis: {}", panel.y.describe())));
    let shown = |series: &PlotSeries| match &series.mark {
        SeriesMark::Points(points) => format!("{}: {} points", series.name, points.len()),
        SeriesMark::Curve(_) => format!("{}: a curve", series.name),
        SeriesMark::Band(_) => format!("{}: a band", series.name),
        SeriesMark::VerticalLines(marks) => {
            let names: Vec<_> = marks.iter().map(|mark| mark.label.as_str()).collect();
            format!("{}: vertical lines at {}", series.name, names.join(", "))
        }
    };
    words.extend(plot.series.iter().map(shown));
    words.join(". ")
}

/// Left edge of the panels: right of the widest tick label.
fn left_margin(layout: &PlotLayout) -> f64 {
    let labels = layout.panels.iter().flat_map(|panel| &panel.y.ticks).map(|tick| text_width(&tick.label, 10.5));
    (MARGIN + 14.0 + labels.fold(0.0, f64::max)).max(64.0)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{laine, speed_up};
    use super::super::{AxisSpec, AxisUnit, BandPoint, MeasuredPoint, ScaleType, SeriesStyle, VerticalLine};
    use super::*;

    fn count(svg: &str, what: &str) -> usize {
        svg.matches(what).count()
    }

    #[test]
    fn every_point_error_bar_piece_and_mark_is_drawn_in_its_panel() {
        let svg = render_svg(&laine());
        // 13 points in each of two panels, and one in the legend.
        assert_eq!((count(&svg, r#"<circle class="solid fill-0""#), count(&svg, r#"<polygon class="hollow line-1""#)), (27, 27));
        assert_eq!(count(&svg, r#"class="curve line-0""#), 3);
        assert_eq!(count(&svg, r#"class="mark line-r""#), 2);
        assert!(count(&svg, r#"class="bar line-0""#) >= 13 * 3);
        assert!(svg.contains(">64 KiB</text>") && svg.contains("send\n5.33333 MiB: 477.4 ms"), "{svg}");
    }

    #[test]
    fn the_picture_has_a_title_and_says_in_words_what_it_shows() {
        let svg = render_svg(&speed_up());
        assert!(svg.contains("role=\"img\"") && svg.contains("<title>Speed-up</title>"), "{svg}");
        assert!(svg.contains("<desc>x axis: processes from 0.801 to 320, logarithmic. y axis: speed-up from "), "{svg}");
        assert!(svg.contains("ideal: a curve. predicted: a curve. measured: 4 points</desc>"), "{svg}");
        assert!(svg.contains("@media (prefers-color-scheme: dark)"));
    }

    #[test]
    fn what_would_break_the_file_is_escaped_everywhere() {
        let bad = "a<b> & \"c\" \u{1}";
        let axis = || AxisSpec::new(bad, AxisUnit::Other(bad.into()));
        let marks = SeriesMark::VerticalLines(vec![VerticalLine { x: 1.0, interval: None, label: bad.into() }]);
        let points = SeriesMark::Points(vec![MeasuredPoint { x: 1.0, y: 2.0, error_bar: None }]);
        let series = vec![PlotSeries::new(bad, SeriesStyle::Indexed(0), points), PlotSeries::new(bad, SeriesStyle::Reference, marks)];
        let plot = Plot { title: bad.into(), notes: vec![bad.into()], x: axis(), y: axis(), series, residuals: Vec::new() };
        let svg = render_svg(&plot);
        assert!(!svg.contains("<b>") && !svg.contains("& ") && !svg.contains('\u{1}'), "{svg}");
        assert!(count(&svg, "a&lt;b&gt; &amp; ") > 8);
    }

    #[test]
    fn no_value_makes_a_coordinate_that_is_no_number() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0, 1e-320, f64::MAX, f64::MIN, 1.0, 1e300, 5.0];
        for scale in [ScaleType::Auto, ScaleType::Linear, ScaleType::Log] {
            for skipped in 0..odd.len() {
                let values = || odd.iter().copied().skip(skipped);
                let points = values().zip(values().rev()).map(|(x, y)| MeasuredPoint { x, y, error_bar: Some((y - 1.0, x)) }).collect();
                let spreads = values().map(|x| BandPoint { x, low: -x, high: x }).collect();
                let marks = values().map(|at| VerticalLine { x: at, interval: Some((0.0, at)), label: "m".into() }).collect();
                let shapes = [
                    SeriesMark::Points(points),
                    SeriesMark::Curve(values().zip(values()).collect()),
                    SeriesMark::Band(spreads),
                    SeriesMark::VerticalLines(marks),
                ];
                let series: Vec<PlotSeries> =
                    shapes.into_iter().map(|shape| PlotSeries::new("s", SeriesStyle::Indexed(1), shape)).collect();
                let axis = || AxisSpec { scale, ..AxisSpec::new("v", AxisUnit::Seconds) };
                let plot = Plot { title: String::new(), notes: Vec::new(), x: axis(), y: axis(), residuals: series.clone(), series };
                let svg = render_svg(&plot);
                let elements = svg.lines().filter(|line| line.starts_with("<p") || line.starts_with("<c") || line.starts_with("<text"));
                assert!(!svg.contains("NaN") && !elements.clone().any(|element| element.contains("inf")), "{svg}");
                let numbers = elements.flat_map(|line| line.split(['"', ' ', ','])).filter_map(|word| word.parse::<f64>().ok());
                assert!(numbers.clone().all(|number| (-50.0..1000.0).contains(&number)), "{:?}", numbers.fold(0.0, f64::max));
            }
        }
    }

    #[test]
    fn an_empty_plot_is_a_frame_with_axes() {
        let axis = || AxisSpec::new("n", AxisUnit::Number);
        let svg = render_svg(&Plot {
            title: "nothing".into(),
            notes: Vec::new(),
            x: axis(),
            y: axis(),
            series: Vec::new(),
            residuals: Vec::new(),
        });
        assert!(count(&svg, "tick-x\"") >= 3 && count(&svg, "<circle") == 0);
    }
}
