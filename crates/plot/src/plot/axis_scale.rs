//! Maps the values of an axis to positions.

use std::cmp::Ordering;

use super::AxisSpec;
use super::ticks::{self, MAX_TICKS, TickBase};
use super::unit::{AxisUnit, drawable};

/// The scale type of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleType {
    /// Logarithmic where most values would crowd at the lower end otherwise.
    Auto,
    /// Linear.
    Linear,
    /// Logarithmic, with a separate position for zero. Linear if there are negative values.
    Log,
}

/// Share of a logarithmic axis reserved for zero.
const ZERO_SHARE: f64 = 0.08;
/// Position of zero within it.
const ZERO_POSITION: f64 = 0.02;

/// The scale of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisScale {
    pub low: f64,
    pub high: f64,
    pub is_log: bool,
    /// Whether zero has a separate position.
    pub has_zero: bool,
    base: TickBase,
    whole_ticks: bool,
}

/// The values along an axis.
#[derive(Default)]
pub(super) struct AxisValues {
    /// Measured or computed values.
    pub values: Vec<f64>,
    /// The values that decide the scale type: the measured ones, if any.
    pub scale_values: Vec<f64>,
    /// Ends of error bars and bands: they extend the axis, but only to a limit.
    pub bounds: Vec<f64>,
}

impl AxisScale {
    /// The scale that shows these values.
    pub(super) fn new(axis: &AxisSpec, values: &AxisValues) -> AxisScale {
        let [middles, deciding, ends] = [&values.values, &values.scale_values, &values.bounds]
            .map(|all| all.iter().filter_map(|value| drawable(*value)).collect::<Vec<_>>());
        let whole_ticks = axis.unit == AxisUnit::Count;
        if uses_log_scale(axis.scale, &deciding)
            && let Some((low, high)) = log_range(&middles, &ends)
        {
            let base =
                if axis.unit == AxisUnit::Bytes || whole_ticks && are_powers_of_two(&deciding) { TickBase::Two } else { TickBase::Ten };
            return AxisScale { low, high, is_log: true, has_zero: middles.contains(&0.0), base, whole_ticks };
        }
        let (low, high) = linear_range(&middles, &ends, if whole_ticks { 4.0 } else { 0.0 });
        AxisScale {
            low,
            high,
            is_log: false,
            has_zero: false,
            base: if axis.unit == AxisUnit::Bytes { TickBase::Two } else { TickBase::Ten },
            whole_ticks,
        }
    }

    /// The scale of residuals: includes zero, with room on both sides.
    pub(super) fn around_zero(values: &AxisValues) -> AxisScale {
        let reach = |all: &[f64], sign: f64| all.iter().filter_map(|value| drawable(value * sign)).fold(0.0, f64::max);
        let [down, up] = [-1.0, 1.0].map(|sign| {
            let middle = reach(&values.values, sign);
            let largest = middle.max(reach(&values.values, -sign));
            reach(&values.bounds, sign).min(middle + 6.0 * largest).max(middle)
        });
        let larger = down.max(up);
        let [down, up] = if larger < 1e-6 { [1.0; 2] } else { [down, up].map(|side| side.max(larger * 0.25) * 1.25) };
        AxisScale { low: -down, high: up, is_log: false, has_zero: false, base: TickBase::Ten, whole_ticks: false }
    }

    /// The position of a value: 0 at the beginning of the axis, 1 at its end, or beyond.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        let value = drawable(value)?;
        if !self.is_log {
            return Some((value - self.low) / (self.high - self.low));
        }
        let share = || (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln());
        match value.total_cmp(&0.0) {
            Ordering::Less => None,
            Ordering::Equal => self.has_zero.then_some(ZERO_POSITION),
            Ordering::Greater => Some(self.range_start() + (1.0 - self.range_start()) * share()),
        }
    }

    /// The position of the lower end of an error bar or band; what a log scale cannot show reaches to its beginning.
    pub(super) fn lower_position(&self, value: f64) -> Option<f64> {
        if self.is_log && value <= 0.0 {
            Some(self.range_start())
        } else {
            self.position(value).map(|position| position.clamp(self.range_start(), 1.0))
        }
    }

    /// The position of the upper end of an error bar or band.
    pub(super) fn upper_position(&self, value: f64) -> Option<f64> {
        if value == f64::INFINITY { Some(1.0) } else { self.lower_position(value) }
    }

    /// Where the values start, after the position of zero.
    pub(super) fn range_start(&self) -> f64 {
        if self.has_zero { ZERO_SHARE } else { 0.0 }
    }

    /// The values of the major ticks, and the step between them if it is constant.
    pub(super) fn ticks(&self, most: usize) -> (Vec<f64>, Option<f64>) {
        if !self.is_log {
            let (ticks, step) = ticks::linear_ticks(self.low, self.high, self.base, self.whole_ticks, most);
            return (ticks, Some(step));
        }
        let others = ticks::log_ticks(self.low, self.high, self.base, most.min(MAX_TICKS - usize::from(self.has_zero)));
        (self.has_zero.then_some(0.0).into_iter().chain(others).collect(), None)
    }

    /// The values of the minor ticks.
    pub(super) fn minor_ticks(&self) -> Vec<f64> {
        if self.is_log && self.base == TickBase::Ten { ticks::minor_log_ticks(self.low, self.high) } else { Vec::new() }
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| Some(range.map_or((value, value), |(low, high): (f64, f64)| (low.min(value), high.max(value)))))
}

