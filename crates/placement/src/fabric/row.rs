//! Hosts in a row, so that those that are near each other stand side by side.

use sintonia_machine::Topology;

use super::domains::domains;

/// Hosts in a row, cut into domains of the network, these into smaller ones, and so on.
#[derive(Debug)]
pub struct Row {
    /// The hosts that have slots.
    pub hosts: Vec<u32>,
    /// From the whole down to single hosts: the places at which a domain begins.
    pub cuts: Vec<Vec<usize>>,
}

impl Row {
    /// The hosts that have slots, in the order of the domains of a topology.
    pub fn of(topology: Option<&Topology>, slots: &[u32]) -> Row {
        let domains = domains(topology, slots.len() as u32);
        let mut hosts: Vec<u32> = (0..slots.len() as u32).filter(|host| slots[*host as usize] > 0).collect();
        hosts.sort_by(|one, other| domains[*one as usize].cmp(&domains[*other as usize]));
        let depth = domains.iter().map(Vec::len).max().unwrap_or(0);
        let are_alike = |place: usize, depth: usize| {
            let [one, other] = [place - 1, place].map(|place| &domains[hosts[place] as usize]);
            one.iter().take(depth).eq(other.iter().take(depth))
        };
        let firsts = |depth: usize| (0..hosts.len()).filter(|place| *place == 0 || !are_alike(*place, depth)).collect();
        let mut cuts: Vec<Vec<usize>> = (0..=depth).map(firsts).collect();
        cuts.push((0..hosts.len()).collect());
        cuts.dedup();
        Row { hosts, cuts }
    }
}
