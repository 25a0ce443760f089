//! Call paths: those of each MPI call are the ones that another unwinder sees, whatever the stack, and the program is not disturbed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sintonia_tests::{Mpi, Outcome, Process, for_every_mpi, fresh_dir, record_command, sintonia};

const PATHS: &str = include_str!("110_call_paths/paths.c");
const STACKS: &str = include_str!("110_call_paths/stacks.c");
const PLUGINS: &str = include_str!("110_call_paths/plugins.c");
const BAD_STACKS: &str = include_str!("110_call_paths/bad_stacks.c");

fn compile(mpi: &Mpi, folder: &Path, source: &str, options: &[&str], name: &str) {
    let file = folder.join("program.c");
    std::fs::write(&file, source).expect("written");
    let mut command = Command::new(&mpi.cc[0]);
    command.args(&mpi.cc[1..]).args(["-g", "-pthread"]).args(options).arg("-o").arg(folder.join(name)).arg(&file).args(&mpi.link);
    assert!(command.status().expect("the compiler runs").success());
}

/// Records `./program` with these options and arguments.
fn record(mpi: &Mpi, folder: &Path, options: &[&str], arguments: &[&str]) -> (Outcome, PathBuf) {
    let recording = folder.join("run.sin");
    let program: Vec<String> = ["./program"].iter().chain(arguments).map(ToString::to_string).collect();
    let options = [&["--force"], options].concat();
    let outcome = Process::new(record_command(&recording, &options, mpi.launch(2, &program))).env(&mpi.env).run_in(folder);
    outcome.expect_status(0);
    (outcome, recording)
}

fn header(recording: &Path) -> Value {
    let text = std::fs::read_to_string(recording.join("recording.json")).expect("a header");
    serde_json::from_str(&text).expect("JSON")
}

/// The call sites that have no other below them, as paths of functions of the program, innermost first.
fn recorded_paths(recording: &Path) -> Vec<Vec<String>> {
    let header = header(recording);
    let sites = header["sites"].as_array().expect("sites");
    let callers: BTreeSet<u64> = sites.iter().filter_map(|site| site["caller"].as_u64()).collect();
    let function = |site: &Value| {
        let is_own = site["module"].as_str().is_some_and(|module| module.ends_with("/program"));
        let outermost = site["frames"].as_array().and_then(|frames| frames.last());
        outermost.and_then(|frame| frame["function"].as_str()).filter(|_| is_own).map(str::to_owned)
    };
    let path = |leaf: u64| {
        let caller = |site: &u64| sites[*site as usize]["caller"].as_u64();
        std::iter::successors(Some(leaf), caller).filter_map(|site| function(&sites[site as usize])).collect::<Vec<String>>()
    };
    (0..sites.len() as u64).filter(|site| !callers.contains(site)).map(path).collect()
}

/// The paths to the wrapper that the program printed.
fn printed_paths(outcome: &Outcome) -> BTreeSet<Vec<String>> {
    let paths = outcome.stdout.lines().filter_map(|line| line.strip_prefix("path "));
    paths.map(|path| path.split(' ').map(str::to_owned).collect()).collect()
}

fn wrapper_paths(recording: &Path) -> BTreeSet<Vec<String>> {
    recorded_paths(recording).into_iter().filter(|path| path.first().is_some_and(|first| first == "wrapper")).collect()
}

/// Calls of the wrapper by its nearest caller, from the report.
fn calls_by_caller(recording: &Path, folder: &Path) -> BTreeMap<String, u64> {
    let outcome = Process::new([sintonia().as_str(), "report", "--json", &recording.display().to_string()]).run_in(folder);
    let report: Value = serde_json::from_str(&outcome.expect_status(0).stdout).expect("JSON");
    let mut calls = BTreeMap::new();
    for site in report["call_sites"].as_array().expect("call sites").iter().filter(|site| site["operation"] == "MPI_Allreduce") {
        let caller = site["callers"][0].as_str().unwrap_or("none");
        let name = caller.split(':').next().expect("a name").to_owned();
        *calls.entry(name).or_default() += site["calls"].as_u64().expect("a number");
    }
    calls
}

#[test]
fn c110_paths_are_those_that_the_c_library_sees() {
    for_every_mpi(|mpi| {
        for options in
            [&["-O0"][..], &["-O2", "-fomit-frame-pointer"], &["-O2", "-fno-omit-frame-pointer"], &["-O1", "-no-pie", "-fno-pie"]]
        {
            let folder = fresh_dir();
            compile(mpi, folder.path(), PATHS, &[options, &["-rdynamic"]].concat(), "program");
            let (outcome, recording) = record(mpi, folder.path(), &[], &[]);
            let printed = printed_paths(&outcome);
            assert!(printed.len() >= 8, "{}", outcome.text());
            assert_eq!(wrapper_paths(&recording), printed, "{options:?}");
            // Each of 2 ranks called it 5 times each way itself, and several times through others.
            let calls = calls_by_caller(&recording, folder.path());
            assert_eq!(calls.values().sum::<u64>(), 2 * outcome.stdout.lines().filter(|line| line.starts_with("path ")).count() as u64);
            let sides: BTreeSet<&str> = calls.keys().map(String::as_str).collect();
            assert_eq!(sides, ["left", "right"].into(), "{options:?}");
        }
    });
}

