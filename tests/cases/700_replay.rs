//! Recorded runs replayed: on the network as it was, on an ideal one, on a machine, with something changed.

use serde_json::Value;
use sintonia_tests::{
    Mpi, Process, Recording, for_every_mpi, fresh_dir, on_every_mpi, record_command, retry_until_ok, sintonia, workspace,
};

/// Two nodes with a slow network between them.
const MACHINE: &str = r#"
format = 1
[machine]
name = "two nodes"
[[node]]
kind = "PC"
count = 8
cores = 2
[network.same_node]
eager_bytes = 4096
send.pieces = [{ intercept_s = 5e-7, slope_s_per_byte = 1e-10 }]
receive.pieces = [{ intercept_s = 5e-7, slope_s_per_byte = 1e-10 }]
transfer.pieces = [{ intercept_s = 1.5e-6, slope_s_per_byte = 2e-10 }]
[network.other_node]
eager_bytes = 65536
send.pieces = [{ intercept_s = [4e-6, 5e-6, 6e-6], slope_s_per_byte = 1e-10 }]
receive.pieces = [{ intercept_s = 5e-6, slope_s_per_byte = 1e-10 }]
transfer.pieces = [{ intercept_s = [4e-5, 5e-5, 6e-5], slope_s_per_byte = [8e-8, 8.6e-8, 9e-8] }]
"#;

/// A replay on that machine of computation with the cores as recorded, which files for other tools contain.
const ON_RECORDED_CORES: &[&str] = &["--machine", "two.machine.toml", "--what-if", "cores=recorded"];

/// Programs that use everything MPI has, each in its own way.
const PROGRAMS: &[&str] = &[
    "c/001_send_modes",
    "c/002_wildcards",
    "c/003_waits",
    "c/004_tests",
    "c/005_self",
    "c/006_persistent",
    "c/008_sendrecv",
    "c/009_probe",
    "c/010_collectives",
    "c/011_nonblocking_collectives",
    "c/012_neighbourhood",
    "c/015_communicators",
    "c/017_intercommunicator",
    "c/018_rma",
    "c/019_io",
    "c/022_threads",
    "c/041_persistent_collectives",
    "c/042_odd_requests",
    "c/191_grid",
    "c/192_farm",
    "c/216_late_post",
    "c/219_wait_at_fence",
    "c/220_lock_competition",
];

/// `sintonia replay --json` with more options.
fn replay(recording: &Recording, options: &[&str]) -> Value {
    let mut all = vec!["--json"];
    all.extend_from_slice(options);
    let outcome = recording.sintonia("replay", &all);
    outcome.expect_no_crash().expect_status(0);
    serde_json::from_str(&outcome.stdout).expect("one JSON object")
}

fn seconds(value: &Value) -> f64 {
    value["seconds"][1].as_f64().expect("seconds have a middle")
}

/// How many calls of a function there were.
fn calls(replayed: &Value, operation: &str) -> u64 {
    let sites = replayed["call_sites"].as_array().expect("call sites");
    let counted = sites.iter().filter(|site| site["operation"] == operation).filter_map(|site| site["calls"].as_u64());
    let sum = counted.sum();
    assert!(sum > 0, "{operation} is there");
    sum
}

fn machine(recording: &Recording) {
    std::fs::write(recording.folder().join("two.machine.toml"), MACHINE).expect("the machine file is written");
}

#[test]
fn c700_every_program_is_replayed_to_its_end_and_on_its_own_network_takes_as_long_as_it_took() {
    for program in PROGRAMS {
        on_every_mpi(program, |_, _, recording| {
            // With the cores as recorded: most programs have more ranks than this host has cores.
            let same = replay(recording, &["--what-if", "cores=recorded"]);
            let measured = same["measured_s"].as_f64().expect("a time");
            let ratio = (seconds(&same) + 1e-3) / (measured + 1e-3);
            assert!((0.9..1.1).contains(&ratio), "{program}: measured {measured}, replayed {}", seconds(&same));
            machine(recording);
            for options in
                [&[][..], &["--what-if", "algorithm=mpich"], &["--what-if", "algorithm=openmpi"], &["--what-if", "wildcards=arrival"]]
            {
                let mut all = vec!["--machine", "two.machine.toml"];
                all.extend_from_slice(options);
                let there = replay(recording, &all);
                assert_eq!(there["calls"], same["calls"], "{program} {options:?}");
                let [low, middle, high] = [0, 1, 2].map(|end| there["seconds"][end].as_f64().expect("seconds are an interval"));
                assert!(low <= middle && middle <= high && low > 0.0, "{program}: {low} {middle} {high}");
            }
        });
    }
}

