//! Reader of one rank of an extrapolated run.

use sintonia_fit::SplitMix64;
use sintonia_mpi::{BlockingMode, FunctionRole};
use sintonia_recording::call_table::{CallDescriptor, ListedRequest};
use sintonia_recording::raw::{self, RequestRef};

use super::call_rule::{CallRule, RequestSelection};
use super::extrapolated::ExtrapolatedRun;
use super::filters::LoopIteration;
use super::outstanding_requests::{ExpectedMessage, OutstandingRequests};
use super::recording_family::BodyElement;
use super::segment_times::SegmentId;
use crate::Error;
use crate::schedule::{CallChunk, CallReader, ChunkStatus, DescribedAction, ScheduledCall, action_of_call};

/// Longest loop iteration that is repeated as one chunk.
const MAX_REPEATED_CALLS: u64 = 512;
/// Chunk size where nothing repeats.
const CHUNK_CALLS: usize = 64;

/// Position in a loop, or in the top-level body.
struct LoopFrame {
    /// The loop, if it is one.
    loop_id: Option<usize>,
    /// Next element of its body.
    next: usize,
    /// Whether each of its iterations is one chunk.
    repeats: bool,
}

/// A segment of a repeatable iteration.
#[derive(Clone, Copy)]
struct SegmentRef {
    node: u32,
    /// Whether the enclosing loop had iterated before.
    again: bool,
    /// Whether that loop is the repeated one.
    in_repeated_loop: bool,
}

/// Replays the rules for one rank.
pub(super) struct ExtrapolatedReader<'a> {
    run: &'a ExtrapolatedRun<'a>,
    rank: u32,
    class: usize,
    frames: Vec<LoopFrame>,
    /// Iterations of the enclosing loops.
    iterations: Vec<LoopIteration>,
    open: OutstandingRequests,
    /// Number of requests created.
    n_requests: u64,
    /// Time if all calls but those with fixed durations took none.
    now_ns: i64,
    random: SplitMix64,
    /// Outstanding requests and request count at the start of the repeated iteration.
    iteration_start: (OutstandingRequests, u64),
    /// The next iterations equal the last one.
    repeats: bool,
    /// Segments of the last chunk.
    segments: Vec<SegmentRef>,
}

