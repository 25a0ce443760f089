//! CSS classes and markers of the series styles.

use crate::plot::SeriesStyle;
use crate::svg::{Point, SvgCanvas};

/// Radius of a marker.
pub(super) const MARKER_SIZE: f64 = 3.8;
const STYLE_COUNT: usize = 7;

/// The classes of lines and areas.
pub(super) fn style_classes(style: SeriesStyle) -> (String, String) {
    match style {
        SeriesStyle::Reference => ("line-r".into(), "fill-r".into()),
        SeriesStyle::Indexed(number) => (format!("line-{}", number % STYLE_COUNT), format!("fill-{}", number % STYLE_COUNT)),
    }
}

/// Draws a marker. There are fewer shapes than colours, so that many series differ; every other one is hollow, so that overlapping markers
/// stay visible.
pub(super) fn draw_marker(canvas: &mut SvgCanvas, style: SeriesStyle, (x, y): Point, size: f64, many: bool) {
    let (line, fill) = style_classes(style);
    let class = match style {
        _ if many => format!("many {fill}"),
        SeriesStyle::Indexed(number) if number % 2 == 1 => format!("hollow {line}"),
        _ => format!("solid {fill}"),
    };
    let polygon = |points: &[(f64, f64)]| points.iter().map(|(right, down)| (x + right * size, y + down * size)).collect::<Vec<_>>();
    match style {
        SeriesStyle::Reference => canvas.circle(&class, (x, y), size),
        SeriesStyle::Indexed(number) => match number % 5 {
            0 => canvas.circle(&class, (x, y), size),
            1 => canvas.polygon(&class, &polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)])),
            2 => canvas.polygon(&class, &polygon(&[(0.0, -1.2), (1.15, 0.9), (-1.15, 0.9)])),
            3 => canvas.polygon(&class, &polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)])),
            _ => canvas.polygon(&class, &polygon(&[(0.0, 1.2), (1.15, -0.9), (-1.15, -0.9)])),
        },
    }
}
