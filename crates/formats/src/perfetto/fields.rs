//! The numbers of the fields of Perfetto's messages, from `perfetto_trace.proto`.

pub const TRACE_PACKET: u32 = 1;

pub const PACKET_CLOCKS: u32 = 6;
pub const PACKET_TIME: u32 = 8;
pub const PACKET_SEQUENCE: u32 = 10;
pub const PACKET_EVENT: u32 = 11;
pub const PACKET_NAMES: u32 = 12;
pub const PACKET_FLAGS: u32 = 13;
pub const PACKET_DEFAULTS: u32 = 59;
pub const PACKET_TRACK: u32 = 60;

/// Forget all names and defaults of the sequence.
pub const FLAGS_ALL_NEW: u64 = 1;
/// The packet makes no sense without the names and defaults before it.
pub const FLAGS_NEEDS_NAMES: u64 = 2;

pub const CLOCKS_CLOCK: u32 = 1;
pub const CLOCK_ID: u32 = 1;
pub const CLOCK_NOW: u32 = 2;
pub const CLOCK_REAL: u64 = 1;
/// The clock of all times in a trace that does not say otherwise.
pub const CLOCK_BOOT: u64 = 6;

pub const DEFAULTS_EVENT: u32 = 11;

pub const TRACK_ID: u32 = 1;
pub const TRACK_PROCESS: u32 = 3;
pub const TRACK_THREAD: u32 = 4;
pub const TRACK_PARENT: u32 = 5;
pub const PROCESS_ID: u32 = 1;
pub const PROCESS_NAME: u32 = 6;
pub const THREAD_PROCESS: u32 = 1;
pub const THREAD_ID: u32 = 2;
pub const THREAD_NAME: u32 = 5;

pub const NAMES_CATEGORY: u32 = 1;
pub const NAMES_EVENT: u32 = 2;
pub const NAMES_DETAIL: u32 = 3;
pub const NAMES_PLACE: u32 = 4;
pub const NAME_NUMBER: u32 = 1;
pub const NAME_TEXT: u32 = 2;
pub const PLACE_NUMBER: u32 = 1;
pub const PLACE_FILE: u32 = 2;
pub const PLACE_FUNCTION: u32 = 3;
pub const PLACE_LINE: u32 = 4;

pub const EVENT_CATEGORY: u32 = 3;
pub const EVENT_DETAIL: u32 = 4;
pub const EVENT_TYPE: u32 = 9;
pub const EVENT_NAME: u32 = 10;
pub const EVENT_TRACK: u32 = 11;
pub const EVENT_PLACE: u32 = 34;
pub const EVENT_ARROW: u32 = 47;
pub const EVENT_ARROW_END: u32 = 48;
pub const TYPE_BEGIN: u64 = 1;
pub const TYPE_END: u64 = 2;
pub const TYPE_INSTANT: u64 = 3;

pub const DETAIL_NAME: u32 = 1;
pub const DETAIL_MARK: u32 = 2;
pub const DETAIL_NUMBER: u32 = 4;
pub const DETAIL_TEXT: u32 = 6;
