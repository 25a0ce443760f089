//! What arithmetic costs: the same steps run in a loop that holds few of them and in one that holds many. The difference is theirs alone;
//! what the loop itself costs is in both.
//!
//! The compiler knows neither the numbers nor what becomes of them. Within a round it could only shorten a chain by a law of arithmetic, so
//! steps are chosen that no law shortens: each uses the results of the two before, or divides by the one before.
//!
//! Programs seldom do the same thing all the time. What does not wait is therefore timed among others as well, see [`company`].

mod company;
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
    Abs, Add, Besides, Bits, Branch, Call, Compare, Convert, Cos, Divide, Exp, Floor, Given, Load, Log, Multiply, Pow, Read, Remainder,
    Shift, Sin, Sqrt, Step, Store, Subtract, Tan, Write,
};

/// Steps in a block, which the compiler writes one after the other: a loop around fewer of them would be part of what they seem to cost.
const BLOCK: usize = 8;
/// Blocks in the round of the short loop and of the long one.
const FEW: usize = 2;
const MANY: usize = 6;
/// Chains side by side: enough to keep the units of a core busy, few enough for its registers.
const WIDE: usize = 6;
/// How often each cost is measured.
const TIMES: usize = 15;
/// The places of the memory that is read and written: with 8 bytes each, they fit into any nearest cache.
const PLACES: usize = 512;
/// From one step's place to the next one's: not neighbours, of which the compiler would take several at once.
const APART: usize = 5;

/// `rounds` rounds of `BLOCKS` blocks of steps in each of `CHAINS` chains.
#[inline(never)]
fn run<N: Number, S: Step<N>, const CHAINS: usize, const BLOCKS: usize>(
    rounds: usize,
    start: [N; 4],
    memory: &mut [N; PLACES],
) -> [N; CHAINS] {
    let [first, second, same, nothing] = start;
    let (mut before, mut last) = ([first; CHAINS], [second; CHAINS]);
    for _ in 0..rounds {
        for chain in 0..CHAINS {
            (before[chain], last[chain]) = (black_box(before[chain]), black_box(last[chain]));
        }
        for _ in 0..BLOCKS {
            let memory = black_box(&mut *memory);
            for step in 0..BLOCK {
                for chain in 0..CHAINS {
                    let place = (step * CHAINS + chain) * APART % PLACES;
                    let next = S::step(Given { before: before[chain], last: last[chain], same, nothing, memory, place });
                    (before[chain], last[chain]) = (last[chain], next);
                }
            }
        }
    }
    last.map(black_box)
}

/// The seconds of one step, measured several times.
fn steps<N: Number, S: Step<N>, const CHAINS: usize>(memory: [N; PLACES]) -> Vec<f64> {
    let start = black_box(N::START);
    let [mut of_few, mut of_many] = [memory; 2];
    let mut few = |rounds| time(|| run::<N, S, CHAINS, FEW>(rounds, start, &mut of_few));
    let mut many = |rounds| time(|| run::<N, S, CHAINS, MANY>(rounds, start, &mut of_many));
    let rounds = enough(&mut many);
    (0..TIMES).map(|_| (many(rounds) - few(rounds)) / ((MANY - FEW) * BLOCK * CHAINS * rounds) as f64).collect()
}

fn time<R>(run: impl FnOnce() -> R) -> f64 {
    let began = Instant::now();
    black_box(run());
    began.elapsed().as_secs_f64()
}

/// So many rounds that a clock of some nanoseconds tells two loops apart.
fn enough(mut time: impl FnMut(usize) -> f64) -> usize {
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
    /// The times of one round of a loop as programs have it.
    rounds: Vec<f64>,
}

impl<N: Number> Bench<N> {
    fn new(node: usize, seed: u64) -> Bench<N> {
        let memory = round_trip::<N>(seed);
        let [additions, multiplications] = [both::<N, Add, Add>(memory), both::<N, Multiply, Multiply>(memory)];
        Bench { node, memory, additions, multiplications, rounds: company::rounds::<N>() }
    }

    fn of_numbers(&self, tell: &mut impl FnMut(Sample)) {
        self.say_in_company(Arithmetic::Add, self.additions.clone(), tell);
        self.say_in_company(Arithmetic::Multiply, self.multiplications.clone(), tell);
        self.measure::<Subtract>(tell);
        self.measure::<Divide>(tell);
        self.measure::<Remainder>(tell);
        self.measure_apart::<Compare, Branch>(tell);
        self.measure::<Convert>(tell);
        self.measure_apart::<Store, Write>(tell);
        self.measure_apart::<Load, Read>(tell);
        self.measure::<Abs>(tell);
    }

    fn measure<S: Step<N>>(&self, tell: &mut impl FnMut(Sample)) {
        self.measure_apart::<S, S>(tell);
    }

