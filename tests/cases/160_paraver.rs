//! Paraver traces: that what is written holds together, looked at by a reader of its own, and that it comes back as it was.

use std::collections::BTreeMap;
use std::path::Path;

use sintonia_tests::{Call, Process, Program, Recording, fresh_dir, on_every_mpi, sintonia};

/// Programs that send in every way, complete in every way, use threads and other communicators, and meet.
const PROGRAMS: [&str; 9] = [
    "c/001_send_modes",
    "c/002_wildcards",
    "c/003_waits",
    "c/006_persistent",
    "c/008_sendrecv",
    "c/010_collectives",
    "c/011_nonblocking_collectives",
    "c/015_communicators",
    "c/022_threads",
];

/// Reads a trace line by line and complains about whatever a reader of traces may rely on; then returns what it contains.
const CHECK: &str = r#"
function wrong(what) { print "line " NR ": " what ": " $0; bad = 1 }
function inside(time) { if (time < 0 || time > total) wrong("not within the trace") }
function known(appl, task, thread) { if (appl != 1 || task < 1 || task > tasks || thread < 1 || thread > threads[task]) wrong("no such thread") }
BEGIN { FS = ":" }
NR == 1 {
    if ($0 !~ /^#Paraver \([0-9][0-9]\/[0-9][0-9]\/[0-9]+ at [0-9]+:[0-9]+\):[0-9]+_ns:[0-9]+\([0-9,]+\):1:[0-9]+\([0-9:,]+\),[0-9]+$/) wrong("header")
    total = $3 + 0
    announced = $0; sub(/.*\),/, "", announced)
    list = $0; sub(/.*:1:[0-9]+\(/, "", list); sub(/\),[0-9]+$/, "", list)
    tasks = split(list, places, ",")
    for (task = 1; task <= tasks; task++) { split(places[task], place, ":"); threads[task] = place[1] }
    next
}
/^[ci]:/ { defined++; if (body) wrong("a communicator after the first record"); next }
{
    body = 1
    if ($6 < last) wrong("not in the order of time")
    last = $6 + 0
    known($3, $4, $5); inside($6)
    thread = $4 "." $5
}
$1 == 1 {
    inside($7)
    if ($7 <= $6) wrong("a state without length")
    if ($6 != until[thread] + 0) wrong("a gap before a state, or two at once")
    until[thread] = $7 + 0
}
$1 == 2 {
    for (field = 7; field < NF; field += 2) {
        if ($field < 50000001 || $field > 50000005) continue
        value = $(field + 1)
        if (value == 0 && open[thread] != $field) wrong("the end of no call")
        if (value != 0 && open[thread]) wrong("a call in a call")
        open[thread] = value == 0 ? 0 : $field
        if (value != 0) calls[value]++
    }
}
$1 == 3 {
    known($9, $10, $11); inside($7); inside($12); inside($13)
    if ($7 < $6 || $13 < $12) wrong("done before it was asked for")
    messages[$4 - 1 " " $10 - 1]++; bytes[$4 - 1 " " $10 - 1] += $14
}
$1 !~ /^[123]$/ { wrong("no such record") }
END {
    if (defined != announced) { print "communicators: " announced " announced, " defined " defined"; bad = 1 }
    for (thread in open) if (open[thread]) { print "never ends: a call of " thread; bad = 1 }
    for (value in calls) print "calls", value, calls[value]
    for (pair in messages) print "pair", pair, messages[pair], bytes[pair]
    exit bad
}
"#;

/// Some of the numbers by which Extrae knows MPI functions.
const NUMBERS: [(&str, &str); 12] = [
    ("1", "MPI_Send"),
    ("2", "MPI_Recv"),
    ("3", "MPI_Isend"),
    ("4", "MPI_Irecv"),
    ("5", "MPI_Wait"),
    ("6", "MPI_Waitall"),
    ("7", "MPI_Bcast"),
    ("8", "MPI_Barrier"),
    ("10", "MPI_Allreduce"),
    ("41", "MPI_Sendrecv"),
    ("124", "MPI_Startall"),
    ("32", "MPI_Finalize"),
];

