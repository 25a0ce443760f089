//! What the analyzer asks of a process of the program, and what the process answers.

use serde::{Deserialize, Serialize};

/// A function of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Where it begins.
    pub address: u64,
    /// How many bytes it has.
    pub size: usize,
    /// How many bytes behind it belong to nobody.
    pub padding: usize,
}

/// What happens at a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shape {
    /// Entry and exit are noted; arguments may be on the stack, if so it says.
    Wrap {
        /// Whether arguments may be on the stack.
        stack: bool,
    },
    /// Only the entry is noted.
    Pass,
    /// Another function, with this address, is called in its place.
    Replace(u64),
}

/// How many bytes a value has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Width {
    /// One byte.
    One = 1,
    /// Two bytes.
    Two = 2,
    /// Four bytes.
    Four = 4,
    /// Eight bytes.
    Eight = 8,
}

impl Width {
    /// The width of so many bytes, if there is one.
    pub fn of(bytes: u64) -> Option<Width> {
        [Width::One, Width::Two, Width::Four, Width::Eight].into_iter().find(|width| *width as u64 == bytes)
    }
}

/// Where something is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// At an address.
    At(u64),
    /// At a distance from where a pointer points that stands at an address. Nothing is read behind a null pointer.
    Behind {
        /// The address of the pointer.
        pointer: u64,
        /// The distance.
        offset: i64,
    },
    /// At a distance from where an argument points, counted from 0 among the whole numbers and pointers; only at entry.
    BehindArgument {
        /// Which argument, below 6.
        argument: u8,
        /// The distance.
        offset: i64,
    },
    /// A floating argument, counted from 0, below 8; only at entry.
    FloatArgument(u8),
    /// A word that the caller put on the stack, counted from 0; only at entry.
    StackArgument(u8),
}

/// One thing to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// Where.
    pub source: Source,
    /// How much.
    pub width: Width,
}

/// Something to be done in the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Act {
    /// A value is written.
    Set {
        /// The address of the value, or of the first pointer on the way to it.
        address: u64,
        /// What is added to each pointer on the way, in turn.
        behind: Vec<u64>,
        /// How much of it.
        width: Width,
        /// The bits.
        bits: u64,
    },
    /// A function is called.
    Call {
        /// Where it begins.
        address: u64,
        /// What it is passed, in registers.
        words: [u64; 6],
        /// What it is passed in registers for floating numbers.
        floats: [f64; 4],
    },
}

/// Which moment of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Side {
    /// Before the function.
    Entry,
    /// After it.
    Exit,
}

/// How often something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// At the next such moment, and not again.
    Once,
    /// At every one.
    Always,
}

/// What a process is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Hooks a function, or changes its hook.
    Hook {
        /// Which.
        function: Function,
        /// What happens there.
        shape: Shape,
        /// What is read besides the arguments.
        at_entry: Vec<Read>,
        /// What is read besides the result.
        at_exit: Vec<Read>,
    },
    /// Takes a hook out.
    Unhook(u32),
    /// Does something at once.
    Do(Act),
    /// Does something at a hook.
    Arrange {
        /// Which hook.
        hook: u32,
        /// At its entry or exit.
        side: Side,
        /// What.
        acts: Vec<Act>,
        /// How often.
        when: When,
    },
    /// Loads a library.
    Load(String),
    /// Lets the program go on that waits for what is to be in place at its beginning.
    GoOn,
}

/// What came of an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The function has this hook.
    Hooked(u32),
    /// It is done; what was there before, or what the function gave.
    Done(u64),
    /// It will be done at its moment.
    Arranged,
    /// What was arranged has been done; what each act gave.
    Performed {
        /// What each act gave.
        given: Vec<u64>,
    },
    /// It cannot be done, for this reason.
    Refused(String),
}

/// What the collector says to a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// The number by which the answer is known.
    pub number: u64,
    /// What is to be done.
    pub order: Order,
}

/// What a process says to the collector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Word {
    /// The first: who it is. The memory with its rings comes with it.
    Here {
        /// Its number in the system.
        process: u32,
        /// Bytes of each ring.
        ring_bytes: u64,
        /// Chunks of each ring.
        ring_chunks: u64,
        /// Now in ticks, and in nanoseconds of the monotonic clock.
        clock: (u64, u64),
    },
    /// MPI has begun.
    Rank {
        /// Its rank.
        rank: u32,
        /// How many there are.
        size: u32,
        /// Now again, for the rate of the ticks.
        clock: (u64, u64),
    },
    /// What came of a command.
    Answer {
        /// The command's number.
        number: u64,
        /// What came of it.
        outcome: Outcome,
    },
    /// MPI ends.
    Leaving,
}
