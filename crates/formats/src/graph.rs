//! The undirected weighted graph that is exchanged with partitioners.

/// An undirected graph with vertex and edge weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WeightedGraph {
    /// Comments for the file, one line each.
    pub comments: Vec<String>,
    /// The weight of each vertex.
    pub vertex_weights: Vec<u64>,
    /// The edges, each once.
    pub edges: Vec<WeightedEdge>,
}

impl WeightedGraph {
    /// The comments without control characters.
    pub(crate) fn comment_lines(&self) -> impl Iterator<Item = String> {
        self.comments.iter().map(|comment| comment.replace(char::is_control, " "))
    }
}

/// An edge of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WeightedEdge {
    /// Its two vertices, from 0.
    pub endpoints: [u32; 2],
    /// Its weight.
    pub weight: u64,
}
