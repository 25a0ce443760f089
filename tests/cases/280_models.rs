//! From recordings to formulas to predictions: `fit` and `predict`.
//!
//! The programs sleep instead of computing, so that their times follow from their sizes even on a machine that is busy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sintonia_tests::{
    BusyLoops, Mpi, Outcome, Process, Program, for_every_mpi, fresh_dir, not_applicable, record_command, remove_missing_cores,
    retry_assertions, retry_until_ok, sintonia,
};

#[test]
fn a_larger_run_takes_as_long_as_predicted_from_smaller_ones() {
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
            let folder = fresh_dir();
            let runs: Vec<String> = [10, 20, 40, 60].map(|n| run(mpi, "c/280_sizes", folder.path(), n, 2)).into();
            let fitted = fit(folder.path(), &runs, &["-o", "m.toml"]);
            assert_eq!(fitted["parameters"][0]["name"], "n");
            let predicted = predict(folder.path(), &["m.toml", "-p", "n=120"]);
            let [low, middle, high] = [0, 1, 2].map(|place| number(&predicted["predictions"][0]["seconds"][place]));
            assert!(low <= middle && middle <= high);
            let path = run(mpi, "c/280_sizes", folder.path(), 120, 2);
            let report = json_output(command(folder.path(), &["report", &path, "--json"]));
            let took = number(&report["work_s"]);
            if (0.5..2.0).contains(&(middle / took)) { Ok(()) } else { Err(format!("predicted {middle} s, it took {took} s")) }
        });
    });
}

#[test]
fn calls_and_bytes_have_the_formulas_of_the_program() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let runs: Vec<String> = [10, 20, 40, 60].map(|n| run(mpi, "c/280_sizes", folder.path(), n, 2)).into();
        let fitted = fit(folder.path(), &runs, &[]);
        let total = fit(folder.path(), &runs, &["--form", "a*n^2 + b*n + c"]);
        let coefficients = total["models"][0]["coefficients"].as_object().expect("the coefficients of the total");
        assert_eq!((list(&total["models"]).len(), coefficients.len(), &total["uses"]), (1, 3, &json!("whole")), "{total}");
        let agree = list(&fitted["models"]).iter().find(|model| model["calls"]["operation"] == "MPI_Allreduce");
        let calls = &agree.unwrap_or_else(|| panic!("agreeing is a part: {fitted}"))["calls"];
        assert_eq!([&calls["count"], &calls["bytes"]], ["2*n", "16000*n^2"]);
        assert!(list(&fitted["models"]).iter().any(|model| model["kind"] == "computation"), "{fitted}");
    });
}

#[test]
fn more_workers_are_predicted_to_be_faster() {
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
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
        let answer = predict(folder.path(), &["--granularity", &path, "--procs", "1..64"]);
        let found = &answer["estimated"];
        assert_eq!([&found["master"], &found["workers"], &found["tasks"]], [&json!(0), &json!(2), &json!(20)], "{answer}");
        let [computing, overhead] = ["R", "C"].map(|name| number(&found[name][1]));
        assert!(computing >= 0.004 && overhead > 0.0, "a task sleeps at least as long as requested: {found}");
        assert_eq!(list(&answer["predictions"]).len(), 64);
    });
}

#[test]
fn recordings_that_do_not_fit_together_are_refused_with_the_reason() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let sizes: Vec<String> = [10, 20].map(|n| run(mpi, "c/280_sizes", folder.path(), n, 2)).into();
        let tasks = run(mpi, "c/281_tasks", folder.path(), 12, 2);
        let refused = |inputs: &[&String]| {
            let words: Vec<&str> = ["fit", "-o", "m.toml"].into_iter().chain(inputs.iter().map(|path| path.as_str())).collect();
            refused(folder.path(), &words, 1)
        };
        let few = refused(&[&sizes[0], &sizes[1]]);
        let missing = "sintonia: not enough recordings: parameter `n` has 2 distinct values, at least 3 are needed: measure n = 40 next; \
                       suggested next run: sintonia record --param n=40 -- ";
        assert!(few.starts_with(missing) && few.trim_end().ends_with("40"), "{few}");
        let same = refused(&[&sizes[0], &sizes[0]]);
        let nothing = "sintonia: all recordings have the same parameters (n = 10, p = 2), so there is nothing to fit over: \
                       record runs of other sizes with --param NAME=VALUE, or with another number of ranks\n";
        assert_eq!(same, nothing);
        let mixed = refused(&[&sizes[0], &sizes[1], &tasks]);
        assert!(mixed.contains(" are different programs: ") && mixed.contains(&tasks) && mixed.contains(&sizes[0]), "{mixed}");
        assert!(mixed.contains("281_tasks.c:") && mixed.contains("280_sizes.c:") && mixed.contains("record it again"), "{mixed}");
        let without_n = format!("{tasks}-without_n.sin");
        let program = Program::find("c/281_tasks");
        let command = program.build(mpi).expect("every library runs it");
        program
            .process(mpi, record_command(&folder.path().join(&without_n), &[], mpi.launch(3, &command)))
            .run_in(folder.path())
            .expect_status(0);
        remove_missing_cores(&folder.path().join(&without_n));
        let without_n_refusal = refused(&[&tasks, &without_n]);
        let again = format!("sintonia: {without_n} has no value of n, but {tasks} has: record it again with --param n=VALUE\n");
        assert_eq!(without_n_refusal, again);
    });
}

/// Records a program with these words before and behind it, without regard to its exit status; returns the path.
fn run_with(mpi: &Mpi, folder: &Path, file: &str, n: u64, before: &[&str], between: &[&str], behind: &[&str]) -> String {
    let program = Program::find("c/282_processor_time");
    let mut command: Vec<String> = between.iter().map(ToString::to_string).collect();
    command.extend(program.build(mpi).expect("every library runs it"));
    *command.last_mut().expect("the program has an argument") = n.to_string();
    command.extend(behind.iter().map(ToString::to_string));
    let launch = before.iter().map(ToString::to_string).chain(mpi.launch(2, &command)).collect();
    let words = record_command(&folder.join(file), &["--param", &format!("n={n}")], launch);
    program.process(mpi, words).run_in(folder).expect_no_crash();
    file.to_owned()
}

