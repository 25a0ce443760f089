//! The call sites of a trace: one for each caller under each of its callers.

use std::collections::HashMap;

use sintonia_recording::header::CallSiteDefinition;

use super::label_parser::TraceLabels;

/// Call sites without duplicates. The first one is unknown.
pub(super) struct CallSiteTable {
    sites: Vec<CallSiteDefinition>,
    /// By the values of function and line, and the caller.
    by_caller: HashMap<((u64, u64), Option<u32>), u32>,
}

impl CallSiteTable {
    pub(super) fn new() -> CallSiteTable {
        CallSiteTable { sites: vec![CallSiteDefinition::default()], by_caller: HashMap::new() }
    }

    /// The index of the site of these callers, innermost first: values of function and line.
    pub(super) fn intern(&mut self, callers: &[(u64, u64)], names: &TraceLabels) -> u32 {
        let site = |caller, values: &(u64, u64)| {
            Some(*self.by_caller.entry((*values, caller)).or_insert_with(|| {
                self.sites.push(CallSiteDefinition { caller, ..names.site(*values) });
                self.sites.len() as u32 - 1
            }))
        };
        callers.iter().rev().fold(None, site).unwrap_or(0)
    }

    pub(super) fn into_sites(self) -> Vec<CallSiteDefinition> {
        self.sites
    }
}
