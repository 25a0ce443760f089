//! What `sintonia tune` claims is true: programs keep a ledger of their own, with the value and the time of every iteration.

use std::path::Path;

use serde_json::Value;
use sintonia_tests::fire::tuning;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, for_share_of_mpis, fresh_dir, retry_assertions, sintonia, tests_dir};

/// A rule that sets the knob after some iterations.
const RULE: &str = r#"
period = "step"
[[measure]]
name = "step"
actor = "master"
function = "iterate"
[[tune]]
variable = "knob"
range = [1, 64]
value = "8"
if = "step.count > 20"
"#;

const SEARCH: &str = "search:iteration=\"iterate\",variables={knob=[4,8]}";

/// Runs the program of a ledger under tunlets.
fn run(mpi: &Mpi, folder: &Path, options: &[&str], law: &str, count: usize) -> Outcome {
    let program = folder.join("ledger");
    if !program.is_file() {
        mpi.compile(&[tests_dir().join("cases/670_truth/ledger.c")], &program);
    }
    std::fs::write(folder.join("rule.tunlet"), RULE).expect("written");
    let command = sintonia();
    let own = [&[command.as_str(), "tune"], options, &["--json", "--force", "-o", "run.sin", "--"]].concat();
    let launched = mpi.launch(2, &[program.display().to_string(), law.into(), count.to_string()]);
    let outcome = Process::new(own.into_iter().map(String::from).chain(launched)).env(&mpi.env).limit(200).run_in(folder);
    outcome.expect_status(0);
    outcome
}

/// Value and seconds of every iteration, as the program noted them.
fn ledger(outcome: &Outcome) -> Vec<(u32, f64)> {
    let entry = |line: &str| {
        let (value, seconds) = line.split_once(' ')?;
        Some((value.parse().ok()?, seconds.parse().ok()?))
    };
    outcome.stdout.lines().filter_map(entry).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The usual time of an iteration with a value, while both were used.
fn usual(ledger: &[(u32, f64)], value: u32) -> f64 {
    let is_changed = |(used, _): &(u32, f64)| *used != 4;
    let first = ledger.iter().position(is_changed).expect("a change");
    let last = ledger.iter().rposition(|entry| !is_changed(entry)).expect("a turn at the beginning");
    let trial = &ledger[first.min(last)..=last.max(first)];
    median(trial.iter().filter(|(used, _)| *used == value).map(|(_, seconds)| *seconds).collect())
}

fn verdicts(outcome: &Outcome) -> Vec<Value> {
    tuning(outcome)["verdicts"].as_array().expect("verdicts").clone()
}

/// Results of all comparisons.
fn results(outcome: &Outcome) -> Vec<String> {
    verdicts(outcome).iter().map(|one| one["result"].as_str().expect("a result").to_owned()).collect()
}

#[test]
fn c670_a_gain_that_is_claimed_is_that_of_the_program_s_ledger() {
    for_share_of_mpis(670, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            for tunlet in ["rule.tunlet", SEARCH] {
                let outcome = run(mpi, folder.path(), &["--tunlet", tunlet], "gain", 250);
                let ledger = ledger(&outcome);
                let pays: Vec<Value> = verdicts(&outcome).into_iter().filter(|one| one["result"] == "pays").collect();
                let [first, ..] = &pays[..] else { panic!("{} {tunlet}: {}", mpi.name, outcome.text()) };
                let number = |value: &Value| value.as_f64().expect("a number");
                let (gain, low, high) = (number(&first["gain"]), number(&first["interval"][0]), number(&first["interval"][1]));
                // A search may stop beside the best value; what counts is that the value it kept gains what it says.
                let kept = number(&first["values"][0]["changed"]) as u32;
                assert!(kept == 8 || (tunlet == SEARCH && kept > 4), "{} {tunlet}: {first}", mpi.name);
                let truth = 1.0 - usual(&ledger, kept) / usual(&ledger, 4);
                assert!(low <= gain && gain <= high && (gain - truth).abs() < 0.08, "{} {tunlet}: {first} {truth}", mpi.name);
                assert_eq!(ledger.last().map(|entry| entry.0), Some(kept), "{} {tunlet}: it is kept", mpi.name);
                // The value that is logged is the one that was used.
                let decisions = tuning(&outcome)["decisions"].clone();
                let decisions = decisions.as_array().expect("decisions");
                assert!(decisions.iter().all(|one| one["old"] != one["new"]), "{decisions:?}");
            }
        });
    });
}

