//! Programs are recorded with a few ranks, and what is said of many is held against a recording of many, call by call.

#[path = "../made/mod.rs"]
mod made;
mod patterns;
mod times;

use std::path::Path;

use made::{NOBODY, Player, family, record};
use sintonia_machine::Machine;
use sintonia_recording::Recording;
use sintonia_recording::raw::{RequestRef, part};
use sintonia_recording::table::Shape;
use sintonia_replay::changes::Changes;
use sintonia_replay::engine::{Costs, replay};
use sintonia_replay::more_ranks::{Extrapolated, Impossible, Options, Pattern, Scaling, Unrecognised, recognise};
use sintonia_replay::platform::{End, Placement, Platform};
use sintonia_replay::schedule::{LineId, Next, Schedule, Stretch};

/// What is compared of a call; communicators by their members, requests as a set.
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

fn seen(schedule: &dyn Schedule, shape: &Shape) -> Seen {
    let members = |number: u32| if number == u32::MAX { Vec::new() } else { schedule.members(number) };
    let mut requests: Vec<_> = shape
        .requests
        .iter()
        .map(|listed| match listed.request {
            RequestRef::Ago(ago) => (ago, listed.receive, listed.peer, listed.tag, listed.received),
            RequestRef::Of(..) => panic!("there is one thread"),
        })
        .collect();
    requests.sort_unstable();
    Seen {
        operation: shape.operation.name(),
        site: schedule.site(shape.site),
        ends: [shape.peer, shape.source],
        tags: [shape.tag, shape.recv_tag],
        bytes: [shape.sent, shape.received],
        members: members(shape.object),
        made: members(shape.made),
        requests,
        parts: shape.parts,
    }
}

/// All calls of a rank with the nanoseconds computed before them, and how many stretches were new.
fn calls(schedule: &dyn Schedule, rank: u32) -> (Vec<(Seen, i64)>, usize) {
    let mut line = schedule.open(LineId { rank, thread: 0 }).unwrap();
    let (mut stretch, mut all, mut new) = (Stretch::default(), Vec::new(), 0);
    loop {
        match line.next(&mut stretch).unwrap() {
            Next::End => return (all, new),
            Next::Actions => new += 1,
            Next::Rows => {}
        }
        all.extend(stretch.rows.iter().map(|row| (seen(schedule, &stretch.actions[row.action as usize].shape), row.computed_ns)));
    }
}

/// Both schedules have the same calls, in the same order.
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

/// Learns a program from some recordings, and compares what it says of another number of ranks with a recording of that.
fn check(learn: &[u32], ranks: u32, program: impl Fn(&mut Player)) -> Pattern {
    let pattern = recognise(&family(learn, &program).recordings, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let told = pattern.schedule(ranks, End::Middle).unwrap();
    println!("{}", pattern.describe());
    assert_same(&told, &record(ranks, &program).recording);
    pattern
}
