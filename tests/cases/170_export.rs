//! What other tools read in an export: Perfetto's definitions, DuckDB, gpmetis, and a replay of the schedule.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::Path;

use serde_json::{Value, json};
use sintonia_tests::{Process, Recording, on_every_mpi, readers_python, tests_dir};

/// Programs that send in every way, complete in every way, use threads, and meet.
const PROGRAMS: [&str; 6] =
    ["c/001_send_modes", "c/003_waits", "c/006_persistent", "c/010_collectives", "c/015_communicators", "c/022_threads"];

#[test]
fn perfetto_finds_every_call_and_an_arrow_for_every_message() {
    for program in PROGRAMS {
        on_every_mpi(program, |_, _, recording| {
            let trace = read("perfetto_trace.py", &recording.export("run.pftrace"));
            let trace: Value = serde_json::from_str(&trace).expect("the reader prints JSON");
            let slices = trace["slices"].as_array().expect("slices");
            let (calls, mut arrived) = (slices.iter().filter(|slice| slice["depth"] == 0), 0);
            assert_eq!(calls.map(slice_of).collect::<BTreeSet<_>>(), calls_of(recording), "{program}");
            for arrow in trace["arrows"].as_array().expect("arrows") {
                let end = |which: usize| &slices[arrow[which].as_u64().expect("an arrow has both ends") as usize];
                let (tail, head) = (end(0), end(1));
                assert_eq!(head["name"], "message arrived");
                assert_eq!(rank_of(tail), head["details"]["from"].as_i64().expect("a sender"));
                assert!(tail["begin"].as_u64() <= head["begin"].as_u64(), "a message arrives after it was sent: {tail} {head}");
                arrived += 1;
            }
            assert_eq!(arrived, messages(recording), "{program}");
        });
    }
}

#[test]
fn chrome_events_are_the_calls_and_arrows_have_two_ends() {
    for program in PROGRAMS {
        on_every_mpi(program, |_, _, recording| {
            let text = std::fs::read_to_string(recording.export("run.json")).expect("the export");
            let trace: Value = serde_json::from_str(&text).expect("JSON");
            let events = trace["traceEvents"].as_array().expect("a list of events");
            let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
            let times = |event: &&Value| {
                let nanoseconds = |key: &str| (event[key].as_f64().expect("a time") * 1000.0).round() as i64;
                (event["pid"].as_i64().expect("a rank"), nanoseconds("ts"), nanoseconds("ts") + nanoseconds("dur"), name(event))
            };
            assert_eq!(of("X").iter().map(times).collect::<BTreeSet<_>>(), calls_of(recording), "{program}");
            let ids = |phase: &str| of(phase).iter().map(|event| event["id"].to_string()).collect::<BTreeSet<_>>();
            assert_eq!((of("s").len(), of("f").len()), (messages(recording), messages(recording)), "{program}");
            assert_eq!(ids("s"), ids("f"), "{program}");
        });
    }
}

#[test]
fn duckdb_counts_what_the_recording_says_in_parquet_and_in_csv() {
    for program in PROGRAMS {
        on_every_mpi(program, |_, _, recording| {
            let expected = sums(recording);
            for file in ["run.parquet", "run.csv"] {
                let table = read("table.py", &recording.export(file));
                let rows: Vec<Value> = table.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
                assert_eq!(rows, expected, "{program}, {file}");
            }
        });
    }
}

#[test]
fn a_schedule_can_be_played_to_its_end() {
    for program in PROGRAMS.into_iter().chain(["c/008_sendrecv", "c/011_nonblocking_collectives", "c/012_neighbourhood"]) {
        on_every_mpi(program, |_, _, recording| {
            let text = std::fs::read_to_string(recording.export("run.goal")).expect("the export");
            let mut schedule = Schedule::parse(&text);
            let messages = schedule.play();
            assert_eq!(schedule.left(), 0, "{program}: not everything could be done\n{text}");
            assert!(messages >= self::messages(recording), "{program}");
        });
    }
}

#[test]
fn the_communication_graph_is_that_of_the_verb_graph() {
    on_every_mpi("c/008_sendrecv", |_, _, recording| {
        recording.sintonia("graph", &["--communication", "-o", "other.graph"]).expect_status(0);
        let [one, other] = [recording.export("run.graph"), recording.folder().join("other.graph")];
        assert_eq!(std::fs::read_to_string(one).expect("the export"), std::fs::read_to_string(other).expect("the graph"));
        Process::new(["gpmetis", "run.graph", "2"]).run_in(recording.folder()).expect_status(0);
    });
}

