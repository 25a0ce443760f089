//! How the fields of records are encoded.

use crate::buffer::{BufferReader, BufferWrite};
use crate::id_mappings::IdMappings;

/// A type of fields. Reading replaces local ids by global ones; `None` if the bytes are invalid.
pub(crate) trait Field: Sized {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<Self>;
    fn write(&self, out: &mut Vec<u8>);
}

/// An encoding of fields of type `T`.
pub(crate) trait Codec<T> {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<T>;
    fn write(value: &T, out: &mut Vec<u8>);
}

/// The usual encoding of a type.
pub(crate) struct Plain;

impl<T: Field> Codec<T> for Plain {
    #[inline]
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<T> {
        T::read(content, ids)
    }

    #[inline]
    fn write(value: &T, out: &mut Vec<u8>) {
        value.write(out);
    }
}

/// An uncompressed number.
pub(crate) struct Full;

impl Codec<u64> for Full {
    fn read(content: &mut BufferReader, _: &IdMappings) -> Option<u64> {
        content.full_u64()
    }

    fn write(value: &u64, out: &mut Vec<u8>) {
        out.put_full_u64(*value);
    }
}

/// A list with a 32-bit count.
pub(crate) struct List;

impl<T: Field> Codec<Vec<T>> for List {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<Vec<T>> {
        let count = content.u32()?;
        read_items(count as usize, content, ids)
    }

    fn write(values: &Vec<T>, out: &mut Vec<u8>) {
        out.put_u32(values.len() as u32);
        values.iter().for_each(|value| value.write(out));
    }
}

/// A list with an 8-bit count: what is beyond 255 entries is not written.
pub(crate) struct ShortList;

impl<T: Field> Codec<Vec<T>> for ShortList {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<Vec<T>> {
        let count = content.u8()?;
        read_items(count.into(), content, ids)
    }

    fn write(values: &Vec<T>, out: &mut Vec<u8>) {
        let count = values.len().min(u8::MAX.into());
        out.push(count as u8);
        values[..count].iter().for_each(|value| value.write(out));
    }
}

fn read_items<T: Field>(count: usize, content: &mut BufferReader, ids: &IdMappings) -> Option<Vec<T>> {
    // Each item takes at least a byte: refuse absurd counts before allocating.
    if count > content.remaining() {
        return None;
    }
    (0..count).map(|_| T::read(content, ids)).collect()
}

impl Field for u8 {
    #[inline]
    fn read(content: &mut BufferReader, _: &IdMappings) -> Option<u8> {
        content.u8()
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl Field for u32 {
    #[inline]
    fn read(content: &mut BufferReader, _: &IdMappings) -> Option<u32> {
        content.u32()
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.put_u32(*self);
    }
}

impl Field for u64 {
    #[inline]
    fn read(content: &mut BufferReader, _: &IdMappings) -> Option<u64> {
        content.u64()
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.put_u64(*self);
    }
}

impl Field for i64 {
    #[inline]
    fn read(content: &mut BufferReader, _: &IdMappings) -> Option<i64> {
        content.u64().map(|bits| bits as i64)
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.put_u64(*self as u64);
    }
}

impl Field for String {
    fn read(content: &mut BufferReader, _: &IdMappings) -> Option<String> {
        content.string()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.put_string(self);
    }
}

/// Declares an enum of records: the type number of each, and its fields in file order. A field with a default may be missing at the end of
/// a record, because older versions of OTF2 did not have it. `bare` records consist of one compressed number and have no length field.
macro_rules! records {
    (
        $(#[$about:meta])*
        pub enum $Name:ident {
            $(
                $(#[$doc:meta])*
                $number:literal $($bare:ident)? => $Variant:ident $({
                    $($field:ident: $type:ty $(as $codec:ident)? $(= $default:expr)? => $field_doc:literal),* $(,)?
                })? $(($inner:ty))?;
            )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $Name {
            $(
                $(#[$doc])*
                $Variant $({ $(#[doc = $field_doc] $field: $type,)* })? $(($inner))?,
            )*
            /// A record of a type that this crate does not know, with its content as in the file.
            Unknown {
                /// Its type number.
                record_type: u8,
                /// Its bytes.
                content: Vec<u8>,
            },
        }

        impl $Name {
            /// The number of the record's type.
            pub fn record_type(&self) -> u8 {
                match self {
                    $($Name::$Variant $({ $($field: _,)* })? $((records!(@ignore $inner)))? => $number,)*
                    $Name::Unknown { record_type, .. } => *record_type,
                }
            }

            /// Decodes the content of a record; `None` if it is invalid.
            #[inline]
            pub(crate) fn decode(record_type: u8, content: &mut BufferReader, ids: &IdMappings) -> Option<$Name> {
                Some(match record_type {
                    $($number => $Name::$Variant
                        $({ $($field: records!(@read content, ids, $type, ($($codec)?), ($($default)?)),)* })?
                        $((<$inner as $crate::field::Field>::read(content, ids)?))?,)*
                    _ => $Name::Unknown { record_type, content: content.take(content.remaining())?.to_owned() },
                })
            }

            /// Appends the fields.
            #[inline]
            fn encode_fields(&self, out: &mut Vec<u8>) {
                match self {
                    $($Name::$Variant $({ $($field,)* })? $((records!(@bind inner $inner)))? => {
                        $($(<records!(@codec $($codec)?) as $crate::field::Codec<$type>>::write($field, out);)*)?
                        $(<$inner as $crate::field::Field>::write(inner, out);)?
                    })*
                    $Name::Unknown { content, .. } => out.extend_from_slice(content),
                }
            }

            /// Whether records of a type consist of one compressed number and have no length field.
            #[inline]
            pub(crate) fn is_bare(record_type: u8) -> bool {
                match record_type {
                    $($number => records!(@bare $($bare)?),)*
                    _ => false,
                }
            }

            /// Appends the record: type, length and fields.
            #[inline]
            pub fn encode(&self, out: &mut Vec<u8>) {
                let record_type = self.record_type();
                out.push(record_type);
                if $Name::is_bare(record_type) {
                    return self.encode_fields(out);
                }
                let begin = out.len();
                out.push(0);
                self.encode_fields(out);
                $crate::field::set_length(out, begin);
            }
        }
    };
    (@ignore $inner:ty) => { _ };
    (@bind $name:ident $inner:ty) => { $name };
    (@codec) => { $crate::field::Plain };
    (@codec $codec:ident) => { $codec };
    (@bare) => { false };
    (@bare bare) => { true };
    (@read $content:ident, $ids:ident, $type:ty, ($($codec:ident)?), ()) => {
        <records!(@codec $($codec)?) as $crate::field::Codec<$type>>::read($content, $ids)?
    };
    (@read $content:ident, $ids:ident, $type:ty, ($($codec:ident)?), ($default:expr)) => {
        if $content.remaining() == 0 { $default } else { <records!(@codec $($codec)?) as $crate::field::Codec<$type>>::read($content, $ids)? }
    };
}

pub(crate) use records;

/// Sets the length field at `begin`, a byte that was reserved, for the bytes after it.
#[inline]
pub(crate) fn set_length(out: &mut Vec<u8>, begin: usize) {
    let length = out.len() - begin - 1;
    match u8::try_from(length) {
        Ok(short) if short < u8::MAX => out[begin] = short,
        _ => {
            out[begin] = u8::MAX;
            out.splice(begin + 1..begin + 1, (length as u64).to_le_bytes());
        }
    }
}
