//! Types of values that can be read, written or passed.

use gimli::{AttributeValue, Operation};

use crate::debug::{DebugInfo, DieRef, Entry, is_declaration};

/// The type of a variable, a parameter or a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {
    /// An integer, a character or an enumeration.
    Integer {
        /// Whether it is signed.
        signed: bool,
        /// Size in bytes.
        bytes: u64,
    },
    /// A bit field.
    BitField {
        /// Whether it is signed.
        signed: bool,
        /// Size in bits.
        bits: u8,
    },
    /// A floating-point number.
    Float {
        /// Size in bytes.
        bytes: u64,
    },
    /// A boolean.
    Boolean {
        /// Size in bytes.
        bytes: u64,
    },
    /// A pointer.
    Pointer,
    /// A struct, class or union.
    Struct {
        /// Its name.
        name: String,
        /// Size in bytes.
        bytes: u64,
    },
    /// An array.
    Array {
        /// Total size in bytes; 0 if unknown.
        bytes: u64,
    },
    /// Anything else.
    Other,
}

impl ValueType {
    /// Size of a value in bytes; 0 if unknown.
    pub fn bytes(&self) -> u64 {
        match self {
            ValueType::Integer { bytes, .. }
            | ValueType::Float { bytes }
            | ValueType::Boolean { bytes }
            | ValueType::Struct { bytes, .. }
            | ValueType::Array { bytes } => *bytes,
            ValueType::Pointer => 8,
            ValueType::BitField { bits, .. } => u64::from(*bits).div_ceil(8),
            ValueType::Other => 0,
        }
    }

    /// Whether it is a scalar that fits a register.
    pub fn is_scalar(&self) -> bool {
        match self {
            ValueType::Integer { bytes, .. } | ValueType::Boolean { bytes } => matches!(bytes, 1 | 2 | 4 | 8),
            ValueType::Float { bytes } => matches!(bytes, 4 | 8),
            ValueType::Pointer | ValueType::BitField { .. } => true,
            ValueType::Struct { .. } | ValueType::Array { .. } | ValueType::Other => false,
        }
    }
}

impl std::fmt::Display for ValueType {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ValueType::Integer { signed: true, bytes } => write!(out, "an integer of {bytes} bytes"),
            ValueType::Integer { signed: false, bytes } => write!(out, "an unsigned integer of {bytes} bytes"),
            ValueType::Float { bytes } => write!(out, "a floating-point number of {bytes} bytes"),
            ValueType::Boolean { .. } => write!(out, "a boolean"),
            ValueType::BitField { bits, .. } => write!(out, "a bit field of {bits} bits"),
            ValueType::Pointer => write!(out, "a pointer"),
            ValueType::Struct { name, .. } => write!(out, "a struct `{name}`"),
            ValueType::Array { .. } => write!(out, "an array"),
            ValueType::Other => write!(out, "not a value"),
        }
    }
}

/// Follows typedefs and qualifiers to the underlying type.
pub(crate) fn strip_qualifiers(debug: &DebugInfo, mut reference: DieRef) -> Option<DieRef> {
    /// A deeper chain is cyclic.
    const MOST_NAMES: usize = 64;
    for _ in 0..MOST_NAMES {
        let entry = debug.entry(reference)?;
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => {
                reference = debug.referenced_die(reference.unit, &entry, gimli::DW_AT_type)?;
            }
            _ => return Some(reference),
        }
    }
    None
}

/// The type of an entry.
pub(crate) fn type_of(debug: &DebugInfo, reference: DieRef) -> Option<DieRef> {
    let entry = debug.entry(reference)?;
    debug.referenced_die(reference.unit, &entry, gimli::DW_AT_type).or_else(|| type_of(debug, debug.origin(reference.unit, &entry)?))
}

/// Describes a type.
pub(crate) fn describe(debug: &DebugInfo, reference: DieRef) -> ValueType {
    strip_qualifiers(debug, reference).and_then(|reference| describe_unqualified(debug, reference)).unwrap_or(ValueType::Other)
}

