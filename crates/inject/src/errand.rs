//! The errand: code that runs in the process, and the memory through which it is told what to do and tells what it did.

use std::arch::global_asm;

use crate::library::Functions;
use crate::tracee::Registers;

global_asm!(include_str!("errand.s"));

unsafe extern "C" {
    static sintonia_errand_begin: u8;
    static sintonia_errand_end: u8;
}

/// Bytes of the page of code; behind it comes the page of the errand.
pub const CODE_BYTES: u64 = 4096;
/// Room for the wide registers of a thread.
pub const WIDE_BYTES: usize = 16384;
/// Where they stand, from the beginning.
pub const WIDE: u64 = CODE_BYTES + 4096;
const STACK_BYTES: u64 = 65536;
/// Bytes of all of it.
pub const BYTES: u64 = WIDE + WIDE_BYTES as u64 + STACK_BYTES;

/// Where things stand in the errand.
const FREE: u64 = 12;
const WRITTEN: u64 = 8;
const RESULT: u64 = 16;
const PATH: u64 = 640;
const SAID: u64 = 768;
const SAID_BYTES: usize = 512;
const DOOR: usize = 1280;
const SECRET: usize = 1536;
const MOST_DOOR: usize = SECRET - DOOR - 1;
const MOST_SECRET: usize = 255;

/// How long the new thread sleeps before it looks again.
const PAUSE_NS: u64 = 500_000;

/// How far the new thread has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has begun.
    Begun,
    /// It waits for its file, with this descriptor, to be filled.
    WaitsForFile(i32),
    /// It could not load the probe.
    NotLoaded,
    /// The probe has met the other end.
    Met,
    /// The probe does not want to.
    Unwilling,
}

impl State {
    fn of(state: u32, descriptor: i32) -> Option<State> {
        match state {
            0 => Some(State::Begun),
            1 => Some(State::WaitsForFile(descriptor)),
            2 => Some(State::NotLoaded),
            3 => Some(State::Met),
            4 => Some(State::Unwilling),
            _ => None,
        }
    }
}

/// What the new thread is told.
#[derive(Debug, Clone, Copy)]
pub struct Task<'text> {
    /// The functions it calls.
    pub functions: Functions,
    /// Where the probe is to go.
    pub door: &'text [u8],
    /// What it must know there.
    pub secret: &'text str,
    /// The rank of the process, and how many there are.
    pub place: (u32, u32),
    /// The signal by which the borrowed thread says that it can be put back.
    pub ready: i32,
}

/// The code.
pub fn code() -> &'static [u8] {
    let (begin, end) = (&raw const sintonia_errand_begin, &raw const sintonia_errand_end);
    // SAFETY: both are labels of one piece of assembly, in this order.
    unsafe { std::slice::from_raw_parts(begin, end as usize - begin as usize) }
}

/// The page of the errand, as it begins: what to do, and what the borrowed thread needs to put itself back.
pub fn page(task: &Task, registers: &Registers, mask: u64) -> Option<Vec<u8>> {
    if task.door.len() > MOST_DOOR || task.secret.len() > MOST_SECRET {
        return None;
    }
    let mut page = vec![0u8; 4096];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    let Functions { create, own, detach, open, symbol, error, unmap } = task.functions;
    let words = [create, own, detach, open, symbol, error, unmap, BYTES];
    words.iter().enumerate().for_each(|(place, word)| put(32 + 8 * place, &word.to_le_bytes()));
    put(20, &task.ready.to_le_bytes());
    put(96, &task.place.0.to_le_bytes());
    put(100, &task.place.1.to_le_bytes());
    put(104 + 8, &PAUSE_NS.to_le_bytes());
    put(120, &mask.to_le_bytes());
    let kept = registers.as_program_would_go_on();
    kept.iter().enumerate().for_each(|(place, word)| put(128 + 8 * place, &word.to_le_bytes()));
    put(512, b"libsintonia_probe.so\0");
    put(576, b"sintonia_attach\0");
    put(DOOR, task.door);
    put(SECRET, task.secret.as_bytes());
    Some(page)
}

/// Memory of a process.
pub trait Memory {
    /// Reads.
    fn read(&self, address: u64, bytes: &mut [u8]) -> std::io::Result<()>;
    /// Writes.
    fn write(&self, address: u64, bytes: &[u8]) -> std::io::Result<()>;
}

/// The errand in the memory of a process, while it is done.
#[derive(Debug)]
pub struct Errand<M> {
    memory: M,
    page: u64,
}

impl<M: Memory> Errand<M> {
    /// The errand whose code is at this address.
    pub fn at(memory: M, code: u64) -> Errand<M> {
        Errand { memory, page: code + CODE_BYTES }
    }

    fn word(&self, at: u64) -> std::io::Result<u32> {
        let mut bytes = [0; 4];
        self.memory.read(self.page + at, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// What `pthread_create` gave.
    pub fn created(&self) -> std::io::Result<i32> {
        Ok(self.word(RESULT)? as i32)
    }

    /// How far the new thread has come; `None` if the page holds something else.
    pub fn state(&self) -> std::io::Result<Option<State>> {
        // The descriptor is written before the state.
        Ok(State::of(self.word(0)?, self.word(4)? as i32))
    }

    /// What the new thread says.
    pub fn said(&self) -> String {
        let mut bytes = [0; SAID_BYTES];
        let _ = self.memory.read(self.page + SAID, &mut bytes);
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(SAID_BYTES);
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    /// Tells that the file is filled.
    pub fn file_is_filled(&self, descriptor: i32) -> std::io::Result<()> {
        self.memory.write(self.page + PATH, format!("/proc/self/fd/{descriptor}\0").as_bytes())?;
        self.memory.write(self.page + WRITTEN, &1u32.to_le_bytes())
    }

    /// Tells that nobody needs the memory any more, but for the new thread.
    pub fn may_go(&self) {
        // A process that has ended needs no telling.
        let _ = self.memory.write(self.page + FREE, &1u32.to_le_bytes());
    }
}
