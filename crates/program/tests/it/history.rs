//! Sends are matched with receives and the participants of collectives with each other, in any process group.

use sintonia_program::history::{CallId, CausalVisitor, History, NO_ROW, causal_walk};
use sintonia_program::process_group::{ProcessGroup, SingleProcess};
use sintonia_program::testing::run_in_group;
use sintonia_recording::Recording;
use sintonia_recording::header::{CommunicatorDefinition, RecordingHeader};
use sintonia_recording::raw::{ANY, LOCK_EXCLUSIVE, LOCK_SHARED, RequestRef};
use sintonia_recording::testing::*;

fn at(rank: u32, row: u32) -> CallId {
    CallId { rank, thread: 0, row }
}

fn read(recording: &Recording, comm: &dyn ProcessGroup) -> History {
    History::read(recording, comm, &|| ()).unwrap()
}

#[test]
fn the_first_message_goes_to_the_receive_that_began_first() {
    // Two wildcard receives, completed in reverse order.
    let recording = record_calls(&[
        vec![send(1).line(1).at_ms(0, 1), send(1).line(2).at_ms(2, 3)],
        vec![
            irecv(ANY).line(3).at_ms(0, 1),
            irecv(ANY).line(4).at_ms(1, 2),
            wait("MPI_Wait", &[(0, Some(0))]).line(5).at_ms(4, 5),
            wait("MPI_Wait", &[(1, Some(0))]).line(6).at_ms(6, 7),
        ],
    ]);
    let history = read(&recording, &SingleProcess);
    let received: Vec<(u32, CallId)> = history.locations[1].received.iter().map(|r| (r.row, r.sender)).collect();
    assert_eq!(received, [(2, at(0, 1)), (3, at(0, 0))]);
    let sent: Vec<(CallId, CallId)> = history.locations[0].sent.iter().map(|s| (s.receiver, s.posted())).collect();
    assert_eq!(sent, [(at(1, 3), at(1, 0)), (at(1, 2), at(1, 1))]);
    assert_eq!((history.unmatched.sends, history.unmatched.receives), (0, 0));
}

#[test]
fn messages_with_one_end_are_counted() {
    let other_tag = send(1).tag(9);
    let recording = record_calls(&[
        vec![other_tag.line(1).at_ms(0, 1), send(1).line(1).at_ms(2, 3)],
        vec![receive(0).line(2).at_ms(0, 4), receive(0).line(2).at_ms(5, 6)],
    ]);
    let history = read(&recording, &SingleProcess);
    assert_eq!((history.unmatched.sends, history.unmatched.receives), (1, 1));
    assert_eq!(history.locations[1].received[0].sender, at(0, 1));
    assert_eq!(history.locations[1].received[1].sender, CallId::NONE);
}

#[test]
fn a_probe_saw_the_message_that_is_received_next() {
    let probe = message("MPI_Probe", 0);
    let recording = record_calls(&[vec![send(1).line(1).at_ms(5, 6)], vec![probe.line(2).at_ms(0, 7), receive(0).line(3).at_ms(7, 8)]]);
    let line = read(&recording, &SingleProcess).locations.remove(1);
    assert_eq!(
        line.received.iter().map(|r| (r.row, r.consumed, r.sender)).collect::<Vec<_>>(),
        [(0, false, at(0, 0)), (1, true, at(0, 0))]
    );
}

