//! Links of the fluid model, their streams, and which of them can limit rates.

use smallvec::SmallVec;

use super::LinkId;
use super::stream::{FluidStream, RouteEnds, RouteHop};
use crate::network::slot_arena::SlotArena;

/// Relative tolerance of rates.
pub(super) const RATE_TOLERANCE: f64 = 1e-9;

/// Index of a link that is not being solved.
pub(super) const NOT_CONTENDED: u32 = u32::MAX;

/// The streams do not all start, or end, on one link.
const MULTIPLE_LINKS: LinkId = LinkId::MAX;

/// All links.
#[derive(Debug)]
pub(super) struct FluidLinks {
    all: Vec<FluidLink>,
    /// Whether the demand on a link can exceed its capacity and no other link always saturates first. Separate array, because it is read
    /// for every link of a route and mostly false.
    tight: Vec<bool>,
}

/// A link and its streams.
#[derive(Debug)]
pub(super) struct FluidLink {
    pub capacity: f64,
    pub streams: SmallVec<[u32; 6]>,
    /// Index among the links being solved, or [`NOT_CONTENDED`].
    pub contended_id: u32,
    /// Sum of the maximum rates of its streams.
    demand: f64,
    /// Links on which all of its streams start and end.
    common_ends: RouteEnds,
    /// Whether some stream ends here.
    is_last_of_some: bool,
}

impl FluidLinks {
    pub(super) fn new(capacities: impl Iterator<Item = f64>) -> FluidLinks {
        let new = |capacity| FluidLink {
            capacity,
            streams: SmallVec::default(),
            contended_id: NOT_CONTENDED,
            demand: 0.0,
            common_ends: RouteEnds::default(),
            is_last_of_some: false,
        };
        let all: Vec<FluidLink> = capacities.map(new).collect();
        FluidLinks { tight: vec![false; all.len()], all }
    }

    pub(super) fn is_tight(&self, link: LinkId) -> bool {
        self.tight[link as usize]
    }

    /// Adds the tight ones of some links. Unpredictable, so this is branch-free.
    pub(super) fn collect_tight(&self, hops: &[RouteHop], found: &mut Vec<LinkId>) {
        let mut count = found.len();
        found.resize(count + hops.len(), 0);
        for hop in hops {
            found[count] = hop.link;
            count += usize::from(self.is_tight(hop.link));
        }
        found.truncate(count);
    }

    /// Adds a stream to a link; returns its index there.
    pub(super) fn add_stream(&mut self, link_id: LinkId, slot: u32, ends: RouteEnds, max_rate: f64) -> u32 {
        let link = &mut self[link_id];
        let index = link.streams.len() as u32;
        link.streams.push(slot);
        link.demand += max_rate;
        if index == 0 {
            (link.common_ends, link.is_last_of_some) = (ends, ends.last == link_id);
        } else {
            link.common_ends = link.common_ends.merge(ends);
            link.is_last_of_some |= ends.last == link_id;
            self.update_tight(link_id);
        }
        index
    }

    /// Removes the stream at an index; returns the stream that has this index now.
    pub(super) fn remove_stream(&mut self, link_id: LinkId, index: u32, streams: &SlotArena<FluidStream>) -> Option<u32> {
        let link = &mut self[link_id];
        let gone = link.streams.swap_remove(index as usize);
        match link.streams[..] {
            // Rounding errors accumulate in the sum, so an empty link is reset.
            [] => link.demand = 0.0,
            [one] => {
                (link.common_ends, link.demand) = (streams[one].ends, streams[one].max_rate);
                link.is_last_of_some = link.common_ends.last == link_id;
            }
            _ => link.demand -= streams[gone].max_rate,
        }
        let moved = link.streams.get(index as usize).copied();
        self.update_tight(link_id);
        moved
    }

    /// Updates whether a link is tight.
    fn update_tight(&mut self, link_id: LinkId) {
        let link = &self[link_id];
        let wanted = link.demand > link.capacity * (1.0 + RATE_TOLERANCE);
        self.tight[link_id as usize] = wanted && !self.is_dominated(link_id);
    }

    /// Whether another link with at most this capacity carries all streams of this one and thus saturates first. Of two equal ones, the
    /// link on which streams end is kept.
    fn is_dominated(&self, link_id: LinkId) -> bool {
        let link = &self[link_id];
        let spares = |other: LinkId| other != MULTIPLE_LINKS && other != link_id && self[other].capacity <= link.capacity;
        spares(link.common_ends.last) || !link.is_last_of_some && spares(link.common_ends.first)
    }
}

impl std::ops::Index<LinkId> for FluidLinks {
    type Output = FluidLink;

    fn index(&self, link: LinkId) -> &FluidLink {
        &self.all[link as usize]
    }
}

impl std::ops::IndexMut<LinkId> for FluidLinks {
    fn index_mut(&mut self, link: LinkId) -> &mut FluidLink {
        &mut self.all[link as usize]
    }
}

impl RouteEnds {
    fn merge(self, other: RouteEnds) -> RouteEnds {
        let both = |one: LinkId, other: LinkId| if one == other { one } else { MULTIPLE_LINKS };
        RouteEnds { first: both(self.first, other.first), last: both(self.last, other.last) }
    }
}