#[test]
fn runs_that_failed_were_cut_or_shared_a_core_are_left_out_unless_they_are_requested() {
    for_every_mpi(|mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            let good: Vec<String> = [20, 40, 60, 80].map(|n| run(mpi, "c/282_processor_time", folder.path(), n, 2)).into();
            let failed = run_with(mpi, folder.path(), "failed.sin", 100, &[], &[], &["3"]);
            let cut = run_with(mpi, folder.path(), "cut.sin", 2000, &["timeout", "4"], &[], &[]);
            let shared = run_with(mpi, folder.path(), "shared.sin", 120, &[], &["taskset", "-c", "0"], &[]);
            // The tests that run side by side take cores from these two as well.
            [&failed, &cut].into_iter().for_each(|path| remove_missing_cores(&folder.path().join(path)));
            let all = [&good[..], &[failed.clone(), cut, shared]].concat();
            let notes = |options: &[&str]| {
                let fitted = fit(folder.path(), &all, options);
                let to = number(&fitted["parameters"][0]["to"]);
                (to, list(&fitted["notes"]).iter().map(|note| note.as_str().unwrap_or_default().to_owned()).collect::<Vec<String>>())
            };
            let (to, left_out) = notes(&[]);
            assert_eq!(to, 80.0, "{left_out:?}");
            let failure = "warning: failed.sin is left out: its command ended with exit status 3 (`--include failed` fits it all the same)";
            assert_eq!(left_out[0], failure);
            let cut = "warning: cut.sin is left out: its command ended with exit status 124, and rank 0 is incomplete (cut short) \
                       (`--include failed,truncated` fits it all the same)";
            assert_eq!(left_out[1], cut);
            let shared = &left_out[2];
            let is_named =
                shared.starts_with("warning: shared.sin is left out: ") && shared.contains("of their time they waited for a core");
            assert!(is_named && shared.ends_with("(`--include oversubscribed` fits it all the same)"), "{left_out:?}");
            let (to, included) = notes(&["--include", "failed,oversubscribed"]);
            assert_eq!(to, 120.0, "{included:?}");
            assert_eq!(included[0], "warning: failed.sin is fitted although its command ended with exit status 3");
            let few = refused(folder.path(), &["fit", "-o", "m.toml", &good[0], &good[1], &failed], 1);
            assert!(
                few.starts_with("sintonia: not enough recordings: parameter `n` has 2 distinct values, at least 3 are needed"),
                "{few}"
            );
            let how = ". Left out (failed.sin: its command ended with exit status 3). Record these runs again, \
                       or fit them all the same with --include failed\n";
            assert!(few.ends_with(how), "{few}");
            let none = refused(folder.path(), &["fit", "-o", "m.toml", &failed], 1);
            assert!(none.starts_with("sintonia: no recording can be used. Left out (failed.sin: "), "{none}");
            let unknown = refused(folder.path(), &["fit", "--include", "bad", &failed], 2);
            assert!(unknown.contains("those left out by default are failed, truncated, oversubscribed, preempted, different"), "{unknown}");
        });
    });
}

#[test]
fn computation_is_fitted_to_processor_time_however_busy_the_host_is() {
    for_every_mpi(|mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            let busy = BusyLoops::start(2);
            let file = |n: u64| format!("{n}.sin");
            let runs = [60, 90, 130, 180].map(|n| run_with(mpi, folder.path(), &file(n), n, &[], &[], &[]));
            drop(busy);
            let header = std::fs::read_to_string(folder.path().join("60.sin/recording.json")).expect("a sealed recording");
            if header.contains("\"off_cpu\":\"totals\"") {
                not_applicable("the kernel does not tell when threads waited for a processor");
                return;
            }
            fit(folder.path(), &runs, &["-o", "m.toml"]);
            let predicted = predict(folder.path(), &["m.toml", "-p", "n=240", "--explain"]);
            let terms = list(&predicted["predictions"][0]["terms"]).iter();
            let computation: f64 = terms
                .filter(|term| term["name"].as_str().is_some_and(|name| name.starts_with("computation")))
                .map(|term| number(&term["seconds"][1]))
                .sum();
            let law = 20e-6 * 240.0 * 240.0;
            assert!((computation / law - 1.0).abs() < 0.1, "{computation} s of computation instead of {law} s");
        });
    });
}

#[test]
fn a_prediction_that_leaves_a_cache_says_so() {
    for_every_mpi(|mpi| {
        retry_assertions(|| {
            let folder = fresh_dir();
            let first = run(mpi, "c/283_working_set", folder.path(), 60, 1);
            let header = std::fs::read_to_string(folder.path().join(first).join("recording.json")).expect("a sealed recording");
            let header: Value = serde_json::from_str(&header).expect("JSON");
            let caches = list(&header["host_descriptions"][0]["caches"]);
            // Memory is known to some 100 kB, which is too coarse for a smaller cache.
            let large = |cache: &&Value| number(&cache["level"]) >= 2.0 && number(&cache["bytes"]) >= 2.0 * 1024.0 * 1024.0;
            let Some(cache) = caches.iter().find(large) else {
                return not_applicable("the host does not tell its caches");
            };
            let name = format!("L{}", number(&cache["level"]));
            let edge = (number(&cache["bytes"]) / 8.0).sqrt();
            let runs: Vec<String> =
                [0.5, 0.6, 0.7, 0.8].map(|share| run(mpi, "c/283_working_set", folder.path(), (share * edge) as u64, 1)).into();
            fit(folder.path(), &runs, &["-o", "m.toml"]);
            let beyond = (3.0 * edge).round();
            let predicted = predict(folder.path(), &["m.toml", "-p", &format!("n={},{beyond}", (0.7 * edge).round())]);
            assert!(predicted["predictions"][0]["caches"].is_null(), "inside: {predicted}");
            let crossing = &predicted["predictions"][1]["caches"][0];
            assert_eq!([&crossing["cache"], &crossing["crossing"]], [&json!(name), &json!("leaves")], "{predicted}");
            assert!((0.8..1.25).contains(&(number(&crossing["at"]["n"]) / edge)), "{crossing}, not {edge}");
            let outcome = command(folder.path(), &["predict", "m.toml", "-p", &format!("n={beyond}")]);
            assert!(outcome.stdout.contains(&format!("crosses the {name} cache of ")), "{}", outcome.stdout);
        });
    });
}

