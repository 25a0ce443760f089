//! Chrome's trace event format (JSON), read by chrome://tracing, Speedscope and many others.
//!
//! A call is a complete event (`X`), a message a flow (`s` to `f`). Perfetto reads this too, but its native format ([`crate::perfetto`]) is
//! much smaller.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use sintonia_recording::Recording;
use sintonia_recording::header::{RecordedRank, RecordingHeader};

use crate::call_columns::{CATEGORIES, CellValue, DETAIL_COLUMNS, category_index};
use crate::error::PathContext;
use crate::exported_calls::{self, ExportedCall};
use crate::flows::{FlowEnd, FlowIds};
use crate::host_metadata::{host_metadata, process_label};
use crate::timeline::{self, TimeOrigin};
use crate::{Error, ExportSummary, single_file};

/// Writes every call of a recording as an event; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    let header = &recording.header;
    exported_calls::require_calls(header)?;
    single_file::write(path, |out| {
        let metadata = host_metadata(header).map(|hosts| format!("\"otherData\":{hosts},")).unwrap_or_default();
        write!(out, "{{\"displayTimeUnit\":\"ns\",{metadata}\"traceEvents\":[").with_path(path)?;
        let site_labels = header.sites.iter().map(|site| json_string(&timeline::site_label(site))).collect();
        let mut events = TraceEventWriter { out, time_origin: TimeOrigin::from_header(header), site_labels, first: true };
        for rank in &header.ranks {
            events.write_process_name(header, rank).with_path(path)?;
            let mut flows = FlowIds::new(rank.rank);
            let mut threads = BTreeSet::new();
            exported_calls::for_each_call(recording, rank.rank, |row| {
                if threads.insert(row.thread) {
                    events.write_thread_name(row).with_path(path)?;
                }
                events.write_call(row, &mut flows).with_path(path)
            })?;
            progress();
        }
        events.out.write_all(b"\n]}\n").with_path(path)
    })
}

/// Writes the `traceEvents` array.
struct TraceEventWriter<'a, W> {
    out: &'a mut W,
    time_origin: TimeOrigin,
    /// JSON strings of the call sites, by site id.
    site_labels: Vec<String>,
    first: bool,
}

impl<W: Write> TraceEventWriter<'_, W> {
    /// Begins an event; the caller closes it.
    fn begin_event(&mut self, phase: char, rank: u32, thread: u16) -> io::Result<()> {
        let between = if std::mem::take(&mut self.first) { "" } else { "," };
        write!(self.out, "{between}\n{{\"ph\":\"{phase}\",\"pid\":{rank},\"tid\":{thread}")
    }

    fn write_process_name(&mut self, header: &RecordingHeader, rank: &RecordedRank) -> io::Result<()> {
        self.begin_event('M', rank.rank, 0)?;
        let name = json_string(&timeline::rank_label(header, rank));
        write!(self.out, ",\"name\":\"process_name\",\"args\":{{\"name\":{name}}}}}")?;
        self.begin_event('M', rank.rank, 0)?;
        write!(self.out, ",\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}}}", rank.rank)?;
        let Some(label) = process_label(rank) else { return Ok(()) };
        self.begin_event('M', rank.rank, 0)?;
        write!(self.out, ",\"name\":\"process_labels\",\"args\":{{\"labels\":{}}}}}", json_string(&label))
    }

    fn write_thread_name(&mut self, row: &ExportedCall) -> io::Result<()> {
        self.begin_event('M', row.rank, row.thread)?;
        write!(self.out, ",\"name\":\"thread_name\",\"args\":{{\"name\":\"thread {}\"}}}}", row.thread)
    }

    fn write_call(&mut self, row: &ExportedCall, flows: &mut FlowIds) -> io::Result<()> {
        let (enter, leave) = (self.time_origin.relative_ns(row.enter), self.time_origin.relative_ns(row.leave));
        self.begin_event('X', row.rank, row.thread)?;
        let category = CATEGORIES[category_index(row.operation.role())];
        let (from, long) = (Microseconds(enter), Microseconds(leave - enter));
        write!(self.out, ",\"ts\":{from},\"dur\":{long},\"name\":\"{}\",\"cat\":\"{category}\",\"args\":{{", row.operation.name())?;
        let site_label = self.site_labels.get(row.site_id as usize).map_or("null", String::as_str);
        write!(self.out, "\"at\":{site_label}")?;
        for column in DETAIL_COLUMNS {
            match (column.cell)(row) {
                CellValue::Absent | CellValue::Text(_) | CellValue::Bool(false) => {}
                CellValue::Bool(true) => write!(self.out, ",\"{}\":true", column.name)?,
                CellValue::Number(number) => write!(self.out, ",\"{}\":{number}", column.name)?,
                CellValue::Special(_, word) => write!(self.out, ",\"{}\":\"{word}\"", column.name)?,
            }
        }
        self.out.write_all(b"}}")?;
        for end in row.events.iter().filter_map(|event| flows.flow_end(event)) {
            self.write_flow(row, end, enter, leave)?;
        }
        Ok(())
    }

    /// Writes one flow end. A flow end binds to the enclosing slice, which does not include its end time.
    fn write_flow(&mut self, row: &ExportedCall, end: FlowEnd, enter: u64, leave: u64) -> io::Result<()> {
        let (phase, at, name, belongs) = match end {
            FlowEnd::Start(name) => ('s', enter, name, ""),
            FlowEnd::Finish(_, name) => ('f', leave.saturating_sub(1).max(enter), name, ",\"bp\":\"e\""),
        };
        self.begin_event(phase, row.rank, row.thread)?;
        write!(self.out, "{belongs},\"ts\":{},\"id\":\"{name:x}\",\"name\":\"message\",\"cat\":\"message\"}}", Microseconds(at))
    }
}

/// Nanoseconds, displayed in microseconds.
struct Microseconds(u64);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::example;

    #[test]
    fn calls_are_events_and_messages_arrows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        write(&example().recording, &path, &|| {}).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let send = r#"{"ph":"X","pid":0,"tid":0,"ts":0.100,"dur":0.200,"name":"MPI_Send","cat":"point to point","args":{"at":"/src/main.c:2","communicator":0,"peer":1,"tag":7,"bytes_sent":1000}},"#;
        assert!(text.lines().any(|line| line == send), "{text}");
        let count = |phase: &str| text.matches(&format!("{{\"ph\":\"{phase}\"")).count();
        assert_eq!(["X", "s", "f"].map(count), [12, 4, 4]);
        let ids = |phase: &str| {
            let lines = text.lines().filter(|line| line.starts_with(&format!("{{\"ph\":\"{phase}\"")));
            let mut ids: Vec<&str> = lines.filter_map(|line| line.split("\"id\":\"").nth(1)?.split('"').next()).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids("s"), ids("f"));
    }

    #[test]
    fn texts_are_quoted_and_times_are_microseconds() {
        assert_eq!(json_string("a\"b\\c\n"), r#""a\"b\\c\n""#);
        assert_eq!(Microseconds(1_002_003).to_string(), "1002.003");
    }
}
