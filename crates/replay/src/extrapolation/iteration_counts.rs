//! Infers iteration counts of loops from the rules of their calls.

use super::call_rule::{CallRule, PeerTarget, RequestSelection, SelectionPolicy};
use super::error::RecognitionError;
use super::filters::RankFilter;
use super::folded_trace::TracedCall;
use super::observations::CallObservation;
use super::pattern::IterationCount;
use super::peer_sequence::PeerSequence;
use super::recognise::RuleSearch;
use super::value_observation::ValueObservation;
use super::value_rule::ValueRule;

impl RuleSearch<'_> {
    /// Iteration count of a loop.
    pub(super) fn infer_iteration_count(&self, number: usize, steps: &[CallRule]) -> Result<IterationCount, RecognitionError> {
        let (depth, seen) = (self.family.loops[number].depth, &self.observations.loops[number]);
        let inside = |node: &usize| self.family.enclosing_loops[*node].get(depth) == Some(&number);
        let nodes: Vec<usize> = (0..steps.len()).filter(inside).collect();
        for node in &nodes {
            if let PeerTarget::ByIteration(at, list @ (PeerSequence::Sweep(..) | PeerSequence::Each(_))) = &steps[*node].peer
                && *at == depth
                && let Some(count) = self.count_per_peer(number, steps[*node].rank_filter, list)
            {
                return Ok(count);
            }
        }
        let values: Vec<ValueObservation> = seen
            .iter()
            .map(|one| ValueObservation {
                position: self.position(one.run, one.rank),
                iterations: &one.iterations,
                peer: None,
                value: one.count.into(),
            })
            .collect();
        if let Some(amount) = ValueRule::infer(&values) {
            return Ok(IterationCount::Value(amount));
        }
        if let Some(selection) = nodes.iter().find_map(|node| self.count_per_request(*node, number, &steps[*node])) {
            return Ok(IterationCount::PerRequest(selection));
        }
        let node = self.family.loops[number].first;
        let example =
            |one: &ValueObservation| format!("of {} ranks, rank {} {} times", one.position.rank_count, one.position.rank, one.value);
        Err(RecognitionError::Call {
            site: self.family.site_name(node),
            operation: self.family.nodes[node].operation.name(),
            what: "the iteration count of the loop at this call",
            examples: values.iter().rev().take(6).map(example).collect::<Vec<_>>().join("; "),
            tried: "a constant, scaling laws of p and of the grid sides, shares, the number of peers, the number of outstanding requests",
        })
    }

    /// Once, or several times, for each peer of a sequence.
    fn count_per_peer(&self, number: usize, filter: RankFilter, list: &PeerSequence) -> Option<IterationCount> {
        let seen = &self.observations.loops[number];
        let filter = if matches!(filter, RankFilter::PeerAbove(_)) { RankFilter::Everyone } else { filter };
        let length = |run, rank| {
            let position = self.position(run, rank);
            if filter.matches(position, None) { list.length(position) } else { 0 }
        };
        let times = seen.iter().find_map(|one| one.count.checked_div(length(one.run, one.rank)).filter(|times| *times > 0))?;
        let fits = seen.iter().all(|one| one.count == times * length(one.run, one.rank));
        fits.then(|| IterationCount::PerPeer { filter, list: list.clone(), times })
    }

    /// Once for each outstanding request.
    fn count_per_request(&self, node: usize, number: usize, step: &CallRule) -> Option<RequestSelection> {
        let selection = step.requests.as_ref().filter(|selection| selection.policy != SelectionPolicy::All)?;
        let depth = self.family.loops[number].depth;
        let first = |observation: &&(&CallObservation, &TracedCall)| observation.0.iterations[depth].index == 0;
        let available = |details: &TracedCall| {
            details.request_use.candidates.iter().filter(|node| selection.creating_nodes.contains(node)).count() as u32
        };
        let made: Vec<(&CallObservation, &TracedCall)> = self.made_calls(node).collect();
        let fits = made.iter().filter(first).all(|(observation, details)| observation.iterations[depth].total == available(details));
        (fits && !made.is_empty()).then(|| selection.clone())
    }
}
