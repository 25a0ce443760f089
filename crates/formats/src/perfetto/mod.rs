//! Perfetto's own trace format: a stream of protobuf packets, for ui.perfetto.dev and its trace processor.
//!
//! A rank is a process, its threads are rows, a call is a slice, a message that has arrived is an instant at the end of the call that
//! received it, with an arrow from the call that sent it. (An arrow straight to the receiving call would point backwards where the call
//! began before the send: Perfetto takes the slice that began first for the sender.) Each rank is a packet sequence of its own with its own
//! numbering of names, so that ranks are written one after the other and nothing of one has to be known for the next.

mod fields;
mod protobuf;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use sintonia_recording::Recording;
use sintonia_recording::deed;
use sintonia_recording::header::{Header, Rank};

use crate::arrows::{Arrows, End};
use crate::columns::{CATEGORIES, Cell, DETAILS, category, long, rank_or_tag};
use crate::error::At;
use crate::rows::{self, Row};
use crate::timeline::{self, Timeline};
use crate::{Error, Written, single};
use fields::*;
use protobuf::Message;

/// The number of the name of arrived messages; those of MPI functions follow.
const ARRIVED: u64 = 1;

/// What is said of an arrived message, after the details of calls.
const OF_MESSAGES: [&str; 4] = ["from", "tag", "bytes", "communicator"];

/// Writes every call of a recording as a slice; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<Written, Error> {
    let header = &recording.header;
    rows::check_for_calls(header)?;
    let timeline = Timeline::of(header);
    single::write(path, |out| {
        write_clocks(out, timeline, header).at(path)?;
        for rank in &header.ranks {
            let mut sequence = Sequence::begin(out, timeline, header, rank).at(path)?;
            rows::each(recording, rank.rank, |row| sequence.call(row).at(path))?;
            progress();
        }
        Ok(())
    })
}

/// Says which day it was.
fn write_clocks(out: &mut impl Write, timeline: Timeline, header: &Header) -> io::Result<()> {
    let Some(began) = timeline.began(header) else { return Ok(()) };
    let mut trace = Message::default();
    trace.message(TRACE_PACKET, |packet| {
        packet.number(PACKET_SEQUENCE, u64::from(u32::MAX));
        packet.message(PACKET_CLOCKS, |clocks| {
            for (clock, now) in [(CLOCK_BOOT, 0), (CLOCK_REAL, began)] {
                clocks.message(CLOCKS_CLOCK, |one| {
                    one.number(CLOCK_ID, clock);
                    one.number(CLOCK_NOW, now);
                });
            }
        });
    });
    out.write_all(trace.as_bytes())
}

/// The packets of one rank.
struct Sequence<'a, W> {
    out: &'a mut W,
    timeline: Timeline,
    arrows: Arrows,
    rank: u32,
    size: u64,
    /// Threads that have a row, and names and call sites that have a number, in this sequence.
    threads: BTreeSet<u16>,
    names: BTreeSet<u16>,
    sites: BTreeSet<u32>,
    trace: Message,
}

impl<'a, W: Write> Sequence<'a, W> {
    fn begin(out: &'a mut W, timeline: Timeline, header: &Header, rank: &Rank) -> io::Result<Sequence<'a, W>> {
        let mut sequence = Sequence {
            out,
            timeline,
            arrows: Arrows::of(rank.rank),
            rank: rank.rank,
            size: header.rank_count().into(),
            threads: BTreeSet::new(),
            names: BTreeSet::new(),
            sites: BTreeSet::new(),
            trace: Message::default(),
        };
        sequence.introduce(&timeline::rank_name(header, rank));
        sequence.flush()?;
        Ok(sequence)
    }

    /// The first packets: nothing before them counts, and these are the numbers of names that every rank uses.
    fn introduce(&mut self, name: &str) {
        let (own, pid, thread) = (self.track(None), self.pid(), self.track(Some(0)));
        self.packet(|packet| {
            packet.number(PACKET_FLAGS, FLAGS_ALL_NEW);
            packet.message(PACKET_DEFAULTS, |defaults| defaults.message(DEFAULTS_EVENT, |event| event.number(EVENT_TRACK, thread)));
            packet.message(PACKET_NAMES, |names| {
                for (place, name) in CATEGORIES.iter().enumerate() {
                    intern(names, NAMES_CATEGORY, place as u64 + 1, name);
                }
                for (place, name) in DETAILS.iter().map(|column| column.name).chain(OF_MESSAGES).enumerate() {
                    intern(names, NAMES_DETAIL, place as u64 + 1, name);
                }
                intern(names, NAMES_EVENT, ARRIVED, "message arrived");
            });
        });
        self.packet(|packet| {
            packet.message(PACKET_TRACK, |track| {
                track.number(TRACK_ID, own);
                track.message(TRACK_PROCESS, |process| {
                    process.number(PROCESS_ID, pid);
                    process.text(PROCESS_NAME, name);
                });
            });
        });
    }

    /// Appends a packet of this sequence.
    fn packet(&mut self, fill: impl FnOnce(&mut Message)) {
        let sequence = u64::from(self.rank) + 1;
        self.trace.message(TRACE_PACKET, |packet| {
            packet.number(PACKET_SEQUENCE, sequence);
            fill(packet);
        });
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.trace.as_bytes())?;
        self.trace.clear();
        Ok(())
    }

