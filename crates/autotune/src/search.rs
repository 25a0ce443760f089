//! The search: trials of settings in turn with the unchanged program, and the confirmation of what seems to pay.
//!
//! Three steps, each with its part of the budget:
//!
//! 1. *Screening.* All candidates run once, two of them between two reference runs. Those that cannot pay are dropped, and of the others at
//!    most half go on to the next round (successive halving).
//! 2. *Combination.* The best candidate of each group that seems to pay is combined with the others; the combination and the best
//!    candidate alone are tried again.
//! 3. *Confirmation.* New pairs of runs with and without the chosen settings. Their number is fixed before the first of them, and no earlier
//!    run counts, so that the choice of the luckiest candidate does not pass for a gain. Only a gain whose whole interval is above the
//!    floor is claimed.

use serde::Serialize;
use sintonia_fit::SplitMix64;

use crate::candidate::TuningCandidate;
use crate::ratio_interval::{MIN_PAIRS, RatioInterval};
use crate::trial_settings::TrialSettings;

/// Most rounds of the screening.
const MAX_ROUNDS: usize = 4;
/// Rounds in which combinations are tried.
const COMBINATION_ROUNDS: usize = 2;
/// Most pairs of the confirmation.
const MAX_PAIRS: usize = 15;
/// Share of the budget for the confirmation.
const CONFIRMATION_SHARE: f64 = 0.4;
/// Trials of combinations that the screening leaves room for.
const COMBINATION_TRIALS: usize = 6;
/// Candidates between two reference runs.
const BLOCK: usize = 2;

/// What limits a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchLimits {
    /// Seconds for all runs.
    pub budget_s: f64,
    /// Seconds that one run takes, with its start and end.
    pub run_s: f64,
    /// A smaller gain is not claimed: 0.01 is one per cent.
    pub floor: f64,
}

/// A run of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialRun {
    /// Seconds it took of the budget.
    pub elapsed_s: f64,
    /// What came of it.
    pub outcome: TrialOutcome,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum TrialOutcome {
    /// Its output equals that of the reference; its time in seconds.
    Measured(f64),
    /// It failed or did something else: why.
    Rejected(String),
}

/// Runs the program.
pub trait TrialRunner {
    /// Why no further runs are possible.
    type Error;

    /// Runs it with these settings; without any, it is a reference run.
    fn run(&mut self, settings: &TrialSettings) -> Result<TrialRun, Self::Error>;

    /// Tells what happens.
    fn tell(&mut self, event: SearchEvent<'_>);
}

/// What happens in a search.
#[derive(Clone, Copy, Debug)]
pub enum SearchEvent<'a> {
    /// A round of the screening begins with this many candidates.
    Round {
        /// Its number, from 1.
        round: usize,
        /// Candidates in it.
        candidates: usize,
    },
    /// A candidate has run: time of the reference over its time.
    Tried {
        /// Its name.
        name: &'a str,
        /// The ratio; more than 1 is faster.
        ratio: f64,
    },
    /// A candidate did not count.
    Rejected {
        /// Its name.
        name: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// The confirmation begins.
    Confirming {
        /// The settings.
        settings: &'a TrialSettings,
        /// Number of pairs.
        pairs: usize,
    },
    /// A pair of the confirmation.
    Pair {
        /// Time of the reference in seconds.
        reference_s: f64,
        /// Time with the settings.
        tuned_s: f64,
    },
}

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateState {
    /// It is part of the chosen settings.
    Chosen,
    /// It seemed to pay, but another one of its group or without it did so more.
    Surpassed,
    /// It did not pay.
    NoGain,
    /// It failed or did something else: why.
    Rejected(String),
    /// The budget did not suffice.
    NotTried,
}

/// A candidate after the search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CandidateResult {
    /// The candidate.
    #[serde(flatten)]
    pub candidate: TuningCandidate,
    /// What became of it.
    pub state: CandidateState,
    /// Ratio of the reference's time to its own in the screening: the estimate by which it was chosen or not, no proof.
    pub ratio: Option<f64>,
    /// Number of its runs in the screening.
    pub trials: usize,
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResult {
    /// The candidates, in the order given.
    pub candidates: Vec<CandidateResult>,
    /// The settings that were confirmed or not; empty if nothing seemed to pay.
    pub settings: TrialSettings,
    /// Pairs of reference time and tuned time of the confirmation, in seconds.
    pub pairs: Vec<[f64; 2]>,
    /// The gain in the confirmation; `None` if nothing seemed to pay or a run was rejected.
    pub gain: Option<RatioInterval>,
    /// Whether a gain is claimed: the whole interval is above the floor.
    pub is_claimed: bool,
    /// Deviation of a run's time from run to run, relative; from reference runs.
    pub noise: Option<f64>,
    /// Number of runs.
    pub runs: usize,
    /// Seconds for all runs.
    pub elapsed_s: f64,
}

/// Searches for settings that pay.
pub fn search<R: TrialRunner>(candidates: &[TuningCandidate], limits: SearchLimits, runner: &mut R) -> Result<SearchResult, R::Error> {
    let mut search = Search::new(candidates, limits, runner);
    let chosen = search.screen()?;
    let chosen = search.combine(chosen)?;
    search.confirm(chosen)
}

/// A candidate or combination under trial.
#[derive(Clone)]
struct Contender {
    name: String,
    settings: TrialSettings,
    /// Logarithms of the ratios to the reference.
    logs: Vec<f64>,
    rejected: Option<String>,
}

impl Contender {
    fn new(name: impl Into<String>, settings: TrialSettings) -> Contender {
        Contender { name: name.into(), settings, logs: Vec::new(), rejected: None }
    }

