//! What a series looks like: the classes of its lines and areas, and its markers.

use crate::plot::Ink;
use crate::svg::{Canvas, Point};

/// How large a marker is.
pub const SIZE: f64 = 3.8;
const INKS: usize = 7;

/// The classes of lines and of areas.
pub fn classes(ink: Ink) -> (String, String) {
    match ink {
        Ink::Reference => ("line-r".into(), "fill-r".into()),
        Ink::Number(number) => (format!("line-{}", number % INKS), format!("fill-{}", number % INKS)),
    }
}

/// A marker. There are fewer kinds than colours, so that many series come before two look alike; every other one is hollow, so that one on
/// top of another does not hide it.
pub fn marker(canvas: &mut Canvas, ink: Ink, (x, y): Point, size: f64, many: bool) {
    let (line, fill) = classes(ink);
    let class = match ink {
        _ if many => format!("many {fill}"),
        Ink::Number(number) if number % 2 == 1 => format!("hollow {line}"),
        _ => format!("solid {fill}"),
    };
    let polygon = |points: &[(f64, f64)]| points.iter().map(|(right, down)| (x + right * size, y + down * size)).collect::<Vec<_>>();
    match ink {
        Ink::Reference => canvas.circle(&class, (x, y), size),
        Ink::Number(number) => match number % 5 {
            0 => canvas.circle(&class, (x, y), size),
            1 => canvas.polygon(&class, &polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)])),
            2 => canvas.polygon(&class, &polygon(&[(0.0, -1.2), (1.15, 0.9), (-1.15, 0.9)])),
            3 => canvas.polygon(&class, &polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)])),
            _ => canvas.polygon(&class, &polygon(&[(0.0, 1.2), (1.15, -0.9), (-1.15, -0.9)])),
        },
    }
}
