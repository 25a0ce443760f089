//! A graph from a file. Nothing is believed that the first line says: memory is taken for what is there, not for what is promised.

use super::{Problem, Reason};
use crate::{Edge, Graph};

/// No more of a word is shown.
const SHOWN: usize = 24;

/// Reads a graph; of several weights of a vertex the first is taken, and what has no weight weighs 1.
pub fn read(text: &[u8]) -> Result<Graph, Problem> {
    let mut lines = Lines { comments: Vec::new(), rest: text, number: 0 };
    let header = loop {
        match lines.next() {
            Some(line) if line.is_blank() => {}
            Some(line) => break Header::of(line)?,
            None => return Err(Problem { line: lines.number.max(1), reason: Reason::Empty }),
        }
    };
    let mut body = Body { header: &header, vertices: Vec::new(), lines: Vec::new(), arcs: Vec::new() };
    for line in &mut lines {
        body.take(line)?;
    }
    let (vertices, edges) = body.finish(lines.number)?;
    Ok(Graph { comments: lines.comments, vertices, edges })
}

/// What the first line says.
struct Header {
    line: usize,
    vertices: u32,
    edges: u64,
    has_sizes: bool,
    /// How many weights each vertex has.
    weights: u64,
    has_edge_weights: bool,
}

impl Header {
    fn of(mut line: Line) -> Result<Header, Problem> {
        let number = line.number;
        let problem = |reason| Problem { line: number, reason };
        let vertices = line.expect("the number of vertices, below 2^32,", |count| u32::try_from(count).ok())?;
        let edges = line.expect("the number of edges", Some)?;
        let format = line.next().unwrap_or(b"0");
        if format.len() > 3 || !format.iter().all(|digit| matches!(digit, b'0' | b'1')) {
            return Err(problem(Reason::Format(shown(format))));
        }
        let has = |place: usize| format.iter().rev().nth(place) == Some(&b'1');
        let weights = if line.is_blank() { 0 } else { line.expect("the number of weights of a vertex", Some)? };
        if weights > 0 && !has(1) {
            return Err(problem(Reason::WeightsWithoutFormat(weights)));
        }
        if let Some(word) = line.next() {
            return Err(problem(Reason::TooMuch(shown(word))));
        }
        let weights = if has(1) { weights.max(1) } else { 0 };
        Ok(Header { line: number, vertices, edges, has_sizes: has(2), weights, has_edge_weights: has(0) })
    }
}

/// The edge as the line of one end tells it: seen from the lower end if `is_back` is false.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Told {
    ends: [u32; 2],
    is_back: bool,
    weight: u64,
}

impl Told {
    /// The vertex whose line tells it, and its neighbour; counted from 0.
    fn direction(&self) -> [u32; 2] {
        let [low, high] = self.ends;
        if self.is_back { [high, low] } else { [low, high] }
    }
}

/// The lines of the vertices, as far as they are read.
struct Body<'a> {
    header: &'a Header,
    vertices: Vec<u64>,
    /// The line of each vertex.
    lines: Vec<usize>,
    arcs: Vec<Told>,
}

