//! What is made different in the program: how long it computes, and how its operations of groups are built.

use std::collections::{BTreeMap, HashMap, HashSet};

use sintonia_machine::Collective;

use crate::Error;
use crate::collective::Algorithm;
use crate::manners::Manners;
use crate::schedule::{LineId, Next, Schedule, Stretch};

/// Places in the program where computation is not changed.
const NONE: u32 = u32::MAX;

/// Everything that is made different. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Computation at certain call sites.
    pub segments: Vec<SegmentChange>,
    /// How long each rank computes between certain call sites.
    pub loads: Loads,
    /// Computation varies at random.
    pub noise: Option<Noise>,
    /// Messages are not in each other's way.
    pub no_contention: bool,
    /// Receives from anyone get the message that comes first, not the one that was recorded.
    pub wildcards_by_arrival: bool,
    /// Operations of groups that are built in another way.
    pub algorithms: BTreeMap<Collective, Built>,
    /// How those are built that are not named there.
    pub all_algorithms: Option<Built>,
    /// Calls that are made in another way; only on the network of the recording.
    pub manners: Option<Manners>,
    /// Where what a call needs never comes, it goes on without: a recording that was cut does not have everything.
    pub goes_on: bool,
}

/// How an operation of a group is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Built {
    /// It takes what was measured, or else a formula, once everyone is there.
    Closed,
    /// By an algorithm.
    By(Algorithm),
    /// As a library chooses.
    Library(crate::collective::Library),
}

/// Computation between certain calls.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentChange {
    /// The call sites before it; any if there is none.
    pub from: Option<HashSet<u32>>,
    /// The call sites after it; any if there is none.
    pub to: Option<HashSet<u32>>,
    /// How long it takes.
    pub takes: Takes,
}

/// How long computation takes instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// So many times as long.
    Times(f64),
    /// So many seconds each time.
    Each(f64),
}

/// Computation that varies: each time it takes up to so much longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The mean share by which it is longer.
    pub share: f64,
    /// What the numbers are drawn from.
    pub seed: u64,
}

/// How long ranks compute between two call sites, by these and the rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loads(HashMap<(u32, u32), HashMap<u32, Takes>>);

impl Changes {
    /// Whether computation everywhere has to be looked at.
    #[inline]
    pub fn touches_everything(&self) -> bool {
        !self.loads.0.is_empty() || self.noise.is_some()
    }

    /// The first change of computation before a call site; a number that [`Changes::computes`] takes.
    pub fn segment(&self, site: u32) -> u32 {
        self.segments.iter().position(|change| change.is_before(site)).map_or(NONE, |place| place as u32)
    }

    /// How long a rank computes between two call sites, for the so-manieth time, where it was recorded to compute so long.
    pub fn computes(&self, first: u32, rank: u32, (from, to): (u32, u32), turn: u64, seconds: f64) -> f64 {
        let mut seconds = seconds;
        if let Some(takes) = self.loads.0.get(&(from, to)).and_then(|ranks| ranks.get(&rank)) {
            seconds = takes.instead_of(seconds);
        }
        for change in self.segments.iter().skip(first as usize) {
            if change.is_before(to) && change.from.as_ref().is_none_or(|sites| sites.contains(&from)) {
                seconds = change.takes.instead_of(seconds);
            }
        }
        match &self.noise {
            // The mean of the exponential distribution is 1: mostly a little, sometimes much, as disturbances are.
            Some(noise) => seconds * (1.0 + noise.share * -(1.0 - random(noise.seed, rank, turn)).ln()),
            None => seconds,
        }
    }
}

impl SegmentChange {
    /// Whether computation before this call site may be meant.
    fn is_before(&self, site: u32) -> bool {
        self.to.as_ref().is_none_or(|sites| sites.contains(&site))
    }
}

/// A number from 0 to 1 that is always the same for the same rank and turn.
fn random(seed: u64, rank: u32, turn: u64) -> f64 {
    // The finisher of SplitMix64, by Sebastiano Vigna.
    let mut word = seed ^ (u64::from(rank) << 32) ^ turn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((word ^ word >> 31) >> 11) as f64 / (1u64 << 53) as f64
}

impl Takes {
    /// How long computation takes that took so many seconds.
    fn instead_of(self, seconds: f64) -> f64 {
        match self {
            Takes::Times(times) => seconds * times,
            Takes::Each(each) => each,
        }
    }

    /// One change after another.
    fn then(self, next: Takes) -> Takes {
        match self {
            Takes::Times(times) => match next {
                Takes::Times(more) => Takes::Times(times * more),
                each => each,
            },
            Takes::Each(each) => Takes::Each(next.instead_of(each)),
        }
    }
}

impl Loads {
    /// A rank computes another time between two call sites, after what was said of it before.
    pub fn change(&mut self, segment: (u32, u32), rank: u32, takes: Takes) {
        self.0.entry(segment).or_default().entry(rank).and_modify(|known| *known = known.then(takes)).or_insert(takes);
    }

    /// Those that make every rank compute as long as the mean of all that compute there.
    pub fn balanced(schedule: &dyn Schedule) -> Result<Loads, Error> {
        let ranks = schedule.ranks() as usize;
        let mut sums: HashMap<(u32, u32), Vec<f64>> = HashMap::new();
        for line in schedule.lines()? {
            add_up(schedule, line, ranks, &mut sums)?;
        }
        let evened = |sums: Vec<f64>| {
            let computing: Vec<(u32, f64)> = (0..).zip(sums).filter(|(_, sum)| *sum > 0.0).collect();
            let mean = computing.iter().map(|(_, sum)| sum).sum::<f64>() / computing.len().max(1) as f64;
            computing.into_iter().map(|(rank, sum)| (rank, Takes::Times(mean / sum))).collect()
        };
        Ok(Loads(sums.into_iter().map(|(segment, sums)| (segment, evened(sums))).collect()))
    }
}

fn add_up(schedule: &dyn Schedule, line: LineId, ranks: usize, sums: &mut HashMap<(u32, u32), Vec<f64>>) -> Result<(), Error> {
    let mut source = schedule.open(line)?;
    let (mut stretch, mut from) = (Stretch::default(), NONE);
    while source.next(&mut stretch)? != Next::End {
        for row in &stretch.rows {
            let to = stretch.actions[row.action as usize].shape.site;
            let sum = sums.entry((from, to)).or_insert_with(|| vec![0.0; ranks]);
            if let Some(sum) = sum.get_mut(line.rank as usize) {
                *sum += row.computed_ns as f64 * 1e-9;
            }
            from = to;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_a_computation_follow_each_other() {
        let (third, double) = (Takes::Times(1.0 / 3.0), Takes::Times(2.0));
        assert!((third.then(double).instead_of(3.0) - 2.0).abs() < 1e-12, "two thirds");
        assert_eq!(Takes::Each(8.0).then(Takes::Times(0.25)), Takes::Each(2.0));
        assert_eq!(double.then(Takes::Each(7.0)), Takes::Each(7.0));
    }
}
