//! Incremental max-min fair sharing: only streams whose rate may change are visited.
//!
//! Rates are max-min fair if and only if every stream has a bottleneck: its own maximum rate, or a saturated link on which no other stream
//! has a higher rate. The rates of a few *members* are computed with all others fixed; then the bottlenecks are checked. Streams that lost
//! theirs, or have more than a member on that member's bottleneck, become members, and the rates are computed again. When no stream is
//! added, the solution is exact.

use super::LinkId;
use super::link::{FluidLink, FluidLinks, NOT_CONTENDED, RATE_TOLERANCE};
use super::stream::{FluidStream, RateBottleneck, StreamRate};
use crate::network::event_heap::EventHeap;
use crate::network::slot_arena::SlotArena;

/// After this many iterations, all streams reachable from the members are added.
const MAX_ITERATIONS: u32 = 8;

/// Up to this many links, a linear search is faster.
const LINEAR_SEARCH_LINKS: usize = 16;

/// Solver state; only its memory is kept between calls.
#[derive(Debug, Default)]
pub(super) struct MaxMinSolver {
    /// Streams that have started.
    started: Vec<u32>,
    /// Tight links that a stream has left.
    relieved: Vec<LinkId>,
    members: Vec<u32>,
    /// Tight links of members.
    contended: Vec<ContendedLink>,
    /// For each member, the indices in `contended` of its tight links.
    member_links: Vec<u32>,
    /// Tight links of one stream.
    stream_links: Vec<LinkId>,
    /// Streams about to become members.
    incoming: Vec<u32>,
    /// Contended links by their fair share.
    fullest: EventHeap,
    by_max_rate: Vec<(f64, u32)>,
}

/// A tight link with members on it.
#[derive(Clone, Copy, Debug)]
struct ContendedLink {
    link: LinkId,
    capacity: f64,
    /// Capacity left by non-members.
    available: f64,
    /// Number of members.
    n_members: u32,
    /// Remaining capacity, and members without a rate.
    remaining: f64,
    n_open: u32,
    /// Rate of the members it limits, and maximum rate of a member.
    limited_rate: f64,
    max_rate: f64,
    others: OtherStreams,
}

/// Non-members on a link. Some may have become members since, so these are bounds.
#[derive(Clone, Copy, Debug)]
struct OtherStreams {
    count: u32,
    used_rate: f64,
    max_rate: f64,
    /// Of those that the link limits.
    min_limited_rate: f64,
}

impl MaxMinSolver {
    /// A stream has started.
    pub(super) fn add_started(&mut self, slot: u32) {
        self.started.push(slot);
    }

    /// A stream has left a tight link.
    pub(super) fn relieve(&mut self, link: LinkId) {
        self.relieved.push(link);
    }

    /// Streams whose rate was computed.
    pub(super) fn members(&self) -> &[u32] {
        &self.members
    }

    /// Computes the rates of all affected streams.
    pub(super) fn solve(&mut self, streams: &SlotArena<FluidStream>, stream_rates: &mut [StreamRate], links: &mut FluidLinks) {
        self.members.clear();
        self.member_links.clear();
        self.collect_affected(streams, stream_rates, links);
        let mut looks = 0;
        while !self.incoming.is_empty() {
            looks += 1;
            self.add_members(streams, stream_rates, links);
            if looks == MAX_ITERATIONS {
                self.add_all_reachable(streams, stream_rates, links);
            }
            self.fill_links(streams, stream_rates, links);
            self.check_bottlenecks(stream_rates, links);
        }
        for shared in self.contended.drain(..) {
            links[shared.link].contended_id = NOT_CONTENDED;
        }
    }

    /// New streams, and those limited by a link that changed.
    fn collect_affected(&mut self, streams: &SlotArena<FluidStream>, stream_rates: &[StreamRate], links: &FluidLinks) {
        self.incoming.append(&mut self.started);
        for &slot in &self.incoming {
            links.collect_tight(&streams[slot].hops, &mut self.relieved);
        }
        for link in self.relieved.drain(..) {
            let hindered = |slot: &u32| stream_rates[*slot as usize].bottleneck == RateBottleneck::link(link);
            self.incoming.extend(links[link].streams.iter().copied().filter(hindered));
        }
    }

