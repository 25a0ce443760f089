//! Reports of a part of a run, and several runs part by part: on a program that knows what it did when.

use serde_json::Value;
use sintonia_tests::{
    Mpi, Process, Program, Recording, for_every_mpi, fresh_dir, record_command, retry_assertions, retry_until_ok, sintonia,
};

const ITERATIONS: f64 = 12.0;

fn record(mpi: &Mpi, variant: &str) -> Recording {
    let program = Program::find("c/255_parts");
    let folder = fresh_dir();
    let path = folder.path().join(format!("{variant}.sin"));
    let mut command = program.build(mpi).expect("every library runs it");
    *command.last_mut().expect("the program has an argument") = variant.into();
    let run = program.process(mpi, record_command(&path, &[], mpi.launch(program.ranks, &command))).run_in(folder.path());
    run.expect_status(0);
    Recording::at(run, path, folder)
}

fn json(recording: &Recording, options: &[&str]) -> Value {
    let outcome = recording.sintonia("report", &[&["--json"], options].concat());
    serde_json::from_str(&outcome.expect_no_crash().expect_status(0).stdout).expect("one object")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// Calls and seconds of the sites of an operation, over all ranks.
fn calls_of(report: &Value, operation: &str) -> (f64, f64) {
    let sites = report["call_sites"].as_array().expect("call sites");
    let own = || sites.iter().filter(|site| site["operation"] == operation);
    (own().map(|site| number(&site["calls"])).sum(), own().map(|site| number(&site["seconds"])).sum())
}

#[test]
fn c255_parts_of_a_run_have_what_happened_in_them() {
    for_every_mpi(|mpi| retry_assertions(|| check_parts(&record(mpi, "slow"))));
}

fn check_parts(recording: &Recording) {
    let whole = calls_of(&json(recording, &[]), "MPI_Allreduce");
    assert_eq!(whole.0, 2.0 * 2.0 * ITERATIONS, "two calls of two ranks in each iteration");
    let calls = |options: &[&str]| calls_of(&json(recording, options), "MPI_Allreduce");
    assert_eq!(calls(&["--iterations", "3..7"]).0, 2.0 * 2.0 * 4.0);
    assert_eq!(calls(&["--call-path", "control"]).0, 2.0 * ITERATIONS);
    for [first, second] in [[["--iterations", "..5"], ["--iterations", "5.."]], [["--to", "37%"], ["--from", "37%"]]] {
        let (one, other) = (calls(&first), calls(&second));
        assert_eq!(one.0 + other.0, whole.0, "{first:?}");
        assert!((one.1 + other.1 - whole.1).abs() < 1e-6, "{first:?}: {} and {} s are {} s", one.1, other.1, whole.1);
    }
}

/// Rank 1 waits 150 ms for rank 0 in the seventh iteration only.
#[test]
fn c256_the_iteration_with_the_long_wait_is_the_one_that_has_it() {
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
            let recording = record(mpi, "slow");
            let waits = |iteration: &str| -> f64 {
                let report = json(&recording, &["--iterations", iteration]);
                let states = report["wait_states"].as_array().expect("wait states").iter();
                states.filter(|state| state["operation"] == "MPI_Allreduce").map(|state| number(&state["seconds"])).sum()
            };
            let (usual, long) = (waits("5"), waits("6"));
            let is_found = (0.12..0.2).contains(&long) && usual < 0.05;
            if is_found { Ok(()) } else { Err(format!("{usual} s in iteration 5, {long} s in iteration 6")) }
        });
    });
}

/// What the second run takes less is in one part of the program, which two callers of a wrapper tell from the other.
#[test]
fn c257_the_part_that_changed_most_comes_first() {
    for_every_mpi(|mpi| {
        retry_assertions(|| {
            let [before, after] = ["slow", "quick"].map(|variant| record(mpi, variant));
            let path = |recording: &Recording, variant: &str| recording.folder().join(format!("{variant}.sin")).display().to_string();
            let paths = [path(&before, "slow"), path(&after, "quick")];
            let run = |options: &[&str]| {
                let command =
                    [vec![sintonia(), "report".into()], paths.to_vec(), options.iter().map(ToString::to_string).collect()].concat();
                Process::new(command).run_in(before.folder()).expect_no_crash().expect_status(0).stdout.clone()
            };
            let compared: Value = serde_json::from_str(&run(&["--json"])).expect("one object");
            let [first, second] = [0, 1].map(|index| &compared["parts"]["changes"][index]);
            // The mean of the ranks, of which each measures its own part: what the machine delayed is in both.
            let measured = |recording: &Recording| -> f64 {
                let lines = recording.run.stderr.lines().filter_map(|line| line.strip_prefix("advance ")?.parse::<f64>().ok());
                let seconds: Vec<f64> = lines.collect();
                assert_eq!(seconds.len(), 2, "each rank prints what it measured");
                seconds.iter().sum::<f64>() / 2.0
            };
            let expected = measured(&after) - measured(&before);
            let found = number(&first["change_s"]);
            let is_right = (found - expected).abs() < 0.1 * expected.abs() && 4.0 * number(&second["change_s"]).abs() < found.abs();
            let text = run(&[]);
            let row = text.lines().skip_while(|line| !line.starts_with("Largest changes")).nth(1).unwrap_or_default();
            let names_callers = first["kind"] == "computation" && first["name"].as_str().is_some_and(|name| name.contains("advance"));
            let is_shown = row.contains("from advance") && row.contains('-');
            assert!(is_right && names_callers && is_shown, "{expected} s: {first:#} {second:#}\n{text}");
        });
    });
}