#[test]
fn c701_an_ideal_network_leaves_what_the_report_calls_serialisation() {
    for program in ["c/200_late_sender", "c/208_wait_at_nxn", "c/191_grid", "c/230_clean_exchange", "c/240_load_imbalance"] {
        on_every_mpi(program, |_, _, recording| {
            let report = recording.report();
            let transfer = report["efficiency"]["transfer"].as_f64().expect("a transfer efficiency");
            let ideal = replay(recording, &["--what-if", "latency=0,bandwidth=inf,cores=recorded"]);
            let measured = ideal["measured_s"].as_f64().expect("a time");
            let replayed = seconds(&ideal) / measured;
            assert!((transfer - replayed).abs() < 0.02, "{program}: the report says {transfer}, the replay {replayed}");
        });
    }
}

#[test]
fn c702_a_deadlock_on_the_other_machine_is_told_with_ranks_and_call_sites() {
    on_every_mpi("c/700_head_to_head", |_, program, recording| {
        machine(recording);
        replay(recording, &["--machine", "two.machine.toml"]);
        let stuck = recording.sintonia("replay", &["--machine", "two.machine.toml", "--what-if", "eager=0"]);
        stuck.expect_no_crash().expect_status(1);
        let said = &stuck.stderr;
        assert!(said.contains("deadlock") && said.contains("2 ranks wait for each other"), "{said}");
        let line = program.line("send");
        assert!(said.contains(&format!("rank 0 in MPI_Send at 700_head_to_head.c:{line} waits for rank 1")), "{said}");
    });
}

#[test]
fn c703_a_replay_is_a_recording_that_every_verb_reads() {
    on_every_mpi("c/191_grid", |_, _, recording| {
        machine(recording);
        let there = replay(recording, &["--machine", "two.machine.toml", "-o", "there.sin"]);
        let outcome = Process::new([sintonia(), "report".into(), "there.sin".into(), "--json".into()]).run_in(recording.folder());
        outcome.expect_status(0);
        let report: Value = serde_json::from_str(&outcome.stdout).expect("one JSON object");
        assert_eq!(report["calls"], there["calls"]);
        assert_eq!((report["unmatched"].as_u64(), report["clock_error_s"].as_f64()), (Some(0), Some(0.0)));
        let elapsed = report["elapsed_s"].as_f64().expect("a time");
        assert!((elapsed / seconds(&there) - 1.0).abs() < 0.05, "{elapsed} {}", seconds(&there));
        let again = Process::new([sintonia(), "replay".into(), "there.sin".into(), "--json".into()]).run_in(recording.folder());
        let again: Value = serde_json::from_str(&again.expect_status(0).stdout).expect("one JSON object");
        assert!((seconds(&again) / seconds(&there) - 1.0).abs() < 0.05, "a replay of a replay takes as long: {again}");
    });
}

#[test]
fn c704_what_is_asked_for_wrongly_is_told_and_what_to_do() {
    on_every_mpi("c/700_head_to_head", |_, program, recording| {
        machine(recording);
        let small = MACHINE.replace("count = 8", "count = 1").replace("cores = 2", "cores = 1");
        std::fs::write(recording.folder().join("small.machine.toml"), small).expect("the machine file is written");
        let apart =
            format!("{MACHINE}[topology]\nkind = \"graph\"\nfile = \"apart.graph\"\nbandwidth_bytes_per_s = 1e9\nlatency_s = 1e-6\n");
        std::fs::write(recording.folder().join("apart.machine.toml"), apart).expect("the machine file is written");
        std::fs::write(recording.folder().join("apart.graph"), "0 1\n2 3\n").expect("the graph is written");
        let near = format!("segment 700_head_to_head.c:{}9 x0.5", program.line("send"));
        let cases: [(&[&str], i32, &str); 8] = [
            (&["--what-if", "latancy=0"], 2, "did you mean `latency`"),
            (&["--what-if", "bandwidth=fast"], 2, "12.5MB"),
            (&["--what-if", "eager=0"], 1, "--machine"),
            (&["--what-if", &near], 1, "there is no call site"),
            (&["--machine", "small.machine.toml"], 1, "too small"),
            (&["--machine", "none.machine.toml"], 1, "none.machine.toml"),
            (&["--machine", "apart.machine.toml"], 1, "not connected"),
            (&["--sweep", "latency=0..1us"], 2, "range"),
        ];
        for (options, status, reason) in cases {
            let outcome = recording.sintonia("replay", options);
            outcome.expect_no_crash().expect_status(status);
            assert!(outcome.stderr.contains(reason), "{options:?}: {}", outcome.stderr);
        }
    });
}

