//! A plot as an SVG picture for people.
//!
//! Colours are told apart by people who do not see all of them, and each goes with a marker and dashes of its own. The legend stands above
//! the panel, where it covers nothing. The picture follows the reader's choice of light or dark.

mod legend;
mod look;
mod panel;

use panel::{Drawing, Frame};

use super::ticks::MOST;
use super::view::{self, View};
use super::{Plot, Series, Shape};
use crate::svg::{Canvas, Heading, Words, head, width};

const WIDE: f64 = 760.0;
const MARGIN: f64 = 24.0;
const HIGH: f64 = 340.0;
const RESIDUALS_HIGH: f64 = 110.0;
const TEXT: f64 = 11.0;
const ROW: f64 = 18.0;
/// Letters of a title are wider than others.
const BOLD: f64 = 17.0;

const STYLE: &str = include_str!("style.css");

/// The picture, a whole file.
pub fn svg(plot: &Plot) -> String {
    let view = View::new(plot, [MOST, 5]);
    let title = head(&plot.title, BOLD, WIDE - 2.0 * MARGIN);
    let heading = Heading { title: &title, notes: &plot.notes };
    let entries = view::legend(plot);
    let rows = legend::rows(&entries);
    let marks = legend::mark_rows(plot, &view, left_of(&view));
    let legend_top = heading.size().1 + 6.0;
    let top = legend_top + ROW * rows.len() as f64 + 30.0 + 13.0 * marks.len() as f64;
    let mut canvas = Canvas::default();
    heading.draw(&mut canvas, WIDE);
    for (number, row) in rows.iter().enumerate() {
        legend::row(&mut canvas, row, legend_top + ROW * number as f64 + 8.0);
    }
    for (number, row) in marks.iter().enumerate() {
        for (x, name) in row {
            canvas.text("mark-name", (*x, top - 5.0 - 13.0 * number as f64), name);
        }
    }
    let mut frame = Frame { left: left_of(&view), right: WIDE - MARGIN, top, bottom: top + HIGH };
    let caption_room = 14.0 + 13.0 * marks.len() as f64;
    for (number, panel) in view.panels.iter().enumerate() {
        if number > 0 {
            let top = frame.bottom + 38.0;
            frame = Frame { top, bottom: top + RESIDUALS_HIGH, ..frame };
        }
        let above = if number == 0 { caption_room } else { 10.0 };
        let drawing = Drawing { canvas: &mut canvas, frame: &frame, x: &view.x, y: &panel.y };
        drawing.panel(panel, above, number + 1 == view.panels.len());
    }
    canvas.text("caption-x", (f64::midpoint(frame.left, frame.right), frame.bottom + 37.0), &head(&view.x.caption, TEXT, frame.wide()));
    let words = Words { title: &plot.title, description: &description(plot, &view) };
    canvas.finish((WIDE, frame.bottom + 52.0), STYLE, words)
}

/// What the picture shows, in words.
fn description(plot: &Plot, view: &View) -> String {
    let mut words = plot.notes.clone();
    words.push(format!("To the right: {}", view.x.describe()));
    words.extend(view.panels.iter().map(|panel| format!("Up: {}", panel.y.describe())));
    let shown = |series: &Series| match &series.shape {
        Shape::Points(points) => format!("{}: {} points", series.name, points.len()),
        Shape::Curve(_) => format!("{}: a curve", series.name),
        Shape::Band(_) => format!("{}: a band", series.name),
        Shape::Marks(marks) => {
            let names: Vec<_> = marks.iter().map(|mark| mark.name.as_str()).collect();
            format!("{}: vertical lines at {}", series.name, names.join(", "))
        }
    };
    words.extend(plot.series.iter().map(shown));
    words.join(". ")
}

