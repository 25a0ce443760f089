//! `sintonia view` while it works on something long: what it leaves behind when it is ended, and how much it does at a time.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sintonia_tests::view::{Served, view};
use sintonia_tests::{Mpi, Process, Program, Recording, fresh_dir, record_command, wait_until};

fn mpi() -> &'static Mpi {
    &Mpi::available()[0]
}

/// A recording of two hundred million calls.
fn long(folder: &Path) -> PathBuf {
    of_ranks(400, folder)
}

/// A recording of `ranks` ranks, which share the half million calls of one.
fn of_ranks(ranks: usize, folder: &Path) -> PathBuf {
    let recorded = Recording::record(mpi(), &Program::find("c/049_many_calls"), &[]).without_missing_cores();
    let path = folder.join("long.sin");
    fs::create_dir(&path).expect("a folder");
    let text = fs::read_to_string(recorded.path.join("recording.json")).expect("a header");
    let mut header: Value = serde_json::from_str(&text).expect("a header in JSON");
    let first = header["ranks"][0].clone();
    let rank = |number: usize| {
        let mut rank = first.clone();
        rank["rank"] = json!(number);
        rank
    };
    header["ranks"] = (0..ranks).map(rank).collect();
    header["size"] = json!(ranks);
    fs::write(path.join("recording.json"), header.to_string()).expect("a header with these ranks");
    fs::copy(recorded.path.join("rank-00000.calls"), path.join("rank-00000.calls")).expect("the calls");
    for rank in 1..ranks {
        fs::hard_link(path.join("rank-00000.calls"), path.join(format!("rank-{rank:05}.calls"))).expect("the same calls");
    }
    path
}

/// Serves a recording with other places for what is temporary, and for what is kept.
fn served(recording: &Path, temporary: &Path) -> Served {
    let place = temporary.to_str().expect("a path that is text");
    Served::start_command(&view(&[recording], &[]), &[("TMPDIR", place), ("XDG_CACHE_HOME", place)])
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What is half made in a recording.
fn unfinished(recording: &Path) -> Option<String> {
    names(recording).into_iter().find(|name| name.starts_with(".view."))
}

/// Asks, and waits until something is seen that is being made.
fn until_seen<T>(served: &Served, question: &str, seen: impl Fn() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        let (status, body) = served.once(question);
        if let Some(seen) = seen() {
            return seen;
        }
        assert_eq!(status, 202, "{body}");
        assert!(since.elapsed() < Duration::from_secs(60), "it has not begun");
    }
}

#[test]
fn whichever_signal_ends_it_no_half_of_an_index_is_left() {
    let (folder, temporary) = (fresh_dir(), fresh_dir());
    let path = long(folder.path());
    let before = names(&path);
    for signal in ["INT", "TERM", "HUP"] {
        let served = served(&path, temporary.path());
        until_seen(&served, "0/timeline", || unfinished(&path));
        assert_eq!(served.signalled(signal), Some(0), "{signal}");
        let left: Vec<String> = names(&path).into_iter().filter(|name| !before.contains(name)).collect();
        assert_eq!(left, [""; 0], "{signal}");
        assert_eq!(names(temporary.path()), [""; 0], "{signal}");
    }
}

#[test]
fn what_a_kill_leaves_the_next_one_clears_away() {
    let (folder, temporary) = (fresh_dir(), fresh_dir());
    let path = long(folder.path());
    let killed = served(&path, temporary.path());
    let left = until_seen(&killed, "0/timeline", || unfinished(&path));
    killed.signalled("KILL");
    assert!(names(&path).contains(&left) && names(temporary.path()).len() == 1, "nobody could clear it away");
    let next = served(&path, temporary.path());
    next.once("0/timeline");
    wait_until("what was left is gone", || !names(&path).contains(&left));
    next.signalled("INT");
    assert_eq!((unfinished(&path), names(temporary.path())), (None, Vec::new()));
}

