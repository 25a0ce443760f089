//! Numbers in as many bytes as they need: seven bits a byte, the lowest first, the top bit set on all bytes but the last.

/// Appends a number.
pub fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a number that stands for 0, -1, 1, -2, 2 ...
pub fn put_signed(bytes: &mut Vec<u8>, number: i64) {
    put(bytes, (number << 1 ^ number >> 63) as u64);
}

/// Reads numbers one after the other.
pub struct Numbers<'a>(pub &'a [u8]);

impl Numbers<'_> {
    /// The next number; `None` where there is none.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for (place, byte) in self.0.iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                self.0 = &self.0[place + 1..];
                return Some(number);
            }
        }
        None
    }

    /// The next number that was written with its sign.
    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(|number| (number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_as_they_went() {
        let numbers = [0, 1, 127, 128, 300, 1 << 35, u64::MAX];
        let signed = [0, -1, 1, i64::MIN, i64::MAX, -1_000_000];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| put(&mut bytes, *number));
        signed.iter().for_each(|number| put_signed(&mut bytes, *number));
        let mut read = Numbers(&bytes);
        assert!(numbers.iter().all(|number| read.number() == Some(*number)));
        assert!(signed.iter().all(|number| read.signed() == Some(*number)));
        assert_eq!(read.number(), None);
    }

    #[test]
    fn a_number_without_end_is_none() {
        assert_eq!(Numbers(&[0x80; 30]).number(), None);
        assert_eq!(Numbers(&[0x80, 0x80]).number(), None);
    }
}
