//! Membership functions.

/// A trapezoidal membership function: 0 outside its corners, 1 between the inner two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MembershipFunction {
    corners: [f64; 4],
}

impl MembershipFunction {
    /// From one number (a singleton), three (a triangle) or four (a trapezoid), in ascending order.
    pub fn new(corners: &[f64]) -> Option<MembershipFunction> {
        let corners = match *corners {
            [only] => [only; 4],
            [left, top, right] => [left, top, top, right],
            [left, begin, end, right] => [left, begin, end, right],
            _ => return None,
        };
        let grow = corners.windows(2).all(|pair| pair[0] <= pair[1]) && corners.iter().all(|corner| corner.is_finite());
        grow.then_some(MembershipFunction { corners })
    }

    /// Whether it is a singleton.
    pub fn is_singleton(&self) -> bool {
        self.corners[0] == self.corners[3]
    }

    /// Membership degree of a value, from 0 to 1. A vertical edge extends to infinity: everything above is `high`.
    pub fn degree(&self, value: f64) -> f64 {
        let [left, begin, end, right] = self.corners;
        if value < begin {
            if left == begin && !self.is_singleton() { 1.0 } else { slope(value - left, begin - left) }
        } else if value > end {
            if end == right && !self.is_singleton() { 1.0 } else { slope(right - value, right - end) }
        } else {
            1.0
        }
    }

    /// The degree between the corners only, so that the area of an output is finite.
    fn height(&self, value: f64) -> f64 {
        if value < self.corners[0] || value > self.corners[3] { 0.0 } else { self.degree(value) }
    }
}

fn slope(run: f64, base: f64) -> f64 {
    if base > 0.0 { (run / base).clamp(0.0, 1.0) } else { 0.0 }
}

/// The centroid of clipped membership functions; none if all are 0.
pub(super) fn centroid(shapes: &[(MembershipFunction, f64)]) -> Option<f64> {
    let cut: Vec<(MembershipFunction, f64)> = shapes.iter().copied().filter(|(_, degree)| *degree > 0.0).collect();
    if cut.iter().all(|(shape, _)| shape.is_singleton()) {
        let weight: f64 = cut.iter().map(|(_, degree)| degree).sum();
        let sum: f64 = cut.iter().map(|(shape, degree)| shape.corners[0] * degree).sum();
        return (weight > 0.0).then(|| sum / weight);
    }
    let height = |value: f64| cut.iter().map(|(shape, degree)| shape.height(value).min(*degree)).fold(0.0, f64::max);
    let (mut area, mut moment) = (0.0, 0.0);
    for ends in breakpoints(&cut).windows(2) {
        // Between breakpoints the height is linear; it may jump at them, so both ends are evaluated from inside.
        let (begin, width) = (ends[0], ends[1] - ends[0]);
        let third = [1.0 / 3.0, 2.0 / 3.0].map(|share| height(begin + share * width));
        let (left, right) = (2.0 * third[0] - third[1], 2.0 * third[1] - third[0]);
        area += width * (left + right) / 2.0;
        moment += width * (begin * (left + right) / 2.0 + width * (left + 2.0 * right) / 6.0);
    }
    (area > 0.0).then(|| moment / area)
}

/// Breakpoints of the union: corners, clipping points and crossings.
fn breakpoints(cut: &[(MembershipFunction, f64)]) -> Vec<f64> {
    let mut bends = Vec::new();
    let mut edges = Vec::new();
    for (shape, degree) in cut {
        let [left, begin, end, right] = shape.corners;
        let (rise, fall) = (left + degree * (begin - left), right - degree * (right - end));
        bends.extend([left, rise, fall, right]);
        edges.extend([((left, 0.0), (rise, *degree)), ((rise, *degree), (fall, *degree)), ((fall, *degree), (right, 0.0))]);
    }
    for (index, one) in edges.iter().enumerate() {
        bends.extend(edges[..index].iter().filter_map(|other| crossing(*one, *other)));
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
    fn degrees_and_vertical_edges() {
        let triangle = MembershipFunction::new(&[1.0, 2.0, 4.0]).expect("a shape");
        assert_eq!([0.0, 1.5, 2.0, 3.0, 5.0].map(|value| triangle.degree(value)), [0.0, 0.5, 1.0, 0.5, 0.0]);
        let high = MembershipFunction::new(&[1.0, 3.0, 3.0, 3.0]).expect("a shape");
        assert_eq!([0.0, 2.0, 99.0].map(|value| high.degree(value)), [0.0, 0.5, 1.0]);
        assert_eq!(MembershipFunction::new(&[2.0, 1.0, 3.0]), None);
        assert_eq!(MembershipFunction::new(&[]), None);
    }

    #[test]
    fn the_centroid_is_that_of_the_union() {
        // Triangles over [0, 4] and [2, 6], both unclipped: they cross at 3, symmetric about it.
        let shapes = [
            (MembershipFunction::new(&[0.0, 2.0, 4.0]).expect("one"), 1.0),
            (MembershipFunction::new(&[2.0, 4.0, 6.0]).expect("other"), 1.0),
        ];
        assert!((centroid(&shapes).expect("an area") - 3.0).abs() < 1e-9);
        // The second clipped at 0.5; checked by numerical integration.
        let shapes = [(shapes[0].0, 1.0), (shapes[1].0, 0.5)];
        let fine = 100_000;
        let (mut area, mut moment) = (0.0, 0.0);
        for step in 0..fine {
            let x = 6.0 * (f64::from(step) + 0.5) / f64::from(fine);
            let y = shapes[0].0.degree(x).max(shapes[1].0.degree(x).min(0.5));
            area += y;
            moment += x * y;
        }
        assert!((centroid(&shapes).expect("an area") - moment / area).abs() < 1e-6);
    }
}
