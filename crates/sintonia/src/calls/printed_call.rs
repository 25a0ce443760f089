//! One call as a line of text or JSON.

use std::fmt;

use serde::{Serialize, Serializer};
use sintonia_insight::SourceLocation;
use sintonia_recording::call_details::special_name;
use sintonia_recording::call_table::{ListedRequest, RecordedCall, RequestId};
use sintonia_recording::off_cpu::OffCpuTime;
use sintonia_recording::raw::{self, NonLocalExit, part};

use crate::text;

/// A call with the fields that apply to it.
#[derive(Serialize)]
pub(super) struct PrintedCall<'a> {
    rank: u32,
    thread: u16,
    enter_s: f64,
    leave_s: f64,
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    communicator: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u32>,
    #[serde(rename = "file_handle", skip_serializing_if = "Option::is_none")]
    handle: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    made: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<RankOrTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<RankOrTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<RankOrTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<RankOrTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recv_tag: Option<RankOrTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<RequestLabel>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    completed: Vec<CompletedRequest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    started: Vec<CompletedRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<i32>,
    #[serde(skip_serializing_if = "is_false")]
    found_nothing: bool,
    #[serde(skip_serializing_if = "is_false")]
    unfinished: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_by: Option<&'static str>,
    #[serde(skip)]
    exit: Option<NonLocalExit>,
    #[serde(skip_serializing_if = "is_zero")]
    waiting_for_core_s: f64,
    #[serde(skip_serializing_if = "is_zero")]
    blocked_s: f64,
    /// The same in the segment before the call.
    #[serde(skip_serializing_if = "is_zero")]
    segment_waiting_for_core_s: f64,
    #[serde(skip_serializing_if = "is_zero")]
    segment_blocked_s: f64,
    #[serde(skip)]
    location: Option<&'a SourceLocation>,
}

/// A request completed or started by a call.
#[derive(Serialize)]
struct CompletedRequest {
    request: RequestLabel,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<RankOrTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<RankOrTag>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u64>,
}

/// A rank or tag, or one of MPI's special values.
struct RankOrTag(i32);

/// A request, as `thread:number`, or `unknown`.
struct RequestLabel(RequestId);

fn is_zero(seconds: &f64) -> bool {
    *seconds == 0.0
}

fn is_false(mark: &bool) -> bool {
    !mark
}

impl<'a> PrintedCall<'a> {
    /// The column titles of the text format.
    pub(super) const HEADER: &'static str = "rank thread          enter       time  call";

    /// A call of a rank, and its call site.
    pub(super) fn new(rank: u32, call: &RecordedCall, location: Option<&'a SourceLocation>) -> PrintedCall<'a> {
        let shape = call.descriptor;
        let has = |wanted: u16| shape.parts & wanted != 0;
        let details = shape.details();
        let (started, completed) = (has(part::STARTED), !has(part::STARTED));
        PrintedCall {
            rank,
            thread: call.thread,
            enter_s: seconds(call.enter),
            leave_s: seconds(call.leave),
            operation: shape.function.name(),
            communicator: details.communicator,
            window: details.window,
            handle: details.file,
            made: details.created,
            peer: details.peer.map(RankOrTag),
            root: details.root.map(RankOrTag),
            tag: details.tag.map(RankOrTag),
            source: details.source.map(RankOrTag),
            recv_tag: details.recv_tag.map(RankOrTag),
            sent: details.sent,
            received: details.received,
            request: call.request.map(RequestLabel),
            completed: call.requests().filter(|_| completed).map(CompletedRequest::new).collect(),
            started: call.requests().filter(|_| started).map(CompletedRequest::new).collect(),
            file: location.and_then(|location| location.file.as_deref()),
            line: location.and_then(|location| location.line),
            function: location.and_then(|location| location.function.as_deref()),
            level: details.level,
            error: details.error,
            found_nothing: has(part::FLAG_FALSE),
            unfinished: shape.is_in_progress(),
            left_by: details.exit.map(NonLocalExit::name),
            exit: details.exit,
            waiting_for_core_s: 0.0,
            blocked_s: 0.0,
            segment_waiting_for_core_s: 0.0,
            segment_blocked_s: 0.0,
            location,
        }
    }

    /// With the time off the processor in the segment before the call, and in the call.
    pub(super) fn with_off_cpu(self, segment: OffCpuTime, call: OffCpuTime) -> PrintedCall<'a> {
        PrintedCall {
            waiting_for_core_s: seconds(call.waiting_ns as i64),
            blocked_s: seconds(call.blocked_ns as i64),
            segment_waiting_for_core_s: seconds(segment.waiting_ns as i64),
            segment_blocked_s: seconds(segment.blocked_ns as i64),
            ..self
        }
    }

