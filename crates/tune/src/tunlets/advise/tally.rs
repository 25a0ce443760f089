//! What was measured at the places that are looked at.

use std::collections::HashMap;

use crate::tunlet::Joined;

/// Calls, together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// How long they took.
    pub seconds: f64,
    /// The second of the values, all together: bytes of functions of MPI, seconds in MPI of others.
    pub second: f64,
}

impl Tally {
    /// Of what was joined on the way.
    pub fn of(joined: &Joined) -> Tally {
        let sum = |place: usize| joined.values.get(place).map_or(0.0, |sums| sums.sum());
        Tally { count: joined.count, seconds: sum(0), second: sum(1) }
    }

    /// Both.
    pub fn joined(self, other: Tally) -> Tally {
        Tally { count: self.count + other.count, seconds: self.seconds + other.seconds, second: self.second + other.second }
    }
}

/// The places that are looked at, by number.
#[derive(Debug, Default)]
pub struct Looks {
    next: usize,
    tallies: HashMap<usize, Tally>,
}

impl Looks {
    /// Numbers begin here.
    pub fn new(first: usize) -> Looks {
        Looks { next: first, tallies: HashMap::new() }
    }

    /// A place that is looked at from now on.
    pub fn begin(&mut self) -> usize {
        self.next += 1;
        self.tallies.insert(self.next - 1, Tally::default());
        self.next - 1
    }

    /// Something was measured there.
    pub fn note(&mut self, number: usize, tally: Tally) {
        if let Some(sum) = self.tallies.get_mut(&number) {
            *sum = sum.joined(tally);
        }
    }

    /// All that was measured there.
    pub fn tally(&self, number: usize) -> Tally {
        self.tallies.get(&number).copied().unwrap_or_default()
    }

    /// It is looked at no more.
    pub fn end(&mut self, number: usize) {
        self.tallies.remove(&number);
    }
}
