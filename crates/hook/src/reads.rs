//! What a hook reads besides the arguments in registers: globals, fields behind pointers, arguments passed by reference.
//!
//! A list of reads is walked by the stub itself, in assembly; so its form is fixed, and lists are never freed: a thread may be walking one.

use sintonia_link::order::{Read, Source};
use sintonia_link::ring::READS;

/// As the assembly in `stub.s` knows it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    kind: u32,
    width: u32,
    base: u64,
    offset: i64,
}

/// Where the six arguments begin in a record, in bytes.
const WORDS_AT: u64 = 24;

impl Step {
    const END: Step = Step { kind: 0, width: 0, base: 0, offset: 0 };

    fn of(read: &Read) -> Step {
        let (kind, base, offset) = match read.source {
            Source::At(address) => (1, address, 0),
            Source::Behind { pointer, offset } => (2, pointer, offset),
            Source::BehindArgument { argument, offset } => (3, WORDS_AT + 8 * u64::from(argument.min(5)), offset),
            Source::FloatArgument(argument) => (4, u64::from(argument.min(7)), 0),
            Source::StackArgument(argument) => (5, 8 + 8 * u64::from(argument), 0),
        };
        Step { kind, width: read.width as u32, base, offset }
    }
}

/// The list as the stub walks it, for ever; 0 where there is nothing to read.
pub(crate) fn list(reads: &[Read]) -> u64 {
    if reads.is_empty() {
        return 0;
    }
    let steps: Vec<Step> = reads.iter().take(READS).map(Step::of).chain([Step::END]).collect();
    Box::leak(steps.into_boxed_slice()).as_ptr() as u64
}
