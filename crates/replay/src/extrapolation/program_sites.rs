//! Call sites, numbered consistently across recordings of one program.

use std::collections::HashMap;

use sintonia_recording::Recording;
use sintonia_recording::header::CallSiteDefinition;

use crate::schedule::Schedule;

/// A call site of the program.
#[derive(Clone, Debug)]
pub(super) struct ProgramSite {
    /// As text.
    pub name: String,
    /// As recorded; the first of several addresses of a line.
    pub site: CallSiteDefinition,
}

/// What identifies a call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SiteGranularity {
    /// Source lines: loop unrolling creates several addresses per line.
    Lines,
    /// Addresses: a line may contain several calls.
    Addresses,
}

/// Numbers call sites.
pub(super) struct SiteNumbering {
    granularity: SiteGranularity,
    known: HashMap<String, u32>,
    /// The sites by index.
    pub sites: Vec<ProgramSite>,
}

impl SiteNumbering {
    pub(super) fn new(granularity: SiteGranularity) -> SiteNumbering {
        SiteNumbering { granularity, known: HashMap::new(), sites: Vec::new() }
    }

    /// Site indices of a recording.
    pub(super) fn number_sites(&mut self, recording: &Recording) -> Vec<u32> {
        let number = |(site, number): (&CallSiteDefinition, u32)| {
            let lines: Vec<String> = site.frames.iter().map(|frame| format!("{:?}:{:?}", frame.file, frame.line)).collect();
            let has_line = self.granularity == SiteGranularity::Lines && site.frames.first().is_some_and(|frame| frame.line.is_some());
            let key = if has_line { format!("{} {lines:?}", site.module) } else { format!("{} {}", site.module, site.offset) };
            *self.known.entry(key).or_insert_with(|| {
                self.sites.push(ProgramSite { name: Schedule::site_name(recording, number), site: site.clone() });
                self.sites.len() as u32 - 1
            })
        };
        recording.header.sites.iter().zip(0..).map(number).collect()
    }
}
