//! Perfetto's native trace format: a stream of protobuf packets, for ui.perfetto.dev and its trace processor.
//!
//! A rank is a process, a call a slice on its thread's track. A received message is an instant event at the end of the receiving call, with
//! a flow from the sending call. (A flow directly to the receiving call would point backwards if the call began before the send: Perfetto
//! takes the earlier slice for the source.) Each rank is a packet sequence with its own interned data, so ranks are written one after the
//! other.

mod fields;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

use sintonia_recording::Recording;
use sintonia_recording::comm_event;
use sintonia_recording::header::{RecordedRank, RecordingHeader};

use crate::call_columns::{CATEGORIES, CellValue, DETAIL_COLUMNS, category_index, rank_or_tag_cell, u64_cell};
use crate::error::PathContext;
use crate::exported_calls::{self, ExportedCall};
use crate::flows::{FlowEnd, FlowIds};
use crate::host_metadata::process_label;
use crate::protobuf::ProtobufMessage;
use crate::timeline::{self, TimeOrigin};
use crate::{Error, ExportSummary, single_file};
use fields::*;

/// The name id of received messages; those of MPI functions follow.
const ARRIVED_NAME_ID: u64 = 1;

/// Debug annotations of a received message, numbered after those of calls.
const MESSAGE_ANNOTATIONS: [&str; 4] = ["from", "tag", "bytes", "communicator"];

/// Writes every call of a recording as a slice; `progress` is called after each rank.
pub fn write(recording: &Recording, path: &Path, progress: &(dyn Fn() + Sync)) -> Result<ExportSummary, Error> {
    let header = &recording.header;
    exported_calls::require_calls(header)?;
    let time_origin = TimeOrigin::from_header(header);
    single_file::write(path, |out| {
        write_clocks(out, time_origin, header).with_path(path)?;
        for rank in &header.ranks {
            let mut sequence = PacketSequence::new(out, time_origin, header, rank).with_path(path)?;
            exported_calls::for_each_call(recording, rank.rank, |row| sequence.write_call(row).with_path(path))?;
            progress();
        }
        Ok(())
    })
}

/// Writes the wall-clock time of the start.
fn write_clocks(out: &mut impl Write, time_origin: TimeOrigin, header: &RecordingHeader) -> io::Result<()> {
    let Some(began) = time_origin.unix_time_ns(header) else { return Ok(()) };
    let mut trace = ProtobufMessage::default();
    trace.nested(TRACE_PACKET, |packet| {
        packet.uint64(PACKET_SEQUENCE_ID, u64::from(u32::MAX));
        packet.nested(PACKET_CLOCK_SNAPSHOT, |clocks| {
            for (clock, now) in [(CLOCK_BOOTTIME, 0), (CLOCK_REALTIME, began)] {
                clocks.nested(SNAPSHOT_CLOCK, |one| {
                    one.uint64(CLOCK_ID, clock);
                    one.uint64(CLOCK_TIMESTAMP, now);
                });
            }
        });
    });
    out.write_all(trace.as_bytes())
}

/// The packets of one rank.
struct PacketSequence<'a, W> {
    out: &'a mut W,
    time_origin: TimeOrigin,
    flows: FlowIds,
    rank: u32,
    rank_count: u64,
    /// Threads with a track, and operations and call sites already interned in this sequence.
    threads: BTreeSet<u16>,
    named_operations: BTreeSet<u16>,
    named_sites: BTreeSet<u32>,
    packets: ProtobufMessage,
}

