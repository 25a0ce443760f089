//! Putting a jump over the first bytes of a function while threads run through them, and taking it out again.
//!
//! The first byte becomes a trap, and every thread is made to see it: whoever comes now goes to the moved code. Threads that stand between
//! two of the instructions that go are asked to, and go to the moved code as well. Then nobody can be in the rest of the bytes, and they
//! are written; last, the first byte. Threads that sleep in a call of the system are left alone: they stand in none of the bytes, and
//! waking them would make their calls fail.

use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use sintonia_link::order::{Function, Read, Shape, Side};

use crate::code::{Beginning, Refusal, Results};
use crate::memory;
use crate::signals::{self, MOST_ASKED, Question};
use crate::site::{self, Site};
use crate::stub::{self, Kind};
use crate::threads;
use crate::throttle::Since;

const TRAP: [u8; 1] = [0xcc];
/// So long a thread may take to answer: it may have to wait for a processor. Meanwhile calls of the function are slow, because they trap.
const PATIENCE: Duration = Duration::from_secs(2);
/// So often threads are asked again, after a while in which the program runs as before.
const ATTEMPTS: u32 = 10;
const WHILE: Duration = Duration::from_millis(200);

/// Why a function is not hooked.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// Its code does not allow it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The system does not allow it.
    #[error("the system refuses: {0}")]
    System(#[from] io::Error),
    /// A thread would be killed by a trap.
    #[error("thread {0} of the process blocks the signal SIGTRAP, and would not survive a change of code that it runs")]
    TrapsBlocked(i32),
    /// The signals that hooks need would go elsewhere.
    #[error("process {0} traces the program, as debuggers do, and would get the traps that a change of code needs")]
    Traced(i32),
    /// A thread did not say where it stands.
    #[error("thread {thread} of the process {}; nothing was changed", if *blocks { "blocks the signal by which it is asked where it stands" } else { "did not say where it stands, for want of a processor perhaps" })]
    NoAnswer {
        /// Which thread.
        thread: i32,
        /// Whether it blocks the signal by which it is asked.
        blocks: bool,
    },
    /// All numbers are given.
    #[error("{} functions of the process have hooks already, and there is no room for more", stub::MOST_HOOKS)]
    TooMany,
    /// The processor lacks an instruction.
    #[error("this processor cannot save its state as a hook needs it")]
    OldProcessor,
}

/// What happens at a place that was hooked at some time.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Whether the jump is there.
    is_in_place: bool,
    /// How calls are noted, if they are.
    noted: Option<Kind>,
    /// What is called in the function's place, if anything.
    replaced_by: Option<u64>,
    /// Since when calls are counted, if it may take itself out when there are too many.
    throttles: Option<Since>,
}

impl State {
    /// The same with what a shape adds.
    fn with(mut self, shape: Shape) -> State {
        match shape {
            Shape::Wrap { stack: false } => self.noted = Some(Kind::Wrap),
            Shape::Wrap { stack: true } => self.noted = Some(Kind::WrapStack),
            Shape::Pass => self.noted = Some(Kind::Pass),
            Shape::Replace(other) => self.replaced_by = Some(other),
        }
        self
    }

    /// Leads calls where they are to go.
    fn lead(&self, number: usize, site: &Site) {
        let target = match self.replaced_by {
            Some(other) => {
                stub::entry(number).replace(other, site.results);
                stub::address(Kind::Replace, number)
            }
            None => site.moved,
        };
        stub::entry(number).call(target);
        site.lead_to(self.noted.map_or(target, |kind| stub::address(kind, number)));
    }
}

