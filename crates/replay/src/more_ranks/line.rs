//! What one rank of an extrapolated run does, a round of a loop at a time.

use sintonia_mpi::{Mode, Role};
use sintonia_recording::raw::{self, RequestRef};
use sintonia_recording::table::{ListedRequest, Shape};

use super::extrapolated::Extrapolated;
use super::family::Part;
use super::open::{Open, Receives};
use super::step::{Handles, Step};
use super::times::Segment;
use super::who::Round;
use crate::Error;
use crate::schedule::{Described, Next, Row, Stretch, Stretches, action};

/// The most calls of a round that are handed out in one piece.
const LONGEST_ROUND: u64 = 512;
/// How many calls are handed out at once where nothing repeats.
const ENOUGH: usize = 64;

/// Where a rank is in a loop, or outside all of them.
struct Level {
    /// The loop, if it is one.
    number: Option<usize>,
    /// What comes next in its body.
    next: usize,
    /// Whether each of its rounds is handed out in one piece.
    whole: bool,
}

/// A segment of a round that may come again.
#[derive(Clone, Copy)]
struct Passed {
    node: u32,
    /// Whether the loop around it had gone round before.
    again: bool,
    /// Whether that loop is the one whose rounds are handed out in one piece.
    in_whole: bool,
}

/// A rank on its way through the program.
pub struct Line<'a> {
    run: &'a Extrapolated<'a>,
    rank: u32,
    class: usize,
    levels: Vec<Level>,
    /// The rounds of the loops it is in.
    rounds: Vec<Round>,
    open: Open,
    /// How many requests it has made.
    made: u64,
    /// When it would be here if no call but those that keep their time took any.
    now_ns: i64,
    random: u64,
    /// The requests that there were when the round of a whole loop began, and how many had been made.
    began: (Open, u64),
    /// The next rounds are like the last one.
    repeats: bool,
    /// The segments of the rows that were handed out last.
    segments: Vec<Passed>,
}

impl<'a> Line<'a> {
    pub(super) fn new(run: &'a Extrapolated<'a>, rank: u32) -> Line<'a> {
        Line {
            run,
            rank,
            class: run.pattern.class(run.spot(rank)),
            levels: vec![Level { number: None, next: 0, whole: false }],
            rounds: Vec::new(),
            open: Open::default(),
            made: 0,
            now_ns: 0,
            random: (u64::from(rank) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            began: (Open::default(), 0),
            repeats: false,
            segments: Vec::new(),
        }
    }

