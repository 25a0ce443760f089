//! Finds the rule by which ranks found their peers, from what was recorded.

use std::collections::BTreeMap;

use sintonia_recording::raw;

use super::grid::Spot;
use super::list::List;
use super::part::Part;
use super::peer::Peer;
use super::step::{Nobody, Target};
use super::who::{Round, When, Who};

/// The longest cycle of rounds in which each has a peer of its own.
const MOST_TURNS: u32 = 32;

/// A turn of a call: whom it went to, if it was made.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Where.
    pub spot: Spot<'a>,
    /// In which rounds of the loops around the call.
    pub rounds: &'a [Round],
    /// The peer as recorded.
    pub peer: Option<i32>,
}

/// Who makes a call, when, and to whom.
#[derive(Clone, Debug)]
pub struct Explained {
    /// Which ranks.
    pub who: Who,
    /// In which rounds of the loop at a depth.
    pub when: Option<(usize, When)>,
    /// To whom.
    pub target: Target,
    /// What becomes of it where nobody is there.
    pub nobody: Nobody,
    /// Other rules that explain the same.
    pub others: Vec<(Who, Target)>,
    /// Whether the peers came in another order than the rule says.
    pub any_order: bool,
}

/// What rules are tried with.
pub struct Tried<'a> {
    /// Groups of ranks.
    pub parts: &'a [Part],
    /// Which ranks may make calls.
    pub whos: &'a [Who],
    /// Whether peers may come in any order, as messages that are received from anyone do.
    pub any_order: bool,
}

impl Tried<'_> {
    /// The rule that explains all turns of a call, if there is one.
    pub fn explain(&self, turns: &[Turn]) -> Option<Explained> {
        let made: Vec<i32> = turns.iter().filter_map(|turn| turn.peer).collect();
        let has_peers = made.iter().any(|peer| *peer >= 0);
        let nobody = if made.contains(&raw::PROC_NULL) { Nobody::Null } else { Nobody::LeftOut };
        if !has_peers {
            let mark = made.first().copied().unwrap_or(raw::NONE);
            return made.iter().all(|other| *other == mark).then(|| self.without_peer(turns, mark, nobody)).flatten();
        }
        let is_known = |turn: &Turn| {
            turn.peer.is_none_or(|peer| peer == raw::PROC_NULL || u32::try_from(peer).is_ok_and(|peer| peer < turn.spot.ranks))
        };
        if !turns.iter().all(is_known) {
            return None;
        }
        self.always_the_same(turns, nobody).or_else(|| self.in_turn(turns, nobody))
    }

    fn without_peer(&self, turns: &[Turn], mark: i32, nobody: Nobody) -> Option<Explained> {
        let ever = ever_made(turns);
        let who = self.whos.iter().find(|who| ever.iter().all(|(_, (spot, made))| who.holds(*spot, None) == *made))?;
        Some(Explained { who: *who, when: when(turns)?, target: Target::Fixed(mark), nobody, others: Vec::new(), any_order: false })
    }

    /// Each rank has the same peer whenever it makes the call.
    fn always_the_same(&self, turns: &[Turn], nobody: Nobody) -> Option<Explained> {
        let mut known: BTreeMap<(u32, u32), (Spot, Option<i32>)> = BTreeMap::new();
        for turn in turns {
            let (_, peer) = known.entry((turn.spot.ranks, turn.spot.rank)).or_insert((turn.spot, None));
            match (*peer, turn.peer) {
                (Some(before), Some(now)) if before != now => return None,
                (before, now) => *peer = before.or(now),
            }
        }
        let when = when(turns)?;
        let of_ranks: Vec<(Spot, Option<i32>)> = known.into_values().collect();
        let mut found: Option<Explained> = None;
        for peer in candidates(&of_ranks, self.parts) {
            let peers: Vec<Option<u32>> = of_ranks.iter().map(|(spot, _)| peer.of(*spot)).collect();
            // Most rules fail at the first rank that made the call.
            if !of_ranks.iter().zip(&peers).all(|((_, seen), peer)| seen.is_none_or(|seen| seen == recorded(*peer))) {
                continue;
            }
            let fits = |who: &&Who| {
                let expected = |spot: Spot, peer: Option<u32>| (peer.is_some() || nobody == Nobody::Null) && who.holds(spot, peer);
                of_ranks.iter().zip(&peers).all(|((spot, seen), peer)| seen.is_some() == expected(*spot, *peer))
            };
            match (&mut found, self.whos.iter().find(fits)) {
                (_, None) => {}
                (Some(found), Some(who)) => found.others.push((*who, Target::Same(peer))),
                (None, Some(who)) => {
                    found = Some(Explained {
                        who: *who,
                        when: when.clone(),
                        target: Target::Same(peer),
                        nobody,
                        others: Vec::new(),
                        any_order: false,
                    });
                }
            }
        }
        found
    }

    /// Each rank has another peer in each round of one of the loops.
    fn in_turn(&self, turns: &[Turn], nobody: Nobody) -> Option<Explained> {
        let depths = turns.first()?.rounds.len();
        (0..depths).rev().find_map(|depth| {
            let each = in_order(turns, depth).map(List::Each);
            let in_turns = cycle(turns, depth, self.parts).map(List::Turns);
            let lists = List::sweeps(self.parts).chain(each).chain(in_turns);
            let explained = |list: List, who: Who| Explained {
                who,
                when: None,
                target: Target::Turns(depth, list),
                nobody,
                others: Vec::new(),
                any_order: false,
            };
            let lists: Vec<List> = lists.filter(|list| self.any_order || has_peers(list, turns, depth)).collect();
            let who = |list: &List| self.whos.iter().find(|who| fits(list, **who, turns, depth, nobody)).copied();
            let (mut fitting, in_part): (Vec<_>, Vec<_>) = lists
                .iter()
                .filter_map(|list| Some((list.clone(), who(list)?)))
                .partition(|(list, _)| comes_to_its_end(list, turns, depth));
            if fitting.is_empty() {
                fitting = in_part;
            }
            let mut fitting = fitting.into_iter();
            if let Some((list, who)) = fitting.next() {
                // A list of single neighbours explains much; it is no rival to a law.
                let rivals =
                    fitting.filter(|(other, _)| matches!((&list, other), (List::Each(_) | List::Turns(_), _) | (_, List::Sweep(..))));
                let others = rivals.map(|(list, who)| (who, Target::Turns(depth, list))).collect();
                return Some(Explained { others, ..explained(list, who) });
            }
            let list = lists.into_iter().find(|list| self.any_order && has_all(list, turns, depth))?;
            Some(Explained { any_order: true, ..explained(list, Who::Everyone) })
        })
    }
}

