//! Actions other than writing memory and calling functions.

use std::ffi::CStr;

use sintonia_link::probe_protocol::ProbeAction;

use super::environment::{set_environment, to_c_string};
use super::{control, pieces};
use crate::binding;

/// Executes an action; returns its result, or why it failed.
pub(super) fn execute(action: &ProbeAction) -> Result<u64, String> {
    match action {
        ProbeAction::Load { path } => load_library(path),
        ProbeAction::Environment { name, value } => set_environment(name, value),
        ProbeAction::Control { name, bits } => control::set(name, *bits).map(f64::to_bits),
        ProbeAction::Piece { settings, parameter, value } => Ok(pieces::set(settings, *parameter, *value)),
        ProbeAction::Set { .. } | ProbeAction::Call { .. } => Err("not an action of this handler".into()),
    }
}

/// Loads a library. RTLD_NOW, so that it fails here and not later in the program; RTLD_LOCAL, so that its symbols do not shadow those of
/// libraries that the program loads later.
fn load_library(path: &str) -> Result<u64, String> {
    let file = to_c_string(path)?;
    // SAFETY: the code a library runs on loading is the responsibility of the user who requested it.
    let loaded = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if loaded.is_null() {
        return Err(loader_error());
    }
    // Bind its MPI calls.
    binding::bind_new_objects();
    Ok(1)
}

/// The loader's latest error in this thread.
fn loader_error() -> String {
    // SAFETY: null, or a string that stays valid until this thread calls the loader again.
    unsafe {
        match libc::dlerror() {
            text if text.is_null() => "unknown error of the dynamic linker".into(),
            text => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}
