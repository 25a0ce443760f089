//! Sends and receives find each other.
//!
//! MPI keeps order: of the messages from one process to another with the same communicator and tag, the first one sent goes to the receive
//! that began first. So the n-th of them is received by the n-th of those receives, whatever wildcards they were begun with.

use std::collections::HashMap;

use rayon::prelude::*;

use super::scan::{Letter, Receipt};
use super::{At, History, Line, Unmatched};
use crate::company::Company;

/// What the sender of a message is told of its receiver.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Reply {
    sender: At,
    place: u32,
    receiver: At,
    posted: At,
    posted_enter: i64,
}

/// Joins what was sent with what was received; letters and receipts are by rank of the history.
pub fn join(history: &mut History, company: &dyn Company, letters: Vec<Vec<Letter>>, receipts: Vec<Vec<Receipt>>) {
    let arrived = deliver(history, company, letters);
    let first = history.share.own().start;
    let per_rank: Vec<&mut [Line]> = split(&mut history.lines, &history.places);
    let opened: Vec<(Vec<Reply>, Unmatched)> = per_rank
        .into_par_iter()
        .zip(receipts)
        .enumerate()
        .map(|(place, (lines, receipts))| open(first + place as u32, lines, &arrived, &receipts))
        .collect();
    let mut replies = Vec::new();
    for (reply, unmatched) in opened {
        replies.extend(reply);
        history.unmatched.sends += unmatched.sends;
        history.unmatched.receives += unmatched.receives;
    }
    let parcels = history.share.sorted(replies, |reply| reply.sender.rank);
    for reply in company.swap(parcels).into_iter().flatten() {
        if let Some(line) = history.line(reply.sender) {
            let sent = &mut history.lines[line].sent[reply.place as usize];
            (sent.receiver, sent.posted, sent.posted_enter) = (reply.receiver, reply.posted, reply.posted_enter);
        }
    }
}

/// Takes letters to the processes that look after their receivers; there they lie in piles, each sorted by receiver.
fn deliver(history: &History, company: &dyn Company, letters: Vec<Vec<Letter>>) -> Vec<Vec<Letter>> {
    let mut piles = match company.size() {
        1 => letters,
        _ => company.swap(history.share.sorted(letters.into_iter().flatten(), |letter| letter.receiver)),
    };
    piles.par_iter_mut().for_each(|pile| pile.sort_by_key(|letter| letter.receiver));
    piles
}

/// The lines of each rank.
fn split<'a>(mut lines: &'a mut [Line], places: &[std::ops::Range<u32>]) -> Vec<&'a mut [Line]> {
    let mut ranks = Vec::new();
    for place in places {
        let (own, rest) = lines.split_at_mut(place.len());
        ranks.push(own);
        lines = rest;
    }
    ranks
}

/// The letters for a process, as queues by source, communicator and tag.
struct Queues<'a> {
    letters: Vec<&'a Letter>,
    /// The letter that follows another in its queue.
    next: Vec<u32>,
    /// The first and the last letter of each queue.
    ends: HashMap<(u32, u32, i32), (u32, u32)>,
}

const END: u32 = u32::MAX;

impl<'a> Queues<'a> {
    fn new(rank: u32, piles: &'a [Vec<Letter>]) -> Queues<'a> {
        let mut queues = Queues { letters: Vec::new(), next: Vec::new(), ends: HashMap::new() };
        for pile in piles {
            let from = pile.partition_point(|letter| letter.receiver < rank);
            pile[from..].iter().take_while(|letter| letter.receiver == rank).for_each(|letter| queues.push(letter));
        }
        queues
    }

    fn push(&mut self, letter: &'a Letter) {
        let place = self.letters.len() as u32;
        self.letters.push(letter);
        self.next.push(END);
        let ends = self.ends.entry((letter.sender.rank, letter.communicator, letter.tag)).or_insert((place, END));
        match ends {
            (first, END) if *first == place => ends.1 = place,
            (_, last) => {
                self.next[*last as usize] = place;
                *last = place;
            }
        }
    }

    fn pop(&mut self, receipt: &Receipt) -> Option<&'a Letter> {
        let (first, _) = self.ends.get_mut(&(receipt.source, receipt.communicator, receipt.tag))?;
        let place = *first as usize;
        let letter = self.letters.get(place)?;
        *first = self.next[place];
        Some(letter)
    }
}

/// Opens the letters of one process.
fn open(rank: u32, lines: &mut [Line], piles: &[Vec<Letter>], receipts: &[Receipt]) -> (Vec<Reply>, Unmatched) {
    let mut queues = Queues::new(rank, piles);
    let mut replies = Vec::with_capacity(receipts.len());
    let mut unmatched = Unmatched::default();
    for receipt in receipts {
        let Some(letter) = queues.pop(receipt) else {
            unmatched.receives += 1;
            continue;
        };
        for (line, place) in receipt.probe.into_iter().chain([(receipt.line, receipt.place)]) {
            let received = &mut lines[line as usize].received[place as usize];
            (received.sender, received.sender_place, received.send_enter) = (letter.sender, letter.place, letter.enter);
            received.synchronous = letter.marks & Letter::SYNCHRONOUS != 0;
            received.partitioned = letter.marks & Letter::PARTITIONED != 0;
        }
        let (line, posted) = (&lines[receipt.line as usize], &lines[receipt.posted.0 as usize]);
        let receiver = line.at(line.received[receipt.place as usize].row);
        let posted_enter = posted.calls.enter[receipt.posted.1 as usize];
        replies.push(Reply { sender: letter.sender, place: letter.place, receiver, posted: posted.at(receipt.posted.1), posted_enter });
    }
    unmatched.sends = (queues.letters.len() - replies.len()) as u64;
    (replies, unmatched)
}
