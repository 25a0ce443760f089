//! Libraries that a process loads while it runs: names that were not found at first are looked up again when one comes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Interval between looks at the files of a process. A look takes about as long as 100 system calls, in the agent, not in the program.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// A point, by tunlet and number, and whether it measures.
type Point = ((usize, usize), bool);

/// Names that a process does not have yet.
#[derive(Default)]
pub(super) struct LaterLibraries {
    awaited: HashMap<Point, String>,
    /// The files of the process when they were looked at, and when that was.
    files: Option<(Vec<PathBuf>, Instant)>,
}

impl LaterLibraries {
    /// A point has a name that the process does not have yet.
    pub(super) fn await_name(&mut self, process: u32, point: Point, name: &str) {
        self.awaited.insert(point, name.to_owned());
        if self.files.is_none() {
            self.files = sintonia_symbols::loaded_files(process).ok().map(|files| (files, Instant::now()));
        }
    }

    /// Whether a name is not there yet.
    pub(super) fn awaits(&self, name: &str) -> bool {
        self.awaited.values().any(|awaited| awaited == name)
    }

    /// Forgets the points with missing names, and returns them.
    pub(super) fn take_awaited(&mut self) -> Vec<(Point, String)> {
        self.awaited.drain().collect()
    }

    /// Whether the process has loaded libraries since the last look. Looks only if a name is missing, and only now and then.
    pub(super) fn have_come(&mut self, process: u32) -> bool {
        let Some((before, time)) = &mut self.files else { return false };
        if self.awaited.is_empty() || time.elapsed() < LOOK_INTERVAL {
            return false;
        }
        *time = Instant::now();
        let Ok(now) = sintonia_symbols::loaded_files(process) else { return false };
        let have_come = now.iter().any(|file| !before.contains(file));
        *before = now;
        have_come
    }
}
