//! The tracker, on farms that are played step by step.

use std::collections::HashMap;

use sintonia_link::value_location::ValueLocation;

use super::*;

const VARIABLE: u64 = 1;
const TOTAL: u64 = 2;
const WORK: i32 = 7;

#[derive(Default)]
struct Memory {
    words: HashMap<u64, u64>,
    events: Vec<(HookPoint, [u64; 6])>,
    rounds: usize,
}

impl PieceEnvironment for Memory {
    fn read(&mut self, number: &NumberLocation) -> Option<u64> {
        self.words.get(&number.location.fixed_address()?).copied()
    }

    fn write(&mut self, number: &NumberLocation, bits: u64) -> Option<u64> {
        self.words.insert(number.location.fixed_address()?, bits)
    }

    fn record(&mut self, _number: u16, point: HookPoint, words: [u64; 6]) {
        self.events.push((point, words));
    }

    fn round_over(&mut self) {
        self.rounds += 1;
    }
}

fn number(address: u64) -> NumberLocation {
    NumberLocation { location: ValueLocation::at(address, 4), is_float: false }
}

/// A master on rank 0, with as many workers, in the style of a textbook.
struct Farm {
    tracker: PieceTracker,
    memory: Memory,
    workers: i32,
    tasks: u64,
    stop_tag: Option<i32>,
    clock: u64,
}

impl Farm {
    fn new(workers: i32, tasks: u64, settings: PieceSettings) -> Farm {
        let tracker = PieceTracker::new(0, workers as usize + 1, PieceSettings { variable: Some(number(VARIABLE)), ..settings });
        let mut memory = Memory::default();
        memory.words.extend([(VARIABLE, 10), (TOTAL, tasks)]);
        Farm { tracker, memory, workers, tasks, stop_tag: None, clock: 0 }
    }

    fn set(&mut self, parameter: PieceParameter, value: f64) {
        self.tracker.set(parameter, value, &mut self.memory);
    }

    fn rule(&mut self, parameters: &ChunkingParameters) {
        for (batch, factor) in parameters.factors.into_iter().enumerate() {
            self.set(PieceParameter::Factor(batch as u8), factor);
        }
        self.set(PieceParameter::Chunks, parameters.chunks as f64);
        self.set(PieceParameter::Chunk, parameters.chunk);
        self.set(PieceParameter::Decrement, parameters.decrement);
        for (worker, weight) in (0..).zip(&parameters.weights) {
            self.set(PieceParameter::Weight(worker), *weight);
        }
        self.set(PieceParameter::Enabled, 1.0);
    }

    fn send(&mut self, peer: i32, tag: i32) {
        self.clock += 1;
        self.tracker.sent(WorkMessage { peer, tag, bytes: 8, ticks: self.clock }, &mut self.memory);
    }

    /// Pieces of a round, by worker. Workers answer in turn.
    fn round(&mut self) -> Vec<(i32, u64)> {
        let (mut given, mut pieces, mut open) = (0, Vec::new(), VecDeque::new());
        let mut next = |farm: &mut Farm, worker: i32, given: &mut u64| {
            let size = farm.memory.words[&VARIABLE].min(farm.tasks - *given);
            *given += size;
            pieces.push((worker, size));
            farm.send(worker, WORK);
        };
        for worker in 1..=self.workers {
            if given < self.tasks {
                next(self, worker, &mut given);
                open.push_back(worker);
            }
        }
        while let Some(worker) = open.pop_front() {
            self.tracker.received(worker, 8, &mut self.memory);
            if given < self.tasks {
                next(self, worker, &mut given);
                open.push_back(worker);
            } else if let Some(tag) = self.stop_tag {
                self.send(worker, tag);
            }
        }
        pieces
    }

    fn sizes(&mut self) -> Vec<u64> {
        self.round().into_iter().map(|(_, size)| size).collect()
    }
}

fn guided(workers: u64) -> ChunkingParameters {
    ChunkingParameters { chunks: 1, ..ChunkingParameters::with_factors([1.0 / workers as f64; 3]) }
}

/// The published sequence of guided self-scheduling.
fn guided_sizes(mut remaining: u64, workers: u64) -> Vec<u64> {
    let mut sizes = Vec::new();
    while remaining > 0 {
        sizes.push(remaining.div_ceil(workers));
        remaining -= remaining.div_ceil(workers);
    }
    sizes
}

#[test]
fn every_piece_follows_the_rule_if_sizes_may_change_after_a_send() {
    for stop_tag in [None, Some(WORK), Some(9)] {
        let settings =
            PieceSettings { total: PieceTotal::Number(100), moment: PieceMoment::Send, is_master: true, ..PieceSettings::default() };
        let mut farm = Farm { stop_tag, ..Farm::new(4, 100, settings) };
        farm.rule(&guided(4));
        for round in 0..3 {
            assert_eq!(farm.sizes(), guided_sizes(100, 4), "round {round}, {stop_tag:?}");
        }
        assert_eq!(farm.memory.rounds, 3, "{stop_tag:?}");
    }
}