#[test]
fn the_laws_give_the_figures_of_the_paper() {
    let folder = fresh_dir();
    let answer = predict(folder.path(), &["--granularity", "R=0.8,C=0.02,M=64", "--procs", "1..64"]);
    assert_eq!([&answer["law"], &answer["laws"][1]["law"]], ["all-to-one-simple", "all-to-one-composite"]);
    let row = |law: usize, nodes: usize| &answer["laws"][law]["predictions"][nodes - 1];
    assert_eq!(number(&row(0, 64)["seconds"][1]), 2.08);
    assert_eq!(number(&row(1, 40)["speedup"]), 40.0);
    assert_eq!(number(&row(1, 64)["speedup"]), 40.0, "more nodes than the granularity gain nothing");
    let amdahl = predict(folder.path(), &["--amdahl", "serial=1,parallel=9", "--procs", "3"]);
    assert_eq!(number(&amdahl["predictions"][0]["seconds"][1]), 4.0);
    let endless = predict(folder.path(), &["--amdahl", "serial=0,parallel=9", "--procs", "3"]);
    assert!(endless["facts"]["E_limit"].is_null() && amdahl["facts"]["E_limit"][1] == 0.0, "without a serial part, nothing is lost");
    let flow = predict(folder.path(), &["--flow", "store-and-forward", "F=1000,P=100,L=1,d=0..8"]);
    assert_eq!(number(&flow["predictions"][8]["seconds"][1]), 0.9);
}

#[test]
fn a_table_of_message_times_has_its_pieces() {
    let folder = fresh_dir();
    let rows: String = (1..=16).map(|k| 4096 * k).map(|n| format!("{n},{}\n", if n <= 32768 { n + 500 } else { 2 * n + 900 })).collect();
    write(folder.path(), "t.csv", format!("n,send [us]\n{rows}"));
    let answer = json_output(command(folder.path(), &["fit", "t.csv", "--x", "n", "--y", "send", "--pieces", "--plot", "t.svg", "--json"]));
    let pieces = list(&answer["models"][0]["pieces"]);
    assert_eq!((pieces.len(), number(&pieces[0]["to"])), (2, 32768.0));
    assert!((number(&pieces[1]["slope"][1]) / 2e-6 - 1.0).abs() < 1e-9, "{answer}");
    let picture = std::fs::read_to_string(folder.path().join("t.svg")).expect("the picture was written");
    assert!(picture.starts_with("<svg ") && picture.contains("32768"));
}

const MODEL: &str = "format = 1\n[model]\nname = \"lu\"\nformula = \"2e-9*n^3/p + 1e-4*p\"\n\
                     [[parameter]]\nname = \"n\"\nfrom = 100\nto = 1000\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(folder.join(name), text).expect("a new folder can be written to");
}

#[test]
fn a_model_can_be_written_by_hand() {
    let folder = fresh_dir();
    write(folder.path(), "m.toml", MODEL);
    let answer = predict(folder.path(), &["m.toml", "-p", "n=1000", "--procs", "1,2,4,8..1024", "--explain"]);
    let second = &answer["predictions"][1];
    assert_eq!([number(&second["seconds"][1]), number(&second["cost"][1])], [1.0002, 2.0004]);
    assert!((number(&second["speedup"]) - 2.0001 / 1.0002).abs() < 1e-12);
    let terms: Vec<&str> = list(&second["terms"]).iter().filter_map(|term| term["formula"].as_str()).collect();
    assert_eq!(terms, ["2e-9*n^3/p", "0.0001*p"], "the sum term by term");
    let crossing = &answer["sets"][0]["crossings"][0];
    assert!((number(&crossing["at"]) - 141.42).abs() < 0.01, "both terms are equal at the root of 2e-9*n^3/1e-4: {crossing}");
    assert_eq!([&crossing["below"], &crossing["above"]], ["2e-9*n^3/p", "0.0001*p"]);
    assert!((number(&answer["best"]["time"]) - 141.0).abs() < 8.0, "the time is least there, too: {answer}");
    assert_eq!(number(&answer["best"]["efficiency"]), 141.0, "half of the time is spent on the first term there");
}

#[test]
fn speed_ups_are_counted_from_the_base_that_is_chosen() {
    let folder = fresh_dir();
    write(folder.path(), "m.toml", MODEL.replace("from = 1\nto = 16", "from = 4\nto = 16"));
    let at = |base: &[&str]| predict(folder.path(), &[&["m.toml", "-p", "n=1000", "--procs", "4,8"], base].concat());
    let time = |p: f64| 2.0 / p + 1e-4 * p;
    for (words, base) in [(&[][..], 4.0), (&["--base", "1"], 1.0), (&["--base", "8"], 8.0)] {
        let answer = at(words);
        assert_eq!(number(&answer["speedup_base"]), base);
        let found = number(&answer["predictions"][1]["speedup"]);
        assert!((found - base * time(base) / time(8.0)).abs() < 1e-12, "{words:?}: {found}");
    }
}

#[test]
fn a_model_without_parameters_says_its_one_value() {
    let folder = fresh_dir();
    write(folder.path(), "m.toml", "format = 1\n[model]\nname = \"x\"\nformula = \"3\"\n");
    let outcome = command(folder.path(), &["predict", "m.toml", "--explain"]);
    outcome.expect_no_crash().expect_status(0);
    assert!(outcome.stdout.contains("3.00 s"), "{}", outcome.stdout);
    let drawn = refused(folder.path(), &["predict", "m.toml", "--plot", "m.svg"], 1);
    assert_eq!(drawn, "sintonia: m.toml: it has no parameters, so there is nothing to plot\n");
}

