//! Whether the unwind tables of a file describe the function at an address: the index of `.eh_frame` (`.eh_frame_hdr`) tells.

/// An index as linkers write it: version 1; an address relative to its place; a number of four bytes; pairs relative to the index.
const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
/// Bytes before the pairs.
const HEADER_BYTES: usize = 12;

/// The index of a loaded file, and its tables.
pub(super) struct TableIndex {
    /// Address of the index.
    pub address: u64,
    pub bytes: &'static [u8],
    /// Address of the tables.
    pub frames_address: u64,
    pub frames: &'static [u8],
}

impl TableIndex {
    /// Whether a function is described; `true` if the index is not a usual one. To be called while the file cannot be unloaded.
    pub(super) fn describes(&self, address: u64) -> bool {
        let Some((header, pairs)) = self.bytes.split_first_chunk::<HEADER_BYTES>().filter(|(header, _)| header.starts_with(&USUAL)) else {
            return true;
        };
        let [.., a, b, c, d] = *header;
        let count = u32::from_le_bytes([a, b, c, d]) as usize;
        let (pairs, _) = pairs.as_chunks::<8>();
        let pairs = &pairs[..count.min(pairs.len())];
        let word = |pair: &[u8; 8], at: usize| i32::from_le_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        let resolve = |relative: i32| self.address.wrapping_add_signed(relative.into());
        let after = pairs.partition_point(|pair| resolve(word(pair, 0)) <= address);
        let Some(pair) = after.checked_sub(1).map(|index| &pairs[index]) else { return false };
        let length = self.length_of(resolve(word(pair, 4)));
        length.is_none_or(|length| address - resolve(word(pair, 0)) < length)
    }

    /// Length of the function of a description: the words of which are its length, the distance to what it has in common with others, the
    /// begin of the function, and its length.
    fn length_of(&self, description: u64) -> Option<u64> {
        let offset = usize::try_from(description.checked_sub(self.frames_address)?).ok()?;
        let word = |index: usize| Some(u32::from_le_bytes(*self.frames.get(offset + 4 * index..)?.first_chunk()?));
        const LONG: u32 = u32::MAX;
        word(0).filter(|length| *length != LONG)?;
        word(3).map(u64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_described_from_their_begin_to_their_end() {
        let words = |words: &[i32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>().leak() as &'static [u8];
        // Functions of 16 bytes at 0x900 and of 32 bytes at 0x980; the index is at 0x1000, the tables are at 0x2000.
        let index = words(&[i32::from_le_bytes(USUAL), 0xffc, 2, -0x700, 0x1000, -0x680, 0x1014]);
        let frames = words(&[16, 4, 0, 16, 0, 16, 24, 0, 32, 0]);
        let table = TableIndex { address: 0x1000, bytes: index, frames_address: 0x2000, frames };
        let described = [0x8ff, 0x900, 0x90f, 0x910, 0x97f, 0x980, 0x99f, 0x9a0].map(|address| table.describes(address));
        assert_eq!(described, [false, true, true, false, false, true, true, false]);
        assert!(TableIndex { bytes: &[2, 3], ..table }.describes(5), "not known");
    }
}