#[test]
fn what_was_written_is_said() {
    on_every_mpi("c/001_send_modes", |_, _, recording| {
        let said = recording.sintonia("export", &["--to", "csv", "-o", "calls.txt", "--json"]);
        let said: Value = serde_json::from_str(&said.expect_status(0).stdout).expect("JSON");
        let bytes = std::fs::metadata(recording.folder().join("calls.txt")).expect("the file").len();
        assert_eq!((&said["format"], &said["bytes"], &said["notes"]), (&json!("csv"), &json!(bytes), &json!([])));
        let again = recording.sintonia("export", &["--to", "csv", "-o", "calls.txt"]);
        assert!(again.expect_status(1).stderr.contains("--force"), "{}", again.text());
        recording.sintonia("export", &["--to", "csv", "-o", "calls.txt", "--force"]).expect_status(0);
    });
}

/// What a reader of `tests/readers` prints of a file.
fn read(reader: &str, file: &Path) -> String {
    let words = [readers_python(), tests_dir().join("readers").join(reader), file.to_path_buf()].map(|word| word.display().to_string());
    let outcome = Process::new(words).run_in(file.parent().expect("a file is in a folder"));
    outcome.expect_status(0);
    outcome.stdout
}

/// A call: rank, when it was entered and left in nanoseconds, and what it called.
type Times = (i64, i64, i64, String);

/// Every call, as `sintonia calls` lists them.
fn lines(recording: &Recording) -> Vec<Value> {
    let outcome = recording.sintonia("calls", &["--json"]);
    outcome.expect_status(0);
    outcome.stdout.lines().map(|line| serde_json::from_str(line).expect("a call")).collect()
}

fn calls_of(recording: &Recording) -> BTreeSet<Times> {
    lines(recording)
        .iter()
        .map(|call| (call["rank"].as_i64().expect("a rank"), nanoseconds(call, "enter_s"), nanoseconds(call, "leave_s"), operation(call)))
        .collect()
}

fn slice_of(slice: &Value) -> Times {
    let time = |key: &str| slice[key].as_i64().expect("a time");
    (rank_of(slice), time("begin"), time("end"), name(slice))
}

/// The rank whose row a slice is in: `rank 3 on host`.
fn rank_of(slice: &Value) -> i64 {
    let process = slice["process"].as_str().expect("the name of a process");
    process.split(' ').nth(1).and_then(|rank| rank.parse().ok()).unwrap_or_else(|| panic!("no rank in {process:?}"))
}

fn name(event: &Value) -> String {
    event["name"].as_str().expect("a name").to_string()
}

fn operation(call: &Value) -> String {
    call["operation"].as_str().expect("an operation").to_string()
}

fn nanoseconds(call: &Value, key: &str) -> i64 {
    (call[key].as_f64().expect("a time") * 1e9).round() as i64
}

/// How many messages were received.
fn messages(recording: &Recording) -> usize {
    lines(recording).iter().map(|call| received(call).len()).sum()
}

/// Bytes of each message that a call received.
fn received(call: &Value) -> Vec<i64> {
    let itself = match operation(call).as_str() {
        "MPI_Recv" | "MPI_Mrecv" => call["peer"].is_i64(),
        "MPI_Sendrecv" | "MPI_Sendrecv_replace" => call["source"].is_i64(),
        _ => false,
    };
    let own = itself.then(|| call["received"].as_i64()).flatten();
    let completed = call["completed"].as_array().into_iter().flatten().filter(|request| request["peer"].is_i64());
    own.into_iter().chain(completed.filter_map(|request| request["received"].as_i64())).collect()
}

/// Per rank and operation: calls, nanoseconds, bytes sent, bytes received, and the sum of the lines they were called from.
fn sums(recording: &Recording) -> Vec<Value> {
    let mut sums: BTreeMap<(i64, String), [i64; 5]> = BTreeMap::new();
    for call in lines(recording) {
        let sum = sums.entry((call["rank"].as_i64().expect("a rank"), operation(&call))).or_default();
        let number = |key: &str| call[key].as_i64().unwrap_or(0);
        // What a nonblocking receive gets is said where it completes.
        let later = operation(&call) == "MPI_Irecv" || operation(&call) == "MPI_Recv_init";
        let completed: i64 = call["completed"].as_array().into_iter().flatten().filter_map(|request| request["received"].as_i64()).sum();
        let received = if later { 0 } else { number("received") } + completed;
        let time = nanoseconds(&call, "leave_s") - nanoseconds(&call, "enter_s");
        for (sum, more) in sum.iter_mut().zip([1, time, number("sent"), received, number("line")]) {
            *sum += more;
        }
    }
    sums.into_iter()
        .map(|((rank, operation), [calls, time, sent, received, line])| json!([rank, operation, calls, time, sent, received, line]))
        .collect()
}