    fn mean(&self) -> f64 {
        self.logs.iter().sum::<f64>() / self.logs.len().max(1) as f64
    }

    fn is_measured(&self) -> bool {
        self.rejected.is_none() && !self.logs.is_empty()
    }
}

struct Search<'a, R> {
    candidates: &'a [TuningCandidate],
    contenders: Vec<Contender>,
    limits: SearchLimits,
    runner: &'a mut R,
    random: SplitMix64,
    elapsed_s: f64,
    runs: usize,
    /// Times of reference runs, in order.
    references: Vec<f64>,
    chosen: Vec<usize>,
    paying: Vec<usize>,
}

impl<'a, R: TrialRunner> Search<'a, R> {
    fn new(candidates: &'a [TuningCandidate], limits: SearchLimits, runner: &'a mut R) -> Search<'a, R> {
        let contenders = candidates.iter().map(|one| Contender::new(one.name.clone(), one.settings.clone())).collect();
        let (random, references) = (SplitMix64::new(candidates.len() as u64), Vec::new());
        let (chosen, paying) = (Vec::new(), Vec::new());
        Search { candidates, contenders, limits, runner, random, elapsed_s: 0.0, runs: 0, references, chosen, paying }
    }

    /// Seconds of a run: what was expected, until there are measurements.
    fn run_s(&self) -> f64 {
        if self.runs < 3 { self.limits.run_s } else { self.elapsed_s / self.runs as f64 }
    }

    /// Seconds that remain for trials; the rest of the budget is for the confirmation.
    fn remaining_s(&self) -> f64 {
        let confirmation = (self.limits.budget_s * CONFIRMATION_SHARE).max(2.0 * MIN_PAIRS as f64 * self.run_s());
        self.limits.budget_s - confirmation - self.elapsed_s
    }

    /// How many contenders a round can try.
    fn affordable(&self) -> usize {
        let runs = (self.remaining_s() / self.run_s()).max(0.0) as usize;
        runs.saturating_sub(1) * BLOCK / (BLOCK + 1)
    }

    fn run(&mut self, settings: &TrialSettings) -> Result<TrialOutcome, R::Error> {
        let run = self.runner.run(settings)?;
        self.elapsed_s += run.elapsed_s;
        self.runs += 1;
        Ok(run.outcome)
    }

    /// Logarithm of the time of a reference run; a rejected one (a disturbed output) is repeated once.
    fn run_reference(&mut self) -> Result<Option<f64>, R::Error> {
        for _ in 0..2 {
            if let TrialOutcome::Measured(seconds) = self.run(&TrialSettings::default())?
                && seconds > 0.0
            {
                self.references.push(seconds);
                return Ok(Some(seconds.ln()));
            }
        }
        Ok(None)
    }

    /// Tries contenders once each, in random order, a few of them between two reference runs.
    fn try_round(&mut self, contenders: &mut [Contender]) -> Result<(), R::Error> {
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, self.random.index_below(last + 1));
        }
        let Some(mut before) = self.run_reference()? else { return Ok(()) };
        for block in order.chunks(BLOCK) {
            let mut times = Vec::new();
            for index in block {
                match self.run(&contenders[*index].settings)? {
                    TrialOutcome::Measured(seconds) if seconds > 0.0 => times.push((*index, seconds.ln())),
                    TrialOutcome::Measured(_) => {}
                    TrialOutcome::Rejected(reason) => {
                        self.runner.tell(SearchEvent::Rejected { name: &contenders[*index].name, reason: &reason });
                        contenders[*index].rejected = Some(reason);
                    }
                }
            }
            let Some(after) = self.run_reference()? else { return Ok(()) };
            for (index, time) in times {
                let log = 0.5 * (before + after) - time;
                contenders[index].logs.push(log);
                self.runner.tell(SearchEvent::Tried { name: &contenders[index].name, ratio: log.exp() });
            }
            before = after;
        }
        Ok(())
    }

    /// Relative deviation of a run, from successive reference runs.
    fn noise(&self) -> Option<f64> {
        let squares: Vec<f64> = self.references.windows(2).map(|pair| (pair[1] / pair[0]).ln().powi(2)).collect();
        (squares.len() >= 2).then(|| (0.5 * squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
    }

    /// Standard error of a mean of this many ratios: the run itself, and the mean of two reference runs.
    fn standard_error(&self, trials: usize) -> f64 {
        self.noise().unwrap_or(0.05) * (1.5 / trials.max(1) as f64).sqrt()
    }

    /// Whether a contender may still pay.
    fn may_pay(&self, contender: &Contender) -> bool {
        contender.is_measured() && contender.mean() + 2.0 * self.standard_error(contender.logs.len()) > self.limits.floor
    }

    /// Screens the candidates; returns those that seem to pay, best first and one of each group.
    fn screen(&mut self) -> Result<Vec<usize>, R::Error> {
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        order.sort_by(|one, other| self.candidates[*other].relevance.total_cmp(&self.candidates[*one].relevance));
        // The rest is for later rounds and for combinations.
        order.truncate((self.affordable() * 2 / 3).max(1));
        let mut active = order;
        for round in 1..=MAX_ROUNDS {
            let reserve = if self.one_of_each_group(&active).len() > 1 { COMBINATION_TRIALS } else { 0 };
            if active.is_empty()
                || (round > 2 && self.affordable() < active.len() + reserve)
                || (round == 2 && self.affordable() < active.len())
            {
                break;
            }
            self.runner.tell(SearchEvent::Round { round, candidates: active.len() });
            let mut contenders: Vec<Contender> = active.iter().map(|index| self.contenders[*index].clone()).collect();
            self.try_round(&mut contenders)?;
            active.iter().zip(contenders).for_each(|(index, contender)| self.contenders[*index] = contender);
            let most = active.len().div_ceil(2).max(2);
            active.retain(|index| self.may_pay(&self.contenders[*index]));
            active.sort_by(|one, other| self.contenders[*other].mean().total_cmp(&self.contenders[*one].mean()));
            active.truncate(most);
        }
        let seems_to_pay = |contender: &Contender| {
            let mean = contender.mean();
            mean > self.limits.floor && mean > self.standard_error(contender.logs.len())
        };
        let mut paying: Vec<usize> = active.iter().copied().filter(|index| seems_to_pay(&self.contenders[*index])).collect();
        // On a noisy machine the best may not stand out; new pairs tell.
        if paying.is_empty() {
            paying.extend(active.first().filter(|best| self.contenders[**best].mean() > self.limits.floor));
        }
        self.paying = paying.clone();
        Ok(self.one_of_each_group(&paying))
    }

    /// The first of each group that goes together with those before.
    fn one_of_each_group(&self, sorted: &[usize]) -> Vec<usize> {
        let mut chosen: Vec<usize> = Vec::new();
        let mut together = TrialSettings::default();
        for index in sorted {
            let group = &self.candidates[*index].group;
            let is_new = chosen.iter().all(|other| self.candidates[*other].group != *group);
            if let Some(merged) = together.merge(&self.contenders[*index].settings).filter(|_| is_new) {
                together = merged;
                chosen.push(*index);
            }
        }
        chosen
    }

    /// Tries the first of the chosen, the first two and so on together; returns the best set.
    fn combine(&mut self, chosen: Vec<usize>) -> Result<Vec<usize>, R::Error> {
        if chosen.len() < 2 {
            return Ok(chosen);
        }
        let mut lengths = vec![1, 2, chosen.len()];
        lengths.dedup();
        let mut sets: Vec<Contender> = lengths.iter().map(|length| self.together(&chosen[..*length])).collect();
        for _ in 0..COMBINATION_ROUNDS {
            if self.affordable() < sets.len() {
                break;
            }
            self.try_round(&mut sets)?;
        }
        let best =
            (0..sets.len()).filter(|set| sets[*set].is_measured()).max_by(|one, other| sets[*one].mean().total_cmp(&sets[*other].mean()));
        // Without trials, the candidate that was best alone is taken: a combination that never ran is a risk.
        Ok(chosen[..best.map_or(1, |best| lengths[best])].to_vec())
    }

    fn together(&self, chosen: &[usize]) -> Contender {
        let settings = chosen.iter().try_fold(TrialSettings::default(), |all, index| all.merge(&self.contenders[*index].settings));
        let names: Vec<&str> = chosen.iter().map(|index| self.contenders[*index].name.as_str()).collect();
        Contender::new(names.join(" + "), settings.unwrap_or_default())
    }

    /// Runs new pairs with the chosen settings.
    fn confirm(mut self, chosen: Vec<usize>) -> Result<SearchResult, R::Error> {
        let settings = self.together(&chosen).settings;
        self.chosen = chosen;
        let mut pairs = Vec::new();
        let mut rejected = None;
        if !settings.is_empty() {
            let affordable = ((self.limits.budget_s - self.elapsed_s) / (2.0 * self.run_s())) as usize;
            let number = affordable.clamp(MIN_PAIRS, MAX_PAIRS);
            self.runner.tell(SearchEvent::Confirming { settings: &settings, pairs: number });
            for round in 0..number {
                match self.run_pair(&settings, round % 2 == 1)? {
                    Ok(pair) => {
                        self.runner.tell(SearchEvent::Pair { reference_s: pair[0], tuned_s: pair[1] });
                        pairs.push(pair);
                    }
                    Err(reason) => {
                        self.runner.tell(SearchEvent::Rejected { name: "the chosen settings", reason: &reason });
                        rejected = Some(reason);
                        break;
                    }
                }
            }
        }
        let gain = if rejected.is_none() { RatioInterval::from_pairs(&pairs) } else { None };
        let is_claimed = gain.is_some_and(|gain| gain.low > 1.0 + self.limits.floor);
        Ok(SearchResult {
            candidates: self.results(rejected.as_deref()),
            settings,
            pairs,
            gain,
            is_claimed,
            noise: self.noise(),
            runs: self.runs,
            elapsed_s: self.elapsed_s,
        })
    }

    /// Runs the reference and the settings, in this order or the other; or why a run does not count.
    fn run_pair(&mut self, settings: &TrialSettings, is_reversed: bool) -> Result<Result<[f64; 2], String>, R::Error> {
        let mut pair = [0.0; 2];
        for way in if is_reversed { [1, 0] } else { [0, 1] } {
            let outcome = match way {
                0 => self.run(&TrialSettings::default())?,
                _ => self.run(settings)?,
            };
            match outcome {
                TrialOutcome::Measured(seconds) => pair[way] = seconds,
                TrialOutcome::Rejected(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(pair))
    }

    fn results(&self, rejected: Option<&str>) -> Vec<CandidateResult> {
        let state = |index: usize, contender: &Contender| match (&contender.rejected, rejected) {
            (Some(reason), _) => CandidateState::Rejected(reason.clone()),
            (None, Some(reason)) if self.chosen.contains(&index) => CandidateState::Rejected(reason.to_owned()),
            _ if self.chosen.contains(&index) => CandidateState::Chosen,
            _ if contender.logs.is_empty() => CandidateState::NotTried,
            _ if self.paying.contains(&index) => CandidateState::Surpassed,
            _ => CandidateState::NoGain,
        };
        let result = |(index, contender): (usize, &Contender)| CandidateResult {
            candidate: self.candidates[index].clone(),
            state: state(index, contender),
            ratio: (!contender.logs.is_empty()).then(|| contender.mean().exp()),
            trials: contender.logs.len(),
        };
        self.contenders.iter().enumerate().map(result).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    /// A program whose run time follows a formula of its settings, with noise and a machine that gets slower and faster.
    struct SimulatedProgram {
        factors: Vec<(&'static str, f64)>,
        noise: f64,
        random: SplitMix64,
        runs: usize,
        broken: Option<&'static str>,
    }

    impl SimulatedProgram {
        fn new(seed: u64, noise: f64, factors: &[(&'static str, f64)]) -> SimulatedProgram {
            SimulatedProgram { factors: factors.to_vec(), noise, random: SplitMix64::new(seed), runs: 0, broken: None }
        }
    }

    impl TrialRunner for SimulatedProgram {
        type Error = std::convert::Infallible;

        fn run(&mut self, settings: &TrialSettings) -> Result<TrialRun, Self::Error> {
            self.runs += 1;
            let drift = 1.0 + 0.1 * (self.runs as f64 / 9.0).sin();
            let factor: f64 = settings
                .environment
                .names()
                .map(|name| self.factors.iter().find(|(known, _)| *known == name).map_or(1.0, |(_, factor)| *factor))
                .product();
            let seconds = drift * factor * (self.noise * self.random.standard_normal()).exp();
            let is_broken = settings.environment.names().any(|name| Some(name) == self.broken);
            let outcome = if is_broken { TrialOutcome::Rejected("prints something else".into()) } else { TrialOutcome::Measured(seconds) };
            Ok(TrialRun { elapsed_s: seconds + 0.3, outcome })
        }

        fn tell(&mut self, _: SearchEvent<'_>) {}
    }

    fn candidates(names: &[&str]) -> Vec<TuningCandidate> {
        let candidate = |name: &&str| TuningCandidate {
            name: (*name).to_owned(),
            group: (*name).to_owned(),
            settings: Environment::new([(*name, "1")]).into(),
            reason: String::new(),
            relevance: 0.5,
        };
        names.iter().map(candidate).collect()
    }

    const NAMES: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];

    fn find(program: &mut SimulatedProgram) -> SearchResult {
        let limits = SearchLimits { budget_s: 50.0 * 1.3, run_s: 1.3, floor: 0.01 };
        search(&candidates(&NAMES), limits, program).unwrap()
    }

    #[test]
    fn what_pays_is_found_combined_and_confirmed() {
        for seed in 0..20 {
            let mut program = SimulatedProgram::new(seed, 0.01, &[("B", 0.85), ("F", 0.9), ("C", 1.3)]);
            let result = find(&mut program);
            let names: Vec<&str> = result.settings.environment.names().collect();
            assert_eq!(names, ["B", "F"], "{result:?}");
            let gain = result.gain.unwrap();
            assert!(result.is_claimed && (gain.ratio - 1.0 / (0.85 * 0.9)).abs() < 0.04, "{gain:?}");
            assert!(result.elapsed_s < 1.2 * 50.0 * 1.3, "{}", result.elapsed_s);
        }
    }

    #[test]
    fn nothing_is_claimed_where_nothing_pays() {
        let claims = (0..400).filter(|seed| find(&mut SimulatedProgram::new(*seed, 0.03, &[("C", 1.2)])).is_claimed).count();
        // The interval is above 1 in at most 2.5 % of all cases, and above the floor in fewer.
        assert!(claims <= 10, "{claims} of 400");
    }

    #[test]
    fn a_candidate_that_changes_the_program_is_dropped_however_fast_it_is() {
        let mut program = SimulatedProgram::new(1, 0.01, &[("B", 0.5), ("F", 0.9)]);
        program.broken = Some("B");
        let result = find(&mut program);
        assert_eq!(result.settings.environment.names().collect::<Vec<_>>(), ["F"]);
        assert_eq!(result.candidates[1].state, CandidateState::Rejected("prints something else".into()));
    }

    #[test]
    fn of_alternatives_only_one_is_taken() {
        let mut all = candidates(&NAMES);
        all[1].group = "size".into();
        all[5].group = "size".into();
        let mut program = SimulatedProgram::new(3, 0.01, &[("B", 0.85), ("F", 0.7)]);
        let limits = SearchLimits { budget_s: 65.0, run_s: 1.3, floor: 0.01 };
        let result = search(&all, limits, &mut program).unwrap();
        assert_eq!(result.settings.environment.names().collect::<Vec<_>>(), ["F"]);
        assert_eq!(result.candidates[1].state, CandidateState::Surpassed);
    }

    #[test]
    fn a_small_budget_tries_the_most_relevant() {
        let mut all = candidates(&NAMES);
        all[7].relevance = 0.9;
        let limits = SearchLimits { budget_s: 20.0, run_s: 1.3, floor: 0.01 };
        let result = search(&all, limits, &mut SimulatedProgram::new(3, 0.01, &[("H", 0.7)])).unwrap();
        assert!(result.is_claimed, "{result:?}");
        assert!(result.candidates.iter().any(|one| one.state == CandidateState::NotTried));
        assert!(result.runs <= 20, "{}", result.runs);
    }
}
