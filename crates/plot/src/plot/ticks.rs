//! Positions of ticks: at round numbers, enough to interpolate and few enough to be labelled.

/// Whether round numbers are 1, 2 and 5 times powers of ten, or powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TickBase {
    Ten,
    Two,
}

/// Limit of labelled ticks on an axis.
pub(super) const MAX_TICKS: usize = 9;

/// Evenly spaced ticks within a range, and their step.
pub(super) fn linear_ticks(low: f64, high: f64, base: TickBase, whole: bool, most: usize) -> (Vec<f64>, f64) {
    let width = high - low;
    // Start finer than anything that fits; take the first step that is coarse enough.
    let finest = width / (4.0 * most as f64);
    let steps = (0..).map(|number| round_step(finest, base, number)).filter(|step| !whole || *step >= 1.0);
    let count = |step: f64| (high / step).floor() - (low / step).ceil() + 1.0;
    let step = steps.take(64).find(|step| count(*step) <= most as f64).unwrap_or(width);
    let first = (low / step).ceil();
    let ticks = (0..most).map(|number| multiple_of(first + number as f64, step)).filter(|tick| (low..=high).contains(tick)).collect();
    (ticks, step)
}

/// The n-th round step from a size on.
fn round_step(from: f64, base: TickBase, number: i32) -> f64 {
    match base {
        TickBase::Two => 2f64.powi(from.log2().ceil() as i32 + number),
        TickBase::Ten => {
            let power = from.log10().floor() as i32 + number / 3;
            [1.0, 2.0, 5.0][(number % 3) as usize] * 10f64.powi(power)
        }
    }
}

/// A multiple of a step.
fn multiple_of(times: f64, step: f64) -> f64 {
    // Avoid -0.
    if times == 0.0 { 0.0 } else { times * step }
}

/// Ticks for a logarithmic range: 1-2-5, 1-3, powers of the base, or every n-th power; evenly spaced ones if the range is too narrow for
/// that.
pub(super) fn log_ticks(low: f64, high: f64, base: TickBase, most: usize) -> Vec<f64> {
    let powers = |every: i32| powers_within(low, high, base, every, &[1.0]);
    let fine: &[&[f64]] = if base == TickBase::Ten { &[&[1.0, 2.0, 5.0], &[1.0, 3.0]] } else { &[] };
    let fine = fine.iter().map(|factors| powers_within(low, high, base, 1, factors));
    let coarse = [1, 2, 3, 4, 5, 10, 20, 30, 50, 100, 200, 500].into_iter().map(powers);
    let suits = |ticks: &Vec<f64>| (3..=most).contains(&ticks.len());
    fine.chain(coarse).find(suits).unwrap_or_else(|| linear_ticks(low, high, base, false, most).0)
}

/// Minor ticks for a range of a few powers of ten.
pub(super) fn minor_log_ticks(low: f64, high: f64) -> Vec<f64> {
    if high / low > 1e6 { Vec::new() } else { powers_within(low, high, TickBase::Ten, 1, &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]) }
}

/// The products of powers of the base and these factors within a range.
fn powers_within(low: f64, high: f64, base: TickBase, every: i32, factors: &[f64]) -> Vec<f64> {
    let (log, base): (fn(f64) -> f64, f64) = match base {
        TickBase::Ten => (f64::log10, 10.0),
        TickBase::Two => (f64::log2, 2.0),
    };
    let [from, to] = [log(low), log(high)].map(|power| power.floor() as i32);
    let powers = (from.div_euclid(every)..=to.div_euclid(every)).map(|power| power * every);
    // Division gives the closest double to the decimal number.
    let product = move |factor: f64, power: i32| if power < 0 { factor / base.powi(-power) } else { factor * base.powi(power) };
    powers.flat_map(|power| factors.iter().map(move |factor| product(*factor, power))).filter(|tick| (low..=high).contains(tick)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of numbers of any size, the same in every run.
    fn ranges() -> impl Iterator<Item = (f64, f64)> {
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        std::iter::repeat_with(move || {
            let size = 10f64.powf(next() * 500.0 - 250.0);
            let width = 10f64.powf(next() * 10.0 - 8.0);
            (size, size * (1.0 + width))
        })
    }

    fn are_good(ticks: &[f64], low: f64, high: f64) -> bool {
        (3..=MAX_TICKS).contains(&ticks.len()) && ticks.iter().all(|tick| (low..=high).contains(tick)) && ticks.is_sorted()
    }

    #[test]
    fn any_range_has_three_to_nine_ticks_inside_it() {
        for (low, high) in ranges().take(20_000) {
            for base in [TickBase::Ten, TickBase::Two] {
                for (low, high) in [(low, high), (-high, -low), (-low, high), (0.0, high)] {
                    let (ticks, _) = linear_ticks(low, high, base, false, MAX_TICKS);
                    assert!(are_good(&ticks, low, high), "{low:e} to {high:e}: {ticks:?}");
                }
                let ticks = log_ticks(low, high, base, MAX_TICKS);
                assert!(are_good(&ticks, low, high), "{low:e} to {high:e}: {ticks:?}");
            }
        }
        for power in 1..300 {
            let (low, high) = (0.7, 10f64.powi(power));
            assert!(are_good(&log_ticks(low, high, TickBase::Ten, MAX_TICKS), low, high), "{power}");
            assert!(are_good(&log_ticks(low, high, TickBase::Two, MAX_TICKS), low, high), "{power}");
        }
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        assert_eq!(linear_ticks(0.0, 520.0, TickBase::Ten, false, MAX_TICKS), (vec![0.0, 100.0, 200.0, 300.0, 400.0, 500.0], 100.0));
        assert_eq!(linear_ticks(0.0, 5.33 * 1048576.0, TickBase::Two, false, MAX_TICKS).1, 1048576.0);
        assert_eq!(linear_ticks(0.5, 4.5, TickBase::Ten, true, MAX_TICKS).0, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(log_ticks(0.9, 110.0, TickBase::Ten, MAX_TICKS), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log_ticks(0.27, 47.0, TickBase::Ten, 5), [0.3, 1.0, 3.0, 10.0, 30.0]);
        assert_eq!(log_ticks(0.9, 1.1e5, TickBase::Ten, MAX_TICKS), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(log_ticks(1.0, 64.0, TickBase::Two, MAX_TICKS), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(log_ticks(6.0, 15.0, TickBase::Ten, MAX_TICKS), [6.0, 8.0, 10.0, 12.0, 14.0]);
    }
}
