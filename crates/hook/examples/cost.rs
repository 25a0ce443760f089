//! Cost of a hook per call, in nanoseconds of CPU time: `cargo run --release -p sintonia-hook --example cost`. Minimum over many short
//! rounds, alternating with and without the hook. With the arguments `plain ROUNDS`, only the function is called, after a line on standard
//! input: for other tools that hook it (bench/tune/hook_cost.py).

use std::hint::black_box;

use sintonia_hook::{RingMemory, hook, set_records, unhook};
use sintonia_link::probe_protocol::{HookKind, HookRead, HookTarget, ReadSource, Recorded, ValueWidth};
use sintonia_link::value_location::{AddressStep, ValueLocation};

static GLOBAL: u64 = 7;
static POINTER: &u64 = &GLOBAL;

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn work(a: i64, b: i64, factor: f64) -> i64 {
    black_box(a * 3 + b + (factor * 2.0) as i64)
}

#[inline(never)]
extern "C" fn other(a: i64, b: i64, factor: f64) -> i64 {
    black_box(a * 5 + b + (factor * 3.0) as i64)
}

const CALLS: i64 = 20_000;
const ROUNDS: usize = 150;

fn thread_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes.
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

/// Least cost of two time stamps, which every hook that times calls must read.
fn two_time_stamps() -> f64 {
    let read = || {
        let begin = thread_nanoseconds();
        for _ in 0..CALLS {
            // SAFETY: every x86-64 processor has this counter.
            unsafe { black_box((core::arch::x86_64::_rdtsc(), core::arch::x86_64::_rdtsc())) };
        }
        (thread_nanoseconds() - begin) as f64 / CALLS as f64
    };
    (0..ROUNDS).map(|_| read()).fold(f64::INFINITY, f64::min)
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("plain") {
        std::io::stdin().read_line(&mut String::new()).expect("a line");
        let rounds = std::env::args().nth(2).and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
        return println!("{:.2}", least(rounds));
    }
    let _rings = RingMemory::create(32).expect("memory");
    let function = HookTarget { address: work as *const () as u64, size: 32, padding: 0 };
    let read = HookRead { source: ReadSource::At(&raw const GLOBAL as u64), width: ValueWidth::Eight };
    let steps = vec![AddressStep::Constant(&raw const POINTER as u64), AddressStep::FollowPointer];
    let source = ReadSource::Computed(ValueLocation { steps, first_bit: 0, bits: 64 });
    let behind = HookRead { source, width: ValueWidth::Eight };
    let (wrap, in_place) = (HookKind::Wrap { stack: false }, HookKind::Wrap { stack: true });
    let events = Recorded { sums: false, ..Recorded::ALL };
    let [at_exit, at_entry, sums] =
        [(false, true, false), (true, false, false), (false, false, true)].map(|(entry, exit, sums)| Recorded { entry, exit, sums });
    let kinds: [(&str, HookKind, Recorded, &[HookRead]); 11] = [
        ("entry and exit", wrap, events, &[]),
        ("  with stack arguments", in_place, events, &[]),
        ("  two globals at entry", wrap, events, &[read.clone(), read]),
        ("  one behind a pointer", wrap, events, &[behind]),
        ("exit only, with duration", wrap, at_exit, &[]),
        ("entry only", HookKind::Pass, at_entry, &[]),
        ("sums only", wrap, sums, &[]),
        ("  with stack arguments", in_place, sums, &[]),
        ("  number of calls", HookKind::Pass, sums, &[]),
        ("events and sums", wrap, Recorded::ALL, &[]),
        ("another in its place", HookKind::Replace(other as *const () as u64), events, &[]),
    ];
    let never = least(ROUNDS);
    for (name, kind, recorded, reads) in kinds {
        let mut times = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            times[0] = times[0].min(round());
            let number = hook(function, kind, reads, &[]).expect("hooked");
            set_records(number, recorded);
            times[1] = times[1].min(round());
            unhook(number).expect("taken out");
        }
        println!("{name:26} {:6.1} ns added to {:.1} ns", times[1] - times[0], times[0]);
    }
    println!("{:26} {:6.1} ns", "two time stamps alone", two_time_stamps());
    println!("{:26} {:6.2} ns before the first hook, {:.2} ns after the last", "without", never, least(ROUNDS));
}
