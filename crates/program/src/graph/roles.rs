//! Groups ranks with the same behaviour into roles.
//!
//! Ranks that visit the same nodes have one role; those that sometimes communicate with `MPI_PROC_NULL` are at a border. Thousands of ranks
//! may differ in details, so similar roles are merged until few enough remain to be drawn side by side.

use std::collections::{BTreeMap, BTreeSet};

use sintonia_text::rank_list::format_ranks;

use super::rank_path::RankPath;

/// Maximum number of roles drawn side by side.
const MAX_ROLES: usize = 6;
/// Jaccard similarity above which roles are merged, tried in this order: from none to all.
const MIN_SIMILARITY: [f64; 6] = [f64::INFINITY, 0.9, 0.75, 0.5, 0.25, 0.0];

/// The properties of a rank that determine its role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RankBehaviour {
    /// The rank.
    pub rank: u32,
    /// The nodes it visits.
    pub nodes: BTreeSet<usize>,
    /// Whether some of its peers are `MPI_PROC_NULL`.
    pub has_proc_null: bool,
    /// Whether it both sends and receives messages.
    pub exchanges: bool,
    /// The ranks it sends to or receives from.
    pub peers: BTreeSet<u32>,
}

/// Ranks with the same role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RoleGroup {
    /// Name of the role.
    pub name: String,
    /// The ranks, in order.
    pub ranks: Vec<u32>,
}

impl RankBehaviour {
    /// The behaviour of one rank.
    pub(super) fn from_path(path: &RankPath) -> RankBehaviour {
        let visits = || path.threads.iter().flat_map(|thread| thread.visited());
        RankBehaviour {
            rank: path.rank,
            nodes: visits().map(|(node, _)| node).collect(),
            has_proc_null: visits().any(|(_, visit)| visit.proc_null > 0),
            exchanges: !path.sent_to.is_empty() && !path.received_from.is_empty(),
            peers: path.sent_to.union(&path.received_from).copied().filter(|peer| *peer != path.rank).collect(),
        }
    }
}

/// Ranks with the same behaviour, while roles are merged.
#[derive(Clone, Debug)]
struct BehaviourClass {
    ranks: Vec<u32>,
    nodes: BTreeSet<usize>,
    has_proc_null: bool,
    exchanges: bool,
}

/// The roles of these ranks, ordered by their first ranks.
pub(super) fn find_roles(behaviours: &[RankBehaviour]) -> Vec<RoleGroup> {
    let mut classes = merge_similar(merge_borders(group_identical(behaviours)));
    classes.sort_by_key(|class| class.ranks[0]);
    let names = role_names(&classes, behaviours);
    classes.into_iter().zip(names).map(|(class, name)| RoleGroup { name, ranks: class.ranks }).collect()
}

/// Ranks with identical behaviour.
fn group_identical(behaviours: &[RankBehaviour]) -> Vec<BehaviourClass> {
    let mut classes: BTreeMap<(&BTreeSet<usize>, bool), BehaviourClass> = BTreeMap::new();
    for rank in behaviours {
        let new = || BehaviourClass { ranks: Vec::new(), nodes: rank.nodes.clone(), has_proc_null: rank.has_proc_null, exchanges: true };
        let class = classes.entry((&rank.nodes, rank.has_proc_null)).or_insert_with(new);
        class.ranks.push(rank.rank);
        class.exchanges &= rank.exchanges;
    }
    classes.into_values().collect()
}

/// Edges and corners of a grid each leave out different exchanges of the interior. Too many such kinds become one border.
fn merge_borders(classes: Vec<BehaviourClass>) -> Vec<BehaviourClass> {
    let Some(whole) = classes.iter().map(|class| &class.nodes).max_by_key(|nodes| nodes.len()).cloned() else { return classes };
    if classes.len() <= MAX_ROLES {
        return classes;
    }
    let (borders, mut others): (Vec<BehaviourClass>, Vec<BehaviourClass>) =
        classes.into_iter().partition(|class| class.exchanges && class.nodes.len() < whole.len() && class.nodes.is_subset(&whole));
    others.extend(borders.into_iter().reduce(|mut border, more| {
        border.add(&more);
        BehaviourClass { has_proc_null: true, ..border }
    }));
    others
}

/// Merges similar roles, as few as possible; large ones first.
fn merge_similar(mut classes: Vec<BehaviourClass>) -> Vec<BehaviourClass> {
    classes.sort_by_key(|class| (std::cmp::Reverse(class.ranks.len()), class.ranks[0]));
    MIN_SIMILARITY.iter().find_map(|enough| merge_above(&classes, *enough)).unwrap_or_default()
}

