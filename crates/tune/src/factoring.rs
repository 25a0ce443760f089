//! The tunlet `factoring`: how a master cuts its work into batches, after section 5.4.1 of the paper on MATE.
//!
//! The first iteration is cut in halves. From then on, when an iteration begins, the times of the tasks in the latest iterations give the
//! share of the first batch (`1/x0`) and of the second (`1/x1`); and whenever a worker has finished a chunk, the share of later ones.

use std::collections::HashMap;

use sintonia_link::order::{Side, When};

use crate::point::{Actor, MeasurePoint, Moment, Needs, TuningPoint};
use crate::schedule::dynamic_factors;
use crate::statistics::Window;
use crate::tunlet::{Happening, Tunlet, Wish};

/// The names that the program has for what the tunlet looks at; usually those of the paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The master's function that hands out the work of one iteration.
    pub iteration: String,
    /// The worker's function that does a chunk.
    pub compute: String,
    /// Its parameter that says how many tasks the chunk has.
    pub tasks: String,
    /// The variable with the number of workers, in the master.
    pub workers: String,
    /// The variables with the shares of the first, the second and later batches.
    pub factors: [String; 3],
}

impl Default for Names {
    fn default() -> Names {
        Names {
            iteration: "global_sendreceive".into(),
            compute: "arcStepKernel".into(),
            tasks: "NTareas".into(),
            workers: "NW".into(),
            factors: ["F0".into(), "F1".into(), "F2".into()],
        }
    }
}

/// The share that every batch of the first iteration gets.
const FIRST: f64 = 0.5;
/// A change smaller than this is noise, and not worth making.
const WORTH: f64 = 0.01;

const BEGINS: usize = 0;
const CHUNK_BEGINS: usize = 1;
const CHUNK_ENDS: usize = 2;

/// The tunlet.
#[derive(Debug)]
pub struct Factoring {
    names: Names,
    /// Times of tasks, in seconds, in the latest iterations.
    times: Window,
    workers: f64,
    /// Chunks under way: when each began, and how many tasks it has, by rank.
    chunks: HashMap<u32, (f64, u64)>,
    /// The shares as they are now.
    factors: [Option<f64>; 3],
    /// How many iterations have begun.
    iterations: u64,
}

impl Factoring {
    /// For a program with these names; times of so many iterations count.
    pub fn new(names: Names, history: usize) -> Factoring {
        Factoring { names, times: Window::new(history), workers: 1.0, chunks: HashMap::new(), factors: [None; 3], iterations: 0 }
    }

    fn iteration_begins(&mut self, happening: &Happening) -> Vec<Wish> {
        self.workers = happening.values.first().copied().unwrap_or(1.0).max(1.0);
        self.iterations += 1;
        let wishes = match self.inverses() {
            None => (0..3).filter_map(|batch| self.wish(batch, FIRST, "nothing is known of its tasks yet".into())).collect(),
            Some((first, later)) => {
                let why = self.why();
                [(0, first), (1, later)].into_iter().filter_map(|(batch, inverse)| self.wish(batch, 1.0 / inverse, why.clone())).collect()
            }
        };
        self.times.begin();
        wishes
    }

    fn chunk_ends(&mut self, happening: &Happening) -> Vec<Wish> {
        let Some((begin, tasks)) = self.chunks.remove(&happening.rank) else { return Vec::new() };
        if tasks > 0 {
            self.times.add((happening.time - begin).max(0.0) / tasks as f64, tasks);
        }
        // Before an iteration is complete only its quickest chunks are known.
        let Some((_, later)) = self.inverses().filter(|_| self.iterations > 1) else { return Vec::new() };
        let why = self.why();
        self.wish(2, 1.0 / later, why).into_iter().collect()
    }

    fn inverses(&self) -> Option<(f64, f64)> {
        let sums = self.times.sums();
        dynamic_factors(sums.mean(), sums.deviation(), self.workers as usize)
    }

    fn why(&self) -> String {
        let sums = self.times.sums();
        format!(
            "a task takes {:.3} ms with a deviation of {:.0} %, for {} workers",
            1e3 * sums.mean(),
            100.0 * sums.deviation() / sums.mean(),
            self.workers
        )
    }

    /// Wishes a share, if it differs from what is there.
    fn wish(&mut self, batch: usize, share: f64, why: String) -> Option<Wish> {
        if self.factors[batch].is_some_and(|now| (now - share).abs() < WORTH) {
            return None;
        }
        self.factors[batch] = Some(share);
        Some(Wish { point: batch, value: share, why })
    }
}

