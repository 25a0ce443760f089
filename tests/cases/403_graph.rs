//! The communication graph as a METIS file: vertices are ranks, edges what they exchange.

use std::collections::BTreeMap;

use sintonia_tests::{Process, Recording, on_every_mpi};

/// A METIS file: weights of vertices and of edges (both directions), and its comments.
struct Graph {
    vertices: Vec<u64>,
    edges: BTreeMap<(usize, usize), u64>,
    comments: String,
}

#[test]
fn edges_are_bytes_of_both_directions() {
    on_every_mpi("c/008_sendrecv", |_, _, recording| {
        let graph = graph(recording, &["--point-to-point"]);
        assert_eq!(graph.vertices.len(), 3);
        assert_eq!(graph.edges, edges(&[(0, 1, 24), (1, 2, 24), (0, 2, 20)]));
        assert!(graph.comments.contains("point"), "the file says what was counted: {}", graph.comments);
    });
}

#[test]
fn edges_are_messages_when_asked() {
    on_every_mpi("c/008_sendrecv", |_, _, recording| {
        let graph = graph(recording, &["--point-to-point", "--weight", "messages"]);
        assert_eq!(graph.edges, edges(&[(0, 1, 4), (1, 2, 4), (0, 2, 3)]));
    });
}

#[test]
fn no_rank_is_its_own_neighbour() {
    on_every_mpi("c/005_self", |_, _, recording| {
        assert_eq!(graph(recording, &["--point-to-point"]).edges, edges(&[]));
    });
}

#[test]
fn collectives_count_unless_left_out() {
    on_every_mpi("c/010_collectives", |_, _, recording| {
        assert_eq!(graph(recording, &["--point-to-point"]).edges, edges(&[]));
        let with = graph(recording, &[]);
        assert!(!with.edges.is_empty());
        assert!(!with.comments.is_empty(), "the file says how collectives were counted");
    });
}

#[test]
fn gpmetis_takes_it() {
    on_every_mpi("c/015_communicators", |_, _, recording| {
        for options in [&[][..], &["--point-to-point"], &["--weight", "messages"]] {
            graph(recording, options);
            let metis = Process::new(["gpmetis", "run.graph", "2"]).run_in(recording.folder());
            metis.expect_status(0);
        }
    });
}

/// Writes the graph, reads it back and checks that it is what METIS defines.
fn graph(recording: &Recording, options: &[&str]) -> Graph {
    let mut all = vec!["--communication", "-o", "run.graph"];
    all.extend_from_slice(options);
    recording.sintonia("graph", &all).expect_no_crash().expect_status(0);
    let text = std::fs::read_to_string(recording.folder().join("run.graph")).expect("the graph was written");
    let (comments, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('%'));
    let numbers = |line: &str| -> Vec<u64> {
        line.split_whitespace().map(|word| word.parse().unwrap_or_else(|_| panic!("{word:?} in\n{text}"))).collect()
    };
    let header = lines[0].split_whitespace().collect::<Vec<_>>();
    assert!(["011", "11"].contains(&header[2]), "vertex and edge weights are announced: {}", lines[0]);
    let (vertices, edge_count) = (numbers(header[0])[0] as usize, numbers(header[1])[0] as usize);
    assert_eq!(lines.len(), vertices + 1, "one line per vertex\n{text}");
    let mut graph = Graph { vertices: Vec::new(), edges: BTreeMap::new(), comments: comments.join("\n") };
    for (vertex, line) in lines[1..].iter().enumerate() {
        let row = numbers(line);
        graph.vertices.push(row[0]);
        for edge in row[1..].chunks(2) {
            let [neighbour, weight] = edge else { panic!("half an edge in\n{text}") };
            let neighbour = *neighbour as usize - 1;
            assert!(neighbour < vertices && neighbour != vertex && *weight > 0, "{line}\n{text}");
            assert!(graph.edges.insert((vertex, neighbour), *weight).is_none(), "an edge twice\n{text}");
        }
    }
    assert_eq!(graph.edges.len(), 2 * edge_count, "as many edges as announced\n{text}");
    for (&(from, to), weight) in &graph.edges {
        assert_eq!(graph.edges.get(&(to, from)), Some(weight), "the same in both directions\n{text}");
    }
    graph
}

fn edges(list: &[(usize, usize, u64)]) -> BTreeMap<(usize, usize), u64> {
    list.iter().flat_map(|&(a, b, weight)| [((a, b), weight), ((b, a), weight)]).collect()
}
