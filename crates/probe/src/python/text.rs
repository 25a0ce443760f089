//! Texts of Python: characters of one, two or four bytes behind the object's head.

use super::layout::PythonLayout;
use super::memory::ReadMemory;

/// The number of characters, the hash and the state in a text.
const LENGTH: u64 = 16;
const HASH: u64 = 24;
const STATE: u64 = 32;
/// Most bytes that are read.
const MAX_BYTES: u64 = 16 << 10;
/// A hash that has not been computed.
const NO_HASH: u64 = u64::MAX;

/// Where the characters of a text are.
struct Characters {
    address: u64,
    bytes: u64,
    /// Bytes of a character.
    width: u64,
}

impl PythonLayout {
    /// A text.
    pub(super) fn text(&self, memory: &impl ReadMemory, object: u64) -> Option<String> {
        let characters = self.characters(memory, object)?;
        let mut bytes = vec![0; characters.bytes as usize];
        if !memory.read_into(characters.address, &mut bytes) {
            return None;
        }
        let width = characters.width as usize;
        // A surrogate stands for a byte of a file name that is no UTF-8.
        let character = |bytes: &[u8]| {
            let number = bytes.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
            char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
        };
        Some(bytes.chunks_exact(width).map(character).collect())
    }

    /// Adds words that tell a text from another one at the same address: its hash, or its length and the end of its characters.
    pub(super) fn text_identity(&self, memory: &impl ReadMemory, object: u64, words: &mut Vec<(u64, u64)>) -> Option<()> {
        let hash = memory.word(object + HASH)?;
        if hash != NO_HASH {
            words.push((object + HASH, hash));
            return Some(());
        }
        let characters = self.characters(memory, object)?;
        words.push((object + LENGTH, memory.word(object + LENGTH)?));
        super::code_object::last_words(memory, characters.address, characters.bytes, words)
    }

    fn characters(&self, memory: &impl ReadMemory, object: u64) -> Option<Characters> {
        let (length, state) = (memory.word(object + LENGTH)?, memory.half_word(object + STATE)?);
        let (width, is_compact, is_ascii) = (u64::from(state >> 2 & 7), state >> 5 & 1 == 1, state >> 6 & 1 == 1);
        if !matches!(width, 1 | 2 | 4) || !is_compact {
            return None;
        }
        let bytes = length.checked_mul(width).filter(|bytes| *bytes <= MAX_BYTES)?;
        let address = object + if is_ascii { self.ascii_text } else { self.other_text };
        Some(Characters { address, bytes, width })
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::OwnMemory;
    use super::*;

    #[test]
    fn texts_of_all_widths_are_read() {
        let layout = PythonLayout::from_version(0x030c_00f0).unwrap();
        let object = |length: u64, state: u64, at: usize, bytes: &[u8]| {
            let mut object = vec![0u8; 256];
            object[16..24].copy_from_slice(&length.to_le_bytes());
            object[24..32].copy_from_slice(&NO_HASH.to_le_bytes());
            object[32..40].copy_from_slice(&state.to_le_bytes());
            object[at..at + bytes.len()].copy_from_slice(bytes);
            object
        };
        let read = |object: &[u8]| layout.text(&OwnMemory, object.as_ptr() as u64);
        assert_eq!(read(&object(3, 1 << 2 | 0b11 << 5, 40, b"abc")).as_deref(), Some("abc"));
        assert_eq!(read(&object(2, 1 << 2 | 1 << 5, 56, b"\xe9a")).as_deref(), Some("éa"));
        assert_eq!(read(&object(2, 2 << 2 | 1 << 5, 56, &[0x42, 0x04, 0x80, 0xdc])).as_deref(), Some("т\u{fffd}"));
        assert_eq!(read(&object(1, 4 << 2 | 1 << 5, 56, &[0x00, 0xf6, 0x01, 0x00])).as_deref(), Some("😀"));
        assert_eq!(read(&object(1, 1 << 2, 40, b"a")), None, "not compact");
        assert_eq!(read(&object(1 << 40, 1 << 2 | 1 << 5, 40, b"a")), None);
    }
}
