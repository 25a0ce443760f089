//! Wait states, their causes, the critical path and the ideal network on handmade runs, in any process group.

use sintonia_insight::delay::DelayCost;
use sintonia_insight::segment::Segment;
use sintonia_program::process_group::{ProcessGroup, SingleProcess};
use sintonia_program::testing::run_in_group;
use sintonia_recording::Recording;
use sintonia_recording::header::{CommunicatorDefinition, RecordingHeader};
use sintonia_recording::raw::{ANY, PROC_NULL, ROOT};
use sintonia_recording::testing::*;

use crate::found::*;

#[test]
fn a_receive_waits_for_its_send() {
    let findings = findings_of(&ranks(vec![vec![send(1).line(2).at_ms(70, 71)], vec![receive(0).line(3).at_ms(20, 72)]]));
    assert_eq!(waits(&findings), [("late_sender", 3, 1, 50)]);
    assert_eq!(findings.waits[0].causes.get(&0), Some(&(50 * MS)));
    // The sender computed 60 ms before its send while the receiver computed 10 ms before its receive.
    let before_send = Segment { from: 1, to: 2 };
    assert_eq!(findings.delay_costs.get(&(before_send, 0)), Some(&DelayCost { direct_ns: 50 * MS, ..DelayCost::default() }));
}

#[test]
fn a_collective_in_progress_is_no_synchronisation() {
    let parts = |enter: u64, leave: u64| {
        let [begin, wait] = [collective("MPI_Ibarrier").line(4), wait("MPI_Wait", &[(0, None)]).line(5)];
        let before = [60, 61].map(|ms| collective("MPI_Barrier").line(3 - u32::from(ms == 60)).at_ms(ms, ms + 1));
        [before.to_vec(), vec![begin.at_ms(enter, enter + 1), wait.at_ms(enter + 1, leave)]].concat()
    };
    let findings = findings_of(&ranks(vec![parts(70, 111), parts(110, 112)]));
    assert_eq!(waits(&findings), [("wait_at_nonblocking_collective", 5, 0, 39)]);
    // Both were in step at the second barrier. What rank 1 computed before that made nobody wait.
    let costs: Vec<_> = findings.delay_costs.into_iter().collect();
    assert_eq!(costs, [((Segment { from: 3, to: 4 }, 1), DelayCost { direct_ns: 39 * MS, ..DelayCost::default() })]);
}

#[test]
fn a_test_does_not_wait() {
    let test = wait("MPI_Test", &[(0, Some(0))]);
    let findings =
        findings_of(&ranks(vec![vec![send(1).line(2).at_ms(70, 71)], vec![irecv(ANY).line(3).at_ms(20, 21), test.line(4).at_ms(30, 72)]]));
    assert_eq!(waits(&findings), []);
}

#[test]
fn a_message_that_was_there_is_received_too_late() {
    let other = send(1).tag(8);
    let awaited = receive(0).tag(8);
    let sender = vec![send(1).line(2).at_ms(15, 16), other.line(3).at_ms(70, 71)];
    let findings = findings_of(&ranks(vec![sender, vec![awaited.line(4).at_ms(20, 72), receive(0).line(5).at_ms(73, 74)]]));
    assert_eq!(waits(&findings), [("late_sender_wrong_order", 4, 1, 50)]);
}

#[test]
fn a_send_waits_for_its_receive_unless_it_was_buffered() {
    let findings = findings_of(&ranks(vec![vec![send(1).line(2).at_ms(20, 72)], vec![receive(0).line(3).at_ms(70, 73)]]));
    assert_eq!(waits(&findings), [("late_receiver", 2, 0, 50)]);
    let findings = findings_of(&ranks(vec![vec![send(1).line(2).at_ms(20, 21)], vec![receive(0).line(3).at_ms(70, 73)]]));
    assert_eq!(waits(&findings), []);
}

