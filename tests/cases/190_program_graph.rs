//! The program graph: operations, loops, roles, messages and phases, whatever the length of the run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sintonia_tests::{Mpi, Process, Program, Recording, for_every_mpi, fresh_dir, on_every_mpi, record_command};

#[test]
fn the_graph_does_not_grow_with_the_run() {
    for_every_mpi(|mpi| {
        let [short, long] = ["10", "10000"].map(|rounds| graph(&nested_loops(mpi, rounds)));
        assert_eq!(skeleton(&short), skeleton(&long));
        assert_eq!(iterations(&long).last(), Some(&[10_000, 10_000]), "the outermost loop: {:?}", iterations(&long));
    });
}

#[test]
fn loops_in_loops_are_counted() {
    on_every_mpi("c/190_nested_loops", |_, _, recording| {
        let graph = graph(recording);
        assert_eq!(iterations(&graph), [[2, 2], [3, 3], [10, 10]]);
        let depth = |number: usize| std::iter::successors(Some(number), |n| Some(graph["loops"][*n]["parent"].as_u64()? as usize)).count();
        let depths: BTreeSet<usize> = (0..list(&graph["loops"]).len()).map(depth).collect();
        assert_eq!(depths, BTreeSet::from([1, 2, 3]), "one inside the other");
    });
}

#[test]
fn a_helper_is_apart_from_itself_where_different_parts_of_the_program_call_it() {
    on_every_mpi("c/190_nested_loops", |_, program, recording| {
        let graph = graph(recording);
        let nodes = |site: &str| nodes_at(&graph, program, site);
        assert_eq!(nodes("barrier").len(), 3);
        let [bcast, scan] = ["bcast", "scan"].map(|site| nodes(site)[0]);
        let barriers = nodes("barrier");
        assert!(barriers[0] < bcast && bcast < barriers[1] && barriers[1] < scan && scan < barriers[2], "in program order: {barriers:?}");
        let counts: Vec<u64> = barriers.iter().map(|node| calls(&graph, 0, *node)).collect();
        assert_eq!(counts, [2, 2, 2], "once on each rank");
    });
}

#[test]
fn a_completion_knows_what_it_completes() {
    on_every_mpi("c/190_nested_loops", |_, program, recording| {
        let graph = graph(recording);
        let node = |site: &str| nodes_at(&graph, program, site)[0];
        for site in ["irecv", "isend"] {
            let expected = json!({"begin": node(site), "end": node("waitall"), "count": 2 * 10 * 6});
            assert!(list(&graph["completions"]).contains(&expected), "{site}: {}", graph["completions"]);
        }
        let look = |site: &str| [&graph["nodes"][node(site)]["does"], &graph["nodes"][node(site)]["stage"]];
        assert_eq!(look("irecv"), ["receive", "begin"]);
        assert_eq!(look("waitall"), ["exchange", "end"]);
        assert_eq!(look("allreduce"), ["group", "whole"]);
    });
}

#[test]
fn ranks_without_a_neighbour_are_the_border() {
    on_every_mpi("c/191_grid", |_, _, recording| {
        let graph = graph(recording);
        assert_eq!(roles(&graph), [("border", vec![0, 1, 2, 3, 5, 6, 7, 8]), ("interior", vec![4])]);
    });
}

#[test]
fn a_master_and_its_workers_are_separate_roles_and_their_messages_match() {
    on_every_mpi("c/192_farm", |_, program, recording| {
        let graph = graph(recording);
        assert_eq!(roles(&graph), [("master", vec![0]), ("workers", vec![1, 2, 3])]);
        assert_eq!([&graph["not_received"], &graph["not_sent"]], [0, 0]);
        let messages = |from: &str, to: &str| -> u64 {
            let [from, to] = [from, to].map(|site| nodes_at(&graph, program, site));
            let at = |end: &Value, nodes: &[usize]| nodes.contains(&(number(&end["node"]) as usize));
            let edges = list(&graph["messages"]).iter().filter(|edge| at(&edge["from"], &from) && at(&edge["to"], &to));
            edges.map(|edge| number(&edge["messages"])).sum()
        };
        assert_eq!((messages("first", "work"), messages("more", "work"), messages("stop", "work")), (3, 37, 3));
        assert_eq!(messages("done", "results"), 40);
        let broadcasts: BTreeSet<usize> = ["master-bcast", "worker-bcast"].iter().map(|site| nodes_at(&graph, program, site)[0]).collect();
        let same = |set: &Value| numbers(set).iter().map(|node| *node as usize).collect::<BTreeSet<usize>>() == broadcasts;
        assert!(list(&graph["one_operation"]).iter().any(same), "{}", graph["one_operation"]);
    });
}

