//! A file with a graph of nodes and switches: one link per line, `a b [bandwidth [latency]]`.
//!
//! An integer is a node number; any other word is the name of a switch. Edge lists are what people have and write by hand; a METIS edge weight
//! could not hold both bandwidth and latency.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::TopologyError;
use crate::{Error, MachineFileProblem, SourcePos, UncertainValue};

/// A connected graph of nodes and switches.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkGraph {
    file: String,
    nodes: u32,
    switches: Vec<String>,
    edges: Vec<GraphLink>,
}

/// A link of the graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GraphLink {
    /// Nodes by number; switches after them, in order of first appearance.
    pub ends: [u32; 2],
    /// Bytes per second, if given.
    pub bandwidth: Option<UncertainValue>,
    /// Seconds added to each message, if given.
    pub latency: Option<UncertainValue>,
}

/// A node by number, or a switch by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GraphVertex<'a> {
    Node(u32),
    Switch(&'a str),
}

impl LinkGraph {
    /// Parses the text of the file named `file` in the machine file, found at `path`.
    pub fn parse<'a>(text: &'a str, file: &str, path: &'a Path) -> Result<LinkGraph, Error> {
        let lines = LinkFileParser { text, path };
        let given = lines.parse_links()?;
        let named: BTreeSet<u32> = given.iter().flat_map(|(ends, _, _)| ends).filter_map(GraphVertex::node).collect();
        let nodes = contiguous_count(&named).map_err(|problem| lines.error(0..0, problem))?;
        let mut switches: BTreeMap<&str, u32> = BTreeMap::new();
        let mut names = Vec::new();
        let mut number = |vertex: GraphVertex<'a>| match vertex {
            GraphVertex::Node(node) => node,
            GraphVertex::Switch(name) => *switches.entry(name).or_insert_with(|| {
                names.push(name.to_owned());
                nodes + names.len() as u32 - 1
            }),
        };
        let edges = given.into_iter().map(|(ends, bandwidth, latency)| GraphLink { ends: ends.map(&mut number), bandwidth, latency });
        let graph = LinkGraph { file: file.to_owned(), nodes, edges: edges.collect(), switches: names };
        graph.check_connected().map_err(|problem| lines.error(0..0, problem))?;
        Ok(graph)
    }

    /// Reads a file.
    pub(crate) fn read(file: &str, path: PathBuf) -> Result<LinkGraph, Error> {
        match std::fs::read_to_string(&path) {
            Ok(text) => LinkGraph::parse(&text, file, &path),
            Err(source) => Err(Error::Unreadable { path, source }),
        }
    }

    /// File name as in the machine file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Number of nodes.
    pub fn node_count(&self) -> u32 {
        self.nodes
    }

    /// Number of nodes and switches.
    pub fn vertex_count(&self) -> u32 {
        self.nodes + self.switches.len() as u32
    }

    /// The links.
    pub fn edges(&self) -> &[GraphLink] {
        &self.edges
    }

    fn name(&self, vertex: u32) -> String {
        match vertex.checked_sub(self.nodes).and_then(|switch| self.switches.get(switch as usize)) {
            Some(name) => name.clone(),
            None => vertex.to_string(),
        }
    }

    fn check_connected(&self) -> Result<(), TopologyError> {
        let mut neighbours = vec![Vec::new(); self.vertex_count() as usize];
        for GraphLink { ends: [a, b], .. } in &self.edges {
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
            Some((vertex, _)) => Err(TopologyError::NotConnected { from: self.name(0), to: self.name(vertex) }),
            None => Ok(()),
        }
    }
}

/// The number of nodes, if they are numbered from 0 without gaps.
fn contiguous_count(nodes: &BTreeSet<u32>) -> Result<u32, TopologyError> {
    if let Some((missing, greater)) = (0..).zip(nodes).find(|(expected, node)| expected != *node) {
        return Err(TopologyError::MissingNode { missing, greater: *greater });
    }
    nodes.last().and_then(|last| last.checked_add(1)).ok_or(TopologyError::NoNodes)
}

impl GraphVertex<'_> {
    fn node(&self) -> Option<u32> {
        match self {
            GraphVertex::Node(node) => Some(*node),
            GraphVertex::Switch(_) => None,
        }
    }
}

type ParsedLink<'a> = ([GraphVertex<'a>; 2], Option<UncertainValue>, Option<UncertainValue>);

struct LinkFileParser<'a> {
    text: &'a str,
    path: &'a Path,
}

impl<'a> LinkFileParser<'a> {
    fn error(&self, span: Range<usize>, problem: impl Into<MachineFileProblem>) -> Error {
        Error::Invalid { place: SourcePos::from_span(self.path, self.text, span), problem: Box::new(problem.into()) }
    }

    /// Parses the links; `#` and `%` begin a comment.
    fn parse_links(&self) -> Result<Vec<ParsedLink<'a>>, Error> {
        let mut edges = Vec::new();
        for line in self.text.lines() {
            let line = line.split(['#', '%']).next().unwrap_or(line);
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [a, b] => edges.push(([self.parse_vertex(a)?, self.parse_vertex(b)?], None, None)),
                [a, b, rate] => edges.push(([self.parse_vertex(a)?, self.parse_vertex(b)?], Some(self.parse_positive(rate)?), None)),
                [a, b, rate, latency] => edges.push((
                    [self.parse_vertex(a)?, self.parse_vertex(b)?],
                    Some(self.parse_positive(rate)?),
                    Some(self.parse_non_negative(latency)?),
                )),
                _ => {
                    return Err(
                        self.error(self.span(line), MachineFileProblem::Syntax("a line is a link: `a b [bandwidth [latency]]`".into()))
                    );
                }
            }
        }
        Ok(edges)
    }

    /// Position of a part of the text.
    fn span(&self, part: &str) -> Range<usize> {
        let begins = part.as_ptr() as usize - self.text.as_ptr() as usize;
        begins..begins + part.len()
    }

    fn parse_vertex(&self, word: &'a str) -> Result<GraphVertex<'a>, Error> {
        if !word.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(GraphVertex::Switch(word));
        }
        let wrong = || self.error(self.span(word), MachineFileProblem::Syntax(format!("`{word}` is too large for the number of a node")));
        word.parse().map(GraphVertex::Node).map_err(|_| wrong())
    }

    fn parse_non_negative(&self, word: &str) -> Result<UncertainValue, Error> {
        let figure = word.parse().ok().filter(|number| *number >= 0.0).and_then(|number| UncertainValue::exact(number).ok());
        figure.ok_or_else(|| self.error(self.span(word), MachineFileProblem::Syntax(format!("`{word}` is not a non-negative number"))))
    }

    fn parse_positive(&self, word: &str) -> Result<UncertainValue, Error> {
        match self.parse_non_negative(word)? {
            UncertainValue::ZERO => {
                Err(self.error(self.span(word), MachineFileProblem::NotAboveZero { key: "bandwidth".into(), value: 0.0 }))
            }
            figure => Ok(figure),
        }
    }
}