#[test]
fn questions_that_a_model_cannot_answer_are_refused_with_the_reason() {
    let folder = fresh_dir();
    write(folder.path(), "m.toml", MODEL);
    write(
        folder.path(),
        "n.toml",
        MODEL.replace("n^3/p + 1e-4*p", "n^3").replace("[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n", "[fixed]\np = 4\n"),
    );
    let wrong_usage = |reason: &str| format!("error: {reason}\n");
    for (words, status, said) in [
        ("m.toml -p n", 2, wrong_usage("-p n: expected NAME=VALUES, such as n=2000")),
        ("m.toml -p =5", 2, wrong_usage("-p =5: expected NAME=VALUES, such as n=2000")),
        ("m.toml -p n=big", 2, wrong_usage("n=big: `big` is not a number")),
        ("m.toml -p n=5 -p n=6", 2, wrong_usage("n is given twice; list several values as in n=1,2,4")),
        ("m.toml -p n=5 --procs 0", 2, wrong_usage("the number of processes must be a positive integer, not 0")),
        ("m.toml -p n=5 --procs 1.5", 2, wrong_usage("the number of processes must be a positive integer, not 1.5")),
        ("m.toml -p n=5 -p p=2.5", 2, wrong_usage("the number of processes must be a positive integer, not 2.5")),
        ("m.toml -p n=5 --base 0", 2, wrong_usage("the number of processes must be a positive integer, not 0")),
        ("m.toml -p n=5 --procs 4..2", 2, wrong_usage("p=4..2: `4..2` is not a valid range: expected an increasing range such as 16..256, or with a step such as 2..10:2")),
        ("m.toml -p n=5 --procs 4..", 2, wrong_usage("p=4..: `4..` is not a valid range: expected an increasing range such as 16..256, or with a step such as 2..10:2")),
        ("m.toml -p n=5 --procs 1..1e9:1", 2, wrong_usage("p=1..1e9:1: more than 100000 numbers")),
        ("m.toml -p n=5 --efficiency 2", 2, wrong_usage("--efficiency must be between 0 and 1, not 2")),
        ("m.toml", 1, "sintonia: m.toml: the time depends on n, which has no value: use -p n=NUMBER (measured from 100 to 1000)\n".into()),
        ("m.toml -p n=5 -p m=6", 1, "sintonia: m.toml: the model does not depend on m, only on n, p\n".into()),
        ("m.toml -p n=0", 1, "sintonia: m.toml: n cannot be 0: it must be a positive number\n".into()),
        ("m.toml -p n=1..200:1 --procs 1..100:1", 1, "sintonia: m.toml: these are 20000 settings; request at most 10000 at a time\n".into()),
        ("n.toml -p n=5 --procs 8", 1, "sintonia: n.toml: p was 4 in all runs, so the model cannot predict 8: record runs with other values (other numbers of processes)\n".into()),
        ("n.toml -p n=5 --base 2", 1, "sintonia: n.toml: the time does not depend on p, so there are no speed-ups and --base has no effect\n".into()),
        ("m.toml -p n=5 --machine none.toml", 1, "sintonia: none.toml: No such file or directory (os error 2)\n".into()),
        ("none.toml", 1, "sintonia: cannot read none.toml: No such file or directory (os error 2)\n".into()),
        (".", 1, "sintonia: .: this is a directory, not a model file; `sintonia fit NAME.sin... -o MODEL.toml` fits a model to recordings\n".into()),
        ("m.toml -p n=5 --plot none/m.svg", 1, "sintonia: cannot write none/m.svg: no directory none\n".into()),
        ("m.toml -p n=5 --plot .", 1, "sintonia: . is a directory: give a file name\n".into()),
        ("--granularity none.sin", 1, "sintonia: none.sin: no such recording; `sintonia record -o none.sin -- mpirun ...` makes one\n".into()),
        ("--granularity R=0.8", 2, wrong_usage("All to one, simple nodes needs CM (C), M for T")),
        ("--amdahl serial=1", 2, wrong_usage("Amdahl's law needs TP (parallel) for T")),
        ("--amdahl serial=1,parallel=-2", 2, wrong_usage("`TP` (time of the parallel part on one node) is -2: it must be between 0 and inf")),
        ("--law amdal serial=1", 2, wrong_usage("no law `amdal`; available: amdahl, gustafson, all-to-one-simple, all-to-one-composite, adjacent, store-and-forward, wormhole, virtual-cut-through, ray-tracing")),
    ] {
        let words: Vec<&str> = ["predict"].into_iter().chain(words.split(' ')).collect();
        let answer = refused(folder.path(), &words, status);
        assert!(if status == 2 { answer.starts_with(&said) } else { answer == said }, "{words:?}: {answer}");
    }
}

#[test]
fn a_model_or_machine_file_that_is_wrong_is_refused_with_the_line() {
    let folder = fresh_dir();
    let refused_with = |name: &str, text: &str, words: &[&str], said: &str| {
        write(folder.path(), name, text);
        assert_eq!(refused(folder.path(), words, 1), said);
    };
    for (from, to, said) in [
        (
            "n^3/p",
            "m^3/p",
            "4:11: the formula depends on m, which is not a [[parameter]]; the parameters are: n, p\n    formula = \"2e-9*m^3/p + 1e-4*p\"\n              ^^^^^^^^^^^^^^^^^^^^^\n",
        ),
        (
            "n^3/p",
            "n^^3",
            "4:19: invalid formula: expected a formula, found `^`\n    formula = \"2e-9*n^^3 + 1e-4*p\"\n                      ^\n",
        ),
        (
            "from = 100",
            "from = 2000",
            "5:1: n cannot range from 2000 to 1000: both must be positive, and `from` must not exceed `to`\n    [[parameter]]\n    ^^^^^^^^^^^^^\n",
        ),
        ("format = 1", "format = 9", "1:10: model file format 9 is not supported, only format 1 is\n    format = 9\n             ^\n"),
    ] {
        refused_with("m.toml", &MODEL.replacen(from, to, 1), &["predict", "m.toml", "-p", "n=5"], &format!("sintonia: m.toml:{said}"));
    }
    write(folder.path(), "b.toml", [0xff, 0xfe]);
    assert_eq!(refused(folder.path(), &["predict", "b.toml"], 1), "sintonia: b.toml is not a model file: invalid UTF-8 at byte 0\n");
    write(folder.path(), "m.toml", MODEL);
    let machine = "format = 1\n\n[machine]\nname = \"two\"\n\n[network.other_node.send]\npieces = [\n    \
                   { up_to_bytes = 65536, intercept_s = [1e-5, 2e-5, 3e-5], slope_s_per_byte = 8e-9 },\n    \
                   { from_bytes = 65536, intercept_s = 2e-3, slope_s_per_byte = 8e-9 },\n]\n";
    let words = ["predict", "m.toml", "-p", "n=5", "--machine", "two.machine.toml"];
    for (from, to, said) in [
        ("from_bytes = 65536", "from_bytes = 70000", "9:5: gap: no piece covers sizes above 65536 and up to 70000 bytes"),
        (
            "[1e-5, 2e-5, 3e-5]",
            "[3e-5, 2e-5, 1e-5]",
            "8:42: `intercept_s`: the interval ends before it begins: low is 0.00003, high is 0.00001",
        ),
        ("intercept_s = 2e-3", "intercept_us = 2000", "9:27: `intercept_us` has no known unit: write `intercept_s`, in seconds"),
    ] {
        write(folder.path(), "two.machine.toml", machine.replacen(from, to, 1));
        let answer = refused(folder.path(), &words, 1);
        assert!(answer.starts_with(&format!("sintonia: two.machine.toml:{said}\n")), "{answer}");
    }
}

