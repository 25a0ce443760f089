//! `sintonia bench`: what it measures under real launchers, and what it says when it cannot.
//!
//! How long anything takes is the machine's business; what is asked here is that it is there, that it makes sense beside the other figures,
//! and that the file is read again.

use std::path::Path;

use serde_json::Value;
use sintonia_tests::{BusyLoops, Family, Hosts, Mpi, Outcome, Process, for_every_mpi, fresh_dir, retry_assertions, sintonia};

/// Options that keep a bench short, and do not refuse a busy machine: what is measured is the same.
const SHORT: [&str; 6] = ["--quick", "--budget", "20", "--max-bytes", "16384", "--allow-disturbed"];
const FILE: &str = "m.machine.toml";

#[test]
fn a_machine_is_measured_under_every_launcher() {
    for_every_mpi(|mpi| {
        // On a busy machine the budget is too short for everything, or figures are disturbed, which is said: then it is tried again.
        retry_assertions(|| {
            let folder = fresh_dir();
            bench(mpi, folder.path(), &SHORT, mpi.launch(2, &[])).expect_status(0);
            let machine = shown(folder.path(), FILE);
            assert_eq!((machine["processes"].as_u64(), machine["launches"].as_u64()), (Some(2), Some(1)), "{}", mpi.name);
            assert_eq!(machine["oversubscribed"], false);
            assert!(machine["disturbance"].as_f64().is_some_and(|disturbance| disturbance >= 0.0), "{machine}");
            assert_eq!(machine["mpi"].to_string().contains("libmpi_abi"), mpi.family == Family::Standard, "{machine}");
            let (_, network) = machine["networks"].as_object().expect("networks").iter().next().expect("a network");
            check_figures(&machine);
            let notes = machine["notes"].to_string();
            for lacks in ["points of messages", "points of collectives", "for lack of time", "contradict"] {
                assert!(!notes.contains(lacks), "{}: incomplete: {notes}", mpi.name);
            }
            check_all_is_measured(mpi, &machine, network);
        });
    });
}

fn check_all_is_measured(mpi: &Mpi, machine: &Value, network: &Value) {
    for what in ["send", "synchronous_send", "buffered_send", "ready_send", "start_send", "wait_send", "receive", "transfer"] {
        let message = &network["messages"][what];
        let [sizes, samples] = ["sizes", "samples"].map(|key| message["measured"][key].as_u64().expect("a number"));
        assert!(sizes > 20 && samples >= 2 * sizes, "{}: {what}: {message}", mpi.name);
        assert_eq!(message["measured"]["bytes"], serde_json::json!([0, 16_384]));
    }
    for what in ["barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall", "reduce_scatter_block", "scan"] {
        assert_eq!(machine["groups"][what]["at"][0]["processes"], 2, "{}: {what}", mpi.name);
    }
    check_thresholds(mpi, network);
}

/// Every figure is an interval around its middle.
fn check_figures(value: &Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let of_interval = ["_s", "_s_per_byte", "share"].iter().any(|ending| key.ends_with(ending));
                if let (true, Some(figure)) = (of_interval, value.as_array()) {
                    let numbers: Vec<f64> = figure.iter().filter_map(Value::as_f64).collect();
                    assert!(numbers.len() == 3 && numbers[0] <= numbers[1] && numbers[1] <= numbers[2], "{key}: {value}");
                }
                check_figures(value);
            }
        }
        Value::Array(values) => values.iter().for_each(check_figures),
        _ => {}
    }
}

/// Thresholds that the libraries document for messages within a node, less their headers. Where none is documented, there is one order.
fn check_thresholds(mpi: &Mpi, network: &Value) {
    let [eager, unattended, detached] =
        ["eager_bytes", "unattended_bytes", "detached_bytes"].map(|key| network[key].as_u64().unwrap_or(u64::MAX));
    assert!(unattended <= eager, "{}: {network}", mpi.name);
    if mpi.name == "openmpi" {
        // btl_vader_eager_limit is 4096, of which a header takes 56.
        assert_eq!((eager, detached), (4040, 4040), "{network}");
    }
}

