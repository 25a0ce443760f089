//! How nodes are connected: over which links a message goes, and what becomes of messages that meet there.

mod graph;

pub use graph::{Edge, Graph};

use crate::{Duplex, Figure, Sharing};

/// How nodes are connected.
#[derive(Debug, Clone, PartialEq)]
pub struct Topology {
    /// Which node is connected to which.
    pub kind: Kind,
    /// A link, where nothing else is told of it.
    pub link: Link,
    /// Whether links carry messages both ways at once.
    pub duplex: Duplex,
    /// What becomes of messages that meet on a link.
    pub sharing: Sharing,
    /// How nodes on the way forward a message, if in packets; else its bytes flow through all links at once.
    pub flow_control: Option<FlowControl>,
    /// How many messages there may be at once.
    pub limits: Limits,
}

/// What a link can do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Bytes per second.
    pub bandwidth: Figure,
    /// Seconds that it adds to each message.
    pub latency: Figure,
}

/// Which node is connected to which.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// All nodes on one medium.
    Bus {
        /// How many nodes there are.
        nodes: u32,
    },
    /// Each node with a link to and from a switch that is never in the way.
    Crossbar {
        /// How many nodes there are.
        nodes: u32,
    },
    /// Each node with a link to and from a switch.
    Star {
        /// How many nodes there are.
        nodes: u32,
        /// Bytes per second that go through the switch; without a limit if none.
        switch: Option<Figure>,
    },
    /// Nodes in a grid, each connected to its neighbours; node numbers grow along the first dimension first.
    Mesh {
        /// How many nodes there are along each dimension.
        dimensions: Vec<u32>,
    },
    /// A mesh whose ends are connected, too.
    Torus {
        /// How many nodes there are along each dimension.
        dimensions: Vec<u32>,
    },
    /// Nodes whose numbers differ in one bit are connected.
    Hypercube {
        /// How many bits a number has.
        dimension: u32,
    },
    /// Switches in levels above the nodes; the levels from the nodes up.
    FatTree {
        /// The levels.
        levels: Vec<Level>,
    },
    /// Groups of routers, each router with some nodes.
    Dragonfly(Dragonfly),
    /// As a file says.
    Graph(Graph),
}

/// The switches of a level of a fat tree, and their links to the level below.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// How many children each switch has.
    pub down: u32,
    /// How many parents each child has.
    pub up: u32,
    /// How many links there are between a child and a parent.
    pub parallel: u32,
    /// What such a link can do, if something else.
    pub link: Option<Link>,
}

/// Groups of routers: in a group each is connected to each other, and each group to each other by one link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dragonfly {
    /// How many groups there are.
    pub groups: u32,
    /// How many routers a group has.
    pub routers: u32,
    /// How many nodes a router has.
    pub nodes: u32,
    /// A link within a group, if it is something else than that of a node.
    pub local: Option<Link>,
    /// A link between groups, if it is something else.
    pub global: Option<Link>,
}

/// How nodes on the way forward a message that is cut into packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowControl {
    /// What a node must have of a packet before it sends it on.
    pub forwarding: Forwarding,
    /// The largest packet, with its header; the whole message is one if none.
    pub packet_bytes: Option<u64>,
    /// What each packet has besides its share of the message.
    pub header_bytes: u64,
    /// Seconds that each node on the way needs to decide where a message goes.
    pub hop: Figure,
}

/// What a node must have of a packet before it sends it on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// All of it.
    StoreAndForward,
    /// One flit; the packet keeps all links of its way until it is through.
    Wormhole {
        /// How large a flit is.
        flit_bytes: u64,
    },
    /// The header; if the next link is busy, the node takes in the rest meanwhile.
    CutThrough,
}

/// How many messages there may be at once, as Dimemas limits them; 0 is as many as there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// Between all nodes together.
    pub buses: u64,
    /// From each node.
    pub links_out: u64,
    /// To each node.
    pub links_in: u64,
}

/// Nodes that are not connected as they should be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TopologyProblem {
    /// There is nobody.
    #[error("this topology has no nodes")]
    NoNodes,
    /// More nodes than can be numbered.
    #[error("this topology has {nodes} nodes, and at most 4294967295 can be numbered")]
    TooLarge {
        /// How many.
        nodes: u128,
    },
    /// Fewer places than nodes.
    #[error("this topology has places for {places} nodes, and the machine has {nodes}")]
    TooSmall {
        /// How many the topology has.
        places: u32,
        /// How many the machine has.
        nodes: u64,
    },
    /// Nodes that cannot send to each other.
    #[error("this graph is not connected: there is no way from `{from}` to `{to}`")]
    NotConnected {
        /// A node.
        from: String,
        /// One that it cannot send to.
        to: String,
    },
    /// A number that no node has.
    #[error("there is no node {missing}, though there is a node {greater}: nodes are numbered from 0 without a gap")]
    Hole {
        /// The number.
        missing: u32,
        /// One that is there.
        greater: u32,
    },
    /// A packet without room for anything but its header.
    #[error("a packet of {packet} bytes has no room for data beside its header of {header} bytes")]
    OnlyHeader {
        /// The packet.
        packet: u64,
        /// Its header.
        header: u64,
    },
}

impl Kind {
    /// Its name in the file.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Bus { .. } => "bus",
            Kind::Crossbar { .. } => "crossbar",
            Kind::Star { .. } => "star",
            Kind::Mesh { .. } => "mesh",
            Kind::Torus { .. } => "torus",
            Kind::Hypercube { .. } => "hypercube",
            Kind::FatTree { .. } => "fat_tree",
            Kind::Dragonfly(_) => "dragonfly",
            Kind::Graph(_) => "graph",
        }
    }

    /// How many nodes it connects, if they can be numbered.
    pub fn nodes(&self) -> Result<u32, TopologyProblem> {
        let product = |factors: &mut dyn Iterator<Item = u32>| factors.fold(1u128, |all, one| all.saturating_mul(one.into()));
        let nodes: u128 = match self {
            Kind::Bus { nodes } | Kind::Crossbar { nodes } | Kind::Star { nodes, .. } => (*nodes).into(),
            Kind::Mesh { dimensions } | Kind::Torus { dimensions } => product(&mut dimensions.iter().copied()),
            Kind::Hypercube { dimension } => 1u128.checked_shl(*dimension).unwrap_or(u128::MAX),
            Kind::FatTree { levels } => product(&mut levels.iter().map(|level| level.down)),
            Kind::Dragonfly(Dragonfly { groups, routers, nodes, .. }) => product(&mut [*groups, *routers, *nodes].into_iter()),
            Kind::Graph(graph) => graph.nodes().into(),
        };
        match nodes.try_into() {
            Ok(0) => Err(TopologyProblem::NoNodes),
            Ok(nodes) => Ok(nodes),
            Err(_) => Err(TopologyProblem::TooLarge { nodes }),
        }
    }
}

impl Topology {
    /// How many nodes it connects; 0 if they cannot be numbered, which no file that was read says.
    pub fn nodes(&self) -> u32 {
        self.kind.nodes().unwrap_or(0)
    }
}
