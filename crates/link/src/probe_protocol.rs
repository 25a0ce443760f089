//! Messages between the collector and a process of the program.

use serde::{Deserialize, Serialize};

use crate::pieces::{PieceParameter, PieceSettings};
use crate::value_location::ValueLocation;

/// A function in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookTarget {
    /// Its start address.
    pub address: u64,
    /// Its size in bytes.
    pub size: usize,
    /// Number of unused padding bytes after it.
    pub padding: usize,
}

/// What a hook does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookKind {
    /// Records entry and exit.
    Wrap {
        /// Whether arguments may be on the stack.
        stack: bool,
    },
    /// Records the entry only.
    Pass,
    /// Calls another function, at this address, instead. Recording is not affected.
    Replace(u64),
}

/// Size of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum ValueWidth {
    /// One byte.
    One = 1,
    /// Two bytes.
    Two = 2,
    /// Four bytes.
    Four = 4,
    /// Eight bytes.
    Eight = 8,
}

impl ValueWidth {
    /// The width of that many bytes, if there is one.
    pub fn from_bytes(bytes: u64) -> Option<ValueWidth> {
        [ValueWidth::One, ValueWidth::Two, ValueWidth::Four, ValueWidth::Eight].into_iter().find(|width| *width as u64 == bytes)
    }
}

/// Where a value is read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadSource {
    /// At an address.
    At(u64),
    /// At a location that is found again at every read, without ever faulting; the width does not apply. If there is no value, the marker
    /// of the reason is recorded ([`crate::value_location::AccessError::marker`]).
    Computed(ValueLocation),
    /// At an offset from the target of a pointer argument; index among the integer and pointer arguments; entry only.
    BehindArgument {
        /// Argument index, below 6.
        argument: u8,
        /// The offset.
        offset: i64,
    },
    /// A floating-point argument by index, below 8; entry only.
    FloatArgument(u8),
    /// A word of the caller's stack arguments, by index; entry only.
    StackArgument(u8),
}

/// A value to be read by a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRead {
    /// Its location.
    pub source: ReadSource,
    /// Its size.
    pub width: ValueWidth,
}

/// An action to be done in the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ProbeAction {
    /// Writes a value.
    Set {
        /// Its location.
        location: ValueLocation,
        /// The bits of the value.
        bits: u64,
    },
    /// Calls a function.
    Call {
        /// Its start address.
        address: u64,
        /// Arguments in integer registers.
        words: [u64; 6],
        /// Arguments in floating-point registers.
        floats: [f64; 4],
    },
    /// Loads a library; returns 1.
    Load {
        /// Its file.
        path: String,
    },
    /// Sets an environment variable; returns 0.
    Environment {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Sets a control variable of the MPI library; returns its old value as the bits of a double.
    Control {
        /// Its name in MPI_T.
        name: String,
        /// The new value.
        bits: f64,
    },
    /// Sets a parameter of how pieces of work are sized; returns its old value as the bits of a double.
    Piece {
        /// How pieces are found and sized.
        settings: PieceSettings,
        /// The parameter.
        parameter: PieceParameter,
        /// The new value.
        value: f64,
    },
}

/// Entry or exit of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookSide {
    /// Before the function.
    Entry,
    /// After the function.
    Exit,
}

/// How often an action is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActionRepeat {
    /// At the next such point only.
    Once,
    /// At every such point.
    Always,
}

/// What is recorded of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    /// Events at entry.
    pub entry: bool,
    /// Events at exit.
    pub exit: bool,
    /// All sums over its calls ([`crate::call_sums`]); otherwise only their number and their time.
    pub sums: bool,
}

impl Recorded {
    /// Everything.
    pub const ALL: Recorded = Recorded { entry: true, exit: true, sums: true };
    /// Only the number of its calls, and their time.
    pub const TOTALS: Recorded = Recorded { entry: false, exit: false, sums: false };
}