impl<'a> ExtrapolatedReader<'a> {
    pub(super) fn new(run: &'a ExtrapolatedRun<'a>, rank: u32) -> ExtrapolatedReader<'a> {
        ExtrapolatedReader {
            run,
            rank,
            class: run.pattern.rank_class(run.position(rank)),
            frames: vec![LoopFrame { loop_id: None, next: 0, repeats: false }],
            iterations: Vec::new(),
            open: OutstandingRequests::default(),
            n_requests: 0,
            now_ns: 0,
            random: SplitMix64::new(u64::from(rank)),
            iteration_start: (OutstandingRequests::default(), 0),
            repeats: false,
            segments: Vec::new(),
        }
    }

    fn body(&self, frame: &LoopFrame) -> &'a [BodyElement] {
        let program = &self.run.pattern.program;
        frame.loop_id.map_or(&program.body, |number| &program.loops[number].body)
    }

    /// Advances by one call or loop; returns whether the chunk should be flushed first.
    fn step(&mut self, chunk: &mut CallChunk) -> bool {
        let Some(frame) = self.frames.last() else { return true };
        let body = self.body(frame);
        let next = frame.next;
        let Some(element) = body.get(next) else { return self.end_iteration(chunk.calls.is_empty()) };
        match *element {
            BodyElement::Call(node) => self.call(node, chunk),
            BodyElement::Loop(number) => {
                let count = self.run.pattern.program.counts[number].evaluate(self.run.position(self.rank), &self.iterations, &self.open);
                if count > 0 {
                    let repeatable = !self.frames.iter().any(|frame| frame.repeats) && count > 1 && self.is_repeatable(number, count);
                    if repeatable && !chunk.calls.is_empty() {
                        return true;
                    }
                    self.enter(number, count, repeatable);
                    return false;
                }
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
        chunk.calls.len() >= CHUNK_CALLS && !self.frames.iter().any(|frame| frame.repeats)
    }

    fn enter(&mut self, number: usize, total: u32, repeatable: bool) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next += 1;
        }
        self.frames.push(LoopFrame { loop_id: Some(number), next: 0, repeats: repeatable });
        self.iterations.push(LoopIteration { index: 0, total });
        if repeatable {
            self.iteration_start = (self.open.clone(), self.n_requests);
        }
    }

    /// At the end of a body: next iteration, or leave the loop.
    fn end_iteration(&mut self, is_empty: bool) -> bool {
        let Some(frame) = self.frames.last_mut() else { return true };
        let (repeatable, Some(iteration)) = (frame.repeats, self.iterations.last_mut()) else {
            self.frames.pop();
            return true;
        };
        // If one iteration of an invariant loop is empty, all are.
        if iteration.index + 1 < iteration.total && !(repeatable && is_empty) {
            frame.next = 0;
            iteration.index += 1;
            if repeatable {
                let now = (self.open.clone(), self.n_requests);
                self.repeats = has_same_requests(&self.iteration_start, &now);
                // Repeating needs to know what an iteration adds.
                if !self.repeats {
                    self.iteration_start = now;
                }
            }
        } else {
            self.frames.pop();
            self.iterations.pop();
        }
        repeatable
    }

    /// Whether iterations of a loop are identical and short enough.
    fn is_repeatable(&self, number: usize, count: u32) -> bool {
        let mut iterations = self.iterations.clone();
        iterations.push(LoopIteration { index: 0, total: count });
        self.run.pattern.invariant_loops[number] && self.calls_per_iteration(number, &mut iterations) <= MAX_REPEATED_CALLS
    }

    /// Estimated number of calls per iteration.
    fn calls_per_iteration(&self, number: usize, iterations: &mut Vec<LoopIteration>) -> u64 {
        let program = &self.run.pattern.program;
        let mut sum = 0u64;
        for element in &program.loops[number].body {
            let calls = match element {
                BodyElement::Call(_) => 1,
                BodyElement::Loop(inner) => {
                    let total = program.counts[*inner].evaluate(self.run.position(self.rank), iterations, &self.open).max(1);
                    iterations.push(LoopIteration { index: 0, total });
                    let calls = self.calls_per_iteration(*inner, iterations).saturating_mul(total.into());
                    iterations.pop();
                    calls
                }
            };
            sum = sum.saturating_add(calls);
        }
        sum
    }

    fn call(&mut self, node: usize, chunk: &mut CallChunk) {
        let run = self.run;
        let (step, position) = (&run.pattern.program.calls[node], run.position(self.rank));
        let Some(peer) = step.peer_if_made(position, &self.iterations) else { return };
        let mut call = self.describe_call(step, peer);
        if call.makes_request() {
            let receives = matches!(step.template.function.role(), FunctionRole::Receive | FunctionRole::SendReceive);
            let (peer, tag) =
                if step.template.function.role() == FunctionRole::Receive { (call.peer, call.tag) } else { (call.source, call.recv_tag) };
            let receives = receives.then_some(ExpectedMessage { peer, tag, bytes: call.received });
            self.open.add(self.n_requests, node as u32, call.function.definition().mode == BlockingMode::Persistent, receives);
            self.n_requests += 1;
        }
        if let Some(selection) = &step.requests {
            call.requests = self.handle_requests(selection);
            if selection.skip_if_none && call.requests.is_empty() {
                return;
            }
        }
        let again = self.iterations.last().is_some_and(|iteration| iteration.index > 0);
        let in_whole = self.frames.last().is_some_and(|frame| frame.repeats);
        self.segments.push(SegmentRef { node: node as u32, again, in_repeated_loop: in_whole });
        let scheduled = self.scheduled_call((node, again), chunk.calls.len());
        chunk.actions.push(DescribedAction { action: action_of_call(&|_| Vec::new(), 0, &call), call });
        chunk.calls.push(scheduled);
    }

    fn describe_call(&self, step: &CallRule, peer: Option<u32>) -> CallDescriptor {
        let (run, position, iterations) = (self.run, self.run.position(self.rank), &self.iterations[..]);
        let role = step.template.function.role();
        let missing_peer = step.peer.is_rule() && peer.is_none();
        let source = step.source.evaluate(position, iterations);
        // A receive from `MPI_PROC_NULL` is empty and has any tag.
        let from = if role == FunctionRole::SendReceive { &step.source } else { &step.peer };
        let received = !(from.is_rule() && if role == FunctionRole::SendReceive { source.is_none() } else { peer.is_none() })
            || step.template.makes_request()
            || !matches!(role, FunctionRole::SendReceive | FunctionRole::Receive);
        let tag_from_nobody = |tag: i32, is_receive: bool| if is_receive && !received { raw::ANY } else { tag };
        CallDescriptor {
            parts: if missing_peer { step.parts_without_peer } else { step.template.parts },
            object: step.communicator.map_or(raw::NO_OBJECT, |class| run.communicator(class, position)),
            created: step.created_communicator.map_or(raw::NO_OBJECT, |class| run.communicator(class, position)),
            peer: step.peer.recorded_value(peer),
            source: step.source.recorded_value(source),
            tag: tag_from_nobody(step.tag.evaluate(position, iterations, peer) as i32, role == FunctionRole::Receive),
            recv_tag: tag_from_nobody(step.recv_tag.evaluate(position, iterations, source) as i32, role == FunctionRole::SendReceive),
            sent: run.bytes(role, step.sent.evaluate(position, iterations, peer)),
            received: if received { run.bytes(role, step.received.evaluate(position, iterations, source.or(peer))) } else { 0 },
            ..step.template.clone()
        }
    }

    /// Applies a call to its requests and lists them.
    fn handle_requests(&mut self, selection: &RequestSelection) -> Vec<ListedRequest> {
        let can: Vec<_> = self.open.requests.iter().filter(|request| selection.action.applies_to(request)).copied().collect();
        let nodes: Vec<u32> = can.iter().map(|request| request.node).collect();
        let chosen: Vec<_> =
            selection.policy.select(&nodes, &selection.creating_nodes).into_iter().map(|index| can[index as usize]).collect();
        // Outstanding and selected requests are both sorted by number.
        let mut next = chosen.iter().map(|request| request.number).peekable();
        self.open.apply(selection.action, |request| next.next_if_eq(&request.number).is_some());
        let listed = |request: &super::outstanding_requests::OutstandingRequest| ListedRequest {
            request: RequestRef::Relative(self.n_requests - 1 - request.number),
            is_receive: request.expected.is_some_and(|receives| receives.peer != raw::PROC_NULL),
            peer: request.expected.map_or(raw::NONE, |receives| receives.peer),
            tag: request.expected.map_or(0, |receives| receives.tag),
            received: request.expected.map_or(0, |receives| receives.bytes),
        };
        chosen.iter().map(listed).collect()
    }

    fn scheduled_call(&mut self, segment: SegmentId, action: usize) -> ScheduledCall {
        let taken = self.run.taken(self.class, segment);
        let ratio = if self.run.pattern.options.noise { self.draw_noise(segment) } else { 1.0 };
        let computed_ns = (taken.compute_ns * ratio) as i64;
        ScheduledCall { compute_ns: computed_ns, duration_ns: taken.call_ns as i64, action: action as u32, ..ScheduledCall::default() }
    }

    /// A random recorded ratio to the mean time of a segment.
    fn draw_noise(&mut self, segment: SegmentId) -> f64 {
        let ratios = self.run.pattern.time_laws.noise(segment);
        if ratios.is_empty() {
            return 1.0;
        }
        ratios[self.random.index_below(ratios.len())]
    }

    /// Advances the clock by the calls of a chunk.
    fn advance_clock(&mut self, chunk: &mut CallChunk) {
        chunk.enter_ns = self.now_ns + chunk.calls.first().map_or(0, |scheduled| scheduled.compute_ns);
        self.now_ns += chunk.calls.iter().map(|scheduled| scheduled.compute_ns + scheduled.duration_ns).sum::<i64>();
    }

    /// Repeats the last iteration.
    fn repeat(&mut self, chunk: &mut CallChunk) {
        let added = self.n_requests - self.iteration_start.1;
        self.iteration_start.1 = self.n_requests;
        self.n_requests += added;
        self.open.requests.iter_mut().for_each(|request| request.number += added);
        chunk.calls.clear();
        for index in 0..self.segments.len() {
            let SegmentRef { node, again, in_repeated_loop: in_whole } = self.segments[index];
            let scheduled = self.scheduled_call((node as usize, again || in_whole), index);
            chunk.calls.push(scheduled);
        }
        match self.iterations.last_mut() {
            Some(iteration) if iteration.index + 1 < iteration.total => iteration.index += 1,
            _ => {
                self.repeats = false;
                self.frames.pop();
                self.iterations.pop();
            }
        }
    }
}

