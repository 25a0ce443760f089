//! Pieces of work of a master and its workers, seen in their MPI calls: events for the analyzer, and the size of the next piece.

mod tracker;

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use sintonia_hook::{record_event, ticks};
use sintonia_link::pieces::{COMPUTATION, NumberLocation, PieceParameter, PieceSettings};
use sintonia_link::probe_protocol::ProbeAction;
use sintonia_link::ring::{HookPoint, MPI_FUNCTION};
use sintonia_mpi::{BlockingMode, FunctionRole};

use self::tracker::{PieceEnvironment, PieceTracker, WorkMessage};
use super::executed_action::ExecutedAction;
use crate::call_frame::CallFrame;
use crate::clock;
use crate::recorder::{CallRecorder, StagedCall};
use crate::stub::BoundFunction;

/// Whether pieces are followed.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);
static FOLLOWER: Mutex<Option<Follower>> = Mutex::new(None);
/// Rank and number of processes.
static RANK: AtomicI32 = AtomicI32::new(0);
static SIZE: AtomicUsize = AtomicUsize::new(1);
/// Actions that wait for the end of a round, by command number.
static WAITING: Mutex<Vec<(u64, ProbeAction)>> = Mutex::new(Vec::new());
static RESULTS: Mutex<Vec<ExecutedAction>> = Mutex::new(Vec::new());