#[test]
fn groups_wait_for_the_last_the_root_or_those_before() {
    let at = |name: &str, enters: [u64; 3]| {
        let descriptor = if name == "MPI_Bcast" || name == "MPI_Reduce" { message(name, 1) } else { collective(name) };
        waits(&findings_of(&ranks(enters.map(|enter| vec![descriptor.clone().line(2).at_ms(enter, 60)]).to_vec())))
    };
    assert_eq!(at("MPI_Barrier", [20, 50, 30]), [("wait_at_barrier", 2, 0, 30), ("wait_at_barrier", 2, 2, 20)]);
    assert_eq!(at("MPI_Allreduce", [20, 50, 30]), [("wait_at_nxn", 2, 0, 30), ("wait_at_nxn", 2, 2, 20)]);
    assert_eq!(at("MPI_Bcast", [20, 50, 30]), [("late_broadcast", 2, 0, 30), ("late_broadcast", 2, 2, 20)]);
    assert_eq!(at("MPI_Reduce", [40, 20, 30]), [("early_reduce", 2, 1, 20)]);
    assert_eq!(at("MPI_Scan", [40, 20, 30]), [("early_scan", 2, 1, 20), ("early_scan", 2, 2, 10)]);
}

#[test]
fn between_two_groups_nobody_waits_for_those_beside_the_root() {
    let reduce = |root| collective("MPI_Reduce").peer(root).on(1);
    let calls = |enter: u64, root: i32| vec![reduce(root).line(2).at_ms(enter, 60)];
    let between = |header: &mut RecordingHeader| {
        header.communicators.push(CommunicatorDefinition {
            members: "0-1".into(),
            remote: Some("2-3".into()),
            ..CommunicatorDefinition::default()
        });
    };
    // Rank 0 is the root, and rank 1, in its group, enters last but sends nothing.
    let run = ranks(vec![calls(20, ROOT), calls(55, PROC_NULL), calls(30, 0), calls(25, 0)]);
    let recording = RecordingBuilder::new().ranks(&run).header(between).write();
    assert_eq!(waits(&find(&recording, &SingleProcess)), [("early_reduce", 2, 0, 10)]);
    for found in run_in_group(4, |comm| waits(&find(&recording, comm))) {
        assert_eq!(found, [("early_reduce", 2, 0, 10)]);
    }
}

#[test]
fn a_wait_for_a_nonblocking_collective_is_for_those_who_had_not_begun_it() {
    let begin = |enter| collective("MPI_Iallreduce").line(2).at_ms(enter, enter + 1);
    let end = |enter| wait("MPI_Wait", &[(0, None)]).line(3).at_ms(enter, 71);
    let findings = findings_of(&ranks(vec![vec![begin(20), end(30)], vec![begin(60), end(70)]]));
    assert_eq!(waits(&findings), [("wait_at_nonblocking_collective", 3, 0, 30)]);
}

#[test]
fn a_call_that_waits_for_several_counts_its_time_once() {
    let begin = |enter| collective("MPI_Iallreduce").line(2).at_ms(enter, enter + 1);
    let both = wait("MPI_Waitall", &[(0, None), (1, Some(1))]);
    let waiting = vec![irecv(ANY).line(1).at_ms(15, 16), begin(20), both.line(4).at_ms(30, 95)];
    let found = |sent: u64, begun: u64| {
        let mut late = vec![send(0).line(5).at_ms(sent, sent + 1), begin(begun)];
        late.sort_by_key(|call| call.enter);
        late.push(wait("MPI_Wait", &[(0, None)]).line(6).at_ms(95, 96));
        findings_of(&ranks(vec![waiting.clone(), late]))
    };
    let findings = found(50, 80);
    assert_eq!(waits(&findings), [("wait_at_nonblocking_collective", 4, 0, 30), ("late_sender", 4, 0, 20)]);
    assert!(findings.delay_costs.values().map(|cost| cost.direct_ns).sum::<i64>() <= 50 * MS, "{:?}", findings.delay_costs);
    assert_eq!(findings.critical_path.length_ns(), 190 * MS);
    assert_eq!(waits(&found(80, 50)), [("late_sender", 4, 0, 50)]);
}

