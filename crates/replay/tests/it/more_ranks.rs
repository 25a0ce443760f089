//! Programs are recorded with a few ranks; the extrapolation to many is compared with a recording of many, call by call.

mod patterns;
mod times;

use std::path::Path;

use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw::PROC_NULL;
use sintonia_recording::raw::{RequestRef, part};
use sintonia_recording::testing::{TestProcess, record_program};
use sintonia_replay::changes::ReplayChanges;
use sintonia_replay::engine::{ReplayCosts, replay};
use sintonia_replay::extrapolation::{
    ExtrapolatedRun, ExtrapolationError, ExtrapolationOptions, ProblemScaling, ProgramPattern, RecognitionError, recognise,
};
use sintonia_replay::platform::{IntervalBound, Platform, RankPlacement};
use sintonia_replay::schedule::{CallChunk, ChunkStatus, LocationId, Schedule};
use tempfile::TempDir;

/// The compared properties of a call: communicators by members, requests as a set.
#[derive(Debug, PartialEq)]
struct Seen {
    operation: &'static str,
    site: String,
    ends: [i32; 2],
    tags: [i32; 2],
    bytes: [u64; 2],
    members: Vec<u32>,
    made: Vec<u32>,
    requests: Vec<(u64, bool, i32, i32, u64)>,
    parts: u16,
}

fn seen(schedule: &dyn Schedule, shape: &CallDescriptor) -> Seen {
    let members = |number: u32| if number == u32::MAX { Vec::new() } else { schedule.members(number) };
    let mut requests: Vec<_> = shape
        .requests
        .iter()
        .map(|listed| match listed.request {
            RequestRef::Relative(ago) => (ago, listed.is_receive, listed.peer, listed.tag, listed.received),
            RequestRef::Absolute(..) => panic!("there is one thread"),
        })
        .collect();
    requests.sort_unstable();
    Seen {
        operation: shape.function.name(),
        site: schedule.site_name(shape.site),
        ends: [shape.peer, shape.source],
        tags: [shape.tag, shape.recv_tag],
        bytes: [shape.sent, shape.received],
        members: members(shape.object),
        made: members(shape.created),
        requests,
        parts: shape.parts,
    }
}

/// All calls of a rank with the computation before them, and how many chunks had new actions.
fn calls(schedule: &dyn Schedule, rank: u32) -> (Vec<(Seen, i64)>, usize) {
    let mut line = schedule.open(LocationId { rank, thread: 0 }).unwrap();
    let (mut stretch, mut all, mut new) = (CallChunk::default(), Vec::new(), 0);
    loop {
        match line.read_chunk(&mut stretch).unwrap() {
            ChunkStatus::End => return (all, new),
            ChunkStatus::NewActions => new += 1,
            ChunkStatus::SameActions => {}
        }
        all.extend(stretch.calls.iter().map(|row| (seen(schedule, &stretch.actions[row.action as usize].call), row.compute_ns)));
    }
}

/// Both schedules have the same calls in the same order.
fn assert_same(told: &dyn Schedule, recorded: &Recording) {
    assert_eq!(told.ranks(), Schedule::ranks(recorded));
    for rank in 0..told.ranks() {
        let (told, recorded) = (calls(told, rank).0, calls(recorded, rank).0);
        for (place, ((told, _), (recorded, _))) in told.iter().zip(&recorded).enumerate() {
            assert_eq!(told, recorded, "call {place} of rank {rank}");
        }
        assert_eq!(told.len(), recorded.len(), "calls of rank {rank}");
    }
}

/// Recordings of one program, and their folders.
struct RecordingFamily {
    recordings: Vec<Recording>,
    _folders: Vec<Option<TempDir>>,
}

/// Records a program with several numbers of ranks.
fn family(ranks: &[u32], program: impl Fn(&mut TestProcess)) -> RecordingFamily {
    let (recordings, _folders) = ranks.iter().map(|ranks| record_program(*ranks, &program).into_parts()).unzip();
    RecordingFamily { recordings, _folders }
}

/// Infers a pattern from some recordings and compares its extrapolation with a recording.
fn check(learn: &[u32], ranks: u32, program: impl Fn(&mut TestProcess)) -> ProgramPattern {
    let pattern =
        recognise(&family(learn, &program).recordings, &ExtrapolationOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let told = pattern.schedule(ranks, IntervalBound::Middle).unwrap();
    println!("{}", pattern.describe());
    assert_same(&told, &record_program(ranks, &program).recording);
    pattern
}
