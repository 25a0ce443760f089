//! Communication pattern of a program: loops and calls as rules, with compute times.

use std::collections::BTreeMap;

use super::ExtrapolationOptions;
use super::call_rule::{CallRule, PeerTarget, RequestSelection};
use super::error::ExtrapolationError;
use super::filters::{LoopIteration, RankFilter};
use super::group_rule::GroupRule;
use super::outstanding_requests::OutstandingRequests;
use super::peer_rule::PeerRule;
use super::peer_sequence::PeerSequence;
use super::process_grid::{GridRule, ProcessGrid, RankPosition};
use super::program_sites::ProgramSite;
use super::recording_family::{BodyElement as Piece, PatternLoop};
use super::segment_times::TimeLaws;
use super::value_rule::ValueRule;

/// A program as rules for any number of ranks.
#[derive(Clone, Debug)]
pub(super) struct ProgramRules {
    /// The process grid.
    pub grid: GridRule,
    /// Group rule of each communicator class; the first is `MPI_COMM_WORLD`.
    pub communicator_groups: Vec<GroupRule>,
    /// Sources and destinations in neighbourhood collectives, by communicator class.
    pub neighbours: Vec<[Vec<PeerRule>; 2]>,
    /// The calls, in program order.
    pub calls: Vec<CallRule>,
    /// Iteration count of each loop.
    pub counts: Vec<IterationCount>,
    /// The loops.
    pub loops: Vec<PatternLoop>,
    /// Enclosing loops of each call, outermost first.
    pub enclosing_loops: Vec<Vec<usize>>,
    /// The program outside all loops.
    pub body: Vec<Piece>,
    /// Call sites.
    pub sites: Vec<ProgramSite>,
}

/// Iteration count of a loop.
#[derive(Clone, Debug)]
pub(super) enum IterationCount {
    /// A number.
    Value(ValueRule),
    /// A multiple of the length of a peer sequence, for some ranks; otherwise zero.
    PerPeer {
        /// The ranks.
        filter: RankFilter,
        /// The sequence.
        list: PeerSequence,
        /// The multiple.
        times: u32,
    },
    /// Once per outstanding request.
    PerRequest(RequestSelection),
}

impl IterationCount {
    /// Iteration count for a rank in these iterations of the enclosing loops, with these requests.
    pub(super) fn evaluate(&self, position: RankPosition, iterations: &[LoopIteration], open: &OutstandingRequests) -> u32 {
        match self {
            IterationCount::Value(amount) => u32::try_from(amount.evaluate(position, iterations, None).max(0)).unwrap_or(u32::MAX),
            IterationCount::PerPeer { filter, list, times } => {
                if filter.matches(position, None) {
                    times.saturating_mul(list.length(position))
                } else {
                    0
                }
            }
            IterationCount::PerRequest(selection) => selection.count(&open.requests),
        }
    }

    /// Whether it is invariant in the loop at a depth.
    pub(super) fn is_loop_invariant(&self, depth: usize) -> bool {
        match self {
            IterationCount::Value(amount) => amount.is_loop_invariant(depth),
            IterationCount::PerPeer { .. } | IterationCount::PerRequest(_) => true,
        }
    }
}

impl ProgramRules {
    /// Call site as text.
    pub(super) fn site_name(&self, step: &CallRule) -> &str {
        self.sites.get(step.template.site as usize).map_or("?", |site| &site.name)
    }

    /// Which calls a rank ever makes; defines rank classes.
    pub(super) fn call_signature(&self, position: RankPosition) -> Vec<bool> {
        self.calls.iter().map(|step| step.is_ever_made_by(position)).collect()
    }

    /// Whether a rank executes the loops around a call.
    fn is_reached(&self, node: usize, position: RankPosition) -> bool {
        let executes = |number: &usize| match &self.counts[*number] {
            IterationCount::PerRequest(_) => true,
            count => count.evaluate(position, &[LoopIteration { index: 0, total: 1 }; MAX_DEPTH], &OutstandingRequests::default()) > 0,
        };
        self.enclosing_loops[node].iter().all(executes)
    }

    /// Whether all iterations of a loop are the same.
    pub(super) fn is_loop_invariant(&self, number: usize) -> bool {
        let depth = self.loops[number].depth;
        self.is_invariant_body(&self.loops[number].body, depth)
    }

