//! Errors of METIS graph files.

/// Why a text is no METIS graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct GraphFileError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub reason: GraphFileErrorKind,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GraphFileErrorKind {
    /// There are only comments.
    #[error("there is no graph; expected a first line `VERTICES EDGES [FORMAT [WEIGHTS]]`")]
    Empty,
    /// A number was expected.
    #[error("found `{word}` where {expected} is expected")]
    NotANumber {
        /// The token.
        word: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The line is too short.
    #[error("the line ends where {0} is expected")]
    LineEnds(&'static str),
    /// The format field is invalid.
    #[error("invalid format `{0}`; expected up to three digits 0 or 1: whether there are vertex sizes, vertex weights, edge weights")]
    InvalidFormat(String),
    /// The header has a number of vertex weights, but its format has none.
    #[error("the header announces {0} weights per vertex, but its format has none; expected a format like 010 or 011")]
    WeightsWithoutFormat(u64),
    /// The header has too many fields.
    #[error("unexpected `{0}`; expected no more than `VERTICES EDGES [FORMAT [WEIGHTS]]`")]
    TrailingToken(String),
    /// The file ends early.
    #[error(
        "the file ends after the lines of {found} of {vertices} vertices; expected one line for each, also for those without neighbours"
    )]
    TooFewVertices {
        /// Vertex lines in the file.
        found: u32,
        /// Vertices according to the header.
        vertices: u32,
    },
    /// The file goes on after the last vertex.
    #[error("unexpected line; expected {0} lines after the first, one for each vertex")]
    TooManyVertices(u32),
    /// A neighbour that does not exist.
    #[error("there is no vertex {neighbour}; expected 1 to {vertices}")]
    NoSuchVertex {
        /// The neighbour.
        neighbour: u64,
        /// How many vertices there are.
        vertices: u32,
    },
    /// A vertex is its own neighbour.
    #[error("vertex {0} is its own neighbour; expected no self-loops")]
    SelfLoop(u32),
    /// A vertex has the same neighbour twice.
    #[error("vertex {vertex} has neighbour {neighbour} twice; expected one edge between two vertices")]
    DuplicateEdge {
        /// The vertex of the line.
        vertex: u32,
        /// Its neighbour.
        neighbour: u32,
    },
    /// An edge appears in the line of only one of its ends.
    #[error("vertex {vertex} has neighbour {neighbour}, but line {other_line} does not say that {neighbour} has {vertex}; expected both")]
    MissingReverseEdge {
        /// The vertex of the line.
        vertex: u32,
        /// Its neighbour.
        neighbour: u32,
        /// The neighbour's line.
        other_line: usize,
    },
    /// The two lines of an edge disagree on its weight.
    #[error("the edge from vertex {vertex} to {neighbour} weighs {weight}, but {other_weight} in line {other_line}; expected the same")]
    WeightMismatch {
        /// The vertex of the line.
        vertex: u32,
        /// Its neighbour.
        neighbour: u32,
        /// Weight in this line.
        weight: u64,
        /// Weight in the neighbour's line.
        other_weight: u64,
        /// The neighbour's line.
        other_line: usize,
    },
    /// The number of edges differs from the header.
    #[error("the header announces {promised} edges, but the vertex lines have {found}; expected each edge counted once")]
    EdgeCountMismatch {
        /// According to the header.
        promised: u64,
        /// According to the vertex lines.
        found: u64,
    },
}
