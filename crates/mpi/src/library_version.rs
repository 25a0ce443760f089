//! Queries the version text of an MPI library.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;

/// Type of `MPI_Get_library_version`.
pub type GetLibraryVersion = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;

/// The version text of a loaded library; may be queried before `MPI_Init`.
///
/// # Safety
/// `ask` is the `MPI_Get_library_version` of an MPI library.
pub unsafe fn version_text(ask: GetLibraryVersion) -> String {
    let mut text: Vec<c_char> = vec![0; 16 * 1024];
    let mut length: c_int = 0;
    // SAFETY: no library's text is longer than 8,192 characters, so the buffer has room for it and a terminating zero.
    unsafe {
        ask(text.as_mut_ptr(), &mut length);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().trim().to_owned()
    }
}

/// The version text of a library on disk. Loads it into this process, so call it in a separate process.
pub fn library_version(path: &Path) -> Option<String> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    // SAFETY: loading runs the same code as in any program linked with this MPI, and a function of this name has this type.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        if library.is_null() {
            return None;
        }
        let function = libc::dlsym(library, c"MPI_Get_library_version".as_ptr());
        if function.is_null() {
            return None;
        }
        Some(version_text(std::mem::transmute::<*mut libc::c_void, GetLibraryVersion>(function)))
    }
}