#[test]
fn the_first_pieces_have_one_size_if_sizes_change_after_answers_only() {
    let settings = PieceSettings { total: PieceTotal::Variable(number(TOTAL)), is_master: true, ..PieceSettings::default() };
    let mut farm = Farm::new(4, 100, settings);
    farm.rule(&guided(4));
    let sizes = farm.sizes();
    // 25, 19, 14 and 11 are 69.
    assert_eq!(sizes[..4], [18; 4]);
    assert_eq!(sizes[4..], guided_sizes(100 - 4 * 18, 4));
}

#[test]
fn without_a_number_of_tasks_it_is_found_after_a_few_rounds() {
    let mut farm = Farm::new(4, 1003, PieceSettings { moment: PieceMoment::Send, ..PieceSettings::default() });
    farm.memory.words.insert(VARIABLE, 100);
    farm.rule(&guided(4));
    assert_eq!(farm.sizes()[..10], [100; 10], "nothing is known yet");
    for _ in 0..4 {
        assert_eq!(farm.sizes().iter().sum::<u64>(), 1003);
    }
    assert_eq!(farm.tracker.bounds, Some((1003, 1003)));
    assert_eq!(farm.sizes(), guided_sizes(1003, 4));
    // More tasks than ever before are not handed out one by one.
    farm.tasks = 4000;
    assert!(farm.sizes().len() < 200);
}

#[test]
fn the_worker_that_waits_gets_its_weight() {
    let settings =
        PieceSettings { total: PieceTotal::Number(1000), moment: PieceMoment::Send, is_master: true, ..PieceSettings::default() };
    let mut farm = Farm::new(2, 1000, settings);
    farm.rule(&ChunkingParameters { weights: vec![1.5, 0.5], ..ChunkingParameters::with_factors([0.5; 3]) });
    let pieces = farm.round();
    assert_eq!(pieces[..4], [(1, 375), (2, 125), (1, 188), (2, 63)]);
}

#[test]
fn a_worker_that_asks_first_gets_its_piece_by_the_rule() {
    let settings = PieceSettings { total: PieceTotal::Number(100), is_master: true, ..PieceSettings::default() };
    let mut farm = Farm::new(4, 100, settings);
    farm.rule(&guided(4));
    let mut sizes = Vec::new();
    for worker in [2, 1, 4, 3, 2, 2] {
        farm.tracker.received(worker, 4, &mut farm.memory);
        sizes.push(farm.memory.words[&VARIABLE]);
        farm.send(worker, WORK);
    }
    assert_eq!(sizes, guided_sizes(100, 4)[..6]);
}

#[test]
fn events_tell_pieces_and_rounds() {
    let mut farm = Farm::new(3, 40, PieceSettings::default());
    farm.round();
    let words = |point: HookPoint, at: usize| {
        farm.memory.events.iter().filter(|(one, _)| *one == point).map(|(_, words)| words[at]).collect::<Vec<_>>()
    };
    assert_eq!((words(HookPoint::Entry, 0), words(HookPoint::Entry, 1)), (vec![10; 4], vec![1, 2, 3, 1]));
    assert_eq!((words(HookPoint::Entry, 2), words(HookPoint::Exit, 2)), (vec![0, 10, 20, 30], vec![0, 0, 0, 1]));
    assert_eq!((words(HookPoint::Exit, 1), farm.tracker.bounds), (vec![1, 2, 3, 1], Some((31, 40))));
}

#[test]
fn a_process_with_one_partner_is_no_master() {
    let mut farm = Farm::new(4, 40, PieceSettings::default());
    farm.send(1, WORK);
    farm.tracker.received(1, 8, &mut farm.memory);
    assert!(!farm.tracker.is_master() && farm.memory.events.is_empty());
}

#[test]
fn the_initial_value_returns() {
    let settings = PieceSettings { total: PieceTotal::Number(100), is_master: true, ..PieceSettings::default() };
    let mut farm = Farm::new(4, 100, settings);
    farm.rule(&guided(4));
    farm.round();
    farm.set(PieceParameter::Enabled, 0.0);
    assert_eq!(farm.memory.words[&VARIABLE], 10);
    assert_eq!(farm.sizes(), [10; 10]);
}

#[test]
fn a_single_worker_has_rounds_of_as_many_pieces_as_before() {
    let mut farm = Farm::new(3, 40, PieceSettings::default());
    farm.round();
    farm.workers = 1;
    (0..3).for_each(|_| drop(farm.round()));
    assert_eq!(farm.memory.rounds, 4);
}
