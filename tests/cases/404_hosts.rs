//! Ranks on several hosts: their clocks are compared, and what they leave comes together even without a shared folder.
//!
//! The hosts are network namespaces that the test makes and removes; where it may not make them, it says so and passes.

use sintonia_tests::{Hosts, Mpi, Process, Program, Recording, fresh_dir, record_command, sintonia};

/// Records a program on two hosts, two ranks on the first; the second host may be one that does not see the recording's folder.
fn recorded(hidden: bool) -> Option<Recording> {
    let hosts = Hosts::create()?;
    let mpi = Mpi::named("openmpi");
    let program = Program::find("c/010_collectives");
    let (work, shared, scratch) = (fresh_dir(), fresh_dir(), fresh_dir());
    let output = shared.path().join("run.sin");
    let launch = hosts.launch(&mpi, program.ranks, 2, &program.build(&mpi).expect("builds"));
    let options = ["--scratch", &scratch.path().display().to_string()];
    let mut environment = mpi.env.clone();
    if hidden {
        // Without a shared folder Sintonia is installed on each host; here that is one copy of its probe that both see.
        let installed = work.path().join("probe.so").display().to_string();
        Process::new([sintonia().as_str(), "doctor", "--write-probe", &installed]).run_in(work.path()).expect_status(0);
        environment.push(("SINTONIA_PROBE".into(), installed));
        environment.push(("HIDE_ON".into(), hosts.second()));
        environment.push(("HIDE".into(), shared.path().display().to_string()));
    }
    let outcome = Process::new(record_command(&output, &options, launch)).env(&environment).run_in(work.path());
    outcome.expect_status(0);
    let left = std::fs::read_dir(scratch.path()).expect("the scratch folder").count();
    assert_eq!(left, 0, "nothing stays in the scratch folder");
    Some(Recording::at(outcome, output, shared))
}

fn check(recording: &Recording) {
    let report = recording.report();
    assert_eq!(report["ranks"], 3);
    assert_eq!(report["hosts"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["incomplete_ranks"].as_array().map(Vec::len), Some(0), "{report}");
    let error = report["clock_error_s"].as_f64().expect("a number");
    assert!(error > 0.0 && error < report["elapsed_s"].as_f64().expect("a number"), "the clocks were compared: {error}");
    let bcasts: Vec<u64> = (0..3).map(|rank| recording.calls_of(rank, "MPI_Bcast").len() as u64).collect();
    assert!(bcasts[0] > 0 && bcasts.iter().all(|n| *n == bcasts[0]), "every rank's calls are there: {bcasts:?}");
}

#[test]
fn clocks_of_hosts_are_compared() {
    if let Some(recording) = recorded(false) {
        check(&recording);
    }
}

#[test]
fn ranks_that_do_not_see_the_folder_are_gathered() {
    if let Some(recording) = recorded(true) {
        check(&recording);
    }
}

/// A rank without the probe must not make the others wait for ever.
#[test]
fn a_rank_that_is_not_recorded_holds_up_nobody() {
    let Some(hosts) = Hosts::create() else { return };
    let mpi = Mpi::named("openmpi");
    let program = Program::find("c/010_collectives");
    let work = fresh_dir();
    let output = work.path().join("run.sin");
    // The launcher is called by a script, so nobody tells it to hand the probe on to the second host.
    let launch = hosts.launch(&mpi, program.ranks, 2, &program.build(&mpi).expect("builds"));
    let script = format!("exec {}", launch.join(" "));
    let command = record_command(&output, &[], vec!["sh".into(), "-c".into(), script]);
    let outcome = Process::new(command).env(&mpi.env).run_in(work.path());
    outcome.expect_status(0);
}
