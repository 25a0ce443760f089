//! The search on functions with a known optimum, with realistic noise.

use super::*;

/// Deterministic noise: a few percent, and occasionally an iteration that takes twice as long.
struct Noise {
    state: u64,
    share: f64,
}

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    fn on(&mut self, time: f64) -> f64 {
        let slow = if self.share > 0.0 && self.uniform() < 0.02 { 2.0 } else { 1.0 };
        time * slow * (1.0 + self.share * (2.0 * self.uniform() - 1.0))
    }
}

/// A simulated program with a search.
struct Run {
    search: ParameterSearch,
    values: Vec<f64>,
    tells: Vec<String>,
    iterations: usize,
}

impl Run {
    fn new(spreads: &[SearchAxisSpec], values: &[f64]) -> Run {
        let names = (0..spreads.len()).map(|place| format!("v{place}")).collect();
        let space = SearchSpace { axes: spreads.iter().map(|spread| SearchAxis::new(*spread)).collect() };
        Run {
            search: ParameterSearch::new(names, space, None, SearchOptions::default()),
            values: values.to_vec(),
            tells: Vec::new(),
            iterations: 0,
        }
    }

    /// Runs iterations of a program; returns their total time without noise.
    fn go(&mut self, iterations: usize, noise: &mut Noise, program: impl Fn(&[f64]) -> f64) -> f64 {
        let mut total = 0.0;
        for _ in 0..iterations {
            let time = program(&self.values);
            total += time;
            self.iterations += 1;
            let step = self.search.sample(noise.on(time));
            self.tells.extend(step.report);
            if let Some(to) = step.values {
                self.values.iter().enumerate().for_each(|(variable, before)| self.search.note_original(variable, *before));
                self.values = to;
            }
        }
        total
    }

    /// Runs until the search has settled.
    fn settle(&mut self, noise: &mut Noise, program: impl Fn(&[f64]) -> f64) {
        while !self.search.is_settled() {
            assert!(self.iterations < 2000, "it does not settle: {:?}", self.tells);
            self.go(1, noise, &program);
        }
    }
}

fn whole(low: f64, high: f64) -> SearchAxisSpec {
    SearchAxisSpec { range: (low, high), step: None, integer_only: true, log: false }
}

fn real(low: f64, high: f64) -> SearchAxisSpec {
    SearchAxisSpec { integer_only: false, ..whole(low, high) }
}

/// Cost of a chunk size: small ones have overhead, large ones cause imbalance.
fn chunks(size: f64) -> f64 {
    1.0 + 40.0 / size + size / 90.0
}

/// A bowl around a point, 1 at its bottom, with correlated variables.
fn bowl(values: &[f64], bottom: &[f64], widths: &[f64]) -> f64 {
    let away: Vec<f64> = values.iter().zip(bottom).zip(widths).map(|((value, bottom), width)| (value - bottom) / width).collect();
    1.0 + away.iter().map(|away| away * away).sum::<f64>() + 0.5 * away.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>()
}

const SEEDS: std::ops::Range<u64> = 1..21;

fn noise(seed: u64, share: f64) -> Noise {
    Noise { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), share }
}

#[test]
fn one_whole_number_is_found_through_noise() {
    for seed in SEEDS {
        let mut run = Run::new(&[whole(1.0, 1000.0)], &[500.0]);
        run.settle(&mut noise(seed, 0.03), |values| chunks(values[0]));
        let best = chunks(60.0);
        assert!(chunks(run.values[0]) < 1.05 * best, "seed {seed}: {:?} {:?}", run.values, run.tells);
        assert!(run.search.measured_points() < 40, "seed {seed}: {}", run.search.measured_points());
    }
}

#[test]
fn without_noise_the_exact_best_whole_number_is_found() {
    for bottom in [1.0, 7.0, 32.0, 64.0] {
        let mut run = Run::new(&[whole(1.0, 64.0)], &[2.0]);
        run.settle(&mut noise(1, 0.0), |values| bowl(values, &[bottom], &[20.0]));
        assert_eq!(run.values, [bottom], "{:?}", run.tells);
    }
}

#[test]
fn two_three_and_four_variables_are_found_with_fewer_points_than_at_random() {
    for dimensions in 2..=4 {
        let (bottom, widths) = (vec![0.7, 20.0, 0.2, 300.0], vec![0.5, 30.0, 0.5, 400.0]);
        let (bottom, widths) = (&bottom[..dimensions], &widths[..dimensions]);
        let spreads = [real(0.0, 1.0), whole(1.0, 64.0), real(0.0, 1.0), whole(1.0, 1000.0)];
        let (mut searched, mut random, mut worst) = (0, 0, 0.0f64);
        for seed in SEEDS {
            let mut run = Run::new(&spreads[..dimensions], &[0.05, 60.0, 0.9, 10.0][..dimensions]);
            run.settle(&mut noise(seed, 0.02), |values| bowl(values, bottom, widths));
            worst = worst.max(bowl(&run.values, bottom, widths));
            searched += run.search.measured_points();
            // How many random points come as near.
            let mut dice = noise(seed + 100, 0.02);
            let goal = bowl(&run.values, bottom, widths).max(1.005);
            random += (1..10_000)
                .find(|_| {
                    let values: Vec<f64> = spreads[..dimensions]
                        .iter()
                        .map(|spread| spread.range.0 + dice.uniform() * (spread.range.1 - spread.range.0))
                        .collect();
                    bowl(&values, bottom, widths) <= goal
                })
                .unwrap_or(10_000);
        }
        println!("{dimensions} variables: {searched} points searched, {random} at random, worst {worst:.3} of 1");
        assert!(worst < 1.10, "{dimensions}: {worst}");
        assert!(searched < random, "{dimensions}: {searched} against {random}");
    }
}

