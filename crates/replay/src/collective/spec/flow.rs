//! Where data goes: for every byte that a member has, whose contributions are in it. Each may be in it once only.

use std::collections::HashMap;

use sintonia_mpi::Pattern;

use super::super::algorithm::Algorithm;
use super::super::piece::Parts;
use super::script::{Event, Line, Message, Script};

/// Members, one bit each.
type Members = u64;

pub fn everyone(size: u32) -> Members {
    (1 << size) - 1
}

/// The data of all members while an operation happens.
pub struct Flow<'a> {
    script: &'a Script,
    /// By member and byte.
    has: Vec<Vec<Members>>,
    /// As it came last.
    came: Vec<Vec<Members>>,
    under_way: HashMap<usize, Vec<Members>>,
}

impl<'a> Flow<'a> {
    pub fn new(script: &'a Script) -> Flow<'a> {
        use Pattern::*;
        let (size, bytes) = (script.size, script.bytes as usize);
        let blocks = bytes * size as usize;
        let mut has: Vec<Vec<Members>> = (0..size)
            .map(|here| match script.pattern {
                Broadcast => vec![if here == script.root { 1 << here } else { 0 }; bytes],
                Scatter | Scatterv => vec![if here == script.root { 1 << here } else { 0 }; blocks],
                Reduce | Allreduce => vec![1 << here; bytes],
                ReduceScatter | ReduceScatterBlock => vec![1 << here; blocks],
                _ => vec![0; blocks],
            })
            .collect();
        if matches!(script.pattern, Gather | Gatherv | Allgather | Allgatherv) {
            for (here, has) in has.iter_mut().enumerate() {
                has[here * bytes..(here + 1) * bytes].fill(1 << here);
            }
        }
        Flow { script, came: has.clone(), has, under_way: HashMap::new() }
    }

    pub fn happen(&mut self, member: u32, event: Event, case: &str) {
        match event {
            Event::Begins { sends } => sends.iter().for_each(|message| self.leave(member, message, case)),
            Event::Ends { receives } => receives.iter().for_each(|message| self.arrive(member, message, case)),
        }
    }

    fn leave(&mut self, member: u32, message: &Message, case: &str) {
        let from = if message.is_forwarded { &self.came } else { &self.has };
        let has = &from[member as usize];
        let data: Vec<Members> = positions(message, has.len()).map(|at| has[at]).collect();
        assert!(data.iter().all(|members| *members != 0), "{case}: {member} sends what it does not have");
        self.under_way.insert(message.id, data);
    }

    fn arrive(&mut self, member: u32, message: &Message, case: &str) {
        let data = self.under_way.remove(&message.id).expect("it has left");
        let has = &mut self.has[member as usize];
        for (at, came) in positions(message, has.len()).zip(data) {
            self.came[member as usize][at] = came;
            if message.is_combined {
                assert_eq!(has[at] & came, 0, "{case}: {member} combines a contribution twice");
                has[at] |= came;
            } else {
                assert_eq!(has[at] & !came, 0, "{case}: {member} loses a contribution");
                has[at] = came;
            }
        }
    }

    /// Compares what members have with what they were promised.
    pub fn has_kept_the_promise(&self, case: &str) {
        use Pattern::*;
        let (size, root, all) = (self.script.size, self.script.root, everyone(self.script.size));
        let blocks = Parts::blocks(self.script.bytes, size);
        for here in 0..size {
            let has = &self.has[here as usize];
            let own = || {
                let piece = blocks.part(self.block_of(here));
                &has[piece.start as usize..(piece.start + piece.bytes) as usize]
            };
            let is_kept = match self.script.pattern {
                Broadcast => has.iter().all(|members| *members == 1 << root),
                Scatter | Scatterv => own().iter().all(|members| *members == 1 << root),
                Reduce => here != root || has.iter().all(|members| *members == all),
                Allreduce => has.iter().all(|members| *members == all),
                ReduceScatter | ReduceScatterBlock => own().iter().all(|members| *members == all),
                Gather | Gatherv if here != root => true,
                _ => has.iter().enumerate().all(|(at, members)| *members == 1 << (at as u64 / self.script.bytes)),
            };
            assert!(is_kept, "{case}: {here} ends with {has:x?}");
        }
        assert!(self.under_way.is_empty(), "{case}: something never arrives");
    }

    /// Where the block of a member lies. The butterfly for equal blocks and a power of two lays them out by reversed bits.
    fn block_of(&self, member: u32) -> u32 {
        let is_mirrored = self.script.algorithm == Algorithm::Butterfly
            && self.script.pattern == Pattern::ReduceScatterBlock
            && self.script.size.is_power_of_two();
        match is_mirrored {
            true if self.script.size > 1 => member.reverse_bits() >> (32 - self.script.size.ilog2()),
            _ => member,
        }
    }
}

fn positions(message: &Message, length: usize) -> impl Iterator<Item = usize> + use<> {
    let (start, bytes) = (message.piece.start as usize, message.piece.bytes as usize);
    assert!(bytes <= length, "more than there is");
    (start..start + bytes).map(move |at| at % length)
}

/// Whom every member has heard of, directly or through others, when it is through.
pub fn heard(script: &Script, case: &str) -> Vec<Members> {
    let mut heard: Vec<Members> = (0..script.size).map(|here| 1 << here).collect();
    let mut said = HashMap::new();
    script.run(case, |member, event| match event {
        Event::Begins { sends } => {
            for message in sends {
                assert_eq!(message.piece.bytes, 0, "{case}: a barrier has no data");
                said.insert(message.id, heard[member as usize]);
            }
        }
        Event::Ends { receives } => {
            let news = receives.iter().map(|message| said[&message.id]).fold(0, |all, one| all | one);
            heard[member as usize] |= news;
        }
    });
    heard
}

/// A member passes on what it has combined so far, and keeps what came from before it.
pub fn scan(script: &Script, case: &str) {
    let mut so_far: Vec<Members> = (0..script.size).map(|here| 1 << here).collect();
    let mut result = vec![0; script.size as usize];
    let mut said = HashMap::new();
    script.run(case, |member, event| match event {
        Event::Begins { sends } => sends.iter().for_each(|message| {
            said.insert(message.id, so_far[member as usize]);
        }),
        Event::Ends { receives } => {
            for message in receives {
                assert_eq!(message.piece.bytes, script.bytes, "{case}");
                let (came, here) = (said[&message.id], member as usize);
                assert_eq!(so_far[here] & came, 0, "{case}: {member} combines a contribution twice");
                so_far[here] |= came;
                if message.from < member {
                    assert_eq!(result[here] & came, 0, "{case}: {member} combines a contribution twice");
                    result[here] |= came;
                }
            }
        }
    });
    let promised: Vec<Members> = (0..script.size).map(everyone).collect();
    assert_eq!(result, promised, "{case}");
}

/// Blocks go straight to whom they are for; with Bruck's algorithm, in round k those that still have to go 2^k places on.
pub fn alltoall(script: &Script, case: &str) {
    let size = script.size;
    let goes_on = |round: usize, far: u32| script.algorithm != Algorithm::Bruck || far & (1 << round) != 0;
    // By member: for whom the blocks are that it has.
    let mut has: Vec<Vec<u32>> = (0..size).map(|here| (0..size).filter(|to| *to != here).collect()).collect();
    let mut got = vec![0; size as usize];
    for round in 0..script.pages.iter().map(Vec::len).max().unwrap_or(0) {
        let mut moved = Vec::new();
        for here in 0..size {
            for line in script.pages[here as usize].get(round).map_or(&[][..], |page| &page.lines) {
                let Line::Send { to, piece } = *line else { continue };
                let is_for = |block: &u32| match script.algorithm {
                    Algorithm::Bruck => goes_on(round, (block + size - here) % size),
                    _ => *block == to,
                };
                let (sent, kept): (Vec<u32>, Vec<u32>) = has[here as usize].iter().partition(|block| is_for(block));
                assert_eq!(piece.bytes, script.bytes * sent.len() as u64, "{case}: {here} in round {round}");
                has[here as usize] = kept;
                moved.push((to, sent));
            }
        }
        for (to, blocks) in moved {
            got[to as usize] += blocks.iter().filter(|block| **block == to).count();
            has[to as usize].extend(blocks.into_iter().filter(|block| *block != to));
        }
    }
    assert!(has.iter().all(Vec::is_empty), "{case}: {has:?} is left");
    assert!(got.iter().all(|got| *got == size as usize - 1), "{case}: {got:?}");
}
