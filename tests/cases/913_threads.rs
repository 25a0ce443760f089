//! Threads of OpenMP on the page: the regions that `sintonia view` answers are those the program measured, and the timeline has a row for each thread.

use sintonia_tests::json::{list, number};
use sintonia_tests::view::Served;
use sintonia_tests::{Mpi, Process, Recording, SourceProgram, for_every_mpi, retry_assertions, run_scenario, sintonia};

const HYBRID: &str = include_str!("913_threads/hybrid.c");
const ROUNDS: usize = 10;
/// Part of the time of the regions by which a time may be off: on a busy machine, threads lose their core between two clocks.
const TOLERANCE: f64 = 0.12;

fn recorded(mpi: &Mpi, compiler: &str) -> Recording {
    let program = SourceProgram {
        name: "hybrid",
        source: HYBRID,
        flags: &["-g", "-O1", "-fopenmp"],
        compiler: Some(compiler),
        ranks: 2,
        env: &[("OMP_WAIT_POLICY", "passive")],
        ..SourceProgram::default()
    };
    program.record(mpi, &[])
}

/// What a thread has measured: duration and work in `unequal`, duration, work and waiting in `exclusive`.
fn measured(recording: &Recording, rank: usize, thread: usize) -> [f64; 5] {
    let start = format!("rank {rank} thread {thread} ");
    let line = recording.run.stdout.lines().find_map(|line| line.strip_prefix(&start)).expect("a line of the thread");
    let values: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    values.try_into().expect("five numbers")
}

/// Line of the region that a function starts.
fn line_of(function: &str) -> u64 {
    let begin = HYBRID.lines().position(|line| line.contains(&format!("void {function}(void)"))).expect("the function");
    let pragma = HYBRID.lines().skip(begin).position(|line| line.starts_with("#pragma omp parallel")).expect("its region");
    (begin + pragma + 1) as u64
}

#[test]
fn regions_of_threads_are_those_the_program_measured() {
    for_every_mpi(|mpi| {
        for compiler in ["gcc", "clang"] {
            retry_assertions(|| check_regions(mpi, compiler));
        }
    });
}

fn check_regions(mpi: &Mpi, compiler: &str) {
    let recorded = recorded(mpi, compiler);
    let name = format!("{}, {compiler}", mpi.name);
    let served = Served::start(&[&recorded.path]);
    let about = served.json("0/about");
    assert_eq!(about["recordings"][0]["openmp_threads"], 2);
    let sites = list(&about["recordings"][0]["sites"]);
    let regions = served.json("0/regions");
    assert_eq!((number(&regions["count"]) as usize, list(&regions["rank"]).len()), (4 * ROUNDS, 4 * ROUNDS), "{name}");
    // By rank and thread: duration, work and waiting for the lock, of each of the two regions.
    let mut found = [[[[0.0; 3]; 2]; 2]; 2];
    for region in 0..4 * ROUNDS {
        let site = &sites[number(&regions["site"][region]) as usize];
        let is_in = |function: &&str| site["function"].as_str().is_some_and(|name| name.starts_with(*function));
        let function = ["unequal", "exclusive"].into_iter().find(is_in).unwrap_or_else(|| panic!("{name}: {site}"));
        // GCC names the statement after the directive.
        assert!(site["line"].as_u64().is_some_and(|line| line.abs_diff(line_of(function)) <= 1), "{name}: {site}");
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
        let measured = measured(&recorded, rank, thread);
        let [unequal, exclusive] = found[rank][thread];
        for (found, measured) in [unequal[0], unequal[1], exclusive[0], exclusive[1], exclusive[2]].into_iter().zip(measured) {
            assert!((found - measured).abs() < TOLERANCE * exclusive[0], "{name} {rank}/{thread}: {found}, measured {measured}");
        }
    }
    for wrong in ["ranks=9", "most=0", "from=5&to=5"] {
        assert_eq!(served.refused(&format!("0/regions?{wrong}")).0, 400, "{wrong}");
    }
    assert_eq!(list(&served.json("0/regions?most=3")["rank"]).len(), 3);
}

#[test]
fn a_recording_without_regions_has_no_threads() {
    let recorded = recorded(&Mpi::available()[0], "gcc");
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
    // The scenario compares times, too.
    retry_assertions(|| {
        let recorded = recorded(&Mpi::available()[0], "gcc");
        let served = Served::start(&[&recorded.path]);
        run_scenario("openmp", &served.address);
        let file = recorded.folder().join("page.html");
        let words = [sintonia(), "report".into(), recorded.path.display().to_string(), "--html".into(), file.display().to_string()];
        Process::new(words).run_in(recorded.folder()).expect_status(0);
        run_scenario("openmp", &format!("file://{}", file.display()));
    });
}