#[test]
fn c705_changes_of_the_program_change_what_they_should() {
    on_every_mpi("c/240_load_imbalance", |_, _, recording| {
        let all = |options: &[&str]| seconds(&replay(recording, options));
        let now = all(&[]);
        assert!(all(&["--what-if", "compute=x0.5"]) < 0.7 * now, "half of the computation");
        assert!(all(&["--what-if", "balance=perfect"]) < 0.95 * now, "all ranks compute alike");
        assert!(all(&["--what-if", "noise=50%"]) > 1.05 * now, "disturbed");
        let sweep = recording.sintonia("replay", &["--json", "--sweep", "compute=x0.25..x1/3"]);
        let sweep: Value = serde_json::from_str(&sweep.expect_status(0).stdout).expect("one JSON object");
        let row: Vec<f64> = sweep["seconds"][0].as_array().expect("a row").iter().filter_map(Value::as_f64).collect();
        assert!(row.len() == 3 && row.is_sorted(), "{row:?}");
    });
}

#[test]
fn c706_the_pattern_of_three_runs_goes_on_to_more_ranks() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        let program = folder.path().join("stencil");
        mpi.compile(&[workspace().join("apps/stencil.c")], &program);
        let command = [program.display().to_string(), "240".into(), "12".into()];
        let run = |ranks: usize| {
            let path = folder.path().join(format!("s{ranks}.sin"));
            let outcome = Process::new(record_command(&path, &[], mpi.launch(ranks, &command))).env(&mpi.env).run_in(folder.path());
            outcome.expect_status(0);
            path.display().to_string()
        };
        let known: Vec<String> = [4, 8, 16].map(run).to_vec();
        std::fs::write(folder.path().join("many.machine.toml"), MACHINE.replace("count = 8", "count = 600")).expect("a file is written");
        let replay = |recordings: &[String], options: &[&str]| {
            let words = [sintonia(), "replay".into()].into_iter().chain(recordings.iter().cloned());
            let options = ["--json", "--machine", "many.machine.toml"].into_iter().chain(options.iter().copied()).map(String::from);
            let outcome = Process::new(words.chain(options).collect::<Vec<_>>()).run_in(folder.path());
            outcome.expect_no_crash().expect_status(0);
            serde_json::from_str::<Value>(&outcome.stdout).expect("one JSON object")
        };
        let real = replay(&[run(24)], &[]);
        let predicted = replay(&known, &["--ranks", "24"]);
        for operation in ["MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Cart_create"] {
            assert_eq!(calls(&predicted, operation), calls(&real, operation), "as many of {operation} as a real run makes: {predicted}");
        }
        let large = replay(&known, &["--ranks", "1024"]);
        assert_eq!(large["ranks"], 1024);
        assert!(seconds(&large) > 0.0 && large["notes"].to_string().contains("grid"), "{large}");
        let small = Process::new([&sintonia(), "replay", &known[0], "--json", "--machine", "many.machine.toml", "--ranks", "5000"])
            .run_in(folder.path());
        assert!(small.expect_no_crash().expect_status(1).stderr.contains("too small"), "{}", small.text());
    });
}

