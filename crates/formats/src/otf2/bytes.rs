//! Numbers and strings as OTF2 writes them.
//!
//! Most numbers stand in as few bytes as they need, with a byte before them that says how many: 0 is the byte 0 alone, and the largest
//! number, which means "undefined", is the byte 255 alone. Files are written in the order of bytes of the machine that made them.

/// The largest number: no such thing.
pub const UNDEFINED: u32 = u32::MAX;
/// The largest number of 64 bits: no such thing.
pub const UNDEFINED_LONG: u64 = u64::MAX;

/// The order of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The least byte first.
    Little,
    /// The greatest byte first.
    Big,
}

impl Order {
    const LITTLE_MARK: u8 = 0x42;
    const BIG_MARK: u8 = 0x23;

    /// The mark of the order in which this version writes.
    pub const WRITTEN: u8 = Order::LITTLE_MARK;

    /// The order that a mark stands for.
    pub fn from_mark(mark: u8) -> Option<Order> {
        match mark {
            Order::LITTLE_MARK => Some(Order::Little),
            Order::BIG_MARK => Some(Order::Big),
            _ => None,
        }
    }

    #[inline]
    fn word(self, bytes: [u8; 8]) -> u64 {
        match self {
            Order::Little => u64::from_le_bytes(bytes),
            Order::Big => u64::from_be_bytes(bytes),
        }
    }

    #[inline]
    fn number(self, bytes: &[u8]) -> u64 {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self {
            Order::Little => bytes.iter().rev().fold(0, add),
            Order::Big => bytes.iter().fold(0, add),
        }
    }
}

/// Takes numbers and strings off the front of bytes; `None` where there are not enough of them, or they are none.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    order: Order,
}

impl<'a> Reader<'a> {
    /// Begins at the front.
    pub fn new(bytes: &'a [u8], order: Order) -> Reader<'a> {
        Reader { bytes, at: 0, order }
    }

    /// How many bytes were taken.
    pub fn at(&self) -> usize {
        self.at
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// A number of two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        Some(self.order.number(self.take(2)?) as u16)
    }

    /// A number in all its four bytes.
    pub fn full_u32(&mut self) -> Option<u32> {
        Some(self.order.number(self.take(4)?) as u32)
    }

    /// A number in all its eight bytes.
    #[inline]
    pub fn full_u64(&mut self) -> Option<u64> {
        let bytes = self.bytes.get(self.at..)?.first_chunk()?;
        self.at += 8;
        Some(self.order.word(*bytes))
    }

    /// A fraction.
    pub fn f64(&mut self) -> Option<f64> {
        self.full_u64().map(f64::from_bits)
    }

    /// A number of 32 bits in as few bytes as it needs.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.short(4, u64::from(UNDEFINED)).map(|number| number as u32)
    }

    /// A number of 64 bits in as few bytes as it needs.
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        self.short(8, UNDEFINED_LONG)
    }

    #[inline]
    fn short(&mut self, most: u8, undefined: u64) -> Option<u64> {
        match self.u8()? {
            0 => Some(0),
            u8::MAX => Some(undefined),
            size if size <= most => {
                let order = self.order;
                self.take(size.into()).map(|bytes| order.number(bytes))
            }
            _ => None,
        }
    }

    /// A string, up to the byte 0 that ends it; what is no UTF-8 is replaced.
    pub fn string(&mut self) -> Option<String> {
        let length = self.bytes[self.at..].iter().position(|byte| *byte == 0)?;
        let text = String::from_utf8_lossy(self.take(length)?).into_owned();
        self.at += 1;
        Some(text)
    }
}

/// Puts numbers and strings behind bytes.
pub trait Put {
    /// A number in all its four bytes.
    fn put_full_u32(&mut self, number: u32);
    /// A number in all its eight bytes.
    fn put_full_u64(&mut self, number: u64);
    /// A number of 32 bits in as few bytes as it needs.
    fn put_u32(&mut self, number: u32);
    /// A number of 64 bits in as few bytes as it needs.
    fn put_u64(&mut self, number: u64);
    /// A string; it ends at its first byte 0, as others would read it.
    fn put_string(&mut self, text: &str);
    /// A record: its kind, the length of what it holds, and that.
    fn put_record(&mut self, kind: u8, content: &[u8]);
}

impl Put for Vec<u8> {
    fn put_full_u32(&mut self, number: u32) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    fn put_full_u64(&mut self, number: u64) {
        self.extend_from_slice(&number.to_le_bytes());
    }

    #[inline]
    fn put_u32(&mut self, number: u32) {
        self.put_u64(if number == UNDEFINED { UNDEFINED_LONG } else { number.into() });
    }

    #[inline]
    fn put_u64(&mut self, number: u64) {
        if number == UNDEFINED_LONG {
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
        bytes.put_u32(UNDEFINED);
        bytes.put_u64(u64::from(UNDEFINED));
        bytes.put_u64(UNDEFINED_LONG);
        assert_eq!(bytes, [0, 2, 0x34, 0x12, 255, 4, 255, 255, 255, 255, 255]);
        let mut reader = Reader::new(&bytes, Order::Little);
        assert_eq!((reader.u32(), reader.u32(), reader.u32()), (Some(0), Some(0x1234), Some(UNDEFINED)));
        assert_eq!((reader.u64(), reader.u64(), reader.u8()), (Some(u64::from(UNDEFINED)), Some(UNDEFINED_LONG), None));
    }

    #[test]
    fn the_other_order_of_bytes_is_read_too() {
        let mut reader = Reader::new(&[2, 0x12, 0x34, 0, 0, 0, 7, 1, 2], Order::Big);
        assert_eq!((reader.u32(), reader.full_u32(), reader.u16()), (Some(0x1234), Some(7), Some(0x102)));
    }

    #[test]
    fn what_is_cut_or_too_long_is_no_number() {
        assert_eq!(Reader::new(&[3, 1, 2], Order::Little).u32(), None);
        assert_eq!(Reader::new(&[5, 1, 2, 3, 4, 5], Order::Little).u32(), None);
        assert_eq!(Reader::new(&[9; 20], Order::Little).u64(), None);
        assert_eq!(Reader::new(b"no end", Order::Little).string(), None);
    }

    #[test]
    fn long_records_have_a_long_length() {
        let mut bytes = Vec::new();
        bytes.put_record(7, &[1; 255]);
        assert_eq!(bytes[..10], [7, 255, 255, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes.len(), 10 + 255);
    }
}
