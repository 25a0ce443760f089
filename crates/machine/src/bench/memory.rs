//! Costs of memory access by size of the working set.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sintonia_fit::SplitMix64;

use super::core_wait::CoreWaitTimer;
use super::repetitions::{Repetitions, TimedRound};
use super::sample::{BenchQuantity, BenchSample};
use crate::{MemoryAccess, Named, free_memory};

/// Bytes of a cache line.
const CACHE_LINE: usize = 64;
const WORDS_PER_LINE: usize = CACHE_LINE / 8;
/// Least and most samples of a point.
const MIN_SAMPLES: usize = 5;
const MAX_SAMPLES: usize = 25;

/// Working set sizes: powers of two and values between, up to twice the last cache if memory allows.
pub(super) fn working_set_sizes(last_cache: Option<u64>, quick: bool) -> Vec<u64> {
    const LEAST: u64 = 4 << 10;
    const USUALLY_FREE: u64 = 1 << 30;
    let free = free_memory().unwrap_or(USUALLY_FREE);
    let most = if quick { 32 << 20 } else { last_cache.unwrap_or(64 << 20).saturating_mul(2).clamp(64 << 20, 1 << 30).min(free / 4) };
    let between = |power: u64| if quick { power } else { power + power / 2 };
    let powers = (0..u64::BITS).map(|exponent| LEAST << exponent).take_while(|power| *power <= most);
    let mut amounts: Vec<u64> = powers.flat_map(|power| [power, between(power)]).filter(|amount| *amount <= most).chain([most]).collect();
    amounts.dedup();
    amounts
}

/// Measures all kinds of access in a working set of this size, within that time.
pub(super) fn measure(node: usize, amount: u64, seed: u64, time: Duration, mut tell: impl FnMut(BenchSample)) {
    let lines = (amount as usize / CACHE_LINE).max(2);
    let mut memory = vec![[1u64; WORDS_PER_LINE]; lines];
    for &access in MemoryAccess::ALL {
        let share = time / MemoryAccess::ALL.len() as u32;
        let timer = CoreWaitTimer::start();
        let values = match access {
            MemoryAccess::Latency => chase_pointers(&mut memory, seed, share),
            MemoryAccess::Read => time_per_byte(share, lines * CACHE_LINE, || read_all(black_box(&memory))),
            // `black_box` keeps the stores: the compiler must assume that they are read.
            MemoryAccess::Write => time_per_byte(share, lines * CACHE_LINE, || {
                memory.fill(black_box([1; WORDS_PER_LINE]));
                black_box(&mut memory);
            }),
            MemoryAccess::Copy => {
                let (from, to) = memory.split_at_mut(lines / 2);
                time_per_byte(share, from.len() * CACHE_LINE, || {
                    to[..from.len()].copy_from_slice(black_box(&*from));
                    black_box(&mut *to);
                })
            }
        };
        let mut repetitions = Repetitions::default();
        repetitions.add(TimedRound { values: vec![values], core_wait: timer.share() });
        for counted in repetitions.counted() {
            let sample = BenchSample::from_values(BenchQuantity::Memory { node, access }, amount, &counted.values);
            let sample = sample.expect("finite times, and there are some");
            tell(BenchSample { disturbance: counted.disturbance, ..sample });
        }
    }
}

/// Reads everything; vectorised by the compiler.
fn read_all(memory: &[[u64; WORDS_PER_LINE]]) {
    let mut sums = [0u64; WORDS_PER_LINE];
    for line in memory {
        for (sum, word) in sums.iter_mut().zip(line) {
            *sum = sum.wrapping_add(*word);
        }
    }
    black_box(sums);
}

/// Seconds per byte of `work`, repeated until the clock resolves it.
fn time_per_byte(time: Duration, bytes: usize, mut work: impl FnMut()) -> Vec<f64> {
    const BLOCK: usize = 256 << 10;
    let passes = BLOCK.div_ceil(bytes);
    time_per_unit(time, || {
        (0..passes).for_each(|_| work());
        (passes * bytes) as f64
    })
}

/// Seconds per unit of `work`, which returns the units done; the first call warms up.
fn time_per_unit(time: Duration, mut work: impl FnMut() -> f64) -> Vec<f64> {
    work();
    let began = Instant::now();
    let mut values = Vec::new();
    while values.len() < MIN_SAMPLES || (values.len() < MAX_SAMPLES && began.elapsed() < time) {
        let start = Instant::now();
        let done = work();
        values.push(start.elapsed().as_secs_f64().max(1e-12) / done);
    }
    values
}

/// Seconds per load in a chain of dependent loads, in an order that no prefetcher predicts.
fn chase_pointers(memory: &mut [[u64; WORDS_PER_LINE]], seed: u64, time: Duration) -> Vec<f64> {
    const STEPS: usize = 4096;
    let next = random_cycle(memory.len(), &mut SplitMix64::new(seed));
    memory.iter_mut().zip(next).for_each(|(line, next)| line[0] = next as u64);
    let mut at = 0usize;
    let mut follow = |steps: usize| {
        for _ in 0..steps {
            at = memory[at][0] as usize;
        }
        at = black_box(at);
        steps as f64
    };
    // One round first, so that a working set that fits into a cache is in it.
    follow(memory.len().min(1 << 22));
    let values = time_per_unit(time, || follow(STEPS));
    memory.iter_mut().for_each(|line| line[0] = 1);
    values
}

/// A random cycle through all elements (Sattolo's algorithm): the successor of each.
pub(super) fn random_cycle(count: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.index_below(last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_visits_every_element() {
        let next = random_cycle(97, &mut SplitMix64::new(3));
        let mut at = 0;
        let mut visited = [false; 97];
        for _ in 0..97 {
            visited[at] = true;
            at = next[at];
        }
        assert!(at == 0 && visited.iter().all(|visited| *visited));
    }

    #[test]
    fn every_access_is_measured_and_takes_time() {
        let mut samples = Vec::new();
        measure(0, 8 << 10, 1, Duration::from_millis(4), |sample| samples.push(sample));
        assert_eq!(
            samples.iter().map(|sample| sample.quantity).collect::<Vec<_>>(),
            MemoryAccess::ALL.iter().map(|access| BenchQuantity::Memory { node: 0, access: *access }).collect::<Vec<_>>()
        );
        assert!(samples.iter().all(|sample| sample.count >= MIN_SAMPLES as u64 && sample.kept.iter().all(|time| *time > 0.0)));
    }

    #[test]
    fn working_sets_exceed_the_last_cache() {
        assert_eq!(working_set_sizes(Some(16 << 20), true).last(), Some(&(32 << 20)));
        assert_eq!(working_set_sizes(Some(40 << 20), false).last(), Some(&(80 << 20)));
        assert!(working_set_sizes(Some(u64::MAX), false).last().is_some_and(|most| *most <= 1 << 30));
    }
}
