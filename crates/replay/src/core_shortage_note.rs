//! What a replay says about a recording whose ranks waited for a core.

use sintonia_program::core_shortage::CoreShortage;
use sintonia_recording::Recording;
use sintonia_recording::host::OffCpuSource;

use crate::Error;
use crate::what_if::WhatIf;

/// Waiting for a core in a recording.
#[derive(Default)]
pub struct KnownCoreWaits {
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// Its share of the recorded time, where it cannot be removed because it is not known when it was.
    pub kept_share: f64,
}

impl KnownCoreWaits {
    /// The waiting in a recording that is replayed with these changes, if it was noticeable.
    pub fn from_recording(recording: &Recording, what_ifs: &[WhatIf]) -> Result<KnownCoreWaits, Error> {
        let Some(shortage) = CoreShortage::from_recording(recording)? else { return Ok(KnownCoreWaits::default()) };
        let knows_when = |source: &OffCpuSource| matches!(source, OffCpuSource::ContextSwitches | OffCpuSource::RunQueue);
        let is_removed = recording.header.ranks.iter().any(|rank| rank.off_cpu.as_ref().is_some_and(knows_when));
        let keeps_all = what_ifs.contains(&WhatIf::RecordedCores);
        let how = match is_removed {
            _ if keeps_all => "It is replayed with that time.",
            true => "The replay is without that time: every rank has a core, and computation takes the processor time it took.",
            false => {
                "When that was is not recorded, so computation and network contain it; the interval begins where that time would be saved. \
                 Record again with at most one rank per core."
            }
        };
        let notes = vec![format!("{} {how}", shortage.statement(&recording.header))];
        Ok(KnownCoreWaits { notes, kept_share: if is_removed || keeps_all { 0.0 } else { shortage.share() } })
    }
}