fn uses_log_scale(scale: ScaleType, values: &[f64]) -> bool {
    match scale {
        ScaleType::Linear => false,
        ScaleType::Log => values.iter().all(|value| *value >= 0.0),
        ScaleType::Auto => values.iter().all(|value| *value >= 0.0) && is_skewed(values),
    }
}

/// Whether half of the positive values are in the lowest fifth of their range, and they span a significant factor.
fn is_skewed(values: &[f64]) -> bool {
    let mut positive: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    positive.sort_by(f64::total_cmp);
    let [low, .., high] = positive[..] else { return false };
    let middle = positive[(positive.len() - 1) / 2];
    high / low >= 16.0 && (middle - low) / (high - low) < 0.2
}

fn are_powers_of_two(values: &[f64]) -> bool {
    let powers = values.iter().filter(|value| **value > 0.0 && value.log2().fract() == 0.0).count();
    powers * 3 >= values.len() * 2
}

fn log_range(middles: &[f64], ends: &[f64]) -> Option<(f64, f64)> {
    let positive = |values: &[f64]| range(values.iter().copied().filter(|value| *value > 0.0));
    let (low, high) = positive(middles)?;
    let (lowest, highest) = positive(ends).unwrap_or((low, high));
    let most = (high / low).max(10.0);
    let (low, high) = (low.min(lowest.max(low / most)), high.max(highest.min(high * most)));
    // A single value is centred in a decade; several have a small margin.
    let beyond = if high / low < 1.5 { 3.0 } else { (high / low).powf(0.04) };
    Some((low / beyond, high * beyond))
}

fn linear_range(middles: &[f64], ends: &[f64], least: f64) -> (f64, f64) {
    let Some((low, high)) = range(middles.iter().copied()) else { return (0.0, least.max(1.0)) };
    let largest = low.abs().max(high.abs());
    let (lowest, highest) = range(ends.iter().copied()).unwrap_or((low, high));
    // Almost equal values have no range of their own: allow margins as large as the values.
    let most = (high - low).max(largest);
    let (low, high) = (low.min(lowest.max(low - most)), high.max(highest.min(high + most)));
    if high - low <= largest * 1e-9 {
        return widen((low, high), if largest == 0.0 { 1.0 } else { largest * 0.5 }, least);
    }
    let margin = (high - low) * 0.04;
    match (low, high) {
        (low, high) if low >= 0.0 && low < 0.4 * high => widen((0.0, high + margin), 0.0, least),
        _ => widen((low - margin, high + margin), 0.0, least),
    }
}

