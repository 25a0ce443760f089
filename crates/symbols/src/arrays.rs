//! Arrays: bounds and strides, which for allocatable, pointer and assumed-shape arrays of Fortran are in a descriptor.

use gimli::AttributeValue;
use sintonia_link::value_location::AddressStep;

use crate::debug::{DieRef, Entry};
use crate::location::{self, ExpressionContext};
use crate::types;

/// A bound or stride.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DimensionBound {
    Constant(i64),
    /// Steps from the descriptor to it.
    Computed(Vec<AddressStep>),
    Unknown,
}

/// A dimension of an array.
#[derive(Debug, Clone)]
struct ArrayDimension {
    first: DimensionBound,
    last: DimensionBound,
    /// Distance of its elements in bytes.
    stride: DimensionBound,
}

impl ArrayDimension {
    /// Number of elements, if it is fixed.
    fn count(&self) -> Option<u64> {
        match (&self.first, &self.last) {
            (DimensionBound::Constant(first), DimensionBound::Constant(last)) => {
                u64::try_from(last.checked_sub(*first)?.checked_add(1)?).ok()
            }
            _ => None,
        }
    }
}

/// How the elements of an array are found.
pub(crate) struct ArrayShape {
    /// Type of the elements.
    pub element: DieRef,
    dimensions: Vec<ArrayDimension>,
    /// Steps from the descriptor to a number that is 0 if the array has no storage.
    has_storage: Option<Vec<AddressStep>>,
    /// Steps from the descriptor to the address of the first element.
    data: Option<Vec<AddressStep>>,
}

impl ArrayShape {
    /// The shape of an array type, or why it cannot be used.
    pub(crate) fn new(context: &ExpressionContext<'_>, array: DieRef) -> Result<ArrayShape, String> {
        let debug = context.debug;
        let entry = debug.entry(array).ok_or("its type is unknown")?;
        let element = types::type_of(debug, array).ok_or("the type of its elements is unknown")?;
        if has(&entry, gimli::DW_AT_bit_stride) || has(&entry, gimli::DW_AT_rank) {
            return Err("arrays of this kind cannot be indexed".into());
        }
        let element_bytes = match extent(context, array.unit, &entry, gimli::DW_AT_byte_stride)? {
            DimensionBound::Constant(bytes) => bytes,
            _ => types::describe(debug, element).bytes() as i64,
        };
        let ranges = debug.children(array).into_iter().filter_map(|child| debug.entry(child));
        let ranges: Vec<Entry<'_>> = ranges.filter(|range| range.tag() == gimli::DW_TAG_subrange_type).collect();
        let mut dimensions = ranges.iter().map(|range| dimension(context, array.unit, range)).collect::<Result<Vec<_>, String>>()?;
        let is_column_major = match debug.number_attribute(&entry, gimli::DW_AT_ordering) {
            Some(order) => order == u64::from(gimli::DW_ORD_col_major.0),
            None => debug.is_fortran(array.unit),
        };
        set_strides(&mut dimensions, element_bytes, is_column_major);
        let expression = |attribute| match extent(context, array.unit, &entry, attribute)? {
            DimensionBound::Computed(steps) => Ok(Some(steps)),
            _ => Ok::<_, String>(None),
        };
        let has_storage = match expression(gimli::DW_AT_allocated)? {
            Some(steps) => Some(steps),
            None => expression(gimli::DW_AT_associated)?,
        };
        Ok(ArrayShape { element, dimensions, has_storage, data: expression(gimli::DW_AT_data_location)? })
    }

    /// Number of dimensions.
    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions.len()
    }

    /// Extends steps to the array by those to an element.
    pub(crate) fn add_element(&self, steps: &mut Vec<AddressStep>, indices: &[i64]) -> Result<(), String> {
        let is_described = self.data.is_some() || self.dimensions.iter().any(|dimension| dimension.count().is_none());
        if is_described {
            steps.push(AddressStep::SetObject);
            if let Some(has_storage) = &self.has_storage {
                steps.extend(has_storage);
                steps.push(AddressStep::RequireStorage);
            }
            match &self.data {
                Some(data) => steps.extend(data),
                None => steps.push(AddressStep::Object),
            }
        }
        for (dimension, index) in self.dimensions.iter().zip(indices) {
            dimension.add_index(steps, *index)?;
        }
        Ok(())
    }
}

