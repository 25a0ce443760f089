//! The graph file of METIS, which gpmetis, KaHIP, VieM and Scotch's converters read.
//!
//! The first line says how many vertices and edges there are and that both have weights (`011`); then there is one line per vertex: its
//! weight, and each neighbour (counted from 1) with the weight of the edge to it. Lines that start with `%` are comments.
//!
//! METIS as everyone has it counts with 32 bits and sums up weights on the way, so [`write()`] divides weights that would not fit and says so
//! in a comment.

use std::io::{self, Write};

use crate::{Edge, Graph};

/// The largest number that METIS counts to.
const MOST: u64 = i32::MAX as u64;

/// Writes a graph; weights are at least 1, and divided where their sum would not fit into METIS's 32 bits.
pub fn write(graph: &Graph, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    let neighbours = neighbours(graph);
    let vertex_divisor = divisor(graph.vertices.iter().copied(), graph.vertices.len());
    let edge_divisor = divisor(neighbours.iter().flatten().map(|n| n.1), 2 * graph.edges.len());
    for comment in graph.comment_lines() {
        writeln!(out, "% {comment}")?;
    }
    for (what, divisor) in [("vertex", vertex_divisor), ("edge", edge_divisor)] {
        if divisor > 1 {
            writeln!(out, "% {what} weights were divided by {divisor}, so that METIS can add them up in 32 bits")?;
        }
    }
    writeln!(out, "{} {} 011", graph.vertices.len(), graph.edges.len())?;
    for (weight, neighbours) in graph.vertices.iter().zip(neighbours) {
        write!(out, "{}", scaled(*weight, vertex_divisor))?;
        for (neighbour, weight) in neighbours {
            write!(out, " {} {}", neighbour + 1, scaled(weight, edge_divisor))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Each vertex's neighbours in order, with the weights of the edges to them.
fn neighbours(graph: &Graph) -> Vec<Vec<(u32, u64)>> {
    let mut neighbours = vec![Vec::new(); graph.vertices.len()];
    for Edge { ends: [a, b], weight } in graph.edges.iter().copied() {
        neighbours[a as usize].push((b, weight));
        neighbours[b as usize].push((a, weight));
    }
    neighbours.iter_mut().for_each(|list| list.sort_unstable());
    neighbours
}

/// A number to divide weights by so that their sum fits, even when small ones are rounded up to 1.
fn divisor(weights: impl Iterator<Item = u64>, count: usize) -> u64 {
    let sum: u128 = weights.map(|w| u128::from(w.max(1))).sum();
    if sum <= u128::from(MOST) {
        return 1;
    }
    let room = MOST.saturating_sub(count as u64).max(1);
    sum.div_ceil(u128::from(room)).try_into().unwrap_or(u64::MAX)
}

fn scaled(weight: u64, divisor: u64) -> u64 {
    (weight / divisor).max(1)
}

/// What is wrong with a graph file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Error {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// Reads a graph with at most one weight per vertex and edge; weights that are not there are 1.
pub fn read(text: &str) -> Result<Graph, Error> {
    let comments = text.lines().filter_map(|l| l.strip_prefix('%')).map(|l| l.trim().to_owned()).collect();
    let mut lines = text.lines().enumerate().map(|(at, l)| (at + 1, l)).filter(|(_, l)| !l.starts_with('%'));
    let (line, first) = lines.next().ok_or_else(|| error(1, "there is no line `vertices edges format`"))?;
    let header = Header::parse(line, first)?;
    let mut graph = Graph { comments, ..Graph::default() };
    let mut mentions = 0;
    for (line, text) in lines.by_ref().take(header.vertices) {
        let vertex = graph.vertices.len() as u32;
        let mut numbers = numbers(line, text)?.into_iter();
        graph.vertices.push(if header.vertex_weights { number(line, numbers.next())? } else { 1 });
        while let Some(neighbour) = numbers.next() {
            let weight = if header.edge_weights { number(line, numbers.next())? } else { 1 };
            if neighbour < 1 || neighbour > header.vertices as u64 || neighbour == u64::from(vertex) + 1 {
                return Err(error(line, format!("vertex {} cannot have the neighbour {neighbour}", vertex + 1)));
            }
            mentions += 1;
            let neighbour = (neighbour - 1) as u32;
            if neighbour > vertex {
                graph.edges.push(Edge { ends: [vertex, neighbour], weight });
            }
        }
    }
    if graph.vertices.len() != header.vertices || graph.edges.len() != header.edges || mentions != 2 * header.edges {
        let found = format!("{} vertices and {} edges, each edge once at both ends", graph.vertices.len(), graph.edges.len());
        return Err(error(line, format!("{} vertices and {} edges are announced, found {found}", header.vertices, header.edges)));
    }
    Ok(graph)
}

struct Header {
    vertices: usize,
    edges: usize,
    vertex_weights: bool,
    edge_weights: bool,
}

impl Header {
    fn parse(line: usize, text: &str) -> Result<Header, Error> {
        let fields = numbers(line, text)?;
        let (vertices, edges, format) = match fields[..] {
            [vertices, edges] => (vertices, edges, 0),
            [vertices, edges, format] | [vertices, edges, format, 1] => (vertices, edges, format),
            _ => return Err(error(line, "expected `vertices edges format`")),
        };
        if ![0, 1, 10, 11].contains(&format) || vertices > MOST || edges > MOST {
            return Err(error(line, "only the formats 000, 001, 010 and 011 with 32-bit numbers are read"));
        }
        Ok(Header { vertices: vertices as usize, edges: edges as usize, vertex_weights: format >= 10, edge_weights: format % 10 == 1 })
    }
}

fn numbers(line: usize, text: &str) -> Result<Vec<u64>, Error> {
    text.split_whitespace().map(|word| word.parse().map_err(|_| error(line, format!("`{word}` is no number")))).collect()
}

fn number(line: usize, number: Option<u64>) -> Result<u64, Error> {
    number.ok_or_else(|| error(line, "a weight is missing"))
}

fn error(line: usize, what: impl Into<String>) -> Error {
    Error { line, what: what.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(a: u32, b: u32, weight: u64) -> Edge {
        Edge { ends: [a, b], weight }
    }

    fn written(graph: &Graph) -> String {
        let mut out = Vec::new();
        write(graph, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_edge_stands_at_both_ends_and_lonely_vertices_have_their_weight() {
        let graph =
            Graph { comments: vec!["weights\nare bytes".into()], vertices: vec![10, 20, 30, 0], edges: vec![edge(0, 2, 7), edge(0, 1, 5)] };
        assert_eq!(written(&graph), "% weights are bytes\n4 2 011\n10 2 5 3 7\n20 1 5\n30 1 7\n1\n");
    }

    #[test]
    fn what_was_written_is_read_again() {
        let graph = Graph {
            comments: vec!["one".into(), "two".into()],
            vertices: vec![1, 2, 3],
            edges: vec![edge(0, 1, 5), edge(0, 2, 7), edge(1, 2, 9)],
        };
        assert_eq!(read(&written(&graph)), Ok(graph));
    }

    #[test]
    fn weights_whose_sum_does_not_fit_are_divided_and_the_file_says_so() {
        let graph = Graph {
            comments: vec![],
            vertices: vec![u64::MAX, 5, 1],
            edges: vec![edge(0, 1, 3 << 30), edge(1, 2, 1 << 30), edge(0, 2, 1)],
        };
        let text = written(&graph);
        assert!(text.starts_with("% vertex weights were divided by 8589934609"), "{text}");
        assert!(text.contains("% edge weights were divided by 5, "), "{text}");
        let read = read(&text).unwrap();
        assert!(read.vertices.iter().sum::<u64>() <= MOST);
        assert!(2 * read.edges.iter().map(|e| e.weight).sum::<u64>() <= MOST);
        assert_eq!(read.edges, [edge(0, 1, (3 << 30) / 5), edge(0, 2, 1), edge(1, 2, (1 << 30) / 5)]);
    }

    #[test]
    fn a_graph_without_weights_is_read_too() {
        let graph = read("%\n3 2\n2\n1 3\n2\n").unwrap();
        assert_eq!((graph.vertices, graph.edges), (vec![1, 1, 1], vec![edge(0, 1, 1), edge(1, 2, 1)]));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, what) in [
            ("", 1, "no line"),
            ("% only a comment", 1, "no line"),
            ("%\n1 x 011\n", 2, "`x` is no number"),
            ("1 1 100\n", 1, "formats"),
            ("2 1 011\n1 2 1\n1 1\n", 3, "a weight is missing"),
            ("2 1 011\n1 3 1\n1\n", 2, "neighbour 3"),
            ("2 1 011\n1 1 1\n1\n", 2, "neighbour 1"),
            ("3 1 011\n1 2 1\n1 1 1\n", 1, "3 vertices"),
            ("2 1 011\n1 2 1\n1\n", 1, "both ends"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.what.contains(what), "{text:?}: {error}");
        }
    }

    #[test]
    fn any_text_can_be_read_without_panic() {
        let letters = b"0123 \n%x-9";
        let mut state = 1u64;
        for _ in 0..20_000 {
            let text: String = (0..30)
                .map(|_| {
                    state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    char::from(letters[(state >> 33) as usize % letters.len()])
                })
                .collect();
            let _ = read(&format!("2 1 11\n{text}"));
            let _ = read(&text);
        }
    }
}
