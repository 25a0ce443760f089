//! The shape of a word: how far it holds for which values.

/// How far a word holds: not at all outside its corners, wholly between the inner two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    corners: [f64; 4],
}

impl Shape {
    /// From one number (it alone), three (a triangle) or four (a trapezium), none below the one before.
    pub fn new(corners: &[f64]) -> Option<Shape> {
        let corners = match *corners {
            [only] => [only; 4],
            [left, top, right] => [left, top, top, right],
            [left, begin, end, right] => [left, begin, end, right],
            _ => return None,
        };
        let grow = corners.windows(2).all(|pair| pair[0] <= pair[1]) && corners.iter().all(|corner| corner.is_finite());
        grow.then_some(Shape { corners })
    }

    /// Whether it is one number only.
    pub fn is_number(&self) -> bool {
        self.corners[0] == self.corners[3]
    }

    /// How far the word holds for a value, from 0 to 1. A shape that begins or ends upright goes on for ever there: what is above all is `high`.
    pub fn holds(&self, value: f64) -> f64 {
        let [left, begin, end, right] = self.corners;
        if value < begin {
            if left == begin && !self.is_number() { 1.0 } else { slope(value - left, begin - left) }
        } else if value > end {
            if end == right && !self.is_number() { 1.0 } else { slope(right - value, right - end) }
        } else {
            1.0
        }
    }

    /// The same between the corners only: the area of an output has an end.
    fn height(&self, value: f64) -> f64 {
        if value < self.corners[0] || value > self.corners[3] { 0.0 } else { self.holds(value) }
    }
}

fn slope(run: f64, base: f64) -> f64 {
    if base > 0.0 { (run / base).clamp(0.0, 1.0) } else { 0.0 }
}

/// The centre of what is left of shapes that are cut off at a degree; nothing if nothing is left.
pub fn centre(shapes: &[(Shape, f64)]) -> Option<f64> {
    let cut: Vec<(Shape, f64)> = shapes.iter().copied().filter(|(_, degree)| *degree > 0.0).collect();
    if cut.iter().all(|(shape, _)| shape.is_number()) {
        let weight: f64 = cut.iter().map(|(_, degree)| degree).sum();
        let sum: f64 = cut.iter().map(|(shape, degree)| shape.corners[0] * degree).sum();
        return (weight > 0.0).then(|| sum / weight);
    }
    let height = |value: f64| cut.iter().map(|(shape, degree)| shape.height(value).min(*degree)).fold(0.0, f64::max);
    let (mut area, mut moment) = (0.0, 0.0);
    for ends in bends(&cut).windows(2) {
        // Between two bends the height is straight; where it jumps, it does so at a bend, so both ends are looked at from inside.
        let (begin, width) = (ends[0], ends[1] - ends[0]);
        let third = [1.0 / 3.0, 2.0 / 3.0].map(|share| height(begin + share * width));
        let (left, right) = (2.0 * third[0] - third[1], 2.0 * third[1] - third[0]);
        area += width * (left + right) / 2.0;
        moment += width * (begin * (left + right) / 2.0 + width * (left + 2.0 * right) / 6.0);
    }
    (area > 0.0).then(|| moment / area)
}

/// The values at which the height of the area can bend: corners, where a shape is cut off, and where two edges cross.
fn bends(cut: &[(Shape, f64)]) -> Vec<f64> {
    let mut bends = Vec::new();
    let mut edges = Vec::new();
    for (shape, degree) in cut {
        let [left, begin, end, right] = shape.corners;
        let (rise, fall) = (left + degree * (begin - left), right - degree * (right - end));
        bends.extend([left, rise, fall, right]);
        edges.extend([((left, 0.0), (rise, *degree)), ((rise, *degree), (fall, *degree)), ((fall, *degree), (right, 0.0))]);
    }
    for (place, one) in edges.iter().enumerate() {
        bends.extend(edges[..place].iter().filter_map(|other| crossing(*one, *other)));
    }
    bends.sort_by(f64::total_cmp);
    bends.dedup();
    bends
}

type Edge = ((f64, f64), (f64, f64));

fn crossing(one: Edge, other: Edge) -> Option<f64> {
    let steepness = |((x0, y0), (x1, y1)): Edge| if x1 > x0 { Some((y1 - y0) / (x1 - x0)) } else { None };
    let (a, b) = (steepness(one)?, steepness(other)?);
    let at = (other.0.1 - one.0.1 + a * one.0.0 - b * other.0.0) / (a - b);
    let within = |edge: Edge| at >= edge.0.0 && at <= edge.1.0;
    (at.is_finite() && within(one) && within(other)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_to_a_degree_and_upright_ends_go_on() {
        let triangle = Shape::new(&[1.0, 2.0, 4.0]).expect("a shape");
        assert_eq!([0.0, 1.5, 2.0, 3.0, 5.0].map(|value| triangle.holds(value)), [0.0, 0.5, 1.0, 0.5, 0.0]);
        let high = Shape::new(&[1.0, 3.0, 3.0, 3.0]).expect("a shape");
        assert_eq!([0.0, 2.0, 99.0].map(|value| high.holds(value)), [0.0, 0.5, 1.0]);
        assert_eq!(Shape::new(&[2.0, 1.0, 3.0]), None);
        assert_eq!(Shape::new(&[]), None);
    }

    #[test]
    fn the_centre_of_crossing_shapes_is_that_of_the_area_below_both() {
        // Triangles over [0, 4] and [2, 6], both whole: they cross at 3, symmetric about it.
        let shapes = [(Shape::new(&[0.0, 2.0, 4.0]).expect("one"), 1.0), (Shape::new(&[2.0, 4.0, 6.0]).expect("other"), 1.0)];
        assert!((centre(&shapes).expect("an area") - 3.0).abs() < 1e-9);
        // The second cut at 0.5: by hand, area 2 + 1.25 and centre below.
        let shapes = [(shapes[0].0, 1.0), (shapes[1].0, 0.5)];
        let fine = 100_000;
        let (mut area, mut moment) = (0.0, 0.0);
        for step in 0..fine {
            let x = 6.0 * (f64::from(step) + 0.5) / f64::from(fine);
            let y = shapes[0].0.holds(x).max(shapes[1].0.holds(x).min(0.5));
            area += y;
            moment += x * y;
        }
        assert!((centre(&shapes).expect("an area") - moment / area).abs() < 1e-6);
    }
}
