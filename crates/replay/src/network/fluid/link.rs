//! Links, who flows over them, and which of them could ever be in somebody's way.

use super::LinkId;
use super::share::CLOSE;
use super::stream::{Hop, Stream};
use crate::network::few::Few;
use crate::network::slots::Slots;

/// Said of streams that do not all begin, or end, on one link.
const SEVERAL: LinkId = LinkId::MAX;

/// All links.
#[derive(Debug)]
pub struct Links {
    all: Vec<Link>,
    /// Whether those on a link could ever want more than it has, and no other link is full for all of them before it is. Kept apart because
    /// it is asked of every link of a route, and of most there is nothing else to ask.
    tight: Vec<bool>,
}

/// A link, and who flows over it.
#[derive(Debug)]
pub struct Link {
    pub capacity: f64,
    pub streams: Few<u32, 6>,
    /// Its place among the links that are being shared anew, or [`NOT_SHARED`](super::share::NOT_SHARED).
    pub number: u32,
    /// What those on it would take if each was alone.
    demand: f64,
    /// The links on which all of them begin and end.
    common: Ends,
    /// Whether some end here.
    is_last: bool,
}

/// The first and the last link of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub first: LinkId,
    pub last: LinkId,
}

impl Links {
    pub fn new(capacities: impl Iterator<Item = f64>) -> Links {
        let number = super::share::NOT_SHARED;
        let new = |capacity| Link { capacity, streams: Few::default(), number, demand: 0.0, common: Ends::default(), is_last: false };
        let all: Vec<Link> = capacities.map(new).collect();
        Links { tight: vec![false; all.len()], all }
    }

    pub fn is_tight(&self, link: LinkId) -> bool {
        self.tight[link as usize]
    }

    /// Adds those of some links that are tight. Which ones those are nobody can foresee, a processor neither, so there is no branch for it.
    pub fn tight_ones(&self, hops: &[Hop], found: &mut Vec<LinkId>) {
        let mut count = found.len();
        found.resize(count + hops.len(), 0);
        for hop in hops {
            found[count] = hop.link;
            count += usize::from(self.is_tight(hop.link));
        }
        found.truncate(count);
    }

    /// A stream begins to flow over a link; its place there.
    pub fn join(&mut self, here: LinkId, slot: u32, ends: Ends, most: f64) -> u32 {
        let link = &mut self[here];
        let place = link.streams.len() as u32;
        link.streams.push(slot);
        link.demand += most;
        if place == 0 {
            (link.common, link.is_last) = (ends, ends.last == here);
        } else {
            link.common = link.common.with(ends);
            link.is_last |= ends.last == here;
            self.judge(here);
        }
        place
    }

    /// The stream at that place does not flow over a link any more; who has its place now.
    pub fn leave(&mut self, here: LinkId, place: u32, streams: &Slots<Stream>) -> Option<u32> {
        let link = &mut self[here];
        let gone = link.streams.swap_remove(place as usize);
        match link.streams[..] {
            // Sums that go up and down lose digits, so an empty link begins anew.
            [] => link.demand = 0.0,
            [one] => {
                (link.common, link.demand) = (streams[one].ends, streams[one].most);
                link.is_last = link.common.last == here;
            }
            _ => link.demand -= streams[gone].most,
        }
        let moved = link.streams.get(place as usize).copied();
        self.judge(here);
        moved
    }

    /// Whether a link has become tight, or is no more.
    fn judge(&mut self, here: LinkId) {
        let link = &self[here];
        let wanted = link.demand > link.capacity * (1.0 + CLOSE);
        self.tight[here as usize] = wanted && !self.is_spared(here);
    }

    /// Whether another link, that is not wider, carries all that this one carries: then that one is full first. Of two that carry the same and
    /// are alike, the one on which streams end is not spared.
    fn is_spared(&self, here: LinkId) -> bool {
        let link = &self[here];
        let spares = |other: LinkId| other != SEVERAL && other != here && self[other].capacity <= link.capacity;
        spares(link.common.last) || !link.is_last && spares(link.common.first)
    }
}

impl std::ops::Index<LinkId> for Links {
    type Output = Link;

    fn index(&self, link: LinkId) -> &Link {
        &self.all[link as usize]
    }
}

impl std::ops::IndexMut<LinkId> for Links {
    fn index_mut(&mut self, link: LinkId) -> &mut Link {
        &mut self.all[link as usize]
    }
}

impl Ends {
    fn with(self, other: Ends) -> Ends {
        let both = |one: LinkId, other: LinkId| if one == other { one } else { SEVERAL };
        Ends { first: both(self.first, other.first), last: both(self.last, other.last) }
    }
}