#[test]
fn a_message_that_a_probe_took_is_the_one_of_that_moment() {
    let matched = |name: &str| message(name, 0).received(8);
    let sender = vec![send(1).line(1).at_ms(0, 1), send(1).line(2).at_ms(2, 3), send(1).line(3).at_ms(4, 5)];
    let taken = |row: u32| move |r: &&sintonia_program::history::ReceivedMessage| r.row == row;
    for (name, last) in [("MPI_Mrecv", 3), ("MPI_Imrecv", 4)] {
        let mut receiver = vec![
            message("MPI_Mprobe", 0).line(4).at_ms(10, 11),
            receive(0).line(5).at_ms(12, 13),
            receive(0).line(6).at_ms(14, 15),
            matched(name).line(7).at_ms(16, 17),
        ];
        receiver.extend((last == 4).then(|| wait("MPI_Wait", &[(0, Some(0))]).line(8).at_ms(18, 19)));
        let recording = record_calls(&[sender.clone(), receiver]);
        let mut locations = read(&recording, &SingleProcess).locations;
        let (line, sending) = (locations.remove(1), locations.remove(0));
        let sender_of = |row: u32| line.received.iter().find(taken(row)).unwrap().sender;
        assert_eq!([0, 1, 2, last].map(sender_of), [at(0, 0), at(0, 1), at(0, 2), at(0, 0)], "{name}");
        assert_eq!((sending.sent[0].receiver, sending.sent[0].posted()), (at(1, last), at(1, 3)), "{name} begins the receive");
    }
}

#[test]
fn any_number_of_processes_finds_the_same_where_members_of_a_collective_disagree() {
    // Rank 1 lacks a call, so its scan is matched with the barrier of the others.
    let whole = || vec![collective("MPI_Barrier").line(1).at_ms(0, 9), collective("MPI_Scan").line(2).at_ms(10, 19)];
    let recording = record_calls(&[whole(), vec![collective("MPI_Scan").line(2).at_ms(10, 19)], whole(), whole()]);
    let purposes =
        |history: History| history.collectives.iter().map(|meeting| (meeting.group, meeting.number, meeting.op)).collect::<Vec<_>>();
    let alone = purposes(read(&recording, &SingleProcess));
    assert_eq!(alone.len(), 2);
    for size in [2, 4] {
        for found in run_in_group(size, |comm| purposes(read(&recording, comm))) {
            assert!(found.iter().all(|meeting| alone.contains(meeting)), "{size} processes: {found:?} and not {alone:?}");
        }
    }
}

#[test]
fn spawned_processes_start_by_themselves() {
    let life = |begin: u64, end: u64| vec![init().line(1).at_ms(begin, begin + 10), finalize().line(2).at_ms(end, end + 5)];
    let worlds = |header: &mut RecordingHeader| {
        let world = |members: &str| CommunicatorDefinition {
            made_by: "MPI_COMM_WORLD".into(),
            members: members.into(),
            ..CommunicatorDefinition::default()
        };
        header.communicators = vec![world("0-1"), world("2-3")];
    };
    let recording = RecordingBuilder::new().ranks(&[life(0, 500), life(1, 501), life(100, 300), life(102, 301)]).header(worlds).write();
    let history = read(&recording, &SingleProcess);
    let last = |rank: usize| {
        history.locations[rank]
            .collectives
            .iter()
            .map(|joined| history.collectives[joined.instance as usize].last.1 / MS)
            .collect::<Vec<_>>()
    };
    assert_eq!([last(0), last(1)], [[1, 501], [1, 501]]);
    assert_eq!([last(2), last(3)], [[102, 301], [102, 301]]);
}

#[test]
fn the_last_to_come_to_a_meeting_is_known_to_all_and_so_is_the_root() {
    let ranks: Vec<_> = [3, 9, 5]
        .iter()
        .map(|enter| vec![collective("MPI_Bcast").peer(2).line(1).at_ms(*enter, 10), collective("MPI_Scan").line(2).at_ms(*enter + 10, 30)])
        .collect();
    let recording = record_calls(&ranks);
    let history = read(&recording, &SingleProcess);
    let bcast = &history.collectives[history.locations[0].collectives[0].instance as usize];
    assert_eq!((bcast.members, bcast.last, bcast.root), (3, (at(1, 0), 9 * MS), (at(2, 0), 5 * MS)));
    let before: Vec<_> =
        history.locations.iter().map(|line| line.dependency(&line.collectives[1]).map(|before| (before.members, before.last))).collect();
    assert_eq!(before, [None, Some((1, (at(0, 1), 13 * MS))), Some((2, (at(1, 1), 19 * MS)))]);
}