#[test]
fn a_table_that_cannot_be_fitted_is_refused_with_the_line() {
    let folder = fresh_dir();
    let words = ["fit", "t.csv", "--x", "n", "--y", "send", "-o", "m.toml"];
    for (text, said) in [
        ("", "t.csv: no data"),
        ("n,send [s]\n", "t.csv: no data"),
        ("n,send\n1,2\n", "t.csv:1: the unit of `send` is missing: write `send [us]` in the header, or use `--unit`"),
        ("n,sent [s]\n1,2\n", "t.csv:1: no column `send`; the columns are `n`, `sent`"),
        ("m,send [s]\n1,2\n", "t.csv:1: no column `n`; the columns are `m`, `send`"),
        ("n,send [s]\n1,2\n2,0\n", "t.csv:3: send is 0: it must be greater than zero"),
        ("n,send [s]\n1,2\n2,-4\n", "t.csv:3: send is -4: it must be greater than zero"),
        ("n,send [s]\n1,2\n2,two\n", "t.csv:3: `two` is not a number"),
        ("n,send [s]\n1,2\n2\n", "t.csv:3: 1 cells, but the header has 2"),
        ("n,send [s]\n1,2\n2,4\n", "t.csv: parameter `n` has 2 distinct values, at least 3 are needed: measure n = 4 next"),
        ("n;send [s]\n1,5;2\n1,2,5;3\n", "t.csv:3: `1,2,5` is not a number"),
        (
            "n,send [s]\n8,2\n8,3\n",
            "t.csv: all 2 measurements are at n = 8 (median 2.5 s), so growth is unknown: measure at least 3 values of each parameter, \
             next n = 16",
        ),
    ] {
        write(folder.path(), "t.csv", text);
        assert_eq!(refused(folder.path(), &words, 1), format!("sintonia: {said}\n"), "{text}");
    }
    write(folder.path(), "t.csv", [b'n', 0, 0xff]);
    let binary = "sintonia: t.csv is not a table: invalid UTF-8 at byte 2; \
                  tables are CSV, Extra-P's text, JSON, JSON lines or .extra-p, or Cube files\n";
    assert_eq!(refused(folder.path(), &words, 1), binary);
    write(folder.path(), "t.csv", "n,send [s],p\n1,2,3\n");
    let nameless = refused(folder.path(), &["fit", "t.csv"], 2);
    assert!(
        nameless.starts_with("error: t.csv has the columns n, send [s], p: choose with --x and --y, for example --x n,p --y send\n"),
        "{nameless}"
    );
    let absent = refused(folder.path(), &["fit", "none.csv", "--x", "n", "--y", "send"], 1);
    assert_eq!(absent, "sintonia: cannot read none.csv: No such file or directory (os error 2)\n");
}

/// Eleven sizes with three repetitions each: a cube with a jump at 550, which no formula explains.
fn jump() -> String {
    let value = |n: u32| f64::from(n).powi(3) * if n < 550 { 4e-9 } else { 8.8e-9 };
    let rows = (4..=14).map(|step| 50 * step).flat_map(|n| [0.97, 1.0, 1.04].map(|noise| format!("{n},{}\n", noise * value(n))));
    rows.collect()
}

#[test]
fn what_fit_writes_is_answered_by_predict_and_the_rest_is_refused_by_fit() {
    let tables = [
        ("one repetition", "10,1e-4\n20,4e-4\n40,16e-4\n80,64e-4\n".to_owned()),
        ("no growth", "10,5\n20,5\n40,5\n80,5\n".to_owned()),
        ("a jump", jump()),
        ("ten orders", (1..=7).map(|k| format!("1e{k},1e{}\n", k + 30)).collect()),
        ("almost nothing", "1,1e-50\n2,2e-50\n4,4e-50\n8,8e-50\n".to_owned()),
        ("any order", "1,1e-59\n2,1e59\n4,1\n8,2\n".to_owned()),
        ("almost one size", "1,1\n1.000000001,2\n1.000000002,3\n1.000000003,4\n".to_owned()),
        ("faster than any power", "2,4\n4,16\n8,256\n16,65536\n32,4294967296\n".to_owned()),
        ("zero", "10,1\n20,0\n40,4\n".to_owned()),
        ("a negative value", "10,1\n20,-1\n40,4\n".to_owned()),
        ("size zero", "0,1\n20,2\n40,4\n".to_owned()),
        ("two sizes", "10,1\n20,2\n".to_owned()),
    ];
    for (name, rows) in tables {
        for form in [&[][..], &["--pieces"]] {
            let folder = fresh_dir();
            write(folder.path(), "t.csv", format!("n,t [s]\n{rows}"));
            let fitted = command(folder.path(), &[&["fit", "t.csv", "--x", "n", "--y", "t", "-o", "m.toml"], form].concat());
            fitted.expect_no_crash();
            assert_eq!(fitted.status == 0, folder.path().join("m.toml").exists(), "{name} {form:?}: {}", fitted.text());
            if fitted.status == 0 {
                let predicted = predict(folder.path(), &["m.toml", "-p", "n=3,700,1600"]);
                for row in list(&predicted["predictions"]) {
                    let [low, middle, high] = [0, 1, 2].map(|place| number(&row["seconds"][place]));
                    assert!(0.0 <= low && low <= middle && middle <= high, "{name} {form:?}: {row}");
                }
            } else {
                assert!(fitted.stderr.starts_with("sintonia: t.csv:"), "{name} {form:?}: {}", fitted.stderr);
            }
        }
    }
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_done() {
    let folder = fresh_dir();
    let rows: String = (1..=8).map(|n| format!("{n},{}\n", 3 * n)).collect();
    write(folder.path(), "t.csv", format!("n,send [s]\n{rows}"));
    write(folder.path(), "old.toml", "mine");
    let to = |options: &[&str]| refused(folder.path(), &[&["fit", "t.csv", "--x", "n", "--y", "send"], options].concat(), 1);
    assert_eq!(to(&["-o", "none/m.toml"]), "sintonia: cannot write none/m.toml: no directory none\n");
    assert_eq!(to(&["-o", "."]), "sintonia: . is a directory: give a file name\n");
    assert_eq!(to(&["-o", "m.toml", "--plot", "none/m.svg"]), "sintonia: cannot write none/m.svg: no directory none\n");
    assert_eq!(to(&["-o", "old.toml"]), "sintonia: old.toml already exists: choose another name with -o, or replace it with --force\n");
    assert_eq!(to(&["-o", "/dev/full"]), "sintonia: cannot write /dev/full: No space left on device (os error 28)\n");
    // Root may write here, too: then nothing is refused.
    let locked = folder.path().join("locked");
    std::fs::create_dir(&locked).expect("a new folder");
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o555)).expect("one's own folder");
    if std::fs::write(locked.join("probe"), "").is_err() {
        assert!(to(&["-o", "locked/m.toml"]).starts_with("sintonia: cannot write locked/m.toml: Permission denied"));
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("old.toml")).expect("it is there"), "mine");
}