impl Body<'_> {
    fn take(&mut self, mut line: Line) -> Result<(), Problem> {
        let number = line.number;
        let problem = |reason| Problem { line: number, reason };
        let Header { vertices, has_sizes, weights, has_edge_weights, .. } = *self.header;
        let vertex = self.vertices.len() as u32;
        if vertex == vertices {
            return if line.is_blank() { Ok(()) } else { Err(problem(Reason::TooManyVertices(vertices))) };
        }
        if has_sizes {
            line.expect("the size of the vertex", Some)?;
        }
        let mut first_weight = None;
        for _ in 0..weights {
            let weight = line.expect("a weight of the vertex, 0 or more,", Some)?;
            first_weight.get_or_insert(weight);
        }
        self.vertices.push(first_weight.unwrap_or(1));
        self.lines.push(number);
        while !line.is_blank() {
            let neighbour = line.expect("the number of a neighbour", Some)?;
            let known = u32::try_from(neighbour).ok().filter(|known| (1..=vertices).contains(known));
            let other = known.ok_or(problem(Reason::NoSuchVertex { neighbour, vertices }))? - 1;
            if other == vertex {
                return Err(problem(Reason::Itself(vertex + 1)));
            }
            let at_least_one = |weight| (weight > 0).then_some(weight);
            let weight = if has_edge_weights { line.expect("the weight of the edge, 1 or more,", at_least_one)? } else { 1 };
            self.arcs.push(Told { ends: [vertex.min(other), vertex.max(other)], is_back: vertex > other, weight });
        }
        Ok(())
    }

    /// The weights of the vertices and the edges, each once, if the file ends with this line.
    fn finish(mut self, last_line: usize) -> Result<(Vec<u64>, Vec<Edge>), Problem> {
        let (found, vertices) = (self.vertices.len() as u32, self.header.vertices);
        if found < vertices {
            return Err(Problem { line: last_line, reason: Reason::TooFewVertices { found, vertices } });
        }
        self.arcs.sort_unstable();
        let edges = self.arcs.chunk_by(|a, b| a.ends == b.ends).map(|told| self.edge(told)).collect::<Result<Vec<Edge>, Problem>>()?;
        let (promised, found) = (self.header.edges, edges.len() as u64);
        if promised != found {
            return Err(Problem { line: self.header.line, reason: Reason::Edges { promised, found } });
        }
        Ok((self.vertices, edges))
    }

    /// The edge that is told by everything between two vertices: once by each of them.
    fn edge(&self, told: &[Told]) -> Result<Edge, Problem> {
        let [from, to] = told[0].direction();
        let (vertex, neighbour, other_line) = (from + 1, to + 1, self.lines[to as usize]);
        let problem = |reason| Err(Problem { line: self.lines[from as usize], reason });
        match told {
            [there, back] if there.is_back == back.is_back => problem(Reason::Twice { vertex, neighbour }),
            [there, back] if there.weight == back.weight => Ok(Edge { ends: there.ends, weight: there.weight }),
            [there, back] => {
                problem(Reason::OtherWeight { vertex, neighbour, weight: there.weight, other_weight: back.weight, other_line })
            }
            [there, back, ..] if there.is_back != back.is_back => {
                Err(Problem { line: other_line, reason: Reason::Twice { vertex: neighbour, neighbour: vertex } })
            }
            [_, _, ..] => problem(Reason::Twice { vertex, neighbour }),
            _ => problem(Reason::OneWay { vertex, neighbour, other_line }),
        }
    }
}

/// The lines of a text that are no comments; those are put aside.
struct Lines<'a> {
    comments: Vec<String>,
    rest: &'a [u8],
    number: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        while !self.rest.is_empty() {
            let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
            let line = self.rest[..end].trim_ascii_end();
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
            self.number += 1;
            let Some(comment) = line.strip_prefix(b"%") else {
                return Some(Line { number: self.number, rest: line });
            };
            self.comments.push(String::from_utf8_lossy(comment.trim_ascii_start()).into_owned());
        }
        None
    }
}

/// A line, and what is not yet read of it.
struct Line<'a> {
    number: usize,
    rest: &'a [u8],
}

impl<'a> Line<'a> {
    fn is_blank(&self) -> bool {
        self.rest.trim_ascii_start().is_empty()
    }

    /// The next word, if there is one.
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The next word as a number that will do.
    fn expect<T>(&mut self, expected: &'static str, will_do: impl FnOnce(u64) -> Option<T>) -> Result<T, Problem> {
        let number = self.number;
        let problem = |reason| Problem { line: number, reason };
        let word = self.next().ok_or_else(|| problem(Reason::Ends(expected)))?;
        let value = str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        value.and_then(will_do).ok_or_else(|| problem(Reason::NotANumber { word: shown(word), expected }))
    }
}

/// A word in a message: what is not text is marked, and what is long is cut.
fn shown(word: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(word).chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    if text.chars().count() > SHOWN { text.chars().take(SHOWN).chain(['…']).collect() } else { text }
}

#[cfg(test)]
mod tests;
