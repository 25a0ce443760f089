//! Output of the verbs for a recording with known figures.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use sintonia_recording::testing::sample;

/// Runs the command in a directory that contains `run.sin`.
fn sintonia(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sintonia")).current_dir(folder).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Standard output of a successful run.
fn shown(folder: &Path, arguments: &[&str]) -> String {
    let output = sintonia(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A directory with the sample as `run.sin`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    sample::recording().move_to(&folder.path().join("run.sin"));
    folder
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_report_fits_on_a_screen() {
    let expected = "\
run.sin: mpirun -n 5 ./main, n = 4096
5 ranks on 2 hosts (clocks within 2.00 us), Open MPI 4.1.4: 10.0 s, 21 MPI calls, exit status 137

Efficiency, over the run of 8.00 s from MPI_Init to MPI_Finalize
  parallel efficiency  67 %   share of computation in the ranks' time; product of the two below
    load balance       77 %   how evenly computation is distributed; low if some ranks compute more
    communication      88 %   computation share of the busiest rank; low if waiting or much data
      serialisation   100 %   of that, the loss to waiting for each other, on an ideal network
      transfer         88 %   and the loss to data transfer

What to do: no single change stands out. Most is lost to uneven distribution of computation.

Waiting for others                                                 waits      time  of run   longest
  late sender, wrong order Recv at src/main.c:3                        1    1.00 s     3 %    1.00 s

Critical path: 8.00 s, 88 % of it computation
   38 %  src/main.c:4 -> finish in libhelp.so.1, critical-path imbalance 1.20 s
   38 %  src/main.c:8 -> src/main.c:4, critical-path imbalance 2.40 s

Calls by time (5 of 9; --all shows the rest)                       calls      time  of run     bytes
  MPI_Bcast                src/main.c:4                                4    4.00 s    12 %     400 B
  MPI_Init                 src/main.c:1                                4    4.00 s       -         -
  MPI_Finalize             finish in libhelp.so.1                      3    3.00 s       -         -
  MPI_Recv                 src/main.c:3                                2    3.00 s     9 %   1.00 kB
  MPI_Send                 src/main.c:2                                2    2.00 s     6 %   2.00 kB

Messages between ranks, by size                     messages       bytes
  to 64 B      ##############################              3       192 B
  to 1 KiB     ####################                        2     2.00 kB

Heaviest pairs
  0 -> 1                                                   2     2.00 kB
  2 -> 1                                                   3       192 B

Keep in mind (3 of 4; --all shows the rest)
  incomplete: rank 3 (cut short), rank 4 (no data)
  rank 3 was in MPI_Recv at src/main.c:3 when it ended
  sends without a receive, or receives without a recorded send: 3 messages
";
    assert_eq!(shown(folder().path(), &["report", "run.sin"]), expected);
    assert!(expected.lines().count() <= 40 && expected.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn the_whole_report_has_what_the_screen_leaves_out() {
    let all = shown(folder().path(), &["report", "run.sin", "--all"]);
    for line in
        ["MPI_Start                src/main.c:8", "MPI functions by time", "   3          3.00 s        5.00 s             3   second"]
    {
        assert!(all.contains(line), "{line}: {all}");
    }
}

#[test]
fn the_report_is_there_for_programs_too() {
    let report = json(&shown(folder().path(), &["report", "run.sin", "--json"]));
    assert_eq!((&report["ranks"], &report["elapsed_s"], &report["calls"]), (&5.into(), &10.0.into(), &21.into()));
    assert_eq!(report["pairs"][0], serde_json::json!({"from": 0, "to": 1, "messages": 2, "bytes": 2000}));
    assert_eq!(report["sizes"][1], serde_json::json!({"up_to": 1024, "messages": 2, "bytes": 2000}));
    assert_eq!((&report["unmatched"], &report["clock_error_s"]), (&3.into(), &2e-6.into()));
}

#[test]
fn several_recordings_are_compared_with_the_first() {
    let folder = folder();
    let said = shown(folder.path(), &["report", "run.sin", "run.sin"]);
    // One of its ranks was cut short.
    assert!(said.starts_with("run.sin: The run is incomplete (rank 3: cut short): its times are not compared.\n"), "{said}");
    for (name, value) in [("ranks", "5"), ("time", "8.00 s"), ("speed-up", "-"), ("  computation scalability", "-")] {
        assert!(said.contains(&format!("\n{name:<28}{value:>12}{value:>12}\n")), "{name}: {said}");
    }
    assert!(said.ends_with("with the same total work (strong scaling); times are from MPI_Init to MPI_Finalize.\n"), "{said}");
    let compared = json(&shown(folder.path(), &["report", "run.sin", "run.sin", "--weak", "--json"]));
    assert_eq!((&compared["growth"], &compared["runs"][1]["speedup"]), (&"weak".into(), &serde_json::Value::Null));
}

#[test]
fn kinds_of_waits_and_advice_are_explained() {
    let folder = folder();
    for (kind, begins) in [("late_sender", "late sender (late_sender)\n\nA receive"), ("slow_rank", "slow core or host (slow_rank)\n")] {
        let said = shown(folder.path(), &["report", "--explain", kind]);
        assert!(said.starts_with(begins) && said.lines().all(|line| line.chars().count() <= 100), "{said}");
    }
    let unknown = sintonia(folder.path(), &["report", "--explain", "boredom"]);
    assert_eq!(unknown.status.code(), Some(2));
    let said = String::from_utf8_lossy(&unknown.stderr);
    assert!(said.contains("no kind \"boredom\"; available: late_sender, "), "{said}");
}

#[test]
fn the_graph_is_a_metis_file_that_gpmetis_reads() {
    let folder = folder();
    assert_eq!(shown(folder.path(), &["graph", "run.sin", "--communication", "-o", "run.graph"]), "");
    let file = std::fs::read_to_string(folder.path().join("run.graph")).unwrap();
    assert!(file.lines().any(|line| line.starts_with("% ") && line.contains("Open MPI 4.1 and 5.0")), "{file}");
    let body = "5 5 011\n5000000 2 2100 3 100 5 100\n4500000 1 2100 3 192 4 100\n7000000 1 100 2 192\n5000000 2 100\n1 1 100\n";
    assert!(file.ends_with(body), "{file}");
    if let Ok(gpmetis) = Command::new("gpmetis").current_dir(folder.path()).args(["run.graph", "2"]).output() {
        let said = String::from_utf8_lossy(&gpmetis.stdout) + String::from_utf8_lossy(&gpmetis.stderr);
        assert!(gpmetis.status.success() && !said.to_lowercase().contains("error") && !said.to_lowercase().contains("warning"), "{said}");
        assert_eq!(std::fs::read_to_string(folder.path().join("run.graph.part.2")).unwrap().lines().count(), 5);
    }
}

#[test]
fn the_graph_says_what_it_weighs_and_what_it_leaves_out() {
    let graph = shown(folder().path(), &["graph", "run.sin", "--weight", "messages", "--point-to-point"]);
    assert!(graph.contains("weight: messages") && graph.contains("collectives are left out"), "{graph}");
    assert!(graph.ends_with("5 2 011\n5000000 2 2\n4500000 1 2 3 3\n7000000 2 3\n5000000\n1\n"), "{graph}");
}

#[test]
fn the_ending_of_the_file_decides_the_format() {
    let folder = folder();
    for (file, begins) in [("run.dot", "//"), ("run.json", "{"), ("run.graph", "%"), ("run", "%")] {
        shown(folder.path(), &["graph", "run.sin", "-o", file]);
        assert!(std::fs::read_to_string(folder.path().join(file)).unwrap().starts_with(begins), "{file}");
    }
    let graph = json(&shown(folder.path(), &["graph", "run.sin", "--json"]));
    assert_eq!(graph["edges"][0], serde_json::json!({"ranks": [0, 1], "bytes": 2100, "messages": 3}));
    assert_eq!(graph["vertices"][2], serde_json::json!({"rank": 2, "compute_us": 7_000_000}));
}

#[test]
fn calls_are_listed_in_order_with_what_they_have() {
    let calls = shown(folder().path(), &["calls", "run.sin", "--json"]);
    let calls: Vec<serde_json::Value> = calls.lines().map(json).collect();
    assert_eq!(calls.len(), 21);
    let place = |line: u32| serde_json::json!({"file": "/home/me/app/src/main.c", "line": line, "function": "main"});
    let expect = |call: usize, line: u32, fields: serde_json::Value| {
        let mut expected = fields;
        expected.as_object_mut().unwrap().extend(place(line).as_object().unwrap().clone());
        assert_eq!(calls[call], expected);
    };
    expect(
        1,
        2,
        json(r#"{"rank":0,"thread":0,"enter_s":2.0,"leave_s":3.0,"operation":"MPI_Send","communicator":0,"peer":1,"tag":7,"sent":1000}"#),
    );
    expect(
        3,
        4,
        json(
            r#"{"rank":0,"thread":0,"enter_s":5.0,"leave_s":6.0,"operation":"MPI_Bcast","communicator":0,"root":0,"sent":100,"received":0}"#,
        ),
    );
    expect(
        8,
        6,
        json(
            r#"{"rank":1,"thread":0,"enter_s":4.0,"leave_s":4.5,"operation":"MPI_Waitall","completed":[{"request":"0:0","peer":0,"tag":7,"received":1000}]}"#,
        ),
    );
    expect(13, 8, json(r#"{"rank":2,"thread":0,"enter_s":2.0,"leave_s":2.0,"operation":"MPI_Start","started":[{"request":"0:0"}]}"#));
    expect(
        20,
        3,
        json(
            r#"{"rank":3,"thread":0,"enter_s":7.0,"leave_s":8.0,"operation":"MPI_Recv","communicator":0,"peer":2,"tag":7,"unfinished":true}"#,
        ),
    );
}

#[test]
fn calls_are_listed_for_people_too() {
    let expected = "\
rank thread          enter       time  call
   1      0    0.000000000     1.00 s  MPI_Init at src/main.c:1
   1      0    1.000000000        0 s  MPI_Irecv, peer 0, tag 7, 2.00 kB received, communicator 0, request 0:0 at src/main.c:5
   1      0    2.000000000     2.00 s  MPI_Recv, peer 0, tag 7, 1.00 kB received, communicator 0 at src/main.c:3
   1      0    4.000000000     500 ms  MPI_Waitall, completed 0:0 (from 0, tag 7, 1.00 kB) at src/main.c:6
   1      0    5.000000000     1.00 s  MPI_Bcast, root 0, 0 B sent, 100 B received, communicator 0 at src/main.c:4
   1      0    9.000000000     1.00 s  MPI_Finalize at finish in libhelp.so.1
";
    assert_eq!(shown(folder().path(), &["calls", "run.sin", "--rank", "1"]), expected);
}

#[test]
fn errors_say_what_and_where() {
    let folder = folder();
    let profile = sample::profile();
    for (arguments, status, message) in [
        (&["report", "nothing.sin"][..], 1, "nothing.sin: no such recording"),
        (&["report", "."], 1, "not a recording"),
        (&["calls", "run.sin", "--rank", "9"], 1, "no rank 9: the recording has ranks 0 to 4"),
        (&["calls", "run.sin", "--rank", "4"], 1, "rank 4 was not recorded"),
        (&["calls", profile.path().to_str().unwrap()], 1, "record again without --profile"),
        (&["graph", "run.sin", "-o", "no/such/run.graph"], 1, "cannot write no/such/run.graph"),
        (&["report"], 2, "NAME.sin"),
        (&["report", "run.sin", "--weak"], 2, "--weak needs several recordings to compare"),
        (&["report", "run.sin", "run.sin", "--all"], 2, "--all works with one recording"),
        (&["report", "--explain", "late_sender", "--weak"], 2, "cannot be used with"),
        (&["graph", "run.sin", "--weight", "gold"], 2, "messages"),
    ] {
        let output = sintonia(folder.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
        assert!(said.contains(message) && output.stdout.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn a_reader_may_close_the_pipe_early() {
    let folder = folder();
    for arguments in [
        &["report", "run.sin"][..],
        &["graph", "run.sin"],
        &["graph", "run.sin", "-o", "/dev/stdout"],
        &["calls", "run.sin"],
        &["export", "run.sin", "--to", "csv", "-o", "/dev/stdout"],
        &["export", "run.sin", "--to", "metis", "-o", "/dev/stdout"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            Command::new(env!("CARGO_BIN_EXE_sintonia")).current_dir(folder.path()).args(arguments).stdout(writer).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}
