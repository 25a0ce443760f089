//! Python frames of this thread, for call paths.
//!
//! A program in Python calls MPI through the interpreter and an extension module: its native stack tells nothing about the program. So the
//! frames of the interpreter are read as well, where CPython keeps them. The GIL is not taken and no reference is counted: a thread changes
//! its frames only itself, and it is inside the MPI call; its frames refer to their code objects, whose names and lines never change.
//!
//! Where something is depends on the version ([`layout`]). A version that is not known exactly is left alone, with a note; before frames
//! are read the first time, they are read once with reads that cannot fail the program ([`memory`]).

mod code_object;
mod frames;
mod layout;
pub(crate) mod line_numbers;
mod memory;
mod text;

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::process;

pub(crate) use code_object::PythonLine;
pub(crate) use frames::{PythonFrame, PythonFrameList};

use layout::PythonLayout;
use memory::{CheckedMemory, OwnMemory, ReadMemory};

/// Files whose frames are part of calling a native function from Python: the MPI bindings and the foreign function interfaces.
const BINDINGS: [&str; 3] = ["_ctypes.", "libffi.so", "_cffi_backend."];

static INTERPRETER: OnceLock<Option<PythonInterpreter>> = OnceLock::new();
/// Number of files loaded when the interpreter was looked for last.
static LOOKED_AT: AtomicU64 = AtomicU64::new(0);

/// The interpreter in this process.
#[derive(Debug)]
pub(crate) struct PythonInterpreter {
    layout: PythonLayout,
    /// Address of `PyCode_Type`.
    code_type: u64,
    /// Address of `PyUnicode_Type`.
    text_type: u64,
    /// Where the file with the interpreter is loaded.
    base: u64,
    is_initialized: unsafe extern "C" fn() -> c_int,
    this_thread_state: unsafe extern "C" fn() -> *mut c_void,
    line_of_instruction: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
}

/// The interpreter, if there is one whose frames can be read. `loaded` is the number of files that have been loaded so far: it is looked
/// for again when there are more.
pub(crate) fn interpreter(loaded: u64) -> Option<&'static PythonInterpreter> {
    if let Some(known) = INTERPRETER.get() {
        return known.as_ref();
    }
    if LOOKED_AT.load(Ordering::Relaxed) == loaded {
        return None;
    }
    let Some(symbols) = Symbols::find() else {
        LOOKED_AT.store(loaded, Ordering::Relaxed);
        return None;
    };
    match PythonInterpreter::find(&symbols)? {
        Ok(found) => INTERPRETER.get_or_init(|| Some(found)).as_ref(),
        Err(reason) => {
            if INTERPRETER.set(None).is_ok() {
                process::note(&format!("call paths have no Python frames: {reason}"));
            }
            None
        }
    }
}

/// The line that a Python frame executes, and its code object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampledPythonFrame {
    /// Address of the code object.
    pub code: u64,
    /// The line; negative if it is not known.
    pub line: i32,
}

impl PythonInterpreter {
    /// `None` if this thread runs no Python: then nothing can be checked yet. The reason if frames cannot be read.
    fn find(symbols: &Symbols) -> Option<Result<PythonInterpreter, String>> {
        let interpreter = match symbols.interpreter() {
            Ok(interpreter) => interpreter,
            Err(reason) => return Some(Err(reason)),
        };
        let state = interpreter.thread_state()?;
        Some(interpreter.check(state)?.map(|()| interpreter))
    }

    /// Reads the frames of a thread so that a wrong pointer does no harm. `None` if it has none.
    fn check(&self, state: u64) -> Option<Result<(), String>> {
        if !CheckedMemory::is_available() {
            return Some(Ok(()));
        }
        let mut frames = PythonFrameList::new();
        self.layout.read_frames(&CheckedMemory, state, self.code_type, &mut frames);
        let is_code = |frame: &PythonFrame| {
            let object_type = |offset: u64| CheckedMemory.word(CheckedMemory.word(frame.code + offset)?.checked_add(layout::TYPE)?);
            [self.layout.file, self.layout.name].iter().all(|offset| object_type(*offset) == Some(self.text_type))
        };
        let frames = frames.as_slice();
        let is_right = frames.iter().all(is_code);
        (!frames.is_empty()).then(|| is_right.then_some(()).ok_or_else(|| "they are not where they should be".to_owned()))
    }

