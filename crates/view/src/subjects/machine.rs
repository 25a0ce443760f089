//! `machine`: the given machine file, as from `sintonia bench --json`.

use std::sync::Arc;

use crate::answer::{PageQuery, QueryAnswer, QueryError};
use crate::session::ViewSession;
use crate::subject::PageSubject;

pub(super) const SUBJECT: PageSubject = PageSubject { name: "machine", is_available: |open| open.machine.is_some(), answer };

fn answer(open: &Arc<ViewSession>, _: &PageQuery) -> Result<QueryAnswer, QueryError> {
    match &open.machine {
        Some(machine) => Ok(QueryAnswer::json(&machine.to_json())),
        None => Err(QueryError::Unavailable("no machine file given: use `sintonia view NAME.sin --machine NAME.machine.toml`".into())),
    }
}
