//! State and files of this process: what every other module of the probe reads and writes.
//!
//! It knows none of them. When recording starts and ends, and in which order, is decided in [`crate::lifecycle`].

use std::collections::HashSet;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering};

use sintonia_recording::definitions::{DefinitionRecord, ModuleDefinition, NoteDefinition};
use sintonia_recording::raw;

use crate::breakable_lock::BreakableLock;
use crate::cancellation::CancellationGuard;

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
/// Set by `MPI_Pcontrol(0)`: calls are tracked, but not recorded.
static RECORDING_OFF: AtomicBool = AtomicBool::new(false);
static THREADS: AtomicU16 = AtomicU16::new(0);
static FOLDER: OnceLock<PathBuf> = OnceLock::new();
static NAME: OnceLock<String> = OnceLock::new();
static DEFINITIONS: BreakableLock<Option<DefinitionFile>> = BreakableLock::new(None);

/// Recording state of this process.
#[inline(always)]
pub(crate) fn state() -> ProcessState {
    match STATE.load(Ordering::Acquire) {
        0 => ProcessState::Waiting,
        1 => ProcessState::Recording,
        _ => ProcessState::Ended,
    }
}

/// Sets the recording state of this process.
pub(crate) fn set_state(state: ProcessState) {
    STATE.store(state as u8, Ordering::Release);
}

/// Whether the program has switched recording off.
#[inline(always)]
pub(crate) fn is_recording_off() -> bool {
    RECORDING_OFF.load(Ordering::Relaxed)
}

/// Switches recording off or on again.
pub(crate) fn set_recording_off(off: bool) {
    RECORDING_OFF.store(off, Ordering::Relaxed);
}

/// The file of definitions.
struct DefinitionFile {
    file: File,
    bytes: usize,
    modules: HashSet<(u64, u64, String)>,
    /// How many modules have been defined, some of them again.
    modules_defined: u32,
    /// Unmapped memory to be written at the end: address, size, file extension.
    written_at_end: Vec<(usize, usize, String)>,
}

/// Creates the file of definitions in a folder; it names all files of this process. `false` if it cannot be created.
pub(crate) fn create_definitions(folder: PathBuf, host: &str, pid: u32) -> bool {
    // A process keeps its id over `exec`.
    let Some((name, file)) = (0..100).find_map(|again: u32| {
        let name = if again == 0 { format!("{host}-{pid}") } else { format!("{host}-{pid}.{again}") };
        let file = File::options().create_new(true).append(true).open(folder.join(format!("{name}.defs"))).ok()?;
        Some((name, File::from(move_from_standard_streams(file.into())?)))
    }) else {
        return false;
    };
    let _ = (FOLDER.set(folder), NAME.set(name));
    let Some(mut definitions) = DEFINITIONS.lock() else { return false };
    *definitions = Some(DefinitionFile { file, bytes: 0, modules: HashSet::new(), modules_defined: 0, written_at_end: Vec::new() });
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
    if let Some(definitions) = DEFINITIONS.lock().as_mut().and_then(|definitions| definitions.as_mut()) {
        definitions.written_at_end.push((address, bytes, extension.into()));
    }
}

