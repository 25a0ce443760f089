//! Argument passing: which arguments are in registers at function entry, and which on the stack.

use gimli::{AttributeValue, Operation};

use crate::debug::{Bytes, DebugInfo, DieRef};
use crate::types::{self, ValueType};

/// Location of a parameter at function entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentLocation {
    /// Integer register, by argument index.
    IntRegister(u8),
    /// Floating-point register, by argument index.
    FloatRegister(u8),
    /// On the stack, word index.
    Stack(u8),
    /// Not available: removed by the compiler, or passed in several registers.
    Unavailable,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionParameter {
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub value_type: ValueType,
    /// The type it points to, if it is a pointer.
    pub target: Option<ValueType>,
    /// Whether it is passed by reference, as always in Fortran.
    pub by_reference: bool,
    /// Its location.
    pub location: ArgumentLocation,
}

/// DWARF numbers of the integer registers, in argument order.
const WORDS: [u16; 6] = [5, 4, 1, 2, 8, 9];
/// DWARF number of the first floating-point register.
const FIRST_FLOAT: u16 = 17;
const FLOATS: u8 = 8;

/// The parameters of a function with entry address `entry`. The compiler may have moved or removed parameters of a clone: then only the
/// debug information for the entry counts, otherwise the calling convention.
pub(crate) fn parameters(debug: &DebugInfo, function: DieRef, entry: u64, is_clone: bool) -> Vec<FunctionParameter> {
    let mut convention = CallingConvention::default();
    let result = types::type_of(debug, function).map(|kind| types::describe(debug, kind));
    if result.is_some_and(|result| matches!(result, ValueType::Struct { bytes, .. } if bytes > 16)) {
        // The caller passes the address of the result.
        convention.next_location(&ValueType::Pointer);
    }
    let children = debug.children(function).into_iter();
    let parameters = children.filter(|child| debug.entry(*child).is_some_and(|entry| entry.tag() == gimli::DW_TAG_formal_parameter));
    parameters
        .map(|child| {
            let reference = types::type_of(debug, child);
            let kind = reference.map_or(ValueType::Other, |reference| types::describe(debug, reference));
            let passing = passed_as(debug, child, entry);
            let by_reference = matches!(passing, PassedAs::Reference(_));
            let by_rules = convention.next_location(if by_reference { &ValueType::Pointer } else { &kind });
            let register = match passing {
                PassedAs::Value(register) | PassedAs::Reference(register) => register,
                PassedAs::Unknown => None,
            };
            let location = register.unwrap_or(if is_clone { ArgumentLocation::Unavailable } else { by_rules });
            let name = debug.entry(child).and_then(|entry| debug.name(child.unit, &entry)).unwrap_or_default();
            let target = reference.and_then(|reference| target(debug, reference));
            FunctionParameter { name, target, value_type: kind, by_reference, location }
        })
        .collect()
}

/// Whether all arguments of a function are in registers, whatever the calling convention makes of what is uncertain: the address of a result
/// that is no scalar takes a register, and arguments that are no scalars may be anywhere.
pub(crate) fn fit_registers(parameters: &[FunctionParameter], result: Option<&ValueType>) -> bool {
    let mut words = usize::from(result.is_some_and(|result| !result.is_scalar()));
    let mut floats = 0;
    for parameter in parameters {
        match parameter.value_type {
            _ if parameter.by_reference => words += 1,
            ValueType::Integer { bytes: 1..=8, .. } | ValueType::Boolean { .. } | ValueType::Pointer => words += 1,
            ValueType::Float { bytes: 4 | 8 } => floats += 1,
            _ => return false,
        }
    }
    words <= WORDS.len() && floats <= usize::from(FLOATS)
}

fn target(debug: &DebugInfo, reference: DieRef) -> Option<ValueType> {
    let pointer = types::strip_qualifiers(debug, reference)?;
    let entry = debug.entry(pointer)?;
    let is_pointer = types::describe(debug, pointer) == ValueType::Pointer;
    debug.referenced_die(pointer.unit, &entry, gimli::DW_AT_type).filter(|_| is_pointer).map(|target| types::describe(debug, target))
}

/// How a parameter is passed at entry, according to the debug information.
enum PassedAs {
    /// By value, possibly in this register.
    Value(Option<ArgumentLocation>),
    /// By reference, possibly in this register, as in Fortran.
    Reference(Option<ArgumentLocation>),
    /// Not described.
    Unknown,
}

