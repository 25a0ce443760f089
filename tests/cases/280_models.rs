//! From recordings to formulas to predictions: `fit` and `predict`.
//!
//! The programs sleep instead of computing, so that their times follow from their sizes even on a machine that is busy.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sintonia_tests::{Mpi, Outcome, Process, Program, for_every_mpi, fresh_dir, record, settles_in_three, sintonia};

#[test]
fn a_larger_run_takes_as_long_as_predicted_from_smaller_ones() {
    for_every_mpi(|mpi| {
        settles_in_three(|| {
            let folder = fresh_dir();
            let runs: Vec<String> = [10, 20, 40, 60].map(|n| run(mpi, "c/280_sizes", folder.path(), n, 2)).into();
            let fitted = fit(folder.path(), &runs, &["-o", "m.toml"]);
            assert_eq!(fitted["parameters"][0]["name"], "n");
            let predicted = predict(folder.path(), &["m.toml", "-p", "n=240"]);
            let [low, middle, high] = [0, 1, 2].map(|place| number(&predicted["predictions"][0]["seconds"][place]));
            assert!(low <= middle && middle <= high);
            let path = run(mpi, "c/280_sizes", folder.path(), 240, 2);
            let report = told(command(folder.path(), &["report", &path, "--json"]));
            let took = number(&report["work_s"]);
            if (0.6..1.6).contains(&(middle / took)) { Ok(()) } else { Err(format!("predicted {middle} s, it took {took} s")) }
        });
    });
}

#[test]
fn calls_and_bytes_have_the_formulas_of_the_program() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let runs: Vec<String> = [10, 20, 40, 60].map(|n| run(mpi, "c/280_sizes", folder.path(), n, 2)).into();
        let fitted = fit(folder.path(), &runs, &[]);
        let agree = list(&fitted["models"]).iter().find(|model| model["calls"]["operation"] == "MPI_Allreduce");
        let calls = &agree.unwrap_or_else(|| panic!("agreeing is a part: {fitted}"))["calls"];
        assert_eq!([&calls["count"], &calls["bytes"]], ["2*n", "16000*n^2"]);
        assert!(list(&fitted["models"]).iter().any(|model| model["kind"] == "computation"), "{fitted}");
    });
}

#[test]
fn more_workers_are_predicted_to_be_faster() {
    for_every_mpi(|mpi| {
        settles_in_three(|| {
            let folder = fresh_dir();
            let settings = [12, 24, 48].into_iter().flat_map(|n| [2, 3, 5].map(|ranks| (n, ranks)));
            let runs: Vec<String> = settings.map(|(n, ranks)| run(mpi, "c/281_tasks", folder.path(), n, ranks)).collect();
            fit(folder.path(), &runs, &["-o", "m.toml"]);
            let predicted = predict(folder.path(), &["m.toml", "-p", "n=96", "--procs", "2,5"]);
            let rows = list(&predicted["predictions"]);
            assert_eq!([&rows[0]["procs"], &rows[1]["procs"]], [2.0, 5.0]);
            assert!(predicted["best"]["time"].is_number() && predicted["formula"].is_string());
            let gain = number(&rows[0]["seconds"][1]) / number(&rows[1]["seconds"][1]);
            if gain > 2.0 { Ok(()) } else { Err(format!("four workers instead of one are only {gain} times faster: {predicted}")) }
        });
    });
}

#[test]
fn the_granularity_of_a_master_with_workers_is_found_in_a_recording() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let path = run(mpi, "c/281_tasks", folder.path(), 20, 3);
        let told = predict(folder.path(), &["--granularity", &path, "--procs", "1..64"]);
        let found = &told["estimated"];
        assert_eq!([&found["master"], &found["workers"], &found["tasks"]], [&json!(0), &json!(2), &json!(20)], "{told}");
        let [computing, overhead] = ["R", "C"].map(|name| number(&found[name][1]));
        assert!(computing >= 0.004 && overhead > 0.0, "a task sleeps at least as long as it is told: {found}");
        assert_eq!(list(&told["predictions"]).len(), 64);
    });
}

#[test]
fn recordings_that_do_not_fit_together_are_refused_with_the_reason() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let sizes: Vec<String> = [10, 20].map(|n| run(mpi, "c/280_sizes", folder.path(), n, 2)).into();
        let tasks = run(mpi, "c/281_tasks", folder.path(), 12, 2);
        let refused = |inputs: &[&String]| {
            let words: Vec<&str> = ["fit"].into_iter().chain(inputs.iter().map(|path| path.as_str())).collect();
            let outcome = command(folder.path(), &words);
            outcome.expect_no_crash().expect_status(1);
            outcome.stderr
        };
        let few = refused(&[&sizes[0], &sizes[1]]);
        assert!(few.contains("2 different values") && few.contains("sintonia record --param n=40 --"), "{few}");
        assert!(refused(&[&sizes[0], &sizes[0]]).contains("nothing that the time could depend on"));
        let mixed = refused(&[&sizes[0], &sizes[1], &tasks]);
        assert!(mixed.contains("not of the same program") && mixed.contains("281_tasks.c") && mixed.contains("280_sizes.c"), "{mixed}");
    });
}

