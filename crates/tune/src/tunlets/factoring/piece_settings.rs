//! `factoring` for a program of which only the variable with the size of the next piece is known. Its MPI calls show rounds, pieces and
//! workers; the probe sizes each piece by the parameters that the rule sets.

use serde::Deserialize;
use sintonia_link::pieces::{PieceMoment, PieceParameter};
use sintonia_link::probe_protocol::{ActionRepeat, HookSide};
use sintonia_mpi::{FunctionId, FunctionRole};

use super::{FactoringTunlet, RuleChoice};
use crate::schedule::SchedulingRule;
use crate::tuning_points::{Actor, PieceTarget, TaskTotal, TuningMoment, TuningPoint, TuningTarget, TunletRequirements};
use crate::tunlet::{PointEvent, TuningAction};
use crate::tunlets::farm::{FarmEvent, FarmObserver};

/// Seconds after which a program without a master is reported.
const MASTER_TIMEOUT_S: f64 = 5.0;

/// The number of tasks of a round.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum TotalSetting {
    /// Always the same.
    Number(u64),
    /// The value of a variable.
    Variable(String),
}

impl TotalSetting {
    /// The number, if it does not depend on the program.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            TotalSetting::Number(total) => Some(*total),
            TotalSetting::Variable(_) => None,
        }
    }

    fn to_task_total(&self) -> TaskTotal {
        match self {
            TotalSetting::Number(total) => TaskTotal::Number(*total),
            TotalSetting::Variable(name) => TaskTotal::Variable(name.clone()),
        }
    }
}

impl FactoringTunlet {
    /// When the variable is written.
    fn piece_moment(&self) -> PieceMoment {
        let is_send = |at: &str| FunctionId::from_name(at).is_some_and(|function| function.role() == FunctionRole::Send);
        match self.settings.at.as_deref() {
            None => PieceMoment::Answer,
            Some(at) if is_send(at) => PieceMoment::Send,
            Some(_) => PieceMoment::Function,
        }
    }

    pub(super) fn piece_requirements(&mut self, processes: u32) -> TunletRequirements {
        let settings = &self.settings;
        let actor = settings.master.map_or(Actor::All, |rank| Actor::Ranks(vec![rank]));
        let point = |parameter, range, moment, when| TuningPoint {
            actor: actor.clone(),
            target: TuningTarget::Piece(PieceTarget {
                variable: settings.chunk.clone().unwrap_or_default(),
                total: settings.total.as_ref().map(TotalSetting::to_task_total),
                tag: settings.tag,
                moment: self.piece_moment(),
                is_master: settings.master.is_some(),
                least: settings.least.max(1),
                parameter,
            }),
            range,
            moment,
            when,
        };
        let tune = |parameter, range| point(parameter, range, TuningMoment::AtOnce, ActionRepeat::Once);
        let mut tunes: Vec<TuningPoint> = (0..3).map(|batch| tune(PieceParameter::Factor(batch), (0.0, 1.0))).collect();
        let others = [PieceParameter::Chunks, PieceParameter::Margin, PieceParameter::Chunk, PieceParameter::Decrement];
        tunes.extend(others.map(|parameter| tune(parameter, (0.0, 1e9))));
        if self.has_weights() {
            tunes.extend((0..processes.saturating_sub(1)).map(|worker| tune(PieceParameter::Weight(worker), (0.0, 1e6))));
        }
        let enabled = tunes.len();
        tunes.push(tune(PieceParameter::Enabled, (0.0, 1.0)));
        if let (PieceMoment::Function, Some(function)) = (self.piece_moment(), &settings.at) {
            let moment = TuningMoment::At(function.clone(), HookSide::Entry);
            tunes.push(point(PieceParameter::Next, (0.0, 1.0), moment, ActionRepeat::Always));
        }
        self.enabled = enabled;
        TunletRequirements { measures: FarmObserver::measures(self.settings.master), tunes }
    }

    /// Before MPI starts.
    pub(super) fn start_farm(&mut self, processes: u32) -> Vec<TuningAction> {
        let mut actions = Vec::new();
        if processes < 3 {
            actions.push(TuningAction::Report("a master with fewer than two workers has nothing to distribute: nothing is changed".into()));
        } else if self.settings.total.is_none() && self.current_rule != SchedulingRule::SelfScheduling {
            let rule = match self.settings.rule {
                RuleChoice::Rule(rule) => rule.name(),
                RuleChoice::Best => "auto",
            };
            actions.push(TuningAction::Report(format!(
                "{rule} needs the number of tasks, which is not known before the first round is over, and then estimated: give it as `total` (a number or a variable) to have the first round follow the rule"
            )));
        }
        if self.settings.master.is_some() {
            actions.extend(self.follow_rule());
        }
        actions
    }

