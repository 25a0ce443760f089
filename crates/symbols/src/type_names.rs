//! Names of types as C writes them.

use crate::debug::{DebugInfo, DieRef};

/// A longer chain of types is cyclic, or not worth showing.
const DEEPEST: usize = 8;

/// The name of a type.
pub(crate) fn type_name(debug: &DebugInfo, reference: Option<DieRef>) -> String {
    name_at_depth(debug, reference, 0)
}

fn name_at_depth(debug: &DebugInfo, reference: Option<DieRef>, depth: usize) -> String {
    let Some(reference) = reference.filter(|_| depth < DEEPEST) else { return "void".into() };
    let Some(entry) = debug.entry(reference) else { return "?".into() };
    let inner = || name_at_depth(debug, debug.referenced_die(reference.unit, &entry, gimli::DW_AT_type), depth + 1);
    match entry.tag() {
        gimli::DW_TAG_pointer_type => format!("{}*", inner()),
        gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => format!("{}&", inner()),
        // Of a constant array, the elements are constant as well.
        gimli::DW_TAG_const_type => {
            Some(inner()).filter(|inner| inner.starts_with("const ")).unwrap_or_else(|| format!("const {}", inner()))
        }
        gimli::DW_TAG_volatile_type => format!("volatile {}", inner()),
        gimli::DW_TAG_atomic_type => format!("_Atomic {}", inner()),
        gimli::DW_TAG_restrict_type => inner(),
        gimli::DW_TAG_array_type => format!("{}{}", inner(), dimensions(debug, reference)),
        gimli::DW_TAG_subroutine_type => "function".into(),
        _ => debug.name(reference.unit, &entry).unwrap_or_else(|| "unnamed struct".into()),
    }
}

/// The lengths of an array's dimensions, as far as they are fixed.
fn dimensions(debug: &DebugInfo, array: DieRef) -> String {
    let ranges = debug.children(array).into_iter().filter_map(|child| Some((child.unit, debug.entry(child)?)));
    let ranges = ranges.filter(|(_, entry)| entry.tag() == gimli::DW_TAG_subrange_type);
    ranges
        .map(|(unit, range)| {
            let first = debug.integer_attribute(&range, gimli::DW_AT_lower_bound).unwrap_or(i64::from(debug.is_fortran(unit)));
            let count = debug
                .integer_attribute(&range, gimli::DW_AT_count)
                .or_else(|| Some(debug.integer_attribute(&range, gimli::DW_AT_upper_bound)? - first + 1));
            count.map_or_else(|| "[]".into(), |count| format!("[{count}]"))
        })
        .collect()
}
