//! From which part of the program a place is come to.
//!
//! A thread's pieces follow one another. A loop that is interrupted by a step that is taken but once, such as the writing of a checkpoint,
//! is one part of the program with all that interrupts it; and so is a loop with its first rounds, in which much is new. A spot that is
//! come to in one part only tells where the program is: it is an anchor. All other spots are told apart by the anchor of their part.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The share of common steps from which on two pieces are the same loop.
const ALIKE: f64 = 0.5;
/// As many pieces may interrupt the first round of a loop: what is done once, when it is first needed.
const INTERRUPTION: usize = 4;

/// Where in the program a spot is come to. Anchors are spots, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// At an anchor: there is but one.
    Own,
    /// Before any anchor.
    Start,
    /// In the part of an anchor.
    In(usize),
    /// After the part of an anchor, in one that has none.
    After(usize),
}

/// A node of the program graph in short: a spot, by number, and the part of the program it is come to in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The spot.
    pub spot: usize,
    /// Where it is come to.
    pub context: Context,
}

/// What a thread did between two steps that nobody takes twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The spots, and how often it came to each.
    pub spots: BTreeMap<usize, u64>,
    /// The steps from one to another.
    pub steps: BTreeSet<(usize, usize)>,
}

impl Piece {
    fn goes_round(&self) -> bool {
        self.spots.values().any(|count| *count > 1)
    }

    fn is_like(&self, other: &Piece) -> bool {
        let common = self.steps.intersection(&other.steps).count();
        let all = self.steps.len() + other.steps.len() - common;
        common > 0 && common as f64 >= ALIKE * all as f64
    }
}

/// The parts of the program that a thread went through.
#[derive(Debug)]
pub struct Parts {
    /// The parts in order.
    list: Vec<Part>,
}

/// Pieces that belong together.
#[derive(Debug, Default)]
struct Part {
    pieces: usize,
    spots: BTreeSet<usize>,
    goes_round: bool,
    /// Nothing in it was come to before.
    is_new: bool,
}

impl Parts {
    /// Puts pieces of one loop together, with all that lies between them.
    pub fn of(pieces: &[Piece]) -> Parts {
        let mut before = interrupted_loops(pieces);
        let mut list: Vec<Part> = Vec::new();
        while let Some(mut part) = before.pop() {
            while let Some(begin) = first_round(&before, &part) {
                let earlier = before.split_off(begin).into_iter().rev();
                part = earlier.fold(part, |part, earlier| earlier.with(part));
            }
            list.push(part);
        }
        list.reverse();
        Parts { list }
    }
}

/// Where a loop really begins, if the parts before it hold more of its first rounds.
fn first_round(before: &[Part], one: &Part) -> Option<usize> {
    if !one.goes_round {
        return None;
    }
    let last = before.len().checked_sub(1)?;
    let is_in_it = |place: &usize| before[*place].spots.is_subset(&one.spots);
    // Farther away only what is new can be the beginning: what is not new is a helper that is called here as it was elsewhere.
    let farther = (last.saturating_sub(INTERRUPTION)..last).rev().take_while(|place| !before[*place].goes_round);
    let adjacent = Some(last).filter(is_in_it);
    adjacent.or_else(|| farther.filter(|_| !before[last].goes_round).find(|place| before[*place].is_new && is_in_it(place)))
}

/// The pieces in order, those of one loop together with all between them. A helper may have a loop of its own, which then comes again and
/// again; so nothing else goes round between two pieces of one loop, and a single call that is repeated is not taken for one.
fn interrupted_loops(pieces: &[Piece]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut last_round: Option<(usize, &Piece)> = None;
    let mut seen = BTreeSet::new();
    for piece in pieces {
        let same = last_round.filter(|(_, before)| piece.goes_round() && piece.spots.len() > 1 && piece.is_like(before));
        let is_new = piece.spots.keys().filter(|spot| seen.insert(**spot)).count() == piece.spots.len();
        parts.push(Part { pieces: 1, spots: piece.spots.keys().copied().collect(), goes_round: piece.goes_round(), is_new });
        if let Some((begin, _)) = same {
            let together = parts.split_off(begin).into_iter().reduce(Part::with);
            parts.extend(together);
        }
        if piece.goes_round() {
            last_round = Some((parts.len() - 1, piece));
        }
    }
    parts
}

impl Part {
    fn with(mut self, next: Part) -> Part {
        self.spots.extend(next.spots);
        Part { pieces: self.pieces + next.pieces, goes_round: self.goes_round || next.goes_round, ..self }
    }
}

/// The contexts of all threads of a program.
#[derive(Debug, Default)]
pub struct Contexts {
    /// Spots that are come to in more than one part of the program.
    shared: HashSet<usize>,
    /// On how many threads each spot is.
    threads: HashMap<usize, usize>,
}

