//! The search space: a list of values for each variable, which covers integers, reals, steps and scales alike.

/// Values of a variable, ascending.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAxis {
    values: Vec<f64>,
}

/// Range and spacing of a variable's values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchAxisSpec {
    /// Least and greatest value.
    pub range: (f64, f64),
    /// Distance between values, if given.
    pub step: Option<f64>,
    /// Integers only.
    pub integer_only: bool,
    /// Logarithmic rather than linear spacing.
    pub log: bool,
}

/// Most values of a variable.
const MAX_VALUES: f64 = 1000.0;

/// Values of a real variable without a step.
const REAL_VALUES: f64 = 100.0;

/// Values per doubling on a logarithmic scale.
const PER_DOUBLING: f64 = 4.0;

impl SearchAxis {
    /// The values of a range.
    pub fn new(spec: SearchAxisSpec) -> SearchAxis {
        let (low, high) = spec.range;
        let log = spec.log && low > 0.0;
        let step = spec.step.unwrap_or(if spec.integer_only { 1.0 } else { (high - low) / REAL_VALUES });
        let count = if log { (high / low).log2() * PER_DOUBLING } else { (high - low) / step };
        let count = if count.is_finite() { count.clamp(1.0, MAX_VALUES) } else { 1.0 };
        // A step that does not divide the range omits the upper end; the step is not stretched.
        let count = if spec.step.is_some() && !log { count.floor() } else { count.round() }.max(1.0);
        let width = if spec.step.is_some() && (high - low) / step <= MAX_VALUES { step } else { (high - low) / count };
        let value = |index: f64| if log { low * (high / low).powf(index / count) } else { low + index * width };
        let mut values: Vec<f64> = (0..=count as usize).map(|index| value(index as f64)).collect();
        if spec.integer_only {
            values.iter_mut().for_each(|value| *value = value.round());
        }
        values.dedup();
        SearchAxis { values }
    }

    /// The largest index.
    pub fn last_index(&self) -> usize {
        self.values.len() - 1
    }

    /// The value at an index.
    pub fn value(&self, index: usize) -> f64 {
        self.values[index.min(self.last_index())]
    }

    /// The index of the nearest value.
    pub fn nearest(&self, value: f64) -> usize {
        let distance = |index: &usize| (self.values[*index] - value).abs();
        (0..self.values.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
    }
}

/// An index on every axis.
pub type LatticePoint = Vec<usize>;

/// All variables.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchSpace {
    /// One axis per variable.
    pub axes: Vec<SearchAxis>,
}

impl SearchSpace {
    /// The midpoint.
    pub fn middle(&self) -> LatticePoint {
        self.axes.iter().map(|axis| axis.last_index() / 2).collect()
    }

    /// The values at a point.
    pub fn values(&self, point: &LatticePoint) -> Vec<f64> {
        self.axes.iter().zip(point).map(|(axis, index)| axis.value(*index)).collect()
    }

    /// The point nearest to these values.
    pub fn nearest(&self, values: &[f64]) -> LatticePoint {
        self.axes.iter().zip(values).map(|(axis, value)| axis.nearest(*value)).collect()
    }

    /// Rounds a position to a lattice point.
    pub fn round(&self, index: &[f64]) -> LatticePoint {
        self.axes.iter().zip(index).map(|(axis, index)| index.round().clamp(0.0, axis.last_index() as f64) as usize).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(range: (f64, f64), step: Option<f64>, whole: bool, log: bool) -> Vec<f64> {
        SearchAxis::new(SearchAxisSpec { range, step, integer_only: whole, log }).values
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
