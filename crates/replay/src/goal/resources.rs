//! Resources of the ranks: when CPUs and NICs are free, and who waits for them.
//!
//! All data of a rank is adjacent, in one cache line for single-CPU ranks: with many ranks, cache misses dominate the cost of an event.

use sintonia_formats::goal::GoalSchedule;

use super::cpu_nic_pairs::CpuNicPairs;
use super::op_queue::OperationQueue;

/// Use of a CPU, alone or together with one direction of a NIC.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceUse {
    /// Computation.
    Compute,
    /// Sending a message.
    Send,
    /// Receiving a message.
    Receive,
}

/// Resources of an operation: word indices of its CPU, of one direction of its NIC, and of the queue for both.
#[derive(Clone, Copy)]
pub(super) struct ResourceSet {
    cpu: usize,
    nic: usize,
    queue: usize,
}

/// One cache line.
#[derive(Clone)]
#[repr(align(64))]
struct CacheLine([u64; WORDS_PER_LINE]);

const WORDS_PER_LINE: usize = 8;

/// All ranks. Per rank: CPUs, outgoing NICs, incoming NICs, and three queues per (CPU, NIC) pair.
pub(super) struct RankResources {
    cache_lines: Vec<CacheLine>,
    lines_per_rank: usize,
    cpus: usize,
    nics: usize,
    pairs: CpuNicPairs,
}

impl RankResources {
    /// All resources free, all queues empty.
    pub(super) fn new(goal: &GoalSchedule) -> RankResources {
        let (cpus, nics, pairs) = (goal.cpus().max(1), goal.nics().max(1), CpuNicPairs::new(goal));
        let clocks = cpus + 2 * nics;
        let blocks_each = (clocks + 3 * pairs.count()).div_ceil(WORDS_PER_LINE);
        let mut ranks = RankResources {
            cache_lines: vec![CacheLine([0; WORDS_PER_LINE]); goal.rank_count() * blocks_each],
            lines_per_rank: blocks_each,
            cpus,
            nics,
            pairs,
        };
        for rank in 0..goal.rank_count() {
            for queue in 0..3 * ranks.pairs.count() {
                *ranks.word(rank * blocks_each * WORDS_PER_LINE + clocks + queue) = OperationQueue::EMPTY.0;
            }
        }
        ranks
    }

    /// Whether every rank has one CPU and one NIC.
    #[inline]
    pub(super) fn are_single(&self) -> bool {
        self.pairs.count() == 1 && self.cpus + self.nics == 2
    }

    /// Resources of an operation.
    #[inline]
    pub(super) fn resource_set(&self, rank: usize, cpu: u8, nic: u8, usage: ResourceUse) -> ResourceSet {
        let rank = rank * self.lines_per_rank * WORDS_PER_LINE;
        let side = match usage {
            ResourceUse::Compute => usize::from(cpu),
            ResourceUse::Send => self.cpus + usize::from(nic),
            ResourceUse::Receive => self.cpus + self.nics + usize::from(nic),
        };
        let queue = self.cpus + 2 * self.nics + 3 * self.pairs.index(cpu, nic) + usage as usize;
        ResourceSet { cpu: rank + usize::from(cpu), nic: rank + side, queue: rank + queue }
    }

    /// When a CPU is free.
    #[inline]
    pub(super) fn cpu_free_time(&mut self, rank: usize, cpu: u8) -> &mut u64 {
        self.word(rank * self.lines_per_rank * WORDS_PER_LINE + usize::from(cpu))
    }

    /// When the last CPU of a rank is free.
    pub(super) fn end_time(&mut self, rank: usize) -> u64 {
        (0..self.cpus).map(|cpu| *self.cpu_free_time(rank, cpu as u8)).max().unwrap_or(0)
    }

    /// When all resources are free.
    #[inline]
    pub(super) fn free_at(&mut self, resources: ResourceSet) -> u64 {
        (*self.word(resources.cpu)).max(*self.word(resources.nic))
    }

    /// Occupies a CPU and one direction of a NIC.
    #[inline]
    pub(super) fn occupy(&mut self, resources: ResourceSet, cpu_until: u64, side_until: u64) {
        *self.word(resources.nic) = side_until;
        *self.word(resources.cpu) = cpu_until;
    }

    /// The queue for the resources.
    #[inline]
    pub(super) fn queue(&mut self, resources: ResourceSet) -> OperationQueue {
        OperationQueue(*self.word(resources.queue))
    }

    #[inline]
    pub(super) fn set_queue(&mut self, resources: ResourceSet, queue: OperationQueue) {
        *self.word(resources.queue) = queue.0;
    }

    #[inline]
    fn word(&mut self, index: usize) -> &mut u64 {
        &mut self.cache_lines[index / WORDS_PER_LINE].0[index % WORDS_PER_LINE]
    }
}
