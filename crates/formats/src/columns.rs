//! The columns of tables with one row per call, the same in every format that is a table; formats for people show them as details.

use sintonia_mpi::Role;
use sintonia_recording::raw::{self, part};
use sintonia_recording::table::{ListedRequest, RequestId};

use crate::rows::Row;

/// What is in one column of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    /// Nothing.
    Absent,
    /// A number.
    Number(i64),
    /// What MPI allows in place of a rank or tag: a number below zero for tables, and a word for people.
    Special(i64, &'static str),
    /// A text.
    Text(&'a str),
    /// Yes or no.
    Mark(bool),
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Numbers of 32 bits.
    Number,
    /// Numbers of 64 bits.
    Long,
    /// Numbers of 64 bits that mostly grow from row to row.
    Growing,
    /// One of few texts.
    Text,
    /// Yes or no.
    Mark,
}

/// A column, and how its cell is found.
pub(crate) struct Column<Find> {
    pub name: &'static str,
    pub kind: Kind,
    pub cell: Find,
}

/// Finds the cell of a call.
pub(crate) type OfRow = for<'r, 'a> fn(&'r Row<'a>) -> Cell<'r>;

/// Finds the cell of a request that a call lists.
pub(crate) type OfRequest = for<'r> fn(&'r (RequestId, ListedRequest)) -> Cell<'r>;

/// All columns of a call but the list of requests.
pub(crate) fn columns() -> impl Iterator<Item = &'static Column<OfRow>> {
    [IDENTITY, DETAILS, PLACE].into_iter().flatten()
}

/// Who called what, and when.
const IDENTITY: &[Column<OfRow>] = &[
    column("rank", Kind::Number, |row| Cell::Number(row.rank.into())),
    column("thread", Kind::Number, |row| Cell::Number(row.thread.into())),
    column("enter_ns", Kind::Growing, |row| Cell::Number(row.enter)),
    column("leave_ns", Kind::Growing, |row| Cell::Number(row.leave)),
    column("operation", Kind::Text, |row| Cell::Text(row.operation.name())),
];

/// What the call was about.
pub(crate) const DETAILS: &[Column<OfRow>] = &[
    column("communicator", Kind::Number, |row| unsigned(row.communicator)),
    column("window", Kind::Number, |row| unsigned(row.window)),
    column("file_handle", Kind::Number, |row| unsigned(row.file_handle)),
    column("made", Kind::Number, |row| unsigned(row.made)),
    column("peer", Kind::Number, |row| rank_or_tag(row.peer)),
    column("root", Kind::Number, |row| rank_or_tag(row.root)),
    column("tag", Kind::Number, |row| rank_or_tag(row.tag)),
    column("source", Kind::Number, |row| rank_or_tag(row.source)),
    column("recv_tag", Kind::Number, |row| rank_or_tag(row.recv_tag)),
    column("bytes_sent", Kind::Long, |row| long(row.bytes_sent)),
    column("bytes_received", Kind::Long, |row| long(row.bytes_received)),
    column("request", Kind::Growing, |row| long(row.request)),
    column("started", Kind::Mark, |row| Cell::Mark(row.has(part::STARTED))),
    column("level", Kind::Number, |row| number(row.level)),
    column("error", Kind::Number, |row| number(row.error)),
    column("found_nothing", Kind::Mark, |row| Cell::Mark(row.has(part::FOUND_NOTHING))),
    column("unfinished", Kind::Mark, |row| Cell::Mark(row.has(part::UNFINISHED))),
];

/// Where in the program the call is.
const PLACE: &[Column<OfRow>] = &[
    column("file", Kind::Text, |row| text(row.frame().and_then(|frame| frame.file.as_deref()))),
    column("line", Kind::Number, |row| unsigned(row.frame().and_then(|frame| frame.line))),
    column("function", Kind::Text, |row| text(row.frame().and_then(|frame| frame.function.as_deref()))),
    column("module", Kind::Text, |row| text(Some(row.site.module.as_str()).filter(|module| !module.is_empty()))),
    column("offset", Kind::Long, |row| long(Some(row.site.offset))),
    column("fortran", Kind::Mark, |row| Cell::Mark(row.has(part::FORTRAN | part::F08))),
];

/// The name of the column with the requests that a call completed or, where `started` is true, started.
pub(crate) const REQUESTS: &str = "requests";

/// What is said of each request.
pub(crate) const OF_REQUESTS: &[Column<OfRequest>] = &[
    Column { name: "thread", kind: Kind::Number, cell: |(id, _)| Cell::Number(id.thread.into()) },
    Column { name: "request", kind: Kind::Growing, cell: |(id, _)| long(Some(id.number)) },
    Column { name: "peer", kind: Kind::Number, cell: |(_, listed)| rank_or_tag(if_received(listed, listed.peer)) },
    Column { name: "tag", kind: Kind::Number, cell: |(_, listed)| rank_or_tag(if_received(listed, listed.tag)) },
    Column { name: "bytes", kind: Kind::Long, cell: |(_, listed)| long(if_received(listed, listed.received)) },
];

/// The category of a function: few, for people to filter by.
pub(crate) const CATEGORIES: [&str; 6] = ["point to point", "completion", "collective", "one-sided", "file", "other"];

/// The place of a function's category in [`CATEGORIES`].
pub(crate) fn category(role: Role) -> usize {
    match role {
        Role::Send | Role::Receive | Role::SendReceive | Role::Probe | Role::MatchedProbe | Role::MatchedReceive => 0,
        Role::Start | Role::StartAll | Role::PartitionReady | Role::PartitionArrived => 0,
        Role::CompleteOne | Role::CompleteAll | Role::CompleteAny | Role::CompleteSome => 1,
        Role::Collective(_) => 2,
        role if role.is_one_sided() => 3,
        role if role.is_file() => 4,
        _ => 5,
    }
}

const fn column(name: &'static str, kind: Kind, cell: OfRow) -> Column<OfRow> {
    Column { name, kind, cell }
}

fn if_received<T>(listed: &ListedRequest, value: T) -> Option<T> {
    listed.receive.then_some(value)
}

/// A rank or tag, or what MPI allows in its place.
pub(crate) fn rank_or_tag(number: Option<i32>) -> Cell<'static> {
    match number {
        None | Some(raw::NONE) => Cell::Absent,
        Some(raw::ANY) => Cell::Special(-1, "any"),
        Some(raw::PROC_NULL) => Cell::Special(-2, "null"),
        Some(raw::ROOT_HERE) => Cell::Special(-3, "here"),
        Some(raw::OUTSIDE) => Cell::Special(-4, "outside"),
        Some(number) => Cell::Number(number.into()),
    }
}

fn number(number: Option<i32>) -> Cell<'static> {
    number.map_or(Cell::Absent, |number| Cell::Number(number.into()))
}

fn unsigned(number: Option<u32>) -> Cell<'static> {
    number.map_or(Cell::Absent, |number| Cell::Number(number.into()))
}

/// A number that has no sign; those that no table can hold are bytes that are not known.
pub(crate) fn long(number: Option<u64>) -> Cell<'static> {
    number.and_then(|number| i64::try_from(number).ok()).map_or(Cell::Absent, Cell::Number)
}

fn text(text: Option<&str>) -> Cell<'_> {
    text.map_or(Cell::Absent, Cell::Text)
}
