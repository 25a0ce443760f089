//! Advice about communication on handmade runs: late receivers, pipelines, task farms, many small calls.

use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::neighbours::{self, TopologyNeighbours};
use sintonia_recording::off_cpu::{OffCpuInterval, ThreadOffCpu};
use sintonia_recording::raw::{self, LOCK_EXCLUSIVE, part};
use sintonia_recording::testing::*;

use crate::play::{Play, advice_rows, given};

fn allreduce() -> CallDescriptor {
    collective("MPI_Allreduce").sent(8).received(8)
}

fn kinds(play: Play) -> Vec<&'static str> {
    play.advice().iter().map(|advice| advice.kind).collect()
}

#[test]
fn a_receiver_that_computes_first_is_told_to_receive_first() {
    let mut play = Play::new(2);
    for _ in 0..10 {
        play.work(1, 90);
        play.hand_over(0, 1, (2, 5));
        play.work(0, 90);
        play.meet(6, &allreduce(), 0);
    }
    let advice = play.advice();
    assert_eq!(advice_rows(&advice), [("late_receiver_compute", 5, 900)]);
    assert_eq!(
        advice[0].what,
        "Rank 1 computes before it receives between me/program.c:6 and me/program.c:5, while rank 0 waits in MPI_Send at me/program.c:2."
    );
}

/// Two ranks that take turns in needing long for an item; the producer's send waits for the consumer.
fn produce(descriptor: CallDescriptor) -> Play {
    let mut play = Play::new(2);
    for item in 0..12 {
        play.work(0, if item % 2 == 0 { 50 } else { 150 });
        let met = play.now[0].max(play.now[1]) + 1;
        play.call(0, 2, descriptor.clone(), met);
        play.call(1, 3, receive(0).received(descriptor.sent), met);
        play.work(1, if item % 2 == 0 { 50 } else { 150 });
    }
    play
}

#[test]
fn a_synchronous_send_of_a_small_message_could_be_buffered() {
    let advice = produce(message("MPI_Ssend", 1).sent(160)).advice();
    assert_eq!(advice_rows(&advice), [("synchronous_send", 2, 500)]);
    assert!(advice[0].try_this.starts_with("Use MPI_Send:"), "{}", advice[0].try_this);
}

#[test]
fn a_small_message_that_waits_is_above_the_eager_limit() {
    assert_eq!(advice_rows(&produce(send(1).sent(9600)).advice()), [("eager_limit", 2, 500)]);
    assert_eq!(kinds(produce(send(1).sent(1 << 20)))[0], "late_receiver_compute", "no library buffers a megabyte");
    let mut play = produce(send(1).sent(9600));
    let sent = play.now[0];
    play.call(0, 4, send(1).sent(9600), sent);
    play.work(1, 10);
    let received = play.now[1];
    play.call(1, 5, receive(0).received(9600), received);
    assert_eq!(kinds(play)[0], "late_receiver_compute", "one of that size was buffered");
}

#[test]
fn a_send_and_receive_is_no_message_above_the_eager_limit() {
    let exchange = |peer| CallDescriptor { recv_tag: TAG, ..message("MPI_Sendrecv", peer).source(peer).sent(160).received(160) };
    let mut play = Play::new(2);
    for turn in 0..12 {
        play.work(turn % 2, 50);
        play.work(1 - turn % 2, 150);
        let met = play.now[0].max(play.now[1]) + 1;
        (0..2).for_each(|rank| play.call(rank, 2, exchange(1 - rank as i32), met));
    }
    assert!(!kinds(play).contains(&"eager_limit"));
}

#[test]
fn a_large_transfer_beside_computation_could_overlap_with_it() {
    let exchange = |peer| CallDescriptor { recv_tag: TAG, ..message("MPI_Sendrecv", peer).source(peer).sent(1 << 20).received(1 << 20) };
    let mut play = Play::new(2);
    for _ in 0..20 {
        play.all_work(|_| 20);
        let until = play.now[0] + 10;
        (0..2).for_each(|rank| play.call(rank, 2, exchange(1 - rank as i32), until));
    }
    let advice = play.advice();
    // Nothing is computed after the last one.
    assert_eq!(advice_rows(&advice)[0], ("blocking_exchange", 2, 190), "{advice:#?}");
    assert!(advice[0].what.starts_with("Ranks 0-1 stay in MPI_Sendrecv at me/program.c:2"), "{}", advice[0].what);
}

