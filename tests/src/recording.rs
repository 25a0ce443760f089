//! `sintonia record` and what can be read back from a recording, as any script would: through `--json`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Mpi, Outcome, Process, Program, target_dir};

/// The command under test: `SINTONIA_BIN`, or the one in the target folder.
pub fn sintonia() -> String {
    if let Some(path) = std::env::var_os("SINTONIA_BIN") {
        return path.to_str().expect("SINTONIA_BIN is text").to_string();
    }
    let built = ["release", "debug"].map(|profile| target_dir().join(profile).join("sintonia"));
    let found = built.iter().find(|path| path.is_file());
    let path = found.unwrap_or_else(|| panic!("no sintonia in {}: run `make`", target_dir().display()));
    path.to_str().expect("paths of tests are text").to_string()
}

/// The command line that records `command` into `output`.
pub fn record_command(output: &Path, options: &[&str], command: Vec<String>) -> Vec<String> {
    let mut words = vec![sintonia(), "record".to_string()];
    words.extend(options.iter().map(ToString::to_string));
    words.extend(["-o".to_string(), output.to_str().expect("a path that is text").to_string(), "--".to_string()]);
    words.extend(command);
    words
}

/// Splits standard error into messages of Sintonia (after its name, or as JSON) and those of the program and its launcher.
pub fn own_lines(stderr: &str) -> (Vec<String>, Vec<String>) {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    for line in stderr.lines() {
        // a launcher may leave its last line without an end
        let (before, after) = line.split_at(line.find("sintonia: ").unwrap_or(line.len()));
        if line.starts_with("{\"") {
            own.push(line.to_string());
            continue;
        }
        if after.is_empty() || !before.trim().is_empty() {
            other.push(before.to_string());
        }
        if !after.is_empty() {
            own.push(after.to_string());
        }
    }
    (own, other)
}

/// One run of a program under `sintonia record`, and its recording.
pub struct Recording {
    /// How the recorded run ended.
    pub run: Outcome,
    /// The recording.
    pub path: PathBuf,
    _folder: tempfile::TempDir,
}

/// One recorded call, as `sintonia calls --json` prints it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The C name of the function.
    pub operation: String,
    /// Number of the thread in its process.
    pub thread: i64,
    /// When it was entered, in seconds.
    pub enter: f64,
    /// When it returned, in seconds.
    pub leave: f64,
    /// Identity of the communicator.
    pub communicator: Value,
    /// World rank of the other side.
    pub peer: Option<i64>,
    /// Tag of the message.
    pub tag: Option<i64>,
    /// Bytes sent.
    pub sent: i64,
    /// Bytes received.
    pub received: i64,
    /// Identity of the request it made.
    pub request: Option<Value>,
    /// The requests it completed.
    pub completed: Vec<Completion>,
    /// World rank of the sender, where one call sends and receives.
    pub source: Option<i64>,
    /// Tag of the received message, where one call sends and receives.
    pub recv_tag: Option<i64>,
    /// World rank of the root.
    pub root: Option<i64>,
    /// Source file of the call site.
    pub file: String,
    /// Line of the call site.
    pub line: u64,
}

/// A request that a call completed.
#[derive(Debug, Clone)]
pub struct Completion {
    /// Identity of the request.
    pub request: Value,
    /// World rank of the other side.
    pub peer: Option<i64>,
    /// Tag of the message.
    pub tag: Option<i64>,
    /// Bytes received.
    pub received: i64,
}

/// Removes from a recording what it knows of missing cores. Tests run side by side and take cores from each other: what a test expects of the
/// program would be held back.
pub fn remove_missing_cores(recording: &Path) {
    let header = recording.join("recording.json");
    let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&header).expect("a sealed recording")).expect("JSON");
    for rank in value["ranks"].as_array_mut().expect("ranks") {
        let _ = std::fs::remove_file(recording.join(format!("rank-{:05}.offcpu", rank["rank"].as_u64().expect("a rank"))));
        rank.as_object_mut().expect("an object").remove("off_cpu");
        for usage in rank.get_mut("usage").and_then(Value::as_array_mut).into_iter().flatten() {
            usage.as_object_mut().expect("an object").retain(|key, _| key.starts_with("affinity") || key == "thread");
        }
    }
    std::fs::write(&header, value.to_string()).expect("the header is written");
}