#[test]
fn c111_the_depth_of_paths_is_limited() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), PATHS, &["-O2", "-rdynamic"], "program");
        let longest = |options: &[&str], arguments: &[&str]| {
            let (_, recording) = record(mpi, folder.path(), options, arguments);
            wrapper_paths(&recording).iter().map(Vec::len).max()
        };
        assert_eq!(longest(&["--callpath", "off"], &[]), Some(1));
        assert_eq!(longest(&["--callpath", "3"], &[]), Some(3));
        // wrapper, left and main, and 101 times deeper: the innermost 64 are recorded.
        assert_eq!(longest(&[], &["100"]), Some(64));
        assert_eq!(longest(&[], &["20"]), Some(24));
        let refused = Process::new(record_command(&folder.path().join("no.sin"), &["--callpath", "few"], vec!["true".into()]));
        let refused = refused.run_in(folder.path());
        assert!(refused.status != 0 && refused.stderr.contains("'few' is neither a number of frames nor `off`"), "{}", refused.text());
    });
}

/// The paths to the wrapper in a Paraver trace, by its own labels and with these functions only: those of the calls of `MPI_Allreduce`, which is 10 among
/// Extrae's collectives.
fn traced_paths(trace: &Path, own: &BTreeSet<&String>) -> BTreeSet<Vec<String>> {
    let labels = std::fs::read_to_string(trace.with_extension("pcf")).expect("labels");
    let block = labels.split("EVENT_TYPE").find(|block| block.contains("70000001")).expect("callers");
    let values = block.split_once("VALUES").expect("values").1.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
    let functions: BTreeMap<&str, &str> = values.map(|(value, label)| (value, label.trim())).collect();
    let text = std::fs::read_to_string(trace).expect("a trace");
    let path = |line: &str| {
        let fields: Vec<&str> = line.split(':').skip(6).collect();
        let events: BTreeMap<u64, &str> = fields.chunks(2).map(|event| (event[0].parse().expect("a type"), event[1])).collect();
        events
            .range(70_000_001..70_000_100)
            .map(|(_, value)| functions[value].to_owned())
            .filter(|name| own.contains(name))
            .collect::<Vec<String>>()
    };
    text.lines().filter(|line| line.starts_with("2:") && line.contains(":50000002:10:")).map(path).collect()
}

#[test]
fn a_paraver_trace_has_the_paths() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), PATHS, &["-O0", "-rdynamic"], "program");
        let (outcome, recording) = record(mpi, folder.path(), &[], &[]);
        let printed = printed_paths(&outcome);
        Process::new([&sintonia(), "export", "run.sin", "-o", "run.prv"]).run_in(folder.path()).expect_status(0);
        assert_eq!(traced_paths(&folder.path().join("run.prv"), &printed.iter().flatten().collect()), printed);
        Process::new([&sintonia(), "import", "run.prv", "-o", "back.sin"]).run_in(folder.path()).expect_status(0);
        assert_eq!(wrapper_paths(&folder.path().join("back.sin")), printed);
        assert_eq!(calls_by_caller(&folder.path().join("back.sin"), folder.path()), calls_by_caller(&recording, folder.path()));
    });
}

#[test]
fn c112_other_stacks_are_left_alone() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        compile(mpi, folder.path(), STACKS, &["-O2"], "program");
        let bare = Process::new(mpi.launch(2, &["./program".to_owned()])).env(&mpi.env).run_in(folder.path());
        let (outcome, recording) = record(mpi, folder.path(), &[], &[]);
        assert_eq!(outcome.stdout, bare.expect_status(0).stdout);
        let header = header(&recording);
        let calls: u64 = header["ranks"].as_array().expect("ranks").iter().map(|rank| rank["calls"].as_u64().expect("calls")).sum();
        assert!(calls >= 2 * 11, "all calls are recorded: {calls}");
    });
}

#[test]
fn c113_a_path_through_an_unloaded_library_is_not_taken_for_one_through_the_next() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        for name in ["first", "other"] {
            let defined = format!("-DPLUGIN={name}_plugin");
            compile(mpi, folder.path(), PLUGINS, &["-O2", "-fPIC", "-shared", &defined], &format!("{name}.so"));
        }
        compile(mpi, folder.path(), PLUGINS, &["-O2", "-rdynamic", "-ldl"], "program");
        let (_, recording) = record(mpi, folder.path(), &[], &[]);
        let expected = [("first_plugin".to_owned(), 20), ("other_plugin".to_owned(), 20)].into();
        assert_eq!(calls_by_caller(&recording, folder.path()), expected);
    });
}

#[test]
fn code_without_unwind_tables_is_named_and_does_no_harm() {
    for_every_mpi(|mpi| {
        let folder = fresh_dir();
        for (options, notes) in [
            (&["-O2", "-fno-asynchronous-unwind-tables"][..], &["program: it has code without unwind tables"][..]),
            (&["-O2"], &["program: it has code without unwind tables", "call paths end in generated code"]),
        ] {
            compile(mpi, folder.path(), BAD_STACKS, options, "program");
            let (outcome, recording) = record(mpi, folder.path(), &["--sample", "999"], &[]);
            assert!(outcome.stdout.contains("sum 600"), "{}", outcome.text());
            let found = header(&recording)["notes"].to_string();
            assert!(notes.iter().all(|note| found.contains(note)), "{options:?}: {found}");
            let calls: u64 = calls_by_caller(&recording, folder.path()).values().sum();
            assert_eq!(calls, 600);
        }
    });
}