/// Where panels begin: right of the widest number.
fn left_of(view: &View) -> f64 {
    let labels = view.panels.iter().flat_map(|panel| &panel.y.ticks).map(|tick| width(&tick.label, 10.5));
    (MARGIN + 14.0 + labels.fold(0.0, f64::max)).max(64.0)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{laine, speed_up};
    use super::super::{Axis, Ink, Mark, Measured, Scale, Spread, Unit};
    use super::*;

    fn count(svg: &str, what: &str) -> usize {
        svg.matches(what).count()
    }

    #[test]
    fn every_point_error_bar_piece_and_mark_is_drawn_in_its_panel() {
        let svg = svg(&laine());
        // 13 points in each of two panels, and one in the legend.
        assert_eq!((count(&svg, r#"<circle class="solid fill-0""#), count(&svg, r#"<polygon class="hollow line-1""#)), (27, 27));
        assert_eq!(count(&svg, r#"class="curve line-0""#), 3);
        assert_eq!(count(&svg, r#"class="mark line-r""#), 2);
        assert!(count(&svg, r#"class="bar line-0""#) >= 13 * 3);
        assert!(svg.contains(">64 KiB</text>") && svg.contains("send\n5.33333 MiB: 477.4 ms"), "{svg}");
    }

    #[test]
    fn the_picture_has_a_title_and_says_in_words_what_it_shows() {
        let svg = svg(&speed_up());
        assert!(svg.contains("role=\"img\"") && svg.contains("<title>Speed-up</title>"), "{svg}");
        assert!(svg.contains("<desc>To the right: processes from 0.801 to 320, logarithmic. Up: speed-up from "), "{svg}");
        assert!(svg.contains("ideal: a curve. predicted: a curve. measured: 4 points</desc>"), "{svg}");
        assert!(svg.contains("@media (prefers-color-scheme: dark)"));
    }

    #[test]
    fn what_would_break_the_file_is_escaped_everywhere() {
        let bad = "a<b> & \"c\" \u{1}";
        let axis = || Axis::new(bad, Unit::Named(bad.into()));
        let marks = Shape::Marks(vec![Mark { at: 1.0, between: None, name: bad.into() }]);
        let points = Shape::Points(vec![Measured { x: 1.0, y: 2.0, between: None }]);
        let series = vec![Series::new(bad, Ink::Number(0), points), Series::new(bad, Ink::Reference, marks)];
        let plot = Plot { title: bad.into(), notes: vec![bad.into()], x: axis(), y: axis(), series, residuals: Vec::new() };
        let svg = svg(&plot);
        assert!(!svg.contains("<b>") && !svg.contains("& ") && !svg.contains('\u{1}'), "{svg}");
        assert!(count(&svg, "a&lt;b&gt; &amp; ") > 8);
    }

    #[test]
    fn no_value_makes_a_coordinate_that_is_no_number() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -1.0, 1e-320, f64::MAX, f64::MIN, 1.0, 1e300, 5.0];
        for scale in [Scale::Suited, Scale::Linear, Scale::Log] {
            for skipped in 0..odd.len() {
                let values = || odd.iter().copied().skip(skipped);
                let points = values().zip(values().rev()).map(|(x, y)| Measured { x, y, between: Some((y - 1.0, x)) }).collect();
                let spreads = values().map(|x| Spread { x, low: -x, high: x }).collect();
                let marks = values().map(|at| Mark { at, between: Some((0.0, at)), name: "m".into() }).collect();
                let shapes =
                    [Shape::Points(points), Shape::Curve(values().zip(values()).collect()), Shape::Band(spreads), Shape::Marks(marks)];
                let series: Vec<Series> = shapes.into_iter().map(|shape| Series::new("s", Ink::Number(1), shape)).collect();
                let axis = || Axis { scale, ..Axis::new("v", Unit::Seconds) };
                let plot = Plot { title: String::new(), notes: Vec::new(), x: axis(), y: axis(), residuals: series.clone(), series };
                let svg = svg(&plot);
                let elements = svg.lines().filter(|line| line.starts_with("<p") || line.starts_with("<c") || line.starts_with("<text"));
                assert!(!svg.contains("NaN") && !elements.clone().any(|element| element.contains("inf")), "{svg}");
                let numbers = elements.flat_map(|line| line.split(['"', ' ', ','])).filter_map(|word| word.parse::<f64>().ok());
                assert!(numbers.clone().all(|number| (-50.0..1000.0).contains(&number)), "{:?}", numbers.fold(0.0, f64::max));
            }
        }
    }

    #[test]
    fn an_empty_plot_is_a_frame_with_axes() {
        let axis = || Axis::new("n", Unit::Number);
        let svg =
            svg(&Plot { title: "nothing".into(), notes: Vec::new(), x: axis(), y: axis(), series: Vec::new(), residuals: Vec::new() });
        assert!(count(&svg, "tick-x\"") >= 3 && count(&svg, "<circle") == 0);
    }
}
