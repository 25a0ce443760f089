//! Functions on the page: the times that `sintonia view` answers are those the program measured, and the view shows them.

use serde_json::Value;
use sintonia_tests::json::{integer, list};
use sintonia_tests::view::Served;
use sintonia_tests::{Mpi, Process, Recording, SourceProgram, run_scenario, sintonia};

const TREE: &str = include_str!("912_functions/tree.c");
/// Part of the time by which a share may be off: a thousand samples, on a busy machine.
const TOLERANCE: f64 = 0.08;

fn recorded() -> Recording {
    let program =
        SourceProgram { name: "tree", source: TREE, flags: &["-g", "-O1"], ranks: 2, arguments: &["30"], ..SourceProgram::default() };
    program.record(&Mpi::available()[0], &["--sample", "499"])
}

/// The share of a function that a rank has measured.
fn measured(recording: &Recording, rank: u32, function: &str) -> f64 {
    let stdout = &recording.run.stdout;
    let start = format!("rank {rank} {function} ");
    let share = stdout.lines().find_map(|line| line.strip_prefix(&start)).and_then(|share| share.parse().ok());
    share.unwrap_or_else(|| panic!("no share of {function} in {stdout}"))
}

/// A node of an answer: its function, that of its caller, and its time.
#[derive(Debug)]
struct Node {
    name: String,
    caller: String,
    own: u64,
    total: u64,
}

fn nodes(answer: &Value) -> Vec<Node> {
    let columns = &answer["nodes"];
    let name = |node: usize| {
        let function = integer(&columns["function"][node]) as usize;
        answer["functions"][function]["name"].as_str().expect("a name").to_owned()
    };
    let sum = |node: usize| ["computation", "kernel", "mpi"].iter().map(|part| integer(&columns[*part][node])).sum();
    let node = |node: usize| Node {
        name: name(node),
        caller: columns["caller"][node].as_u64().map_or_else(String::new, |caller| name(caller as usize)),
        own: integer(&columns["self"][node]),
        total: sum(node),
    };
    (0..list(&columns["caller"]).len()).map(node).collect()
}

/// Time in a function that the program calls in one place only.
fn total(nodes: &[Node], name: &str) -> u64 {
    nodes.iter().filter(|node| node.name == name).map(|node| node.total).sum()
}

#[test]
fn the_time_of_functions_is_what_the_program_measured() {
    let recorded = recorded();
    let served = Served::start(&[&recorded.path]);
    for rank in 0..2 {
        let nodes = nodes(&served.json(&format!("0/stacks?ranks={rank}")));
        let all = total(&nodes, "step") as f64;
        for (name, function) in [("apply_stencil", "smooth"), ("transform", "transform"), ("fill", "fill"), ("exchange", "exchange")] {
            let (share, expected) = (total(&nodes, function) as f64 / all, measured(&recorded, rank, name));
            assert!((share - expected).abs() < TOLERANCE, "rank {rank}, {function}: {share} of the samples, {expected} measured");
        }
        let sum: u64 = nodes.iter().map(|node| node.own).sum();
        let of_roots: u64 = nodes.iter().filter(|node| node.caller.is_empty()).map(|node| node.total).sum();
        assert_eq!(sum, of_roots, "every sample counts once");
    }
    let nodes = nodes(&served.json("0/stacks"));
    let is_called_by = |name: &str, caller: &str| nodes.iter().any(|node| node.name == name && node.caller == caller);
    assert!(is_called_by("apply_stencil", "smooth") && is_called_by("smooth", "step") && is_called_by("step", "main"), "{nodes:?}");
    assert!(is_called_by("MPI_Barrier", "exchange"), "an MPI call is named by its function: {nodes:?}");
}

