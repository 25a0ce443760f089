//! OpenMP: what is recorded of the threads of regions is what the program itself measured, with GCC's and LLVM's runtime, and the program is not
//! disturbed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, record_command, retry_assertions, sintonia};

const REGIONS: &str = include_str!("120_openmp/regions.c");
const CONSTRUCTS: &str = include_str!("120_openmp/constructs.c");
const LOOPS: &str = include_str!("120_openmp/loops.f90");
const MPI_INSIDE: &str = include_str!("120_openmp/mpi_inside.c");
const SHORT: &str = include_str!("120_openmp/short.c");
const LOCKS: &str = include_str!("120_openmp/locks.c");

const COMPILERS: [&str; 2] = ["gcc", "clang"];

/// Threads of a team in the programs.
const THREADS: f64 = 2.0;

/// How far a share may be from that of the program's own ledger.
const TOLERANCE: f64 = 0.05;

/// Cases that compare times have the cores for themselves.
fn alone() -> MutexGuard<'static, ()> {
    static CORES: Mutex<()> = Mutex::new(());
    CORES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compile(mpi: &Mpi, folder: &Path, compiler: &str, source: &str) {
    let file = folder.join("program.c");
    std::fs::write(&file, source).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-g", "-O2", "-fopenmp", "-o"]).arg(folder.join("program")).arg(&file).args(&mpi.link);
    // The compiler behind `mpicc` of each library.
    command.env("OMPI_CC", compiler).env("MPICH_CC", compiler);
    assert!(command.status().expect("the compiler runs").success());
}

/// Threads that wait do not take cores from those that work.
fn environment(mpi: &Mpi, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let own = [("OMP_WAIT_POLICY", "passive"), ("OMP_CANCELLATION", "true"), ("OMP_NUM_THREADS", "2")];
    let own = own.iter().chain(more).map(|(name, value)| (name.to_string(), value.to_string()));
    mpi.env.iter().cloned().chain(own).collect()
}

fn launch(mpi: &Mpi, ranks: usize, arguments: &[&str]) -> Vec<String> {
    let program: Vec<String> = ["./program"].iter().chain(arguments).map(ToString::to_string).collect();
    mpi.launch(ranks, &program)
}

/// Records `./program` with these options, variables and arguments.
fn record(mpi: &Mpi, folder: &Path, options: &[&str], variables: &[(&str, &str)], arguments: &[&str]) -> (Outcome, PathBuf) {
    let recording = folder.join("run.sin");
    let options = [&["--force"], options].concat();
    let command = record_command(&recording, &options, launch(mpi, 2, arguments));
    (Process::new(command).env(&environment(mpi, variables)).run_in(folder), recording)
}

fn report(recording: &Path, folder: &Path) -> Value {
    let outcome = Process::new([sintonia().as_str(), "report", "--json", &recording.display().to_string()]).run_in(folder);
    serde_json::from_str(&outcome.expect_status(0).stdout).expect("JSON")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// The region that a function of the program starts.
fn region<'a>(report: &'a Value, function: &str, level: u64) -> &'a Value {
    let regions = report["openmp"]["regions"].as_array().unwrap_or_else(|| panic!("regions in {report}"));
    let is_it = |region: &&Value| region["level"] == level && region["function"].as_str().is_some_and(|name| name.starts_with(function));
    regions.iter().find(is_it).unwrap_or_else(|| panic!("{function} in {regions:?}"))
}

/// What the program measured, over both ranks: executions, seconds, useful, longest, lock, held.
fn ledgers(output: &str) -> BTreeMap<String, [f64; 6]> {
    let mut ledgers: BTreeMap<String, [f64; 6]> = BTreeMap::new();
    for line in output.lines().filter_map(|line| line.strip_prefix("region ")) {
        let mut words = line.split(' ');
        let sums = ledgers.entry(words.next().expect("a name").to_owned()).or_default();
        let values = words.skip(1).map(|word| word.parse::<f64>().expect("a number"));
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    ledgers
}

fn expect_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found:.4}, in the program's ledger {expected:.4}");
}

