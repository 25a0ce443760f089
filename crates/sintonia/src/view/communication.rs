//! `communication`: who sent how much to whom, by rank, host or role.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use sintonia_program::graph::Role;
use sintonia_program::{Cell, CommunicationMatrix, Traffic};
use sintonia_recording::Recording;
use sintonia_recording::definitions::write_ranks;
use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::{Open, Opened};
use super::subject::Subject;

pub const SUBJECT: Subject = Subject { name: "communication", is_there: |_| true, answer };

/// The most labels; where there would be more, neighbours are put together.
const MOST_LABELS: usize = 512;

/// Ranks with a name.
struct Label {
    name: String,
    ranks: Vec<u32>,
}

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let opened = open.asked(question)?;
    let wrong = |parameter: &str, reason: String| Refusal::Query { parameter: parameter.into(), reason };
    let collectives = match question.get("collectives") {
        None | Some("1") => true,
        Some("0") => false,
        Some(other) => return Err(wrong("collectives", format!("0 or 1, not `{other}`"))),
    };
    let most = question.number("most")?.unwrap_or(MOST_LABELS).clamp(1, MOST_LABELS);
    let answer = |labels: Vec<Label>| opened.with_traffic(|traffic| Ok(matrix(opened, traffic, collectives, &together(labels, most))));
    match question.get("by").unwrap_or("rank") {
        "rank" => answer(by_rank(&opened.recording)),
        "host" => answer(by_host(&opened.recording)),
        "role" => opened.with_program(|program| answer(by_role(&opened.recording, &program.roles))),
        other => Err(wrong("by", format!("rank, host or role, not `{other}`"))),
    }
}

fn matrix(opened: &Opened, traffic: &[Traffic], collectives: bool, labels: &[Label]) -> Answer {
    let mut label_of = vec![0; opened.recording.header.rank_count() as usize];
    for (number, label) in labels.iter().enumerate() {
        label.ranks.iter().for_each(|rank| label_of[*rank as usize] = number as u32);
    }
    let matrix = CommunicationMatrix::of(&opened.recording, traffic, collectives, &label_of);
    let mut heaviest_first: Vec<((u32, u32), Cell)> = matrix.cells.into_iter().collect();
    heaviest_first.sort_by_key(|(_, cell)| Reverse(cell.bytes));
    let (pairs, cells): (Vec<(u32, u32)>, Vec<Cell>) = heaviest_first.into_iter().unzip();
    let seconds = || cells.iter().map(|cell| cell.ns as f64 * 1e-9).collect::<Vec<f64>>();
    Answer::json(&json!({
        "labels": labels.iter().map(|label| &label.name).collect::<Vec<_>>(),
        "ranks": labels.iter().map(|label| ranges(&label.ranks)).collect::<Vec<_>>(),
        "from": pairs.iter().map(|(from, _)| from).collect::<Vec<_>>(),
        "to": pairs.iter().map(|(_, to)| to).collect::<Vec<_>>(),
        "bytes": cells.iter().map(|cell| cell.bytes).collect::<Vec<_>>(),
        "messages": cells.iter().map(|cell| cell.messages).collect::<Vec<_>>(),
        "seconds": (!opened.recording.header.profile).then(seconds),
        "left_out": matrix.left_out.sentences().collect::<Vec<_>>(),
    }))
}

fn by_rank(recording: &Recording) -> Vec<Label> {
    (0..recording.header.rank_count()).map(|rank| Label { name: rank.to_string(), ranks: vec![rank] }).collect()
}

fn by_host(recording: &Recording) -> Vec<Label> {
    let header = &recording.header;
    let mut hosts: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for rank in 0..header.rank_count() {
        // Those that left nothing come last.
        hosts.entry(header.rank(rank).map_or(u32::MAX, |rank| rank.host)).or_default().push(rank);
    }
    let name = |host: u32| header.hosts.get(host as usize).cloned().unwrap_or_else(|| "unknown".to_owned());
    hosts.into_iter().map(|(host, ranks)| Label { name: name(host), ranks }).collect()
}

fn by_role(recording: &Recording, roles: &[Role]) -> Vec<Label> {
    let known = |rank: &u32| roles.iter().any(|role| role.ranks.binary_search(rank).is_ok());
    let others: Vec<u32> = (0..recording.header.rank_count()).filter(|rank| !known(rank)).collect();
    let others = (!others.is_empty()).then(|| Label { name: "unknown".to_owned(), ranks: others });
    roles.iter().map(|role| Label { name: role.name.clone(), ranks: role.ranks.clone() }).chain(others).collect()
}

/// At most so many labels: neighbours are put together, as many everywhere as can be.
fn together(labels: Vec<Label>, most: usize) -> Vec<Label> {
    let groups = labels.len().min(most);
    let group = |number: usize| &labels[number * labels.len() / groups..(number + 1) * labels.len() / groups];
    let join = |labels: &[Label]| {
        let mut ranks: Vec<u32> = labels.iter().flat_map(|label| &label.ranks).copied().collect();
        ranks.sort_unstable();
        let name = match labels {
            [first, .., last] => format!("{} to {}", first.name, last.name),
            labels => labels.iter().map(|label| label.name.as_str()).collect(),
        };
        Label { name, ranks }
    };
    (0..groups).map(|number| join(group(number))).collect()
}

fn ranges(ranks: &[u32]) -> String {
    // A step, as in 0-8:2, is a notation of the recording's own.
    let runs = ranks.chunk_by(|one, next| one + 1 == *next);
    runs.map(|run| write_ranks(&run.iter().map(|rank| *rank as i32).collect::<Vec<_>>())).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_are_many_labels_neighbours_are_put_together() {
        let labels = |count: u32| (0..count).map(|rank| Label { name: rank.to_string(), ranks: vec![rank] }).collect();
        let joined = together(labels(5), 2);
        let names: Vec<(&str, String)> = joined.iter().map(|label| (label.name.as_str(), ranges(&label.ranks))).collect();
        assert_eq!(names, [("0 to 1", "0-1".into()), ("2 to 4", "2-4".into())]);
        assert_eq!((together(labels(3), 5).len(), together(labels(0), 5).len()), (3, 0));
        assert_eq!(ranges(&[0, 2, 4, 5]), "0,2,4-5");
    }
}
