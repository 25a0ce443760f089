//! Progress of work that takes longer than a second: what is being done, and how far it is. A bar on a terminal; elsewhere nothing, or a plain
//! line now and then for work that takes minutes.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const FIRST_DRAW_DELAY: Duration = Duration::from_secs(1);
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
const LINE_INTERVAL: Duration = Duration::from_secs(10);
const WIDTH: usize = 40;

/// A progress bar.
pub(crate) struct ProgressBar {
    state: Arc<ProgressState>,
    /// Shows the progress, also while no step ends; `None` if it is not shown.
    drawer: Option<JoinHandle<()>>,
}

/// How progress is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProgressStyle {
    /// A bar that is drawn over itself.
    Bar,
    /// A line now and then.
    Lines,
}

struct ProgressState {
    label: Mutex<&'static str>,
    total: usize,
    done: AtomicUsize,
    /// Whether the work has ended, and the signal that it has.
    ended: (Mutex<bool>, Condvar),
}

impl ProgressBar {
    /// A bar for work with this many steps; without a terminal nothing.
    pub(crate) fn new(label: &'static str, total: usize) -> ProgressBar {
        ProgressBar::with_style(label, total, io::stderr().is_terminal().then_some(ProgressStyle::Bar))
    }

    /// The same for work that takes minutes; without a terminal a line now and then.
    pub(crate) fn with_lines(label: &'static str, total: usize) -> ProgressBar {
        let style = if io::stderr().is_terminal() { ProgressStyle::Bar } else { ProgressStyle::Lines };
        ProgressBar::with_style(label, total, Some(style))
    }

    fn with_style(label: &'static str, total: usize, style: Option<ProgressStyle>) -> ProgressBar {
        let ended = (Mutex::new(false), Condvar::new());
        let state = Arc::new(ProgressState { label: Mutex::new(label), total, done: AtomicUsize::new(0), ended });
        let drawn = Arc::clone(&state);
        // Without a thread there is no progress, which is not an error.
        let draw = move |style| std::thread::Builder::new().name("progress".into()).spawn(move || drawn.show_until_end(style)).ok();
        ProgressBar { state, drawer: style.and_then(draw) }
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
    fn show_until_end(&self, style: ProgressStyle) {
        match style {
            ProgressStyle::Bar => self.draw_until_end(),
            ProgressStyle::Lines => self.write_until_end(),
        }
    }

    /// Waits; whether the work has ended.
    fn ends_within(&self, wait: Duration) -> bool {
        let ended = lock(&self.ended.0);
        *self.ended.1.wait_timeout_while(ended, wait, |ended| !*ended).unwrap_or_else(PoisonError::into_inner).0
    }

    fn write_until_end(&self) {
        let began = Instant::now();
        while !self.ends_within(LINE_INTERVAL) {
            eprintln!("sintonia: {}", self.line(began.elapsed()));
        }
    }

    fn draw_until_end(&self) {
        let mut wait = FIRST_DRAW_DELAY;
        while !self.ends_within(wait) {
            wait = REDRAW_INTERVAL;
            eprint!("\r\x1b[K{}", self.bar());
        }
        if wait == REDRAW_INTERVAL {
            eprint!("\r\x1b[K");
            // Failing to clear the bar is not an error.
            let _ = io::stderr().flush();
        }
    }

    fn percent(&self) -> usize {
        100 * self.done.load(Ordering::Relaxed).min(self.total) / self.total.max(1)
    }

    fn line(&self, elapsed: Duration) -> String {
        format!("{}: {} % after {} s", lock(&self.label), self.percent(), elapsed.as_secs())
    }

    fn bar(&self) -> String {
        let percent = self.percent();
        let full = WIDTH * percent / 100;
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
    fn a_line_says_how_long_it_has_taken() {
        let progress = ProgressBar::with_style("measuring", 4, None);
        progress.step();
        assert_eq!(progress.state.line(Duration::from_secs(30)), "measuring: 25 % after 30 s");
    }

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