#[test]
fn messages_lead_from_the_line_that_sent_them_to_the_line_that_received_them() {
    on_every_mpi("c/193_message_ledger", |_, _, recording| {
        let graph = graph(recording);
        let counted: BTreeMap<(u64, u64), u64> = recording.run.stdout.lines().filter_map(ledger_line).collect();
        assert!(counted.len() >= 6, "the program's own ledger: {}", recording.run.stdout);
        assert_eq!(message_lines(&graph), counted);
        assert_eq!([&graph["not_received"], &graph["not_sent"]], [0, 0]);
    });
}

#[test]
fn every_rank_passes_the_phases_in_order_and_spends_all_its_time_in_them() {
    on_every_mpi("c/192_farm", |_, _, recording| {
        let graph = graph(recording);
        let outermost: Vec<&Value> = list(&graph["phases"]).iter().filter(|phase| phase["parent"].is_null()).collect();
        assert!(outermost.len() >= 3, "before, the work, and after: {}", graph["phases"]);
        for rank in 0..4 {
            let times: Vec<&Value> =
                outermost.iter().filter_map(|phase| list(&phase["ranks"]).iter().find(|time| time["rank"] == rank)).collect();
            let (mut end, mut sum) = (f64::NEG_INFINITY, 0.0);
            for time in &times {
                let [begin_s, end_s, elapsed_s, outside_s] = ["begin_s", "end_s", "elapsed_s", "outside_s"].map(|key| seconds(&time[key]));
                assert!(begin_s >= end - 1e-9 && end_s >= begin_s && outside_s <= elapsed_s + 1e-9, "rank {rank}: {times:?}");
                (end, sum) = (end_s, sum + elapsed_s);
            }
            let whole = end - seconds(&times[0]["begin_s"]);
            assert!((sum - whole).abs() < 1e-6, "rank {rank}: {sum} of {whole}");
        }
    });
}

#[test]
fn graphviz_takes_it() {
    on_every_mpi("c/192_farm", |_, _, recording| {
        recording.sintonia("graph", &["--program", "-o", "run.dot"]).expect_no_crash().expect_status(0);
        if std::process::Command::new("dot").arg("-V").output().is_ok() {
            Process::new(["dot", "-Tsvg", "run.dot", "-o", "drawn.svg"]).run_in(recording.folder()).expect_status(0);
        }
    });
}

#[test]
fn the_picture_has_a_lane_per_role_and_names_every_line() {
    on_every_mpi("c/192_farm", |_, program, recording| {
        recording.sintonia("graph", &["--program", "-o", "run.svg"]).expect_no_crash().expect_status(0);
        let svg = std::fs::read_to_string(recording.folder().join("run.svg")).expect("the picture was written");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("class=\"lane-ground\"").count(), 2);
        for site in ["first", "results", "more", "stop", "work", "done"] {
            assert!(svg.contains(&format!("192_farm.c:{}", program.line(site))), "{site}");
        }
        recording.sintonia("graph", &["--overview", "-o", "phases.svg"]).expect_no_crash().expect_status(0);
        let phases = std::fs::read_to_string(recording.folder().join("phases.svg")).expect("the overview was written");
        assert!(phases.contains(">master<") && phases.contains(">workers<"));
    });
}

#[test]
fn the_screen_shows_loops_and_roles() {
    on_every_mpi("c/192_farm", |_, _, recording| {
        let shown = recording.sintonia("graph", &["--program"]);
        shown.expect_no_crash().expect_status(0);
        for text in ["master (rank 0)", "workers (3 ranks: 1-3)", "loop ×", "MPI_Finalize", "Phases", "Messages"] {
            assert!(shown.stdout.contains(text), "{text}\n{}", shown.stdout);
        }
    });
}

#[test]
fn functions_and_loops_fold() {
    on_every_mpi("c/190_nested_loops", |_, program, recording| {
        let at_depth = |depth: &str| {
            let outcome = recording.sintonia("graph", &["--program", "--depth", depth, "--json"]);
            outcome.expect_no_crash().expect_status(0);
            serde_json::from_str::<Value>(&outcome.stdout).expect("one object")
        };
        let (phases, all) = (at_depth("1"), at_depth("9"));
        let is_exchange = |scope: &&Value| scope["function"] == "exchange" && scope["last_line"] == program.line("waitall");
        assert_eq!(list(&all["scopes"]).iter().filter(is_exchange).count(), 1, "{}", all["scopes"]);
        assert!(list(&phases["folded"]["items"]).len() < list(&all["folded"]["items"]).len());
        assert_eq!(list(&all["folded"]["items"]).len(), list(&all["nodes"]).len());
        let calls = |graph: &Value| list(&graph["folded"]["roles"][0]["items"]).iter().map(|item| number(&item["calls"])).sum::<u64>();
        assert_eq!(calls(&phases), calls(&all), "folded calls are counted");
        let shown = recording.sintonia("graph", &["--program", "--depth", "1"]);
        shown.expect_no_crash().expect_status(0);
        assert!(shown.stdout.contains("+ ") && shown.stdout.contains("folded into functions and loops"), "{}", shown.stdout);
    });
}

