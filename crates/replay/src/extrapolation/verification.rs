//! Verification of a pattern: with a recorded number of ranks, it must reproduce the recording exactly.

use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw::RequestRef;

use super::error::RecognitionError;
use super::folded_trace::is_wildcard_receive;
use super::pattern::ProgramPattern;
use super::reader::ExtrapolatedReader;
use super::recording_family::RecordingFamily;
use crate::interval_bound::IntervalBound;
use crate::schedule::{CallChunk, CallReader, ChunkStatus};

/// Compares a pattern with all its recordings, call by call.
pub(super) fn verify(family: &RecordingFamily, pattern: &ProgramPattern) -> Result<(), RecognitionError> {
    for run in &family.runs {
        let predicted = pattern.recorded_run(run.ranks, IntervalBound::Middle).ok_or(RecognitionError::NoRecording)?;
        for rank in 0..run.ranks {
            let mut calls = PatternCalls { reader: ExtrapolatedReader::new(&predicted, rank), chunk: CallChunk::default(), next: 0 };
            let refuted = |node: usize, wanted: Option<&CallDescriptor>, got: Option<&CallDescriptor>| RecognitionError::Call {
                site: family.site_name(node),
                operation: family.nodes[node].operation.name(),
                what: "every call",
                examples: format!("of {} ranks, rank {rank} did {}, not {}", run.ranks, call_text(wanted), call_text(got)),
                tried: "rules that fit each call, but not the whole trace",
            };
            run.for_each_call(rank, |call| {
                let Some(node) = family.node(run, call.descriptor) else { return Ok(()) };
                let got = calls.next();
                let any_source = pattern.program.calls[node].any_order;
                let same = got.is_some_and(|got| got.site == family.nodes[node].site && is_same_call(got, call.descriptor, any_source));
                if same { Ok(()) } else { Err(refuted(node, Some(call.descriptor), got)) }
            })?;
            if let Some(more) = calls.next() {
                return Err(refuted(family.nodes.len() - 1, None, Some(more)));
            }
        }
    }
    Ok(())
}

/// Iterates over the calls of a rank.
struct PatternCalls<'a> {
    reader: ExtrapolatedReader<'a>,
    chunk: CallChunk,
    next: usize,
}

impl PatternCalls<'_> {
    fn next(&mut self) -> Option<&CallDescriptor> {
        if self.next == self.chunk.calls.len() {
            self.next = 0;
            if !matches!(self.reader.read_chunk(&mut self.chunk), Ok(ChunkStatus::SameActions | ChunkStatus::NewActions)) {
                self.chunk.calls.clear();
            }
        }
        let scheduled = self.chunk.calls.get(self.next)?;
        self.next += 1;
        Some(&self.chunk.actions[scheduled.action as usize].call)
    }
}

/// Whether two calls are the same. Sizes may be approximate, and wildcard receives may be in any order.
fn is_same_call(predicted: &CallDescriptor, recorded: &CallDescriptor, any_source: bool) -> bool {
    // A nonblocking wildcard receive is described with the message it matched.
    let any_source = any_source || (is_wildcard_receive(recorded) && recorded.makes_request());
    let any_request = recorded.function.role() == sintonia_mpi::FunctionRole::CompleteAny;
    predicted.function == recorded.function
        && (any_source || (predicted.peer, predicted.tag) == (recorded.peer, recorded.tag))
        && (any_source || (predicted.source, predicted.recv_tag) == (recorded.source, recorded.recv_tag))
        && predicted.makes_request() == recorded.makes_request()
        && (any_request || request_ages(predicted) == request_ages(recorded))
}

fn request_ages(call: &CallDescriptor) -> Vec<u64> {
    let ago = |request: RequestRef| if let RequestRef::Relative(ago) = request { ago } else { u64::MAX };
    let mut requests: Vec<u64> = call.requests.iter().map(|listed| ago(listed.request)).collect();
    requests.sort_unstable();
    requests
}

fn call_text(call: Option<&CallDescriptor>) -> String {
    call.map_or_else(|| "nothing".into(), |call| format!("{} with {}", call.function.name(), call.peer))
}