    fn is_invariant_body(&self, body: &[Piece], depth: usize) -> bool {
        body.iter().all(|element| match element {
            Piece::Call(node) => self.calls[*node].is_loop_invariant(depth),
            Piece::Loop(inner) => self.counts[*inner].is_loop_invariant(depth) && self.is_invariant_body(&self.loops[*inner].body, depth),
        })
    }
}

/// Number of ranks and iterations sampled when comparing rules.
const MAX_SAMPLED: usize = 16;
/// More than the depth of any loop nest.
const MAX_DEPTH: usize = 32;

/// Pattern of a family of recordings.
#[derive(Clone, Debug)]
pub struct ProgramPattern {
    pub(super) program: ProgramRules,
    /// Rank classes by the calls they make.
    pub(super) rank_classes: BTreeMap<Vec<bool>, usize>,
    pub(super) time_laws: TimeLaws,
    /// Whether each loop is invariant.
    pub(super) invariant_loops: Vec<bool>,
    /// Recorded numbers of ranks.
    pub(super) recorded_rank_counts: Vec<u32>,
    pub(super) options: ExtrapolationOptions,
}

impl ProgramPattern {
    /// Rules with alternatives that fit the recordings equally well but differ for this number of ranks.
    pub fn ambiguities(&self, ranks: u32) -> Vec<String> {
        let Ok(grid) = self.grid(ranks) else { return Vec::new() };
        let sampled = (0..ranks).step_by((ranks as usize / MAX_SAMPLED).max(1));
        let positions: Vec<RankPosition> = sampled.map(|rank| RankPosition { rank, rank_count: ranks, grid: &grid }).collect();
        let differs = |node: usize, step: &CallRule, filter: &RankFilter, other: &PeerTarget| {
            positions.iter().copied().filter(|position| self.program.is_reached(node, *position)).any(|position| {
                let made = |filter: &RankFilter, target: &PeerTarget, number| {
                    let peer = target.evaluate(position, &[LoopIteration { index: number, total: ranks }; MAX_DEPTH]);
                    peer.filter(|_| filter.matches(position, peer))
                };
                (0..MAX_SAMPLED as u32).any(|number| made(&step.rank_filter, &step.peer, number) != made(filter, other, number))
            })
        };
        let doubt = |(node, step): (usize, &CallRule)| {
            let (_, other) = step.alternatives.iter().find(|(filter, other)| differs(node, step, filter, other))?;
            let site = self.program.site_name(step);
            let operation = step.template.function.name();
            Some(format!("{site}: {operation} is assumed to go to {}, but {other} fits the recordings as well", step.peer))
        };
        self.program.calls.iter().enumerate().filter_map(doubt).collect()
    }

    pub(super) fn grid(&self, ranks: u32) -> Result<ProcessGrid, ExtrapolationError> {
        let impossible = |why| ExtrapolationError::Grid { ranks, why };
        match &self.options.grid {
            Some(sides) if sides.len() != self.program.grid.dimensions() => {
                let dimensions = self.program.grid.dimensions();
                Err(impossible(format!("the recordings have {dimensions} dimensions, and {} were given", sides.len())))
            }
            Some(sides) => {
                let given = || impossible(format!("the given sides {sides:?} have another product"));
                GridRule::Given(sides.clone()).grid(ranks).ok_or_else(given)
            }
            None => self.program.grid.grid(ranks).ok_or_else(|| match self.program.grid {
                GridRule::Fixed { side, .. } => impossible(format!("one side is always {side}")),
                _ => impossible("they cannot be factored".into()),
            }),
        }
    }

    /// The most similar class of a rank.
    pub(super) fn rank_class(&self, position: RankPosition) -> usize {
        let behaviour = self.program.call_signature(position);
        let distance = |other: &Vec<bool>| other.iter().zip(&behaviour).filter(|(a, b)| a != b).count();
        let nearest = || self.rank_classes.iter().min_by_key(|(other, _)| distance(other)).map_or(TimeLaws::ALL_RANKS, |(_, class)| *class);
        self.rank_classes.get(&behaviour).copied().unwrap_or_else(nearest)
    }
}
