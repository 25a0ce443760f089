//! Which place of an axis belongs to which value.

use std::cmp::Ordering;

use super::Axis;
use super::ticks::{self, Base, MOST};
use super::unit::Unit;

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By factors where most values would crowd at the lower end otherwise.
    Suited,
    /// Equal differences are equally long.
    Linear,
    /// Equal factors are equally long; zero has a place of its own before all others. With negative values, it is linear.
    Log,
}

/// On a logarithmic axis, the share of its length that is kept for zero.
const ZERO_ROOM: f64 = 0.08;
/// Within that, where zero is.
const ZERO: f64 = 0.02;

/// An axis with its values in place.
#[derive(Clone, Debug, PartialEq)]
pub struct Ruler {
    pub low: f64,
    pub high: f64,
    pub log: bool,
    /// Whether zero has a place of its own.
    pub zero: bool,
    base: Base,
    whole: bool,
}

/// The values along an axis.
#[derive(Default)]
pub struct Values {
    /// What was measured or computed.
    pub middles: Vec<f64>,
    /// What decides how values are spread: those that were measured, if there are some.
    pub deciding: Vec<f64>,
    /// Ends of error bars and bands: they stretch the axis, but not so far that nothing else can be seen.
    pub ends: Vec<f64>,
}

/// A number that can be drawn: sums and differences of such numbers are finite, and what is next to nothing is nothing.
pub fn usable(value: f64) -> Option<f64> {
    match value.abs() {
        size if size < 1e-290 => Some(0.0),
        size if size < 1e290 => Some(value),
        _ => None,
    }
}

impl Ruler {
    /// The axis that shows these values.
    pub fn new(axis: &Axis, values: &Values) -> Ruler {
        let [middles, deciding, ends] =
            [&values.middles, &values.deciding, &values.ends].map(|all| all.iter().filter_map(|value| usable(*value)).collect::<Vec<_>>());
        let whole = axis.unit == Unit::Whole;
        if is_log(axis.scale, &deciding)
            && let Some((low, high)) = log_range(&middles, &ends)
        {
            let base = if axis.unit == Unit::Bytes || whole && are_powers_of_two(&deciding) { Base::Two } else { Base::Ten };
            return Ruler { low, high, log: true, zero: middles.contains(&0.0), base, whole };
        }
        let (low, high) = linear_range(&middles, &ends, if whole { 4.0 } else { 0.0 });
        Ruler { low, high, log: false, zero: false, base: if axis.unit == Unit::Bytes { Base::Two } else { Base::Ten }, whole }
    }

    /// The axis of residuals: zero is on it, with room on both sides.
    pub fn around_zero(values: &Values) -> Ruler {
        let reach = |all: &[f64], sign: f64| all.iter().filter_map(|value| usable(value * sign)).fold(0.0, f64::max);
        let [down, up] = [-1.0, 1.0].map(|sign| {
            let middle = reach(&values.middles, sign);
            let largest = middle.max(reach(&values.middles, -sign));
            reach(&values.ends, sign).min(middle + 6.0 * largest).max(middle)
        });
        let larger = down.max(up);
        let [down, up] = if larger < 1e-6 { [1.0; 2] } else { [down, up].map(|side| side.max(larger * 0.25) * 1.25) };
        Ruler { low: -down, high: up, log: false, zero: false, base: Base::Ten, whole: false }
    }

    /// Where a value stands: from 0 at the beginning of the axis to 1 at its end, or beyond.
    pub fn place(&self, value: f64) -> Option<f64> {
        let value = usable(value)?;
        if !self.log {
            return Some((value - self.low) / (self.high - self.low));
        }
        let share = || (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln());
        match value.total_cmp(&0.0) {
            Ordering::Less => None,
            Ordering::Equal => self.zero.then_some(ZERO),
            Ordering::Greater => Some(self.begin() + (1.0 - self.begin()) * share()),
        }
    }

    /// Where the lower end of a bar or band stands; what a logarithmic axis cannot show reaches to its beginning.
    pub fn lower_end(&self, value: f64) -> Option<f64> {
        if self.log && value <= 0.0 { Some(self.begin()) } else { self.place(value).map(|place| place.clamp(self.begin(), 1.0)) }
    }

    /// Where the upper end of a bar or band stands.
    pub fn upper_end(&self, value: f64) -> Option<f64> {
        if value == f64::INFINITY { Some(1.0) } else { self.lower_end(value) }
    }

