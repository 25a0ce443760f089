//! Values that a hook reads besides the register arguments: globals, fields behind pointers, arguments passed by reference.
//!
//! The stub interprets the list in assembly, so its layout is fixed. Lists are never freed, because a thread may be using one.

use sintonia_link::probe_protocol::{HookRead, ReadSource};
use sintonia_link::ring::MAX_READS;

/// Layout known to the assembly in `stub.s`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadStep {
    kind: u32,
    width: u32,
    base: u64,
    offset: i64,
}

/// Byte offset of the six integer arguments in a record.
const WORDS_AT: u64 = 24;

impl ReadStep {
    const END: ReadStep = ReadStep { kind: 0, width: 0, base: 0, offset: 0 };

    fn new(read: &HookRead) -> ReadStep {
        let (kind, base, offset) = match &read.source {
            ReadSource::At(address) => (1, *address, 0),
            ReadSource::Computed(location) => (2, std::ptr::from_ref(Box::leak(Box::new(location.clone()))) as u64, 0),
            ReadSource::BehindArgument { argument, offset } => (3, WORDS_AT + 8 * u64::from(*argument.min(&5)), *offset),
            ReadSource::FloatArgument(argument) => (4, u64::from(*argument.min(&7)), 0),
            ReadSource::StackArgument(argument) => (5, 8 + 8 * u64::from(*argument), 0),
        };
        ReadStep { kind, width: read.width as u32, base, offset }
    }
}

/// Leaks a terminated list for the stub; 0 if there is nothing to read.
pub(crate) fn leak_list(reads: &[HookRead]) -> u64 {
    if reads.is_empty() {
        return 0;
    }
    let steps: Vec<ReadStep> = reads.iter().take(MAX_READS).map(ReadStep::new).chain([ReadStep::END]).collect();
    Box::leak(steps.into_boxed_slice()).as_ptr() as u64
}