/// A rank gets the lock of a window when another one has released it, computes, and accesses it.
fn locked_access(play: &mut Play, rank: usize, computes: u64, accesses: u64) {
    let locked = play.now.iter().copied().max().unwrap() + 1;
    play.call(rank, 2, win_lock(LOCK_EXCLUSIVE, 0), locked);
    play.work(rank, computes);
    let accessed = play.now[rank] + accesses;
    play.call(rank, 3, put(0), accessed);
    play.call(rank, 4, win_unlock(0), accessed + 1);
}

fn wait_for_lock(play: Play) -> String {
    let advice = play.advice();
    let found = advice.iter().find(|advice| advice.kind == "late_rma_partner");
    found.unwrap_or_else(|| panic!("{advice:#?}")).what.clone()
}

#[test]
fn a_lock_may_be_held_while_computing() {
    let mut play = Play::new(2);
    (0..20).for_each(|turn| locked_access(&mut play, turn % 2, 49, 0));
    let what = wait_for_lock(play);
    assert!(what.contains("which is held while computing between me/program.c:2 and me/program.c:3"), "{what}");
}

#[test]
fn a_lock_that_is_held_for_accesses_is_not_said_to_be_held_while_computing() {
    let mut play = Play::new(2);
    for turn in 0..20 {
        play.all_work(|_| 20);
        [turn % 2, 1 - turn % 2].into_iter().for_each(|rank| locked_access(&mut play, rank, 0, 49));
        play.meet(6, &allreduce(), 0);
    }
    let what = wait_for_lock(play);
    assert!(what.ends_with("to release the lock of the window, for which they compete."), "{what}");
}

#[test]
fn tasks_that_take_as_long_as_asking_for_them_are_tiny() {
    let mut play = Play::new(3);
    for task in 0..250 {
        for worker in 1..3 {
            let asked = play.send(worker, 0, 8);
            play.receive(0, worker, 3, asked);
            let answered = play.send(0, worker, 4);
            let received = play.now[worker].max(answered) + u64::from(task > 0);
            play.call(worker, 9, receive(0), received);
            play.work(worker, 1);
        }
    }
    let advice = play.advice();
    assert_eq!((advice[0].kind, advice[0].source.line), ("tiny_tasks", Some(9)), "{advice:#?}");
    assert!(advice[0].what.contains("asking for one takes 1.0 times as long as computing it"), "{}", advice[0].what);
}

#[test]
fn a_posted_receive_does_not_progress_while_its_rank_computes() {
    let mut play = Play::new(2);
    for _ in 0..8 {
        let posted = play.now[1];
        play.call(1, 5, irecv(0).received(1 << 20), posted);
        play.work(1, 100);
        play.work(0, 10);
        let met = play.now[1];
        play.call(0, 2, send(1).sent(1 << 20), met + 1);
        play.call(1, 6, wait("MPI_Wait", &[(0, Some(0))]), met + 1);
        play.work(0, 80);
        play.meet(7, &allreduce(), 0);
    }
    let advice = play.advice();
    assert_eq!(advice_rows(&advice), [("missing_progress", 6, 640)]);
    assert!(
        advice[0].what.starts_with("Rank 1 computes between me/program.c:5 and me/program.c:6 without calling MPI"),
        "{}",
        advice[0].what
    );
}

/// A pipeline in which every rank needs 10 ms for a part and computes so long before it receives.
fn pipeline(ranks: usize, rounds: usize, parts: usize, before_ms: u64) -> Play {
    let mut play = Play::new(ranks);
    for _ in 0..rounds {
        play.all_work(|_| before_ms);
        let mut sent = vec![0; parts];
        for rank in 0..ranks {
            for sent in &mut sent {
                if rank > 0 {
                    play.receive(rank, rank - 1, 3, *sent);
                }
                play.work(rank, 10);
                if rank + 1 < ranks {
                    *sent = play.send(rank, rank + 1, 4);
                }
            }
        }
        play.meet(5, &allreduce(), 0);
    }
    play
}

#[test]
fn a_pipeline_with_few_parts_takes_long_to_fill() {
    // Seven steps of 10 ms; with parts an eighth as large, 35 of 1.25 ms.
    let advice = pipeline(4, 10, 4, 0).advice();
    assert_eq!(advice_rows(&advice), [("pipeline_fill", 3, 263)]);
    assert!(advice[0].what.starts_with("Ranks 0-3 form a pipeline that fills and drains slowly"), "{}", advice[0].what);
    assert_eq!(kinds(pipeline(3, 1, 60, 0)), Vec::<&str>::new(), "with many parts, filling does not matter");
}

