//! Columns of the tables with one row per call, shared by all tabular formats; timeline formats show them as details.

use sintonia_mpi::FunctionRole;
use sintonia_recording::call_details::special_name;
use sintonia_recording::call_table::{ListedRequest, RequestId};
use sintonia_recording::raw::{self, NonLocalExit, part};

use crate::exported_calls::ExportedCall;

/// The value of one column in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellValue<'a> {
    /// No value.
    Absent,
    Number(i64),
    /// A special value of a rank or tag: a negative number for tables, and a word for display.
    Special(i64, &'static str),
    /// A string.
    Text(&'a str),
    /// A flag.
    Bool(bool),
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// 32-bit integers.
    Int32,
    /// 64-bit integers.
    Int64,
    /// 64-bit integers that mostly increase from row to row.
    IncreasingInt64,
    /// Strings with few distinct values.
    Text,
    /// Flags.
    Bool,
}

/// A column with its accessor.
pub(crate) struct TableColumn<Find> {
    pub name: &'static str,
    pub column_type: ColumnType,
    pub cell: Find,
}

/// Accessor for a call.
pub(crate) type CallCellFn = for<'r, 'a> fn(&'r ExportedCall<'a>) -> CellValue<'r>;

/// Accessor for a request listed by a call.
pub(crate) type RequestCellFn = for<'r> fn(&'r (RequestId, ListedRequest)) -> CellValue<'r>;

/// All columns of a call except the list of requests.
pub(crate) fn columns() -> impl Iterator<Item = &'static TableColumn<CallCellFn>> {
    [IDENTITY_COLUMNS, DETAIL_COLUMNS, SITE_COLUMNS].into_iter().flatten()
}

/// Location, time and operation.
const IDENTITY_COLUMNS: &[TableColumn<CallCellFn>] = &[
    call_column("rank", ColumnType::Int32, |row| CellValue::Number(row.rank.into())),
    call_column("thread", ColumnType::Int32, |row| CellValue::Number(row.thread.into())),
    call_column("enter_ns", ColumnType::IncreasingInt64, |row| CellValue::Number(row.enter)),
    call_column("leave_ns", ColumnType::IncreasingInt64, |row| CellValue::Number(row.leave)),
    call_column("operation", ColumnType::Text, |row| CellValue::Text(row.operation.name())),
];

/// Arguments and result of the call.
pub(crate) const DETAIL_COLUMNS: &[TableColumn<CallCellFn>] = &[
    call_column("communicator", ColumnType::Int32, |row| u32_cell(row.details.communicator)),
    call_column("window", ColumnType::Int32, |row| u32_cell(row.details.window)),
    call_column("file_handle", ColumnType::Int32, |row| u32_cell(row.details.file)),
    call_column("made", ColumnType::Int32, |row| u32_cell(row.details.created)),
    call_column("peer", ColumnType::Int32, |row| rank_or_tag_cell(row.details.peer)),
    call_column("root", ColumnType::Int32, |row| rank_or_tag_cell(row.details.root)),
    call_column("tag", ColumnType::Int32, |row| rank_or_tag_cell(row.details.tag)),
    call_column("source", ColumnType::Int32, |row| rank_or_tag_cell(row.details.source)),
    call_column("recv_tag", ColumnType::Int32, |row| rank_or_tag_cell(row.details.recv_tag)),
    call_column("bytes_sent", ColumnType::Int64, |row| u64_cell(row.bytes_sent)),
    call_column("bytes_received", ColumnType::Int64, |row| u64_cell(row.bytes_received)),
    call_column("request", ColumnType::IncreasingInt64, |row| u64_cell(row.request)),
    call_column("started", ColumnType::Bool, |row| CellValue::Bool(row.has_part(part::STARTED))),
    call_column("level", ColumnType::Int32, |row| i32_cell(row.details.level)),
    call_column("error", ColumnType::Int32, |row| i32_cell(row.details.error)),
    call_column("found_nothing", ColumnType::Bool, |row| CellValue::Bool(row.has_part(part::FLAG_FALSE))),
    call_column("unfinished", ColumnType::Bool, |row| CellValue::Bool(row.has_part(part::UNFINISHED) && row.details.exit.is_none())),
    call_column("left_by", ColumnType::Text, |row| text_cell(row.details.exit.map(NonLocalExit::name))),
];

