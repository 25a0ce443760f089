//! Infers peer rules from recorded peers.

use std::collections::BTreeMap;

use sintonia_recording::raw;

use super::call_rule::{MissingPeer, PeerTarget};
use super::filters::{IterationFilter, LoopIteration, RankFilter};
use super::group_rule::GroupRule;
use super::peer_rule::PeerRule;
use super::peer_sequence::PeerSequence;
use super::process_grid::RankPosition;

/// Longest cycle of iterations with rules of their own.
const MAX_CYCLE: u32 = 32;

/// The recorded peer of a call in one iteration, if it was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerObservation<'a> {
    /// The rank and its run.
    pub position: RankPosition<'a>,
    /// Iterations of the enclosing loops.
    pub iterations: &'a [LoopIteration],
    /// The peer as recorded.
    pub peer: Option<i32>,
}

/// Who makes a call, when, and with which peer.
#[derive(Clone, Debug)]
pub(super) struct PeerExplanation {
    /// Which ranks.
    pub rank_filter: RankFilter,
    /// In which iterations of the loop at a depth.
    pub iteration_filter: Option<(usize, IterationFilter)>,
    /// The peer.
    pub target: PeerTarget,
    /// What happens without a peer.
    pub missing_peer: MissingPeer,
    /// Alternatives that fit equally well.
    pub alternatives: Vec<(RankFilter, PeerTarget)>,
    /// Whether the recorded peers are in another order.
    pub any_order: bool,
}

/// Search space of peer rules.
pub(super) struct PeerSearch<'a> {
    /// Groups of ranks.
    pub groups: &'a [GroupRule],
    /// Candidate rank filters.
    pub rank_filters: &'a [RankFilter],
    /// Whether peers may be in any order (wildcard receives).
    pub any_order: bool,
}

impl PeerSearch<'_> {
    /// The rule that explains all observations of a call, if any.
    pub(super) fn explain(&self, observations: &[PeerObservation]) -> Option<PeerExplanation> {
        let made: Vec<i32> = observations.iter().filter_map(|observation| observation.peer).collect();
        let has_peers = made.iter().any(|peer| *peer >= 0);
        let missing_peer = if made.contains(&raw::PROC_NULL) { MissingPeer::ProcNull } else { MissingPeer::SkipCall };
        if !has_peers {
            let mark = made.first().copied().unwrap_or(raw::NONE);
            return made.iter().all(|other| *other == mark).then(|| self.without_peer(observations, mark, missing_peer)).flatten();
        }
        let is_known = |observation: &PeerObservation| {
            observation
                .peer
                .is_none_or(|peer| peer == raw::PROC_NULL || u32::try_from(peer).is_ok_and(|peer| peer < observation.position.rank_count))
        };
        if !observations.iter().all(is_known) {
            return None;
        }
        self.explain_constant(observations, missing_peer).or_else(|| self.explain_by_iteration(observations, missing_peer))
    }

    fn without_peer(&self, observations: &[PeerObservation], mark: i32, missing_peer: MissingPeer) -> Option<PeerExplanation> {
        let ever = ranks_making_call(observations);
        let filter =
            self.rank_filters.iter().find(|filter| ever.iter().all(|(_, (position, made))| filter.matches(*position, None) == *made))?;
        Some(PeerExplanation {
            rank_filter: *filter,
            iteration_filter: infer_iteration_filter(observations)?,
            target: PeerTarget::Marker(mark),
            missing_peer,
            alternatives: Vec::new(),
            any_order: false,
        })
    }

    /// The peer of a rank does not depend on iterations.
    fn explain_constant(&self, observations: &[PeerObservation], missing_peer: MissingPeer) -> Option<PeerExplanation> {
        let mut known: BTreeMap<(u32, u32), (RankPosition, Option<i32>)> = BTreeMap::new();
        for observation in observations {
            let (_, peer) =
                known.entry((observation.position.rank_count, observation.position.rank)).or_insert((observation.position, None));
            match (*peer, observation.peer) {
                (Some(before), Some(now)) if before != now => return None,
                (before, now) => *peer = before.or(now),
            }
        }
        let iteration_filter = infer_iteration_filter(observations)?;
        let of_ranks: Vec<(RankPosition, Option<i32>)> = known.into_values().collect();
        let mut found: Option<PeerExplanation> = None;
        for peer in candidate_rules(&of_ranks, self.groups) {
            let peers: Vec<Option<u32>> = of_ranks.iter().map(|(position, _)| peer.evaluate(*position)).collect();
            // Most rules fail at the first rank.
            if !of_ranks.iter().zip(&peers).all(|((_, seen), peer)| seen.is_none_or(|seen| seen == recorded_peer(*peer))) {
                continue;
            }
            let fits = |filter: &&RankFilter| {
                let expected = |position: RankPosition, peer: Option<u32>| {
                    (peer.is_some() || missing_peer == MissingPeer::ProcNull) && filter.matches(position, peer)
                };
                of_ranks.iter().zip(&peers).all(|((position, seen), peer)| seen.is_some() == expected(*position, *peer))
            };
            match (&mut found, self.rank_filters.iter().find(fits)) {
                (_, None) => {}
                (Some(found), Some(filter)) => found.alternatives.push((*filter, PeerTarget::Constant(peer))),
                (None, Some(filter)) => {
                    found = Some(PeerExplanation {
                        rank_filter: *filter,
                        iteration_filter: iteration_filter.clone(),
                        target: PeerTarget::Constant(peer),
                        missing_peer,
                        alternatives: Vec::new(),
                        any_order: false,
                    });
                }
            }
        }
        found
    }

    /// The peer depends on the iteration of one of the loops.
    fn explain_by_iteration(&self, observations: &[PeerObservation], missing_peer: MissingPeer) -> Option<PeerExplanation> {
        let depths = observations.first()?.iterations.len();
        (0..depths).rev().find_map(|depth| {
            let each = common_neighbour_order(observations, depth).map(PeerSequence::Each);
            let in_turns = infer_peer_cycle(observations, depth, self.groups).map(PeerSequence::Cycle);
            let lists = PeerSequence::sweeps(self.groups).chain(each).chain(in_turns);
            let explained = |list: PeerSequence, filter: RankFilter| PeerExplanation {
                rank_filter: filter,
                iteration_filter: None,
                target: PeerTarget::ByIteration(depth, list),
                missing_peer,
                alternatives: Vec::new(),
                any_order: false,
            };
            let lists: Vec<PeerSequence> =
                lists.filter(|list| self.any_order || yields_recorded_peers(list, observations, depth)).collect();
            let filter = |list: &PeerSequence| {
                self.rank_filters.iter().find(|filter| explains_all(list, **filter, observations, depth, missing_peer)).copied()
            };
            let (mut fitting, in_part): (Vec<_>, Vec<_>) = lists
                .iter()
                .filter_map(|list| Some((list.clone(), filter(list)?)))
                .partition(|(list, _)| completes_sequence(list, observations, depth));
            if fitting.is_empty() {
                fitting = in_part;
            }
            let mut fitting = fitting.into_iter();
            if let Some((list, filter)) = fitting.next() {
                // A list of single neighbours fits almost anything; it does not compete with a law.
                let rivals = fitting.filter(|(other, _)| {
                    matches!((&list, other), (PeerSequence::Each(_) | PeerSequence::Cycle(_), _) | (_, PeerSequence::Sweep(..)))
                });
                let others = rivals.map(|(list, filter)| (filter, PeerTarget::ByIteration(depth, list))).collect();
                return Some(PeerExplanation { alternatives: others, ..explained(list, filter) });
            }
            let list = lists.into_iter().find(|list| self.any_order && yields_same_peers(list, observations, depth))?;
            Some(PeerExplanation { any_order: true, ..explained(list, RankFilter::Everyone) })
        })
    }
}

