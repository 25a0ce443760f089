//! Recordings that are hard to analyse: the time grows in proportion to the calls, and any number of processes finds the same.

use sintonia_insight::RunSummary;
use sintonia_program::process_group::SingleProcess;
use sintonia_program::testing::run_in_group;
use sintonia_recording::Recording;
use sintonia_recording::testing::Workload;

const RANKS: u32 = 4;

/// Upper bound on the growth of processor time for four times the calls: linear, plus a margin for larger maps and cache misses.
const MAX_GROWTH: f64 = 7.0;

/// Each length is analysed at most so often: disturbances only make it slower.
const ATTEMPTS: usize = 4;

#[test]
fn four_times_the_calls_take_about_four_times_as_long() {
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for workload in Workload::ALL {
        let folder = tempfile::tempdir().unwrap();
        let [short, long] = [4_000, 16_000].map(|calls| workload.record(&folder.path().join(calls.to_string()), calls, RANKS));
        let seconds = |recording: &Recording| one_thread.install(|| analysis_seconds(recording));
        let mut least = [f64::INFINITY; 2];
        for _ in 0..ATTEMPTS {
            least = [least[0].min(seconds(&short)), least[1].min(seconds(&long))];
            if least[1] < MAX_GROWTH * least[0] {
                break;
            }
        }
        assert!(least[1] < MAX_GROWTH * least[0], "{}: {least:?} s", workload.name());
    }
}

/// Processor time of an analysis on this thread.
fn analysis_seconds(recording: &Recording) -> f64 {
    let before = thread_seconds();
    let summary = RunSummary::from_recording(recording, &SingleProcess, &|_, _| ()).unwrap();
    assert!(summary.calls > 0);
    thread_seconds() - before
}

fn thread_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[test]
fn several_processes_find_what_one_finds() {
    for workload in Workload::ALL {
        let folder = tempfile::tempdir().unwrap();
        let recording = workload.record(folder.path(), 1000, RANKS);
        let one = RunSummary::from_recording(&recording, &SingleProcess, &|_, _| ()).unwrap();
        let several = run_in_group(3, |comm| RunSummary::from_recording(&recording, comm, &|_, _| ()).unwrap());
        assert!(several.iter().all(|summary| *summary == one), "{}", workload.name());
    }
}
