//! What each thread used of its host: processor time, context switches, page faults, time without a processor, and where it may run.
//!
//! A thread is read when it is attached and when it is released; threads that still run at the end are read from `/proc`. All that costs
//! nothing between the two readings. The accounts are kept apart from the states of the threads, which only their own thread may touch.

use std::fs;
use std::str::FromStr;

use sintonia_recording::definitions::DefinitionRecord;
use sintonia_recording::host::ThreadUsage;

use crate::breakable_lock::BreakableLock;
use crate::clock;
use crate::process;
use crate::processor_set;

/// The accounts of all threads that were ever attached.
static ACCOUNTS: BreakableLock<Vec<UsageAccount>> = BreakableLock::new(Vec::new());

/// What the threads with one number used: a number is given to another thread when its thread has ended.
#[derive(Default)]
struct UsageAccount {
    /// Of threads that have ended.
    ended: ThreadUsage,
    /// The thread that has the number now, and its reading when it was attached.
    running: Option<(libc::pid_t, UsageReading)>,
}

/// Counters of a thread since it was created, at one point in time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct UsageReading {
    monotonic_ns: u64,
    cpu_ns: u64,
    waiting_ns: Option<u64>,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
}

/// Opens the account of the calling thread, which gets this number.
pub(crate) fn attach(number: u16, thread: libc::pid_t) {
    let affinity = processor_set::affinity(0).unwrap_or_default();
    let running = Some((thread, UsageReading::of_this_thread(thread)));
    let Some(mut accounts) = ACCOUNTS.lock() else { return };
    if let Some(account) = accounts.iter_mut().find(|account| account.ended.thread == number) {
        account.running = running;
        return;
    }
    let ended = ThreadUsage { thread: number, affinity, ..ThreadUsage::default() };
    // Written now too: a process that is killed writes nothing at its end.
    process::define(&DefinitionRecord::Usage(ended.clone()));
    accounts.push(UsageAccount { ended, running });
}

/// `MPI_Init` has succeeded in the calling thread. Its affinity is read again: some libraries bind processes there.
pub(crate) fn initialized() {
    let Some(affinity) = processor_set::affinity(0) else { return };
    let this = thread_id();
    let Some(mut accounts) = ACCOUNTS.lock() else { return };
    let Some(account) = accounts.iter_mut().find(|account| account.running.is_some_and(|(thread, _)| thread == this)) else { return };
    if account.ended.affinity != affinity {
        account.ended.affinity = affinity;
        process::define(&DefinitionRecord::Usage(account.ended.clone()));
    }
}

/// Closes the account of the calling thread, which has this number and is about to end.
pub(crate) fn release(number: u16) {
    let affinity = processor_set::affinity(0);
    let Some(mut accounts) = ACCOUNTS.lock() else { return };
    let Some(account) = accounts.iter_mut().find(|account| account.ended.thread == number) else { return };
    let Some((thread, start)) = account.running.take() else { return };
    add_usage(&mut account.ended, &start, &UsageReading::of_this_thread(thread), affinity);
}

/// Defines what all threads have used until now.
pub(crate) fn define_all() {
    let this = thread_id();
    let Some(accounts) = ACCOUNTS.lock() else { return };
    for account in accounts.iter() {
        let mut usage = account.ended.clone();
        if let Some((thread, start)) = account.running {
            let now = if thread == this { Some(UsageReading::of_this_thread(thread)) } else { UsageReading::of_other_thread(thread) };
            if let Some(now) = now {
                add_usage(&mut usage, &start, &now, processor_set::affinity(thread));
            }
        }
        process::define(&DefinitionRecord::Usage(usage));
    }
}