impl<'a, W: Write> PacketSequence<'a, W> {
    fn new(out: &'a mut W, time_origin: TimeOrigin, header: &RecordingHeader, rank: &RecordedRank) -> io::Result<PacketSequence<'a, W>> {
        let mut sequence = PacketSequence {
            out,
            time_origin,
            flows: FlowIds::new(rank.rank),
            rank: rank.rank,
            rank_count: header.rank_count().into(),
            threads: BTreeSet::new(),
            named_operations: BTreeSet::new(),
            named_sites: BTreeSet::new(),
            packets: ProtobufMessage::default(),
        };
        sequence.push_preamble(&timeline::rank_label(header, rank), process_label(rank).as_deref());
        sequence.flush()?;
        Ok(sequence)
    }

    /// The first packets: reset of the incremental state, and the names that every rank uses.
    fn push_preamble(&mut self, name: &str, label: Option<&str>) {
        let (own, pid, thread) = (self.track_id(None), self.pid(), self.track_id(Some(0)));
        self.push_packet(|packet| {
            packet.uint64(PACKET_SEQUENCE_FLAGS, FLAG_INCREMENTAL_STATE_CLEARED);
            packet.nested(PACKET_TRACE_DEFAULTS, |defaults| {
                defaults.nested(DEFAULTS_TRACK_EVENT, |event| event.uint64(EVENT_TRACK_UUID, thread))
            });
            packet.nested(PACKET_INTERNED_DATA, |names| {
                for (index, name) in CATEGORIES.iter().enumerate() {
                    push_interned(names, INTERNED_CATEGORIES, index as u64 + 1, name);
                }
                for (index, name) in DETAIL_COLUMNS.iter().map(|column| column.name).chain(MESSAGE_ANNOTATIONS).enumerate() {
                    push_interned(names, INTERNED_ANNOTATION_NAMES, index as u64 + 1, name);
                }
                push_interned(names, INTERNED_EVENT_NAMES, ARRIVED_NAME_ID, "message arrived");
            });
        });
        self.push_packet(|packet| {
            packet.nested(PACKET_TRACK_DESCRIPTOR, |track| {
                track.uint64(TRACK_UUID, own);
                track.nested(TRACK_PROCESS, |process| {
                    process.uint64(PROCESS_PID, pid);
                    process.string(PROCESS_NAME, name);
                    if let Some(label) = label {
                        process.string(PROCESS_LABELS, label);
                    }
                });
            });
        });
    }

    fn push_packet(&mut self, fill: impl FnOnce(&mut ProtobufMessage)) {
        let sequence = u64::from(self.rank) + 1;
        self.packets.nested(TRACE_PACKET, |packet| {
            packet.uint64(PACKET_SEQUENCE_ID, sequence);
            fill(packet);
        });
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.packets.as_bytes())?;
        self.packets.clear();
        Ok(())
    }

    fn write_call(&mut self, row: &ExportedCall) -> io::Result<()> {
        self.push_thread_track(row.thread);
        let ends: Vec<FlowEnd> = row.events.iter().filter_map(|event| self.flows.flow_end(event)).collect();
        self.push_slice_begin(row, &ends);
        for end in ends {
            if let FlowEnd::Finish(message, flow) = end {
                self.push_arrival(row, &message, flow);
            }
        }
        let leave = self.time_origin.relative_ns(row.leave);
        self.push_event(row.thread, leave, TYPE_SLICE_END, |_| {}, |_| {});
        self.flush()
    }

    fn push_slice_begin(&mut self, row: &ExportedCall, ends: &[FlowEnd]) {
        let operation = row.operation;
        let (new_name, new_site) = (self.named_operations.insert(operation.0), self.named_sites.insert(row.site_id));
        let (name, site) = (u64::from(operation.0) + ARRIVED_NAME_ID + 1, u64::from(row.site_id) + 1);
        let introduce = |packet: &mut ProtobufMessage| {
            if new_name || new_site {
                packet.nested(PACKET_INTERNED_DATA, |names| {
                    if new_name {
                        push_interned(names, INTERNED_EVENT_NAMES, name, operation.name());
                    }
                    if new_site {
                        names.nested(INTERNED_SOURCE_LOCATIONS, |location| write_source_location(location, site, row));
                    }
                });
            }
        };
        let enter = self.time_origin.relative_ns(row.enter);
        self.push_event(row.thread, enter, TYPE_SLICE_BEGIN, introduce, |event| {
            event.uint64(EVENT_NAME_IID, name);
            event.uint64(EVENT_CATEGORY_IID, category_index(operation.role()) as u64 + 1);
            event.uint64(EVENT_SOURCE_LOCATION_IID, site);
            for (index, column) in DETAIL_COLUMNS.iter().enumerate() {
                push_annotation(event, index, (column.cell)(row));
            }
            for end in ends {
                if let FlowEnd::Start(flow) = end {
                    event.fixed64(EVENT_FLOW_IDS, *flow);
                }
            }
        });
    }

