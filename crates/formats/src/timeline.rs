//! Common parts of the timeline formats: non-negative times and labels.

use sintonia_recording::header::{CallSiteDefinition, RecordedRank, RecordingHeader};

/// Shifts recorded times, which may be negative, so that the earliest is zero.
#[derive(Clone, Copy)]
pub(crate) struct TimeOrigin {
    earliest: i64,
}

impl TimeOrigin {
    pub(crate) fn from_header(header: &RecordingHeader) -> TimeOrigin {
        TimeOrigin { earliest: header.ranks.iter().map(|rank| rank.begin_ns).min().unwrap_or(0).min(0) }
    }

    /// The same, if this time is not earlier than all others; else a shift by which it is zero.
    pub(crate) fn extended_to(self, time_ns: i64) -> TimeOrigin {
        TimeOrigin { earliest: self.earliest.min(time_ns) }
    }

    /// Nanoseconds since the earliest time.
    pub(crate) fn relative_ns(self, time_ns: i64) -> u64 {
        time_ns.saturating_sub(self.earliest).max(0) as u64
    }

    /// The earliest time in nanoseconds since 1970, if the recording has a start time.
    pub(crate) fn unix_time_ns(self, header: &RecordingHeader) -> Option<u64> {
        let began = header.started_s * 1e9 + self.earliest as f64;
        (header.started_s > 0.0 && began < u64::MAX as f64).then_some(began as u64)
    }
}

/// Label of a rank, with its host.
pub(crate) fn rank_label(header: &RecordingHeader, rank: &RecordedRank) -> String {
    match header.hosts.get(rank.host as usize) {
        Some(host) => format!("rank {} on {host}", rank.rank),
        None => format!("rank {}", rank.rank),
    }
}

/// Label of a call site: file and line, else function and module, else offset and module.
pub(crate) fn site_label(site: &CallSiteDefinition) -> String {
    let frame = site.frames.first();
    let line = frame.and_then(|frame| Some(format!("{}:{}", frame.file.as_ref()?, frame.line?)));
    let function = || frame.and_then(|frame| frame.function.as_ref()).map(|function| format!("{function} in {}", site.module));
    line.or_else(function).unwrap_or_else(|| format!("{:#x} in {}", site.offset, site.module))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::SourceFrame;

    #[test]
    fn moments_before_the_beginning_move_the_beginning() {
        let rank = |begin_ns| RecordedRank { begin_ns, ..RecordedRank::default() };
        let header = RecordingHeader { started_s: 1.0, ranks: vec![rank(0), rank(-250)], ..RecordingHeader::default() };
        let timeline = TimeOrigin::from_header(&header);
        assert_eq!([timeline.relative_ns(-250), timeline.relative_ns(0), timeline.relative_ns(-300)], [0, 250, 0]);
        assert_eq!(timeline.unix_time_ns(&header), Some(1_000_000_000 - 250));
        assert_eq!([-300, 7].map(|time| timeline.extended_to(time).relative_ns(0)), [300, 250]);
        let later = RecordingHeader { ranks: vec![rank(100)], ..RecordingHeader::default() };
        assert_eq!((TimeOrigin::from_header(&later).relative_ns(100), TimeOrigin::from_header(&later).unix_time_ns(&later)), (100, None));
    }

    #[test]
    fn a_site_label_is_as_exact_as_the_recording() {
        let frame = SourceFrame { function: Some("work".into()), file: Some("/a.c".into()), line: Some(7) };
        let without_line = SourceFrame { line: None, ..frame.clone() };
        let site = |frames| CallSiteDefinition { module: "/lib/liba.so".into(), offset: 66, caller: None, frames };
        assert_eq!(site_label(&site(vec![frame])), "/a.c:7");
        assert_eq!(site_label(&site(vec![without_line])), "work in /lib/liba.so");
        assert_eq!(site_label(&site(Vec::new())), "0x42 in /lib/liba.so");
    }
}
