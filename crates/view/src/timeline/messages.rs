//! The messages of a window, if they are few.

use std::collections::HashSet;

use serde::Serialize;

use super::{View, ask};
use crate::analysis::{Analysis, Message};
use crate::answer::{Answer, Question, Refusal};
use crate::store::Error;

/// The most messages of an answer, where no other number is asked for.
pub const USUAL: usize = 2000;
const MOST: usize = 200_000;
/// From so many on they are not looked at one by one to be counted.
const TOO_MANY: u64 = 400_000;

#[derive(Default, Serialize)]
struct Columns {
    many: Option<u64>,
    from: Vec<u32>,
    sent: Vec<i64>,
    to: Vec<u32>,
    received: Vec<i64>,
    bytes: Vec<u64>,
    tag: Vec<i64>,
}

/// The messages of a window.
pub enum Messages {
    /// So many, about.
    Many(u64),
    /// These.
    Few(Vec<Message>),
}

/// Answers the question.
pub fn answer(view: View, analysis: &Analysis, question: &Question) -> Result<Answer, Refusal> {
    let (from, to) = ask::moments(view, question)?;
    let most = ask::count(question, "most", USUAL, MOST)?;
    let columns = match between(view, analysis, (from, to), &ask::ranks(view, question)?, most)? {
        Messages::Many(many) => Columns { many: Some(many), ..Columns::default() },
        Messages::Few(messages) => Columns {
            many: None,
            from: messages.iter().map(|message| message.from).collect(),
            sent: messages.iter().map(|message| message.sent).collect(),
            to: messages.iter().map(|message| message.to).collect(),
            received: messages.iter().map(|message| message.received).collect(),
            bytes: messages.iter().map(|message| message.bytes).collect(),
            tag: messages.iter().map(|message| message.tag).collect(),
        },
    };
    Ok(Answer::json(&columns))
}

/// The messages that are sent or received between two moments with an end in some ranks, if they are not more than so many.
pub fn between(view: View, analysis: &Analysis, (from, to): (i64, i64), ranks: &[u32], most: usize) -> Result<Messages, Error> {
    let all = view.recording.header.rank_count() as usize;
    let (least, bound) = analysis.message_count(from, to);
    if bound > TOO_MANY || (ranks.len() == all && least > most as u64) {
        return Ok(Messages::Many((bound as f64 * ranks.len() as f64 / all.max(1) as f64) as u64));
    }
    let wanted: HashSet<u32> = ranks.iter().copied().collect();
    let has_end = |message: &Message| ranks.len() == all || wanted.contains(&message.from) || wanted.contains(&message.to);
    let messages = analysis.messages(from, to, has_end)?;
    Ok(if messages.len() > most { Messages::Many(messages.len() as u64) } else { Messages::Few(messages) })
}
