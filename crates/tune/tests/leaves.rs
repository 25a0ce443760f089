//! From simulated processes through hosts to the analyzer, and back.

mod leaf;
#[path = "leaf/run.rs"]
mod run;

use std::sync::atomic::Ordering;
use std::time::Duration;

use sintonia_link::local_addresses;
use sintonia_tune::point::Join;

#[test]
fn every_event_is_heard_of_once_whether_told_or_joined() {
    if local_addresses().is_empty() {
        println!("skipped: this machine has no address that others could reach");
        return;
    }
    // The last while is longer than the run: it is told when nobody is left.
    for join in [Join::Each, Join::Over(0.02), Join::Over(1000.0)] {
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
fn who_asks_for_a_change_gets_it() {
    if local_addresses().is_empty() {
        println!("skipped: this machine has no address that others could reach");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let outcome = run::run(folder.path(), 2, 1, 10_000.0, Join::Each, true, Duration::from_secs(2));
    let answers = outcome.done.delays.lock().expect("not poisoned").len();
    assert!(answers > 10, "{answers}");
    assert!(outcome.summary.decisions().count() >= answers);
}
