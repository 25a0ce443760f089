//! Putting a jump over the first bytes of a function while threads run through them, and taking it out again.
//!
//! The first byte becomes a trap, and every thread is made to see it: whoever comes now goes to the moved code. Threads that stand between
//! two of the instructions that go are asked to, and go to the moved code as well. Then nobody can be in the rest of the bytes, and they
//! are written; last, the first byte. Threads that sleep in a call of the system are left alone: they stand in none of the bytes, and
//! waking them would make their calls fail.

use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use sintonia_link::order::{Function, Read, Shape};

use crate::code::{Beginning, Refusal};
use crate::memory;
use crate::signals::{self, MOST_ASKED, Question};
use crate::site::{self, Site};
use crate::stub::{self, Kind};
use crate::threads;

const TRAP: [u8; 1] = [0xcc];
/// So long a thread may take to answer: it may have to wait for a processor.
const PATIENCE: Duration = Duration::from_secs(5);

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
    /// A thread did not say where it stands.
    #[error("a thread of the process did not answer within {} seconds; nothing was changed", PATIENCE.as_secs())]
    NoAnswer,
    /// All numbers are given.
    #[error("{} functions of the process have hooks already, and there is no room for more", stub::MOST_HOOKS)]
    TooMany,
    /// The processor lacks an instruction.
    #[error("this processor cannot save its state as a hook needs it")]
    OldProcessor,
}

/// Whether each hook is in place. Who holds it may change code.
static IN_PLACE: Mutex<Vec<bool>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<bool>> {
    IN_PLACE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Hooks a function, or changes its hook; the number of the hook.
pub fn hook(function: Function, shape: Shape, at_entry: &[Read], at_exit: &[Read]) -> Result<u32, PatchError> {
    prepare()?;
    let mut in_place = lock();
    let (number, site) = match site::all().enumerate().find(|(_, site)| covers(site, function.address)) {
        Some(known) => known,
        None => {
            let known = site::add(build(function)?).ok_or(PatchError::TooMany)?;
            stub::entry(known.0).prepare(known.0 as u32, known.1.moved);
            in_place.push(false);
            known
        }
    };
    stub::entry(number).read(at_entry, at_exit);
    site.lead_to(match shape {
        Shape::Wrap { stack: false } => stub::address(Kind::Wrap, number),
        Shape::Wrap { stack: true } => stub::address(Kind::WrapStack, number),
        Shape::Pass => stub::address(Kind::Pass, number),
        Shape::Replace(other) => other,
    });
    if !in_place[number] {
        put_in(site)?;
        in_place[number] = true;
    }
    Ok(number as u32)
}

/// Takes a hook out; the function is byte for byte what it was.
pub fn unhook(number: u32) -> Result<(), PatchError> {
    let mut in_place = lock();
    let number = number as usize;
    let Some(site) = site::all().nth(number).filter(|_| in_place[number]) else { return Ok(()) };
    take_out(site)?;
    in_place[number] = false;
    Ok(())
}

/// Takes every hook out.
pub fn unhook_all() -> Result<(), PatchError> {
    let count = lock().len() as u32;
    (0..count).try_for_each(unhook)
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
    Ok(Site::build(&beginning, bytes[from..from + beginning.length].to_vec())?)
}

fn put_in(site: &Site) -> Result<(), PatchError> {
    traps_are_noticed()?;
    let jump = site.jump();
    memory::write(site.address, &TRAP)?;
    let rest = threads::refetch().map_err(PatchError::from).and_then(|()| if site.has_inner_places { empty(site) } else { Ok(()) });
    if let Err(problem) = rest {
        memory::write(site.address, &site.original[..1])?;
        threads::refetch()?;
        return Err(problem);
    }
    write_behind_trap(site, &jump)
}

/// The bytes of the jump are one instruction, which nobody can stand in the middle of, so nobody needs to be asked.
fn take_out(site: &Site) -> Result<(), PatchError> {
    traps_are_noticed()?;
    memory::write(site.address, &TRAP)?;
    threads::refetch()?;
    write_behind_trap(site, &site.original)
}

/// The system ends a process one of whose threads traps while it blocks traps. A thread that is just being born blocks them for a moment.
fn traps_are_noticed() -> Result<(), PatchError> {
    const BIRTH: Duration = Duration::from_millis(50);
    let since = Instant::now();
    loop {
        match threads::others()?.iter().find(|task| task.blocks_traps) {
            None => return Ok(()),
            Some(task) if since.elapsed() > BIRTH => return Err(PatchError::TrapsBlocked(task.number)),
            Some(_) => std::thread::sleep(Duration::from_millis(1)),
        }
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

/// Waits until no thread stands between the instructions that go.
fn empty(site: &Site) -> Result<(), PatchError> {
    let running: Vec<i32> = threads::others()?.into_iter().filter(|task| task.runs).map(|task| task.number).collect();
    running.chunks(MOST_ASKED).try_for_each(|some| ask(site, some))
}

fn ask(site: &Site, threads: &[i32]) -> Result<(), PatchError> {
    let question = Question::new(site.address);
    let mut silent: Vec<(usize, i32)> = threads.iter().copied().enumerate().collect();
    if silent.iter().any(|(place, thread)| !question.ask(*thread, *place) && threads::exists(*thread)) {
        return Err(PatchError::NoAnswer);
    }
    let since = Instant::now();
    loop {
        silent.retain(|(place, thread)| !question.is_answered(*place) && threads::exists(*thread));
        if silent.is_empty() {
            return Ok(());
        }
        if since.elapsed() > PATIENCE {
            return Err(PatchError::NoAnswer);
        }
        // The processor belongs to those who are to answer.
        std::thread::sleep(Duration::from_micros(50));
    }
}