#[test]
fn c707_a_goal_schedule_takes_about_as_long_as_the_recording_it_came_from() {
    on_every_mpi("c/200_late_sender", |_, _, recording| {
        machine(recording);
        recording.export("run.goal");
        let played =
            Process::new([&sintonia(), "replay", "run.goal", "--json", "--machine", "two.machine.toml"]).run_in(recording.folder());
        let played: Value = serde_json::from_str(&played.expect_no_crash().expect_status(0).stdout).expect("one JSON object");
        let ratio = seconds(&played) / seconds(&replay(recording, ON_RECORDED_CORES));
        assert!((0.95..1.05).contains(&ratio), "{ratio}: {played}");
        let changes = "--json --machine two.machine.toml --what-if latency=x2 -o goal.sin";
        let command = [sintonia(), "replay".to_owned(), "run.goal".to_owned()].into_iter().chain(changes.split(' ').map(str::to_owned));
        let replayed = Process::new(command).run_in(recording.folder());
        let replayed: Value = serde_json::from_str(&replayed.expect_no_crash().expect_status(0).stdout).expect("one JSON object");
        let ratio = seconds(&replayed) / seconds(&played);
        assert!((0.95..1.05).contains(&ratio), "{ratio}: {replayed}");
        let written = Process::new([&sintonia(), "report", "goal.sin", "--json"]).run_in(recording.folder());
        written.expect_no_crash().expect_status(0);
        let alone = Process::new([&sintonia(), "replay", "run.goal"]).run_in(recording.folder());
        assert!(alone.expect_status(1).stderr.contains("--machine"), "{}", alone.text());
    });
}

#[test]
fn c708_a_trace_for_another_simulator_is_replayed_to_its_end_and_takes_about_as_long() {
    let without = ["c/017_intercommunicator", "c/018_rma", "c/219_wait_at_fence", "c/220_lock_competition"];
    for program in PROGRAMS.iter().filter(|program| !without.contains(program)).chain(&["c/200_late_sender"]) {
        on_every_mpi(program, |_, _, recording| {
            machine(recording);
            for trace in ["run.dim", "run.ti"] {
                recording.export(trace);
                let replayed =
                    Process::new([&sintonia(), "replay", trace, "--json", "--machine", "two.machine.toml"]).run_in(recording.folder());
                let replayed: Value = serde_json::from_str(&replayed.expect_no_crash().expect_status(0).stdout).expect("one JSON object");
                if *program == "c/200_late_sender" {
                    let ratio = seconds(&replayed) / seconds(&replay(recording, ON_RECORDED_CORES));
                    assert!((0.99..1.01).contains(&ratio), "{trace}, {ratio}: {replayed}");
                }
            }
        });
    }
}

/// Records c/710_fixed_work on one core; also returns the longest processor time of a rank's computation.
fn record_on_one_core(mpi: &Mpi) -> (Recording, f64) {
    let folder = fresh_dir();
    let [program, path, ledger] = ["fixed_work", "crowded.sin", "ledger"].map(|name| folder.path().join(name));
    mpi.compile(&[workspace().join("tests/programs/c/710_fixed_work.c")], &program);
    let launch = mpi.launch(2, &[program.display().to_string(), "3000000".into(), ledger.display().to_string()]);
    let command = ["taskset", "-c", "0"].map(str::to_owned).into_iter().chain(launch).collect();
    let run = Process::new(record_command(&path, &[], command)).env(&mpi.env).run_in(folder.path());
    run.expect_no_crash().expect_status(0);
    let used = std::fs::read_to_string(&ledger).expect("a ledger");
    let used = used.split_whitespace().filter_map(|number| number.parse().ok()).fold(0.0, f64::max);
    (Recording::at(run, path, folder), used)
}

#[test]
fn c710_ranks_that_share_a_core_are_replayed_as_if_each_had_one() {
    for_every_mpi(|mpi| {
        retry_until_ok(|| {
            let (recording, used) = record_on_one_core(mpi);
            let replayed = replay(&recording, &[]);
            let (measured, undisturbed) = (replayed["measured_s"].as_f64().expect("a time"), seconds(&replayed));
            let share = replayed["core_wait_share"].as_f64().unwrap_or(0.0);
            // Two ranks that always want the core have it half of the time each.
            let is_crowded = measured > 1.6 * used && share > 0.3;
            let agrees = (0.9..1.5).contains(&(undisturbed / used));
            // A time slice of the scheduler takes milliseconds.
            let latency = replayed["recorded_network"]["latency_s"].as_f64();
            let has_no_slice = latency.is_none_or(|latency| latency < 0.5e-3);
            let is_said = replayed["notes"].to_string().contains("waited for a core");
            match is_crowded && agrees && has_no_slice && is_said {
                true => Ok(()),
                false => Err(format!("{}: {used} s of processor time: {replayed}", mpi.name)),
            }
        });
    });
}