fn compare_with_ledger(name: &str, region: &Value, [executions, seconds, useful, longest, lock, held]: [f64; 6]) {
    assert_eq!((number(&region["executions"]), number(&region["threads"])), (executions, THREADS), "{name}");
    expect_near(&format!("{name}: seconds"), number(&region["seconds"]) / seconds, 1.0, TOLERANCE);
    let all = THREADS * seconds;
    let share = |keys: &[&str]| keys.iter().map(|key| number(&region[*key])).sum::<f64>() / all;
    expect_near(&format!("{name}: useful"), share(&["useful_s"]), useful / all, TOLERANCE);
    expect_near(&format!("{name}: lock"), share(&["lock_s"]), lock / all, TOLERANCE);
    expect_near(&format!("{name}: held"), share(&["lock_held_s"]), held / all, TOLERANCE);
    expect_near(&format!("{name}: waiting"), share(&["barrier_s", "end_s", "overhead_s"]), (all - useful - lock) / all, TOLERANCE);
    expect_near(&format!("{name}: load balance"), number(&region["load_balance"]), useful / THREADS / longest, TOLERANCE);
}

#[test]
fn c120_regions_are_those_of_the_programs_own_ledger() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        for compiler in COMPILERS {
            retry_assertions(|| expect_regions_of_ledger(mpi, compiler));
        }
    });
}

fn expect_regions_of_ledger(mpi: &Mpi, compiler: &str) {
    let folder = fresh_dir();
    compile(mpi, folder.path(), compiler, REGIONS);
    let (outcome, recording) = record(mpi, folder.path(), &[], &[], &[]);
    let report = report(&recording, folder.path());
    let ledgers = ledgers(&outcome.expect_status(0).stdout);
    assert_eq!(ledgers.len(), 8, "{}", outcome.text());
    for (name, ledger) in ledgers {
        compare_with_ledger(&name, region(&report, &name, 0), ledger);
    }
    let inner = region(&report, if compiler == "gcc" { "nested" } else { ".omp_outlined" }, 1);
    // The threads take 16 and 4 ms.
    assert!((0.5..0.8).contains(&number(&inner["load_balance"])), "{inner}");
    for line in outcome.stdout.lines().filter_map(|line| line.strip_prefix("serial ")) {
        let (rank, serial) = line.split_once(' ').expect("two words");
        let rank = &report["openmp"]["per_rank"][rank.parse::<usize>().expect("a rank")];
        let difference = number(&rank["serial_s"]) - serial.parse::<f64>().expect("a number");
        assert!(difference.abs() < TOLERANCE * number(&report["work_s"]), "{line}: {rank}");
    }
    expect_consistent(&report["openmp"]);
    let is_short = !report["cores"]["statement"].is_null();
    let kinds: Vec<&str> = report["advice"].as_array().expect("advice").iter().filter_map(|advice| advice["kind"].as_str()).collect();
    assert!(is_short || kinds.contains(&"thread_imbalance"), "{kinds:?}");
}

/// The efficiencies follow from the times of the ranks by POP's formulas.
fn expect_consistent(openmp: &Value) {
    let efficiency = |key: &str| number(&openmp["efficiency"][key]);
    let product = efficiency("mpi_load_balance") * efficiency("mpi_communication") * efficiency("openmp_load_balance");
    expect_near("product", product * efficiency("openmp_communication"), efficiency("parallel"), 1e-9);
    let ranks = openmp["per_rank"].as_array().expect("ranks");
    let useful: Vec<f64> = ranks.iter().flat_map(|rank| rank["useful_s"].as_array().expect("threads")).map(number).collect();
    let longest = useful.iter().copied().fold(0.0, f64::max);
    expect_near("load balance", efficiency("load_balance"), useful.iter().sum::<f64>() / useful.len() as f64 / longest, 1e-9);
    let additive = |key: &str| 1.0 - number(&openmp["additive"][key]);
    let lost = additive("process") + additive("region_load_balance") + additive("region_overhead") + additive("serial");
    expect_near("sum", 1.0 - lost, efficiency("parallel"), 0.02);
}

#[test]
fn c121_every_construct_computes_the_same() {
    for_every_mpi(|mpi| {
        for compiler in COMPILERS {
            let folder = fresh_dir();
            compile(mpi, folder.path(), compiler, CONSTRUCTS);
            let bare = Process::new(launch(mpi, 2, &[])).env(&environment(mpi, &[])).run_in(folder.path());
            for options in [&[][..], &["--openmp", "off"]] {
                let (outcome, recording) = record(mpi, folder.path(), options, &[], &[]);
                assert_eq!(outcome.expect_status(0).stdout, bare.expect_status(0).stdout, "{compiler} {options:?}");
                assert_eq!(recording.join("rank-00000.omp").exists(), options.is_empty(), "{compiler} {options:?}");
                assert_eq!(report(&recording, folder.path()).get("openmp").is_some(), options.is_empty());
            }
            let (failed, _) = record(mpi, folder.path(), &[], &[], &["7"]);
            assert_ne!(failed.status, 0, "{}", failed.text());
        }
    });
}

