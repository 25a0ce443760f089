//! Actions that run in the program at a hook, so that a change is made when no thread is in the middle of using it.

use std::panic::catch_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sintonia_link::probe_protocol::{ActionRepeat, HookSide, ProbeAction};

use crate::counting_start::ticks;
use crate::ring::RingCursor;
use crate::stub::{self, HookEntry};
use crate::variable_access;

/// Executes actions that are not plain memory accesses or calls: returns their result, or why they fail.
pub type ActionHandler = fn(&ProbeAction) -> Result<u64, String>;

static ACTION_HANDLER: OnceLock<ActionHandler> = OnceLock::new();

/// Sets the handler of actions that are not plain memory accesses or calls.
pub fn set_action_handler(doer: ActionHandler) {
    let _ = ACTION_HANDLER.set(doer);
}

/// Executes an action now: returns the old value, the function's result, or why it failed.
///
/// # Safety
/// The location must be that of a variable, or the address that of a function with such arguments.
pub unsafe fn execute(action: &ProbeAction) -> Result<u64, String> {
    // SAFETY: as the caller promises.
    unsafe {
        match action {
            ProbeAction::Set { location, bits } => variable_access::write(location, *bits).map_err(|reason| reason.to_string()),
            ProbeAction::Call { address, words: [a, b, c, d, e, f], floats: [s, t, u, v] } => {
                let function: extern "C" fn(u64, u64, u64, u64, u64, u64, f64, f64, f64, f64) -> u64 = std::mem::transmute(*address);
                Ok(function(*a, *b, *c, *d, *e, *f, *s, *t, *u, *v))
            }
            ProbeAction::Load { .. } | ProbeAction::Environment { .. } | ProbeAction::Control { .. } | ProbeAction::Piece { .. } => {
                ACTION_HANDLER.get().ok_or("the process has no handler for this action")?(action)
            }
        }
    }
}

/// Scheduled actions and their results.
#[derive(Debug)]
pub struct ScheduledActions {
    actions: Vec<ProbeAction>,
    repeat: ActionRepeat,
    /// Whether a thread has claimed them, or they were cancelled: one-time actions are not repeated.
    is_claimed: AtomicBool,
    /// Result of each action the first time, and the ticks when they had run.
    results: OnceLock<(Vec<Result<u64, String>>, u64)>,
}

impl ScheduledActions {
    /// Result of each action the first time, once they have run.
    pub fn results(&self) -> Option<&[Result<u64, String>]> {
        self.results.get().map(|(results, _)| results.as_slice())
    }

    /// The ticks when they had run the first time.
    pub fn executed_at(&self) -> Option<u64> {
        self.results.get().map(|(_, ticks)| *ticks)
    }

    /// Whether they may still run.
    fn is_active(&self) -> bool {
        !self.is_claimed.load(Ordering::Acquire)
    }

    fn run(&self) {
        // Of several concurrent threads only one runs one-time actions.
        let is_taken = match self.repeat {
            ActionRepeat::Once => self.is_claimed.swap(true, Ordering::AcqRel),
            ActionRepeat::Always => !self.is_active(),
        };
        if is_taken {
            return;
        }
        // SAFETY: promised by the caller of `schedule`.
        let results = self.actions.iter().map(|action| unsafe { execute(action) }).collect();
        let _ = self.results.set((results, ticks()));
    }
}

/// The actions at one side of a hook, in scheduling order; immutable, replaced as a whole.
type ActionList = Vec<&'static ScheduledActions>;

/// The action list at one side of a hook.
struct ActionSlot(&'static AtomicU64);

impl ActionSlot {
    fn new(hook: u32, side: HookSide) -> ActionSlot {
        ActionSlot(&stub::entry(hook as usize).actions[side as usize])
    }

    fn load(&self) -> (u64, &'static [&'static ScheduledActions]) {
        let address = self.0.load(Ordering::Acquire);
        // SAFETY: lists are never freed, because a thread may be using one.
        (address, unsafe { (address as *const ActionList).as_ref() }.map_or(&[], Vec::as_slice))
    }

    /// Replaces the list by its active entries and an additional one.
    fn update(&self, more: Option<&'static ScheduledActions>) {
        loop {
            let (address, list) = self.load();
            let new: ActionList = list.iter().copied().filter(|scheduled| scheduled.is_active()).chain(more).collect();
            let new = if new.is_empty() { 0 } else { std::ptr::from_ref(Box::leak(Box::new(new))) as u64 };
            if self.0.compare_exchange(address, new, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }
}

/// Schedules actions at a hook, after those already scheduled there. They are never freed, because a thread may be running them.
///
/// # Safety
/// As for [`execute`], whenever the hook is reached.
pub unsafe fn schedule(hook: u32, side: HookSide, actions: Vec<ProbeAction>, repeat: ActionRepeat) -> &'static ScheduledActions {
    let scheduled: &'static ScheduledActions =
        Box::leak(Box::new(ScheduledActions { actions, repeat, is_claimed: AtomicBool::new(false), results: OnceLock::new() }));
    ActionSlot::new(hook, side).update(Some(scheduled));
    scheduled
}

/// Cancels scheduled actions; `false` if they were one-time actions and have run.
pub fn cancel(hook: u32, side: HookSide, scheduled: &ScheduledActions) -> bool {
    let was_open = !scheduled.is_claimed.swap(true, Ordering::AcqRel);
    ActionSlot::new(hook, side).update(None);
    was_open
}

/// Called by the stub when there are actions.
///
/// # Safety
/// `entry` must be that of the hook, `moment` 1 (entry) or 2 (exit).
pub(crate) unsafe extern "C" fn act(_place: *mut RingCursor, entry: *const HookEntry, moment: u32) -> u64 {
    // SAFETY: the stub passes its entry, and 1 or 2.
    let slot = ActionSlot(unsafe { &(&(*entry).actions)[moment as usize - 1] });
    let (address, list) = slot.load();
    // A panic must not reach the program.
    let _ = catch_unwind(|| list.iter().for_each(|scheduled| scheduled.run()));
    // Clear the list so that later calls skip this function, unless it was replaced meanwhile.
    if !list.iter().any(|scheduled| scheduled.is_active()) {
        let _ = slot.0.compare_exchange(address, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
    0
}
