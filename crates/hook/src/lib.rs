//! Hooks at entry and exit of functions of the current process, installed and removed while its threads run.
//!
//! A hooked function starts with a jump into a stub of this crate ([`stub`]). The stub records time and arguments, *calls* the function
//! (its first instructions, relocated by [`prologue`], and then the rest), records time and result, and returns. A function that may have
//! arguments on the stack must find the stack as its caller left it: the stub replaces its return address instead ([`pending_return`]).
//! Stubs and replaced return addresses have unwind information like any compiled function, so exceptions, `longjmp`, cancellation and
//! backtraces work. Events go to a ring of the thread ([`ring`]) that another process reads, and into sums over all calls ([`sums`]): nothing
//! here blocks, locks or allocates while the program runs.
//!
//! [`patch`] writes the jump while threads may execute the very bytes; [`site`] keeps every hooked location forever, because a thread may
//! return from a stub at any later time.

mod action;
mod checked_memory;
mod code_arena;
mod counting_start;
mod memory;
mod patch;
mod pending_return;
mod prologue;
mod read_steps;
mod ring;
mod signals;
mod site;
mod stub;
mod sum_table;
mod sums;
mod threads;
mod throttle;
mod trampoline;
mod variable_access;

pub use action::{ActionHandler, ScheduledActions, cancel, execute, schedule, set_action_handler};
pub use counting_start::ticks;
pub use patch::{PatchError, has_throttling, hook, observes, restore, set_records, set_throttling, unhook, unhook_all};
pub use prologue::{HookRefusal, check_code};
pub use ring::{RingMemory, claimed_rings, detach_ring, has_room, record_event};
pub use signals::guard::signal_wrapper;
pub use sums::{enter_mpi, leave_mpi};
pub use throttle::{ThrottledHook, call_counts, throttle_hooks};
pub use variable_access::read as read_variable;
