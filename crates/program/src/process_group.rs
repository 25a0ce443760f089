//! The processes that analyse a recording together, and the distribution of ranks among them.
//!
//! Every analysis is written for several processes: each reads its own ranks and gets everything else in all-to-all exchanges. With a
//! single process, which is usual, nothing is copied. All sums are integer nanoseconds, so their order does not matter and any number of
//! processes computes the same result.

use std::ops::Range;

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sintonia_recording::Recording;

/// The processes of an analysis.
pub trait ProcessGroup {
    /// Number of processes.
    fn size(&self) -> usize;

    /// Index of this process.
    fn own_index(&self) -> usize;

    /// Sends buffer `i` to process `i` and returns the buffers received, by sender. A collective operation: all processes call it.
    fn all_to_all_bytes(&self, buffers: Vec<Vec<u8>>) -> Vec<Vec<u8>>;
}

/// A group of one process.
pub struct SingleProcess;

impl ProcessGroup for SingleProcess {
    fn size(&self) -> usize {
        1
    }

    fn own_index(&self) -> usize {
        0
    }

    fn all_to_all_bytes(&self, buffers: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        buffers
    }
}

impl dyn ProcessGroup + '_ {
    /// All-to-all exchange of typed buffers; a single process gets its own buffers back without copying.
    pub fn all_to_all<T: Pod>(&self, buffers: Vec<Vec<T>>) -> Vec<Vec<T>> {
        if self.size() == 1 {
            return buffers;
        }
        let bytes = buffers.iter().map(|buffer| bytemuck::cast_slice(buffer).to_vec()).collect();
        self.all_to_all_bytes(bytes).iter().map(|buffer| bytemuck::allocation::pod_collect_to_vec(buffer)).collect()
    }

    /// Runs two analyses: a single process at the same time, several one after the other, because all must exchange in the same order.
    pub fn join<A: Send, B: Send>(
        &self,
        first: impl FnOnce(&dyn ProcessGroup) -> A + Send,
        second: impl FnOnce(&dyn ProcessGroup) -> B + Send,
    ) -> (A, B) {
        match self.size() {
            1 => rayon::join(|| first(&SingleProcess), || second(&SingleProcess)),
            _ => (first(self), second(self)),
        }
    }

    /// The values of all processes, by process index.
    pub fn all_gather<T: Serialize + DeserializeOwned>(&self, mine: T) -> Vec<T> {
        if self.size() == 1 {
            return vec![mine];
        }
        let bytes = postcard::to_allocvec(&mine).expect("plain numbers and text can always be written");
        let read = |bytes: Vec<u8>| postcard::from_bytes(&bytes).expect("what this program wrote, it can read");
        self.all_to_all_bytes(vec![bytes; self.size()]).into_iter().map(read).collect()
    }
}

/// Block distribution of ranks over processes, balanced by number of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct RankDistribution {
    /// The first rank of each process, followed by the number of ranks.
    bounds: Vec<u32>,
    own_index: usize,
}

impl RankDistribution {
    /// Distributes the ranks of a recording over a process group.
    pub fn new(recording: &Recording, comm: &dyn ProcessGroup) -> RankDistribution {
        // u128, because a damaged header may claim any number of calls.
        let calls = |rank: u32| recording.header.rank(rank).map_or(0, |rank| u128::from(rank.calls)) + 1;
        let ranks = recording.header.size as u32;
        let all: u128 = (0..ranks).map(calls).sum();
        let mut bounds = vec![0];
        let mut before = 0;
        for rank in 0..ranks {
            while bounds.len() < comm.size() && before * comm.size() as u128 >= all * bounds.len() as u128 {
                bounds.push(rank);
            }
            before += calls(rank);
        }
        bounds.resize(comm.size() + 1, ranks);
        RankDistribution { bounds, own_index: comm.own_index() }
    }

    /// The ranks of this process.
    pub fn own_ranks(&self) -> Range<u32> {
        self.bounds[self.own_index]..self.bounds[self.own_index + 1]
    }

    /// The process that owns a rank.
    pub fn owner(&self, rank: u32) -> usize {
        self.bounds[1..].partition_point(|bound| *bound <= rank).min(self.bounds.len() - 2)
    }

    /// Groups items into one buffer per owning process, keeping their order.
    pub fn group_by_owner<T>(&self, items: impl IntoIterator<Item = T>, rank: impl Fn(&T) -> u32) -> Vec<Vec<T>> {
        let mut buffers: Vec<Vec<T>> = (1..self.bounds.len()).map(|_| Vec::new()).collect();
        for item in items {
            buffers[self.owner(rank(&item))].push(item);
        }
        buffers
    }
}
