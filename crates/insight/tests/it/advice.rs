//! Advice on handmade runs: each rule finds its problem, the location and the exact saving, and a run without problems gets no advice.

use sintonia_insight::RunSummary;
use sintonia_insight::advice::{Advice, RULES};
use sintonia_insight::analysis::RunAnalysis;
use sintonia_program::process_group::SingleProcess;
use sintonia_program::testing::run_in_group;
use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::testing::*;

/// A run under construction: the calls of each rank, and its current time.
struct Play {
    now: Vec<u64>,
    calls: Vec<Vec<TestCall>>,
}

impl Play {
    fn new(ranks: usize) -> Play {
        Play { now: vec![10; ranks], calls: vec![vec![init().line(1).at_ms(0, 10)]; ranks] }
    }

    fn work(&mut self, rank: usize, ms: u64) {
        self.now[rank] += ms;
    }

    fn all_work(&mut self, ms: impl Fn(usize) -> u64) {
        (0..self.now.len()).for_each(|rank| self.work(rank, ms(rank)));
    }

    fn call(&mut self, rank: usize, line: u32, descriptor: CallDescriptor, until: u64) {
        self.calls[rank].push(descriptor.line(line).at_ms(self.now[rank], until));
        self.now[rank] = until;
    }

    /// All ranks wait for the last one; then the collective takes a while.
    fn meet(&mut self, line: u32, descriptor: &CallDescriptor, takes: u64) {
        let last = self.now.iter().max().unwrap() + takes;
        (0..self.now.len()).for_each(|rank| self.call(rank, line, descriptor.clone(), last));
    }

    /// The root continues, the others wait for it.
    fn broadcast(&mut self, line: u32, root: usize) {
        let from_root = self.now[root];
        for rank in 0..self.now.len() {
            let until = self.now[rank].max(from_root);
            self.call(rank, line, collective("MPI_Bcast").peer(root as i32).sent(8), until);
        }
    }

    /// A message with an eager send.
    fn send(&mut self, from: usize, to: usize, line: u32) -> u64 {
        let sent = self.now[from];
        self.call(from, line, send(to as i32), sent);
        sent
    }

    fn receive(&mut self, to: usize, from: usize, line: u32, sent: u64) {
        let until = self.now[to].max(sent);
        self.call(to, line, receive(from as i32), until);
    }

    fn message(&mut self, from: usize, to: usize, lines: (u32, u32)) {
        let sent = self.send(from, to, lines.0);
        self.receive(to, from, lines.1, sent);
    }

    /// A message with a synchronous send.
    fn hand_over(&mut self, from: usize, to: usize, lines: (u32, u32)) {
        let met = self.now[from].max(self.now[to]) + 1;
        self.call(from, lines.0, send(to as i32).sent(1 << 20), met);
        self.call(to, lines.1, receive(from as i32).received(1 << 20), met);
    }

    fn told(mut self) -> TestRecording {
        for rank in 0..self.now.len() {
            let until = self.now[rank] + 1;
            self.call(rank, 99, finalize(), until);
        }
        record_calls(self.calls)
    }

    fn advice(self) -> Vec<Advice> {
        let recording = self.told();
        given(&recording)
    }

    /// The advice if the ranks ran on these hosts.
    fn advice_on(self, hosts: &[&str], of_rank: &[u32]) -> Vec<Advice> {
        let recording = self.told().with_header(|header| {
            header.hosts = hosts.iter().map(|host| (*host).into()).collect();
            header.ranks.iter_mut().zip(of_rank).for_each(|(rank, host)| rank.host = *host);
        });
        given(&recording)
    }
}

fn given(recording: &Recording) -> Vec<Advice> {
    let summary = RunSummary::from_recording(recording, &SingleProcess, &|_, _| ()).unwrap();
    let sum: f64 = summary.advice.iter().filter_map(|advice| advice.saves_s).sum();
    assert!(sum <= summary.work_s, "no second is saved twice: {:#?}", summary.advice);
    summary.advice
}

/// Kind, line and milliseconds.
fn told(advice: &[Advice]) -> Vec<(&'static str, u32, i64)> {
    advice.iter().map(|advice| (advice.kind, advice.source.line.unwrap(), (advice.saves_s.unwrap() * 1e3).round() as i64)).collect()
}

fn allreduce() -> CallDescriptor {
    collective("MPI_Allreduce").sent(8).received(8)
}

