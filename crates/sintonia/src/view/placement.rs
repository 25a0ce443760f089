//! `placement`: ranks on the hosts before and after, as `sintonia place --json` shows it, with what a picture of it needs.

use std::sync::Arc;

use sintonia_view::answer::{Answer, Question, Refusal};

use super::open::{Open, not_there};
use super::slow::{Progress, Task};
use super::subject::Subject;
use crate::place::picture;

pub const SUBJECT: Subject =
    Subject { name: "placement", is_there: |open| open.recordings.iter().any(|opened| opened.recording.header.size > 1), answer };

fn answer(open: &Arc<Open>, question: &Question) -> Result<Answer, Refusal> {
    let opened = Arc::clone(open.asked(question)?);
    let turn = open.turn_to_read(std::slice::from_ref(&opened));
    let (machine, hosts) = (open.machine.clone(), open.hosts.clone());
    let work = move |_: &Progress| {
        opened.has_room()?;
        picture::of(&opened.path, machine, hosts).map(|told| Answer::json(&told)).map_err(not_there)
    };
    let task = Task { doing: "looking for a better placement".into(), steps: 1, turn, work };
    open.kept.answer(&format!("placement {}", question.recording), task)
}