#[test]
fn without_a_place_for_temporary_things_all_else_is_shown() {
    let (folder, recorded) = (fresh_dir(), Recording::record(mpi(), &Program::find("c/005_self"), &[]));
    let served = served(&recorded.path, &folder.path().join("missing"));
    assert_eq!((served.asked("0/timeline").0, served.asked("0/report").0, served.asked("0/replay").0), (200, 200, 200));
    let (status, body) = served.asked("0/replayed");
    assert_eq!(status, 404, "{body}");
    assert!(body.contains("missing"), "{body}");
}

#[test]
fn no_half_of_a_replay_is_left() {
    let (folder, temporary) = (fresh_dir(), fresh_dir());
    // As long as a run may be whose replay is drawn: no answer waits until that is done.
    let path = of_ranks(9, folder.path());
    let workshop = || fs::read_dir(temporary.path()).ok()?.flatten().find(|entry| !names(&entry.path()).is_empty());
    let served = served(&path, temporary.path());
    until_seen(&served, "0/replayed", workshop);
    assert_eq!(served.signalled("INT"), Some(0));
    assert_eq!(names(temporary.path()), [""; 0]);
}

/// How many pieces of slow work a process does now.
fn at_work(process: u32) -> usize {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("its threads").flatten();
    threads.filter(|thread| fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.trim() == "slow-work")).count()
}

#[test]
fn turning_a_dial_does_not_set_off_one_replay_beside_the_other() {
    let folder = fresh_dir();
    let path = long(folder.path());
    let served = Served::start(&[&path]);
    let ask = |dial: u32| served.once(&format!("0/replay?what-if=latency=x{dial}"));
    let mut most = 0;
    for dial in 2..12 {
        let (status, body) = ask(dial);
        assert_eq!(status, 202, "{body}");
        most = most.max(at_work(served.process()));
    }
    assert_eq!(most, 1);
    // Nobody asks for the first any more: it gives way to the last, and is not there when somebody asks for it again.
    let waits = |answer: &(u16, String)| answer.0 == 202 && answer.1.contains("waiting for another job");
    wait_until("the last one has its turn", || !waits(&ask(11)));
    let first = ask(2);
    assert!(waits(&first), "{first:?}");
    assert_eq!(at_work(served.process()), 1);
}

#[test]
fn a_recording_that_is_replaced_is_not_mixed_with_the_old_one() {
    let folder = fresh_dir();
    let path = folder.path().join("run.sin");
    let recorded = |name: &str| {
        let program = Program::find(name);
        let built = program.build(mpi()).expect("a program");
        let launch = mpi().launch(program.ranks, &built);
        Process::new(record_command(&path, &["--force"], launch)).env(&mpi().env).run_in(folder.path()).expect_status(0);
    };
    recorded("c/001_send_modes");
    let served = Served::start(&[&path]);
    assert_eq!(served.asked("0/calls").0, 200);
    recorded("c/005_self");
    for subject in ["about", "calls", "timeline", "report", "replay"] {
        let (status, body) = served.asked(&format!("0/{subject}"));
        assert_eq!(status, 404, "{subject}");
        assert!(body.contains("the recording has changed since it was opened: start view again"), "{subject}: {body}");
    }
    assert_eq!(Served::start(&[&path]).asked("0/calls").0, 200);
}

#[test]
fn a_replay_is_drawn_with_the_roles_of_the_recording() {
    let recorded = Recording::record(mpi(), &Program::find("c/192_farm"), &[]).without_missing_cores();
    let served = Served::start(&[&recorded.path]);
    let (_, body) = served.asked("0/communication?by=role");
    let roles: Value = serde_json::from_str(&body).expect("the matrix");
    let (status, picture) = served.asked("0/replayed?by=role&what-if=latency=x2");
    assert_eq!(status, 200, "{picture}");
    let labels = roles["labels"].as_array().expect("labels");
    assert!(labels.len() > 1, "{labels:?}");
    for (label, ranks) in labels.iter().zip(roles["ranks"].as_array().expect("their ranks")) {
        let row = json!({"label": label, "ranks": ranks}).to_string();
        assert!(picture.contains(&row), "{row} in {}", picture.chars().take(2000).collect::<String>());
    }
}
