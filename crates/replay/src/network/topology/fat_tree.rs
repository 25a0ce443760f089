//! Fat trees in the notation of parallel-ports generalised fat trees, with D-mod-k routing (E. Zahavi, 2010): the destination alone selects
//! the parents and parallel links, so that messages to different nodes use different links on the way down.

use sintonia_machine::topology::FatTreeLevelParameters;

use super::{DuplexLinks, LinkId};

/// The levels, bottom up.
#[derive(Debug)]
pub(super) struct FatTreeRouting {
    levels: Vec<FatTreeStage>,
}

/// Links between a level and the one below.
#[derive(Debug)]
struct FatTreeStage {
    down: u32,
    up: u32,
    /// Up-links of each child: parents times parallel links.
    ports: u32,
    /// Children that differ only in the parents below them.
    replicas: u32,
    /// Index of the first connection.
    first_connection: u32,
    connections: u128,
}

impl FatTreeRouting {
    /// The tree, if its links can be numbered.
    pub(super) fn new(levels: &[FatTreeLevelParameters]) -> Option<FatTreeRouting> {
        let mut below = levels.iter().fold(1u128, |all, level| all.saturating_mul(level.down.into()));
        let (mut alike, mut first) = (1u32, 0u32);
        let mut stages = Vec::with_capacity(levels.len());
        for level in levels {
            let ports = level.up.checked_mul(level.parallel)?;
            let connections = below.checked_mul(alike.into())?.checked_mul(ports.into())?;
            stages.push(FatTreeStage { down: level.down, up: level.up, ports, replicas: alike, first_connection: first, connections });
            first = first.checked_add(connections.try_into().ok()?)?;
            alike = alike.checked_mul(level.up)?;
            below /= u128::from(level.down);
        }
        Some(FatTreeRouting { levels: stages })
    }

    /// Number of connections per level.
    pub(super) fn connections(&self) -> impl Iterator<Item = u128> {
        self.levels.iter().map(|stage| stage.connections)
    }

    /// Connections that lead down to a single node, each with the connection of that node.
    pub(super) fn single_node_connections(&self) -> Vec<(u32, u32)> {
        const NOBODY: u32 = u32::MAX;
        let connections: u128 = self.connections().sum();
        let nodes: u32 = self.levels.iter().map(|stage| stage.down).product();
        // By connection: the connection of the node below it, and whether it is the only one.
        let mut below = vec![(NOBODY, false); connections as usize];
        for to in 0..nodes {
            let mut own = NOBODY;
            self.for_each_uplink(to, to, self.levels.len(), |connection| {
                if own == NOBODY {
                    own = connection;
                    return;
                }
                let known = &mut below[connection as usize];
                *known = (own, known.0 == NOBODY);
            });
        }
        (0..).zip(below).filter(|(_, (_, lone))| *lone).map(|(connection, (own, _))| (connection, own)).collect()
    }

    pub(super) fn find_route(&self, from: u32, to: u32, duplex: DuplexLinks, route: &mut Vec<LinkId>) {
        let height = self.common_level(from, to);
        self.for_each_uplink(from, to, height, |connection| route.push(duplex.forward(connection)));
        self.for_each_uplink(to, to, height, |connection| route.push(duplex.backward(connection)));
        route[height..].reverse();
    }

    /// Number of links of a route.
    pub(super) fn hops(&self, from: u32, to: u32) -> u32 {
        2 * self.common_level(from, to) as u32
    }

    /// Lowest level with a common ancestor.
    fn common_level(&self, mut one: u32, mut other: u32) -> usize {
        let apart = |stage: &&FatTreeStage| {
            let apart = one != other;
            (one, other) = (one / stage.down, other / stage.down);
            apart
        };
        self.levels.iter().take_while(apart).count()
    }

    /// Visits the connections above a node up to a level. The destination determines the ports, so both sides of a route select the same
    /// parents and meet.
    fn for_each_uplink(&self, node: u32, to: u32, height: usize, mut each: impl FnMut(u32)) {
        let (mut here, mut parents) = (node, 0);
        for stage in &self.levels[..height] {
            let port = to / stage.replicas % stage.ports;
            each(stage.first_connection + (here * stage.replicas + parents) * stage.ports + port);
            parents += stage.replicas * (port % stage.up);
            here /= stage.down;
        }
    }
}
