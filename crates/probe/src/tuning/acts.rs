//! What can be done in the program besides writing memory and calling functions.

use std::ffi::{CStr, CString};

use sintonia_link::order::Act;

use super::control;
use crate::binding;

/// Does it; what it gives, or why it cannot be done.
pub fn perform(act: &Act) -> Result<u64, String> {
    match act {
        Act::Load { path } => load(path),
        Act::Environment { name, value } => set_environment(name, value),
        Act::Control { name, bits } => control::set(name, *bits).map(f64::to_bits),
        Act::Set { .. } | Act::Call { .. } => Err("memory is not changed here".into()),
    }
}

fn text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("`{}` has a zero in it", text.escape_default()))
}

/// Loads a library. All it needs is looked up now, so that it fails here and not in the middle of the program; its names are its own, so
/// that it takes the place of nothing in libraries that the program loads later.
fn load(path: &str) -> Result<u64, String> {
    let file = text(path)?;
    // SAFETY: what a library does when it is loaded is up to whoever asked for it.
    let loaded = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if loaded.is_null() {
        return Err(problem());
    }
    // Calls of MPI in it are to be seen.
    binding::look();
    Ok(1)
}

/// What the system says of the latest problem with a library in this thread.
fn problem() -> String {
    // SAFETY: text that the system keeps until this thread asks again, or null.
    unsafe {
        match libc::dlerror() {
            text if text.is_null() => "the system does not say why".into(),
            text => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}

/// Sets a variable of the environment; gives 0.
pub fn set_environment(name: &str, value: &str) -> Result<u64, String> {
    let (name, value) = (text(name)?, text(value)?);
    // SAFETY: the system guards its list; what it gave out before stays where it is.
    match unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) } {
        0 => Ok(0),
        _ => Err(format!("`{}` is no name of a variable", name.to_string_lossy())),
    }
}
