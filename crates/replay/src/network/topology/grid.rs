//! Meshes, tori and hypercubes: one dimension after another, in a torus the shorter way round.
//!
//! Each node has one connection along each dimension, to the neighbour with the next greater number there.

use super::{LinkId, Ways};

/// Nodes along some dimensions.
#[derive(Debug)]
pub struct Grid {
    pub dimensions: Vec<u32>,
    /// Whether the last is connected to the first.
    pub wraps: bool,
}

impl Grid {
    /// How many links are on the way.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let (mut stride, mut hops) = (1, 0);
        for &length in &self.dimensions {
            let apart = (from / stride % length).abs_diff(to / stride % length);
            hops += if self.wraps { apart.min(length - apart) } else { apart };
            stride *= length;
        }
        hops
    }

    pub fn find(&self, from: u32, to: u32, ways: Ways, route: &mut Vec<LinkId>) {
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
                route.push(if rises { ways.there(connection) } else { ways.back(connection) });
                (here, node) = (next, next_node);
            }
            stride *= length;
        }
    }
}