#[test]
fn ranks_that_always_have_more_to_do_are_named() {
    let mut play = Play::new(3);
    for _ in 0..20 {
        play.all_work(|_| 20);
        play.meet(2, &allreduce(), 0);
        play.all_work(|rank| if rank == 2 { 60 } else { 30 });
        play.meet(3, &allreduce(), 0);
    }
    let advice = play.advice();
    // Rank 2 computes 60 ms, the mean is 40 ms.
    assert_eq!(told(&advice), [("load_imbalance", 3, 400)]);
    let only = &advice[0];
    assert_eq!(
        only.what,
        "Rank 2 computes 1.5 times as long as the average rank between me/program.c:2 and me/program.c:3, throughout the run."
    );
    assert_eq!(only.evidence, "1.20 s there on the busiest rank, 800 ms on average over 3 ranks; the others wait 25 % of the run.");
    assert!(only.try_this.contains("rank 2 less of this work"), "{}", only.try_this);
}

#[test]
fn what_only_one_rank_does_is_to_be_shared() {
    let mut play = Play::new(4);
    for _ in 0..5 {
        play.work(0, 40);
        play.meet(2, &allreduce(), 0);
        play.all_work(|_| 20);
        play.meet(3, &allreduce(), 0);
    }
    let advice = play.advice();
    // 30 of 40 ms in four iterations; the first, from MPI_Init on, is another segment before the same call.
    assert_eq!(told(&advice), [("load_imbalance", 2, 120)]);
    assert!(advice[0].try_this.starts_with("Only rank 0 computes there."), "{}", advice[0].try_this);
}

#[test]
fn work_that_moves_from_rank_to_rank_is_no_lasting_imbalance() {
    let mut play = Play::new(3);
    for turn in 0..22 {
        play.all_work(|rank| if turn % 3 == rank { 60 } else { 30 });
        play.meet(2, &allreduce(), 0);
    }
    // Twenty-one iterations between two calls of line 2, each 60 ms instead of 40 ms.
    assert_eq!(told(&play.advice()), [("moving_imbalance", 2, 420)]);
}

#[test]
fn a_master_that_serves_one_after_the_other_holds_up_its_workers() {
    let mut play = Play::new(4);
    for _ in 0..20 {
        for worker in 1..4 {
            play.message(worker, 0, (5, 2));
            play.work(0, 10);
            play.message(0, worker, (3, 6));
            play.work(worker, 10);
        }
    }
    let advice = play.advice();
    // A worker gets a task every 30 ms; if a task took the master a quarter of 10 ms, every 12.5 ms.
    assert_eq!(told(&advice), [("serialised_master", 3, 355)]);
    assert_eq!(
        advice[0].what,
        "Ranks 1-3 wait for rank 0, which serves them one after the other and computes between me/program.c:2 and me/program.c:3."
    );
}

#[test]
fn ranks_that_compute_in_turns_because_messages_come_late_are_told_to_send_earlier() {
    let mut play = Play::new(2);
    for _ in 0..8 {
        play.work(0, 50);
        play.message(0, 1, (2, 5));
        play.work(1, 50);
        play.message(1, 0, (6, 3));
    }
    let advice = play.advice();
    assert_eq!(told(&advice), [("late_sender_compute", 6, 350), ("late_sender_compute", 2, 50)]);
    assert!(
        advice[0].what.starts_with("Rank 0 waits at me/program.c:3 for messages that rank 1 sends only after computing"),
        "{}",
        advice[0].what
    );
}

#[test]
fn messages_taken_in_the_wrong_order_leave_work_undone() {
    let mut play = Play::new(3);
    for _ in 0..12 {
        let early = play.send(2, 0, 6);
        play.work(1, 40);
        play.message(1, 0, (6, 2));
        play.work(0, 30);
        play.receive(0, 2, 3, early);
        play.work(0, 30);
        play.work(1, 20);
        play.work(2, 60);
        play.broadcast(7, 0);
    }
    // 30 of the 40 ms that rank 0 waits could be filled with work on the available message.
    assert_eq!(told(&play.advice()), [("message_order", 2, 360)]);
}

#[test]
fn a_message_is_not_taken_first_if_others_were_told_something_in_between() {
    let mut play = Play::new(3);
    for _ in 0..12 {
        let early = play.send(2, 0, 6);
        play.work(1, 40);
        play.message(1, 0, (6, 2));
        play.broadcast(7, 0);
        play.receive(0, 2, 3, early);
        play.all_work(|_| 60);
    }
    assert!(play.advice().iter().all(|advice| advice.kind != "message_order"));
}

#[test]
fn blocking_sends_that_keep_ranks_from_computing_are_found() {
    let mut play = Play::new(2);
    for _ in 0..10 {
        play.work(1, 50);
        play.hand_over(0, 1, (2, 5));
        play.work(0, 50);
        play.hand_over(1, 0, (6, 3));
    }
    assert_eq!(told(&play.advice()), [("blocking_exchange", 2, 500)]);
}