/// Merges roles above a similarity; `None` if too many remain.
fn merge_above(classes: &[BehaviourClass], enough: f64) -> Option<Vec<BehaviourClass>> {
    let mut kept: Vec<BehaviourClass> = Vec::new();
    for class in classes {
        let closest = (0..kept.len()).map(|index| (kept[index].similarity(class), index)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        match closest.filter(|(likeness, _)| *likeness >= enough) {
            Some((_, index)) => kept[index].add(class),
            None if kept.len() == MAX_ROLES => return None,
            None => kept.push(class.clone()),
        }
    }
    Some(kept)
}

impl BehaviourClass {
    /// Adds ranks. The nodes stay those of the first class; otherwise similarity would drift with every merge.
    fn add(&mut self, other: &BehaviourClass) {
        self.ranks.extend(&other.ranks);
        self.ranks.sort_unstable();
        self.has_proc_null |= other.has_proc_null;
        self.exchanges &= other.exchanges;
    }

    /// Jaccard similarity of the nodes.
    fn similarity(&self, other: &BehaviourClass) -> f64 {
        let common = self.nodes.intersection(&other.nodes).count();
        common as f64 / (self.nodes.len() + other.nodes.len() - common).max(1) as f64
    }
}

/// Names of the roles.
fn role_names(classes: &[BehaviourClass], behaviours: &[RankBehaviour]) -> Vec<String> {
    let ranks = |class: &BehaviourClass| format_ranks(&class.ranks);
    match classes {
        [only] if only.ranks.len() > 1 => vec!["all ranks".into()],
        [first, second] if is_border_of(first, second) => vec!["border".into(), "interior".into()],
        [first, second] if is_border_of(second, first) => vec!["interior".into(), "border".into()],
        [first, second] if is_master_of(first, second, behaviours) => vec!["master".into(), "workers".into()],
        [first, second] if is_master_of(second, first, behaviours) => vec!["workers".into(), "master".into()],
        _ => classes.iter().map(ranks).collect(),
    }
}

/// Whether one role is the border of the other: it uses `MPI_PROC_NULL` where the other does not, and otherwise does the same.
fn is_border_of(border: &BehaviourClass, interior: &BehaviourClass) -> bool {
    border.has_proc_null && !interior.has_proc_null && border.nodes.is_subset(&interior.nodes)
}

/// Whether one rank exchanges messages with several others, and those with no other rank.
fn is_master_of(master: &BehaviourClass, workers: &BehaviourClass, behaviours: &[RankBehaviour]) -> bool {
    let ([master], [_, _, ..]) = (&master.ranks[..], &workers.ranks[..]) else { return false };
    let others = || behaviours.iter().filter(|rank| rank.rank != *master);
    others().all(|rank| rank.peers.iter().eq([master]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, nodes: &[usize], peers: &[u32]) -> RankBehaviour {
        RankBehaviour {
            rank,
            nodes: nodes.iter().copied().collect(),
            has_proc_null: false,
            exchanges: true,
            peers: peers.iter().copied().collect(),
        }
    }

    fn roles(behaviours: &[RankBehaviour]) -> Vec<(String, Vec<u32>)> {
        find_roles(behaviours).into_iter().map(|group| (group.name, group.ranks)).collect()
    }

    #[test]
    fn ranks_that_do_the_same_have_one_role() {
        assert_eq!(roles(&[rank(0, &[1, 2], &[1]), rank(1, &[1, 2], &[0])]), [("all ranks".into(), vec![0, 1])]);
        assert_eq!(roles(&[rank(0, &[1, 2], &[])]), [("rank 0".into(), vec![0])]);
    }

    #[test]
    fn one_that_serves_all_others_is_the_master() {
        let ranks = [rank(0, &[1, 2], &[1]), rank(1, &[3, 4], &[0, 2, 3]), rank(2, &[1, 2], &[1]), rank(3, &[1, 2], &[1])];
        assert_eq!(roles(&ranks), [("workers".into(), vec![0, 2, 3]), ("master".into(), vec![1])]);
        let talking = [rank(0, &[1], &[1, 2]), rank(1, &[3], &[0, 2]), rank(2, &[3], &[0, 1])];
        assert_eq!(roles(&talking), [("rank 0".into(), vec![0]), ("ranks 1-2".into(), vec![1, 2])]);
    }

    #[test]
    fn those_with_nobody_beside_them_are_the_border() {
        let border = |number| RankBehaviour { has_proc_null: true, ..rank(number, &[1, 2], &[]) };
        let ranks = [border(0), rank(1, &[1, 2], &[]), rank(2, &[1, 2], &[]), border(3)];
        assert_eq!(roles(&ranks), [("border".into(), vec![0, 3]), ("interior".into(), vec![1, 2])]);
    }

    #[test]
    fn many_kinds_of_borders_are_one() {
        let mut ranks: Vec<RankBehaviour> = (0..4).map(|number| rank(number, &[0, 1, 2, 3, 4], &[])).collect();
        ranks.extend((4..8).map(|number| rank(number, &[0, number as usize - 3], &[])));
        ranks.extend(
            (8..12).map(|number| rank(number, &[0, 1, 2, 3, 4].map(|node| if node == number as usize - 7 { 0 } else { node }), &[])),
        );
        assert_eq!(roles(&ranks), [("interior".into(), (0..4).collect()), ("border".into(), (4..12).collect())]);
    }

    #[test]
    fn there_are_never_many_roles_and_the_odd_one_keeps_its_own() {
        let mut ranks: Vec<RankBehaviour> = (1..1000).map(|number| rank(number, &[1, 2, 3, 4, 100 + number as usize], &[])).collect();
        ranks.push(rank(1000, &[50, 51, 52], &[]));
        let roles = find_roles(&ranks);
        assert!(roles.len() <= MAX_ROLES);
        assert!(roles.iter().any(|role| role.ranks == [1000]), "{roles:?}");
        assert_eq!(roles.iter().map(|role| role.ranks.len()).sum::<usize>(), 1000);
    }
}
