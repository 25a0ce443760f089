//! Threads of OpenMP on the page: the regions that `sintonia view` answers are those the program measured, and the timeline has a row for each thread.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::view::Served;
use sintonia_tests::{Mpi, Outcome, Process, fresh_dir, record_command, sintonia, workspace};
use tempfile::TempDir;

const HYBRID: &str = include_str!("913_threads/hybrid.c");
const ROUNDS: usize = 10;
/// Part of the time of the regions by which a time may be off: on a busy machine, threads lose their core between two clocks.
const TOLERANCE: f64 = 0.12;

/// A recorded run of the program.
struct Recorded {
    outcome: Outcome,
    path: PathBuf,
    folder: TempDir,
}

fn recorded(compiler: &str) -> Recorded {
    let mpi = &Mpi::available()[0];
    let folder = fresh_dir();
    let file = folder.path().join("hybrid.c");
    std::fs::write(&file, HYBRID).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-g", "-O1", "-fopenmp", "-o"]).arg(folder.path().join("hybrid")).arg(&file).args(&mpi.link);
    command.env("OMPI_CC", compiler).env("MPICH_CC", compiler);
    assert!(command.status().expect("the compiler runs").success());
    let path = folder.path().join("run.sin");
    let env: Vec<(String, String)> = mpi.env.iter().cloned().chain([("OMP_WAIT_POLICY".to_owned(), "passive".to_owned())]).collect();
    let launch = mpi.launch(2, &["./hybrid".to_owned()]);
    let outcome = Process::new(record_command(&path, &[], launch)).env(&env).run_in(folder.path());
    outcome.expect_status(0);
    Recorded { outcome, path, folder }
}

impl Recorded {
    /// What a thread has measured: duration and work in `unequal`, duration, work and waiting in `exclusive`.
    fn measured(&self, rank: usize, thread: usize) -> [f64; 5] {
        let start = format!("rank {rank} thread {thread} ");
        let line = self.outcome.stdout.lines().find_map(|line| line.strip_prefix(&start)).expect("a line of the thread");
        let values: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        values.try_into().expect("five numbers")
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Line of the region that a function starts.
fn line_of(function: &str) -> u64 {
    let begin = HYBRID.lines().position(|line| line.contains(&format!("void {function}(void)"))).expect("the function");
    let pragma = HYBRID.lines().skip(begin).position(|line| line.starts_with("#pragma omp parallel")).expect("its region");
    (begin + pragma + 1) as u64
}

#[test]
fn regions_of_threads_are_those_the_program_measured() {
    for compiler in ["gcc", "clang"] {
        let recorded = recorded(compiler);
        let served = Served::start(&[&recorded.path]);
        let about = served.json("0/about");
        assert_eq!(about["recordings"][0]["openmp_threads"], 2);
        let sites = list(&about["recordings"][0]["sites"]);
        let regions = served.json("0/regions");
        assert_eq!((number(&regions["count"]) as usize, list(&regions["rank"]).len()), (4 * ROUNDS, 4 * ROUNDS), "{compiler}");
        // By rank and thread: duration, work and waiting for the lock, of each of the two regions.
        let mut found = [[[[0.0; 3]; 2]; 2]; 2];
        for region in 0..4 * ROUNDS {
            let site = &sites[number(&regions["site"][region]) as usize];
            let is_in = |function: &&str| site["function"].as_str().is_some_and(|name| name.starts_with(*function));
            let function = ["unequal", "exclusive"].into_iter().find(is_in).unwrap_or_else(|| panic!("{compiler}: {site}"));
            // GCC names the statement after the directive.
            assert!(site["line"].as_u64().is_some_and(|line| line.abs_diff(line_of(function)) <= 1), "{compiler}: {site}");
            let kind = usize::from(function == "exclusive");
            assert_eq!((number(&regions["threads"][region]), number(&regions["executions"][region])), (2.0, 1.0));
            for thread in 0..2 {
                let time = |index: usize| 1e-9 * number(&regions["times"][14 * region + 7 * thread + index]);
                let sums = &mut found[number(&regions["rank"][region]) as usize][thread][kind];
                let values = [1e-9 * number(&regions["duration"][region]), time(1), time(3)];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
        }
        for (rank, thread) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let measured = recorded.measured(rank, thread);
            let [unequal, exclusive] = found[rank][thread];
            for (found, measured) in [unequal[0], unequal[1], exclusive[0], exclusive[1], exclusive[2]].into_iter().zip(measured) {
                assert!((found - measured).abs() < TOLERANCE * exclusive[0], "{compiler} {rank}/{thread}: {found}, measured {measured}");
            }
        }
        for wrong in ["ranks=9", "most=0", "from=5&to=5"] {
            assert_eq!(served.refused(&format!("0/regions?{wrong}")).0, 400, "{wrong}");
        }
        assert_eq!(list(&served.json("0/regions?most=3")["rank"]).len(), 3);
    }
}

#[test]
fn a_recording_without_regions_has_no_threads() {
    let recorded = recorded("gcc");
    for rank in 0..2 {
        std::fs::remove_file(recorded.path.join(format!("rank-0000{rank}.omp"))).expect("removed");
    }
    let served = Served::start(&[&recorded.path]);
    let about = served.json("0/about");
    assert_eq!(about["recordings"][0]["openmp_threads"], 0);
    assert!(!list(&about["subjects"]).iter().any(|subject| subject == "regions"));
}

#[test]
fn the_timeline_has_a_row_for_each_thread() {
    let recorded = recorded("gcc");
    let served = Served::start(&[&recorded.path]);
    run_scenario("openmp", &served.address);
    let file = recorded.folder.path().join("page.html");
    let words = [sintonia(), "report".into(), recorded.path.display().to_string(), "--html".into(), file.display().to_string()];
    Process::new(words).run_in(recorded.folder.path()).expect_status(0);
    run_scenario("openmp", &format!("file://{}", file.display()));
}

/// Runs a scenario on the page at an address, in a browser.
fn run_scenario(name: &str, address: &str) {
    let web: PathBuf = workspace().join("crates/view/web");
    assert!(Path::new(&web).join("node_modules/playwright-core").is_dir(), "what drives the browser is not there: run `make page`");
    let run = Process::new(["node", "test/run.mjs", name, address]).limit(240).run_in(&web);
    println!("{}", run.stdout);
    run.expect_status(0);
}
