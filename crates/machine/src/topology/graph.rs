//! A graph of nodes and switches in a file: one link per line, `a b [bandwidth [latency]]`.
//!
//! An end of a link that is a whole number is the node of that number; any other word is the name of a switch. Edge lists like this one are
//! what people have, and write by hand; a weight of a METIS graph could not be both a bandwidth and a latency.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::TopologyProblem;
use crate::{Error, Figure, Place, Problem};

/// Nodes and switches with links between them, all of them connected.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    file: String,
    nodes: u32,
    switches: Vec<String>,
    edges: Vec<Edge>,
}

/// A link between two of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edge {
    /// Nodes by number; switches after them, in the order of their first appearance.
    pub ends: [u32; 2],
    /// Bytes per second, if the file says so.
    pub bandwidth: Option<Figure>,
    /// Seconds that it adds to each message, if the file says so.
    pub latency: Option<Figure>,
}

/// A node by number, or a switch by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Vertex<'a> {
    Node(u32),
    Switch(&'a str),
}

impl Graph {
    /// Reads the text of the file called `file` in the machine file, found at `path`.
    pub fn parse<'a>(text: &'a str, file: &str, path: &'a Path) -> Result<Graph, Error> {
        let lines = Lines { text, path };
        let given = lines.edges()?;
        let named: BTreeSet<u32> = given.iter().flat_map(|(ends, _, _)| ends).filter_map(Vertex::node).collect();
        let nodes = without_holes(&named).map_err(|problem| lines.error(0..0, problem))?;
        let mut switches: BTreeMap<&str, u32> = BTreeMap::new();
        let mut names = Vec::new();
        let mut number = |vertex: Vertex<'a>| match vertex {
            Vertex::Node(node) => node,
            Vertex::Switch(name) => *switches.entry(name).or_insert_with(|| {
                names.push(name.to_owned());
                nodes + names.len() as u32 - 1
            }),
        };
        let edges = given.into_iter().map(|(ends, bandwidth, latency)| Edge { ends: ends.map(&mut number), bandwidth, latency });
        let graph = Graph { file: file.to_owned(), nodes, edges: edges.collect(), switches: names };
        graph.connected().map_err(|problem| lines.error(0..0, problem))?;
        Ok(graph)
    }

    /// Reads a file.
    pub(crate) fn read(file: &str, path: PathBuf) -> Result<Graph, Error> {
        match std::fs::read_to_string(&path) {
            Ok(text) => Graph::parse(&text, file, &path),
            Err(source) => Err(Error::Unreadable { path, source }),
        }
    }

    /// The file as the machine file calls it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// How many nodes and switches there are.
    pub fn vertices(&self) -> u32 {
        self.nodes + self.switches.len() as u32
    }

    /// The links.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn name(&self, vertex: u32) -> String {
        match vertex.checked_sub(self.nodes).and_then(|switch| self.switches.get(switch as usize)) {
            Some(name) => name.clone(),
            None => vertex.to_string(),
        }
    }

    fn connected(&self) -> Result<(), TopologyProblem> {
        let mut neighbours = vec![Vec::new(); self.vertices() as usize];
        for Edge { ends: [a, b], .. } in &self.edges {
            neighbours[*a as usize].push(*b);
            neighbours[*b as usize].push(*a);
        }
        let mut reached = vec![false; neighbours.len()];
        reached[0] = true;
        let mut open = vec![0u32];
        while let Some(vertex) = open.pop() {
            for &next in &neighbours[vertex as usize] {
                if !std::mem::replace(&mut reached[next as usize], true) {
                    open.push(next);
                }
            }
        }
        match (0..).zip(&reached).find(|(_, reached)| !**reached) {
            Some((vertex, _)) => Err(TopologyProblem::NotConnected { from: self.name(0), to: self.name(vertex) }),
            None => Ok(()),
        }
    }
}

/// How many nodes there are, if their numbers are those from 0 on.
fn without_holes(nodes: &BTreeSet<u32>) -> Result<u32, TopologyProblem> {
    if let Some((missing, greater)) = (0..).zip(nodes).find(|(expected, node)| expected != *node) {
        return Err(TopologyProblem::Hole { missing, greater: *greater });
    }
    nodes.last().and_then(|last| last.checked_add(1)).ok_or(TopologyProblem::NoNodes)
}

impl Vertex<'_> {
    fn node(&self) -> Option<u32> {
        match self {
            Vertex::Node(node) => Some(*node),
            Vertex::Switch(_) => None,
        }
    }
}

type Given<'a> = ([Vertex<'a>; 2], Option<Figure>, Option<Figure>);

struct Lines<'a> {
    text: &'a str,
    path: &'a Path,
}

impl<'a> Lines<'a> {
    fn error(&self, span: Range<usize>, problem: impl Into<Problem>) -> Error {
        Error::Wrong { place: Place::of(self.path, self.text, span), problem: Box::new(problem.into()) }
    }

    /// The words of each line that has some; what follows `#` or `%` is a comment.
    fn edges(&self) -> Result<Vec<Given<'a>>, Error> {
        let mut edges = Vec::new();
        for line in self.text.lines() {
            let line = line.split(['#', '%']).next().unwrap_or(line);
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [a, b] => edges.push(([self.vertex(a)?, self.vertex(b)?], None, None)),
                [a, b, rate] => edges.push(([self.vertex(a)?, self.vertex(b)?], Some(self.above_zero(rate)?), None)),
                [a, b, rate, latency] => {
                    edges.push(([self.vertex(a)?, self.vertex(b)?], Some(self.above_zero(rate)?), Some(self.amount(latency)?)))
                }
                _ => return Err(self.error(self.span(line), Problem::Syntax("a line is a link: `a b [bandwidth [latency]]`".into()))),
            }
        }
        Ok(edges)
    }

    /// Where a part of the text is.
    fn span(&self, part: &str) -> Range<usize> {
        let begins = part.as_ptr() as usize - self.text.as_ptr() as usize;
        begins..begins + part.len()
    }

    fn vertex(&self, word: &'a str) -> Result<Vertex<'a>, Error> {
        if !word.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Vertex::Switch(word));
        }
        let wrong = || self.error(self.span(word), Problem::Syntax(format!("`{word}` is too large for the number of a node")));
        word.parse().map(Vertex::Node).map_err(|_| wrong())
    }

    fn amount(&self, word: &str) -> Result<Figure, Error> {
        let figure = word.parse().ok().filter(|number| *number >= 0.0).and_then(|number| Figure::exact(number).ok());
        figure.ok_or_else(|| self.error(self.span(word), Problem::Syntax(format!("`{word}` is no number from 0 on"))))
    }

    fn above_zero(&self, word: &str) -> Result<Figure, Error> {
        match self.amount(word)? {
            Figure::ZERO => Err(self.error(self.span(word), Problem::NotAboveZero { key: "bandwidth".into(), value: 0.0 })),
            figure => Ok(figure),
        }
    }
}