#[test]
fn c122_a_region_in_which_the_program_exits_is_recorded() {
    for_every_mpi(|mpi| {
        for compiler in COMPILERS {
            let folder = fresh_dir();
            compile(mpi, folder.path(), compiler, REGIONS);
            let bare = Process::new(launch(mpi, 2, &["exit"])).env(&environment(mpi, &[])).run_in(folder.path());
            let (outcome, recording) = record(mpi, folder.path(), &[], &[], &["exit"]);
            assert_eq!(outcome.status, bare.status, "{}", outcome.text());
            let report = report(&recording, folder.path());
            // Each of two threads works for 30 ms; the other rank may have been killed.
            let left = region(&report, "leave_early", 0);
            assert!(number(&left["useful_s"]) > 0.055 && number(&left["threads"]) == THREADS, "{left}");
            assert_eq!(number(&region(&report, "unequal", 0)["executions"]), 12.0);
        }
    });
}

#[test]
fn c123_a_loop_in_fortran() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        let Some(fortran) = &mpi.fortran else { return };
        let folder = fresh_dir();
        std::fs::write(folder.path().join("loops.f90"), LOOPS).expect("written");
        let mut command = Command::new(&fortran[0]);
        command.args(&fortran[1..]).args(["-g", "-O2", "-fopenmp", "-o", "program", "loops.f90"]).args(&mpi.link_fortran);
        assert!(command.current_dir(folder.path()).status().expect("the compiler runs").success());
        retry_assertions(|| {
            let (outcome, recording) = record(mpi, folder.path(), &[], &[], &[]);
            let mut sums = [0.0, 0.0];
            for line in outcome.expect_status(0).stdout.lines().filter_map(|line| line.trim().strip_prefix("loop ")) {
                let values = line.split_ascii_whitespace().skip(1).map(|word| word.parse::<f64>().expect("a number"));
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            }
            let report = report(&recording, folder.path());
            let regions = report["openmp"]["regions"].as_array().expect("regions");
            assert_eq!((regions.len(), number(&regions[0]["executions"])), (1, 20.0), "{regions:?}");
            assert!(regions[0]["file"].as_str().is_some_and(|file| file.ends_with("loops.f90")) && regions[0]["line"] == 14, "{regions:?}");
            expect_near("load balance", number(&regions[0]["load_balance"]), sums[0] / THREADS / sums[1], TOLERANCE);
            expect_near("useful", number(&regions[0]["useful_s"]) / sums[0], 1.0, TOLERANCE);
        });
    });
}

#[test]
fn c124_time_in_mpi_inside_a_region_is_not_computation() {
    let _guard = alone();
    for_every_mpi(|mpi| {
        for compiler in COMPILERS {
            let folder = fresh_dir();
            compile(mpi, folder.path(), compiler, MPI_INSIDE);
            retry_assertions(|| {
                let (outcome, recording) = record(mpi, folder.path(), &[], &[], &[]);
                let mut sums = [0.0, 0.0];
                for line in outcome.expect_status(0).stdout.lines().filter_map(|line| line.strip_prefix("mpi ")) {
                    let values = line.split(' ').map(|word| word.parse::<f64>().expect("a number"));
                    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                }
                let report = report(&recording, folder.path());
                let found = region(&report, "main", 0);
                let all = THREADS * number(&found["seconds"]);
                expect_near("mpi", number(&found["mpi_s"]) / all, sums[0] / all, TOLERANCE);
                expect_near("useful", number(&found["useful_s"]) / all, sums[1] / all, TOLERANCE);
            });
        }
    });
}

