//! Reads the MPI-related events of one location.

use sintonia_otf2::reference::LocationRef;
use sintonia_otf2::{ArchiveReader, EventReader};

use crate::error::{Error, FilePosition};
use crate::otf2::attributes::{CallAttribute, CallAttributeList};
use crate::otf2::event::MpiEvent;
use crate::otf2::id_table::IdTable;

/// Reads the events of a location.
pub(super) struct LocationReader {
    events: EventReader,
    /// Attributes of the latest event.
    pub attributes: CallAttributeList,
}

impl LocationReader {
    pub(super) fn open(archive: &ArchiveReader, id: u64) -> Result<LocationReader, Error> {
        Ok(LocationReader { events: archive.events(LocationRef(id))?, attributes: CallAttributeList::default() })
    }

    /// The error for too deeply nested regions.
    pub(super) fn nesting_error(&self) -> Error {
        Error::Malformed {
            path: self.events.path().to_owned(),
            position: FilePosition::Byte(self.events.position()),
            what: "regions are nested too deeply".into(),
        }
    }

    /// Largest clock deviation in ticks.
    pub(super) fn clock_deviation(&self) -> f64 {
        self.events.clock_deviation()
    }

    /// The next MPI-related event with its time. Times are monotonic.
    pub(super) fn next_event(&mut self, known: &IdTable<CallAttribute>) -> Result<Option<(u64, MpiEvent)>, Error> {
        while let Some((time, event)) = self.events.next().transpose()? {
            if let Some(event) = MpiEvent::from_otf2(event) {
                self.attributes.read_from(self.events.attributes(), known);
                return Ok(Some((time, event)));
            }
        }
        Ok(None)
    }
}