    /// Where the place of zero ends and the others begin.
    pub fn begin(&self) -> f64 {
        if self.zero { ZERO_ROOM } else { 0.0 }
    }

    /// The values that get a tick, and the step between them if it is always the same.
    pub fn ticks(&self, most: usize) -> (Vec<f64>, Option<f64>) {
        if !self.log {
            let (ticks, step) = ticks::even(self.low, self.high, self.base, self.whole, most);
            return (ticks, Some(step));
        }
        let others = ticks::by_factors(self.low, self.high, self.base, most.min(MOST - usize::from(self.zero)));
        (self.zero.then_some(0.0).into_iter().chain(others).collect(), None)
    }

    /// The values that get a line without a number.
    pub fn lesser_ticks(&self) -> Vec<f64> {
        if self.log && self.base == Base::Ten { ticks::between(self.low, self.high) } else { Vec::new() }
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| Some(range.map_or((value, value), |(low, high): (f64, f64)| (low.min(value), high.max(value)))))
}

/// Whether the values are spread by factors.
fn is_log(scale: Scale, values: &[f64]) -> bool {
    match scale {
        Scale::Linear => false,
        Scale::Log => values.iter().all(|value| *value >= 0.0),
        Scale::Suited => values.iter().all(|value| *value >= 0.0) && do_crowd(values),
    }
}

/// Whether half of the positive values lie in the lowest fifth of their range, and they differ by a factor that matters.
fn do_crowd(values: &[f64]) -> bool {
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
    // A single value stands in the middle of a decade; a few stand a little inside of the frame.
    let beyond = if high / low < 1.5 { 3.0 } else { (high / low).powf(0.04) };
    Some((low / beyond, high * beyond))
}

fn linear_range(middles: &[f64], ends: &[f64], least: f64) -> (f64, f64) {
    let Some((low, high)) = range(middles.iter().copied()) else { return (0.0, least.max(1.0)) };
    let largest = low.abs().max(high.abs());
    let (lowest, highest) = range(ends.iter().copied()).unwrap_or((low, high));
    // Values that are almost the same have no range of their own: what surrounds them may be as large as they are.
    let most = (high - low).max(largest);
    let (low, high) = (low.min(lowest.max(low - most)), high.max(highest.min(high + most)));
    if high - low <= largest * 1e-9 {
        return around((low, high), if largest == 0.0 { 1.0 } else { largest * 0.5 }, least);
    }
    let margin = (high - low) * 0.04;
    match (low, high) {
        (low, high) if low >= 0.0 && low < 0.4 * high => around((0.0, high + margin), 0.0, least),
        _ => around((low - margin, high + margin), 0.0, least),
    }
}