/// Extends a range at both ends, to at least this length.
fn widen((low, high): (f64, f64), more: f64, least: f64) -> (f64, f64) {
    let missing = (least - (high - low + 2.0 * more)).max(0.0) / 2.0 + more;
    // Non-negative values do not start below zero.
    let begin = if low >= 0.0 { (low - missing).max(0.0) } else { low - missing };
    (begin, high + missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: AxisUnit, scale: ScaleType) -> AxisSpec {
        AxisSpec { label: String::new(), unit, scale }
    }

    fn axis_scale(unit: AxisUnit, scale: ScaleType, values: &[f64]) -> AxisScale {
        AxisScale::new(&axis(unit, scale), &AxisValues { values: values.to_vec(), scale_values: values.to_vec(), bounds: Vec::new() })
    }

    #[test]
    fn equal_differences_are_equally_long_on_a_linear_axis() {
        let scale = axis_scale(AxisUnit::Number, ScaleType::Linear, &[-10.0, 10.0]);
        let position = |value| scale.position(value).unwrap();
        assert_eq!(position(0.0), 0.5);
        assert!((position(5.0) - position(0.0) - (position(-5.0) - position(-10.0))).abs() < 1e-12);
        assert!(position(-10.0) > 0.0 && position(10.0) < 1.0);
    }

    #[test]
    fn equal_factors_are_equally_long_on_a_logarithmic_axis() {
        let scale = axis_scale(AxisUnit::Number, ScaleType::Log, &[1e-4, 1e5]);
        let position = |value| scale.position(value).unwrap();
        assert!((position(10.0) - position(1.0) - (position(1e-3) - position(1e-4))).abs() < 1e-12);
        assert!(position(1e-4) > 0.0 && position(1e5) < 1.0);
        assert_eq!((scale.position(0.0), scale.position(-1.0), scale.position(f64::NAN)), (None, None, None));
    }

    #[test]
    fn zero_has_a_separate_position_on_a_logarithmic_axis() {
        let scale = axis_scale(AxisUnit::Bytes, ScaleType::Log, &[0.0, 1.0, 1024.0]);
        assert!(scale.has_zero && scale.position(0.0).unwrap() < scale.range_start() && scale.position(1.0).unwrap() > scale.range_start());
        assert_eq!(scale.ticks(MAX_TICKS).0[0], 0.0);
    }

    #[test]
    fn values_that_crowd_at_the_lower_end_are_spread_by_factors() {
        let suited = |values: &[f64]| axis_scale(AxisUnit::Number, ScaleType::Auto, values).is_log;
        assert!(suited(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]) && suited(&[0.0, 1.0, 10.0, 1e3, 1e9]));
        assert!(!suited(&[100.0, 200.0, 300.0, 400.0, 500.0]) && !suited(&[5.0]) && !suited(&[]) && !suited(&[-1.0, 1.0, 2.0, 1e9]));
        assert!(!suited(&(1..=64).map(f64::from).collect::<Vec<_>>()));
    }

    #[test]
    fn negative_values_are_on_a_linear_axis_even_if_another_was_asked_for() {
        assert!(!axis_scale(AxisUnit::Number, ScaleType::Log, &[-1.0, 1.0, 100.0]).is_log);
        assert!(!axis_scale(AxisUnit::Number, ScaleType::Log, &[0.0]).is_log);
    }

    #[test]
    fn any_values_give_a_range_with_all_of_them_inside() {
        for values in [&[][..], &[0.0], &[5.0], &[-5.0], &[7.0, 7.0], &[1e289, -1e289], &[1e-289], &[1.0, 1.0 + 1e-15], &[f64::NAN, 2.0]] {
            for scale in [ScaleType::Auto, ScaleType::Linear, ScaleType::Log] {
                for unit in [AxisUnit::Number, AxisUnit::Count, AxisUnit::Bytes] {
                    let scale = axis_scale(unit, scale, values);
                    assert!(scale.low < scale.high && scale.low.is_finite() && scale.high.is_finite(), "{values:?}");
                    let inside = |value: &f64| (0.0..=1.0).contains(&scale.position(*value).unwrap());
                    assert!(values.iter().filter(|value| value.is_finite()).all(inside), "{values:?} {scale:?}");
                    let ticks = scale.ticks(MAX_TICKS).0;
                    assert!((3..=MAX_TICKS).contains(&ticks.len()), "{values:?} {scale:?} {ticks:?}");
                }
            }
        }
    }

    #[test]
    fn one_wild_error_bar_does_not_flatten_everything_else() {
        let values = AxisValues { values: vec![1.0, 2.0], scale_values: vec![1.0, 2.0], bounds: vec![0.5, 1e9] };
        let scale = AxisScale::new(&axis(AxisUnit::Number, ScaleType::Linear), &values);
        assert!(
            scale.high < 5.0 && scale.upper_position(1e9) == Some(1.0) && scale.upper_position(f64::INFINITY) == Some(1.0),
            "{scale:?}"
        );
    }

    #[test]
    fn a_wide_band_around_values_that_hardly_change_is_seen_whole() {
        let values = AxisValues { values: vec![0.37, 0.46], scale_values: vec![0.37, 0.46], bounds: vec![0.2, 0.87] };
        let scale = AxisScale::new(&axis(AxisUnit::Seconds, ScaleType::Linear), &values);
        assert!(scale.low < 0.2 && scale.high > 0.87, "{scale:?}");
    }

    #[test]
    fn residuals_have_zero_inside_with_room_on_both_sides() {
        for middles in [&[][..], &[0.0], &[5.0], &[-3.0, 100.0], &[1e280]] {
            let scale = AxisScale::around_zero(&AxisValues { values: middles.to_vec(), ..AxisValues::default() });
            assert!((0.15..=0.85).contains(&scale.position(0.0).unwrap()), "{scale:?}");
            assert!(middles.iter().all(|value| (0.0..=1.0).contains(&scale.position(*value).unwrap())), "{scale:?}");
        }
    }

    #[test]
    fn a_bar_that_a_logarithmic_axis_cannot_show_reaches_to_its_beginning() {
        let values = AxisValues { values: vec![1.0, 1e4], scale_values: vec![1.0, 1e4], bounds: vec![-1.0, 2e4] };
        assert_eq!(AxisScale::new(&axis(AxisUnit::Number, ScaleType::Log), &values).lower_position(-1.0), Some(0.0));
    }
}
