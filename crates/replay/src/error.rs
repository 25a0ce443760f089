//! Why a replay cannot be made.

use std::path::PathBuf;

/// What went wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// A file of another tool cannot be read, or a recording not be written.
    #[error(transparent)]
    Format(#[from] sintonia_formats::Error),
    /// A GOAL schedule cannot be played to its end.
    #[error(transparent)]
    Goal(#[from] crate::goal::Error),
    /// A rank of which there is nothing.
    #[error("there is nothing of rank {rank}: its file is missing from the recording")]
    NoSuchLine {
        /// The rank.
        rank: u32,
    },
    /// Whoever reads the schedule was told to end.
    #[error("the replay was ended")]
    Ended,
    /// Nobody can go on.
    #[error("{0}")]
    Standstill(Box<crate::engine::Standstill>),
    /// The machine has too few cores.
    #[error(
        "the machine is too small: {ranks} ranks do not fit on its {cores} cores; give more nodes (`count` or `cores` in [[node]], or --what-if nodes=N), or say where each rank goes (--what-if placement=...)"
    )]
    TooSmall {
        /// Ranks to be placed.
        ranks: u32,
        /// Cores of all nodes.
        cores: u64,
    },
    /// The topology connects fewer nodes than are needed.
    #[error(
        "the machine is too small: its topology connects {nodes} nodes, and {used} are needed; give a larger one in [topology], or more cores per node"
    )]
    TopologyTooSmall {
        /// Nodes that ranks are on.
        used: u32,
        /// Nodes that there are.
        nodes: u32,
    },
    /// The network cannot be made.
    #[error(transparent)]
    Network(#[from] crate::network::Problem),
    /// A placement that does not say where a rank is.
    #[error("the placement does not say where rank {rank} is")]
    Unplaced {
        /// The rank.
        rank: u32,
    },
    /// A placement on a node that is not there.
    #[error("the placement names node {node}, but the machine has nodes 0 to {}", nodes - 1)]
    NoSuchNode {
        /// The node.
        node: u32,
        /// How many there are.
        nodes: u64,
    },
    /// A change of something that is not there.
    #[error(
        "what if {0}? It is 0 or not known here: there is nothing to change; give a machine file with --machine (`sintonia bench` makes one)"
    )]
    NothingToChange(&'static str),
    /// A change that a recording alone cannot answer.
    #[error("what if {0}? That takes a machine file: --machine NAME.machine.toml (`sintonia bench` makes one)")]
    NeedsMachine(&'static str),
    /// Which message comes first is decided by those that share its links, after it has begun.
    #[error(
        "what if wildcards=arrival? Where messages share links ([topology]), it is not known beforehand which comes first; add contention=off"
    )]
    ArrivalNotKnown,
    /// A way to build operations of groups that the machine file asks for and that there is not.
    #[error("in [collectives] of the machine file, {what} = \"{name}\": {why}")]
    Collectives {
        /// The key.
        what: String,
        /// What it is to be.
        name: String,
        /// Why it cannot.
        why: String,
    },
    /// A call site that is not in the program.
    #[error("there is no call site `{name}`{}; `sintonia calls` and `sintonia report` name them", near.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default())]
    NoSuchSite {
        /// What was asked for.
        name: String,
        /// What was probably meant.
        near: Option<String>,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
