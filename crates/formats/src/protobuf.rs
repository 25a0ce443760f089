//! Writes the wire format of Protocol Buffers.

/// A message being written.
#[derive(Default)]
pub(crate) struct ProtobufMessage(Vec<u8>);

/// Wire types, in the low bits of a field's key.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

impl ProtobufMessage {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// An unsigned number, flag or enum value.
    pub(crate) fn uint64(&mut self, field: u32, number: u64) {
        self.push_varint((field << 3 | VARINT).into());
        self.push_varint(number);
    }

    /// A signed number.
    pub(crate) fn int64(&mut self, field: u32, number: i64) {
        self.uint64(field, number as u64);
    }

    /// A 64-bit fixed-width number.
    pub(crate) fn fixed64(&mut self, field: u32, number: u64) {
        self.push_varint((field << 3 | FIXED64).into());
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    pub(crate) fn string(&mut self, field: u32, text: &str) {
        self.push_varint((field << 3 | BYTES).into());
        self.push_varint(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Repeated numbers.
    pub(crate) fn packed(&mut self, field: u32, numbers: impl IntoIterator<Item = u64>) {
        self.nested(field, |inner| numbers.into_iter().for_each(|number| inner.push_varint(number)));
    }

    /// A nested message.
    pub(crate) fn nested(&mut self, field: u32, fill: impl FnOnce(&mut ProtobufMessage)) {
        self.push_varint((field << 3 | BYTES).into());
        let start = self.0.len();
        fill(self);
        let length = self.0.len() - start;
        // The length precedes the bytes it counts: append it, then rotate it to the front.
        self.push_varint(length as u64);
        self.0[start..].rotate_left(length);
    }

    fn push_varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }
}

/// A decoded field: number and value.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProtobufField<'a> {
    /// A number of any wire type.
    Number(u32, u64),
    /// A string or message.
    Bytes(u32, &'a [u8]),
}

/// The fields of a message, for tests.
#[cfg(test)]
pub(crate) fn decode_fields(mut bytes: &[u8]) -> Vec<ProtobufField<'_>> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for index in 0.. {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            number |= u64::from(first & 0x7f) << (7 * index);
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
            VARINT => fields.push(ProtobufField::Number(field, varint(&mut bytes))),
            FIXED64 => {
                let (number, rest) = bytes.split_first_chunk().unwrap();
                bytes = rest;
                fields.push(ProtobufField::Number(field, u64::from_le_bytes(*number)));
            }
            kind => {
                assert_eq!(kind, BYTES);
                let length = varint(&mut bytes) as usize;
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                fields.push(ProtobufField::Bytes(field, content));
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(fill: impl FnOnce(&mut ProtobufMessage)) -> Vec<u8> {
        let mut message = ProtobufMessage::default();
        fill(&mut message);
        message.as_bytes().to_vec()
    }

    #[test]
    fn fields_are_encoded_as_the_specification_shows() {
        assert_eq!(bytes(|m| m.uint64(1, 150)), [0x08, 0x96, 0x01]);
        assert_eq!(bytes(|m| m.string(2, "testing")), *b"\x12\x07testing");
        assert_eq!(bytes(|m| m.nested(3, |inner| inner.uint64(1, 150))), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(bytes(|m| m.fixed64(47, 1)), [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(|m| m.packed(6, [3, 270, 86942])), [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]);
        assert_eq!(bytes(|m| m.int64(4, -2)), [0x20, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }

    #[test]
    fn a_message_may_be_longer_than_its_length_in_one_byte() {
        let long = "a".repeat(300);
        let encoded = bytes(|m| m.nested(1, |inner| inner.string(2, &long)));
        assert_eq!(encoded[..6], [0x0a, 0xaf, 0x02, 0x12, 0xac, 0x02]);
        assert_eq!(encoded.len(), 306);
    }

    #[test]
    fn what_was_written_is_read_again() {
        let encoded = bytes(|m| {
            m.uint64(1, u64::MAX);
            m.fixed64(2, 7);
            m.nested(3, |inner| inner.string(4, "a"));
        });
        assert_eq!(
            decode_fields(&encoded),
            [ProtobufField::Number(1, u64::MAX), ProtobufField::Number(2, 7), ProtobufField::Bytes(3, b"\x22\x01a")]
        );
    }
}
