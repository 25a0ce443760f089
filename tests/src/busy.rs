//! Other work on the machine: processes that keep processors busy.

use std::process::{Child, Command};

/// Processes that use a processor each until this is dropped.
pub struct BusyLoops(Vec<Child>);

impl BusyLoops {
    /// Starts this many.
    pub fn start(count: usize) -> BusyLoops {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        BusyLoops((0..count).map(|_| busy()).collect())
    }

    /// Starts one for each core.
    pub fn on_all_cores() -> BusyLoops {
        BusyLoops::start(std::thread::available_parallelism().map_or(1, usize::from))
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for busy in &mut self.0 {
            let _ = busy.kill();
            let _ = busy.wait();
        }
    }
}
