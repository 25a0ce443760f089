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
    /// Another function, with this address, is called in its place. What is noted of calls is noted as before.
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
    /// A library is loaded; gives 1.
    Load {
        /// Its file.
        path: String,
    },
    /// A variable of the environment is set; gives 0.
    Environment {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A control variable of the MPI library is set; gives the number it held before, as the bits of a floating number.
    Control {
        /// Its name in MPI_T.
        name: String,
        /// The number it is to hold.
        bits: f64,
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
        /// Whether the hook may take itself out when the function is called very often and takes very little time.
        may_throttle: bool,
    },
    /// Takes a hook out: the function is neither watched nor replaced any more.
    Unhook(u32),
    /// Lets a function that was replaced be called again; what is noted of it is noted as before.
    Restore(u32),
    /// Notes calls of a function of MPI, by the number of its operation, without a hook.
    Watch(u16),
    /// Notes them no more.
    Unwatch(u16),
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
    /// Before `MPI_Init`: before every so many collective calls of all processes, these are to agree on changes.
    Agree(u32),
    /// Does something when all processes were asked for it, before the same call in each.
    Together {
        /// The number of the change, the same in all processes.
        change: u64,
        /// What.
        act: Act,
    },
    /// Takes back what the order with this number arranged.
    Cancel(u64),
    /// Says what its clock shows.
    Clock,
    /// Lets the program start MPI: all that is to be in place before is.
    Begin,
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
    /// What was arranged has been done, the first time if it is done always.
    Performed {
        /// What each act gave, or why it could not be done.
        given: Vec<Result<u64, String>>,
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
        /// Its rank and how many there are, as the launcher's environment says, if it does.
        place: Option<(u32, u32)>,
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
    /// A hook took itself out: the function is called very often, and takes very little time.
    Throttled {
        /// Which hook.
        hook: u32,
        /// How often the function was called since the hook was put in.
        calls: u64,
        /// How long a call took on the average.
        seconds_per_call: f64,
    },
    /// What its clock shows, as it was asked.
    Clock {
        /// Now in ticks, and in nanoseconds of the monotonic clock.
        clock: (u64, u64),
    },
    /// MPI ends.
    Leaving,
}
