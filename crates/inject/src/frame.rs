//! A synthetic signal frame: a thread that returns into it is restored by the kernel (`rt_sigreturn`).
//!
//! It covers the short time in which a borrowed thread has no memory of its own: if this side is killed then, the thread returns into the
//! frame and continues as after a signal.

use crate::tracee::ThreadRegisters;

/// Size of the frame before the extended registers.
const HEAD: usize = 448;
/// `CPUID` leaf with the layout of the XSAVE state.
const WIDE_LEAF: u32 = 0xd;
/// Offset of the kernel's software-reserved bytes in the XSAVE state.
const KNOWN: usize = 464;
/// State components that a thread has only on request (AMX).
const ASKED_FOR: u64 = 3 << 17;
/// Magic numbers before and after the XSAVE state.
const MARKS: (u32, u32) = (0x4650_5853, 0x4650_5845);
/// Red zone below the stack pointer.
const RED_ZONE: u64 = 128;

/// A signal frame and its address.
#[derive(Debug)]
pub(crate) struct SignalFrame {
    /// Address of its first word, the return address of a handler.
    pub address: u64,
    /// Contents.
    pub bytes: Vec<u8>,
}

impl SignalFrame {
    /// The frame that restores a thread stopped with these registers; `None` if it uses registers that cannot be stored there.
    pub(crate) fn new(registers: &ThreadRegisters, wide: &[u8], mask: u64, after_signal: u64) -> Option<SignalFrame> {
        let wide = xstate_part(wide)?;
        let address = (registers.0.rsp - RED_ZONE - (HEAD + wide.len()) as u64) & !63;
        let mut head = vec![0u8; HEAD];
        let mut put = |at: usize, word: u64| head[at..at + 8].copy_from_slice(&word.to_le_bytes());
        let [r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi, flags, rsp, rip] = registers.resume_values();
        put(0, after_signal);
        // Flags: XSAVE state and segment registers are present.
        put(8, 7);
        let general = [r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, flags];
        general.iter().enumerate().for_each(|(place, word)| put(48 + 8 * place, *word));
        put(48 + 144, registers.0.cs | registers.0.gs << 16 | registers.0.fs << 32 | registers.0.ss << 48);
        put(48 + 184, address + HEAD as u64);
        put(48 + 256, mask);
        head.extend(wide);
        Some(SignalFrame { address, bytes: head })
    }
}

/// The XSAVE state in the form that the kernel accepts in a frame.
fn xstate_part(wide: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| wide.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    let (features, in_use) = (word(KNOWN)?, word(512)?);
    if in_use & ASKED_FOR != 0 {
        return None;
    }
    let features = features & !ASKED_FOR;
    // The legacy area of 512 bytes and a header of 64 are always present.
    let size = (2..63).filter(|feature| features >> feature & 1 == 1).map(component_end).max().unwrap_or(0).max(576);
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

/// End offset of a state component.
fn component_end(feature: u32) -> usize {
    // SAFETY: every processor with XSAVE has this leaf.
    #[allow(unused_unsafe, reason = "safe in newer toolchains")]
    let place = unsafe { core::arch::x86_64::__cpuid_count(WIDE_LEAF, feature) };
    (place.ebx + place.eax) as usize
}