#[test]
fn a_trace_holds_together_and_tells_every_call_and_message() {
    for program in PROGRAMS {
        on_every_mpi(program, |_, built, recording| {
            let (calls, pairs) = checked(recording);
            let expected = recording.counts(&NUMBERS.map(|(_, name)| name));
            for ((number, name), expected) in NUMBERS.iter().zip(expected) {
                assert_eq!(calls.get(*number).copied().unwrap_or(0), expected, "{program}: {name}");
            }
            assert_eq!(pairs, received(recording, built.ranks), "{program}");
        });
    }
}

#[test]
fn a_run_that_was_cut_is_a_trace_too() {
    for program in ["c/035_abort", "c/037_sigkill", "c/033_exit_without_finalize"] {
        on_every_mpi(program, |_, _, recording| {
            checked(recording);
        });
    }
}

#[test]
fn a_recording_comes_back_from_its_trace() {
    for program in PROGRAMS {
        on_every_mpi(program, |_, built, recording| {
            for file in ["run.prv", "run.prv.gz"] {
                compare(built, recording, &returned(recording, file));
            }
        });
    }
}

#[test]
fn a_damaged_trace_is_refused_with_its_line() {
    on_every_mpi("c/008_sendrecv", |_, _, recording| {
        let path = recording.export("run.prv");
        let text = std::fs::read_to_string(&path).expect("the trace");
        let (line, _) = text.lines().enumerate().find(|(_, line)| line.starts_with("3:")).expect("a message");
        let damaged: Vec<&str> = text.lines().enumerate().map(|(n, text)| if n == line { "3:1:1:1" } else { text }).collect();
        std::fs::write(&path, damaged.join("\n")).expect("the trace is written again");
        let import = Process::new([&sintonia(), "import", "run.prv", "-o", "damaged.sin"]).run_in(recording.folder());
        import.expect_no_crash();
        assert_ne!(import.status, 0);
        assert!(import.stderr.contains(&format!("run.prv: line {}: ", line + 1)), "{}", import.stderr);
        assert!(!recording.folder().join("damaged.sin").exists());
    });
}

#[test]
fn memory_does_not_grow_with_the_run() {
    let [short, long] = [40_000, 160_000].map(|messages| {
        let folder = fresh_dir();
        std::fs::write(folder.path().join("run.prv"), exchange(messages)).expect("the trace is written");
        let memory = [
            memory_of(&["import", "run.prv", "-o", "run.sin"], folder.path()),
            memory_of(&["export", "run.sin", "-o", "again.prv"], folder.path()),
        ];
        let [before, after] = ["run.prv", "again.prv"].map(|file| messages_in(&folder.path().join(file)));
        assert_eq!((before, after), (2 * messages, 2 * messages), "nothing is lost on the way");
        memory
    });
    for (short, long) in short.iter().zip(long) {
        assert!(long < short + short / 4, "four times the run took {long} KiB instead of {short} KiB");
    }
}

/// A trace of two ranks that send each other `messages` messages.
fn exchange(messages: usize) -> String {
    let mut trace = format!("#Paraver (15/11/2026 at 05:56):{}_ns:1(2):1:2(1:1,1:1),1\nc:1:1:2:1:2\n", messages * 100);
    for number in 0..messages {
        let (at, tag) = (number * 100, number % 16);
        for (value, begin, end) in [(4, 0, 10), (3, 20, 30), (6, 40, 90)] {
            for task in 1..=2 {
                let call = |time: usize, value: u32| format!("2:{task}:1:{task}:1:{}:50000001:{value}\n", at + time);
                trace.push_str(&(call(begin, value) + &call(end, 0)));
            }
        }
        for (from, to) in [(1, 2), (2, 1)] {
            let (sent, posted) = (format!("{}:{}", at + 20, at + 30), format!("{}:{}", at + 10, at + 90));
            trace.push_str(&format!("3:{from}:1:{from}:1:{sent}:{to}:1:{to}:1:{posted}:8:{tag}\n"));
        }
    }
    trace
}

