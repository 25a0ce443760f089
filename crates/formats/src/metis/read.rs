//! Reads a graph file. The header is not trusted: memory is allocated for what is there, not for what it announces.

use super::{GraphFileError, GraphFileErrorKind};
use crate::{WeightedEdge, WeightedGraph};

/// Longer tokens are shortened in messages.
const MAX_TOKEN_CHARS: usize = 24;

/// Reads a graph; only the first weight of a vertex is used, and missing weights are 1.
pub fn read(text: &[u8]) -> Result<WeightedGraph, GraphFileError> {
    let mut lines = DataLines { comments: Vec::new(), rest: text, number: 0 };
    let header = loop {
        match lines.next() {
            Some(line) if line.is_blank() => {}
            Some(line) => break GraphHeader::parse(line)?,
            None => return Err(GraphFileError { line: lines.number.max(1), reason: GraphFileErrorKind::Empty }),
        }
    };
    let mut body = GraphBody { header: &header, vertex_weights: Vec::new(), vertex_lines: Vec::new(), half_edges: Vec::new() };
    for line in &mut lines {
        body.add_line(line)?;
    }
    let (vertices, edges) = body.finish(lines.number)?;
    Ok(WeightedGraph { comments: lines.comments, vertex_weights: vertices, edges })
}

/// The first line.
struct GraphHeader {
    line: usize,
    vertices: u32,
    edges: u64,
    has_sizes: bool,
    /// Weights per vertex.
    weights: u64,
    has_edge_weights: bool,
}

impl GraphHeader {
    fn parse(mut line: LineTokens) -> Result<GraphHeader, GraphFileError> {
        let number = line.number;
        let problem = |reason| GraphFileError { line: number, reason };
        let vertices = line.expect_number("the number of vertices, below 2^32,", |count| u32::try_from(count).ok())?;
        let edges = line.expect_number("the number of edges", Some)?;
        let format = line.next_token().unwrap_or(b"0");
        if format.len() > 3 || !format.iter().all(|digit| matches!(digit, b'0' | b'1')) {
            return Err(problem(GraphFileErrorKind::InvalidFormat(display_token(format))));
        }
        let has = |digit: usize| format.iter().rev().nth(digit) == Some(&b'1');
        let weights = if line.is_blank() { 0 } else { line.expect_number("the number of weights of a vertex", Some)? };
        if weights > 0 && !has(1) {
            return Err(problem(GraphFileErrorKind::WeightsWithoutFormat(weights)));
        }
        if let Some(word) = line.next_token() {
            return Err(problem(GraphFileErrorKind::TrailingToken(display_token(word))));
        }
        let weights = if has(1) { weights.max(1) } else { 0 };
        Ok(GraphHeader { line: number, vertices, edges, has_sizes: has(2), weights, has_edge_weights: has(0) })
    }
}

/// An edge as listed by one of its ends; `is_reverse` if that is the higher one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct HalfEdge {
    endpoints: [u32; 2],
    is_reverse: bool,
    weight: u64,
}

impl HalfEdge {
    /// The vertex that lists it and its neighbour, from 0.
    fn direction(&self) -> [u32; 2] {
        let [low, high] = self.endpoints;
        if self.is_reverse { [high, low] } else { [low, high] }
    }
}

/// The vertex lines read so far.
struct GraphBody<'a> {
    header: &'a GraphHeader,
    vertex_weights: Vec<u64>,
    /// The line number of each vertex.
    vertex_lines: Vec<usize>,
    half_edges: Vec<HalfEdge>,
}