#[test]
fn more_sizes_come_with_more_processes() {
    let mpi = Mpi::named("mpich");
    let folder = fresh_dir();
    bench(&mpi, folder.path(), &SHORT, mpi.launch(3, &[])).expect_status(0);
    let machine = shown(folder.path(), FILE);
    let sizes: Vec<u64> =
        machine["groups"]["bcast"]["at"].as_array().expect("sizes").iter().filter_map(|at| at["processes"].as_u64()).collect();
    assert_eq!(sizes, [2, 3]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(machine["oversubscribed"], cores < 3, "three processes on {cores} cores");
}

#[test]
fn processes_on_other_hosts_have_a_class_of_their_own() {
    let Some(hosts) = Hosts::create() else { return };
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    bench(&mpi, folder.path(), &SHORT, hosts.launch(&mpi, 2, 1, &[])).expect_status(0);
    let machine = shown(folder.path(), FILE);
    assert_eq!(
        machine["networks"].as_object().map(|networks| networks.keys().cloned().collect::<Vec<_>>()),
        Some(vec!["other_node".into()])
    );
    assert_eq!(machine["nodes"][0]["count"], 2, "two hosts of one kind");
}

#[test]
fn processes_of_two_hosts_measure_the_link_they_share() {
    /// Slow enough that two pairs of processes on one machine could send more than the link carries.
    const BITS_PER_S: u64 = 100_000_000;
    let Some(hosts) = Hosts::create() else { return };
    if !hosts.limit_bandwidth(BITS_PER_S) {
        return;
    }
    let mpi = Mpi::named("openmpi");
    retry_assertions(|| {
        let folder = fresh_dir();
        // Short messages would fit into what the link may send at once.
        bench(&mpi, folder.path(), &["--quick", "--allow-disturbed"], hosts.launch(&mpi, 4, 2, &[])).expect_status(0);
        let machine = shown(folder.path(), FILE);
        assert!(machine["notes"].to_string().contains("the bandwidth of a link is that of 2 pairs of processes at once"), "{machine}");
        assert_eq!(machine["topology"]["kind"], "crossbar", "{machine}");
        let bandwidth = machine["topology"]["link"]["bytes_per_s"][1].as_f64().expect("a bandwidth");
        let limit = BITS_PER_S as f64 / 8.0;
        assert!((limit / 1.5..limit * 1.5).contains(&bandwidth), "{bandwidth} instead of {limit} bytes per second");
    });
}

#[test]
fn the_budget_holds_on_a_machine_with_other_work_and_what_is_missing_is_said() {
    let mpi = Mpi::named("openmpi");
    retry_assertions(|| {
        let folder = fresh_dir();
        let others = BusyLoops::on_all_cores();
        let budget = ["--budget", "12", "--launches", "2", "--allow-disturbed"];
        // Three times the budget; without a budget that holds it takes minutes.
        let outcome = bench_within(36, &mpi, folder.path(), &budget, mpi.launch(2, &[]));
        drop(others);
        outcome.expect_status(0);
        assert!(outcome.stderr.contains("measuring: "), "progress without a terminal: {}", outcome.text());
        let machine = shown(folder.path(), FILE);
        let notes = machine["notes"].to_string();
        assert!(notes.contains("no time for "), "{notes}");
        assert!(notes.contains("other programs used"), "{notes}");
    });
}

#[test]
fn without_a_launcher_computation_and_memory_are_measured() {
    let folder = fresh_dir();
    let command = [sintonia(), "bench".into(), "--quick".into(), "--allow-disturbed".into(), "-o".into(), FILE.into()];
    let outcome = Process::new(command).env(&[("PATH".into(), "/nowhere".into())]).run_in(folder.path());
    outcome.expect_status(0);
    let machine = shown(folder.path(), FILE);
    assert_eq!(machine["networks"], serde_json::json!({}));
    let compute = &machine["nodes"][0]["compute"];
    for of in ["int32", "int64", "float32", "float64"] {
        for what in ["add", "subtract", "multiply", "divide", "remainder", "compare", "convert", "store", "load"] {
            assert!(compute[of][what]["latency_s"][1].as_f64() > Some(0.0), "{of} {what}: {compute}");
        }
    }
    assert!(machine["nodes"][0]["memory"].as_array().is_some_and(|levels| !levels.is_empty()), "{machine}");
    assert!(machine["notes"].to_string().contains("no mpirun found"), "{machine}");
}

#[test]
fn what_is_no_launcher_is_told_so() {
    for (launcher, message) in [
        (&["true"][..], "`true` ended without running the benchmark"),
        (&["env"], "`env` started only one process"),
        (&["false"], "`false` ended with exit status: 1 before anything was measured"),
        (&["no-such-launcher"], "cannot start `no-such-launcher`: No such file"),
    ] {
        let outcome = fails(launcher.iter().map(ToString::to_string).collect(), &[]);
        assert!(outcome.stderr.contains(message), "{}", outcome.text());
    }
}

#[test]
fn a_process_that_dies_leaves_no_file() {
    for_every_mpi(|mpi| {
        let script = "test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} != 1 || exec timeout -s KILL 2 \"$@\"; exec \"$@\"";
        let outcome = fails(mpi.launch(2, &["sh", "-c", script, "sh"].map(String::from)), &mpi.env);
        assert!(outcome.stderr.contains("before everything was measured"), "{}", outcome.text());
    });
}

/// A bench that must end with an error and leave nothing.
fn fails(launcher: Vec<String>, env: &[(String, String)]) -> Outcome {
    let folder = fresh_dir();
    let mut command = vec![sintonia(), "bench".into(), "--quick".into(), "-o".into(), FILE.into(), "--".into()];
    command.extend(launcher);
    let outcome = Process::new(command).env(env).run_in(folder.path());
    outcome.expect_status(1);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0, "{}", outcome.text());
    outcome
}