#[test]
fn a_moved_optimum_is_found_again_and_reported() {
    for seed in SEEDS {
        let mut noise = noise(seed, 0.02);
        let mut run = Run::new(&[whole(1.0, 1000.0)], &[500.0]);
        let bowl_at = |bottom: f64| move |values: &[f64]| bowl(values, &[bottom], &[300.0]);
        run.settle(&mut noise, bowl_at(200.0));
        run.go(30, &mut noise, bowl_at(200.0));
        assert!(run.search.is_settled(), "a settled search stays settled: {:?}", run.tells);
        run.go(150, &mut noise, bowl_at(800.0));
        assert!(run.search.is_settled() && bowl_at(800.0)(&run.values) < 1.1, "seed {seed}: {:?} {:?}", run.values, run.tells);
        assert!(run.tells.iter().any(|tell| tell.contains("the program has changed")), "{:?}", run.tells);
    }
}

#[test]
fn bad_points_are_left_at_once_and_good_initial_values_kept() {
    // The initial value is already the best: the search must be cheap and return to it.
    let program = |values: &[f64]| bowl(values, &[60.0], &[100.0]);
    let mut run = Run::new(&[whole(1.0, 1000.0)], &[60.0]);
    let total = run.go(300, &mut noise(3, 0.02), program);
    assert!(run.search.is_settled() && program(&run.values) < 1.02, "{:?}", run.tells);
    let untouched = 300.0 * program(&[60.0]);
    println!("searching around the best place cost {:.0} % of 300 iterations", 100.0 * (total / untouched - 1.0));
    assert!(total < 1.6 * untouched, "{total} against {untouched}");
    // A point that is ten times worse is measured once, not three times.
    let mut search = ParameterSearch::new(
        vec!["v".into()],
        SearchSpace { axes: vec![SearchAxis::new(whole(1.0, 9.0))] },
        None,
        SearchOptions { settle_iterations: 0, ..SearchOptions::default() },
    );
    (0..3).for_each(|_| drop(search.sample(1.0)));
    assert!(search.sample(10.0).values.is_some());
    // One that is somewhat worse is measured twice.
    assert_eq!(search.sample(1.5).values, None);
    assert!(search.sample(1.5).values.is_some());
}

#[test]
fn a_variable_without_effect_settles_quickly() {
    let mut run = Run::new(&[real(0.0, 1.0)], &[0.3]);
    run.settle(&mut noise(5, 0.02), |_| 1.0);
    assert!(run.search.measured_points() < 30);
    assert!(run.tells[0].contains("settled on v0 ="), "{:?}", run.tells);
}

#[test]
fn the_minimum_is_robust_against_interference() {
    // Interference in every third iteration, at least as long as an iteration.
    let spoilt = |noise: &mut Noise, time: f64| if noise.uniform() < 0.35 { time * (2.0 + 2.0 * noise.uniform()) } else { time };
    let good = |counts: SampleStatistic| {
        let good = |seed: &u64| {
            let (mut noise, mut values) = (noise(*seed, 0.0), vec![500.0]);
            let space = SearchSpace { axes: vec![SearchAxis::new(whole(1.0, 1000.0))] };
            let mut search =
                ParameterSearch::new(vec!["v".into()], space, None, SearchOptions { statistic: counts, ..SearchOptions::default() });
            for _ in 0..300 {
                let step = search.sample(spoilt(&mut noise, chunks(values[0])));
                values = step.values.unwrap_or(values);
            }
            chunks(values[0]) < 1.1 * chunks(60.0)
        };
        SEEDS.filter(good).count()
    };
    let (median, least) = (good(SampleStatistic::Median), good(SampleStatistic::Minimum));
    println!("{median} of 20 searches end well with the median, {least} with the least");
    assert!(least >= 18 && least >= median, "{least} against {median}");
}

#[test]
fn non_finite_times_are_ignored() {
    let mut run = Run::new(&[whole(1.0, 4.0)], &[2.0]);
    assert_eq!(run.search.sample(f64::NAN), SearchStep::default());
    assert_eq!(run.search.sample(f64::INFINITY), SearchStep::default());
}