    fn push_arrival(&mut self, row: &ExportedCall, message: &comm_event::PointToPointMessage, flow: u64) {
        let bytes = Some(message.bytes).filter(|bytes| *bytes != sintonia_recording::raw::UNKNOWN_BYTES);
        let cells = [
            rank_or_tag_cell(Some(message.peer)),
            rank_or_tag_cell(Some(message.tag)),
            u64_cell(bytes),
            CellValue::Number(message.communicator.into()),
        ];
        let leave = self.time_origin.relative_ns(row.leave);
        self.push_event(
            row.thread,
            leave,
            TYPE_INSTANT,
            |_| {},
            |event| {
                event.uint64(EVENT_NAME_IID, ARRIVED_NAME_ID);
                event.uint64(EVENT_CATEGORY_IID, 1);
                for (index, cell) in cells.into_iter().enumerate() {
                    push_annotation(event, DETAIL_COLUMNS.len() + index, cell);
                }
                event.fixed64(EVENT_TERMINATING_FLOW_IDS, flow);
            },
        );
    }

    fn push_event(
        &mut self,
        thread: u16,
        at: u64,
        kind: u64,
        introduce: impl FnOnce(&mut ProtobufMessage),
        fill: impl FnOnce(&mut ProtobufMessage),
    ) {
        let track = self.track_id(Some(thread));
        self.push_packet(|packet| {
            packet.uint64(PACKET_TIMESTAMP, at);
            packet.uint64(PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_INCREMENTAL_STATE);
            introduce(packet);
            packet.nested(PACKET_TRACK_EVENT, |event| {
                event.uint64(EVENT_TYPE, kind);
                // The track of the first thread is the default.
                if thread != 0 {
                    event.uint64(EVENT_TRACK_UUID, track);
                }
                fill(event);
            });
        });
    }

    fn push_thread_track(&mut self, thread: u16) {
        if !self.threads.insert(thread) {
            return;
        }
        let (track, parent, pid, tid) = (self.track_id(Some(thread)), self.track_id(None), self.pid(), self.tid(thread));
        self.push_packet(|packet| {
            packet.nested(PACKET_TRACK_DESCRIPTOR, |descriptor| {
                descriptor.uint64(TRACK_UUID, track);
                descriptor.uint64(TRACK_PARENT_UUID, parent);
                descriptor.nested(TRACK_THREAD, |one| {
                    one.uint64(THREAD_PID, pid);
                    one.uint64(THREAD_TID, tid);
                    one.string(THREAD_NAME, &format!("thread {thread}"));
                });
            });
        });
    }

    /// The id of a thread's track, or of the rank's own.
    fn track_id(&self, thread: Option<u16>) -> u64 {
        (u64::from(self.rank) + 1) << 32 | thread.map_or(0, |thread| u64::from(thread) + 1)
    }

    /// Process ids of different hosts may be equal, and Perfetto would merge them, so ranks are counted from 1.
    fn pid(&self) -> u64 {
        u64::from(self.rank) + 1
    }

    /// A globally unique thread id. The first thread has that of its process.
    fn tid(&self, thread: u16) -> u64 {
        self.pid() + self.rank_count * u64::from(thread)
    }
}

/// Interns a string.
fn push_interned(names: &mut ProtobufMessage, field: u32, number: u64, text: &str) {
    names.nested(field, |name| {
        name.uint64(INTERNED_IID, number);
        name.string(INTERNED_NAME, text);
    });
}