impl Recording {
    /// Records one run of `program` with these options of `sintonia record`.
    pub fn record(mpi: &Mpi, program: &Program, options: &[&str]) -> Recording {
        let folder = crate::fresh_dir();
        let path = folder.path().join("run.sin");
        let command = program.build(mpi).expect("the caller asked whether it can be built");
        let launch = mpi.launch(program.ranks, &command);
        let run = program.process(mpi, record_command(&path, options, launch)).run_in(folder.path());
        assert!(!run.timed_out, "{} under sintonia did not end in time\n{}", program.name, run.text());
        Recording { run, path, _folder: folder }
    }

    /// The recording that a run left at this path, in a folder that goes away with it.
    pub fn at(run: Outcome, path: PathBuf, folder: tempfile::TempDir) -> Recording {
        Recording { run, path, _folder: folder }
    }

    /// The same recording [without what it knows of missing cores](remove_missing_cores).
    pub fn without_missing_cores(self) -> Recording {
        remove_missing_cores(&self.path);
        self
    }

    /// The folder in which the program ran; the recording lies in it.
    pub fn folder(&self) -> &Path {
        self.path.parent().expect("a recording lies in a folder")
    }

    /// Messages of Sintonia while recording.
    pub fn messages(&self) -> String {
        own_lines(&self.run.stderr).0.join("\n")
    }

    /// Runs a verb of Sintonia on this recording.
    pub fn sintonia(&self, verb: &str, options: &[&str]) -> Outcome {
        let mut command = vec![sintonia(), verb.to_string(), self.path.display().to_string()];
        command.extend(options.iter().map(ToString::to_string));
        Process::new(command).run_in(self.folder())
    }

    /// Writes it beside itself in the format that the ending of this file says; the path of the file.
    pub fn export(&self, file: &str) -> PathBuf {
        self.sintonia("export", &["-o", file, "--force"]).expect_no_crash().expect_status(0);
        self.folder().join(file)
    }

    /// `sintonia report --json`.
    pub fn report(&self) -> Value {
        let outcome = self.sintonia("report", &["--json"]);
        outcome.expect_no_crash().expect_status(0);
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}\n{}\n{}", outcome.text(), self.run.text()))
    }

    /// Every recorded call of a rank, in order.
    pub fn calls(&self, rank: usize) -> Vec<Call> {
        let outcome = self.sintonia("calls", &["--rank", &rank.to_string(), "--json"]);
        outcome.expect_no_crash().expect_status(0);
        outcome.stdout.lines().map(|line| Call::parse(line, rank)).collect()
    }

    /// The calls of a rank that are of one operation.
    pub fn calls_of(&self, rank: usize, operation: &str) -> Vec<Call> {
        self.calls(rank).into_iter().filter(|call| call.operation == operation).collect()
    }

    /// The calls of a rank that are of one operation, with all that `sintonia calls --json` prints.
    pub fn printed_calls(&self, rank: usize, operation: &str) -> Vec<Value> {
        let outcome = self.sintonia("calls", &["--rank", &rank.to_string(), "--json"]);
        outcome.expect_no_crash().expect_status(0);
        let calls = outcome.stdout.lines().map(|line| serde_json::from_str::<Value>(line).expect("one JSON object per line"));
        calls.filter(|call| call["operation"] == operation).collect()
    }

    /// What the calls of a rank completed, in order: world rank of the sender, tag, bytes. Only receives are listed.
    pub fn received(&self, rank: usize) -> Vec<(i64, i64, i64)> {
        let calls = self.calls(rank);
        calls.iter().flat_map(Call::received_messages).collect()
    }

    /// How often an operation was called, all ranks together.
    pub fn count(&self, operation: &str) -> u64 {
        self.counts(&[operation])[0]
    }

    /// How often each operation was called, all ranks together.
    pub fn counts(&self, operations: &[&str]) -> Vec<u64> {
        let report = self.report();
        operations.iter().map(|operation| count_in(&report, operation)).collect()
    }

    /// Messages and bytes from one world rank to another, point to point.
    pub fn pair(&self, from: u64, to: u64) -> (u64, u64) {
        pair_in(&self.report(), from, to)
    }

    /// How often the line marked `site:name` called `operation`, all ranks together.
    pub fn calls_at(&self, program: &Program, site: &str, operation: &str) -> u64 {
        let line = program.line(site);
        let report = self.report();
        let sites = report["call_sites"].as_array().expect("call_sites is a list");
        let here = |place: &&Value| place["operation"] == operation && place["line"] == line;
        sites.iter().filter(here).map(|place| place["calls"].as_u64().expect("calls is a number")).sum()
    }

    /// All bytes the recording takes on disk.
    pub fn bytes_on_disk(&self) -> u64 {
        bytes_in(&self.path)
    }
}

