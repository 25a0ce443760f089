//! Follows the pieces of work of a master, and determines the size of the next one.
//!
//! A piece is what is sent to a worker between two messages from it. A round is over when all pieces are answered and, where the number of
//! tasks is known, all of them were sent. Messages with another tag than the first answered one are not pieces: they end workers, or
//! prepare them.

use std::collections::{BTreeMap, VecDeque};

use sintonia_link::chunking::{ChunkScheduler, ChunkingParameters};
use sintonia_link::pieces::{NumberLocation, PIECE, PieceMoment, PieceParameter, PieceSettings, PieceTotal};
use sintonia_link::ring::HookPoint;

/// What the tracker needs of the process.
pub(super) trait PieceEnvironment {
    /// The count in a variable.
    fn read(&mut self, number: &NumberLocation) -> Option<u64>;
    /// Writes bits into a variable and returns the old ones.
    fn write(&mut self, number: &NumberLocation, bits: u64) -> Option<u64>;
    /// Records an event.
    fn record(&mut self, number: u16, point: HookPoint, words: [u64; 6]);
    /// A round is over: makes the changes that wait for it.
    fn round_over(&mut self);
}

/// A message of the master to a worker.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkMessage {
    /// The worker.
    pub peer: i32,
    pub tag: i32,
    pub bytes: u64,
    /// Ticks when it was sent.
    pub ticks: u64,
}

#[derive(Debug, Clone, Copy)]
struct OpenPiece {
    tasks: u64,
    ticks: u64,
}

/// A process that messages were sent to.
#[derive(Debug, Default)]
struct Peer {
    /// The latest message, and the variable then, until it is known whether this process is a master.
    latest: Option<(WorkMessage, u64)>,
    latest_tag: i32,
    open: Option<OpenPiece>,
    /// Whether it had a piece in this round.
    has_part: bool,
}

/// The current round.
#[derive(Debug, Default)]
struct Round {
    number: u64,
    scheduler: Option<ChunkScheduler>,
    /// Tasks and number of the pieces sent so far.
    given: u64,
    pieces: u64,
    /// Tasks of the latest piece.
    last: u64,
    /// Messages after all tasks were sent, which end workers.
    stops: u64,
    /// Workers without a piece, the one that waits longest first.
    idle: VecDeque<i32>,
    /// The worker that got the latest piece.
    latest_worker: Option<i32>,
}

/// Follows the pieces of a process.
#[derive(Debug)]
pub(super) struct PieceTracker {
    rank: i32,
    others: usize,
    settings: PieceSettings,
    parameters: ChunkingParameters,
    is_enabled: bool,
    is_master: bool,
    tag: Option<i32>,
    peers: BTreeMap<i32, Peer>,
    round: Round,
    /// Workers and pieces of the latest round.
    workers: usize,
    latest_pieces: u64,
    /// Least and greatest possible number of tasks, as earlier rounds showed.
    bounds: Option<(u64, u64)>,
    /// The worker whose end message may follow the round.
    stop_expected: Option<i32>,
    /// Bits of the variable before it was written first.
    original: Option<u64>,
}

impl PieceTracker {
    /// For a process of this rank in a world of this size.
    pub(super) fn new(rank: i32, size: usize, settings: PieceSettings) -> PieceTracker {
        let others = size.saturating_sub(1).max(1);
        PieceTracker {
            rank,
            others,
            is_enabled: false,
            is_master: settings.is_master,
            tag: settings.tag,
            settings,
            parameters: ChunkingParameters::with_factors([0.5; 3]),
            peers: BTreeMap::new(),
            round: Round::default(),
            workers: others,
            latest_pieces: 0,
            bounds: None,
            stop_expected: None,
            original: None,
        }
    }

    /// How pieces are found and sized.
    pub(super) fn settings(&self) -> &PieceSettings {
        &self.settings
    }

    /// Whether this process hands out work.
    pub(super) fn is_master(&self) -> bool {
        self.is_master
    }

