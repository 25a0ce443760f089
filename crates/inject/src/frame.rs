//! The frame of a signal that never came: with it on its stack, a thread that returns from a call is put back by the system as it was.
//!
//! It is there for the short time in which a borrowed thread has no memory of its own yet: should this side be killed then, the thread
//! returns into the frame, and goes on as after a signal.

use crate::tracee::Registers;

/// Bytes of the frame before the wide registers.
const HEAD: usize = 448;
/// The leaf of `CPUID` that tells where wide registers stand.
const WIDE_LEAF: u32 = 0xd;
/// Where the system looks for what is known of the wide registers.
const KNOWN: usize = 464;
/// Parts of the wide registers that a thread has only if it asked for them.
const ASKED_FOR: u64 = 3 << 17;
/// Marks before and behind the wide registers.
const MARKS: (u32, u32) = (0x4650_5853, 0x4650_5845);
/// What a function may have below its stack pointer.
const RED_ZONE: u64 = 128;

/// A frame, and where it must stand.
#[derive(Debug)]
pub struct Frame {
    /// Where its first word stands: the address that a handler returns to.
    pub address: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Frame {
    /// The frame that puts a thread back which is stopped with these registers; `None` if it uses registers that cannot be put there.
    pub fn of(registers: &Registers, wide: &[u8], mask: u64, after_signal: u64) -> Option<Frame> {
        let wide = wide_part(wide)?;
        let address = (registers.0.rsp - RED_ZONE - (HEAD + wide.len()) as u64) & !63;
        let mut head = vec![0u8; HEAD];
        let mut put = |at: usize, word: u64| head[at..at + 8].copy_from_slice(&word.to_le_bytes());
        let [r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, flags, rsp, rip] = registers.as_program_would_go_on();
        put(0, after_signal);
        // Wide registers and segments are there.
        put(8, 7);
        let general = [r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, flags];
        general.iter().enumerate().for_each(|(place, word)| put(48 + 8 * place, *word));
        put(48 + 144, registers.0.cs | registers.0.gs << 16 | registers.0.fs << 32 | registers.0.ss << 48);
        put(48 + 184, address + HEAD as u64);
        put(48 + 256, mask);
        head.extend(wide);
        Some(Frame { address, bytes: head })
    }
}

/// The wide registers as the system takes them back from a frame.
fn wide_part(wide: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| wide.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let (features, in_use) = (word(KNOWN)?, word(512)?);
    if in_use & ASKED_FOR != 0 {
        return None;
    }
    let features = features & !ASKED_FOR;
    // The first 512 bytes and a head of 64 are always there.
    let size = (2..63).filter(|feature| features >> feature & 1 == 1).map(end_of).max().unwrap_or(0).max(576);
    let mut part = wide.get(..size)?.to_vec();
    let mut put = |at: usize, bytes: &[u8]| part[at..at + bytes.len()].copy_from_slice(bytes);
    put(KNOWN, &MARKS.0.to_le_bytes());
    put(KNOWN + 4, &(size as u32 + 4).to_le_bytes());
    put(KNOWN + 8, &features.to_le_bytes());
    put(KNOWN + 16, &(size as u32).to_le_bytes());
    part.extend(MARKS.1.to_le_bytes());
    part.extend([0; 12]);
    Some(part)
}

/// Where a part of the wide registers ends.
fn end_of(feature: u32) -> usize {
    // SAFETY: every processor with wide registers has this leaf.
    #[allow(unused_unsafe, reason = "safe in newer toolchains")]
    let place = unsafe { core::arch::x86_64::__cpuid_count(WIDE_LEAF, feature) };
    (place.ebx + place.eax) as usize
}
