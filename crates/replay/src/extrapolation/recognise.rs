//! Pattern recognition: infers one process grid for the program, and rules for every call.

use std::collections::BTreeMap;

use sintonia_mpi::FunctionRole;
use sintonia_recording::Recording;
use sintonia_recording::call_table::CallDescriptor;
use sintonia_recording::raw;

use super::call_rule::{CallRule, MissingPeer, PeerTarget, RequestSelection, SelectionPolicy};
use super::communicators::CommunicatorClasses;
use super::error::RecognitionError;
use super::filters::{IterationFilter, RankFilter};
use super::folded_trace::{FoldedTraces, TracedCall, is_wildcard_receive};
use super::group_rule::GroupRule;
use super::observations::{CallObservation, ProgramObservations};
use super::pattern::{ProgramPattern, ProgramRules};
use super::peer_search::{PeerExplanation, PeerObservation, PeerSearch};
use super::process_grid::{GridRule, ProcessGrid, RankPosition};
use super::program_sites::SiteGranularity;
use super::recording_family::RecordingFamily;
use super::segment_times::RunSizes;
use super::value_observation::ValueObservation;
use super::value_rule::ValueRule;
use super::{ExtrapolationOptions, outstanding_requests::RequestAction, verification};

/// The rules tried for peers, for error messages.
const TRIED_PEER_RULES: &str = "a certain rank, neighbours in rows and in grids of two and three dimensions (open and periodic), rings, \
                     hypercubes, trees, rows and columns, all others in any known order, mirrored and transposed positions";

/// Infers the pattern of recordings of one program.
pub fn recognise(recordings: &[Recording], options: &ExtrapolationOptions) -> Result<ProgramPattern, RecognitionError> {
    let by_lines = recognise_with(SiteGranularity::Lines, recordings, options);
    by_lines.or_else(|error| recognise_with(SiteGranularity::Addresses, recordings, options).map_err(|_| error))
}

fn recognise_with(
    granularity: SiteGranularity,
    recordings: &[Recording],
    options: &ExtrapolationOptions,
) -> Result<ProgramPattern, RecognitionError> {
    let family = RecordingFamily::new(recordings, granularity)?;
    let traces = FoldedTraces::new(&family)?;
    let observations = ProgramObservations::collect(&family, &traces)?;
    let classes = CommunicatorClasses::new(&family, &observations, &traces);
    let ranks: Vec<u32> = family.runs.iter().map(|run| run.ranks).collect();
    let mut nearest: Option<(usize, RecognitionError)> = None;
    for rule in GridRule::all(&ranks) {
        let Some(grids) = ranks.iter().map(|ranks| rule.grid(*ranks)).collect::<Option<Vec<ProcessGrid>>>() else { continue };
        let mut attempt = RuleSearch {
            family: &family,
            traces: &traces,
            observations: &observations,
            communicators: &classes,
            grids: &grids,
            n_explained: 0,
        };
        match attempt.infer_program(rule) {
            Ok(program) => {
                let pattern = with_times(&family, &traces, &grids, program, options);
                verification::verify(&family, &pattern)?;
                return Ok(pattern);
            }
            Err(error) if nearest.as_ref().is_none_or(|(most, _)| attempt.n_explained > *most) => {
                nearest = Some((attempt.n_explained, error))
            }
            Err(_) => {}
        }
    }
    Err(nearest.map_or(RecognitionError::NoRecording, |(_, error)| error))
}

/// Adds times to the rules.
fn with_times(
    family: &RecordingFamily,
    traces: &FoldedTraces,
    grids: &[ProcessGrid],
    program: ProgramRules,
    options: &ExtrapolationOptions,
) -> ProgramPattern {
    let ranks: Vec<u32> = family.runs.iter().map(|run| run.ranks).collect();
    let mut classes: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    let mut class_of: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    for (run, grid) in grids.iter().enumerate() {
        for rank in 0..ranks[run] {
            let next = classes.len();
            let class = *classes.entry(program.call_signature(RankPosition { rank, rank_count: ranks[run], grid })).or_insert(next);
            class_of.insert((run, rank), class);
        }
    }
    let roles = family.nodes.iter().map(|node| node.operation.role()).collect();
    let sizes = RunSizes { ranks: ranks.clone(), scaling: options.scaling, roles };
    let laws = traces.timer.fit_laws(&sizes, |run, rank| class_of.get(&(run, rank)).copied().unwrap_or(0));
    let steady = (0..program.loops.len()).map(|number| program.is_loop_invariant(number)).collect();
    ProgramPattern {
        program,
        rank_classes: classes,
        time_laws: laws,
        invariant_loops: steady,
        recorded_rank_counts: ranks,
        options: options.clone(),
    }
}