fn write_source_location(location: &mut ProtobufMessage, number: u64, row: &ExportedCall) {
    let frame = row.innermost_frame();
    location.uint64(SOURCE_LOCATION_IID, number);
    let file = frame.and_then(|frame| frame.file.as_deref()).unwrap_or(&row.site.module);
    location.string(SOURCE_LOCATION_FILE, file);
    if let Some(function) = frame.and_then(|frame| frame.function.as_deref()) {
        location.string(SOURCE_LOCATION_FUNCTION, function);
    }
    if let Some(line) = frame.and_then(|frame| frame.line) {
        location.uint64(SOURCE_LOCATION_LINE, line.into());
    }
}

/// Adds a debug annotation by its index, if it has a value.
fn push_annotation(event: &mut ProtobufMessage, index: usize, cell: CellValue) {
    if matches!(cell, CellValue::Absent | CellValue::Bool(false)) {
        return;
    }
    event.nested(EVENT_DEBUG_ANNOTATIONS, |detail| {
        detail.uint64(ANNOTATION_NAME_IID, index as u64 + 1);
        match cell {
            CellValue::Number(number) => detail.int64(ANNOTATION_INT, number),
            CellValue::Special(_, text) | CellValue::Text(text) => detail.string(ANNOTATION_STRING, text),
            CellValue::Bool(mark) => detail.uint64(ANNOTATION_BOOL, mark.into()),
            CellValue::Absent => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{CALLS, example};
    use crate::protobuf::{ProtobufField, decode_fields};

    fn trace() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.pftrace");
        write(&example().recording, &path, &|| {}).unwrap();
        std::fs::read(&path).unwrap()
    }

    fn number(fields: &[ProtobufField], wanted: u32) -> Option<u64> {
        fields.iter().find_map(|field| match field {
            ProtobufField::Number(field, number) if *field == wanted => Some(*number),
            _ => None,
        })
    }

    fn inner<'a>(fields: &[ProtobufField<'a>], wanted: u32) -> Option<Vec<ProtobufField<'a>>> {
        fields.iter().find_map(|field| match field {
            ProtobufField::Bytes(field, bytes) if *field == wanted => Some(decode_fields(bytes)),
            _ => None,
        })
    }

    /// The packets with an event: all of the packet, and the event.
    fn events(trace: &[u8]) -> Vec<(Vec<ProtobufField<'_>>, Vec<ProtobufField<'_>>)> {
        let packets = decode_fields(trace).into_iter().filter_map(|field| match field {
            ProtobufField::Bytes(TRACE_PACKET, bytes) => Some(decode_fields(bytes)),
            _ => None,
        });
        packets.filter_map(|packet| inner(&packet, PACKET_TRACK_EVENT).map(|event| (packet, event))).collect()
    }

    #[test]
    fn every_call_begins_and_ends_and_every_message_arrives() {
        let trace = trace();
        let events = events(&trace);
        let count = |kind| events.iter().filter(|(_, event)| number(event, EVENT_TYPE) == Some(kind)).count();
        assert_eq!([count(TYPE_SLICE_BEGIN), count(TYPE_SLICE_END), count(TYPE_INSTANT)], [CALLS, CALLS, 4]);
        let arrows = |field| events.iter().filter_map(|(_, event)| number(event, field)).collect::<BTreeSet<u64>>();
        assert_eq!(arrows(EVENT_FLOW_IDS), arrows(EVENT_TERMINATING_FLOW_IDS));
        assert_eq!(arrows(EVENT_FLOW_IDS).len(), 4);
    }

    #[test]
    fn a_second_thread_has_a_row_of_its_own() {
        let trace = trace();
        let of_threads: Vec<_> = events(&trace).into_iter().filter(|(_, event)| number(event, EVENT_TRACK_UUID).is_some()).collect();
        assert_eq!(of_threads.len(), 2, "one call of rank 0");
        assert!(of_threads.iter().all(|(packet, event)| {
            number(packet, PACKET_SEQUENCE_ID) == Some(1) && number(event, EVENT_TRACK_UUID) == Some(1 << 32 | 2)
        }));
        let times: Vec<_> = of_threads.iter().map(|(packet, _)| number(packet, PACKET_TIMESTAMP)).collect();
        assert_eq!(times, [Some(310), Some(320)]);
    }
}