/// A GOAL schedule: for each rank its operations by label.
struct Schedule {
    ranks: Vec<HashMap<String, Operation>>,
}

/// An operation that has not been done.
struct Operation {
    words: Vec<String>,
    requires: Vec<String>,
    irequires: Vec<String>,
    begun: bool,
    done: bool,
}

impl Schedule {
    fn parse(text: &str) -> Schedule {
        let mut ranks: Vec<HashMap<String, Operation>> = Vec::new();
        let mut announced = 0;
        for line in text.lines().filter(|line| !line.starts_with("//")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                [] | ["}"] => {}
                ["num_ranks", number] => announced = number.parse().expect("a number of ranks"),
                ["rank", number, "{"] => {
                    assert_eq!(number.parse(), Ok(ranks.len()), "ranks in order");
                    ranks.push(HashMap::new());
                }
                [operation, kind @ ("requires" | "irequires"), before] => {
                    let rank = ranks.last_mut().expect("inside a rank");
                    assert!(rank.contains_key(*before), "{line}: not defined before");
                    let operation = rank.get_mut(*operation).unwrap_or_else(|| panic!("{line}: not defined before"));
                    if *kind == "requires" { &mut operation.requires } else { &mut operation.irequires }.push(before.to_string());
                }
                [label, words @ ..] => {
                    let words = words.iter().map(ToString::to_string).collect();
                    let operation = Operation { words, requires: Vec::new(), irequires: Vec::new(), begun: false, done: false };
                    let label = label.strip_suffix(':').unwrap_or_else(|| panic!("{line}: no label"));
                    assert!(ranks.last_mut().expect("inside a rank").insert(label.into(), operation).is_none(), "{line}: twice");
                }
            }
        }
        assert_eq!(ranks.len(), announced, "as many ranks as announced");
        Schedule { ranks }
    }

    /// Does whatever can be done until nothing can; sends are done when they have begun. The number of messages received.
    fn play(&mut self) -> usize {
        let mut under_way: HashMap<(usize, usize, String), VecDeque<String>> = HashMap::new();
        let (mut received, mut progress) = (0, true);
        while std::mem::take(&mut progress) {
            for rank in 0..self.ranks.len() {
                for label in self.ready(rank) {
                    let operation = self.ranks[rank].get_mut(&label).expect("it is ready");
                    progress |= !std::mem::replace(&mut operation.begun, true);
                    let words: Vec<&str> = operation.words.iter().map(String::as_str).collect();
                    operation.done = match words.as_slice() {
                        ["calc", time, ..] => time.parse::<u64>().is_ok(),
                        ["send", bytes, "to", to, "tag", tag, ..] => {
                            let message = (rank, to.parse().expect("a rank"), tag.to_string());
                            under_way.entry(message).or_default().push_back(bytes.to_string());
                            true
                        }
                        ["recv", bytes, "from", from, "tag", tag, ..] => {
                            let message = (from.parse().expect("a rank"), rank, tag.to_string());
                            let arrived = under_way.get_mut(&message).and_then(VecDeque::pop_front);
                            // In a collective, parts of different sizes are known to one end only.
                            let collective = message.2.parse::<u32>().expect("a tag") >= 1 << 31;
                            let same = collective || arrived.as_ref().is_none_or(|sent| sent == bytes);
                            assert!(same, "{message:?}: {arrived:?} sent, {bytes} received");
                            received += usize::from(arrived.is_some());
                            arrived.is_some()
                        }
                        _ => panic!("no operation: {words:?}"),
                    };
                    progress |= operation.done;
                }
            }
        }
        assert!(under_way.values().all(VecDeque::is_empty), "messages that nobody receives: {under_way:?}");
        received
    }

    /// The operations of a rank that can be done now, receives in the order of their labels.
    fn ready(&self, rank: usize) -> Vec<String> {
        let operations = &self.ranks[rank];
        let can = |operation: &Operation| {
            let done = |label: &String| operations[label].done;
            let begun = |label: &String| operations[label].begun;
            !operation.done && operation.requires.iter().all(done) && operation.irequires.iter().all(begun)
        };
        let mut ready: Vec<String> = operations.iter().filter(|(_, operation)| can(operation)).map(|(label, _)| label.clone()).collect();
        ready.sort_by_key(|label| label[1..].parse::<u64>().expect("labels are numbered"));
        ready
    }

    fn left(&self) -> usize {
        self.ranks.iter().flat_map(HashMap::values).filter(|operation| !operation.done).count()
    }
}
