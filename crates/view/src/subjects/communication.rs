//! `communication`: the traffic between ranks, hosts or roles, in the whole run or in a part of it (`from`, `to`).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sintonia_program::{CommunicationMatrix, MatrixCell, RankTraffic};
use sintonia_recording::Recording;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::rank_groups::{RankGroup, group_by_host, group_by_role, merge_neighbours};
use crate::session::{OpenRecording, ViewSession};
use crate::subject::PageSubject;
use crate::timeline::SelectedTraffic;

pub(super) const SUBJECT: PageSubject = PageSubject { name: "communication", is_available: |_| true, answer };

/// The number of pairs of ranks that are listed for each unit where a label is several ranks.
const MAX_PAIRS: usize = 64;

/// With more ranks, single pairs are not listed: all of them have to be added up.
const MAX_LISTED_RANKS: u32 = 1024;

/// The maximum number of labels; beyond it, neighbours are merged.
const MAX_LABELS: usize = 512;

fn answer(open: &Arc<ViewSession>, question: &PageQuery) -> Result<QueryAnswer, QueryError> {
    let opened = open.recording_of(question)?;
    let wrong = |parameter: &str, reason: String| QueryError::InvalidParameter { parameter: parameter.into(), reason };
    let collectives = match question.param("collectives") {
        None | Some("1") => true,
        Some("0") => false,
        Some(other) => return Err(wrong("collectives", format!("0 or 1, not `{other}`"))),
    };
    let most = question.parse_param("most")?.unwrap_or(MAX_LABELS).clamp(1, MAX_LABELS);
    let is_part = question.param("from").is_some() || question.param("to").is_some();
    let by = question.param("by").unwrap_or("rank");
    let answer = |labels: Vec<RankGroup>| {
        let request = MatrixRequest { opened, collectives, labels: merge_neighbours(labels, most), lists_ranks: by == "rank" };
        if is_part {
            return opened.with_timeline(|timeline| {
                let SelectedTraffic { ranks, left_out } = timeline.traffic(question)?;
                Ok(request.answer(&ranks, Some(left_out)))
            });
        }
        opened.with_traffic(|traffic| Ok(request.answer(traffic, None)))
    };
    match by {
        "rank" => answer(by_rank(&opened.recording)),
        "host" => answer(group_by_host(&opened.recording, &all_ranks(&opened.recording))),
        "role" => opened.with_program(|program| {
            let roles = program.roles.iter().map(|role| (role.name.as_str(), role.ranks.as_slice()));
            answer(group_by_role(roles, &all_ranks(&opened.recording)))
        }),
        other => Err(wrong("by", format!("rank, host or role, not `{other}`"))),
    }
}

/// The matrix that is asked for.
struct MatrixRequest<'a> {
    opened: &'a OpenRecording,
    collectives: bool,
    labels: Vec<RankGroup>,
    /// Whether a label stands for single ranks, which are listed where it is several of them.
    lists_ranks: bool,
}

impl MatrixRequest<'_> {
    /// `part`: what is not counted in a part of the run, for which the time of pairs is not known.
    fn answer(&self, traffic: &[RankTraffic], part: Option<Vec<&'static str>>) -> QueryAnswer {
        let ranks = self.opened.recording.header.rank_count();
        let mut label_of = vec![0; ranks as usize];
        for (number, label) in self.labels.iter().enumerate() {
            label.ranks.iter().for_each(|rank| label_of[*rank as usize] = number as u32);
        }
        let has_seconds = !self.opened.recording.header.profile && part.is_none();
        let matrix = self.matrix(traffic, &label_of);
        let left_out: Vec<&str> = matrix.omitted.notes().chain(part.into_iter().flatten()).collect();
        let mut answer = json!({
            "labels": self.labels.iter().map(|label| &label.label).collect::<Vec<_>>(),
            "ranks": self.labels.iter().map(|label| &label.rank_ranges).collect::<Vec<_>>(),
            "left_out": left_out,
        });
        extend(&mut answer, pair_columns(matrix, has_seconds));
        // Which ranks of two labels exchange most is not in the matrix.
        if self.lists_ranks && self.labels.len() < ranks as usize && ranks <= MAX_LISTED_RANKS {
            let each: Vec<u32> = (0..ranks).collect();
            answer["heaviest"] = pair_columns(heaviest_pairs(self.matrix(traffic, &each)), has_seconds);
        }
        QueryAnswer::json(&answer)
    }

    fn matrix(&self, traffic: &[RankTraffic], group_of: &[u32]) -> CommunicationMatrix {
        CommunicationMatrix::from_traffic(&self.opened.recording, traffic, self.collectives, group_of)
    }
}

/// The pairs with most bytes, with most messages and with most time.
fn heaviest_pairs(matrix: CommunicationMatrix) -> CommunicationMatrix {
    let mut pairs: Vec<((u32, u32), MatrixCell)> = matrix.cells.into_iter().collect();
    let mut cells = BTreeMap::new();
    for of in [|cell: &MatrixCell| cell.bytes, |cell: &MatrixCell| cell.messages, |cell: &MatrixCell| cell.call_ns] {
        pairs.sort_by_key(|(_, cell)| Reverse(of(cell)));
        cells.extend(pairs.iter().take(MAX_PAIRS).copied());
    }
    CommunicationMatrix { cells, ..CommunicationMatrix::default() }
}

/// The pairs as columns, most bytes first.
fn pair_columns(matrix: CommunicationMatrix, has_seconds: bool) -> Value {
    let mut heaviest_first: Vec<((u32, u32), MatrixCell)> = matrix.cells.into_iter().collect();
    heaviest_first.sort_by_key(|(_, cell)| Reverse(cell.bytes));
    let (pairs, cells): (Vec<(u32, u32)>, Vec<MatrixCell>) = heaviest_first.into_iter().unzip();
    let seconds = || cells.iter().map(|cell| cell.call_ns as f64 * 1e-9).collect::<Vec<f64>>();
    json!({
        "from": pairs.iter().map(|(from, _)| from).collect::<Vec<_>>(),
        "to": pairs.iter().map(|(_, to)| to).collect::<Vec<_>>(),
        "bytes": cells.iter().map(|cell| cell.bytes).collect::<Vec<_>>(),
        "messages": cells.iter().map(|cell| cell.messages).collect::<Vec<_>>(),
        "seconds": has_seconds.then(seconds),
    })
}

fn extend(object: &mut Value, other: Value) {
    if let (Value::Object(object), Value::Object(other)) = (object, other) {
        object.extend(other);
    }
}

fn all_ranks(recording: &Recording) -> Vec<u32> {
    (0..recording.header.rank_count()).collect()
}

fn by_rank(recording: &Recording) -> Vec<RankGroup> {
    all_ranks(recording).into_iter().map(|rank| RankGroup::new(rank.to_string(), vec![rank])).collect()
}
