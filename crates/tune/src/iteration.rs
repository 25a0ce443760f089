//! The iteration of a running program, found in the sequence of its MPI calls.
//!
//! Nobody has to name a function: the main loop of a program shows in its calls. Every call site that recurs could mark the iteration. A
//! loop inside the main loop is passed over because most call sites occur in few of its rounds; a call that is made only now and then is
//! passed over because another site occurs more often and has nearly all others in each of its rounds. So the *anchor* is the site that
//! occurs most often among those between two occurrences of which the program passes most of its recurring sites. One round of the anchor
//! is one iteration.

use std::cmp::Reverse;
use std::collections::HashMap;

/// Most call sites of a thread that are told apart.
const MAX_SITES: usize = 256;
/// Occurrences from which on a site can be the anchor.
const MIN_ROUNDS: u64 = 8;
/// Occurrences from which on a site counts as recurring.
const MIN_RECURRING: u64 = 3;
/// Share of the recurring sites, weighted, that the rounds of the anchor must have.
const MIN_COVERAGE: f64 = 0.5;
/// Share of the rounds in which a site must occur to belong to them.
const MIN_PRESENCE: f64 = 0.5;
/// First decision after this many seconds; later ones after twice the time, so that a long iteration with short loops inside is found.
const FIRST_DECISION_S: f64 = 1.0;
/// The anchor is settled after this many seconds.
const LAST_DECISION_S: f64 = 40.0;
/// The program has left the loop when the anchor has not occurred for this many iterations.
const LEFT_AFTER: f64 = 16.0;
/// Latest intervals that count.
const KEPT_INTERVALS: usize = 65;

/// A call as far as it tells where in the program it is: the MPI function, and the address of the call site or, without one, its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallIdentity {
    /// Index of the MPI function.
    pub function: u16,
    /// Call site.
    pub site: u64,
    /// Whether it is a collective: all ranks iterate there.
    pub is_collective: bool,
}

/// The iteration of a program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Iteration {
    /// The call that is made once per iteration.
    pub anchor: CallIdentity,
    /// Median duration in seconds.
    pub seconds: f64,
}

/// What a call has shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IterationStep {
    /// The iteration is known, or another one than before.
    Found(Iteration),
    /// An iteration has ended, after this many seconds.
    Completed(f64),
}

/// What is known of a call site.
struct SiteHistory {
    identity: CallIdentity,
    count: u64,
    /// When it occurred first and last: index among the calls, and time.
    first_time: f64,
    last: (u64, f64),
    /// Latest intervals, cyclically.
    intervals: Vec<f64>,
    /// By site: number of rounds of this site in which that one occurred.
    rounds_with: Vec<u64>,
}

/// Finds the iteration of one thread.
#[derive(Default)]
pub struct IterationDetector {
    sites: Vec<SiteHistory>,
    indices: HashMap<CallIdentity, usize>,
    calls: u64,
    /// Time of the first call, of the next decision, and how long after the first call that is.
    began: Option<f64>,
    decision_after: f64,
    anchor: Option<usize>,
}

impl IterationDetector {
    /// A call returns at this time.
    pub fn add(&mut self, call: CallIdentity, time: f64) -> Option<IterationStep> {
        let began = *self.began.get_or_insert(time);
        let index = self.site_index(call, time)?;
        self.calls += 1;
        let is_settled = self.anchor.is_some() && self.decision_after > LAST_DECISION_S;
        let interval = self.record(index, time, !is_settled);
        if !is_settled && time - began >= self.decision_after.max(FIRST_DECISION_S) {
            self.decision_after = 2.0 * (time - began);
            if let Some(found) = self.decide(time) {
                return Some(IterationStep::Found(found));
            }
        }
        if self.has_left_loop(time) {
            *self = IterationDetector::default();
            return None;
        }
        interval.filter(|_| self.anchor == Some(index)).map(IterationStep::Completed)
    }

