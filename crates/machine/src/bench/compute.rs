//! Costs of arithmetic. The same steps run in a loop with few of them and in one with many; the difference is their cost, since both loops
//! have the same overhead.
//!
//! The compiler knows neither the operands nor the use of the results. It could still simplify a chain by algebra, so each step uses the
//! results of the two before it, or divides by the last one.
//!
//! Programs rarely repeat one operation. Throughput is therefore also measured among other operations, see [`mixed_loop`].

mod mixed_loop;
mod number;
mod step;

use std::hint::black_box;
use std::time::{Duration, Instant};

use sintonia_fit::SplitMix64;
use sintonia_fit::sample::median;

use super::sample::{BenchQuantity, BenchSample, CostMode};
use crate::ArithmeticOp;
use number::{BenchFloat, BenchInteger, BenchNumber};
use step::{
    Abs, Add, Bits, Branch, Call, Compare, Convert, Cos, Divide, Exp, Floor, Load, Log, Multiply, Pow, Read, Remainder, Shift, Sin, Sqrt,
    StepOperands, StepOverhead, Store, Subtract, Tan, TimedStep, Write,
};

/// Steps of an unrolled block: with fewer, the loop overhead would count as their cost.
const BLOCK_STEPS: usize = 8;
/// Blocks per round of the short and of the long loop.
const SHORT_BLOCKS: usize = 2;
const LONG_BLOCKS: usize = 6;
/// Parallel chains: enough to keep the execution units busy, few enough for the registers.
const PARALLEL_CHAINS: usize = 6;
/// Samples of each cost.
const REPETITIONS: usize = 15;
/// Elements of the memory that is read and written; at 8 bytes each they fit into any L1 cache.
const MEMORY_SLOTS: usize = 512;
/// Distance between the elements of consecutive steps, so that the compiler does not vectorise them.
const SLOT_STRIDE: usize = 5;

/// `rounds` rounds of `BLOCKS` blocks of steps in each of `CHAINS` chains.
#[inline(never)]
fn run_chains<N: BenchNumber, S: TimedStep<N>, const CHAINS: usize, const BLOCKS: usize>(
    rounds: usize,
    start: [N; 4],
    memory: &mut [N; MEMORY_SLOTS],
) -> [N; CHAINS] {
    let [first, second, same, nothing] = start;
    let (mut before, mut last) = ([first; CHAINS], [second; CHAINS]);
    for _ in 0..rounds {
        for chain in 0..CHAINS {
            (before[chain], last[chain]) = (black_box(before[chain]), black_box(last[chain]));
        }
        for _ in 0..BLOCKS {
            let memory = black_box(&mut *memory);
            for step in 0..BLOCK_STEPS {
                for chain in 0..CHAINS {
                    let index = (step * CHAINS + chain) * SLOT_STRIDE % MEMORY_SLOTS;
                    let next = S::step(StepOperands { before: before[chain], last: last[chain], same, nothing, memory, index });
                    (before[chain], last[chain]) = (last[chain], next);
                }
            }
        }
    }
    last.map(black_box)
}

/// Seconds per step, sampled several times.
fn time_steps<N: BenchNumber, S: TimedStep<N>, const CHAINS: usize>(memory: [N; MEMORY_SLOTS]) -> Vec<f64> {
    let start = black_box(N::START);
    let [mut of_few, mut of_many] = [memory; 2];
    let mut few = |rounds| time(|| run_chains::<N, S, CHAINS, SHORT_BLOCKS>(rounds, start, &mut of_few));
    let mut many = |rounds| time(|| run_chains::<N, S, CHAINS, LONG_BLOCKS>(rounds, start, &mut of_many));
    let rounds = enough_rounds(&mut many);
    (0..REPETITIONS).map(|_| (many(rounds) - few(rounds)) / ((LONG_BLOCKS - SHORT_BLOCKS) * BLOCK_STEPS * CHAINS * rounds) as f64).collect()
}

fn time<R>(run: impl FnOnce() -> R) -> f64 {
    let start = Instant::now();
    black_box(run());
    start.elapsed().as_secs_f64()
}

/// Enough rounds for the resolution of the clock.
fn enough_rounds(mut time: impl FnMut(usize) -> f64) -> usize {
    const LONG: f64 = 30e-6;
    let mut rounds = 64;
    while time(rounds) < LONG && rounds < 1 << 20 {
        rounds *= 2;
    }
    rounds
}

/// Measures all operations on this node, which has the index `node` among the node types. Number types are left out when the time is over.
pub(super) fn measure(node: usize, seed: u64, time: Duration, mut tell: impl FnMut(BenchSample)) {
    let began = Instant::now();
    let number_types: [NumberTypeBench; 4] = [measure_int32, measure_float64, measure_int64, measure_float32];
    for (index, measure) in number_types.iter().enumerate() {
        if index == 0 || began.elapsed() < time {
            measure(node, seed, &mut tell);
        }
    }
}

/// Measures all operations of one number type: index of the node type, seed, and where samples go.
type NumberTypeBench = fn(usize, u64, &mut dyn FnMut(BenchSample));