#[test]
fn a_sweep_from_rank_to_rank_is_a_pipeline_with_one_part() {
    assert_eq!(advice_rows(&pipeline(4, 10, 1, 0).advice()), [("pipeline_fill", 3, 263)]);
}

#[test]
fn an_exchange_that_goes_from_rank_to_rank_could_go_at_once() {
    assert_eq!(advice_rows(&pipeline(5, 8, 1, 12).advice()), [("serialised_exchange", 3, 320)]);
}

#[test]
fn what_is_requested_one_step_ahead_is_there_in_time() {
    let mut play = Play::new(2);
    for _ in 0..10 {
        let asked = play.now[0];
        play.call(0, 2, send(1).sent(4), asked);
        play.receive(1, 0, 6, asked);
        play.work(1, 80);
        let replied = play.now[1];
        play.call(1, 7, send(0).sent(1000), replied);
        play.receive(0, 1, 3, replied);
        play.work(0, 90);
    }
    let advice = play.advice();
    assert_eq!(advice[0].kind, "missing_prefetch", "{advice:#?}");
    assert_eq!(advice_rows(&advice)[0].1, 3);
    assert_eq!(
        advice[0].what,
        "Rank 0 requests data from rank 1 and waits for it at me/program.c:3 at once, instead of computing meanwhile."
    );
}

/// A task farm: rank 0 answers requests in the order in which they come.
fn farm(workers: usize, tasks: usize, task_ms: u64, poll_ms: u64) -> Play {
    let mut play = Play::new(workers + 1);
    let mut handed_out = 0;
    let mut requests: Vec<(u64, usize)> = (1..=workers).map(|worker| (play.send(worker, 0, 8), worker)).collect();
    while !requests.is_empty() {
        requests.sort_unstable();
        let (asked, worker) = requests.remove(0);
        while poll_ms > 0 && play.now[0] < asked {
            let polled = play.now[0];
            play.call(0, 2, call("MPI_Iprobe").on(0).peer(raw::ANY).mark(part::FLAG_FALSE), polled);
            play.work(0, poll_ms);
        }
        let probed = play.now[0];
        if poll_ms > 0 {
            play.call(0, 2, message("MPI_Iprobe", worker as i32), probed);
        }
        play.receive(0, worker, 3, asked);
        let answered = play.send(0, worker, 4);
        play.receive(worker, 0, 9, answered);
        if handed_out < tasks {
            handed_out += 1;
            play.work(worker, task_ms);
            requests.push((play.send(worker, 0, 8), worker));
        }
    }
    play
}

#[test]
fn five_tasks_are_too_few_for_four_workers() {
    // The longest has two tasks of 80 ms; the mean is 100 ms, and half of a task an eighth as large is 5 ms.
    let advice = farm(4, 5, 80, 0).advice();
    assert_eq!(advice_rows(&advice), [("large_tasks", 8, 55)]);
    assert!(advice[0].what.starts_with("5 tasks are too few for 4 workers (ranks 1-4)"), "{}", advice[0].what);
    assert_eq!(kinds(farm(4, 100, 80, 0)), Vec::<&str>::new(), "they share a hundred tasks evenly");
}

#[test]
fn a_master_that_looks_for_requests_now_and_then_keeps_workers_waiting() {
    let advice = |sleeps: bool| {
        let mut builder = RecordingBuilder::new();
        for (rank, calls) in farm(4, 60, 50, 40).into_calls().into_iter().enumerate() {
            let found_nothing = |pair: &&[TestCall]| rank == 0 && pair[0].descriptor.parts & part::FLAG_FALSE != 0;
            let blocked = calls.windows(2).filter(found_nothing).filter(|_| sleeps).map(|pair| OffCpuInterval {
                begin: pair[0].leave as i64,
                end: pair[1].enter as i64,
                blocked_ns: pair[1].enter - pair[0].leave,
                ..OffCpuInterval::default()
            });
            let blocked = ThreadOffCpu::new(0, blocked.collect());
            builder = builder.rank(calls).off_cpu(&[blocked]);
        }
        given(&builder.write())
    };
    let computes = advice(false);
    assert!(computes.iter().all(|advice| advice.kind != "polling_interval"), "a rank that computes lets messages progress: {computes:#?}");
    let advice = advice(true);
    assert_eq!((advice[0].kind, advice[0].source.line), ("polling_interval", Some(2)), "{advice:#?}");
    assert!(
        advice[0].what.starts_with("Rank 0 looks for messages only every 40.0 ms (MPI_Iprobe at me/program.c:2)"),
        "{}",
        advice[0].what
    );
}

