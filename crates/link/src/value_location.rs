//! Where a value lies: steps from a fixed address to it. They are evaluated in the program at every access, because pointers, descriptors
//! of allocatable arrays and the storage of containers change while it runs.
//!
//! The steps are a small stack machine, like the location expressions of DWARF that most of them come from.

use serde::{Deserialize, Serialize};

/// One step to the address of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AddressStep {
    /// Pushes a number.
    Constant(u64),
    /// Pushes the thread pointer of the thread that evaluates the steps.
    ThreadPointer,
    /// Replaces an address by the word stored there.
    Load,
    /// As `Load`; a null pointer is an error.
    FollowPointer,
    /// Replaces two numbers by their sum.
    Add,
    /// Replaces two numbers by their difference.
    Subtract,
    /// Replaces two numbers by their product.
    Multiply,
    /// Replaces two numbers by their signed quotient.
    Divide,
    /// Replaces two numbers by 1 if they differ, 0 otherwise.
    Differ,
    /// Removes an address: from here on it is that of the object.
    SetObject,
    /// Pushes the address of the object.
    Object,
    /// Removes a number; 0 is an error: the object has no storage now.
    RequireStorage,
    /// Replaces address, first index, last index and stride by the address of the element with this index.
    Element(i64),
}

/// Deepest stack; more than any compiler needs.
const MAX_DEPTH: usize = 16;

/// Why a value cannot be accessed at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum AccessError {
    /// A null pointer.
    #[error("a pointer on the path to it is null")]
    NullPointer = 1,
    /// Not allocated or not associated.
    #[error("it is not allocated, or not associated, at the moment")]
    NoStorage = 2,
    /// Not an element.
    #[error("the array has no such element at the moment")]
    OutOfBounds = 3,
    /// Not mapped.
    #[error("the memory it would be in is not mapped")]
    Unmapped = 4,
    /// Not writable.
    #[error("it is in read-only memory, as constants are")]
    ReadOnly = 5,
    /// Not within an aligned word.
    #[error("it crosses an 8-byte boundary, and cannot be changed without another thread seeing a part of the change")]
    Unaligned = 6,
    /// Malformed steps.
    #[error("the way to it cannot be followed")]
    Malformed = 7,
}

impl AccessError {
    const ALL: [AccessError; 7] = [
        AccessError::NullPointer,
        AccessError::NoStorage,
        AccessError::OutOfBounds,
        AccessError::Unmapped,
        AccessError::ReadOnly,
        AccessError::Unaligned,
        AccessError::Malformed,
    ];

    /// What a hook records instead of a value: no value has these bits, except one of 8 bytes in 2^56.
    pub const fn marker(self) -> u64 {
        MARKER | self as u64
    }

    /// The reason in a recorded word, if it holds one.
    pub fn from_marker(word: u64) -> Option<AccessError> {
        AccessError::ALL.into_iter().find(|reason| reason.marker() == word)
    }
}

/// The upper bits of a marker: a NaN that no arithmetic produces.
const MARKER: u64 = 0x7ff4_5ead_0bad_5e00;

/// Location and size of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueLocation {
    /// The steps to its address.
    pub steps: Vec<AddressStep>,
    /// Its first bit at that address, below 8.
    pub first_bit: u8,
    /// Its size in bits, at most 64.
    pub bits: u8,
}

impl ValueLocation {
    /// A value of whole bytes at a fixed address.
    pub fn at(address: u64, bytes: u8) -> ValueLocation {
        ValueLocation { steps: vec![AddressStep::Constant(address)], first_bit: 0, bits: 8 * bytes }
    }

    /// The address, if it does not depend on anything and the value consists of whole bytes.
    pub fn fixed_address(&self) -> Option<u64> {
        match self.steps[..] {
            [AddressStep::Constant(address)] if self.first_bit == 0 && matches!(self.bits, 8 | 16 | 32 | 64) => Some(address),
            _ => None,
        }
    }

    /// Whether every thread has a value of its own.
    pub fn is_thread_local(&self) -> bool {
        self.steps.contains(&AddressStep::ThreadPointer)
    }

    /// The mask of the value, from bit 0.
    pub fn mask(&self) -> u64 {
        u64::MAX >> (64 - u32::from(self.bits.clamp(1, 64)))
    }

