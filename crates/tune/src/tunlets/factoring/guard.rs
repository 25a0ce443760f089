//! That cutting does no harm: where pauses between chunks take a good part of an iteration, what the program had before is tried for a
//! while, and the better of the two is kept.
//!
//! Mean and deviation know nothing of what a chunk costs. On processors that are shared, every pause is long, and makes times more
//! uneven, and so the next chunks smaller.

/// Pauses that take a larger share of an iteration are suspicious.
const SUSPICIOUS: f64 = 0.05;
/// So many iterations in a row must be suspicious, and so many are measured with each of the two.
const ENOUGH: usize = 2;
/// After so many iterations the other is tried again; after twice as many the next time.
const PATIENCE: u64 = 20;
/// The program's own way must be better by more than this to be kept.
const WORTH: f64 = 0.02;

/// Whose values the program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Those of the rule.
    Rule,
    /// Those that it had before.
    Program,
}

/// The guard.
#[derive(Debug)]
pub struct Guard {
    whose: Whose,
    /// Seconds for each task in the iterations since it was changed whose values they are, but the first: in that, both were in use.
    times: Vec<f64>,
    has_changed: bool,
    suspicions: usize,
    /// What the other took when it was tried or left.
    other: Option<f64>,
    /// Iterations until the other is tried again, and how many that is the next time.
    wait: u64,
    patience: u64,
}

impl Default for Guard {
    fn default() -> Guard {
        Guard { whose: Whose::Rule, times: Vec::new(), has_changed: false, suspicions: 0, other: None, wait: 0, patience: PATIENCE }
    }
}

impl Guard {
    /// An iteration took so long for each task, and this share of it were pauses between chunks: whose values the next shall have.
    pub fn judge(&mut self, seconds: f64, pauses: f64) -> Whose {
        if std::mem::take(&mut self.has_changed) {
            return self.whose;
        }
        self.times.push(seconds);
        self.wait = self.wait.saturating_sub(1);
        self.suspicions = if pauses > SUSPICIOUS { self.suspicions + 1 } else { 0 };
        match (self.whose, self.other) {
            _ if self.times.len() < ENOUGH => {}
            (_, Some(other)) => self.compare(other),
            (Whose::Rule, None) if self.suspicions >= ENOUGH && self.wait == 0 => self.change(),
            (Whose::Program, None) if self.wait == 0 => self.change(),
            _ => {}
        }
        self.whose
    }

    /// The other way was measured before: keeps the better of the two.
    fn compare(&mut self, other: f64) {
        let own = self.recent();
        let is_better = match self.whose {
            Whose::Program => own < other * (1.0 - WORTH),
            Whose::Rule => own * (1.0 - WORTH) <= other,
        };
        if !is_better {
            self.change();
        }
        self.other = None;
        self.wait = self.patience;
        self.patience *= 2;
    }

    fn change(&mut self) {
        self.other = Some(self.recent());
        self.whose = if self.whose == Whose::Rule { Whose::Program } else { Whose::Rule };
        self.times.clear();
        self.has_changed = true;
        self.suspicions = 0;
    }

    /// The quickest of the latest: what disturbs an iteration makes it slower only.
    fn recent(&self) -> f64 {
        self.times.iter().rev().take(ENOUGH).copied().fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose values each iteration has, where those of the rule take so long, with such pauses, and those of the program.
    fn run(count: usize, rule: f64, pauses: f64, program: f64) -> Vec<Whose> {
        let mut guard = Guard::default();
        let mut whose = Whose::Rule;
        let step = |_| {
            let now = whose;
            whose = if now == Whose::Rule { guard.judge(rule, pauses) } else { guard.judge(program, 0.0) };
            now
        };
        (0..count).map(step).collect()
    }

    fn of_rule(run: &[Whose]) -> usize {
        run.iter().filter(|whose| **whose == Whose::Rule).count()
    }

    #[test]
    fn where_chunks_cost_little_the_rule_is_followed_whatever_the_time() {
        assert_eq!(of_rule(&run(100, 5.0, 0.01, 1.0)), 100);
    }

    #[test]
    fn where_cutting_costs_more_than_it_gains_the_program_gets_its_values_back() {
        let run = run(100, 3.0, 0.5, 1.0);
        assert!(run[..2].iter().all(|whose| *whose == Whose::Rule));
        // From then on the rule is tried now and then, ever more seldom.
        assert!(of_rule(&run) <= 10, "{run:?}");
        assert_eq!(run[99], Whose::Program);
    }

    #[test]
    fn a_rule_that_is_worth_its_pauses_is_kept() {
        let run = run(100, 1.0, 0.2, 1.5);
        assert!(of_rule(&run) >= 90, "{run:?}");
    }
}
