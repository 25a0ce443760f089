//! Memory of a thread: blocks of words that are written to a file when they are full.
//!
//! The memory is a small mapped file wherever a mapped page cannot fail (local file systems with preallocated blocks), so that its contents
//! survive the process, however it ends. Elsewhere it is anonymous memory, written at the end. A full disk ends recording, never the
//! program.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;

use sintonia_recording::definitions::is_mmap_safe;
use sintonia_recording::raw::BLOCK_BYTES;

use crate::process::{self, fits_file_limit};
use crate::settings::settings;

/// The memory of a thread: blocks that are filled in order.
pub(crate) struct BlockRegion {
    memory: *mut u8,
    blocks: usize,
    /// Usable blocks: grows one by one, because each must first be allocated on disk.
    ready: usize,
    current: usize,
    /// The mapped file, if there is one.
    tail: Option<File>,
    /// File for full blocks; created on first use.
    calls: Option<File>,
    calls_path: std::path::PathBuf,
    /// Bytes written there.
    written: usize,
    spare: *mut u8,
}

impl BlockRegion {
    /// Allocates the memory of a thread; `in_memory` forces anonymous memory.
    pub(crate) fn open(thread: u16, in_memory: bool) -> Option<BlockRegion> {
        let blocks = settings().memory / BLOCK_BYTES;
        let in_memory = in_memory || !fits_file_limit(blocks * BLOCK_BYTES);
        let tail = if in_memory {
            None
        } else {
            process::create_file(&format!("t{thread}.tail")).filter(is_mappable).filter(|f| allocate_block(f, 0))
        };
        let file = tail.as_ref().map_or(-1, AsRawFd::as_raw_fd);
        let flags = if tail.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
        if let Some(tail) = &tail {
            tail.set_len((blocks * BLOCK_BYTES) as u64).ok()?;
        }
        let memory = map(blocks * BLOCK_BYTES, flags, file)?;
        if tail.is_none() {
            process::remove_file(&format!("t{thread}.tail"));
        }
        let calls_path = process::file_path(&format!("t{thread}.calls"));
        let ready = if tail.is_some() { 1 } else { blocks };
        Some(BlockRegion { memory, blocks, ready, current: 0, tail, calls: None, calls_path, written: 0, spare: std::ptr::null_mut() })
    }

    /// A single block of anonymous memory, to stage calls that are not recorded.
    pub(crate) fn scratch() -> Option<BlockRegion> {
        let memory = map(BLOCK_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)?;
        let calls_path = std::path::PathBuf::new();
        Some(BlockRegion { memory, blocks: 1, ready: 1, current: 0, tail: None, calls: None, calls_path, written: 0, spare: memory })
    }

    /// A block.
    pub(crate) fn block(&self, index: usize) -> *mut u64 {
        // SAFETY: `index` is below the number of mapped blocks.
        unsafe { self.memory.add(index * BLOCK_BYTES).cast() }
    }

    /// Advances to the next block; when all are full, writes them out and starts again.
    pub(crate) fn advance(&mut self) -> std::io::Result<usize> {
        let next = self.current + 1;
        if next < self.ready {
            self.current = next;
        } else if next < self.blocks && self.tail.as_ref().is_some_and(|tail| allocate_block(tail, next)) {
            self.ready = next + 1;
            self.current = next;
        } else {
            self.write(next * BLOCK_BYTES)?;
            self.current = 0;
        }
        Ok(self.current)
    }

    fn write(&mut self, bytes: usize) -> std::io::Result<()> {
        if !fits_file_limit(self.written + bytes) {
            return Err(std::io::Error::from_raw_os_error(libc::EFBIG));
        }
        if self.calls.is_none() {
            self.calls = Some(open_new(&self.calls_path)?);
        }
        // SAFETY: the first `bytes` bytes are blocks in use.
        let memory = unsafe { std::slice::from_raw_parts(self.memory, bytes) };
        self.written += bytes;
        self.calls.as_mut().map_or(Ok(()), |file| file.write_all(memory))
    }

    /// Whether its contents survive the process.
    pub(crate) fn is_persistent(&self) -> bool {
        self.tail.is_some()
    }

    /// Writes anonymous memory, with `used_words` words in use in the current block.
    pub(crate) fn write_out(&mut self, used_words: usize) -> std::io::Result<()> {
        self.write(self.current * BLOCK_BYTES + used_words * 8)
    }

    /// A block of anonymous memory to stage calls that are not recorded.
    pub(crate) fn spare(&mut self) -> *mut u64 {
        if self.spare.is_null() {
            self.spare = map(BLOCK_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).unwrap_or(self.memory);
        }
        self.spare.cast()
    }
}

/// Maps anonymous memory or a file.
pub(crate) fn map(bytes: usize, flags: libc::c_int, file: libc::c_int) -> Option<*mut u8> {
    // SAFETY: a new mapping that nothing else refers to.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0) };
    (memory != libc::MAP_FAILED).then_some(memory.cast())
}

fn open_new(path: &Path) -> std::io::Result<File> {
    File::options().create_new(true).append(true).open(path)
}

/// Whether this file can be mapped without risk for the program.
pub(crate) fn is_mappable(file: &File) -> bool {
    // SAFETY: a struct of integers, for which zero is valid.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `system` is valid for writes.
    let known = unsafe { libc::fstatfs(file.as_raw_fd(), &mut system) } == 0;
    known && is_mmap_safe(system.f_type as u64)
}

fn allocate_block(file: &File, block: usize) -> bool {
    allocate_bytes(file, block * BLOCK_BYTES, BLOCK_BYTES)
}

/// Allocates disk space for a part of a file.
pub(crate) fn allocate_bytes(file: &File, from: usize, bytes: usize) -> bool {
    // SAFETY: a file of our own.
    fits_file_limit(from + bytes) && unsafe { libc::fallocate(file.as_raw_fd(), 0, from as libc::off_t, bytes as libc::off_t) == 0 }
}
