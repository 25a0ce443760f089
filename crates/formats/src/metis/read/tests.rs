//! What is read, and what is said of files that are wrong.

use proptest::prelude::*;

use super::super::write;
use super::*;

fn said(text: &str) -> String {
    read(text.as_bytes()).expect_err("the file is wrong").to_string()
}

fn edge(a: u32, b: u32, weight: u64) -> WeightedEdge {
    WeightedEdge { endpoints: [a, b], weight }
}

#[test]
fn the_graph_of_the_manual_is_read_in_all_its_forms() {
    let plain = read(b"% a comment\n3 2\n2 3\n1\n1\n").unwrap();
    let edges = vec![edge(0, 1, 1), edge(0, 2, 1)];
    assert_eq!(plain, WeightedGraph { comments: vec!["a comment".into()], vertex_weights: vec![1; 3], edges });
    let weighted = read(b"3 2 011\n5 2 10 3 20\n6 1 10\r\n0 1 20").unwrap();
    assert_eq!((weighted.vertex_weights, weighted.edges), (vec![5, 6, 0], vec![edge(0, 1, 10), edge(0, 2, 20)]));
    let only_edges_have_weights = read(b"2 1 1\n2 9\n1 9\n").unwrap();
    assert_eq!(only_edges_have_weights.edges, [edge(0, 1, 9)]);
    let sizes_and_three_weights = read(b"2 1 111 3\n100 7 8 9 2 4\n%\n100 1 2 3 1 4\n\n\n").unwrap();
    assert_eq!((sizes_and_three_weights.vertex_weights, sizes_and_three_weights.edges), (vec![7, 1], vec![edge(0, 1, 4)]));
}

#[test]
fn a_blank_line_is_a_vertex_without_neighbours() {
    assert_eq!(read(b"\n3 1\n3\n\n1\n").unwrap().edges, [edge(0, 2, 1)]);
}

#[test]
fn a_file_without_a_graph_says_what_it_should_begin_with() {
    let expected = "there is no graph; expected a first line `VERTICES EDGES [FORMAT [WEIGHTS]]`";
    assert_eq!(said(""), format!("line 1: {expected}"));
    assert_eq!(said("% nothing\n\n"), format!("line 2: {expected}"));
}

#[test]
fn errors_of_the_header_are_distinguished() {
    assert_eq!(said("graph {"), "line 1: found `graph` where the number of vertices, below 2^32, is expected");
    assert_eq!(said("5000000000 1"), "line 1: found `5000000000` where the number of vertices, below 2^32, is expected");
    assert_eq!(said("%\n3"), "line 2: the line ends where the number of edges is expected");
    assert!(said("3 2 2").starts_with("line 1: invalid format `2`; expected up to three digits"));
    assert!(said("3 2 0011").starts_with("line 1: invalid format `0011`"));
    assert!(said("3 2 1 2").starts_with("line 1: the header announces 2 weights per vertex"));
    assert!(said("3 2 11 2 7").starts_with("line 1: unexpected `7`"));
}

#[test]
fn the_number_of_vertices_must_be_as_promised() {
    let too_few = "line 3: the file ends after the lines of 2 of 4 vertices; expected one line for each, also for those without neighbours";
    assert_eq!(said("4 1\n2\n1\n"), too_few);
    assert_eq!(said("2 1\n2\n1\n\n1\n"), "line 5: unexpected line; expected 2 lines after the first, one for each vertex");
}

#[test]
fn the_number_of_edges_must_be_as_promised() {
    let both_ends_counted = "line 1: the header announces 4 edges, but the vertex lines have 2; expected each edge counted once";
    assert_eq!(said("3 4\n2 3\n1\n1\n"), both_ends_counted);
}

#[test]
fn neighbours_must_be_other_vertices() {
    assert_eq!(said("2 1\n0\n1\n"), "line 2: there is no vertex 0; expected 1 to 2");
    assert_eq!(said("2 1\n2\n3\n"), "line 3: there is no vertex 3; expected 1 to 2");
    assert_eq!(said("2 1\n9999999999\n1\n"), "line 2: there is no vertex 9999999999; expected 1 to 2");
    assert_eq!(said("2 1\n2\n2\n"), "line 3: vertex 2 is its own neighbour; expected no self-loops");
    assert_eq!(said("2 1\n-2\n1\n"), "line 2: found `-2` where the number of a neighbour is expected");
}

