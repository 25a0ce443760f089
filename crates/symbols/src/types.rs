//! Types, as far as a value can be read, set or passed.

use crate::debug::{Debug, Reference};

/// The type of a variable, a parameter or a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// A whole number, a character or an enumeration.
    Whole {
        /// Whether it can be below zero.
        signed: bool,
        /// Its bytes.
        bytes: u64,
    },
    /// A floating number.
    Float {
        /// Its bytes.
        bytes: u64,
    },
    /// True or false.
    Truth {
        /// Its bytes.
        bytes: u64,
    },
    /// An address.
    Pointer,
    /// Several values under names.
    Structure {
        /// Its name.
        name: String,
        /// Its bytes.
        bytes: u64,
    },
    /// Several values of one type.
    Array {
        /// Their bytes together; 0 if unknown.
        bytes: u64,
    },
    /// Something else.
    Other,
}

impl Type {
    /// The bytes of one value; 0 where that is unknown.
    pub fn bytes(&self) -> u64 {
        match self {
            Type::Whole { bytes, .. }
            | Type::Float { bytes }
            | Type::Truth { bytes }
            | Type::Structure { bytes, .. }
            | Type::Array { bytes } => *bytes,
            Type::Pointer => 8,
            Type::Other => 0,
        }
    }

    /// Whether it is one value that fits a register.
    pub fn is_single(&self) -> bool {
        match self {
            Type::Whole { bytes, .. } | Type::Truth { bytes } => matches!(bytes, 1 | 2 | 4 | 8),
            Type::Float { bytes } => matches!(bytes, 4 | 8),
            Type::Pointer => true,
            Type::Structure { .. } | Type::Array { .. } | Type::Other => false,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Whole { signed: true, bytes } => write!(out, "a whole number of {bytes} bytes"),
            Type::Whole { signed: false, bytes } => write!(out, "an unsigned number of {bytes} bytes"),
            Type::Float { bytes } => write!(out, "a floating number of {bytes} bytes"),
            Type::Truth { .. } => write!(out, "true or false"),
            Type::Pointer => write!(out, "a pointer"),
            Type::Structure { name, .. } => write!(out, "a structure `{name}`"),
            Type::Array { .. } => write!(out, "an array"),
            Type::Other => write!(out, "something that is no value"),
        }
    }
}

/// Follows names and qualifiers to the type itself.
pub fn bare(debug: &Debug, mut reference: Reference) -> Option<Reference> {
    /// A type that is this deep refers to itself.
    const MOST_NAMES: usize = 64;
    for _ in 0..MOST_NAMES {
        let entry = debug.entry(reference)?;
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => {
                reference = debug.reference(reference.unit, &entry, gimli::DW_AT_type)?;
            }
            _ => return Some(reference),
        }
    }
    None
}

/// The type of an entry that has one.
pub fn of_entry(debug: &Debug, reference: Reference) -> Option<Reference> {
    let entry = debug.entry(reference)?;
    debug.reference(reference.unit, &entry, gimli::DW_AT_type).or_else(|| of_entry(debug, debug.origin(reference.unit, &entry)?))
}

/// What a type is.
pub fn describe(debug: &Debug, reference: Reference) -> Type {
    bare(debug, reference).and_then(|reference| describe_bare(debug, reference)).unwrap_or(Type::Other)
}

fn describe_bare(debug: &Debug, reference: Reference) -> Option<Type> {
    let entry = debug.entry(reference)?;
    let bytes = debug.number(&entry, gimli::DW_AT_byte_size).unwrap_or(0);
    Some(match entry.tag() {
        gimli::DW_TAG_base_type => of_encoding(debug.encoding(&entry)?, bytes),
        gimli::DW_TAG_enumeration_type => Type::Whole { signed: true, bytes },
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => Type::Pointer,
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
            Type::Structure { name: debug.name(reference.unit, &entry).unwrap_or_default(), bytes }
        }
        gimli::DW_TAG_array_type => {
            let (_, stride, counts) = array(debug, reference)?;
            Type::Array { bytes: counts.iter().try_fold(stride, |bytes, count| bytes.checked_mul((*count)?)).unwrap_or(0) }
        }
        _ => return None,
    })
}

fn of_encoding(encoding: gimli::DwAte, bytes: u64) -> Type {
    match encoding {
        gimli::DW_ATE_float => Type::Float { bytes },
        gimli::DW_ATE_boolean => Type::Truth { bytes },
        gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Type::Whole { signed: true, bytes },
        gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF | gimli::DW_ATE_address => {
            Type::Whole { signed: false, bytes }
        }
        _ => Type::Other,
    }
}

/// The element of an array, its bytes, and how many there are in each direction, the last varying quickest.
pub fn array(debug: &Debug, reference: Reference) -> Option<(Reference, u64, Vec<Option<u64>>)> {
    let element = of_entry(debug, reference)?;
    let ranges = debug.children(reference).into_iter().filter_map(|child| debug.entry(child));
    let counts = ranges.filter(|range| range.tag() == gimli::DW_TAG_subrange_type).map(|range| count(debug, &range)).collect();
    Some((element, describe(debug, element).bytes(), counts))
}

fn count(debug: &Debug, range: &crate::debug::Entry<'_>) -> Option<u64> {
    let lower = debug.number(range, gimli::DW_AT_lower_bound).unwrap_or(0);
    let upper = || debug.number(range, gimli::DW_AT_upper_bound)?.checked_add(1)?.checked_sub(lower);
    debug.number(range, gimli::DW_AT_count).or_else(upper)
}

/// A field of a structure: its type, and how far it is from the beginning.
pub fn field(debug: &Debug, structure: Reference, name: &str) -> Option<(Reference, u64)> {
    for child in debug.children(structure) {
        let entry = debug.entry(child)?;
        if !matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance) {
            continue;
        }
        let offset = debug.number(&entry, gimli::DW_AT_data_member_location).unwrap_or(0);
        let own = debug.name(child.unit, &entry);
        if own.as_deref() == Some(name) {
            return Some((of_entry(debug, child)?, offset));
        }
        // A field without a name, or a base, lends its fields.
        if own.is_none_or(|own| own.is_empty())
            && let Some(inner) = of_entry(debug, child).and_then(|inner| bare(debug, inner))
            && let Some((found, inner_offset)) = field(debug, inner, name)
        {
            return Some((found, offset + inner_offset));
        }
    }
    None
}

/// The names of the fields of a structure.
pub fn field_names(debug: &Debug, structure: Reference) -> Vec<String> {
    let entries = debug.children(structure).into_iter().filter_map(|child| Some((child.unit, debug.entry(child)?)));
    entries.filter(|(_, entry)| entry.tag() == gimli::DW_TAG_member).filter_map(|(unit, entry)| debug.name(unit, &entry)).collect()
}
