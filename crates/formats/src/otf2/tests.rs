//! Whole archives: out and back, from other tools, and damaged.

mod damage;
mod foreign;
mod otf2_library;
mod raw_definitions;
mod round_trip;
mod score_p;

use std::collections::BTreeMap;
use std::path::Path;

use fastrand::Rng;
use sintonia_recording::Recording;
use sintonia_recording::call_table::{CallDescriptor, ListedRequest, RecordedCall, RequestId};
use sintonia_recording::header::{LinearClock, RecordingHeader};
use sintonia_recording::raw;

/// A call with nothing in it that depends on how a file numbers requests.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    times: [i64; 2],
    thread: u16,
    request: Option<RequestId>,
    descriptor: CallDescriptor,
    /// Which requests it lists, and of receives what became of them.
    listed: Vec<(RequestId, Option<Received>)>,
}

/// Source, tag and bytes of a message.
type Received = (i32, i32, u64);

impl Seen {
    fn new(call: &RecordedCall) -> Seen {
        let listed =
            |(id, listed): (RequestId, &ListedRequest)| (id, listed.is_receive.then_some((listed.peer, listed.tag, listed.received)));
        Seen {
            times: [call.enter, call.leave],
            thread: call.thread,
            request: call.request,
            descriptor: CallDescriptor { requests: Vec::new(), ..call.descriptor.clone() },
            listed: call.requests().map(listed).collect(),
        }
    }

    fn name(&self) -> &'static str {
        self.descriptor.function.name()
    }
}

/// All calls of a rank.
fn calls(recording: &Recording, rank: u32) -> Vec<Seen> {
    let mut calls = recording.calls(rank).unwrap();
    let mut all = Vec::new();
    while let Some(call) = calls.next_call() {
        all.push(Seen::new(&call));
    }
    all
}

/// A header in JSON, fact by fact, without what is another one's business: the unit of ticks, and who sealed it.
fn facts(recording: &Recording) -> BTreeMap<String, serde_json::Value> {
    let mut header = recording.header.clone();
    header.ranks.iter_mut().for_each(|rank| rank.clock = LinearClock::default());
    let header = RecordingHeader { sealed_by: String::new(), ..header };
    serde_json::from_value(serde_json::to_value(header).unwrap()).unwrap()
}

/// Makes a recording from an archive and opens it.
fn import(archive: &Path) -> (tempfile::TempDir, Recording, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("back.sin");
    let imported = super::read(archive, &path).unwrap();
    let recording = Recording::open(&path).unwrap();
    assert_eq!(imported.ranks, recording.header.size);
    assert_eq!(imported.calls, recording.header.ranks.iter().map(|rank| rank.calls).sum::<u64>());
    assert!(recording.header.ranks.iter().all(|rank| calls(&recording, rank.rank).len() as u64 == rank.calls));
    (folder, recording, imported.notes)
}

/// One of the peers that a call may have.
fn any_peer(random: &mut Rng) -> i32 {
    one_of(random, &[0, 1, 2, 3, raw::NONE, raw::PROC_NULL, raw::ANY, raw::ROOT, raw::EXTERNAL])
}

fn one_of<T: Copy>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}