#[test]
fn a_blocking_send_is_hidden_by_the_computation_right_after_it_only() {
    let mut play = Play::new(2);
    for _ in 0..10 {
        play.work(1, 50);
        play.hand_over(0, 1, (2, 5));
        play.message(0, 1, (8, 9));
        play.work(0, 50);
        play.meet(6, &allreduce(), 0);
    }
    assert_eq!(told(&play.advice()), []);
}

#[test]
fn small_messages_in_a_row_could_be_one() {
    let mut play = Play::new(2);
    for _ in 0..10 {
        play.all_work(|_| 10);
        for _ in 0..100 {
            let until = play.now[0] + 1;
            play.call(0, 2, send(1), until);
            play.call(1, 3, receive(0), until);
        }
    }
    let advice = play.advice();
    assert_eq!(told(&advice), [("small_messages", 2, 990)]);
    assert_eq!(
        advice[0].evidence,
        "1000 messages of 8 B on average, 100 in a row; each takes 1.00 ms to send, which is 91 % of the run on each sender."
    );
}

#[test]
fn an_exchange_of_all_with_all_is_told_with_its_share() {
    let mut play = Play::new(4);
    let alltoall = collective("MPI_Alltoall").sent(4000).received(4000);
    for _ in 0..10 {
        play.all_work(|_| 5);
        play.meet(2, &alltoall, 20);
    }
    let advice = play.advice();
    assert_eq!(told(&advice), [("all_to_all_growth", 2, 200)]);
    assert!(
        advice[0].evidence.contains("200 ms of a rank's time on average after all ranks had arrived (80 % of the run); 320 kB"),
        "{}",
        advice[0].evidence
    );
}

#[test]
fn a_little_imbalance_does_not_hide_what_the_exchange_after_it_takes() {
    let alltoall = collective("MPI_Alltoall").sent(4000).received(4000);
    let mut play = Play::new(4);
    for _ in 0..10 {
        play.all_work(|rank| if rank == 2 { 4 } else { 2 });
        play.meet(2, &alltoall, 20);
        play.all_work(|_| 3);
        play.meet(3, &allreduce(), 1);
    }
    let advice = play.advice();
    let kinds: Vec<&str> = advice.iter().map(|advice| advice.kind).collect();
    assert_eq!(kinds, ["all_to_all_growth", "load_imbalance"], "{advice:#?}");
}

#[test]
fn a_barrier_that_orders_nothing_is_to_be_left_out() {
    let mut play = Play::new(2);
    for turn in 0..20 {
        play.all_work(|rank| if turn % 2 == rank { 60 } else { 20 });
        play.meet(2, &collective("MPI_Barrier"), 0);
    }
    play.meet(3, &allreduce(), 0);
    assert_eq!(told(&play.advice()), [("collective_as_barrier", 2, 400)]);
}

#[test]
fn a_barrier_does_not_matter_where_the_same_rank_is_always_last() {
    let mut play = Play::new(2);
    for _ in 0..20 {
        play.all_work(|rank| if rank == 1 { 60 } else { 20 });
        play.meet(2, &collective("MPI_Barrier"), 0);
    }
    // The first of twenty iterations is between MPI_Init and the barrier.
    assert_eq!(told(&play.advice()), [("load_imbalance", 2, 380)]);
}

/// Three kinds of work for which some ranks take half as long again.
fn slow(ranks: usize, is_slow: impl Fn(usize) -> bool) -> Play {
    let mut play = Play::new(ranks);
    for _ in 0..20 {
        for (line, ms) in [(2, 20), (3, 30), (4, 10)] {
            play.all_work(|rank| if is_slow(rank) { ms + ms / 2 } else { ms });
            play.meet(line, &allreduce(), 0);
        }
    }
    play
}

#[test]
fn a_rank_that_is_slower_at_everything_runs_on_a_slow_machine() {
    let advice = slow(3, |rank| rank == 1).advice();
    // 90 ms instead of 70 ms per iteration, except before the first collective, which is executed only once.
    assert_eq!(told(&advice), [("slow_rank", 3, 393)]);
    assert_eq!(advice[0].what, "Rank 1 on here takes 1.5 times as long as the others for the same work, in every part of the program.");
}

#[test]
fn a_host_whose_ranks_are_all_slow_is_named() {
    let advice = slow(6, |rank| rank / 2 == 1).advice_on(&["ant", "bee", "cat"], &[0, 0, 1, 1, 2, 2]);
    assert_eq!(told(&advice), [("slow_rank", 3, 393)]);
    assert!(advice[0].what.starts_with("Ranks 2-3 on bee take 1.5 times"), "{}", advice[0].what);
}

