//! One call as a line of text or of JSON.

use std::fmt;

use serde::{Serialize, Serializer};
use sintonia_insight::Place;
use sintonia_mpi::Role;
use sintonia_recording::raw::{self, part};
use sintonia_recording::table::{Call, ListedRequest, RequestId};

use crate::text;

/// A call, with the fields that it has.
#[derive(Serialize)]
pub struct Row<'a> {
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
    peer: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recv_tag: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Request>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    completed: Vec<Completed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    started: Vec<Completed>,
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
    #[serde(skip)]
    place: Option<&'a Place>,
}

/// A request that a call completed or started.
#[derive(Serialize)]
struct Completed {
    request: Request,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<u64>,
}

/// A rank or tag, or what MPI allows in its place.
struct Number(i32);

/// A request, as `thread:number`.
struct Request(RequestId);

fn is_false(mark: &bool) -> bool {
    !mark
}

impl<'a> Row<'a> {
    /// The names of the columns of text.
    pub const TITLE: &'static str = "rank thread          enter       time  call";

    /// A call of a rank, and the place it was called from.
    pub fn of(rank: u32, call: &Call, place: Option<&'a Place>) -> Row<'a> {
        let shape = call.shape;
        let has = |wanted: u16| shape.parts & wanted != 0;
        let role = shape.operation.role();
        let rooted = matches!(role, Role::Collective(_));
        let number = |part: u16, number: i32| (has(part) && number != raw::NONE).then_some(Number(number));
        let bytes = |part: u16, bytes: u64| (has(part) && bytes != raw::UNKNOWN_BYTES).then_some(bytes);
        let (started, completed) = (has(part::STARTED), !has(part::STARTED));
        Row {
            rank,
            thread: call.thread,
            enter_s: seconds(call.enter),
            leave_s: seconds(call.leave),
            operation: shape.operation.name(),
            communicator: shape.communicator(),
            window: shape.window(),
            handle: shape.file(),
            made: Some(shape.made).filter(|made| has(part::MADE) && *made != raw::NO_OBJECT),
            peer: number(part::OBJECT, shape.peer).filter(|_| !rooted),
            root: number(part::OBJECT, shape.peer).filter(|_| rooted),
            tag: number(part::TAG, shape.tag),
            source: number(part::SOURCE, shape.source),
            recv_tag: number(part::TAG, shape.recv_tag).filter(|_| has(part::SOURCE)),
            sent: bytes(part::SENT, shape.sent),
            received: bytes(part::RECEIVED, shape.received),
            request: call.request.map(Request),
            completed: call.listed().filter(|_| completed).map(Completed::of).collect(),
            started: call.listed().filter(|_| started).map(Completed::of).collect(),
            file: place.and_then(|place| place.file.as_deref()),
            line: place.and_then(|place| place.line),
            function: place.and_then(|place| place.function.as_deref()),
            level: Some(shape.value).filter(|_| role == Role::Switch && has(part::VALUE)),
            error: Some(shape.value).filter(|_| has(part::ERROR)),
            found_nothing: has(part::FOUND_NOTHING),
            unfinished: has(part::UNFINISHED),
            place,
        }
    }

    /// What the call was about, in words.
    fn details(&self) -> Vec<String> {
        let said = |name: &str, value: Option<String>| value.map(|value| format!("{name} {value}"));
        let object = |object: Option<u32>| object.map(|object| object.to_string());
        let bytes = |bytes: Option<u64>, what: &str| bytes.map(|bytes| format!("{} {what}", text::bytes(bytes)));
        let list = |name: &str, list: &[Completed]| {
            let list: Vec<String> = list.iter().map(Completed::to_string).collect();
            (!list.is_empty()).then(|| format!("{name} {}", list.join(", ")))
        };
        [
            said("peer", self.peer.as_ref().map(Number::to_string)),
            said("root", self.root.as_ref().map(Number::to_string)),
            said("tag", self.tag.as_ref().map(Number::to_string)),
            said("source", self.source.as_ref().map(Number::to_string)),
            said("receive tag", self.recv_tag.as_ref().map(Number::to_string)),
            bytes(self.sent, "sent"),
            bytes(self.received, "received"),
            said("communicator", object(self.communicator)),
            said("window", object(self.window)),
            said("file", object(self.handle)),
            said("made or freed", object(self.made)),
            said("request", self.request.as_ref().map(Request::to_string)),
            list("completed", &self.completed),
            list("started", &self.started),
            said("level", self.level.map(|level| level.to_string())),
            said("error", self.error.map(|error| error.to_string())),
            self.found_nothing.then(|| "found nothing".into()),
            self.unfinished.then(|| "unfinished".into()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

impl Completed {
    fn of((request, listed): (RequestId, &ListedRequest)) -> Completed {
        let number = |number: i32| (listed.receive && number != raw::NONE).then_some(Number(number));
        Completed {
            request: Request(request),
            peer: number(listed.peer),
            tag: number(listed.tag),
            received: Some(listed.received).filter(|bytes| listed.receive && *bytes != raw::UNKNOWN_BYTES),
        }
    }
}

fn seconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e9
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0 {
            raw::ANY => f.write_str("any"),
            raw::PROC_NULL => f.write_str("null"),
            raw::ROOT_HERE => f.write_str("here"),
            raw::OUTSIDE => f.write_str("outside"),
            number => number.fmt(f),
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            raw::ANY | raw::PROC_NULL | raw::ROOT_HERE | raw::OUTSIDE => serializer.collect_str(self),
            number => serializer.serialize_i32(number),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.0.thread, self.0.number)
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Completed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.request.fmt(f)?;
        match (&self.peer, &self.tag, self.received) {
            (Some(peer), Some(tag), Some(received)) => write!(f, " (from {peer}, tag {tag}, {})", text::bytes(received)),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let time = text::seconds(self.leave_s - self.enter_s);
        write!(f, "{:>4} {:>6} {:>14.9} {time:>10}  {}", self.rank, self.thread, self.enter_s, self.operation)?;
        for detail in self.details() {
            write!(f, ", {detail}")?;
        }
        self.place.map_or(Ok(()), |place| write!(f, " at {place}"))
    }
}
