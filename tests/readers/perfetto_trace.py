"""Reads a Perfetto trace as its trace processor does, with Perfetto's own definitions, and prints what is in it as JSON.

Names must be known in their sequence, slices must nest, arrows must have both ends: whatever is wrong is an error.
"""

import json
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent


class Sequence:
    """What packets of one sequence may refer to."""

    def __init__(self):
        self.names, self.categories, self.details, self.places, self.track = {}, {}, {}, {}, None

    def learn(self, packet):
        data = packet.interned_data
        for known, new in [
            (self.names, data.event_names),
            (self.categories, data.event_categories),
            (self.details, data.debug_annotation_names),
            (self.places, data.source_locations),
        ]:
            for entry in new:
                assert entry.iid != 0 and entry.iid not in known, f"number {entry.iid} given twice"
                known[entry.iid] = entry
        if packet.HasField("trace_packet_defaults"):
            self.track = packet.trace_packet_defaults.track_event_defaults.track_uuid


def value(annotation):
    return getattr(annotation, annotation.WhichOneof("value"))


def main(path):
    trace = Trace()
    trace.ParseFromString(open(path, "rb").read())
    sequences, processes, threads, events, clocks = {}, {}, {}, [], []
    for number, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id != 0, "a packet without sequence"
        if packet.sequence_flags & TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
            sequences[packet.trusted_packet_sequence_id] = Sequence()
        sequence = sequences.get(packet.trusted_packet_sequence_id)
        if sequence:
            sequence.learn(packet)
        if packet.HasField("clock_snapshot"):
            clocks += [[clock.clock_id, clock.timestamp] for clock in packet.clock_snapshot.clocks]
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            if track.HasField("process"):
                assert track.uuid not in processes
                processes[track.uuid] = (track.process.pid, track.process.process_name)
            else:
                assert track.uuid not in threads and track.thread.tid not in [tid for _, tid, _ in threads.values()]
                threads[track.uuid] = (track.parent_uuid, track.thread.tid, track.thread.thread_name)
        if packet.HasField("track_event"):
            assert packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            # Equal moments stay in the order of the file.
            events.append((packet.timestamp, number, sequence, packet.track_event))

    slices, open_slices, tails, arrows = [], {}, {}, []
    for timestamp, _, sequence, event in sorted(events, key=lambda event: event[:2]):
        track = event.track_uuid or sequence.track
        parent, _, thread = threads[track]
        stack = open_slices.setdefault(track, [])
        if event.type == TrackEvent.TYPE_SLICE_END:
            slices[stack.pop()]["end"] = timestamp
            continue
        here = len(slices)
        place = sequence.places[event.source_location_iid] if event.source_location_iid else None
        slices.append(
            {
                "process": processes[parent][1],
                "thread": thread,
                "name": sequence.names[event.name_iid].name,
                "category": sequence.categories[event.category_iids[0]].name,
                "begin": timestamp,
                "end": timestamp,
                "depth": len(stack),
                "details": {sequence.details[a.name_iid].name: value(a) for a in event.debug_annotations},
                "file": place and place.file_name,
                "line": place and place.line_number,
            }
        )
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(here)
        else:
            assert event.type == TrackEvent.TYPE_INSTANT
        for arrow in event.flow_ids:
            assert arrow not in tails, "an arrow begins twice"
            tails[arrow] = here
        for arrow in event.terminating_flow_ids:
            arrows.append([tails.pop(arrow, None), here])
    assert not any(open_slices.values()), "a slice has no end"
    result = {"processes": sorted(processes.values()), "clocks": clocks, "slices": slices, "arrows": arrows, "unreceived": len(tails)}
    json.dump(result, sys.stdout)


main(sys.argv[1])
