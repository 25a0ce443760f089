//! Traces of other tools, replayed like recordings.

use std::io::Write;

use sintonia_formats::{dimemas, smpi};

use super::Schedule;
use crate::changes::ReplayChanges;
use crate::engine::tests::machine;
use crate::engine::{ReplayCosts, replay};
use crate::platform::{IntervalBound, Platform, RankPlacement};

fn written(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

/// Rank 0 sends 500 bytes after 5 us, then both enter a barrier: the message takes 10.5 us and delays both.
fn takes_as_long_as_the_message_and_the_barrier(trace: &dyn Schedule) {
    let platform = Platform::new(&machine(""), 2, &RankPlacement::Block, IntervalBound::Middle).unwrap();
    let outcome = replay(trace, &ReplayCosts::Machine(Box::new(platform)), &ReplayChanges::default(), None).unwrap();
    assert!(outcome.ranks.iter().all(|rank| (15.5e-6..100e-6).contains(&rank.replayed_s)), "{:?}", outcome.ranks);
}

#[test]
fn a_trace_of_dimemas_is_replayed_like_a_recording() {
    let text = "#DIMEMAS:\"pair\":1,0:2(1,1),1\nd:1:0:2:0:1\n1:0:0:5e-6\n2:0:0:1:500:7:0:0\n10:0:0:0:0:0:0:0:0\n\
                3:1:0:0:500:7:0:1\n1:1:0:1e-6\n3:1:0:0:500:7:0:2\n10:1:0:0:0:0:0:0:0\n";
    takes_as_long_as_the_message_and_the_barrier(&dimemas::open(written(text).path()).unwrap());
}

#[test]
fn a_trace_of_smpi_is_replayed_like_a_recording() {
    let text = "0 init\n0 compute 5000\n0 send 1 7 500\n0 barrier\n0 finalize\n\
                1 init\n1 irecv 0 7 500\n1 compute 1000\n1 wait 0 1 7\n1 barrier\n1 finalize\n";
    takes_as_long_as_the_message_and_the_barrier(&smpi::open(written(text).path(), 1e9).unwrap());
}
