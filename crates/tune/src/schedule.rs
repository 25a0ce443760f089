//! How a master cuts tasks into chunks: the rules of self-scheduling, each as what the next chunk is.
//!
//! Sources: GSS Polychronopoulos and Kuck 1987; TSS Tzeng and Ni 1993; FSC Kruskal and Weiss 1985; FAC, FAC2 and WF Hummel, Flynn Hummel,
//! Schonberg and Flynn 1992 and 1996; AWF Banicescu and others 2003; AF Banicescu and Liu 2000; DAF is the rule of the paper on MATE.

/// A rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Everything at once, in equal parts.
    Static,
    /// One task at a time.
    One,
    /// Chunks of one size that weighs overhead against imbalance.
    FixedSize,
    /// A share of what is left: one worker's.
    Guided,
    /// From half of one worker's share down to one task, evenly.
    Trapezoid,
    /// Batches of half of what is left.
    Factoring2,
    /// Batches by mean and deviation of the tasks' times.
    Factoring,
    /// As `Factoring2`, with a weight for each worker that is known before.
    Weighted,
    /// As `Weighted`, with weights that are measured.
    AdaptiveWeighted,
    /// By mean and deviation of each worker's own tasks.
    Adaptive,
    /// The paper's: batches by mean and deviation, dynamically adjusted.
    DynamicFactoring,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 11] = [
        Rule::Static,
        Rule::One,
        Rule::FixedSize,
        Rule::Guided,
        Rule::Trapezoid,
        Rule::Factoring2,
        Rule::Factoring,
        Rule::Weighted,
        Rule::AdaptiveWeighted,
        Rule::Adaptive,
        Rule::DynamicFactoring,
    ];

    /// Its usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Static => "static",
            Rule::One => "SS",
            Rule::FixedSize => "FSC",
            Rule::Guided => "GSS",
            Rule::Trapezoid => "TSS",
            Rule::Factoring2 => "FAC2",
            Rule::Factoring => "FAC",
            Rule::Weighted => "WF",
            Rule::AdaptiveWeighted => "AWF",
            Rule::Adaptive => "AF",
            Rule::DynamicFactoring => "DAF",
        }
    }

    /// The rule with this abbreviation, however it is written.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.name().eq_ignore_ascii_case(name))
    }
}

/// What is known of a worker.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worker {
    /// How fast it is said to be; 1 is usual.
    pub weight: f64,
    /// Mean time of its tasks, in seconds; 0 if unknown.
    pub mean: f64,
    /// Their deviation.
    pub deviation: f64,
}

/// What is known of the tasks as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tasks {
    /// How many.
    pub count: u64,
    /// Mean time, in seconds; 0 if unknown.
    pub mean: f64,
    /// Deviation.
    pub deviation: f64,
    /// Seconds that handing out a chunk takes.
    pub overhead: f64,
}

/// The inverse of the share that the first batch gets, and of that of later ones: equations 4.3 and 4.4 of the paper.
pub fn dynamic_factors(mean: f64, deviation: f64, workers: usize) -> Option<(f64, f64)> {
    if !(mean > 0.0 && deviation >= 0.0 && mean.is_finite() && deviation.is_finite()) {
        return None;
    }
    let spread = deviation * (workers as f64 / 2.0).sqrt() / mean;
    Some((1.0 + spread, 2.0 + spread))
}

/// Cuts chunks one after the other.
#[derive(Debug, Clone)]
pub struct Schedule {
    rule: Rule,
    tasks: Tasks,
    workers: Vec<Worker>,
    left: u64,
    /// Chunks cut so far.
    cut: u64,
    batch: Batch,
}

/// The batch that is being given out.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Batch {
    number: u64,
    /// Tasks of it for each worker of weight 1.
    share: f64,
    /// Chunks of it that are left.
    chunks: usize,
}

impl Schedule {
    /// A schedule of tasks over workers; at least one of each.
    pub fn new(rule: Rule, tasks: Tasks, workers: Vec<Worker>) -> Option<Schedule> {
        if workers.is_empty() || tasks.count == 0 {
            return None;
        }
        Some(Schedule { rule, tasks, workers, left: tasks.count, cut: 0, batch: Batch { number: 0, share: 0.0, chunks: 0 } })
    }

