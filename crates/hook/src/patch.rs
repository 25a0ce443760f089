//! Installs and removes a jump at the start of a function while threads execute it.
//!
//! The first byte becomes a trap (int3), and all threads are synchronised: from now on calls trap and continue in the relocated code.
//! Threads stopped between two of the replaced instructions are queried by a signal and moved to the relocated code as well. Then no thread
//! can be inside the remaining bytes; they are written, and the first byte last. Threads sleeping in a system call are left alone: they are
//! not in these bytes, and a signal would make their calls fail.

use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use sintonia_link::probe_protocol::{HookKind, HookRead, HookSide, HookTarget, Recorded};

use crate::counting_start::CountingStart;
use crate::memory;
use crate::pending_return::{self, ReplaceRefusal};
use crate::prologue::{FunctionPrologue, HookRefusal, ResultRegisters};
use crate::signals::{self, MAX_QUERIED, ThreadQuery};
use crate::site::{self, HookSite};
use crate::stub::{self, StubKind};
use crate::sums;
use crate::threads;

const TRAP: [u8; 1] = [0xcc];
/// Timeout for a thread to answer; it may have to wait for a processor. Meanwhile calls of the function are slow, because they trap.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How often threads are queried again, after a pause.
const ATTEMPTS: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Why a function is not hooked.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// Its code does not allow it.
    #[error(transparent)]
    Refused(#[from] HookRefusal),
    /// An operation of the system failed.
    #[error("the system refuses: {0}")]
    System(#[from] io::Error),
    /// A trap would kill a thread.
    #[error("thread {0} of the process blocks SIGTRAP and would be killed by a change of code that it executes")]
    TrapsBlocked(i32),
    /// A tracer would receive the signals that hooks need.
    #[error("process {0} traces the program (as debuggers do) and would receive the traps that a change of code needs")]
    Traced(i32),
    /// A thread did not report its position.
    #[error("thread {thread} of the process {}; nothing was changed", if *blocks { "blocks the signal that queries its position" } else { "did not report its position, perhaps for lack of a processor" })]
    ThreadSilent {
        /// The thread.
        thread: i32,
        /// Whether it blocks the signal.
        blocks: bool,
    },
    /// The table of hooks is full.
    #[error("{} functions of the process are hooked already, which is the maximum", stub::MOST_HOOKS)]
    TooManyHooks,
    /// The processor lacks XSAVE.
    #[error("this processor lacks XSAVE, which hooks need")]
    OldProcessor,
    /// Functions cannot be replaced.
    #[error(transparent)]
    Replace(#[from] ReplaceRefusal),
}

/// State of a site that was hooked at some time.
#[derive(Debug, Clone, Copy, Default)]
struct HookState {
    /// Whether the jump is installed.
    is_installed: bool,
    /// How calls are recorded, if they are.
    stub: Option<StubKind>,
    /// The replacement function, if any.
    replaced_by: Option<u64>,
    /// Since when calls are counted, if the hook may be throttled.
    counting_since: Option<CountingStart>,
}

impl HookState {
    /// Adds what a hook kind requires.
    fn with_kind(mut self, kind: HookKind) -> HookState {
        match kind {
            HookKind::Wrap { stack: false } => self.stub = Some(StubKind::Wrap),
            HookKind::Wrap { stack: true } => self.stub = Some(StubKind::InPlace),
            HookKind::Pass => self.stub = Some(StubKind::Pass),
            HookKind::Replace(other) => self.replaced_by = Some(other),
        }
        self
    }

    /// Directs calls to the right target.
    fn apply(&self, number: usize, site: &HookSite) {
        let target = match self.replaced_by {
            Some(other) => {
                stub::entry(number).set_replacement(other, site.results);
                stub::address(StubKind::Replace, number)
            }
            None => site.relocated,
        };
        stub::entry(number).set_target(target);
        site.set_target(self.stub.map_or(target, |kind| stub::address(kind, number)));
    }
}

/// The state of each hook. The lock also protects changes of code.
static STATES: Mutex<Vec<HookState>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<HookState>> {
    STATES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Hooks a function or changes its hook; returns the hook number. A function can be both recorded and replaced.
pub fn hook(function: HookTarget, kind: HookKind, at_entry: &[HookRead], at_exit: &[HookRead]) -> Result<u32, PatchError> {
    prepare()?;
    if matches!(kind, HookKind::Replace(_)) {
        pending_return::prepare_saved_registers()?;
    }
    let mut states = lock();
    let is_known = |site: &HookSite| is_site_of(site, function.address) && code_at(site) != SiteCode::Other;
    let (number, site) = match site::all().enumerate().find(|(_, site)| is_known(site)) {
        Some(known) => known,
        None => {
            let known = site::add(build_site(function)?).ok_or(PatchError::TooManyHooks)?;
            stub::entry(known.0).prepare(known.0 as u32);
            states.push(HookState::default());
            known
        }
    };
    let mut state = states[number].with_kind(kind);
    if !matches!(kind, HookKind::Replace(_)) {
        stub::entry(number).set_reads(at_entry, at_exit);
    }
    state.apply(number, site);
    if !state.is_installed || code_at(site) == SiteCode::Original {
        install(site)?;
        state.is_installed = true;
    }
    states[number] = state;
    Ok(number as u32)
}

/// Removes a hook; the function is restored byte for byte.
pub fn unhook(number: u32) -> Result<(), PatchError> {
    remove_hook(&mut lock(), number as usize)
}

fn remove_hook(states: &mut [HookState], number: usize) -> Result<(), PatchError> {
    let Some(site) = site::all().nth(number).filter(|_| states[number].is_installed) else { return Ok(()) };
    // If the jump cannot be removed, it leads to the original function only.
    states[number] = HookState { is_installed: true, ..HookState::default() };
    states[number].apply(number, site);
    stub::entry(number).set_records(Recorded::ALL);
    if code_at(site) == SiteCode::Hooked {
        uninstall(site)?;
    }
    states[number].is_installed = false;
    Ok(())
}

/// Ends the replacement of a function; removes the hook if it is not recorded either.
pub fn restore(number: u32) -> Result<(), PatchError> {
    let mut states = lock();
    let number = number as usize;
    let Some(site) = site::all().nth(number) else { return Ok(()) };
    states[number].replaced_by = None;
    apply_or_remove(&mut states, number, site)
}

/// Stops recording calls; a replacement stays in place.
pub(crate) fn stop_recording(number: u32) -> Result<(), PatchError> {
    let mut states = lock();
    let number = number as usize;
    let Some(site) = site::all().nth(number) else { return Ok(()) };
    (states[number].stub, states[number].counting_since) = (None, None);
    apply_or_remove(&mut states, number, site)
}

/// Directs calls to their new target, or removes the hook if it has no purpose any more.
fn apply_or_remove(states: &mut [HookState], number: usize, site: &HookSite) -> Result<(), PatchError> {
    match states[number] {
        HookState { stub: None, replaced_by: None, .. } => remove_hook(states, number),
        state => {
            state.apply(number, site);
            Ok(())
        }
    }
}

/// Sets whether a hook may be throttled; calls are counted from now on.
pub fn set_throttling(number: u32, may: bool) {
    if let Some(state) = lock().get_mut(number as usize) {
        state.counting_since = may.then(|| CountingStart::now(sums::calls_and_ticks(number)));
    }
}

/// The hooks that may be throttled, and since when their calls are counted.
pub(crate) fn throttled_candidates() -> Vec<(u32, CountingStart)> {
    let throttles = |(number, state): (usize, &HookState)| Some((number as u32, state.counting_since?));
    lock().iter().enumerate().filter_map(throttles).collect()
}

/// Selects what a hook records. A hook that was removed records everything when it comes back.
pub fn set_records(number: u32, recorded: Recorded) {
    if lock().get(number as usize).is_some() {
        stub::entry(number as usize).set_records(recorded);
    }
}

/// Whether any hook may be throttled.
pub fn has_throttling() -> bool {
    lock().iter().any(|state| state.counting_since.is_some())
}

/// Whether a hook observes this side of its function.
pub fn observes(number: u32, side: HookSide) -> bool {
    match lock().get(number as usize).and_then(|state| state.stub) {
        Some(StubKind::Pass) => side == HookSide::Entry,
        Some(StubKind::Wrap | StubKind::InPlace) => true,
        Some(StubKind::Replace) | None => false,
    }
}

/// Removes all hooks and returns the first error. A hook that cannot be removed leads to the original function only.
pub fn unhook_all() -> Result<(), PatchError> {
    let count = lock().len() as u32;
    (0..count).map(unhook).fold(Ok(()), Result::and)
}

/// What is at the address of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SiteCode {
    /// The jump, or a trap.
    Hooked,
    /// The original code.
    Original,
    /// Something else, or nothing: the library was unloaded, and perhaps another one took its place.
    Other,
}

fn code_at(site: &HookSite) -> SiteCode {
    let mut bytes = vec![0; site.original.len()];
    match memory::read(site.address, &mut bytes) {
        Ok(()) if bytes == site.original => SiteCode::Original,
        Ok(()) if bytes[0] == TRAP[0] || bytes == site.jump_bytes() => SiteCode::Hooked,
        _ => SiteCode::Other,
    }
}

fn is_site_of(site: &HookSite, address: u64) -> bool {
    // The jump is placed after `endbr64`.
    site.address == address || site.address == address + 4
}

fn prepare() -> Result<(), PatchError> {
    static READY: OnceLock<bool> = OnceLock::new();
    if let Some(ready) = READY.get() {
        return if *ready { Ok(()) } else { Err(PatchError::OldProcessor) };
    }
    threads::prepare()?;
    signals::prepare()?;
    if *READY.get_or_init(stub::prepare) { Ok(()) } else { Err(PatchError::OldProcessor) }
}

fn build_site(function: HookTarget) -> Result<HookSite, PatchError> {
    let mut bytes = vec![0; function.size + function.padding];
    memory::read(function.address, &mut bytes)?;
    let (body, padding) = bytes.split_at(function.size);
    let prologue = FunctionPrologue::decode(function.address, body, padding)?;
    let from = (prologue.address - function.address) as usize;
    let results = ResultRegisters::analyze(function.address, body);
    Ok(HookSite::build(&prologue, bytes[from..from + prologue.length].to_vec(), results)?)
}

fn install(site: &HookSite) -> Result<(), PatchError> {
    for _ in 1..ATTEMPTS {
        match try_install(site) {
            Err(PatchError::ThreadSilent { .. }) => std::thread::sleep(RETRY_PAUSE),
            outcome => return outcome,
        }
    }
    try_install(site)
}

fn try_install(site: &HookSite) -> Result<(), PatchError> {
    check_traps_deliverable()?;
    memory::write(site.address, &TRAP)?;
    let rest = threads::sync_instructions()
        .map_err(PatchError::from)
        .and_then(|()| if site.has_inner_boundary { drain_threads(site) } else { Ok(()) });
    if let Err(problem) = rest {
        memory::write(site.address, &site.original[..1])?;
        threads::sync_instructions()?;
        return Err(problem);
    }
    write_under_trap(site, &site.jump_bytes())
}

/// The jump is a single instruction, which no thread can be inside of, so no thread needs to be queried.
fn uninstall(site: &HookSite) -> Result<(), PatchError> {
    check_traps_deliverable()?;
    memory::write(site.address, &TRAP)?;
    threads::sync_instructions()?;
    write_under_trap(site, &site.original)
}

/// The kernel kills a process whose thread traps while SIGTRAP is blocked. Threads that start or exit block it briefly; how long depends on
/// when they are scheduled.
fn check_traps_deliverable() -> Result<(), PatchError> {
    const MOMENT: Duration = Duration::from_millis(50);
    const LONG_MOMENT: Duration = Duration::from_secs(20);
    if let Some(tracer) = threads::tracer()? {
        return Err(PatchError::Traced(tracer));
    }
    let begin = Instant::now();
    loop {
        let Some(task) = threads::other_threads()?.into_iter().find(|task| task.blocks(libc::SIGTRAP)) else { return Ok(()) };
        if begin.elapsed() > if task.is_starting_or_exiting() { LONG_MOMENT } else { MOMENT } {
            return Err(PatchError::TrapsBlocked(task.number));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes all bytes of a site whose first byte is a trap.
fn write_under_trap(site: &HookSite, bytes: &[u8]) -> Result<(), PatchError> {
    memory::write(site.address + 1, &bytes[1..])?;
    threads::sync_instructions()?;
    memory::write(site.address, &bytes[..1])?;
    threads::sync_instructions()?;
    Ok(())
}

/// Waits until no thread is between the replaced instructions. A thread seen sleeping since the trap was set is not; only threads that
/// hardly ever sleep are queried, because the signal would interrupt a system call entered at that moment.
fn drain_threads(site: &HookSite) -> Result<(), PatchError> {
    const LOOKS: u32 = 4;
    const BETWEEN: Duration = Duration::from_micros(250);
    let mut running: Vec<i32> = threads::other_threads()?.into_iter().filter(|task| task.is_runnable).map(|task| task.number).collect();
    for _ in 0..LOOKS {
        if running.is_empty() {
            return Ok(());
        }
        std::thread::sleep(BETWEEN);
        running.retain(|thread| threads::find(*thread).is_some_and(|task| task.is_runnable));
    }
    running.chunks(MAX_QUERIED).try_for_each(|some| query_threads(site, some))
}

/// Queries threads; returns when each has answered, has ended, or sleeps in a system call.
fn query_threads(site: &HookSite, threads: &[i32]) -> Result<(), PatchError> {
    const LOOK_EVERY: Duration = Duration::from_millis(20);
    let query = ThreadQuery::new(site.address);
    let mut silent: Vec<(usize, i32)> = threads.iter().copied().enumerate().collect();
    // If the signal queue is full a thread is not queried; it may still be seen sleeping.
    for (index, thread) in &silent {
        query.ask(*thread, *index);
    }
    let begin = Instant::now();
    let mut looked = begin;
    loop {
        silent.retain(|(index, _)| !query.is_answered(*index));
        let Some((_, thread)) = silent.first().copied() else { return Ok(()) };
        if looked.elapsed() > LOOK_EVERY {
            silent.retain(|(_, thread)| threads::find(*thread).is_some_and(|task| task.is_runnable));
            looked = Instant::now();
        }
        if begin.elapsed() > ANSWER_TIMEOUT {
            let blocks = threads::find(thread).is_some_and(|task| task.blocks(signals::query_signal()));
            return Err(PatchError::ThreadSilent { thread, blocks });
        }
        // Yield the processor to the threads that must answer.
        std::thread::sleep(Duration::from_micros(50));
    }
}
