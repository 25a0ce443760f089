//! What is found in runs told call by call, in numbers that a test can name.
#![allow(dead_code, reason = "not every test that uses this file needs everything")]

use sintonia_insight::findings::Findings;
use sintonia_program::company::{Alone, Company};
use sintonia_recording::Recording;

use crate::story::*;

/// What is found in a recording.
pub fn find(recording: &Recording, company: &dyn Company) -> Findings {
    Findings::of(recording, company, &|| ()).unwrap()
}

/// The waits as kind, line, rank, milliseconds.
pub fn waits(findings: &Findings) -> Vec<(&'static str, u32, u32, i64)> {
    let of = |w: &sintonia_insight::findings::Waits| {
        w.ranks.iter().map(|(rank, waited)| (w.pattern.kind, w.site, *rank, waited.ns / MS)).collect::<Vec<_>>()
    };
    findings.waits.iter().flat_map(of).collect()
}

/// What is found in a run told call by call, by one process.
pub fn told(ranks: &[Vec<Told>]) -> Findings {
    let (_folder, recording) = story(ranks);
    find(&recording, &Alone)
}

/// A call in the middle of a run that begins and ends for all at the same time.
pub fn ranks(calls: Vec<Vec<Told>>) -> Vec<Vec<Told>> {
    let framed = |calls: Vec<Told>| {
        let mut framed = vec![call(0, 10, 1, init())];
        framed.extend(calls);
        framed.push(call(200, 210, 99, finalize()));
        framed
    };
    calls.into_iter().map(framed).collect()
}
