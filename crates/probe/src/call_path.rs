//! Call paths: from an MPI call up to `main` or the start of the thread.
//!
//! A path is unwound once, with the unwind tables of the loaded files, and gets a number in the process's tree of paths ([`path_tree`]). After
//! that it is recognised by the words of the stack that decided the unwinding ([`remembered_paths`]): if none of them has changed, the path
//! is the same, with certainty. A known path allocates nothing and takes no lock. A path that cannot be unwound ends where it ends.
//!
//! In a thread that runs Python, the frames of Python take the place of those of the interpreter ([`joined_path`]), and are compared too.

mod joined_path;
mod path_ends;
mod path_tree;
mod remembered_paths;
mod unwound_path;

use std::sync::atomic::{AtomicU32, Ordering};

use sintonia_recording::raw;

use crate::python::{self, PythonFrameList, PythonInterpreter};
use crate::settings::settings;
use crate::stack_bounds::StackBounds;
use crate::unwinder::MAX_FRAMES;
use remembered_paths::RememberedPaths;

/// Increases when a file may have been unloaded: then remembered paths are not valid any more.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The caller of an MPI function, as unwinding begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallerRegisters {
    /// The return address.
    pub return_address: u64,
    /// The stack pointer after the call has returned.
    pub stack_pointer: u64,
    /// The frame pointer.
    pub frame_pointer: u64,
}

/// Finds the call paths of a thread.
pub(crate) struct CallPathTracker {
    /// Most frames of a path; with one, only the call site is recorded.
    depth: usize,
    generation: u32,
    stack: StackBounds,
    remembered: RememberedPaths,
    /// The interpreter, once there is one.
    interpreter: Option<&'static PythonInterpreter>,
    /// The Python frames of the current call.
    python: PythonFrameList,
}

impl CallPathTracker {
    pub(crate) fn new() -> CallPathTracker {
        let depth = if settings().is_attached { 1 } else { settings().call_path_depth.clamp(1, MAX_FRAMES) };
        CallPathTracker {
            depth,
            generation: 0,
            stack: StackBounds::UNKNOWN,
            remembered: RememberedPaths::new(),
            interpreter: None,
            python: PythonFrameList::new(),
        }
    }

    /// The thread with this state begins: its stack is another one.
    pub(crate) fn attach(&mut self) {
        if self.depth > 1 {
            self.stack = StackBounds::of_this_thread();
            self.remembered.clear();
        }
    }

    /// The word that stands for the call site in a record: the number of the call path, or the return address.
    #[inline(always)]
    pub(crate) fn site_word(&mut self, caller: CallerRegisters) -> usize {
        if self.depth <= 1 {
            return caller.return_address as usize;
        }
        if self.generation != GENERATION.load(Ordering::Relaxed) {
            self.forget();
        }
        self.read_python_frames();
        match self.remembered.find(caller, &self.python) {
            Some(path) => raw::path_word(path) as usize,
            None => self.unwind(caller),
        }
    }

    /// The same, if the path is known: nothing is allocated, and no lock is taken.
    #[inline(always)]
    pub(crate) fn known_site_word(&mut self, caller: CallerRegisters) -> Option<usize> {
        if self.depth <= 1 {
            return Some(caller.return_address as usize);
        }
        if self.generation != GENERATION.load(Ordering::Relaxed) {
            return None;
        }
        self.read_python_frames();
        self.remembered.find(caller, &self.python).map(|path| raw::path_word(path) as usize)
    }

    #[inline(always)]
    fn read_python_frames(&mut self) {
        if let Some(interpreter) = self.interpreter {
            interpreter.read_frames(&mut self.python);
        }
    }

    #[cold]
    fn forget(&mut self) {
        self.generation = GENERATION.load(Ordering::Relaxed);
        self.remembered.clear();
    }

    /// Unwinds a path that is not remembered.
    #[cold]
    fn unwind(&mut self, caller: CallerRegisters) -> usize {
        let unwound = self.stack.has_room_below(caller.stack_pointer).then(|| unwound_path::unwind_whole(caller, self.stack));
        let Some(mut unwound) = unwound.flatten() else { return caller.return_address as usize };
        unwound.early_end.take().into_iter().for_each(path_ends::note);
        if self.interpreter.is_none() {
            self.interpreter = python::interpreter(unwound.loaded.loaded);
            self.interpreter.inspect(|interpreter| interpreter.read_frames(&mut self.python));
        }
        let frames = joined_path::frames(&unwound, self.interpreter, &self.python, self.depth);
        let Some(path) = path_tree::number_of(frames, unwound.loaded) else { return caller.return_address as usize };
        let code_words = self.interpreter.map_or(Vec::new(), |interpreter| interpreter.identity_words(self.python.as_slice()));
        self.remembered.insert(caller, &unwound, (&self.python, &code_words), path);
        raw::path_word(path) as usize
    }
}

/// Runs before `dlclose`.
pub(crate) unsafe extern "C" fn on_dlclose() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}
