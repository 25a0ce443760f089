//! Finds how often loops go round, once it is known what their calls do.

use super::amount::{Amount, Seen};
use super::error::Unrecognised;
use super::list::List;
use super::pattern::Count;
use super::reading::Details;
use super::recognise::Attempt;
use super::sight::Sight;
use super::step::{Choice, Handles, Step, Target};
use super::who::Who;

impl Attempt<'_> {
    /// How often a loop goes round.
    pub(super) fn count(&self, number: usize, steps: &[Step]) -> Result<Count, Unrecognised> {
        let (depth, seen) = (self.family.loops[number].depth, &self.sights.loops[number]);
        let inside = |node: &usize| self.family.around[*node].get(depth) == Some(&number);
        let nodes: Vec<usize> = (0..steps.len()).filter(inside).collect();
        for node in &nodes {
            if let Target::Turns(at, list @ (List::Sweep(..) | List::Each(_))) = &steps[*node].peer
                && *at == depth
                && let Some(count) = self.as_listed(number, steps[*node].who, list)
            {
                return Ok(count);
            }
        }
        let values: Vec<Seen> = seen
            .iter()
            .map(|one| Seen { spot: self.spot(one.run, one.rank), rounds: &one.rounds, peer: None, value: one.count.into() })
            .collect();
        if let Some(amount) = Amount::explaining(&values) {
            return Ok(Count::Amount(amount));
        }
        if let Some(handles) = nodes.iter().find_map(|node| self.as_requests(*node, number, &steps[*node])) {
            return Ok(Count::Requests(handles));
        }
        let node = self.family.loops[number].first;
        let example = |one: &Seen| format!("of {} ranks, rank {} {} times", one.spot.ranks, one.spot.rank, one.value);
        Err(Unrecognised::Call {
            site: self.family.site(node),
            operation: self.family.nodes[node].operation.name(),
            what: "how often the loop that begins with this goes round, a property",
            examples: values.iter().rev().take(6).map(example).collect::<Vec<_>>().join("; "),
            tried: "a constant, laws of p and of the sides of the grid, shares, as many as the peers in it, as many as open requests",
        })
    }

    /// Once for each peer of a list, or several times over.
    fn as_listed(&self, number: usize, who: Who, list: &List) -> Option<Count> {
        let seen = &self.sights.loops[number];
        let who = if matches!(who, Who::PeerAbove(_)) { Who::Everyone } else { who };
        let length = |run, rank| {
            let spot = self.spot(run, rank);
            if who.holds(spot, None) { list.length(spot) } else { 0 }
        };
        let times = seen.iter().find_map(|one| one.count.checked_div(length(one.run, one.rank)).filter(|times| *times > 0))?;
        let fits = seen.iter().all(|one| one.count == times * length(one.run, one.rank));
        fits.then(|| Count::List { who, list: list.clone(), times })
    }

    /// Once for each request that there is.
    fn as_requests(&self, node: usize, number: usize, step: &Step) -> Option<Handles> {
        let handles = step.handles.as_ref().filter(|handles| handles.choice != Choice::All)?;
        let depth = self.family.loops[number].depth;
        let first = |sight: &&(&Sight, &Details)| sight.0.rounds[depth].number == 0;
        let there = |details: &Details| details.handled.there.iter().filter(|node| handles.of.contains(node)).count() as u32;
        let made: Vec<(&Sight, &Details)> = self.made(node).collect();
        let fits = made.iter().filter(first).all(|(sight, details)| sight.rounds[depth].of == there(details));
        (fits && !made.is_empty()).then(|| handles.clone())
    }
}