#[test]
fn a_selection_has_only_its_own_samples() {
    let recorded = recorded();
    let served = Served::start(&[&recorded.path]);
    let samples = |query: &str| integer(&served.json(&format!("0/stacks{query}"))["samples"]);
    let all = samples("");
    assert_eq!(samples("?ranks=0") + samples("?ranks=1"), all);
    let middle = served.json("0/about")["recordings"][0]["end_ns"].as_u64().expect("an end") / 2;
    let (before, after) = (samples(&format!("?to={middle}")), samples(&format!("?from={middle}")));
    assert!(before > 0 && after > 0 && before + after == all, "{before} and {after} of {all}");
    let of_main_thread = samples("?threads=0");
    assert!(
        (all * 98 / 100..=all).contains(&of_main_thread),
        "{of_main_thread} of {all}: threads of the MPI library compute hardly at all"
    );
    assert_eq!(samples("?threads=7"), 0);
    for wrong in ["ranks=9", "ranks=x", "threads=x", "from=5&to=5", "lines=2"] {
        assert_eq!(served.refused(&format!("0/stacks?{wrong}")).0, 400, "{wrong}");
    }
}

#[test]
fn lines_have_the_time_of_their_function_and_only_its_file_is_read() {
    let recorded = recorded();
    let served = Served::start(&[&recorded.path]);
    let stacks = served.json("0/stacks");
    let functions = list(&stacks["functions"]);
    let index = |name: &str| functions.iter().position(|function| function["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    let lines = served.json(&format!("0/lines?function={}", index("apply_stencil")));
    let (times, text) = (&lines["times"], &lines["text"]);
    let own: u64 =
        (0..list(&times["line"]).len()).filter(|row| times["is_function"][*row] == true).map(|row| integer(&times["self"][row])).sum();
    let expected: u64 = nodes(&stacks).iter().filter(|node| node.name == "apply_stencil").map(|node| node.own).sum();
    assert_eq!(own, expected);
    let hottest = (integer(&lines["hottest"]) - integer(&text["first"])) as usize;
    assert!(TREE.lines().any(|line| line == text["lines"][hottest]), "{text}");
    assert_eq!(list(&text["lines"]).len(), TREE.lines().count());
    assert_eq!(served.json(&format!("0/lines?function={}&text=0", index("apply_stencil")))["text"], Value::Null);
    assert_eq!(served.refused(&format!("0/lines?function={}", index("MPI_Barrier"))).0, 404, "MPI has no source here");
    for (wrong, status) in [("function=99999", 404), ("function=/etc/passwd", 400), ("file=/etc/passwd", 400)] {
        assert_eq!(served.refused(&format!("0/lines?{wrong}")).0, status, "{wrong}");
    }
    std::fs::remove_file(recorded.folder().join("tree.c")).expect("removed");
    let why = served.json(&format!("0/lines?function={}", index("apply_stencil")))["text"]["why"].clone();
    assert!(why.as_str().is_some_and(|why| why.contains("does not exist here")), "{why}");
}

#[test]
fn a_recording_without_samples_has_no_functions() {
    let recorded = recorded();
    std::fs::remove_file(recorded.path.join("stacks.json")).expect("removed");
    let served = Served::start(&[&recorded.path]);
    assert!(!list(&served.json("0/about")["subjects"]).iter().any(|subject| subject == "stacks"));
    let (status, why) = served.refused("0/stacks");
    assert!(status == 404 && why.contains("no samples"), "{status}: {why}");
}

#[test]
fn the_view_shows_functions_callers_and_lines() {
    let recorded = recorded();
    let served = Served::start(&[&recorded.path]);
    run_scenario("functions", &served.address);
}

#[test]
fn a_file_has_functions_too() {
    let recorded = recorded();
    for (name, options) in [("plain.html", &[][..]), ("source.html", &["--source"][..])] {
        let file = recorded.folder().join(name);
        let words = [sintonia(), "report".into(), recorded.path.display().to_string(), "--html".into(), file.display().to_string()];
        Process::new(words.into_iter().chain(options.iter().map(ToString::to_string))).run_in(recorded.folder()).expect_status(0);
        run_scenario("functions-file", &format!("file://{}?{}", file.display(), options.concat()));
    }
}