#[test]
fn collectives_in_a_row_could_be_one() {
    let mut play = Play::new(2);
    for _ in 0..10 {
        play.all_work(|_| 20);
        for _ in 0..100 {
            play.meet(2, &allreduce(), 1);
        }
    }
    let advice = play.advice();
    assert_eq!(advice_rows(&advice), [("small_collectives", 2, 990)]);
    assert!(advice[0].evidence.starts_with("2000 calls there over all ranks, 100 in a row"), "{}", advice[0].evidence);
}

#[test]
fn a_collective_after_each_computation_is_none_too_many() {
    let mut play = Play::new(2);
    for _ in 0..200 {
        play.all_work(|_| 2);
        play.meet(2, &allreduce(), 1);
    }
    assert_eq!(kinds(play), Vec::<&str>::new());
}

#[test]
fn a_fence_for_each_put_is_one_too_many() {
    let mut play = Play::new(2);
    for _ in 0..10 {
        play.all_work(|_| 20);
        for _ in 0..100 {
            for rank in 0..2 {
                let now = play.now[rank];
                play.call(rank, 2, put(1 - rank as i32), now);
            }
            play.meet(3, &on_window("MPI_Win_fence"), 1);
        }
    }
    assert_eq!(advice_rows(&play.advice()), [("frequent_rma_sync", 3, 990)]);
}

#[test]
fn the_same_data_sent_to_all_is_an_exchange_of_all_with_all() {
    let exchange = |ranks: usize, bytes: fn(usize) -> u64| {
        let mut play = Play::new(ranks);
        for _ in 0..10 {
            play.all_work(|_| 10);
            for rank in 0..ranks {
                for other in (0..ranks).filter(|other| *other != rank) {
                    let until = play.now[rank] + 4;
                    play.call(rank, 2, send(other as i32).sent(bytes((rank + ranks - other) % ranks)), until);
                }
            }
            for rank in 0..ranks {
                for other in (0..ranks).filter(|other| *other != rank) {
                    let until = play.now[rank];
                    play.call(rank, 3, receive(other as i32).received(bytes((other + ranks - rank) % ranks)), until);
                }
            }
        }
        play
    };
    // Six sends of 4 ms each turn; two would do for neighbours.
    assert_eq!(advice_rows(&exchange(7, |_| 8 << 20).advice()), [("all_to_all_growth", 2, 160)]);
    for ranks in [6, 8] {
        assert_eq!(kinds(exchange(ranks, |_| 8 << 20)), Vec::<&str>::new(), "on a grid of {ranks} ranks all may be neighbours");
    }
    let faces = |distance: usize| if distance == 1 || distance == 6 { 8 << 20 } else { 8 };
    assert_eq!(kinds(exchange(7, faces)), Vec::<&str>::new(), "those that are no neighbours get hardly anything");
    let ring = exchange(6, |_| 8 << 20).into_recording().with_header(ring_topology);
    assert_eq!(advice_rows(&given(&ring)), [("all_to_all_growth", 2, 120)], "the program has made them a ring");
    let grid = exchange(7, |_| 8 << 20).into_recording().with_header(|header| {
        let others = |rank: i32| (0..7).filter(|other| *other != rank).collect::<Vec<i32>>();
        let all = |rank: i32| TopologyNeighbours { sources: others(rank), destinations: others(rank) };
        header.communicators[0].neighbours = neighbours::encode(&(0..7).map(|rank| (rank as u32, all(rank))).collect());
    });
    assert_eq!(advice_rows(&given(&grid)), [], "all are neighbours in the graph of the program");
}

#[test]
fn a_nonblocking_collective_that_is_completed_at_once_hides_nothing() {
    let mut play = Play::new(2);
    for turn in 0..20 {
        play.all_work(|rank| if turn % 2 == rank { 60 } else { 20 });
        for rank in 0..2 {
            let now = play.now[rank];
            play.call(rank, 2, collective("MPI_Iallreduce").sent(8).received(8), now);
        }
        play.meet(3, &wait("MPI_Wait", &[(0, None)]), 0);
        play.all_work(|rank| if turn % 2 == rank { 20 } else { 60 });
    }
    assert_eq!(advice_rows(&play.advice()), [("early_completion", 3, 800)]);
}