fn recorded_peer(peer: Option<u32>) -> i32 {
    peer.map_or(raw::PROC_NULL, |peer| peer as i32)
}

/// Whether each rank makes the call at least once.
fn ranks_making_call<'a>(observations: &[PeerObservation<'a>]) -> BTreeMap<(u32, u32), (RankPosition<'a>, bool)> {
    let mut ever: BTreeMap<(u32, u32), (RankPosition, bool)> = BTreeMap::new();
    observations.iter().for_each(|observation| {
        ever.entry((observation.position.rank_count, observation.position.rank)).or_insert((observation.position, false)).1 |=
            observation.peer.is_some()
    });
    ever
}

/// In which iterations the call is made; outer `None` if no rule fits.
#[allow(clippy::option_option, reason = "a call that is always made needs no rule")]
fn infer_iteration_filter(observations: &[PeerObservation]) -> Option<Option<(usize, IterationFilter)>> {
    let ever = ranks_making_call(observations);
    let of_those: Vec<&PeerObservation> =
        observations.iter().filter(|observation| ever[&(observation.position.rank_count, observation.position.rank)].1).collect();
    if of_those.iter().all(|observation| observation.peer.is_some()) {
        return Some(None);
    }
    let depths = observations.first().map_or(0, |observation| observation.iterations.len());
    (0..depths).rev().find_map(|depth| {
        let seen: Vec<(LoopIteration, bool)> =
            of_those.iter().map(|observation| (observation.iterations[depth], observation.peer.is_some())).collect();
        IterationFilter::infer(&seen).map(|iteration_filter| Some((depth, iteration_filter)))
    })
}

/// Rules that explain at least one peer: a few ranks suffice to include the right one.
fn candidate_rules(of_ranks: &[(RankPosition, Option<i32>)], groups: &[GroupRule]) -> Vec<PeerRule> {
    let with_peer = of_ranks.iter().filter_map(|(position, peer)| Some((*position, u32::try_from((*peer)?).ok()?)));
    let all: Vec<(RankPosition, u32)> = with_peer.collect();
    let samples = [0, all.len() / 3, all.len() / 2, all.len().saturating_sub(1)];
    PeerRule::candidates(samples.into_iter().filter_map(|index| all.get(index).copied()), groups)
}

