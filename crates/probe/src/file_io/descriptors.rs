//! Which file each descriptor of the process leads to, and where it is in it.
//!
//! A descriptor is looked up with the kernel at its first use (and when it is opened), and forgotten when it is closed. Pipes, sockets and
//! devices are not files, and files of the system are left out, as by Darshan; so are the recording's own and the standard streams.

use std::collections::HashMap;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use sintonia_recording::definitions::{DefinitionRecord, FileDefinition};
use sintonia_recording::raw::file_io::FileOperation;

use super::signal_context::may_allocate;
use crate::breakable_lock::BreakableLock;
use crate::cancellation::CancellationGuard;
use crate::file_counters::Transfer;
use crate::process;
use crate::settings::settings;

/// Directories whose files are left out.
const EXCLUDED: [&str; 12] =
    ["/etc/", "/dev/", "/usr/", "/bin/", "/boot/", "/lib/", "/lib64/", "/opt/", "/sbin/", "/sys/", "/proc/", "/var/"];

/// The first descriptor after those of the standard streams.
const FIRST: usize = 3;
/// Descriptors from here on are not observed.
const END: usize = 4096;
/// Most files.
const MAX_FILES: usize = 8192;

const UNKNOWN: u32 = 0;
const IGNORED: u32 = 1;
/// The first number of a file.
const FILES: u32 = 2;

/// In place of an offset: none.
const NOWHERE: u64 = u64::MAX;

/// A file descriptor.
pub(super) struct Descriptor {
    /// [`UNKNOWN`], [`IGNORED`], or the number of the file plus [`FILES`].
    state: AtomicU32,
    /// The position in the file.
    position: AtomicU64,
    /// Ends of the last read and of the last write.
    ends: [AtomicU64; 2],
}

static DESCRIPTORS: [Descriptor; END] =
    [const { Descriptor { state: AtomicU32::new(UNKNOWN), position: AtomicU64::new(0), ends: [const { AtomicU64::new(NOWHERE) }; 2] } };
        END];

/// The descriptor with a number; `None` if it is not observed, or is known not to lead to a file.
#[inline]
pub(super) fn descriptor(number: c_int) -> Option<&'static Descriptor> {
    let index = usize::try_from(number).ok().filter(|index| *index >= FIRST)?;
    DESCRIPTORS.get(index).filter(|descriptor| descriptor.state.load(Ordering::Relaxed) != IGNORED)
}

/// The descriptor gets another meaning; returns the number of the file that it led to.
pub(super) fn forget(number: c_int) -> Option<u32> {
    let descriptor = usize::try_from(number).ok().and_then(|index| DESCRIPTORS.get(index))?;
    descriptor.state.swap(UNKNOWN, Ordering::Relaxed).checked_sub(FILES)
}

impl Descriptor {
    /// The file that it leads to, if that has been looked up.
    #[inline]
    pub(super) fn file(&self) -> Option<u32> {
        self.state.load(Ordering::Relaxed).checked_sub(FILES)
    }

    /// Looks up the file with the kernel; `position` gives the position in it, from the size of the file.
    #[cold]
    pub(super) fn look_up(&self, number: c_int, position: impl FnOnce(u64) -> u64) -> Option<u32> {
        if !may_allocate() {
            return None;
        }
        let _guard = CancellationGuard::new();
        let mut status = MaybeUninit::<libc::stat64>::uninit();
        // SAFETY: `status` is valid for writes, and is read if it was filled.
        let status = unsafe { (libc::fstat64(number, status.as_mut_ptr()) == 0).then(|| status.assume_init()) }?;
        let Some(file) = file_of(number, &status) else {
            self.state.store(IGNORED, Ordering::Relaxed);
            return None;
        };
        self.position.store(position(status.st_size as u64), Ordering::Relaxed);
        self.ends.iter().for_each(|end| end.store(NOWHERE, Ordering::Relaxed));
        self.state.store(file + FILES, Ordering::Relaxed);
        Some(file)
    }

    /// Sets the position.
    pub(super) fn seek(&self, position: u64) {
        self.position.store(position, Ordering::Relaxed);
    }

    /// Moves on by a read or write; at an offset, the position stays.
    #[inline]
    pub(super) fn transfer(&self, operation: FileOperation, offset: Option<u64>, bytes: u64) -> Transfer {
        let begin = offset.unwrap_or_else(|| self.position.load(Ordering::Relaxed));
        let end_offset = begin.wrapping_add(bytes);
        let end = &self.ends[usize::from(operation == FileOperation::Write)];
        let previous = end.load(Ordering::Relaxed);
        end.store(end_offset, Ordering::Relaxed);
        if offset.is_none() {
            self.position.store(end_offset, Ordering::Relaxed);
        }
        Transfer { is_consecutive: begin == previous, is_sequential: previous != NOWHERE && begin >= previous, end_offset }
    }
}

/// The number of a regular file; `None` if it is left out.
fn file_of(number: c_int, status: &libc::stat64) -> Option<u32> {
    if status.st_mode & libc::S_IFMT != libc::S_IFREG {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
    if path.starts_with(&settings().live_dir) {
        return None;
    }
    let path = path.to_string_lossy().into_owned();
    if EXCLUDED.iter().any(|directory| path.starts_with(directory)) {
        return None;
    }
    file_number(path)
}

static NUMBERS: BreakableLock<Option<HashMap<String, u32>>> = BreakableLock::new(None);

fn file_number(path: String) -> Option<u32> {
    static IS_FULL: AtomicBool = AtomicBool::new(false);
    let mut numbers = NUMBERS.lock()?;
    let numbers = numbers.get_or_insert_default();
    if let Some(number) = numbers.get(&path) {
        return Some(*number);
    }
    if numbers.len() == MAX_FILES {
        if !IS_FULL.swap(true, Ordering::Relaxed) {
            process::note(&format!("more than {MAX_FILES} files were used; further ones are not recorded"));
        }
        return None;
    }
    let id = numbers.len() as u32;
    process::define(&DefinitionRecord::File(FileDefinition { id, path: path.clone() }));
    numbers.insert(path, id);
    Some(id)
}