    /// What is now known of a worker.
    pub fn learn(&mut self, worker: usize, mean: f64, deviation: f64) {
        if let Some(known) = self.workers.get_mut(worker) {
            (known.mean, known.deviation) = (mean, deviation);
        }
    }

    /// Tasks that no chunk has yet.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// How many tasks a worker that asks now gets; 0 if none is left.
    pub fn next(&mut self, worker: usize) -> u64 {
        if self.left == 0 {
            return 0;
        }
        let wanted = match self.rule {
            Rule::Static => self.in_batches(1.0, 1.0),
            Rule::One => 1.0,
            Rule::FixedSize => self.fixed_size(),
            Rule::Guided => self.left as f64 / self.count(),
            Rule::Trapezoid => self.trapezoid(),
            Rule::Factoring2 => self.in_batches(2.0, 1.0),
            Rule::Factoring => {
                let inverse = self.factor();
                self.in_batches(inverse, 1.0)
            }
            Rule::Weighted => self.in_batches(2.0, self.relative(worker, |worker| worker.weight)),
            Rule::AdaptiveWeighted => self.in_batches(2.0, self.relative(worker, |worker| 1.0 / worker.mean)),
            Rule::Adaptive => self.adaptive(worker),
            Rule::DynamicFactoring => {
                let (first, later) = dynamic_factors(self.tasks.mean, self.tasks.deviation, self.workers.len()).unwrap_or((2.0, 2.0));
                self.in_batches(if self.batch_number() == 0 { first } else { later }, 1.0)
            }
        };
        let chunk = (wanted.ceil().max(1.0) as u64).min(self.left);
        self.left -= chunk;
        self.cut += 1;
        chunk
    }

    fn count(&self) -> f64 {
        self.workers.len() as f64
    }

    /// The number of the batch that the next chunk belongs to.
    fn batch_number(&self) -> u64 {
        if self.batch.chunks == 0 { self.batch.number } else { self.batch.number - 1 }
    }

    /// A chunk of a batch of as many chunks as there are workers; `inverse` of the share that a batch gets of what is left.
    fn in_batches(&mut self, inverse: f64, weight: f64) -> f64 {
        if self.batch.chunks == 0 {
            let share = self.left as f64 / (inverse.max(1.0) * self.count());
            self.batch = Batch { number: self.batch.number + 1, share, chunks: self.workers.len() };
        }
        self.batch.chunks -= 1;
        self.batch.share * weight
    }

    /// A worker's weight, where all together weigh as many as there are; 1 while one is unknown.
    fn relative(&self, worker: usize, weight: impl Fn(&Worker) -> f64) -> f64 {
        let all: f64 = self.workers.iter().map(&weight).sum();
        let own = self.workers.get(worker).map_or(1.0, &weight);
        if all.is_finite() && all > 0.0 && own.is_finite() { own * self.count() / all } else { 1.0 }
    }

    fn fixed_size(&self) -> f64 {
        let Tasks { count, deviation, overhead, .. } = self.tasks;
        let (count, workers) = (count as f64, self.count());
        let size = (2f64.sqrt() * count * overhead / (deviation * workers * workers.ln().sqrt())).powf(2.0 / 3.0);
        if size.is_finite() && size > 0.0 { size.min(count / workers) } else { count / workers }
    }

    fn trapezoid(&self) -> f64 {
        let first = (self.tasks.count as f64 / (2.0 * self.count())).ceil().max(1.0);
        let chunks = (2.0 * self.tasks.count as f64 / (first + 1.0)).ceil().max(2.0);
        first - self.cut as f64 * (first - 1.0) / (chunks - 1.0)
    }

    /// Hummel's inverse share of the next batch.
    fn factor(&self) -> f64 {
        let spread = self.count() * self.tasks.deviation / (2.0 * self.tasks.mean * (self.left as f64).sqrt());
        if !spread.is_finite() {
            return 2.0;
        }
        let square = spread * spread;
        match self.batch_number() {
            0 => 1.0 + square + spread * (square + 2.0).sqrt(),
            _ => 2.0 + square + spread * (square + 4.0).sqrt(),
        }
    }