    /// Whether the parameters of the rule are known.
    pub(super) fn can_start(&self) -> bool {
        let needs_total = matches!(
            self.current_rule,
            SchedulingRule::Trapezoid | SchedulingRule::ModifiedFixedSize | SchedulingRule::FixedSize | SchedulingRule::Factoring
        );
        !needs_total || self.task_statistics().tasks > 0
    }

    fn follow_rule(&mut self) -> Vec<TuningAction> {
        let mut actions = Vec::new();
        if self.piece_moment() == PieceMoment::Function {
            actions.push(self.change(self.enabled + 1, 1.0, "each piece is sized where it is cut"));
        }
        if self.can_start() {
            self.chunking = self.current_rule.chunking(&self.task_statistics());
            actions.extend(self.changes("task times are not known yet"));
        }
        actions
    }

    pub(super) fn handle_farm_event(&mut self, event: FarmEvent) -> Vec<TuningAction> {
        let master = self.farm.as_ref().and_then(FarmObserver::master).unwrap_or(0);
        let point = |point, rank, time, values| PointEvent { point, rank, side: HookSide::Entry, time, values, change: 0 };
        match event {
            FarmEvent::MasterFound if self.settings.master.is_some() => Vec::new(),
            FarmEvent::MasterFound => self.follow_rule(),
            FarmEvent::SecondMaster(rank) => self.give_up(rank),
            _ if self.farm.as_ref().is_some_and(FarmObserver::has_several_masters) => Vec::new(),
            FarmEvent::RoundBegins { time, total } => {
                let mut values = vec![self.workers as f64];
                values.extend(total.map(|total| total as f64));
                self.iteration_begins(&PointEvent { values, ..point(0, master, time, Vec::new()) })
            }
            FarmEvent::PieceSent { worker, first, .. } => {
                self.observer.chunk_sent(self.worker_rank(worker), first);
                Vec::new()
            }
            FarmEvent::PieceAnswered { worker, sent, time, tasks, computation, .. } => {
                let (begin, end) = computation.map_or((sent, time), |computation| (computation.begin, computation.end));
                let rank = self.worker_rank(worker);
                self.observer.chunk_begins(rank, begin, tasks);
                self.chunk_ends(&point(0, rank, end, Vec::new()))
            }
            FarmEvent::RoundEnds { time, workers } => {
                self.observer.complete_iteration();
                self.iteration_ends(&point(0, master, time, vec![workers as f64]))
            }
        }
    }

    /// Workers are numbered from 1, without the master.
    fn worker_rank(&self, worker: u32) -> u32 {
        let master = self.farm.as_ref().and_then(FarmObserver::master).unwrap_or(0);
        if worker < master { worker + 1 } else { worker }
    }

    /// Several ranks send work: which of them to tune is not known.
    fn give_up(&mut self, rank: u32) -> Vec<TuningAction> {
        let master = self.farm.as_ref().and_then(FarmObserver::master).unwrap_or(0);
        let why = format!("ranks {master} and {rank} both send to others and are answered: give the rank of the master as `master`");
        let mut actions = vec![TuningAction::Report(why.clone())];
        if self.set_values.insert(self.enabled, 0.0) == Some(1.0) {
            actions.push(self.change(self.enabled, 0.0, &why));
        }
        actions
    }