#[test]
fn a_member_of_a_neighbourhood_needs_its_sources_only() {
    let calls = |enter: u64| vec![collective("MPI_Neighbor_alltoall").line(1).at_ms(enter, 40)];
    // Rank 3 sends to rank 0.
    let recording = RecordingBuilder::new().ranks(&[calls(5), calls(9), calls(7), calls(30)]).header(ring_topology).write();
    let history = read(&recording, &SingleProcess);
    let before: Vec<_> = history.locations.iter().map(|line| line.dependency(&line.collectives[0]).unwrap().last).collect();
    assert_eq!(before, [(at(3, 0), 30 * MS), (at(0, 0), 5 * MS), (at(1, 0), 9 * MS), (at(2, 0), 7 * MS)]);
    assert_eq!(free(&history, &SingleProcess).now, [0; 4], "nobody computed");
    let recording = record_calls(&[calls(5), calls(9)]);
    let history = read(&recording, &SingleProcess);
    assert_eq!(
        history.locations[0].dependency(&history.locations[0].collectives[0]),
        None,
        "a recording that does not tell the neighbours"
    );
}

#[test]
fn a_neighbour_that_came_after_the_end_had_nothing_to_send() {
    let calls = |enter: u64, leave: u64| vec![collective("MPI_Neighbor_alltoallv").line(1).at_ms(enter, leave)];
    let recording = RecordingBuilder::new().ranks(&[calls(5, 8), calls(6, 9), calls(20, 30)]).header(ring_topology).write();
    let history = read(&recording, &SingleProcess);
    let dependency = history.locations[0].dependency(&history.locations[0].collectives[0]);
    assert_eq!((dependency, history.clock_violations.violations), (None, 0));
    assert_eq!(free(&history, &SingleProcess).forced, 0);
}

/// Two ranks access the window of a third, twice; then one of them alone.
fn epochs() -> Vec<Vec<TestCall>> {
    let access = |t: u64, leave: u64| {
        vec![
            with_group("MPI_Win_start", 2).line(1).at_ms(t, t + 1),
            put(2).line(2).at_ms(t + 3, t + 4),
            on_window("MPI_Win_complete").line(3).at_ms(t + 8, leave),
        ]
    };
    // All origins are admitted twice, only rank 0 the third time.
    let exposure = |t: u64, group: i32| {
        vec![with_group("MPI_Win_post", group).line(4).at_ms(t, t + 1), on_window("MPI_Win_wait").line(5).at_ms(t + 5, t + 30)]
    };
    let rounds = |rounds: &[u64]| rounds.iter().flat_map(|t| access(*t, *t + 20)).collect::<Vec<_>>();
    vec![rounds(&[0, 100, 200]), rounds(&[10, 101]), [exposure(9, 3), exposure(104, 3), exposure(202, 0)].concat()]
}

fn with_two(header: &mut sintonia_recording::header::RecordingHeader) {
    single_rank_groups(header);
    header.groups[3] = "0-1".into();
}

#[test]
fn each_access_belongs_to_the_opening_of_the_window_for_it() {
    let recording = RecordingBuilder::new().ranks(epochs()).header(with_two).write();
    let history = read(&recording, &SingleProcess);
    let posts =
        |rank: usize| history.locations[rank].accesses.iter().map(|a| (a.start, a.complete, a.post, a.post_enter)).collect::<Vec<_>>();
    assert_eq!(posts(0), [(0, 2, at(2, 0), 9 * MS), (3, 5, at(2, 2), 104 * MS), (6, 8, at(2, 4), 202 * MS)]);
    assert_eq!(posts(1), [(0, 2, at(2, 0), 9 * MS), (3, 5, at(2, 2), 104 * MS)]);
    let ends: Vec<_> = history.locations[2].exposures.iter().map(|e| (e.post, e.wait, e.complete, e.accessed_until)).collect();
    let expected = [
        (0, 1, at(0, 2), 4 * MS),
        (0, 1, at(1, 2), 14 * MS),
        (2, 3, at(0, 5), 104 * MS),
        (2, 3, at(1, 5), 105 * MS),
        (4, 5, at(0, 8), 204 * MS),
    ];
    assert_eq!(ends, expected);
    let partners = |rank: usize, row: u32| history.locations[rank].epoch_partners(row).collect::<Vec<_>>();
    assert_eq!((partners(0, 5), partners(0, 4), partners(2, 1)), (vec![at(2, 2)], vec![], vec![at(0, 2), at(1, 2)]));
    assert_eq!(free(&history, &SingleProcess).forced, 0);
}

