//! `machine`: the machine file that was given, as `sintonia bench --json` shows it.

use std::sync::Arc;

use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::Open;
use super::subject::Subject;
use crate::bench::json;

pub const SUBJECT: Subject = Subject { name: "machine", is_there: |open| open.machine.is_some(), answer };

fn answer(open: &Arc<Open>, _: &Question) -> Result<Answer, Refusal> {
    match &open.machine {
        Some(machine) => Ok(Answer::json(&json::machine(machine))),
        None => Err(Refusal::NotThere("no machine file was given: `sintonia view NAME.sin --machine NAME.machine.toml`".into())),
    }
}
