//! Throughput and latency of events on their way to a decision, with simulated processes, real shared memory and real host daemons.
//!
//!     cargo run --release -p sintonia-tune --example events

#[path = "../tests/it/leaf.rs"]
mod leaf;
#[path = "../tests/it/run.rs"]
mod run;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sintonia_tune::tuning_points::EventJoin;

const SECONDS: u64 = 5;

fn main() {
    println!("| hosts | processes | wanted/s | joined | written/s | heard/s | dropped | cpu s per s | delay ms: median | 99 % |");
    println!("|------:|----------:|---------:|:-------|----------:|--------:|--------:|------------:|-----------------:|-----:|");
    for (hosts, leaves, rate, join, asks) in [
        (1, 2, 50_000.0, EventJoin::Each, true),
        (2, 2, 25_000.0, EventJoin::Each, true),
        (4, 4, 62_500.0, EventJoin::Over(0.01), false),
        (4, 8, 62_500.0, EventJoin::Over(0.01), false),
        (8, 8, 31_250.0, EventJoin::Over(0.01), false),
    ] {
        let folder = std::env::temp_dir().join(format!("sintonia-events-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (begin, cpu) = (Instant::now(), cpu_time());
        let outcome = run::run(&folder, hosts, leaves, rate, join, asks, Duration::from_secs(SECONDS));
        let cpu = (cpu_time() - cpu) / begin.elapsed().as_secs_f64();
        let per_second = |count: u64| count / SECONDS;
        let mut delays = outcome.done.delays.lock().expect("not poisoned").clone();
        delays.sort_by(f64::total_cmp);
        let delay = |part: f64| delays.get((part * delays.len() as f64) as usize).map_or("".into(), |delay| format!("{:.2}", 1e3 * delay));
        println!(
            "| {hosts} | {} | {} | {} | {} | {} | {} | {cpu:.2} | {} | {} |",
            hosts * leaves,
            f64::from(hosts * leaves) * rate,
            if join == EventJoin::Each { "no" } else { "yes" },
            per_second(outcome.done.written.load(Ordering::Relaxed)),
            per_second(outcome.heard),
            outcome.summary.dropped,
            delay(0.5),
            delay(0.99),
        );
        let _ = std::fs::remove_dir_all(&folder);
    }
}

/// CPU time of this process in seconds, including the simulated processes.
fn cpu_time() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}