/// The most memory that Sintonia takes for a verb, in kibibytes.
fn memory_of(arguments: &[&str], folder: &Path) -> u64 {
    let measure = "import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let sintonia = sintonia();
    let command = ["python3", "-c", measure, &sintonia].into_iter().chain(arguments.iter().copied());
    let outcome = Process::new(command).run_in(folder);
    outcome.expect_status(0);
    outcome.stdout.trim().parse().unwrap_or_else(|_| panic!("{}", outcome.text()))
}

fn messages_in(trace: &Path) -> usize {
    let text = std::fs::read_to_string(trace).expect("the trace");
    text.lines().filter(|line| line.starts_with("3:")).count()
}

/// Messages and bytes from one rank to another.
type Pairs = BTreeMap<(u64, u64), (u64, u64)>;

/// What an independent reader finds in the trace: how often each number was called, and messages and bytes between ranks.
fn checked(recording: &Recording) -> (BTreeMap<String, u64>, Pairs) {
    recording.export("run.prv");
    let found = Process::new(["awk", CHECK, "run.prv"]).run_in(recording.folder());
    assert_eq!(found.status, 0, "{}", found.text());
    let (mut calls, mut pairs) = (BTreeMap::new(), BTreeMap::new());
    for line in found.stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<u64>().expect("a number");
        match words[0] {
            "calls" => _ = calls.insert(words[1].to_owned(), number(2)),
            _ => _ = pairs.insert((number(1), number(2)), (number(3), number(4))),
        }
    }
    (calls, pairs)
}

/// Messages and bytes between ranks, as the receivers recorded them.
fn received(recording: &Recording, ranks: usize) -> Pairs {
    let mut pairs = Pairs::new();
    for rank in 0..ranks {
        for (source, _, bytes) in recording.received(rank).into_iter().filter(|(source, ..)| *source >= 0) {
            let pair = pairs.entry((source as u64, rank as u64)).or_default();
            *pair = (pair.0 + 1, pair.1 + bytes as u64);
        }
    }
    pairs
}

/// The recording that an import makes of an export.
fn returned(recording: &Recording, file: &str) -> Recording {
    recording.export(file);
    let folder = fresh_dir();
    let path = folder.path().join("returned.sin");
    let words = [sintonia(), "import".into(), file.into(), "-o".into(), path.display().to_string()];
    let run = Process::new(words).run_in(recording.folder());
    run.expect_no_crash().expect_status(0);
    Recording::at(run, path, folder)
}

/// Every call is there, at its time, from its line, with its messages.
fn compare(program: &Program, recording: &Recording, returned: &Recording) {
    let (before, after) = (recording.report(), returned.report());
    assert_eq!(before["pairs"], after["pairs"], "{}", program.name);
    for rank in 0..program.ranks {
        let fields = |call: &Call| {
            let operation = call.operation.replace("MPI_Init_thread", "MPI_Init");
            let mut received = call.received_messages();
            received.retain(|(source, ..)| *source >= 0);
            (operation, call.thread, call.enter, call.leave, call.file.clone(), call.line, call.root, call.sent, received)
        };
        let [one, other] = [recording, returned].map(|recording| recording.calls(rank).iter().map(fields).collect::<Vec<_>>());
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            // Of a call without a message, such as a send to MPI_PROC_NULL, a trace does not know the size.
            let sent = if other.7 == 0 { 0 } else { one.7 };
            let expected = (one.0.clone(), one.1, one.2, one.3, one.4.clone(), one.5, one.6, sent, one.8.clone());
            assert_eq!(expected, *other, "rank {rank} of {}", program.name);
        }
    }
}
