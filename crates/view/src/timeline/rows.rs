//! Rows of a picture: ranks one by one, or put together because there are many, or by host or role.

use super::View;
use crate::answer::{Question, Refusal};
use crate::rows::{Row, by_host, merged, ranges, together};

/// The rows that are asked for, at most so many.
pub fn rows(view: View, question: &Question, ranks: &[u32], most: usize) -> Result<Vec<Row>, Refusal> {
    match question.get("by").unwrap_or("rank") {
        "rank" => Ok(together(ranks, most).map(|ranks| Row::new(ranges(ranks), ranks.to_vec())).collect()),
        "host" => Ok(merged(by_host(view.recording, ranks), most)),
        "role" => Ok(merged(by_role(view, ranks), most)),
        other => Err(Refusal::Query { parameter: "by".to_owned(), reason: format!("`{other}` should be rank, host or role") }),
    }
}

/// The roles that the analysis found.
fn by_role(view: View, ranks: &[u32]) -> Vec<Row> {
    let roles = view.analysis.map_or(&[][..], |analysis| analysis.roles());
    let asked = |all: &[u32]| all.iter().copied().filter(|rank| ranks.binary_search(rank).is_ok()).collect::<Vec<u32>>();
    roles.iter().map(|role| Row::new(role.name.clone(), asked(&role.ranks))).filter(|row| !row.ranks.is_empty()).collect()
}
