//! What arithmetic costs: the same steps run in a loop that holds few of them and in one that holds many. The difference is theirs alone;
//! what the loop itself costs is in both.
//!
//! The compiler knows neither the numbers nor what becomes of them. Within a round it could only shorten a chain by a law of arithmetic, so
//! steps are chosen that no law shortens: each uses the results of the two before, or divides by the one before.

use std::hint::black_box;
use std::time::Instant;

use sintonia_fit::Random;
use sintonia_fit::sample::median;

use super::sample::{Manner, Quantity, Sample};
use crate::{Arithmetic, NumberType};

/// Steps in the round of the short loop and of the long one.
const FEW: usize = 8;
const MANY: usize = 24;
/// Chains side by side: enough to keep the units of a core busy, few enough for its registers.
const WIDE: usize = 6;
/// How often each cost is measured.
const TIMES: usize = 15;
/// The places of the memory that is read: with 8 bytes each, they fit into any nearest cache.
const PLACES: usize = 512;

/// Numbers that can be counted with.
trait Number: Copy {
    const TYPE: NumberType;
    /// Two to begin with and one that stays, such that no step leaves the range where it costs the same.
    const START: [Self; 3];

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn over(self, other: Self) -> Self;
    fn rest(self, other: Self) -> Self;
    fn is_less(self, other: Self) -> bool;
    fn of_place(place: usize) -> Self;
    fn place(self) -> usize;
}

macro_rules! whole {
    ($number:ty, $of:expr) => {
        impl Number for $number {
            const TYPE: NumberType = $of;
            const START: [$number; 3] = [3, 31_622, 1_000_003];

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn over(self, other: Self) -> Self {
                self.wrapping_div(other)
            }
            #[inline(always)]
            fn rest(self, other: Self) -> Self {
                self.wrapping_rem(other)
            }
            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn of_place(place: usize) -> Self {
                place as $number
            }
            #[inline(always)]
            fn place(self) -> usize {
                self as usize
            }
        }
    };
}

