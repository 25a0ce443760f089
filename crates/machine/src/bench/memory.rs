//! What memory costs, by how much of it is in use: the nearest cache holds little, the next one more.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sintonia_fit::Random;

use super::sample::{Quantity, Sample};
use crate::{Access, Named, free_memory};

/// What is fetched at once: caches know no less.
const LINE: usize = 64;
const WORDS: usize = LINE / 8;
/// The fewest measurements of a point, and the most.
const FEWEST: usize = 5;
const MOST: usize = 25;

/// The amounts of memory in use that are measured: powers of two and what is between, to twice the last cache if that may be.
pub fn amounts(last_cache: Option<u64>, quick: bool) -> Vec<u64> {
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

/// What each use of so much memory costs on this node, within that time.
pub fn measure(node: usize, amount: u64, seed: u64, time: Duration, mut tell: impl FnMut(Sample)) {
    let lines = (amount as usize / LINE).max(2);
    let mut memory = vec![[1u64; WORDS]; lines];
    for &access in Access::ALL {
        let share = time / Access::ALL.len() as u32;
        let values = match access {
            Access::Latency => latency(&mut memory, seed, share),
            Access::Read => repeated(share, lines * LINE, || read(black_box(&memory))),
            // What is written may be read elsewhere, as far as the compiler knows: else it need not be written.
            Access::Write => repeated(share, lines * LINE, || {
                memory.fill(black_box([1; WORDS]));
                black_box(&mut memory);
            }),
            Access::Copy => {
                let (from, to) = memory.split_at_mut(lines / 2);
                repeated(share, from.len() * LINE, || {
                    to[..from.len()].copy_from_slice(black_box(&*from));
                    black_box(&mut *to);
                })
            }
        };
        let sample = Sample::of(Quantity::Memory { node, access }, amount, &values);
        tell(sample.expect("finite times, and there are some"));
    }
}

/// Reads everything, several lines at a time as a compiler makes of it.
fn read(memory: &[[u64; WORDS]]) {
    let mut sums = [0u64; WORDS];
    for line in memory {
        for (sum, word) in sums.iter_mut().zip(line) {
            *sum = sum.wrapping_add(*word);
        }
    }
    black_box(sums);
}

/// The seconds per byte of some work, measured several times; each time is long enough for the clock.
fn repeated(time: Duration, bytes: usize, mut work: impl FnMut()) -> Vec<f64> {
    const BLOCK: usize = 256 << 10;
    let passes = BLOCK.div_ceil(bytes);
    measured(time, || {
        (0..passes).for_each(|_| work());
        (passes * bytes) as f64
    })
}

/// The seconds per unit of work, which says how much it did; the first time only warms up.
fn measured(time: Duration, mut work: impl FnMut() -> f64) -> Vec<f64> {
    work();
    let began = Instant::now();
    let mut values = Vec::new();
    while values.len() < FEWEST || (values.len() < MOST && began.elapsed() < time) {
        let start = Instant::now();
        let done = work();
        values.push(start.elapsed().as_secs_f64().max(1e-12) / done);
    }
    values
}

/// The seconds from one line to the next that it names, in an order that no prefetcher guesses.
fn latency(memory: &mut [[u64; WORDS]], seed: u64, time: Duration) -> Vec<f64> {
    const STEPS: usize = 4096;
    let next = round_trip(memory.len(), &mut Random::new(seed));
    memory.iter_mut().zip(next).for_each(|(line, next)| line[0] = next as u64);
    let mut at = 0usize;
    let mut follow = |steps: usize| {
        for _ in 0..steps {
            at = memory[at][0] as usize;
        }
        at = black_box(at);
        steps as f64
    };
    // Once around, so that what fits into a cache is in it.
    follow(memory.len().min(1 << 22));
    let values = measured(time, || follow(STEPS));
    memory.iter_mut().for_each(|line| line[0] = 1);
    values
}

/// For each place the next one of a random round trip through all of them (Sattolo's shuffle).
pub fn round_trip(places: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..places).collect();
    for last in (1..places).rev() {
        order.swap(last, random.below(last));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_visits_every_place() {
        let next = round_trip(97, &mut Random::new(3));
        let mut at = 0;
        let mut visited = [false; 97];
        for _ in 0..97 {
            visited[at] = true;
            at = next[at];
        }
        assert!(at == 0 && visited.iter().all(|visited| *visited));
    }

    #[test]
    fn every_use_of_memory_is_measured_and_takes_time() {
        let mut told = Vec::new();
        measure(0, 8 << 10, 1, Duration::from_millis(4), |sample| told.push(sample));
        assert_eq!(
            told.iter().map(|sample| sample.quantity).collect::<Vec<_>>(),
            Access::ALL.iter().map(|access| Quantity::Memory { node: 0, access: *access }).collect::<Vec<_>>()
        );
        assert!(told.iter().all(|sample| sample.count >= FEWEST as u64 && sample.kept.iter().all(|time| *time > 0.0)));
    }

    #[test]
    fn amounts_reach_beyond_the_last_cache_when_there_is_time() {
        assert_eq!(amounts(Some(16 << 20), true).last(), Some(&(32 << 20)));
        assert_eq!(amounts(Some(40 << 20), false).last(), Some(&(80 << 20)));
        assert!(amounts(Some(u64::MAX), false).last().is_some_and(|most| *most <= 1 << 30));
    }
}