    /// Follows the steps; `load` reads a word. Allocates nothing, so that a hook can use it anywhere.
    pub fn address(&self, thread_pointer: u64, mut load: impl FnMut(u64) -> Option<u64>) -> Result<u64, AccessError> {
        let mut stack = EvaluationStack::default();
        let mut object = 0;
        for step in &self.steps {
            match *step {
                AddressStep::Constant(number) => stack.push(number)?,
                AddressStep::ThreadPointer => stack.push(thread_pointer)?,
                AddressStep::Load => {
                    let address = stack.pop()?;
                    stack.push(load(address).ok_or(AccessError::Unmapped)?)?;
                }
                AddressStep::FollowPointer => {
                    let address = stack.pop()?;
                    match load(address).ok_or(AccessError::Unmapped)? {
                        0 => return Err(AccessError::NullPointer),
                        pointer => stack.push(pointer)?,
                    }
                }
                AddressStep::Add => stack.combine(|one, other| Some(one.wrapping_add(other)))?,
                AddressStep::Subtract => stack.combine(|one, other| Some(one.wrapping_sub(other)))?,
                AddressStep::Multiply => stack.combine(|one, other| Some(one.wrapping_mul(other)))?,
                AddressStep::Divide => stack.combine(|one, other| Some((one as i64).checked_div(other as i64)? as u64))?,
                AddressStep::Differ => stack.combine(|one, other| Some(u64::from(one != other)))?,
                AddressStep::SetObject => object = stack.pop()?,
                AddressStep::Object => stack.push(object)?,
                AddressStep::RequireStorage => {
                    if stack.pop()? == 0 {
                        return Err(AccessError::NoStorage);
                    }
                }
                AddressStep::Element(index) => {
                    let (stride, last, first) = (stack.pop()?, stack.pop()? as i64, stack.pop()? as i64);
                    if !(first..=last).contains(&index) {
                        return Err(AccessError::OutOfBounds);
                    }
                    let address = stack.pop()?;
                    stack.push(address.wrapping_add((index.wrapping_sub(first) as u64).wrapping_mul(stride)))?;
                }
            }
        }
        stack.pop()
    }
}

/// A stack of bounded depth.
#[derive(Default)]
struct EvaluationStack {
    words: [u64; MAX_DEPTH],
    depth: usize,
}

impl EvaluationStack {
    fn push(&mut self, word: u64) -> Result<(), AccessError> {
        *self.words.get_mut(self.depth).ok_or(AccessError::Malformed)? = word;
        self.depth += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<u64, AccessError> {
        self.depth = self.depth.checked_sub(1).ok_or(AccessError::Malformed)?;
        Ok(self.words[self.depth])
    }

    fn combine(&mut self, operation: impl FnOnce(u64, u64) -> Option<u64>) -> Result<(), AccessError> {
        let (other, one) = (self.pop()?, self.pop()?);
        self.push(operation(one, other).ok_or(AccessError::Malformed)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressStep::{Add, Constant, Element, FollowPointer, Load, Object, RequireStorage, SetObject};

    /// A descriptor at 100: data, first index, last index, stride.
    fn load(address: u64) -> Option<u64> {
        match address {
            100 => Some(5000),
            108 => Some(1),
            116 => Some(10),
            124 => Some(4),
            200 => Some(0),
            _ => None,
        }
    }

    fn element(index: i64) -> ValueLocation {
        let field = |offset| [Object, Constant(offset), Add, Load];
        let steps = [&[Constant(100), SetObject, Object, Load, RequireStorage][..], &[Object, Load]].concat();
        let steps = [&steps[..], &field(8), &field(16), &field(24), &[Element(index)]].concat();
        ValueLocation { steps, first_bit: 0, bits: 32 }
    }

    #[test]
    fn an_element_is_found_through_its_descriptor_and_within_its_bounds() {
        assert_eq!(element(3).address(0, load), Ok(5008));
        assert_eq!(element(0).address(0, load), Err(AccessError::OutOfBounds));
        assert_eq!(element(11).address(0, load), Err(AccessError::OutOfBounds));
    }

    #[test]
    fn pointers_that_lead_nowhere_are_errors() {
        let behind = |pointer| ValueLocation { steps: vec![Constant(pointer), FollowPointer], first_bit: 0, bits: 32 };
        assert_eq!(behind(100).address(0, load), Ok(5000));
        assert_eq!(behind(200).address(0, load), Err(AccessError::NullPointer));
        assert_eq!(behind(300).address(0, load), Err(AccessError::Unmapped));
        let malformed = ValueLocation { steps: vec![Add], first_bit: 0, bits: 32 };
        assert_eq!(malformed.address(0, load), Err(AccessError::Malformed));
    }

    #[test]
    fn a_marker_is_recognised_and_nothing_else_is() {
        for reason in AccessError::ALL {
            assert_eq!(AccessError::from_marker(reason.marker()), Some(reason));
        }
        assert_eq!(AccessError::from_marker(f64::NAN.to_bits()), None);
        assert_eq!(AccessError::from_marker(0), None);
    }
}
