//! Clusters of a platform: how many nodes, and how they are connected.

use roxmltree::Node;

use super::zones::LinkId;
use crate::Duplex;
use crate::topology::FatTreeLevelParameters;

/// How the nodes of a cluster are connected; all links are alike.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClusterTopology {
    pub shape: ClusterShape,
    pub link: LinkId,
    /// What all messages share.
    pub backbone: Option<LinkId>,
    pub duplex: Duplex,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ClusterShape {
    /// All at one switch.
    Switch,
    FatTree(Vec<FatTreeLevelParameters>),
    Torus(Vec<u32>),
    /// Numbers of groups, routers per group, and nodes per router; how many links two routers have, and two groups.
    Dragonfly {
        sizes: [u32; 3],
        local: u32,
        global: u32,
    },
}

impl ClusterShape {
    /// The shape of a cluster, if its attributes describe one that a machine can have.
    pub(super) fn of(cluster: Node) -> Option<ClusterShape> {
        let parameters = || -> Option<Vec<Vec<u32>>> {
            let numbers = |list: &str| list.split(',').map(|number| number.trim().parse().ok().filter(|number| *number > 0)).collect();
            cluster.attribute("topo_parameters")?.split(';').map(numbers).collect()
        };
        match cluster.attribute("topology").unwrap_or("FLAT") {
            "FLAT" => Some(ClusterShape::Switch),
            "TORUS" => match parameters()?.as_slice() {
                [dimensions] => Some(ClusterShape::Torus(dimensions.clone())),
                _ => None,
            },
            "FAT_TREE" => match parameters()?.as_slice() {
                [levels, down, up, parallel] if [down, up, parallel].iter().all(|numbers| levels[..] == [numbers.len() as u32]) => {
                    let level =
                        |index: usize| FatTreeLevelParameters { down: down[index], up: up[index], parallel: parallel[index], link: None };
                    Some(ClusterShape::FatTree((0..down.len()).map(level).collect()))
                }
                _ => None,
            },
            "DRAGONFLY" => {
                let parameters = parameters()?;
                let [groups, chassis, routers, nodes] = parameters.as_slice() else { return None };
                let ([groups, global], [chassis, black], [routers, green], [nodes]) = (&groups[..], &chassis[..], &routers[..], &nodes[..])
                else {
                    return None;
                };
                // With several of both, not all routers of a group are connected.
                let local = if *chassis == 1 { green } else { black };
                let sizes = [*groups, chassis.checked_mul(*routers)?, *nodes];
                (*chassis == 1 || *routers == 1).then_some(ClusterShape::Dragonfly { sizes, local: *local, global: *global })
            }
            _ => None,
        }
    }

    /// The number of links of the longest route between two nodes, without a backbone.
    pub(super) fn diameter(&self) -> usize {
        match self {
            ClusterShape::Switch => 2,
            ClusterShape::FatTree(levels) => 2 * levels.len(),
            ClusterShape::Torus(dimensions) => dimensions.iter().map(|nodes| *nodes as usize / 2).sum::<usize>().max(1),
            ClusterShape::Dragonfly { sizes: [groups, routers, _], .. } => {
                let local = usize::from(*routers > 1);
                if *groups > 1 { 3 + 2 * local } else { 2 + local }
            }
        }
    }

    /// The number of nodes, if the shape determines it.
    pub(super) fn node_count(&self) -> Option<u64> {
        let product = |numbers: &[u32]| numbers.iter().try_fold(1u64, |all, number| all.checked_mul((*number).into()));
        match self {
            ClusterShape::Switch => None,
            ClusterShape::FatTree(levels) => product(&levels.iter().map(|level| level.down).collect::<Vec<_>>()),
            ClusterShape::Torus(dimensions) => product(dimensions),
            ClusterShape::Dragonfly { sizes, .. } => product(sizes),
        }
    }
}

/// Whether the links of a cluster carry messages in both directions at once; none if messages do not share them at all.
pub(super) fn duplex(cluster: Node) -> Option<Duplex> {
    match cluster.attribute("sharing_policy").unwrap_or("SPLITDUPLEX") {
        "FATPIPE" => None,
        "SHARED" => Some(Duplex::Half),
        _ => Some(Duplex::Full),
    }
}

/// The numbers of the nodes of a list of ranges, `0-3,8`: how many there are, and the first few.
pub(super) fn radicals(radical: &str) -> (u64, Vec<u64>) {
    /// No gateway is beyond these.
    const NAMED: usize = 1 << 16;
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?);
        (first <= last).then_some(first..=last)
    };
    let ranges = || radical.split(',').filter_map(range);
    let count = ranges().map(|range| (range.end() - range.start()).saturating_add(1)).fold(0, u64::saturating_add);
    (count.max(1), ranges().flatten().take(NAMED).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(attributes: &str) -> Option<ClusterShape> {
        ClusterShape::of(roxmltree::Document::parse(&format!("<cluster {attributes}/>")).unwrap().root_element())
    }

    #[test]
    fn topologies_have_their_longest_route() {
        let diameter = |topology: &str, parameters: &str| {
            shape(&format!("topology=\"{topology}\" topo_parameters=\"{parameters}\"")).map(|shape| (shape.diameter(), shape.node_count()))
        };
        assert_eq!(diameter("FAT_TREE", "2;4,4;1,2;1,2"), Some((4, Some(16))));
        assert_eq!(diameter("FAT_TREE", "2;4;1;1"), None, "one level instead of two");
        assert_eq!(diameter("TORUS", "3,2,2"), Some((3, Some(12))));
        assert_eq!(diameter("DRAGONFLY", "3,4;1,1;4,1;2"), Some((5, Some(24))));
        assert_eq!(diameter("DRAGONFLY", "3,4;3,2;3,1;2"), None, "three chassis of three routers are not all connected");
        assert_eq!(shape("").map(|shape| shape.diameter()), Some(2));
    }

    #[test]
    fn nodes_have_numbers() {
        assert_eq!(radicals("0-3,8"), (5, vec![0, 1, 2, 3, 8]));
        assert_eq!(radicals("").0, 1);
        assert_eq!(radicals("0-99999999999").1.len(), 1 << 16);
    }
}