#[test]
fn an_edge_is_listed_once_at_each_end() {
    let one_way = "line 2: vertex 1 has neighbour 3, but line 4 does not say that 3 has 1; expected both";
    assert_eq!(said("3 2\n2 3\n1\n\n"), one_way);
    let from_behind = "line 4: vertex 3 has neighbour 1, but line 2 does not say that 1 has 3; expected both";
    assert_eq!(said("3 2\n2\n1\n1\n"), from_behind);
    let twice = "vertex 2 has neighbour 1 twice; expected one edge between two vertices";
    assert_eq!(said("2 1\n2\n1 1\n"), format!("line 3: {twice}"));
    assert_eq!(said("2 1\n\n1 1\n"), format!("line 3: {twice}"));
    assert_eq!(said("2 1\n2 2\n1\n"), "line 2: vertex 1 has neighbour 2 twice; expected one edge between two vertices");
}

#[test]
fn weights_are_whole_numbers_and_those_of_edges_the_same_at_both_ends() {
    let differ = "line 2: the edge from vertex 1 to 2 weighs 5, but 6 in line 3; expected the same";
    assert_eq!(said("2 1 1\n2 5\n1 6\n"), differ);
    assert_eq!(said("2 1 1\n2 0\n1 0\n"), "line 2: found `0` where the weight of the edge, 1 or more, is expected");
    assert_eq!(said("2 1 1\n2\n1\n"), "line 2: the line ends where the weight of the edge, 1 or more, is expected");
    assert_eq!(said("2 1 10\n-1 2\n1\n"), "line 2: found `-1` where a weight of the vertex, 0 or more, is expected");
    assert_eq!(said("2 1 10 2\n1 2.5 2\n1 1\n"), "line 2: found `2.5` where a weight of the vertex, 0 or more, is expected");
    assert_eq!(said("2 1 100\nx\n1\n"), "line 2: found `x` where the size of the vertex is expected");
    assert_eq!(said("2 1\n\u{1b}2\n1\n"), "line 2: found ` 2` where the number of a neighbour is expected");
    assert_eq!(
        said(&"9".repeat(100)),
        format!("line 1: found `{}…` where the number of vertices, below 2^32, is expected", "9".repeat(24))
    );
}

#[test]
fn a_promise_takes_no_memory() {
    assert!(said("4294967295 18446744073709551615 111 18446744073709551615").starts_with("line 1: the file ends after the lines of 0 of"));
}

/// Graphs whose weights METIS can add up.
fn graphs() -> impl Strategy<Value = WeightedGraph> {
    let ends =
        |vertices: u32| (0..vertices, 0..vertices).prop_filter("not itself", |(a, b)| a != b).prop_map(|(a, b)| [a.min(b), a.max(b)]);
    let edges = move |vertices| match vertices {
        0 | 1 => Just(Default::default()).boxed(),
        _ => prop::collection::btree_map(ends(vertices), 1u64..1 << 20, 0..60).boxed(),
    };
    let vertices = prop::collection::vec(1u64..1 << 20, 0..30);
    let comments = prop::collection::vec("[a-z%][a-z %é]{0,9}[a-z%]", 0..3);
    (comments, vertices).prop_flat_map(move |(comments, vertices)| {
        edges(vertices.len() as u32).prop_map(move |edges| {
            let edges = edges.into_iter().map(|(ends, weight)| WeightedEdge { endpoints: ends, weight }).collect();
            WeightedGraph { comments: comments.clone(), vertex_weights: vertices.clone(), edges }
        })
    })
}

/// Something like a graph file, with a mistake here and there.
fn nearly_graphs() -> impl Strategy<Value = String> {
    let word = prop_oneof![8 => "[0-9]{1,2}", 2 => "0?[01]{1,2}", 1 => "[-%x.]", 1 => "[0-9]{20}"];
    let line = prop::collection::vec(word, 0..6).prop_map(|words| words.join(" "));
    prop::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(graph in graphs()) {
        let mut text = Vec::new();
        write(&graph, &mut text).unwrap();
        prop_assert_eq!(read(&text), Ok(graph));
    }

    #[test]
    fn any_bytes_give_a_graph_or_the_line_that_is_wrong(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let lines = bytes.split(|byte| *byte == b'\n').count();
        prop_assert!(read(&bytes).map_or_else(|problem| (1..=lines).contains(&problem.line), |_| true));
    }

    #[test]
    fn what_is_nearly_a_graph_is_a_good_one_or_refused(text in nearly_graphs()) {
        let lines = text.split('\n').count();
        match read(text.as_bytes()) {
            Err(problem) => prop_assert!((1..=lines).contains(&problem.line), "{}", problem),
            Ok(graph) => prop_assert!(graph.edges.iter().all(|edge| edge.endpoints[0] < edge.endpoints[1] && edge.endpoints[1] < graph.vertex_weights.len() as u32)),
        }
    }
}
