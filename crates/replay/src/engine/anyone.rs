//! Receives from anyone, decided again: on another machine another message may come first.
//!
//! What a rank does with a message belongs to it: the reply, and the work until the next one is received. So the calls from one receive
//! from anyone to the next are a *block*, and on another machine the blocks are gone through in the order in which their messages come.
//! Blocks of one source stay in their order, and nothing is moved across a call that does more than answer.

use super::decisions::Decision;
use super::letters::UNKNOWN;
use super::line::{Line, Op};
use super::world::World;
use crate::schedule::Request;

/// A receive from anyone and what follows it, as rows of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    first: usize,
    end: usize,
    channel: u32,
}

impl World<'_> {
    /// Whether a call is a receive from anyone that is decided again. Where links are shared it is not known beforehand when a message will come.
    pub fn decides_again(&self, op: Op) -> bool {
        let asked = self.changes.wildcards_by_arrival && matches!(op, Op::Receive { request: false, anyone: true, .. });
        asked && self.network.is_none() && self.recorded().is_none()
    }

    /// A line has come to a receive from anyone: it asks for the decision which message that gets, if there is a choice.
    pub fn ask_anyone(&mut self, place: u32, line: &mut Line) -> bool {
        let blocks = self.candidates(line);
        let first = blocks.iter().filter_map(|block| self.comes(block)).fold(UNKNOWN, f64::min);
        if first == UNKNOWN {
            blocks.iter().for_each(|block| self.letters.watch(block.channel, place));
        } else {
            self.decisions.ask(first.max(line.now), Decision::Anyone { line: place, call: line.calls });
        }
        !blocks.is_empty()
    }

    /// Lets the block whose message comes first be the next.
    pub fn decide_anyone(&mut self, line: &mut Line) {
        let blocks = self.candidates(line);
        let earliest = blocks.iter().filter_map(|block| Some((self.comes(block)?, block))).min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, block)) = earliest {
            line.bring_forward(block.first, block.end);
        }
    }

    /// When the next message of a block's channel is there, if it was sent.
    fn comes(&self, block: &Block) -> Option<f64> {
        let letter = self.letters.get(self.letters.peek(block.channel)?);
        // A message that waits for its receive is announced by an empty one.
        let announced = letter.sent.now + self.prices[letter.price as usize].latency;
        Some(if letter.arrived == UNKNOWN { announced } else { letter.arrived })
    }

    /// The first block of each source, from the present call on.
    fn candidates(&self, line: &Line) -> Vec<Block> {
        let mut found: Vec<Block> = Vec::new();
        let mut from = line.row;
        while let Some(block) = line.block(from) {
            if !found.iter().any(|known| self.letters.sender(known.channel) == self.letters.sender(block.channel)) {
                found.push(block);
            }
            from = block.end;
        }
        found
    }
}

impl Line<'_> {
    /// The block that begins at a row, if one does that may be moved.
    fn block(&self, first: usize) -> Option<Block> {
        let op = |row: usize| self.rows.get(row).map(|row| self.code.ops[row.action as usize]);
        let Op::Receive { own, request: false, anyone: true } = op(first)? else { return None };
        let channel = self.own[own as usize].number;
        let mut end = first + 1;
        let mut open = 0;
        loop {
            match op(end)? {
                Op::Receive { anyone: true, .. } if open == 0 => return Some(Block { first, end, channel }),
                Op::Send { request, .. } => open += u64::from(request),
                Op::Complete { first, count } => {
                    let listed = &self.code.listed[first as usize..(first + count) as usize];
                    if !listed.iter().all(|listed| matches!(listed.request, Request::Ago(ago) if ago < open)) {
                        return None;
                    }
                    open = 0;
                }
                Op::Local | Op::Poll => {}
                _ if open == 0 => return Some(Block { first, end, channel }),
                _ => return None,
            }
            end += 1;
        }
    }

    /// Moves rows in front of the present one. The computation before the present call was done already, whichever call that is.
    fn bring_forward(&mut self, first: usize, end: usize) {
        if first <= self.row {
            return;
        }
        let (now, later) = self.rows.split_at_mut(first);
        now[self.row].swap_computation(&mut later[0]);
        self.rows[self.row..end].rotate_left(first - self.row);
    }
}