#[test]
fn c671_a_change_without_effect_has_no_gain_and_watching_claims_none() {
    for_share_of_mpis(671, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            let outcome = run(mpi, folder.path(), &["--tunlet", "rule.tunlet"], "once", 400);
            let results = results(&outcome);
            assert!(results.first().is_some_and(|result| result != "pays" && result != "undecided"), "{}: {results:?}", mpi.name);
            let ledger = ledger(&outcome);
            let changed = ledger.iter().filter(|(value, _)| *value == 8).count();
            assert!(changed > 4 && changed < ledger.len() / 2, "{}: {changed} of {}", mpi.name, ledger.len());
            for tunlet in ["rule.tunlet", SEARCH] {
                let watched = run(mpi, folder.path(), &["--watch", "--tunlet", tunlet], "gain", 60);
                assert!(self::ledger(&watched).iter().all(|(value, _)| *value == 4), "{}", mpi.name);
                assert!(verdicts(&watched).is_empty() && !watched.stderr.contains("% less"), "{} {tunlet}: {}", mpi.name, watched.stderr);
                let decisions = tuning(&watched)["decisions"].clone();
                let decisions = decisions.as_array().expect("decisions");
                assert!(!decisions.is_empty() && decisions.iter().all(|one| one["refused"] == "only watched"), "{decisions:?}");
            }
        });
    });
}

#[test]
fn c672_a_change_that_harms_is_taken_back() {
    for_share_of_mpis(672, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            let outcome = run(mpi, folder.path(), &["--tunlet", "rule.tunlet"], "harm", 400);
            let results = results(&outcome);
            assert_eq!(results.first().map(String::as_str), Some("harms"), "{}: {}", mpi.name, outcome.text());
            let ledger = ledger(&outcome);
            assert_eq!(ledger.last().map(|entry| entry.0), Some(4));
            let harmed = ledger.iter().filter(|(value, _)| *value == 8).count();
            assert!(harmed > 0 && harmed as f64 / (ledger.len() as f64) < 0.05, "{}: {harmed} of {}", mpi.name, ledger.len());
        });
    });
}

#[test]
fn c673_a_program_that_gets_faster_or_slower_by_itself_has_no_gain() {
    for_share_of_mpis(673, |mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            for law in ["faster", "slower"] {
                let outcome = run(mpi, folder.path(), &["--tunlet", "rule.tunlet"], law, 400);
                let results = results(&outcome);
                assert!(!results.is_empty() && results.iter().all(|result| result != "pays"), "{} {law}: {}", mpi.name, outcome.text());
                assert!(!outcome.stderr.contains("is kept"), "{}", outcome.stderr);
            }
        });
    });
}

#[test]
fn c674_a_hot_function_is_hooked_for_a_change_and_not_after_it() {
    let tunlet = "guard = false\n[[measure]]\nname = \"step\"\nfunction = \"iterate\"\n[[tune]]\nvariable = \"knob\"\nrange = [1, 1000]\nwhole = true\nvalue = \"2 + floor(step.count / 40)\"\nif = \"step.count < 200\"\nat = \"entry of hot\"\n";
    for_every_mpi(|mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            let program = folder.path().join("hot");
            mpi.compile(&[tests_dir().join("cases/670_truth/hot.c")], &program);
            std::fs::write(folder.path().join("hot.tunlet"), tunlet).expect("written");
            let own = [&sintonia(), "tune", "--tunlet", "hot.tunlet", "--json", "-o", "run.sin", "--"].map(String::from);
            let launched = mpi.launch(1, &[program.display().to_string()]);
            let outcome = Process::new(own.into_iter().chain(launched)).env(&mpi.env).limit(100).run_in(folder.path());
            outcome.expect_status(0);
            let values: Vec<&str> = outcome.stdout.lines().filter_map(|line| line.strip_prefix("knob ")).collect();
            // The first change may come before the first iteration.
            let numbers: Vec<u32> = values.iter().map(|value| value.parse().expect("a number")).collect();
            let follow_each_other = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
            assert!(follow_each_other && numbers.len() >= 5 && numbers.last() >= Some(&6), "{}: {}", mpi.name, outcome.text());
            assert!(outcome.stdout.contains("code same"), "{}: {}", mpi.name, outcome.stdout);
            let decisions = tuning(&outcome)["decisions"].clone();
            assert!(decisions.as_array().expect("decisions").iter().all(|one| one["refused"].is_null()), "{decisions}");
        });
    });
}