#[test]
fn a_machine_goes_to_other_tools_and_comes_back() {
    let folder = fresh_dir();
    let laine = sintonia_tests::workspace().join("crates/machine/data/laine2003.machine.toml");
    std::fs::copy(laine, folder.path().join(FILE)).expect("the file of the paper");
    let machine = std::fs::read_to_string(folder.path().join(FILE)).expect("a machine");
    // The paper has no figure for a whole transfer, which the other tools need; what a receive takes comes nearest.
    std::fs::write(folder.path().join(FILE), machine.replace("other_node.receive]", "other_node.transfer]")).expect("written");
    for file in ["m.xml", "m.cfg"] {
        convert(folder.path(), &["--from", FILE, "-o", file]).expect_status(0);
        let back = shown(folder.path(), file);
        let transfer = &back["networks"]["other_node"]["messages"]["transfer"]["pieces"];
        let slope = transfer.as_array().and_then(|pieces| pieces.last()).map(|piece| piece["slope_s_per_byte"][1].as_f64());
        assert!(slope.flatten().is_some_and(|slope| (slope / 8.499_68e-8 - 1.0).abs() < 1e-3), "{file}: {back}");
        assert_eq!(back["networks"]["other_node"]["eager_bytes"], 65_536, "{file}: {back}");
    }
}

#[test]
fn nothing_is_replaced_unasked_and_nothing_measured_in_vain() {
    let folder = fresh_dir();
    std::fs::write(folder.path().join(FILE), "mine").expect("a file");
    let refused = convert(folder.path(), &["-o", FILE]);
    refused.expect_status(1);
    assert!(refused.stderr.contains("already exists"), "{}", refused.text());
    let nowhere = convert(folder.path(), &["-o", "no/such/folder.toml"]);
    nowhere.expect_status(1);
    assert!(nowhere.stderr.contains("its directory does not exist"), "{}", nowhere.text());
    let wrong = convert(folder.path(), &["--from", FILE]);
    wrong.expect_status(1);
    assert!(wrong.stderr.starts_with("sintonia: m.machine.toml:1:"), "{}", wrong.text());
}

fn bench(mpi: &Mpi, folder: &Path, options: &[&str], launcher: Vec<String>) -> Outcome {
    bench_within(120, mpi, folder, options, launcher)
}

/// A bench that must end within this many seconds.
fn bench_within(seconds: u64, mpi: &Mpi, folder: &Path, options: &[&str], launcher: Vec<String>) -> Outcome {
    let mut command: Vec<String> = vec![sintonia(), "bench".into(), "-o".into(), FILE.into()];
    command.extend(options.iter().map(ToString::to_string));
    command.push("--".into());
    command.extend(launcher);
    Process::new(command).env(&mpi.env).env(&choice(mpi)).limit(seconds).run_in(folder)
}

/// A library's own ABI comes before the standard one, so that one has to be asked for.
fn choice(mpi: &Mpi) -> Vec<(String, String)> {
    let prefix = mpi.launcher.parent().and_then(Path::parent).expect("launchers lie in bin/");
    let standard = prefix.join("lib").join(mpi.soname).display().to_string();
    if mpi.family == Family::Standard { vec![("SINTONIA_MPI".into(), standard)] } else { Vec::new() }
}

fn convert(folder: &Path, arguments: &[&str]) -> Outcome {
    let command = [sintonia(), "bench".into()].into_iter().chain(arguments.iter().map(ToString::to_string));
    Process::new(command).run_in(folder)
}

/// A machine file as JSON.
fn shown(folder: &Path, file: &str) -> Value {
    let outcome = convert(folder, &["--from", file, "--json"]);
    outcome.expect_status(0);
    serde_json::from_str(&outcome.stdout).expect("one JSON object")
}
