//! A master and its workers as their MPI calls show them: rounds, pieces of work, and how long each worker computed. For tunlets that know
//! nothing else of the program.

use std::collections::{BTreeSet, HashMap, VecDeque};

use sintonia_link::probe_protocol::HookSide;

use crate::tuning_points::{Actor, COMPUTATIONS, EventJoin, MeasurePoint, PIECES};
use crate::tunlet::PointEvent;

/// Measure points, in the order of [`FarmObserver::measures`].
const PIECE_SENT: usize = 0;
const PIECE_ANSWERED: usize = 1;
const COMPUTED: usize = 2;

/// Computations of a worker that are kept until the master has received their answer.
const MAX_COMPUTATIONS: usize = 64;
/// Error of the clocks of two processes.
const CLOCK_ERROR_S: f64 = 1e-4;

/// A worker's computation of a piece.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Computation {
    pub begin: f64,
    pub end: f64,
    /// Bytes of the message that the worker had received.
    pub bytes: f64,
}

/// What happens in a farm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FarmEvent {
    /// A rank has turned out to be the master.
    MasterFound,
    /// Another rank sends work, too.
    SecondMaster(u32),
    RoundBegins {
        time: f64,
        /// Number of tasks, if it is known.
        total: Option<u64>,
    },
    PieceSent {
        worker: u32,
        time: f64,
        first: u64,
        bytes: f64,
    },
    PieceAnswered {
        worker: u32,
        sent: f64,
        time: f64,
        tasks: u64,
        bytes: f64,
        /// If the worker's calls showed it.
        computation: Option<Computation>,
    },
    RoundEnds {
        time: f64,
        /// Workers that had a piece.
        workers: usize,
    },
}

/// Makes events of a farm from those of the probe.
#[derive(Debug, Default)]
pub(super) struct FarmObserver {
    master: Option<u32>,
    /// Other ranks that sent pieces.
    rivals: BTreeSet<u32>,
    round: Option<u64>,
    workers: BTreeSet<u32>,
    computations: HashMap<u32, VecDeque<Computation>>,
}

impl FarmObserver {
    /// The measure points that it needs; they must come first.
    pub(super) fn measures(master: Option<u32>) -> Vec<MeasurePoint> {
        let master = master.map_or(Actor::All, |rank| Actor::Ranks(vec![rank]));
        let measure = |actor: &Actor, function: &str, side, values: &[&str]| MeasurePoint {
            actor: actor.clone(),
            function: function.to_owned(),
            side,
            values: values.iter().map(ToString::to_string).collect(),
            join: EventJoin::Each,
        };
        vec![
            measure(&master, PIECES, HookSide::Entry, &["worker", "round", "bytes", "first", "total"]),
            measure(&master, PIECES, HookSide::Exit, &["worker", "round", "bytes", "tasks", "over", "seconds"]),
            measure(&Actor::All, COMPUTATIONS, HookSide::Exit, &["bytes", "seconds"]),
        ]
    }

    /// The master, if it is known.
    pub(super) fn master(&self) -> Option<u32> {
        self.master
    }

    /// Whether several ranks send work.
    pub(super) fn has_several_masters(&self) -> bool {
        !self.rivals.is_empty()
    }

    /// What an event of the probe means.
    pub(super) fn events(&mut self, event: &PointEvent) -> Vec<FarmEvent> {
        let value = |index: usize| event.values.get(index).copied().unwrap_or(0.0).max(0.0);
        let time = event.time;
        if event.point == COMPUTED {
            let computations = self.computations.entry(event.rank).or_default();
            if computations.len() == MAX_COMPUTATIONS {
                computations.pop_front();
            }
            computations.push_back(Computation { begin: time - value(1), end: time, bytes: value(0) });
            return Vec::new();
        }
        let mut events = Vec::new();
        match self.master {
            None => {
                self.master = Some(event.rank);
                events.push(FarmEvent::MasterFound);
            }
            Some(master) if master != event.rank => {
                return if self.rivals.insert(event.rank) { vec![FarmEvent::SecondMaster(event.rank)] } else { Vec::new() };
            }
            Some(_) => {}
        }
        let (worker, round, bytes) = (value(0) as u32, value(1) as u64, value(2));
        match event.point {
            PIECE_SENT => {
                if self.round.replace(round) != Some(round) {
                    self.workers.clear();
                    events.push(FarmEvent::RoundBegins { time, total: Some(value(4) as u64).filter(|total| *total > 0) });
                }
                self.workers.insert(worker);
                events.push(FarmEvent::PieceSent { worker, time, first: value(3) as u64, bytes });
            }
            PIECE_ANSWERED if self.round == Some(round) => {
                let (tasks, sent) = (value(3) as u64, time - value(5));
                let computation = self.computation(worker, sent, time);
                events.push(FarmEvent::PieceAnswered { worker, sent, time, tasks, bytes, computation });
                if value(4) > 0.0 {
                    events.push(FarmEvent::RoundEnds { time, workers: self.workers.len() });
                }
            }
            _ => {}
        }
        events
    }

