//! What the formats that draw a timeline have in common: moments from zero on, and names of rows for people.

use sintonia_recording::header::{Header, Rank, Site};

/// Turns moments of a recording, which may lie before its beginning, into moments from zero on.
#[derive(Clone, Copy)]
pub(crate) struct Timeline {
    earliest: i64,
}

impl Timeline {
    /// The timeline of a recording.
    pub fn of(header: &Header) -> Timeline {
        Timeline { earliest: header.ranks.iter().map(|rank| rank.begin_ns).min().unwrap_or(0).min(0) }
    }

    /// Nanoseconds from the beginning of the timeline.
    pub fn at(self, moment: i64) -> u64 {
        moment.saturating_sub(self.earliest).max(0) as u64
    }

    /// The beginning of the timeline in nanoseconds since 1970, if the recording says when it began.
    pub fn began(self, header: &Header) -> Option<u64> {
        let began = header.started_s * 1e9 + self.earliest as f64;
        (header.started_s > 0.0 && began < u64::MAX as f64).then_some(began as u64)
    }
}

/// What a rank is called: with its host, which tells neighbours from strangers.
pub(crate) fn rank_name(header: &Header, rank: &Rank) -> String {
    match header.hosts.get(rank.host as usize) {
        Some(host) => format!("rank {} on {host}", rank.rank),
        None => format!("rank {}", rank.rank),
    }
}

/// Where a call site is, as text: file and line, else function and module, else address and module.
pub(crate) fn place(site: &Site) -> String {
    let frame = site.frames.first();
    let line = frame.and_then(|frame| Some(format!("{}:{}", frame.file.as_ref()?, frame.line?)));
    let function = || frame.and_then(|frame| frame.function.as_ref()).map(|function| format!("{function} in {}", site.module));
    line.or_else(function).unwrap_or_else(|| format!("{:#x} in {}", site.offset, site.module))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sintonia_recording::header::Frame;

    #[test]
    fn moments_before_the_beginning_move_the_beginning() {
        let rank = |begin_ns| Rank { begin_ns, ..Rank::default() };
        let header = Header { started_s: 1.0, ranks: vec![rank(0), rank(-250)], ..Header::default() };
        let timeline = Timeline::of(&header);
        assert_eq!([timeline.at(-250), timeline.at(0), timeline.at(-300)], [0, 250, 0]);
        assert_eq!(timeline.began(&header), Some(1_000_000_000 - 250));
        let later = Header { ranks: vec![rank(100)], ..Header::default() };
        assert_eq!((Timeline::of(&later).at(100), Timeline::of(&later).began(&later)), (100, None));
    }

    #[test]
    fn a_place_is_as_exact_as_the_recording_knows_it() {
        let frame = Frame { function: Some("work".into()), file: Some("/a.c".into()), line: Some(7) };
        let without_line = Frame { line: None, ..frame.clone() };
        let site = |frames| Site { module: "/lib/liba.so".into(), offset: 66, frames };
        assert_eq!(place(&site(vec![frame])), "/a.c:7");
        assert_eq!(place(&site(vec![without_line])), "work in /lib/liba.so");
        assert_eq!(place(&site(Vec::new())), "0x42 in /lib/liba.so");
    }
}
