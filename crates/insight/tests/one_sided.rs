//! Wait states of one-sided communication and neighbourhood collectives on handmade runs, in any process group.

#[path = "../../program/tests/story/mod.rs"]
mod story;

mod found;

use found::*;
use sintonia_program::process_group::SingleProcess;
use sintonia_recording::raw::{LOCK_EXCLUSIVE, LOCK_SHARED};
use story::*;

#[test]
fn neighbours_wait_for_those_that_send_to_them() {
    let found = |calls: Vec<Vec<Told>>| {
        let (_folder, recording) = story_with(&ranks(calls), as_ring);
        waits(&find(&recording, &SingleProcess))
    };
    // Rank 2 is late, and sends to rank 0.
    let blocking = |enter| vec![call(enter, 60, 2, collective("MPI_Neighbor_alltoall"))];
    assert_eq!(found(vec![blocking(20), blocking(20), blocking(50)]), [("wait_at_neighbour_collective", 2, 0, 30)]);
    let nonblocking = |enter, wait_enter| {
        vec![call(enter, enter + 1, 2, collective("MPI_Ineighbor_alltoall")), call(wait_enter, 61, 3, wait("MPI_Wait", &[(0, None)]))]
    };
    let found = found(vec![nonblocking(20, 30), nonblocking(20, 30), nonblocking(50, 60)]);
    assert_eq!(found, [("wait_at_neighbour_collective", 3, 0, 20)]);
}

/// An access epoch on the window of rank 1 by rank 0, with the times of its calls; rank 1 posts and waits then.
fn one_access(
    start: (u64, u64),
    puts: (u64, u64),
    complete: (u64, u64),
    post: u64,
    close: (u64, u64),
) -> Vec<(&'static str, u32, u32, i64)> {
    let origin = vec![
        call(start.0, start.1, 2, with_group("MPI_Win_start", 1)),
        call(puts.0, puts.1, 3, put(1)),
        call(complete.0, complete.1, 4, on_window("MPI_Win_complete")),
    ];
    let target = vec![call(post, post + 1, 5, with_group("MPI_Win_post", 0)), call(close.0, close.1, 6, on_window("MPI_Win_wait"))];
    let (_folder, recording) = story_with(&ranks(vec![origin, target]), with_groups);
    waits(&find(&recording, &SingleProcess))
}

#[test]
fn an_access_waits_for_the_window_wherever_the_library_does() {
    let in_start = one_access((20, 71), (72, 73), (74, 75), 70, (74, 76));
    assert_eq!(in_start, [("late_post", 2, 0, 50)]);
    let in_put = one_access((20, 21), (30, 71), (74, 75), 70, (74, 76));
    assert_eq!(in_put, [("late_post", 3, 0, 40)]);
    let in_complete = one_access((20, 21), (22, 23), (30, 71), 70, (72, 76));
    assert_eq!(in_complete, [("late_post", 4, 0, 40)]);
    let nowhere = one_access((20, 21), (22, 23), (30, 31), 70, (72, 76));
    assert_eq!(nowhere, [], "the library kept the data");
}

#[test]
fn closing_a_window_waits_for_the_accesses_and_then_for_their_end() {
    assert_eq!(one_access((20, 21), (69, 70), (70, 71), 15, (20, 72)), [("early_wait", 6, 1, 50)]);
    let both = one_access((20, 21), (29, 30), (70, 71), 15, (20, 72));
    assert_eq!(both, [("late_complete", 6, 1, 40), ("early_wait", 6, 1, 10)]);
    assert_eq!(one_access((20, 21), (22, 23), (24, 25), 15, (30, 31)), []);
}

