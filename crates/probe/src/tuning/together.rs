//! Changes that all processes make before the same call: where ranks with different values in their MPI library would wait for each other
//! for ever, as with the algorithm of a collective operation.
//!
//! Blocking collective calls on `MPI_COMM_WORLD` come in the same order everywhere, so every process can count them. Before every so many of
//! them all processes tell each other which change they were asked for, and if it is the same, make it. That needs messages through MPI, so
//! it is only done if it was asked for before MPI began, and if every process was found to do so. Other collective calls are not counted: a
//! program may rely on it that nobody waits there.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use sintonia_link::Card;
use sintonia_link::order::Act;
use sintonia_mpi::{Mode, Role};

use crate::library::{Handle, Library, library};
use crate::settings::settings;
use crate::stream::Recorder;
use crate::stub::About;
use crate::{communicators, hosts};

/// The processes among which changes are agreed on.
struct Meeting {
    communicator: Handle,
    size: usize,
    /// The number of `MPI_COMM_WORLD` in the recording.
    world: u32,
}

/// A change that waits for all to agree.
struct Wanted {
    /// Its number, the same everywhere.
    change: u64,
    /// The number of the order.
    order: u64,
    act: Act,
}

/// Before every so many calls; 0 if nothing is agreed on.
static EVERY: AtomicU32 = AtomicU32::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);
static MEETING: OnceLock<Meeting> = OnceLock::new();
static WANTED: Mutex<Option<Wanted>> = Mutex::new(None);
static DONE: Mutex<Vec<(u64, Result<u64, String>)>> = Mutex::new(Vec::new());

fn lock<T>(what: &'static Mutex<T>) -> MutexGuard<'static, T> {
    what.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Before `MPI_Init`: changes are to be agreed on.
pub fn enable(every: u32) {
    EVERY.store(every, Ordering::Relaxed);
}

/// After `MPI_Init`: meets the others, if all of them do.
pub fn begin(rank: u32, size: u32) {
    let (Some(library), true) = (library(), EVERY.load(Ordering::Relaxed) > 0) else { return };
    // Another number than that under which processes ask whether all are recorded.
    let card = Card { token: settings().token.clone(), world: hosts::job_number() ^ 1, rank, size };
    let all = sintonia_link::ask(settings().link.split(',').filter(|address| !address.is_empty()), &card) == Some(true);
    let meeting = || {
        let communicator = library.duplicate(library.world)?;
        Some(Meeting { communicator, size: size as usize, world: communicators::number(library.world) })
    };
    match all.then(meeting).flatten() {
        Some(meeting) => drop(MEETING.set(meeting)),
        None => EVERY.store(0, Ordering::Relaxed),
    }
}

/// Before `MPI_Finalize`.
pub fn end() {
    EVERY.store(0, Ordering::Relaxed);
    if let (Some(library), Some(meeting)) = (library(), MEETING.get()) {
        library.free(meeting.communicator);
    }
}

/// Makes a change as soon as all processes were asked for it; what waited before is forgotten.
pub fn want(order: u64, change: u64, act: Act) -> Result<(), String> {
    if MEETING.get().is_none() || EVERY.load(Ordering::Relaxed) == 0 {
        return Err("processes cannot agree on a moment: not all of them are tuned, or `sintonia tune` could not be reached".into());
    }
    let earlier = lock(&WANTED).replace(Wanted { change, order, act });
    if let Some(earlier) = earlier {
        lock(&DONE).push((earlier.order, Err("a later change took its place".into())));
    }
    Ok(())
}

/// Whether something may be done at any moment that has to be told.
pub fn is_waiting() -> bool {
    lock(&WANTED).is_some() || !lock(&DONE).is_empty()
}

/// What has been done since the last time, by the number of its order.
pub fn performed() -> Vec<(u64, Result<u64, String>)> {
    std::mem::take(&mut *lock(&DONE))
}

/// A call is entered: if it is one before which all meet, they do.
#[inline(always)]
pub fn enter(about: &About, recorder: &Recorder, library: &Library) {
    if EVERY.load(Ordering::Relaxed) > 0 && about.mode == Mode::Blocking && matches!(about.role, Role::Collective(_)) {
        count(recorder, library);
    }
}

#[cold]
fn count(recorder: &Recorder, library: &Library) {
    let Some(meeting) = MEETING.get().filter(|meeting| recorder.summary().object == Some(meeting.world)) else { return };
    let every = u64::from(EVERY.load(Ordering::Relaxed)).max(1);
    if CALLS.fetch_add(1, Ordering::Relaxed) % every == every - 1 {
        meeting.agree(library);
    }
}

impl Meeting {
    fn agree(&self, library: &Library) {
        let mine = lock(&WANTED).as_ref().map_or(0, |wanted| wanted.change);
        let Some(all) = library.all_gather(&mine, self.communicator, self.size) else { return };
        if mine == 0 || all.iter().any(|theirs| *theirs != mine) {
            return;
        }
        // Only what all have told of is done: something later may have come in between.
        let agreed = lock(&WANTED).take_if(|wanted| wanted.change == mine);
        // Nothing is locked while it is done: a function of the program that is called may come here itself.
        if let Some(Wanted { order, act, .. }) = agreed {
            // SAFETY: who holds the run's secret knows what the act does in this process.
            let given = unsafe { sintonia_hook::perform(&act) };
            lock(&DONE).push((order, given));
        }
    }
}
