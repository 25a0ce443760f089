//! A message under way.

use super::LinkId;
use super::link::Ends;
use crate::network::Flow;
use crate::network::few::Few;

/// A message under way.
#[derive(Debug, Default)]
pub struct Stream {
    pub flow: Flow,
    /// The rate that it cannot exceed even alone.
    pub most: f64,
    pub ends: Ends,
    pub hops: Few<Hop, 6>,
}

/// A link of a route, and the place of the stream among those on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hop {
    pub link: LinkId,
    pub place: u32,
}

/// How fast a stream flows, kept apart from the rest so that whoever looks through the streams of a link finds them close together.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Bytes per second; of a member the rate that is being found for it.
    pub rate: f64,
    /// Of a member: the rate it had before.
    pub before: f64,
    /// What keeps it from flowing faster.
    pub hindrance: Hindrance,
    /// Of a member: where it is told which of its links are being shared anew.
    pub ways: [u32; 2],
    /// Bytes that had not flown at `since_s`.
    pub left: f64,
    pub since_s: f64,
    /// When it ends at its rate, and when that is looked at, which may be before but is never after.
    pub ends_s: f64,
    pub due_s: f64,
}

/// What keeps a stream from flowing faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hindrance(LinkId);

impl Hindrance {
    /// It could not, even alone.
    pub const ITSELF: Hindrance = Hindrance(LinkId::MAX);

    /// A link that is full, on which nobody has more.
    pub fn link(link: LinkId) -> Hindrance {
        Hindrance(link)
    }
}

impl Pace {
    const OUTSIDE: [u32; 2] = [u32::MAX; 2];

    /// So many bytes that do not flow yet.
    pub fn standing(left: f64) -> Pace {
        let never = f64::INFINITY;
        Pace { rate: 0.0, before: 0.0, hindrance: Hindrance::ITSELF, ways: Pace::OUTSIDE, left, since_s: 0.0, ends_s: never, due_s: never }
    }

    /// Whether its rate is being found.
    pub fn is_member(&self) -> bool {
        self.ways != Pace::OUTSIDE
    }

    /// Its rate has been found.
    pub fn dismiss(&mut self) {
        self.ways = Pace::OUTSIDE;
    }
}
