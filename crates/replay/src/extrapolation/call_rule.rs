//! A call of the program as rules: which ranks make it, in which iterations, with which peers and sizes.

use std::collections::BTreeSet;

use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw;

use super::filters::{IterationFilter, LoopIteration, RankFilter};
use super::outstanding_requests::{OutstandingRequest, RequestAction};
use super::peer_rule::PeerRule;
use super::peer_sequence::PeerSequence;
use super::process_grid::RankPosition;
use super::value_rule::ValueRule;

/// A call of the program for any number of ranks.
#[derive(Clone, Debug)]
pub(super) struct CallRule {
    /// The constant properties.
    pub template: CallDescriptor,
    /// Part flags without a peer.
    pub parts_without_peer: u16,
    /// Communicator class.
    pub communicator: Option<usize>,
    /// Class of the created communicator.
    pub created_communicator: Option<usize>,
    /// Which ranks make it.
    pub rank_filter: RankFilter,
    /// In which iterations of the loop at a depth.
    pub iteration_filter: Option<(usize, IterationFilter)>,
    /// Destination, source or root.
    pub peer: PeerTarget,
    /// Alternative rules that fit the recordings equally well.
    pub alternatives: Vec<(RankFilter, PeerTarget)>,
    /// Whether it is a wildcard receive, so that peers may be in another order.
    pub any_order: bool,
    /// Source of the receiving half of a send-receive.
    pub source: PeerTarget,
    /// What happens without a peer.
    pub missing_peer: MissingPeer,
    /// Its tag.
    pub tag: ValueRule,
    /// Tag of the receiving half.
    pub recv_tag: ValueRule,
    /// Bytes sent.
    pub sent: ValueRule,
    /// Bytes received.
    pub received: ValueRule,
    /// Requests it completes, starts or frees.
    pub requests: Option<RequestSelection>,
}

/// Peer of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PeerTarget {
    /// No rank, but a recorded special value.
    Marker(i32),
    /// The same rule always.
    Constant(PeerRule),
    /// Depends on the iteration of the loop at this depth.
    ByIteration(usize, PeerSequence),
}

/// What happens to a call without a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingPeer {
    /// It is skipped.
    SkipCall,
    /// It is made with `MPI_PROC_NULL`.
    ProcNull,
}

/// The requests used by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestSelection {
    /// What it does to them.
    pub action: RequestAction,
    /// Which of the eligible ones.
    pub policy: SelectionPolicy,
    /// Nodes that create them.
    pub creating_nodes: Vec<u32>,
    /// Whether the call is skipped if there are none.
    pub skip_if_none: bool,
}

/// Which of the eligible requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelectionPolicy {
    /// All of them.
    All,
    /// The oldest one.
    Oldest,
    /// The newest one.
    Newest,
    /// The oldest one of each creating node.
    OldestOfEach,
    /// Any complete one; taken to be the oldest.
    Any,
}

impl SelectionPolicy {
    /// All policies, simple ones first.
    pub(super) const ALL: [SelectionPolicy; 5] =
        [SelectionPolicy::All, SelectionPolicy::Oldest, SelectionPolicy::Newest, SelectionPolicy::OldestOfEach, SelectionPolicy::Any];

    /// Indices of the selected requests, given their creating nodes and the nodes that count.
    pub(super) fn select(self, candidates: &[u32], of: &[u32]) -> Vec<u32> {
        let mut counted = candidates.iter().zip(0..).filter(|(node, _)| of.contains(node));
        match self {
            SelectionPolicy::All => counted.map(|(_, index)| index).collect(),
            SelectionPolicy::Oldest | SelectionPolicy::Any => counted.next().map(|(_, index)| index).into_iter().collect(),
            SelectionPolicy::Newest => counted.last().map(|(_, index)| index).into_iter().collect(),
            SelectionPolicy::OldestOfEach => {
                let mut seen = BTreeSet::new();
                counted.filter(|(node, _)| seen.insert(**node)).map(|(_, index)| index).collect()
            }
        }
    }
}