    fn call(&mut self, row: &Row) -> io::Result<()> {
        self.name_thread(row.thread);
        let ends: Vec<End> = row.deeds.iter().filter_map(|deed| self.arrows.end(deed)).collect();
        self.slice_begin(row, &ends);
        for end in ends {
            if let End::Head(message, arrow) = end {
                self.arrival(row, &message, arrow);
            }
        }
        let leave = self.timeline.at(row.leave);
        self.event(row.thread, leave, TYPE_END, |_| {}, |_| {});
        self.flush()
    }

    fn slice_begin(&mut self, row: &Row, ends: &[End]) {
        let operation = row.operation;
        let (new_name, new_site) = (self.names.insert(operation.0), self.sites.insert(row.site_number));
        let (name, site) = (u64::from(operation.0) + ARRIVED + 1, u64::from(row.site_number) + 1);
        let introduce = |packet: &mut Message| {
            if new_name || new_site {
                packet.message(PACKET_NAMES, |names| {
                    if new_name {
                        intern(names, NAMES_EVENT, name, operation.name());
                    }
                    if new_site {
                        names.message(NAMES_PLACE, |place| describe_place(place, site, row));
                    }
                });
            }
        };
        let enter = self.timeline.at(row.enter);
        self.event(row.thread, enter, TYPE_BEGIN, introduce, |event| {
            event.number(EVENT_NAME, name);
            event.number(EVENT_CATEGORY, category(operation.role()) as u64 + 1);
            event.number(EVENT_PLACE, site);
            for (place, column) in DETAILS.iter().enumerate() {
                detail(event, place, (column.cell)(row));
            }
            for end in ends {
                if let End::Tail(arrow) = end {
                    event.fixed(EVENT_ARROW, *arrow);
                }
            }
        });
    }

    fn arrival(&mut self, row: &Row, message: &deed::Message, arrow: u64) {
        let bytes = Some(message.bytes).filter(|bytes| *bytes != sintonia_recording::raw::UNKNOWN_BYTES);
        let cells =
            [rank_or_tag(Some(message.peer)), rank_or_tag(Some(message.tag)), long(bytes), Cell::Number(message.communicator.into())];
        let leave = self.timeline.at(row.leave);
        self.event(
            row.thread,
            leave,
            TYPE_INSTANT,
            |_| {},
            |event| {
                event.number(EVENT_NAME, ARRIVED);
                event.number(EVENT_CATEGORY, 1);
                for (place, cell) in cells.into_iter().enumerate() {
                    detail(event, DETAILS.len() + place, cell);
                }
                event.fixed(EVENT_ARROW_END, arrow);
            },
        );
    }

    fn event(&mut self, thread: u16, at: u64, kind: u64, introduce: impl FnOnce(&mut Message), fill: impl FnOnce(&mut Message)) {
        let track = self.track(Some(thread));
        self.packet(|packet| {
            packet.number(PACKET_TIME, at);
            packet.number(PACKET_FLAGS, FLAGS_NEEDS_NAMES);
            introduce(packet);
            packet.message(PACKET_EVENT, |event| {
                event.number(EVENT_TYPE, kind);
                // The track of the first thread is the usual one.
                if thread != 0 {
                    event.number(EVENT_TRACK, track);
                }
                fill(event);
            });
        });
    }

    fn name_thread(&mut self, thread: u16) {
        if !self.threads.insert(thread) {
            return;
        }
        let (track, parent, pid, tid) = (self.track(Some(thread)), self.track(None), self.pid(), self.tid(thread));
        self.packet(|packet| {
            packet.message(PACKET_TRACK, |descriptor| {
                descriptor.number(TRACK_ID, track);
                descriptor.number(TRACK_PARENT, parent);
                descriptor.message(TRACK_THREAD, |one| {
                    one.number(THREAD_PROCESS, pid);
                    one.number(THREAD_ID, tid);
                    one.text(THREAD_NAME, &format!("thread {thread}"));
                });
            });
        });
    }