#[test]
fn a_window_that_nobody_is_known_to_access_waits_for_nobody() {
    let unfinished = vec![with_group("MPI_Win_start", 1).line(1).at_ms(0, 1)];
    let exposure = vec![with_group("MPI_Win_post", 0).line(4).at_ms(5, 6), on_window("MPI_Win_wait").line(5).at_ms(7, 9)];
    let recording = RecordingBuilder::new().ranks(&[unfinished, exposure]).header(single_rank_groups).write();
    let history = read(&recording, &SingleProcess);
    assert_eq!((history.locations[0].accesses[0].complete, history.locations[0].accesses[0].post), (NO_ROW, at(1, 0)));
    assert_eq!(history.locations[1].exposures[0].complete, CallId::NONE);
    assert_eq!(free(&history, &SingleProcess).forced, 0);
}

#[test]
fn the_end_of_an_access_comes_after_the_opening_and_the_closing_after_the_end() {
    // The origin computes 20 ms between its calls, the target 50 ms before it posts its window.
    let origin = vec![
        init().line(1).at_ms(0, 1),
        with_group("MPI_Win_start", 1).line(2).at_ms(11, 12),
        on_window("MPI_Win_complete").line(3).at_ms(22, 52),
    ];
    let target = vec![
        init().line(1).at_ms(0, 1),
        with_group("MPI_Win_post", 0).line(4).at_ms(51, 52),
        on_window("MPI_Win_wait").line(5).at_ms(52, 53),
    ];
    let recording = RecordingBuilder::new().ranks(&[origin.clone(), target]).header(single_rank_groups).write();
    let history = read(&recording, &SingleProcess);
    assert_eq!(free(&history, &SingleProcess).now, [50 * MS, 50 * MS]);
    // A library that buffers the data lets the origin continue.
    let buffered = vec![origin[0].clone(), origin[1].clone(), on_window("MPI_Win_complete").line(3).at_ms(22, 23)];
    let target = vec![
        init().line(1).at_ms(0, 1),
        with_group("MPI_Win_post", 0).line(4).at_ms(51, 52),
        on_window("MPI_Win_wait").line(5).at_ms(52, 53),
    ];
    let recording = RecordingBuilder::new().ranks(&[buffered, target]).header(single_rank_groups).write();
    let history = read(&recording, &SingleProcess);
    assert_eq!(free(&history, &SingleProcess).now, [20 * MS, 50 * MS]);
}

#[test]
fn of_locks_that_exclude_each_other_the_one_given_back_first_was_had_first() {
    let hold =
        |kind: i32, t: u64, until: u64| vec![win_lock(kind, 0).line(1).at_ms(t, t + 1), win_unlock(0).line(2).at_ms(until, until + 2)];
    let earlier = |kinds: [i32; 4]| {
        let times = [(0, 10), (1, 20), (2, 30), (3, 40)];
        let ranks: Vec<_> = kinds.iter().zip(times).map(|(kind, (t, until))| hold(*kind, t, until)).collect();
        let recording = record_calls(&ranks);
        let history = read(&recording, &SingleProcess);
        history.locations.iter().map(|line| line.locks[0].previous.into_option().map(|at| at.rank)).collect::<Vec<_>>()
    };
    let (own, shared) = (LOCK_EXCLUSIVE, LOCK_SHARED);
    assert_eq!(earlier([own; 4]), [None, Some(0), Some(1), Some(2)]);
    assert_eq!(earlier([shared; 4]), [None; 4]);
    assert_eq!(earlier([own, shared, shared, own]), [None, Some(0), Some(0), Some(2)]);
}

