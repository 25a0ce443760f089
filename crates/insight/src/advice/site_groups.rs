//! Call sites by source line: a rule speaks of lines, a recording of return addresses.

use std::collections::HashMap;

use sintonia_recording::Recording;

use crate::SourceLocation;
use crate::segment::Segment;

/// Groups the call sites of one source line; the first represents all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteGroups {
    /// The representative of each site.
    representatives: Vec<u32>,
    /// The sites of each representative.
    members: HashMap<u32, Vec<u32>>,
}

impl SiteGroups {
    /// The call sites of a recording.
    pub fn from_recording(recording: &Recording) -> SiteGroups {
        let mut first: HashMap<SourceLocation, u32> = HashMap::new();
        let site = |number| *first.entry(SourceLocation::of(recording, number)).or_insert(number);
        let representatives: Vec<u32> = (0..recording.header.sites.len() as u32).map(site).collect();
        let mut members: HashMap<u32, Vec<u32>> = HashMap::new();
        representatives.iter().zip(0..).for_each(|(first, site)| members.entry(*first).or_default().push(site));
        SiteGroups { representatives, members }
    }

    /// The representative of a site.
    pub fn representative(&self, site: u32) -> u32 {
        self.representatives.get(site as usize).copied().unwrap_or(site)
    }

    /// The sites that a site represents.
    pub fn members(&self, site: u32) -> &[u32] {
        self.members.get(&site).map_or(&[], Vec::as_slice)
    }

    /// The segment between the representatives of a segment's sites.
    pub fn representative_segment(&self, segment: Segment) -> Segment {
        Segment { from: self.representative(segment.from), to: self.representative(segment.to) }
    }
}