/// Search for rules with one kind of grid.
pub(super) struct RuleSearch<'a> {
    pub(super) family: &'a RecordingFamily<'a>,
    traces: &'a FoldedTraces,
    pub(super) observations: &'a ProgramObservations,
    communicators: &'a CommunicatorClasses,
    grids: &'a [ProcessGrid],
    /// Number of explained calls.
    n_explained: usize,
}

impl<'a> RuleSearch<'a> {
    fn infer_program(&mut self, grid: GridRule) -> Result<ProgramRules, RecognitionError> {
        let classes = self.communicators.group_rules(self.family, self.grids)?;
        let groups = self.candidate_groups(&classes);
        let mut steps = Vec::new();
        let mut first_error = None;
        for node in 0..self.family.nodes.len() {
            match self.infer_call(node, &groups) {
                Ok(step) => {
                    self.n_explained += 1;
                    steps.push(step);
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        if let Some(error) = first_error {
            return Err(error);
        }
        let counts =
            (0..self.family.loops.len()).map(|number| self.infer_iteration_count(number, &steps)).collect::<Result<Vec<_>, _>>()?;
        let family = self.family;
        let among_neighbours =
            |step: &CallRule| matches!(step.template.function.role(), FunctionRole::Collective(pattern) if pattern.is_neighborhood());
        let used = |class| steps.iter().any(|step| step.communicator == Some(class) && among_neighbours(step));
        let neighbours = self.communicators.neighbours(family, self.grids, &groups, used)?;
        Ok(ProgramRules {
            grid,
            communicator_groups: classes,
            neighbours,
            calls: steps,
            counts,
            enclosing_loops: family.enclosing_loops.clone(),
            loops: family.loops.clone(),
            body: family.body.clone(),
            sites: family.sites.clone(),
        })
    }

    /// Groups in which peers are searched: all ranks, grid lines, communicators.
    fn candidate_groups(&self, classes: &[GroupRule]) -> Vec<GroupRule> {
        let mut groups: Vec<GroupRule> = vec![GroupRule::World];
        let lines = GroupRule::all(&self.grids[0], 1).into_iter().filter(|group| matches!(group, GroupRule::GridLines(_)));
        for group in lines.chain(classes.iter().cloned()) {
            if !groups.contains(&group) && group != GroupRule::OnlySelf {
                groups.push(group);
            }
        }
        groups
    }

    pub(super) fn position(&self, run: usize, rank: u32) -> RankPosition<'a> {
        RankPosition { rank, rank_count: self.family.runs[run].ranks, grid: &self.grids[run] }
    }

    /// Observations of calls that were made, with their details.
    pub(super) fn made_calls(&self, node: usize) -> impl Iterator<Item = (&'a CallObservation, &'a TracedCall)> + use<'a> {
        let traces = self.traces;
        self.observations.calls[node].iter().filter_map(move |observation| Some((observation, traces.details.get(observation.call?))))
    }

    fn infer_call(&self, node: usize, groups: &[GroupRule]) -> Result<CallRule, RecognitionError> {
        let Some((_, first)) = self.made_calls(node).next() else { return Err(RecognitionError::NoRecording) };
        let role = first.call.function.role();
        let mut selection = RequestAction::from_role(role).map(|handling| self.infer_request_selection(node, handling)).transpose()?;
        let peer = self.infer_peer(node, groups, selection.as_mut())?;
        let (source, back) = match role {
            FunctionRole::SendReceive => (self.infer_target(node, groups, |details| details.call.source, false)?.target, CallEnd::Source),
            _ => (PeerTarget::Marker(first.call.source), CallEnd::Peer),
        };
        let marks = self.part_flags(node, false).unwrap_or(first.call.parts);
        Ok(CallRule {
            template: CallDescriptor { site: self.family.nodes[node].site, parts: marks, ..first.call.clone() },
            parts_without_peer: self.part_flags(node, true).unwrap_or(marks),
            communicator: self.communicator_class(node, |details| details.call.communicator())?,
            created_communicator: self
                .communicator_class(node, |details| (details.call.created != raw::NO_OBJECT).then_some(details.call.created))?,
            rank_filter: peer.rank_filter,
            iteration_filter: peer.iteration_filter,
            peer: peer.target,
            alternatives: peer.alternatives,
            any_order: peer.any_order,
            missing_peer: peer.missing_peer,
            source,
            tag: self.infer_tag(node, CallEnd::Peer, |details| details.call.tag.into())?,
            recv_tag: self.infer_tag(node, back, |details| details.call.recv_tag.into())?,
            sent: self.infer_bytes(node, CallEnd::Peer, |details| details.call.sent as i64),
            received: self.infer_bytes(node, back, |details| details.call.received as i64),
            requests: selection,
        })
    }

    /// Which ranks make the call, and its peers.
    fn infer_peer(
        &self,
        node: usize,
        groups: &[GroupRule],
        selection: Option<&mut RequestSelection>,
    ) -> Result<PeerExplanation, RecognitionError> {
        match (self.infer_target(node, groups, |details| details.call.peer, true), selection) {
            // If the call always has requests, their existence may decide whether it is made.
            (Err(_), Some(selection)) if self.made_calls(node).all(|(_, details)| !details.request_use.selected.is_empty()) => {
                selection.skip_if_none = true;
                Ok(unconditional())
            }
            (explained, _) => explained,
        }
    }

    /// Recorded part flags of calls with or without a peer.
    fn part_flags(&self, node: usize, without_peer: bool) -> Option<u16> {
        let found = self.made_calls(node).find(|(_, details)| (details.call.peer == raw::PROC_NULL) == without_peer);
        found.map(|(_, details)| details.call.parts)
    }

    /// Must be exact, since it affects matching.
    fn infer_tag(&self, node: usize, end: CallEnd, of: fn(&TracedCall) -> i64) -> Result<ValueRule, RecognitionError> {
        let tried = "a constant, laws of p, shares, the rank, the peer, the iteration";
        ValueRule::infer(&self.value_observations(node, end, of)).ok_or_else(|| self.unexplained_error(node, "the tag", of, tried))
    }

    /// May be approximate.
    fn infer_bytes(&self, node: usize, end: CallEnd, of: fn(&TracedCall) -> i64) -> ValueRule {
        let seen = self.value_observations(node, end, of);
        ValueRule::infer(&seen).unwrap_or_else(|| ValueRule::fit_power_law(&seen))
    }

    /// Rule for the peer or the source of a call.
    fn infer_target(
        &self,
        node: usize,
        groups: &[GroupRule],
        of: fn(&TracedCall) -> i32,
        with_absent: bool,
    ) -> Result<PeerExplanation, RecognitionError> {
        let filters = RankFilter::all(self.grids[0].dimensions());
        let any_order = self.made_calls(node).all(|(_, details)| is_wildcard_receive(&details.call));
        let tried = PeerSearch { groups, rank_filters: if with_absent { &filters } else { &filters[..1] }, any_order };
        let turn = |observation: &'a CallObservation| PeerObservation {
            position: self.position(observation.run, observation.rank),
            iterations: &observation.iterations,
            peer: observation.call.map(|call| of(self.traces.details.get(call))),
        };
        let turns: Vec<PeerObservation> =
            self.observations.calls[node].iter().map(turn).filter(|turn| with_absent || turn.peer.is_some()).collect();
        tried.explain(&turns).ok_or_else(|| {
            let of_peer = |details: &TracedCall| i64::from(details.call.peer);
            let of_source = |details: &TracedCall| i64::from(details.call.source);
            if with_absent {
                self.unexplained_error(node, "the peers", of_peer, TRIED_PEER_RULES)
            } else {
                self.unexplained_error(node, "the sources", of_source, TRIED_PEER_RULES)
            }
        })
    }

