//! Field numbers of Perfetto's messages, from `perfetto_trace.proto`.

pub(super) const TRACE_PACKET: u32 = 1;

pub(super) const PACKET_CLOCK_SNAPSHOT: u32 = 6;
pub(super) const PACKET_TIMESTAMP: u32 = 8;
pub(super) const PACKET_SEQUENCE_ID: u32 = 10;
pub(super) const PACKET_TRACK_EVENT: u32 = 11;
pub(super) const PACKET_INTERNED_DATA: u32 = 12;
pub(super) const PACKET_SEQUENCE_FLAGS: u32 = 13;
pub(super) const PACKET_TRACE_DEFAULTS: u32 = 59;
pub(super) const PACKET_TRACK_DESCRIPTOR: u32 = 60;

/// Interned data and defaults of the sequence are reset.
pub(super) const FLAG_INCREMENTAL_STATE_CLEARED: u64 = 1;
/// The packet depends on earlier interned data and defaults.
pub(super) const FLAG_NEEDS_INCREMENTAL_STATE: u64 = 2;

pub(super) const SNAPSHOT_CLOCK: u32 = 1;
pub(super) const CLOCK_ID: u32 = 1;
pub(super) const CLOCK_TIMESTAMP: u32 = 2;
pub(super) const CLOCK_REALTIME: u64 = 1;
/// The default clock of a trace.
pub(super) const CLOCK_BOOTTIME: u64 = 6;

pub(super) const DEFAULTS_TRACK_EVENT: u32 = 11;

pub(super) const TRACK_UUID: u32 = 1;
pub(super) const TRACK_PROCESS: u32 = 3;
pub(super) const TRACK_THREAD: u32 = 4;
pub(super) const TRACK_PARENT_UUID: u32 = 5;
pub(super) const PROCESS_PID: u32 = 1;
pub(super) const PROCESS_NAME: u32 = 6;
pub(super) const PROCESS_LABELS: u32 = 8;
pub(super) const THREAD_PID: u32 = 1;
pub(super) const THREAD_TID: u32 = 2;
pub(super) const THREAD_NAME: u32 = 5;

pub(super) const INTERNED_CATEGORIES: u32 = 1;
pub(super) const INTERNED_EVENT_NAMES: u32 = 2;
pub(super) const INTERNED_ANNOTATION_NAMES: u32 = 3;
pub(super) const INTERNED_SOURCE_LOCATIONS: u32 = 4;
pub(super) const INTERNED_IID: u32 = 1;
pub(super) const INTERNED_NAME: u32 = 2;
pub(super) const SOURCE_LOCATION_IID: u32 = 1;
pub(super) const SOURCE_LOCATION_FILE: u32 = 2;
pub(super) const SOURCE_LOCATION_FUNCTION: u32 = 3;
pub(super) const SOURCE_LOCATION_LINE: u32 = 4;

pub(super) const EVENT_CATEGORY_IID: u32 = 3;
pub(super) const EVENT_DEBUG_ANNOTATIONS: u32 = 4;
pub(super) const EVENT_TYPE: u32 = 9;
pub(super) const EVENT_NAME_IID: u32 = 10;
pub(super) const EVENT_TRACK_UUID: u32 = 11;
pub(super) const EVENT_SOURCE_LOCATION_IID: u32 = 34;
pub(super) const EVENT_FLOW_IDS: u32 = 47;
pub(super) const EVENT_TERMINATING_FLOW_IDS: u32 = 48;
pub(super) const TYPE_SLICE_BEGIN: u64 = 1;
pub(super) const TYPE_SLICE_END: u64 = 2;
pub(super) const TYPE_INSTANT: u64 = 3;

pub(super) const ANNOTATION_NAME_IID: u32 = 1;
pub(super) const ANNOTATION_BOOL: u32 = 2;
pub(super) const ANNOTATION_INT: u32 = 4;
pub(super) const ANNOTATION_STRING: u32 = 6;