impl ArrayDimension {
    fn add_index(&self, steps: &mut Vec<AddressStep>, index: i64) -> Result<(), String> {
        match (&self.first, &self.last, &self.stride) {
            (_, _, DimensionBound::Unknown) => return Err("the distance of its elements is unknown".into()),
            (DimensionBound::Constant(first), DimensionBound::Constant(last), DimensionBound::Constant(stride)) => {
                if !(*first..=*last).contains(&index) {
                    return Err(format!("the array has only the elements {first} to {last}"));
                }
                location::add_offset(steps, (index.wrapping_sub(*first) as u64).wrapping_mul(*stride as u64));
            }
            // The last member of a struct, or an array that is declared without its size: as with a pointer, nothing tells where it ends.
            (DimensionBound::Constant(first), DimensionBound::Unknown, DimensionBound::Constant(stride)) => {
                if index < *first {
                    return Err(format!("the elements of the array begin at {first}"));
                }
                location::add_offset(steps, (index.wrapping_sub(*first) as u64).wrapping_mul(*stride as u64));
            }
            (DimensionBound::Unknown, ..) | (_, DimensionBound::Unknown, _) => return Err("the bounds of the array are unknown".into()),
            (first, last, stride) => {
                for extent in [first, last, stride] {
                    match extent {
                        DimensionBound::Constant(number) => steps.push(AddressStep::Constant(*number as u64)),
                        DimensionBound::Computed(computed) => steps.extend(computed),
                        DimensionBound::Unknown => return Err("the bounds of the array are unknown".into()),
                    }
                }
                steps.push(AddressStep::Element(index));
            }
        }
        Ok(())
    }
}

fn has(entry: &Entry<'_>, attribute: gimli::DwAt) -> bool {
    entry.attr_value(attribute).is_ok_and(|value| value.is_some())
}

fn dimension(context: &ExpressionContext<'_>, unit: usize, range: &Entry<'_>) -> Result<ArrayDimension, String> {
    if has(range, gimli::DW_AT_bit_stride) {
        return Err("arrays of this kind cannot be indexed".into());
    }
    let first = match extent(context, unit, range, gimli::DW_AT_lower_bound)? {
        DimensionBound::Unknown => DimensionBound::Constant(i64::from(context.debug.is_fortran(unit))),
        first => first,
    };
    let last = match (extent(context, unit, range, gimli::DW_AT_upper_bound)?, extent(context, unit, range, gimli::DW_AT_count)?, &first) {
        (DimensionBound::Unknown, DimensionBound::Constant(count), DimensionBound::Constant(first)) => {
            DimensionBound::Constant(first.saturating_add(count).saturating_sub(1))
        }
        (last, ..) => last,
    };
    Ok(ArrayDimension { first, last, stride: extent(context, unit, range, gimli::DW_AT_byte_stride)? })
}

/// Sets the strides that the debug information leaves out: those of contiguous elements.
fn set_strides(dimensions: &mut [ArrayDimension], element_bytes: i64, is_column_major: bool) {
    let mut bytes = (element_bytes > 0).then_some(element_bytes);
    let mut set = |dimension: &mut ArrayDimension| {
        if dimension.stride == DimensionBound::Unknown {
            dimension.stride = bytes.map_or(DimensionBound::Unknown, DimensionBound::Constant);
        }
        bytes = bytes.zip(dimension.count()).and_then(|(bytes, count)| bytes.checked_mul(i64::try_from(count).ok()?));
    };
    if is_column_major { dimensions.iter_mut().for_each(&mut set) } else { dimensions.iter_mut().rev().for_each(&mut set) }
}

/// A bound, a stride or another number that may be computed.
fn extent(context: &ExpressionContext<'_>, unit: usize, entry: &Entry<'_>, attribute: gimli::DwAt) -> Result<DimensionBound, String> {
    let Ok(Some(value)) = entry.attr_value(attribute) else { return Ok(DimensionBound::Unknown) };
    match value {
        AttributeValue::Exprloc(expression) => {
            let steps = context.steps(unit, expression).map_err(|_| "the compiler describes it in a way that is not supported")?;
            Ok(DimensionBound::Computed(steps))
        }
        AttributeValue::Sdata(number) => Ok(DimensionBound::Constant(number)),
        value => match value.udata_value() {
            Some(number) => Ok(DimensionBound::Constant(number as i64)),
            None => Err("its bounds are known only inside a function".into()),
        },
    }
}