    /// The arguments and results of the call, as text.
    fn details(&self) -> Vec<String> {
        let labelled = |name: &str, value: Option<String>| value.map(|value| format!("{name} {value}"));
        let object = |object: Option<u32>| object.map(|object| object.to_string());
        let bytes = |bytes: Option<u64>, what: &str| bytes.map(|bytes| format!("{} {what}", text::format_bytes(bytes)));
        let time = |name: &str, seconds: f64| (seconds > 0.0).then(|| format!("{name} {}", text::format_seconds(seconds)));
        let list = |name: &str, list: &[CompletedRequest]| {
            let list: Vec<String> = list.iter().map(CompletedRequest::to_string).collect();
            (!list.is_empty()).then(|| format!("{name} {}", list.join(", ")))
        };
        [
            labelled("peer", self.peer.as_ref().map(RankOrTag::to_string)),
            labelled("root", self.root.as_ref().map(RankOrTag::to_string)),
            labelled("tag", self.tag.as_ref().map(RankOrTag::to_string)),
            labelled("source", self.source.as_ref().map(RankOrTag::to_string)),
            labelled("receive tag", self.recv_tag.as_ref().map(RankOrTag::to_string)),
            bytes(self.sent, "sent"),
            bytes(self.received, "received"),
            labelled("communicator", object(self.communicator)),
            labelled("window", object(self.window)),
            labelled("file", object(self.handle)),
            labelled("made or freed", object(self.made)),
            labelled("request", self.request.as_ref().map(RequestLabel::to_string)),
            list("completed", &self.completed),
            list("started", &self.started),
            labelled("level", self.level.map(|level| level.to_string())),
            labelled("error", self.error.map(|error| error.to_string())),
            self.found_nothing.then(|| "found nothing".into()),
            self.unfinished.then(|| "unfinished".into()),
            self.exit.map(|exit| exit_text(exit).into()),
            time("waiting for a core", self.waiting_for_core_s),
            time("blocked", self.blocked_s),
            time("segment before waiting for a core", self.segment_waiting_for_core_s),
            time("segment before blocked", self.segment_blocked_s),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl CompletedRequest {
    fn new((request, listed): (RequestId, &ListedRequest)) -> CompletedRequest {
        let number = |number: i32| (listed.is_receive && number != raw::NONE).then_some(RankOrTag(number));
        CompletedRequest {
            request: RequestLabel(request),
            peer: number(listed.peer),
            tag: number(listed.tag),
            received: Some(listed.received).filter(|bytes| listed.is_receive && *bytes != raw::UNKNOWN_BYTES),
        }
    }
}

fn exit_text(exit: NonLocalExit) -> &'static str {
    match exit {
        NonLocalExit::Exception => "left by an exception",
        NonLocalExit::ThreadEnd => "left by the end of its thread",
        NonLocalExit::Jump => "left by a jump",
        NonLocalExit::Unobserved => "left by an exception or a jump, at the latest at this time",
    }
}

fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}

impl fmt::Display for RankOrTag {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match special_name(self.0) {
            Some(name) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

impl Serialize for RankOrTag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match special_name(self.0) {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_i32(self.0),
        }
    }
}

impl fmt::Display for RequestLabel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.0.is_known() { write!(f, "{}:{}", self.0.thread, self.0.number) } else { f.write_str("unknown") }
    }
}

impl Serialize for RequestLabel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for CompletedRequest {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.request.fmt(f)?;
        match (&self.peer, &self.tag, self.received) {
            (Some(peer), Some(tag), Some(received)) => write!(f, " (from {peer}, tag {tag}, {})", text::format_bytes(received)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for PrintedCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let time = text::format_seconds(self.leave_s - self.enter_s);
        write!(f, "{:>4} {:>6} {:>14.9} {time:>10}  {}", self.rank, self.thread, self.enter_s, self.operation)?;
        for detail in self.details() {
            write!(f, ", {detail}")?;
        }
        self.location.map_or(Ok(()), |location| write!(f, " at {location}"))
    }
}