/// Writes one definition: a single line in a single write.
pub(crate) fn define(definition: &DefinitionRecord) {
    let _guard = CancellationGuard::new();
    if let Some(definitions) = DEFINITIONS.lock().as_mut().and_then(|definitions| definitions.as_mut()) {
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

/// Defines the executable files that are mapped, so that call sites can be resolved later; returns how many definitions there are now.
pub(crate) fn define_modules() -> u32 {
    let _guard = CancellationGuard::new();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut definitions = DEFINITIONS.lock();
    let Some(definitions) = definitions.as_mut().and_then(|definitions| definitions.as_mut()) else { return 0 };
    for module in maps.lines().filter_map(executable_module) {
        if definitions.modules.insert((module.start, module.end, module.path.clone())) {
            definitions.write(&DefinitionRecord::Module(module));
            definitions.modules_defined += 1;
        }
    }
    definitions.modules_defined
}

/// Defines modules again at the next occasion: one was unloaded, and another may be at its place.
pub(crate) fn forget_modules() {
    if let Some(definitions) = DEFINITIONS.lock().as_mut().and_then(|definitions| definitions.as_mut()) {
        definitions.modules.clear();
    }
}

/// Parses a line such as `7f00-7f10 r-xp 00001000 08:01 123 /lib/x.so`.
fn executable_module(line: &str) -> Option<ModuleDefinition> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let executable = fields.next()?.contains('x');
    let offset = fields.next()?;
    let path = line.splitn(6, ' ').nth(5)?.trim_start();
    // The kernel's part of the C library, such as reading the clock, is in no file.
    const KERNEL_PROVIDED: &str = "[vdso]";
    if !executable || !path.starts_with('/') && path != KERNEL_PROVIDED {
        return None;
    }
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(ModuleDefinition { start: number(start)?, end: number(end)?, offset: number(offset)?, path: path.into() })
}

/// The number for a new thread.
pub(crate) fn next_thread_number() -> Option<u16> {
    const MOST: u16 = raw::UNKNOWN_THREAD;
    THREADS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < MOST).then_some(n + 1)).ok()
}

/// All files of this process.
pub(crate) fn list_files() -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (FOLDER.get(), NAME.get()) else { return Vec::new() };
    let own = format!("{name}.");
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&own)).map(|entry| entry.path()).collect()
}

/// Writes the memory registered with [`write_at_end`].
pub(crate) fn write_memory() {
    let mut definitions = DEFINITIONS.lock();
    let kept = definitions.as_mut().and_then(|definitions| definitions.as_mut()).map(|file| std::mem::take(&mut file.written_at_end));
    for (address, bytes, extension) in kept.unwrap_or_default() {
        // SAFETY: memory of the probe that is never freed.
        let memory = unsafe { std::slice::from_raw_parts(address as *const u8, bytes) };
        if fits_file_limit(bytes) {
            let _ = std::fs::write(file_path(&extension), memory);
        }
    }
}

/// Moves a file that is kept open away from the descriptors of the standard streams: a program may be started without them, and what it
/// reads or prints would be the file. `None` if there is no other descriptor.
pub(crate) fn move_from_standard_streams(file: OwnedFd) -> Option<OwnedFd> {
    const FIRST: RawFd = 3;
    if file.as_raw_fd() >= FIRST {
        return Some(file);
    }
    // SAFETY: duplicates a descriptor that is open.
    let moved = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST) };
    // SAFETY: a new descriptor, which nothing else owns.
    (moved >= 0).then(|| unsafe { OwnedFd::from_raw_fd(moved) })
}

/// The file with a descriptor that the program can spare: none of the standard streams, and in the lower half of what the process may open.
pub(crate) fn to_spare_descriptor<F: Into<OwnedFd> + From<OwnedFd>>(file: F) -> Option<F> {
    let file = move_from_standard_streams(file.into())?;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writes.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0;
    (known && (file.as_raw_fd() as u64) < limit.rlim_cur / 2).then(|| file.into())
}

/// Whether a file of this size is within RLIMIT_FSIZE; exceeding it would raise a signal in the program.
pub(crate) fn fits_file_limit(bytes: usize) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writes.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) != 0 || bytes as u64 <= limit.rlim_cur }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_kept_are_none_of_the_standard_streams() {
        let file = File::open("/proc/self/maps").unwrap();
        // SAFETY: as if the program had been started without standard input, which this test does not use.
        let input = unsafe {
            assert_eq!(libc::dup2(file.as_raw_fd(), 0), 0);
            File::from_raw_fd(0)
        };
        let moved = to_spare_descriptor(input).unwrap();
        assert!(moved.as_raw_fd() > 2, "{}", moved.as_raw_fd());
        assert!(moved.metadata().unwrap().is_file());
        let number = file.as_raw_fd();
        assert_eq!(to_spare_descriptor(file).map(|file| file.as_raw_fd()), Some(number), "others stay");
    }
}
