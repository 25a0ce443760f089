//! Life cycle of a recorded process: from `MPI_Init` to its end.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use sintonia_mpi::{FUNCTIONS, FunctionRole};
use sintonia_recording::definitions::{
    DefinitionRecord, EndDefinition, FORMAT_VERSION, LibraryDefinition, ModuleDefinition, NoteDefinition, ProcessDefinition,
    WorldDefinition,
};

use crate::block_region::fits_file_limit;
use crate::clock;
use crate::communicators;
use crate::hosts;
use crate::library::{self, Handle, ProgramMpi};
use crate::requests::REQUESTS;
use crate::settings::settings;
use crate::stub;
use crate::thread;
use crate::tuning;

/// Recording state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ProcessState {
    /// It has not called MPI yet.
    Waiting,
    /// Its calls are recorded.
    Recording,
    /// Its recording has ended, or is not possible.
    Ended,
}

static STATE: AtomicU8 = AtomicU8::new(ProcessState::Waiting as u8);
static THREADS: AtomicU16 = AtomicU16::new(0);
static FOLDER: OnceLock<PathBuf> = OnceLock::new();
static NAME: OnceLock<String> = OnceLock::new();
static DEFINITIONS: Mutex<Option<DefinitionFile>> = Mutex::new(None);

/// Recording state of this process.
#[inline(always)]
pub(crate) fn state() -> ProcessState {
    match STATE.load(Ordering::Acquire) {
        0 => ProcessState::Waiting,
        1 => ProcessState::Recording,
        _ => ProcessState::Ended,
    }
}

fn set_state(state: ProcessState) {
    STATE.store(state as u8, Ordering::Release);
}

/// The file of definitions.
struct DefinitionFile {
    file: File,
    bytes: usize,
    modules: HashSet<(u64, u64, String)>,
    /// Unmapped memory to be written at the end: address, size, file extension.
    written_at_end: Vec<(usize, usize, String)>,
}

fn definitions() -> MutexGuard<'static, Option<DefinitionFile>> {
    DEFINITIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Starts recording if this call can start it; `false` if the call is not recorded.
#[cold]
pub(crate) fn begin(role: FunctionRole) -> bool {
    // If MPI was initialised unseen, several threads may get here concurrently.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match state() {
        ProcessState::Waiting => {}
        ProcessState::Recording => return true,
        ProcessState::Ended => return false,
    }
    let Some(library) = library::open() else {
        set_state(ProcessState::Ended);
        return false;
    };
    let starts = matches!(role, FunctionRole::Init | FunctionRole::SessionInit);
    if !starts && !library.initialized() {
        return false;
    }
    if !open_files(library) {
        set_state(ProcessState::Ended);
        stub::disable_all();
        return false;
    }
    set_state(ProcessState::Recording);
    tuning::start();
    if !starts {
        // MPI was initialised unseen; other processes may be at another point, so no messages can be exchanged.
        note("MPI was initialised before the probe could see it; earlier calls are not recorded");
        REQUESTS.set_multithreaded();
        communicators::register_predefined(library);
        define_world(library, hosts::WorldSummary::local(library));
    }
    true
}

fn open_files(library: &ProgramMpi) -> bool {
    clock::select_source();
    let host = host_name();
    let pid = std::process::id();
    let folder = hosts::local_dir(settings());
    if std::fs::create_dir_all(&folder).is_err() {
        return false;
    }
    // A process keeps its id over `exec`.
    let Some((name, file)) = (0..100).find_map(|again: u32| {
        let name = if again == 0 { format!("{host}-{pid}") } else { format!("{host}-{pid}.{again}") };
        let file = File::options().create_new(true).append(true).open(folder.join(format!("{name}.defs"))).ok()?;
        Some((name, file))
    }) else {
        return false;
    };
    let _ = (FOLDER.set(folder), NAME.set(name));
    *definitions() = Some(DefinitionFile { file, bytes: 0, modules: HashSet::new(), written_at_end: Vec::new() });
    define(&DefinitionRecord::Process(ProcessDefinition {
        format: FORMAT_VERSION,
        functions: FUNCTIONS.len(),
        host,
        pid,
        arguments: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        time_stamp_counter: clock::uses_tsc(),
        profile: settings().profile,
    }));
    define(&DefinitionRecord::Library(LibraryDefinition {
        version: library.version.clone(),
        abi: library.abi.name().into(),
        path: library.path.clone(),
    }));
    define(&DefinitionRecord::Clock(clock::reading()));
    define_modules();
    // SAFETY: both functions stay loaded for the life of the process.
    unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(None, None, Some(in_child));
    }
    true
}

/// The name of this host, as used in file names.
pub(crate) fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is valid for the given length, and zero-terminated because one byte is held back.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let length = name.iter().position(|b| *b == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..length]).replace('/', "_")
}

/// The path of a file of this process.
pub(crate) fn file_path(extension: &str) -> PathBuf {
    let name = NAME.get().map(String::as_str).unwrap_or("unknown");
    FOLDER.get().cloned().unwrap_or_default().join(format!("{name}.{extension}"))
}

