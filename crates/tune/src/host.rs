//! What runs on each host of the program but the command's own: a node of the tree between the processes there and the analyzer.

use std::time::{Duration, Instant};

use crate::tree::{Tree, Up};

/// What happens is passed on so often.
const PAUSE: Duration = Duration::from_micros(500);
/// Who was started by a process that never comes waits no longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Passes on what happens here and below, until the tuning is over or no process is left.
pub fn serve(mut tree: Tree, mut up: Up) {
    let started = Instant::now();
    let mut was_visited = false;
    while let Some(asks) = up.asks() {
        let begin = Instant::now();
        tree.set_begin(up.began());
        asks.into_iter().for_each(|ask| tree.ask(ask));
        let mut told = tree.hear();
        was_visited |= !told.is_empty();
        if tree.is_deserted() {
            told.extend(tree.hear_last());
        }
        let deserted = tree.is_deserted() || (!was_visited && started.elapsed() > PATIENCE);
        if up.tell(told).is_err() || deserted {
            return;
        }
        std::thread::sleep(PAUSE.saturating_sub(begin.elapsed()));
    }
}
