//! The values that a search may try: for each variable a list, so that whole and real numbers, steps and scales are all the same to it.

/// A variable's values, growing.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    values: Vec<f64>,
}

/// How the values of a variable are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The least and the greatest.
    pub range: (f64, f64),
    /// The distance between two, if it is told.
    pub step: Option<f64>,
    /// Whole numbers only.
    pub whole: bool,
    /// Equal ratios rather than equal distances.
    pub log: bool,
}

/// No more values of a variable than this are told apart.
const MOST_VALUES: f64 = 1000.0;

/// So many values of a real number without a step are told apart.
const REAL_VALUES: f64 = 100.0;

/// So many values in each doubling on a logarithmic scale.
const PER_DOUBLING: f64 = 4.0;

impl Axis {
    /// The values between two ends.
    pub fn new(spread: Spread) -> Axis {
        let (low, high) = spread.range;
        let log = spread.log && low > 0.0;
        let step = spread.step.unwrap_or(if spread.whole { 1.0 } else { (high - low) / REAL_VALUES });
        let count = if log { (high / low).log2() * PER_DOUBLING } else { (high - low) / step };
        let count = if count.is_finite() { count.clamp(1.0, MOST_VALUES) } else { 1.0 };
        // A step that does not divide the range leaves the highest value out, rather than being stretched.
        let count = if spread.step.is_some() && !log { count.floor() } else { count.round() }.max(1.0);
        let width = if spread.step.is_some() && (high - low) / step <= MOST_VALUES { step } else { (high - low) / count };
        let value = |place: f64| if log { low * (high / low).powf(place / count) } else { low + place * width };
        let mut values: Vec<f64> = (0..=count as usize).map(|place| value(place as f64)).collect();
        if spread.whole {
            values.iter_mut().for_each(|value| *value = value.round());
        }
        values.dedup();
        Axis { values }
    }

    /// The last place.
    pub fn last(&self) -> usize {
        self.values.len() - 1
    }

    /// The value at a place.
    pub fn value(&self, place: usize) -> f64 {
        self.values[place.min(self.last())]
    }

    /// The place of the value nearest to this one.
    pub fn nearest(&self, value: f64) -> usize {
        let distance = |place: &usize| (self.values[*place] - value).abs();
        (0..self.values.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
    }
}

/// Places on all axes.
pub type Point = Vec<usize>;

/// All variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    /// One axis for each.
    pub axes: Vec<Axis>,
}

impl Space {
    /// The point in the middle.
    pub fn middle(&self) -> Point {
        self.axes.iter().map(|axis| axis.last() / 2).collect()
    }

    /// The values at a point.
    pub fn values(&self, point: &Point) -> Vec<f64> {
        self.axes.iter().zip(point).map(|(axis, place)| axis.value(*place)).collect()
    }

    /// The point nearest to these values.
    pub fn nearest(&self, values: &[f64]) -> Point {
        self.axes.iter().zip(values).map(|(axis, value)| axis.nearest(*value)).collect()
    }

    /// The point nearest to a place between points.
    pub fn rounded(&self, place: &[f64]) -> Point {
        self.axes.iter().zip(place).map(|(axis, place)| place.round().clamp(0.0, axis.last() as f64) as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(range: (f64, f64), step: Option<f64>, whole: bool, log: bool) -> Vec<f64> {
        Axis::new(Spread { range, step, whole, log }).values
    }

    #[test]
    fn whole_numbers_steps_and_scales_give_lists() {
        assert_eq!(values((1.0, 4.0), None, true, false), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(values((0.0, 1.0), Some(0.25), false, false), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(values((0.0, 10.0), Some(4.0), false, false), [0.0, 4.0, 8.0]);
        assert_eq!(values((0.0, 1.0), None, false, false).len(), 101);
        let doublings = values((1.0, 1024.0), None, true, true);
        assert_eq!((doublings[0], doublings[doublings.len() - 1]), (1.0, 1024.0));
        assert!(doublings.len() < 42 && doublings.contains(&64.0));
    }

    #[test]
    fn a_huge_range_has_no_huge_list_and_an_empty_one_has_one_value() {
        assert_eq!(values((0.0, 1e12), None, true, false).len(), 1001);
        assert_eq!(values((3.0, 3.0), None, true, false), [3.0]);
        assert_eq!(values((3.0, 3.0), None, false, false), [3.0]);
    }
}