fn count_in(report: &Value, operation: &str) -> u64 {
    let operations = report["operations"].as_array().expect("operations is a list");
    let found = operations.iter().find(|entry| entry["operation"] == operation);
    found.map_or(0, |entry| entry["calls"].as_u64().expect("calls is a number"))
}

fn pair_in(report: &Value, from: u64, to: u64) -> (u64, u64) {
    let pairs = report["pairs"].as_array().expect("pairs is a list");
    let found = pairs.iter().find(|pair| pair["from"] == from && pair["to"] == to);
    let number = |pair: &Value, key: &str| pair[key].as_u64().expect("a number");
    found.map_or((0, 0), |pair| (number(pair, "messages"), number(pair, "bytes")))
}

fn bytes_in(path: &Path) -> u64 {
    if path.is_file() {
        return path.metadata().map_or(0, |data| data.len());
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_in(&entry.path())).sum()
}

impl Call {
    fn parse(line: &str, rank: usize) -> Call {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in: {line}"));
        assert_eq!(value["rank"], rank, "a call of another rank: {line}");
        let number = |key: &str| value[key].as_i64();
        let seconds = |key: &str| value[key].as_f64().unwrap_or_else(|| panic!("{key} is not a number: {line}"));
        let call = Call {
            operation: value["operation"].as_str().unwrap_or_else(|| panic!("no operation: {line}")).to_string(),
            thread: number("thread").unwrap_or(0),
            enter: seconds("enter_s"),
            leave: seconds("leave_s"),
            communicator: value["communicator"].clone(),
            peer: number("peer"),
            tag: number("tag"),
            sent: number("sent").unwrap_or(0),
            received: number("received").unwrap_or(0),
            request: Some(value["request"].clone()).filter(|request| !request.is_null()),
            completed: value["completed"].as_array().into_iter().flatten().map(Completion::parse).collect(),
            source: number("source"),
            recv_tag: number("recv_tag"),
            root: number("root"),
            file: value["file"].as_str().unwrap_or_default().to_string(),
            line: value["line"].as_u64().unwrap_or(0),
        };
        assert!(call.enter <= call.leave, "left before it was entered: {line}");
        call
    }

    /// The messages this call received itself or by completing requests: world rank of the sender, tag, bytes.
    pub fn received_messages(&self) -> Vec<(i64, i64, i64)> {
        let own = match self.operation.as_str() {
            "MPI_Recv" | "MPI_Mrecv" => self.peer.map(|peer| (peer, self.tag.unwrap_or(-1), self.received)),
            "MPI_Sendrecv" | "MPI_Sendrecv_replace" => self.source.map(|source| (source, self.recv_tag.unwrap_or(-1), self.received)),
            _ => None,
        };
        let completed = self.completed.iter().filter(|completion| completion.received > 0);
        let completed = completed.map(|completion| (completion.peer.unwrap_or(-1), completion.tag.unwrap_or(-1), completion.received));
        own.into_iter().chain(completed).collect()
    }

    /// Whether this call was made from the line marked `site:name` of `program`.
    pub fn is_at(&self, program: &Program, site: &str) -> bool {
        let name = program.source.file_name().expect("a program has a name").to_string_lossy();
        let included = self.file.rsplit('/').next().is_some_and(|file| file.starts_with(name.split('.').next().unwrap_or(&name)));
        included && self.line == program.line(site)
    }
}

impl Completion {
    fn parse(value: &Value) -> Completion {
        Completion {
            request: value["request"].clone(),
            peer: value["peer"].as_i64(),
            tag: value["tag"].as_i64(),
            received: value["received"].as_i64().unwrap_or(0),
        }
    }
}