/// Whether the outstanding requests are the same, counted back from the newest.
fn has_same_requests(before: &(OutstandingRequests, u64), now: &(OutstandingRequests, u64)) -> bool {
    let ago = |(open, made): &(OutstandingRequests, u64)| {
        open.requests.iter().map(|request| (made - request.number, request.node, request.active)).collect::<Vec<_>>()
    };
    // The age of a persistent request changes when others are created.
    !now.0.requests.iter().any(|request| request.persistent && before.1 != now.1) && ago(before) == ago(now)
}

impl CallReader for ExtrapolatedReader<'_> {
    fn read_chunk(&mut self, chunk: &mut CallChunk) -> Result<ChunkStatus, Error> {
        chunk.first_request = None;
        if self.repeats {
            self.repeat(chunk);
            self.advance_clock(chunk);
            return Ok(ChunkStatus::SameActions);
        }
        chunk.actions.clear();
        chunk.calls.clear();
        self.segments.clear();
        while !self.frames.is_empty() {
            if self.step(chunk) && !chunk.calls.is_empty() {
                break;
            }
        }
        // Frees memory between iterations: it counts with a million ranks.
        if self.open.requests.is_empty() {
            self.open = OutstandingRequests::default();
        }
        self.advance_clock(chunk);
        Ok(if chunk.calls.is_empty() { ChunkStatus::End } else { ChunkStatus::NewActions })
    }
}