/// Whether a sequence yields the peer of every call made.
fn yields_recorded_peers(list: &PeerSequence, observations: &[PeerObservation], depth: usize) -> bool {
    observations.iter().all(|observation| {
        observation.peer.is_none_or(|peer| recorded_peer(list.peer_at(observation.position, observation.iterations[depth].index)) == peer)
    })
}

/// Whether a sequence explains every observation.
fn explains_all(
    list: &PeerSequence,
    filter: RankFilter,
    observations: &[PeerObservation],
    depth: usize,
    missing_peer: MissingPeer,
) -> bool {
    observations.iter().all(|observation| {
        let peer = list.peer_at(observation.position, observation.iterations[depth].index);
        let made = (peer.is_some() || missing_peer == MissingPeer::ProcNull) && filter.matches(observation.position, peer);
        observation.peer == made.then(|| recorded_peer(peer))
    })
}

/// Whether iteration counts are multiples of the sequence length.
fn completes_sequence(list: &PeerSequence, observations: &[PeerObservation], depth: usize) -> bool {
    observations.iter().all(|observation| observation.iterations[depth].total.checked_rem(list.length(observation.position)) == Some(0))
}

/// Whether each rank visits all peers of a sequence equally often, in any order.
fn yields_same_peers(list: &PeerSequence, observations: &[PeerObservation], depth: usize) -> bool {
    let mut visited: BTreeMap<(u32, u32), (RankPosition, u32, Vec<i32>)> = BTreeMap::new();
    for observation in observations {
        let (_, rounds, peers) = visited.entry((observation.position.rank_count, observation.position.rank)).or_insert((
            observation.position,
            observation.iterations[depth].total,
            Vec::new(),
        ));
        *rounds = observation.iterations[depth].total.max(*rounds);
        peers.extend(observation.peer);
    }
    visited.into_values().all(|(position, _, mut peers)| {
        let length = list.length(position) as usize;
        let mut wanted: Vec<i32> =
            (0..length).filter_map(|observation| list.peer_at(position, observation as u32)).map(|peer| peer as i32).collect();
        wanted.sort_unstable();
        peers.sort_unstable();
        let repeats = peers.len().checked_div(length).unwrap_or(0);
        let wanted: Vec<i32> = wanted.into_iter().flat_map(|peer| std::iter::repeat_n(peer, repeats)).collect();
        repeats > 0 && wanted == peers
    })
}

/// The common order in which all ranks visit those neighbours they have.
fn common_neighbour_order(observations: &[PeerObservation], depth: usize) -> Option<Vec<PeerRule>> {
    let mut sequences: BTreeMap<(u32, u32), Vec<Vec<i32>>> = BTreeMap::new();
    for observation in observations {
        let Some(peer) = observation.peer.and_then(|peer| u32::try_from(peer).ok()) else { continue };
        let sequence = sequences.entry((observation.position.rank_count, observation.position.rank)).or_default();
        let offset = observation.position.grid.offset(observation.position.rank, peer);
        if observation.iterations[depth].index as usize == sequence.len() && !sequence.contains(&offset) {
            sequence.push(offset);
        }
    }
    let mut remaining: Vec<Vec<Vec<i32>>> = sequences.into_values().collect();
    remaining.sort_by_key(|sequence| std::cmp::Reverse(sequence.len()));
    let mut order = Vec::new();
    while let Some(longest) = remaining.iter().find(|sequence| !sequence.is_empty()) {
        let is_first = |offset: &&Vec<i32>| remaining.iter().all(|sequence| !sequence.iter().skip(1).any(|later| later == *offset));
        let firsts = remaining.iter().filter_map(|sequence| sequence.first());
        let next = longest.first().into_iter().chain(firsts).find(is_first)?.clone();
        remaining.iter_mut().for_each(|sequence| sequence.retain(|offset| *offset != next));
        order.push(PeerRule::Neighbour { offset: next, wraps: false });
    }
    (order.len() <= MAX_CYCLE as usize).then_some(order)
}

/// A cycle of rules, equally long for all ranks.
fn infer_peer_cycle(observations: &[PeerObservation], depth: usize, groups: &[GroupRule]) -> Option<Vec<PeerRule>> {
    let shortest = observations.iter().map(|observation| observation.iterations[depth].total).min()?;
    let longest = observations.iter().map(|observation| observation.iterations[depth].total).max()?;
    let lengths = (2..=shortest.min(MAX_CYCLE)).filter(|length| length * 2 <= shortest || *length == longest);
    lengths.into_iter().find_map(|length| {
        let peer = |number: u32| {
            let observation = observations.iter().filter(|observation| observation.iterations[depth].index % length == number);
            let seen: Vec<(RankPosition, Option<i32>)> = observation.map(|observation| (observation.position, observation.peer)).collect();
            let fits = |peer: &PeerRule| {
                seen.iter().all(|(position, seen)| seen.is_none_or(|seen| seen == recorded_peer(peer.evaluate(*position))))
            };
            candidate_rules(&seen, groups).into_iter().find(fits)
        };
        (0..length).map(peer).collect()
    })
}
