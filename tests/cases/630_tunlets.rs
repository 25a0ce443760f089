//! The tunlets that come with the tool, on the program of the paper: every rule that cuts its work, and the number of its workers.

use std::path::Path;

use serde_json::Value;
use sintonia_tests::fire::{SHORT_FIRE, tuning, xfire};
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, sintonia};

fn run(mpi: &Mpi, folder: &Path, own: &[&str], words: &[&str]) -> Outcome {
    let program: Vec<String> = [&["./xfire", "fire.conf"], words].concat().iter().map(ToString::to_string).collect();
    let own: Vec<String> = if own.is_empty() {
        Vec::new()
    } else {
        [&[sintonia().as_str(), "tune", "--force", "-o", "run.sin", "--json"], own, &["--"]]
            .concat()
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    let outcome = Process::new(own.into_iter().chain(mpi.launch(5, &program))).env(&mpi.env).limit(60).run_in(folder);
    outcome.expect_status(0);
    outcome
}

/// What was decided: what was set, and to what.
fn decisions(outcome: &Outcome) -> Vec<(String, f64, String)> {
    let report = tuning(outcome);
    let decision = |one: &Value| {
        let text = |key: &str| one[key].as_str().expect("a text").to_owned();
        (text("action"), one["new"].as_f64().expect("a number"), text("why"))
    };
    report["decisions"].as_array().expect("decisions").iter().map(decision).collect()
}

#[test]
fn c630_the_result_is_the_same_however_the_work_is_cut() {
    let ways: &[&[&str]] = &[
        &["--factors", "0.5,0.5,0.5"],
        &["--factors", "0.25,0.25,0.25", "--chunks", "1"],
        &["--factors", "0.9,0.5,0.5", "--margin", "20"],
        &["--chunk", "1"],
        &["--chunk", "188,3.1"],
        &["--factors", "0.5,0.5,0.5", "--weights", "3,0.1,0.1,0.1"],
        &["--factors", "nan,-1,7"],
        &["--workers", "2"],
    ];
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        xfire(mpi, folder.path(), SHORT_FIRE);
        let bare = run(mpi, folder.path(), &[], &[]);
        for way in ways {
            assert_eq!(run(mpi, folder.path(), &[], way).stdout, bare.stdout, "{} {way:?}", mpi.name);
        }
    });
}

#[test]
fn c631_every_rule_can_be_followed() {
    let rules = [
        ("static", "F0"),
        ("ss", "CHUNK"),
        ("fsc", "CHUNK"),
        ("mfsc", "CHUNK"),
        ("gss", "CHUNKS"),
        ("tss", "CHUNK_LESS"),
        ("fac2", "F2"),
        ("fac", "MARGIN"),
        ("wf", "F0"),
        ("awf", "F0"),
        ("awf-b", "F0"),
        ("awf-c", "F0"),
        ("af", "MARGIN"),
        ("daf", "F0"),
        ("auto", "F0"),
    ];
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    xfire(&mpi, folder.path(), SHORT_FIRE);
    let bare = run(&mpi, folder.path(), &[], &[]);
    for (rule, variable) in rules {
        let tuned = run(&mpi, folder.path(), &["--tunlet", &format!("factoring:rule=\"{rule}\"")], &[]);
        assert_eq!(tuned.stdout, bare.stdout, "{rule}");
        let decisions = decisions(&tuned);
        let set = decisions.iter().filter(|(action, value, _)| action == variable && *value > 0.0).count();
        // The program begins with static chunks: a change to the value that is there is none.
        assert!(set > 0 || rule == "static", "{rule}: {decisions:?}");
    }
}

#[test]
fn c632_slow_workers_get_less_by_weights() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    let fire = "points = 1500\nspacing = 12\nend = 4\nsubsteps = 2\nidle_per_point = 40\nslow_from = 3\nslow = 3\n";
    xfire(&mpi, folder.path(), fire);
    let tuned = run(&mpi, folder.path(), &["--tunlet", "factoring:rule=\"awf\""], &[]);
    let decisions = decisions(&tuned);
    let last = |worker: u32| {
        let name = format!("WEIGHT[{worker}]");
        decisions.iter().rev().find(|(action, ..)| *action == name).map_or(1.0, |(_, value, _)| *value)
    };
    assert!(last(1).min(last(2)) > last(3).max(last(4)), "{decisions:?}");
}

#[test]
fn c633_workers_that_only_cost_messages_are_parked_and_both_tunlets_work_together() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        // Many points that take hardly longer to move than to send.
        let fire = "points = 60000\nspacing = 0.5\nend = 4\nsubsteps = 1\nfuels = 5\n";
        xfire(mpi, folder.path(), fire);
        let bare = run(mpi, folder.path(), &[], &[]);
        let tuned = run(mpi, folder.path(), &["--tunlet", "workers", "--tunlet", "factoring"], &[]);
        assert_eq!(tuned.stdout, bare.stdout, "{}", mpi.name);
        let decisions = decisions(&tuned);
        assert!(decisions.iter().any(|(action, ..)| action == "F0"), "{decisions:?}");
        for (action, value, why) in decisions.iter().filter(|(action, ..)| action == "NW") {
            assert!((1.0..=4.0).contains(value) && (why.contains("Pi(") || why.contains(": undone")), "{action}: {why}");
        }
    });
}
