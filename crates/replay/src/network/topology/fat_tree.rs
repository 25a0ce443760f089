//! Fat trees in the notation of parallel-ports generalised fat trees, with the routes of D-mod-k (E. Zahavi, 2010): the destination alone says
//! over which of the parents and parallel links a message goes, so that messages to different nodes are kept apart on the way down.

use sintonia_machine::topology::Level;

use super::{LinkId, Ways};

/// The levels, from the nodes up.
#[derive(Debug)]
pub struct FatTree {
    levels: Vec<Stage>,
}

/// The links between the switches of a level and what is below them.
#[derive(Debug)]
struct Stage {
    down: u32,
    up: u32,
    /// Up-going links of each child: parents times parallel links.
    ports: u32,
    /// How many children there are that differ only in which of the parents below they go through.
    alike: u32,
    /// The number of the first connection.
    first: u32,
    connections: u128,
}

impl FatTree {
    /// The tree, if its links can be numbered.
    pub fn new(levels: &[Level]) -> Option<FatTree> {
        let mut below = levels.iter().fold(1u128, |all, level| all.saturating_mul(level.down.into()));
        let (mut alike, mut first) = (1u32, 0u32);
        let mut stages = Vec::with_capacity(levels.len());
        for level in levels {
            let ports = level.up.checked_mul(level.parallel)?;
            let connections = below.checked_mul(alike.into())?.checked_mul(ports.into())?;
            stages.push(Stage { down: level.down, up: level.up, ports, alike, first, connections });
            first = first.checked_add(connections.try_into().ok()?)?;
            alike = alike.checked_mul(level.up)?;
            below /= u128::from(level.down);
        }
        Some(FatTree { levels: stages })
    }

    /// How many connections each level has.
    pub fn connections(&self) -> impl Iterator<Item = u128> {
        self.levels.iter().map(|stage| stage.connections)
    }

    /// Connections above switches that lead down to one node only, and the connection of that node.
    pub fn lone_ways(&self) -> Vec<(u32, u32)> {
        const NOBODY: u32 = u32::MAX;
        let connections: u128 = self.connections().sum();
        let nodes: u32 = self.levels.iter().map(|stage| stage.down).product();
        // By connection: the connection of the node below it, and whether that is the only one.
        let mut below = vec![(NOBODY, false); connections as usize];
        for to in 0..nodes {
            let mut own = NOBODY;
            self.climb(to, to, self.levels.len(), |connection| {
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

    pub fn find(&self, from: u32, to: u32, ways: Ways, route: &mut Vec<LinkId>) {
        let height = self.height(from, to);
        self.climb(from, to, height, |connection| route.push(ways.there(connection)));
        self.climb(to, to, height, |connection| route.push(ways.back(connection)));
        route[height..].reverse();
    }

    /// How many links are on the way.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        2 * self.height(from, to) as u32
    }

    /// The lowest level at which one switch is above both.
    fn height(&self, mut one: u32, mut other: u32) -> usize {
        let apart = |stage: &&Stage| {
            let apart = one != other;
            (one, other) = (one / stage.down, other / stage.down);
            apart
        };
        self.levels.iter().take_while(apart).count()
    }

    /// The connections above a node up to that level, on the ways to a destination: that says the port at each level, so on both sides of the
    /// way the same parents are taken, and they meet.
    fn climb(&self, node: u32, to: u32, height: usize, mut each: impl FnMut(u32)) {
        let (mut here, mut parents) = (node, 0);
        for stage in &self.levels[..height] {
            let port = to / stage.alike % stage.ports;
            each(stage.first + (here * stage.alike + parents) * stage.ports + port);
            parents += stage.alike * (port % stage.up);
            here /= stage.down;
        }
    }
}