/// A command to a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ProbeCommand {
    /// Hooks a function, or changes its hook.
    Hook {
        /// The function.
        function: HookTarget,
        /// What the hook does.
        kind: HookKind,
        /// Values read at entry, besides the arguments.
        at_entry: Vec<HookRead>,
        /// Values read at exit, besides the result.
        at_exit: Vec<HookRead>,
        /// Whether the hook may be removed automatically if the function is called very often and is very short.
        may_throttle: bool,
        /// What is recorded of its calls, unless they are only replaced.
        recorded: Recorded,
    },
    /// Removes a hook: the function is neither observed nor replaced any more.
    Unhook(u32),
    /// Ends the replacement of a function; recording is not affected.
    Restore(u32),
    /// Records calls of an MPI function, given by its function index, without a hook.
    Watch(u16),
    /// Stops recording them.
    Unwatch(u16),
    /// Selects what is recorded of a hook, or of a watched MPI function, of which everything is until this is received.
    Record {
        /// The hook, or the MPI function with the flag [`crate::ring::MPI_FUNCTION`].
        hook: u32,
        /// What is recorded.
        recorded: Recorded,
    },
    /// Records the exits of all MPI functions that are watched, or no longer, while half of the ring is free: calls that were left out do not
    /// count as dropped.
    FollowCalls(bool),
    /// Runs an action at once.
    Execute(ProbeAction),
    /// Schedules actions at a hook.
    Schedule {
        /// The hook.
        hook: u32,
        /// At its entry or exit.
        side: HookSide,
        /// The actions.
        actions: Vec<ProbeAction>,
        /// How often.
        repeat: ActionRepeat,
    },
    /// Schedules an action after the next round of a master: when all its pieces are answered.
    ScheduleBetweenRounds(ProbeAction),
    /// Before `MPI_Init`: all processes agree on proposed changes before every N-th collective call.
    EnableAgreement(u32),
    /// Proposes an action: it runs before the same call in each process, once it has been proposed to all.
    Propose {
        /// The id of the change, the same in all processes.
        change: u64,
        /// The action.
        action: ProbeAction,
    },
    /// Cancels the actions scheduled by the command with this number.
    Cancel(u64),
    /// Reports how often hooked functions were called and the values of variables, at once and again before MPI is finalised.
    Survey(Vec<ValueLocation>),
    /// Lists the control variables of the MPI library; before `MPI_Init` only.
    ListControls,
    /// Queries the clock.
    Clock,
    /// Lets the program initialise MPI: everything needed before is in place.
    Begin,
    /// Resumes a program that waits for its initial hooks.
    Resume,
}

/// Result of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CommandOutcome {
    /// The function has this hook.
    Hooked(u32),
    /// Done; the old value, or the return value of the function.
    Done(u64),
    /// An action was executed at once.
    Made {
        /// The old value, or the return value of the function.
        before: u64,
        /// When it was done, in ticks of the process.
        ticks: u64,
    },
    /// Scheduled.
    Scheduled,
    /// Scheduled actions have run (for repeated ones: for the first time).
    Executed {
        /// Result of each action, or why it failed.
        results: Vec<Result<u64, String>>,
        /// When they had run, in ticks of the process.
        ticks: u64,
    },
    /// Calls and values.
    Surveyed(SurveyReport),
    /// The control variables of the MPI library.
    Controls(Vec<ControlInfo>),
    /// Failed, for this reason.
    Refused(String),
}

/// How often hooked functions were called, and values of variables.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SurveyReport {
    /// The hooked functions.
    pub hooks: Vec<HookCount>,
    /// The bits of each value, or the marker of the reason why there is none ([`crate::value_location::AccessError::marker`]).
    pub values: Vec<u64>,
}

/// Calls of a hooked function.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HookCount {
    /// The hook.
    pub hook: u32,
    /// Calls.
    pub calls: u64,
    /// Time in the function and what it calls, if exits are seen.
    pub seconds: f64,
    /// Time in which they were counted.
    pub counted_seconds: f64,
}

/// A control variable of the MPI library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlInfo {
    /// Its name in MPI_T.
    pub name: String,
    /// Its type, as C writes it.
    pub kind: String,
    /// Its value before `MPI_Init`, if it can be read.
    pub value: Option<String>,
    /// When it can be set.
    pub settable: ControlSettable,
}

/// When a control variable can be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlSettable {
    /// At any time, as far as the library says.
    AnyTime,
    /// Before `MPI_Init` only.
    BeforeInit,
    /// Never.
    Never,
}

/// A command with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandEnvelope {
    /// The number that identifies the answer.
    pub number: u64,
    /// The command.
    pub command: ProbeCommand,
}

/// A message from a process to the collector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ProbeMessage {
    /// The first message, sent together with the memory of its rings.
    Hello {
        /// Process id.
        process: u32,
        /// Bytes of each ring.
        ring_bytes: u64,
        /// Chunks of each ring.
        ring_chunks: u64,
        /// Current time in ticks, and in nanoseconds of the monotonic clock.
        clock: (u64, u64),
        /// Rank and number of processes, if the launcher's environment has them.
        rank_and_size: Option<(u32, u32)>,
    },
    /// MPI has been initialised.
    Rank {
        /// Its rank.
        rank: u32,
        /// Number of processes.
        size: u32,
        /// Current time again, to calibrate the ticks.
        clock: (u64, u64),
    },
    /// The result of a command.
    Answer {
        /// The command's number.
        number: u64,
        /// The result.
        outcome: CommandOutcome,
    },
    /// A hook was removed automatically: the function is called very often and is very short.
    Throttled {
        /// The hook.
        hook: u32,
        /// Calls of the function since the hook was installed.
        calls: u64,
        /// Mean duration of a call.
        seconds_per_call: f64,
    },
    /// Before MPI is finalised: what was asked for by [`ProbeCommand::Survey`].
    Surveyed(SurveyReport),
    /// Answer to a clock query.
    Clock {
        /// Current time in ticks, and in nanoseconds of the monotonic clock.
        clock: (u64, u64),
    },
    /// MPI is about to be finalised.
    Finalizing,
}
