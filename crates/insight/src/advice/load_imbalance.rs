//! Static load imbalance: the same ranks compute longer.

use std::collections::BTreeSet;

use sintonia_text::quantity::format_plural;

use super::imbalance::{ImbalancePattern, LoadImbalance};
use super::inputs::SegmentLoad;
use super::phrases::{choose_verb, format_ns, format_ordinal, format_ranks, format_ratio, format_share};
use super::rule_context::{RuleContext, busiest_rank, mean_load};
use super::{AdviceCandidate, AdviceRule, AdviceText};
use super::{excess_function, excess_traffic};
use crate::segment::Segment;

pub(super) const RULE: AdviceRule = AdviceRule {
    kind: "load_imbalance",
    name: "load imbalance",
    help: "Some ranks compute longer than others in the same part of the program, and always the same ones: throughout the run, more and \
           more, or now and then. The work is divided unevenly, and the other ranks wait for them at the next synchronisation.",
    basis: "the run replayed with this computation at its mean on every rank",
    find,
    describe,
};

fn find(context: &RuleContext) -> Vec<AdviceCandidate> {
    let candidate = |LoadImbalance { pattern, ranks, segments, excess_ns }: LoadImbalance| {
        let main = segments[0];
        let change = match pattern {
            ImbalancePattern::Throughout => context.balanced(segments.into_iter(), |_| true),
            // What comes in a few executions only is shared by all ranks in these; the others wait no longer in any of them.
            ImbalancePattern::Growing | ImbalancePattern::NowAndThen | ImbalancePattern::Moving => context.evened(segments.into_iter()),
        };
        AdviceCandidate::in_segment(main, ranks, change, excess_ns)
    };
    LoadImbalance::of_same_ranks(context).into_iter().map(candidate).collect()
}

fn describe(context: &RuleContext, candidate: &AdviceCandidate) -> AdviceText {
    let segment = candidate.segment;
    let loads = context.loads(segment);
    let (rank, most) = busiest_rank(&loads).unwrap_or((0, 0));
    let mean = mean_load(&loads);
    let all: i64 = loads.values().map(SegmentLoad::ns).sum();
    // The others compute less than a hundredth of it together.
    let alone = candidate.ranks.len() == 1 && all - most < most / 100;
    let who = format_ranks(&candidate.ranks);
    let function = excess_function::describe(context, segment, &candidate.ranks).map(|name| format!(", most of it in {name}"));
    let imbalance = LoadImbalance::of_same_ranks(context).into_iter().find(|imbalance| imbalance.segments[0] == segment);
    let pattern = imbalance.as_ref().map(|imbalance| imbalance.pattern);
    let places = imbalance.map_or(0, |imbalance| other_places(&imbalance.segments)) as u64;
    let elsewhere = if places == 0 { String::new() } else { format!(" and at {}", format_plural(places, "other place")) };
    let or_slow = match places {
        0 => "",
        _ => " If they have no more data than the others at all these places, look at their cores and hosts (`--counters instructions`).",
    };
    let when = match (pattern, loads.get(&rank)) {
        (Some(ImbalancePattern::NowAndThen), Some(load)) => {
            format!("in {} of {} executions ({})", load.long_visits, load.visits, long_visits(load))
        }
        (Some(ImbalancePattern::Growing), _) => "increasingly from the beginning of the run to its end".into(),
        _ => "throughout the run".into(),
    };
    let traffic = excess_traffic::describe(context, &candidate.ranks).map(|more| format!(" {more}")).unwrap_or_default();
    AdviceText {
        what: format!(
            "{who} {} {} as long as the average rank {}{elsewhere}, {when}{}.",
            choose_verb(candidate.ranks.len(), "computes", "compute"),
            format_ratio(most, mean),
            context.describe_segment(segment),
            function.unwrap_or_default()
        ),
        evidence: format!(
            "{} there on the busiest rank, {} on average over {} ranks; the others wait {}.{traffic}",
            format_ns(most),
            format_ns(mean),
            loads.len(),
            format_share(most - mean, context.run_ns())
        ),
        try_this: match (alone, pattern) {
            (true, _) => format!(
                "Only {who} computes there. Divide that work among all ranks; if it is file I/O, use MPI-IO on all ranks \
                 (MPI_File_write_at_all)."
            ),
            (false, Some(ImbalancePattern::NowAndThen)) => format!(
                "Look at what {who} {} in these executions only (output, statistics, a checkpoint), and divide it among all ranks or do \
                 it less often.",
                choose_verb(candidate.ranks.len(), "does", "do")
            ),
            (false, Some(ImbalancePattern::Growing)) => {
                format!("Distribute the work anew from time to time, by its measured cost: what {who} has grows while the program runs.")
            }
            (false, _) => format!(
                "Give {who} less of this work: divide by cost instead of by number of elements (METIS and Zoltan accept weights), or \
                 distribute smaller pieces as ranks become free.{or_slow}"
            ),
        },
    }
}

/// The number of calls before which the other segments end: the first iteration of a loop is no other place than the next ones.
fn other_places(segments: &[Segment]) -> usize {
    segments.iter().map(|segment| segment.to).filter(|to| *to != segments[0].to).collect::<BTreeSet<u32>>().len()
}

/// Which executions are long, the first of them.
fn long_visits(load: &SegmentLoad) -> String {
    let listed: Vec<String> = load.first_long.iter().filter(|number| **number > 0).map(|number| format_ordinal(*number)).collect();
    match &listed[..] {
        all if load.long_visits > all.len() as u64 => format!("{} …", all.join(", ")),
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        all => all.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_long_executions_are_listed() {
        let listed = |long: &[usize]| {
            let mut visits = [10; 40];
            long.iter().for_each(|visit| visits[*visit] = 100);
            long_visits(&SegmentLoad::from_visits(&visits))
        };
        assert_eq!(listed(&[2]), "3rd");
        assert_eq!(listed(&[12, 27]), "13th and 28th");
        assert_eq!(listed(&[0, 1, 20]), "1st, 2nd and 21st");
        assert_eq!(listed(&[0, 10, 20, 30]), "1st, 11th, 21st …");
    }
}
