//! Asking an MPI library on disk what it is.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;

/// The text that a library gives of itself. Loads it into this process, so to be asked in a process of its own.
pub fn library_version(path: &Path) -> Option<String> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    let mut text: Vec<c_char> = vec![0; 16 * 1024];
    let mut length: c_int = 0;
    // SAFETY: MPI_Get_library_version has this type in every MPI, may be called before MPI_Init, and no library's text is longer than
    // 8,192 characters.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL);
        if library.is_null() {
            return None;
        }
        let function = libc::dlsym(library, c"MPI_Get_library_version".as_ptr());
        if function.is_null() {
            return None;
        }
        let ask: unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int = std::mem::transmute(function);
        ask(text.as_mut_ptr(), &mut length);
        Some(CStr::from_ptr(text.as_ptr()).to_string_lossy().trim().to_string())
    }
}
