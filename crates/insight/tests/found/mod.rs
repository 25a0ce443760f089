//! The findings of handmade runs, in a form that tests can compare.
#![allow(dead_code, reason = "not every test that uses this file needs everything")]

use sintonia_insight::analysis::RunAnalysis;
use sintonia_insight::findings::RunFindings;
use sintonia_program::process_group::{ProcessGroup, SingleProcess};
use sintonia_recording::Recording;

use crate::story::*;

/// The findings of a recording.
pub(crate) fn find(recording: &Recording, comm: &dyn ProcessGroup) -> RunFindings {
    RunAnalysis::from_recording(recording, comm, &|| ()).unwrap().findings
}

/// The waits as kind, line, rank, milliseconds.
pub(crate) fn waits(findings: &RunFindings) -> Vec<(&'static str, u32, u32, i64)> {
    let of = |w: &sintonia_insight::findings::SiteWaits| {
        w.ranks.iter().map(|(rank, waited)| (w.pattern.kind, w.site, *rank, waited.ns / MS)).collect::<Vec<_>>()
    };
    findings.waits.iter().flat_map(of).collect()
}

/// The findings of a handmade run, by one process.
pub(crate) fn told(ranks: &[Vec<Told>]) -> RunFindings {
    let (_folder, recording) = story(ranks);
    find(&recording, &SingleProcess)
}

/// A call in the middle of a run that begins and ends for all ranks at the same time.
pub(crate) fn ranks(calls: Vec<Vec<Told>>) -> Vec<Vec<Told>> {
    let framed = |calls: Vec<Told>| {
        let mut framed = vec![call(0, 10, 1, init())];
        framed.extend(calls);
        framed.push(call(200, 210, 99, finalize()));
        framed
    };
    calls.into_iter().map(framed).collect()
}
