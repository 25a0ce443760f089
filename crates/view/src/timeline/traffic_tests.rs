//! The matrix of a part of the run, compared with single calls and with that of the whole run.

use std::sync::Arc;

use sintonia_program::{CommunicationMatrix, RankTraffic, TrafficKey, TrafficSums};
use sintonia_recording::Recording;
use sintonia_recording::testing::{TestCall, call};

use super::RecordingTimeline;
use crate::answer::PageQuery;
use crate::sample;

const GROUP_OF: [u32; 3] = [0, 1, 2];

/// Messages to both other ranks, and broadcasts of several sizes.
fn ranks() -> Vec<Vec<TestCall>> {
    let mut ranks: Vec<Vec<TestCall>> = [(1, 40_000), (2, 30_000), (3, 300)].map(|(seed, calls)| sample::arbitrary(seed, calls)).into();
    for (rank, calls) in (0..).zip(&mut ranks) {
        for (number, made) in (0..).zip(calls) {
            let role = made.descriptor.function.name();
            if role == "MPI_Send" || role == "MPI_Put" {
                made.descriptor.peer = (rank + 1 + number % 2) % 3;
                made.descriptor.sent = number as u64 % 1000;
            }
            if role == "MPI_Allreduce" {
                (made.descriptor.object, made.descriptor.sent, made.descriptor.received) = (0, 8 << (number % 4), 8 << (number % 4));
            }
        }
    }
    ranks
}

fn matrix(timeline: &RecordingTimeline, window: &[(&str, i64)]) -> CommunicationMatrix {
    let params = window.iter().map(|(name, time)| ((*name).to_owned(), time.to_string())).collect();
    let traffic = timeline.traffic(&PageQuery { recording: 0, subject: "communication".to_owned(), params }).unwrap();
    CommunicationMatrix::from_traffic(&timeline.recording, &traffic.ranks, true, &GROUP_OF)
}

fn expected(recording: &Recording, from: i64, to: i64) -> CommunicationMatrix {
    let of_rank = |rank: u32| {
        let tables = recording.tables(rank).unwrap();
        let calls = tables.iter().flat_map(|table| {
            let begun = (0..table.len()).filter(|row| (from..to).contains(&table.enter[*row]));
            begun.filter_map(|row| TrafficKey::of_call(&table.descriptors[table.descriptor_ids[row] as usize]))
        });
        RankTraffic::from_sums(rank, calls.map(|(key, bytes)| (key, TrafficSums { calls: 1, bytes })))
    };
    CommunicationMatrix::from_traffic(recording, &[0, 1, 2].map(of_rank), true, &GROUP_OF)
}

#[test]
fn the_matrix_of_any_part_is_that_of_its_calls() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &ranks());
    let timeline = RecordingTimeline::open(Arc::clone(&recording), &|_| ()).unwrap();
    let (begin, end) = timeline.index.as_ref().unwrap().span();
    let mut random = fastrand::Rng::with_seed(9);
    for round in 0..40 {
        let width = ((end - begin) >> random.u64(..16)).max(1);
        let from = begin + random.i64(0..end - begin) - width / 2;
        let found = matrix(&timeline, &[("from", from), ("to", from + width)]);
        assert_eq!(found, expected(&recording, from, from + width), "round {round}: {from} to {}", from + width);
    }
}

#[test]
fn the_matrix_of_all_time_is_that_of_the_run_but_for_the_time_of_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let recording = sample::recording(folder.path(), &ranks());
    let timeline = RecordingTimeline::open(Arc::clone(&recording), &|_| ()).unwrap();
    let (begin, end) = timeline.index.as_ref().unwrap().span();
    let whole: Vec<RankTraffic> = recording.header.ranks.iter().map(|rank| RankTraffic::read(&recording, rank).unwrap()).collect();
    let mut whole = CommunicationMatrix::from_traffic(&recording, &whole, true, &GROUP_OF);
    assert!(whole.cells.len() == 6 && whole.cells.values().all(|cell| cell.bytes > 1000), "{whole:?}");
    whole.cells.values_mut().for_each(|cell| cell.call_ns = 0);
    assert_eq!(matrix(&timeline, &[("from", begin), ("to", end + 1)]), whole);
}

#[test]
fn what_a_part_cannot_tell_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut ranks = ranks();
    let end = ranks[0].last().unwrap().leave;
    let enter = ranks[0][ranks[0].len() - 2].leave;
    let last = ranks[0].pop().unwrap();
    ranks[0].push(call("MPI_Start").at(enter, enter + 1));
    ranks[0].push(last);
    let timeline = RecordingTimeline::open(sample::recording(folder.path(), &ranks), &|_| ()).unwrap();
    let params = [("to".to_owned(), end.to_string())].into();
    let traffic = timeline.traffic(&PageQuery { recording: 0, subject: "communication".to_owned(), params }).unwrap();
    assert!(traffic.left_out.iter().any(|what| what.contains("persistent")), "{:?}", traffic.left_out);
}
