//! Prevents chunking from doing harm: where pauses between chunks take a large part of an iteration, the program's initial values are tried,
//! and the better of the two is kept.
//!
//! Mean and deviation ignore the overhead of a chunk. On shared processors every pause is long, which makes times more
//! uneven, and so the next chunks smaller.

/// Larger shares of pauses are suspicious.
const MAX_PAUSE_SHARE: f64 = 0.05;
/// Suspicious iterations in a row, and iterations measured with each of the two.
const MIN_ITERATIONS: usize = 2;
/// Iterations until the other is tried again; doubled each time.
const RETRY_ITERATIONS: u64 = 20;
/// Improvement needed to keep the initial values.
const MIN_GAIN: f64 = 0.02;

/// Whose values the program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterOrigin {
    /// Those of the rule.
    Rule,
    /// Its initial values.
    Program,
}

#[derive(Debug)]
pub(super) struct HarmGuard {
    origin: ParameterOrigin,
    /// Seconds per task in the iterations since the last switch, except the first, which used both.
    times: Vec<f64>,
    has_changed: bool,
    suspicions: usize,
    /// Time of the other when it was tried last.
    other_time: Option<f64>,
    /// Iterations until the other is tried again, now and the next time.
    wait: u64,
    patience: u64,
}

impl Default for HarmGuard {
    fn default() -> HarmGuard {
        HarmGuard {
            origin: ParameterOrigin::Rule,
            times: Vec::new(),
            has_changed: false,
            suspicions: 0,
            other_time: None,
            wait: 0,
            patience: RETRY_ITERATIONS,
        }
    }
}

impl HarmGuard {
    /// Judges an iteration by its time per task and the share of pauses; returns whose values the next one uses.
    pub(super) fn judge(&mut self, seconds: f64, pauses: f64) -> ParameterOrigin {
        if std::mem::take(&mut self.has_changed) {
            return self.origin;
        }
        self.times.push(seconds);
        self.wait = self.wait.saturating_sub(1);
        self.suspicions = if pauses > MAX_PAUSE_SHARE { self.suspicions + 1 } else { 0 };
        match (self.origin, self.other_time) {
            _ if self.times.len() < MIN_ITERATIONS => {}
            (_, Some(other)) => self.compare(other),
            (ParameterOrigin::Rule, None) if self.suspicions >= MIN_ITERATIONS && self.wait == 0 => self.switch(),
            (ParameterOrigin::Program, None) if self.wait == 0 => self.switch(),
            _ => {}
        }
        self.origin
    }

    /// Keeps the better of the two.
    fn compare(&mut self, other: f64) {
        let own = self.best_recent();
        let is_better = match self.origin {
            ParameterOrigin::Program => own < other * (1.0 - MIN_GAIN),
            ParameterOrigin::Rule => own * (1.0 - MIN_GAIN) <= other,
        };
        if !is_better {
            self.switch();
        }
        self.other_time = None;
        self.wait = self.patience;
        self.patience *= 2;
    }

    fn switch(&mut self) {
        self.other_time = Some(self.best_recent());
        self.origin = if self.origin == ParameterOrigin::Rule { ParameterOrigin::Program } else { ParameterOrigin::Rule };
        self.times.clear();
        self.has_changed = true;
        self.suspicions = 0;
    }

    /// The fastest of the latest: disturbances only slow an iteration down.
    fn best_recent(&self) -> f64 {
        self.times.iter().rev().take(MIN_ITERATIONS).copied().fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The origin of each iteration's values, for these times of both.
    fn run(count: usize, rule: f64, pauses: f64, program: f64) -> Vec<ParameterOrigin> {
        let mut guard = HarmGuard::default();
        let mut origin = ParameterOrigin::Rule;
        let step = |_| {
            let now = origin;
            origin = if now == ParameterOrigin::Rule { guard.judge(rule, pauses) } else { guard.judge(program, 0.0) };
            now
        };
        (0..count).map(step).collect()
    }

    fn of_rule(run: &[ParameterOrigin]) -> usize {
        run.iter().filter(|origin| **origin == ParameterOrigin::Rule).count()
    }

    #[test]
    fn without_pauses_the_rule_is_always_followed() {
        assert_eq!(of_rule(&run(100, 5.0, 0.01, 1.0)), 100);
    }

    #[test]
    fn costly_chunking_is_undone() {
        let run = run(100, 3.0, 0.5, 1.0);
        assert!(run[..2].iter().all(|origin| *origin == ParameterOrigin::Rule));
        // From then on the rule is tried more and more rarely.
        assert!(of_rule(&run) <= 10, "{run:?}");
        assert_eq!(run[99], ParameterOrigin::Program);
    }

    #[test]
    fn a_rule_worth_its_pauses_is_kept() {
        let run = run(100, 1.0, 0.2, 1.5);
        assert!(of_rule(&run) >= 90, "{run:?}");
    }
}
