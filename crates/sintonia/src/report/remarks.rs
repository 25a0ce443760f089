//! What limits the results of a report, in the report as text.

use sintonia_insight::RunSummary;
use sintonia_insight::report_rows::ClockRepair;

use crate::text::{format_count, format_plural, format_ranks, format_seconds};

/// Limitations of the results, most important first.
pub(super) fn remarks(s: &RunSummary) -> Vec<String> {
    let incomplete = group_ranks(s.incomplete.iter().map(|i| (i.why.clone(), i.rank)));
    let incomplete: Vec<String> = incomplete.iter().map(|(why, ranks)| format!("{} ({why})", format_ranks(ranks))).collect();
    let unfinished = group_ranks(s.unfinished.iter().map(|u| (format!("{} at {}", u.operation, u.source), u.rank)));
    let unfinished = unfinished.iter().map(|(call, ranks)| match ranks[..] {
        [rank] => format!("rank {rank} was in {call} when it ended"),
        _ => format!("{} were in {call} when they ended", format_ranks(ranks)),
    });
    let left = match s.left_calls {
        0 => None,
        1 => Some("1 call was left by an exception, a jump (longjmp) or the end of its thread".to_owned()),
        number => Some(format!("{} calls were left by an exception, a jump (longjmp) or the end of their thread", format_count(number))),
    };
    let unmatched = match s.unmatched {
        0 => None,
        number => Some(format!("sends without a receive, or receives without a recorded send: {}", format_plural(number, "message"))),
    };
    let unordered = (s.unordered > 0).then(|| {
        let messages = format_plural(s.unordered, "message");
        format!(
            "{messages} of several threads at the same time, with the same peer and tag: which send belongs to which receive is not known"
        )
    });
    let clocks = (s.clock_repair.violations > 0).then(|| clock_remark(s.clock_repair));
    let not_recorded = s.not_recorded.iter().map(|note| format!("not recorded: {note}"));
    let regions = s.region.iter().flat_map(|region| &region.not_known);
    let not_in_region = regions.map(|what| format!("not in the report of a part: {what}"));
    let profile = s.profile.then(|| "this is a profile (--profile): waits are unknown, and sizes are averages of similar calls".to_owned());
    (!incomplete.is_empty())
        .then(|| format!("incomplete: {}", incomplete.join(", ")))
        .into_iter()
        .chain(unfinished)
        .chain(left)
        .chain(unmatched)
        .chain(unordered)
        .chain(clocks)
        .chain(not_recorded)
        .chain(not_in_region)
        .chain(profile)
        .collect()
}

/// Causality violations between ranks, of messages, barriers or windows.
fn clock_remark(repair: ClockRepair) -> String {
    let times = format_plural(repair.violations, "time");
    format!("clocks disagree: {times} a call ended before what it waits for, corrected by up to {}", format_seconds(repair.largest_s))
}

/// Groups ranks with the same remark, in order of first occurrence.
fn group_ranks(remarks_by_rank: impl Iterator<Item = (String, u32)>) -> Vec<(String, Vec<u32>)> {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for (what, rank) in remarks_by_rank {
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((what, vec![rank])),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::SCREEN_COLUMNS;

    #[test]
    fn clocks_that_disagree_need_not_be_of_hosts_nor_of_messages() {
        let remarks_by_rank = clock_remark(ClockRepair { violations: 2000, largest_s: 1.5e-6 });
        assert_eq!(remarks_by_rank, "clocks disagree: 2,000 times a call ended before what it waits for, corrected by up to 1.50 us");
        assert!(remarks_by_rank.len() + 2 <= SCREEN_COLUMNS);
    }

    #[test]
    fn what_is_said_of_many_ranks_is_said_once() {
        let remarks_by_rank = [("a", 0), ("b", 1), ("a", 2), ("a", 4)].map(|(what, rank)| (what.to_owned(), rank));
        let groups = group_ranks(remarks_by_rank.into_iter());
        assert_eq!(
            groups.iter().map(|(what, ranks)| format!("{what}: {}", format_ranks(ranks))).collect::<Vec<_>>(),
            ["a: ranks 0, 2, 4", "b: rank 1"]
        );
    }
}