fn recorded(peer: Option<u32>) -> i32 {
    peer.map_or(raw::PROC_NULL, |peer| peer as i32)
}

/// Whether each rank makes the call at least once.
fn ever_made<'a>(turns: &[Turn<'a>]) -> BTreeMap<(u32, u32), (Spot<'a>, bool)> {
    let mut ever: BTreeMap<(u32, u32), (Spot, bool)> = BTreeMap::new();
    turns.iter().for_each(|turn| ever.entry((turn.spot.ranks, turn.spot.rank)).or_insert((turn.spot, false)).1 |= turn.peer.is_some());
    ever
}

/// In which rounds the ranks that make the call make it: outer `None` if no rule says.
#[allow(clippy::option_option, reason = "a call that is always made needs no rule")]
fn when(turns: &[Turn]) -> Option<Option<(usize, When)>> {
    let ever = ever_made(turns);
    let of_those: Vec<&Turn> = turns.iter().filter(|turn| ever[&(turn.spot.ranks, turn.spot.rank)].1).collect();
    if of_those.iter().all(|turn| turn.peer.is_some()) {
        return Some(None);
    }
    let depths = turns.first().map_or(0, |turn| turn.rounds.len());
    (0..depths).rev().find_map(|depth| {
        let seen: Vec<(Round, bool)> = of_those.iter().map(|turn| (turn.rounds[depth], turn.peer.is_some())).collect();
        When::explaining(&seen).map(|when| Some((depth, when)))
    })
}

/// Rules that explain at least one of the peers: a few ranks are enough to find the right one among them.
fn candidates(of_ranks: &[(Spot, Option<i32>)], parts: &[Part]) -> Vec<Peer> {
    let with_peer = of_ranks.iter().filter_map(|(spot, peer)| Some((*spot, u32::try_from((*peer)?).ok()?)));
    let all: Vec<(Spot, u32)> = with_peer.collect();
    let few = [0, all.len() / 3, all.len() / 2, all.len().saturating_sub(1)];
    Peer::candidates(few.into_iter().filter_map(|place| all.get(place).copied()), parts)
}

/// Whether a list has the peer in every turn in which the call was made.
fn has_peers(list: &List, turns: &[Turn], depth: usize) -> bool {
    turns.iter().all(|turn| turn.peer.is_none_or(|peer| recorded(list.at(turn.spot, turn.rounds[depth].number)) == peer))
}

