//! Errors of topologies, which have no position in a file.

/// An invalid topology.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TopologyError {
    /// There are no nodes.
    #[error("this topology has no nodes")]
    NoNodes,
    /// Too many nodes.
    #[error("this topology has {nodes} nodes, and at most 4294967295 are supported")]
    TooLarge {
        /// Number of nodes.
        nodes: u128,
    },
    /// Fewer nodes than the machine has.
    #[error("this topology has {places} nodes, and the machine has {nodes}")]
    TooSmall {
        /// Nodes of the topology.
        places: u32,
        /// Nodes of the machine.
        nodes: u64,
    },
    /// Nodes without a path between them.
    #[error("this graph is not connected: there is no path from `{from}` to `{to}`")]
    NotConnected {
        /// A node.
        from: String,
        /// A node without a path from it.
        to: String,
    },
    /// A gap in the node numbers.
    #[error("there is a node {greater} but no node {missing}: nodes are numbered from 0 without gaps")]
    MissingNode {
        /// The missing number.
        missing: u32,
        /// A larger number that is present.
        greater: u32,
    },
    /// A packet that has no space for data.
    #[error("a packet of {packet} bytes has no space for data after its header of {header} bytes")]
    HeaderFillsPacket {
        /// Packet size.
        packet: u64,
        /// Header size.
        header: u64,
    },
}
