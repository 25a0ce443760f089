//! What `sintonia view` answers is what the verbs show, however the recording is kept, and while a program still runs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use sintonia_tests::fire::{SHORT_FIRE, xfire};
use sintonia_tests::view::{Served, view};
use sintonia_tests::{Mpi, Process, Program, Recording, fresh_dir, record_command, remove_missing_cores, sintonia, wait_until, workspace};

fn mpi() -> &'static Mpi {
    &Mpi::available()[0]
}

fn recorded(name: &str) -> Recording {
    Recording::record(mpi(), &Program::find(name), &[]).without_missing_cores()
}

/// What a verb prints as JSON, run in a folder.
fn shown(folder: &Path, words: &[&str]) -> Value {
    let run = Process::new([sintonia()].into_iter().chain(words.iter().map(ToString::to_string))).run_in(folder);
    run.expect_no_crash().expect_status(0);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {}", run.text()))
}

/// A machine with room for everybody.
fn machine() -> String {
    workspace().join("crates/machine/data/loggp.machine.toml").display().to_string()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

// ---- the verbs

#[test]
fn replays_are_those_of_the_verb() {
    let recording = recorded("c/243_late_sender_compute");
    let machine = machine();
    let served = Served::start_with(&[&recording.path], &["--machine", &machine]);
    let pairs: [(&str, &[&str]); 4] = [
        ("", &[]),
        ("?what-if=latency%3Dx2", &["--what-if", "latency=x2"]),
        ("?machine=given", &["--machine", &machine]),
        ("?machine=given&what-if=bandwidth%3Dx2", &["--machine", &machine, "--what-if", "bandwidth=x2"]),
    ];
    for (query, options) in pairs {
        let expected = shown(recording.folder(), &[&["replay", "run.sin", "--json"], options].concat());
        assert_eq!(served.json(&format!("0/replay{query}")), expected, "{query}");
    }
    for query in ["what-if=colour%3Dx2", "machine=other"] {
        assert_eq!(served.refused(&format!("0/replay?{query}")).0, 400, "{query}");
    }
}

#[test]
fn a_machine_is_shown_as_the_verb_shows_it() {
    let recording = recorded("c/005_self");
    let machine = machine();
    let served = Served::start_with(&[&recording.path], &["--machine", &machine]);
    assert_eq!(served.json("0/machine"), shown(recording.folder(), &["bench", "--from", &machine, "--json"]));
    let without = Served::start(&[&recording.path]);
    let (status, why) = without.refused("0/machine");
    assert!(status == 404 && why.contains("--machine"), "{status}: {why}");
}

#[test]
fn recordings_are_compared_as_by_the_verb() {
    let folder = fresh_dir();
    let paths = [2, 4].map(|ranks| tasks(folder.path(), ranks));
    let served = Served::start(&[&paths[0], &paths[1]]);
    for (query, options) in [("", &[][..]), ("?weak=1", &["--weak"][..])] {
        let expected = shown(folder.path(), &[&["report", "tasks-2.sin", "tasks-4.sin", "--json"], options].concat());
        assert_eq!(served.json(&format!("0/comparison{query}")), expected, "{query}");
    }
    assert_eq!(served.refused("0/comparison?weak=perhaps").0, 400);
    assert_eq!(Served::start(&[&paths[0]]).refused("0/comparison").0, 404);
}

#[test]
fn ranks_are_placed_as_by_the_verb() {
    let recording = recorded("c/191_grid");
    let hosts = ["--hosts", "one:3,two:3,three:3"];
    let served = Served::start_with(&[&recording.path], &hosts);
    let answer = served.json("0/placement");
    let expected = shown(recording.folder(), &[&["place", "run.sin", "--compare", "--json"][..], &hosts].concat());
    for (name, value) in expected.as_object().expect("an object") {
        // The page offers the file that the verb writes with `-o`, and with it the command.
        if !["command", "environment", "written"].contains(&name.as_str()) {
            assert_eq!(answer[name], *value, "{name}");
        }
    }
    let slots: u64 = list(&answer["hosts"]).iter().filter_map(|host| host["slots"].as_u64()).sum();
    for when in ["now", "placed"] {
        let mut taken: Vec<u64> = list(&answer["slots"][when]).iter().filter_map(Value::as_u64).collect();
        taken.sort_unstable();
        taken.dedup();
        assert!(taken.len() == 9 && taken.iter().all(|slot| *slot < slots), "{when}: each rank has a slot of its own: {taken:?}");
    }
}

#[test]
fn the_matrix_has_the_pairs_of_the_report_and_of_the_graph() {
    let recording = recorded("c/191_grid");
    let served = Served::start(&[&recording.path]);
    let matrix = |query: &str| -> Vec<[u64; 4]> {
        let matrix = served.json(&format!("0/communication{query}"));
        let column = |name: &str| list(&matrix[name]).iter().filter_map(Value::as_u64).collect::<Vec<u64>>();
        let [from, to, bytes, messages] = ["from", "to", "bytes", "messages"].map(column);
        assert_eq!(matrix["labels"], json!(["0", "1", "2", "3", "4", "5", "6", "7", "8"]), "a label is a rank");
        assert!(bytes.is_sorted_by(|a, b| a >= b), "most bytes first");
        let mut rows: Vec<[u64; 4]> = (0..from.len()).map(|at| [from[at], to[at], bytes[at], messages[at]]).collect();
        rows.sort_unstable();
        rows
    };
    let pairs = recording.report()["pairs"].clone();
    let row = |pair: &Value| ["from", "to", "bytes", "messages"].map(|name| pair[name].as_u64().unwrap_or_else(|| panic!("{pair}")));
    let mut expected: Vec<[u64; 4]> = list(&pairs).iter().map(row).collect();
    expected.sort_unstable();
    assert_eq!(matrix("?collectives=0"), expected);
    // The edges of the graph have no direction.
    let mut edges: BTreeMap<[u64; 2], [u64; 2]> = BTreeMap::new();
    for [from, to, bytes, messages] in matrix("") {
        let sums = edges.entry([from.min(to), from.max(to)]).or_default();
        *sums = [sums[0] + bytes, sums[1] + messages];
    }
    let edges: Vec<Value> =
        edges.iter().map(|(ranks, [bytes, messages])| json!({"ranks": ranks, "bytes": bytes, "messages": messages})).collect();
    assert_eq!(json!(edges), shown(recording.folder(), &["graph", "run.sin", "--json"])["edges"]);
}

#[test]
fn the_matrices_of_two_parts_add_up_to_that_of_the_run() {
    let recording = recorded("c/191_grid");
    let served = Served::start(&[&recording.path]);
    let matrix = |query: &str| -> BTreeMap<[u64; 2], [u64; 2]> {
        let matrix = served.json(&format!("0/communication{query}"));
        let column = |name: &str| list(&matrix[name]).iter().filter_map(Value::as_u64).collect::<Vec<u64>>();
        let [from, to, bytes, messages] = ["from", "to", "bytes", "messages"].map(column);
        (0..from.len()).map(|at| ([from[at], to[at]], [bytes[at], messages[at]])).collect()
    };
    let span = served.json("0/sums");
    let [begin, end] = ["from", "to"].map(|name| span[name].as_i64().unwrap_or_else(|| panic!("{span}")));
    let middle = i64::midpoint(begin, end);
    for collectives in ["", "&collectives=0"] {
        let whole = matrix(&format!("?most=512{collectives}"));
        let mut sums = matrix(&format!("?from={begin}&to={middle}{collectives}"));
        for (pair, [bytes, messages]) in matrix(&format!("?from={middle}&to={}{collectives}", end + 1)) {
            let sum = sums.entry(pair).or_default();
            *sum = [sum[0] + bytes, sum[1] + messages];
        }
        assert!(!whole.is_empty());
        assert_eq!(sums, whole);
    }
}

// ---- scaling

/// Records twenty-four tasks on `ranks` ranks; returns the path.
fn tasks(folder: &Path, ranks: usize) -> PathBuf {
    let program = Program::find("c/281_tasks");
    let mut command = program.build(mpi()).expect("every library runs it");
    *command.last_mut().expect("the program has an argument") = "24".into();
    let path = folder.join(format!("tasks-{ranks}.sin"));
    program.process(mpi(), record_command(&path, &[], mpi().launch(ranks, &command))).run_in(folder).expect_status(0);
    remove_missing_cores(&path);
    path
}

#[test]
fn a_model_is_predicted_with_as_by_the_verb() {
    let folder = fresh_dir();
    let recording = recorded("c/005_self");
    let text = "format = 1\n[model]\nname = \"lu\"\nformula = \"n^2/p + p\"\n\
                [[parameter]]\nname = \"n\"\nfrom = 1\nto = 20\n[[parameter]]\nname = \"p\"\nfrom = 1\nto = 16\n";
    let model = folder.path().join("lu.model.toml");
    fs::write(&model, text).expect("a model");
    let served = Served::start_with(&[&recording.path], &["--model", model.to_str().expect("paths of tests are text")]);
    let answer = served.json("0/scaling?times=2&at.n=10&efficiency=0.7");
    let words = ["predict", "lu.model.toml", "-p", "n=10", "--procs", "1..32", "--efficiency", "0.7", "--json"];
    let expected = shown(folder.path(), &words);
    let forecast = &answer["lines"][1]["forecast"];
    for (name, value) in forecast.as_object().expect("an object") {
        assert_eq!(*value, expected[name], "{name}");
    }
    assert!(forecast["best"].is_object() && list(&forecast["predictions"]).len() == 6, "from 1 to twice what was measured: {forecast}");
    assert_eq!(served.refused("0/scaling?at.m=1").0, 400);
}

#[test]
fn recordings_are_fitted_as_by_the_verb() {
    let folder = fresh_dir();
    let paths = [2, 3, 4].map(|ranks| tasks(folder.path(), ranks));
    let served = Served::start(&[&paths[0], &paths[1], &paths[2]]);
    let answer = served.json("0/scaling");
    let files = ["tasks-2.sin", "tasks-3.sin", "tasks-4.sin"];
    let fitted = shown(folder.path(), &[&["fit", "--json", "-o", "tasks.toml"], &files[..]].concat());
    for (name, value) in [
        ("name", &fitted["models"][0]["name"]),
        ("formula", &fitted["models"][0]["formula"]),
        ("error_percent", &fitted["models"][0]["error_percent"]),
        ("noise_percent", &fitted["noise_percent"]),
        ("unit", &fitted["unit"]),
        ("notes", &fitted["notes"]),
        ("next", &fitted["next"]["command"]),
    ] {
        assert_eq!(answer[name], *value, "{name}: {answer}");
    }
    let line = &answer["lines"][0];
    assert_eq!(
        (&line["parameter"], &answer["parameters"][0]["from"], &answer["parameters"][0]["to"]),
        (&json!("p"), &json!(2.0), &json!(4.0))
    );
    let measured: Vec<(f64, f64)> = list(&line["measured"]).iter().map(|point| (number(&point["x"]), number(&point["seconds"]))).collect();
    let took = files.map(|file| number(&shown(folder.path(), &["report", file, "--json"])["work_s"]));
    assert_eq!(measured.len(), 3);
    for ((x, seconds), (ranks, took)) in measured.iter().zip([2.0, 3.0, 4.0].into_iter().zip(took)) {
        assert_eq!(*x, ranks);
        assert!((seconds / took - 1.0).abs() < 1e-6, "{ranks} ranks took {took} s, not {seconds} s");
    }
    // A model file holds fewer digits.
    let predicted = shown(folder.path(), &["predict", "tasks.toml", "--procs", "2..16", "--json"]);
    let places: Vec<f64> = list(&line["x"]).iter().map(number).collect();
    for prediction in list(&predicted["predictions"]) {
        let procs = number(&prediction["procs"]);
        let at = places.iter().position(|x| *x == procs).unwrap_or_else(|| panic!("no {procs} in {places:?}"));
        let (curve, verb) = (number(&line["seconds"][at][1]), number(&prediction["seconds"][1]));
        assert!((curve / verb - 1.0).abs() < 1e-4, "{procs}: {curve} s, and {verb} s");
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

// ---- the figures of a selection

/// The report of a part of the run is the truth for its sums.
#[test]
fn sums_of_a_selection_are_those_of_a_report_of_that_part() {
    let recording = recorded("c/191_grid");
    let served = Served::start(&[&recording.path]);
    let about = &served.json("0/about")["recordings"][0];
    let time = |share: f64| {
        let (begin, end) = (number(&about["begin_ns"]), number(&about["end_ns"]));
        (begin + share * (end - begin)).round()
    };
    for (first, last) in [(0.0, 1.0), (0.3, 0.9), (0.5, 0.6)] {
        let (from, to) = (time(first), time(last));
        let sums = served.json(&format!("0/sums?from={from}&to={to}&waits=1"));
        // A report counts seconds from the start of the run.
        let [from, to] = [from, to].map(|time| format!("{:.9}", (time - number(&about["begin_ns"])) / 1e9));
        let report = shown(recording.folder(), &["report", "run.sin", "--json", "--from", &from, "--to", &to]);
        let column = |path: [&str; 2]| sums[path[0]][path[1]].as_array().expect("a column").iter().map(number).collect::<Vec<f64>>();
        let total = |path| column(path).iter().sum::<f64>();
        let reported =
            |list: &str, field: &str| report[list].as_array().expect("a list").iter().map(|row| number(&row[field])).sum::<f64>();
        let near = |ns: f64, seconds: f64, what: &str| {
            assert!((ns / 1e9 - seconds).abs() <= 1e-6 + 1e-4 * seconds, "{what} of {first} to {last}: {ns} ns, {seconds} s")
        };
        near(total(["per_rank", "mpi"]), reported("per_rank", "mpi_s"), "time in MPI");
        near(total(["sites", "ns"]), reported("call_sites", "seconds"), "time at call sites");
        near(total(["waits", "ns"]), reported("wait_states", "seconds"), "waiting");
    }
}

// ---- what is kept of a recording

/// Questions whose answers come from files that are made once.
const KEPT: [&str; 6] = ["0/timeline", "0/calls", "0/messages", "0/find?operation=MPI_Recv", "0/sums?waits=1", "0/report"];
const FILES: [&str; 3] = ["view.index", "view.analysis", "view.report"];

/// The answers, when waits and messages have been looked for.
fn answers(served: &Served) -> Vec<String> {
    served.json("0/messages");
    KEPT.iter().map(|question| served.asked(question)).map(|(status, body)| format!("{status} {body}")).collect()
}

#[test]
fn what_is_damaged_of_the_index_is_made_anew() {
    let recording = recorded("c/191_grid");
    let expected = answers(&Served::start(&[&recording.path]));
    assert!(expected.iter().all(|answer| answer.starts_with("200 ")), "{expected:?}");
    for name in FILES {
        let file = recording.path.join(name);
        let whole = fs::read(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut flipped = whole.clone();
        flipped[whole.len() / 3] ^= 0x10;
        for bytes in [&[][..], &whole[..whole.len() / 2], &whole[..whole.len() - 1], &flipped] {
            fs::write(&file, bytes).expect("damaged");
            assert!(answers(&Served::start(&[&recording.path])) == expected, "{name}, {} of {} bytes", bytes.len(), whole.len());
            wait_until(&format!("{name} is made anew"), || fs::read(&file).is_ok_and(|now| now.len() == whole.len() && now != bytes));
        }
    }
}

/// The command in a place where it cannot write into this folder, if that can be had here.
fn read_only(folder: &Path, command: Vec<String>) -> Option<Vec<String>> {
    let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
    let before = ["unshare", "-rm", "sh", "-c", script, folder.to_str()?].map(String::from);
    let may =
        Command::new(&before[0]).args(&before[1..]).args(["sh", "-c", "! touch \"$0\"/x", folder.to_str()?]).stderr(Stdio::null()).status();
    may.is_ok_and(|status| status.success()).then(|| before.into_iter().chain(command).collect())
}

#[test]
fn a_recording_that_cannot_be_written_keeps_its_index_in_the_cache() {
    let recording = recorded("c/191_grid");
    let expected = answers(&Served::start(&[&recording.path]));
    let command = view(&[&recording.path], &[]);
    for name in FILES {
        fs::remove_file(recording.path.join(name)).expect("it was there");
    }
    let command = read_only(&recording.path, command.clone()).unwrap_or_else(|| {
        // Where nothing can be mounted, something else is in the way.
        FILES.iter().for_each(|name| fs::create_dir_all(recording.path.join(name).join("in the way")).expect("a folder"));
        command
    });
    let before = names(&recording.path);
    let folder = fresh_dir();
    let cache = folder.path().join("cache");
    let cached =
        |cache: &Path| answers(&Served::start_command(&command, &[("XDG_CACHE_HOME", cache.to_str().expect("paths of tests are text"))]));
    assert!(cached(&cache) == expected);
    let made = names(&cache.join("sintonia"));
    assert!(made.len() == FILES.len() && FILES.iter().all(|name| made.iter().any(|file| file.ends_with(&format!("-{name}")))), "{made:?}");
    let files = || made.iter().map(|name| fs::metadata(cache.join("sintonia").join(name)).expect("there"));
    let first: Vec<_> = files().collect();
    assert!(cached(&cache) == expected);
    assert!(files().zip(&first).all(|(now, first)| now.ino() == first.ino()), "it is used again");
    let used = |file: &fs::Metadata| file.modified().expect("a time");
    assert!(files().zip(&first).all(|(now, first)| used(&now) > used(first)), "and known to be needed");
    // Nor is there a cache.
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    assert!(cached(&file) == expected);
    assert_eq!(names(&recording.path), before);
}

/// What is in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut names: Vec<String> = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

// ---- tuning

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_tuning_is_told_while_it_goes_on_and_to_its_end() {
    let mpi = Mpi::named("openmpi");
    let folder = fresh_dir();
    // The run goes on until somebody has looked at it.
    let launch = mpi.launch(3, &xfire(&mpi, folder.path(), SHORT_FIRE));
    let script = "\"$@\"; while [ ! -e enough ]; do sleep 0.05; done";
    let mut command = Command::new(sintonia());
    command.args(["tune", "--tunlet", "factoring", "-o", "tuned.sin", "--", "sh", "-c", script, "sh"]).args(launch);
    command.current_dir(folder.path()).envs(mpi.env.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
    let mut tune = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("sintonia tune"));
    let path = folder.path().join("tuned.sin");
    let log = || fs::read_to_string(path.join("tuning.jsonl")).unwrap_or_default();
    wait_until("something is decided", || log().lines().count() > 3);
    let served = Served::start(&[&path]);
    assert!(list(&served.json("0/about")["subjects"]).contains(&json!("tuning")));
    let first = served.json("0/tuning");
    let seen = list(&first["entries"]).len();
    assert!(first["live"] == true && seen > 3, "{first}");
    fs::write(folder.path().join("enough"), "").expect("a file");
    assert!(tune.0.wait().expect("it ends").success());
    wait_until("the page learns that it is over", || served.json("0/tuning")["live"] == false);
    let all: Vec<Value> = log().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(served.json("0/tuning")["entries"], json!(all));
    assert_eq!(served.json(&format!("0/tuning?after={seen}"))["entries"], json!(all[seen..]));
    assert_eq!(served.json("0/tuning?after=1000000")["entries"], json!([]));
    assert_eq!(served.refused("0/tuning?after=all").0, 400);
    assert!(all[..seen] == *list(&first["entries"]), "entries already sent do not change");
    drop(served);
    let served = Served::start(&[&path]);
    let began_ns = served.json("0/tuning")["began_ns"].as_f64().expect("it is known when the tuning began");
    assert!(began_ns < 0.0, "before the first call: {began_ns}");
    let end_ns = served.json("0/about")["recordings"][0]["end_ns"].as_f64().expect("the end of the run");
    // What the program begins with is decided before that.
    let time = |entry: &Value| entry["time_s"].as_f64().expect("a time");
    let was_made = |entry: &&Value| entry["kind"] == "change" && entry["refused"].is_null() && time(entry) > 0.0;
    let later: Vec<&Value> = all.iter().filter(was_made).collect();
    assert!(!later.is_empty(), "{all:?}");
    for change in later {
        let moment = began_ns + 1e9 * time(change);
        assert!((0.0..=end_ns).contains(&moment), "{change} was made at {moment} ns of {end_ns}");
    }
}