    fn site_index(&mut self, identity: CallIdentity, time: f64) -> Option<usize> {
        if let Some(index) = self.indices.get(&identity) {
            return Some(*index);
        }
        let index = self.sites.len();
        if index == MAX_SITES {
            return None;
        }
        self.indices.insert(identity, index);
        self.sites.push(SiteHistory {
            identity,
            count: 0,
            first_time: time,
            last: (0, time),
            intervals: Vec::new(),
            rounds_with: Vec::new(),
        });
        Some(index)
    }

    /// Records an occurrence, also as part of the rounds of other sites; returns the interval since the previous one.
    fn record(&mut self, index: usize, time: f64, with_rounds: bool) -> Option<f64> {
        let previous = self.sites[index].last.0;
        if with_rounds {
            // First time since the latest occurrence of the other site.
            for site in self.sites.iter_mut().filter(|site| site.count > 0 && site.last.0 >= previous) {
                if site.rounds_with.len() <= index {
                    site.rounds_with.resize(index + 1, 0);
                }
                site.rounds_with[index] += 1;
            }
        }
        let call = self.calls;
        let site = &mut self.sites[index];
        site.count += 1;
        let interval = (site.count > 1).then_some(time - site.last.1);
        if let Some(interval) = interval {
            match site.intervals.len() {
                KEPT_INTERVALS => site.intervals[(site.count as usize) % KEPT_INTERVALS] = interval,
                _ => site.intervals.push(interval),
            }
        }
        site.last = (call, time);
        interval
    }

    /// Chooses the anchor; returns the iteration if it is another one than before.
    fn decide(&mut self, now: f64) -> Option<Iteration> {
        let began = self.began?;
        let is_candidate =
            |site: &SiteHistory| site.count >= MIN_ROUNDS && !site.is_left(now) && site.first_time - began <= 0.5 * (now - began);
        let is_anchor = |index: &usize| is_candidate(&self.sites[*index]) && self.coverage(*index) >= MIN_COVERAGE;
        let candidates: Vec<usize> = (0..self.sites.len()).filter(is_anchor).collect();
        let most = candidates.iter().map(|index| self.sites[*index].count).max()?;
        // Sites of one loop differ by one occurrence, or by a few calls that were lost.
        let is_same_loop = |index: &&usize| self.sites[**index].count as f64 >= 0.98 * most as f64 - 1.0;
        let preference = |index: &&usize| (self.anchor == Some(**index), self.sites[**index].identity.is_collective, Reverse(**index));
        let anchor = *candidates.iter().filter(is_same_loop).max_by_key(preference)?;
        if self.anchor.replace(anchor) == Some(anchor) {
            return None;
        }
        self.iteration()
    }

    /// The iteration, if it is known.
    pub fn iteration(&self) -> Option<Iteration> {
        let site = &self.sites[self.anchor?];
        Some(Iteration { anchor: site.identity, seconds: site.median_interval()? })
    }

    /// The weighted share of the recurring sites that occur in most rounds of a site. A loop inside the main loop must not outweigh it by
    /// the number of its rounds alone, so the weight of a site grows less than its occurrences.
    fn coverage(&self, index: usize) -> f64 {
        let rounds = self.sites[index].count as f64;
        let weight = |site: &SiteHistory| (site.count as f64).sqrt();
        let (mut covered, mut all) = (0.0, 0.0);
        for (other, site) in self.sites.iter().enumerate().filter(|(_, site)| site.count >= MIN_RECURRING) {
            all += weight(site);
            let with = self.sites[index].rounds_with.get(other).copied().unwrap_or(0) as f64;
            if with >= MIN_PRESENCE * rounds {
                covered += weight(site);
            }
        }
        covered / f64::max(all, 1.0)
    }

    fn has_left_loop(&self, now: f64) -> bool {
        self.anchor.is_some_and(|anchor| self.sites[anchor].is_left(now))
    }
}

impl SiteHistory {
    /// Whether the program has not been here for long. Calls may be lost for a while.
    fn is_left(&self, now: f64) -> bool {
        let absent = now - self.last.1;
        absent > FIRST_DECISION_S && self.median_interval().is_none_or(|interval| absent > LEFT_AFTER * interval)
    }

