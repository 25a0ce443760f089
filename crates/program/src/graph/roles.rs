//! Which ranks do the same.
//!
//! Ranks that come by the same nodes have one role; those that sometimes have nobody to talk to (`MPI_PROC_NULL`) stand at a border.
//! Thousands of ranks may differ in small things, so roles that are much alike are put together until few enough are left to be drawn
//! side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::walk::RankWalk;

/// As many as can be looked at side by side.
const MOST_ROLES: usize = 6;
/// From which share of common nodes on roles are put together, tried in this order: first none at all, in the end all.
const ALIKE: [f64; 6] = [f64::INFINITY, 0.9, 0.75, 0.5, 0.25, 0.0];

/// What one rank does, as far as its role depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// The rank.
    pub rank: u32,
    /// The nodes it comes by.
    pub nodes: BTreeSet<usize>,
    /// Whether some of its partners are nobody.
    pub nobody: bool,
    /// Whether it both sends and receives messages.
    pub exchanges: bool,
    /// The ranks it sends to or receives from.
    pub peers: BTreeSet<u32>,
}

/// Ranks with the same role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What the role is called.
    pub name: String,
    /// The ranks, in order.
    pub ranks: Vec<u32>,
}

impl Behaviour {
    /// What one rank does.
    pub fn of(walk: &RankWalk) -> Behaviour {
        let visits = || walk.threads.iter().flat_map(|thread| thread.visited());
        Behaviour {
            rank: walk.rank,
            nodes: visits().map(|(node, _)| node).collect(),
            nobody: visits().any(|(_, visit)| visit.nobody > 0),
            exchanges: !walk.sent.is_empty() && !walk.received.is_empty(),
            peers: walk.sent.iter().chain(&walk.received).map(|stream| stream.peer).filter(|peer| *peer != walk.rank).collect(),
        }
    }
}

/// Ranks that do the same, while roles are put together.
#[derive(Clone, Debug)]
struct Class {
    ranks: Vec<u32>,
    nodes: BTreeSet<usize>,
    nobody: bool,
    exchanges: bool,
}

/// The roles of these ranks, in the order of their first ranks.
pub fn group(behaviours: &[Behaviour]) -> Vec<Group> {
    let mut classes = alike(few_borders(same(behaviours)));
    classes.sort_by_key(|class| class.ranks[0]);
    let names = names(&classes, behaviours);
    classes.into_iter().zip(names).map(|(class, name)| Group { name, ranks: class.ranks }).collect()
}

/// Ranks that do exactly the same.
fn same(behaviours: &[Behaviour]) -> Vec<Class> {
    let mut classes: BTreeMap<(&BTreeSet<usize>, bool), Class> = BTreeMap::new();
    for rank in behaviours {
        let new = || Class { ranks: Vec::new(), nodes: rank.nodes.clone(), nobody: rank.nobody, exchanges: true };
        let class = classes.entry((&rank.nodes, rank.nobody)).or_insert_with(new);
        class.ranks.push(rank.rank);
        class.exchanges &= rank.exchanges;
    }
    classes.into_values().collect()
}

/// The edges and corners of a grid leave out some of the exchanges of its interior, each kind others: where there are too many kinds, they
/// are one.
fn few_borders(classes: Vec<Class>) -> Vec<Class> {
    let Some(whole) = classes.iter().map(|class| &class.nodes).max_by_key(|nodes| nodes.len()).cloned() else { return classes };
    if classes.len() <= MOST_ROLES {
        return classes;
    }
    let (borders, mut others): (Vec<Class>, Vec<Class>) =
        classes.into_iter().partition(|class| class.exchanges && class.nodes.len() < whole.len() && class.nodes.is_subset(&whole));
    others.extend(borders.into_iter().reduce(|mut border, more| {
        border.add(&more);
        Class { nobody: true, ..border }
    }));
    others
}

/// Puts roles together that are alike, as few as must be; large ones are looked at first.
fn alike(mut classes: Vec<Class>) -> Vec<Class> {
    classes.sort_by_key(|class| (std::cmp::Reverse(class.ranks.len()), class.ranks[0]));
    ALIKE.iter().find_map(|enough| put_together(&classes, *enough)).unwrap_or_default()
}

