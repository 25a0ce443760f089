//! Types of values that can be read, written or passed.

use crate::debug::{DebugInfo, DieRef};

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
            ValueType::Other => 0,
        }
    }

    /// Whether it is a scalar that fits a register.
    pub fn is_scalar(&self) -> bool {
        match self {
            ValueType::Integer { bytes, .. } | ValueType::Boolean { bytes } => matches!(bytes, 1 | 2 | 4 | 8),
            ValueType::Float { bytes } => matches!(bytes, 4 | 8),
            ValueType::Pointer => true,
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
        gimli::DW_TAG_enumeration_type => ValueType::Integer { signed: true, bytes },
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => ValueType::Pointer,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
            ValueType::Struct { name: debug.name(reference.unit, &entry).unwrap_or_default(), bytes }
        }
        gimli::DW_TAG_array_type => {
            let (_, stride, counts) = array_element(debug, reference)?;
            ValueType::Array { bytes: counts.iter().try_fold(stride, |bytes, count| bytes.checked_mul((*count)?)).unwrap_or(0) }
        }
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

/// Element type of an array, its size, and the extent of each dimension, last one fastest.
pub(crate) fn array_element(debug: &DebugInfo, reference: DieRef) -> Option<(DieRef, u64, Vec<Option<u64>>)> {
    let element = type_of(debug, reference)?;
    let ranges = debug.children(reference).into_iter().filter_map(|child| debug.entry(child));
    let counts = ranges.filter(|range| range.tag() == gimli::DW_TAG_subrange_type).map(|range| count(debug, &range)).collect();
    Some((element, describe(debug, element).bytes(), counts))
}

fn count(debug: &DebugInfo, range: &crate::debug::Entry<'_>) -> Option<u64> {
    let lower = debug.number_attribute(range, gimli::DW_AT_lower_bound).unwrap_or(0);
    let upper = || debug.number_attribute(range, gimli::DW_AT_upper_bound)?.checked_add(1)?.checked_sub(lower);
    debug.number_attribute(range, gimli::DW_AT_count).or_else(upper)
}

/// A field of a struct: its type and offset.
pub(crate) fn field(debug: &DebugInfo, structure: DieRef, name: &str) -> Option<(DieRef, u64)> {
    for child in debug.children(structure) {
        let entry = debug.entry(child)?;
        if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
            continue;
        }
        let offset = debug.number_attribute(&entry, gimli::DW_AT_data_member_location).unwrap_or(0);
        let own = debug.name(child.unit, &entry);
        if own.as_deref() == Some(name) {
            return Some((type_of(debug, child)?, offset));
        }
        // Fields of an unnamed field or a base class are accessible directly.
        if own.is_none_or(|own| own.is_empty())
            && let Some(inner) = type_of(debug, child).and_then(|inner| strip_qualifiers(debug, inner))
            && let Some((found, inner_offset)) = field(debug, inner, name)
        {
            return Some((found, offset + inner_offset));
        }
    }
    None
}

/// The field names of a struct.
pub(crate) fn field_names(debug: &DebugInfo, structure: DieRef) -> Vec<String> {
    let entries = debug.children(structure).into_iter().filter_map(|child| Some((child.unit, debug.entry(child)?)));
    entries.filter(|(_, entry)| entry.tag() == gimli::DW_TAG_member).filter_map(|(unit, entry)| debug.name(unit, &entry)).collect()
}
