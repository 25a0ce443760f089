//! What a hook costs per call, in nanoseconds of the thread's own time: `cargo run --release -p sintonia-hook --example cost`.
//! The least of many short rounds, with and without the hook in turn.

use std::hint::black_box;

use sintonia_hook::{Rings, hook, unhook};
use sintonia_link::order::{Function, Read, Shape, Source, Width};

static GLOBAL: u64 = 7;

#[inline(never)]
extern "C" fn work(a: i64, b: i64, factor: f64) -> i64 {
    black_box(a * 3 + b + (factor * 2.0) as i64)
}

#[inline(never)]
extern "C" fn other(a: i64, b: i64, factor: f64) -> i64 {
    black_box(a * 5 + b + (factor * 3.0) as i64)
}

const CALLS: i64 = 20_000;
const ROUNDS: usize = 400;

fn thread_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn round() -> f64 {
    let begin = thread_nanoseconds();
    for a in 0..CALLS {
        black_box(work(black_box(a), 2, black_box(1.5)));
    }
    (thread_nanoseconds() - begin) as f64 / CALLS as f64
}

fn least(rounds: usize) -> f64 {
    (0..rounds).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() {
    let _rings = Rings::create(32).expect("memory");
    let function = Function { address: work as *const () as u64, size: 32, padding: 0 };
    let read = Read { source: Source::At(&raw const GLOBAL as u64), width: Width::Eight };
    let shapes: [(&str, Shape, &[Read]); 5] = [
        ("entry and exit", Shape::Wrap { stack: false }, &[]),
        ("with stack arguments", Shape::Wrap { stack: true }, &[]),
        ("with two globals at entry", Shape::Wrap { stack: false }, &[read, read]),
        ("entry only", Shape::Pass, &[]),
        ("another in its place", Shape::Replace(other as *const () as u64), &[]),
    ];
    let never = least(ROUNDS);
    for (name, shape, reads) in shapes {
        let mut times = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            times[0] = times[0].min(round());
            let number = hook(function, shape, reads, &[]).expect("hooked");
            times[1] = times[1].min(round());
            unhook(number).expect("taken out");
        }
        println!("{name:26} {:6.1} ns added to {:.1} ns", times[1] - times[0], times[0]);
    }
    println!("{:26} {:6.2} ns before the first hook, {:.2} ns after the last", "without", never, least(ROUNDS));
}