/// Whether a list explains every turn.
fn fits(list: &List, who: Who, turns: &[Turn], depth: usize, nobody: Nobody) -> bool {
    turns.iter().all(|turn| {
        let peer = list.at(turn.spot, turn.rounds[depth].number);
        let made = (peer.is_some() || nobody == Nobody::Null) && who.holds(turn.spot, peer);
        turn.peer == made.then(|| recorded(peer))
    })
}

/// Whether the loop goes round as often as the list is long, or several times over.
fn comes_to_its_end(list: &List, turns: &[Turn], depth: usize) -> bool {
    turns.iter().all(|turn| turn.rounds[depth].of.checked_rem(list.length(turn.spot)) == Some(0))
}

/// Whether each rank comes to all of a list equally often, in whichever order.
fn has_all(list: &List, turns: &[Turn], depth: usize) -> bool {
    let mut came: BTreeMap<(u32, u32), (Spot, u32, Vec<i32>)> = BTreeMap::new();
    for turn in turns {
        let (_, rounds, peers) = came.entry((turn.spot.ranks, turn.spot.rank)).or_insert((turn.spot, turn.rounds[depth].of, Vec::new()));
        *rounds = turn.rounds[depth].of.max(*rounds);
        peers.extend(turn.peer);
    }
    came.into_values().all(|(spot, _, mut peers)| {
        let length = list.length(spot) as usize;
        let mut wanted: Vec<i32> = (0..length).filter_map(|turn| list.at(spot, turn as u32)).map(|peer| peer as i32).collect();
        wanted.sort_unstable();
        peers.sort_unstable();
        let times = peers.len().checked_div(length).unwrap_or(0);
        let wanted: Vec<i32> = wanted.into_iter().flat_map(|peer| std::iter::repeat_n(peer, times)).collect();
        times > 0 && wanted == peers
    })
}

/// Neighbours in the one order in which all ranks come to those that they have.
fn in_order(turns: &[Turn], depth: usize) -> Option<Vec<Peer>> {
    let mut sequences: BTreeMap<(u32, u32), Vec<Vec<i32>>> = BTreeMap::new();
    for turn in turns {
        let Some(peer) = turn.peer.and_then(|peer| u32::try_from(peer).ok()) else { continue };
        let sequence = sequences.entry((turn.spot.ranks, turn.spot.rank)).or_default();
        let offset = turn.spot.grid.offset(turn.spot.rank, peer);
        if turn.rounds[depth].number as usize == sequence.len() && !sequence.contains(&offset) {
            sequence.push(offset);
        }
    }
    let mut left: Vec<Vec<Vec<i32>>> = sequences.into_values().collect();
    left.sort_by_key(|sequence| std::cmp::Reverse(sequence.len()));
    let mut order = Vec::new();
    while let Some(longest) = left.iter().find(|sequence| !sequence.is_empty()) {
        let is_first = |offset: &&Vec<i32>| left.iter().all(|sequence| !sequence.iter().skip(1).any(|later| later == *offset));
        let firsts = left.iter().filter_map(|sequence| sequence.first());
        let next = longest.first().into_iter().chain(firsts).find(is_first)?.clone();
        left.iter_mut().for_each(|sequence| sequence.retain(|offset| *offset != next));
        order.push(Peer::Neighbour { offset: next, wraps: false });
    }
    (order.len() <= MOST_TURNS as usize).then_some(order)
}

/// Rules that come in turn, as many for every rank.
fn cycle(turns: &[Turn], depth: usize, parts: &[Part]) -> Option<Vec<Peer>> {
    let shortest = turns.iter().map(|turn| turn.rounds[depth].of).min()?;
    let longest = turns.iter().map(|turn| turn.rounds[depth].of).max()?;
    let lengths = (2..=shortest.min(MOST_TURNS)).filter(|length| length * 2 <= shortest || *length == longest);
    lengths.into_iter().find_map(|length| {
        let peer = |number: u32| {
            let turn = turns.iter().filter(|turn| turn.rounds[depth].number % length == number);
            let seen: Vec<(Spot, Option<i32>)> = turn.map(|turn| (turn.spot, turn.peer)).collect();
            let fits = |peer: &Peer| seen.iter().all(|(spot, seen)| seen.is_none_or(|seen| seen == recorded(peer.of(*spot))));
            candidates(&seen, parts).into_iter().find(fits)
        };
        (0..length).map(peer).collect()
    })
}