fn lock<T>(what: &'static Mutex<T>) -> MutexGuard<'static, T> {
    what.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Follows the calls of this process.
struct Follower {
    tracker: PieceTracker,
    /// Whether the analyzer wants events.
    is_watched: bool,
    /// As a worker: the latest message received, with its peer, bytes and ticks.
    received: Option<(i32, u64, u64)>,
}

impl Follower {
    fn new(settings: PieceSettings) -> Follower {
        let tracker = PieceTracker::new(RANK.load(Ordering::Relaxed), SIZE.load(Ordering::Relaxed), settings);
        Follower { tracker, is_watched: false, received: None }
    }
}

/// This process, at a call.
struct CallEnvironment {
    is_watched: bool,
    stack: u64,
}

impl PieceEnvironment for CallEnvironment {
    fn read(&mut self, number: &NumberLocation) -> Option<u64> {
        number.decode(sintonia_hook::read_variable(&number.location).ok()?)
    }

    fn write(&mut self, number: &NumberLocation, bits: u64) -> Option<u64> {
        let action = ProbeAction::Set { location: number.location.clone(), bits };
        // SAFETY: the holder of the run's secret took the location from the files of this process.
        unsafe { sintonia_hook::execute(&action) }.ok()
    }

    fn record(&mut self, number: u16, point: HookPoint, words: [u64; 6]) {
        if self.is_watched {
            record_event(MPI_FUNCTION | u32::from(number), point, ticks(), self.stack, words);
        }
    }

    fn round_over(&mut self) {
        for (number, action) in std::mem::take(&mut *lock(&WAITING)) {
            // SAFETY: as above.
            let result = unsafe { sintonia_hook::execute(&action) };
            lock(&RESULTS).push(ExecutedAction { number, result, ticks: ticks() });
        }
    }
}

/// After `MPI_Init`.
pub(super) fn initialized(rank: u32, size: u32) {
    RANK.store(rank as i32, Ordering::Relaxed);
    SIZE.store(size as usize, Ordering::Relaxed);
}

/// Starts or stops recording events of pieces.
pub(super) fn set_watched(is_watched: bool) {
    lock(&FOLLOWER).get_or_insert_with(|| Follower::new(PieceSettings::default())).is_watched = is_watched;
    IS_ACTIVE.store(true, Ordering::Release);
}

/// The session is over: the variable gets its initial value back, since nothing sizes pieces any more.
pub(super) fn clear() {
    IS_ACTIVE.store(false, Ordering::Release);
    if let Some(mut follower) = lock(&FOLLOWER).take() {
        follower.tracker.set(PieceParameter::Enabled, 0.0, &mut CallEnvironment { is_watched: false, stack: 0 });
    }
    lock(&WAITING).clear();
}

/// Sets a parameter; returns the old value as the bits of a double.
pub(super) fn set(settings: &PieceSettings, parameter: PieceParameter, value: f64) -> u64 {
    let mut follower = lock(&FOLLOWER);
    let follower = follower.get_or_insert_with(|| Follower::new(settings.clone()));
    if follower.tracker.settings() != settings {
        let is_watched = follower.is_watched;
        *follower = Follower { is_watched, ..Follower::new(settings.clone()) };
    }
    IS_ACTIVE.store(true, Ordering::Release);
    let mut environment = CallEnvironment { is_watched: follower.is_watched, stack: 0 };
    follower.tracker.set(parameter, value, &mut environment).to_bits()
}

/// Schedules an action after the current round.
pub(super) fn schedule(number: u64, action: ProbeAction) {
    lock(&WAITING).push((number, action));
}

/// Cancels such an action.
pub(super) fn cancel(number: u64) -> bool {
    let mut waiting = lock(&WAITING);
    let before = waiting.len();
    waiting.retain(|(other, _)| *other != number);
    waiting.len() < before
}

/// Whether there may be results to report.
pub(super) fn has_unreported() -> bool {
    !lock(&WAITING).is_empty() || !lock(&RESULTS).is_empty()
}

/// Results since the last call.
pub(super) fn take_results() -> Vec<ExecutedAction> {
    std::mem::take(&mut *lock(&RESULTS))
}

/// Before a call.
#[inline(always)]
pub(crate) fn enter(function: &BoundFunction, frame: &CallFrame, recorder: &CallRecorder) {
    if IS_ACTIVE.load(Ordering::Relaxed) && matches!(function.role, FunctionRole::Send | FunctionRole::SendReceive) {
        send_begins(frame, recorder);
    }
}

/// A worker that has received a message before has computed since.
#[cold]
fn send_begins(frame: &CallFrame, recorder: &CallRecorder) {
    let peer = recorder.staged_call().peer;
    let mut follower = lock(&FOLLOWER);
    let Some(follower) = follower.as_mut().filter(|follower| follower.is_watched && !follower.tracker.is_master()) else { return };
    if let Some((from, bytes, since)) = follower.received.take_if(|(from, ..)| *from == peer) {
        let words = [bytes, from as u64, 0, 0, 0, since];
        record_event(MPI_FUNCTION | u32::from(COMPUTATION), HookPoint::Exit, ticks(), frame.address() as u64, words);
    }
}

/// After a call.
#[inline(always)]
pub(crate) fn leave(function: &BoundFunction, frame: &CallFrame, recorder: &CallRecorder) {
    if IS_ACTIVE.load(Ordering::Relaxed) {
        call_ends(function, frame, recorder);
    }
}

#[cold]
fn call_ends(function: &BoundFunction, frame: &CallFrame, recorder: &CallRecorder) {
    if !recorder.has_succeeded() {
        return;
    }
    let StagedCall { bytes, peer, tag, .. } = recorder.staged_call();
    let now = ticks();
    let mut follower = lock(&FOLLOWER);
    let Some(follower) = follower.as_mut() else { return };
    let mut environment = CallEnvironment { is_watched: follower.is_watched, stack: frame.address() as u64 };
    let mut receive = |from: i32, bytes: u64| {
        follower.received = Some((from, bytes, now));
        follower.tracker.received(from, bytes, &mut environment);
    };
    match function.role {
        FunctionRole::Send if peer >= 0 => {
            let sent = if clock::uses_tsc() { frame.enter } else { now };
            follower.tracker.sent(WorkMessage { peer, tag, bytes, ticks: sent }, &mut environment);
        }
        FunctionRole::Receive | FunctionRole::MatchedReceive if function.mode == BlockingMode::Blocking && peer >= 0 => {
            receive(peer, bytes)
        }
        FunctionRole::Probe | FunctionRole::MatchedProbe if peer >= 0 => receive(peer, bytes),
        FunctionRole::SendReceive if function.mode == BlockingMode::Blocking => {
            if let Some((from, bytes)) = recorder.staged_source() {
                receive(from, bytes);
            }
        }
        _ if function.role.is_completion() => recorder.completed_receives().for_each(|(from, bytes)| receive(from, bytes)),
        _ => {}
    }
}