    /// Adds pending streams as members.
    fn add_members(&mut self, streams: &SlotArena<FluidStream>, stream_rates: &mut [StreamRate], links: &mut FluidLinks) {
        for slot in self.incoming.drain(..) {
            let stream_rate = &mut stream_rates[slot as usize];
            if stream_rate.is_member() {
                continue;
            }
            self.members.push(slot);
            let first = self.member_links.len() as u32;
            let before = stream_rate.rate;
            (stream_rate.previous_rate, stream_rate.member_links) = (before, [first; 2]);
            self.stream_links.clear();
            links.collect_tight(&streams[slot].hops, &mut self.stream_links);
            for &number in &self.stream_links {
                let link = &mut links[number];
                if link.contended_id == NOT_CONTENDED {
                    link.contended_id = self.contended.len() as u32;
                    let others = OtherStreams::new(number, link, stream_rates);
                    self.contended.push(ContendedLink::new(number, link.capacity, others));
                } else {
                    let shared = &mut self.contended[link.contended_id as usize];
                    shared.available += before;
                    shared.n_members += 1;
                    shared.others.count -= 1;
                }
                self.member_links.push(link.contended_id);
            }
            stream_rates[slot as usize].member_links[1] = self.member_links.len() as u32;
        }
    }

    /// Progressive filling: members of the most contended link get equal shares, limited by their maximum rate; then the next link.
    fn fill_links(&mut self, streams: &SlotArena<FluidStream>, stream_rates: &mut [StreamRate], links: &FluidLinks) {
        self.by_max_rate.clear();
        for &slot in &self.members {
            stream_rates[slot as usize].rate = f64::NAN;
            self.by_max_rate.push((streams[slot].max_rate, slot));
        }
        if !self.by_max_rate.is_sorted_by(|a, b| a.0 <= b.0) {
            self.by_max_rate.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        }
        let many = self.contended.len() > LINEAR_SEARCH_LINKS;
        for (number, shared) in (0..).zip(&mut self.contended) {
            shared.reset();
            if many {
                self.fullest.schedule(number, shared.fair_share());
            }
        }
        for index in 0..self.by_max_rate.len() {
            let (max_rate, slot) = self.by_max_rate[index];
            while stream_rates[slot as usize].rate.is_nan() {
                match if many { self.fullest_below(max_rate) } else { self.fullest_of_few(max_rate) } {
                    Some(number) => self.fill_link(number, stream_rates, links),
                    None => self.assign_rate(slot, max_rate, RateBottleneck::OWN_LIMIT, stream_rates),
                }
            }
        }
        self.fullest.clear();
    }

    /// The link with the smallest fair share, if it is below this. Shares only grow while others are served, so entries are updated lazily.
    fn fullest_below(&mut self, max_rate: f64) -> Option<u32> {
        while self.fullest.next_time().is_some_and(|least| least < max_rate) {
            let number = self.fullest.pop_until(f64::INFINITY)?;
            let shared = &self.contended[number as usize];
            if shared.n_open == 0 {
                continue;
            }
            let share = shared.fair_share();
            if share < max_rate && self.fullest.next_time().is_none_or(|next| share <= next) {
                return Some(number);
            }
            self.fullest.schedule(number, share);
        }
        None
    }

    /// The same by linear search.
    fn fullest_of_few(&self, max_rate: f64) -> Option<u32> {
        let (mut least, mut fullest) = (max_rate, None);
        for (number, shared) in (0..).zip(&self.contended) {
            if shared.n_open > 0 && shared.remaining < least * f64::from(shared.n_open) {
                (least, fullest) = (shared.fair_share(), Some(number));
            }
        }
        fullest
    }

    /// Gives all remaining members of a link their share.
    fn fill_link(&mut self, number: u32, stream_rates: &mut [StreamRate], links: &FluidLinks) {
        let shared = &mut self.contended[number as usize];
        let (link, share) = (shared.link, shared.fair_share());
        shared.limited_rate = share;
        for &slot in links[link].streams.iter() {
            if stream_rates[slot as usize].rate.is_nan() {
                self.assign_rate(slot, share, RateBottleneck::link(link), stream_rates);
            }
        }
    }

