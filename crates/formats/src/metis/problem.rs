//! What can be wrong with a graph file.

/// Why a text is no graph of METIS, and where that shows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Problem {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// What is wrong in a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// There is nothing but comments.
    #[error("there is no graph; expected a first line `VERTICES EDGES [FORMAT [WEIGHTS]]`")]
    Empty,
    /// Something stands where a number is expected.
    #[error("`{word}` stands where {expected} is expected")]
    NotANumber {
        /// What stands there.
        word: String,
        /// What is expected.
        expected: &'static str,
    },
    /// The line is too short.
    #[error("the line ends where {0} is expected")]
    Ends(&'static str),
    /// The third word of the first line is none of the formats.
    #[error("`{0}` is no format; expected up to three digits 0 or 1: whether there are vertex sizes, vertex weights, edge weights")]
    Format(String),
    /// The first line says how many weights vertices have, and that they have none.
    #[error(
        "the first line promises {0} weights of each vertex, but its format says that they have none; expected a format like 010 or 011"
    )]
    WeightsWithoutFormat(u64),
    /// The first line goes on.
    #[error("`{0}` is too much; expected no more than `VERTICES EDGES [FORMAT [WEIGHTS]]`")]
    TooMuch(String),
    /// The file ends early.
    #[error(
        "the file ends after the lines of {found} of {vertices} vertices; expected one line for each, also for those without neighbours"
    )]
    TooFewVertices {
        /// How many lines there are.
        found: u32,
        /// How many vertices the first line promises.
        vertices: u32,
    },
    /// The file goes on behind the last vertex.
    #[error("the line is one too many; expected {0} lines after the first, one for each vertex")]
    TooManyVertices(u32),
    /// A neighbour that does not exist.
    #[error("there is no vertex {neighbour}; expected 1 to {vertices}")]
    NoSuchVertex {
        /// The neighbour.
        neighbour: u64,
        /// How many vertices there are.
        vertices: u32,
    },
    /// A vertex has itself as a neighbour.
    #[error("vertex {0} has itself as a neighbour; expected others only")]
    Itself(u32),
    /// A vertex has the same neighbour twice.
    #[error("vertex {vertex} has neighbour {neighbour} twice; expected one edge between two vertices")]
    Twice {
        /// The vertex of the line.
        vertex: u32,
        /// Its neighbour.
        neighbour: u32,
    },
    /// An edge stands at one of its ends only.
    #[error("vertex {vertex} has neighbour {neighbour}, but line {other_line} does not say that {neighbour} has {vertex}; expected both")]
    OneWay {
        /// The vertex of the line.
        vertex: u32,
        /// Its neighbour.
        neighbour: u32,
        /// The neighbour's line.
        other_line: usize,
    },
    /// An edge has another weight at its other end.
    #[error("the edge from vertex {vertex} to {neighbour} weighs {weight}, but {other_weight} in line {other_line}; expected the same")]
    OtherWeight {
        /// The vertex of the line.
        vertex: u32,
        /// Its neighbour.
        neighbour: u32,
        /// What the edge weighs in the line.
        weight: u64,
        /// What it weighs in the neighbour's.
        other_weight: u64,
        /// The neighbour's line.
        other_line: usize,
    },
    /// There are more or fewer edges than promised.
    #[error("the first line promises {promised} edges, but the lines of the vertices have {found}; expected each edge counted once")]
    Edges {
        /// How many the first line promises.
        promised: u64,
        /// How many there are.
        found: u64,
    },
}
