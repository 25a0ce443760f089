//! Names of links, for people: by the hosts or groups of hosts at their ends.

use crate::Cluster;
use crate::fabric::Fabric;

/// Up to this many hosts, the routes between all pairs are used to name links.
const MAX_ALL_PAIRS_HOSTS: usize = 64;

/// Link names: by host, or by group of hosts, at their ends; else by number.
pub fn link_names(fabric: &Fabric, cluster: &Cluster) -> Vec<String> {
    let used: Vec<u32> = (0..).zip(&cluster.hosts).filter(|(_, host)| host.slots > 0).map(|(number, _)| number).collect();
    let groups: Vec<Option<String>> = (0..).zip(&cluster.hosts).map(|(number, _)| cluster.host_group(number)).collect();
    let mut ends: Vec<LinkEnds> = vec![LinkEnds::default(); fabric.s_per_byte().len()];
    let mut room = Vec::new();
    for (index, from) in used.iter().copied().enumerate() {
        let some = || [1, used.len() / 2].map(|step| used[(index + step) % used.len()]).to_vec();
        let others = if used.len() <= MAX_ALL_PAIRS_HOSTS { used.clone() } else { some() };
        for to in others.into_iter().filter(|to| *to != from) {
            let route = fabric.route(from, to, &mut room);
            for (at, link) in route.iter().enumerate() {
                let ends = &mut ends[*link as usize];
                ends.groups[0].add(groups[from as usize].as_deref());
                ends.groups[1].add(groups[to as usize].as_deref());
                ends.hosts[0].add(Some(cluster.hosts[from as usize].name.as_str()).filter(|_| at == 0));
                ends.hosts[1].add(Some(cluster.hosts[to as usize].name.as_str()).filter(|_| at + 1 == route.len()));
            }
        }
    }
    ends.iter().enumerate().map(|(link, ends)| ends.name(link)).collect()
}

/// The hosts and groups at the ends of the routes over a link.
#[derive(Clone, Copy, Default)]
struct LinkEnds<'a> {
    hosts: [CommonName<'a>; 2],
    groups: [CommonName<'a>; 2],
}

impl LinkEnds<'_> {
    fn name(&self, link: usize) -> String {
        match (self.hosts, self.groups) {
            ([CommonName::One(from), CommonName::One(to)], _) if from == to => format!("link of {from}"),
            ([CommonName::One(from), CommonName::One(to)], _) => format!("{from} to {to}"),
            ([CommonName::One(from), _], _) => format!("out of {from}"),
            ([_, CommonName::One(to)], _) => format!("into {to}"),
            (_, [CommonName::One(from), CommonName::One(to)]) => format!("{from} to {to}, link {link}"),
            (_, [CommonName::One(from), _]) => format!("out of {from}, link {link}"),
            (_, [_, CommonName::One(to)]) => format!("into {to}, link {link}"),
            _ => format!("link {link}"),
        }
    }
}

/// The common name of several items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CommonName<'a> {
    /// No item yet.
    #[default]
    Unset,
    /// All have this name.
    One(&'a str),
    /// They differ.
    Different,
}

impl<'a> CommonName<'a> {
    fn add(&mut self, one: Option<&'a str>) {
        *self = match (*self, one) {
            (CommonName::Unset, Some(one)) => CommonName::One(one),
            (CommonName::One(known), Some(one)) if known == one => CommonName::One(known),
            _ => CommonName::Different,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Host;
    use sintonia_machine::Machine;
    use std::path::Path;

    #[test]
    fn links_are_called_by_the_host_that_has_no_other() {
        let cluster = Cluster::new(vec![Host::new("a", 2), Host::new("b", 2)]);
        let fabric = Fabric::from_cluster(&cluster).unwrap();
        let mut names = link_names(&fabric, &cluster);
        names.sort();
        assert_eq!(names, ["into a", "into b", "out of a", "out of b"]);
    }

    #[test]
    fn links_between_switches_are_called_by_the_switch() {
        let text = "format = 1\n[machine]\nname = \"tree\"\n[[node]]\nkind = \"n\"\ncount = 6\ncores = 1\n\
                    [topology]\nkind = \"fat_tree\"\nlevels = [{ down = 2 }, { down = 3 }]\nbandwidth_bytes_per_s = 1e9\nlatency_s = 0\n";
        let machine = Machine::parse(text, Path::new("tree")).unwrap();
        let cluster = Cluster::from_machine(&machine, 0.0);
        let names = link_names(&Fabric::from_cluster(&cluster).unwrap(), &cluster);
        let called = |beginning: &str| names.iter().filter(|name| name.starts_with(beginning)).count();
        assert_eq!([called("out of switch 0, link "), called("into switch 1, link "), called("link ")], [1, 1, 0], "{names:?}");
    }
}