    /// The state of this thread; `None` if Python does not know it, or does not run.
    #[inline(always)]
    fn thread_state(&self) -> Option<u64> {
        // SAFETY: both only read, the second one a variable of this thread; neither needs the GIL. When the interpreter ends, it is no
        // longer initialised before it frees the states of other threads.
        let state = unsafe { if (self.is_initialized)() == 0 { return None } else { (self.this_thread_state)() } };
        (!state.is_null()).then_some(state as u64)
    }

    /// Reads the frames of this thread, innermost first. Nothing is allocated.
    #[inline(always)]
    pub(crate) fn read_frames(&self, list: &mut PythonFrameList) {
        match self.thread_state() {
            Some(state) => self.layout.read_frames(&OwnMemory, state, self.code_type, list),
            None => list.clear(),
        }
    }

    /// Passes the frames of this thread to `use_frame`, innermost first, at any point of its execution: a frame may be half made.
    pub(crate) fn sample_frames(&self, mut use_frame: impl FnMut(SampledPythonFrame)) {
        let Some(state) = self.thread_state() else { return };
        let mut list = PythonFrameList::new();
        self.layout.read_frames(&CheckedMemory, state, self.code_type, &mut list);
        for PythonFrame { code, instruction } in list.as_slice().iter().copied() {
            // SAFETY: a code object that a frame of this thread refers to; the function only reads its table of lines, which has an end.
            let line = unsafe { (self.line_of_instruction)(code as *mut c_void, instruction) };
            use_frame(SampledPythonFrame { code, line });
        }
    }

    /// The place of a frame that another thread had: `None` if its code object is gone.
    pub(crate) fn sampled_line(&self, frame: SampledPythonFrame) -> Option<PythonLine> {
        let is_code = CheckedMemory.word(frame.code + layout::TYPE) == Some(self.code_type);
        if is_code { self.layout.python_line(&CheckedMemory, frame.code, frame.line) } else { None }
    }

    /// File, function and line of a frame of this thread; `None` for a frame that the interpreter has made for itself.
    pub(crate) fn line_of(&self, frame: PythonFrame) -> Option<PythonLine> {
        // SAFETY: a code object of a frame of this thread; the function only reads its table of lines.
        let line = unsafe { (self.line_of_instruction)(frame.code as *mut c_void, frame.instruction) };
        self.layout.python_line(&OwnMemory, frame.code, line)
    }

    /// Adds words that tell the code objects of frames from any others at the same addresses later: address and value. If each has its
    /// value, in this order, the next can be read.
    pub(crate) fn identity_words(&self, frames: &[PythonFrame]) -> Vec<(u64, u64)> {
        self.layout.identity_words(&OwnMemory, frames)
    }

    /// The native frames that Python called, of a native stack, innermost first: up to the interpreter, as far as they are in files, without
    /// those of the bindings.
    pub(crate) fn frames_below_python(&self, addresses: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
        let kinds = addresses.map(|address| (address, self.code_kind(address)));
        let below = kinds.take_while(|(_, kind)| !matches!(kind, CodeKind::Interpreter | CodeKind::Unknown));
        below.filter(|(_, kind)| *kind == CodeKind::Other).map(|(address, _)| address)
    }

    /// What the code at an address is to a program in Python.
    fn code_kind(&self, address: u64) -> CodeKind {
        match file_of(address) {
            None => CodeKind::Unknown,
            Some((base, _)) if base == self.base => CodeKind::Interpreter,
            Some((_, path)) if is_binding_file(&path) => CodeKind::Binding,
            Some(_) => CodeKind::Other,
        }
    }
}

/// What native code is to a program in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeKind {
    /// The interpreter itself.
    Interpreter,
    /// It only passes calls from Python on.
    Binding,
    /// Any other file.
    Other,
    /// In no file: generated code, or no code at all.
    Unknown,
}

fn is_binding_file(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    (folder.ends_with("mpi4py") && name.starts_with("MPI.")) || BINDINGS.iter().any(|binding| name.starts_with(binding))
}

/// Where the file is loaded that contains an address, and its path.
fn file_of(address: u64) -> Option<(u64, String)> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: only looks the address up; the name is one of the linker.
    unsafe {
        if libc::dladdr(address as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        Some((info.dli_fbase as u64, CStr::from_ptr(info.dli_fname).to_string_lossy().into_owned()))
    }
}