#[test]
fn a_lock_of_all_counts_for_those_that_are_accessed() {
    let all = vec![
        on_window("MPI_Win_lock_all").line(1).at_ms(0, 1),
        put(1).line(2).at_ms(1, 12),
        put(1).line(2).at_ms(13, 14),
        on_window("MPI_Win_unlock_all").line(3).at_ms(20, 21),
    ];
    let one = vec![win_lock(LOCK_EXCLUSIVE, 1).line(4).at_ms(0, 1), win_unlock(1).line(5).at_ms(10, 11)];
    let recording = record_calls(&[all, one]);
    let history = read(&recording, &SingleProcess);
    let holds: Vec<_> = history.locations[0].locks.iter().map(|hold| (hold.lock, hold.unlock, hold.target, hold.previous)).collect();
    assert_eq!(holds, [(0, 3, 1, at(1, 1))]);
}

/// Records the order of calls, with time that stands still in MPI.
#[derive(Default)]
struct Free {
    now: Vec<i64>,
    last: Vec<i64>,
    forced: u64,
}

fn free(history: &History, comm: &dyn ProcessGroup) -> Free {
    struct Along<'a>(&'a History, Free);
    impl CausalVisitor for Along<'_> {
        fn enter(&mut self, line: usize, row: usize) -> i64 {
            let own = &self.0.locations[line];
            self.1.now[line] += own.calls.enter[row] - own.compute_begin(row);
            self.1.now[line]
        }
        fn leave(&mut self, line: usize, row: usize, needed: Option<i64>) {
            self.1.now[line] = self.1.now[line].max(needed.unwrap_or(0));
            self.1.last[line] = row as i64;
        }
    }
    let lines = history.locations.len();
    let mut along = Along(history, Free { now: vec![0; lines], last: vec![-1; lines], forced: 0 });
    along.1.forced = causal_walk(history, comm, &mut along);
    along.1
}

fn ring(ranks: usize, rounds: u64) -> Vec<Vec<TestCall>> {
    let next = |rank: usize| ((rank + 1) % ranks) as i32;
    let before = |rank: usize| ((rank + ranks - 1) % ranks) as i32;
    let rank = |rank: usize| {
        let round = |round: u64| {
            let t = round * 100 + rank as u64;
            let tree = (round % ranks as u64) as i32;
            [
                irecv(ANY).line(1).at_ms(t, t + 1),
                message("MPI_Ssend", next(rank)).sent(4).line(2).at_ms(t + 5 + rank as u64, t + 20),
                wait("MPI_Wait", &[(0, Some(before(rank)))]).line(3).at_ms(t + 25, t + 50),
                collective("MPI_Bcast").peer(tree).sent(8).line(4).at_ms(t + 52, t + 60),
                collective(["MPI_Allreduce", "MPI_Scan", "MPI_Barrier"][(round % 3) as usize]).line(5).at_ms(t + 61, t + 70),
                collective("MPI_Reduce").peer(tree).sent(8).line(6).at_ms(t + 71, t + 72),
            ]
        };
        (0..rounds).flat_map(round).collect()
    };
    (0..ranks).map(rank).collect()
}

#[test]
fn a_walk_takes_every_call_after_what_it_needs() {
    let recording = record_calls(&[
        vec![init().line(1).at_ms(0, 1), send(1).line(2).at_ms(30, 31), collective("MPI_Barrier").line(3).at_ms(31, 40)],
        vec![init().line(1).at_ms(0, 1), receive(0).line(4).at_ms(2, 32), collective("MPI_Barrier").line(3).at_ms(33, 40)],
    ]);
    let history = read(&recording, &SingleProcess);
    let free = free(&history, &SingleProcess);
    assert_eq!((free.forced, &free.now[..]), (0, &[30 * MS, 30 * MS][..]));
}

