//! What arithmetic costs: the same steps run in a loop that holds few of them and in one that holds many. The difference is theirs alone;
//! what the loop itself costs is in both.
//!
//! The compiler knows neither the numbers nor what becomes of them. Within a round it could only shorten a chain by a law of arithmetic, so
//! steps are chosen that no law shortens: each uses the results of the two before, or divides by the one before.

mod number;
mod step;

use std::hint::black_box;
use std::time::Instant;

use sintonia_fit::Random;
use sintonia_fit::sample::median;

use super::sample::{Manner, Quantity, Sample};
use crate::Arithmetic;
use number::{Broken, Number, Whole};
use step::{
    Abs, Add, Besides, Bits, Call, Compare, Convert, Cos, Divide, Exp, Floor, Given, Load, Log, Multiply, Pow, Remainder, Shift, Sin, Sqrt,
    Step, Store, Subtract, Tan,
};

/// Steps in the round of the short loop and of the long one.
const FEW: usize = 8;
const MANY: usize = 24;
/// Chains side by side: enough to keep the units of a core busy, few enough for its registers.
const WIDE: usize = 6;
/// How often each cost is measured.
const TIMES: usize = 15;
/// The places of the memory that is read: with 8 bytes each, they fit into any nearest cache.
const PLACES: usize = 512;

/// `rounds` rounds of `STEPS` steps in each of `CHAINS` chains.
#[inline(never)]
fn run<N: Number, S: Step<N>, const CHAINS: usize, const STEPS: usize>(rounds: usize, start: [N; 4], memory: &[N; PLACES]) -> N {
    let [first, second, same, nothing] = start;
    let (mut before, mut last) = ([first; CHAINS], [second; CHAINS]);
    for _ in 0..rounds {
        for chain in 0..CHAINS {
            (before[chain], last[chain]) = (black_box(before[chain]), black_box(last[chain]));
        }
        for _ in 0..STEPS {
            for chain in 0..CHAINS {
                let next = S::step(Given { before: before[chain], last: last[chain], same, nothing, memory });
                (before[chain], last[chain]) = (last[chain], next);
            }
        }
    }
    (0..CHAINS).fold(same, |sum, chain| sum.plus(before[chain]).plus(last[chain]))
}

/// The seconds of one step, measured several times.
fn steps<N: Number, S: Step<N>, const CHAINS: usize>(memory: &[N; PLACES]) -> Vec<f64> {
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
    let int32 = Bench::<i32>::new(node, seed);
    int32.of_numbers(&mut tell);
    int32.of_bits(&mut tell);
    int32.measure::<Call>(&mut tell);
    int32.allocation(&mut tell);
    let int64 = Bench::<i64>::new(node, seed);
    int64.of_numbers(&mut tell);
    int64.of_bits(&mut tell);
    let float32 = Bench::<f32>::new(node, seed);
    float32.of_numbers(&mut tell);
    float32.of_functions(&mut tell);
    let float64 = Bench::<f64>::new(node, seed);
    float64.of_numbers(&mut tell);
    float64.of_functions(&mut tell);
}

/// Everything that is measured of one type of numbers, and what is subtracted where a step holds more than its operation.
struct Bench<N> {
    node: usize,
    memory: [N; PLACES],
    /// The times of steps one after another, and of steps side by side.
    additions: [Vec<f64>; 2],
    multiplications: [Vec<f64>; 2],
}

impl<N: Number> Bench<N> {
    fn new(node: usize, seed: u64) -> Bench<N> {
        let memory = round_trip::<N>(seed);
        Bench { node, memory, additions: both::<N, Add>(&memory), multiplications: both::<N, Multiply>(&memory) }
    }

    fn of_numbers(&self, tell: &mut impl FnMut(Sample)) {
        self.say(Arithmetic::Add, &self.additions, tell);
        self.say(Arithmetic::Multiply, &self.multiplications, tell);
        self.measure::<Subtract>(tell);
        self.measure::<Divide>(tell);
        self.measure::<Remainder>(tell);
        self.measure::<Compare>(tell);
        self.measure::<Convert>(tell);
        self.measure::<Store>(tell);
        self.measure::<Load>(tell);
        self.measure::<Abs>(tell);
    }

    fn measure<S: Step<N>>(&self, tell: &mut impl FnMut(Sample)) {
        let middle = |values: &Vec<f64>| median(values).unwrap_or(0.0);
        let [additions, multiplications] = [&self.additions, &self.multiplications].map(|of| of.each_ref().map(middle));
        let besides = |manner: usize| match S::BESIDES {
            Besides::Nothing => 0.0,
            Besides::Addition => additions[manner],
            Besides::AdditionAndMultiplication => additions[manner] + multiplications[manner],
        };
        let mut values = both::<N, S>(&self.memory);
        for (manner, values) in values.iter_mut().enumerate() {
            values.iter_mut().for_each(|value| *value -= besides(manner));
        }
        self.say(S::WHAT, &values, tell);
    }

    /// What one byte costs in a piece of memory that is small, and in one that is large.
    fn allocation(&self, tell: &mut impl FnMut(Sample)) {
        const SIZES: [usize; 2] = [64, 64 << 10];
        let byte = |size: usize| {
            let time = |times: usize| {
                let began = Instant::now();
                (0..times).for_each(|_| drop(black_box(vec![0u8; black_box(size)])));
                began.elapsed().as_secs_f64()
            };
            let times = enough(time);
            (0..TIMES).map(|_| time(times) / (times * size) as f64).collect()
        };
        self.say(Arithmetic::New, &SIZES.map(byte), tell);
    }

    fn say(&self, what: Arithmetic, values: &[Vec<f64>; 2], tell: &mut impl FnMut(Sample)) {
        for (manner, values) in [Manner::Latency, Manner::Throughput].into_iter().zip(values) {
            let quantity = Quantity::Compute { node: self.node, of: N::TYPE, what, manner };
            let values: Vec<f64> = values.iter().map(|value| value.max(LEAST)).collect();
            tell(Sample::of(quantity, 0, &values).expect("differences of finite times, and there are some"));
        }
    }
}

impl<N: Whole> Bench<N> {
    fn of_bits(&self, tell: &mut impl FnMut(Sample)) {
        self.measure::<Bits>(tell);
        self.measure::<Shift>(tell);
    }
}

impl<N: Broken> Bench<N> {
    fn of_functions(&self, tell: &mut impl FnMut(Sample)) {
        self.measure::<Floor>(tell);
        self.measure::<Sqrt>(tell);
        self.measure::<Sin>(tell);
        self.measure::<Cos>(tell);
        self.measure::<Tan>(tell);
        self.measure::<Exp>(tell);
        self.measure::<Log>(tell);
        self.measure::<Pow>(tell);
    }
}

/// Nothing takes less than a thousandth of a nanosecond: what is measured as less is noise.
const LEAST: f64 = 1e-12;

fn both<N: Number, S: Step<N>>(memory: &[N; PLACES]) -> [Vec<f64>; 2] {
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
    use crate::{Named, NumberType};

    #[test]
    fn everything_is_measured_once_and_takes_time() {
        let mut told = Vec::new();
        measure(0, 1, |sample| told.push(sample));
        // Ten of each type, two of whole numbers, eight functions of numbers with a fraction, a call and an allocation.
        let all = (10 * NumberType::ALL.len() + 2 * 2 + 2 * 8 + 2) * 2;
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