/// Where symbols of the interpreter are looked up: in the program and the libraries it was started with, or in a library that was opened
/// later.
struct Symbols(*mut c_void);

impl Symbols {
    /// `None` if no interpreter is loaded.
    fn find() -> Option<Symbols> {
        let everywhere = Symbols(libc::RTLD_DEFAULT);
        if everywhere.address(c"Py_GetVersion").is_some() {
            return Some(everywhere);
        }
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let is_python = |path: &&str| path.rsplit_once('/').is_some_and(|(_, name)| name.starts_with("libpython3."));
        let path = maps.lines().filter_map(|line| line.splitn(6, ' ').nth(5)).map(str::trim_start).find(is_python)?;
        let path = std::ffi::CString::new(path).ok()?;
        // SAFETY: the library is loaded already; the handle is kept for good, so it stays.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        (!handle.is_null()).then_some(Symbols(handle)).filter(|symbols| symbols.address(c"Py_GetVersion").is_some())
    }

    fn address(&self, name: &CStr) -> Option<u64> {
        // SAFETY: a valid handle and name.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        if address.is_null() {
            // SAFETY: takes the error message away, so that the program does not see it.
            unsafe { libc::dlerror() };
        }
        (!address.is_null()).then_some(address as u64)
    }

    fn required(&self, name: &CStr) -> Result<u64, String> {
        self.address(name).ok_or_else(|| format!("the interpreter has no {}", name.to_string_lossy()))
    }

    /// The version as in `PY_VERSION_HEX`, and as text.
    fn version(&self) -> Result<(u32, String), String> {
        let function = self.required(c"Py_GetVersion")?;
        // SAFETY: the type of that function; it returns a constant text, and may be called at any time.
        let text = unsafe { CStr::from_ptr(std::mem::transmute::<u64, unsafe extern "C" fn() -> *const c_char>(function)()) };
        let text = text.to_string_lossy().into_owned();
        let known = match self.address(c"Py_Version") {
            // SAFETY: a constant of that type.
            Some(constant) => Some(unsafe { *(constant as *const c_ulong) } as u32),
            None => layout::parse_version(&text),
        };
        known.map(|hex| (hex, text.clone())).ok_or_else(|| format!("version '{text}' is unknown"))
    }

    fn interpreter(&self) -> Result<PythonInterpreter, String> {
        let (version, text) = self.version()?;
        let layout = match self.address(c"_PyRuntime").filter(|_| version >= layout::FIRST_WITH_OFFSETS) {
            Some(runtime) => PythonLayout::from_debug_offsets(&OwnMemory, runtime, version),
            None => PythonLayout::from_version(version),
        };
        let layout = layout.map_err(|reason| format!("{reason} (CPython {})", text.split(' ').next().unwrap_or_default()))?;
        let code_type = self.required(c"PyCode_Type")?;
        // SAFETY: the types of these functions in all versions that have a layout.
        unsafe {
            Ok(PythonInterpreter {
                layout,
                code_type,
                text_type: self.required(c"PyUnicode_Type")?,
                base: file_of(code_type).map_or(0, |(base, _)| base),
                is_initialized: std::mem::transmute::<u64, unsafe extern "C" fn() -> c_int>(self.required(c"Py_IsInitialized")?),
                this_thread_state: std::mem::transmute::<u64, unsafe extern "C" fn() -> *mut c_void>(
                    self.required(c"PyGILState_GetThisThreadState")?,
                ),
                line_of_instruction: std::mem::transmute::<u64, unsafe extern "C" fn(*mut c_void, c_int) -> c_int>(
                    self.required(c"PyCode_Addr2Line")?,
                ),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_are_known_by_their_file() {
        for path in [
            "/x/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so",
            "/x/mpi4py/MPI.mpich.abi3.so",
            "/l/lib-dynload/_ctypes.cpython-39.so",
            "/l/libffi.so.8",
        ] {
            assert!(is_binding_file(path), "{path}");
        }
        for path in ["/x/MPI.so", "/x/mpi4py/libother.so", "/x/solver/kernel.cpython-311.so", ""] {
            assert!(!is_binding_file(path), "{path}");
        }
    }
}
