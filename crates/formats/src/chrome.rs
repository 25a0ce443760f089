//! The trace event format of Chrome, in JSON: for chrome://tracing, Speedscope and the many programs that read it.
//!
//! Every call is a complete event (`X`), every message an arrow (`s` to `f`). Perfetto reads it as well, but its own format
//! ([`crate::perfetto`]) is a fraction of the size.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use sintonia_recording::Recording;
use sintonia_recording::header::{Header, Rank};

use crate::arrows::{Arrows, End};
use crate::columns::{CATEGORIES, Cell, DETAILS, category};
use crate::error::At;
use crate::rows::{self, Row};
use crate::timeline::{self, Timeline};
use crate::{Error, Written, single};

/// Writes every call of a recording as an event; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<Written, Error> {
    let header = &recording.header;
    rows::check_for_calls(header)?;
    single::write(path, |out| {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[").at(path)?;
        let places = header.sites.iter().map(|site| quoted(&timeline::place(site))).collect();
        let mut events = Events { out, timeline: Timeline::of(header), places, first: true };
        for rank in &header.ranks {
            events.name_rank(header, rank).at(path)?;
            let mut arrows = Arrows::of(rank.rank);
            let mut threads = BTreeSet::new();
            rows::each(recording, rank.rank, |row| {
                if threads.insert(row.thread) {
                    events.name_thread(row).at(path)?;
                }
                events.call(row, &mut arrows).at(path)
            })?;
            progress();
        }
        events.out.write_all(b"\n]}\n").at(path)
    })
}

/// The list of events under way.
struct Events<'a, W> {
    out: &'a mut W,
    timeline: Timeline,
    /// The call sites as they stand in the file, by number.
    places: Vec<String>,
    first: bool,
}

impl<W: Write> Events<'_, W> {
    /// Begins an event; what follows must close it.
    fn begin(&mut self, phase: char, rank: u32, thread: u16) -> io::Result<()> {
        let between = if std::mem::take(&mut self.first) { "" } else { "," };
        write!(self.out, "{between}\n{{\"ph\":\"{phase}\",\"pid\":{rank},\"tid\":{thread}")
    }

    fn name_rank(&mut self, header: &Header, rank: &Rank) -> io::Result<()> {
        self.begin('M', rank.rank, 0)?;
        let name = quoted(&timeline::rank_name(header, rank));
        write!(self.out, ",\"name\":\"process_name\",\"args\":{{\"name\":{name}}}}}")?;
        self.begin('M', rank.rank, 0)?;
        write!(self.out, ",\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}}}", rank.rank)
    }

    fn name_thread(&mut self, row: &Row) -> io::Result<()> {
        self.begin('M', row.rank, row.thread)?;
        write!(self.out, ",\"name\":\"thread_name\",\"args\":{{\"name\":\"thread {}\"}}}}", row.thread)
    }

    fn call(&mut self, row: &Row, arrows: &mut Arrows) -> io::Result<()> {
        let (enter, leave) = (self.timeline.at(row.enter), self.timeline.at(row.leave));
        self.begin('X', row.rank, row.thread)?;
        let category = CATEGORIES[category(row.operation.role())];
        let (from, long) = (Microseconds(enter), Microseconds(leave - enter));
        write!(self.out, ",\"ts\":{from},\"dur\":{long},\"name\":\"{}\",\"cat\":\"{category}\",\"args\":{{", row.operation.name())?;
        let place = self.places.get(row.site_number as usize).map_or("null", String::as_str);
        write!(self.out, "\"at\":{place}")?;
        for column in DETAILS {
            match (column.cell)(row) {
                Cell::Absent | Cell::Text(_) | Cell::Mark(false) => {}
                Cell::Mark(true) => write!(self.out, ",\"{}\":true", column.name)?,
                Cell::Number(number) => write!(self.out, ",\"{}\":{number}", column.name)?,
                Cell::Special(_, word) => write!(self.out, ",\"{}\":\"{word}\"", column.name)?,
            }
        }
        self.out.write_all(b"}}")?;
        for end in row.deeds.iter().filter_map(|deed| arrows.end(deed)) {
            self.arrow(row, end, enter, leave)?;
        }
        Ok(())
    }

    /// One end of an arrow. An end belongs to the event it lies in, and the last moment of an event does not.
    fn arrow(&mut self, row: &Row, end: End, enter: u64, leave: u64) -> io::Result<()> {
        let (phase, at, name, belongs) = match end {
            End::Tail(name) => ('s', enter, name, ""),
            End::Head(_, name) => ('f', leave.saturating_sub(1).max(enter), name, ",\"bp\":\"e\""),
        };
        self.begin(phase, row.rank, row.thread)?;
        write!(self.out, "{belongs},\"ts\":{},\"id\":\"{name:x}\",\"name\":\"message\",\"cat\":\"message\"}}", Microseconds(at))
    }
}

/// Nanoseconds, shown in the format's unit.
struct Microseconds(u64);

impl std::fmt::Display for Microseconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A text as JSON.
fn quoted(text: &str) -> String {
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
        assert_eq!(quoted("a\"b\\c\n"), r#""a\"b\\c\n""#);
        assert_eq!(Microseconds(1_002_003).to_string(), "1002.003");
    }
}
