//! What ranks that compute longer have more of, besides computation: messages and bytes tell whether they have more of the data.

use std::collections::BTreeMap;

use sintonia_mpi::FunctionRole;

use super::inputs::RankCallTotals;
use super::phrases::choose_verb;
use super::rule_context::RuleContext;

/// Ranks with less than this many times the traffic of the others do not stand out: a rank at the border of a grid has fewer neighbours.
const MIN_RATIO: f64 = 1.5;

/// How many times the messages and bytes of the other ranks these ranks send and receive, as a sentence; `None` if not many.
pub(super) fn describe(context: &RuleContext, ranks: &[u32]) -> Option<String> {
    let is_send = |role| matches!(role, FunctionRole::Send | FunctionRole::SendReceive | FunctionRole::Put | FunctionRole::Get);
    let is_collective = |role| matches!(role, FunctionRole::Collective(_));
    let messages = ratio(&sums(context, is_send, |totals| totals.calls), ranks).map(|ratio| format!("{ratio:.1} times the messages"));
    let bytes = ratio(&sums(context, |role| !is_collective(role), |totals| totals.bytes), ranks);
    let bytes = bytes.map(|ratio| format!("{ratio:.1} times the bytes"));
    let more: Vec<String> = messages.into_iter().chain(bytes).collect();
    let (who, verb) = (choose_verb(ranks.len(), "It", "They"), choose_verb(ranks.len(), "exchanges", "exchange"));
    (!more.is_empty()).then(|| format!("{who} also {verb} {} of the other ranks.", more.join(" and ")))
}

/// A quantity of each rank, summed over the sites whose function has a matching role.
fn sums(context: &RuleContext, role: impl Fn(FunctionRole) -> bool, pick: fn(&RankCallTotals) -> u64) -> BTreeMap<u32, u64> {
    let mut sums: BTreeMap<u32, u64> = (0..context.size() as u32).map(|rank| (rank, 0)).collect();
    for (rank, totals) in context.calls(role).flat_map(|(_, calls)| &calls.ranks) {
        *sums.entry(*rank).or_default() += pick(totals);
    }
    sums
}

/// The mean of these ranks (in order) as a multiple of the mean of the others, if they stand out; nothing if the others have nothing.
fn ratio(sums: &BTreeMap<u32, u64>, ranks: &[u32]) -> Option<f64> {
    let (own, others): (Vec<_>, Vec<_>) = sums.iter().partition(|(rank, _)| ranks.binary_search(rank).is_ok());
    let mean = |part: &[(&u32, &u64)]| part.iter().map(|(_, sum)| **sum).sum::<u64>() as f64 / part.len().max(1) as f64;
    Some(mean(&own) / mean(&others)).filter(|ratio| ratio.is_finite() && *ratio >= MIN_RATIO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_with_more_messages_than_the_others_stand_out() {
        let sums: BTreeMap<u32, u64> = [(0, 10), (1, 10), (2, 30)].into();
        assert_eq!(ratio(&sums, &[2]), Some(3.0));
        assert_eq!(ratio(&sums, &[0]), None, "they have fewer");
        assert_eq!(ratio(&sums, &[0, 1, 2]), None, "there are no others");
        assert_eq!(ratio(&[(0, 0), (1, 7)].into(), &[1]), None, "the others have nothing to compare with");
    }
}
