//! The life of a recorded process: from `MPI_Init` to whatever ends it.

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use sintonia_mpi::{FUNCTIONS, Role};
use sintonia_recording::definitions::{Definition, End, FORMAT, Library as LibraryDefinition, Module, Note, Process, World};

use crate::clock;
use crate::communicators;
use crate::hosts;
use crate::library::{self, Handle, Library};
use crate::region::fits;
use crate::requests::REQUESTS;
use crate::settings::settings;
use crate::stub;
use crate::thread;
use crate::tuning;

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// It has not called MPI yet.
    Waiting,
    /// Its calls are recorded.
    Recording,
    /// Its recording has ended, or cannot be made.
    Ended,
}

static STATE: AtomicU8 = AtomicU8::new(State::Waiting as u8);
static THREADS: AtomicU16 = AtomicU16::new(0);
static FOLDER: OnceLock<PathBuf> = OnceLock::new();
static NAME: OnceLock<String> = OnceLock::new();
static DEFINITIONS: Mutex<Option<Definitions>> = Mutex::new(None);

/// Where this process stands.
#[inline(always)]
pub fn state() -> State {
    match STATE.load(Ordering::Acquire) {
        0 => State::Waiting,
        1 => State::Recording,
        _ => State::Ended,
    }
}

fn set_state(state: State) {
    STATE.store(state as u8, Ordering::Release);
}

/// The file with what the process says of itself.
struct Definitions {
    file: File,
    bytes: usize,
    modules: HashSet<(u64, u64, String)>,
    /// Memory that is no file and must be written at the end: address, bytes, name of the file.
    kept: Vec<(usize, usize, String)>,
}

fn definitions() -> MutexGuard<'static, Option<Definitions>> {
    DEFINITIONS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Begins recording if this call is one that can begin it; `false` if the call is not recorded.
#[cold]
pub fn begin(role: Role) -> bool {
    // Where MPI was started unseen, several threads can come here at once.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match state() {
        State::Waiting => {}
        State::Recording => return true,
        State::Ended => return false,
    }
    let Some(library) = library::open() else {
        set_state(State::Ended);
        return false;
    };
    let starts = matches!(role, Role::Init | Role::SessionInit);
    if !starts && !library.initialized() {
        return false;
    }
    if !open_files(library) {
        set_state(State::Ended);
        stub::pass_all();
        return false;
    }
    set_state(State::Recording);
    tuning::begin();
    if !starts {
        // MPI was started where the probe could not see it; other processes may not be at the same point, so nothing can be exchanged.
        note("MPI was started before the probe could see it; what came before is not recorded");
        REQUESTS.expect_threads();
        communicators::begin(library);
        define_world(library, hosts::World::alone(library));
    }
    true
}

fn open_files(library: &Library) -> bool {
    clock::choose();
    let host = host_name();
    let pid = std::process::id();
    let folder = hosts::folder_here(settings());
    if std::fs::create_dir_all(&folder).is_err() {
        return false;
    }
    // A process that replaces itself by another program keeps its number.
    let Some((name, file)) = (0..100).find_map(|again: u32| {
        let name = if again == 0 { format!("{host}-{pid}") } else { format!("{host}-{pid}.{again}") };
        let file = File::options().create_new(true).append(true).open(folder.join(format!("{name}.defs"))).ok()?;
        Some((name, file))
    }) else {
        return false;
    };
    let _ = (FOLDER.set(folder), NAME.set(name));
    *definitions() = Some(Definitions { file, bytes: 0, modules: HashSet::new(), kept: Vec::new() });
    define(&Definition::Process(Process {
        format: FORMAT,
        functions: FUNCTIONS.len(),
        host,
        pid,
        arguments: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        time_stamp_counter: clock::is_counter(),
        profile: settings().profile,
    }));
    define(&Definition::Library(LibraryDefinition {
        version: library.version.clone(),
        abi: library.abi.name().into(),
        path: library.path.clone(),
    }));
    define(&Definition::Clock(clock::reading()));
    define_modules();
    // SAFETY: both functions stay loaded as long as the process lives.
    unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(None, None, Some(in_child));
    }
    true
}

/// The name of this host, as it stands in names of files.
pub fn host_name() -> String {
    let mut name = [0u8; 256];
    // SAFETY: `name` has room for the given length, and ends with zero because one byte is kept back.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let length = name.iter().position(|b| *b == 0).unwrap_or(0);
    String::from_utf8_lossy(&name[..length]).replace('/', "_")
}

/// The path of one of this process's files.
pub fn file_path(extension: &str) -> PathBuf {
    let name = NAME.get().map(String::as_str).unwrap_or("unknown");
    FOLDER.get().cloned().unwrap_or_default().join(format!("{name}.{extension}"))
}

