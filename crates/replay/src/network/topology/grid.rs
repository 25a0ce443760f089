//! Dimension-order routing in meshes, tori and hypercubes; shortest direction in a torus.
//!
//! Each node has one connection per dimension, to the next higher neighbour.

use super::{DuplexLinks, LinkId};

/// Nodes in a Cartesian grid.
#[derive(Debug)]
pub(super) struct GridRouting {
    pub dimensions: Vec<u32>,
    /// Whether the grid is periodic.
    pub wraps: bool,
}

impl GridRouting {
    /// Number of links of a route.
    pub(super) fn hops(&self, from: u32, to: u32) -> u32 {
        let (mut stride, mut hops) = (1, 0);
        for &length in &self.dimensions {
            let apart = (from / stride % length).abs_diff(to / stride % length);
            hops += if self.wraps { apart.min(length - apart) } else { apart };
            stride *= length;
        }
        hops
    }

    pub(super) fn find_route(&self, from: u32, to: u32, duplex: DuplexLinks, route: &mut Vec<LinkId>) {
        let (mut node, mut stride) = (from, 1);
        for (dimension, &length) in self.dimensions.iter().enumerate() {
            let (mut here, there) = (node / stride % length, to / stride % length);
            let upwards = (there + length - here) % length;
            let rises = if self.wraps { 2 * u64::from(upwards) <= length.into() } else { there >= here };
            while here != there {
                let next = if rises { (here + 1) % length } else { (here + length - 1) % length };
                let next_node = node - here * stride + next * stride;
                let owner = if rises { node } else { next_node };
                let connection = owner * self.dimensions.len() as u32 + dimension as u32;
                route.push(if rises { duplex.forward(connection) } else { duplex.backward(connection) });
                (here, node) = (next, next_node);
            }
            stride *= length;
        }
    }
}