/// Call site.
const SITE_COLUMNS: &[TableColumn<CallCellFn>] = &[
    call_column("file", ColumnType::Text, |row| text_cell(row.innermost_frame().and_then(|frame| frame.file.as_deref()))),
    call_column("line", ColumnType::Int32, |row| u32_cell(row.innermost_frame().and_then(|frame| frame.line))),
    call_column("function", ColumnType::Text, |row| text_cell(row.innermost_frame().and_then(|frame| frame.function.as_deref()))),
    call_column("module", ColumnType::Text, |row| text_cell(Some(row.site.module.as_str()).filter(|module| !module.is_empty()))),
    call_column("offset", ColumnType::Int64, |row| u64_cell(Some(row.site.offset))),
    call_column("fortran", ColumnType::Bool, |row| CellValue::Bool(row.has_part(part::FORTRAN | part::F08))),
];

/// Name of the column with the requests that a call completed or, where `started` is true, started.
pub(crate) const REQUESTS_COLUMN: &str = "requests";

/// Columns of a listed request. Thread and number of an unknown one are absent.
pub(crate) const REQUEST_COLUMNS: &[TableColumn<RequestCellFn>] = &[
    TableColumn { name: "thread", column_type: ColumnType::Int32, cell: |(id, _)| u32_cell(id.is_known().then_some(id.thread.into())) },
    TableColumn { name: "request", column_type: ColumnType::IncreasingInt64, cell: |(id, _)| u64_cell(id.is_known().then_some(id.number)) },
    TableColumn { name: "peer", column_type: ColumnType::Int32, cell: |(_, listed)| rank_or_tag_cell(if_received(listed, listed.peer)) },
    TableColumn { name: "tag", column_type: ColumnType::Int32, cell: |(_, listed)| rank_or_tag_cell(if_received(listed, listed.tag)) },
    TableColumn { name: "bytes", column_type: ColumnType::Int64, cell: |(_, listed)| u64_cell(if_received(listed, listed.received)) },
];

/// Categories of MPI functions, to filter by.
pub(crate) const CATEGORIES: [&str; 6] = ["point to point", "completion", "collective", "one-sided", "file", "other"];

/// Index into [`CATEGORIES`].
pub(crate) fn category_index(role: FunctionRole) -> usize {
    match role {
        FunctionRole::Send
        | FunctionRole::Receive
        | FunctionRole::SendReceive
        | FunctionRole::Probe
        | FunctionRole::MatchedProbe
        | FunctionRole::MatchedReceive => 0,
        FunctionRole::Start | FunctionRole::StartAll | FunctionRole::PartitionReady | FunctionRole::PartitionArrived => 0,
        FunctionRole::CompleteOne | FunctionRole::CompleteAll | FunctionRole::CompleteAny | FunctionRole::CompleteSome => 1,
        FunctionRole::Collective(_) => 2,
        role if role.is_one_sided() => 3,
        role if role.is_file() => 4,
        _ => 5,
    }
}

const fn call_column(name: &'static str, column_type: ColumnType, cell: CallCellFn) -> TableColumn<CallCellFn> {
    TableColumn { name, column_type, cell }
}

fn if_received<T>(listed: &ListedRequest, value: T) -> Option<T> {
    listed.is_receive.then_some(value)
}

/// A rank or tag, or a special value of MPI.
pub(crate) fn rank_or_tag_cell(number: Option<i32>) -> CellValue<'static> {
    let Some(number) = number.filter(|number| *number != raw::NONE) else { return CellValue::Absent };
    let code = match number {
        raw::ANY => -1,
        raw::PROC_NULL => -2,
        raw::ROOT => -3,
        _ => -4,
    };
    special_name(number).map_or(CellValue::Number(number.into()), |name| CellValue::Special(code, name))
}

fn i32_cell(number: Option<i32>) -> CellValue<'static> {
    number.map_or(CellValue::Absent, |number| CellValue::Number(number.into()))
}

fn u32_cell(number: Option<u32>) -> CellValue<'static> {
    number.map_or(CellValue::Absent, |number| CellValue::Number(number.into()))
}

/// An unsigned number; values above `i64::MAX` stand for unknown byte counts.
pub(crate) fn u64_cell(number: Option<u64>) -> CellValue<'static> {
    number.and_then(|number| i64::try_from(number).ok()).map_or(CellValue::Absent, CellValue::Number)
}

fn text_cell(text: Option<&str>) -> CellValue<'_> {
    text.map_or(CellValue::Absent, CellValue::Text)
}