impl RequestSelection {
    /// Number of requests a loop over them would find.
    pub(super) fn count(&self, requests: &[OutstandingRequest]) -> u32 {
        requests.iter().filter(|request| self.action.applies_to(request) && self.creating_nodes.contains(&request.node)).count() as u32
    }
}

impl PeerTarget {
    /// The peer, if it exists.
    pub(super) fn evaluate(&self, position: RankPosition, iterations: &[LoopIteration]) -> Option<u32> {
        match self {
            PeerTarget::Marker(_) => None,
            PeerTarget::Constant(peer) => peer.evaluate(position),
            PeerTarget::ByIteration(depth, list) => list.peer_at(position, iterations.get(*depth)?.index),
        }
    }

    /// The value as recorded.
    pub(super) fn recorded_value(&self, peer: Option<u32>) -> i32 {
        match self {
            PeerTarget::Marker(mark) => *mark,
            _ => peer.map_or(raw::PROC_NULL, |peer| peer as i32),
        }
    }

    /// Whether it can be a rank.
    pub(super) fn is_rule(&self) -> bool {
        !matches!(self, PeerTarget::Marker(_))
    }

    /// Whether it is invariant in the loop at a depth.
    pub(super) fn is_loop_invariant(&self, depth: usize) -> bool {
        !matches!(self, PeerTarget::ByIteration(own, _) if *own == depth)
    }

    /// Why the rule is undefined for this number of ranks, if it is.
    pub(super) fn inapplicable_reason(&self, position: RankPosition) -> Option<String> {
        match self {
            PeerTarget::Marker(_) => None,
            PeerTarget::Constant(peer) => peer.inapplicable_reason(position),
            PeerTarget::ByIteration(_, list) => list.inapplicable_reason(position),
        }
    }
}

impl std::fmt::Display for PeerTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PeerTarget::Marker(raw::ANY) => write!(f, "any source"),
            PeerTarget::Marker(_) => write!(f, "none"),
            PeerTarget::Constant(peer) => write!(f, "{peer}"),
            PeerTarget::ByIteration(_, list) => write!(f, "{list}"),
        }
    }
}

impl CallRule {
    /// The peer, if a rank makes the call in these iterations.
    pub(super) fn peer_if_made(&self, position: RankPosition, iterations: &[LoopIteration]) -> Option<Option<u32>> {
        if let Some((depth, filter)) = &self.iteration_filter
            && !filter.matches(*iterations.get(*depth)?)
        {
            return None;
        }
        let peer = self.peer.evaluate(position, iterations);
        let left_out = self.peer.is_rule() && peer.is_none() && self.missing_peer == MissingPeer::SkipCall;
        (!left_out && self.rank_filter.matches(position, peer)).then_some(peer)
    }

    /// Whether a rank ever makes the call, regardless of iterations; defines rank classes.
    pub(super) fn is_ever_made_by(&self, position: RankPosition) -> bool {
        match &self.peer {
            PeerTarget::ByIteration(_, list) => {
                list.length(position) > 0
                    && (matches!(self.rank_filter, RankFilter::PeerAbove(_)) || self.rank_filter.matches(position, None))
            }
            PeerTarget::Constant(peer) => {
                let peer = peer.evaluate(position);
                self.rank_filter.matches(position, peer) && peer.is_some()
            }
            PeerTarget::Marker(_) => self.rank_filter.matches(position, None),
        }
    }

    /// Whether it is invariant in the loop at a depth.
    pub(super) fn is_loop_invariant(&self, depth: usize) -> bool {
        let amounts = [&self.tag, &self.recv_tag, &self.sent, &self.received];
        let always = !matches!(&self.iteration_filter, Some((own, filter)) if *own == depth && *filter != IterationFilter::Always);
        always
            && self.peer.is_loop_invariant(depth)
            && self.source.is_loop_invariant(depth)
            && amounts.iter().all(|amount| amount.is_loop_invariant(depth))
    }
}
