//! Waiting for a core of all locations of a replay.

use super::messages::TimePair;
use crate::Error;
use crate::core_waits::{CombinedCoreWaits, CoreWaitRemoval, LocationCoreWaits};
use crate::schedule::{LocationId, Schedule};

/// What a call depended on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dependency {
    /// When it was there.
    pub time: TimePair,
    /// Who provided it.
    pub partner: Partner,
}

/// Who provided what a call depended on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Partner {
    /// One location.
    Location(u32),
    /// The locations in [`CoreWaits::partners`].
    Listed,
    /// Any rank: that of a collective that had no core delays the others.
    Everyone,
}

/// The waiting for a core of all locations.
#[derive(Default)]
pub(super) struct CoreWaits {
    /// By location; empty if none of them waited or the waiting is not removed.
    locations: Vec<Option<LocationCoreWaits>>,
    /// Of all locations that waited for a large share of their time.
    combined: CombinedCoreWaits,
    removes_partners: bool,
    /// Whether some location waited for a large share of its time.
    pub is_crowded: bool,
    /// Partners of the current call.
    pub partners: Vec<u32>,
    /// Number of calls in which a partner waited for a core.
    pub n_disturbed_calls: u64,
}

impl CoreWaits {
    /// Reads the waiting of all locations.
    pub(super) fn read(schedule: &dyn Schedule, ids: &[LocationId], removal: CoreWaitRemoval) -> Result<CoreWaits, Error> {
        if removal == CoreWaitRemoval::Nothing {
            return Ok(CoreWaits::default());
        }
        let locations = ids.iter().map(|id| schedule.core_waits(*id)).collect::<Result<Vec<_>, Error>>()?;
        if locations.iter().all(Option::is_none) {
            return Ok(CoreWaits::default());
        }
        let crowded = || locations.iter().flatten().filter(|waits| waits.is_crowded());
        let (combined, is_crowded) = (CombinedCoreWaits::new(crowded()), crowded().next().is_some());
        let removes_partners = removal == CoreWaitRemoval::OwnAndPartners;
        Ok(CoreWaits { combined, is_crowded, removes_partners, locations, ..CoreWaits::default() })
    }

    /// Whether no waiting is removed.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// The waiting of a location.
    pub(super) fn of_location(&self, index: usize) -> Option<&LocationCoreWaits> {
        self.locations.get(index)?.as_ref()
    }

    /// Seconds for which a location waited between two recorded times.
    pub(super) fn within(&self, index: u32, from: f64, to: f64) -> f64 {
        self.of_location(index as usize).map_or(0.0, |waits| waits.within_ns(to_ns(from), to_ns(to)) as f64 * 1e-9)
    }

    /// Seconds in which a location or its partners waited between two recorded times, given the waiting of the location itself.
    pub(super) fn joint_waits(&self, own: (Option<&LocationCoreWaits>, f64), partner: Partner, from: f64, to: f64) -> f64 {
        let (location, own_wait) = own;
        if !self.removes_partners {
            return own_wait;
        }
        match partner {
            Partner::Location(index) => self.joint_waits_of(own, &[index], from, to),
            Partner::Listed => self.joint_waits_of(own, &self.partners, from, to),
            Partner::Everyone => {
                let others = self.combined.within_ns(to_ns(from), to_ns(to)) as f64 * 1e-9;
                // That of a crowded location is among those of everyone.
                let own_wait = if location.is_some_and(LocationCoreWaits::is_crowded) { 0.0 } else { own_wait };
                (own_wait + others).min(to - from)
            }
        }
    }

    fn joint_waits_of(&self, (location, own_wait): (Option<&LocationCoreWaits>, f64), partners: &[u32], from: f64, to: f64) -> f64 {
        let waits = || partners.iter().filter_map(|index| self.of_location(*index as usize));
        let (begin, end) = (to_ns(from), to_ns(to));
        if waits().all(|waits| waits.within_ns(begin, end) == 0) {
            return own_wait;
        }
        CombinedCoreWaits::of_locations_ns(waits().chain(location), begin, end) as f64 * 1e-9
    }
}

/// Nanoseconds of a recorded time in seconds.
pub(super) fn to_ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
