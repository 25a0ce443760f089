//! The environment of the program, from which an MPI library takes initial values.

use std::ffi::CString;

/// The text as a C string; fails if it contains a null character.
pub(super) fn to_c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("`{}` contains a null character", text.escape_default()))
}

/// Sets an environment variable; returns 0.
pub(super) fn set_environment(name: &str, value: &str) -> Result<u64, String> {
    let (name, value) = (to_c_string(name)?, to_c_string(value)?);
    // SAFETY: setenv locks the environment; strings returned before stay valid.
    match unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) } {
        0 => Ok(0),
        _ => Err(format!("`{}` is not a valid name of an environment variable", name.to_string_lossy())),
    }
}