    /// Sets a parameter and returns its old value.
    pub(super) fn set(&mut self, parameter: PieceParameter, value: f64, environment: &mut impl PieceEnvironment) -> f64 {
        let parameters = &mut self.parameters;
        let old = match parameter {
            PieceParameter::Factor(batch) => std::mem::replace(&mut parameters.factors[usize::from(batch.min(2))], value),
            PieceParameter::Margin => std::mem::replace(&mut parameters.margin, value.max(0.0)),
            PieceParameter::Chunk => std::mem::replace(&mut parameters.chunk, value),
            PieceParameter::Decrement => std::mem::replace(&mut parameters.decrement, value),
            PieceParameter::Chunks => std::mem::replace(&mut parameters.chunks, value.max(0.0) as u64) as f64,
            PieceParameter::Weight(worker) => {
                let worker = worker as usize;
                if parameters.weights.len() <= worker {
                    parameters.weights.resize(worker + 1, 1.0);
                }
                std::mem::replace(&mut parameters.weights[worker], value)
            }
            PieceParameter::Enabled => {
                let was_enabled = std::mem::replace(&mut self.is_enabled, value != 0.0);
                if was_enabled && !self.is_enabled {
                    self.restore(environment);
                }
                f64::from(u8::from(was_enabled))
            }
            PieceParameter::Next => {
                self.prepare(environment);
                return 0.0;
            }
        };
        // Before the first piece of a round the whole round follows the new parameters.
        if self.round.pieces == 0 {
            self.round.scheduler = None;
        }
        if self.settings.is_master && self.round.pieces == 0 {
            self.prepare(environment);
        }
        old
    }

    /// Gives the variable its initial value back.
    fn restore(&mut self, environment: &mut impl PieceEnvironment) {
        if let (Some(variable), Some(bits)) = (&self.settings.variable, self.original) {
            environment.write(variable, bits);
        }
    }

    /// This process has sent a message.
    pub(super) fn sent(&mut self, message: WorkMessage, environment: &mut impl PieceEnvironment) {
        let size = self.settings.variable.as_ref().map_or(Some(1), |variable| environment.read(variable)).unwrap_or(1).max(1);
        self.round.idle.retain(|idle| *idle != message.peer);
        let peer = self.peers.entry(message.peer).or_default();
        peer.latest_tag = message.tag;
        if !self.is_master {
            peer.latest = Some((message, size));
            return;
        }
        if self.stop_expected.take() == Some(message.peer) {
            return;
        }
        self.open(message, size, environment);
        if self.settings.moment == PieceMoment::Send {
            self.prepare(environment);
        }
    }

    fn open(&mut self, message: WorkMessage, size: u64, environment: &mut impl PieceEnvironment) {
        if self.tag.is_some_and(|tag| tag != message.tag) || self.peers.get(&message.peer).is_none_or(|peer| peer.open.is_some()) {
            return;
        }
        let total = self.known_total(environment);
        if total.is_some_and(|total| self.round.given >= total) {
            self.round.stops += 1;
            return;
        }
        let tasks = total.map_or(size, |total| size.min(total - self.round.given));
        if let Some(scheduler) = &mut self.round.scheduler {
            // The rule counts this chunk, whatever its size.
            scheduler.peek(&self.parameters, usize::MAX);
            scheduler.take(tasks);
        }
        let first = self.round.given;
        self.round.given += tasks;
        self.round.pieces += 1;
        (self.round.last, self.round.latest_worker) = (tasks, Some(message.peer));
        let peer = self.peers.entry(message.peer).or_default();
        (peer.open, peer.has_part) = (Some(OpenPiece { tasks, ticks: message.ticks }), true);
        let words = [tasks, message.peer as u64, first, self.round.number, message.bytes, total.unwrap_or(0)];
        environment.record(PIECE, HookPoint::Entry, words);
    }

    /// This process has received a message from a peer.
    pub(super) fn received(&mut self, from: i32, bytes: u64, environment: &mut impl PieceEnvironment) {
        if !self.is_master && !self.becomes_master(from, environment) {
            return;
        }
        let answered = self.peers.get_mut(&from).and_then(|peer| Some((peer.open.take()?, peer.latest_tag)));
        self.round.idle.push_back(from);
        if let Some((piece, tag)) = answered {
            self.tag.get_or_insert(tag);
            let is_over = self.is_round_over(environment);
            let words = [piece.tasks, from as u64, u64::from(is_over), self.round.number, bytes, piece.ticks];
            environment.record(PIECE, HookPoint::Exit, words);
            if is_over {
                self.end_round(from, environment);
            }
        }
        if self.settings.moment != PieceMoment::Function {
            self.prepare(environment);
        }
    }

    /// Whether this process turns out to be a master: it has sent to several others, at least half of all, and one of them answers.
    fn becomes_master(&mut self, from: i32, environment: &mut impl PieceEnvironment) -> bool {
        let Some((message, _)) = self.peers.get(&from).and_then(|peer| peer.latest) else { return false };
        if self.peers.len() < 2 || 2 * self.peers.len() < self.others {
            return false;
        }
        self.is_master = true;
        let tag = *self.tag.get_or_insert(message.tag);
        let mut messages: Vec<(WorkMessage, u64)> = self.peers.values_mut().filter_map(|peer| peer.latest.take()).collect();
        messages.retain(|(message, _)| message.tag == tag);
        messages.sort_by_key(|(message, _)| message.ticks);
        messages.into_iter().for_each(|(message, size)| self.open(message, size, environment));
        true
    }