macro_rules! broken {
    ($number:ty, $bits:ty, $of:expr) => {
        impl Number for $number {
            const TYPE: NumberType = $of;
            const START: [$number; 3] = [1.00001, 0.99999, 1.0003];

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn over(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn rest(self, other: Self) -> Self {
                self % other
            }
            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn of_place(place: usize) -> Self {
                Self::from_bits(place as $bits)
            }
            #[inline(always)]
            fn place(self) -> usize {
                self.to_bits() as usize
            }
        }
    };
}

whole!(i32, NumberType::Int32);
whole!(i64, NumberType::Int64);
broken!(f32, u32, NumberType::Float32);
broken!(f64, u64, NumberType::Float64);

/// A step: the next number after the last two, with one that stays and memory to read.
trait Step {
    const WHAT: Arithmetic;
    /// Whether the step holds an addition as well, without which the numbers would run away.
    const ADDS: bool = false;

    fn step<N: Number>(before: N, last: N, same: N, memory: &[N; PLACES]) -> N;
}

macro_rules! step {
    ($name:ident, $adds:literal, |$before:pat_param, $last:pat_param, $same:pat_param, $memory:pat_param| $result:expr) => {
        struct $name;

        impl Step for $name {
            const WHAT: Arithmetic = Arithmetic::$name;
            const ADDS: bool = $adds;

            #[inline(always)]
            fn step<N: Number>($before: N, $last: N, $same: N, $memory: &[N; PLACES]) -> N {
                $result
            }
        }
    };
}

step!(Add, false, |before, last, _, _| before.plus(last));
step!(Subtract, false, |before, last, _, _| before.minus(last));
step!(Multiply, false, |before, last, _, _| before.times(last));
step!(Divide, false, |_, last, same, _| same.over(last));
step!(Remainder, true, |_, last, same, _| last.rest(same).plus(same));
step!(Compare, true, |before, last, same, _| (if before.is_less(last) { before } else { last }).plus(same));
step!(Assign, false, |_, last, _, _| black_box(last));
step!(Load, false, |_, last, _, memory| memory[last.place() % PLACES]);

/// `rounds` rounds of `STEPS` steps in each of `CHAINS` chains.
#[inline(never)]
fn run<N: Number, S: Step, const CHAINS: usize, const STEPS: usize>(rounds: usize, start: [N; 3], memory: &[N; PLACES]) -> N {
    let [first, second, same] = start;
    let (mut before, mut last) = ([first; CHAINS], [second; CHAINS]);
    for _ in 0..rounds {
        for chain in 0..CHAINS {
            (before[chain], last[chain]) = (black_box(before[chain]), black_box(last[chain]));
        }
        for _ in 0..STEPS {
            for chain in 0..CHAINS {
                let next = S::step(before[chain], last[chain], same, memory);
                (before[chain], last[chain]) = (last[chain], next);
            }
        }
    }
    (0..CHAINS).fold(same, |sum, chain| sum.plus(before[chain]).plus(last[chain]))
}

/// The seconds of one step, measured several times.
fn steps<N: Number, S: Step, const CHAINS: usize>(memory: &[N; PLACES]) -> Vec<f64> {
    let time = |run: &dyn Fn(usize) -> N, rounds: usize| {
        let began = Instant::now();
        black_box(run(rounds));
        began.elapsed().as_secs_f64()
    };
    let start = black_box(N::START);
    let few = |rounds| run::<N, S, CHAINS, FEW>(rounds, start, memory);
    let many = |rounds| run::<N, S, CHAINS, MANY>(rounds, start, memory);
    let rounds = enough(|rounds| time(&many, rounds));
    let difference = || time(&many, rounds) - time(&few, rounds);
    (0..TIMES).map(|_| difference() / ((MANY - FEW) * CHAINS * rounds) as f64).collect()
}

/// So many rounds that a clock of some nanoseconds tells two loops apart.
fn enough(time: impl Fn(usize) -> f64) -> usize {
    const LONG: f64 = 30e-6;
    let mut rounds = 64;
    while time(rounds) < LONG && rounds < 1 << 20 {
        rounds *= 2;
    }
    rounds
}

/// What each operation costs on this node, which has the number `node` among the kinds of nodes.
pub fn measure(node: usize, seed: u64, mut tell: impl FnMut(Sample)) {
    of_type::<i32>(node, seed, &mut tell);
    of_type::<i64>(node, seed, &mut tell);
    of_type::<f32>(node, seed, &mut tell);
    of_type::<f64>(node, seed, &mut tell);
}

fn of_type<N: Number>(node: usize, seed: u64, tell: &mut impl FnMut(Sample)) {
    let memory = &round_trip::<N>(seed);
    let additions = [steps::<N, Add, 1>(memory), steps::<N, Add, WIDE>(memory)];
    let addition = additions.each_ref().map(|values| median(values).unwrap_or(0.0));
    let mut say = |what, adds: bool, [latency, throughput]: [Vec<f64>; 2]| {
        for (manner, values, addition) in [(Manner::Latency, latency, addition[0]), (Manner::Throughput, throughput, addition[1])] {
            let quantity = Quantity::Compute { node, of: N::TYPE, what, manner };
            let own: Vec<f64> = values.iter().map(|value| (value - if adds { addition } else { 0.0 }).max(LEAST)).collect();
            tell(Sample::of(quantity, 0, &own).expect("differences of finite times, and there are some"));
        }
    };
    say(Add::WHAT, Add::ADDS, additions);
    say(Subtract::WHAT, Subtract::ADDS, both::<N, Subtract>(memory));
    say(Multiply::WHAT, Multiply::ADDS, both::<N, Multiply>(memory));
    say(Divide::WHAT, Divide::ADDS, both::<N, Divide>(memory));
    say(Remainder::WHAT, Remainder::ADDS, both::<N, Remainder>(memory));
    say(Compare::WHAT, Compare::ADDS, both::<N, Compare>(memory));
    say(Assign::WHAT, Assign::ADDS, both::<N, Assign>(memory));
    say(Load::WHAT, Load::ADDS, both::<N, Load>(memory));
}

/// Nothing takes less than a thousandth of a nanosecond: what is measured as less is noise.
const LEAST: f64 = 1e-12;

fn both<N: Number, S: Step>(memory: &[N; PLACES]) -> [Vec<f64>; 2] {
    [steps::<N, S, 1>(memory), steps::<N, S, WIDE>(memory)]
}

/// Places that each name the next one, such that all are visited before the first comes again.
fn round_trip<N: Number>(seed: u64) -> [N; PLACES] {
    let next = super::memory::round_trip(PLACES, &mut Random::new(seed));
    std::array::from_fn(|place| N::of_place(next[place]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Named;

    #[test]
    fn everything_is_measured_once_and_takes_time() {
        let mut told = Vec::new();
        measure(0, 1, |sample| told.push(sample));
        let all = NumberType::ALL.len() * Arithmetic::ALL.len() * 2;
        assert_eq!(told.len(), all);
        assert!(told.iter().all(|sample| sample.kept.len() == TIMES && sample.kept.iter().all(|time| *time > 0.0)));
        let mut quantities: Vec<Quantity> = told.iter().map(|sample| sample.quantity).collect();
        quantities.sort_unstable();
        quantities.dedup();
        assert_eq!(quantities.len(), all);
    }

    #[test]
    fn numbers_stay_where_each_step_costs_the_same() {
        let memory = &round_trip::<f64>(1);
        for value in [run::<f64, Divide, 1, 8>(1000, f64::START, memory), run::<f64, Remainder, 1, 8>(1000, f64::START, memory)] {
            assert!(value.is_finite() && value.abs() < 100.0, "{value}");
        }
    }
}
