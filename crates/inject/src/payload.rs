//! The payload: code that runs in the process, and the memory through which it gets parameters and reports results.

use std::arch::global_asm;

use crate::libc_symbols::LibcFunctions;
use crate::remote_memory::RemoteMemory;
use crate::tracee::ThreadRegisters;

global_asm!(include_str!("payload.s"));

unsafe extern "C" {
    static sintonia_payload_begin: u8;
    static sintonia_payload_end: u8;
}

/// Size of the code page; the parameter page follows it.
pub(crate) const CODE_BYTES: u64 = 4096;
/// Space for the extended registers (XSAVE state) of a thread.
pub(crate) const XSTATE_BYTES: usize = 16384;
/// Their offset.
pub(crate) const XSTATE_OFFSET: u64 = CODE_BYTES + 4096;
const STACK_BYTES: u64 = 65536;
/// Total size.
pub(crate) const PAYLOAD_BYTES: u64 = XSTATE_OFFSET + XSTATE_BYTES as u64 + STACK_BYTES;

/// Offsets in the parameter page; known to the assembly.
const FREE_OFFSET: u64 = 12;
const WRITTEN_OFFSET: u64 = 8;
const RESULT_OFFSET: u64 = 16;
const PATH_OFFSET: u64 = 640;
const MESSAGE_OFFSET: u64 = 768;
const MESSAGE_BYTES: usize = 512;
const SOCKET_DIR_OFFSET: usize = 1280;
const SECRET_OFFSET: usize = 1536;
const MAX_SOCKET_DIR: usize = SECRET_OFFSET - SOCKET_DIR_OFFSET - 1;
const MAX_SECRET: usize = 255;

/// Poll interval of the new thread.
const PAUSE_NS: u64 = 500_000;

/// Progress of the new thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PayloadState {
    /// It is running.
    Started,
    /// It waits for its file, with this descriptor, to be filled.
    WaitsForFile(i32),
    /// It could not load the probe.
    NotLoaded,
    /// The probe is connected.
    Connected,
    /// The probe refused.
    Refused,
}

impl PayloadState {
    fn decode(state: u32, descriptor: i32) -> Option<PayloadState> {
        match state {
            0 => Some(PayloadState::Started),
            1 => Some(PayloadState::WaitsForFile(descriptor)),
            2 => Some(PayloadState::NotLoaded),
            3 => Some(PayloadState::Connected),
            4 => Some(PayloadState::Refused),
            _ => None,
        }
    }
}

/// Parameters of the new thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PayloadParameters<'text> {
    /// The functions it calls.
    pub functions: LibcFunctions,
    /// Directory of the collector's socket.
    pub socket_dir: &'text [u8],
    /// The shared secret.
    pub secret: &'text str,
    /// Rank and number of processes.
    pub rank_and_size: (u32, u32),
    /// Signal by which the borrowed thread reports that it can be restored.
    pub ready_signal: i32,
}

/// The machine code.
pub(crate) fn code() -> &'static [u8] {
    let (begin, end) = (&raw const sintonia_payload_begin, &raw const sintonia_payload_end);
    // SAFETY: both are labels of one piece of assembly, in this order.
    unsafe { std::slice::from_raw_parts(begin, end as usize - begin as usize) }
}

/// The initial parameter page: parameters, and the registers with which the borrowed thread restores itself.
pub(crate) fn build_page(parameters: &PayloadParameters, registers: &ThreadRegisters, mask: u64) -> Option<Vec<u8>> {
    if parameters.socket_dir.len() > MAX_SOCKET_DIR || parameters.secret.len() > MAX_SECRET {
        return None;
    }
    let mut page = vec![0u8; 4096];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    let LibcFunctions { create, own, detach, open, symbol, error, unmap } = parameters.functions;
    let words = [create, own, detach, open, symbol, error, unmap, PAYLOAD_BYTES];
    words.iter().enumerate().for_each(|(index, word)| put(32 + 8 * index, &word.to_le_bytes()));
    put(20, &parameters.ready_signal.to_le_bytes());
    put(96, &parameters.rank_and_size.0.to_le_bytes());
    put(100, &parameters.rank_and_size.1.to_le_bytes());
    put(104 + 8, &PAUSE_NS.to_le_bytes());
    put(120, &mask.to_le_bytes());
    let kept = registers.resume_values();
    kept.iter().enumerate().for_each(|(index, word)| put(128 + 8 * index, &word.to_le_bytes()));
    put(512, b"libsintonia_probe.so\0");
    put(576, b"sintonia_attach\0");
    put(SOCKET_DIR_OFFSET, parameters.socket_dir);
    put(SECRET_OFFSET, parameters.secret.as_bytes());
    Some(page)
}

/// The payload in the memory of a process.
#[derive(Debug)]
pub(crate) struct RemotePayload<M> {
    memory: M,
    page: u64,
}

impl<M: RemoteMemory> RemotePayload<M> {
    /// The payload whose code is at this address.
    pub(crate) fn new(memory: M, code: u64) -> RemotePayload<M> {
        RemotePayload { memory, page: code + CODE_BYTES }
    }

    fn word(&self, at: u64) -> std::io::Result<u32> {
        let mut bytes = [0; 4];
        self.memory.read(self.page + at, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Return value of `pthread_create`.
    pub(crate) fn thread_create_result(&self) -> std::io::Result<i32> {
        Ok(self.word(RESULT_OFFSET)? as i32)
    }

    /// Progress of the new thread; `None` if the page is corrupt.
    pub(crate) fn state(&self) -> std::io::Result<Option<PayloadState>> {
        // The descriptor is written before the state.
        Ok(PayloadState::decode(self.word(0)?, self.word(4)? as i32))
    }

    /// Error message of the new thread.
    pub(crate) fn message(&self) -> String {
        let mut bytes = [0; MESSAGE_BYTES];
        let _ = self.memory.read(self.page + MESSAGE_OFFSET, &mut bytes);
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(MESSAGE_BYTES);
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    /// Signals that the file is filled.
    pub(crate) fn set_file_written(&self, descriptor: i32) -> std::io::Result<()> {
        self.memory.write(self.page + PATH_OFFSET, format!("/proc/self/fd/{descriptor}\0").as_bytes())?;
        self.memory.write(self.page + WRITTEN_OFFSET, &1u32.to_le_bytes())
    }

    /// Signals that the new thread may free the memory.
    pub(crate) fn release(&self) {
        // Irrelevant if the process has ended.
        let _ = self.memory.write(self.page + FREE_OFFSET, &1u32.to_le_bytes());
    }
}
