//! What samples cost a program that computes: processor time added, at two rates, beside other tools that sample.

use std::path::Path;

use sintonia_recording::Recording;

use super::sampling_peers::{PEERS, SampleRate};
use super::study::{AddedUnit, OverheadStudy, StudyCase};
use super::tool::{SampleCount, Tool, record};
use super::{AbsentTool, programs};
use crate::error::Error;
use crate::mpi::Mpi;
use crate::paths;
use crate::search::Search;

/// The default of Sintonia, and ten times that.
const RATES: [SampleRate; 2] = [SampleRate { hertz: 99 }, SampleRate { hertz: 999 }];

/// A batch takes some forty milliseconds, in which every tool takes several samples; the median leaves out batches that others disturbed.
const CASES: &[StudyCase] = &[StudyCase { name: "compute", title: "processor time added, %", figure: |batches| batches.median }];

/// The program, and everything that samples it.
pub(super) fn study(mpi: &Mpi, folder: &Path) -> Result<OverheadStudy, Error> {
    let program = programs::build(mpi, "compute", folder)?;
    let sintonia = paths::sintonia()?;
    let mut tools = vec![record("Sintonia --sample off", "no samples", &sintonia, &["--sample", "off"])];
    let mut absent = Vec::new();
    let search = Search::from_environment();
    for rate in RATES {
        let hertz = rate.hertz.to_string();
        let tool = record(&format!("Sintonia --sample {hertz}"), "stacks, inlined functions, lines", &sintonia, &["--sample", &hertz]);
        tools.push(Tool { samples: Some(count_samples), ..tool });
        for (name, find) in PEERS {
            match find(&search, mpi, &program, rate) {
                Ok(found) => tools.extend(found),
                Err(why) if rate == RATES[0] => absent.push(AbsentTool { name: (*name).into(), why }),
                Err(_) => {}
            }
        }
    }
    Ok(OverheadStudy {
        title: "Samples".into(),
        explanation: "Processor time of the thread that computes and of those that a tool starts in its process, for the same work:\n\
                      percent more than the bare program of the same round. What a tool does in another process, or after the\n\
                      run, is not in it.",
        program,
        launch: mpi.launch_bound(1),
        cases: CASES,
        unit: AddedUnit::Percent,
        tools,
        absent,
    })
}

/// The samples of a sealed recording, and the bytes that they, their counters and their stacks take.
fn count_samples(folder: &Path, _errors: &str) -> Option<SampleCount> {
    let recording = Recording::open(&folder.join("recording.sin")).ok()?;
    let threads = recording.samples(0).ok()?;
    let bytes = |name: &str| std::fs::metadata(recording.folder().join(name)).map_or(0, |about| about.len());
    let count = threads.iter().map(|thread| thread.samples.len() as u64).sum();
    let files = ["rank-00000.samples", "rank-00000.sample-counters", "stacks.json"];
    Some(SampleCount { count, bytes: files.map(bytes).iter().sum() })
}
