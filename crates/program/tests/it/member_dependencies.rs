//! Members of a collective depend on the ranks that its algorithm makes them wait for. Recordings without the name of a library have the
//! algorithms of textbooks: binomial trees, in which rank 3 is below rank 2, and ranks 1 and 2 are below the root 0.

use sintonia_program::history::{CollectiveDependencies, History, Location};
use sintonia_program::process_group::{ProcessGroup, SingleProcess};
use sintonia_program::testing::run_in_group;
use sintonia_recording::Recording;
use sintonia_recording::comm_event::CollectiveGroup;
use sintonia_recording::testing::*;

const WORLD: CollectiveGroup = CollectiveGroup::Communicator(0);

/// A collective of 8 bytes with root 0, once for each list of times at which the ranks enter and leave.
fn record(function: &str, instances: &[[(u64, u64); 4]]) -> TestRecording {
    let calls = |rank: usize| {
        let call = |times: &[(u64, u64); 4]| collective(function).peer(0).sent(8).line(1).at_ms(times[rank].0, times[rank].1);
        instances.iter().map(call).collect::<Vec<TestCall>>()
    };
    record_calls(&[calls(0), calls(1), calls(2), calls(3)])
}

/// For each rank, the rank that it waited for in one instance, where MPI does not require it.
fn waited_for(recording: &Recording, comm: &dyn ProcessGroup, instance: usize) -> Vec<Option<u32>> {
    let history = History::read(recording, comm, &|| ()).unwrap();
    let waited = |location: &Location| {
        let collective = &location.collectives[instance];
        let (call, enter) = location.dependency(collective)?.last;
        (enter > location.calls.enter[collective.row as usize]).then_some(call.rank)
    };
    history.locations.iter().map(waited).collect()
}

/// What a member of a collective needs again in a replay, beyond the semantics of MPI.
fn required_ranks(found: &CollectiveDependencies, number: u64, comm_rank: u32) -> Option<Vec<u32>> {
    found.required(WORLD, number, comm_rank).map(|set| set.iter().collect())
}

/// One collective with root 0 under MPICH, in which one rank enters 20 ms after the others and all leave together.
fn record_mpich(function: &str, ranks: u32, bytes: u64, late: u32) -> TestRecording {
    let call = |rank| collective(function).peer(0).sent(bytes).line(1).at_ms(if rank == late { 20 } else { 0 }, 21);
    record_calls((0..ranks).map(|rank| [call(rank)])).with_header(|header| header.mpi.library = "MPICH 4.0.2".into())
}

#[test]
fn an_inner_rank_of_a_reduction_waits_for_the_rank_below_it() {
    let recording = record("MPI_Reduce", &[[(0, 21), (0, 1), (0, 21), (20, 21)]]);
    assert_eq!(waited_for(&recording, &SingleProcess, 0), [None, None, Some(3), None], "the root needs all anyway");
}

#[test]
fn a_rank_that_left_before_another_entered_did_not_wait_for_it() {
    let recording = record("MPI_Reduce", &[[(0, 21), (0, 1), (0, 1), (20, 21)]]);
    assert_eq!(waited_for(&recording, &SingleProcess, 0), [None; 4]);
}

#[test]
fn a_rank_of_a_broadcast_waits_for_the_rank_that_forwards_the_data() {
    let recording = record("MPI_Bcast", &[[(0, 1), (0, 1), (20, 21), (0, 21)]]);
    assert_eq!(waited_for(&recording, &SingleProcess, 0), [None, None, None, Some(2)]);
}

#[test]
fn a_sender_waits_for_its_receiver_if_it_was_in_the_call_much_longer_than_usual() {
    let usual = |t: u64| [(t, t + 2), (t, t + 2), (t, t + 2), (t, t + 2)];
    let late = [(100, 122), (120, 122), (100, 102), (100, 102)];
    let recording = record("MPI_Bcast", &[usual(0), usual(10), late, usual(200)]);
    assert_eq!(waited_for(&recording, &SingleProcess, 2), [Some(1), None, None, None]);
    assert_eq!(waited_for(&recording, &SingleProcess, 3), [None; 4]);
}

#[test]
fn the_cost_of_a_call_is_not_a_wait_because_another_rank_entered_meanwhile() {
    let instances: Vec<[(u64, u64); 4]> =
        (0..8).map(|i| i * 100).map(|t| [(t, t + 20), (t + 9, t + 22), (t, t + 20), (t, t + 20)]).collect();
    let recording = record("MPI_Bcast", &instances);
    assert_eq!(waited_for(&recording, &SingleProcess, 3), [None; 4]);
}