    /// Values of all calls at a node with a peer at that end.
    fn value_observations(&self, node: usize, end: CallEnd, of: fn(&TracedCall) -> i64) -> Vec<ValueObservation<'a>> {
        let other = |details: &TracedCall| if end == CallEnd::Peer { details.call.peer } else { details.call.source };
        let with_peer = self.made_calls(node).filter(|(_, details)| other(details) != raw::PROC_NULL);
        with_peer
            .map(|(observation, details)| ValueObservation {
                position: self.position(observation.run, observation.rank),
                iterations: &observation.iterations,
                peer: u32::try_from(other(details)).ok(),
                value: of(details),
            })
            .collect()
    }

    /// The communicator class that all calls at a node use.
    fn communicator_class(&self, node: usize, of: impl Fn(&TracedCall) -> Option<u32>) -> Result<Option<usize>, RecognitionError> {
        let mut classes = self
            .made_calls(node)
            .filter_map(|(observation, details)| of(details).map(|number| self.communicators.class_id(observation.run, number)));
        let Some(first) = classes.next() else { return Ok(None) };
        match first {
            Some(class) if classes.all(|other| other == first) => Ok(Some(class)),
            _ => Err(self.unexplained_error(
                node,
                "the communicator",
                |details| details.call.object.into(),
                "one communicator for all calls here",
            )),
        }
    }

    /// Which requests the calls at a node use.
    fn infer_request_selection(&self, node: usize, handling: RequestAction) -> Result<RequestSelection, RecognitionError> {
        let all: Vec<&TracedCall> = self.made_calls(node).map(|(_, details)| details).collect();
        let mut of: Vec<u32> =
            all.iter().flat_map(|d| d.request_use.selected.iter().map(|index| d.request_use.candidates[*index as usize])).collect();
        of.sort_unstable();
        of.dedup();
        let any = all.first().is_some_and(|details| details.call.function.role() == FunctionRole::CompleteAny);
        let one_of = |details: &TracedCall| {
            details.request_use.selected.iter().all(|index| of.contains(&details.request_use.candidates[*index as usize]))
        };
        let fits = |choice: &SelectionPolicy| match choice {
            SelectionPolicy::Any => any && all.iter().all(|details| one_of(details)),
            _ => all.iter().all(|details| choice.select(&details.request_use.candidates, &of) == details.request_use.selected),
        };
        let Some(choice) = SelectionPolicy::ALL.into_iter().find(fits) else {
            let tried = "all created at certain call sites, the oldest, the newest, the oldest of each call site";
            return Err(self.unexplained_error(node, "the requests", |details| details.request_use.selected.len() as i64, tried));
        };
        Ok(RequestSelection { action: handling, policy: choice, creating_nodes: of, skip_if_none: false })
    }

    fn unexplained_error(&self, node: usize, what: &'static str, of: impl Fn(&TracedCall) -> i64, tried: &'static str) -> RecognitionError {
        let example = |observation: &CallObservation| {
            let shown = match observation.call.map(|call| of(self.traces.details.get(call))) {
                None => "not made".into(),
                Some(value) if value == i64::from(raw::PROC_NULL) => "none".into(),
                Some(value) => value.to_string(),
            };
            format!("of {} ranks, rank {}: {shown}", self.family.runs[observation.run].ranks, observation.rank)
        };
        let observations = &self.observations.calls[node];
        let few = observations.iter().step_by((observations.len() / 6).max(1)).take(6);
        RecognitionError::Call {
            site: self.family.site_name(node),
            operation: self.family.nodes[node].operation.name(),
            what,
            examples: few.map(example).collect::<Vec<_>>().join("; "),
            tried,
        }
    }
}

/// One of the peers of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallEnd {
    /// Destination, source or root.
    Peer,
    /// Source of the receiving half of a send-receive.
    Source,
}

/// A call made by all ranks, without a peer.
fn unconditional() -> PeerExplanation {
    PeerExplanation {
        rank_filter: RankFilter::Everyone,
        iteration_filter: None::<(usize, IterationFilter)>,
        target: PeerTarget::Marker(raw::NONE),
        missing_peer: MissingPeer::SkipCall,
        alternatives: Vec::new(),
        any_order: false,
    }
}
