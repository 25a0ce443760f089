//! `communication`: who sent how much to whom, by rank, host or role.

use std::cmp::Reverse;
use std::sync::Arc;

use serde_json::json;
use sintonia_program::{Cell, CommunicationMatrix, Traffic};
use sintonia_recording::Recording;
use sintonia_view::answer::{Answer, Question, Refusal};
use sintonia_view::rows::{Row, by_host, by_role, merged};

use super::open::{Open, Opened};
use super::subject::Subject;

pub const SUBJECT: Subject = Subject { name: "communication", is_there: |_| true, answer };

/// The most labels; where there would be more, neighbours are put together.
const MOST_LABELS: usize = 512;

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let opened = open.asked(question)?;
    let wrong = |parameter: &str, reason: String| Refusal::Query { parameter: parameter.into(), reason };
    let collectives = match question.get("collectives") {
        None | Some("1") => true,
        Some("0") => false,
        Some(other) => return Err(wrong("collectives", format!("0 or 1, not `{other}`"))),
    };
    let most = question.number("most")?.unwrap_or(MOST_LABELS).clamp(1, MOST_LABELS);
    let answer = |labels: Vec<Row>| opened.with_traffic(|traffic| Ok(matrix(opened, traffic, collectives, &merged(labels, most))));
    match question.get("by").unwrap_or("rank") {
        "rank" => answer(by_rank(&opened.recording)),
        "host" => answer(by_host(&opened.recording, &all(&opened.recording))),
        "role" => opened.with_program(|program| {
            let roles = program.roles.iter().map(|role| (role.name.as_str(), role.ranks.as_slice()));
            answer(by_role(roles, &all(&opened.recording)))
        }),
        other => Err(wrong("by", format!("rank, host or role, not `{other}`"))),
    }
}

fn matrix(opened: &Opened, traffic: &[Traffic], collectives: bool, labels: &[Row]) -> Answer {
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
        "labels": labels.iter().map(|label| &label.label).collect::<Vec<_>>(),
        "ranks": labels.iter().map(|label| &label.text).collect::<Vec<_>>(),
        "from": pairs.iter().map(|(from, _)| from).collect::<Vec<_>>(),
        "to": pairs.iter().map(|(_, to)| to).collect::<Vec<_>>(),
        "bytes": cells.iter().map(|cell| cell.bytes).collect::<Vec<_>>(),
        "messages": cells.iter().map(|cell| cell.messages).collect::<Vec<_>>(),
        "seconds": (!opened.recording.header.profile).then(seconds),
        "left_out": matrix.left_out.sentences().collect::<Vec<_>>(),
    }))
}

fn all(recording: &Recording) -> Vec<u32> {
    (0..recording.header.rank_count()).collect()
}

fn by_rank(recording: &Recording) -> Vec<Row> {
    all(recording).into_iter().map(|rank| Row::new(rank.to_string(), vec![rank])).collect()
}