#[test]
fn a_test_for_the_end_of_accesses_does_not_wait() {
    let origin = vec![call(20, 21, 2, with_group("MPI_Win_start", 1)), call(70, 71, 3, on_window("MPI_Win_complete"))];
    let target = vec![call(15, 16, 4, with_group("MPI_Win_post", 0)), call(30, 72, 5, on_window("MPI_Win_test"))];
    let (_folder, recording) = story_with(&ranks(vec![origin, target]), with_groups);
    assert_eq!(waits(&find(&recording, &SingleProcess)), []);
}

#[test]
fn a_lock_waits_for_its_holder_wherever_the_library_does() {
    let asks = |kind: i32, lock_leave: u64, put_leave: u64| {
        let holder = vec![call(20, 21, 2, lock(LOCK_EXCLUSIVE, 0)), call(70, 71, 3, unlock(0))];
        let other = vec![call(30, lock_leave, 4, lock(kind, 0)), call(lock_leave, put_leave, 5, put(0)), call(put_leave, 75, 6, unlock(0))];
        waits(&told(&ranks(vec![holder, other])))
    };
    assert_eq!(asks(LOCK_EXCLUSIVE, 72, 73), [("lock_competition", 4, 1, 41)]);
    assert_eq!(asks(LOCK_SHARED, 72, 73), [("lock_competition", 4, 1, 41)]);
    assert_eq!(asks(LOCK_EXCLUSIVE, 31, 72), [("lock_competition", 5, 1, 40)]);
    assert_eq!(asks(LOCK_EXCLUSIVE, 31, 32), [("lock_competition", 6, 1, 39)]);
    let shared = |enter: u64| vec![call(enter, enter + 1, 2, lock(LOCK_SHARED, 0)), call(70, 72, 3, unlock(0))];
    assert_eq!(waits(&told(&ranks(vec![shared(20), shared(30)]))), [], "they share it");
}

#[test]
fn any_company_finds_the_same_to_the_last_digit() {
    let rank = |rank: usize| {
        let (next, before) = (((rank + 1) % 5) as i32, ((rank + 4) % 5) as i32);
        let round = |round: u64| {
            let t = 10 + round * 200;
            let late = (round * 7 + rank as u64 * 13) % 17;
            let locked = t + 90 + (rank as u64 + round) % 5 * 8;
            [
                call(t + late, t + late + 1, 1, with_group("MPI_Win_post", before)),
                call(t + late + 2, t + 25, 2, with_group("MPI_Win_start", next)),
                call(t + 26, t + 27, 3, put(next)),
                call(t + 30 + late, t + 49, 4, on_window("MPI_Win_complete")),
                call(t + 50, t + 60, 5, on_window("MPI_Win_wait")),
                call(t + 65, t + 66, 6, lock(if rank == 1 { LOCK_SHARED } else { LOCK_EXCLUSIVE }, 0)),
                call(t + 70 + late, locked + 7, 7, unlock(0)),
                call(t + 150 + late, t + 180, 8, collective("MPI_Neighbor_allgather")),
            ]
        };
        let mut calls = vec![call(0, 10, 0, init())];
        calls.extend((0..6).flat_map(round));
        calls.push(call(1300 + rank as u64, 1310, 9, finalize()));
        calls
    };
    let (_folder, recording) = story_with(&(0..5).map(rank).collect::<Vec<_>>(), |header| {
        with_groups(header);
        as_ring(header);
    });
    let alone = find(&recording, &SingleProcess);
    let kinds: std::collections::BTreeSet<_> = alone.waits.iter().map(|waits| waits.pattern.kind).collect();
    for kind in ["late_post", "lock_competition", "wait_at_neighbour_collective"] {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }
    for size in [2, 3, 5, 7] {
        for found in together(size, |comm| find(&recording, comm)) {
            assert_eq!(
                (&found.waits, &found.delay_costs, &found.critical_path),
                (&alone.waits, &alone.delay_costs, &alone.critical_path),
                "{size} processes"
            );
            assert_eq!((found.ideal_ns, found.clock_violations), (alone.ideal_ns, alone.clock_violations), "{size} processes");
        }
    }
}
