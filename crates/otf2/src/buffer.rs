//! The primitive encoding: numbers and strings.
//!
//! Most numbers are compressed: a size byte, then as few bytes as needed; 0 is the single byte 0, and the largest number, which means
//! "undefined", the single byte 255. Files have the byte order of the machine that wrote them.

/// Undefined 32-bit value.
pub const UNDEFINED_UINT32: u32 = u32::MAX;
/// Undefined 64-bit value.
pub const UNDEFINED_UINT64: u64 = u64::MAX;

/// The byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endianness {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endianness {
    const LITTLE_MARK: u8 = 0x42;
    const BIG_MARK: u8 = 0x23;

    /// The mark of the byte order used for writing.
    pub(crate) const WRITTEN_MARK: u8 = Endianness::LITTLE_MARK;

    /// The byte order of a mark.
    pub(crate) fn from_mark(mark: u8) -> Option<Endianness> {
        match mark {
            Endianness::LITTLE_MARK => Some(Endianness::Little),
            Endianness::BIG_MARK => Some(Endianness::Big),
            _ => None,
        }
    }

    #[inline]
    fn decode_u64(self, bytes: [u8; 8]) -> u64 {
        match self {
            Endianness::Little => u64::from_le_bytes(bytes),
            Endianness::Big => u64::from_be_bytes(bytes),
        }
    }

    #[inline]
    fn decode_bytes(self, bytes: &[u8]) -> u64 {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self {
            Endianness::Little => bytes.iter().rev().fold(0, add),
            Endianness::Big => bytes.iter().fold(0, add),
        }
    }
}

/// Decodes numbers and strings; `None` if there are too few bytes or they are invalid.
#[derive(Clone, Copy, Debug)]
pub struct BufferReader<'a> {
    bytes: &'a [u8],
    position: usize,
    endianness: Endianness,
}

impl<'a> BufferReader<'a> {
    /// Reads these bytes, which have this byte order.
    pub fn new(bytes: &'a [u8], endianness: Endianness) -> BufferReader<'a> {
        BufferReader { bytes, position: 0, endianness }
    }

    /// Number of bytes read.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Number of bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// The next bytes as they are.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.position..self.position.checked_add(count)?)?;
        self.position += count;
        Some(taken)
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    /// An uncompressed 16-bit number.
    pub fn u16(&mut self) -> Option<u16> {
        Some(self.endianness.decode_bytes(self.take(2)?) as u16)
    }

    /// An uncompressed 32-bit number.
    pub fn full_u32(&mut self) -> Option<u32> {
        Some(self.endianness.decode_bytes(self.take(4)?) as u32)
    }

    /// An uncompressed 64-bit number.
    #[inline]
    pub fn full_u64(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.position..)?.first_chunk()?;
        self.position += 8;
        Some(self.endianness.decode_u64(*bytes))
    }

    /// An uncompressed floating-point number.
    pub fn f64(&mut self) -> Option<f64> {
        self.full_u64().map(f64::from_bits)
    }

    /// A compressed 32-bit number.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.compressed_number(4, u64::from(UNDEFINED_UINT32)).map(|number| number as u32)
    }

    /// A compressed 64-bit number.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.compressed_number(8, UNDEFINED_UINT64)
    }

    #[inline]
    fn compressed_number(&mut self, most: u8, undefined: u64) -> Option<u64> {
        match self.u8()? {
            0 => Some(0),
            u8::MAX => Some(undefined),
            size if size <= most => {
                let order = self.endianness;
                self.take(size.into()).map(|bytes| order.decode_bytes(bytes))
            }
            _ => None,
        }
    }

    /// A NUL-terminated string; invalid UTF-8 is replaced.
    pub fn string(&mut self) -> Option<String> {
        let length = self.bytes[self.position..].iter().position(|byte| *byte == 0)?;
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.position += 1;
        Some(text)
    }
}

/// Appends numbers and strings.
pub trait BufferWrite {
    /// An uncompressed 32-bit number.
    fn put_full_u32(&mut self, number: u32);
    /// An uncompressed 64-bit number.
    fn put_full_u64(&mut self, number: u64);
    /// A compressed 32-bit number.
    fn put_u32(&mut self, number: u32);
    /// A compressed 64-bit number.
    fn put_u64(&mut self, number: u64);
    /// A NUL-terminated string; it ends at its first NUL.
    fn put_string(&mut self, text: &str);
    /// A record: type, length, content.
    fn put_record(&mut self, kind: u8, content: &[u8]);
}

impl BufferWrite for Vec<u8> {
    fn put_full_u32(&mut self, number: u32) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    fn put_full_u64(&mut self, number: u64) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn put_u32(&mut self, number: u32) {
        self.put_u64(if number == UNDEFINED_UINT32 { UNDEFINED_UINT64 } else { number.into() });
    }

    #[inline]
    fn put_u64(&mut self, number: u64) {
        if number == UNDEFINED_UINT64 {
            return self.push(u8::MAX);
        }
        let size = (u64::BITS - number.leading_zeros()).div_ceil(8) as usize;
        self.push(size as u8);
        let end = self.len() + size;
        self.extend_from_slice(&number.to_le_bytes());
        self.truncate(end);
    }

    fn put_string(&mut self, text: &str) {
        self.extend(text.bytes().take_while(|byte| *byte != 0));
        self.push(0);
    }

    #[inline]
    fn put_record(&mut self, kind: u8, content: &[u8]) {
        self.push(kind);
        match u8::try_from(content.len()) {
            Ok(length) if length < u8::MAX => self.push(length),
            _ => {
                self.push(u8::MAX);
                self.put_full_u64(content.len() as u64);
            }
        }
        self.extend_from_slice(content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_as_few_bytes_as_they_need() {
        let mut bytes = Vec::new();
        bytes.put_u32(0);
        bytes.put_u32(0x1234);
        bytes.put_u32(UNDEFINED_UINT32);
        bytes.put_u64(u64::from(UNDEFINED_UINT32));
        bytes.put_u64(UNDEFINED_UINT64);
        assert_eq!(bytes, [0, 2, 0x34, 0x12, 255, 4, 255, 255, 255, 255, 255]);
        let mut reader = BufferReader::new(&bytes, Endianness::Little);
        assert_eq!((reader.u32(), reader.u32(), reader.u32()), (Some(0), Some(0x1234), Some(UNDEFINED_UINT32)));
        assert_eq!((reader.u64(), reader.u64(), reader.u8()), (Some(u64::from(UNDEFINED_UINT32)), Some(UNDEFINED_UINT64), None));
    }

    #[test]
    fn the_other_order_of_bytes_is_read_too() {
        let mut reader = BufferReader::new(&[2, 0x12, 0x34, 0, 0, 0, 7, 1, 2], Endianness::Big);
        assert_eq!((reader.u32(), reader.full_u32(), reader.u16()), (Some(0x1234), Some(7), Some(0x102)));
    }

    #[test]
    fn what_is_cut_or_too_long_is_no_number() {
        assert_eq!(BufferReader::new(&[3, 1, 2], Endianness::Little).u32(), None);
        assert_eq!(BufferReader::new(&[5, 1, 2, 3, 4, 5], Endianness::Little).u32(), None);
        assert_eq!(BufferReader::new(&[9; 20], Endianness::Little).u64(), None);
        assert_eq!(BufferReader::new(b"no end", Endianness::Little).string(), None);
    }

    #[test]
    fn long_records_have_a_long_length() {
        let mut bytes = Vec::new();
        bytes.put_record(7, &[1; 255]);
        assert_eq!(bytes[..10], [7, 255, 255, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes.len(), 10 + 255);
    }
}
