//! The memory of a thread: blocks of words, written to a file when they are full.
//!
//! The memory is a small file mapped into the process wherever a mapped page cannot fail (local file systems with the blocks allocated
//! beforehand), so that what is in it survives the process, however that ends. Elsewhere it is plain memory, written out at the end.
//! A full disk ends recording, never the program.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;

use sintonia_recording::definitions::keeps_mapped_memory;
use sintonia_recording::raw::BLOCK_BYTES;

use crate::process;
use crate::settings::settings;

/// The memory of a thread: blocks that are filled one after the other.
pub struct Region {
    memory: *mut u8,
    blocks: usize,
    /// Blocks that may be used: grows one by one, because each must be allocated on disk first.
    ready: usize,
    current: usize,
    /// The mapped file, if the memory is one.
    tail: Option<File>,
    /// Where full memory is written to; opened when it is needed first.
    calls: Option<File>,
    calls_path: std::path::PathBuf,
    /// Bytes that were written there.
    written: usize,
    spare: *mut u8,
}

impl Region {
    /// Makes the memory of a thread; `in_memory` asks for plain memory.
    pub fn open(thread: u16, in_memory: bool) -> Option<Region> {
        let blocks = settings().memory / BLOCK_BYTES;
        let in_memory = in_memory || !fits(blocks * BLOCK_BYTES);
        let tail =
            if in_memory { None } else { process::create_file(&format!("t{thread}.tail")).filter(mappable).filter(|f| allocate(f, 0)) };
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
        Some(Region { memory, blocks, ready, current: 0, tail, calls: None, calls_path, written: 0, spare: std::ptr::null_mut() })
    }

    /// One block.
    pub fn block(&self, place: usize) -> *mut u64 {
        // SAFETY: `place` is below the number of blocks that were mapped.
        unsafe { self.memory.add(place * BLOCK_BYTES).cast() }
    }

    /// The block after the current one; writes all of them out when they are full.
    pub fn advance(&mut self) -> std::io::Result<usize> {
        let next = self.current + 1;
        if next < self.ready {
            self.current = next;
        } else if next < self.blocks && self.tail.as_ref().is_some_and(|tail| allocate(tail, next)) {
            self.ready = next + 1;
            self.current = next;
        } else {
            self.write(next * BLOCK_BYTES)?;
            self.current = 0;
        }
        Ok(self.current)
    }

    fn write(&mut self, bytes: usize) -> std::io::Result<()> {
        if !fits(self.written + bytes) {
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

    /// Whether what is in it survives the process.
    pub fn survives(&self) -> bool {
        self.tail.is_some()
    }

    /// Writes out plain memory, of whose current block so many words are in use.
    pub fn write_out(&mut self, used_words: usize) -> std::io::Result<()> {
        self.write(self.current * BLOCK_BYTES + used_words * 8)
    }

    /// One block of plain memory to stage calls in that are not kept.
    pub fn spare(&mut self) -> *mut u64 {
        if self.spare.is_null() {
            self.spare = map(BLOCK_BYTES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).unwrap_or(self.memory);
        }
        self.spare.cast()
    }
}

/// New memory of the process's own, or of a file.
pub fn map(bytes: usize, flags: libc::c_int, file: libc::c_int) -> Option<*mut u8> {
    // SAFETY: a new mapping that nothing else knows of.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, file, 0) };
    (memory != libc::MAP_FAILED).then_some(memory.cast())
}

/// Whether the process may have a file of this size. To try would bring a signal that ends the program.
pub fn fits(bytes: usize) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place to write to.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) != 0 || bytes as u64 <= limit.rlim_cur }
}

fn open_new(path: &Path) -> std::io::Result<File> {
    File::options().create_new(true).append(true).open(path)
}

/// Whether memory of this file can be mapped without risk for the program.
pub fn mappable(file: &File) -> bool {
    // SAFETY: a struct of numbers, all zeros is a value of it.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `system` is a valid place to write to.
    let known = unsafe { libc::fstatfs(file.as_raw_fd(), &mut system) } == 0;
    known && keeps_mapped_memory(system.f_type as u64)
}

fn allocate(file: &File, block: usize) -> bool {
    allocate_bytes(file, block * BLOCK_BYTES, BLOCK_BYTES)
}

/// Has the file system set aside room for a part of a file.
pub fn allocate_bytes(file: &File, from: usize, bytes: usize) -> bool {
    // SAFETY: allocates room in a file of our own.
    fits(from + bytes) && unsafe { libc::fallocate(file.as_raw_fd(), 0, from as libc::off_t, bytes as libc::off_t) == 0 }
}
