//! A progress bar on the terminal for work that takes longer than a second.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const FIRST_DRAW_DELAY: Duration = Duration::from_secs(1);
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
const WIDTH: usize = 40;

/// A progress bar.
pub(crate) struct ProgressBar {
    label: &'static str,
    total: usize,
    done: AtomicUsize,
    next_draw: Mutex<Instant>,
    drawn: AtomicBool,
}

impl ProgressBar {
    /// A bar for work with this many steps.
    pub(crate) fn new(label: &'static str, total: usize) -> ProgressBar {
        let next_draw = Mutex::new(Instant::now() + FIRST_DRAW_DELAY);
        ProgressBar { label, total, done: AtomicUsize::new(0), next_draw, drawn: AtomicBool::new(false) }
    }

    /// Advances by one step.
    pub(crate) fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // Another thread is drawing already.
        let Ok(mut next) = self.next_draw.try_lock() else { return };
        if Instant::now() >= *next && io::stderr().is_terminal() {
            *next = Instant::now() + REDRAW_INTERVAL;
            self.drawn.store(true, Ordering::Relaxed);
            eprint!("\r{}", self.bar(done));
        }
    }

    fn bar(&self, done: usize) -> String {
        let full = WIDTH * done.min(self.total) / self.total.max(1);
        format!("{} [{}{}] {done} of {}", self.label, "#".repeat(full), "-".repeat(WIDTH - full), self.total)
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if self.drawn.load(Ordering::Relaxed) {
            eprint!("\r\x1b[K");
            // Failing to clear the bar is not an error.
            let _ = io::stderr().flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_up() {
        let progress = ProgressBar::new("reading", 4);
        assert_eq!(progress.bar(1), format!("reading [{}{}] 1 of 4", "#".repeat(10), "-".repeat(30)));
        assert_eq!(progress.bar(4), format!("reading [{}] 4 of 4", "#".repeat(40)));
        assert_eq!(ProgressBar::new("reading", 0).bar(0), format!("reading [{}] 0 of 0", "-".repeat(40)));
    }
}
