//! Ranks put together, so that many of them can be seen: rows of a timeline, labels of a matrix.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sintonia_recording::Recording;

/// Ranks that are shown as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What people call it.
    pub label: String,
    /// Its ranks, as ranges.
    #[serde(rename = "ranks")]
    pub text: String,
    /// The same one by one.
    #[serde(skip)]
    pub ranks: Vec<u32>,
}

impl Row {
    /// Ranks, in order, with what people call them.
    pub fn new(label: String, ranks: Vec<u32>) -> Row {
        Row { label, text: ranges(&ranks), ranks }
    }
}

/// Some ranks by the host they were on; those that left nothing come last.
pub fn by_host(recording: &Recording, ranks: &[u32]) -> Vec<Row> {
    let header = &recording.header;
    let mut hosts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for rank in ranks {
        hosts.entry(header.rank(*rank).map_or(u32::MAX, |known| known.host)).or_default().push(*rank);
    }
    let name = |host: u32| header.hosts.get(host as usize).cloned().unwrap_or_else(|| "unknown".to_owned());
    hosts.into_iter().map(|(host, ranks)| Row::new(name(host), ranks)).collect()
}

/// Some ranks, in order, by their roles, which have names and ranks; those without one come last.
pub fn by_role<'a>(roles: impl Iterator<Item = (&'a str, &'a [u32])>, ranks: &[u32]) -> Vec<Row> {
    let mut others: BTreeSet<u32> = ranks.iter().copied().collect();
    let mut rows = Vec::new();
    for (name, all) in roles {
        rows.push(Row::new(name.to_owned(), all.iter().copied().filter(|rank| others.remove(rank)).collect()));
    }
    rows.push(Row::new("no role".to_owned(), others.into_iter().collect()));
    rows.retain(|row| !row.ranks.is_empty());
    rows
}

/// Things in at most so many groups of neighbours, all about as large.
pub fn together<T>(things: &[T], most: usize) -> impl Iterator<Item = &[T]> {
    let groups = things.len().min(most);
    (0..groups).map(move |group| &things[group * things.len() / groups..(group + 1) * things.len() / groups])
}

/// At most so many rows that have names: neighbours are put together.
pub fn merged(rows: Vec<Row>, most: usize) -> Vec<Row> {
    let merge = |rows: &[Row]| match rows {
        [row] => row.clone(),
        [first, .., last] => {
            let mut ranks: Vec<u32> = rows.iter().flat_map(|row| &row.ranks).copied().collect();
            ranks.sort_unstable();
            Row::new(format!("{} to {}", first.label, last.label), ranks)
        }
        [] => Row::new(String::new(), Vec::new()),
    };
    together(&rows, most).map(merge).collect()
}

/// Ranks as ranges: `0-3,7`.
pub fn ranges(ranks: &[u32]) -> String {
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
    fn ranks_are_put_together_when_there_are_more_than_rows() {
        let ranks: Vec<u32> = (0..10).collect();
        let rows: Vec<String> = together(&ranks, 3).map(ranges).collect();
        assert_eq!(rows, ["0-2", "3-5", "6-9"]);
        assert_eq!(together(&ranks, 20).count(), 10);
        assert_eq!(together::<u32>(&[], 20).count(), 0);
    }

    #[test]
    fn ranges_are_what_a_question_can_ask_for() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        let read = sintonia_recording::definitions::read_ranks("0-2,5,7-8").unwrap();
        assert_eq!(read, [0, 1, 2, 5, 7, 8]);
    }

    #[test]
    fn hosts_that_share_a_row_are_named_from_the_first_to_the_last() {
        let hosts = vec![Row::new("a".into(), vec![0, 2]), Row::new("b".into(), vec![1]), Row::new("c".into(), vec![3])];
        let rows = merged(hosts, 2);
        assert_eq!(rows, [Row::new("a".into(), vec![0, 2]), Row::new("b to c".into(), vec![1, 3])]);
    }

    #[test]
    fn ranks_without_a_role_come_last() {
        let roles = [("master", &[0][..]), ("workers", &[1, 2, 4][..])];
        let rows = |ranks: &[u32]| {
            let rows = by_role(roles.into_iter(), ranks).into_iter();
            rows.map(|row| format!("{}: {}", row.label, row.text)).collect::<Vec<String>>()
        };
        assert_eq!(rows(&[0, 1, 2, 3, 4, 5]), ["master: 0", "workers: 1-2,4", "no role: 3,5"]);
        assert_eq!(rows(&[2, 4]), ["workers: 2,4"], "what is not asked for is not there");
    }

    #[test]
    fn where_there_are_many_rows_neighbours_are_put_together() {
        let rows = |count: u32| (0..count).map(|rank| Row::new(rank.to_string(), vec![rank])).collect();
        let joined = merged(rows(5), 2);
        let names: Vec<(&str, &str)> = joined.iter().map(|row| (row.label.as_str(), row.text.as_str())).collect();
        assert_eq!(names, [("0 to 1", "0-1"), ("2 to 4", "2-4")]);
        assert_eq!((merged(rows(3), 5).len(), merged(rows(0), 5).len()), (3, 0));
        assert_eq!(ranges(&[0, 2, 4, 5]), "0,2,4-5");
    }
}