    /// The number of tasks of this round, if it does not have to be estimated.
    fn known_total(&self, environment: &mut impl PieceEnvironment) -> Option<u64> {
        match &self.settings.total {
            PieceTotal::Observed => None,
            PieceTotal::Number(total) => Some(*total),
            PieceTotal::Variable(variable) => environment.read(variable).filter(|total| *total > 0),
        }
    }

    fn is_round_over(&self, environment: &mut impl PieceEnvironment) -> bool {
        if self.peers.values().any(|peer| peer.open.is_some()) {
            return false;
        }
        match self.known_total(environment) {
            Some(total) => self.round.given >= total,
            // A single worker has no other piece open: its round has as many pieces as the latest one.
            None => self.peers.values().filter(|peer| peer.has_part).count() > 1 || self.round.pieces >= self.latest_pieces.max(2),
        }
    }

    fn end_round(&mut self, latest: i32, environment: &mut impl PieceEnvironment) {
        let Round { number, given, pieces, last, stops, .. } = self.round;
        self.workers = self.peers.values().filter(|peer| peer.has_part).count().max(1);
        self.peers.values_mut().for_each(|peer| peer.has_part = false);
        self.latest_pieces = pieces;
        self.stop_expected = (stops > 0).then_some(latest);
        let new = (given - last + 1, given);
        self.bounds = match self.bounds.map(|(least, most)| (least.max(new.0), most.min(new.1))) {
            Some(both) if both.0 <= both.1 => Some(both),
            _ => Some(new),
        };
        self.round = Round { number: number + 1, ..Round::default() };
        environment.round_over();
    }

    /// Writes the size of the next piece.
    fn prepare(&mut self, environment: &mut impl PieceEnvironment) {
        if !self.is_enabled || !self.is_master || self.settings.variable.is_none() {
            return;
        }
        let total = self.known_total(environment);
        let Some(size) = self.next_size(total).filter(|size| *size > 0) else { return };
        let Some(variable) = &self.settings.variable else { return };
        let old = environment.write(variable, variable.encode(size));
        self.original = self.original.or(old);
    }

    /// Tasks of the next piece; `None` if that is not known, or all are sent.
    fn next_size(&mut self, total: Option<u64>) -> Option<u64> {
        // A fixed size does not depend on the number of tasks.
        let unlimited = (self.parameters.chunk > 0.0).then_some(u64::MAX >> 1);
        let total_or_least = total.or(self.bounds.map(|(least, _)| least)).or(unlimited)?;
        let (workers, least, given) = (self.workers, self.settings.least.max(1), self.round.given);
        let scheduler = self.round.scheduler.get_or_insert_with(|| {
            let mut scheduler = ChunkScheduler::new(total_or_least, workers, least).with_batches_in_turn();
            scheduler.take(given);
            scheduler
        });
        scheduler.set_total(total_or_least);
        let is_first = self.round.pieces == 0 && self.round.idle.is_empty();
        if is_first && self.settings.moment == PieceMoment::Answer {
            return mean_of_first(scheduler, &self.parameters, workers);
        }
        let worker = self.next_worker();
        // Workers are numbered without the master.
        let index = worker.max(0) as usize - usize::from(worker > self.rank);
        let scheduler = self.round.scheduler.as_mut()?;
        scheduler.peek(&self.parameters, index).or_else(|| total.is_none().then(|| self.size_beyond()))
    }

    /// The worker that gets the next piece: the one that waits longest, or the next in the order of ranks.
    fn next_worker(&self) -> i32 {
        let after = self.round.latest_worker.map_or(0, |worker| worker + 1);
        let in_order = if after == self.rank { after + 1 } else { after };
        self.round.idle.front().copied().unwrap_or(in_order)
    }

    /// Tasks of a piece where more tasks than the least possible number are sent: a part of what may remain. A round that is larger than any
    /// before is assumed to go on for as long as it has been so.
    fn size_beyond(&self) -> u64 {
        let (_, most) = self.bounds.unwrap_or_default();
        self.round.given.abs_diff(most).div_ceil(2 * self.workers as u64).max(1)
    }
}

/// One size for the first piece of every worker, after which as much remains as the rule wants.
fn mean_of_first(scheduler: &ChunkScheduler, parameters: &ChunkingParameters, workers: usize) -> Option<u64> {
    let mut first = scheduler.clone();
    let sizes: Vec<u64> = (0..workers).map_while(|_| first.next_chunk(parameters, usize::MAX)).map(|(_, tasks)| tasks).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum::<u64>().div_ceil(sizes.len() as u64))
}

#[cfg(test)]
mod tests;