    /// An operation that has one step for those that wait for each other, and another one for those that do not.
    fn measure_apart<Waiting: Step<N>, Free: Step<N>>(&self, tell: &mut impl FnMut(Sample)) {
        let [mut latency, mut throughput] = both::<N, Waiting, Free>(self.memory);
        let besides = self.besides(Waiting::BESIDES)[0];
        latency.iter_mut().for_each(|step| *step -= besides);
        let besides = self.besides(Free::BESIDES)[1];
        throughput.iter_mut().for_each(|step| *step = alone(*step, besides, Free::BESIDES.operations()));
        self.say_in_company(Waiting::WHAT, [latency, throughput], tell);
    }

    /// What an operation takes when it waits, and when it does not but has others around it.
    fn say_in_company(&self, what: Arithmetic, [latency, throughput]: [Vec<f64>; 2], tell: &mut impl FnMut(Sample)) {
        self.say(what, &[latency, company::among(throughput, &self.rounds)], tell);
    }

    /// What the operations besides take, one after another and side by side.
    fn besides(&self, besides: Besides) -> [f64; 2] {
        let [additions, multiplications] = [&self.additions, &self.multiplications].map(|of| of.each_ref().map(|times| middle(times)));
        match besides {
            Besides::Nothing => [0.0; 2],
            Besides::Addition => additions,
            Besides::AdditionAndMultiplication => [0, 1].map(|manner| additions[manner] + multiplications[manner]),
        }
    }

    /// What one byte costs in a piece of memory that is small, and in one that is large.
    fn allocation(&self, tell: &mut impl FnMut(Sample)) {
        const SIZES: [usize; 2] = [64, 64 << 10];
        let byte = |size: usize| {
            let time = |times: usize| time(|| (0..times).for_each(|_| drop(black_box(vec![0u8; black_box(size)]))));
            let times = enough(time);
            (0..TIMES).map(|_| time(times) / (times * size) as f64).collect()
        };
        self.say(Arithmetic::New, &SIZES.map(byte), tell);
    }

    fn say(&self, what: Arithmetic, values: &[Vec<f64>; 2], tell: &mut impl FnMut(Sample)) {
        for (manner, values) in [Manner::Latency, Manner::Throughput].into_iter().zip(in_order(values)) {
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

fn middle(times: &[f64]) -> f64 {
    median(times).expect("there are some, all finite")
}

/// What an operation takes of a step that runs beside others, and holds more `operations` that take `besides` by themselves.
///
/// A core does several of them at once, so that the difference may be too little, or nothing: then the operation takes its share.
fn alone(step: f64, besides: f64, operations: u32) -> f64 {
    (step - besides).max(step / f64::from(1 + operations))
}

/// The times of steps that wait, and of those that do not: waiting makes nothing faster, so a latency is at least its throughput.
fn in_order([latency, throughput]: &[Vec<f64>; 2]) -> [&Vec<f64>; 2] {
    [if middle(latency) < middle(throughput) { throughput } else { latency }, throughput]
}

/// The times of steps that wait for each other, on a round trip through `memory`, and of those that do not, in memory with ordinary numbers.
fn both<N: Number, Waiting: Step<N>, Free: Step<N>>(memory: [N; PLACES]) -> [Vec<f64>; 2] {
    [steps::<N, Waiting, 1>(memory), steps::<N, Free, WIDE>([N::START[0]; PLACES])]
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
        let memory = &mut round_trip::<f64>(1);
        for [value] in [run::<f64, Divide, 1, 1>(1000, f64::START, memory), run::<f64, Remainder, 1, 1>(1000, f64::START, memory)] {
            assert!(value.is_finite() && value.abs() < 100.0, "{value}");
        }
    }

    #[test]
    fn branches_are_never_taken_and_elements_are_written() {
        let mut memory = [0; PLACES];
        let [_, second, ..] = i32::START;
        assert_eq!(run::<i32, Branch, 1, 1>(3, i32::START, &mut memory), [second]);
        run::<i32, Write, 2, 1>(1, i32::START, &mut memory);
        assert_eq!(memory.iter().filter(|element| **element == second).count(), 2 * BLOCK);
    }

    #[test]
    fn an_operation_takes_the_rest_of_its_step_and_at_least_its_share() {
        assert_eq!(alone(5.0, 2.0, 1), 3.0);
        assert_eq!(alone(5.0, 4.0, 1), 2.5);
        assert_eq!(alone(6.0, 6.0, 2), 2.0);
        assert_eq!(alone(5.0, 0.0, 0), 5.0);
    }

    #[test]
    fn no_throughput_is_above_its_latency() {
        let [slow, quick] = [vec![3.0, 4.0, 5.0], vec![1.0, 2.0, 9.0]];
        assert_eq!(in_order(&[slow.clone(), quick.clone()]), [&slow, &quick]);
        assert_eq!(in_order(&[quick, slow.clone()]), [&slow, &slow]);
    }
}