#[test]
fn lines_that_wait_for_each_other_for_ever_are_let_go() {
    let recording = record_calls(&[
        vec![receive(1).line(1).at_ms(0, 5), send(1).line(2).at_ms(6, 7)],
        vec![receive(0).line(1).at_ms(0, 5), send(0).line(2).at_ms(6, 7)],
    ]);
    let history = read(&recording, &SingleProcess);
    let free = free(&history, &SingleProcess);
    assert_eq!((free.forced, &free.last[..]), (1, &[1, 1][..]));
}

/// Every rank accesses the window of the next, all take the same lock in turn, and neighbours exchange messages.
fn one_sided(ranks: usize, rounds: u64) -> Vec<Vec<TestCall>> {
    let next = |rank: usize| ((rank + 1) % ranks) as i32;
    let before = |rank: usize| ((rank + ranks - 1) % ranks) as i32;
    let rank = |rank: usize| {
        let round = |round: u64| {
            let t = round * 200 + rank as u64 * 3;
            let locked = round * 200 + 70 + (rank as u64 * 7 + round) % ranks as u64 * 10;
            [
                with_group("MPI_Win_post", before(rank)).line(1).at_ms(t + 5, t + 6),
                with_group("MPI_Win_start", next(rank)).line(2).at_ms(t + 7, t + 20),
                put(next(rank)).line(3).at_ms(t + 21, t + 22),
                on_window("MPI_Win_complete").line(4).at_ms(t + 30 - rank as u64, t + 40),
                on_window("MPI_Win_wait").line(5).at_ms(t + 41, t + 60),
                win_lock(if rank == 1 { LOCK_SHARED } else { LOCK_EXCLUSIVE }, 0).line(6).at_ms(round * 200 + 65, round * 200 + 66),
                win_unlock(0).line(7).at_ms(locked, locked + 9),
                collective("MPI_Neighbor_allgather").line(8).at_ms(round * 200 + 160 + rank as u64, round * 200 + 190),
            ]
        };
        (0..rounds).flat_map(round).collect()
    };
    (0..ranks).map(rank).collect()
}

#[test]
fn any_number_of_processes_finds_the_same() {
    let recording = record_calls(ring(5, 7));
    any_number_of_processes_finds_the_same_in(&recording);
}

#[test]
fn any_number_of_processes_finds_the_same_epochs_and_neighbours() {
    let recording = RecordingBuilder::new()
        .ranks(one_sided(5, 6))
        .header(|header| {
            single_rank_groups(header);
            ring_topology(header);
        })
        .write();
    let lines = read(&recording, &SingleProcess).locations;
    assert!(lines.iter().all(|line| line.accesses.len() == 6 && line.accesses.iter().all(|access| access.post != CallId::NONE)));
    assert!(lines.iter().all(|line| line.locks.iter().filter(|hold| hold.previous != CallId::NONE).count() >= 5));
    any_number_of_processes_finds_the_same_in(&recording);
}

fn any_number_of_processes_finds_the_same_in(recording: &Recording) {
    let alone = read(recording, &SingleProcess);
    let expected = free(&alone, &SingleProcess);
    assert_eq!(expected.forced, 0);
    for size in [2, 3, 5, 7] {
        let found = run_in_group(size, |comm| {
            let history = read(recording, comm);
            let free = free(&history, comm);
            (history, free)
        });
        let mut place = 0;
        for (history, free) in found {
            assert_eq!(free.forced, 0);
            for (line, now) in history.locations.iter().zip(free.now) {
                let whole = &alone.locations[place];
                assert_eq!((&line.received, &line.sent), (&whole.received, &whole.sent), "{size} processes");
                assert_eq!((&line.accesses, &line.exposures, &line.locks), (&whole.accesses, &whole.exposures, &whole.locks));
                for (mine, all) in line.collectives.iter().zip(&whole.collectives) {
                    assert_eq!((mine.row, mine.completion, line.dependency(mine)), (all.row, all.completion, whole.dependency(all)));
                    assert_eq!(history.collectives[mine.instance as usize], alone.collectives[all.instance as usize]);
                }
                assert_eq!(now, expected.now[place], "{size} processes, line {place}");
                place += 1;
            }
        }
        assert_eq!(place, alone.locations.len());
    }
}

