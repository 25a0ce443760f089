//! Thrift's compact protocol, as far as Parquet's headers need it.

/// Types of fields and list elements.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Appends an unsigned number, seven bits per byte.
pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a signed number; small ones of either sign are short.
pub(super) fn put_zigzag(out: &mut Vec<u8>, number: i64) {
    put_varint(out, ((number << 1) ^ (number >> 63)) as u64);
}

/// Writes the fields of a struct, in ascending order of their numbers.
#[derive(Default)]
pub(super) struct ThriftStruct {
    bytes: Vec<u8>,
    last_field: u8,
}

impl ThriftStruct {
    /// The struct, complete.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn field(mut self, number: u8, kind: u8) -> ThriftStruct {
        // The fields of Parquet's structs are numbered densely: the short form always fits.
        self.bytes.push((number - self.last_field) << 4 | kind);
        self.last_field = number;
        self
    }

    pub(super) fn i32(self, number: u8, value: i32) -> ThriftStruct {
        let mut this = self.field(number, I32);
        put_zigzag(&mut this.bytes, value.into());
        this
    }

    pub(super) fn i64(self, number: u8, value: usize) -> ThriftStruct {
        let mut this = self.field(number, I64);
        put_zigzag(&mut this.bytes, value as i64);
        this
    }

    pub(super) fn binary(self, number: u8, value: &[u8]) -> ThriftStruct {
        let mut this = self.field(number, BINARY);
        put_varint(&mut this.bytes, value.len() as u64);
        this.bytes.extend(value);
        this
    }

    pub(super) fn nested(self, number: u8, value: ThriftStruct) -> ThriftStruct {
        let mut this = self.field(number, STRUCT);
        this.bytes.extend(value.finish());
        this
    }

    pub(super) fn i32_list(self, number: u8, values: &[i32]) -> ThriftStruct {
        let mut this = self.list(number, I32, values.len());
        values.iter().for_each(|value| put_zigzag(&mut this.bytes, (*value).into()));
        this
    }

    pub(super) fn text_list(self, number: u8, values: &[&str]) -> ThriftStruct {
        let mut this = self.list(number, BINARY, values.len());
        for value in values {
            put_varint(&mut this.bytes, value.len() as u64);
            this.bytes.extend(value.as_bytes());
        }
        this
    }

    pub(super) fn struct_list(self, number: u8, values: Vec<ThriftStruct>) -> ThriftStruct {
        let mut this = self.list(number, STRUCT, values.len());
        values.into_iter().for_each(|value| this.bytes.extend(value.finish()));
        this
    }

    fn list(self, number: u8, kind: u8, length: usize) -> ThriftStruct {
        let mut this = self.field(number, LIST);
        if length < 15 {
            this.bytes.push((length as u8) << 4 | kind);
        } else {
            this.bytes.push(0xf0 | kind);
            put_varint(&mut this.bytes, length as u64);
        }
        this
    }
}