#[test]
fn a_host_with_more_ranks_than_others_makes_them_slow() {
    let advice = slow(4, |rank| rank < 3).advice_on(&["ant", "bee"], &[0, 0, 0, 1]);
    let first = &advice[0];
    assert_eq!((first.kind, (first.saves_s.unwrap() * 1e3).round()), ("unbalanced_placement", 150.0), "90 ms instead of 82.5 ms");
    assert_eq!(first.what, "Ranks 0-2 are slower than the others because ant has more ranks than other hosts.");
    assert_eq!(advice.len(), 1, "{advice:#?}");
}

#[test]
fn ranks_that_exchange_much_belong_on_one_host() {
    let mut play = Play::new(4);
    for _ in 0..20 {
        play.all_work(|_| 10);
        for (from, to) in [(0, 2), (2, 0), (1, 3), (3, 1)] {
            let sent = play.send(from, to, 2);
            let arrived = play.now[to].max(sent) + 10;
            play.call(to, 3, receive(from as i32), arrived);
        }
    }
    let advice = play.advice_on(&["ant", "bee"], &[0, 0, 1, 1]);
    assert_eq!(advice[0].kind, "unbalanced_placement", "{advice:#?}");
    assert!(advice[0].try_this.contains("belong on ant, bee, ant, bee;"), "{}", advice[0].try_this);
}

#[test]
fn one_rank_that_writes_for_all_is_named() {
    let mut play = Play::new(3);
    let gather = collective("MPI_Gather").peer(0).sent(8);
    for _ in 0..12 {
        play.all_work(|_| 10);
        play.meet(2, &gather, 0);
        let until = play.now[0] + 40;
        play.call(0, 3, call("MPI_File_write_at").sent(24), until);
        play.broadcast(4, 0);
    }
    let advice = play.advice();
    // 12 times 40 ms, shared by three.
    assert_eq!(told(&advice), [("io_by_one_rank", 3, 320)]);
    assert_eq!(advice[0].what, "Only rank 0 accesses the file (MPI_File_write_at at me/program.c:3), and the others wait for it.");
}

#[test]
fn a_run_in_which_nobody_waits_gets_no_advice() {
    let mut play = Play::new(4);
    for _ in 0..10 {
        play.all_work(|_| 50);
        for rank in 0..4 {
            play.send(rank, (rank + 1) % 4, 2);
        }
        for rank in 0..4 {
            play.receive(rank, (rank + 3) % 4, 3, 0);
        }
        play.all_work(|_| 50);
        play.meet(4, &allreduce(), 0);
    }
    assert_eq!(play.advice(), []);
}

#[test]
fn one_process_alone_gets_no_advice() {
    let mut play = Play::new(1);
    for _ in 0..10 {
        play.work(0, 50);
        play.meet(2, &collective("MPI_Barrier"), 30);
    }
    assert_eq!(play.advice(), []);
}

#[test]
fn a_wait_beside_the_critical_path_gets_no_advice() {
    let mut play = Play::new(2);
    for _ in 0..5 {
        play.work(1, 40);
        play.message(1, 0, (2, 3));
    }
    play.work(1, 300);
    assert_eq!(play.advice(), [], "rank 0 waits for rank 1 all the time, but the run is as long as rank 1 computes");
}

#[test]
fn computation_of_a_rank_whose_calls_are_missing_is_not_judged() {
    let mut play = Play::new(3);
    for _ in 0..20 {
        play.all_work(|rank| if rank == 2 { 60 } else { 30 });
        play.meet(3, &allreduce(), 0);
    }
    let recording = play.told().with_header(|header| header.ranks[2].dropped = 100);
    assert!(given(&recording).iter().all(|advice| advice.kind != "load_imbalance"));
}

#[test]
fn any_company_gives_the_same_advice() {
    let mut play = slow(6, |rank| rank == 4);
    for turn in 0..10 {
        play.all_work(|rank| if turn % 6 == rank { 50 } else { 25 });
        for rank in [0, 2, 4] {
            play.hand_over(rank, rank + 1, (5, 6));
            play.work(rank, 7);
        }
        play.meet(7, &collective("MPI_Barrier"), 1);
    }
    let recording = play.told();
    let find = |comm: &dyn sintonia_program::process_group::ProcessGroup| {
        RunAnalysis::from_recording(&recording, comm, &|_, _| ()).unwrap().candidates
    };
    let alone = find(&SingleProcess);
    assert!(alone.list.len() > 1, "{:#?}", alone.list);
    for size in [2, 3, 5] {
        for found in run_in_group(size, find) {
            assert_eq!(found, alone, "{size} processes");
        }
    }
}

#[test]
fn every_rule_has_words_of_its_own() {
    let mut kinds: Vec<&str> = RULES.iter().map(|rule| rule.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), RULES.len());
    assert!(RULES.iter().all(|rule| rule.help.ends_with('.') && !rule.name.is_empty() && !rule.basis.is_empty()));
}