impl Contexts {
    /// What the parts of all threads say together.
    pub fn of<'a>(threads: impl Iterator<Item = &'a Parts>) -> Contexts {
        let mut contexts = Contexts::default();
        for parts in threads {
            let mut seen = BTreeSet::new();
            for spot in parts.list.iter().flat_map(|part| &part.spots) {
                if !seen.insert(*spot) {
                    contexts.shared.insert(*spot);
                }
            }
            seen.into_iter().for_each(|spot| *contexts.threads.entry(spot).or_default() += 1);
        }
        contexts
    }

    /// The context of each piece of a thread, for spots that are no anchors.
    pub fn of_pieces(&self, parts: &Parts) -> Vec<Context> {
        let mut before = Vec::new();
        let contexts = parts.list.iter().map(|part| vec![self.of_part(&part.spots, &mut before); part.pieces]);
        contexts.flatten().collect()
    }

    /// A part is called by the anchor that most threads come to, so that they all call it the same.
    fn of_part(&self, spots: &BTreeSet<usize>, before: &mut Vec<usize>) -> Context {
        let anchors = spots.iter().copied().filter(|spot| !self.shared.contains(spot));
        let usual = |spot: &usize| self.threads.get(spot).copied().unwrap_or(0);
        if let Some(anchor) = anchors.max_by_key(|spot| (usual(spot), std::cmp::Reverse(*spot))) {
            before.push(anchor);
            return Context::In(anchor);
        }
        let needed = spots.iter().map(usual).max().unwrap_or(0);
        let known_to_all = before.iter().rev().find(|anchor| usual(anchor) >= needed);
        known_to_all.or(before.last()).map_or(Context::Start, |anchor| Context::After(*anchor))
    }

    /// The node of a spot in a context.
    pub fn key(&self, spot: usize, context: Context) -> Key {
        Key { spot, context: if self.shared.contains(&spot) { context } else { Context::Own } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a thread that comes by these spots, and no other.
    fn pieces(way: &[usize]) -> Vec<Piece> {
        let mut counts: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        way.windows(2).for_each(|step| *counts.entry((step[0], step[1])).or_default() += 1);
        let mut pieces = vec![Piece::default()];
        for (place, spot) in way.iter().enumerate() {
            if place > 0 && (counts[&(way[place - 1], *spot)] == 1 || !way[..place].contains(spot)) {
                pieces.push(Piece::default());
            } else if place > 0 {
                pieces.last_mut().unwrap().steps.insert((way[place - 1], *spot));
            }
            *pieces.last_mut().unwrap().spots.entry(*spot).or_default() += 1;
        }
        pieces
    }

    /// The nodes that several threads come by, in order and each once.
    fn nodes(ways: &[&[usize]]) -> Vec<Vec<(usize, Context)>> {
        let pieces: Vec<Vec<Piece>> = ways.iter().map(|way| pieces(way)).collect();
        let parts: Vec<Parts> = pieces.iter().map(|pieces| Parts::of(pieces)).collect();
        let contexts = Contexts::of(parts.iter());
        let keys = |(pieces, parts): (&Vec<Piece>, &Parts)| {
            let of_pieces = contexts.of_pieces(parts);
            let keys =
                pieces.iter().zip(&of_pieces).flat_map(|(piece, context)| piece.spots.keys().map(|spot| contexts.key(*spot, *context)));
            let mut seen = Vec::new();
            keys.map(|key| (key.spot, key.context)).for_each(|key| {
                if !seen.contains(&key) {
                    seen.push(key)
                }
            });
            seen
        };
        pieces.iter().zip(&parts).map(keys).collect()
    }

    #[test]
    fn a_helper_is_told_apart_by_who_calls_it() {
        use Context::{In, Own};
        // Two loops that call the helper 9, one after the other.
        let way = [0, 1, 9, 1, 9, 1, 9, 2, 9, 2, 9, 2, 9, 3];
        assert_eq!(nodes(&[&way]), [[(0, Own), (1, Own), (9, In(1)), (2, Own), (9, In(2)), (3, Own)]]);
    }

    #[test]
    fn a_helper_between_straight_calls_belongs_to_the_one_before_it() {
        use Context::{After, Own, Start};
        assert_eq!(
            nodes(&[&[8, 9, 0, 8, 9, 1, 8, 9, 2]])[0],
            [(8, Start), (9, Start), (0, Own), (8, After(0)), (9, After(0)), (1, Own), (8, After(1)), (9, After(1)), (2, Own)]
        );
    }

    #[test]
    fn a_loop_stays_whole_when_something_happens_in_it_once() {
        let way = [0, 1, 2, 1, 2, 1, 2, 7, 1, 2, 1, 2, 1, 2, 3];
        assert!(nodes(&[&way])[0].iter().all(|(_, context)| *context == Context::Own));
    }

    #[test]
    fn a_loop_stays_whole_when_something_happens_in_its_first_round_only() {
        let way = [0, 1, 2, 7, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 4];
        assert!(nodes(&[&way])[0].iter().all(|(_, context)| *context == Context::Own));
    }

    #[test]
    fn a_loop_stays_whole_when_its_branches_are_seen_late() {
        let way = [0, 1, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 3, 1, 2, 1, 3, 1, 1, 4];
        assert!(nodes(&[&way])[0].iter().all(|(_, context)| *context == Context::Own));
    }

    #[test]
    fn ranks_with_more_to_do_call_parts_like_all_others() {
        use Context::{After, Own};
        let plain: &[usize] = &[0, 9, 1, 9, 2];
        let chief: &[usize] = &[0, 5, 9, 1, 9, 2];
        let both = nodes(&[plain, plain, chief]);
        assert_eq!(both[0], [(0, Own), (9, After(0)), (1, Own), (9, After(1)), (2, Own)]);
        assert_eq!(both[2], [(0, Own), (5, Own), (9, After(0)), (1, Own), (9, After(1)), (2, Own)]);
    }

    #[test]
    fn the_length_of_a_loop_changes_nothing() {
        let way = |rounds: usize| [vec![0, 9], [1, 9].repeat(rounds), vec![2, 9, 3]].concat();
        assert_eq!(nodes(&[&way(3)]), nodes(&[&way(1000)]));
    }
}
