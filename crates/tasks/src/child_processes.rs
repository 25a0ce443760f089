//! The processes that are started for a run.

use std::process::{Child, ExitStatus};

/// Child processes of a run; killed on drop.
#[derive(Default)]
pub(crate) struct ChildProcesses(Vec<Child>);

impl ChildProcesses {
    pub(crate) fn add(&mut self, child: Child) {
        self.0.push(child);
    }

    /// Kills one, if it was started here.
    pub(crate) fn kill(&mut self, process: u64) {
        if let Some(at) = self.0.iter().position(|child| u64::from(child.id()) == process) {
            kill_and_wait(self.0.swap_remove(at));
        }
    }

    /// Processes that have exited since the last call.
    pub(crate) fn reap(&mut self) -> Vec<ExitedProcess> {
        let mut ended = Vec::new();
        self.0.retain_mut(|child| match child.try_wait() {
            Ok(Some(status)) => {
                ended.push(ExitedProcess { process: child.id().into(), status });
                false
            }
            _ => true,
        });
        ended
    }
}

pub(crate) struct ExitedProcess {
    pub process: u64,
    pub status: ExitStatus,
}

fn kill_and_wait(mut child: Child) {
    // It may have exited already.
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for ChildProcesses {
    fn drop(&mut self) {
        self.0.drain(..).for_each(kill_and_wait);
    }
}
