//! Wait states of one-sided communication and neighbourhood collectives on handmade runs, in any process group.

use sintonia_program::process_group::SingleProcess;
use sintonia_program::testing::run_in_group;
use sintonia_recording::raw::{LOCK_EXCLUSIVE, LOCK_SHARED};
use sintonia_recording::testing::*;

use crate::found::*;

#[test]
fn neighbours_wait_for_those_that_send_to_them() {
    let found = |calls: Vec<Vec<TestCall>>| {
        let recording = RecordingBuilder::new().ranks(ranks(calls)).header(ring_topology).write();
        waits(&find(&recording, &SingleProcess))
    };
    // Rank 2 is late, and sends to rank 0.
    let blocking = |enter| vec![collective("MPI_Neighbor_alltoall").line(2).at_ms(enter, 60)];
    assert_eq!(found(vec![blocking(20), blocking(20), blocking(50)]), [("wait_at_neighbour_collective", 2, 0, 30)]);
    let nonblocking = |enter, wait_enter| {
        vec![
            collective("MPI_Ineighbor_alltoall").line(2).at_ms(enter, enter + 1),
            wait("MPI_Wait", &[(0, None)]).line(3).at_ms(wait_enter, 61),
        ]
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
        with_group("MPI_Win_start", 1).line(2).at_ms(start.0, start.1),
        put(1).line(3).at_ms(puts.0, puts.1),
        on_window("MPI_Win_complete").line(4).at_ms(complete.0, complete.1),
    ];
    let target =
        vec![with_group("MPI_Win_post", 0).line(5).at_ms(post, post + 1), on_window("MPI_Win_wait").line(6).at_ms(close.0, close.1)];
    let recording = RecordingBuilder::new().ranks(ranks(vec![origin, target])).header(single_rank_groups).write();
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
    let origin = vec![with_group("MPI_Win_start", 1).line(2).at_ms(20, 21), on_window("MPI_Win_complete").line(3).at_ms(70, 71)];
    let target = vec![with_group("MPI_Win_post", 0).line(4).at_ms(15, 16), on_window("MPI_Win_test").line(5).at_ms(30, 72)];
    let recording = RecordingBuilder::new().ranks(ranks(vec![origin, target])).header(single_rank_groups).write();
    assert_eq!(waits(&find(&recording, &SingleProcess)), []);
}

#[test]
fn a_lock_waits_for_its_holder_wherever_the_library_does() {
    let asks = |kind: i32, lock_leave: u64, put_leave: u64| {
        let holder = vec![win_lock(LOCK_EXCLUSIVE, 0).line(2).at_ms(20, 21), win_unlock(0).line(3).at_ms(70, 71)];
        let other = vec![
            win_lock(kind, 0).line(4).at_ms(30, lock_leave),
            put(0).line(5).at_ms(lock_leave, put_leave),
            win_unlock(0).line(6).at_ms(put_leave, 75),
        ];
        waits(&findings_of(&ranks(vec![holder, other])))
    };
    assert_eq!(asks(LOCK_EXCLUSIVE, 72, 73), [("lock_competition", 4, 1, 41)]);
    assert_eq!(asks(LOCK_SHARED, 72, 73), [("lock_competition", 4, 1, 41)]);
    assert_eq!(asks(LOCK_EXCLUSIVE, 31, 72), [("lock_competition", 5, 1, 40)]);
    assert_eq!(asks(LOCK_EXCLUSIVE, 31, 32), [("lock_competition", 6, 1, 39)]);
    let shared = |enter: u64| vec![win_lock(LOCK_SHARED, 0).line(2).at_ms(enter, enter + 1), win_unlock(0).line(3).at_ms(70, 72)];
    assert_eq!(waits(&findings_of(&ranks(vec![shared(20), shared(30)]))), [], "they share it");
}

#[test]
fn any_number_of_processes_finds_the_same_to_the_last_digit() {
    let rank = |rank: usize| {
        let (next, before) = (((rank + 1) % 5) as i32, ((rank + 4) % 5) as i32);
        let round = |round: u64| {
            let t = 10 + round * 200;
            let late = (round * 7 + rank as u64 * 13) % 17;
            let locked = t + 90 + (rank as u64 + round) % 5 * 8;
            [
                with_group("MPI_Win_post", before).line(1).at_ms(t + late, t + late + 1),
                with_group("MPI_Win_start", next).line(2).at_ms(t + late + 2, t + 25),
                put(next).line(3).at_ms(t + 26, t + 27),
                on_window("MPI_Win_complete").line(4).at_ms(t + 30 + late, t + 49),
                on_window("MPI_Win_wait").line(5).at_ms(t + 50, t + 60),
                win_lock(if rank == 1 { LOCK_SHARED } else { LOCK_EXCLUSIVE }, 0).line(6).at_ms(t + 65, t + 66),
                win_unlock(0).line(7).at_ms(t + 70 + late, locked + 7),
                collective("MPI_Neighbor_allgather").line(8).at_ms(t + 150 + late, t + 180),
            ]
        };
        let mut calls = vec![init().line(0).at_ms(0, 10)];
        calls.extend((0..6).flat_map(round));
        calls.push(finalize().line(9).at_ms(1300 + rank as u64, 1310));
        calls
    };
    let recording = RecordingBuilder::new()
        .ranks((0..5).map(rank).collect::<Vec<_>>())
        .header(|header| {
            single_rank_groups(header);
            ring_topology(header);
        })
        .write();
    let alone = find(&recording, &SingleProcess);
    let kinds: std::collections::BTreeSet<_> = alone.waits.iter().map(|waits| waits.pattern.kind).collect();
    for kind in ["late_post", "lock_competition", "wait_at_neighbour_collective"] {
        assert!(kinds.contains(kind), "{kind} is not among {kinds:?}");
    }
    for size in [2, 3, 5, 7] {
        for found in run_in_group(size, |comm| find(&recording, comm)) {
            assert_eq!(
                (&found.waits, &found.delay_costs, &found.critical_path),
                (&alone.waits, &alone.delay_costs, &alone.critical_path),
                "{size} processes"
            );
            assert_eq!((found.ideal_ns, found.clock_violations), (alone.ideal_ns, alone.clock_violations), "{size} processes");
        }
    }
}