    fn assign_rate(&mut self, slot: u32, rate: f64, hindrance: RateBottleneck, stream_rates: &mut [StreamRate]) {
        let stream_rate = &mut stream_rates[slot as usize];
        (stream_rate.rate, stream_rate.bottleneck) = (rate, hindrance);
        let [first, end] = stream_rate.member_links;
        for number in &self.member_links[first as usize..end as usize] {
            let shared = &mut self.contended[*number as usize];
            shared.remaining = (shared.remaining - rate).max(0.0);
            shared.n_open -= 1;
            // Rates are assigned in ascending order.
            shared.max_rate = rate;
        }
    }

    /// Adds streams that lost their bottleneck, and those with more than a member on its bottleneck.
    fn check_bottlenecks(&mut self, stream_rates: &[StreamRate], links: &FluidLinks) {
        for shared in &mut self.contended {
            if shared.others.count == 0 || shared.is_consistent() {
                continue;
            }
            let link = &links[shared.link];
            shared.others = OtherStreams::new(shared.link, link, stream_rates);
            if shared.is_consistent() {
                continue;
            }
            let (enough, fair) = (shared.min_bottlenecked_rate(), shared.max_fair_rate());
            let comes_in = |stream_rate: &StreamRate| {
                let loses = stream_rate.bottleneck == RateBottleneck::link(shared.link) && stream_rate.rate < enough;
                !stream_rate.is_member() && (loses || stream_rate.rate > fair)
            };
            self.incoming.extend(link.streams.iter().copied().filter(|slot| comes_in(&stream_rates[*slot as usize])));
        }
    }

    /// Adds all streams that share a link with a member, transitively.
    fn add_all_reachable(&mut self, streams: &SlotArena<FluidStream>, stream_rates: &mut [StreamRate], links: &mut FluidLinks) {
        let mut number = 0;
        while let Some(shared) = self.contended.get(number) {
            self.incoming.extend_from_slice(&links[shared.link].streams);
            self.add_members(streams, stream_rates, links);
            number += 1;
        }
    }
}

impl ContendedLink {
    /// A link with one member.
    fn new(link: LinkId, capacity: f64, others: OtherStreams) -> ContendedLink {
        let available = capacity - others.used_rate;
        ContendedLink {
            link,
            capacity,
            available,
            n_members: 1,
            remaining: 0.0,
            n_open: 0,
            limited_rate: f64::INFINITY,
            max_rate: 0.0,
            others,
        }
    }

    /// Restores the capacity for all members.
    fn reset(&mut self) {
        (self.remaining, self.n_open) = (self.available.max(0.0), self.n_members);
        (self.limited_rate, self.max_rate) = (f64::INFINITY, 0.0);
    }

    /// Fair share of each remaining member.
    fn fair_share(&self) -> f64 {
        self.remaining / f64::from(self.n_open)
    }

    /// Whether no non-member has lost its bottleneck here or has more than the members it limits.
    fn is_consistent(&self) -> bool {
        self.others.min_limited_rate >= self.min_bottlenecked_rate() && self.others.max_rate <= self.max_fair_rate()
    }

    /// Minimum rate of a stream limited by this link.
    fn min_bottlenecked_rate(&self) -> f64 {
        let full = self.remaining <= self.capacity * RATE_TOLERANCE;
        if full { self.others.max_rate.max(self.max_rate) * (1.0 - RATE_TOLERANCE) } else { f64::INFINITY }
    }

    /// Maximum rate while this link limits members.
    fn max_fair_rate(&self) -> f64 {
        self.limited_rate * (1.0 + RATE_TOLERANCE)
    }
}

impl OtherStreams {
    fn new(number: LinkId, link: &FluidLink, stream_rates: &[StreamRate]) -> OtherStreams {
        let mut others = OtherStreams { count: 0, used_rate: 0.0, max_rate: 0.0, min_limited_rate: f64::INFINITY };
        for stream_rate in link.streams.iter().map(|slot| &stream_rates[*slot as usize]).filter(|stream_rate| !stream_rate.is_member()) {
            others.count += 1;
            others.used_rate += stream_rate.rate;
            others.max_rate = others.max_rate.max(stream_rate.rate);
            if stream_rate.bottleneck == RateBottleneck::link(number) {
                others.min_limited_rate = others.min_limited_rate.min(stream_rate.rate);
            }
        }
        others
    }
}