    fn body(&self, level: &Level) -> &'a [Part] {
        let program = &self.run.pattern.program;
        level.number.map_or(&program.body, |number| &program.loops[number].body)
    }

    /// Goes on by one call or loop; whether what was handed out so far should be let go before more comes.
    fn go_on(&mut self, stretch: &mut Stretch) -> bool {
        let Some(level) = self.levels.last() else { return true };
        let body = self.body(level);
        let next = level.next;
        let Some(part) = body.get(next) else { return self.end_round(stretch.rows.is_empty()) };
        match *part {
            Part::Call(node) => self.call(node, stretch),
            Part::Loop(number) => {
                let count = self.run.pattern.program.counts[number].of(self.run.spot(self.rank), &self.rounds, &self.open);
                if count > 0 {
                    let whole = !self.levels.iter().any(|level| level.whole) && count > 1 && self.is_whole(number, count);
                    if whole && !stretch.rows.is_empty() {
                        return true;
                    }
                    self.enter(number, count, whole);
                    return false;
                }
            }
        }
        if let Some(level) = self.levels.last_mut() {
            level.next += 1;
        }
        stretch.rows.len() >= ENOUGH && !self.levels.iter().any(|level| level.whole)
    }

    fn enter(&mut self, number: usize, of: u32, whole: bool) {
        if let Some(level) = self.levels.last_mut() {
            level.next += 1;
        }
        self.levels.push(Level { number: Some(number), next: 0, whole });
        self.rounds.push(Round { number: 0, of });
        if whole {
            self.began = (self.open.clone(), self.made);
        }
    }

    /// A body has come to its end: the next round begins, or the loop is left.
    fn end_round(&mut self, is_empty: bool) -> bool {
        let Some(level) = self.levels.last_mut() else { return true };
        let (whole, Some(round)) = (level.whole, self.rounds.last_mut()) else {
            self.levels.pop();
            return true;
        };
        // Where a round of a loop whose rounds are all the same has nothing, the others have nothing either.
        if round.number + 1 < round.of && !(whole && is_empty) {
            level.next = 0;
            round.number += 1;
            if whole {
                let now = (self.open.clone(), self.made);
                self.repeats = alike(&self.began, &now);
                // Whoever repeats has to know what a round adds.
                if !self.repeats {
                    self.began = now;
                }
            }
        } else {
            self.levels.pop();
            self.rounds.pop();
        }
        whole
    }

    /// Whether rounds of a loop are all the same, and short enough to be handed out one by one.
    fn is_whole(&self, number: usize, count: u32) -> bool {
        let mut rounds = self.rounds.clone();
        rounds.push(Round { number: 0, of: count });
        self.run.pattern.steady[number] && self.calls(number, &mut rounds) <= LONGEST_ROUND
    }

    /// About how many calls a round of a loop has.
    fn calls(&self, number: usize, rounds: &mut Vec<Round>) -> u64 {
        let program = &self.run.pattern.program;
        let mut sum = 0u64;
        for part in &program.loops[number].body {
            let calls = match part {
                Part::Call(_) => 1,
                Part::Loop(inner) => {
                    let of = program.counts[*inner].of(self.run.spot(self.rank), rounds, &self.open).max(1);
                    rounds.push(Round { number: 0, of });
                    let calls = self.calls(*inner, rounds).saturating_mul(of.into());
                    rounds.pop();
                    calls
                }
            };
            sum = sum.saturating_add(calls);
        }
        sum
    }

    fn call(&mut self, node: usize, stretch: &mut Stretch) {
        let run = self.run;
        let (step, spot) = (&run.pattern.program.steps[node], run.spot(self.rank));
        let Some(peer) = step.made_by(spot, &self.rounds) else { return };
        let mut shape = self.shape(step, peer);
        if shape.makes_request() {
            let receives = matches!(step.shape.operation.role(), Role::Receive | Role::SendReceive);
            let (peer, tag) =
                if step.shape.operation.role() == Role::Receive { (shape.peer, shape.tag) } else { (shape.source, shape.recv_tag) };
            let receives = receives.then_some(Receives { peer, tag, bytes: shape.received });
            self.open.make(self.made, node as u32, shape.operation.function().mode == Mode::Persistent, receives);
            self.made += 1;
        }
        if let Some(handles) = &step.handles {
            shape.requests = self.handle(handles);
            if handles.only_if_any && shape.requests.is_empty() {
                return;
            }
        }
        let again = self.rounds.last().is_some_and(|round| round.number > 0);
        let in_whole = self.levels.last().is_some_and(|level| level.whole);
        self.segments.push(Passed { node: node as u32, again, in_whole });
        let row = self.row((node, again), stretch.rows.len());
        stretch.actions.push(Described { action: action(&|_| Vec::new(), 0, &shape), shape });
        stretch.rows.push(row);
    }

    fn shape(&self, step: &Step, peer: Option<u32>) -> Shape {
        let (run, spot, rounds) = (self.run, self.run.spot(self.rank), &self.rounds[..]);
        let role = step.shape.operation.role();
        let nobody = step.peer.is_rule() && peer.is_none();
        let source = step.source.of(spot, rounds);
        // Whoever waits for a message from nobody gets an empty one with any tag.
        let from = if role == Role::SendReceive { &step.source } else { &step.peer };
        let received = !(from.is_rule() && if role == Role::SendReceive { source.is_none() } else { peer.is_none() })
            || step.shape.makes_request()
            || !matches!(role, Role::SendReceive | Role::Receive);
        let tag_from_nobody = |tag: i32, is_receive: bool| if is_receive && !received { raw::ANY } else { tag };
        Shape {
            parts: if nobody { step.parts_with_nobody } else { step.shape.parts },
            object: step.communicator.map_or(raw::NO_OBJECT, |kind| run.communicator(kind, spot)),
            made: step.made.map_or(raw::NO_OBJECT, |kind| run.communicator(kind, spot)),
            peer: step.peer.recorded(peer),
            source: step.source.recorded(source),
            tag: tag_from_nobody(step.tag.of(spot, rounds, peer) as i32, role == Role::Receive),
            recv_tag: tag_from_nobody(step.recv_tag.of(spot, rounds, source) as i32, role == Role::SendReceive),
            sent: run.bytes(role, step.sent.of(spot, rounds, peer)),
            received: if received { run.bytes(role, step.received.of(spot, rounds, source.or(peer))) } else { 0 },
            ..step.shape.clone()
        }
    }

    /// Does to requests what a call does to them, and lists them.
    fn handle(&mut self, handles: &Handles) -> Vec<ListedRequest> {
        let can: Vec<_> = self.open.list.iter().filter(|request| handles.handling.can(request)).copied().collect();
        let nodes: Vec<u32> = can.iter().map(|request| request.node).collect();
        let chosen: Vec<_> = handles.choice.places(&nodes, &handles.of).into_iter().map(|place| can[place as usize]).collect();
        // The requests that there are stand in the order of their numbers, and so do those that are chosen.
        let mut next = chosen.iter().map(|request| request.number).peekable();
        self.open.handle(handles.handling, |request| next.next_if_eq(&request.number).is_some());
        let listed = |request: &super::open::Request| ListedRequest {
            request: RequestRef::Ago(self.made - 1 - request.number),
            receive: request.receives.is_some_and(|receives| receives.peer != raw::PROC_NULL),
            peer: request.receives.map_or(raw::NONE, |receives| receives.peer),
            tag: request.receives.map_or(0, |receives| receives.tag),
            received: request.receives.map_or(0, |receives| receives.bytes),
        };
        chosen.iter().map(listed).collect()
    }

    fn row(&mut self, segment: Segment, action: usize) -> Row {
        let taken = self.run.taken(self.class, segment);
        let ratio = if self.run.pattern.options.noise { self.scatter(segment) } else { 1.0 };
        let computed_ns = (taken.computed_ns * ratio) as i64;
        Row { computed_ns, took_ns: taken.took_ns as i64, action: action as u32, ..Row::default() }
    }

    /// A ratio to the mean time of a segment, as they were recorded.
    fn scatter(&mut self, segment: Segment) -> f64 {
        let ratios = self.run.pattern.laws.scatter(segment);
        if ratios.is_empty() {
            return 1.0;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        ratios[(self.random >> 33) as usize % ratios.len()]
    }

    /// Lets the time of rows pass.
    fn pass(&mut self, stretch: &mut Stretch) {
        stretch.enter_ns = self.now_ns + stretch.rows.first().map_or(0, |row| row.computed_ns);
        self.now_ns += stretch.rows.iter().map(|row| row.computed_ns + row.took_ns).sum::<i64>();
    }

    /// One more round like the last one.
    fn repeat(&mut self, stretch: &mut Stretch) {
        let added = self.made - self.began.1;
        self.began.1 = self.made;
        self.made += added;
        self.open.list.iter_mut().for_each(|request| request.number += added);
        stretch.rows.clear();
        for place in 0..self.segments.len() {
            let Passed { node, again, in_whole } = self.segments[place];
            let row = self.row((node as usize, again || in_whole), place);
            stretch.rows.push(row);
        }
        match self.rounds.last_mut() {
            Some(round) if round.number + 1 < round.of => round.number += 1,
            _ => {
                self.repeats = false;
                self.levels.pop();
                self.rounds.pop();
            }
        }
    }
}

/// Whether there are the same requests as before, counted back from the newest.
fn alike(before: &(Open, u64), now: &(Open, u64)) -> bool {
    let ago = |(open, made): &(Open, u64)| {
        open.list.iter().map(|request| (made - request.number, request.node, request.active)).collect::<Vec<_>>()
    };
    // A persistent request stays where it is while others are made.
    !now.0.list.iter().any(|request| request.persistent && before.1 != now.1) && ago(before) == ago(now)
}

impl Stretches for Line<'_> {
    fn next(&mut self, stretch: &mut Stretch) -> Result<Next, Error> {
        stretch.first_request = None;
        if self.repeats {
            self.repeat(stretch);
            self.pass(stretch);
            return Ok(Next::Rows);
        }
        stretch.actions.clear();
        stretch.rows.clear();
        self.segments.clear();
        while !self.levels.is_empty() {
            if self.go_on(stretch) && !stretch.rows.is_empty() {
                break;
            }
        }
        // The next round makes its own: a million ranks wait in less room without.
        if self.open.list.is_empty() {
            self.open = Open::default();
        }
        self.pass(stretch);
        Ok(if stretch.rows.is_empty() { Next::End } else { Next::Actions })
    }
}