/// Makes one of this process's files, for reading and writing.
pub fn create_file(extension: &str) -> Option<File> {
    File::options().create_new(true).read(true).write(true).open(file_path(extension)).ok()
}

/// Removes one of this process's files.
pub fn remove_file(extension: &str) {
    let _ = std::fs::remove_file(file_path(extension));
}

/// Has memory written to a file at the end.
pub fn keep_at_end(address: usize, bytes: usize, extension: &str) {
    if let Some(definitions) = definitions().as_mut() {
        definitions.kept.push((address, bytes, extension.into()));
    }
}

/// Writes one definition: one line, in one piece.
pub fn define(definition: &Definition) {
    if let Some(definitions) = definitions().as_mut() {
        definitions.write(definition);
    }
}

impl Definitions {
    fn write(&mut self, definition: &Definition) {
        if let Ok(mut line) = serde_json::to_vec(definition) {
            line.push(b'\n');
            self.bytes += line.len();
            if fits(self.bytes) {
                let _ = self.file.write_all(&line);
            }
        }
    }
}

/// Tells something that the report should tell.
pub fn note(text: &str) {
    define(&Definition::Note(Note { text: text.into() }));
}

/// Tells which files of code are mapped where, so that call sites can be named afterwards.
pub fn define_modules() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let mut definitions = definitions();
    let Some(definitions) = definitions.as_mut() else { return };
    for module in maps.lines().filter_map(executable_module) {
        if definitions.modules.insert((module.start, module.end, module.path.clone())) {
            definitions.write(&Definition::Module(module));
        }
    }
}

/// A line such as `7f00-7f10 r-xp 00001000 08:01 123 /lib/x.so`.
fn executable_module(line: &str) -> Option<Module> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let executable = fields.next()?.contains('x');
    let offset = fields.next()?;
    let path = line.splitn(6, ' ').nth(5)?.trim_start();
    if !executable || !path.starts_with('/') {
        return None;
    }
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(Module { start: number(start)?, end: number(end)?, offset: number(offset)?, path: path.into() })
}

/// A number for a new thread.
pub fn next_thread_number() -> Option<u16> {
    const MOST: u16 = 0x7ffe;
    THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < MOST).then_some(n + 1)).ok()
}

/// `MPI_Init` has succeeded.
pub fn initialized(library: &Library) {
    if library.allows_threads() {
        REQUESTS.expect_threads();
    }
    communicators::begin(library);
    let world = hosts::meet(library);
    if let Some(world) = &world {
        tuning::initialized(world.rank as u32, world.size as u32);
    }
    define_world(library, world);
    define(&Definition::Clock(clock::reading()));
    define_modules();
}

fn define_world(library: &Library, world: Option<hosts::World>) {
    let Some(world) = world else { return };
    define(&Definition::World(World { id: world.id, rank: world.rank, size: world.size, spawned: library.spawned(), hosts: world.hosts }));
}

/// `MPI_Session_init` has succeeded.
pub fn session_begun(library: &Library, session: Handle) {
    REQUESTS.expect_threads();
    communicators::begin_with_session(library, session);
    if let Some((size, rank)) = communicators::world_from_group(library) {
        let id = hosts::job_number();
        define(&Definition::World(World { id, rank, size, spawned: false, hosts: 1 }));
    }
    define_modules();
}

/// `MPI_Finalize` is about to be called: the last moment to talk to other processes.
pub fn before_finalize() {
    tuning::leaving();
    if let Some(library) = library::library() {
        hosts::part(library);
    }
}

/// Recording has ended.
pub fn end(how: &str) {
    if state() != State::Recording {
        return;
    }
    define(&Definition::Clock(clock::reading()));
    define_modules();
    define(&Definition::End(End { how: how.into(), ticks: clock::ticks() }));
    if how != "aborted" {
        set_state(State::Ended);
    }
    thread::finish_all();
    write_kept();
}

/// All files of this process.
pub fn files() -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (FOLDER.get(), NAME.get()) else { return Vec::new() };
    let own = format!("{name}.");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).map(|entry| entry.path()).collect()
}

fn write_kept() {
    let kept = definitions().as_mut().map(|d| std::mem::take(&mut d.kept)).unwrap_or_default();
    for (address, bytes, extension) in kept {
        // SAFETY: memory of the probe's own that is never given back.
        let memory = unsafe { std::slice::from_raw_parts(address as *const u8, bytes) };
        if fits(bytes) {
            let _ = std::fs::write(file_path(&extension), memory);
        }
    }
}

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| end("exited"));
}

/// In a forked child: the parent goes on recording, the child must not touch what they share.
extern "C" fn in_child() {
    set_state(State::Ended);
    stub::pass_all();
    thread::forget();
    tuning::in_child();
}
