//! Location expressions of DWARF as steps that the program can follow.

use gimli::{AttributeValue, Expression, Operation};
use sintonia_link::value_location::AddressStep;

use crate::debug::{Bytes, DebugInfo, DieRef};
use crate::module::LoadedModule;

/// Why a location cannot be expressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LocationError {
    /// There is none.
    None,
    /// The variable is thread-local, in a library: its place is not fixed relative to the thread.
    ThreadLocalOfLibrary,
    /// An operation that has no counterpart, or a value without a place in memory.
    Unsupported,
}

/// Where the expressions of a module apply.
#[derive(Clone, Copy)]
pub(crate) struct ExpressionContext<'debug> {
    pub debug: &'debug DebugInfo,
    /// Load bias of the module.
    pub bias: u64,
    /// Distance from the start of the module's thread-local storage to the thread pointer, if it is fixed.
    pub thread_local_size: Option<u64>,
}

impl<'debug> ExpressionContext<'debug> {
    /// The context of a module; `is_main` for the main program.
    pub(crate) fn new(module: &LoadedModule, debug: &'debug DebugInfo, is_main: bool) -> ExpressionContext<'debug> {
        ExpressionContext { debug, bias: module.bias, thread_local_size: is_main.then(|| module.thread_local_size()) }
    }

    /// The steps to a variable.
    pub(crate) fn variable(&self, reference: DieRef) -> Result<Vec<AddressStep>, LocationError> {
        let entry = self.debug.entry(reference).ok_or(LocationError::None)?;
        match entry.attr_value(gimli::DW_AT_location) {
            Ok(Some(AttributeValue::Exprloc(expression))) => self.steps(reference.unit, expression),
            Ok(Some(_)) => Err(LocationError::Unsupported),
            _ => Err(LocationError::None),
        }
    }

    /// Converts an expression.
    pub(crate) fn steps(&self, unit: usize, expression: Expression<Bytes>) -> Result<Vec<AddressStep>, LocationError> {
        let unit = &self.debug.units[unit];
        let mut steps = Vec::new();
        let mut operations = expression.operations(unit.encoding());
        while let Some(operation) = operations.next().map_err(|_| LocationError::Unsupported)? {
            match operation {
                Operation::Address { address } => steps.push(AddressStep::Constant(address.wrapping_add(self.bias))),
                Operation::AddressIndex { index } => {
                    let address = self.debug.dwarf.address(unit, index).map_err(|_| LocationError::Unsupported)?;
                    steps.push(AddressStep::Constant(address.wrapping_add(self.bias)));
                }
                Operation::UnsignedConstant { value } => steps.push(AddressStep::Constant(value)),
                // The offset of a thread-local variable, in split debug information.
                Operation::ConstantIndex { index } => {
                    steps.push(AddressStep::Constant(self.debug.dwarf.address(unit, index).map_err(|_| LocationError::Unsupported)?));
                }
                Operation::SignedConstant { value } => steps.push(AddressStep::Constant(value as u64)),
                Operation::PlusConstant { value } => steps.extend([AddressStep::Constant(value), AddressStep::Add]),
                Operation::Deref { size: 8, space: false, .. } => steps.push(AddressStep::Load),
                Operation::PushObjectAddress => steps.push(AddressStep::Object),
                Operation::Plus => steps.push(AddressStep::Add),
                Operation::Minus => steps.push(AddressStep::Subtract),
                Operation::Mul => steps.push(AddressStep::Multiply),
                Operation::Ne => steps.push(AddressStep::Differ),
                Operation::TLS => {
                    let size = self.thread_local_size.ok_or(LocationError::ThreadLocalOfLibrary)?;
                    let start = [AddressStep::ThreadPointer, AddressStep::Add, AddressStep::Constant(size), AddressStep::Subtract];
                    steps.extend(start);
                }
                _ => return Err(LocationError::Unsupported),
            }
        }
        Ok(steps)
    }
}

/// Adds an offset to the address that steps lead to.
pub(crate) fn add_offset(steps: &mut Vec<AddressStep>, offset: u64) {
    match steps[..] {
        [AddressStep::Constant(ref mut address)] => *address = address.wrapping_add(offset),
        [.., AddressStep::Constant(ref mut before), AddressStep::Add] => *before = before.wrapping_add(offset),
        _ if offset == 0 => {}
        _ => steps.extend([AddressStep::Constant(offset), AddressStep::Add]),
    }
}
