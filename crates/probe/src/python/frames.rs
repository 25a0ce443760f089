//! The Python frames of a thread: two to four reads for each, nothing called, nothing allocated.

use super::layout::{InstructionPosition, PythonLayout, TYPE};
use super::memory::ReadMemory;

/// Most frames that are read; of more, the innermost.
const MAX_FRAMES: usize = 64;
/// Most frames that are looked at, with those of the interpreter itself.
const MAX_VISITED: usize = 4 * MAX_FRAMES;
/// Owners of frames from this number on are the interpreter (`FRAME_OWNED_BY_CSTACK`, `FRAME_OWNED_BY_INTERPRETER`).
const FIRST_INTERPRETER_OWNER: u8 = 3;
/// Marks in the lowest bits of a reference.
const REFERENCE_MARKS: u64 = 7;

/// A Python frame: what is executed, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PythonFrame {
    /// Address of the code object.
    pub code: u64,
    /// The instruction in it, in bytes.
    pub instruction: i32,
}

/// The frames of a thread, innermost first.
#[derive(Debug)]
pub(crate) struct PythonFrameList {
    count: usize,
    frames: [PythonFrame; MAX_FRAMES],
    fingerprint: u64,
}

impl PythonFrameList {
    /// No frames.
    pub(crate) fn new() -> PythonFrameList {
        PythonFrameList { count: 0, frames: [PythonFrame::default(); MAX_FRAMES], fingerprint: 0 }
    }

    /// The frames.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[PythonFrame] {
        &self.frames[..self.count]
    }

    /// Differs between most lists; 0 for an empty one.
    #[inline(always)]
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.fingerprint = 0;
    }

    /// Adds an outer frame; there must be room.
    #[inline(always)]
    pub(crate) fn push(&mut self, frame: PythonFrame) {
        self.frames[self.count] = frame;
        self.count += 1;
        let mixed = (self.fingerprint ^ frame.code ^ (frame.instruction as u64) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.fingerprint = mixed ^ mixed >> 32;
    }
}

impl PythonLayout {
    /// Reads the frames of a thread, given its state; stops where something cannot be read.
    #[inline(always)]
    pub(super) fn read_frames(&self, memory: &impl ReadMemory, thread_state: u64, code_type: u64, list: &mut PythonFrameList) {
        list.clear();
        let innermost = memory.word(thread_state + self.thread_frame);
        let innermost = match self.c_frame {
            Some(offset) => innermost.and_then(|c_frame| memory.word(c_frame.wrapping_add(offset))),
            None => innermost,
        };
        let mut next = innermost;
        // A list that leads back to itself ends as well.
        for _ in 0..MAX_VISITED {
            let Some(frame) = next.filter(|frame| *frame != 0) else { return };
            let is_python = self.owner.is_none_or(|owner| memory.byte(frame + owner).is_some_and(|owner| owner < FIRST_INTERPRETER_OWNER));
            if is_python {
                let Some(frame) = self.read_frame(memory, frame, code_type) else { return };
                list.push(frame);
                if list.count == MAX_FRAMES {
                    return;
                }
            }
            next = memory.word(frame + self.previous);
        }
    }

    /// `None` if it has no code object.
    #[inline(always)]
    fn read_frame(&self, memory: &impl ReadMemory, frame: u64, code_type: u64) -> Option<PythonFrame> {
        let code = memory.word(frame + self.code)? & !REFERENCE_MARKS;
        if memory.word(code + TYPE)? != code_type {
            return None;
        }
        let instruction = match self.position {
            InstructionPosition::Index(bytes) => (memory.half_word(frame + self.instruction)? as i32).wrapping_mul(bytes),
            InstructionPosition::Address(first) => memory.word(frame + self.instruction)?.wrapping_sub(code + first) as i32,
        };
        Some(PythonFrame { code, instruction })
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::{CheckedMemory, OwnMemory};
    use super::*;

    /// A thread as in 3.12: state, C frame, and frames of 10 words, whose code objects are two words.
    fn thread(code_type: u64, frames: &[(u8, u64)]) -> Vec<u64> {
        let mut memory = vec![0u64; 20 + 20 * frames.len()];
        let base = memory.as_ptr() as u64;
        memory[7] = base + 8 * 10;
        memory[10] = base + 8 * 20;
        for (index, (owner, instruction)) in frames.iter().enumerate() {
            let at = 20 + 20 * index;
            let code = base + 8 * (at as u64 + 12);
            memory[at] = code;
            memory[at + 1] = if index + 1 < frames.len() { base + 8 * (at as u64 + 20) } else { 0 };
            memory[at + 7] = code + 192 + instruction;
            memory[at + 8] = u64::from(*owner) << 48;
            memory[at + 13] = code_type;
        }
        memory
    }

    fn instructions(memory: &[u64], code_type: u64) -> Vec<i32> {
        let layout = PythonLayout::from_version(0x030c_00f0).unwrap();
        let mut list = PythonFrameList::new();
        layout.read_frames(&OwnMemory, memory.as_ptr() as u64, code_type, &mut list);
        let mut checked = PythonFrameList::new();
        layout.read_frames(&CheckedMemory, memory.as_ptr() as u64, code_type, &mut checked);
        assert_eq!((list.as_slice(), list.fingerprint()), (checked.as_slice(), checked.fingerprint()));
        list.as_slice().iter().map(|frame| frame.instruction).collect()
    }

    #[test]
    fn frames_are_followed_to_the_end_and_those_of_the_interpreter_left_out() {
        let memory = thread(5, &[(0, 2), (1, 4), (3, 6), (0, 8), (4, 10)]);
        assert_eq!(instructions(&memory, 5), [2, 4, 8]);
        assert_eq!(instructions(&memory, 6), [0i32; 0], "code objects have another type");
    }

    #[test]
    fn a_circle_ends() {
        let mut memory = thread(5, &[(0, 2), (0, 4)]);
        memory[41] = memory.as_ptr() as u64 + 8 * 20;
        assert_eq!(instructions(&memory, 5).len(), MAX_FRAMES);
        let mut memory = thread(5, &[(3, 2)]);
        memory[21] = memory.as_ptr() as u64 + 8 * 20;
        assert_eq!(instructions(&memory, 5).len(), 0);
    }
}
