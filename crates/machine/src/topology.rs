//! How nodes are connected, and how messages share links.

mod graph;

pub use graph::{GraphLink, LinkGraph};

pub use crate::topology_error::TopologyError;
use crate::{BandwidthSharing, Duplex, UncertainValue};

/// How nodes are connected.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// Which nodes are connected.
    pub kind: TopologyKind,
    /// Default parameters of a link.
    pub link: LinkParameters,
    /// Whether links carry messages in both directions at once.
    pub duplex: Duplex,
    /// How concurrent messages share a link.
    pub sharing: BandwidthSharing,
    /// Packet forwarding, if any; otherwise the bytes of a message flow through all links at once.
    pub flow_control: Option<FlowControl>,
    /// Limits of concurrent messages.
    pub limits: ConcurrencyLimits,
}

/// Parameters of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkParameters {
    /// Bytes per second.
    pub bandwidth: UncertainValue,
    /// Seconds added to each message.
    pub latency: UncertainValue,
}

/// Which nodes are connected.
#[derive(Debug, Clone, PartialEq)]
pub enum TopologyKind {
    /// All nodes on one shared medium.
    Bus {
        /// Number of nodes.
        nodes: u32,
    },
    /// Each node with a link to and from a non-blocking switch.
    Crossbar {
        /// Number of nodes.
        nodes: u32,
    },
    /// Each node with a link to and from a switch.
    Star {
        /// Number of nodes.
        nodes: u32,
        /// Bandwidth of the switch in bytes per second; unlimited if none.
        switch: Option<UncertainValue>,
    },
    /// A grid of nodes with links between neighbours; node numbers ascend along the first dimension first.
    Mesh {
        /// Number of nodes along each dimension.
        dimensions: Vec<u32>,
    },
    /// A mesh with wrap-around links.
    Torus {
        /// Number of nodes along each dimension.
        dimensions: Vec<u32>,
    },
    /// Links between nodes whose numbers differ in one bit.
    Hypercube {
        /// Number of bits.
        dimension: u32,
    },
    /// Levels of switches above the nodes, from the nodes up.
    FatTree {
        /// The levels.
        levels: Vec<FatTreeLevelParameters>,
    },
    /// Groups of routers, each router with some nodes.
    Dragonfly(DragonflyParameters),
    /// A graph from a file.
    Graph(LinkGraph),
}

/// The switches of a level of a fat tree, and their links to the level below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FatTreeLevelParameters {
    /// Children of each switch.
    pub down: u32,
    /// Parents of each child.
    pub up: u32,
    /// Parallel links between a child and a parent.
    pub parallel: u32,
    /// Parameters of these links, if not the default.
    pub link: Option<LinkParameters>,
}

/// Groups of routers: all routers of a group are connected, and each pair of groups by one link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DragonflyParameters {
    /// Number of groups.
    pub groups: u32,
    /// Routers per group.
    pub routers: u32,
    /// Nodes per router.
    pub nodes: u32,
    /// A link within a group, if not the default.
    pub local: Option<LinkParameters>,
    /// A link between groups, if not the default.
    pub global: Option<LinkParameters>,
}

/// Packet forwarding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowControl {
    /// What a node must have received of a packet before it forwards it.
    pub forwarding: ForwardingMode,
    /// Largest packet with its header; if none, a message is one packet.
    pub packet_bytes: Option<u64>,
    /// Header size of a packet.
    pub header_bytes: u64,
    /// Routing delay per node in seconds.
    pub hop_latency: UncertainValue,
}

/// What a node must have received of a packet before it forwards it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardingMode {
    /// The whole packet.
    StoreAndForward,
    /// One flit; the packet holds all links of its route until it has passed.
    Wormhole {
        /// Flit size.
        flit_bytes: u64,
    },
    /// The header; if the next link is busy, the node buffers the rest.
    CutThrough,
}

/// Limits of concurrent messages, as in Dimemas; 0 is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConcurrencyLimits {
    /// In the whole network.
    pub buses: u64,
    /// From each node.
    pub links_out: u64,
    /// To each node.
    pub links_in: u64,
}

impl TopologyKind {
    /// Its name in the file.
    pub fn name(&self) -> &'static str {
        match self {
            TopologyKind::Bus { .. } => "bus",
            TopologyKind::Crossbar { .. } => "crossbar",
            TopologyKind::Star { .. } => "star",
            TopologyKind::Mesh { .. } => "mesh",
            TopologyKind::Torus { .. } => "torus",
            TopologyKind::Hypercube { .. } => "hypercube",
            TopologyKind::FatTree { .. } => "fat_tree",
            TopologyKind::Dragonfly(_) => "dragonfly",
            TopologyKind::Graph(_) => "graph",
        }
    }

    /// Number of nodes, if it fits 32 bits.
    pub fn node_count(&self) -> Result<u32, TopologyError> {
        let product = |factors: &mut dyn Iterator<Item = u32>| factors.fold(1u128, |all, one| all.saturating_mul(one.into()));
        let nodes: u128 = match self {
            TopologyKind::Bus { nodes } | TopologyKind::Crossbar { nodes } | TopologyKind::Star { nodes, .. } => (*nodes).into(),
            TopologyKind::Mesh { dimensions } | TopologyKind::Torus { dimensions } => product(&mut dimensions.iter().copied()),
            TopologyKind::Hypercube { dimension } => 1u128.checked_shl(*dimension).unwrap_or(u128::MAX),
            TopologyKind::FatTree { levels } => product(&mut levels.iter().map(|level| level.down)),
            TopologyKind::Dragonfly(DragonflyParameters { groups, routers, nodes, .. }) => {
                product(&mut [*groups, *routers, *nodes].into_iter())
            }
            TopologyKind::Graph(graph) => graph.node_count().into(),
        };
        match nodes.try_into() {
            Ok(0) => Err(TopologyError::NoNodes),
            Ok(nodes) => Ok(nodes),
            Err(_) => Err(TopologyError::TooLarge { nodes }),
        }
    }
}

impl Topology {
    /// Number of nodes; 0 if it does not fit 32 bits, which the reader refuses.
    pub fn node_count(&self) -> u32 {
        self.kind.node_count().unwrap_or(0)
    }
}