impl GraphBody<'_> {
    fn add_line(&mut self, mut line: LineTokens) -> Result<(), GraphFileError> {
        let number = line.number;
        let problem = |reason| GraphFileError { line: number, reason };
        let GraphHeader { vertices, has_sizes, weights, has_edge_weights, .. } = *self.header;
        let vertex = self.vertex_weights.len() as u32;
        if vertex == vertices {
            return if line.is_blank() { Ok(()) } else { Err(problem(GraphFileErrorKind::TooManyVertices(vertices))) };
        }
        if has_sizes {
            line.expect_number("the size of the vertex", Some)?;
        }
        let mut first_weight = None;
        for _ in 0..weights {
            let weight = line.expect_number("a weight of the vertex, 0 or more,", Some)?;
            first_weight.get_or_insert(weight);
        }
        self.vertex_weights.push(first_weight.unwrap_or(1));
        self.vertex_lines.push(number);
        while !line.is_blank() {
            let neighbour = line.expect_number("the number of a neighbour", Some)?;
            let known = u32::try_from(neighbour).ok().filter(|known| (1..=vertices).contains(known));
            let other = known.ok_or(problem(GraphFileErrorKind::NoSuchVertex { neighbour, vertices }))? - 1;
            if other == vertex {
                return Err(problem(GraphFileErrorKind::SelfLoop(vertex + 1)));
            }
            let at_least_one = |weight| (weight > 0).then_some(weight);
            let weight = if has_edge_weights { line.expect_number("the weight of the edge, 1 or more,", at_least_one)? } else { 1 };
            self.half_edges.push(HalfEdge { endpoints: [vertex.min(other), vertex.max(other)], is_reverse: vertex > other, weight });
        }
        Ok(())
    }

    /// The vertex weights, and each edge once.
    fn finish(mut self, last_line: usize) -> Result<(Vec<u64>, Vec<WeightedEdge>), GraphFileError> {
        let (found, vertices) = (self.vertex_weights.len() as u32, self.header.vertices);
        if found < vertices {
            return Err(GraphFileError { line: last_line, reason: GraphFileErrorKind::TooFewVertices { found, vertices } });
        }
        self.half_edges.sort_unstable();
        let edges = self
            .half_edges
            .chunk_by(|a, b| a.endpoints == b.endpoints)
            .map(|half_edges| self.merge_half_edges(half_edges))
            .collect::<Result<Vec<WeightedEdge>, GraphFileError>>()?;
        let (promised, found) = (self.header.edges, edges.len() as u64);
        if promised != found {
            return Err(GraphFileError { line: self.header.line, reason: GraphFileErrorKind::EdgeCountMismatch { promised, found } });
        }
        Ok((self.vertex_weights, edges))
    }

    /// Merges all entries between two vertices: one from each end is expected.
    fn merge_half_edges(&self, half_edges: &[HalfEdge]) -> Result<WeightedEdge, GraphFileError> {
        let [from, to] = half_edges[0].direction();
        let (vertex, neighbour, other_line) = (from + 1, to + 1, self.vertex_lines[to as usize]);
        let problem = |reason| Err(GraphFileError { line: self.vertex_lines[from as usize], reason });
        match half_edges {
            [there, back] if there.is_reverse == back.is_reverse => problem(GraphFileErrorKind::DuplicateEdge { vertex, neighbour }),
            [there, back] if there.weight == back.weight => Ok(WeightedEdge { endpoints: there.endpoints, weight: there.weight }),
            [there, back] => problem(GraphFileErrorKind::WeightMismatch {
                vertex,
                neighbour,
                weight: there.weight,
                other_weight: back.weight,
                other_line,
            }),
            [there, back, ..] if there.is_reverse != back.is_reverse => {
                Err(GraphFileError { line: other_line, reason: GraphFileErrorKind::DuplicateEdge { vertex: neighbour, neighbour: vertex } })
            }
            [_, _, ..] => problem(GraphFileErrorKind::DuplicateEdge { vertex, neighbour }),
            _ => problem(GraphFileErrorKind::MissingReverseEdge { vertex, neighbour, other_line }),
        }
    }
}

/// The lines of a text except comments, which are collected.
struct DataLines<'a> {
    comments: Vec<String>,
    rest: &'a [u8],
    number: usize,
}

impl<'a> Iterator for DataLines<'a> {
    type Item = LineTokens<'a>;

    fn next(&mut self) -> Option<LineTokens<'a>> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
            let line = self.rest[..end].trim_ascii_end();
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            self.number += 1;
            let Some(comment) = line.strip_prefix(b"%") else {
                return Some(LineTokens { number: self.number, rest: line });
            };
            self.comments.push(String::from_utf8_lossy(comment.trim_ascii_start()).into_owned());
        }
        None
    }
}

/// A line with its unread rest.
struct LineTokens<'a> {
    number: usize,
    rest: &'a [u8],
}

impl<'a> LineTokens<'a> {
    fn is_blank(&self) -> bool {
        self.rest.trim_ascii_start().is_empty()
    }

    fn next_token(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The next token as a number that `will_do` accepts.
    fn expect_number<T>(&mut self, expected: &'static str, will_do: impl FnOnce(u64) -> Option<T>) -> Result<T, GraphFileError> {
        let number = self.number;
        let problem = |reason| GraphFileError { line: number, reason };
        let word = self.next_token().ok_or_else(|| problem(GraphFileErrorKind::LineEnds(expected)))?;
        let value = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        value.and_then(will_do).ok_or_else(|| problem(GraphFileErrorKind::NotANumber { word: display_token(word), expected }))
    }
}

/// A token for messages: control characters replaced, long ones shortened.
fn display_token(word: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(word).chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if text.chars().count() > MAX_TOKEN_CHARS { text.chars().take(MAX_TOKEN_CHARS).chain(['…']).collect() } else { text }
}

#[cfg(test)]
mod tests;
