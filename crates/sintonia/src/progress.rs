//! A bar on the terminal for work that takes longer than a second.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(1);
const BETWEEN_DRAWINGS: Duration = Duration::from_millis(100);
const WIDTH: usize = 40;

/// How far a piece of work is.
pub struct Progress {
    what: &'static str,
    total: usize,
    done: AtomicUsize,
    next_drawing: Mutex<Instant>,
    drawn: AtomicBool,
}

impl Progress {
    /// Work that consists of so many steps.
    pub fn new(what: &'static str, total: usize) -> Progress {
        let next_drawing = Mutex::new(Instant::now() + PATIENCE);
        Progress { what, total, done: AtomicUsize::new(0), next_drawing, drawn: AtomicBool::new(false) }
    }

    /// One step is done.
    pub fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // Whoever finds another thread drawing has nothing to add.
        let Ok(mut next) = self.next_drawing.try_lock() else { return };
        if Instant::now() >= *next && io::stderr().is_terminal() {
            *next = Instant::now() + BETWEEN_DRAWINGS;
            self.drawn.store(true, Ordering::Relaxed);
            eprint!("\r{}", self.bar(done));
        }
    }

    fn bar(&self, done: usize) -> String {
        let full = WIDTH * done.min(self.total) / self.total.max(1);
        format!("{} [{}{}] {done} of {}", self.what, "#".repeat(full), "-".repeat(WIDTH - full), self.total)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.load(Ordering::Relaxed) {
            eprint!("\r\x1b[K");
            // A bar that cannot be wiped away is no reason to fail.
            let _ = io::stderr().flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_up() {
        let progress = Progress::new("reading", 4);
        assert_eq!(progress.bar(1), format!("reading [{}{}] 1 of 4", "#".repeat(10), "-".repeat(30)));
        assert_eq!(progress.bar(4), format!("reading [{}] 4 of 4", "#".repeat(40)));
        assert_eq!(Progress::new("reading", 0).bar(0), format!("reading [{}] 0 of 0", "-".repeat(40)));
    }
}
