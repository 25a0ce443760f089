//! Values of attributes and properties.

use crate::buffer::{BufferReader, BufferWrite};
use crate::code::ValueType;
use crate::field::{Codec, Field};
use crate::id_mappings::IdMappings;
use crate::reference::{
    AttributeRef, CallingContextRef, CommRef, GroupRef, InterruptGeneratorRef, IoFileRef, IoHandleRef, LocationGroupRef, LocationRef,
    MetricRef, ParameterRef, RegionRef, RmaWinRef, SourceCodeLocationRef, StringRef,
};

/// A value with its type.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Unsigned, 8 bits.
    Uint8(u8),
    /// Unsigned, 16 bits.
    Uint16(u16),
    /// Unsigned, 32 bits.
    Uint32(u32),
    /// Unsigned, 64 bits.
    Uint64(u64),
    /// Signed, 8 bits.
    Int8(i8),
    /// Signed, 16 bits.
    Int16(i16),
    /// Signed, 32 bits.
    Int32(i32),
    /// Signed, 64 bits.
    Int64(i64),
    /// Floating point, 32 bits.
    Float(f32),
    /// Floating point, 64 bits.
    Double(f64),
    /// A string.
    String(StringRef),
    /// An attribute.
    Attribute(AttributeRef),
    /// A location.
    Location(LocationRef),
    /// A region.
    Region(RegionRef),
    /// A group.
    Group(GroupRef),
    /// A metric.
    Metric(MetricRef),
    /// A communicator.
    Comm(CommRef),
    /// A parameter.
    Parameter(ParameterRef),
    /// A window.
    RmaWin(RmaWinRef),
    /// A source code location.
    SourceCodeLocation(SourceCodeLocationRef),
    /// A calling context.
    CallingContext(CallingContextRef),
    /// A source of interrupts.
    InterruptGenerator(InterruptGeneratorRef),
    /// A file.
    IoFile(IoFileRef),
    /// An open file.
    IoHandle(IoHandleRef),
    /// A location group.
    LocationGroup(LocationGroupRef),
    /// A value of a type that this crate does not know.
    Unknown(ValueType, u64),
}

impl Value {
    /// Its type.
    pub fn value_type(self) -> ValueType {
        match self {
            Value::Uint8(_) => ValueType::UINT8,
            Value::Uint16(_) => ValueType::UINT16,
            Value::Uint32(_) => ValueType::UINT32,
            Value::Uint64(_) => ValueType::UINT64,
            Value::Int8(_) => ValueType::INT8,
            Value::Int16(_) => ValueType::INT16,
            Value::Int32(_) => ValueType::INT32,
            Value::Int64(_) => ValueType::INT64,
            Value::Float(_) => ValueType::FLOAT,
            Value::Double(_) => ValueType::DOUBLE,
            Value::String(_) => ValueType::STRING,
            Value::Attribute(_) => ValueType::ATTRIBUTE,
            Value::Location(_) => ValueType::LOCATION,
            Value::Region(_) => ValueType::REGION,
            Value::Group(_) => ValueType::GROUP,
            Value::Metric(_) => ValueType::METRIC,
            Value::Comm(_) => ValueType::COMM,
            Value::Parameter(_) => ValueType::PARAMETER,
            Value::RmaWin(_) => ValueType::RMA_WIN,
            Value::SourceCodeLocation(_) => ValueType::SOURCE_CODE_LOCATION,
            Value::CallingContext(_) => ValueType::CALLING_CONTEXT,
            Value::InterruptGenerator(_) => ValueType::INTERRUPT_GENERATOR,
            Value::IoFile(_) => ValueType::IO_FILE,
            Value::IoHandle(_) => ValueType::IO_HANDLE,
            Value::LocationGroup(_) => ValueType::LOCATION_GROUP,
            Value::Unknown(value_type, _) => value_type,
        }
    }

    /// Its bits, without sign extension; the number of a reference.
    pub fn to_bits(self) -> u64 {
        match self {
            Value::Uint8(number) => number.into(),
            Value::Uint16(number) => number.into(),
            Value::Int8(number) => (number as u8).into(),
            Value::Int16(number) => (number as u16).into(),
            Value::Int32(number) => (number as u32).into(),
            Value::Int64(number) => number as u64,
            Value::Float(number) => number.to_bits().into(),
            Value::Double(number) => number.to_bits(),
            Value::Uint64(number) | Value::Location(LocationRef(number)) | Value::Unknown(_, number) => number,
            Value::Uint32(number)
            | Value::String(StringRef(number))
            | Value::Attribute(AttributeRef(number))
            | Value::Region(RegionRef(number))
            | Value::Group(GroupRef(number))
            | Value::Metric(MetricRef(number))
            | Value::Comm(CommRef(number))
            | Value::Parameter(ParameterRef(number))
            | Value::RmaWin(RmaWinRef(number))
            | Value::SourceCodeLocation(SourceCodeLocationRef(number))
            | Value::CallingContext(CallingContextRef(number))
            | Value::InterruptGenerator(InterruptGeneratorRef(number))
            | Value::IoFile(IoFileRef(number))
            | Value::IoHandle(IoHandleRef(number))
            | Value::LocationGroup(LocationGroupRef(number)) => number.into(),
        }
    }

