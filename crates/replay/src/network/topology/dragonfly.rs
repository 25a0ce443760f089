//! Dragonfly routing: at most one local link, one global link, one local link.

use sintonia_machine::topology;

use super::{DuplexLinks, LinkId};

/// Groups of routers with nodes.
#[derive(Debug)]
pub(super) struct DragonflyRouting {
    groups: u32,
    routers: u32,
    nodes: u32,
}

impl DragonflyRouting {
    pub(super) fn new(machine: &topology::DragonflyParameters) -> DragonflyRouting {
        DragonflyRouting { groups: machine.groups, routers: machine.routers, nodes: machine.nodes }
    }

    /// Number of node, local and global connections.
    pub(super) fn connections(&self) -> [u128; 3] {
        let [groups, routers, nodes] = [self.groups, self.routers, self.nodes].map(u128::from);
        [groups * routers * nodes, groups * pair_count(routers), pair_count(groups)]
    }

    pub(super) fn find_route(&self, from: u32, to: u32, duplex: DuplexLinks, route: &mut Vec<LinkId>) {
        route.push(duplex.forward(from));
        let [first, last] = [from, to].map(|node| node / self.nodes);
        let [first_group, last_group] = [first, last].map(|router| router / self.routers);
        if first_group == last_group {
            self.push_local_link(first, last, duplex, route);
        } else {
            self.push_local_link(first, self.gateway(first_group, last_group), duplex, route);
            let [nodes, within, _] = self.connections();
            route.push(link_between(first_group, last_group, (nodes + within) as u32, duplex));
            self.push_local_link(self.gateway(last_group, first_group), last, duplex, route);
        }
        route.push(duplex.backward(to));
    }

    /// Number of links of a route.
    pub(super) fn hops(&self, from: u32, to: u32) -> u32 {
        let [first, last] = [from, to].map(|node| node / self.nodes);
        let [first_group, last_group] = [first, last].map(|router| router / self.routers);
        let within = |first: u32, last: u32| u32::from(first != last);
        if first_group == last_group {
            return 2 + within(first, last);
        }
        3 + within(first, self.gateway(first_group, last_group)) + within(self.gateway(last_group, first_group), last)
    }

    /// The router with the link to another group; links to successive groups are distributed over the routers.
    fn gateway(&self, group: u32, other: u32) -> u32 {
        let nth = (other + self.groups - group - 1) % self.groups;
        group * self.routers + nth % self.routers
    }

    /// Adds the link between two routers of a group, if they differ.
    fn push_local_link(&self, first: u32, last: u32, duplex: DuplexLinks, route: &mut Vec<LinkId>) {
        if first != last {
            let group = u128::from(first / self.routers);
            let before = self.connections()[0] + group * pair_count(self.routers.into());
            route.push(link_between(first % self.routers, last % self.routers, before as u32, duplex));
        }
    }
}

fn pair_count(count: u128) -> u128 {
    count * count.saturating_sub(1) / 2
}

/// Link of a complete graph.
fn link_between(from: u32, to: u32, before: u32, duplex: DuplexLinks) -> LinkId {
    let connection = |least: u32, greatest: u32| before + pair_count(greatest.into()) as u32 + least;
    if from < to { duplex.forward(connection(from, to)) } else { duplex.backward(connection(to, from)) }
}
