//! What all members do in an operation, and one way in which it can happen.

use sintonia_mpi::Pattern;

use super::super::algorithm::{Algorithm, write_down};
use super::super::piece::{Piece, Sheet};
use crate::collective::Party;

/// One line of a sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Send { to: u32, piece: Piece },
    Forward { to: u32, piece: Piece },
    Receive { from: u32, piece: Piece },
    Combine { from: u32, piece: Piece },
}

/// What one member does in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub lines: Vec<Line>,
    pub computed: u64,
}

impl Sheet for Page {
    fn send(&mut self, to: u32, piece: Piece) {
        self.lines.push(Line::Send { to, piece });
    }

    fn forward(&mut self, to: u32, piece: Piece) {
        self.lines.push(Line::Forward { to, piece });
    }

    fn receive(&mut self, from: u32, piece: Piece) {
        self.lines.push(Line::Receive { from, piece });
    }

    fn combine(&mut self, from: u32, piece: Piece) {
        self.lines.push(Line::Combine { from, piece });
        self.computed += piece.bytes;
    }

    fn compute(&mut self, bytes: u64) {
        self.computed += bytes;
    }
}

/// What all members do.
pub struct Script {
    pub algorithm: Algorithm,
    pub pattern: Pattern,
    pub size: u32,
    pub root: u32,
    pub bytes: u64,
    /// By member and round.
    pub pages: Vec<Vec<Page>>,
}

/// A message: who sends it in which round, who receives it in which round.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub id: usize,
    pub from: u32,
    pub sent_in: usize,
    pub to: u32,
    pub received_in: usize,
    pub piece: Piece,
    pub is_forwarded: bool,
    pub is_combined: bool,
}

/// What happens to a member.
pub enum Event {
    /// It begins a round: what it sends now is what it has now.
    Begins { sends: Vec<Message> },
    /// It ends a round: it has received these.
    Ends { receives: Vec<Message> },
}

impl Script {
    pub fn of(algorithm: Algorithm, pattern: Pattern, size: u32, root: u32, bytes: u64) -> Script {
        let pages = (0..size).map(|here| {
            let party = Party { size, here, root, bytes };
            let mut pages = Vec::new();
            loop {
                let mut page = Page::default();
                if !write_down(algorithm, pattern, &party, pages.len() as u32, &mut page) {
                    assert!(page.lines.is_empty(), "there is something after the last round");
                    return pages;
                }
                pages.push(page);
                assert!(pages.len() < 10_000, "rounds without end");
            }
        });
        Script { algorithm, pattern, size, root, bytes, pages: pages.collect() }
    }

    /// The n-th message from one member to another is the n-th that this one receives from there, and both say the same of it.
    pub fn matched(&self, case: &str) -> impl Iterator<Item = Message> {
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (here, pages) in (0..).zip(&self.pages) {
            for (round, line) in pages.iter().enumerate().flat_map(|(round, page)| page.lines.iter().map(move |line| (round, *line))) {
                match line {
                    Line::Send { to, piece } => sent.push((here, to, round, piece, false)),
                    Line::Forward { to, piece } => sent.push((here, to, round, piece, true)),
                    Line::Receive { from, piece } => received.push((from, here, round, piece, false)),
                    Line::Combine { from, piece } => received.push((from, here, round, piece, true)),
                }
            }
        }
        // Stable, so that messages between the same two stay in order.
        sent.sort_by_key(|(from, to, ..)| (*from, *to));
        received.sort_by_key(|(from, to, ..)| (*from, *to));
        let ends = |(from, to): (u32, u32)| format!("{case}: from {from} to {to}");
        let mut messages = Vec::new();
        assert_eq!(sent.len(), received.len(), "{case}");
        for ((from, to, sent_in, piece, is_forwarded), (source, target, received_in, expected, is_combined)) in
            sent.into_iter().zip(received)
        {
            assert!((from, to) == (source, target) && from != to && from.max(to) < self.size, "{}", ends((from, to)));
            assert_eq!(piece, expected, "{}", ends((from, to)));
            messages.push(Message { id: messages.len(), from, sent_in, to, received_in, piece, is_forwarded, is_combined });
        }
        messages.into_iter()
    }

    /// Lets it happen: a member ends a round when all those it sends to or receives from have begun the round that this is in.
    pub fn run(&self, case: &str, mut happens: impl FnMut(u32, Event)) {
        let mut sends = self.empty();
        let mut receives = self.empty();
        for message in self.matched(case) {
            sends[message.from as usize][message.sent_in].push(message);
            receives[message.to as usize][message.received_in].push(message);
        }
        let mut at = vec![0; self.pages.len()];
        for member in 0..self.size {
            begin(member, &sends, 0, &mut happens);
        }
        loop {
            let mut moved = false;
            for member in 0..self.size {
                let here = member as usize;
                let round = at[here];
                let others_are_there = round < self.pages[here].len()
                    && sends[here][round].iter().all(|message| at[message.to as usize] >= message.received_in)
                    && receives[here][round].iter().all(|message| at[message.from as usize] >= message.sent_in);
                if others_are_there {
                    happens(member, Event::Ends { receives: receives[here][round].clone() });
                    at[here] += 1;
                    begin(member, &sends, at[here], &mut happens);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let ends: Vec<usize> = self.pages.iter().map(Vec::len).collect();
        assert_eq!(at, ends, "{case}: members wait for each other");
    }

    fn empty(&self) -> Vec<Vec<Vec<Message>>> {
        self.pages.iter().map(|pages| vec![Vec::new(); pages.len()]).collect()
    }

    /// Bytes of all messages together.
    pub fn volume(&self) -> u64 {
        let lines = self.pages.iter().flatten().flat_map(|page| &page.lines);
        lines.map(|line| if let Line::Send { piece, .. } | Line::Forward { piece, .. } = line { piece.bytes } else { 0 }).sum()
    }

    /// Bytes that all members together combine.
    pub fn computed(&self) -> u64 {
        self.pages.iter().flatten().map(|page| page.computed).sum()
    }
}

fn begin(member: u32, sends: &[Vec<Vec<Message>>], round: usize, happens: &mut impl FnMut(u32, Event)) {
    if let Some(sends) = sends[member as usize].get(round) {
        happens(member, Event::Begins { sends: sends.clone() });
    }
}
