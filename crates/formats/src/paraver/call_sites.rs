//! The call sites of a trace: one for each combination of callers.

use std::collections::HashMap;

use sintonia_recording::header::CallSiteDefinition;

use super::label_parser::TraceLabels;

/// Call sites without duplicates. The first one is unknown.
pub(super) struct CallSiteTable {
    sites: Vec<CallSiteDefinition>,
    by_callers: HashMap<Vec<(u64, u64)>, u32>,
}

impl CallSiteTable {
    pub(super) fn new() -> CallSiteTable {
        CallSiteTable { sites: vec![CallSiteDefinition::default()], by_callers: HashMap::from([(Vec::new(), 0)]) }
    }

    /// The index of the site of these callers, innermost first: values of function and line.
    pub(super) fn intern(&mut self, callers: Vec<(u64, u64)>, names: &TraceLabels) -> u32 {
        *self.by_callers.entry(callers).or_insert_with_key(|callers| {
            self.sites.push(names.site(callers));
            self.sites.len() as u32 - 1
        })
    }

    pub(super) fn into_sites(self) -> Vec<CallSiteDefinition> {
        self.sites
    }
}
