//! How a function gets its arguments: which are in registers at its entry, which on the stack.

use gimli::{AttributeValue, Operation};

use crate::debug::{Bytes, Debug, Reference};
use crate::types::{self, Type};

/// Where a parameter is when the function is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a register for whole numbers and pointers, counted from 0.
    Word(u8),
    /// In a register for floating numbers, counted from 0.
    Float(u8),
    /// On the stack, in words from the first.
    Stack(u8),
    /// Nowhere: the compiler left it out, or it is passed in pieces.
    Nowhere,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The type of its value.
    pub kind: Type,
    /// What it points to, if it is a pointer.
    pub target: Option<Type>,
    /// Whether what is passed is where the value is: so does Fortran with everything.
    pub by_reference: bool,
    /// Where it is.
    pub place: Place,
}

/// The registers for whole numbers and pointers, by their numbers in debug information, in the order arguments take them.
const WORDS: [u16; 6] = [5, 4, 1, 2, 8, 9];
/// The first register for floating numbers.
const FIRST_FLOAT: u16 = 17;
const FLOATS: u8 = 8;

/// The parameters of a function whose code begins at `entry`. The compiler of a clone may have moved or dropped some: then only what the
/// debug information says of the entry counts, else the rules of the platform.
pub fn parameters(debug: &Debug, function: Reference, entry: u64, is_clone: bool) -> Vec<Parameter> {
    let mut rules = Rules::default();
    let children = debug.children(function).into_iter();
    let parameters = children.filter(|child| debug.entry(*child).is_some_and(|entry| entry.tag() == gimli::DW_TAG_formal_parameter));
    parameters
        .map(|child| {
            let reference = types::of_entry(debug, child);
            let kind = reference.map_or(Type::Other, |reference| types::describe(debug, reference));
            let told = told(debug, child, entry);
            let by_reference = matches!(told, Told::Reference(_));
            let by_rules = rules.place(if by_reference { &Type::Pointer } else { &kind });
            let register = match told {
                Told::Value(register) | Told::Reference(register) => register,
                Told::Nothing => None,
            };
            let place = register.unwrap_or(if is_clone { Place::Nowhere } else { by_rules });
            let name = debug.entry(child).and_then(|entry| debug.name(child.unit, &entry)).unwrap_or_default();
            let target = reference.and_then(|reference| target(debug, reference));
            Parameter { name, target, kind, by_reference, place }
        })
        .collect()
}

fn target(debug: &Debug, reference: Reference) -> Option<Type> {
    let pointer = types::bare(debug, reference)?;
    let entry = debug.entry(pointer)?;
    let is_pointer = types::describe(debug, pointer) == Type::Pointer;
    debug.reference(pointer.unit, &entry, gimli::DW_AT_type).filter(|_| is_pointer).map(|target| types::describe(debug, target))
}

/// What the debug information tells of a parameter at the entry.
enum Told {
    /// Its value is passed, perhaps in this register.
    Value(Option<Place>),
    /// Where it is is passed, perhaps in this register, as Fortran does.
    Reference(Option<Place>),
    /// Nothing.
    Nothing,
}

fn told(debug: &Debug, parameter: Reference, address: u64) -> Told {
    let Some(operations) = operations_at(debug, parameter, address) else { return Told::Nothing };
    match operations[..] {
        [Operation::Register { register }] => Told::Value(of_register(register.0)),
        [Operation::RegisterOffset { register, offset: 0, .. }] => Told::Reference(of_register(register.0)),
        [Operation::FrameOffset { .. }, Operation::Deref { .. }] => Told::Reference(None),
        _ => Told::Value(None),
    }
}

/// How a parameter is found when the program is at an address.
fn operations_at(debug: &Debug, parameter: Reference, address: u64) -> Option<Vec<Operation<Bytes>>> {
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

fn of_register(register: u16) -> Option<Place> {
    if let Some(word) = WORDS.iter().position(|known| *known == register) {
        return Some(Place::Word(word as u8));
    }
    register.checked_sub(FIRST_FLOAT).filter(|float| *float < u16::from(FLOATS)).map(|float| Place::Float(float as u8))
}

/// How the platform passes arguments: registers as long as there are any, then the stack.
#[derive(Default)]
struct Rules {
    words: u8,
    floats: u8,
    stack: u8,
}

impl Rules {
    fn place(&mut self, kind: &Type) -> Place {
        match kind {
            Type::Float { bytes: 4 | 8 } if self.floats < FLOATS => {
                self.floats += 1;
                Place::Float(self.floats - 1)
            }
            Type::Whole { bytes: 1..=8, .. } | Type::Truth { .. } | Type::Pointer if usize::from(self.words) < WORDS.len() => {
                self.words += 1;
                Place::Word(self.words - 1)
            }
            Type::Float { bytes: 4 | 8 } | Type::Whole { bytes: 1..=8, .. } | Type::Truth { .. } | Type::Pointer => self.on_stack(1),
            // What is passed in pieces cannot be named; where later ones are can no longer be told from the rules.
            Type::Structure { bytes, .. } if *bytes > 16 => {
                self.on_stack(bytes.div_ceil(8) as u8);
                Place::Nowhere
            }
            _ => {
                *self = Rules { words: WORDS.len() as u8, floats: FLOATS, stack: u8::MAX };
                Place::Nowhere
            }
        }
    }

    fn on_stack(&mut self, words: u8) -> Place {
        let place = self.stack;
        self.stack = place.saturating_add(words);
        if place == u8::MAX { Place::Nowhere } else { Place::Stack(place) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_taken_in_turn_and_then_the_stack() {
        let whole = Type::Whole { signed: true, bytes: 4 };
        let float = Type::Float { bytes: 8 };
        let mut rules = Rules::default();
        let places: Vec<Place> = [&whole, &float, &Type::Pointer, &float].map(|kind| rules.place(kind)).to_vec();
        assert_eq!(places, [Place::Word(0), Place::Float(0), Place::Word(1), Place::Float(1)]);
        for _ in 0..4 {
            rules.place(&whole);
        }
        assert_eq!([rules.place(&whole), rules.place(&float), rules.place(&whole)], [Place::Stack(0), Place::Float(2), Place::Stack(1)]);
    }

    #[test]
    fn behind_what_is_passed_in_pieces_nothing_is_sure() {
        let mut rules = Rules::default();
        rules.place(&Type::Structure { name: "pair".into(), bytes: 16 });
        assert_eq!(rules.place(&Type::Pointer), Place::Nowhere);
    }
}