fn measure_int32(node: usize, seed: u64, tell: &mut dyn FnMut(BenchSample)) {
    let int32 = ArithmeticBench::<i32>::new(node, seed);
    int32.measure_common(tell);
    int32.measure_bits(tell);
    int32.measure::<Call>(tell);
    int32.allocation(tell);
}

fn measure_int64(node: usize, seed: u64, tell: &mut dyn FnMut(BenchSample)) {
    let int64 = ArithmeticBench::<i64>::new(node, seed);
    int64.measure_common(tell);
    int64.measure_bits(tell);
}

fn measure_float32(node: usize, seed: u64, tell: &mut dyn FnMut(BenchSample)) {
    let float32 = ArithmeticBench::<f32>::new(node, seed);
    float32.measure_common(tell);
    float32.measure_functions(tell);
}

fn measure_float64(node: usize, seed: u64, tell: &mut dyn FnMut(BenchSample)) {
    let float64 = ArithmeticBench::<f64>::new(node, seed);
    float64.measure_common(tell);
    float64.measure_functions(tell);
}

/// Benchmarks one number type, and keeps the times to subtract where a step holds more than its operation.
struct ArithmeticBench<N> {
    node: usize,
    memory: [N; MEMORY_SLOTS],
    /// Times of dependent and of independent steps.
    additions: [Vec<f64>; 2],
    multiplications: [Vec<f64>; 2],
    /// Times of one round of a typical loop.
    rounds: Vec<f64>,
}

impl<N: BenchNumber> ArithmeticBench<N> {
    fn new(node: usize, seed: u64) -> ArithmeticBench<N> {
        let memory = random_cycle::<N>(seed);
        let [additions, multiplications] =
            [latency_and_throughput::<N, Add, Add>(memory), latency_and_throughput::<N, Multiply, Multiply>(memory)];
        ArithmeticBench { node, memory, additions, multiplications, rounds: mixed_loop::time_rounds::<N>() }
    }

    fn measure_common(&self, tell: &mut dyn FnMut(BenchSample)) {
        self.report_mixed(ArithmeticOp::Add, self.additions.clone(), tell);
        self.report_mixed(ArithmeticOp::Multiply, self.multiplications.clone(), tell);
        self.measure::<Subtract>(tell);
        self.measure::<Divide>(tell);
        self.measure::<Remainder>(tell);
        self.measure_separately::<Compare, Branch>(tell);
        self.measure::<Convert>(tell);
        self.measure_separately::<Store, Write>(tell);
        self.measure_separately::<Load, Read>(tell);
        self.measure::<Abs>(tell);
    }

    fn measure<S: TimedStep<N>>(&self, tell: &mut dyn FnMut(BenchSample)) {
        self.measure_separately::<S, S>(tell);
    }

    /// Measures an operation with different steps for latency and for throughput.
    fn measure_separately<Waiting: TimedStep<N>, Free: TimedStep<N>>(&self, tell: &mut dyn FnMut(BenchSample)) {
        let [mut latency, mut throughput] = latency_and_throughput::<N, Waiting, Free>(self.memory);
        let overhead = self.overhead_times(Waiting::OVERHEAD)[0];
        latency.iter_mut().for_each(|step| *step -= overhead);
        let overhead = self.overhead_times(Free::OVERHEAD)[1];
        throughput.iter_mut().for_each(|step| *step = without_overhead(*step, overhead, Free::OVERHEAD.operations()));
        self.report_mixed(Waiting::WHAT, [latency, throughput], tell);
    }

    /// Reports the latency of an operation, and its throughput among others.
    fn report_mixed(&self, what: ArithmeticOp, [latency, throughput]: [Vec<f64>; 2], tell: &mut dyn FnMut(BenchSample)) {
        self.report(what, &[latency, mixed_loop::time_in_mix(throughput, &self.rounds)], tell);
    }

    /// Times of the additional operations of a step, dependent and independent.
    fn overhead_times(&self, overhead: StepOverhead) -> [f64; 2] {
        let [additions, multiplications] = [&self.additions, &self.multiplications].map(|of| of.each_ref().map(|times| median_time(times)));
        match overhead {
            StepOverhead::Nothing => [0.0; 2],
            StepOverhead::Addition => additions,
            StepOverhead::AdditionAndMultiplication => [0, 1].map(|manner| additions[manner] + multiplications[manner]),
        }
    }

    /// Cost per byte of a small and of a large allocation.
    fn allocation(&self, tell: &mut dyn FnMut(BenchSample)) {
        const SIZES: [usize; 2] = [64, 64 << 10];
        let byte = |size: usize| {
            let time = |times: usize| time(|| (0..times).for_each(|_| drop(black_box(vec![0u8; black_box(size)]))));
            let times = enough_rounds(time);
            (0..REPETITIONS).map(|_| time(times) / (times * size) as f64).collect()
        };
        self.report(ArithmeticOp::New, &SIZES.map(byte), tell);
    }

