//! A progress bar on the terminal for work that takes longer than a second: what is being done, and how far it is.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const FIRST_DRAW_DELAY: Duration = Duration::from_secs(1);
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
const WIDTH: usize = 40;

/// A progress bar.
pub(crate) struct ProgressBar {
    state: Arc<ProgressState>,
    /// Draws the bar, also while no step ends; `None` without a terminal.
    drawer: Option<JoinHandle<()>>,
}

struct ProgressState {
    label: Mutex<&'static str>,
    total: usize,
    done: AtomicUsize,
    /// Whether the work has ended, and the signal that it has.
    ended: (Mutex<bool>, Condvar),
}

impl ProgressBar {
    /// A bar for work with this many steps.
    pub(crate) fn new(label: &'static str, total: usize) -> ProgressBar {
        let ended = (Mutex::new(false), Condvar::new());
        let state = Arc::new(ProgressState { label: Mutex::new(label), total, done: AtomicUsize::new(0), ended });
        let drawn = Arc::clone(&state);
        // Without a thread there is no bar, which is not an error.
        let draw = move || std::thread::Builder::new().name("progress".into()).spawn(move || drawn.draw_until_end()).ok();
        ProgressBar { state, drawer: io::stderr().is_terminal().then(draw).flatten() }
    }

    /// Advances by one step.
    pub(crate) fn step(&self) {
        self.state.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Says what is being done, and advances by a number of steps.
    pub(crate) fn advance(&self, label: &'static str, steps: usize) {
        *lock(&self.state.label) = label;
        self.state.done.fetch_add(steps, Ordering::Relaxed);
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        *lock(&self.state.ended.0) = true;
        self.state.ended.1.notify_all();
        if let Some(drawer) = self.drawer.take() {
            // A bar that failed to draw is not an error.
            let _ = drawer.join();
        }
    }
}

impl ProgressState {
    fn draw_until_end(&self) {
        let mut wait = FIRST_DRAW_DELAY;
        let mut ended = lock(&self.ended.0);
        loop {
            ended = self.ended.1.wait_timeout_while(ended, wait, |ended| !*ended).unwrap_or_else(PoisonError::into_inner).0;
            if *ended {
                break;
            }
            wait = REDRAW_INTERVAL;
            eprint!("\r\x1b[K{}", self.bar());
        }
        if wait == REDRAW_INTERVAL {
            eprint!("\r\x1b[K");
            // Failing to clear the bar is not an error.
            let _ = io::stderr().flush();
        }
    }

    fn bar(&self) -> String {
        let done = self.done.load(Ordering::Relaxed).min(self.total);
        let full = WIDTH * done / self.total.max(1);
        let percent = 100 * done / self.total.max(1);
        format!("{} [{}{}] {percent} %", lock(&self.label), "#".repeat(full), "-".repeat(WIDTH - full))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_up_and_says_what_is_done() {
        let progress = ProgressBar::new("reading", 4);
        progress.step();
        assert_eq!(progress.state.bar(), format!("reading [{}{}] 25 %", "#".repeat(10), "-".repeat(30)));
        progress.advance("replaying", 3);
        assert_eq!(progress.state.bar(), format!("replaying [{}] 100 %", "#".repeat(40)));
        assert_eq!(ProgressBar::new("reading", 0).state.bar(), format!("reading [{}] 0 %", "-".repeat(40)));
    }
}
