//! `sintonia tune --attach`: a program that runs already, started without Sintonia.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;
use sintonia_tests::fire::xfire;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, sintonia};

/// A fire of some seconds: points in the south take twice their time.
const FIRE: &str = "points = 1500\nspacing = 12\nsubsteps = 4\nheavy_below = -150\nheavy = 1\nheavy_works = 0\nidle_per_point = 60\n";

/// A program that runs by itself; ended with its owner.
struct Running {
    child: Child,
    result: PathBuf,
}

impl Running {
    /// Starts xfire, and waits until it is in the middle of its work.
    fn xfire(mpi: &Mpi, folder: &Path, result: &str) -> Running {
        let result = folder.join(result);
        let program = [folder.join("xfire").display().to_string(), "fire.conf".into()];
        let launch = mpi.launch(4, &program);
        let mut command = Command::new(&launch[0]);
        command.args(&launch[1..]).envs(mpi.env.iter().cloned()).current_dir(folder);
        command.stdout(File::create(&result).expect("made")).stderr(File::create(folder.join("complaints")).expect("made"));
        let child = command.spawn().expect("the launcher runs");
        std::thread::sleep(Duration::from_millis(1000));
        Running { child, result }
    }

    fn attach(&self, folder: &Path, words: &[&str]) -> Outcome {
        let process = self.child.id().to_string();
        let own = [sintonia().as_str(), "tune", "--attach", &process, "--tunlet", "factoring"].map(String::from);
        Process::new(own.into_iter().chain(words.iter().map(ToString::to_string))).limit(60).run_in(folder)
    }

    /// What it printed, when it has ended well.
    fn end(mut self) -> String {
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.child.try_wait().expect("asked") {
                assert!(status.success(), "{status}");
                return std::fs::read_to_string(&self.result).expect("a result");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the program does not end");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The line of JSON that the verb ends with.
fn attach_report(outcome: &Outcome) -> Value {
    let line = outcome.stderr.lines().rev().find(|line| line.starts_with("{\"attached\"")).unwrap_or_else(|| panic!("{}", outcome.text()));
    serde_json::from_str(line).expect("JSON")
}

/// Ends a command after some seconds as Ctrl-C would.
fn attach_for(running: &Running, folder: &Path, seconds: &str, words: &[&str]) -> Outcome {
    let process = running.child.id().to_string();
    let own = ["timeout", "--signal=INT", seconds, &sintonia(), "tune", "--attach", &process, "--tunlet", "factoring"].map(String::from);
    Process::new(own.into_iter().chain(words.iter().map(ToString::to_string))).limit(60).run_in(folder)
}

#[test]
fn c620_a_program_that_runs_is_tuned_and_its_result_stays() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        xfire(mpi, folder.path(), &format!("{FIRE}end = 16\n"));
        let alone = Running::xfire(mpi, folder.path(), "alone").end();
        let running = Running::xfire(mpi, folder.path(), "tuned");
        let outcome = running.attach(folder.path(), &["--json", "-o", "log.jsonl"]);
        outcome.expect_status(0);
        let report = attach_report(&outcome);
        assert_eq!(running.end(), alone, "{}: {report}", mpi.name);
        let attached = report["attached"].as_array().expect("processes");
        let mut ranks: Vec<u64> = attached.iter().map(|one| one["rank"].as_u64().expect("a rank")).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, [0, 1, 2, 3], "{report}");
        for one in attached {
            println!("{}: rank {} stopped {} ms, loading {} ms", mpi.name, one["rank"], one["stopped_ms"], one["loading_ms"]);
        }
        let decisions = report["decisions"].as_array().expect("decisions");
        assert!(decisions.iter().any(|one| one["action"] == "F0" && one["old"].is_number() && one["refused"].is_null()), "{report}");
        assert!(report["events"].as_u64().expect("a number") > 100, "{report}");
        let log = std::fs::read_to_string(folder.path().join("log.jsonl")).expect("a log");
        assert!(log.lines().count() >= decisions.len());
    });
}

#[test]
fn c621_a_command_that_is_told_to_end_leaves_the_program_and_may_come_again() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    xfire(&mpi, folder.path(), &format!("{FIRE}end = 28\n"));
    let alone = Running::xfire(&mpi, folder.path(), "alone").end();
    let running = Running::xfire(&mpi, folder.path(), "tuned");
    let first = attach_for(&running, folder.path(), "2", &["--json", "-o", "first.jsonl"]);
    let second = attach_for(&running, folder.path(), "2", &["--json", "-o", "second.jsonl"]);
    for outcome in [&first, &second] {
        let report = attach_report(outcome);
        assert_eq!(report["attached"].as_array().map(Vec::len), Some(4), "{report}");
        assert!(report["events"].as_u64().expect("a number") > 20, "{report}");
        assert!(!report["decisions"].as_array().expect("decisions").is_empty(), "{report}");
    }
    assert_eq!(running.end(), alone);
}

#[test]
fn c622_a_command_that_is_killed_leaves_the_program() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    xfire(&mpi, folder.path(), &format!("{FIRE}end = 16\n"));
    let alone = Running::xfire(&mpi, folder.path(), "alone").end();
    let running = Running::xfire(&mpi, folder.path(), "tuned");
    let said = folder.path().join("said");
    let attach = || {
        let mut command = Command::new(sintonia());
        command.args(["tune", "--attach", &running.child.id().to_string(), "--tunlet", "factoring", "-o", "log.jsonl"]);
        command.current_dir(folder.path()).stderr(File::create(&said).expect("made")).spawn().expect("runs")
    };
    let end = |mut command: Child| {
        command.kill().expect("killed");
        command.wait().expect("ended");
    };
    // At every stage of attaching,
    for milliseconds in [5, 20, 40, 60, 80, 100, 150] {
        let command = attach();
        std::thread::sleep(Duration::from_millis(milliseconds));
        end(command);
    }
    // and in the middle of tuning.
    let command = attach();
    let since = Instant::now();
    let is_tuning = || std::fs::read_to_string(&said).is_ok_and(|text| text.contains("attached to 4 of 4") && text.contains("F0"));
    while !is_tuning() {
        assert!(since.elapsed() < Duration::from_secs(20), "{:?}", std::fs::read_to_string(&said));
        std::thread::sleep(Duration::from_millis(10));
    }
    end(command);
    assert_eq!(running.end(), alone);
}

#[test]
fn c623_who_cannot_be_attached_to_is_told_why() {
    let folder = fresh_dir();
    let attach = |process: u32| {
        let own = [sintonia().as_str(), "tune", "--attach", &process.to_string(), "--tunlet", "factoring"].map(String::from);
        let outcome = Process::new(own).limit(20).run_in(folder.path());
        outcome.expect_status(1);
        outcome.stderr
    };
    assert!(attach(u32::MAX / 2).contains("there is no process"));
    let mut sleep = Command::new("sleep").arg("20").spawn().expect("sleep runs");
    let said = attach(sleep.id());
    assert!(said.contains("(sleep)") && said.contains("has loaded an MPI library"), "{said}");
    sleep.kill().expect("killed");
    sleep.wait().expect("ended");
}