    fn read_as(value_type: ValueType, content: &mut BufferReader, ids: &IdMappings) -> Option<Value> {
        Some(match value_type {
            ValueType::UINT8 => Value::Uint8(content.u8()?),
            ValueType::UINT16 => Value::Uint16(content.u16()?),
            ValueType::UINT32 => Value::Uint32(content.u32()?),
            ValueType::UINT64 => Value::Uint64(content.u64()?),
            ValueType::INT8 => Value::Int8(content.u8()? as i8),
            ValueType::INT16 => Value::Int16(content.u16()? as i16),
            ValueType::INT32 => Value::Int32(content.u32()? as i32),
            ValueType::INT64 => Value::Int64(content.u64()? as i64),
            ValueType::FLOAT => Value::Float(f32::from_bits(content.full_u32()?)),
            ValueType::DOUBLE => Value::Double(content.f64()?),
            ValueType::STRING => Value::String(StringRef::read(content, ids)?),
            ValueType::ATTRIBUTE => Value::Attribute(AttributeRef::read(content, ids)?),
            ValueType::LOCATION => Value::Location(LocationRef::read(content, ids)?),
            ValueType::REGION => Value::Region(RegionRef::read(content, ids)?),
            ValueType::GROUP => Value::Group(GroupRef::read(content, ids)?),
            ValueType::METRIC => Value::Metric(MetricRef::read(content, ids)?),
            ValueType::COMM => Value::Comm(CommRef::read(content, ids)?),
            ValueType::PARAMETER => Value::Parameter(ParameterRef::read(content, ids)?),
            ValueType::RMA_WIN => Value::RmaWin(RmaWinRef::read(content, ids)?),
            ValueType::SOURCE_CODE_LOCATION => Value::SourceCodeLocation(SourceCodeLocationRef::read(content, ids)?),
            ValueType::CALLING_CONTEXT => Value::CallingContext(CallingContextRef::read(content, ids)?),
            ValueType::INTERRUPT_GENERATOR => Value::InterruptGenerator(InterruptGeneratorRef::read(content, ids)?),
            ValueType::IO_FILE => Value::IoFile(IoFileRef::read(content, ids)?),
            ValueType::IO_HANDLE => Value::IoHandle(IoHandleRef::read(content, ids)?),
            ValueType::LOCATION_GROUP => Value::LocationGroup(LocationGroupRef::read(content, ids)?),
            other => Value::Unknown(other, content.u64()?),
        })
    }
}

/// The type, then the value.
impl Field for Value {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<Value> {
        let value_type = ValueType::read(content, ids)?;
        Value::read_as(value_type, content, ids)
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.value_type().write(out);
        match *self {
            Value::Uint8(number) => out.push(number),
            Value::Int8(number) => out.push(number as u8),
            Value::Uint16(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Int16(number) => out.extend_from_slice(&number.to_le_bytes()),
            Value::Float(number) => out.put_full_u32(number.to_bits()),
            Value::Double(number) => out.put_full_u64(number.to_bits()),
            Value::Uint64(number) | Value::Location(LocationRef(number)) | Value::Unknown(_, number) => out.put_u64(number),
            Value::Int64(number) => out.put_u64(number as u64),
            other => out.put_u32(other.to_bits() as u32),
        }
    }
}

/// The value of a property that once could only be a string: a string reference for old readers, then the value for those who know better.
pub(crate) struct StringThenValue;

impl Codec<Value> for StringThenValue {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<Value> {
        let text = StringRef::read(content, ids)?;
        if content.remaining() == 0 { Some(Value::String(text)) } else { Value::read(content, ids) }
    }

    fn write(value: &Value, out: &mut Vec<u8>) {
        let text = match *value {
            Value::String(text) => text,
            _ => StringRef::UNDEFINED,
        };
        text.write(out);
        value.write(out);
    }
}

/// The value of a metric: its type, then its bits as a compressed number, whatever the type.
pub(crate) struct MetricValues;

impl Codec<Vec<Value>> for MetricValues {
    fn read(content: &mut BufferReader, ids: &IdMappings) -> Option<Vec<Value>> {
        let count = content.u8()?;
        let value = |_| {
            let (value_type, bits) = (ValueType::read(content, ids)?, content.u64()?);
            Some(match value_type {
                ValueType::INT64 => Value::Int64(bits as i64),
                ValueType::UINT64 => Value::Uint64(bits),
                ValueType::DOUBLE => Value::Double(f64::from_bits(bits)),
                other => Value::Unknown(other, bits),
            })
        };
        (0..count).map(value).collect()
    }

    fn write(values: &Vec<Value>, out: &mut Vec<u8>) {
        let count = values.len().min(u8::MAX.into());
        out.push(count as u8);
        for value in &values[..count] {
            value.value_type().write(out);
            out.put_u64(value.to_bits());
        }
    }
}