    /// The latest computation of a worker between sending and answer of a piece; earlier ones are dropped.
    fn computation(&mut self, worker: u32, sent: f64, answered: f64) -> Option<Computation> {
        let computations = self.computations.get_mut(&worker)?;
        let mut found = None;
        while computations.front().is_some_and(|next| next.end <= answered + CLOCK_ERROR_S) {
            found = computations.pop_front().filter(|next| next.begin >= sent - CLOCK_ERROR_S).or(found);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(point: usize, rank: u32, time: f64, values: &[f64]) -> PointEvent {
        let side = if point == PIECE_SENT { HookSide::Entry } else { HookSide::Exit };
        PointEvent { point, rank, side, time, values: values.to_vec(), change: 0 }
    }

    #[test]
    fn a_round_of_two_pieces() {
        let mut farm = FarmObserver::default();
        let mut events = farm.events(&event(PIECE_SENT, 0, 1.0, &[1.0, 0.0, 8.0, 0.0, 0.0]));
        events.extend(farm.events(&event(PIECE_SENT, 0, 1.1, &[2.0, 0.0, 8.0, 50.0, 0.0])));
        events.extend(farm.events(&event(COMPUTED, 1, 1.9, &[8.0, 0.7])));
        events.extend(farm.events(&event(PIECE_ANSWERED, 0, 2.0, &[1.0, 0.0, 4.0, 50.0, 0.0, 1.0])));
        events.extend(farm.events(&event(PIECE_ANSWERED, 0, 2.5, &[2.0, 0.0, 4.0, 50.0, 1.0, 1.4])));
        let sent = |worker, time, first| FarmEvent::PieceSent { worker, time, first, bytes: 8.0 };
        let answered =
            |worker, sent, time, computation| FarmEvent::PieceAnswered { worker, sent, time, tasks: 50, bytes: 4.0, computation };
        let expected = [
            FarmEvent::MasterFound,
            FarmEvent::RoundBegins { time: 1.0, total: None },
            sent(1, 1.0, 0),
            sent(2, 1.1, 50),
            answered(1, 1.0, 2.0, Some(Computation { begin: 1.9 - 0.7, end: 1.9, bytes: 8.0 })),
            answered(2, 2.5 - 1.4, 2.5, None),
            FarmEvent::RoundEnds { time: 2.5, workers: 2 },
        ];
        assert_eq!(events, expected);
        assert_eq!(farm.events(&event(PIECE_SENT, 3, 3.0, &[1.0, 0.0, 8.0, 0.0, 0.0])), [FarmEvent::SecondMaster(3)]);
        assert_eq!(farm.master(), Some(0));
    }

    #[test]
    fn a_computation_outside_of_the_piece_is_not_its_own() {
        let mut farm = FarmObserver::default();
        farm.events(&event(COMPUTED, 1, 0.9, &[8.0, 0.5]));
        farm.events(&event(PIECE_SENT, 0, 1.0, &[1.0, 0.0, 8.0, 0.0, 100.0]));
        farm.events(&event(COMPUTED, 1, 3.0, &[8.0, 0.5]));
        let events = farm.events(&event(PIECE_ANSWERED, 0, 2.0, &[1.0, 0.0, 4.0, 50.0, 0.0, 1.0]));
        assert!(matches!(events[..], [FarmEvent::PieceAnswered { computation: None, .. }]), "{events:?}");
    }
}