/// Table 1 of Laine and Midorikawa (2003): bytes, and microseconds to send and to receive them.
const TABLE_1: &str = "n,send [us],receive [us]\n6824,540.280,589.330\n13652,1130.440,1173.100\n21844,1830.230,1873.660\n\
    43688,3686.130,3733.970\n65536,5726.130,5593.890\n131072,13198.730,13246.380\n218452,20629.029,20704.529\n349524,31766.000,31851.359\n\
    524288,46636.770,46744.352\n1048576,91211.102,91303.109\n1747624,150591.703,150686.453\n3495252,299122.563,299219.250\n\
    5592404,477389.344,477482.906\n";

#[test]
fn table_1_of_the_paper_has_its_break_and_its_coefficients_to_five_digits() {
    let folder = fresh_dir();
    write(folder.path(), "t.csv", TABLE_1);
    // Of the first slope of receiving, the paper prints three digits; these are of the least squares of its rows.
    let printed = [("send", [(0.0879182, -82.0523), (0.0849931, 2065.49)]), ("receive", [(0.0852255, 9.70620), (0.0849968, 2146.19)])];
    for (column, lines) in printed {
        let answer = json_output(command(folder.path(), &["fit", "t.csv", "--x", "n", "--y", column, "--pieces", "--json"]));
        let pieces = list(&answer["models"][0]["pieces"]);
        assert_eq!((pieces.len(), number(&pieces[0]["to"])), (2, 65536.0), "{answer}");
        for (piece, (slope, intercept)) in pieces.iter().zip(lines) {
            let [found_slope, found_intercept] = ["slope", "intercept"].map(|key| 1e6 * number(&piece[key][1]));
            assert!((found_slope / slope - 1.0).abs() < 1e-5 && (found_intercept / intercept - 1.0).abs() < 1e-5, "{column}: {piece}");
        }
    }
}

#[test]
fn tables_2_to_4_of_the_paper_are_predicted_no_worse_than_printed() {
    // Orders of matrices, seconds, the errors in percent of the published formulas, and the orders that are fitted.
    type Table = (&'static [f64], &'static [f64], &'static [f64], &'static [f64]);
    const FIVE: &[f64] = &[100.0, 200.0, 300.0, 400.0, 500.0];
    let tables: [(&str, Table); 3] = [
        ("2", (FIVE, &[0.001558, 0.007773, 0.018397, 0.032864, 0.052005], &[-0.42, -0.34, 0.65, -0.40, 0.09], FIVE)),
        ("3", (FIVE, &[0.275609, 2.662435, 9.220848, 23.04117, 45.12641], &[-10.82, 4.48, -1.94, 0.52, -0.07], FIVE)),
        (
            "4",
            (
                &[100.0, 200.0, 250.0, 300.0, 400.0, 450.0, 500.0],
                &[0.316625, 2.785438, 5.326959, 9.47386, 23.52449, 32.80233, 45.87755],
                &[-2.85, -8.40, -0.90, -0.58, -2.42, 0.19, -1.46],
                FIVE,
            ),
        ),
    ];
    for (name, (orders, seconds, printed, fitted)) in tables {
        let folder = fresh_dir();
        let rows = orders.iter().zip(seconds).filter(|(n, _)| fitted.contains(n)).map(|(n, s)| format!("{n},{s}\n")).collect::<String>();
        write(folder.path(), "t.csv", format!("n,time [s]\n{rows}"));
        json_output(command(folder.path(), &["fit", "t.csv", "--x", "n", "--y", "time", "-o", "m.toml", "--json"]));
        let asked = orders.iter().map(|n| n.to_string()).collect::<Vec<_>>().join(",");
        let predicted = predict(folder.path(), &["m.toml", "-p", &format!("n={asked}")]);
        let largest = |errors: &mut dyn Iterator<Item = f64>| errors.map(f64::abs).fold(0.0, f64::max);
        let rows = list(&predicted["predictions"]).iter().zip(seconds);
        let own = largest(&mut rows.map(|(row, took)| 100.0 * (number(&row["seconds"][1]) / took - 1.0)));
        // Two digits are printed.
        assert!(own <= largest(&mut printed.iter().copied()) + 0.005, "Table {name}: {own} %");
    }
}

/// Orders of matrices and seconds, and the polynomial that the paper prints: power, coefficient and the last digit printed of it.
type PrintedPolynomial = (&'static str, [(f64, f64); 5], &'static [(u32, f64, f64)]);

const PRINTED_POLYNOMIALS: [PrintedPolynomial; 2] = [
    (
        "c2*n^2 + c1*n + c0",
        [(100., 0.001558), (200., 0.007773), (300., 0.018397), (400., 0.032864), (500., 0.052005)],
        &[(2, 2.12e-7, 1e-9), (1, -1.27e-6, 1e-8), (0, -0.00043, 1e-5)],
    ),
    (
        "c3*n^3 + c2*n^2 + c1*n + c0",
        [(100., 0.275609), (200., 2.662435), (300., 9.220848), (400., 23.04117), (500., 45.12641)],
        &[(3, 3.41e-7, 1e-9), (2, 2.63e-5, 1e-7), (1, -9.38e-3, 1e-5), (0, 0.64, 1e-2)],
    ),
];

#[test]
fn the_polynomials_of_the_paper_are_found_when_their_form_is_given() {
    let folder = fresh_dir();
    for (form, rows, printed) in PRINTED_POLYNOMIALS {
        let rows: String = rows.iter().map(|(n, seconds)| format!("{n},{seconds}\n")).collect();
        write(folder.path(), "t.csv", format!("n,time [s]\n{rows}"));
        let degree = printed[0].0.to_string();
        for given in [["--form", form], ["--degree", &degree]] {
            let words = [&["fit", "t.csv", "--x", "n", "--y", "time", "--json"][..], &given].concat();
            let found = &json_output(command(folder.path(), &words))["models"][0]["coefficients"];
            for (power, coefficient, digit) in printed {
                let [low, value, high] = [0, 1, 2].map(|place| number(&found[format!("c{power}")][place]));
                assert!((value - coefficient).abs() <= *digit && low < value && value < high, "{given:?}: {found}");
            }
        }
    }
    let words = ["fit", "t.csv", "--x", "n", "--y", "time", "--form", "a*n^3 + n^b", "-o", "m.toml"];
    let said = "sintonia: t.csv: invalid form: this is not a coefficient times powers and logarithms of n, with numbers as exponents; \
                of a sum in parentheses, write each product with a coefficient of its own\n    a*n^3 + n^b\n            ^^^\n";
    assert_eq!(refused(folder.path(), &words, 1), said);
}