/// What a rank of `writes.c` did in an iteration.
struct LedgerRow {
    rank: usize,
    iteration: usize,
    bytes: f64,
    write_s: f64,
    processor_s: f64,
}

fn ledger(printed: &str) -> Vec<LedgerRow> {
    let row = |line: &str| {
        let numbers: Vec<f64> = line.strip_prefix("ledger ")?.split(' ').map(|word| word.parse().expect("a number")).collect();
        let [rank, iteration, bytes, write_s, processor_s] = numbers[..] else { panic!("five numbers: {line}") };
        Some(LedgerRow { rank: rank as usize, iteration: iteration as usize, bytes, write_s, processor_s })
    };
    printed.lines().filter_map(row).collect()
}

/// Files, processor time and phases of some iterations are those that the program itself counts in them.
#[test]
fn c258_a_part_has_its_files_its_processor_time_and_its_phases() {
    for_every_mpi(|mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            mpi.compile(&[sintonia_tests::tests_dir().join("cases/255_parts_of_runs/writes.c")], &folder.path().join("writes"));
            let path = folder.path().join("run.sin");
            let command = record_command(&path, &[], mpi.launch(2, &["./writes".to_owned()]));
            let run = Process::new(command).env(&mpi.env).run_in(folder.path());
            run.expect_status(0);
            let recording = Recording::at(run, path, folder);
            check_iterations(&recording);
        });
    });
}

fn check_iterations(recording: &Recording) {
    let rows = ledger(&recording.run.stdout);
    assert_eq!(rows.len(), 2 * ITERATIONS as usize);
    let report = json(recording, &["--iterations", "3..7"]);
    let own = || rows.iter().filter(|row| (3..7).contains(&row.iteration));
    let files: Vec<&Value> = report["files"].as_array().expect("files").iter().collect();
    assert_eq!(files.len(), 2, "both ranks write a file: {files:?}");
    let (bytes, seconds) = (own().map(|row| row.bytes).sum::<f64>(), own().map(|row| row.write_s).sum::<f64>());
    let sum = |key: &str| files.iter().map(|file| number(&file[key])).sum::<f64>();
    assert_eq!(sum("bytes_written"), bytes);
    assert_eq!(sum("opens"), 0.0, "they are opened before, and closed after");
    assert!((sum("write_s") / seconds - 1.0).abs() < 0.1, "{} s in writes, not {seconds}", sum("write_s"));

    let is_timed = report["region"]["not_known"].as_array().into_iter().flatten().all(|what| what != "processor time of the threads");
    if !is_timed {
        println!("the processor time is not checked: context switches were not recorded");
    }
    for rank in [0, 1].into_iter().filter(|_| is_timed) {
        let expected: f64 = own().filter(|row| row.rank == rank).map(|row| row.processor_s).sum();
        let found = number(&report["resources"][rank]["threads"][0]["cpu_ns"]) / 1e9;
        assert!((found / expected - 1.0).abs() < 0.1, "rank {rank}: {found} s of the processor, not {expected}");
    }

    let whole = json(recording, &[]);
    let phases = |report: &Value| report["phases"].as_array().expect("phases").clone();
    assert_eq!(phases(&whole).len(), phases(&report).len(), "the phases of the run");
    for (of_run, of_part) in phases(&whole).iter().zip(phases(&report)) {
        assert_eq!(of_run["name"], of_part["name"]);
        let is_loop = of_run["repeats"] == true;
        assert_eq!(number(&of_part["ranks"]) > 0.0, is_loop, "only the loop is in the part: {of_part}");
        let share = number(&of_part["seconds"]) / number(&report["region"]["seconds"]);
        assert!(!is_loop || (share - 1.0).abs() < 0.01, "it is all of the part: {of_part}");
    }
}