    fn adaptive(&mut self, worker: usize) -> f64 {
        /// What a worker gets before anything is known of it.
        const FIRST: f64 = 10.0;
        let known = self.workers.iter().all(|worker| worker.mean > 0.0);
        let Some(own) = self.workers.get(worker).filter(|_| known) else { return FIRST.min(self.left as f64 / self.count()) };
        let spread: f64 = self.workers.iter().map(|worker| worker.deviation.powi(2) / worker.mean).sum();
        let time = 1.0 / self.workers.iter().map(|worker| 1.0 / worker.mean).sum::<f64>();
        let left = self.left as f64;
        let root = (spread * spread + 4.0 * spread * time * left).sqrt();
        (spread + 2.0 * time * left - root) / (2.0 * own.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(rule: Rule, count: u64, workers: usize) -> Schedule {
        let tasks = Tasks { count, mean: 1.0, deviation: 0.3, overhead: 0.02 };
        Schedule::new(rule, tasks, vec![Worker { weight: 1.0, mean: 1.0, deviation: 0.3 }; workers]).expect("tasks and workers")
    }

    fn chunks(rule: Rule, count: u64, workers: usize) -> Vec<u64> {
        let mut schedule = schedule(rule, count, workers);
        (0..).map(|turn| schedule.next(turn % workers)).take_while(|chunk| *chunk > 0).collect()
    }

    #[test]
    fn every_rule_gives_every_task_once() {
        for rule in Rule::ALL {
            for (count, workers) in [(1, 1), (1, 7), (1000, 4), (9_999, 64)] {
                assert_eq!(chunks(rule, count, workers).iter().sum::<u64>(), count, "{}", rule.name());
            }
            assert_eq!(Rule::named(&rule.name().to_lowercase()), Some(rule));
        }
    }

    #[test]
    fn the_rules_without_statistics_are_those_of_the_books() {
        assert_eq!(chunks(Rule::Static, 100, 4), [25, 25, 25, 25]);
        assert_eq!(chunks(Rule::One, 5, 2), [1; 5]);
        assert_eq!(chunks(Rule::Guided, 100, 4)[..5], [25, 19, 14, 11, 8]);
        assert_eq!(chunks(Rule::Factoring2, 100, 4)[..9], [13, 13, 13, 13, 6, 6, 6, 6, 3]);
        let trapezoid = chunks(Rule::Trapezoid, 1000, 4);
        assert_eq!(trapezoid[0], 125);
        assert!(trapezoid.windows(2).all(|pair| pair[1] <= pair[0]));
    }

    #[test]
    fn the_factors_of_the_paper_are_those_of_equations_4_3_and_4_4() {
        assert_eq!(dynamic_factors(1.0, 0.0, 8), Some((1.0, 2.0)));
        assert_eq!(dynamic_factors(2.0, 1.0, 8), Some((2.0, 3.0)));
        assert_eq!(dynamic_factors(0.0, 1.0, 8), None);
        assert_eq!(chunks(Rule::DynamicFactoring, 1000, 8)[0], (1000.0f64 / (1.6 * 8.0)).ceil() as u64);
    }

    #[test]
    fn a_faster_worker_gets_more() {
        let mut weighted = schedule(Rule::Weighted, 1000, 2);
        weighted.workers[0].weight = 3.0;
        assert_eq!([weighted.next(0), weighted.next(1)], [375, 125]);
        let mut adaptive = schedule(Rule::AdaptiveWeighted, 1000, 2);
        adaptive.learn(0, 0.5, 0.0);
        adaptive.learn(1, 1.5, 0.0);
        assert_eq!([adaptive.next(0), adaptive.next(1)], [375, 125]);
        let mut own = schedule(Rule::Adaptive, 1000, 2);
        own.learn(0, 0.5, 0.1);
        own.learn(1, 1.5, 0.3);
        let (quick, slow) = (own.clone().next(0), own.next(1));
        assert!(quick > 2 * slow, "{quick} and {slow}");
    }

    #[test]
    fn what_is_not_known_yet_does_no_harm() {
        let tasks = Tasks { count: 100, mean: 0.0, deviation: 0.0, overhead: 0.0 };
        for rule in Rule::ALL {
            let mut schedule =
                Schedule::new(rule, tasks, vec![Worker { weight: 0.0, mean: 0.0, deviation: 0.0 }; 3]).expect("tasks and workers");
            let given: u64 = (0..1000).map(|turn| schedule.next(turn % 3)).sum();
            assert_eq!(given, 100, "{}", rule.name());
        }
    }
}