#[test]
fn a_message_that_arrives_before_it_is_sent_is_put_right() {
    let recording = record_calls(&[
        vec![init().line(1).at_ms(0, 1), send(1).line(2).at_ms(20, 21), send(1).line(5).at_ms(60, 61)],
        vec![
            init().line(1).at_ms(0, 1),
            receive(0).line(3).at_ms(5, 15),
            message("MPI_Send", -1).line(4).at_ms(16, 17),
            receive(0).line(6).at_ms(50, 70),
        ],
    ]);
    let history = read(&recording, &SingleProcess);
    assert_eq!((history.clock_violations.violations, history.clock_violations.largest_ns), (1, 5 * MS));
    let calls = &history.locations[1].calls;
    assert_eq!((calls.enter[1], calls.leave[1]), (5 * MS, 20 * MS));
    assert!(calls.enter.iter().zip(&calls.leave).all(|(enter, leave)| enter <= leave));
    assert!(calls.leave.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(calls.enter[2] > 20 * MS && calls.enter[2] < 21 * MS + 1, "what follows moves with it, a little less");
    assert_eq!(history.locations[1].received[0].send_enter, 20 * MS);
}

#[test]
fn what_threads_do_for_each_other_keeps_its_order_when_one_of_them_is_moved() {
    // The first thread of rank 1 posts a receive that the second completes, after one that was posted before its message was sent.
    let mut completes = wait("MPI_Wait", &[(0, Some(2))]);
    completes.requests[0].request = RequestRef::Absolute(0, 0);
    let recording = record_calls(&[
        vec![init().line(1).at_ms(0, 1), send(1).line(2).at_ms(20, 21)],
        vec![
            init().line(1).at_ms(0, 1),
            receive(0).line(3).at_ms(5, 15),
            irecv(ANY).line(4).at_ms(16, 17),
            completes.at_ms(10, 19).thread(1),
        ],
        vec![init().line(1).at_ms(0, 1), send(1).line(5).at_ms(3, 4)],
    ]);
    let history = read(&recording, &SingleProcess);
    assert_eq!(history.clock_violations.violations, 1);
    assert!(history.locations[1].calls.leave[2] > history.locations[2].calls.leave[0], "the thread that made the receive was moved");
    assert_eq!((history.unmatched.sends, history.unmatched.receives), (0, 0));
    assert_eq!(history.locations[2].received[0].sender, at(2, 1));
}

#[test]
fn a_request_completed_before_its_creation_seems_to_return_is_matched() {
    let mut completes = wait("MPI_Wait", &[(0, Some(0))]);
    completes.requests[0].request = RequestRef::Absolute(0, 0);
    let recording = record_calls(&[
        vec![init().line(1).at_ms(0, 1), send(1).line(2).at_ms(2, 3)],
        vec![init().line(1).at_ms(0, 1), irecv(ANY).line(3).at_ms(4, 8), completes.at_ms(6, 7).thread(1)],
    ]);
    let history = read(&recording, &SingleProcess);
    assert_eq!((history.unmatched.sends, history.unmatched.receives), (0, 0));
    assert_eq!(history.locations[2].received[0].sender, at(0, 1));
}

#[test]
fn messages_of_concurrent_threads_are_counted_as_unordered() {
    let recording = |second: [u64; 2]| {
        record_calls(&[
            vec![init().line(1).at_ms(0, 1), send(1).line(2).at_ms(2, 5), send(1).line(2).at_ms(second[0], second[1]).thread(1)],
            vec![init().line(1).at_ms(0, 1), receive(0).line(3).at_ms(6, 12), receive(0).line(3).at_ms(13, 14)],
        ])
    };
    for (second, unordered) in [([4, 6], 2), ([5, 6], 0)] {
        let history = read(&recording(second), &SingleProcess);
        assert_eq!((history.unmatched.sends, history.unmatched.receives, history.unordered), (0, 0, unordered), "{second:?}");
    }
}
