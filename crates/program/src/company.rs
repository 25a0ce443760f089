//! The processes that analyse a recording together, and who of them looks after which rank.
//!
//! Every analysis is written as if there were several: each process reads its own ranks, and what it has to know of others comes in
//! parcels. Usually there is one process, and then its parcels never leave it. All sums are whole nanoseconds, so that their order does
//! not matter and any number of processes finds the same.

use std::ops::Range;

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sintonia_recording::Recording;

/// The processes of an analysis.
pub trait Company {
    /// How many there are.
    fn size(&self) -> usize;

    /// Which one this is.
    fn here(&self) -> usize;

    /// Gives parcel `i` to process `i`, and gets what each of them had for this one. All of them call it at the same time.
    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>>;
}

/// One process, by itself.
pub struct Alone;

impl Company for Alone {
    fn size(&self) -> usize {
        1
    }

    fn here(&self) -> usize {
        0
    }

    fn exchange(&self, parcels: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        parcels
    }
}

impl dyn Company + '_ {
    /// The same for lists of anything; a process by itself keeps them as they are.
    pub fn swap<T: Pod>(&self, parcels: Vec<Vec<T>>) -> Vec<Vec<T>> {
        if self.size() == 1 {
            return parcels;
        }
        let bytes = parcels.iter().map(|parcel| bytemuck::cast_slice(parcel).to_vec()).collect();
        self.exchange(bytes).iter().map(|parcel| bytemuck::allocation::pod_collect_to_vec(parcel)).collect()
    }

    /// What every process has, in the order of the processes.
    pub fn gather<T: Serialize + DeserializeOwned>(&self, mine: T) -> Vec<T> {
        if self.size() == 1 {
            return vec![mine];
        }
        let bytes = postcard::to_allocvec(&mine).expect("plain numbers and text can always be written");
        let read = |bytes: Vec<u8>| postcard::from_bytes(&bytes).expect("what this program wrote, it can read");
        self.exchange(vec![bytes; self.size()]).into_iter().map(read).collect()
    }
}

/// Which process looks after which ranks: each has a range of them, with about as many calls as any other.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The first rank of each process, and one past the last rank.
    bounds: Vec<u32>,
    here: usize,
}

impl Share {
    /// The shares of a company in a recording.
    pub fn new(recording: &Recording, company: &dyn Company) -> Share {
        // Wide enough for any number that a damaged header may claim.
        let calls = |rank: u32| recording.header.rank(rank).map_or(0, |rank| u128::from(rank.calls)) + 1;
        let ranks = recording.header.size as u32;
        let all: u128 = (0..ranks).map(calls).sum();
        let mut bounds = vec![0];
        let mut before = 0;
        for rank in 0..ranks {
            while bounds.len() < company.size() && before * company.size() as u128 >= all * bounds.len() as u128 {
                bounds.push(rank);
            }
            before += calls(rank);
        }
        bounds.resize(company.size() + 1, ranks);
        Share { bounds, here: company.here() }
    }

    /// The ranks of this process.
    pub fn own(&self) -> Range<u32> {
        self.bounds[self.here]..self.bounds[self.here + 1]
    }

    /// The process that looks after a rank.
    pub fn owner(&self, rank: u32) -> usize {
        self.bounds[1..].partition_point(|bound| *bound <= rank).min(self.bounds.len() - 2)
    }

    /// Sorts things by the process that looks after the rank they are about, and keeps their order otherwise.
    pub fn sorted<T>(&self, things: impl IntoIterator<Item = T>, rank: impl Fn(&T) -> u32) -> Vec<Vec<T>> {
        let mut parcels: Vec<Vec<T>> = (1..self.bounds.len()).map(|_| Vec::new()).collect();
        for thing in things {
            parcels[self.owner(rank(&thing))].push(thing);
        }
        parcels
    }
}
