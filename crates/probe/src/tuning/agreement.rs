//! Changes that all processes make before the same call, for values that must be equal on all ranks to avoid a deadlock, such as the
//! algorithm of a collective.
//!
//! Blocking collectives on `MPI_COMM_WORLD` come in the same order on every rank, so each process can count them. Before every N-th of them
//! all processes exchange the id of their pending change and, if it is the same, make it. That needs MPI messages, so it is done only if it
//! was requested before `MPI_Init` and every process takes part. Other collectives are not counted: a program may rely on them not to
//! synchronise.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use sintonia_link::HelloMessage;
use sintonia_link::probe_protocol::ProbeAction;
use sintonia_mpi::{BlockingMode, FunctionRole};

use super::executed_action::ExecutedAction;
use crate::library::{Handle, ProgramMpi, library};
use crate::recorder::CallRecorder;
use crate::settings::settings;
use crate::stub::BoundFunction;
use crate::{communicators, job};

/// The processes that agree on changes.
struct AgreementGroup {
    communicator: Handle,
    size: usize,
    /// Id of `MPI_COMM_WORLD` in the recording.
    world: u32,
}

/// A change that waits for agreement.
struct ProposedChange {
    /// Its id, the same on all ranks.
    change: u64,
    /// The number of the command.
    number: u64,
    action: ProbeAction,
}

/// Number of calls between agreements; 0 if disabled.
static INTERVAL: AtomicU32 = AtomicU32::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);
static GROUP: OnceLock<AgreementGroup> = OnceLock::new();
static PENDING_CHANGE: Mutex<Option<ProposedChange>> = Mutex::new(None);
/// Results not reported yet: command number, result, and the ticks of the execution.
static RESULTS: Mutex<Vec<ExecutedAction>> = Mutex::new(Vec::new());

fn lock<T>(what: &'static Mutex<T>) -> MutexGuard<'static, T> {
    what.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Before `MPI_Init`: enables agreement.
pub(crate) fn enable(every: u32) {
    INTERVAL.store(every, Ordering::Relaxed);
}

/// After `MPI_Init`: sets up agreement, if all processes take part.
pub(crate) fn start(rank: u32, size: u32) {
    let (Some(library), true) = (library(), INTERVAL.load(Ordering::Relaxed) > 0) else { return };
    // Differs from the id used to ask whether all processes are recorded.
    let hello = HelloMessage { token: settings().token.clone(), world: job::job_id() ^ 1, rank, size };
    let all = sintonia_link::ask_all_recorded(settings().link.split(',').filter(|address| !address.is_empty()), &hello) == Some(true);
    let create_group = || {
        let communicator = library.duplicate(library.comm_world)?;
        Some(AgreementGroup { communicator, size: size as usize, world: communicators::communicator_id(library.comm_world) })
    };
    match all.then(create_group).flatten() {
        Some(group) => drop(GROUP.set(group)),
        None => INTERVAL.store(0, Ordering::Relaxed),
    }
}

/// Before `MPI_Finalize`.
pub(crate) fn end() {
    INTERVAL.store(0, Ordering::Relaxed);
    if let (Some(library), Some(group)) = (library(), GROUP.get()) {
        library.free(group.communicator);
    }
}

/// Proposes a change, to be made once all processes propose it; replaces an earlier proposal.
pub(crate) fn propose(number: u64, change: u64, action: ProbeAction) -> Result<(), String> {
    if GROUP.get().is_none() || INTERVAL.load(Ordering::Relaxed) == 0 {
        return Err("the processes cannot synchronise a change: not all of them are tuned, or `sintonia tune` could not be reached".into());
    }
    let earlier = lock(&PENDING_CHANGE).replace(ProposedChange { change, number, action });
    if let Some(earlier) = earlier {
        let replaced = Err("replaced by a later change".into());
        lock(&RESULTS).push(ExecutedAction { number: earlier.number, result: replaced, ticks: sintonia_hook::ticks() });
    }
    Ok(())
}

/// Whether there may be results to report.
pub(crate) fn has_unreported() -> bool {
    lock(&PENDING_CHANGE).is_some() || !lock(&RESULTS).is_empty()
}

/// Results since the last call: command number, result, ticks of the execution.
pub(super) fn take_results() -> Vec<ExecutedAction> {
    std::mem::take(&mut *lock(&RESULTS))
}

/// Before a call: counts it, and runs the agreement if it is due.
#[inline(always)]
pub(crate) fn before_call(function: &BoundFunction, recorder: &CallRecorder, library: &ProgramMpi) {
    if INTERVAL.load(Ordering::Relaxed) > 0
        && function.mode == BlockingMode::Blocking
        && matches!(function.role, FunctionRole::Collective(_))
    {
        count_collective(recorder, library);
    }
}

#[cold]
fn count_collective(recorder: &CallRecorder, library: &ProgramMpi) {
    let Some(group) = GROUP.get().filter(|group| recorder.staged_call().object == Some(group.world)) else { return };
    let every = u64::from(INTERVAL.load(Ordering::Relaxed)).max(1);
    if CALLS.fetch_add(1, Ordering::Relaxed) % every == every - 1 {
        group.agree(library);
    }
}

impl AgreementGroup {
    fn agree(&self, library: &ProgramMpi) {
        let mine = lock(&PENDING_CHANGE).as_ref().map_or(0, |wanted| wanted.change);
        let Some(all) = library.all_gather(&mine, self.communicator, self.size) else { return };
        if mine == 0 || all.iter().any(|theirs| *theirs != mine) {
            return;
        }
        // Only the change that all have proposed is made: a later one may have arrived meanwhile.
        let agreed = lock(&PENDING_CHANGE).take_if(|wanted| wanted.change == mine);
        // No lock is held while it is made: a called function of the program may get here itself.
        if let Some(ProposedChange { number, action, .. }) = agreed {
            // SAFETY: the holder of the run's secret knows what the action does in this process.
            let result = unsafe { sintonia_hook::execute(&action) };
            lock(&RESULTS).push(ExecutedAction { number, result, ticks: sintonia_hook::ticks() });
        }
    }
}
