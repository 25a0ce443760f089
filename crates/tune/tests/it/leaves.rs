//! From simulated processes through hosts to the analyzer, and back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sintonia_link::local_addresses;
use sintonia_tune::tuning_points::EventJoin;

use crate::run;

#[test]
fn every_event_is_counted_once() {
    if local_addresses().is_empty() {
        sintonia_test_report::skipped("this machine has no address that others could reach");
        return;
    }
    // The last interval is longer than the run: it is reported when no process is left.
    for join in [EventJoin::Each, EventJoin::Over(0.02), EventJoin::Over(1000.0)] {
        let folder = tempfile::tempdir().expect("a folder");
        let outcome = run::run(folder.path(), 2, 2, 5000.0, join, false, Duration::from_secs(2));
        let written = outcome.done.written.load(Ordering::Relaxed);
        assert!(written > 1000, "{written}");
        assert_eq!((outcome.heard, outcome.summary.events), (written, written), "{join:?}");
        assert_eq!(outcome.summary.dropped, outcome.done.dropped.load(Ordering::Relaxed));
        assert_eq!(outcome.summary.processes, 4);
    }
}

#[test]
fn a_requested_change_is_made() {
    if local_addresses().is_empty() {
        sintonia_test_report::skipped("this machine has no address that others could reach");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = run::run(folder.path(), 2, 1, 10_000.0, EventJoin::Each, true, Duration::from_secs(2));
    let answers = outcome.done.delays.lock().expect("not poisoned").len();
    assert!(answers > 10, "{answers}");
    assert!(outcome.summary.decisions().count() >= answers);
}