#[test]
fn what_columns_are_is_said_by_names_headers_and_options() {
    let folder = fresh_dir();
    let rows: String = [1, 2, 4, 8, 16].map(|np| format!("{np};{},5;{}\n", 60 / np, 3 * np * np + np)).concat();
    write(folder.path(), "t.csv", format!("np;time [s];sent\n{rows}"));
    fn fit<'a>(options: &[&'a str]) -> Vec<&'a str> {
        [&["fit", "t.csv", "--x", "np"], options].concat()
    }
    let timed = json_output(command(folder.path(), &fit(&["--y", "time", "-o", "m.toml", "--json"])));
    assert_eq!(timed["parameters"][0]["kind"], "processes", "{timed}");
    let fraction = refused(folder.path(), &["predict", "m.toml", "-p", "np=2.5"], 1);
    assert_eq!(fraction, "sintonia: m.toml: np cannot be 2.5: it is a number of processes, which must be a positive integer\n");
    let counted = json_output(command(folder.path(), &fit(&["--y", "sent", "--kind", "sent=count,np=size", "--json"])));
    assert_eq!([&counted["models"][0]["formula"], &counted["parameters"][0]["kind"]], ["3*np^2 + np", "size"], "counts are exact");
    for (options, said) in [
        (&["--y", "time", "--kind", "np=big"][..], "error: --kind np=big: `big` is none of unknown, size, processes, time, bytes, count\n"),
        (&["--y", "time", "--kind", "q=size"], "error: --kind q=size: no parameter or measured column `q`\n"),
        (&["--y", "time", "--kind", "time=size"], "error: --kind time=size: a measured value is time, bytes or count\n"),
    ] {
        assert!(refused(folder.path(), &fit(options), 2).starts_with(said), "{options:?}");
    }
    let other_unit = refused(folder.path(), &fit(&["--y", "time", "--unit", "ms"]), 1);
    assert!(other_unit.starts_with("sintonia: t.csv:1: the header says `time [s]`, so the unit of `time` cannot be `ms`"), "{other_unit}");
}

#[test]
fn all_series_of_a_table_are_in_one_model_file() {
    let folder = fresh_dir();
    let region =
        |k: u32| format!("REGION main->r{k}\n{}", [1, 2, 4, 8, 16].map(|n| format!("DATA {} {}\n", k * n * n, k * n * n)).concat());
    let regions: String = (1..=30).map(region).collect();
    write(folder.path(), "t.txt", format!("PARAMETER n\nPOINTS 1 2 4 8 16\nMETRIC time\n{regions}"));
    json_output(command(folder.path(), &["fit", "t.txt", "--unit", "ms", "-o", "m.toml", "--json"]));
    let all = predict(folder.path(), &["m.toml", "-p", "n=32"]);
    assert_eq!(list(&all["series"]).len(), 30);
    for (k, series) in (1..).zip(list(&all["series"])) {
        assert_eq!([&series["region"], &series["metric"], &series["unit"]], [&json!(format!("main->r{k}")), &json!("time"), &json!("s")]);
        let seconds = number(&series["predictions"][0]["seconds"][1]);
        assert!((seconds / (1.024 * f64::from(k)) - 1.0).abs() < 0.01, "{series}");
    }
    let one = predict(folder.path(), &["m.toml", "-p", "n=32", "--where", "region=main->r7"]);
    assert_eq!(one["predictions"], all["series"][6]["predictions"]);
    let screen = command(folder.path(), &["predict", "m.toml", "-p", "n=32", "--where", "metric=time"]);
    assert_eq!(screen.stdout.matches("predicted time").count(), 30);
    let none = refused(folder.path(), &["predict", "m.toml", "-p", "n=32", "--where", "metric=visits"], 1);
    assert_eq!(none, "sintonia: m.toml: no metric `visits`; available: time\n");
    let drawn = refused(folder.path(), &["predict", "m.toml", "-p", "n=32", "--plot", "m.svg"], 2);
    assert!(drawn.starts_with("error: a plot shows one series: choose it with --where region=NAME\n"), "{drawn}");
    let named = refused(folder.path(), &["fit", "t.txt", "--unit", "ms", "--name", "one"], 2);
    assert!(named.starts_with("error: --name is for one model, but there are 30 series: select one with --y and --where\n"), "{named}");
}

#[test]
fn remarks_about_each_of_many_series_are_shown_with_its_name() {
    let folder = fresh_dir();
    let region = |k: u32| {
        // The values of one region rise and fall, as no formula does.
        let value = |n: u32| if k == 5 { 1 + 2 * (n % 2) } else { k * n };
        format!("REGION r{k}\n{}", (1..=8).map(|n| format!("DATA {0} {0}\n", value(n))).collect::<String>())
    };
    write(folder.path(), "t.txt", format!("PARAMETER n\nPOINTS 1 2 3 4 5 6 7 8\nMETRIC time\n{}", (1..=8).map(region).collect::<String>()));
    let screen = command(folder.path(), &["fit", "t.txt", "--unit", "s"]).stdout;
    assert!(screen.contains("8 models") && screen.contains("r5: time: no formula fits: "), "{screen}");
    let found = json_output(command(folder.path(), &["fit", "t.txt", "--unit", "s", "--json"]));
    let models = list(&found["models"]);
    let misfits: Vec<usize> = (0..8)
        .filter(|k| list(&models[*k]["notes"]).iter().any(|note| note.as_str().is_some_and(|note| note.contains("no formula fits"))))
        .collect();
    assert_eq!(misfits, [4], "{found}");
    assert_eq!([&models[4]["parameters"][0]["to"], &models[4]["unit"]], [&json!(8.0), &json!("s")]);
    assert!(models[4]["noise_percent"].is_number(), "{found}");
}

