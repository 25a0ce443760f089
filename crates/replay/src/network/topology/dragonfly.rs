//! Dragonflies: at most one link within the first group, one between the groups, one within the last.

use sintonia_machine::topology;

use super::{LinkId, Ways};

/// Groups of routers with nodes.
#[derive(Debug)]
pub struct Dragonfly {
    groups: u32,
    routers: u32,
    nodes: u32,
}

impl Dragonfly {
    pub fn new(machine: &topology::Dragonfly) -> Dragonfly {
        Dragonfly { groups: machine.groups, routers: machine.routers, nodes: machine.nodes }
    }

    /// How many connections there are of nodes, within groups and between groups.
    pub fn connections(&self) -> [u128; 3] {
        let [groups, routers, nodes] = [self.groups, self.routers, self.nodes].map(u128::from);
        [groups * routers * nodes, groups * pairs(routers), pairs(groups)]
    }

    pub fn find(&self, from: u32, to: u32, ways: Ways, route: &mut Vec<LinkId>) {
        route.push(ways.there(from));
        let [first, last] = [from, to].map(|node| node / self.nodes);
        let [first_group, last_group] = [first, last].map(|router| router / self.routers);
        if first_group == last_group {
            self.within(first, last, ways, route);
        } else {
            self.within(first, self.gateway(first_group, last_group), ways, route);
            let [nodes, within, _] = self.connections();
            route.push(toward(first_group, last_group, (nodes + within) as u32, ways));
            self.within(self.gateway(last_group, first_group), last, ways, route);
        }
        route.push(ways.back(to));
    }

    /// How many links are on the way.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let [first, last] = [from, to].map(|node| node / self.nodes);
        let [first_group, last_group] = [first, last].map(|router| router / self.routers);
        let within = |first: u32, last: u32| u32::from(first != last);
        if first_group == last_group {
            return 2 + within(first, last);
        }
        3 + within(first, self.gateway(first_group, last_group)) + within(self.gateway(last_group, first_group), last)
    }

    /// The router that has the link to another group: those to the groups after one's own go round over the routers.
    fn gateway(&self, group: u32, other: u32) -> u32 {
        let nth = (other + self.groups - group - 1) % self.groups;
        group * self.routers + nth % self.routers
    }

    /// The link between two routers of a group, if they are two.
    fn within(&self, first: u32, last: u32, ways: Ways, route: &mut Vec<LinkId>) {
        if first != last {
            let group = u128::from(first / self.routers);
            let before = self.connections()[0] + group * pairs(self.routers.into());
            route.push(toward(first % self.routers, last % self.routers, before as u32, ways));
        }
    }
}

fn pairs(count: u128) -> u128 {
    count * count.saturating_sub(1) / 2
}

/// The link from one to another where each is connected to each other.
fn toward(from: u32, to: u32, before: u32, ways: Ways) -> LinkId {
    let connection = |least: u32, greatest: u32| before + pairs(greatest.into()) as u32 + least;
    if from < to { ways.there(connection(from, to)) } else { ways.back(connection(to, from)) }
}