    pub(super) fn report_missing_master(&mut self, time: f64) -> Vec<TuningAction> {
        let is_missing = self.farm.as_ref().is_some_and(|farm| farm.master().is_none());
        if !is_missing || time < MASTER_TIMEOUT_S || std::mem::replace(&mut self.has_reported_no_master, true) {
            return Vec::new();
        }
        let what = "no master found so far: no rank has sent messages to at least half of the others and received an answer";
        vec![TuningAction::Report(what.into())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunlet::Tunlet;

    const SENT: usize = 0;
    const ANSWERED: usize = 1;

    fn tunlet(settings: &str) -> FactoringTunlet {
        let mut tunlet = FactoringTunlet::new(toml::from_str(settings).expect("settings"));
        tunlet.requirements(3);
        tunlet
    }

    fn event(point: usize, time: f64, values: &[f64]) -> PointEvent {
        let side = if point == SENT { HookSide::Entry } else { HookSide::Exit };
        PointEvent { point, rank: 0, side, time, values: values.to_vec(), change: 0 }
    }

    /// A round in which each of two workers computes a piece of ten tasks.
    fn round(tunlet: &mut FactoringTunlet, number: f64, times: [f64; 2]) -> Vec<TuningAction> {
        let begin = 10.0 * number;
        let mut actions = Vec::new();
        for (worker, first) in [(1.0, 0.0), (2.0, 10.0)] {
            actions.extend(tunlet.on_event(&event(SENT, begin, &[worker, number, 8.0, first, 0.0])));
        }
        for (worker, time, over) in [(1.0, times[0], 0.0), (2.0, times[1], 1.0)] {
            actions.extend(tunlet.on_event(&event(ANSWERED, begin + time, &[worker, number, 8.0, 10.0, over, time])));
        }
        actions
    }

    fn changes(actions: &[TuningAction]) -> Vec<(usize, f64)> {
        let change = |action: &TuningAction| match action {
            TuningAction::Change { point, value, rank: Some(0), .. } => Some((*point, *value)),
            TuningAction::Change { .. } => panic!("{action:?} is not for the master"),
            _ => None,
        };
        actions.iter().filter_map(change).collect()
    }

    #[test]
    fn only_the_master_that_was_found_is_changed() {
        let mut tunlet = tunlet("chunk = \"block\"\nrule = \"fac2\"");
        let actions = tunlet.on_start(3);
        assert!(matches!(&actions[..], [TuningAction::Report(what)] if what.contains("`total`")), "{actions:?}");
        assert_eq!(changes(&round(&mut tunlet, 0.0, [1.0, 3.0])), [(0, 0.5), (1, 0.5), (2, 0.5), (tunlet.enabled, 1.0)]);
        let another = PointEvent { rank: 2, ..event(SENT, 20.0, &[1.0, 1.0, 8.0, 0.0, 0.0]) };
        assert_eq!(changes(&tunlet.on_event(&another)), [(tunlet.enabled, 0.0)]);
        assert_eq!(round(&mut tunlet, 2.0, [1.0, 3.0]), []);
    }

    #[test]
    fn a_known_master_and_total_start_before_the_program() {
        let mut tunlet = tunlet("chunk = \"block\"\nrule = \"tss\"\ntotal = 20\nmaster = 0\nat = \"cut\"");
        let actions = changes(&tunlet.on_start(3));
        // 20 / (2 * 2) = 5 tasks, and 7 chunks down to 1: less by 4 / 6.
        assert!(
            [(5, 5.0), (6, 4.0 / 6.0), (tunlet.enabled, 1.0), (tunlet.enabled + 1, 1.0)].iter().all(|one| actions.contains(one)),
            "{actions:?}"
        );
        let tunes = tunlet.requirements(3).tunes;
        assert_eq!(tunes.last().map(|point| (point.target.to_string(), point.when)), Some(("block (next)".into(), ActionRepeat::Always)));
    }

    #[test]
    fn a_rule_that_needs_the_number_of_tasks_waits_for_the_first_round() {
        let mut tunlet = tunlet("chunk = \"block\"\nrule = \"tss\"");
        let actions = changes(&round(&mut tunlet, 0.0, [1.0, 1.0]));
        assert!(actions.contains(&(5, 5.0)) && actions.contains(&(tunlet.enabled, 1.0)), "{actions:?}");
    }

    #[test]
    fn later_rounds_use_mean_and_deviation() {
        let mut tunlet = tunlet("chunk = \"block\"");
        let actions = changes(&round(&mut tunlet, 0.0, [1.0, 3.0]));
        // A mean of 0.2 s and a deviation of 0.1 s give x0 = 1.5 and x1 = 2.5.
        assert!(actions.iter().any(|(point, value)| *point == 0 && (value - 1.0 / 1.5).abs() < 1e-9), "{actions:?}");
    }

    #[test]
    fn a_missing_master_is_reported_once() {
        let mut tunlet = tunlet("chunk = \"block\"");
        assert_eq!((tunlet.on_tick(1.0).len(), tunlet.on_tick(6.0).len(), tunlet.on_tick(7.0).len()), (0, 1, 0));
    }
}