fn describe_unqualified(debug: &DebugInfo, reference: DieRef) -> Option<ValueType> {
    let entry = debug.entry(reference)?;
    let bytes = debug.number_attribute(&entry, gimli::DW_AT_byte_size).unwrap_or(0);
    Some(match entry.tag() {
        gimli::DW_TAG_base_type => from_encoding(debug.encoding(&entry)?, bytes),
        gimli::DW_TAG_enumeration_type => describe_enumeration(debug, reference, &entry, bytes),
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => ValueType::Pointer,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
            ValueType::Struct { name: debug.name(reference.unit, &entry).unwrap_or_default(), bytes }
        }
        gimli::DW_TAG_array_type => ValueType::Array { bytes: array_bytes(debug, reference).unwrap_or(0) },
        _ => return None,
    })
}

fn from_encoding(encoding: gimli::DwAte, bytes: u64) -> ValueType {
    match encoding {
        gimli::DW_ATE_float => ValueType::Float { bytes },
        gimli::DW_ATE_boolean => ValueType::Boolean { bytes },
        gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => ValueType::Integer { signed: true, bytes },
        gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF | gimli::DW_ATE_address => {
            ValueType::Integer { signed: false, bytes }
        }
        _ => ValueType::Other,
    }
}

/// An enumeration is an integer; without an underlying type it is signed if one of its values is negative.
fn describe_enumeration(debug: &DebugInfo, reference: DieRef, entry: &Entry<'_>, bytes: u64) -> ValueType {
    if let Some(ValueType::Integer { signed, bytes }) = type_of(debug, reference).map(|underlying| describe(debug, underlying)) {
        return ValueType::Integer { signed, bytes };
    }
    let is_negative = |child: DieRef| {
        let enumerator = debug.entry(child)?;
        debug.integer_attribute(&enumerator, gimli::DW_AT_const_value).map(|value| value < 0)
    };
    let signed = match debug.encoding(entry) {
        Some(encoding) => matches!(from_encoding(encoding, bytes), ValueType::Integer { signed: true, .. }),
        None => debug.children(reference).into_iter().any(|child| is_negative(child) == Some(true)),
    };
    ValueType::Integer { signed, bytes }
}

/// Total size of an array, if it is fixed.
fn array_bytes(debug: &DebugInfo, reference: DieRef) -> Option<u64> {
    if debug.entry(reference)?.attr_value(gimli::DW_AT_data_location).ok()?.is_some() {
        return None;
    }
    let element = describe(debug, type_of(debug, reference)?).bytes();
    let ranges = debug.children(reference).into_iter().filter_map(|child| debug.entry(child));
    let mut ranges = ranges.filter(|range| range.tag() == gimli::DW_TAG_subrange_type);
    ranges.try_fold(element, |bytes, range| bytes.checked_mul(count(debug, reference.unit, &range)?))
}

fn count(debug: &DebugInfo, unit: usize, range: &Entry<'_>) -> Option<u64> {
    let first = debug.integer_attribute(range, gimli::DW_AT_lower_bound).unwrap_or(i64::from(debug.is_fortran(unit)));
    let last = || debug.integer_attribute(range, gimli::DW_AT_upper_bound)?.checked_add(1)?.checked_sub(first);
    let count = debug.integer_attribute(range, gimli::DW_AT_count).or_else(last);
    count.and_then(|count| u64::try_from(count).ok())
}

/// A member of a structure.
pub(crate) struct StructMember {
    /// Its type.
    pub kind: DieRef,
    /// Its offset in bytes.
    pub offset: u64,
    /// First bit at that offset and size of a bit field.
    pub bits: Option<(u64, u64)>,
}

