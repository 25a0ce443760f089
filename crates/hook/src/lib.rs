//! Hooks at the entry and exit of functions of the process this code is in, put in and taken out while its threads run.
//!
//! A hooked function begins with a jump into a stub of this crate ([`stub`]). The stub notes when the function was entered and with which
//! arguments, *calls* the function (its first instructions, moved elsewhere by [`code`], and then the rest), notes when it returned and with
//! what, and returns. It calls instead of replacing the return address, and is described to unwinders like any compiled function, so
//! exceptions, `longjmp`, cancellation and backtraces go through it. What is noted goes to a ring of the thread ([`ring`]) that another
//! process reads: nothing here waits, locks or allocates while the program runs.
//!
//! [`patch`] writes the jump while threads may be running through the very bytes; [`site`] remembers every place for ever, because a
//! thread may come back from a stub at any later time.

mod act;
mod code;
mod memory;
mod near;
mod patch;
mod reads;
mod ring;
mod signals;
mod site;
mod stub;
mod threads;
mod throttle;

pub use act::{Doer, Pending, arrange, cancel, entrust, perform};
pub use code::Refusal;
pub use patch::{PatchError, hook, is_throttling, may_throttle, restore, sees, unhook, unhook_all};
pub use ring::{Rings, forget, note, taken};
pub use signals::guard::stand_in;
pub use throttle::{Throttled, throttle};
