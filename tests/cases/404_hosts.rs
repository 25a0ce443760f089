//! Ranks on several hosts: their clocks are compared, and what they leave comes together even without a shared folder.
//!
//! The hosts are network namespaces that the test makes and removes; where it may not make them, it says so and passes.

use std::path::Path;
use std::sync::Mutex;

use sintonia_tests::{Mpi, Process, Program, Recording, fresh_dir, record, sintonia, tests_dir};

const NAME: &str = "snth";
/// One network at a time.
static NETWORK: Mutex<()> = Mutex::new(());

/// Two hosts, which go away with their owner.
struct Hosts;

impl Hosts {
    fn up() -> Option<Hosts> {
        script("down");
        let up = script("up");
        if up.status == 0 {
            return Some(Hosts);
        }
        println!("skipped: network namespaces cannot be made here: {}", up.text());
        script("down");
        None
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        script("down");
    }
}

fn script(name: &str) -> sintonia_tests::Outcome {
    let path = tests_dir().join("hosts").join(name).display().to_string();
    Process::new([path.as_str(), NAME, "2"]).run_in(Path::new("/"))
}

/// Records a program on two hosts, two ranks on the first; the second host may be one that does not see the recording's folder.
fn recorded(hidden: bool) -> Option<Recording> {
    let _one = NETWORK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let _hosts = Hosts::up()?;
    let mpi = Mpi::named("openmpi");
    let program = Program::named("c/010_collectives");
    let built = program.build(&mpi).expect("builds");
    let (work, shared, scratch) = (fresh_dir(), fresh_dir(), fresh_dir());
    let output = shared.path().join("run.sin");
    let agent = tests_dir().join("hosts/agent").display().to_string();
    let hosts = format!("{NAME}1:2,{NAME}2:2");
    let launch = [
        "--mca",
        "plm_rsh_agent",
        &agent,
        "--mca",
        "mpi_yield_when_idle",
        "1",
        "--mca",
        "btl_tcp_if_include",
        "10.78.0.0/24",
        "--host",
        &hosts,
    ];
    let command: Vec<String> = [mpi.launcher.display().to_string()]
        .into_iter()
        .chain(launch.map(String::from))
        .chain(["-n".into(), program.ranks.to_string()])
        .chain(built)
        .collect();
    let options = ["--scratch", &scratch.path().display().to_string()];
    let mut environment = mpi.env.clone();
    if hidden {
        // Without a shared folder Sintonia is installed on each host; here that is one copy of its probe that both see.
        let installed = work.path().join("probe.so").display().to_string();
        Process::new([sintonia().as_str(), "doctor", "--write-probe", &installed]).run_in(work.path()).expect_status(0);
        environment.push(("SINTONIA_PROBE".into(), installed));
        environment.push(("HIDE_ON".into(), format!("{NAME}2")));
        environment.push(("HIDE".into(), shared.path().display().to_string()));
    }
    let outcome = Process::new(record(&output, &options, command)).env(&environment).run_in(work.path());
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
    let _one = NETWORK.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(_hosts) = Hosts::up() else { return };
    let mpi = Mpi::named("openmpi");
    let program = Program::named("c/010_collectives");
    let built = program.build(&mpi).expect("builds");
    let work = fresh_dir();
    let output = work.path().join("run.sin");
    let agent = tests_dir().join("hosts/agent").display().to_string();
    // The launcher is called by a script, so nobody tells it to hand the probe on to the second host.
    let launch = format!(
        "exec {} --mca plm_rsh_agent {agent} --mca mpi_yield_when_idle 1 --mca btl_tcp_if_include 10.78.0.0/24 --host {NAME}1:2,{NAME}2:2 -n {} {}",
        mpi.launcher.display(),
        program.ranks,
        built.join(" ")
    );
    let command = record(&output, &[], vec!["sh".into(), "-c".into(), launch]);
    let outcome = Process::new(command).env(&mpi.env).run_in(work.path());
    outcome.expect_status(0);
}
