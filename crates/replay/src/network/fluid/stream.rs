//! A message in flight.

use smallvec::SmallVec;

use super::LinkId;
use crate::network::TransferId;

/// A message in flight.
#[derive(Debug, Default)]
pub(super) struct FluidStream {
    pub transfer: TransferId,
    /// Maximum rate without contention.
    pub max_rate: f64,
    pub ends: RouteEnds,
    pub hops: SmallVec<[RouteHop; 6]>,
}

/// First and last link of a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RouteEnds {
    pub first: LinkId,
    pub last: LinkId,
}

/// A link of a route, and the index of the stream on it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RouteHop {
    pub link: LinkId,
    pub index: u32,
}

/// Rate of a stream; separate from it for cache locality.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamRate {
    /// Bytes per second; for a member, the rate being computed.
    pub rate: f64,
    /// For a member: its previous rate.
    pub previous_rate: f64,
    /// What limits the rate.
    pub bottleneck: RateBottleneck,
    /// For a member: its range in the list of contended links.
    pub member_links: [u32; 2],
    /// Bytes left at `since_s`.
    pub remaining_bytes: f64,
    pub since_s: f64,
    /// End at the current rate, and the scheduled end, which is never later.
    pub end_s: f64,
    pub scheduled_end_s: f64,
}

/// What limits the rate of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateBottleneck(LinkId);

impl RateBottleneck {
    /// Its own maximum rate.
    pub(super) const OWN_LIMIT: RateBottleneck = RateBottleneck(LinkId::MAX);

    /// A saturated link on which no stream has more.
    pub(super) fn link(link: LinkId) -> RateBottleneck {
        RateBottleneck(link)
    }
}

impl StreamRate {
    const NOT_MEMBER: [u32; 2] = [u32::MAX; 2];

    /// A stream that has not started.
    pub(super) fn new(remaining_bytes: f64) -> StreamRate {
        let never = f64::INFINITY;
        StreamRate {
            rate: 0.0,
            previous_rate: 0.0,
            bottleneck: RateBottleneck::OWN_LIMIT,
            member_links: StreamRate::NOT_MEMBER,
            remaining_bytes,
            since_s: 0.0,
            end_s: never,
            scheduled_end_s: never,
        }
    }

    /// Whether its rate is being computed.
    pub(super) fn is_member(&self) -> bool {
        self.member_links != StreamRate::NOT_MEMBER
    }

    pub(super) fn end_membership(&mut self) {
        self.member_links = StreamRate::NOT_MEMBER;
    }
}