/// Puts roles together that are alike enough; `None` if there are still too many.
fn put_together(classes: &[Class], enough: f64) -> Option<Vec<Class>> {
    let mut kept: Vec<Class> = Vec::new();
    for class in classes {
        let closest = (0..kept.len()).map(|place| (kept[place].likeness(class), place)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        match closest.filter(|(likeness, _)| *likeness >= enough) {
            Some((_, place)) => kept[place].add(class),
            None if kept.len() == MOST_ROLES => return None,
            None => kept.push(class.clone()),
        }
    }
    Some(kept)
}

impl Class {
    /// More ranks with this role; what it is stays as it was, or everything would become like everything.
    fn add(&mut self, other: &Class) {
        self.ranks.extend(&other.ranks);
        self.ranks.sort_unstable();
        self.nobody |= other.nobody;
        self.exchanges &= other.exchanges;
    }

    /// The share of nodes that two roles have in common.
    fn likeness(&self, other: &Class) -> f64 {
        let common = self.nodes.intersection(&other.nodes).count();
        common as f64 / (self.nodes.len() + other.nodes.len() - common).max(1) as f64
    }
}

/// What the roles are called.
fn names(classes: &[Class], behaviours: &[Behaviour]) -> Vec<String> {
    let ranks = |class: &Class| match &class.ranks[..] {
        [rank] => format!("rank {rank}"),
        several => format!("ranks {}", ranges(several)),
    };
    match classes {
        [only] if only.ranks.len() > 1 => vec!["all ranks".into()],
        [first, second] if inside(first, second) => vec!["border".into(), "interior".into()],
        [first, second] if inside(second, first) => vec!["interior".into(), "border".into()],
        [first, second] if serves(first, second, behaviours) => vec!["master".into(), "workers".into()],
        [first, second] if serves(second, first, behaviours) => vec!["workers".into(), "master".into()],
        _ => classes.iter().map(ranks).collect(),
    }
}

/// Whether one role is the other's border: it has nobody to talk to where the other does, and else does the same.
fn inside(border: &Class, interior: &Class) -> bool {
    border.nobody && !interior.nobody && border.nodes.is_subset(&interior.nodes)
}

/// Whether one rank exchanges messages with several others, and those with nobody else.
fn serves(master: &Class, workers: &Class, behaviours: &[Behaviour]) -> bool {
    let ([master], [_, _, ..]) = (&master.ranks[..], &workers.ranks[..]) else { return false };
    let others = || behaviours.iter().filter(|rank| rank.rank != *master);
    others().all(|rank| rank.peers.iter().eq([master]))
}

/// Ranks in order as people write them: `0, 4-7`.
pub fn ranges(ranks: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => runs.push((*rank, *rank)),
        }
    }
    let text = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, nodes: &[usize], peers: &[u32]) -> Behaviour {
        Behaviour { rank, nodes: nodes.iter().copied().collect(), nobody: false, exchanges: true, peers: peers.iter().copied().collect() }
    }

    fn roles(behaviours: &[Behaviour]) -> Vec<(String, Vec<u32>)> {
        group(behaviours).into_iter().map(|group| (group.name, group.ranks)).collect()
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
        let border = |number| Behaviour { nobody: true, ..rank(number, &[1, 2], &[]) };
        let ranks = [border(0), rank(1, &[1, 2], &[]), rank(2, &[1, 2], &[]), border(3)];
        assert_eq!(roles(&ranks), [("border".into(), vec![0, 3]), ("interior".into(), vec![1, 2])]);
    }

    #[test]
    fn many_kinds_of_borders_are_one() {
        let mut ranks: Vec<Behaviour> = (0..4).map(|number| rank(number, &[0, 1, 2, 3, 4], &[])).collect();
        ranks.extend((4..8).map(|number| rank(number, &[0, number as usize - 3], &[])));
        ranks.extend(
            (8..12).map(|number| rank(number, &[0, 1, 2, 3, 4].map(|node| if node == number as usize - 7 { 0 } else { node }), &[])),
        );
        assert_eq!(roles(&ranks), [("interior".into(), (0..4).collect()), ("border".into(), (4..12).collect())]);
    }

    #[test]
    fn there_are_never_many_roles_and_the_odd_one_keeps_its_own() {
        let mut ranks: Vec<Behaviour> = (1..1000).map(|number| rank(number, &[1, 2, 3, 4, 100 + number as usize], &[])).collect();
        ranks.push(rank(1000, &[50, 51, 52], &[]));
        let roles = group(&ranks);
        assert!(roles.len() <= MOST_ROLES);
        assert!(roles.iter().any(|role| role.ranks == [1000]), "{roles:?}");
        assert_eq!(roles.iter().map(|role| role.ranks.len()).sum::<usize>(), 1000);
    }

    #[test]
    fn ranks_are_written_as_ranges() {
        assert_eq!(ranges(&[0, 4, 5, 6, 9]), "0, 4-6, 9");
        assert_eq!(ranges(&[]), "");
    }
}