#[test]
fn the_critical_path_goes_where_the_run_was_held_up() {
    // Rank 1 computes 60 ms and sends; rank 0 waits for it and computes 40 ms more.
    let run = ranks(vec![
        vec![receive(1).line(2).at_ms(20, 75), send(1).line(4).at_ms(120, 121)],
        vec![send(0).line(3).at_ms(70, 75), receive(0).line(5).at_ms(75, 122)],
    ]);
    let findings = findings_of(&run);
    let path = &findings.critical_path;
    assert_eq!(path.length_ns(), 190 * MS, "from MPI_Init to MPI_Finalize");
    assert_eq!(path.segments[&Segment { from: 1, to: 3 }], 60 * MS);
    assert_eq!(path.segments[&Segment { from: 2, to: 4 }], 45 * MS);
    assert_eq!(path.segments.get(&Segment { from: 1, to: 2 }), None, "what the waiting rank did before does not matter");
    assert_eq!(path.jumps, 2);
}

#[test]
fn the_critical_path_goes_on_from_a_thread_to_the_one_that_was_there_before() {
    let of_second_thread = send(1).line(2).at_ms(60, 61).thread(1);
    let path = findings_of(&ranks(vec![vec![of_second_thread], vec![receive(0).line(3).at_ms(20, 61)]])).critical_path;
    assert_eq!(path.length_ns(), 190 * MS, "from MPI_Init to MPI_Finalize");
    assert_eq!(path.segments[&Segment { from: 1, to: 99 }], 50 * MS, "what the first thread computed until the second one sent");
}

#[test]
fn the_critical_path_ends_where_a_recording_contradicts_itself() {
    // Each receive waits for a message that the other rank sends only after its own receive.
    let exchange = |other: i32| vec![receive(other).line(2).at_ms(20, 50), send(other).line(3).at_ms(50, 51)];
    let findings = findings_of(&ranks(vec![exchange(1), exchange(0)]));
    assert_eq!(waits(&findings), [("late_sender", 2, 0, 30), ("late_sender", 2, 1, 30)]);
    assert_eq!(findings.critical_path.length_ns(), 150 * MS);
}

#[test]
fn a_wait_is_passed_on_to_the_computation_that_caused_it() {
    // Rank 0 computes long, rank 1 waits for it and is therefore late for rank 2, which waits for rank 1.
    let findings = findings_of(&ranks(vec![
        vec![send(1).line(2).at_ms(110, 111)],
        vec![receive(0).line(3).at_ms(20, 111), send(2).line(4).at_ms(112, 113)],
        vec![receive(1).line(5).at_ms(20, 113)],
    ]));
    let cost = findings.delay_costs[&(Segment { from: 1, to: 2 }, 0)];
    assert_eq!(cost.direct_ns, 90 * MS);
    assert!(cost.indirect_ns > 88 * MS && cost.indirect_ns <= 92 * MS, "{cost:?}");
}

#[test]
fn a_thread_is_charged_from_the_meeting_of_its_rank_on() {
    let itself = || send(0).tag(9);
    let barrier = || collective("MPI_Barrier").line(4).at_ms(100, 101);
    let late = vec![
        itself().line(5).at_ms(20, 21).thread(1),
        itself().line(6).at_ms(90, 91).thread(1),
        barrier(),
        send(1).line(2).at_ms(150, 151).thread(1),
    ];
    let findings = findings_of(&ranks(vec![late, vec![barrier(), receive(0).line(3).at_ms(110, 151)]]));
    assert_eq!(waits(&findings), [("late_sender", 3, 1, 40)]);
    let charged: Vec<(Segment, i64)> = findings.delay_costs.iter().map(|((segment, _), cost)| (*segment, cost.direct_ns)).collect();
    assert_eq!(charged, [(Segment { from: 6, to: 2 }, 40 * MS)]);
}