#[test]
fn a_plot_that_cannot_be_written_leaves_no_model_behind() {
    let folder = fresh_dir();
    write(folder.path(), "t.csv", "n,t [s]\n1,2\n2,4\n3,6\n4,8\n");
    // A full device: it can be opened, and writing fails.
    let words = ["fit", "t.csv", "--x", "n", "--y", "t", "-o", "m.toml", "--plot", "/dev/full"];
    let outcome = command(folder.path(), &words);
    assert_eq!(outcome.status, 1, "{}", outcome.text());
    assert!(!folder.path().join("m.toml").exists(), "{}", outcome.text());
}

/// A ZIP archive with one uncompressed member.
fn zip(name: &str, content: &str) -> Vec<u8> {
    let mut checksum = flate2::Crc::new();
    checksum.update(content.as_bytes());
    let sizes = [checksum.sum(), content.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
    let head = [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0], &sizes[..], &[name.len() as u8, 0, 0, 0]].concat();
    let member = [b"PK\x03\x04", &head[..], name.as_bytes(), content.as_bytes()].concat();
    let directory = [b"PK\x01\x02\x14\0", &head[..], &[0; 14], name.as_bytes()].concat();
    let place = [directory.len() as u32, member.len() as u32].map(u32::to_le_bytes).concat();
    [member, directory, b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec(), place, vec![0, 0]].concat()
}

/// A Cube file with the time of `main` on one thread.
fn cubex(seconds: f64) -> Vec<u8> {
    let anchor = "<cube><metrics><metric id=\"1\" type=\"INCLUSIVE\"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype><uom>sec</uom></metric>\
                  </metrics><program><region id=\"0\"><name>main</name></region><cnode id=\"0\" calleeId=\"0\"/></program><system>\
                  <location Id=\"0\"/></system></cube>";
    let data = [b"CUBEX.DATA", &seconds.to_le_bytes()[..]].concat();
    let index = b"CUBEX.INDEX\x01\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0".to_vec();
    let mut archive = Vec::new();
    for (name, content) in [("anchor.xml", anchor.as_bytes().to_vec()), ("1.index", index), ("1.data", data)] {
        let header = archive.len();
        archive.resize(header + 512, 0);
        archive[header..header + name.len()].copy_from_slice(name.as_bytes());
        archive[header + 124..header + 135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive
}

#[test]
fn the_formats_of_extra_p_and_cube_files_give_the_same_formula() {
    let folder = fresh_dir();
    let sizes = [10, 20, 30, 40, 50];
    let talpas = |n: i32| format!("{{\"parameters\":{{\"n\":{n}}};\"metric\":\"time\";\"callpath\":\"main\";\"value\":{}}}\n", n * n);
    write(folder.path(), "talpas.txt", sizes.map(talpas).concat());
    let saved = sizes.map(|n| format!("{{\"coordinate\":[{n}],\"mean\":{},\"median\":0}}", n * n)).join(",");
    let saved = format!("{{\"Extra-P\":\"4.2.5\",\"parameters\":[\"n\"],\"measurements\":{{\"main\":{{\"time\":[{saved}]}}}}}}");
    write(folder.path(), "saved.extra-p", zip("experiment.json", &saved));
    for n in sizes {
        let run = folder.path().join("cube").join(format!("mm.n{n}p4.r1"));
        std::fs::create_dir_all(&run).expect("a new folder");
        write(&run, "profile.cubex", cubex(f64::from(n * n)));
    }
    for (name, options, unit) in [("talpas.txt", &["--unit", "s"][..], "s"), ("saved.extra-p", &[], ""), ("cube", &[], "s")] {
        let answer = json_output(command(folder.path(), &[&["fit", name, "--json"], options].concat()));
        let model = &answer["models"][0];
        assert_eq!([&model["formula"], &model["name"], &model["unit"]], ["n^2", "main: time", unit], "{name}");
    }
    write(folder.path(), "saved.extra-p", zip("experiment.json", &saved.replace("\"mean\":100", "\"mean\":ten")));
    let wrong = refused(folder.path(), &["fit", "saved.extra-p"], 1);
    assert!(wrong.starts_with("sintonia: saved.extra-p: experiment.json:1: expected ident (column "), "{wrong}");
    write(&folder.path().join("cube/mm.n20p4.r1"), "profile.cubex", &cubex(1.0)[..2100]);
    let cut = refused(folder.path(), &["fit", "cube"], 1);
    assert_eq!(cut, "sintonia: cube/mm.n20p4.r1/profile.cubex: the file ends too early (at byte 2100)\n");
}

/// Records a program of a size on `ranks` ranks; returns the path.
fn run(mpi: &Mpi, name: &str, folder: &Path, n: u64, ranks: usize) -> String {
    let program = Program::find(name);
    let file = format!("{}-{n}-{ranks}.sin", name.replace('/', "-"));
    let path: PathBuf = folder.join(&file);
    let mut command = program.build(mpi).expect("every library runs it");
    *command.last_mut().expect("the program has an argument") = n.to_string();
    let words = record_command(&path, &["--param", &format!("n={n}")], mpi.launch(ranks, &command));
    program.process(mpi, words).run_in(folder).expect_status(0);
    remove_missing_cores(&path);
    file
}

fn command(folder: &Path, words: &[&str]) -> Outcome {
    Process::new([sintonia()].into_iter().chain(words.iter().map(|word| word.to_string()))).run_in(folder)
}

/// What is said when a command is refused with this status; nothing is written then.
fn refused(folder: &Path, words: &[&str], status: i32) -> String {
    let names =
        || std::fs::read_dir(folder).expect("the folder of the test").flatten().map(|entry| entry.file_name()).collect::<BTreeSet<_>>();
    let before = names();
    let outcome = command(folder, words);
    outcome.expect_no_crash().expect_status(status);
    assert_eq!(outcome.stdout, "", "{words:?}");
    assert_eq!(names(), before, "{words:?}");
    outcome.stderr
}

fn json_output(outcome: Outcome) -> Value {
    outcome.expect_no_crash().expect_status(0);
    serde_json::from_str(&outcome.stdout).expect("one object")
}

fn fit(folder: &Path, runs: &[String], options: &[&str]) -> Value {
    let words = ["fit", "--json"].into_iter().chain(runs.iter().map(String::as_str)).chain(options.iter().copied());
    json_output(command(folder, &words.collect::<Vec<_>>()))
}

fn predict(folder: &Path, options: &[&str]) -> Value {
    json_output(command(folder, &["predict", "--json"].into_iter().chain(options.iter().copied()).collect::<Vec<_>>()))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}