/// Creates a file of this process, for reading and writing.
pub(crate) fn create_file(extension: &str) -> Option<File> {
    File::options().create_new(true).read(true).write(true).open(file_path(extension)).ok()
}

/// Removes a file of this process.
pub(crate) fn remove_file(extension: &str) {
    let _ = std::fs::remove_file(file_path(extension));
}

/// Registers memory to be written to a file at the end.
pub(crate) fn write_at_end(address: usize, bytes: usize, extension: &str) {
    if let Some(definitions) = definitions().as_mut() {
        definitions.written_at_end.push((address, bytes, extension.into()));
    }
}

/// Writes one definition: a single line in a single write.
pub(crate) fn define(definition: &DefinitionRecord) {
    if let Some(definitions) = definitions().as_mut() {
        definitions.write(definition);
    }
}

impl DefinitionFile {
    fn write(&mut self, definition: &DefinitionRecord) {
        if let Ok(mut line) = serde_json::to_vec(definition) {
            line.push(b'\n');
            self.bytes += line.len();
            if fits_file_limit(self.bytes) {
                let _ = self.file.write_all(&line);
            }
        }
    }
}

/// Writes a note for the report.
pub(crate) fn note(text: &str) {
    define(&DefinitionRecord::Note(NoteDefinition { text: text.into() }));
}

/// Defines the executable files that are mapped, so that call sites can be resolved later.
pub(crate) fn define_modules() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let mut definitions = definitions();
    let Some(definitions) = definitions.as_mut() else { return };
    for module in maps.lines().filter_map(executable_module) {
        if definitions.modules.insert((module.start, module.end, module.path.clone())) {
            definitions.write(&DefinitionRecord::Module(module));
        }
    }
}

/// Parses a line such as `7f00-7f10 r-xp 00001000 08:01 123 /lib/x.so`.
fn executable_module(line: &str) -> Option<ModuleDefinition> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let executable = fields.next()?.contains('x');
    let offset = fields.next()?;
    let path = line.splitn(6, ' ').nth(5)?.trim_start();
    if !executable || !path.starts_with('/') {
        return None;
    }
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(ModuleDefinition { start: number(start)?, end: number(end)?, offset: number(offset)?, path: path.into() })
}

/// The number for a new thread.
pub(crate) fn next_thread_number() -> Option<u16> {
    const MOST: u16 = 0x7ffe;
    THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < MOST).then_some(n + 1)).ok()
}

/// `MPI_Init` has succeeded.
pub(crate) fn on_initialized(library: &ProgramMpi) {
    if library.allows_threads() {
        REQUESTS.set_multithreaded();
    }
    communicators::register_predefined(library);
    let world = hosts::connect(library);
    if let Some(world) = &world {
        tuning::initialized(world.rank as u32, world.size as u32);
    }
    define_world(library, world);
    define(&DefinitionRecord::Clock(clock::reading()));
    define_modules();
}

fn define_world(library: &ProgramMpi, world: Option<hosts::WorldSummary>) {
    let Some(world) = world else { return };
    define(&DefinitionRecord::World(WorldDefinition {
        id: world.id,
        rank: world.rank,
        size: world.size,
        spawned: library.spawned(),
        hosts: world.hosts,
    }));
}

/// `MPI_Session_init` has succeeded.
pub(crate) fn on_session_initialized(library: &ProgramMpi, session: Handle) {
    REQUESTS.set_multithreaded();
    communicators::register_session(library, session);
    if let Some((size, rank)) = communicators::world_from_group(library) {
        let id = hosts::job_id();
        define(&DefinitionRecord::World(WorldDefinition { id, rank, size, spawned: false, hosts: 1 }));
    }
    define_modules();
}

/// `MPI_Finalize` is about to be called: the last opportunity to exchange messages.
pub(crate) fn before_finalize() {
    tuning::before_finalize();
    if let Some(library) = library::library() {
        hosts::disconnect(library);
    }
}

/// Ends recording.
pub(crate) fn end(how: &str) {
    if state() != ProcessState::Recording {
        return;
    }
    define(&DefinitionRecord::Clock(clock::reading()));
    define_modules();
    define(&DefinitionRecord::End(EndDefinition { how: how.into(), ticks: clock::ticks() }));
    if how != "aborted" {
        set_state(ProcessState::Ended);
    }
    thread::finish_all();
    write_memory();
}

/// All files of this process.
pub(crate) fn list_files() -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (FOLDER.get(), NAME.get()) else { return Vec::new() };
    let own = format!("{name}.");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).map(|entry| entry.path()).collect()
}

fn write_memory() {
    let kept = definitions().as_mut().map(|d| std::mem::take(&mut d.written_at_end)).unwrap_or_default();
    for (address, bytes, extension) in kept {
        // SAFETY: memory of the probe that is never freed.
        let memory = unsafe { std::slice::from_raw_parts(address as *const u8, bytes) };
        if fits_file_limit(bytes) {
            let _ = std::fs::write(file_path(&extension), memory);
        }
    }
}

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| end("exited"));
}

/// In a forked child: the parent goes on recording; the child must not touch shared memory.
extern "C" fn in_child() {
    set_state(ProcessState::Ended);
    stub::disable_all();
    thread::forget();
    tuning::after_fork_in_child();
}
