//! The wire format of Protocol Buffers, as much as a writer needs: fields one after the other, each with its number.

/// A message under way.
#[derive(Default)]
pub struct Message(Vec<u8>);

/// How a field is encoded, in the low bits of its key.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

impl Message {
    /// The bytes so far.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// A number without sign, a mark, or one of an enumeration.
    pub fn number(&mut self, field: u32, number: u64) {
        self.varint((field << 3 | VARINT).into());
        self.varint(number);
    }

    /// A number with a sign.
    pub fn signed(&mut self, field: u32, number: i64) {
        self.number(field, number as u64);
    }

    /// A number of eight bytes.
    pub fn fixed(&mut self, field: u32, number: u64) {
        self.varint((field << 3 | FIXED64).into());
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    /// A text.
    pub fn text(&mut self, field: u32, text: &str) {
        self.varint((field << 3 | BYTES).into());
        self.varint(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// A message inside this one.
    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        self.varint((field << 3 | BYTES).into());
        let start = self.0.len();
        fill(self);
        let length = self.0.len() - start;
        // The length stands before the bytes it counts: it is appended, then turned to the front.
        self.varint(length as u64);
        self.0[start..].rotate_left(length);
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

/// A field read back: its number and what it holds.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A number of any kind.
    Number(u32, u64),
    /// A text or a message.
    Bytes(u32, &'a [u8]),
}

/// The fields of a message, for tests.
#[cfg(test)]
pub fn read(mut bytes: &[u8]) -> Vec<Read<'_>> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for place in 0.. {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            number |= u64::from(first & 0x7f) << (7 * place);
            if first & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes) as u32;
        let field = key >> 3;
        match key & 7 {
            VARINT => fields.push(Read::Number(field, varint(&mut bytes))),
            FIXED64 => {
                let (number, rest) = bytes.split_first_chunk().unwrap();
                bytes = rest;
                fields.push(Read::Number(field, u64::from_le_bytes(*number)));
            }
            kind => {
                assert_eq!(kind, BYTES);
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                fields.push(Read::Bytes(field, content));
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(fill: impl FnOnce(&mut Message)) -> Vec<u8> {
        let mut message = Message::default();
        fill(&mut message);
        message.as_bytes().to_vec()
    }

    #[test]
    fn fields_are_encoded_as_the_specification_shows() {
        assert_eq!(bytes(|m| m.number(1, 150)), [0x08, 0x96, 0x01]);
        assert_eq!(bytes(|m| m.text(2, "testing")), *b"\x12\x07testing");
        assert_eq!(bytes(|m| m.message(3, |inner| inner.number(1, 150))), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(bytes(|m| m.fixed(47, 1)), [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(|m| m.signed(4, -2)), [0x20, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }

    #[test]
    fn a_message_may_be_longer_than_its_length_in_one_byte() {
        let long = "a".repeat(300);
        let encoded = bytes(|m| m.message(1, |inner| inner.text(2, &long)));
        assert_eq!(encoded[..6], [0x0a, 0xaf, 0x02, 0x12, 0xac, 0x02]);
        assert_eq!(encoded.len(), 306);
    }

    #[test]
    fn what_was_written_is_read_again() {
        let encoded = bytes(|m| {
            m.number(1, u64::MAX);
            m.fixed(2, 7);
            m.message(3, |inner| inner.text(4, "a"));
        });
        assert_eq!(read(&encoded), [Read::Number(1, u64::MAX), Read::Number(2, 7), Read::Bytes(3, b"\x22\x01a")]);
    }
}
