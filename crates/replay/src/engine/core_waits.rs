//! Waiting for a core of all locations of a replay.

use super::messages::TimePair;
use crate::Error;
use crate::core_waits::{CombinedWaits, CoreWaitRemoval, LocationCoreWaits};
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
    combined: CombinedWaits,
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
        let (combined, is_crowded) = (CombinedWaits::new(crowded()), crowded().next().is_some());
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

    /// Seconds for which the partners of a call waited between two recorded times.
    pub(super) fn partner_waits(&self, partner: Partner, from: f64, to: f64) -> f64 {
        match partner {
            _ if !self.removes_partners => 0.0,
            Partner::Location(index) => self.within(index, from, to),
            Partner::Listed => self.partners.iter().map(|index| self.within(*index, from, to)).sum(),
            Partner::Everyone => self.combined.within_ns(to_ns(from), to_ns(to)) as f64 * 1e-9,
        }
    }
}

/// Nanoseconds of a recorded time in seconds.
pub(super) fn to_ns(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}
