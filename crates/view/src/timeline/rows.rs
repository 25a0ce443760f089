//! Rows of a picture: ranks one by one, or put together because there are many, or by host or role.

use super::View;
use crate::answer::{Question, Refusal};
use crate::rows::{Row, by_host, by_role, merged, ranges, together};

/// The rows that are asked for, at most so many.
pub fn rows(view: View, question: &Question, ranks: &[u32], most: usize) -> Result<Vec<Row>, Refusal> {
    match question.get("by").unwrap_or("rank") {
        "rank" => Ok(together(ranks, most).map(|ranks| Row::new(ranges(ranks), ranks.to_vec())).collect()),
        "host" => Ok(merged(by_host(view.recording, ranks), most)),
        "role" => {
            let roles = view.roles.unwrap_or_default().iter();
            Ok(merged(by_role(roles.map(|role| (role.name.as_str(), role.ranks.as_slice())), ranks), most))
        }
        other => Err(Refusal::Query { parameter: "by".to_owned(), reason: format!("`{other}` should be rank, host or role") }),
    }
}