    /// The number of the track of a thread, or of the rank itself.
    fn track(&self, thread: Option<u16>) -> u64 {
        (u64::from(self.rank) + 1) << 32 | thread.map_or(0, |thread| u64::from(thread) + 1)
    }

    /// Process numbers of different hosts may be the same and Perfetto would take them for one process, so ranks are counted from 1.
    fn pid(&self) -> u64 {
        u64::from(self.rank) + 1
    }

    /// The number of a thread, which must not be that of another anywhere. The first thread has its process's.
    fn tid(&self, thread: u16) -> u64 {
        self.pid() + self.size * u64::from(thread)
    }
}

/// Gives a text its number.
fn intern(names: &mut Message, field: u32, number: u64, text: &str) {
    names.message(field, |name| {
        name.number(NAME_NUMBER, number);
        name.text(NAME_TEXT, text);
    });
}

fn describe_place(place: &mut Message, number: u64, row: &Row) {
    let frame = row.frame();
    place.number(PLACE_NUMBER, number);
    let file = frame.and_then(|frame| frame.file.as_deref()).unwrap_or(&row.site.module);
    place.text(PLACE_FILE, file);
    if let Some(function) = frame.and_then(|frame| frame.function.as_deref()) {
        place.text(PLACE_FUNCTION, function);
    }
    if let Some(line) = frame.and_then(|frame| frame.line) {
        place.number(PLACE_LINE, line.into());
    }
}

/// A detail by its place in the list of names, if it is there.
fn detail(event: &mut Message, place: usize, cell: Cell) {
    if matches!(cell, Cell::Absent | Cell::Mark(false)) {
        return;
    }
    event.message(EVENT_DETAIL, |detail| {
        detail.number(DETAIL_NAME, place as u64 + 1);
        match cell {
            Cell::Number(number) => detail.signed(DETAIL_NUMBER, number),
            Cell::Special(_, text) | Cell::Text(text) => detail.text(DETAIL_TEXT, text),
            Cell::Mark(mark) => detail.number(DETAIL_MARK, mark.into()),
            Cell::Absent => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{CALLS, example};
    use protobuf::{Read, read};

    fn trace() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.pftrace");
        write(&example().recording, &path, &|| {}).unwrap();
        std::fs::read(&path).unwrap()
    }

    fn number(fields: &[Read], wanted: u32) -> Option<u64> {
        fields.iter().find_map(|field| match field {
            Read::Number(field, number) if *field == wanted => Some(*number),
            _ => None,
        })
    }

    fn inner<'a>(fields: &[Read<'a>], wanted: u32) -> Option<Vec<Read<'a>>> {
        fields.iter().find_map(|field| match field {
            Read::Bytes(field, bytes) if *field == wanted => Some(read(bytes)),
            _ => None,
        })
    }

    /// The packets with an event: all of the packet, and the event.
    fn events(trace: &[u8]) -> Vec<(Vec<Read<'_>>, Vec<Read<'_>>)> {
        let packets = read(trace).into_iter().filter_map(|field| match field {
            Read::Bytes(TRACE_PACKET, bytes) => Some(read(bytes)),
            _ => None,
        });
        packets.filter_map(|packet| inner(&packet, PACKET_EVENT).map(|event| (packet, event))).collect()
    }

    #[test]
    fn every_call_begins_and_ends_and_every_message_arrives() {
        let trace = trace();
        let events = events(&trace);
        let count = |kind| events.iter().filter(|(_, event)| number(event, EVENT_TYPE) == Some(kind)).count();
        assert_eq!([count(TYPE_BEGIN), count(TYPE_END), count(TYPE_INSTANT)], [CALLS, CALLS, 4]);
        let arrows = |field| events.iter().filter_map(|(_, event)| number(event, field)).collect::<BTreeSet<u64>>();
        assert_eq!(arrows(EVENT_ARROW), arrows(EVENT_ARROW_END));
        assert_eq!(arrows(EVENT_ARROW).len(), 4);
    }

    #[test]
    fn a_second_thread_has_a_row_of_its_own() {
        let trace = trace();
        let of_threads: Vec<_> = events(&trace).into_iter().filter(|(_, event)| number(event, EVENT_TRACK).is_some()).collect();
        assert_eq!(of_threads.len(), 2, "one call of rank 0");
        assert!(
            of_threads
                .iter()
                .all(|(packet, event)| { number(packet, PACKET_SEQUENCE) == Some(1) && number(event, EVENT_TRACK) == Some(1 << 32 | 2) })
        );
        let times: Vec<_> = of_threads.iter().map(|(packet, _)| number(packet, PACKET_TIME)).collect();
        assert_eq!(times, [Some(310), Some(320)]);
    }
}
