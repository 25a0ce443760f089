//! Groups of ranks, to show many ranks at once: rows of a timeline, labels of a matrix.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sintonia_recording::Recording;

/// A group of ranks that is shown as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct RankGroup {
    /// Display name.
    pub label: String,
    /// Its ranks as ranges, `0-3,7`.
    #[serde(rename = "ranks")]
    pub rank_ranges: String,
    /// Its ranks.
    #[serde(skip)]
    pub ranks: Vec<u32>,
}

impl RankGroup {
    /// A group of sorted ranks.
    pub(crate) fn new(label: String, ranks: Vec<u32>) -> RankGroup {
        RankGroup { label, rank_ranges: format_rank_ranges(&ranks), ranks }
    }
}

/// Groups ranks by host. Ranks without data come last.
pub(crate) fn group_by_host(recording: &Recording, ranks: &[u32]) -> Vec<RankGroup> {
    let header = &recording.header;
    let mut hosts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for rank in ranks {
        hosts.entry(header.rank(*rank).map_or(u32::MAX, |known| known.host)).or_default().push(*rank);
    }
    let name = |host: u32| header.hosts.get(host as usize).cloned().unwrap_or_else(|| "unknown".to_owned());
    hosts.into_iter().map(|(host, ranks)| RankGroup::new(name(host), ranks)).collect()
}

/// Groups sorted ranks by role, given as names and ranks. Ranks without a role come last.
pub(crate) fn group_by_role<'a>(roles: impl Iterator<Item = (&'a str, &'a [u32])>, ranks: &[u32]) -> Vec<RankGroup> {
    let mut others: BTreeSet<u32> = ranks.iter().copied().collect();
    let mut rows = Vec::new();
    for (name, all) in roles {
        rows.push(RankGroup::new(name.to_owned(), all.iter().copied().filter(|rank| others.remove(rank)).collect()));
    }
    rows.push(RankGroup::new("no role".to_owned(), others.into_iter().collect()));
    rows.retain(|row| !row.ranks.is_empty());
    rows
}

/// Splits a slice into at most `max` parts of about equal length.
pub(crate) fn partition_evenly<T>(items: &[T], max: usize) -> impl Iterator<Item = &[T]> {
    let groups = items.len().min(max);
    (0..groups).map(move |group| &items[group * items.len() / groups..(group + 1) * items.len() / groups])
}

/// Merges adjacent groups so that at most `max` remain.
pub(crate) fn merge_neighbours(rows: Vec<RankGroup>, max: usize) -> Vec<RankGroup> {
    let merge = |rows: &[RankGroup]| match rows {
        [row] => row.clone(),
        [first, .., last] => {
            let mut ranks: Vec<u32> = rows.iter().flat_map(|row| &row.ranks).copied().collect();
            ranks.sort_unstable();
            RankGroup::new(format!("{} to {}", first.label, last.label), ranks)
        }
        [] => RankGroup::new(String::new(), Vec::new()),
    };
    partition_evenly(&rows, max).map(merge).collect()
}

/// Formats sorted ranks as ranges: `0-3,7`.
pub(crate) fn format_rank_ranges(ranks: &[u32]) -> String {
    let ranges = ranks.chunk_by(|a, b| a + 1 == *b).map(|range| match range {
        [rank] => rank.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    ranges.collect::<Vec<String>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_grouped_if_there_are_more_than_rows() {
        let ranks: Vec<u32> = (0..10).collect();
        let rows: Vec<String> = partition_evenly(&ranks, 3).map(format_rank_ranges).collect();
        assert_eq!(rows, ["0-2", "3-5", "6-9"]);
        assert_eq!(partition_evenly(&ranks, 20).count(), 10);
        assert_eq!(partition_evenly::<u32>(&[], 20).count(), 0);
    }

    #[test]
    fn formatted_ranges_can_be_parsed() {
        assert_eq!(format_rank_ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        let read = sintonia_recording::definitions::parse_ranks("0-2,5,7-8").unwrap();
        assert_eq!(read, [0, 1, 2, 5, 7, 8]);
    }

    #[test]
    fn hosts_that_share_a_row_are_named_from_the_first_to_the_last() {
        let hosts = vec![RankGroup::new("a".into(), vec![0, 2]), RankGroup::new("b".into(), vec![1]), RankGroup::new("c".into(), vec![3])];
        let rows = merge_neighbours(hosts, 2);
        assert_eq!(rows, [RankGroup::new("a".into(), vec![0, 2]), RankGroup::new("b to c".into(), vec![1, 3])]);
    }

    #[test]
    fn ranks_without_a_role_come_last() {
        let roles = [("master", &[0][..]), ("workers", &[1, 2, 4][..])];
        let rows = |ranks: &[u32]| {
            let rows = group_by_role(roles.into_iter(), ranks).into_iter();
            rows.map(|row| format!("{}: {}", row.label, row.rank_ranges)).collect::<Vec<String>>()
        };
        assert_eq!(rows(&[0, 1, 2, 3, 4, 5]), ["master: 0", "workers: 1-2,4", "no role: 3,5"]);
        assert_eq!(rows(&[2, 4]), ["workers: 2,4"], "what is not asked for is not there");
    }

    #[test]
    fn adjacent_rows_are_merged() {
        let rows = |count: u32| (0..count).map(|rank| RankGroup::new(rank.to_string(), vec![rank])).collect();
        let joined = merge_neighbours(rows(5), 2);
        let names: Vec<(&str, &str)> = joined.iter().map(|row| (row.label.as_str(), row.rank_ranges.as_str())).collect();
        assert_eq!(names, [("0 to 1", "0-1"), ("2 to 4", "2-4")]);
        assert_eq!((merge_neighbours(rows(3), 5).len(), merge_neighbours(rows(0), 5).len()), (3, 0));
        assert_eq!(format_rank_ranges(&[0, 2, 4, 5]), "0,2,4-5");
    }
}
