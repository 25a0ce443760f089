//! Sends find their receives, members of a group each other, and any company finds the same.

mod story;

use sintonia_program::company::{Alone, Company};
use sintonia_program::history::{At, History, Walk, walk};
use sintonia_recording::Recording;
use sintonia_recording::table::Shape;
use story::*;

fn at(rank: u32, row: u32) -> At {
    At { rank, thread: 0, row }
}

fn read(recording: &Recording, company: &dyn Company) -> History {
    History::read(recording, company, &|| ()).unwrap()
}

#[test]
fn the_first_message_goes_to_the_receive_that_began_first() {
    // Two wildcard receives, completed in the other order.
    let (_folder, recording) = story(&[
        vec![call(0, 1, 1, send(1)), call(2, 3, 2, send(1))],
        vec![
            call(0, 1, 3, irecv()),
            call(1, 2, 4, irecv()),
            call(4, 5, 5, wait("MPI_Wait", &[(0, Some(0))])),
            call(6, 7, 6, wait("MPI_Wait", &[(1, Some(0))])),
        ],
    ]);
    let history = read(&recording, &Alone);
    let received: Vec<(u32, At, At)> = history.lines[1].received.iter().map(|r| (r.row, r.posted, r.sender)).collect();
    assert_eq!(received, [(2, at(1, 1), at(0, 1)), (3, at(1, 0), at(0, 0))]);
    let sent: Vec<(At, At)> = history.lines[0].sent.iter().map(|s| (s.receiver, s.posted)).collect();
    assert_eq!(sent, [(at(1, 3), at(1, 0)), (at(1, 2), at(1, 1))]);
    assert_eq!((history.unmatched.sends, history.unmatched.receives), (0, 0));
}

#[test]
fn messages_with_one_end_are_counted() {
    let other_tag = Shape { tag: 9, ..send(1) };
    let (_folder, recording) =
        story(&[vec![call(0, 1, 1, other_tag), call(2, 3, 1, send(1))], vec![call(0, 4, 2, receive(0)), call(5, 6, 2, receive(0))]]);
    let history = read(&recording, &Alone);
    assert_eq!((history.unmatched.sends, history.unmatched.receives), (1, 1));
    assert_eq!(history.lines[1].received[0].sender, at(0, 1));
    assert_eq!(history.lines[1].received[1].sender, At::NOWHERE);
}

#[test]
fn a_probe_saw_the_message_that_is_received_next() {
    let probe = with("MPI_Probe", 0);
    let (_folder, recording) = story(&[vec![call(5, 6, 1, send(1))], vec![call(0, 7, 2, probe), call(7, 8, 3, receive(0))]]);
    let line = read(&recording, &Alone).lines.remove(1);
    assert_eq!(line.received.iter().map(|r| (r.row, r.taken, r.sender)).collect::<Vec<_>>(), [(0, false, at(0, 0)), (1, true, at(0, 0))]);
}

#[test]
fn the_last_to_come_to_a_meeting_is_known_to_all_and_so_is_the_root() {
    let ranks: Vec<_> = [3, 9, 5]
        .iter()
        .map(|enter| vec![call(*enter, 10, 1, with("MPI_Bcast", 2)), call(*enter + 10, 30, 2, collective("MPI_Scan"))])
        .collect();
    let (_folder, recording) = story(&ranks);
    let history = read(&recording, &Alone);
    let bcast = &history.meetings[history.lines[0].joined[0].meeting as usize];
    assert_eq!((bcast.members, bcast.last, bcast.root), (3, (at(1, 0), 9 * MS), (at(2, 0), 5 * MS)));
    let before: Vec<_> = history.lines.iter().map(|line| line.joined[1].before.map(|before| (before.members, before.last))).collect();
    assert_eq!(before, [None, Some((1, (at(0, 1), 13 * MS))), Some((2, (at(1, 1), 19 * MS)))]);
}

/// A walk that notes the order of calls, with time that stands still in MPI.
#[derive(Default)]
struct Free {
    now: Vec<i64>,
    last: Vec<i64>,
    forced: u64,
}

fn free(history: &History, company: &dyn Company) -> Free {
    struct Along<'a>(&'a History, Free);
    impl Walk for Along<'_> {
        fn enter(&mut self, line: usize, row: usize) -> i64 {
            let own = &self.0.lines[line];
            self.1.now[line] += own.calls.enter[row] - own.computes_from(row);
            self.1.now[line]
        }
        fn leave(&mut self, line: usize, row: usize, needed: Option<i64>) {
            self.1.now[line] = self.1.now[line].max(needed.unwrap_or(0));
            self.1.last[line] = row as i64;
        }
    }
    let lines = history.lines.len();
    let mut along = Along(history, Free { now: vec![0; lines], last: vec![-1; lines], forced: 0 });
    along.1.forced = walk(history, company, &mut along);
    along.1
}

