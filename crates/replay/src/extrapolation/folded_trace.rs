//! Traces of all ranks, folded along the loops: equal iterations are stored once.

use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

use sintonia_mpi::FunctionRole;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::comm_event::{CommEvent, RequestTracker};
use sintonia_recording::raw;

use super::error::RecognitionError;
use super::loop_nest::{LoopNest, LoopVisitor};
use super::outstanding_requests::{OutstandingRequests, RequestUse};
use super::recording_family::{RecordedRun, RecordingFamily};
use super::segment_times::SegmentTimer;

/// The properties of a call that rules must explain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TracedCall {
    /// The call without its requests.
    pub call: CallDescriptor,
    /// The requests it used.
    pub request_use: RequestUse,
}

/// Element of a folded trace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum TraceElement {
    /// A call: node and index of its details.
    Call(usize, u32),
    /// A loop: runs of equal bodies with their repeat counts.
    Loop(usize, Vec<(u32, u32)>),
}

/// Trace of one rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankTrace {
    /// Index of the run.
    pub run: usize,
    /// The rank.
    pub rank: u32,
    /// Index of the top-level body.
    pub body: u32,
}

/// Traces of all ranks of a family.
#[derive(Default)]
pub(super) struct FoldedTraces {
    /// By run and rank.
    pub traces: Vec<RankTrace>,
    /// Interned call details.
    pub details: Interner<TracedCall>,
    /// Interned bodies.
    pub bodies: Interner<Vec<TraceElement>>,
    /// Segment times.
    pub timer: SegmentTimer,
}

/// Interned values, numbered in order of first occurrence.
pub(super) struct Interner<T> {
    list: Vec<Rc<T>>,
    known: HashMap<Rc<T>, u32>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner { list: Vec::new(), known: HashMap::new() }
    }
}

impl<T: Hash + Eq> Interner<T> {
    fn intern(&mut self, thing: T) -> u32 {
        if let Some(number) = self.known.get(&thing) {
            return *number;
        }
        let (thing, number) = (Rc::new(thing), self.list.len() as u32);
        self.list.push(thing.clone());
        self.known.insert(thing, number);
        number
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.list[number as usize]
    }
}

impl FoldedTraces {
    /// Folds the traces of all ranks.
    pub(super) fn new(family: &RecordingFamily) -> Result<FoldedTraces, RecognitionError> {
        let mut traces = FoldedTraces::default();
        for (number, run) in family.runs.iter().enumerate() {
            for rank in 0..run.ranks {
                let body = traces.fold_rank(family, number, rank)?;
                traces.traces.push(RankTrace { run: number, rank, body });
            }
        }
        Ok(traces)
    }
}

/// Folds the trace of one rank.
struct TraceFolder<'f> {
    bodies: &'f mut Interner<Vec<TraceElement>>,
    /// Top level, and each active loop.
    levels: Vec<OpenBody>,
}

/// Elements of the current iteration, and the previous iterations.
type OpenBody = (Vec<TraceElement>, Vec<(u32, u32)>);

impl LoopVisitor for TraceFolder<'_> {
    fn enter_loop(&mut self) {
        self.levels.push(Default::default());
    }

    fn end_iteration(&mut self) {
        let Some((elements, rounds)) = self.levels.last_mut() else { return };
        let body = self.bodies.intern(std::mem::take(elements));
        match rounds.last_mut() {
            Some((last, times)) if *last == body => *times += 1,
            _ => rounds.push((body, 1)),
        }
    }

    fn leave_loop(&mut self, number: usize, _: u32) {
        let Some((_, rounds)) = self.levels.pop() else { return };
        if let Some((elements, _)) = self.levels.last_mut() {
            elements.push(TraceElement::Loop(number, rounds));
        }
    }
}

impl FoldedTraces {
    /// Folds the trace of a rank; returns its top-level body.
    fn fold_rank(&mut self, family: &RecordingFamily, number: usize, rank: u32) -> Result<u32, RecognitionError> {
        let run = &family.runs[number];
        let mut got = wildcard_matches(run, rank)?.into_iter();
        let FoldedTraces { details, bodies, timer: clockwork, .. } = self;
        let (mut nest, mut open) = (LoopNest::default(), OutstandingRequests::default());
        let mut folder = TraceFolder { bodies, levels: vec![Default::default()] };
        clockwork.start_rank(number, rank, run.core_waits(rank)?);
        run.for_each_call(rank, |call| {
            let Some(node) = family.node(run, call.descriptor) else {
                clockwork.skip_call(call);
                return Ok(());
            };
            let mut descriptor = CallDescriptor { requests: Vec::new(), site: 0, ..call.descriptor.clone() };
            if is_wildcard_receive(call.descriptor) && call.descriptor.makes_request() {
                let (peer, tag) = got.next().unwrap_or((raw::ANY, raw::ANY));
                (descriptor.peer, descriptor.tag, descriptor.recv_tag) = (peer, tag, raw::ANY);
            }
            let details = details.intern(TracedCall { call: descriptor, request_use: open.track_call(node, call) });
            let again = nest.advance_to(node, family, &mut folder)?;
            clockwork.record_call(node, again, call);
            if let Some((elements, _)) = folder.levels.last_mut() {
                elements.push(TraceElement::Call(node, details));
            }
            Ok(())
        })?;
        nest.finish(&mut folder);
        let elements = folder.levels.pop().map(|(elements, _)| elements).unwrap_or_default();
        Ok(self.bodies.intern(elements))
    }
}

/// Whether a call is a wildcard receive.
pub(super) fn is_wildcard_receive(descriptor: &CallDescriptor) -> bool {
    descriptor.function.role() == FunctionRole::Receive && [descriptor.peer, descriptor.tag, descriptor.recv_tag].contains(&raw::ANY)
}

/// Source and tag matched by each nonblocking wildcard receive, in the order they were posted.
fn wildcard_matches(run: &RecordedRun, rank: u32) -> Result<Vec<(i32, i32)>, RecognitionError> {
    let (mut posted, mut got) = (HashMap::new(), Vec::new());
    let mut tracker = RequestTracker::for_world(run.recording.world(rank));
    run.for_each_call(rank, |call| {
        if let Some(request) = call.request.filter(|_| is_wildcard_receive(call.descriptor)) {
            posted.insert(request, got.len());
            got.push((raw::ANY, raw::ANY));
        }
        for event in tracker.track(call) {
            if let CommEvent::Receive { message, request: Some(request), .. } = event
                && let Some(index) = posted.remove(request)
            {
                got[index] = (message.peer, message.tag);
            }
        }
        Ok(())
    })?;
    Ok(got)
}