fn passed_as(debug: &DebugInfo, parameter: DieRef, address: u64) -> PassedAs {
    let Some(operations) = operations_at(debug, parameter, address) else { return PassedAs::Unknown };
    match operations[..] {
        [Operation::Register { register }] => PassedAs::Value(register_location(register.0)),
        // Through another register, it may be on the stack.
        [Operation::RegisterOffset { register, offset: 0, .. }] => match register_location(register.0) {
            Some(ArgumentLocation::IntRegister(word)) => PassedAs::Reference(Some(ArgumentLocation::IntRegister(word))),
            _ => PassedAs::Value(None),
        },
        [Operation::FrameOffset { .. }, Operation::Deref { .. }] => PassedAs::Reference(None),
        _ => PassedAs::Value(None),
    }
}

/// Location expression of a parameter at an address.
fn operations_at(debug: &DebugInfo, parameter: DieRef, address: u64) -> Option<Vec<Operation<Bytes>>> {
    let entry = debug.entry(parameter)?;
    let unit = &debug.units[parameter.unit];
    let expression = match entry.attr_value(gimli::DW_AT_location).ok()?? {
        AttributeValue::Exprloc(expression) => expression,
        value => {
            let mut list = debug.dwarf.attr_locations(unit, value).ok()??;
            loop {
                let part = list.next().ok()??;
                if (part.range.begin..part.range.end).contains(&address) {
                    break part.data;
                }
            }
        }
    };
    let mut operations = expression.operations(unit.encoding());
    let mut all = Vec::new();
    while let Some(operation) = operations.next().ok()? {
        all.push(operation);
    }
    Some(all)
}

fn register_location(register: u16) -> Option<ArgumentLocation> {
    if let Some(word) = WORDS.iter().position(|known| *known == register) {
        return Some(ArgumentLocation::IntRegister(word as u8));
    }
    register.checked_sub(FIRST_FLOAT).filter(|float| *float < u16::from(FLOATS)).map(|float| ArgumentLocation::FloatRegister(float as u8))
}

/// System V AMD64 calling convention: registers first, then the stack.
#[derive(Default)]
struct CallingConvention {
    words: u8,
    floats: u8,
    stack: u8,
}

impl CallingConvention {
    fn next_location(&mut self, kind: &ValueType) -> ArgumentLocation {
        match kind {
            ValueType::Float { bytes: 4 | 8 } if self.floats < FLOATS => {
                self.floats += 1;
                ArgumentLocation::FloatRegister(self.floats - 1)
            }
            ValueType::Integer { bytes: 1..=8, .. } | ValueType::Boolean { .. } | ValueType::Pointer
                if usize::from(self.words) < WORDS.len() =>
            {
                self.words += 1;
                ArgumentLocation::IntRegister(self.words - 1)
            }
            ValueType::Float { bytes: 4 | 8 }
            | ValueType::Integer { bytes: 1..=8, .. }
            | ValueType::Boolean { .. }
            | ValueType::Pointer => self.next_stack_slot(1),
            // Passed in several registers; after it, the rules no longer give the location of later parameters.
            ValueType::Struct { bytes, .. } if *bytes > 16 => {
                self.next_stack_slot(bytes.div_ceil(8) as u8);
                ArgumentLocation::Unavailable
            }
            _ => {
                *self = CallingConvention { words: WORDS.len() as u8, floats: FLOATS, stack: u8::MAX };
                ArgumentLocation::Unavailable
            }
        }
    }

    fn next_stack_slot(&mut self, words: u8) -> ArgumentLocation {
        let location = self.stack;
        self.stack = location.saturating_add(words);
        if location == u8::MAX { ArgumentLocation::Unavailable } else { ArgumentLocation::Stack(location) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_taken_in_turn_and_then_the_stack() {
        let whole = ValueType::Integer { signed: true, bytes: 4 };
        let float = ValueType::Float { bytes: 8 };
        let mut convention = CallingConvention::default();
        let places: Vec<ArgumentLocation> =
            [&whole, &float, &ValueType::Pointer, &float].map(|kind| convention.next_location(kind)).to_vec();
        assert_eq!(
            places,
            [
                ArgumentLocation::IntRegister(0),
                ArgumentLocation::FloatRegister(0),
                ArgumentLocation::IntRegister(1),
                ArgumentLocation::FloatRegister(1)
            ]
        );
        for _ in 0..4 {
            convention.next_location(&whole);
        }
        assert_eq!(
            [convention.next_location(&whole), convention.next_location(&float), convention.next_location(&whole)],
            [ArgumentLocation::Stack(0), ArgumentLocation::FloatRegister(2), ArgumentLocation::Stack(1)]
        );
    }

    #[test]
    fn behind_what_is_passed_in_pieces_nothing_is_sure() {
        let mut convention = CallingConvention::default();
        convention.next_location(&ValueType::Struct { name: "pair".into(), bytes: 16 });
        assert_eq!(convention.next_location(&ValueType::Pointer), ArgumentLocation::Unavailable);
    }
}