#[test]
fn an_algorithm_that_many_calls_contradict_is_not_assumed() {
    // Rank 2 mostly leaves before rank 3 enters: rank 3 is not below it. In the last instance rank 3 happens to enter meanwhile.
    let early = |t: u64| [(t, t + 21), (t, t + 4), (t, t + 4), (t + 20, t + 21)];
    let last = [(500, 505), (500, 504), (500, 504), (502, 505)];
    let recording = record("MPI_Reduce", &[early(0), early(100), early(200), early(300), last]);
    assert_eq!(waited_for(&recording, &SingleProcess, 4), [None; 4]);
}

#[test]
fn a_replay_needs_what_the_algorithm_requires_and_what_was_waited_for() {
    let required = |recording: &Recording, comm_rank| {
        let found = CollectiveDependencies::read(recording).unwrap().expect("there is a rooted collective");
        required_ranks(&found, 0, comm_rank)
    };
    let reduce = record("MPI_Reduce", &[[(0, 1), (0, 1), (0, 1), (0, 1)]]);
    assert_eq!([0, 1, 2, 3].map(|rank| required(&reduce, rank)), [None, None, Some(vec![3]), None], "also without a wait");
    let bcast = record("MPI_Bcast", &[[(0, 22), (20, 22), (0, 1), (0, 1)]]);
    assert_eq!([0, 2, 3].map(|rank| required(&bcast, rank)), [Some(vec![1]), None, Some(vec![0, 2])]);
    assert!(CollectiveDependencies::read(&record("MPI_Allreduce", &[[(0, 1); 4]])).unwrap().is_none(), "all need all");
}

#[test]
fn the_root_of_a_broadcast_around_a_ring_needs_all_others() {
    let recording = record_mpich("MPI_Bcast", 8, 1 << 20, 5);
    assert_eq!(waited_for(&recording, &SingleProcess, 0)[..2], [Some(5); 2]);
    let found = CollectiveDependencies::read(&recording).unwrap().unwrap();
    assert_eq!(required_ranks(&found, 0, 0), Some((1..8).collect()));
    assert_eq!(required_ranks(&found, 0, 2), Some((0..8).filter(|rank| *rank != 2).collect()));
}

#[test]
fn a_rank_that_is_not_the_root_of_a_reduction_may_need_the_root() {
    let found = CollectiveDependencies::read(&record_mpich("MPI_Reduce", 2, 4096, 0)).unwrap().unwrap();
    assert_eq!(required_ranks(&found, 0, 1), Some(vec![0]), "each of the two reduces one half");
    assert_eq!(required_ranks(&found, 0, 0), None, "MPI requires what the root needs");
}

#[test]
fn only_collectives_in_which_something_is_needed_are_kept() {
    let calls = |rank: u64| {
        let before = (0..9).map(|i| collective("MPI_Allreduce").sent(8).line(1).at_ms(10 * i, 10 * i + 1));
        before.chain([collective("MPI_Reduce").peer(0).sent(8).line(2).at_ms(90 + rank, 95)]).collect::<Vec<TestCall>>()
    };
    let found = CollectiveDependencies::read(&record_calls((0..4).map(calls))).unwrap().unwrap();
    assert!((0..9).all(|number| !found.has_instance(WORLD, number)) && found.has_instance(WORLD, 9));
    assert_eq!(required_ranks(&found, 9, 2), Some(vec![3]));
}

#[test]
fn any_number_of_processes_finds_the_same_dependencies() {
    let usual = |t: u64| [(t, t + 2), (t, t + 2), (t, t + 2), (t, t + 2)];
    let instances = [usual(0), [(100, 122), (120, 122), (100, 102), (100, 102)], [(200, 221), (200, 202), (220, 221), (200, 221)]];
    for function in ["MPI_Bcast", "MPI_Reduce", "MPI_Scan"] {
        let recording = record(function, &instances);
        for instance in 0..instances.len() {
            let alone = waited_for(&recording, &SingleProcess, instance);
            for size in [2, 3, 4] {
                let found: Vec<Option<u32>> = run_in_group(size, |comm| waited_for(&recording, comm, instance)).concat();
                assert_eq!(found, alone, "{function} {instance} in {size} processes");
            }
        }
        let required = |comm: &dyn ProcessGroup| {
            let history = History::read(&recording, comm, &|| ()).unwrap();
            let found = CollectiveDependencies::gather(&recording, &history, comm);
            (0..3).flat_map(|number| (0..4).map(move |rank| (number, rank))).map(|(n, r)| required_ranks(&found, n, r)).collect::<Vec<_>>()
        };
        assert!(run_in_group(3, required).into_iter().all(|found| found == required(&SingleProcess)), "{function}");
    }
}
