//! The graph that the formats of this crate write: undirected, with weights.

/// An undirected graph with weights on its vertices and edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// What a reader of the file should know, one line each.
    pub comments: Vec<String>,
    /// The weight of each vertex.
    pub vertices: Vec<u64>,
    /// The edges, each once.
    pub edges: Vec<Edge>,
}

impl Graph {
    /// The comments with nothing in them that would end a line.
    pub(crate) fn comment_lines(&self) -> impl Iterator<Item = String> {
        self.comments.iter().map(|comment| comment.replace(char::is_control, " "))
    }
}

/// An edge of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Its two ends, counted from 0.
    pub ends: [u32; 2],
    /// Its weight.
    pub weight: u64,
}
