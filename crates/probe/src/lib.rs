//! The library inside the running program.
//!
//! It is preloaded into every process that the recorded command starts, and does nothing in those that never call MPI. Where MPI is
//! called, [`binding`] leads the calls through [`stub`]s to [`call`], which notes when they were entered and left; [`observe`] reads what
//! each kind of call is about, and [`stream`] writes it down. The program comes first: when in doubt the call is passed through.

mod binding;
mod call;
mod clock;
mod communicators;
mod datatypes;
mod hosts;
mod library;
mod observe;
mod process;
mod profile;
mod region;
mod requests;
mod settings;
mod stream;
mod stub;
mod thread;
mod tuning;

/// Runs when the probe is loaded, before the program's own code.
extern "C" fn loaded() {
    if settings::read() {
        std::panic::set_hook(Box::new(|_| {}));
        let _ = std::panic::catch_unwind(binding::start);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;
