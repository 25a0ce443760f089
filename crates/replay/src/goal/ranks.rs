//! What each rank has: when its processors and network interfaces are free, and who waits for them.
//!
//! All of a rank lies side by side, in one line of the cache for a rank of one processor: with many ranks, what an event costs is waiting
//! for memory.

use sintonia_formats::goal::Goal;

use super::line::Line;
use super::pairs::Pairs;

/// What a processor is used for, alone or with one side of a network interface.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Computation.
    Compute,
    /// Sending a message.
    Send,
    /// Taking a message in.
    TakeIn,
}

/// Where something takes place: places of the processor, of the side of the network interface, and of those that wait for both.
#[derive(Clone, Copy)]
pub struct Seat {
    cpu: usize,
    side: usize,
    line: usize,
}

/// As much as a cache holds together.
#[derive(Clone)]
#[repr(align(64))]
struct Block([u64; BLOCK]);

const BLOCK: usize = 8;

/// The ranks. For each: the processors, the network interfaces going out and coming in, and three lines for each pair of them.
pub struct Ranks {
    blocks: Vec<Block>,
    blocks_each: usize,
    cpus: usize,
    nics: usize,
    pairs: Pairs,
}

impl Ranks {
    /// All are free, and nobody waits.
    pub fn of(goal: &Goal) -> Ranks {
        let (cpus, nics, pairs) = (goal.cpus().max(1), goal.nics().max(1), Pairs::of(goal));
        let clocks = cpus + 2 * nics;
        let blocks_each = (clocks + 3 * pairs.count()).div_ceil(BLOCK);
        let mut ranks = Ranks { blocks: vec![Block([0; BLOCK]); goal.rank_count() * blocks_each], blocks_each, cpus, nics, pairs };
        for rank in 0..goal.rank_count() {
            for line in 0..3 * ranks.pairs.count() {
                *ranks.word(rank * blocks_each * BLOCK + clocks + line) = Line::EMPTY.0;
            }
        }
        ranks
    }

    /// Whether each rank has one processor and one network interface.
    #[inline]
    pub fn are_simple(&self) -> bool {
        self.pairs.count() == 1 && self.cpus + self.nics == 2
    }

    /// Where something takes place.
    #[inline]
    pub fn seat(&self, rank: usize, cpu: u8, nic: u8, purpose: Use) -> Seat {
        let rank = rank * self.blocks_each * BLOCK;
        let side = match purpose {
            Use::Compute => usize::from(cpu),
            Use::Send => self.cpus + usize::from(nic),
            Use::TakeIn => self.cpus + self.nics + usize::from(nic),
        };
        let line = self.cpus + 2 * self.nics + 3 * self.pairs.number(cpu, nic) + purpose as usize;
        Seat { cpu: rank + usize::from(cpu), side: rank + side, line: rank + line }
    }

    /// When a processor is free.
    #[inline]
    pub fn cpu(&mut self, rank: usize, cpu: u8) -> &mut u64 {
        self.word(rank * self.blocks_each * BLOCK + usize::from(cpu))
    }

    /// When the last processor of a rank is free.
    pub fn end(&mut self, rank: usize) -> u64 {
        (0..self.cpus).map(|cpu| *self.cpu(rank, cpu as u8)).max().unwrap_or(0)
    }

    /// When all that something needs is free.
    #[inline]
    pub fn free_at(&mut self, seat: Seat) -> u64 {
        (*self.word(seat.cpu)).max(*self.word(seat.side))
    }

    /// Keeps a processor and a side of a network interface busy.
    #[inline]
    pub fn occupy(&mut self, seat: Seat, cpu_until: u64, side_until: u64) {
        *self.word(seat.side) = side_until;
        *self.word(seat.cpu) = cpu_until;
    }

    /// Those who wait for it.
    #[inline]
    pub fn line(&mut self, seat: Seat) -> Line {
        Line(*self.word(seat.line))
    }

    /// Changes who waits for it.
    #[inline]
    pub fn set_line(&mut self, seat: Seat, line: Line) {
        *self.word(seat.line) = line.0;
    }

    #[inline]
    fn word(&mut self, place: usize) -> &mut u64 {
        &mut self.blocks[place / BLOCK].0[place % BLOCK]
    }
}
