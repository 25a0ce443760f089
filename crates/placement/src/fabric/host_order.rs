//! A linear order of the hosts in which near hosts are adjacent.

use sintonia_machine::Topology;

use super::domains::host_domains;

/// Ordered hosts, partitioned into nested network domains.
#[derive(Debug)]
pub(crate) struct HostOrder {
    /// The hosts that have slots.
    pub hosts: Vec<u32>,
    /// From the whole down to single hosts: the positions at which a domain starts.
    pub domain_starts: Vec<Vec<usize>>,
}

impl HostOrder {
    /// Orders the hosts that have slots by the domains of a topology.
    pub(crate) fn from_topology(topology: Option<&Topology>, slots: &[u32]) -> HostOrder {
        let domains = host_domains(topology, slots.len() as u32);
        let mut hosts: Vec<u32> = (0..slots.len() as u32).filter(|host| slots[*host as usize] > 0).collect();
        hosts.sort_by(|one, other| domains[*one as usize].cmp(&domains[*other as usize]));
        let depth = domains.iter().map(Vec::len).max().unwrap_or(0);
        let are_alike = |index: usize, depth: usize| {
            let [one, other] = [index - 1, index].map(|index| &domains[hosts[index] as usize]);
            one.iter().take(depth).eq(other.iter().take(depth))
        };
        let firsts = |depth: usize| (0..hosts.len()).filter(|index| *index == 0 || !are_alike(*index, depth)).collect();
        let mut domain_starts: Vec<Vec<usize>> = (0..=depth).map(firsts).collect();
        domain_starts.push((0..hosts.len()).collect());
        domain_starts.dedup();
        HostOrder { hosts, domain_starts }
    }
}