/// A range made longer at both ends, and at least so long.
fn around((low, high): (f64, f64), more: f64, least: f64) -> (f64, f64) {
    let missing = (least - (high - low + 2.0 * more)).max(0.0) / 2.0 + more;
    // What cannot be negative does not begin below zero.
    let begin = if low >= 0.0 { (low - missing).max(0.0) } else { low - missing };
    (begin, high + missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(unit: Unit, scale: Scale) -> Axis {
        Axis { label: String::new(), unit, scale }
    }

    fn ruler(unit: Unit, scale: Scale, values: &[f64]) -> Ruler {
        Ruler::new(&axis(unit, scale), &Values { middles: values.to_vec(), deciding: values.to_vec(), ends: Vec::new() })
    }

    #[test]
    fn equal_differences_are_equally_long_on_a_linear_axis() {
        let ruler = ruler(Unit::Number, Scale::Linear, &[-10.0, 10.0]);
        let place = |value| ruler.place(value).unwrap();
        assert_eq!(place(0.0), 0.5);
        assert!((place(5.0) - place(0.0) - (place(-5.0) - place(-10.0))).abs() < 1e-12);
        assert!(place(-10.0) > 0.0 && place(10.0) < 1.0);
    }

    #[test]
    fn equal_factors_are_equally_long_on_a_logarithmic_axis() {
        let ruler = ruler(Unit::Number, Scale::Log, &[1e-4, 1e5]);
        let place = |value| ruler.place(value).unwrap();
        assert!((place(10.0) - place(1.0) - (place(1e-3) - place(1e-4))).abs() < 1e-12);
        assert!(place(1e-4) > 0.0 && place(1e5) < 1.0);
        assert_eq!((ruler.place(0.0), ruler.place(-1.0), ruler.place(f64::NAN)), (None, None, None));
    }

    #[test]
    fn zero_has_a_place_of_its_own_before_all_others_on_a_logarithmic_axis() {
        let ruler = ruler(Unit::Bytes, Scale::Log, &[0.0, 1.0, 1024.0]);
        assert!(ruler.zero && ruler.place(0.0).unwrap() < ruler.begin() && ruler.place(1.0).unwrap() > ruler.begin());
        assert_eq!(ruler.ticks(MOST).0[0], 0.0);
    }

    #[test]
    fn values_that_crowd_at_the_lower_end_are_spread_by_factors() {
        let suited = |values: &[f64]| ruler(Unit::Number, Scale::Suited, values).log;
        assert!(suited(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]) && suited(&[0.0, 1.0, 10.0, 1e3, 1e9]));
        assert!(!suited(&[100.0, 200.0, 300.0, 400.0, 500.0]) && !suited(&[5.0]) && !suited(&[]) && !suited(&[-1.0, 1.0, 2.0, 1e9]));
        assert!(!suited(&(1..=64).map(f64::from).collect::<Vec<_>>()));
    }

    #[test]
    fn negative_values_are_on_a_linear_axis_even_if_another_was_asked_for() {
        assert!(!ruler(Unit::Number, Scale::Log, &[-1.0, 1.0, 100.0]).log);
        assert!(!ruler(Unit::Number, Scale::Log, &[0.0]).log);
    }

    #[test]
    fn any_values_give_a_range_with_all_of_them_inside() {
        for values in [&[][..], &[0.0], &[5.0], &[-5.0], &[7.0, 7.0], &[1e289, -1e289], &[1e-289], &[1.0, 1.0 + 1e-15], &[f64::NAN, 2.0]] {
            for scale in [Scale::Suited, Scale::Linear, Scale::Log] {
                for unit in [Unit::Number, Unit::Whole, Unit::Bytes] {
                    let ruler = ruler(unit, scale, values);
                    assert!(ruler.low < ruler.high && ruler.low.is_finite() && ruler.high.is_finite(), "{values:?}");
                    let inside = |value: &f64| (0.0..=1.0).contains(&ruler.place(*value).unwrap());
                    assert!(values.iter().filter(|value| value.is_finite()).all(inside), "{values:?} {ruler:?}");
                    let ticks = ruler.ticks(MOST).0;
                    assert!((3..=MOST).contains(&ticks.len()), "{values:?} {ruler:?} {ticks:?}");
                }
            }
        }
    }

    #[test]
    fn one_wild_error_bar_does_not_flatten_everything_else() {
        let values = Values { middles: vec![1.0, 2.0], deciding: vec![1.0, 2.0], ends: vec![0.5, 1e9] };
        let ruler = Ruler::new(&axis(Unit::Number, Scale::Linear), &values);
        assert!(ruler.high < 5.0 && ruler.upper_end(1e9) == Some(1.0) && ruler.upper_end(f64::INFINITY) == Some(1.0), "{ruler:?}");
    }

    #[test]
    fn a_wide_band_around_values_that_hardly_change_is_seen_whole() {
        let values = Values { middles: vec![0.37, 0.46], deciding: vec![0.37, 0.46], ends: vec![0.2, 0.87] };
        let ruler = Ruler::new(&axis(Unit::Seconds, Scale::Linear), &values);
        assert!(ruler.low < 0.2 && ruler.high > 0.87, "{ruler:?}");
    }

    #[test]
    fn residuals_have_zero_inside_with_room_on_both_sides() {
        for middles in [&[][..], &[0.0], &[5.0], &[-3.0, 100.0], &[1e280]] {
            let ruler = Ruler::around_zero(&Values { middles: middles.to_vec(), ..Values::default() });
            assert!((0.15..=0.85).contains(&ruler.place(0.0).unwrap()), "{ruler:?}");
            assert!(middles.iter().all(|value| (0.0..=1.0).contains(&ruler.place(*value).unwrap())), "{ruler:?}");
        }
    }

    #[test]
    fn a_bar_that_a_logarithmic_axis_cannot_show_reaches_to_its_beginning() {
        let values = Values { middles: vec![1.0, 1e4], deciding: vec![1.0, 1e4], ends: vec![-1.0, 2e4] };
        assert_eq!(Ruler::new(&axis(Unit::Number, Scale::Log), &values).lower_end(-1.0), Some(0.0));
    }
}
