//! Where an axis has its ticks: at round numbers, enough to read between them and few enough to be written.

/// Whether round numbers are 1, 2 and 5 times powers of ten, or powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    Ten,
    Two,
}

/// At most so many ticks are written along an axis.
pub const MOST: usize = 9;

/// Evenly spaced ticks within a range, and the step between them.
pub fn even(low: f64, high: f64, base: Base, whole: bool, most: usize) -> (Vec<f64>, f64) {
    let width = high - low;
    // Finer than any that fits; from there on, the first that is not too fine.
    let finest = width / (4.0 * most as f64);
    let steps = (0..).map(|number| round_step(finest, base, number)).filter(|step| !whole || *step >= 1.0);
    let count = |step: f64| (high / step).floor() - (low / step).ceil() + 1.0;
    let step = steps.take(64).find(|step| count(*step) <= most as f64).unwrap_or(width);
    let first = (low / step).ceil();
    let ticks = (0..most).map(|number| exact(first + number as f64, step)).filter(|tick| (low..=high).contains(tick)).collect();
    (ticks, step)
}

/// The round steps from a size on, one after the other.
fn round_step(from: f64, base: Base, number: i32) -> f64 {
    match base {
        Base::Two => 2f64.powi(from.log2().ceil() as i32 + number),
        Base::Ten => {
            let power = from.log10().floor() as i32 + number / 3;
            [1.0, 2.0, 5.0][(number % 3) as usize] * 10f64.powi(power)
        }
    }
}

/// A multiple of a step, without the digits that rounding adds.
fn exact(times: f64, step: f64) -> f64 {
    // -0 is written as 0.
    if times == 0.0 { 0.0 } else { times * step }
}

/// Ticks for a range of positive numbers that differ by factors: 1-2-5, 1-3, powers of the base, or every so many powers; evenly spaced
/// ones where the range is too narrow for that.
pub fn by_factors(low: f64, high: f64, base: Base, most: usize) -> Vec<f64> {
    let powers = |every: i32| within(low, high, base, every, &[1.0]);
    let fine: &[&[f64]] = if base == Base::Ten { &[&[1.0, 2.0, 5.0], &[1.0, 3.0]] } else { &[] };
    let fine = fine.iter().map(|factors| within(low, high, base, 1, factors));
    let coarse = [1, 2, 3, 4, 5, 10, 20, 30, 50, 100, 200, 500].into_iter().map(powers);
    let suits = |ticks: &Vec<f64>| (3..=most).contains(&ticks.len());
    fine.chain(coarse).find(suits).unwrap_or_else(|| even(low, high, base, false, most).0)
}

/// The numbers between the ticks of a range of a few powers of ten, for lines without a number.
pub fn between(low: f64, high: f64) -> Vec<f64> {
    if high / low > 1e6 { Vec::new() } else { within(low, high, Base::Ten, 1, &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]) }
}

/// The products of powers of the base and these factors that lie in a range.
fn within(low: f64, high: f64, base: Base, every: i32, factors: &[f64]) -> Vec<f64> {
    let (log, base): (fn(f64) -> f64, f64) = match base {
        Base::Ten => (f64::log10, 10.0),
        Base::Two => (f64::log2, 2.0),
    };
    let [from, to] = [log(low), log(high)].map(|power| power.floor() as i32);
    let powers = (from.div_euclid(every)..=to.div_euclid(every)).map(|power| power * every);
    // Dividing gives the number that is nearest to the decimal one.
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
        (3..=MOST).contains(&ticks.len()) && ticks.iter().all(|tick| (low..=high).contains(tick)) && ticks.is_sorted()
    }

    #[test]
    fn any_range_has_three_to_nine_ticks_inside_it() {
        for (low, high) in ranges().take(20_000) {
            for base in [Base::Ten, Base::Two] {
                for (low, high) in [(low, high), (-high, -low), (-low, high), (0.0, high)] {
                    let (ticks, _) = even(low, high, base, false, MOST);
                    assert!(are_good(&ticks, low, high), "{low:e} to {high:e}: {ticks:?}");
                }
                let ticks = by_factors(low, high, base, MOST);
                assert!(are_good(&ticks, low, high), "{low:e} to {high:e}: {ticks:?}");
            }
        }
        for power in 1..300 {
            let (low, high) = (0.7, 10f64.powi(power));
            assert!(are_good(&by_factors(low, high, Base::Ten, MOST), low, high), "{power}");
            assert!(are_good(&by_factors(low, high, Base::Two, MOST), low, high), "{power}");
        }
    }

    #[test]
    fn ticks_stand_at_round_numbers() {
        assert_eq!(even(0.0, 520.0, Base::Ten, false, MOST), (vec![0.0, 100.0, 200.0, 300.0, 400.0, 500.0], 100.0));
        assert_eq!(even(0.0, 5.33 * 1048576.0, Base::Two, false, MOST).1, 1048576.0);
        assert_eq!(even(0.5, 4.5, Base::Ten, true, MOST).0, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(by_factors(0.9, 110.0, Base::Ten, MOST), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(by_factors(0.27, 47.0, Base::Ten, 5), [0.3, 1.0, 3.0, 10.0, 30.0]);
        assert_eq!(by_factors(0.9, 1.1e5, Base::Ten, MOST), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(by_factors(1.0, 64.0, Base::Two, MOST), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(by_factors(6.0, 15.0, Base::Ten, MOST), [6.0, 8.0, 10.0, 12.0, 14.0]);
    }
}
