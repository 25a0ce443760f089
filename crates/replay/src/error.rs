//! Errors of a replay.

use std::path::PathBuf;

/// What went wrong, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] sintonia_recording::Error),
    /// A foreign trace cannot be read, or a recording cannot be written.
    #[error(transparent)]
    Format(#[from] sintonia_formats::Error),
    /// A GOAL schedule cannot be simulated to its end.
    #[error(transparent)]
    Goal(#[from] crate::goal_error::GoalError),
    /// A rank is missing from the recording.
    #[error("rank {rank} is missing from the recording")]
    NoSuchLocation {
        /// The rank.
        rank: u32,
    },
    /// The reader of the schedule was cancelled.
    #[error("the replay was cancelled")]
    Cancelled,
    /// All locations are blocked.
    #[error("{0}")]
    Deadlock(Box<crate::deadlock::Deadlock>),
    /// The machine has too few cores.
    #[error(
        "the machine is too small: {ranks} ranks do not fit on its {cores} cores; add nodes (`count` or `cores` in [[node]], or --what-if nodes=N), or give a placement (--what-if placement=...)"
    )]
    MachineTooSmall {
        /// Number of ranks.
        ranks: u32,
        /// Number of cores.
        cores: u64,
    },
    /// The topology has too few nodes.
    #[error(
        "the machine is too small: its topology connects {nodes} nodes, and {used} are needed; define a larger one in [topology], or more cores per node"
    )]
    TopologyTooSmall {
        /// Number of nodes used.
        used: u32,
        /// Number of nodes in the topology.
        nodes: u32,
    },
    /// The network cannot be built.
    #[error(transparent)]
    Network(#[from] crate::network::NetworkError),
    /// The placement lacks a rank.
    #[error("the placement has no node for rank {rank}")]
    Unplaced {
        /// The rank.
        rank: u32,
    },
    /// The placement names a node that does not exist.
    #[error("the placement names node {node}, but the machine has nodes 0 to {}", nodes - 1)]
    NoSuchNode {
        /// The node.
        node: u32,
        /// Number of nodes.
        nodes: u64,
    },
    /// The changed quantity is 0 or unknown.
    #[error(
        "what if {0}? It is 0 or unknown here, so it cannot be changed; give a machine file with --machine (`sintonia bench` makes one)"
    )]
    NothingToChange(&'static str),
    /// The change requires a machine.
    #[error("what if {0}? This needs a machine file: --machine NAME.machine.toml (`sintonia bench` makes one)")]
    NeedsMachine(&'static str),
    /// Ranks waited for a core in too many messages.
    #[error(
        "the recorded network is unknown: in {} of {} messages that were waited for, a rank waited for a core; give a machine file with --machine (`sintonia bench` makes one), or record again with at most one rank per core",
        .0.disturbed, .0.disturbed + .0.undisturbed
    )]
    NetworkUnknown(crate::transfer_counts::TransferCounts),
    /// With shared links, arrival order is not known in advance.
    #[error("what if wildcards=arrival? With shared links ([topology]) the arrival order is not known in advance; add contention=off")]
    ArrivalNotKnown,
    /// An invalid algorithm in the machine file.
    #[error("in [collectives] of the machine file, {what} = \"{name}\": {why}")]
    Collectives {
        /// The key.
        what: String,
        /// The value.
        name: String,
        /// Why it is invalid.
        why: String,
    },
    /// Unknown call site.
    #[error("there is no call site `{name}`{}; `sintonia calls` and `sintonia report` list them", near.as_ref().map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default())]
    NoSuchSite {
        /// The name.
        name: String,
        /// Suggestion.
        near: Option<String>,
    },
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}