    fn report(&self, what: ArithmeticOp, values: &[Vec<f64>; 2], tell: &mut dyn FnMut(BenchSample)) {
        for (manner, values) in [CostMode::Latency, CostMode::Throughput].into_iter().zip(with_latency_above_throughput(values)) {
            let quantity = BenchQuantity::Compute { node: self.node, of: N::TYPE, what, manner };
            let values: Vec<f64> = values.iter().map(|value| value.max(MIN_STEP_TIME)).collect();
            tell(BenchSample::from_values(quantity, 0, &values).expect("differences of finite times, and there are some"));
        }
    }
}

impl<N: BenchInteger> ArithmeticBench<N> {
    fn measure_bits(&self, tell: &mut dyn FnMut(BenchSample)) {
        self.measure::<Bits>(tell);
        self.measure::<Shift>(tell);
    }
}

impl<N: BenchFloat> ArithmeticBench<N> {
    fn measure_functions(&self, tell: &mut dyn FnMut(BenchSample)) {
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

/// Shorter times are noise.
const MIN_STEP_TIME: f64 = 1e-12;

fn median_time(times: &[f64]) -> f64 {
    median(times).expect("there are some, all finite")
}

/// The time of an operation in a step with `operations` others that take `overhead` alone.
///
/// A core overlaps them, so the difference may be too small or negative; then the operation takes its share.
fn without_overhead(step: f64, overhead: f64, operations: u32) -> f64 {
    (step - overhead).max(step / f64::from(1 + operations))
}

/// Latency cannot be below throughput.
fn with_latency_above_throughput([latency, throughput]: &[Vec<f64>; 2]) -> [&Vec<f64>; 2] {
    [if median_time(latency) < median_time(throughput) { throughput } else { latency }, throughput]
}

/// Times of dependent steps, following a random cycle through `memory`, and of independent steps on ordinary numbers.
fn latency_and_throughput<N: BenchNumber, Waiting: TimedStep<N>, Free: TimedStep<N>>(memory: [N; MEMORY_SLOTS]) -> [Vec<f64>; 2] {
    [time_steps::<N, Waiting, 1>(memory), time_steps::<N, Free, PARALLEL_CHAINS>([N::START[0]; MEMORY_SLOTS])]
}

/// A random cycle through all elements, each holding the index of the next.
fn random_cycle<N: BenchNumber>(seed: u64) -> [N; MEMORY_SLOTS] {
    let next = super::memory::random_cycle(MEMORY_SLOTS, &mut SplitMix64::new(seed));
    std::array::from_fn(|index| N::from_index(next[index]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Named, NumberType};

    #[test]
    fn everything_is_measured_once_and_takes_time() {
        let mut samples = Vec::new();
        measure(0, 1, Duration::MAX, |sample| samples.push(sample));
        // Ten for each type, two for integers, eight functions of floating-point numbers, a call and an allocation.
        let all = (10 * NumberType::ALL.len() + 2 * 2 + 2 * 8 + 2) * 2;
        assert_eq!(samples.len(), all);
        assert!(samples.iter().all(|sample| sample.kept.len() == REPETITIONS && sample.kept.iter().all(|time| *time > 0.0)));
        let mut quantities: Vec<BenchQuantity> = samples.iter().map(|sample| sample.quantity).collect();
        quantities.sort_unstable();
        quantities.dedup();
        assert_eq!(quantities.len(), all);
    }

    #[test]
    fn operands_stay_in_the_range_of_constant_cost() {
        let memory = &mut random_cycle::<f64>(1);
        for [value] in
            [run_chains::<f64, Divide, 1, 1>(1000, f64::START, memory), run_chains::<f64, Remainder, 1, 1>(1000, f64::START, memory)]
        {
            assert!(value.is_finite() && value.abs() < 100.0, "{value}");
        }
    }

    #[test]
    fn branches_are_never_taken_and_elements_are_written() {
        let mut memory = [0; MEMORY_SLOTS];
        let [_, second, ..] = i32::START;
        assert_eq!(run_chains::<i32, Branch, 1, 1>(3, i32::START, &mut memory), [second]);
        run_chains::<i32, Write, 2, 1>(1, i32::START, &mut memory);
        assert_eq!(memory.iter().filter(|element| **element == second).count(), 2 * BLOCK_STEPS);
    }

    #[test]
    fn an_operation_takes_the_rest_of_its_step_and_at_least_its_share() {
        assert_eq!(without_overhead(5.0, 2.0, 1), 3.0);
        assert_eq!(without_overhead(5.0, 4.0, 1), 2.5);
        assert_eq!(without_overhead(6.0, 6.0, 2), 2.0);
        assert_eq!(without_overhead(5.0, 0.0, 0), 5.0);
    }

    #[test]
    fn no_throughput_is_above_its_latency() {
        let [slow, quick] = [vec![3.0, 4.0, 5.0], vec![1.0, 2.0, 9.0]];
        assert_eq!(with_latency_above_throughput(&[slow.clone(), quick.clone()]), [&slow, &quick]);
        assert_eq!(with_latency_above_throughput(&[quick, slow.clone()]), [&slow, &slow]);
    }
}
