//! The findings of handmade runs, in a form that tests can compare.

use sintonia_insight::analysis::RunAnalysis;
use sintonia_insight::findings::RunFindings;
use sintonia_program::process_group::{ProcessGroup, SingleProcess};
use sintonia_recording::Recording;
use sintonia_recording::testing::*;

/// The findings of a recording.
pub(crate) fn find(recording: &Recording, comm: &dyn ProcessGroup) -> RunFindings {
    RunAnalysis::from_recording(recording, comm, &|_, _| ()).unwrap().findings
}

/// The waits as kind, line, rank, milliseconds.
pub(crate) fn waits(findings: &RunFindings) -> Vec<(&'static str, u32, u32, i64)> {
    let of = |w: &sintonia_insight::findings::SiteWaits| {
        w.ranks.iter().map(|(rank, waited)| (w.pattern.kind, w.site, *rank, waited.ns / MS)).collect::<Vec<_>>()
    };
    findings.waits.iter().flat_map(of).collect()
}

/// The findings of a handmade run, by one process.
pub(crate) fn findings_of(ranks: &[Vec<TestCall>]) -> RunFindings {
    let recording = record_calls(ranks);
    find(&recording, &SingleProcess)
}

/// A call in the middle of a run that begins and ends for all ranks at the same time.
pub(crate) fn ranks(calls: Vec<Vec<TestCall>>) -> Vec<Vec<TestCall>> {
    let framed = |calls: Vec<TestCall>| {
        let mut framed = vec![init().line(1).at_ms(0, 10)];
        framed.extend(calls);
        framed.push(finalize().line(99).at_ms(200, 210));
        framed
    };
    calls.into_iter().map(framed).collect()
}