    fn median_interval(&self) -> Option<f64> {
        let mut sorted = self.intervals.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that makes calls at numbered sites, each after some seconds.
    #[derive(Default)]
    struct Program {
        detector: IterationDetector,
        now: f64,
        found: Vec<Iteration>,
        completed: Vec<f64>,
    }

    const COLLECTIVE: u64 = 100;

    impl Program {
        fn call(&mut self, site: u64, seconds: f64) {
            self.now += seconds;
            match self.detector.add(CallIdentity { function: 0, site, is_collective: site >= COLLECTIVE }, self.now) {
                Some(IterationStep::Found(found)) => self.found.push(found),
                Some(IterationStep::Completed(seconds)) => self.completed.push(seconds),
                None => {}
            }
        }

        fn latest(&self) -> (u64, f64) {
            let iteration = self.detector.iteration().expect("found");
            (iteration.anchor.site, (1e3 * iteration.seconds).round())
        }
    }

    #[test]
    fn a_loop_is_found_at_its_collective() {
        let mut program = Program::default();
        (1..30).for_each(|setup| program.call(setup + 1000, 0.001));
        for _ in 0..300 {
            [1, 2, 3].iter().for_each(|site| program.call(*site, 0.002));
            program.call(COLLECTIVE, 0.004);
        }
        assert_eq!(program.latest(), (COLLECTIVE, 10.0));
        assert_eq!(program.found.len(), 1);
        assert!(program.completed.len() > 150 && program.completed.iter().all(|seconds| (seconds - 0.01).abs() < 1e-9));
    }

    #[test]
    fn neither_an_inner_loop_nor_a_rare_call_is_the_iteration() {
        let mut program = Program::default();
        for step in 0..400 {
            [1, 2, 3, 4, 5, 6, 7, 8].iter().for_each(|site| program.call(*site, 0.001));
            (0..20 + step % 5).for_each(|_| program.call(COLLECTIVE, 0.0005));
            program.call(COLLECTIVE + 1, 0.002);
            if step % 20 == 0 {
                program.call(COLLECTIVE + 2, 0.05);
            }
        }
        let (site, milliseconds) = program.latest();
        assert_eq!(site, COLLECTIVE + 1);
        assert!((20.0..22.5).contains(&milliseconds), "{milliseconds}");
    }

    #[test]
    fn sends_to_many_neighbours_from_one_site_are_not_iterations() {
        let mut program = Program::default();
        for _ in 0..300 {
            (0..6).for_each(|_| program.call(1, 0.0005));
            (0..6).for_each(|_| program.call(2, 0.0005));
            program.call(3, 0.004);
            program.call(COLLECTIVE, 0.0);
        }
        assert_eq!(program.latest(), (COLLECTIVE, 10.0));
    }

    #[test]
    fn calls_without_repetition_have_no_iteration() {
        let mut program = Program::default();
        (0..3000).for_each(|site| program.call(site, 0.001));
        assert!(program.found.is_empty() && program.completed.is_empty());
    }

    #[test]
    fn another_loop_is_found_after_the_first() {
        let mut program = Program::default();
        for site in [1, 2] {
            for _ in 0..400 {
                program.call(site, 0.005);
                program.call(COLLECTIVE + site, 0.005);
            }
        }
        assert_eq!(program.found.iter().map(|found| found.anchor.site).collect::<Vec<_>>(), [COLLECTIVE + 1, COLLECTIVE + 2]);
    }

    #[test]
    fn lost_calls_do_not_lengthen_the_iteration() {
        let mut program = Program::default();
        for step in 0..3000 {
            if step % 100 < 40 {
                program.now += 0.004;
                continue;
            }
            program.call(1, 0.002);
            program.call(COLLECTIVE, 0.002);
        }
        assert_eq!(program.latest(), (COLLECTIVE, 4.0));
    }
}