#[test]
fn the_laws_give_the_figures_of_the_paper() {
    let folder = fresh_dir();
    let told = predict(folder.path(), &["--granularity", "R=0.8,C=0.02,M=64", "--procs", "1..64"]);
    assert_eq!([&told["law"], &told["laws"][1]["law"]], ["all-to-one-simple", "all-to-one-composite"]);
    let row = |law: usize, nodes: usize| &told["laws"][law]["predictions"][nodes - 1];
    assert_eq!(number(&row(0, 64)["seconds"][1]), 2.08);
    assert_eq!(number(&row(1, 40)["speedup"]), 40.0);
    assert_eq!(number(&row(1, 64)["speedup"]), 40.0, "more nodes than the granularity gain nothing");
    let amdahl = predict(folder.path(), &["--amdahl", "serial=1,parallel=9", "--procs", "3"]);
    assert_eq!(number(&amdahl["predictions"][0]["seconds"][1]), 4.0);
    let flow = predict(folder.path(), &["--flow", "store-and-forward", "F=1000,P=100,L=1,d=0..8"]);
    assert_eq!(number(&flow["predictions"][8]["seconds"][1]), 0.9);
}

#[test]
fn a_table_of_message_times_has_its_pieces() {
    let folder = fresh_dir();
    let rows: String = (1..=16).map(|k| 4096 * k).map(|n| format!("{n},{}\n", if n <= 32768 { n + 500 } else { 2 * n + 900 })).collect();
    std::fs::write(folder.path().join("t.csv"), format!("n,send [us]\n{rows}")).expect("a new folder can be written to");
    let told = told(command(folder.path(), &["fit", "t.csv", "--x", "n", "--y", "send", "--pieces", "--plot", "t.svg", "--json"]));
    let pieces = list(&told["models"][0]["pieces"]);
    assert_eq!((pieces.len(), number(&pieces[0]["to"])), (2, 32768.0));
    assert!((number(&pieces[1]["slope"][1]) / 2e-6 - 1.0).abs() < 1e-9, "{told}");
    let picture = std::fs::read_to_string(folder.path().join("t.svg")).expect("the picture was written");
    assert!(picture.starts_with("<svg ") && picture.contains("32768"));
    let nameless = command(folder.path(), &["fit", "t.csv", "--x", "n", "--y", "receive"]);
    nameless.expect_no_crash().expect_status(1);
    assert!(nameless.stderr.contains("t.csv:1: no column is called `receive`"), "{}", nameless.stderr);
}

#[test]
fn a_model_can_be_written_by_hand_and_is_refused_with_the_line_that_is_wrong() {
    let folder = fresh_dir();
    let model = "format = 1\n[model]\nname = \"lu\"\nformula = \"2e-9*n^3/p + 1e-4*p\"\n\
                 [[parameter]]\nname = \"n\"\nfrom = 100\nto = 1000\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
    let write = |text: &str| std::fs::write(folder.path().join("m.toml"), text).expect("a new folder can be written to");
    write(model);
    let told = predict(folder.path(), &["m.toml", "-p", "n=1000", "--procs", "1,2,4,8..1024"]);
    assert_eq!(number(&told["predictions"][1]["seconds"][1]), 1.0002);
    assert!((number(&told["best"]["time"]) - 141.0).abs() < 8.0, "the square root of 2e-9*n^3/1e-4 is 141: {told}");
    write(&model.replace("n^3/p", "m^3/p"));
    let wrong = command(folder.path(), &["predict", "m.toml", "-p", "n=1000"]);
    wrong.expect_no_crash().expect_status(1);
    assert!(wrong.stderr.contains("m.toml:4:") && wrong.stderr.contains("depends on m"), "{}", wrong.stderr);
}

/// Records a program of a size on so many ranks, and says where.
fn run(mpi: &Mpi, name: &str, folder: &Path, n: u64, ranks: usize) -> String {
    let program = Program::named(name);
    let file = format!("{}-{n}-{ranks}.sin", name.replace('/', "-"));
    let path: PathBuf = folder.join(&file);
    let mut command = program.build(mpi).expect("every library runs it");
    *command.last_mut().expect("the program has an argument") = n.to_string();
    let words = record(&path, &["--param", &format!("n={n}")], mpi.launch(ranks, &command));
    program.process(mpi, words).run_in(folder).expect_status(0);
    file
}

fn command(folder: &Path, words: &[&str]) -> Outcome {
    Process::new([sintonia()].into_iter().chain(words.iter().map(|word| word.to_string()))).run_in(folder)
}

fn told(outcome: Outcome) -> Value {
    outcome.expect_no_crash().expect_status(0);
    serde_json::from_str(&outcome.stdout).expect("one object")
}

fn fit(folder: &Path, runs: &[String], options: &[&str]) -> Value {
    let words = ["fit", "--json"].into_iter().chain(runs.iter().map(String::as_str)).chain(options.iter().copied());
    told(command(folder, &words.collect::<Vec<_>>()))
}

fn predict(folder: &Path, options: &[&str]) -> Value {
    told(command(folder, &["predict", "--json"].into_iter().chain(options.iter().copied()).collect::<Vec<_>>()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}
