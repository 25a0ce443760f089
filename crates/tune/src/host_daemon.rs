//! The daemon on each host except the analyzer's: a node of the tree between local processes and the analyzer.

use std::time::{Duration, Instant};

use crate::tree::{HostTree, ParentHost};

/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_micros(500);
/// Exit if no process has connected within this time.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// Forwards requests and reports until the tuning ends or no process is left.
pub fn serve(mut tree: HostTree, mut parent: ParentHost) {
    let start_time = Instant::now();
    let mut had_processes = false;
    while let Some(requests) = parent.take_requests() {
        let begin = Instant::now();
        tree.set_begin(parent.begin_ns());
        requests.into_iter().for_each(|request| tree.broadcast(request));
        let mut reports = tree.collect_reports();
        had_processes |= !reports.is_empty();
        if tree.all_processes_gone() {
            reports.extend(tree.collect_final_reports());
        }
        let finished = tree.all_processes_gone() || (!had_processes && start_time.elapsed() > STARTUP_TIMEOUT);
        if parent.send_reports(reports).is_err() || finished {
            return;
        }
        std::thread::sleep(POLL_INTERVAL.saturating_sub(begin.elapsed()));
    }
}
