//! Advice on handmade runs: each rule finds its problem, the location and the exact saving, and a run without problems gets no advice.

use sintonia_insight::advice::RULES;
use sintonia_insight::analysis::RunAnalysis;
use sintonia_program::process_group::SingleProcess;
use sintonia_program::testing::run_in_group;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::counters::{CounterDefinition, CounterIntervalKind, RankCounters, ThreadCounters};
use sintonia_recording::testing::*;

use crate::play::{Play, advice_rows, given, saved_ms};

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
    assert_eq!(advice_rows(&advice), [("load_imbalance", 3, 400)]);
    let only = &advice[0];
    assert_eq!(
        only.what,
        "Rank 2 computes 1.5 times as long as the average rank between me/program.c:2 and me/program.c:3, throughout the run."
    );
    assert_eq!(only.evidence, "1.20 s there on the busiest rank, 800 ms on average over 3 ranks; the others wait 25 % of the run.");
    assert!(only.try_this.contains("rank 2 less of this work"), "{}", only.try_this);
}

#[test]
fn a_rank_with_more_of_the_data_also_sends_more_of_it() {
    let mut play = Play::new(3);
    for _ in 0..20 {
        play.all_work(|rank| if rank == 2 { 60 } else { 30 });
        let sent = [2, 2, 2, 0, 1].map(|from| (from, play.send(from, (from + 1) % 3, 4)));
        sent.into_iter().for_each(|(from, sent)| play.receive((from + 1) % 3, from, 5, sent));
        play.meet(3, &allreduce(), 0);
    }
    let advice = play.advice();
    assert_eq!(advice[0].kind, "load_imbalance");
    assert!(advice[0].evidence.ends_with("It also exchanges 3.0 times the messages of the other ranks."), "{}", advice[0].evidence);
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
    // 30 of 40 ms in five iterations; the first, from MPI_Init on, is another segment before the same call.
    assert_eq!(advice_rows(&advice), [("load_imbalance", 2, 150)]);
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
    assert_eq!(advice_rows(&play.advice()), [("moving_imbalance", 2, 420)]);
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
    // A worker gets a task every 30 ms. If all ranks had a quarter of the master's 30 ms, every 17.5 ms: 7.5 while it waits, and its own 10.
    assert_eq!(advice_rows(&advice), [("serialised_master", 3, 255)]);
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
    // Rank 0 waits seven times for 50 ms; the first of eight parts is there after an eighth of that.
    assert_eq!(advice_rows(&advice), [("late_sender_compute", 6, 306), ("late_sender_compute", 2, 87)]);
    let [cautious, likely, favourable] = advice[0].saving.map(|saving| [saving.low_s(), saving.likely_s(), saving.high_s()]).unwrap();
    // Four, eight and arbitrarily many parts save 263, 306 and 350 ms. 15 % of 306 and twice the difference of two runs are another 60.
    assert_eq!([cautious, likely, favourable].map(|s| (s * 1e3).round()), [203.0, 306.0, 410.0]);
    let together = advice.iter().filter_map(|advice| advice.together_s).next_back().unwrap();
    assert_eq!((together * 1e3).round(), 394.0, "both, one after the other");
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
    assert_eq!(advice_rows(&play.advice()), [("message_order", 2, 360)]);
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
fn blocking_sends_that_wait_for_receivers_that_compute_are_theirs() {
    let mut play = Play::new(2);
    for _ in 0..10 {
        play.work(1, 50);
        play.hand_over(0, 1, (2, 5));
        play.work(0, 50);
        play.hand_over(1, 0, (6, 3));
    }
    assert_eq!(advice_rows(&play.advice()), [("late_receiver_compute", 5, 500)]);
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
    assert_eq!(advice_rows(&advice), [("small_messages", 2, 990)]);
    assert_eq!(
        advice[0].evidence,
        "1000 messages of 8 B on average, 100 in a row; each takes 1.00 ms to send, which is 91 % of the run on each sender."
    );
}

#[test]
fn merged_messages_may_still_take_what_their_bytes_take() {
    let low_ms = |bytes: u64| {
        let mut play = Play::new(2);
        for _ in 0..10 {
            play.all_work(|_| 10);
            for _ in 0..100 {
                let until = play.now[0] + 1;
                play.call(0, 2, send(1).sent(bytes), until);
                play.call(1, 3, receive(0).received(bytes), until);
            }
        }
        let advice = play.advice();
        assert_eq!(advice_rows(&advice), [("small_messages", 2, 990)], "messages of one size do not show what a byte takes");
        advice[0].saving.unwrap().low_ns / 1_000_000
    };
    // Cautiously, 2 kB take half of the time of a message of 4 kB, which takes about as long as an empty one.
    assert!((493..=495).contains(&(low_ms(0) - low_ms(2048))), "half of 990 ms");
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
    assert_eq!(advice_rows(&advice), [("all_to_all_growth", 2, 200)]);
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
    assert_eq!(advice_rows(&play.advice()), [("collective_as_barrier", 2, 400)]);
}

#[test]
fn a_barrier_does_not_matter_where_the_same_rank_is_always_last() {
    let mut play = Play::new(2);
    for _ in 0..20 {
        play.all_work(|rank| if rank == 1 { 60 } else { 20 });
        play.meet(2, &collective("MPI_Barrier"), 0);
    }
    assert_eq!(advice_rows(&play.advice()), [("load_imbalance", 2, 400)]);
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
fn a_rank_that_is_slower_at_everything_has_more_to_do() {
    let advice = slow(3, |rank| rank == 1).advice();
    // 90 ms instead of 70 ms per iteration.
    assert_eq!(advice_rows(&advice), [("load_imbalance", 3, 400)]);
    assert!(
        advice[0].what.contains("Rank 1 computes 1.3 times as long as the average rank") && advice[0].what.contains("2 other places"),
        "{}",
        advice[0].what
    );
}

/// Instructions are the evidence.
#[test]
fn a_rank_that_is_slower_with_as_many_instructions_runs_on_a_slow_machine() {
    let counted = |instructions: fn(i64) -> i64| {
        let mut builder = RecordingBuilder::new();
        let play = slow(3, |rank| rank == 1);
        for (rank, calls) in play.into_calls().into_iter().enumerate() {
            let mut thread = ThreadCounters::new(0);
            for pair in calls.windows(2) {
                let (begin, end) = (pair[0].leave as i64, pair[1].enter as i64);
                let usual = if rank == 1 { (end - begin) / 3 * 2 } else { end - begin };
                thread.push(begin, end, &[if rank == 1 { instructions(usual) } else { usual }]);
            }
            let counters = RankCounters { counters: vec![CounterDefinition::event_count("instructions")], threads: vec![thread] };
            builder = builder.rank(calls).counters(CounterIntervalKind::Segments, &counters);
        }
        given(&builder.write())
    };
    let advice = counted(|usual| usual);
    // 90 ms instead of the 60 ms of the others per iteration, except before the first collective, which is executed only once.
    assert_eq!(advice_rows(&advice), [("slow_rank", 3, 590)]);
    assert_eq!(advice[0].what, "Rank 1 on here takes 1.5 times as long as the others for the same work, in every part of the program.");
    assert_eq!(advice_rows(&counted(|usual| usual / 2 * 3)), [("load_imbalance", 3, 400)]);
}

#[test]
fn a_host_whose_ranks_are_all_slow_is_named() {
    let advice = slow(6, |rank| rank / 2 == 1).advice_on(&["ant", "bee", "cat"], &[0, 0, 1, 1, 2, 2]);
    assert_eq!(advice_rows(&advice), [("slow_rank", 3, 590)]);
    assert!(advice[0].what.starts_with("Ranks 2-3 on bee take 1.5 times"), "{}", advice[0].what);
}

#[test]
fn a_host_with_more_ranks_than_others_makes_them_slow() {
    let advice = slow(4, |rank| rank < 3).advice_on(&["ant", "bee"], &[0, 0, 0, 1]);
    let first = &advice[0];
    assert_eq!((first.kind, saved_ms(first)), ("unbalanced_placement", 150), "90 ms instead of 82.5 ms");
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
    assert_eq!(advice_rows(&advice), [("io_by_one_rank", 3, 320)]);
    assert_eq!(advice[0].what, "Only rank 0 accesses the file (MPI_File_write_at at me/program.c:3), and the others wait for it.");
}

/// Preparing the blocks belongs to writing them.
#[test]
fn one_rank_that_computes_between_writing_pieces_is_named() {
    let mut play = Play::new(4);
    for _ in 0..10 {
        play.all_work(|_| 10);
        play.meet(2, &collective("MPI_Gather").peer(0).sent(8), 0);
        for _ in 0..8 {
            play.work(0, 10);
            let until = play.now[0] + 1;
            play.call(0, 3, call("MPI_File_write_at").sent(24), until);
        }
        play.meet(4, &collective("MPI_Barrier"), 0);
    }
    // 70 ms between the eight pieces, shared by four.
    assert_eq!(advice_rows(&play.advice())[0], ("io_by_one_rank", 3, 525));
}

#[test]
fn a_rank_with_more_to_do_at_several_places_gets_one_piece_of_advice() {
    let mut play = Play::new(4);
    for _ in 0..20 {
        for (line, ms) in [(2, 20), (3, 30)] {
            play.all_work(|rank| if rank == 3 { 2 * ms } else { ms });
            play.meet(line, &allreduce(), 0);
        }
    }
    // 100 ms instead of 62.5 ms per iteration.
    assert_eq!(advice_rows(&play.advice()), [("load_imbalance", 3, 750)]);
}

/// Pieces of work that are taken as ranks become free cannot be divided better.
#[test]
fn one_piece_of_work_more_than_the_others_is_no_imbalance() {
    let mut play = Play::new(3);
    for piece in 0..31 {
        let rank = 1 + piece % 2;
        play.message(0, rank, (2, 3));
        play.work(rank, 20);
        let sent = play.send(rank, 0, 4);
        play.receive(0, rank, 5, sent.min(play.now[0]));
    }
    play.meet(6, &allreduce(), 0);
    let advice = play.advice();
    assert!(advice.iter().all(|advice| advice.kind != "load_imbalance"), "{advice:#?}");
}

/// Two of six ranks have five times as much to do; only the first ones of both groups compute before the same line.
#[test]
fn groups_that_differ_are_named_although_a_part_shows_at_one_place() {
    let mut play = Play::new(6);
    for _ in 0..10 {
        play.all_work(|rank| if rank >= 4 { 100 } else { 20 });
        let sent = [play.send(4, 0, 2), play.send(0, 4, 2)];
        [(0, 4), (4, 0)].into_iter().zip(sent).for_each(|((to, from), sent)| play.receive(to, from, 3, sent));
        for (from, to) in [(0, 1), (0, 2), (0, 3), (4, 5)] {
            play.message(from, to, (4, 5));
        }
    }
    let advice = play.advice();
    assert_eq!((advice[0].kind, &advice[0].what[..9]), ("role_imbalance", "Ranks 4-5"), "{advice:#?}");
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
    let recording = play.into_recording().with_header(|header| header.ranks[2].dropped = 100);
    assert!(given(&recording).iter().all(|advice| advice.kind != "load_imbalance"));
}

#[test]
fn any_number_of_processes_gives_the_same_advice() {
    let mut play = slow(6, |rank| rank == 4);
    for turn in 0..10 {
        play.all_work(|rank| if turn % 6 == rank { 50 } else { 25 });
        for rank in [0, 2, 4] {
            play.hand_over(rank, rank + 1, (5, 6));
            play.work(rank, 7);
        }
        play.meet(7, &collective("MPI_Barrier"), 1);
    }
    let recording = play.into_recording();
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