/// The state of each hook. Who holds it may change code.
static STATES: Mutex<Vec<State>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<State>> {
    STATES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Hooks a function, or changes its hook; the number of the hook. A function can be replaced and its calls noted, at once or in turn.
pub fn hook(function: Function, shape: Shape, at_entry: &[Read], at_exit: &[Read]) -> Result<u32, PatchError> {
    prepare()?;
    let mut states = lock();
    let (number, site) = match site::all().enumerate().find(|(_, site)| covers(site, function.address)) {
        Some(known) => known,
        None => {
            let known = site::add(build(function)?).ok_or(PatchError::TooMany)?;
            stub::entry(known.0).prepare(known.0 as u32);
            states.push(State::default());
            known
        }
    };
    let mut state = states[number].with(shape);
    if !matches!(shape, Shape::Replace(_)) {
        stub::entry(number).read(at_entry, at_exit);
    }
    state.lead(number, site);
    if !state.is_in_place {
        put_in(site)?;
        state.is_in_place = true;
    }
    states[number] = state;
    Ok(number as u32)
}

/// Takes a hook out; the function is byte for byte what it was.
pub fn unhook(number: u32) -> Result<(), PatchError> {
    end(&mut lock(), number as usize)
}

fn end(states: &mut [State], number: usize) -> Result<(), PatchError> {
    let Some(site) = site::all().nth(number).filter(|_| states[number].is_in_place) else { return Ok(()) };
    // Should the jump have to stay, it leads to what the function does, and nothing else.
    states[number] = State { is_in_place: true, ..State::default() };
    states[number].lead(number, site);
    take_out(site)?;
    states[number].is_in_place = false;
    Ok(())
}

/// Lets a function that was replaced be called again; if nothing is noted of it, its hook is taken out.
pub fn restore(number: u32) -> Result<(), PatchError> {
    let mut states = lock();
    let number = number as usize;
    let Some(site) = site::all().nth(number) else { return Ok(()) };
    states[number].replaced_by = None;
    settle(&mut states, number, site)
}

/// Notes calls no more; a function that is replaced stays so.
pub(crate) fn unnote(number: u32) -> Result<(), PatchError> {
    let mut states = lock();
    let number = number as usize;
    let Some(site) = site::all().nth(number) else { return Ok(()) };
    (states[number].noted, states[number].throttles) = (None, None);
    settle(&mut states, number, site)
}

/// Leads calls where they are to go now, or takes the hook out that is for nothing any more.
fn settle(states: &mut [State], number: usize, site: &Site) -> Result<(), PatchError> {
    match states[number] {
        State { noted: None, replaced_by: None, .. } => end(states, number),
        state => {
            state.lead(number, site);
            Ok(())
        }
    }
}

/// Says whether a hook may take itself out when there are too many calls; they are counted from now on.
pub fn may_throttle(number: u32, may: bool) {
    if let Some(state) = lock().get_mut(number as usize) {
        stub::entry(number as usize).count_anew();
        state.throttles = may.then(Since::now);
    }
}

/// The hooks that may take themselves out, and since when their calls are counted.
pub(crate) fn throttling() -> Vec<(u32, Since)> {
    let throttles = |(number, state): (usize, &State)| Some((number as u32, state.throttles?));
    lock().iter().enumerate().filter_map(throttles).collect()
}

/// Whether there is a hook that may take itself out.
pub fn is_throttling() -> bool {
    lock().iter().any(|state| state.throttles.is_some())
}

/// Whether a hook sees this side of its function.
pub fn sees(number: u32, side: Side) -> bool {
    match lock().get(number as usize).and_then(|state| state.noted) {
        Some(Kind::Pass) => side == Side::Entry,
        Some(Kind::Wrap | Kind::WrapStack) => true,
        Some(Kind::Replace) | None => false,
    }
}

/// Takes every hook out; the first problem, if there is one. What cannot be taken out leads to the function, and to nothing else.
pub fn unhook_all() -> Result<(), PatchError> {
    let count = lock().len() as u32;
    (0..count).map(unhook).fold(Ok(()), Result::and)
}

fn covers(site: &Site, address: u64) -> bool {
    // The jump stands behind the mark that some functions begin with.
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

fn build(function: Function) -> Result<Site, PatchError> {
    let mut bytes = vec![0; function.size + function.padding];
    memory::read(function.address, &mut bytes)?;
    let (body, padding) = bytes.split_at(function.size);
    let beginning = Beginning::of(function.address, body, padding)?;
    let from = (beginning.address - function.address) as usize;
    let results = Results::of(function.address, body);
    Ok(Site::build(&beginning, bytes[from..from + beginning.length].to_vec(), results)?)
}

fn put_in(site: &Site) -> Result<(), PatchError> {
    for _ in 1..ATTEMPTS {
        match try_to_put_in(site) {
            Err(PatchError::NoAnswer { .. }) => std::thread::sleep(WHILE),
            outcome => return outcome,
        }
    }
    try_to_put_in(site)
}

fn try_to_put_in(site: &Site) -> Result<(), PatchError> {
    traps_are_noticed()?;
    memory::write(site.address, &TRAP)?;
    let rest = threads::refetch().map_err(PatchError::from).and_then(|()| if site.has_inner_places { empty(site) } else { Ok(()) });
    if let Err(problem) = rest {
        memory::write(site.address, &site.original[..1])?;
        threads::refetch()?;
        return Err(problem);
    }
    write_behind_trap(site, &site.jump())
}

/// The bytes of the jump are one instruction, which nobody can stand in the middle of, so nobody needs to be asked.
fn take_out(site: &Site) -> Result<(), PatchError> {
    traps_are_noticed()?;
    memory::write(site.address, &TRAP)?;
    threads::refetch()?;
    write_behind_trap(site, &site.original)
}

/// The system ends a process one of whose threads traps while it blocks traps. A thread that begins or ends blocks them for a moment; how
/// long that is depends on when it gets a processor.
fn traps_are_noticed() -> Result<(), PatchError> {
    const MOMENT: Duration = Duration::from_millis(50);
    const LONG_MOMENT: Duration = Duration::from_secs(20);
    if let Some(tracer) = threads::tracer()? {
        return Err(PatchError::Traced(tracer));
    }
    let begin = Instant::now();
    loop {
        let Some(task) = threads::others()?.into_iter().find(|task| task.blocks(libc::SIGTRAP)) else { return Ok(()) };
        if begin.elapsed() > if task.begins_or_ends() { LONG_MOMENT } else { MOMENT } {
            return Err(PatchError::TrapsBlocked(task.number));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes all bytes of a place whose first is a trap.
fn write_behind_trap(site: &Site, bytes: &[u8]) -> Result<(), PatchError> {
    memory::write(site.address + 1, &bytes[1..])?;
    threads::refetch()?;
    memory::write(site.address, &bytes[..1])?;
    threads::refetch()?;
    Ok(())
}

/// Waits until no thread stands between the instructions that go. Who was seen to sleep since the trap is there does not; only threads that
/// hardly ever sleep are asked, because a call of the system that one begins at that very moment would fail.
fn empty(site: &Site) -> Result<(), PatchError> {
    const LOOKS: u32 = 4;
    const BETWEEN: Duration = Duration::from_micros(250);
    let mut running: Vec<i32> = threads::others()?.into_iter().filter(|task| task.runs).map(|task| task.number).collect();
    for _ in 0..LOOKS {
        if running.is_empty() {
            return Ok(());
        }
        std::thread::sleep(BETWEEN);
        running.retain(|thread| threads::find(*thread).is_some_and(|task| task.runs));
    }
    running.chunks(MOST_ASKED).try_for_each(|some| ask(site, some))
}

/// Asks threads to leave; returns when each has, has ended, or sleeps in a call of the system, where none of the instructions are.
fn ask(site: &Site, threads: &[i32]) -> Result<(), PatchError> {
    const LOOK_EVERY: Duration = Duration::from_millis(20);
    let question = Question::new(site.address);
    let mut silent: Vec<(usize, i32)> = threads.iter().copied().enumerate().collect();
    // Where the system has no room for more signals, a thread is not asked; it may be seen to sleep all the same.
    for (place, thread) in &silent {
        question.ask(*thread, *place);
    }
    let begin = Instant::now();
    let mut looked = begin;
    loop {
        silent.retain(|(place, _)| !question.is_answered(*place));
        let Some((_, thread)) = silent.first().copied() else { return Ok(()) };
        if looked.elapsed() > LOOK_EVERY {
            silent.retain(|(_, thread)| threads::find(*thread).is_some_and(|task| task.runs));
            looked = Instant::now();
        }
        if begin.elapsed() > PATIENCE {
            let blocks = threads::find(thread).is_some_and(|task| task.blocks(signals::question()));
            return Err(PatchError::NoAnswer { thread, blocks });
        }
        // The processor belongs to those who are to answer.
        std::thread::sleep(Duration::from_micros(50));
    }
}