fn ring(ranks: usize, rounds: u64) -> Vec<Vec<Told>> {
    let next = |rank: usize| ((rank + 1) % ranks) as i32;
    let before = |rank: usize| ((rank + ranks - 1) % ranks) as i32;
    let rank = |rank: usize| {
        let round = |round: u64| {
            let t = round * 100 + rank as u64;
            let tree = (round % ranks as u64) as i32;
            [
                call(t, t + 1, 1, irecv()),
                call(t + 5 + rank as u64, t + 20, 2, Shape { sent: 4, ..with("MPI_Ssend", next(rank)) }),
                call(t + 25, t + 50, 3, wait("MPI_Wait", &[(0, Some(before(rank)))])),
                call(t + 52, t + 60, 4, with("MPI_Bcast", tree)),
                call(t + 61, t + 70, 5, collective(["MPI_Allreduce", "MPI_Scan", "MPI_Barrier"][(round % 3) as usize])),
                call(t + 71, t + 72, 6, with("MPI_Reduce", tree)),
            ]
        };
        (0..rounds).flat_map(round).collect()
    };
    (0..ranks).map(rank).collect()
}

#[test]
fn a_walk_takes_every_call_after_what_it_needs() {
    let (_folder, recording) = story(&[
        vec![call(0, 1, 1, init()), call(30, 31, 2, send(1)), call(31, 40, 3, collective("MPI_Barrier"))],
        vec![call(0, 1, 1, init()), call(2, 32, 4, receive(0)), call(33, 40, 3, collective("MPI_Barrier"))],
    ]);
    let history = read(&recording, &Alone);
    let free = free(&history, &Alone);
    assert_eq!((free.forced, &free.now[..]), (0, &[30 * MS, 30 * MS][..]));
}

#[test]
fn lines_that_wait_for_each_other_for_ever_are_let_go() {
    let (_folder, recording) =
        story(&[vec![call(0, 5, 1, receive(1)), call(6, 7, 2, send(1))], vec![call(0, 5, 1, receive(0)), call(6, 7, 2, send(0))]]);
    let history = read(&recording, &Alone);
    let free = free(&history, &Alone);
    assert_eq!((free.forced, &free.last[..]), (1, &[1, 1][..]));
}

#[test]
fn any_company_finds_the_same() {
    let (_folder, recording) = story(&ring(5, 7));
    let alone = read(&recording, &Alone);
    let expected = free(&alone, &Alone);
    assert_eq!(expected.forced, 0);
    for size in [2, 3, 5, 7] {
        let found = together(size, |company| {
            let history = read(&recording, company);
            let free = free(&history, company);
            (history, free)
        });
        let mut place = 0;
        for (history, free) in found {
            assert_eq!(free.forced, 0);
            for (line, now) in history.lines.iter().zip(free.now) {
                let whole = &alone.lines[place];
                assert_eq!((&line.received, &line.sent), (&whole.received, &whole.sent), "{size} processes");
                for (mine, all) in line.joined.iter().zip(&whole.joined) {
                    assert_eq!((mine.row, mine.done, mine.before), (all.row, all.done, all.before));
                    assert_eq!(history.meetings[mine.meeting as usize], alone.meetings[all.meeting as usize]);
                }
                assert_eq!(now, expected.now[place], "{size} processes, line {place}");
                place += 1;
            }
        }
        assert_eq!(place, alone.lines.len());
    }
}

#[test]
fn a_message_that_arrives_before_it_is_sent_is_put_right() {
    let (_folder, recording) = story(&[
        vec![call(0, 1, 1, init()), call(20, 21, 2, send(1)), call(60, 61, 5, send(1))],
        vec![call(0, 1, 1, init()), call(5, 15, 3, receive(0)), call(16, 17, 4, with("MPI_Send", -1)), call(50, 70, 6, receive(0))],
    ]);
    let history = read(&recording, &Alone);
    assert_eq!((history.repair.violations, history.repair.largest_ns), (1, 5 * MS));
    let calls = &history.lines[1].calls;
    assert_eq!((calls.enter[1], calls.leave[1]), (5 * MS, 20 * MS));
    assert!(calls.enter.iter().zip(&calls.leave).all(|(enter, leave)| enter <= leave));
    assert!(calls.leave.windows(2).all(|pair| pair[0] <= pair[1]));
    assert!(calls.enter[2] > 20 * MS && calls.enter[2] < 21 * MS + 1, "what follows moves with it, a little less");
    assert_eq!(history.lines[1].received[0].send_enter, 20 * MS);
}
