#!/usr/bin/env python3
"""The messages between the lines of a program, by the program graph and by a matching of its own.

    python3 bench/graph/messages.py NAME.sin ...

The other matching reads `sintonia calls --json`: the n-th send from one rank to another with a communicator and a tag belongs to the n-th receive that
was posted for it. It is for programs whose messages are those of the operations below, from one thread of each rank; it refuses others, and those that
receive from any source or tag. Prints how many messages one of the two has between other lines.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SINTONIA = os.environ.get("SINTONIA_BIN", str(ROOT / "target/release/sintonia"))
SENDS = {"MPI_Send", "MPI_Isend", "MPI_Ssend", "MPI_Rsend", "MPI_Bsend", "MPI_Sendrecv", "MPI_Sendrecv_replace"}
RECEIVES = {"MPI_Recv", "MPI_Irecv"}
EXCHANGES = {"MPI_Sendrecv", "MPI_Sendrecv_replace"}


UNSUPPORTED = re.compile("MPI_(Start|Startall|I?m?probe|Mrecv|Imrecv|Isendrecv.*|P(send|recv).*|Cancel)$", re.IGNORECASE)


def calls(recording):
    listed = subprocess.Popen([SINTONIA, "calls", "--json", recording], stdout=subprocess.PIPE, text=True)
    yield from (json.loads(line) for line in listed.stdout)
    if listed.wait():
        sys.exit(f"{recording}: its calls cannot be listed")


def place(call):
    return call.get("file") or call.get("module"), call.get("line")


def matched(recording):
    """Messages by the lines of the send and of the call that completed the receive."""
    sends, receives, pending = collections.defaultdict(list), collections.defaultdict(list), {}
    for call in calls(recording):
        operation, rank, communicator = call["operation"], call["rank"], call.get("communicator")
        if UNSUPPORTED.match(operation) or call.get("thread"):
            sys.exit(f"{recording}: {operation} at {place(call)} is not supported")
        if operation in SENDS and isinstance(call.get("peer"), int):
            sends[communicator, rank, call["peer"], call["tag"]].append(place(call))
        source, tag = (call.get("source"), call.get("recv_tag")) if operation in EXCHANGES else (call.get("peer"), call.get("tag"))
        if operation in RECEIVES | EXCHANGES and source != "null":
            if not isinstance(source, int) or not isinstance(tag, int):
                sys.exit(f"{recording}: {operation} at {place(call)} receives from any source or tag")
            posted = receives[communicator, source, rank, tag]
            if operation == "MPI_Irecv":
                pending[rank, call["request"]] = posted, len(posted)
            posted.append(place(call))
        for done in call.get("completed", []):
            posted, index = pending.pop((rank, done["request"]), (None, 0))
            if posted:
                posted[index] = place(call)
    found = collections.Counter()
    for key in sends.keys() | receives.keys():
        if len(sends[key]) != len(receives[key]):
            sys.exit(f"{recording}: {len(sends[key])} sends and {len(receives[key])} receives for {key}")
        found.update(zip(sends[key], receives[key]))
    return found


def of_graph(recording):
    graph = json.loads(subprocess.run([SINTONIA, "graph", "--program", "--json", recording], check=True, capture_output=True).stdout)
    nodes = graph["nodes"]
    found = collections.Counter()
    for message in graph["messages"]:
        ends = tuple(place(nodes[message[end]["node"]]) for end in ("from", "to"))
        found[ends] += message["messages"]
    return found


for recording in sys.argv[1:]:
    by_matching, by_graph = matched(recording), of_graph(recording)
    wrong = max(sum((by_graph - by_matching).values()), sum((by_matching - by_graph).values()))
    print(f"{recording}: {sum(by_matching.values())} messages between {len(by_matching)} pairs of lines, {sum(by_graph.values())} in the graph, {wrong} of them between other lines")
    for ends, number in (by_graph - by_matching).most_common(5):
        print(f"  {number} from {ends[0]} to {ends[1]}")
