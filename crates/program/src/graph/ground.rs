//! What is known of the program before its ranks are followed: its places, and the steps between them that nobody takes twice.
//!
//! A program calls its helpers from everywhere, so the same place is come to from parts of the program that have nothing to do with each
//! other, and a graph of places alone would have a way from each of them to all others. Steps that no thread takes twice part them, and so
//! does coming to a place for the first time: what lies between is a *piece*, straight or a loop (see [`super::context`]).

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use sintonia_recording::header::Header;
use sintonia_recording::table::Call;
use sintonia_recording::{Error, Recording};

use super::places::{Numbers, Places, Spot};

/// The places of a program and how they are connected.
#[derive(Debug, Default)]
pub struct Ground {
    places: Places,
    /// The spots, numbered.
    pub spots: Numbers<Spot>,
    /// Steps from one spot to another that no thread takes twice.
    once: HashSet<(usize, usize)>,
}

/// The steps of one rank, with how often a thread takes each at most.
#[derive(Default, Serialize, Deserialize)]
pub struct Steps {
    /// The spots, by numbers of their own.
    spots: Vec<Spot>,
    most: HashMap<(usize, usize), u64>,
}

/// The steps of one rank while they are counted.
#[derive(Default)]
struct Counting {
    spots: Numbers<Spot>,
    threads: HashMap<u16, ThreadSteps>,
}

/// The steps of one thread while they are counted.
#[derive(Default)]
struct ThreadSteps {
    spot: Option<usize>,
    counts: HashMap<(usize, usize), u64>,
}

impl Steps {
    /// The steps of one rank of a recording.
    pub fn of(recording: &Recording, rank: u32, places: &Places) -> Result<Steps, Error> {
        let mut counting = Counting::default();
        let mut calls = recording.calls(rank)?;
        while let Some(call) = calls.next_call() {
            counting.count(&call, places);
        }
        Ok(counting.done())
    }

    #[cfg(test)]
    pub fn of_calls<'a>(calls: impl Iterator<Item = Call<'a>>, places: &Places) -> Steps {
        let mut counting = Counting::default();
        calls.for_each(|call| counting.count(&call, places));
        counting.done()
    }
}

impl Counting {
    fn count(&mut self, call: &Call, places: &Places) {
        let spot = self.spots.number(places.spot(call));
        let thread = self.threads.entry(call.thread).or_default();
        if let Some(before) = thread.spot.replace(spot) {
            *thread.counts.entry((before, spot)).or_default() += 1;
        }
    }

    fn done(self) -> Steps {
        let mut most = HashMap::new();
        for (step, count) in self.threads.into_values().flat_map(|thread| thread.counts) {
            keep_most(&mut most, step, count);
        }
        Steps { spots: self.spots.list, most }
    }
}

impl Ground {
    /// The ground that all ranks stand on.
    pub fn of(header: &Header, ranks: Vec<Steps>) -> Ground {
        let mut ground = Ground { places: Places::of(header), ..Ground::default() };
        let mut most = HashMap::new();
        for steps in ranks {
            let number: Vec<usize> = steps.spots.iter().map(|spot| ground.spots.number(*spot)).collect();
            for ((from, to), count) in steps.most {
                keep_most(&mut most, (number[from], number[to]), count);
            }
        }
        ground.once = most.into_iter().filter(|(_, count)| *count == 1).map(|(step, _)| step).collect();
        ground
    }

    /// The spot of a call, if any rank was seen there.
    pub fn spot(&self, call: &Call) -> Option<usize> {
        self.spots.find(self.places.spot(call))
    }
}

/// Where a thread is: at which spot, and in which piece of its way. Once its rank has been read, only the piece matters.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Position {
    /// How many pieces lie behind it.
    pub piece: usize,
    #[serde(skip)]
    spot: Option<usize>,
    #[serde(skip)]
    seen: HashSet<usize>,
}

impl Position {
    /// The thread comes to a spot; says whether a new piece begins there.
    pub fn advance(&mut self, spot: usize, ground: &Ground) -> bool {
        let Some(before) = self.spot.replace(spot) else {
            self.seen.insert(spot);
            return false;
        };
        let new = self.seen.insert(spot) || ground.once.contains(&(before, spot));
        self.piece += usize::from(new);
        new
    }
}

fn keep_most(most: &mut HashMap<(usize, usize), u64>, step: (usize, usize), count: u64) {
    let kept = most.entry(step).or_default();
    *kept = count.max(*kept);
}