impl Tunlet for Factoring {
    fn name(&self) -> &str {
        "factoring"
    }

    fn needs(&self, _processes: u32) -> Needs {
        let Names { iteration, compute, tasks, workers, factors } = &self.names;
        let measure = |actor, function: &String, side, values: &[&String]| MeasurePoint {
            actor,
            function: function.clone(),
            side,
            values: values.iter().map(|value| (*value).clone()).collect(),
        };
        let tune = |variable: &String| TuningPoint {
            actor: Actor::Master,
            variable: variable.clone(),
            range: (0.0, 1.0),
            moment: Moment::AtOnce,
            when: When::Once,
        };
        Needs {
            measures: vec![
                measure(Actor::Master, iteration, Side::Entry, &[workers]),
                measure(Actor::Workers, compute, Side::Entry, &[tasks]),
                measure(Actor::Workers, compute, Side::Exit, &[]),
            ],
            tunes: factors.iter().map(tune).collect(),
        }
    }

    fn happened(&mut self, happening: &Happening) -> Vec<Wish> {
        match happening.point {
            BEGINS => self.iteration_begins(happening),
            CHUNK_BEGINS => {
                let tasks = happening.values.first().map_or(0, |tasks| tasks.max(0.0) as u64);
                self.chunks.insert(happening.rank, (happening.time, tasks));
                Vec::new()
            }
            CHUNK_ENDS => self.chunk_ends(happening),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happening(point: usize, rank: u32, time: f64, values: &[f64]) -> Happening {
        let side = if point == BEGINS || point == CHUNK_BEGINS { Side::Entry } else { Side::Exit };
        Happening { point, rank, side, time, values: values.to_vec() }
    }

    /// An iteration in which each of two workers does one chunk of ten tasks in its own time.
    fn iteration(tunlet: &mut Factoring, begin: f64, times: [f64; 2]) -> Vec<Wish> {
        let mut wishes = tunlet.happened(&happening(BEGINS, 0, begin, &[2.0]));
        for (rank, time) in (1..).zip(times) {
            wishes.extend(tunlet.happened(&happening(CHUNK_BEGINS, rank, begin, &[10.0])));
            wishes.extend(tunlet.happened(&happening(CHUNK_ENDS, rank, begin + time, &[])));
        }
        wishes
    }

    #[test]
    fn the_first_iteration_is_cut_in_halves() {
        let mut tunlet = Factoring::new(Names::default(), 3);
        let wishes = iteration(&mut tunlet, 0.0, [1.0, 1.0]);
        assert_eq!(wishes.iter().map(|wish| (wish.point, wish.value)).collect::<Vec<_>>(), [(0, 0.5), (1, 0.5), (2, 0.5)]);
    }

    #[test]
    fn later_ones_by_mean_and_deviation_as_in_the_paper() {
        let mut tunlet = Factoring::new(Names::default(), 3);
        iteration(&mut tunlet, 0.0, [1.0, 3.0]);
        let wishes = tunlet.happened(&happening(BEGINS, 0, 4.0, &[2.0]));
        // A mean of 0.2 s and a deviation of 0.1 s give x0 = 1.5 and x1 = 2.5.
        let values: Vec<(usize, f64)> = wishes.iter().map(|wish| (wish.point, wish.value)).collect();
        assert_eq!(values.len(), 2);
        assert!((values[0].1 - 1.0 / 1.5).abs() < 1e-9 && (values[1].1 - 1.0 / 2.5).abs() < 1e-9, "{values:?}");
        assert!(wishes[0].why.contains("50 %"));
    }

    #[test]
    fn what_does_not_change_is_not_changed_again() {
        let mut tunlet = Factoring::new(Names::default(), 3);
        iteration(&mut tunlet, 0.0, [1.0, 1.0]);
        assert!(!iteration(&mut tunlet, 2.0, [1.0, 1.0]).is_empty());
        assert_eq!(iteration(&mut tunlet, 4.0, [1.0, 1.0]), []);
    }

    #[test]
    fn a_load_that_moves_is_followed_within_three_iterations() {
        let mut tunlet = Factoring::new(Names::default(), 2);
        (0..5).for_each(|round| drop(iteration(&mut tunlet, 2.0 * f64::from(round), [1.0, 1.0])));
        assert!((tunlet.factors[0].expect("known") - 1.0).abs() < 1e-9);
        (5..8).for_each(|round| drop(iteration(&mut tunlet, 2.0 * f64::from(round), [0.5, 1.5])));
        assert!((tunlet.factors[0].expect("known") - 1.0 / 1.5).abs() < 0.02, "{:?}", tunlet.factors);
    }
}