#[test]
fn c125_short_regions_are_summed_up() {
    for_every_mpi(|mpi| {
        for compiler in COMPILERS {
            let folder = fresh_dir();
            compile(mpi, folder.path(), compiler, SHORT);
            let (outcome, recording) = record(mpi, folder.path(), &[], &[], &[]);
            outcome.expect_status(0);
            let report = report(&recording, folder.path());
            assert_eq!(number(&region(&report, "main", 0)["executions"]), 2.0 * 200_000.0);
            // A record of its own for each execution would take more than 10 bytes.
            let bytes = std::fs::metadata(recording.join("rank-00000.omp")).expect("regions").len();
            assert!(bytes < 200_000, "{compiler}: {bytes} bytes");
        }
    });
}

#[test]
fn c126_the_users_own_tool_comes_first() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), "clang", SHORT);
        for variable in [("OMP_TOOL", "disabled"), ("OMP_TOOL_LIBRARIES", "/nowhere/tool.so")] {
            let (outcome, recording) = record(mpi, folder.path(), &[], &[variable], &[]);
            outcome.expect_status(0);
            assert!(report(&recording, folder.path()).get("openmp").is_none(), "{variable:?}");
        }
    });
}

#[test]
fn c127_every_kind_is_explained() {
    for kind in [
        "omp_wait_at_barrier",
        "omp_idle_threads",
        "omp_lock_competition",
        "omp_overhead",
        "thread_imbalance",
        "serial_part",
        "thread_lock_competition",
    ] {
        let outcome = Process::new([sintonia().as_str(), "report", "--explain", kind]).run_in(Path::new("."));
        assert!(outcome.expect_status(0).stdout.contains(kind));
    }
}

/// The times that each rank prints: of its regions, and of its threads before the critical section.
fn lock_times(outcome: &Outcome) -> Vec<[f64; 3]> {
    let mut lines: Vec<&str> = outcome.expect_status(0).stdout.lines().filter_map(|line| line.strip_prefix("rank ")).collect();
    lines.sort_unstable();
    let times = |line: &str| {
        let values: Vec<f64> = line.split(' ').skip(1).map(|word| word.parse().expect("a number")).collect();
        [values[0], values[1], values[2]]
    };
    lines.into_iter().map(times).collect()
}

#[test]
fn c128_advice_about_a_lock_names_it_and_saves_what_a_twin_without_it_does() {
    let line = LOCKS.lines().position(|line| line.contains("critical(sum)")).expect("a critical section") + 1;
    let _guard = alone();
    for_every_mpi(|mpi| {
        for compiler in COMPILERS {
            let folder = fresh_dir();
            compile(mpi, folder.path(), compiler, LOCKS);
            retry_assertions(|| {
                let twin = lock_times(&Process::new(launch(mpi, 2, &["free"])).env(&environment(mpi, &[])).run_in(folder.path()));
                let (outcome, recording) = record(mpi, folder.path(), &[], &[], &[]);
                let with_lock = lock_times(&outcome);
                let report = report(&recording, folder.path());
                let locks = region(&report, "with_lock", 0)["locks"].as_array().expect("locks").clone();
                assert_eq!(locks.len(), 2, "{locks:?}");
                let critical = &locks[0];
                assert!(critical["line"].as_u64().is_some_and(|found| found.abs_diff(line as u64) <= 1), "line {line}: {critical}");
                assert_eq!(number(&critical["acquisitions"]), 2.0 * THREADS * 5.0 * 3.0);
                let waited: f64 = with_lock.iter().map(|[_, first, second]| first + second).sum();
                expect_near("waiting", number(&critical["wait_s"]) / waited, 1.0, TOLERANCE);
                let longest = &critical["threads"][0];
                let [_, first, second] = with_lock[number(&longest["rank"]) as usize];
                let of_thread = [first, second][number(&longest["thread"]) as usize];
                expect_near("of the thread that waits longest", number(&longest["wait_s"]) / of_thread, 1.0, TOLERANCE);
                let advice = report["advice"].as_array().expect("advice").iter().find(|advice| advice["kind"] == "thread_lock_competition");
                if !report["cores"]["statement"].is_null() {
                    return;
                }
                let advice = advice.unwrap_or_else(|| panic!("{}", report["advice"]));
                assert_eq!(advice["line"], critical["line"]);
                let longest = |times: &[[f64; 3]]| times.iter().map(|[seconds, ..]| *seconds).fold(0.0, f64::max);
                let gain = 1.0 - longest(&twin) / longest(&with_lock);
                expect_near("gain", number(&advice["saves_s"]) / longest(&with_lock), gain, 0.08);
            });
        }
    });
}