#[test]
fn what_cannot_be_written_is_refused() {
    on_every_mpi("c/192_farm", |mpi, program, recording| {
        recording.sintonia("graph", &["--program", "--format", "metis"]).expect_no_crash().expect_status(2);
        recording.sintonia("graph", &["-o", "run.svg"]).expect_no_crash().expect_status(2);
        recording.sintonia("graph", &["--depth", "2"]).expect_no_crash().expect_status(2);
        recording.sintonia("graph", &["--program", "--depth", "0"]).expect_no_crash().expect_status(2);
        let sums = Recording::record(mpi, program, &["--profile"]);
        let refused = sums.sintonia("graph", &["--program"]);
        refused.expect_no_crash().expect_status(1);
        assert!(refused.stderr.contains("is a profile"), "{}", refused.stderr);
    });
}

/// Records `190_nested_loops` with this many rounds.
fn nested_loops(mpi: &Mpi, rounds: &str) -> Recording {
    let program = Program::find("c/190_nested_loops");
    let folder = fresh_dir();
    let path = folder.path().join("run.sin");
    let mut command = program.build(mpi).expect("every library runs it");
    *command.last_mut().expect("the program has an argument") = rounds.into();
    let run = program.process(mpi, record_command(&path, &[], mpi.launch(program.ranks, &command))).run_in(folder.path());
    run.expect_status(0);
    Recording::at(run, path, folder)
}

fn graph(recording: &Recording) -> Value {
    let outcome = recording.sintonia("graph", &["--program", "--json"]);
    outcome.expect_no_crash().expect_status(0);
    serde_json::from_str(&outcome.stdout).expect("one object")
}

/// The graph without counts and times.
fn skeleton(graph: &Value) -> Value {
    let pick = |value: &Value, keys: &[&str]| keys.iter().map(|key| value[key].clone()).collect::<Vec<Value>>();
    let each = |value: &Value, keys: &[&str]| list(value).iter().map(|one| pick(one, keys)).collect::<Vec<_>>();
    let role = |role: &Value| {
        let parts = [each(&role["nodes"], &["node"]), each(&role["segments"], &["from", "to"]), each(&role["loops"], &["loop"])];
        json!({"of": pick(role, &["name", "ranks"]), "parts": parts})
    };
    json!({
        "nodes": graph["nodes"], "loops": graph["loops"], "one_operation": graph["one_operation"],
        "roles": list(&graph["roles"]).iter().map(role).collect::<Vec<_>>(),
        "messages": each(&graph["messages"], &["from", "to"]),
        "completions": each(&graph["completions"], &["begin", "end"]),
        "phases": each(&graph["phases"], &["name", "parent", "repeats", "nodes"]),
    })
}

/// A line of the ledger of `193_message_ledger`: sending line, receiving line, and number of messages.
fn ledger_line(text: &str) -> Option<((u64, u64), u64)> {
    let (lines, count) = text.split_once(": ")?;
    let (from, to) = lines.split_once(" to ")?;
    Some(((from.parse().ok()?, to.parse().ok()?), count.parse().ok()?))
}

/// The number of messages from one line to another.
fn message_lines(graph: &Value) -> BTreeMap<(u64, u64), u64> {
    let mut lines = BTreeMap::new();
    for edge in list(&graph["messages"]) {
        let line = |end: &Value| number(&graph["nodes"][number(&end["node"]) as usize]["line"]);
        *lines.entry((line(&edge["from"]), line(&edge["to"]))).or_default() += number(&edge["messages"]);
    }
    lines
}

/// The roles, and the ranks that have them.
fn roles(graph: &Value) -> Vec<(&str, Vec<u64>)> {
    list(&graph["roles"]).iter().map(|role| (text(&role["name"]), numbers(&role["ranks"]))).collect()
}

/// The least and the most iterations of each loop of the first role, in order.
fn iterations(graph: &Value) -> Vec<[u64; 2]> {
    let mut all: Vec<[u64; 2]> =
        list(&graph["roles"][0]["loops"]).iter().map(|one| [number(&one["least"]), number(&one["most"])]).collect();
    all.sort_unstable();
    all
}

/// The nodes at the line marked `site:name`, in program order.
fn nodes_at(graph: &Value, program: &Program, site: &str) -> Vec<usize> {
    let line = program.line(site);
    let nodes = list(&graph["nodes"]).iter().enumerate().filter(|(_, node)| node["line"] == line);
    let found: Vec<usize> = nodes.map(|(number, _)| number).collect();
    assert!(!found.is_empty(), "{site} is in the graph: {}", graph["nodes"]);
    found
}

/// How often a role called at a node.
fn calls(graph: &Value, role: usize, node: usize) -> u64 {
    let nodes = list(&graph["roles"][role]["nodes"]);
    nodes.iter().find(|visit| visit["node"] == node).map_or(0, |visit| number(&visit["count"]))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("a list: {value}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number: {value}"))
}

fn numbers(value: &Value) -> Vec<u64> {
    list(value).iter().map(number).collect()
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("seconds: {value}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}"))
}