#[test]
fn an_ideal_network_leaves_computation_and_order() {
    // 60 ms, then 40 ms on the other rank, then the message back; everything else is communication.
    let findings = findings_of(&ranks(vec![
        vec![send(1).line(2).at_ms(70, 90), receive(1).line(3).at_ms(90, 150), collective("MPI_Barrier").line(6).at_ms(151, 199)],
        vec![receive(0).line(4).at_ms(10, 95), send(0).line(5).at_ms(135, 145), collective("MPI_Barrier").line(6).at_ms(150, 199)],
    ]));
    assert_eq!(findings.ideal_ns, (60 + 40 + 5 + 1) * MS);
}

#[test]
fn any_number_of_processes_finds_the_same_to_the_last_digit() {
    let next = |rank: usize| ((rank + 1) % 6) as i32;
    let before = |rank: usize| ((rank + 5) % 6) as i32;
    let rank = |rank: usize| {
        let round = |round: u64| {
            let t = 10 + round * 100;
            let late = (round * 7 + rank as u64 * 13) % 17;
            [
                irecv(ANY).line(1).at_ms(t + 1, t + 2),
                send(next(rank)).line(2).at_ms(t + 5 + late, t + 23),
                wait("MPI_Wait", &[(0, Some(before(rank)))]).line(3).at_ms(t + 25, t + 50),
                collective("MPI_Bcast").peer((round % 6) as i32).line(4).at_ms(t + 51 + late / 2, t + 62),
                collective(["MPI_Allreduce", "MPI_Scan", "MPI_Barrier"][(round % 3) as usize]).line(5).at_ms(t + 62 + late, t + 81),
                collective("MPI_Reduce").peer((round % 5) as i32).line(6).at_ms(t + 82, t + 90),
            ]
        };
        let mut calls = vec![init().line(0).at_ms(0, 10)];
        calls.extend((0..9).flat_map(round));
        calls.push(finalize().line(9).at_ms(950 + rank as u64, 960));
        calls
    };
    let recording = record_calls((0..6).map(rank).collect::<Vec<_>>());
    let alone = find(&recording, &SingleProcess);
    assert!(
        alone.waits.len() >= 5 && alone.delay_costs.len() > 5 && alone.critical_path.jumps > 3,
        "{:?}",
        (alone.waits.len(), alone.delay_costs.len(), alone.critical_path.jumps)
    );
    for size in [2, 3, 4, 8] {
        for found in run_in_group(size, |comm| find(&recording, comm)) {
            assert_eq!(found.waits, alone.waits, "{size} processes");
            assert_eq!(found.delay_costs, alone.delay_costs, "{size} processes");
            assert_eq!(found.critical_path, alone.critical_path, "{size} processes");
            assert_eq!(found.segments, alone.segments, "{size} processes");
            assert_eq!(
                (found.ideal_ns, found.unmatched, found.clock_violations),
                (alone.ideal_ns, alone.unmatched, alone.clock_violations)
            );
        }
    }
}

#[test]
fn damage_that_one_process_comes_by_is_known_to_all() {
    let calls = || vec![collective("MPI_Barrier").line(2).at_ms(20, 30)];
    let recording = record_calls(ranks(vec![calls(), calls(), calls(), calls()]));
    let file = recording.path().join("rank-00002.calls");
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let gaps = |comm: &dyn ProcessGroup| find(&Recording::open(recording.path()).unwrap(), comm).gaps;
    let alone = gaps(&SingleProcess);
    assert_eq!(alone.missing_calls.iter().copied().collect::<Vec<_>>(), [2]);
    for found in run_in_group(4, gaps) {
        assert_eq!(found, alone);
    }
}

#[test]
fn the_critical_path_goes_on_where_a_wait_is_of_two_kinds() {
    // The message that is received later is available for only a part of the wait.
    let other = send(1).tag(8);
    let awaited = receive(0).tag(8);
    let sender = vec![send(1).line(2).at_ms(40, 41), other.line(3).at_ms(70, 71)];
    let findings = findings_of(&ranks(vec![sender, vec![awaited.line(4).at_ms(20, 72), receive(0).line(5).at_ms(73, 74)]]));
    assert_eq!(waits(&findings), [("late_sender_wrong_order", 4, 1, 30), ("late_sender", 4, 1, 20)]);
    assert_eq!(findings.critical_path.length_ns(), 190 * MS);
}
