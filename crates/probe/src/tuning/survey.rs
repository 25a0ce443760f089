//! What `sintonia tune --list` wants to know of a running program: calls of hooked functions and values of variables.

use std::sync::Mutex;

use sintonia_link::probe_protocol::SurveyReport;
use sintonia_link::value_location::{AccessError, ValueLocation};

/// The variables to report before MPI is finalised, if that was asked for.
static LOCATIONS: Mutex<Option<Vec<ValueLocation>>> = Mutex::new(None);

/// Reports now, and remembers what to report at the end.
pub(super) fn start(locations: Vec<ValueLocation>) -> SurveyReport {
    let now = report(&locations);
    *LOCATIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(locations);
    now
}

/// The report before MPI is finalised, if there is to be one.
pub(super) fn last() -> Option<SurveyReport> {
    LOCATIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).as_deref().map(report)
}

fn report(locations: &[ValueLocation]) -> SurveyReport {
    let value = |location| sintonia_hook::read_variable(location).unwrap_or_else(AccessError::marker);
    SurveyReport { hooks: sintonia_hook::call_counts(), values: locations.iter().map(value).collect() }
}