/// The system's id of the calling thread.
fn thread_id() -> libc::pid_t {
    // SAFETY: only queries the thread id.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

/// Adds what a thread used between two readings, and where it may run at the second one.
fn add_usage(sum: &mut ThreadUsage, start: &UsageReading, end: &UsageReading, affinity: Option<String>) {
    sum.elapsed_ns += end.monotonic_ns.saturating_sub(start.monotonic_ns);
    sum.cpu_ns += end.cpu_ns.saturating_sub(start.cpu_ns);
    if let (Some(start), Some(end)) = (start.waiting_ns, end.waiting_ns) {
        *sum.waiting_ns.get_or_insert(0) += end.saturating_sub(start);
    }
    sum.voluntary_switches += end.voluntary_switches.saturating_sub(start.voluntary_switches);
    sum.involuntary_switches += end.involuntary_switches.saturating_sub(start.involuntary_switches);
    *sum.minor_faults.get_or_insert_default() += end.minor_faults.saturating_sub(start.minor_faults);
    *sum.major_faults.get_or_insert_default() += end.major_faults.saturating_sub(start.major_faults);
    sum.affinity_at_end = affinity.filter(|now| *now != sum.affinity);
}

impl UsageReading {
    fn of_this_thread(thread: libc::pid_t) -> UsageReading {
        // SAFETY: all bits zero are a valid `rusage`.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is valid for writes.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
        UsageReading {
            monotonic_ns: clock::nanoseconds(libc::CLOCK_MONOTONIC),
            cpu_ns: clock::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID),
            waiting_ns: task_file(thread, "schedstat").and_then(|text| parse_waiting(&text)),
            voluntary_switches: usage.ru_nvcsw as u64,
            involuntary_switches: usage.ru_nivcsw as u64,
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
        }
    }

    /// `None` if the thread has ended, or if `/proc` is not mounted.
    fn of_other_thread(thread: libc::pid_t) -> Option<UsageReading> {
        let (minor_faults, major_faults) = parse_faults(&task_file(thread, "stat")?)?;
        let status = task_file(thread, "status")?;
        Some(UsageReading {
            monotonic_ns: clock::nanoseconds(libc::CLOCK_MONOTONIC),
            cpu_ns: clock::nanoseconds(cpu_clock(thread)),
            waiting_ns: task_file(thread, "schedstat").and_then(|text| parse_waiting(&text)),
            voluntary_switches: parse_field(&status, "voluntary_ctxt_switches:")?,
            involuntary_switches: parse_field(&status, "nonvoluntary_ctxt_switches:")?,
            minor_faults,
            major_faults,
        })
    }
}

/// The clock of the processor time of another thread of this process, as `pthread_getcpuclockid` composes it.
fn cpu_clock(thread: libc::pid_t) -> libc::clockid_t {
    const THREAD_SCHEDULER_CLOCK: libc::clockid_t = 0b110;
    (!thread << 3) | THREAD_SCHEDULER_CLOCK
}

fn task_file(thread: libc::pid_t, name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/self/task/{thread}/{name}")).ok()
}

/// Time ready to run without a processor: the second number of `schedstat`. A kernel without these statistics writes zeros only.
fn parse_waiting(schedstat: &str) -> Option<u64> {
    let mut numbers = schedstat.split_ascii_whitespace().map(u64::from_str);
    let (on_cpu, waiting, slices) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
    (on_cpu, waiting, slices).ne(&(0, 0, 0)).then_some(waiting)
}

/// Minor and major page faults: fields 10 and 12 of `stat`, whose second field, the name, may contain anything.
fn parse_faults(stat: &str) -> Option<(u64, u64)> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace();
    Some((fields.nth(7)?.parse().ok()?, fields.nth(1)?.parse().ok()?))
}

fn parse_field(status: &str, name: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_task_are_parsed() {
        assert_eq!(parse_waiting("123 456 7\n"), Some(456));
        assert_eq!(parse_waiting("0 0 0\n"), None);
        assert_eq!(parse_waiting("a"), None);
        let stat = "7 (a ) b) S 1 2 3 4 5 4194304 100 20 3 0 1 2";
        assert_eq!(parse_faults(stat), Some((100, 3)));
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n";
        assert_eq!(parse_field(status, "voluntary_ctxt_switches:"), Some(5));
        assert_eq!(parse_field(status, "nonvoluntary_ctxt_switches:"), Some(6));
    }

    /// The two ways to read a thread agree: by itself, and by another thread.
    #[test]
    fn a_thread_that_sleeps_is_read_alike_by_itself_and_by_others() {
        let (to_main, from_thread) = std::sync::mpsc::channel();
        let (to_thread, from_main) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            let touched = vec![1u8; 8 << 20];
            let this = thread_id();
            to_main.send((this, UsageReading::of_this_thread(this))).unwrap();
            from_main.recv().unwrap();
            touched.len()
        });
        let (thread, by_itself) = from_thread.recv().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let by_other = UsageReading::of_other_thread(thread).unwrap();
        to_thread.send(()).unwrap();
        sleeper.join().unwrap();
        assert!(by_itself.cpu_ns > 0 && by_other.cpu_ns >= by_itself.cpu_ns);
        // Asleep: only sending and falling asleep lie between the two.
        assert!(by_other.cpu_ns < by_itself.cpu_ns + 10_000_000, "{by_itself:?} {by_other:?}");
        assert!(by_itself.minor_faults >= (8 << 20) / 4096 && by_other.minor_faults - by_itself.minor_faults < 100);
        assert!((1..10).contains(&(by_other.voluntary_switches - by_itself.voluntary_switches)), "{by_itself:?} {by_other:?}");
        assert_eq!(UsageReading::of_other_thread(thread), None, "it has ended");
    }
}