/// A field of a struct, of an unnamed field or of a base class; an error if its offset is not fixed.
pub(crate) fn field(debug: &DebugInfo, structure: DieRef, name: &str) -> Result<Option<StructMember>, String> {
    for child in debug.children(structure) {
        let Some(entry) = debug.entry(child).filter(is_stored) else { continue };
        let own = debug.name(child.unit, &entry).filter(|own| !own.is_empty());
        let Some(kind) = type_of(debug, child) else { continue };
        if own.as_deref() == Some(name) {
            let offset = offset_of(debug, child.unit, &entry)?;
            let bits = bit_field(debug, &entry, describe(debug, kind).bytes());
            return Ok(Some(StructMember { kind, offset, bits }));
        }
        if own.is_none()
            && let Some(inner) = strip_qualifiers(debug, kind)
            && let Some(found) = field(debug, inner, name)?
        {
            return Ok(Some(StructMember { offset: found.offset + offset_of(debug, child.unit, &entry)?, ..found }));
        }
    }
    Ok(None)
}

/// The only part of a struct that is as large as the struct itself: what a wrapper such as `std::atomic` holds.
pub(crate) fn wrapped(debug: &DebugInfo, structure: DieRef) -> Option<DieRef> {
    let bytes = describe(debug, structure).bytes();
    let children = debug.children(structure).into_iter().filter(|child| debug.entry(*child).is_some_and(|entry| is_stored(&entry)));
    let mut parts = children.filter_map(|child| type_of(debug, child)).filter(|part| describe(debug, *part).bytes() == bytes);
    parts.next().filter(|_| bytes > 0 && parts.next().is_none())
}

/// Whether an entry of a struct takes space in it: a member that is not static, or a base class.
fn is_stored(entry: &Entry<'_>) -> bool {
    matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) && !is_declaration(entry)
}

/// The offset of a member or base class.
fn offset_of(debug: &DebugInfo, unit: usize, entry: &Entry<'_>) -> Result<u64, String> {
    if entry.tag() == gimli::DW_TAG_inheritance && is_virtual(entry) {
        return Err("it is in a virtual base class, whose place depends on the object".into());
    }
    let Ok(Some(location)) = entry.attr_value(gimli::DW_AT_data_member_location) else { return Ok(0) };
    if let Some(offset) = location.udata_value() {
        return Ok(offset);
    }
    // DWARF 2.
    let AttributeValue::Exprloc(expression) = location else { return Err("its place in the struct is not fixed".into()) };
    let mut operations = expression.operations(debug.units[unit].encoding());
    match (operations.next(), operations.next()) {
        (Ok(Some(Operation::PlusConstant { value })), Ok(None)) => Ok(value),
        _ => Err("its place in the struct is not fixed".into()),
    }
}

fn is_virtual(entry: &Entry<'_>) -> bool {
    matches!(entry.attr_value(gimli::DW_AT_virtuality), Ok(Some(AttributeValue::Virtuality(kind))) if kind != gimli::DW_VIRTUALITY_none)
}

/// First bit and size of a bit field of a type with this many bytes.
fn bit_field(debug: &DebugInfo, entry: &Entry<'_>, type_bytes: u64) -> Option<(u64, u64)> {
    let bits = debug.number_attribute(entry, gimli::DW_AT_bit_size)?;
    if let Some(first) = debug.number_attribute(entry, gimli::DW_AT_data_bit_offset) {
        return Some((first, bits));
    }
    // DWARF 3: from the most significant bit of a storage unit; negative if the field reaches beyond it.
    let unit = 8 * debug.number_attribute(entry, gimli::DW_AT_byte_size).unwrap_or(type_bytes);
    let from_top = debug.integer_attribute(entry, gimli::DW_AT_bit_offset).unwrap_or(0);
    let first = i64::try_from(unit).ok()?.checked_sub(from_top)?.checked_sub_unsigned(bits)?;
    Some((u64::try_from(first).ok()?, bits))
}

/// The field names of a struct.
pub(crate) fn field_names(debug: &DebugInfo, structure: DieRef) -> Vec<String> {
    let entries = debug.children(structure).into_iter().filter_map(|child| Some((child.unit, debug.entry(child)?)));
    entries.filter(|(_, entry)| entry.tag() == gimli::DW_TAG_member).filter_map(|(unit, entry)| debug.name(unit, &entry)).collect()
}
